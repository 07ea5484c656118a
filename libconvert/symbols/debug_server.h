/* Fetches debug information and source files by build id from the servers that DEBUGINFOD_URLS names. The work is done
 * by libdebuginfod of elfutils, which keeps what it has fetched in a cache, and is loaded only if that variable is set.
 */
#pragma once

#include <limits.h>

#include "libconvert/base/progress.h"
#include "libconvert/base/text.h"
#include "libconvert/profile/ledger.h"

/* After that time, or DEBUGINFOD_MAXTIME seconds if that is less, nothing more is fetched for an input. */
enum { DEBUG_SERVER_S_MAX = 120 };

struct debug_server {
    void *client;
    uint64_t end_ns; /* when no time is left, by CLOCK_MONOTONIC */
    struct progress progress;
    struct failure *failure; /* borrowed; cancels what is being fetched. NULL: nothing does */
    bool is_late;            /* something was not fetched, since no time was left */
    char cache[PATH_MAX];    /* the folder with the files that were fetched; empty: none were */
};

/* Returns false if there is no server, or no library for it. While a file is fetched, its share is reported to
 * server->progress, which the caller may change between files. */
bool debug_server_open(struct debug_server *server, struct failure *failure);
void debug_server_close(struct debug_server *server);

/* Notes in the ledger if something was not fetched, since no time was left. */
void debug_server_note_delay(const struct debug_server *server, struct ledger *ledger);

/* Fetch a file to CACHE/BUILD_ID/executable or CACHE/BUILD_ID/debuginfo. The build id is in hexadecimal digits. */
void debug_server_fetch_executable(struct debug_server *server, struct text build_id);
void debug_server_fetch_debug_information(struct debug_server *server, struct text build_id);

/* Fetches the source file that the debug information of that build id names by an absolute path. Returns a descriptor
 * to close; -1 if there is none. */
int debug_server_open_source(struct debug_server *server, struct text build_id, struct text path);
