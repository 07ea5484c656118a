/* Parses text in a thread of its own, some blocks ahead of the thread that uses the records.
 *
 * The parser touches no table of the profile, so it needs not wait for what its records become. Only the calling thread
 * touches the input and takes the records, so callbacks of the input run there. */
#pragma once

#include "script_parser.h"

/* Returns whether the input is so large that parsing it in another thread saves time. `block_bytes` is the size of a
 * block, for tests; 0 is the default. */
bool script_is_worth_thread(struct input *input, size_t block_bytes);

/* Does what script_parse does. */
void script_parse_ahead(struct input *input, size_t block_bytes, struct perf_sink sink, struct perf_tallies *tallies,
                        struct failure *failure);
