/* Writes the rows of long arrays with several threads.
 *
 * The rows are cut into blocks. Any thread makes the text of a block, and the calling thread puts the texts into the
 * document in their order, so the document does not depend on the number of threads. While the calling thread passes
 * finished text on, to a file for instance, the others go on. Threads start when the first array is long enough. */
#pragma once

#include "json.h"

enum {
    PARALLEL_BLOCKS_MIN = 4, /* shorter arrays are written by the calling thread */
    /* For rows that are a few numbers each. */
    PARALLEL_ROWS_PER_BLOCK = 8192,
    PARALLEL_ROWS_MIN = PARALLEL_BLOCKS_MIN * PARALLEL_ROWS_PER_BLOCK
};

struct parallel_rows;

/* Writes the rows from `first` up to but not including `end`, each as a value. Runs in any thread, and for several
 * blocks at a time, so it may change nothing but `json`, and must latch failures in the latch of `json`. */
typedef void rows_writer(struct json *json, const void *context, size_t first, size_t end);

/* At most thread_count threads write, including the calling one. Returns NULL if that is one, or if memory ran out
 * (latched). */
struct parallel_rows *parallel_rows_create(unsigned thread_count, struct failure *failure);

/* NULL is allowed. */
void parallel_rows_destroy(struct parallel_rows *parallel);

/* Writes all rows of an array, which the caller has begun and ends. `parallel` may be NULL. Failures are latched in the
 * latch of `json`. */
void parallel_rows_write(struct parallel_rows *parallel, struct json *json, size_t row_count, size_t rows_per_block,
                         rows_writer *write, const void *context);
