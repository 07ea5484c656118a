#include <lzma.h>
#include <stdlib.h>

#include "input_decoder.h"
#include "libconvert/base/memory.h"

enum { OUTPUT_BYTES = 64 * 1024 };

/* Most memory that decoding a stream may need. The highest level of xz needs 65 MiB. */
static const uint64_t MEMORY_BYTES_MAX = UINT64_C(1) << 30;

struct lzma {
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
    {LZMA_STREAM_END, "something follows its end"},
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

static void close_lzma(void *context) {
    struct lzma *lzma = context;
    lzma_end(&lzma->stream);
    free(lzma);
}

/* xz streams end with the input below. .lzma data has an end of its own, which must be the end of the input too. */
static void end(struct input_decoder *decoder) {
    decoder->has_ended = true;
    if (input_decoder_refill(decoder) && decoder->left.bytes_count) fail(decoder, LZMA_STREAM_END);
}

static void decode(struct input_decoder *decoder, struct text *decoded) {
    struct lzma *lzma = (struct lzma *)decoder;
    lzma_stream *stream = &lzma->stream;
    stream->next_in = (const uint8_t *)decoder->left.bytes;
    stream->avail_in = decoder->left.bytes_count;
    stream->next_out = lzma->output;
    stream->avail_out = OUTPUT_BYTES;
    lzma_ret result = lzma_code(stream, decoder->has_source_ended ? LZMA_FINISH : LZMA_RUN);
    *decoded = (struct text){(const char *)lzma->output, OUTPUT_BYTES - stream->avail_out};
    decoder->left = text_from(decoder->left, decoder->left.bytes_count - stream->avail_in);
    decoder->output_bytes += decoded->bytes_count;
    if (result == LZMA_STREAM_END)
        end(decoder);
    else if (result != LZMA_OK)
        fail(decoder, result);
}

static bool open_decoder(struct input_source *source, const struct input_wrapper *wrapper, struct input *below,
                         bool is_xz) {
    struct failure *failure = input_failure(below);
    struct lzma *lzma = calloc(1, sizeof *lzma);
    if (!lzma) {
        failure_set_memory(failure);
        return false;
    }
    input_decoder_init(&lzma->decoder, wrapper, below, decode);
    lzma->allocator = (lzma_allocator){.alloc = allocate, .free = release, .opaque = failure};
    lzma->stream.allocator = &lzma->allocator;
    lzma_ret result = is_xz ? lzma_stream_decoder(&lzma->stream, MEMORY_BYTES_MAX, LZMA_CONCATENATED)
                            : lzma_alone_decoder(&lzma->stream, MEMORY_BYTES_MAX);
    *source = (struct input_source){
        .context = lzma, .read = input_decoder_read, .close = close_lzma, .wrapping = wrapper->name};
    if (result == LZMA_OK) return true;
    fail(&lzma->decoder, result);
    close_lzma(lzma);
    return false;
}

bool input_xz_open(struct input_source *source, const struct input_wrapper *wrapper, struct input *below) {
    return open_decoder(source, wrapper, below, true);
}

bool input_lzma_open(struct input_source *source, const struct input_wrapper *wrapper, struct input *below) {
    return open_decoder(source, wrapper, below, false);
}
