#include "gzip_writer.h"

#include <assert.h>
#include <pthread.h>
#include <string.h>
#include <zlib.h>

#include "libconvert/base/memory.h"
#include "libconvert/base/thread.h"

enum {
    BLOCK_BYTES = 256 * 1024,
    FLUSH_BYTES = 16,         /* more than what ends a block at a byte boundary takes */
    WINDOW_BITS = -MAX_WBITS, /* the largest window, and neither header nor trailer */
    MEMORY_LEVEL = 8,         /* zlib's default */
    HELPED_FROM_BLOCK = 4,    /* the number of the first block that helpers may deflate */
    THREADS_MAX = 8,          /* making JSON takes about an eighth of the time of deflating it */
    BLOCKS_PER_THREAD = 2,    /* one that the thread deflates, and one that waits */
    BLOCKS_MAX = THREADS_MAX * BLOCKS_PER_THREAD
};

/* Bytes of the member on their way: filled by the appending thread, deflated by any thread, and written by the
 * appending thread. */
struct block {
    bool is_last;
    bool is_deflated; /* guarded by the mutex */
    size_t bytes_count;
    size_t deflated_bytes;
    uint32_t crc; /* of the bytes */
    unsigned char bytes[BLOCK_BYTES];
    unsigned char deflated[]; /* deflated_capacity_bytes of the writer */
};

/* What deflates in one thread. */
struct deflater {
    struct gzip_writer *writer;
    z_stream stream;
    pthread_t thread;
};

struct gzip_writer {
    struct failure *failure;        /* borrowed */
    struct failure helpers_failure; /* of adding helpers, which the member can do without */
    gzip_output *output;
    void *context; /* borrowed */
    int level;
    unsigned thread_count;
    size_t deflated_capacity_bytes;

    /* The ring of blocks: block number n is blocks[n % block_count]. */
    struct block *blocks[BLOCKS_MAX]; /* owned */
    size_t block_count;
    uint64_t written_count;
    uint32_t crc;
    uint32_t size; /* modulo 2^32, as the trailer has it */

    struct deflater deflaters[THREADS_MAX]; /* the first one belongs to the appending thread, the others to helpers */
    size_t deflater_count;

    pthread_mutex_t mutex; /* guards the members below */
    pthread_cond_t has_filled;
    pthread_cond_t has_deflated;
    uint64_t filled_count;
    uint64_t taken_count; /* blocks that a thread has begun to deflate */
    bool is_ending;       /* helpers take no more blocks */
};

/* ---- Deflating. ---- */

static void *allocate(void *failure, unsigned count, unsigned bytes_count) {
    return memory_allocate(failure, (size_t)count * bytes_count);
}

static void release(void *failure, void *block) {
    (void)failure;
    memory_free(block);
}

/* Allocates all that the stream will ever need. Returns false if memory ran out (latched). */
static bool deflater_init(struct deflater *deflater, struct gzip_writer *writer, struct failure *failure) {
    *deflater = (struct deflater){.writer = writer};
    deflater->stream = (z_stream){.zalloc = allocate, .zfree = release, .opaque = failure};
    return deflateInit2(&deflater->stream, writer->level, Z_DEFLATED, WINDOW_BITS, MEMORY_LEVEL, Z_DEFAULT_STRATEGY) ==
           Z_OK;
}

/* Runs in any thread, with the block to itself. */
static void deflate_block(z_stream *stream, struct block *block, size_t capacity_bytes) {
    deflateReset(stream);
    stream->next_in = block->bytes;
    stream->avail_in = (unsigned)block->bytes_count;
    stream->next_out = block->deflated;
    stream->avail_out = (unsigned)capacity_bytes;
    deflate(stream, block->is_last ? Z_FINISH : Z_SYNC_FLUSH);
    assert(!stream->avail_in && stream->avail_out);
    block->deflated_bytes = capacity_bytes - stream->avail_out;
    block->crc = (uint32_t)crc32(0, block->bytes, (unsigned)block->bytes_count);
}

