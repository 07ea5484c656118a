#include "gzip_trailing_data.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zlib.h>

enum { BUFFER_BYTES = 64 * 1024, GZIP_ONLY_WINDOW_BITS = 16 + MAX_WBITS /* 16 makes zlib expect gzip headers */ };

struct member {
    const char *path;
    struct failure *failure;
    int descriptor;
    z_stream stream; /* after refill returned true, it has input */
    unsigned char in[BUFFER_BYTES];
    unsigned char out[BUFFER_BYTES];
};

/* Returns false at the end of the file and after a failure. */
static bool refill(struct member *member) {
    if (member->stream.avail_in) return true;
    ssize_t bytes_count;
    do bytes_count = read(member->descriptor, member->in, sizeof member->in);
    while (bytes_count < 0 && errno == EINTR);
    if (bytes_count < 0)
        failure_set(member->failure, FAILURE_IO, "%s: cannot be read: %s", member->path, strerror(errno));
    if (bytes_count <= 0) return false;
    member->stream.next_in = member->in;
    member->stream.avail_in = (uInt)bytes_count;
    return true;
}

/* Decompresses the member and leaves what follows it in the stream. Returns false if the member does not end. */
static bool skip(struct member *member) {
    int outcome = Z_OK;
    while (outcome == Z_OK && refill(member)) {
        member->stream.next_out = member->out;
        member->stream.avail_out = sizeof member->out;
        outcome = inflate(&member->stream, Z_NO_FLUSH);
    }
    if (outcome == Z_MEM_ERROR) failure_set_memory(member->failure);
    return outcome == Z_STREAM_END;
}

static bool file_goes_on(const char *path, int descriptor, struct failure *failure) {
    struct member *member = calloc(1, sizeof *member);
    bool goes_on = false;
    if (member && inflateInit2(&member->stream, GZIP_ONLY_WINDOW_BITS) == Z_OK) {
        member->path = path;
        member->failure = failure;
        member->descriptor = descriptor;
        goes_on = skip(member) && refill(member);
        inflateEnd(&member->stream);
    } else {
        failure_set_memory(failure);
    }
    free(member);
    return goes_on;
}

bool gzip_has_trailing_data(const char *path, struct failure *failure) {
    struct stat status;
    if (stat(path, &status) != 0 || !S_ISREG(status.st_mode)) return false;
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    if (descriptor < 0) {
        failure_set(failure, FAILURE_IO, "%s: cannot be opened: %s", path, strerror(errno));
        return false;
    }
    bool goes_on = file_goes_on(path, descriptor, failure);
    close(descriptor);
    return goes_on;
}
