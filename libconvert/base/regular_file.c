#include "regular_file.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

int regular_file_open(const char *path, struct stat *status) {
    if (stat(path, status) != 0) return -1;
    if (!S_ISREG(status->st_mode)) {
        errno = EINVAL;
        return -1;
    }
    int file = open(path, O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK);
    if (file < 0) return -1;
    if (fstat(file, status) == 0 && S_ISREG(status->st_mode)) return file;
    close(file);
    errno = EINVAL;
    return -1;
}

struct text regular_file_start(const char *path, char *bytes, size_t capacity_bytes) {
    struct stat status;
    int file = regular_file_open(path, &status);
    bool is_read = file >= 0 && regular_file_read(file, bytes, &capacity_bytes);
    if (file >= 0) close(file);
    return (struct text){bytes, is_read ? capacity_bytes : 0};
}

bool regular_file_read(int file, char *bytes, size_t *bytes_count) {
    size_t at = 0;
    while (at < *bytes_count) {
        ssize_t result = read(file, bytes + at, *bytes_count - at);
        if (result < 0 && errno == EINTR) continue;
        if (result < 0) return false;
        if (result == 0) break;
        at += (size_t)result;
    }
    *bytes_count = at;
    return true;
}