/* Call it with the mutex locked and with a block that waits. Deflates the oldest such block, with the mutex unlocked
 * meanwhile. */
static void deflate_next(struct gzip_writer *writer, struct deflater *deflater) {
    struct block *block = writer->blocks[writer->taken_count++ % writer->block_count];
    pthread_mutex_unlock(&writer->mutex);
    deflate_block(&deflater->stream, block, writer->deflated_capacity_bytes);
    pthread_mutex_lock(&writer->mutex);
    block->is_deflated = true;
}

static void *help(void *context) {
    struct deflater *deflater = context;
    struct gzip_writer *writer = deflater->writer;
    pthread_mutex_lock(&writer->mutex);
    for (;;) {
        while (!writer->is_ending && writer->taken_count == writer->filled_count)
            pthread_cond_wait(&writer->has_filled, &writer->mutex);
        if (writer->is_ending) break;
        deflate_next(writer, deflater);
        pthread_cond_signal(&writer->has_deflated);
    }
    pthread_mutex_unlock(&writer->mutex);
    return NULL;
}

/* ---- Writing. ---- */

static void put_bytes(struct gzip_writer *writer, const void *bytes, size_t bytes_count) {
    if (!failure_is_set(writer->failure)) writer->output(writer->context, (struct text){bytes, bytes_count});
}

/* Returns the oldest block that is not written, deflated. The calling thread deflates what waits. If nothing waits, it
 * waits for the helper that deflates the block. */
static const struct block *await_oldest(struct gzip_writer *writer) {
    const struct block *block = writer->blocks[writer->written_count % writer->block_count];
    pthread_mutex_lock(&writer->mutex);
    while (!block->is_deflated) {
        if (writer->taken_count < writer->filled_count)
            deflate_next(writer, &writer->deflaters[0]);
        else
            pthread_cond_wait(&writer->has_deflated, &writer->mutex);
    }
    pthread_mutex_unlock(&writer->mutex);
    return block;
}

/* Writes the oldest filled blocks until at most `left` are left. */
static void write_blocks(struct gzip_writer *writer, size_t left) {
    while (writer->filled_count - writer->written_count > left && !failure_is_set(writer->failure)) {
        const struct block *block = await_oldest(writer);
        put_bytes(writer, block->deflated, block->deflated_bytes);
        writer->crc = (uint32_t)crc32_combine(writer->crc, block->crc, (z_off_t)block->bytes_count);
        writer->size += (uint32_t)block->bytes_count;
        writer->written_count++;
    }
}

/* ---- Filling. ---- */

static struct block *current_block(const struct gzip_writer *writer) {
    return writer->blocks[writer->filled_count % writer->block_count];
}

static bool add_block(struct gzip_writer *writer, struct failure *failure) {
    struct block *block = memory_allocate(failure, sizeof *block + writer->deflated_capacity_bytes);
    if (!block) return false;
    writer->blocks[writer->block_count++] = block;
    return true;
}

/* Adds blocks and helpers, as many as memory and system allow. Call it while no block waits or is deflated. */
static void add_helpers(struct gzip_writer *writer) {
    struct failure *failure = &writer->helpers_failure;
    while (writer->block_count < (size_t)writer->thread_count * BLOCKS_PER_THREAD && add_block(writer, failure)) {
    }
    while (writer->deflater_count < writer->thread_count && writer->block_count > 1) {
        struct deflater *deflater = &writer->deflaters[writer->deflater_count];
        if (!deflater_init(deflater, writer, failure)) break;
        if (!thread_start(&deflater->thread, help, deflater)) {
            deflateEnd(&deflater->stream);
            break;
        }
        writer->deflater_count++;
    }
}

/* Gives the current block to be deflated. */
static void submit_block(struct gzip_writer *writer, bool is_last) {
    struct block *block = current_block(writer);
    block->is_last = is_last;
    pthread_mutex_lock(&writer->mutex);
    block->is_deflated = false;
    writer->filled_count++;
    pthread_cond_signal(&writer->has_filled);
    pthread_mutex_unlock(&writer->mutex);
}

