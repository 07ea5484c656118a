#include <stddef.h>
#include <stdlib.h>
#include <zlib.h>

#include "input_decoder.h"

enum {
    OUTPUT_BYTES = 128 * 1024,
    GZIP_ONLY_WINDOW_BITS = 16 + MAX_WBITS /* makes zlib expect a gzip header and accept the largest window */
};

struct gzip {
    struct input_decoder decoder;
    z_stream stream;
    bool is_in_member;
    bool has_member; /* one has begun */
    bool has_more;   /* than one member */
    unsigned char output[OUTPUT_BYTES];
};

static void close_gzip(void *context) {
    struct gzip *gzip = context;
    inflateEnd(&gzip->stream);
    free(gzip);
}

/* Returns true if a member begins at the available bytes. */
static bool enter_member(struct gzip *gzip) {
    struct input_decoder *decoder = &gzip->decoder;
    gzip->has_more |= gzip->has_member && decoder->left.bytes_count;
    while (decoder->left.bytes_count && decoder->left.bytes[0] == 0) decoder->left = text_from(decoder->left, 1);
    if (!decoder->left.bytes_count) {
        decoder->has_ended = decoder->has_source_ended;
        return false;
    }
    inflateReset(&gzip->stream);
    gzip->is_in_member = gzip->has_member = true;
    return true;
}

static void decode(struct input_decoder *decoder, struct text *decoded) {
    struct gzip *gzip = (struct gzip *)decoder;
    if (!gzip->is_in_member && !enter_member(gzip)) return;
    z_stream *stream = &gzip->stream;
    uInt given_bytes = decoder->left.bytes_count < UINT32_MAX ? (uInt)decoder->left.bytes_count : UINT32_MAX;
    /* zlib does not write to next_in, although the type is not const. */
    stream->next_in = (Bytef *)(uintptr_t)decoder->left.bytes;
    stream->avail_in = given_bytes;
    stream->next_out = gzip->output;
    stream->avail_out = OUTPUT_BYTES;
    int outcome = inflate(stream, Z_NO_FLUSH);
    *decoded = (struct text){(const char *)gzip->output, OUTPUT_BYTES - stream->avail_out};
    decoder->left = text_from(decoder->left, given_bytes - stream->avail_in);

    if (outcome == Z_STREAM_END) {
        gzip->is_in_member = false;
    } else if (outcome == Z_MEM_ERROR) {
        failure_set_memory(decoder->failure);
    } else if (outcome != Z_OK && outcome != Z_BUF_ERROR) {
        input_decoder_fail(decoder, stream->msg ? stream->msg : "a preset dictionary is asked for");
    } else if (!decoded->bytes_count && decoder->has_source_ended) {
        input_decoder_fail(decoder, "it ends in the middle");
    }
    decoder->output_bytes += decoded->bytes_count;
}

bool input_gzip_open(struct input_source *source, const struct input_wrapper *wrapper, struct input *below) {
    struct gzip *gzip = malloc(sizeof *gzip);
    /* Archives may hold a million small gzip files, so `output` is not cleared for each of them. */
    if (gzip) memset(gzip, 0, offsetof(struct gzip, output));
    if (!gzip || inflateInit2(&gzip->stream, GZIP_ONLY_WINDOW_BITS) != Z_OK) {
        free(gzip);
        failure_set_memory(input_failure(below));
        return false;
    }
    input_decoder_open(&gzip->decoder, source, wrapper, below, decode, close_gzip);
    source->has_more = &gzip->has_more;
    return true;
}
