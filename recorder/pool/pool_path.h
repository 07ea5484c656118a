/* The paths of traces: which ones a new trace may replace, and its name until it is complete. */
#pragma once

#include <stdbool.h>

#include "recorder/state/pool.h"

enum { POOL_TEMPORARY_PATH_BYTES = POOL_PATH_BYTES + 32 };

/* Makes a path that stays valid when the program changes its directory. Returns false with errno set. */
bool pool_path_make_absolute(const char *path, char absolute[POOL_PATH_BYTES]);

/* Returns whether a trace may get that path; if not, sets errno. Only regular files may be replaced, and none that
 * another process holds (EBUSY). own: the recording of this process; NULL: none. */
bool pool_path_is_replaceable(const char *path, const struct pool *own);

/* Writes the name that a trace has until it is complete. */
void pool_path_name_temporary(const char *path, char temporary[POOL_TEMPORARY_PATH_BYTES]);

/* Creates the file with the temporary name, which only its owner may read. Returns -1 with errno set. */
int pool_path_create_beside(const char *path, char temporary[POOL_TEMPORARY_PATH_BYTES]);
