#include "input_lzma.h"

#include <inttypes.h>
#include <lzma.h>
#include <stdlib.h>

#include "libconvert/memory.h"

enum { OUTPUT_BYTES = 64 * 1024 };

/* The most that a stream may need to be decoded. The highest level of xz needs 65 MiB. */
static const uint64_t MEMORY_BYTES_MAX = UINT64_C(1) << 30;

struct input_lzma {
    struct input_source source;
    const char *name;
    struct failure *failure;
    enum input_lzma_format format;
    lzma_stream stream;
    lzma_allocator allocator; /* counts what the decoder takes, most of all its dictionary */
    struct text left; /* compressed bytes that are not decoded yet */
    uint64_t output_bytes;
    bool has_source_ended;
    bool has_ended;
    uint8_t output[OUTPUT_BYTES];
};

static const struct {
    lzma_ret result;
    const char *reason;
} reasons[] = {
    {LZMA_FORMAT_ERROR, "its header is no good"},
    {LZMA_OPTIONS_ERROR, "it has options that are not known"},
    {LZMA_DATA_ERROR, "its bytes make no sense"},
    {LZMA_BUF_ERROR, "it ends in the middle"},
    {LZMA_MEMLIMIT_ERROR, "decoding it takes more than 1 GiB of memory"},
    {LZMA_STREAM_END, "something follows its end"},
};

static void fail(struct input_lzma *lzma, lzma_ret result) {
    if (result == LZMA_MEM_ERROR) {
        failure_set_memory(lzma->failure);
        return;
    }
    const char *reason = "liblzma refuses it";
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (reasons[i].result == result) reason = reasons[i].reason;
    failure_set(lzma->failure, FAILURE_INPUT,
                "%s: reading the %s data failed after %" PRIu64 " bytes of its content: %s (damaged or cut off?)",
                lzma->name, lzma->format == INPUT_LZMA_XZ ? "xz" : "lzma", lzma->output_bytes, reason);
}

static void *allocate(void *failure, size_t element_count, size_t element_bytes) {
    size_t bytes_count;
    if (__builtin_mul_overflow(element_count, element_bytes, &bytes_count)) return NULL;
    return memory_allocate(failure, bytes_count);
}

static void release(void *failure, void *block) {
    (void)failure;
    memory_free(block);
}

struct input_lzma *input_lzma_open(const struct input_source *source, enum input_lzma_format format, const char *name,
                                   struct failure *failure) {
    struct input_lzma *lzma = calloc(1, sizeof *lzma);
    if (!lzma) {
        failure_set_memory(failure);
        return NULL;
    }
    lzma->source = *source;
    lzma->name = name;
    lzma->failure = failure;
    lzma->format = format;
    lzma->allocator = (lzma_allocator){.alloc = allocate, .free = release, .opaque = failure};
    lzma->stream.allocator = &lzma->allocator;
    lzma_ret result = format == INPUT_LZMA_XZ ? lzma_stream_decoder(&lzma->stream, MEMORY_BYTES_MAX, LZMA_CONCATENATED)
                                              : lzma_alone_decoder(&lzma->stream, MEMORY_BYTES_MAX);
    if (result == LZMA_OK) return lzma;
    fail(lzma, result);
    input_lzma_close(lzma);
    return NULL;
}

void input_lzma_close(struct input_lzma *lzma) {
    if (!lzma) return;
    lzma_end(&lzma->stream);
    free(lzma);
}

/* Returns false when the source failed. */
static bool refill(struct input_lzma *lzma) {
    if (lzma->left.bytes_count || lzma->has_source_ended) return true;
    if (!lzma->source.read(lzma->source.context, &lzma->left)) return false;
    lzma->has_source_ended = lzma->left.bytes_count == 0;
    return true;
}

/* xz streams that follow one another end with the source; .lzma data ends by itself. */
static void end(struct input_lzma *lzma) {
    lzma->has_ended = true;
    if (refill(lzma) && lzma->left.bytes_count) fail(lzma, LZMA_STREAM_END);
}

/* Returns how many bytes it wrote to `output`. */
static size_t decode_some(struct input_lzma *lzma) {
    lzma_stream *stream = &lzma->stream;
    stream->next_in = (const uint8_t *)lzma->left.bytes;
    stream->avail_in = lzma->left.bytes_count;
    stream->next_out = lzma->output;
    stream->avail_out = OUTPUT_BYTES;
    lzma_ret result = lzma_code(stream, lzma->has_source_ended ? LZMA_FINISH : LZMA_RUN);
    size_t written_bytes = OUTPUT_BYTES - stream->avail_out;
    lzma->left = text_from(lzma->left, lzma->left.bytes_count - stream->avail_in);
    lzma->output_bytes += written_bytes;
    if (result == LZMA_STREAM_END)
        end(lzma);
    else if (result != LZMA_OK)
        fail(lzma, result);
    return failure_is_set(lzma->failure) ? 0 : written_bytes;
}

struct text input_lzma_next(struct input_lzma *lzma) {
    while (!lzma->has_ended && !failure_is_set(lzma->failure)) {
        if (!refill(lzma)) break;
        size_t written_bytes = decode_some(lzma);
        if (written_bytes) return (struct text){(const char *)lzma->output, written_bytes};
    }
    return (struct text){NULL, 0};
}
