#include "gzip_writer.h"

#include <assert.h>
#include <string.h>
#include <zlib.h>

#include "libconvert/base/memory.h"
#include "libconvert/base/thread_pool.h"

enum {
    BLOCK_BYTES = 256 * 1024,
    FLUSH_BYTES = 16,         /* more than the marker that ends a block at a byte boundary */
    WINDOW_BITS = -MAX_WBITS, /* the largest window, and neither header nor trailer */
    MEMORY_LEVEL = 8,         /* zlib's default */
    HELPED_FROM_BLOCK = 4,    /* the number of the first block that helpers may deflate */
    THREADS_MAX = 8,          /* making JSON takes about an eighth of the time of deflating it */
    BLOCKS_PER_THREAD = 2,    /* a block that the thread deflates, and one that waits */
    BLOCKS_MAX = THREADS_MAX * BLOCKS_PER_THREAD
};

/* A part of the member. The appending thread fills it, any thread deflates it, and the appending thread writes it. */
struct block {
    struct thread_job job;
    struct gzip_writer *writer;
    bool is_last;
    size_t bytes_count;
    size_t deflated_bytes;
    uint32_t crc; /* CRC of `bytes` */
    unsigned char bytes[BLOCK_BYTES];
    unsigned char deflated[]; /* deflated_capacity_bytes of the writer */
};

struct gzip_writer {
    struct failure *failure;        /* borrowed */
    struct failure helpers_failure; /* why helpers could not be added; the member is complete without them */
    gzip_output *output;
    void *context; /* borrowed */
    int level;
    unsigned thread_count;
    size_t deflated_capacity_bytes;

    /* The ring of blocks: block number n is blocks[n % block_count]. */
    struct block *blocks[BLOCKS_MAX]; /* owned */
    size_t block_count;
    uint64_t filled_count;
    uint64_t written_count;
    uint32_t crc;
    uint32_t size; /* modulo 2^32, as the trailer has it */

    struct thread_pool pool;
    z_stream streams[THREADS_MAX]; /* the first one belongs to the appending thread, the others to the pool's threads */
    unsigned stream_count;
};

/* ---- Deflating. ---- */

static void *allocate(void *failure, unsigned count, unsigned bytes_count) {
    return memory_allocate(failure, (size_t)count * bytes_count);
}

static void release(void *failure, void *block) {
    (void)failure;
    memory_free(block);
}

/* Allocates everything that the stream will ever need. Returns false if memory ran out (latched). */
static bool add_stream(struct gzip_writer *writer, struct failure *failure) {
    z_stream *stream = &writer->streams[writer->stream_count];
    *stream = (z_stream){.zalloc = allocate, .zfree = release, .opaque = failure};
    bool is_good =
        deflateInit2(stream, writer->level, Z_DEFLATED, WINDOW_BITS, MEMORY_LEVEL, Z_DEFAULT_STRATEGY) == Z_OK;
    writer->stream_count += is_good;
    return is_good;
}

/* A thread_job_run. */
static void deflate_block(void *context, unsigned helper) {
    struct block *block = context;
    z_stream *stream = &block->writer->streams[helper];
    size_t capacity_bytes = block->writer->deflated_capacity_bytes;
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

/* ---- Writing. ---- */

static void put_bytes(struct gzip_writer *writer, const void *bytes, size_t bytes_count) {
    if (!failure_is_set(writer->failure)) writer->output(writer->context, (struct text){bytes, bytes_count});
}

/* Writes the oldest filled blocks until at most `left` are left. */
static void write_blocks(struct gzip_writer *writer, size_t left) {
    while (writer->filled_count - writer->written_count > left && !failure_is_set(writer->failure)) {
        const struct block *block = writer->blocks[writer->written_count % writer->block_count];
        thread_pool_await(&writer->pool, &block->job);
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
    block->writer = writer;
    writer->blocks[writer->block_count++] = block;
    return true;
}

/* Adds blocks and helpers, as many as memory allows. Call it while no block waits or is deflated. */
static void add_helpers(struct gzip_writer *writer) {
    struct failure *failure = &writer->helpers_failure;
    while (writer->block_count < (size_t)writer->thread_count * BLOCKS_PER_THREAD && add_block(writer, failure)) {
    }
    while (writer->stream_count < writer->thread_count && writer->block_count > 1 && add_stream(writer, failure)) {
    }
    thread_pool_set_limit(&writer->pool, writer->stream_count);
}

/* Submits the current block for compression. */
static void submit_block(struct gzip_writer *writer, bool is_last) {
    struct block *block = current_block(writer);
    block->is_last = is_last;
    writer->filled_count++;
    thread_pool_submit(&writer->pool, &block->job, deflate_block, block);
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
    thread_pool_init(&writer->pool, 1);
    bool is_good = add_stream(writer, failure);
    if (is_good) {
        writer->deflated_capacity_bytes = deflateBound(&writer->streams[0], BLOCK_BYTES) + FLUSH_BYTES;
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
    thread_pool_fini(&writer->pool);
    for (unsigned i = 0; i < writer->stream_count; i++) deflateEnd(&writer->streams[i]);
    for (size_t i = 0; i < writer->block_count; i++) memory_free(writer->blocks[i]);
    memory_free(writer);
}
