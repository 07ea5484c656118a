/* perf's own copies of what a recording needs: below ~/.debug, by build id. "perf archive" packs them. */
#pragma once

#include "libconvert/symbols/debug_file_search.h"

/* Finds the copy of that name ("kallsyms", "vdso") for the build id (hex), in one of the folders or below ~/.debug.
 * Returns false if there is none. */
bool debug_copies_find(const struct debug_folders *folders, struct text build_id, const char *name,
                       char path[PATH_MAX]);
