#include "task_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "kept_file.h"

enum { KEPT_COUNT = 32 };

static struct kept_task {
    uint32_t tid; /* 0: none */
    struct kept_file file;
} kept_tasks[KEPT_COUNT];

static int open_task(uint32_t tid) {
    char path[64];
    snprintf(path, sizeof path, "/proc/self/task/%u/syscall", tid);
    return open(path, O_RDONLY | O_CLOEXEC);
}

size_t task_file_read(uint32_t tid, char *text, size_t bytes_max) {
    struct kept_task *kept = &kept_tasks[tid % KEPT_COUNT];
    bool is_kept = kept->tid == tid && kept->file.is_kept;
    size_t bytes_count = is_kept ? file_read_text(kept->file.file, text, bytes_max) : 0;
    if (bytes_count) return bytes_count;
    int file = open_task(tid);
    if (file < 0) return 0;
    bytes_count = file_read_text(file, text, bytes_max);
    int saved_errno = errno;
    if (bytes_count) {
        kept->tid = tid;
        kept_file_set(&kept->file, file);
    }
    close(file);
    errno = saved_errno;
    return bytes_count;
}

void task_file_close_all(void) {
    for (int i = 0; i < KEPT_COUNT; i++) kept_file_close(&kept_tasks[i].file);
}
