#include "kept_file.h"

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

enum { NUMBER_MIN = 256 };

bool kept_file_is_ours(const struct kept_file *kept) {
    struct stat status;
    return kept->is_kept && fstat(kept->file, &status) == 0 && status.st_dev == kept->device &&
           status.st_ino == kept->number;
}

void kept_file_close(struct kept_file *kept) {
    if (kept_file_is_ours(kept)) close(kept->file);
    kept->is_kept = false;
}

void kept_file_set(struct kept_file *kept, int file) {
    struct stat status;
    int high = fcntl(file, F_DUPFD_CLOEXEC, NUMBER_MIN);
    kept_file_close(kept);
    if (high < 0) return;
    if (fstat(high, &status) != 0) {
        close(high);
        return;
    }
    *kept = (struct kept_file){.is_kept = true, .file = high, .device = status.st_dev, .number = status.st_ino};
}

size_t file_read_text(int file, char *text, size_t bytes_max) {
    ssize_t count = pread(file, text, bytes_max - 1, 0);
    text[count > 0 ? count : 0] = '\0';
    return count > 0 ? (size_t)count : 0;
}
