/* A zip archive of the profiles that are shown, in memory, for the viewer's list of the files in an archive. */
#ifndef GECKO_PROFILE_ARCHIVE_H
#define GECKO_PROFILE_ARCHIVE_H

#include "served_profile.h"

struct profile_archive {
    struct failure *failure; /* borrowed */
    char *bytes;             /* owned */
    size_t bytes_count;
    size_t capacity_bytes;
};

/* Packs the finished profiles as gzip files under their names, and frees their bytes. Running out of memory is latched
 * in their failure. Call profile_archive_fini in any case. */
void profile_archive_init(struct profile_archive *archive, struct served_profile *list);
void profile_archive_fini(struct profile_archive *archive);

#endif
