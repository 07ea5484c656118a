#include "perf_ahead.h"

#include <stdatomic.h>

#include "libconvert/base/memory.h"
#include "libconvert/base/thread.h"

enum {
    BLOCK_BYTES = 256 * 1024, /* what is made of a block fits into the second-level cache */
    AHEAD_BLOCKS_MAX = 8,     /* bounds memory */
    BLOCKS_FOR_THREAD = 4,    /* a smaller input is read in less time than a thread saves */
    CACHE_LINE_BYTES = 64
};

/* Blocks are numbered from 0. Block i has slot i % slot_count until it has been read. */
struct slot {
    struct perf_block block;
    char *bytes;       /* owned; NULL: the block is part of an input in memory */
    size_t used_bytes; /* in `bytes`; those after the block belong to the next one */
    char apart[CACHE_LINE_BYTES];
};

/* What one thread changes with every sample is kept apart from what another one uses: processors that share a cache
 * line wait for each other. */
struct perf_ahead {
    struct input *source;    /* borrowed */
    struct input *input;     /* owned; returns the text of the blocks */
    struct failure *failure; /* borrowed */
    size_t block_bytes;
    struct text at_hand; /* what follows the last block in an input in memory */
    bool is_at_hand;
    bool has_ended;       /* the source has no more blocks */
    bool is_reading;      /* the input has returned the block read_count */
    unsigned slot_count;  /* of those that are used; two or more if blocks are copied, each after the previous one */
    uint64_t read_count;  /* blocks that have been read */
    uint32_t next_sample; /* row in the block that is being read */
    char apart_from_slots[CACHE_LINE_BYTES];
    struct slot slots[AHEAD_BLOCKS_MAX];
    struct perf_lexer lexer;
    char apart_from_lexer[CACHE_LINE_BYTES];

    bool may_start_thread;
    bool has_thread; /* only the thread uses the lexer */
    pthread_t thread;
    pthread_mutex_t mutex; /* guards changes of what follows, once there is a thread */
    pthread_cond_t has_changed;
    _Atomic uint64_t filled_count; /* blocks whose text is there */
    _Atomic uint64_t lexed_count;
    bool is_stopping;
};

static struct slot *slot_at(struct perf_ahead *ahead, uint64_t number) {
    return &ahead->slots[number % ahead->slot_count];
}

/* ---- Cutting. ---- */

/* Returns where the last blank line ends; the length if there is none. */
static size_t end_of_last_sample(struct text text) {
    struct text left = text;
    for (size_t at = text_find_last(left, '\n'); at > 0 && at < left.bytes_count; at = text_find_last(left, '\n')) {
        left = text_slice(left, 0, at);
        if (text_ends_with(left, TEXT("\n")) || text_ends_with(left, TEXT("\n\r"))) return at + 1;
    }
    return text.bytes_count;
}

/* Cuts the next block off an input in memory. */
static void cut(struct perf_ahead *ahead, struct slot *slot) {
    struct text text = text_slice(ahead->at_hand, 0, ahead->block_bytes);
    bool is_last = text.bytes_count == ahead->at_hand.bytes_count;
    if (!is_last) text.bytes_count = end_of_last_sample(text);
    slot->block.text = text;
    ahead->at_hand = text_from(ahead->at_hand, text.bytes_count);
    ahead->has_ended = is_last;
}

/* Copies the next block from the source, after the bytes that were read with the previous one. */
static void copy(struct perf_ahead *ahead, struct slot *slot) {
    if (!slot->bytes) slot->bytes = memory_allocate(ahead->failure, ahead->block_bytes);
    slot->block.text.bytes_count = slot->used_bytes = 0;
    ahead->has_ended = !slot->bytes;
    if (!slot->bytes) return;
    if (ahead->filled_count) {
        const struct slot *before = slot_at(ahead, ahead->filled_count - 1);
        size_t taken_bytes = before->block.text.bytes_count;
        slot->used_bytes = before->used_bytes - taken_bytes;
        memcpy(slot->bytes, before->bytes + taken_bytes, slot->used_bytes);
    }
    while (slot->used_bytes < ahead->block_bytes && !ahead->has_ended) {
        struct text window = text_slice(input_peek(ahead->source, 1), 0, ahead->block_bytes - slot->used_bytes);
        ahead->has_ended = !window.bytes_count;
        if (window.bytes_count) memcpy(slot->bytes + slot->used_bytes, window.bytes, window.bytes_count);
        slot->used_bytes += window.bytes_count;
        input_consume(ahead->source, window.bytes_count);
    }
    slot->block.text = (struct text){slot->bytes, slot->used_bytes};
    if (!ahead->has_ended) slot->block.text.bytes_count = end_of_last_sample(slot->block.text);
}

