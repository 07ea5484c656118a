#include "file_identity.h"

#include <errno.h>
#include <limits.h>
#include <string.h>
#include <sys/stat.h>

static struct file_identity identity_in_folder(const char *path) {
    struct file_identity unknown = {0};
    struct text name = text_base_name(text_of(path));
    struct text before = {path, (size_t)(name.bytes - path)};
    char folder[PATH_MAX];
    if (!name.bytes_count || !text_copy(before.bytes_count ? before : TEXT("."), folder, sizeof folder)) return unknown;
    struct stat status;
    if (stat(folder, &status) != 0) return unknown;
    return (struct file_identity){.is_known = true, .device = status.st_dev, .inode = status.st_ino, .name = name};
}

struct file_identity file_identity_of(const char *path, int standard_fd) {
    struct stat status;
    bool is_standard = strcmp(path, "-") == 0;
    if ((is_standard ? fstat(standard_fd, &status) : stat(path, &status)) != 0)
        return is_standard || errno != ENOENT ? (struct file_identity){0} : identity_in_folder(path);
    return (struct file_identity){.is_known = S_ISREG(status.st_mode) || S_ISDIR(status.st_mode),
                                  .device = status.st_dev,
                                  .inode = status.st_ino};
}

bool file_identity_is_same(struct file_identity a, struct file_identity b) {
    return a.is_known && b.is_known && a.device == b.device && a.inode == b.inode && text_equal(a.name, b.name);
}

bool file_identity_is_one(const char *path, const char *other_path, int standard_fd) {
    if (!path || !other_path) return false;
    return strcmp(path, other_path) == 0 ||
           file_identity_is_same(file_identity_of(path, standard_fd), file_identity_of(other_path, standard_fd));
}
