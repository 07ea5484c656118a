/* Stands in for the C library's fallocate. The descriptor -1 is a file in memory, as many kernels allocate it: any
 * signal ends the call, even if it is nearly complete. A read from /dev/zero shows whether a signal has arrived,
 * because the signal cuts it short. */
#undef _FILE_OFFSET_BITS
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdlib.h>
#include <sys/syscall.h>
#include <unistd.h>

enum { BYTES_COUNT = 32 << 20 };

static bool is_interrupted(void) {
    static char *bytes;
    int file = open("/dev/zero", O_RDONLY | O_CLOEXEC);
    if (!bytes) bytes = malloc(BYTES_COUNT);
    if (file < 0 || !bytes) abort();
    bool is_whole = syscall(SYS_read, file, bytes, BYTES_COUNT) == BYTES_COUNT;
    close(file);
    return !is_whole;
}

int fallocate(int file, int mode, off_t offset, off_t bytes_count) {
    if (file >= 0) return (int)syscall(SYS_fallocate, file, mode, offset, bytes_count);
    if (!is_interrupted()) return 0;
    errno = EINTR;
    return -1;
}

int posix_fallocate(int file, off_t offset, off_t bytes_count) {
    return fallocate(file, 0, offset, bytes_count) == 0 ? 0 : errno;
}