static void fill(struct perf_ahead *ahead) {
    struct slot *slot = slot_at(ahead, ahead->filled_count);
    if (ahead->is_at_hand)
        cut(ahead, slot);
    else
        copy(ahead, slot);
    if (!slot->block.text.bytes_count) return;
    pthread_mutex_lock(&ahead->mutex);
    ahead->filled_count++;
    pthread_cond_signal(&ahead->has_changed);
    pthread_mutex_unlock(&ahead->mutex);
}

/* ---- The thread. ---- */

/* Looks for a moment whether the count becomes more than `known`. Most waits are shorter than the time in which a
 * processor goes to sleep and wakes up again: without looking, reading takes 3 % longer on a virtual machine. */
static void look_for_more(const _Atomic uint64_t *count, uint64_t known) {
    enum { LOOK_COUNT = 4000 };
    for (int i = 0; i < LOOK_COUNT && atomic_load_explicit(count, memory_order_relaxed) == known; i++) {
#if defined __x86_64__ || defined __i386__
        __builtin_ia32_pause();
#endif
    }
}

/* Waits until there is a block to lex. Returns false if the thread must end. */
static bool await_filled(struct perf_ahead *ahead) {
    look_for_more(&ahead->filled_count, ahead->lexed_count);
    pthread_mutex_lock(&ahead->mutex);
    while (!ahead->is_stopping && ahead->filled_count == ahead->lexed_count)
        pthread_cond_wait(&ahead->has_changed, &ahead->mutex);
    bool must_end = ahead->is_stopping;
    pthread_mutex_unlock(&ahead->mutex);
    return !must_end;
}

static void *lex_blocks(void *context) {
    struct perf_ahead *ahead = context;
    while (await_filled(ahead)) {
        perf_lexer_run(&ahead->lexer, &slot_at(ahead, ahead->lexed_count)->block);
        pthread_mutex_lock(&ahead->mutex);
        ahead->lexed_count++;
        pthread_cond_signal(&ahead->has_changed);
        pthread_mutex_unlock(&ahead->mutex);
    }
    return NULL;
}

static bool is_large(const struct perf_ahead *ahead) {
    return ahead->read_count == BLOCKS_FOR_THREAD ||
           ahead->at_hand.bytes_count / BLOCKS_FOR_THREAD >= ahead->block_bytes;
}

/* If no thread can be started, this one continues alone. */
static void start_thread(struct perf_ahead *ahead) {
    ahead->may_start_thread = false;
    ahead->has_thread = thread_start(&ahead->thread, lex_blocks, ahead);
}

/* Waits until the block that is read next is lexed. */
static void await_block(struct perf_ahead *ahead) {
    if (!ahead->has_thread) {
        perf_lexer_run(&ahead->lexer, &slot_at(ahead, ahead->read_count)->block);
        ahead->lexed_count++;
        return;
    }
    look_for_more(&ahead->lexed_count, ahead->read_count);
    pthread_mutex_lock(&ahead->mutex);
    while (ahead->lexed_count == ahead->read_count) pthread_cond_wait(&ahead->has_changed, &ahead->mutex);
    pthread_mutex_unlock(&ahead->mutex);
}

/* ---- Reading. ---- */

const struct perf_block *perf_ahead_block(const struct perf_ahead *ahead) {
    return &ahead->slots[ahead->read_count % ahead->slot_count].block;
}

/* Consumes the block that was read. */
static void release(struct perf_ahead *ahead) {
    if (!ahead->is_reading) return;
    size_t bytes_count = slot_at(ahead, ahead->read_count)->block.text.bytes_count;
    ahead->is_reading = false;
    ahead->read_count++;
    if (!ahead->is_at_hand) return;
    input_peek(ahead->source, bytes_count);
    input_consume(ahead->source, bytes_count);
}

