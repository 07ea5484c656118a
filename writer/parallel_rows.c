#include "parallel_rows.h"

#include "libconvert/base/memory.h"
#include "libconvert/base/thread_pool.h"

enum {
    THREADS_MAX = 8,
    BLOCKS_PER_THREAD = 2, /* one that the thread writes, and one that waits for its turn */
    BLOCKS_MAX = THREADS_MAX * BLOCKS_PER_THREAD
};

struct block {
    struct thread_job job;
    const struct parallel_rows *parallel;
    size_t first; /* the block's rows */
    size_t end;
    struct json json;
    struct failure failure;
};

struct parallel_rows {
    struct thread_pool pool;
    size_t block_limit;

    /* The current array. Block number n is blocks[n % block_limit]. */
    rows_writer *write;
    const void *context; /* borrowed */
    struct block blocks[BLOCKS_MAX];
};

/* ---- Blocks. ---- */

/* A thread_job_run. */
static void write_block(void *context, unsigned helper) {
    struct block *block = context;
    (void)helper;
    json_init(&block->json, &block->failure);
    block->parallel->write(&block->json, block->parallel->context, block->first, block->end);
}

static struct block *block_at(struct parallel_rows *parallel, size_t number) {
    return &parallel->blocks[number % parallel->block_limit];
}

/* Moves the block's text to the document, unless something has failed. */
static void splice(struct json *json, struct block *block) {
    struct failure *failure = json->out.failure;
    if (failure_is_set(&block->failure) && !failure_is_set(failure)) *failure = block->failure;
    if (failure_is_set(failure))
        json_fini(&block->json);
    else
        json_splice(json, &block->json);
    failure_clear(&block->failure);
}

/* After a failure, only the blocks that were submitted before are awaited. */
static void write_blocks(struct parallel_rows *parallel, struct json *json, size_t row_count, size_t rows_per_block) {
    size_t submitted_count = 0, spliced_count = 0, next_row = 0;
    for (;;) {
        bool has_more = next_row < row_count && !failure_is_set(json->out.failure);
        if (has_more && submitted_count - spliced_count < parallel->block_limit) {
            struct block *block = block_at(parallel, submitted_count++);
            size_t left = row_count - next_row;
            block->first = next_row;
            next_row += left < rows_per_block ? left : rows_per_block;
            block->end = next_row;
            thread_pool_submit(&parallel->pool, &block->job, write_block, block);
        } else if (spliced_count < submitted_count) {
            struct block *block = block_at(parallel, spliced_count++);
            thread_pool_await(&parallel->pool, &block->job);
            splice(json, block);
        } else {
            return;
        }
    }
}

/* ---- Arrays. ---- */

void parallel_rows_write(struct parallel_rows *parallel, struct json *json, size_t row_count, size_t rows_per_block,
                         rows_writer *write, const void *context) {
    size_t block_count = row_count / rows_per_block + (row_count % rows_per_block != 0);
    if (!parallel || block_count < PARALLEL_BLOCKS_MIN) {
        write(json, context, 0, row_count);
        return;
    }
    parallel->write = write;
    parallel->context = context;
    write_blocks(parallel, json, row_count, rows_per_block);
}

struct parallel_rows *parallel_rows_create(unsigned thread_count, struct failure *failure) {
    if (thread_count < 2) return NULL;
    struct parallel_rows *parallel = memory_allocate_zeroed(failure, 1, sizeof *parallel);
    if (!parallel) return NULL;
    if (thread_count > THREADS_MAX) thread_count = THREADS_MAX;
    parallel->block_limit = (size_t)thread_count * BLOCKS_PER_THREAD;
    for (size_t i = 0; i < BLOCKS_MAX; i++) {
        parallel->blocks[i].parallel = parallel;
        parallel->blocks[i].failure.memory = failure->memory;
    }
    thread_pool_init(&parallel->pool, thread_count);
    return parallel;
}

void parallel_rows_destroy(struct parallel_rows *parallel) {
    if (!parallel) return;
    thread_pool_fini(&parallel->pool);
    memory_free(parallel);
}