/* Makes the next block of the ring the current one, once it has been written. */
static void begin_block(struct gzip_writer *writer) {
    bool is_helped = writer->filled_count == HELPED_FROM_BLOCK && writer->thread_count > 1;
    write_blocks(writer, is_helped ? 0 : writer->block_count - 1);
    if (is_helped && !failure_is_set(writer->failure)) add_helpers(writer);
    if (!failure_is_set(writer->failure)) current_block(writer)->bytes_count = 0;
}

void gzip_writer_append(struct gzip_writer *writer, struct text bytes) {
    while (bytes.bytes_count && !failure_is_set(writer->failure)) {
        struct block *block = current_block(writer);
        struct text part = text_slice(bytes, 0, BLOCK_BYTES - block->bytes_count);
        memcpy(block->bytes + block->bytes_count, part.bytes, part.bytes_count);
        block->bytes_count += part.bytes_count;
        bytes = text_from(bytes, part.bytes_count);
        if (block->bytes_count < BLOCK_BYTES) return;
        submit_block(writer, false);
        begin_block(writer);
    }
}

static void put_number(unsigned char *out, uint32_t value) {
    for (int i = 0; i < 4; i++) out[i] = (unsigned char)(value >> 8 * i);
}

void gzip_writer_finish(struct gzip_writer *writer) {
    if (failure_is_set(writer->failure)) return;
    submit_block(writer, true);
    write_blocks(writer, 0);
    unsigned char trailer[8];
    put_number(trailer, writer->crc);
    put_number(trailer + 4, writer->size);
    put_bytes(writer, trailer, sizeof trailer);
}

/* ---- The writer. ---- */

/* The fields are: magic number, method, no flags, no time, no hint about the level, Unix. */
static void put_header(struct gzip_writer *writer) {
    static const unsigned char header[] = {0x1f, 0x8b, Z_DEFLATED, 0, 0, 0, 0, 0, 0, 3};
    put_bytes(writer, header, sizeof header);
}

struct gzip_writer *gzip_writer_create(int level, unsigned thread_count, gzip_output *output, void *context,
                                       struct failure *failure) {
    struct gzip_writer *writer = memory_allocate_zeroed(failure, 1, sizeof *writer);
    if (!writer) return NULL;
    writer->failure = failure;
    writer->helpers_failure.memory = failure->memory;
    writer->output = output;
    writer->context = context;
    writer->level = level;
    writer->thread_count = thread_count < THREADS_MAX ? thread_count : THREADS_MAX;
    pthread_mutex_init(&writer->mutex, NULL);
    pthread_cond_init(&writer->has_filled, NULL);
    pthread_cond_init(&writer->has_deflated, NULL);
    bool is_good = deflater_init(&writer->deflaters[0], writer, failure);
    if (is_good) {
        writer->deflater_count = 1;
        writer->deflated_capacity_bytes = deflateBound(&writer->deflaters[0].stream, BLOCK_BYTES) + FLUSH_BYTES;
        is_good = add_block(writer, failure);
    }
    if (!is_good) {
        failure_set_memory(failure);
        gzip_writer_destroy(writer);
        return NULL;
    }
    writer->blocks[0]->bytes_count = 0;
    put_header(writer);
    return writer;
}

void gzip_writer_destroy(struct gzip_writer *writer) {
    if (!writer) return;
    pthread_mutex_lock(&writer->mutex);
    writer->is_ending = true;
    pthread_cond_broadcast(&writer->has_filled);
    pthread_mutex_unlock(&writer->mutex);
    for (size_t i = 0; i < writer->deflater_count; i++) {
        if (i > 0) pthread_join(writer->deflaters[i].thread, NULL);
        deflateEnd(&writer->deflaters[i].stream);
    }
    for (size_t i = 0; i < writer->block_count; i++) memory_free(writer->blocks[i]);
    pthread_mutex_destroy(&writer->mutex);
    pthread_cond_destroy(&writer->has_filled);
    pthread_cond_destroy(&writer->has_deflated);
    memory_free(writer);
}
