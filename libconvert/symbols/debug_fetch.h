/* Fetches what is missing of libraries before they are read: their files, and their debug information. */
#pragma once

#include "debug_server.h"
#include "symbol_worker.h"

/* Asks the server about each library of the requests, unless the library's debug information is here. A child process
 * looks at the files that are here. */
void debug_fetch(struct debug_server *server, const struct symbol_work *work, struct progress progress);
