#include "gzip_end.h"

#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <zlib.h>

enum { BUFFER_BYTES = 64 * 1024, GZIP_ONLY_WINDOW_BITS = 16 + MAX_WBITS /* zlib's way to ask for gzip headers */ };

struct buffers {
    unsigned char in[BUFFER_BYTES];
    unsigned char out[BUFFER_BYTES];
};

/* Z_STREAM_END: the first member has been read, and what else was at hand is still there. */
static int inflate_member(FILE *file, z_stream *stream, struct buffers *buffers) {
    int outcome = Z_OK;
    while (outcome == Z_OK) {
        if (!stream->avail_in) {
            stream->next_in = buffers->in;
            stream->avail_in = (uInt)fread(buffers->in, 1, sizeof buffers->in, file);
            if (!stream->avail_in) return Z_BUF_ERROR;
        }
        stream->next_out = buffers->out;
        stream->avail_out = sizeof buffers->out;
        outcome = inflate(stream, Z_NO_FLUSH);
    }
    return outcome;
}

static bool file_goes_on(FILE *file) {
    struct buffers *buffers = malloc(sizeof *buffers);
    z_stream stream = {0};
    bool goes_on = false;
    if (buffers && inflateInit2(&stream, GZIP_ONLY_WINDOW_BITS) == Z_OK) {
        goes_on = inflate_member(file, &stream, buffers) == Z_STREAM_END && (stream.avail_in || fgetc(file) != EOF);
        inflateEnd(&stream);
    }
    free(buffers);
    return goes_on;
}

bool gzip_goes_on(const char *path) {
    struct stat status;
    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode)) return false;
    FILE *file = fopen(path, "rbe");
    if (!file) return false;
    bool goes_on = file_goes_on(file);
    fclose(file);
    return goes_on;
}
