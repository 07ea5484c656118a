/* Cuts an input into blocks and lexes them (perf_lexer.h) before they are read.
 *
 * A large input is lexed by a thread of its own, at most AHEAD_BLOCKS_MAX blocks ahead of the reader. A smaller one is
 * lexed by the reader's thread, block by block. What is found is the same in both cases. Only the reader's thread
 * touches the input, so callbacks of the input run there.
 *
 * Lexed samples are found by their addresses: reading may ignore any of them and read their text instead. */
#ifndef GECKO_PERF_AHEAD_H
#define GECKO_PERF_AHEAD_H

#include "perf_lexer.h"
#include "readers/input/input.h"

struct perf_ahead;

/* Begins to read `source`, which is borrowed. At most job_count threads work, including the calling one. `block_bytes`
 * is the most bytes in a block, for tests; 0 is the default. Returns NULL if memory ran out (latched). */
struct perf_ahead *perf_ahead_create(struct input *source, unsigned job_count, size_t block_bytes,
                                     struct failure *failure);

/* Ends the thread, if any. NULL is allowed. */
void perf_ahead_destroy(struct perf_ahead *ahead);

/* Returns the input to be read in place of the source: it has the same bytes. Borrowed. */
struct input *perf_ahead_input(const struct perf_ahead *ahead);

/* Returns the block whose bytes the input returned last. */
const struct perf_block *perf_ahead_block(const struct perf_ahead *ahead);

/* Returns the lexed sample whose event line begins at `at`, a pointer into the text that the input returned; NULL if
 * there is none. Addresses in a block must not decrease from call to call. */
const struct perf_lexed_sample *perf_ahead_sample_at(struct perf_ahead *ahead, const char *at);

/* Returns the sample after the next one, which it also begins to fetch; NULL if it is not in the block. */
const struct perf_lexed_sample *perf_ahead_later_sample(const struct perf_ahead *ahead);

#endif
