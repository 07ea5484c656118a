/* Finds the source files that a profile names on this machine. */
#pragma once

#include <stdbool.h>
#include <sys/stat.h>

#include "libconvert/base/text.h"
#include "libconvert/symbols/debug_server.h"

/* Where to search. Borrowed, NUL-terminated. The user has named the folders and maps, so files in them may be shown. */
struct source_search {
    const char *const *maps; /* FROM=TO: files below the folder FROM are below the folder TO */
    size_t map_count;
    const char *const *folders;
    size_t folder_count;
    const char *sysroot; /* the recorded machine's or container's file system is below it; NULL: this machine's */
};

/* Returns whether the text has the form FROM=TO, neither of which is empty. */
bool source_map_is_valid(const char *map);

/* What became of a source file. */
enum source_outcome {
    SOURCE_FOUND,
    SOURCE_MISSING,
    SOURCE_UNREADABLE,
    SOURCE_NOT_CODE, /* its name does not end like that of source code */
    SOURCE_HIDDEN,
    SOURCE_UNVOUCHED, /* see source_search_open */
    SOURCE_NOT_TEXT,  /* this and the next one are for callers that read the file */
    SOURCE_TOO_LARGE,
    SOURCE_OUTCOME_COUNT
};

/* Returns what is said of such a file, such as "not found". */
const char *source_outcome_name(enum source_outcome outcome);

/* Opens the regular file that has the path, which may be a file:// URL. Searches in this order: where the first map
 * with a fitting FROM leads; if the path is absolute, the path below the sysroot (see symbols/sysroot.h) and then the
 * path itself; in each folder the path, then the path without its first component, without its first two, and so on. A
 * path that contains ".." is not searched in folders.
 *
 * Leaves out what source_rules.h calls no source code or hidden; links are resolved first. A hidden folder that leads
 * to one of the search's folders does not count. If the path is not vouched for, because no debug information of a
 * library on this machine names it, the file must be in one of the folders, or in a TO of the maps.
 *
 * Returns a descriptor to close, and describes the file in *status. Returns -1 if there is no such file; *outcome then
 * is why the first file that is there was left out, and errno the error of one that cannot be opened. Thread-safe. */
int source_search_open(const struct source_search *search, struct text path, bool is_vouched, struct stat *status,
                       enum source_outcome *outcome);

/* Fetches the file that the debug information of that build id names, under the same rules but for links: the server's
 * file has only that name. Otherwise as above. */
int source_search_fetch(struct debug_server *server, struct text build_id, struct text path, struct stat *status,
                        enum source_outcome *outcome);
