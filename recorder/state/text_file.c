#include "text_file.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/syscall.h>
#include <unistd.h>

/* Makes system calls directly, because the thread sanitizer believes that a descriptor is the same file in all threads,
 * and the sampler's has a table of its own. */
size_t text_file_read(const char *absolute_path, char *text, size_t bytes_max) {
    int file = (int)syscall(SYS_openat, AT_FDCWD, absolute_path, O_RDONLY | O_CLOEXEC, 0);
    ssize_t count = file >= 0 ? syscall(SYS_read, file, text, bytes_max - 1) : -1;
    int saved_errno = errno;
    text[count > 0 ? count : 0] = '\0';
    if (file >= 0) syscall(SYS_close, file);
    errno = saved_errno;
    return count > 0 ? (size_t)count : 0;
}
