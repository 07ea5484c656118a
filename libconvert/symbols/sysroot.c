#include "sysroot.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>
#if __has_include(<linux/openat2.h>)
#include <linux/openat2.h>
#endif

enum { LINKS_MAX = 40 };

/* A path that is being resolved. `done` has no links and begins with the root, whose length is root_bytes. `left` are
 * the components that follow. */
struct resolution {
    char done[PATH_MAX];
    char left[PATH_MAX];
    size_t root_bytes;
    unsigned link_count;
};

static bool set_left(struct resolution *resolution, const char *first, const char *rest) {
    char joined[PATH_MAX];
    int wanted = snprintf(joined, sizeof joined, "%s/%s", first, rest);
    if (wanted < 0 || (size_t)wanted >= sizeof joined) return false;
    memcpy(resolution->left, joined, (size_t)wanted + 1);
    return true;
}

static void remove_last(struct resolution *resolution) {
    char *slash = strrchr(resolution->done + resolution->root_bytes, '/');
    if (slash) *slash = '\0';
}

/* Puts the target of a link in place of the link, which is the last component of `done`. */
static bool follow(struct resolution *resolution, const char *target) {
    char rest[PATH_MAX];
    if (++resolution->link_count > LINKS_MAX) return false;
    memcpy(rest, resolution->left, sizeof rest);
    if (*target == '/')
        resolution->done[resolution->root_bytes] = '\0';
    else
        remove_last(resolution);
    return set_left(resolution, target, rest);
}

/* Moves one component from `left` to `done`. */
static bool take_component(struct resolution *resolution) {
    char name[PATH_MAX], target[PATH_MAX];
    const char *start = resolution->left + strspn(resolution->left, "/");
    size_t bytes_count = strcspn(start, "/");
    memcpy(name, start, bytes_count);
    name[bytes_count] = '\0';
    memmove(resolution->left, start + bytes_count, strlen(start + bytes_count) + 1);
    if (!bytes_count || strcmp(name, ".") == 0) return true;
    if (strcmp(name, "..") == 0) {
        remove_last(resolution);
        return true;
    }
    size_t done_bytes = strlen(resolution->done);
    if (done_bytes + 1 + bytes_count >= PATH_MAX) return false;
    snprintf(resolution->done + done_bytes, PATH_MAX - done_bytes, "/%s", name);
    ssize_t target_bytes = readlink(resolution->done, target, sizeof target - 1);
    if (target_bytes < 0) return errno == EINVAL; /* there is a file that is not a link */
    target[target_bytes] = '\0';
    return follow(resolution, target);
}

static bool resolve(struct resolution *resolution, const char *root, const char *path) {
    int root_bytes = snprintf(resolution->done, sizeof resolution->done, "%s", root);
    int left_bytes = snprintf(resolution->left, sizeof resolution->left, "%s", path);
    if (root_bytes <= 0 || root_bytes >= PATH_MAX || left_bytes < 0 || left_bytes >= PATH_MAX) return false;
    resolution->root_bytes = (size_t)root_bytes;
    resolution->link_count = 0;
    while (*resolution->left)
        if (!take_component(resolution)) return false;
    return true;
}

/* Opens a path without links. The kernel checks that none of its components has become a link meanwhile; kernels before
 * 5.6, and some sandboxes, only check the last one. */
static int open_resolved(const char *root, const struct resolution *resolution) {
    const int flags = O_RDONLY | O_CLOEXEC | O_NOCTTY | O_NONBLOCK | O_NOFOLLOW;
#if defined(SYS_openat2) && defined(RESOLVE_IN_ROOT)
    const struct open_how how = {.flags = (unsigned)flags,
                                 .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_SYMLINKS | RESOLVE_NO_MAGICLINKS};
    int folder = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    if (folder < 0) return -1;
    long descriptor = syscall(SYS_openat2, folder, resolution->done + resolution->root_bytes + 1, &how, sizeof how);
    int error = errno;
    close(folder);
    errno = error;
    if (descriptor >= 0 || (error != ENOSYS && error != EPERM)) return (int)descriptor;
#else
    (void)root;
#endif
    return open(resolution->done, flags);
}

int sysroot_open(const char *root, const char *path, char real_path[PATH_MAX]) {
    struct resolution resolution;
    struct stat status;
    errno = EINVAL; /* for a path that cannot be resolved, or that is not a regular file */
    if (!resolve(&resolution, root, path) || !resolution.done[resolution.root_bytes]) return -1;
    if (stat(resolution.done, &status) != 0 || !S_ISREG(status.st_mode)) return -1;
    snprintf(real_path, PATH_MAX, "%s", resolution.done + resolution.root_bytes);
    return open_resolved(root, &resolution);
}
