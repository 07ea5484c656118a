#include "script_ahead.h"

#include <stdatomic.h>

#include "libconvert/base/arena.h"
#include "libconvert/base/column.h"
#include "libconvert/base/memory.h"
#include "libconvert/base/thread_pool.h"

enum {
    BLOCK_BYTES = 128 * 1024, /* what is made of a block fits into the second-level cache */
    BLOCKS_MAX = 8,           /* bounds memory: records can take ten times as much as their text */
    BLOCKS_FOR_THREAD = 8,    /* a smaller input is read in less time than a thread saves */
    CACHE_LINE_BYTES = 64
};

/* A block of text, and the records that were parsed of it. The last block is empty, and has the records that the end of
 * the text brings. */
struct block {
    char *bytes; /* owned */
    size_t bytes_count;
    struct column records; /* struct perf_record */
    struct arena texts;    /* what the records point to */
    char apart[CACHE_LINE_BYTES];
};

/* Blocks are numbered from 0. Block i takes the place of block i - BLOCKS_MAX. What one thread changes with every
 * record is kept apart from what the other one uses: processors that share a cache line wait for each other. */
struct ahead {
    struct input *source;
    size_t block_bytes;
    bool has_ended; /* the last block was filled */
    struct block blocks[BLOCKS_MAX];

    /* The parser's thread has these until it has been joined. */
    struct failure failure;
    struct perf_tallies tallies;
    bool is_parsing; /* block parsed_count is being parsed */
    bool is_at_end;  /* it is the last one, or there is none */
    char apart[CACHE_LINE_BYTES];

    pthread_mutex_t mutex; /* guards changes of what follows */
    pthread_cond_t has_changed;
    _Atomic uint64_t filled_count;
    _Atomic uint64_t parsed_count;
    bool is_stopping; /* the parser must end */
    bool is_done;     /* the parser has ended */
};

static struct block *block_at(struct ahead *ahead, uint64_t number) { return &ahead->blocks[number % BLOCKS_MAX]; }

static void change(struct ahead *ahead, _Atomic uint64_t *count, bool *flag) {
    pthread_mutex_lock(&ahead->mutex);
    if (count) (*count)++;
    if (flag) *flag = true;
    pthread_cond_signal(&ahead->has_changed);
    pthread_mutex_unlock(&ahead->mutex);
}

/* Waits until the count is more than `known`, or the flag is set. Looks for a moment first: most waits are shorter than
 * the time in which a processor goes to sleep and wakes up again. Without looking, reading takes 3 % longer on a
 * virtual machine. Returns whether the count is more. */
static bool await(struct ahead *ahead, const _Atomic uint64_t *count, uint64_t known, const bool *flag) {
    enum { LOOK_COUNT = 4000 };
    for (int i = 0; i < LOOK_COUNT && atomic_load_explicit(count, memory_order_relaxed) == known; i++) {
#if defined __x86_64__ || defined __i386__
        __builtin_ia32_pause();
#endif
    }
    pthread_mutex_lock(&ahead->mutex);
    while (*count == known && !*flag) pthread_cond_wait(&ahead->has_changed, &ahead->mutex);
    bool is_more = *count > known;
    pthread_mutex_unlock(&ahead->mutex);
    return is_more;
}

/* ---- The parser's thread. ---- */

static void copy_text(struct block *block, struct text *text) {
    if (text->bytes_count) *text = arena_copy(&block->texts, *text);
}

/* Returns a copy; NULL if memory ran out (latched). */
static const void *copy_rows(struct block *block, const void *rows, size_t bytes_count) {
    void *copy = arena_take_aligned(&block->texts, bytes_count);
    return copy ? memcpy(copy, rows, bytes_count) : NULL;
}

/* Keeps a copy of the record until the other thread takes it. */
static void keep(void *context, const struct perf_record *record) {
    struct ahead *ahead = context;
    struct block *block = block_at(ahead, ahead->parsed_count);
    struct perf_record *kept = column_push(&block->records);
    if (!kept) return;
    *kept = *record;
    copy_text(block, &kept->name);
    copy_text(block, &kept->text);
    if (record->type == PERF_LINE && record->line.is_source) {
        copy_text(block, &kept->line.source.file);
    } else if (record->type == PERF_LINE) {
        copy_text(block, &kept->line.frame.symbol);
        copy_text(block, &kept->line.frame.library);
    } else if ((record->type == PERF_SAMPLE || record->type == PERF_USER_STACK) && record->sample.line_count) {
        const struct perf_sample *sample = &record->sample;
        kept->sample.lines = copy_rows(block, sample->lines, sample->line_count * sizeof *sample->lines);
        if (!kept->sample.lines) kept->sample.line_count = 0;
    } else if (record->type == PERF_NAMESPACES && record->namespaces.count) {
        const struct perf_namespace_list *list = &record->namespaces;
        kept->namespaces.kinds = copy_rows(block, list->kinds, list->count * sizeof *list->kinds);
        if (!kept->namespaces.kinds) kept->namespaces.count = 0;
    }
}

