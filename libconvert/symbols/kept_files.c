#include "kept_files.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

enum { KEPT_COUNT_MAX = 512, DEVICE_COUNT = 3, SPARE_FILE_COUNT = 64 /* for making the profile */ };

struct kept_file {
    char *key; /* owned */
    int fd;    /* -1: the file is not kept */
};

static struct {
    struct kept_file rows[KEPT_COUNT_MAX];
    size_t count;
    dev_t devices[DEVICE_COUNT];
    time_t begin_s; /* 0: no file is kept */
    pid_t pid;      /* of the process that has the descriptors; its children close theirs */
} kept;

void kept_files_begin(int fd) {
    struct stat root = {0}, folder = {0}, file = {0};
    kept.begin_s = stat("/", &root) || stat(".", &folder) || fstat(fd, &file) ? 0 : time(NULL);
    kept.pid = getpid();
    kept.devices[0] = root.st_dev;
    kept.devices[1] = folder.st_dev;
    kept.devices[2] = file.st_dev;
}

static bool is_used_anyway(dev_t device) {
    for (size_t i = 0; i < DEVICE_COUNT; i++)
        if (kept.devices[i] == device) return true;
    return false;
}

/* Opens the file as the process has it: by its mapping, which only root may, by its path there, or as its program. */
static int open_mapped(const struct mapped_file *file, const char *path) {
    char places[3][PATH_MAX];
    int fd = -1;
    snprintf(places[0], PATH_MAX, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, file->pid, file->start, file->end);
    snprintf(places[1], PATH_MAX, "/proc/%d/root%s", file->pid, path);
    snprintf(places[2], PATH_MAX, "/proc/%d/exe", file->pid);
    size_t place_count = file->build_id.bytes_count ? 3 : 2; /* the build id tells whether it is its program */
    for (size_t i = 0; i < place_count && fd < 0; i++)
        fd = open(places[i], O_RDONLY | O_CLOEXEC | O_NONBLOCK | O_NOCTTY);
    return fd;
}

static bool is_to_keep(int fd, const char *path) {
    struct stat file, own;
    struct rlimit limit;
    if (fd < 0 || fstat(fd, &file) || !S_ISREG(file.st_mode) || !is_used_anyway(file.st_dev)) return false;
    if (getrlimit(RLIMIT_NOFILE, &limit) || (rlim_t)fd + SPARE_FILE_COUNT >= limit.rlim_cur) return false;
    return file.st_ctim.tv_sec >= kept.begin_s || stat(path, &own) || own.st_ino != file.st_ino ||
           own.st_dev != file.st_dev;
}

static const struct kept_file *find(const char *key, size_t bytes_count) {
    for (size_t i = 0; i < kept.count; i++)
        if (strncmp(kept.rows[i].key, key, bytes_count) == 0 && !kept.rows[i].key[bytes_count]) return &kept.rows[i];
    return NULL;
}

void kept_files_take(const struct mapped_file *file) {
    static const char deleted[] = " (deleted)";
    char path[PATH_MAX];
    size_t path_bytes = strlen(file->path);
    if (!kept.begin_s || file->path[0] != '/' || path_bytes >= sizeof path) return;
    if (path_bytes > sizeof deleted && strcmp(file->path + path_bytes - (sizeof deleted - 1), deleted) == 0)
        path_bytes -= sizeof deleted - 1;
    snprintf(path, sizeof path, "%.*s", (int)path_bytes, file->path);
    struct text key = file->build_id.bytes_count ? file->build_id : text_of(path);
    if (kept.count == KEPT_COUNT_MAX || find(key.bytes, key.bytes_count)) return;
    struct kept_file row = {.key = strndup(key.bytes, key.bytes_count), .fd = open_mapped(file, path)};
    if (row.fd >= 0 && (!row.key || !is_to_keep(row.fd, path))) {
        close(row.fd);
        row.fd = -1;
    }
    if (row.key) kept.rows[kept.count++] = row;
}

bool kept_files_find(struct text build_id_or_path, char path[KEPT_PATH_BYTES]) {
    const struct kept_file *file = find(build_id_or_path.bytes, build_id_or_path.bytes_count);
    if (!file || file->fd < 0) return false;
    snprintf(path, KEPT_PATH_BYTES, "/proc/%d/fd/%d", kept.pid, file->fd);
    return true;
}

void kept_files_end(void) {
    for (size_t i = 0; i < kept.count; i++) {
        free(kept.rows[i].key);
        if (kept.rows[i].fd >= 0) close(kept.rows[i].fd);
    }
    kept.count = 0;
    kept.begin_s = 0;
}
