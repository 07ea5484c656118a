#include "source_file.h"

#include <fcntl.h>
#include <sys/mman.h>
#include <unistd.h>

#include "checked_conversion.h"

enum { SOURCE_DESCRIPTOR = 100, PIPE_BYTES_MAX = 64 * 1024 /* default capacity of a pipe */ };

const char source_file_path[] = "/proc/self/fd/100";

static bool write_all(int descriptor, struct text bytes) {
    while (bytes.bytes_count) {
        ssize_t written_bytes = write(descriptor, bytes.bytes, bytes.bytes_count);
        if (written_bytes <= 0) return false;
        bytes = text_from(bytes, (size_t)written_bytes);
    }
    return true;
}

/* Moves the descriptor to the number to which the path refers. */
static void place(int descriptor) {
    FUZZ_CHECK(dup2(descriptor, SOURCE_DESCRIPTOR) == SOURCE_DESCRIPTOR, "no descriptor");
    close(descriptor);
}

/* Creates a new file for each input, so that what an earlier input has mapped does not change. */
void source_file_fill(struct text bytes) {
    int file = memfd_create("fuzz", MFD_CLOEXEC);
    FUZZ_CHECK(file >= 0 && write_all(file, bytes), "no file");
    place(file);
}

bool source_file_fill_pipe(struct text bytes) {
    int ends[2];
    if (bytes.bytes_count > PIPE_BYTES_MAX || pipe2(ends, O_CLOEXEC | O_NONBLOCK) != 0) return false;
    /* Nothing reads the pipe yet, so it must have room for all bytes. */
    bool is_filled = write_all(ends[1], bytes);
    close(ends[1]);
    if (is_filled)
        place(ends[0]);
    else
        close(ends[0]);
    return is_filled;
}
