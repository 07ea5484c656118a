/* A zip archive of the profiles that are shown, in memory, for the viewer's list of the files in an archive. */
#ifndef GECKO_PROFILE_ARCHIVE_H
#define GECKO_PROFILE_ARCHIVE_H

#include "served_profile.h"

struct profile_archive {
    char *bytes; /* owned */
    size_t bytes_count;
};

/* Packs the finished profiles as gzip files under their names, and frees their bytes. Failures are latched in theirs:
 * FAILURE_MEMORY, or FAILURE_INPUT if they do not fit into an archive. Call profile_archive_fini in any case. */
void profile_archive_init(struct profile_archive *archive, struct served_profile *list);
void profile_archive_fini(struct profile_archive *archive);

#endif
