#include "sysroot.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdio.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "libconvert/base/regular_file.h"

/* Stores the path of an open file or folder. Returns false if it cannot be known. */
static bool find_path(int descriptor, char path[PATH_MAX]) {
    char place[32];
    snprintf(place, sizeof place, "/proc/self/fd/%d", descriptor);
    ssize_t bytes_count = readlink(place, path, PATH_MAX - 1);
    if (bytes_count < 0) return false;
    path[bytes_count] = '\0';
    return true;
}

/* Opens what was found for reading, if it is a regular file: opening some devices has effects. */
static int open_found(int folder, int found, char real_path[PATH_MAX]) {
    char root_path[PATH_MAX], place[32];
    struct stat status;
    if (!find_path(folder, root_path) || !find_path(found, real_path)) return -1;
    size_t root_bytes = strlen(root_path);
    bool is_below = strncmp(real_path, root_path, root_bytes) == 0 && real_path[root_bytes] == '/';
    if (is_below) memmove(real_path, real_path + root_bytes, strlen(real_path + root_bytes) + 1);
    snprintf(place, sizeof place, "/proc/self/fd/%d", found);
    return regular_file_open(place, &status);
}

/* If any process renames a file while the kernel follows "..", the kernel refuses that, and asks for another try. */
static int find(int folder, const char *path) {
    static const struct open_how how = {.flags = O_PATH | O_CLOEXEC,
                                        .resolve = RESOLVE_IN_ROOT | RESOLVE_NO_MAGICLINKS};
    enum { TRY_COUNT = 1000 };
    long found = -1;
    errno = EAGAIN;
    for (int i = 0; i < TRY_COUNT && found < 0 && errno == EAGAIN; i++)
        found = syscall(SYS_openat2, folder, path, &how, sizeof how);
    return (int)found;
}

int sysroot_open(const char *root, const char *path, char real_path[PATH_MAX]) {
    int folder = open(root, O_PATH | O_DIRECTORY | O_CLOEXEC);
    int found = folder < 0 ? -1 : find(folder, path);
    int file = found < 0 ? -1 : open_found(folder, found, real_path), error = errno;
    if (found >= 0) close(found);
    if (folder >= 0) close(folder);
    errno = error;
    return file;
}