/* An input_next_block. */
static struct text next_block(void *context) {
    struct ahead *ahead = context;
    if (ahead->is_at_end) return TEXT("");
    if (ahead->is_parsing) change(ahead, &ahead->parsed_count, NULL);
    ahead->is_parsing = await(ahead, &ahead->filled_count, ahead->parsed_count, &ahead->is_stopping);
    const struct block *block = block_at(ahead, ahead->parsed_count);
    ahead->is_at_end = !ahead->is_parsing || !block->bytes_count;
    return ahead->is_at_end ? TEXT("") : (struct text){block->bytes, block->bytes_count};
}

static void *parse(void *context) {
    struct ahead *ahead = context;
    struct input *input = input_from_blocks(input_name(ahead->source), next_block, ahead, &ahead->failure);
    if (input) script_parse(input, (struct perf_sink){keep, ahead}, &ahead->tallies, &ahead->failure);
    if (input) input_close(input);
    change(ahead, ahead->is_parsing ? &ahead->parsed_count : NULL, &ahead->is_done);
    return NULL;
}

/* ---- The calling thread. ---- */

/* Fills the next block. */
static void fill(struct ahead *ahead) {
    struct block *block = block_at(ahead, ahead->filled_count);
    block->bytes_count = 0;
    while (block->bytes && block->bytes_count < ahead->block_bytes) {
        struct text text = text_slice(input_peek(ahead->source, 1), 0, ahead->block_bytes - block->bytes_count);
        if (!text.bytes_count) break;
        memcpy(block->bytes + block->bytes_count, text.bytes, text.bytes_count);
        block->bytes_count += text.bytes_count;
        input_consume(ahead->source, text.bytes_count);
    }
    ahead->has_ended = !block->bytes_count;
    change(ahead, &ahead->filled_count, NULL);
}

static void take_records(struct block *block, struct perf_sink sink, const struct failure *failure) {
    for (size_t i = 0; i < block->records.count && !failure_is_set(failure); i++)
        perf_emit(sink, column_at(&block->records, i));
    struct failure *own = block->texts.failure;
    arena_fini(&block->texts);
    arena_init(&block->texts, own);
    block->records.count = 0;
}

static void take_blocks(struct ahead *ahead, struct perf_sink sink, const struct failure *failure) {
    for (uint64_t taken_count = 0; !failure_is_set(failure); taken_count++) {
        while (!ahead->has_ended && ahead->filled_count - taken_count < BLOCKS_MAX) fill(ahead);
        if (!await(ahead, &ahead->parsed_count, taken_count, &ahead->is_done)) return;
        take_records(block_at(ahead, taken_count), sink, failure);
    }
}

static void init_blocks(struct ahead *ahead, struct failure *failure) {
    for (size_t i = 0; i < BLOCKS_MAX; i++) {
        struct block *block = &ahead->blocks[i];
        block->bytes = memory_allocate(failure, ahead->block_bytes);
        column_init(&block->records, sizeof(struct perf_record), &ahead->failure);
        arena_init(&block->texts, &ahead->failure);
    }
}

static void fini_blocks(struct ahead *ahead) {
    for (size_t i = 0; i < BLOCKS_MAX; i++) {
        column_fini(&ahead->blocks[i].records);
        arena_fini(&ahead->blocks[i].texts);
        memory_free(ahead->blocks[i].bytes);
    }
}

static size_t size_of_block(size_t block_bytes) { return block_bytes ? block_bytes : BLOCK_BYTES; }

bool script_is_worth_thread(struct input *input, size_t block_bytes) {
    size_t wanted_bytes = BLOCKS_FOR_THREAD * size_of_block(block_bytes);
    return input_peek(input, wanted_bytes).bytes_count >= wanted_bytes;
}

void script_parse_ahead(struct input *input, size_t block_bytes, struct perf_sink sink, struct perf_tallies *tallies,
                        struct failure *failure) {
    struct ahead *ahead = memory_allocate_zeroed(failure, 1, sizeof *ahead);
    pthread_t thread;
    if (!ahead) return;
    ahead->source = input;
    ahead->block_bytes = size_of_block(block_bytes);
    ahead->failure.memory = failure->memory;
    pthread_mutex_init(&ahead->mutex, NULL);
    pthread_cond_init(&ahead->has_changed, NULL);
    init_blocks(ahead, failure);
    if (thread_start(&thread, parse, ahead)) {
        take_blocks(ahead, sink, failure);
        change(ahead, NULL, &ahead->is_stopping);
        pthread_join(thread, NULL);
        perf_tallies_add(tallies, &ahead->tallies);
        if (failure_is_set(&ahead->failure)) failure_set(failure, ahead->failure.code, "%s", ahead->failure.message);
    } else {
        script_parse(input, sink, tallies, failure);
    }
    fini_blocks(ahead);
    pthread_mutex_destroy(&ahead->mutex);
    pthread_cond_destroy(&ahead->has_changed);
    memory_free(ahead);
}
