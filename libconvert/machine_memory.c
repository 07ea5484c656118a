#include "machine_memory.h"

#include <fcntl.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "text.h"

/* Where the memory controller of each version keeps its groups, and what has a group's limit. */
struct hierarchy {
    const char *folder;
    const char *limit_file;
};

static const struct hierarchy version_1 = {"/sys/fs/cgroup/memory", "memory.limit_in_bytes"},
                              version_2 = {"/sys/fs/cgroup", "memory.max"};

/* The start of the file, terminated; empty when it cannot be read. */
static struct text read_start(const char *path, char *bytes, size_t capacity_bytes) {
    int descriptor = open(path, O_RDONLY | O_CLOEXEC);
    ssize_t bytes_count = descriptor < 0 ? 0 : read(descriptor, bytes, capacity_bytes - 1);
    if (descriptor >= 0) close(descriptor);
    if (bytes_count < 0) bytes_count = 0;
    bytes[bytes_count] = '\0';
    return (struct text){bytes, (size_t)bytes_count};
}

/* UINT64_MAX where the group has no limit or is not to be seen from here. */
static uint64_t limit_of_group(const char *root, const struct hierarchy *hierarchy, struct text group) {
    char path[PATH_MAX], content[64];
    uint64_t limit_bytes;
    int path_bytes = snprintf(path, sizeof path, "%s%s%.*s/%s", root, hierarchy->folder, (int)group.bytes_count,
                              group.bytes, hierarchy->limit_file);
    if (path_bytes < 0 || (size_t)path_bytes >= sizeof path) return UINT64_MAX;
    read_start(path, content, sizeof content);
    /* Version 2 has "max" for none. */
    return sscanf(content, "%" SCNu64, &limit_bytes) == 1 ? limit_bytes : UINT64_MAX;
}

/* The smallest limit of the group and those that it is in. A container may know its group by a name of the host's: then
 * its own group is the outermost one that it sees. */
static uint64_t limit_of_groups(const char *root, const struct hierarchy *hierarchy, struct text group) {
    uint64_t smallest_bytes = UINT64_MAX;
    for (;;) {
        uint64_t limit_bytes = limit_of_group(root, hierarchy, group);
        if (limit_bytes < smallest_bytes) smallest_bytes = limit_bytes;
        if (!group.bytes_count) return smallest_bytes;
        size_t slash = text_find_last(group, '/');
        group.bytes_count = slash < group.bytes_count ? slash : 0;
    }
}

/* "0::/user.slice" of version 2, "9:memory:/user.slice" of version 1: a hierarchy, its controllers, the group. */
static uint64_t limit_of_line(const char *root, struct text line) {
    struct text controllers = text_from(line, text_find(line, ':') + 1);
    struct text group = text_from(controllers, text_find(controllers, ':') + 1);
    controllers = text_slice(controllers, 0, text_find(controllers, ':'));
    if (!controllers.bytes_count) return limit_of_groups(root, &version_2, group);
    while (controllers.bytes_count) {
        size_t end = text_find(controllers, ',');
        if (text_equal(text_slice(controllers, 0, end), TEXT("memory")))
            return limit_of_groups(root, &version_1, group);
        controllers = text_from(controllers, end + 1);
    }
    return UINT64_MAX;
}

uint64_t machine_memory_bytes(const char *root) {
    struct sysinfo machine;
    uint64_t smallest_bytes = sysinfo(&machine) == 0 ? (uint64_t)machine.totalram * machine.mem_unit : UINT64_MAX;
    char path[PATH_MAX], content[2 * PATH_MAX];
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    struct text lines = read_start(path, content, sizeof content);
    while (lines.bytes_count) {
        size_t end = text_find(lines, '\n');
        uint64_t limit_bytes = limit_of_line(root, text_slice(lines, 0, end));
        if (limit_bytes < smallest_bytes) smallest_bytes = limit_bytes;
        lines = text_from(lines, end + 1);
    }
    return smallest_bytes;
}

uint64_t machine_resident_bytes(void) {
    char content[128];
    uint64_t resident_pages, file_pages;
    read_start("/proc/self/statm", content, sizeof content);
    bool is_known = sscanf(content, "%*u %" SCNu64 " %" SCNu64, &resident_pages, &file_pages) == 2;
    return is_known ? (resident_pages - file_pages) * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}
