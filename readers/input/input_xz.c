#include <lzma.h>
#include <stdlib.h>

#include "input_decoder.h"
#include "libconvert/base/memory.h"

enum { OUTPUT_BYTES = 64 * 1024 };

/* Most memory that decoding a stream may need. The highest level of xz needs 65 MiB. */
static const uint64_t MEMORY_BYTES_MAX = UINT64_C(1) << 30;

struct xz {
    struct input_decoder decoder;
    lzma_stream stream;
    lzma_allocator allocator; /* counts what the decoder takes, most of all its dictionary */
    uint8_t output[OUTPUT_BYTES];
};

static const struct {
    lzma_ret result;
    const char *reason;
} reasons[] = {
    {LZMA_FORMAT_ERROR, "its header is invalid"},
    {LZMA_OPTIONS_ERROR, "it has options that are not known"},
    {LZMA_DATA_ERROR, "its bytes make no sense"},
    {LZMA_BUF_ERROR, "it ends in the middle"},
    {LZMA_MEMLIMIT_ERROR, "decoding it takes more than 1 GiB of memory"},
};

static void fail(const struct input_decoder *decoder, lzma_ret result) {
    if (result == LZMA_MEM_ERROR) {
        failure_set_memory(decoder->failure);
        return;
    }
    const char *reason = "liblzma refuses it";
    for (size_t i = 0; i < sizeof reasons / sizeof *reasons; i++)
        if (reasons[i].result == result) reason = reasons[i].reason;
    input_decoder_fail(decoder, reason);
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

static void close_xz(void *context) {
    struct xz *xz = context;
    lzma_end(&xz->stream);
    free(xz);
}

static void decode(struct input_decoder *decoder, struct text *decoded) {
    struct xz *xz = (struct xz *)decoder;
    lzma_stream *stream = &xz->stream;
    stream->next_in = (const uint8_t *)decoder->left.bytes;
    stream->avail_in = decoder->left.bytes_count;
    stream->next_out = xz->output;
    stream->avail_out = OUTPUT_BYTES;
    lzma_ret result = lzma_code(stream, decoder->has_source_ended ? LZMA_FINISH : LZMA_RUN);
    *decoded = (struct text){(const char *)xz->output, OUTPUT_BYTES - stream->avail_out};
    decoder->left = text_from(decoder->left, decoder->left.bytes_count - stream->avail_in);
    decoder->output_bytes += decoded->bytes_count;
    /* The streams end with the input below. */
    if (result == LZMA_STREAM_END)
        decoder->has_ended = true;
    else if (result != LZMA_OK)
        fail(decoder, result);
}

bool input_xz_open(struct input_source *source, const struct input_wrapper *wrapper, struct input *below) {
    struct failure *failure = input_failure(below);
    struct xz *xz = failure_check_memory(failure, calloc(1, sizeof *xz));
    if (!xz) return false;
    input_decoder_open(&xz->decoder, source, wrapper, below, decode, close_xz);
    xz->allocator = (lzma_allocator){.alloc = allocate, .free = release, .opaque = failure};
    xz->stream.allocator = &xz->allocator;
    lzma_ret result = lzma_stream_decoder(&xz->stream, MEMORY_BYTES_MAX, LZMA_CONCATENATED);
    if (result == LZMA_OK) return true;
    fail(&xz->decoder, result);
    close_xz(xz);
    return false;
}
