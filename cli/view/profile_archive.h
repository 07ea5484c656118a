/* A zip archive of the profiles that are shown, in memory, for the viewer's list of the files in an archive. */
#pragma once

#include "served_profile.h"

/* Packs the finished profiles as gzip files under their names into a new buffer, and frees their bytes. Running out of
 * memory is latched in their failure. */
void profile_archive_write(struct byte_buffer *archive, struct served_profile *list);
