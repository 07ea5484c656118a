#include "parallel_rows.h"

#include <pthread.h>

#include "libconvert/base/memory.h"
#include "libconvert/base/thread.h"

enum {
    THREADS_MAX = 8,
    BLOCKS_PER_THREAD = 2, /* one that the thread writes, and one that waits for its turn */
    BLOCKS_MAX = THREADS_MAX * BLOCKS_PER_THREAD
};

struct block {
    struct json json;
    struct failure failure;
    bool is_done; /* guarded by the mutex */
};

struct parallel_rows {
    unsigned thread_count;
    pthread_t helpers[THREADS_MAX];
    unsigned helper_count;
    bool is_started;

    pthread_mutex_t mutex; /* guards the members below */
    pthread_cond_t has_work;
    pthread_cond_t has_done;
    bool is_ending;

    /* The current array. Block number n is blocks[n % block_limit]. */
    rows_writer *write;
    const void *context; /* borrowed */
    size_t row_count;
    size_t rows_per_block;
    size_t block_count;
    size_t taken_count;   /* blocks that a thread has begun to write */
    size_t spliced_count; /* blocks that are in the document */
    size_t block_limit;
    struct block blocks[BLOCKS_MAX];
};

/* ---- Blocks. ---- */

static bool can_take(const struct parallel_rows *parallel) {
    return parallel->taken_count < parallel->block_count &&
           parallel->taken_count - parallel->spliced_count < parallel->block_limit;
}

/* Call it with the mutex locked and if can_take. Writes the next block, with the mutex unlocked meanwhile. */
static void write_next(struct parallel_rows *parallel) {
    size_t first = parallel->taken_count * parallel->rows_per_block, left = parallel->row_count - first;
    struct block *block = &parallel->blocks[parallel->taken_count++ % parallel->block_limit];
    pthread_mutex_unlock(&parallel->mutex);
    json_init(&block->json, &block->failure);
    parallel->write(&block->json, parallel->context, first,
                    first + (left < parallel->rows_per_block ? left : parallel->rows_per_block));
    pthread_mutex_lock(&parallel->mutex);
    block->is_done = true;
}

static void *help(void *context) {
    struct parallel_rows *parallel = context;
    pthread_mutex_lock(&parallel->mutex);
    for (;;) {
        while (!parallel->is_ending && !can_take(parallel)) pthread_cond_wait(&parallel->has_work, &parallel->mutex);
        if (parallel->is_ending) break;
        write_next(parallel);
        pthread_cond_signal(&parallel->has_done);
    }
    pthread_mutex_unlock(&parallel->mutex);
    return NULL;
}

/* Call it with the mutex locked. Returns the oldest block that is not in the document, once it is done. The calling
 * thread writes blocks meanwhile, if there are any. */
static struct block *await_oldest(struct parallel_rows *parallel) {
    struct block *block = &parallel->blocks[parallel->spliced_count % parallel->block_limit];
    while (!block->is_done) {
        if (can_take(parallel))
            write_next(parallel);
        else
            pthread_cond_wait(&parallel->has_done, &parallel->mutex);
    }
    return block;
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

static void write_blocks(struct parallel_rows *parallel, struct json *json) {
    pthread_mutex_lock(&parallel->mutex);
    pthread_cond_broadcast(&parallel->has_work);
    while (parallel->spliced_count < parallel->block_count) {
        struct block *block = await_oldest(parallel);
        pthread_mutex_unlock(&parallel->mutex);
        splice(json, block);
        pthread_mutex_lock(&parallel->mutex);
        block->is_done = false;
        parallel->spliced_count++;
        /* After a failure, only what has been begun is awaited. */
        if (failure_is_set(json->out.failure)) parallel->block_count = parallel->taken_count;
        pthread_cond_signal(&parallel->has_work);
    }
    pthread_mutex_unlock(&parallel->mutex);
}

/* ---- Arrays. ---- */

static void start_helpers(struct parallel_rows *parallel) {
    parallel->is_started = true;
    while (parallel->helper_count + 1 < parallel->thread_count &&
           thread_start(&parallel->helpers[parallel->helper_count], help, parallel))
        parallel->helper_count++;
}

void parallel_rows_write(struct parallel_rows *parallel, struct json *json, size_t row_count, size_t rows_per_block,
                         rows_writer *write, const void *context) {
    size_t block_count = row_count / rows_per_block + (row_count % rows_per_block != 0);
    bool is_long = parallel && block_count >= PARALLEL_BLOCKS_MIN;
    if (is_long && !parallel->is_started) start_helpers(parallel);
    if (!is_long || !parallel->helper_count) {
        write(json, context, 0, row_count);
        return;
    }
    pthread_mutex_lock(&parallel->mutex);
    parallel->write = write;
    parallel->context = context;
    parallel->row_count = row_count;
    parallel->rows_per_block = rows_per_block;
    parallel->taken_count = parallel->spliced_count = 0;
    parallel->block_count = block_count;
    pthread_mutex_unlock(&parallel->mutex);
    write_blocks(parallel, json);
}

struct parallel_rows *parallel_rows_create(unsigned thread_count, struct failure *failure) {
    if (thread_count < 2) return NULL;
    struct parallel_rows *parallel = memory_allocate_zeroed(failure, 1, sizeof *parallel);
    if (!parallel) return NULL;
    parallel->thread_count = thread_count < THREADS_MAX ? thread_count : THREADS_MAX;
    parallel->block_limit = (size_t)parallel->thread_count * BLOCKS_PER_THREAD;
    for (size_t i = 0; i < BLOCKS_MAX; i++) parallel->blocks[i].failure.memory = failure->memory;
    pthread_mutex_init(&parallel->mutex, NULL);
    pthread_cond_init(&parallel->has_work, NULL);
    pthread_cond_init(&parallel->has_done, NULL);
    return parallel;
}

void parallel_rows_destroy(struct parallel_rows *parallel) {
    if (!parallel) return;
    pthread_mutex_lock(&parallel->mutex);
    parallel->is_ending = true;
    pthread_cond_broadcast(&parallel->has_work);
    pthread_mutex_unlock(&parallel->mutex);
    for (unsigned i = 0; i < parallel->helper_count; i++) pthread_join(parallel->helpers[i], NULL);
    pthread_mutex_destroy(&parallel->mutex);
    pthread_cond_destroy(&parallel->has_work);
    pthread_cond_destroy(&parallel->has_done);
    memory_free(parallel);
}