/* An input_next_block. */
static struct text next_block(void *context) {
    struct perf_ahead *ahead = context;
    release(ahead);
    ahead->next_sample = 0;
    if (ahead->may_start_thread && is_large(ahead)) start_thread(ahead);
    uint64_t wanted_count = ahead->read_count + (ahead->has_thread ? ahead->slot_count : 1);
    while (ahead->filled_count < wanted_count && !ahead->has_ended) fill(ahead);
    if (ahead->read_count == ahead->filled_count) return TEXT("");
    await_block(ahead);
    const struct perf_block *block = perf_ahead_block(ahead);
    if (block->has_failed) failure_set(ahead->failure, ahead->lexer.failure.code, "%s", ahead->lexer.failure.message);
    ahead->is_reading = true;
    return block->text;
}

struct input *perf_ahead_input(const struct perf_ahead *ahead) {
    return ahead->input;
}

const struct perf_lexed_sample *perf_ahead_sample_at(struct perf_ahead *ahead, const char *at) {
    const struct perf_block *block = perf_ahead_block(ahead);
    if (!ahead->is_reading || at < block->text.bytes || at >= block->text.bytes + block->text.bytes_count) return NULL;
    for (; ahead->next_sample < block->samples.count; ahead->next_sample++) {
        const struct perf_lexed_sample *sample = column_at(&block->samples, ahead->next_sample);
        if (sample->start >= at) return sample->start == at ? sample : NULL;
    }
    return NULL;
}

const struct perf_lexed_sample *perf_ahead_later_sample(const struct perf_ahead *ahead) {
    enum { LATER = 2, FETCHED = 4 };
    const struct column *samples = &perf_ahead_block(ahead)->samples;
    if (ahead->next_sample + FETCHED >= samples->count) return NULL;
    const char *fetched = column_at(samples, ahead->next_sample + FETCHED);
    for (size_t i = 0; i < sizeof(struct perf_lexed_sample); i += 64) __builtin_prefetch(fetched + i);
    return column_at(samples, ahead->next_sample + LATER);
}

/* ---- Creation. ---- */

struct perf_ahead *perf_ahead_create(struct input *source, unsigned job_count, size_t block_bytes,
                                     struct failure *failure) {
    struct perf_ahead *ahead = memory_allocate_zeroed(failure, 1, sizeof *ahead);
    if (!ahead) return NULL;
    ahead->source = source;
    ahead->failure = failure;
    ahead->block_bytes = block_bytes ? block_bytes : BLOCK_BYTES;
    ahead->may_start_thread = job_count > 1;
    ahead->at_hand = input_at_hand(source);
    ahead->is_at_hand = ahead->at_hand.bytes_count > 0;
    ahead->slot_count = job_count > 1 ? AHEAD_BLOCKS_MAX : ahead->is_at_hand ? 1 : 2;
    pthread_mutex_init(&ahead->mutex, NULL);
    pthread_cond_init(&ahead->has_changed, NULL);
    perf_lexer_init(&ahead->lexer, failure->memory);
    for (size_t i = 0; i < AHEAD_BLOCKS_MAX; i++) perf_block_init(&ahead->slots[i].block, &ahead->lexer);
    ahead->input = input_from_blocks(input_name(source), next_block, ahead, failure);
    if (ahead->input) return ahead;
    perf_ahead_destroy(ahead);
    return NULL;
}

void perf_ahead_destroy(struct perf_ahead *ahead) {
    if (!ahead) return;
    if (ahead->has_thread) {
        pthread_mutex_lock(&ahead->mutex);
        ahead->is_stopping = true;
        pthread_cond_signal(&ahead->has_changed);
        pthread_mutex_unlock(&ahead->mutex);
        pthread_join(ahead->thread, NULL);
    }
    for (size_t i = 0; i < AHEAD_BLOCKS_MAX; i++) {
        perf_block_fini(&ahead->slots[i].block);
        memory_free(ahead->slots[i].bytes);
    }
    perf_lexer_fini(&ahead->lexer);
    pthread_mutex_destroy(&ahead->mutex);
    pthread_cond_destroy(&ahead->has_changed);
    if (ahead->input) input_close(ahead->input);
    memory_free(ahead);
}
