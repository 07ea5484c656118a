#include "kept_maps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libconvert/base/regular_file.h"
#include "libconvert/symbols/sysroot.h"

enum { PATH_BYTES = 64 };

/* Returns the process's number in its innermost PID namespace, which is the last number of the line; 0: unknown. */
static int inner_pid(pid_t pid) {
    static const char name[] = "\nNSpid:";
    char path[PATH_BYTES], bytes[4096];
    snprintf(path, sizeof path, "/proc/%d/status", pid);
    struct text status = regular_file_start(path, bytes, sizeof bytes - 1);
    bytes[status.bytes_count] = '\0';
    char *line = strstr(bytes, name);
    if (!line) return 0;
    line += sizeof name - 1;
    line[strcspn(line, "\n")] = '\0';
    return atoi(strrchr(line, '\t') ? strrchr(line, '\t') : line);
}

/* Returns a descriptor of the map; -1 if there is none, or if another user wrote it. Links in its path are resolved in
 * the process's file system. */
static int open_map(pid_t pid, struct stat *status) {
    char process[PATH_BYTES / 2], root[PATH_BYTES], path[PATH_BYTES], real_path[PATH_MAX];
    struct stat owner;
    snprintf(process, sizeof process, "/proc/%d", pid);
    snprintf(root, sizeof root, "%s/root", process);
    snprintf(path, sizeof path, "/tmp/perf-%d.map", inner_pid(pid));
    int fd = stat(process, &owner) == 0 ? sysroot_open(root, path, real_path) : -1;
    if (fd < 0 || (fstat(fd, status) == 0 && S_ISREG(status->st_mode) && status->st_uid == owner.st_uid)) return fd;
    close(fd);
    return -1;
}

/* Returns whether a conversion finds and trusts the map by itself. */
static bool is_found_by_default(pid_t pid, const struct stat *map) {
    char path[PATH_BYTES];
    struct stat found;
    snprintf(path, sizeof path, "/tmp/perf-%d.map", pid);
    bool is_trusted = map->st_uid == 0 || map->st_uid == geteuid();
    return is_trusted && stat(path, &found) == 0 && found.st_dev == map->st_dev && found.st_ino == map->st_ino;
}

/* Returns how many maps may be kept open. Most files are for the events, and some for making the profile. */
static size_t count_max(void) {
    enum { RESERVED_COUNT = 64, FRACTION = 8 };
    struct rlimit files;
    bool has_more = getrlimit(RLIMIT_NOFILE, &files) == 0 && files.rlim_cur > RESERVED_COUNT;
    return has_more ? (size_t)(files.rlim_cur - RESERVED_COUNT) / FRACTION : 0;
}

static bool reserve(struct kept_maps *maps) {
    char **values = realloc(maps->values, (maps->count + 1) * sizeof *values);
    if (values) maps->values = values;
    int *fds = realloc(maps->fds, (maps->count + 1) * sizeof *fds);
    if (fds) maps->fds = fds;
    return values && fds;
}

bool kept_maps_take(struct kept_maps *maps, pid_t pid) {
    struct stat status;
    int fd = open_map(pid, &status);
    if (fd < 0) return false;
    bool is_wanted = !is_found_by_default(pid, &status), has_room = maps->count < count_max() && reserve(maps);
    if (is_wanted && has_room && asprintf(&maps->values[maps->count], "%d=/proc/self/fd/%d", pid, fd) > 0) {
        maps->fds[maps->count++] = fd;
        return true;
    }
    maps->left_out_count += is_wanted;
    close(fd);
    return true;
}

void kept_maps_fini(struct kept_maps *maps) {
    for (size_t i = 0; i < maps->count; i++) {
        close(maps->fds[i]);
        free(maps->values[i]);
    }
    free(maps->values);
    free(maps->fds);
}
