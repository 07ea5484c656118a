#include "trace_fates.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "libconvert/base/row_table.h"

/* A process that records holds a read lock on the byte of the trace at the offset of its pid, until it stops, ends or
 * executes another program. */
static bool is_locked(int file, int64_t pid) {
    struct flock lock = {.l_type = F_WRLCK, .l_whence = SEEK_SET, .l_start = pid, .l_len = 1};
    return file >= 0 && fcntl(file, F_GETLK, &lock) == 0 && lock.l_type != F_UNLCK;
}

/* Whether the recording was made since the last start of this machine. Allocates nothing: without memory for a stdio
 * stream, it would return false and nobody would know why. */
static bool is_of_this_boot(const struct profile_meta *meta) {
    char id[64];
    int file = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t bytes_count = file < 0 ? 0 : read(file, id, sizeof id);
    if (file >= 0) close(file);
    struct text line = {id, bytes_count > 0 ? (size_t)bytes_count : 0};
    struct text own_id = text_slice(line, 0, text_find(line, '\n'));
    return own_id.bytes_count && text_equal(meta->boot_id, own_id);
}

/* 0: unknown. */
static uint64_t own_pid_namespace(void) {
    struct stat status;
    return stat("/proc/self/ns/pid", &status) == 0 ? (uint64_t)status.st_ino : 0;
}

static bool has_no_process(int64_t pid) { return kill((pid_t)pid, 0) != 0 && errno == ESRCH; }

/* The latest start of the processes with one pid and one namespace. */
struct latest {
    struct row_table keys;
    struct column starts_ns; /* uint64_t */
};

static void latest_init(struct latest *latest, struct failure *failure) {
    row_table_init(&latest->keys, 2 * sizeof(uint64_t), failure);
    column_init(&latest->starts_ns, sizeof(uint64_t), failure);
}

static void latest_fini(struct latest *latest) {
    row_table_fini(&latest->keys);
    column_fini(&latest->starts_ns);
}

/* Returns NULL if memory ran out (latched). */
static uint64_t *latest_of(struct latest *latest, const struct process *process) {
    uint64_t key[2] = {(uint64_t)process->pid, process->pid_namespace};
    uint32_t row = row_table_intern(&latest->keys, key);
    if (row == ID_NONE) return NULL;
    if (row < latest->starts_ns.count) return column_at(&latest->starts_ns, row);
    uint64_t *added = column_push(&latest->starts_ns);
    if (added) *added = 0;
    return added;
}

static void find_latest(struct latest *latest, const struct trace_tasks *tasks) {
    for (size_t i = 0; i < tasks->processes.count; i++) {
        const struct trace_process *process = column_at(&tasks->processes, i);
        uint64_t *start_ns = latest_of(latest, profile_process_at(tasks->profile, process->id));
        if (start_ns && *start_ns < process->start_ns) *start_ns = process->start_ns;
    }
}

static enum trace_fate find_fate(const struct process *process, uint64_t pid_namespace, int file) {
    bool is_pid_valid_here = pid_namespace && process->pid_namespace == pid_namespace;
    if (process->pid <= 0 || process->pid > INT32_MAX) return TRACE_FATE_UNKNOWN;
    if (is_locked(file, process->pid)) return TRACE_FATE_STILL_RECORDING;
    return is_pid_valid_here && has_no_process(process->pid) ? TRACE_FATE_KILLED : TRACE_FATE_UNKNOWN;
}

void trace_fates_find(struct trace_tasks *tasks, const struct profile_meta *meta, int file) {
    struct latest latest;
    uint64_t pid_namespace = is_of_this_boot(meta) ? own_pid_namespace() : 0;
    latest_init(&latest, tasks->profile->failure);
    find_latest(&latest, tasks);
    for (size_t i = 0; i < tasks->processes.count; i++) {
        struct trace_process *process = column_at(&tasks->processes, i);
        const struct process *row = profile_process_at(tasks->profile, process->id);
        const uint64_t *latest_ns = latest_of(&latest, row);
        if (process->has_ended || !process->has_live_chunk || !latest_ns) continue;
        bool is_replaced = process->start_ns < *latest_ns;
        process->fate = is_replaced ? TRACE_FATE_REPLACED : find_fate(row, pid_namespace, file);
    }
    latest_fini(&latest);
}
