#include "input_gzip.h"

#include <inttypes.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <zlib.h>

enum {
    OUTPUT_BYTES = 128 * 1024,
    GZIP_ONLY_WINDOW_BITS = 16 + MAX_WBITS /* zlib's way to ask for gzip headers and the largest window */
};

struct input_gzip {
    struct input_source source;
    const char *name;
    struct failure *failure;
    z_stream stream;
    struct text left; /* compressed bytes at hand, not looked at yet */
    uint64_t output_bytes;
    bool is_in_member;
    bool has_source_ended;
    bool has_ended;
    unsigned char output[OUTPUT_BYTES];
};

struct input_gzip *input_gzip_open(const struct input_source *source, const char *name, struct failure *failure) {
    struct input_gzip *gzip = malloc(sizeof *gzip);
    /* Archives may hold a million small gzip files: the output stays untouched but for what each of them needs. */
    if (gzip) memset(gzip, 0, offsetof(struct input_gzip, output));
    if (!gzip || inflateInit2(&gzip->stream, GZIP_ONLY_WINDOW_BITS) != Z_OK) {
        free(gzip);
        failure_set_memory(failure);
        return NULL;
    }
    gzip->source = *source;
    gzip->name = name;
    gzip->failure = failure;
    return gzip;
}

void input_gzip_close(struct input_gzip *gzip) {
    if (!gzip) return;
    inflateEnd(&gzip->stream);
    free(gzip);
}

static void fail(struct input_gzip *gzip, const char *reason) {
    failure_set(gzip->failure, FAILURE_INPUT,
                "%s: reading the gzip data failed after %" PRIu64 " bytes of its content: %s (damaged or cut off?)",
                gzip->name, gzip->output_bytes, reason);
}

/* False when the source failed. */
static bool refill(struct input_gzip *gzip) {
    if (gzip->left.bytes_count || gzip->has_source_ended) return true;
    if (!gzip->source.read(gzip->source.context, &gzip->left)) return false;
    gzip->has_source_ended = gzip->left.bytes_count == 0;
    return true;
}

/* True when a member begins at the bytes at hand. */
static bool enter_member(struct input_gzip *gzip) {
    while (gzip->left.bytes_count && gzip->left.bytes[0] == 0) gzip->left = text_from(gzip->left, 1);
    if (!gzip->left.bytes_count) {
        gzip->has_ended = gzip->has_source_ended;
        return false;
    }
    inflateReset(&gzip->stream);
    gzip->is_in_member = true;
    return true;
}

/* Inflates what is at hand; returns the bytes written to `output`. */
static size_t inflate_some(struct input_gzip *gzip) {
    z_stream *stream = &gzip->stream;
    uInt given_bytes = gzip->left.bytes_count < UINT32_MAX ? (uInt)gzip->left.bytes_count : UINT32_MAX;
    /* zlib does not write through next_in; its type lacks the const. */
    stream->next_in = (Bytef *)(uintptr_t)gzip->left.bytes;
    stream->avail_in = given_bytes;
    stream->next_out = gzip->output;
    stream->avail_out = OUTPUT_BYTES;
    int outcome = inflate(stream, Z_NO_FLUSH);
    size_t written_bytes = OUTPUT_BYTES - stream->avail_out;
    gzip->left = text_from(gzip->left, given_bytes - stream->avail_in);

    if (outcome == Z_STREAM_END) {
        gzip->is_in_member = false;
    } else if (outcome == Z_MEM_ERROR) {
        failure_set_memory(gzip->failure);
    } else if (outcome != Z_OK && outcome != Z_BUF_ERROR) {
        fail(gzip, stream->msg ? stream->msg : "a preset dictionary is asked for");
    } else if (!written_bytes && gzip->has_source_ended) {
        fail(gzip, "it ends in the middle");
    }
    return written_bytes;
}

struct text input_gzip_next(struct input_gzip *gzip) {
    while (!gzip->has_ended && !failure_is_set(gzip->failure)) {
        if (!refill(gzip)) break;
        if (!gzip->is_in_member && !enter_member(gzip)) continue;
        size_t written_bytes = inflate_some(gzip);
        gzip->output_bytes += written_bytes;
        if (written_bytes) return (struct text){(const char *)gzip->output, written_bytes};
    }
    return (struct text){NULL, 0};
}
