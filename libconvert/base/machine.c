#include "machine.h"

#include <inttypes.h>
#include <limits.h>
#include <sched.h>
#include <stdio.h>
#include <sys/sysinfo.h>
#include <unistd.h>

#include "regular_file.h"

/* Where one version of a controller keeps its groups, and the files that have a group's limit. */
struct hierarchy {
    const char *folder;
    const char *limit_file;
    const char *period_file; /* has the number by which the limit is divided; NULL: the limit's file may have it */
};

struct controller {
    struct text name; /* in version 1 */
    struct hierarchy version_1, version_2;
};

static const struct controller memory_controller = {{"memory", sizeof "memory" - 1},
                                                    {"/sys/fs/cgroup/memory", "memory.limit_in_bytes", NULL},
                                                    {"/sys/fs/cgroup", "memory.max", NULL}};
static const struct controller processor_controller = {{"cpu", sizeof "cpu" - 1},
                                                       {"/sys/fs/cgroup/cpu", "cpu.cfs_quota_us", "cpu.cfs_period_us"},
                                                       {"/sys/fs/cgroup", "cpu.max", NULL}};

/* Returns the start of the file, NUL-terminated; empty if it cannot be read. */
static struct text read_start(const char *path, char *bytes, size_t capacity_bytes) {
    struct text start = regular_file_start(path, bytes, capacity_bytes - 1);
    bytes[start.bytes_count] = '\0';
    return start;
}

/* Reads up to two numbers from a file of the group and returns how many there were. */
static int read_numbers(const char *folder, struct text group, const char *file, uint64_t numbers[2]) {
    char path[PATH_MAX], content[64];
    int path_bytes = snprintf(path, sizeof path, "%s%.*s/%s", folder, TEXT_ARGS(group), file);
    if (path_bytes < 0 || (size_t)path_bytes >= sizeof path) return 0;
    read_start(path, content, sizeof content);
    return sscanf(content, "%" SCNu64 " %" SCNu64, &numbers[0], &numbers[1]);
}

/* Returns UINT64_MAX if the group has no limit or is not visible from here. */
static uint64_t limit_of_group(const char *root, const struct hierarchy *hierarchy, struct text group) {
    char folder[PATH_MAX];
    uint64_t numbers[2] = {0, 1};
    snprintf(folder, sizeof folder, "%s%s", root, hierarchy->folder);
    /* Without a limit, the file has "max" in version 2, and a negative or very large number in version 1. */
    int count = read_numbers(folder, group, hierarchy->limit_file, numbers);
    uint64_t limit = numbers[0], period[2] = {numbers[1], 0};
    if (count < 1 || limit > INT64_MAX) return UINT64_MAX;
    if (hierarchy->period_file) read_numbers(folder, group, hierarchy->period_file, period);
    return period[0] ? limit / period[0] + (limit % period[0] != 0) : UINT64_MAX;
}

/* Returns the smallest limit of the group and of all groups around it. A container may see its group under the name
 * that the host uses; the outermost visible group is then its own. */
static uint64_t limit_of_groups(const char *root, const struct hierarchy *hierarchy, struct text group) {
    uint64_t smallest = UINT64_MAX;
    for (;;) {
        uint64_t limit = limit_of_group(root, hierarchy, group);
        if (limit < smallest) smallest = limit;
        if (!group.bytes_count) return smallest;
        size_t slash = text_find_last(group, '/');
        group.bytes_count = slash < group.bytes_count ? slash : 0;
    }
}

/* Returns the limit of a group from a line such as "0::/user.slice" (version 2) or "9:memory:/user.slice" (version 1):
 * a hierarchy, its controllers, the group. */
static uint64_t limit_of_line(const char *root, const struct controller *controller, struct text line) {
    text_take_until(&line, ':');
    struct text names = text_take_until(&line, ':'), group = line;
    if (!names.bytes_count) return limit_of_groups(root, &controller->version_2, group);
    while (names.bytes_count)
        if (text_equal(text_take_until(&names, ','), controller->name))
            return limit_of_groups(root, &controller->version_1, group);
    return UINT64_MAX;
}

/* Returns the smallest limit of all groups of this process; UINT64_MAX if there is none. */
static uint64_t limit_of_process(const char *root, const struct controller *controller) {
    uint64_t smallest = UINT64_MAX;
    char path[PATH_MAX], content[2 * PATH_MAX];
    snprintf(path, sizeof path, "%s/proc/self/cgroup", root);
    struct text lines = read_start(path, content, sizeof content);
    while (lines.bytes_count) {
        uint64_t limit = limit_of_line(root, controller, text_take_until(&lines, '\n'));
        if (limit < smallest) smallest = limit;
    }
    return smallest;
}

uint64_t machine_memory_bytes(const char *root) {
    struct sysinfo machine;
    uint64_t machine_bytes = sysinfo(&machine) == 0 ? (uint64_t)machine.totalram * machine.mem_unit : UINT64_MAX;
    uint64_t limit_bytes = limit_of_process(root, &memory_controller);
    return limit_bytes < machine_bytes ? limit_bytes : machine_bytes;
}

unsigned machine_processor_limit(const char *root) {
    uint64_t limit = limit_of_process(root, &processor_controller);
    if (limit > UINT_MAX) return UINT_MAX;
    return limit ? (unsigned)limit : 1;
}

unsigned machine_processor_count(void) {
    cpu_set_t allowed;
    /* sched_getaffinity fails if the machine has more processors than the set has room for. */
    bool has_set = sched_getaffinity(0, sizeof allowed, &allowed) == 0;
    long count = has_set ? CPU_COUNT(&allowed) : sysconf(_SC_NPROCESSORS_ONLN);
    unsigned limit = machine_processor_limit("");
    if (count < 1) return 1;
    return (unsigned long)count < limit ? (unsigned)count : limit;
}

uint64_t machine_data_bytes(void) {
    char content[128];
    uint64_t pages;
    read_start("/proc/self/statm", content, sizeof content);
    bool is_known = sscanf(content, "%*u %*u %*u %*u %*u %" SCNu64, &pages) == 1;
    return is_known ? pages * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}

uint64_t machine_resident_bytes(void) {
    char content[128];
    uint64_t resident_pages, file_pages;
    read_start("/proc/self/statm", content, sizeof content);
    bool is_known = sscanf(content, "%*u %" SCNu64 " %" SCNu64, &resident_pages, &file_pages) == 2;
    return is_known ? (resident_pages - file_pages) * (uint64_t)sysconf(_SC_PAGESIZE) : 0;
}
