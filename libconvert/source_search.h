/* Finds the source files that a profile names on this machine. */
#ifndef GECKO_SOURCE_SEARCH_H
#define GECKO_SOURCE_SEARCH_H

#include <stdbool.h>
#include <sys/stat.h>

#include "libconvert/base/text.h"

/* Where to search. Borrowed, NUL-terminated. */
struct source_search {
    const char *const *maps; /* FROM=TO: files below the folder FROM are below the folder TO */
    size_t map_count;
    const char *const *folders;
    size_t folder_count;
    const char *sysroot; /* the recorded machine's or container's file system is below it; NULL: this machine's */
};

/* Returns whether the text has the form FROM=TO, neither of which is empty. */
bool source_map_is_valid(const char *map);

/* Opens the regular file that has the path, which may be a file:// URL. Searches in this order: where the first map
 * with a fitting FROM leads; if the path is absolute, the path below the sysroot (see symbols/sysroot.h) and then the
 * path itself; in each folder the path, then the path without its first component, without its first two, and so on. A
 * path that contains ".." is not searched in folders.
 *
 * Returns a descriptor to close, and describes the file in *status. Returns -1 if no file can be opened. errno then
 * belongs to the first file that is there and cannot be opened; without such a file, it is ENOENT. Thread-safe. */
int source_search_open(const struct source_search *search, struct text path, struct stat *status);

#endif
