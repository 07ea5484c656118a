#include "kept_files.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "libconvert/base/value_table.h"

/* All code files of a machine count, as those that are not kept are noted, too. */
enum { KNOWN_COUNT_MAX = 65536, KEPT_COUNT_MAX = 512, DEVICE_COUNT = 3, SPARE_FILE_COUNT = 64 /* for the profile */ };

struct kept_file {
    int fd; /* -1: the file is not kept */
    uint32_t major, minor;
    uint64_t inode;
    struct index_identity path; /* its hash */
    struct timespec changed;    /* the last change of the contents, when it was kept */
};

static struct {
    struct value_table files; /* struct kept_file, by the hash of a build id or path */
    struct failure failure;   /* without memory, fewer files are kept */
    size_t count;             /* how many are kept */
    dev_t devices[DEVICE_COUNT];
    time_t begin_s; /* 0: no file is kept */
    pid_t pid;      /* process that has the descriptors; its children close theirs */
} kept;

void kept_files_begin(int fd) {
    struct stat root = {0}, folder = {0}, file = {0};
    if (stat("/", &root) || stat(".", &folder) || fstat(fd, &file)) return;
    value_table_init(&kept.files, sizeof(struct index_identity), sizeof(struct kept_file), &kept.failure);
    kept.begin_s = time(NULL);
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

/* Returns whether this is the mapped file. Its path may lead to another one by now, and its process may run another
 * program. If the build id is known, that of the file is compared before it gives names. */
static bool is_mapped(int fd, const struct mapped_file *file) {
    struct stat status;
    return file->build_id.bytes_count || (fstat(fd, &status) == 0 && status.st_ino == file->inode);
}

/* Finds the file as the process has it: by its mapping, which only root may, by its path there, or as its program. The
 * descriptor does not read: the path may lead to a device by now, and opening some devices has effects. */
static int find_mapped(const struct mapped_file *file, const char *path) {
    char place[PATH_MAX + 32]; /* 32: "/proc/4194304/root" is before the path */
    snprintf(place, sizeof place, "/proc/%d/map_files/%" PRIx64 "-%" PRIx64, file->pid, file->start, file->end);
    int fd = open(place, O_PATH | O_CLOEXEC);
    for (int i = 0; i < 2 && fd < 0; i++) {
        snprintf(place, sizeof place, i ? "/proc/%d/exe" : "/proc/%d/root%s", file->pid, path);
        fd = open(place, O_PATH | O_CLOEXEC);
        if (fd < 0 || is_mapped(fd, file)) continue;
        close(fd);
        fd = -1;
    }
    return fd;
}

static bool is_to_keep(int fd, const char *path, struct stat *file) {
    struct stat own;
    struct rlimit limit;
    if (fd < 0 || fstat(fd, file) || !S_ISREG(file->st_mode) || !is_used_anyway(file->st_dev)) return false;
    if (getrlimit(RLIMIT_NOFILE, &limit) || (rlim_t)fd + SPARE_FILE_COUNT >= limit.rlim_cur) return false;
    return file->st_ctim.tv_sec >= kept.begin_s || stat(path, &own) || own.st_ino != file->st_ino ||
           own.st_dev != file->st_dev;
}

/* Returns a descriptor of the file if it is to be kept, and when its contents were changed; else -1. */
static int open_to_keep(const struct mapped_file *file, const char *path, struct timespec *changed) {
    char place[KEPT_PATH_BYTES];
    struct stat status = {0};
    int found = find_mapped(file, path), fd = -1;
    snprintf(place, sizeof place, "/proc/self/fd/%d", found);
    if (is_to_keep(found, path, &status)) fd = open(place, O_RDONLY | O_CLOEXEC);
    if (found >= 0) close(found);
    *changed = status.st_mtim;
    return fd;
}

static void close_kept(struct kept_file *kept_file) {
    if (kept_file->fd < 0) return;
    close(kept_file->fd);
    kept_file->fd = -1;
    kept.count--;
}

/* Returns whether the mapped file has the contents that the kept one of the same path had. */
static bool is_same(const struct kept_file *kept_file, const struct mapped_file *file) {
    struct stat now;
    return kept_file->inode == file->inode && kept_file->major == file->major && kept_file->minor == file->minor &&
           fstat(kept_file->fd, &now) == 0 && now.st_mtim.tv_sec == kept_file->changed.tv_sec &&
           now.st_mtim.tv_nsec == kept_file->changed.tv_nsec;
}

static struct kept_file look_at(const struct mapped_file *file, const char *path) {
    struct kept_file row = {.fd = -1, .major = file->major, .minor = file->minor, .inode = file->inode};
    row.path = index_set_identity(path, strlen(path));
    if (kept.count < KEPT_COUNT_MAX) row.fd = open_to_keep(file, path, &row.changed);
    kept.count += row.fd >= 0;
    return row;
}

static void note(const struct mapped_file *file, const char *path, const struct index_identity *key) {
    struct kept_file row = look_at(file, path);
    if (!value_table_intern(&kept.files, key, &row)) close_kept(&row);
}

static bool is_at(const struct kept_file *file, const char *path) {
    return index_identity_equal(file->path, index_set_identity(path, strlen(path)));
}

void kept_files_take(const struct mapped_file *file) {
    static const struct text deleted = TEXT(" (deleted)");
    char path[PATH_MAX];
    struct text name = text_of(file->path);
    if (!kept.begin_s || !text_starts_with(name, TEXT("/")) || name.bytes_count >= sizeof path) return;
    if (text_ends_with(name, deleted)) name.bytes_count -= deleted.bytes_count;
    snprintf(path, sizeof path, "%.*s", TEXT_ARGS(name));
    struct text id = file->build_id.bytes_count ? file->build_id : name;
    struct index_identity key = index_set_identity(id.bytes, id.bytes_count);
    struct kept_file *known = value_table_find(&kept.files, &key);
    bool has_id = file->build_id.bytes_count;
    if (!known && value_table_count(&kept.files) < KNOWN_COUNT_MAX) note(file, path, &key);
    /* A copy has the build id of a file that need not be kept, and may be removed. */
    if (known && known->fd < 0 && has_id && !is_at(known, path)) *known = look_at(file, path);
    /* Only build ids tell which of several files a sample belongs to. */
    if (known && known->fd >= 0 && !has_id && !is_same(known, file)) close_kept(known);
}

bool kept_files_find(struct text build_id_or_path, char path[KEPT_PATH_BYTES]) {
    if (!kept.begin_s) return false;
    struct index_identity key = index_set_identity(build_id_or_path.bytes, build_id_or_path.bytes_count);
    const struct kept_file *file = value_table_find(&kept.files, &key);
    if (!file || file->fd < 0) return false;
    snprintf(path, KEPT_PATH_BYTES, "/proc/%d/fd/%d", kept.pid, file->fd);
    return true;
}

void kept_files_end(void) {
    if (!kept.begin_s) return;
    for (uint32_t i = 0; i < value_table_count(&kept.files); i++) close_kept(value_table_at(&kept.files, i));
    value_table_fini(&kept.files);
    failure_clear(&kept.failure);
    kept.begin_s = 0;
}
