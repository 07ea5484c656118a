#include "kept_maps.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libconvert/base/regular_file.h"

enum { COUNT_MAX = 64, PATH_BYTES = 96 };

/* Returns the number of the process in the innermost namespace of it, which is the last one of a line; 0: unknown. */
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

/* Returns a descriptor of the map; -1 if there is none, or if another user wrote it. */
static int open_map(pid_t pid) {
    char process[PATH_BYTES / 2], path[PATH_BYTES];
    struct stat owner, status;
    snprintf(process, sizeof process, "/proc/%d", pid);
    snprintf(path, sizeof path, "%s/root/tmp/perf-%d.map", process, inner_pid(pid));
    int fd = stat(process, &owner) == 0 ? regular_file_open(path, &status) : -1;
    if (fd < 0 || status.st_uid == owner.st_uid) return fd;
    close(fd);
    return -1;
}

void kept_maps_take(struct kept_maps *maps, pid_t pid) {
    if (!maps->values) maps->values = calloc(COUNT_MAX, sizeof *maps->values);
    if (!maps->fds) maps->fds = calloc(COUNT_MAX, sizeof *maps->fds);
    if (!maps->values || !maps->fds || maps->count == COUNT_MAX) return;
    int fd = open_map(pid);
    if (fd < 0) return;
    if (asprintf(&maps->values[maps->count], "%d=/proc/%d/fd/%d", pid, getpid(), fd) > 0)
        maps->fds[maps->count++] = fd;
    else
        close(fd);
}

void kept_maps_fini(struct kept_maps *maps) {
    for (size_t i = 0; i < maps->count; i++) {
        close(maps->fds[i]);
        free(maps->values[i]);
    }
    free(maps->values);
    free(maps->fds);
}
