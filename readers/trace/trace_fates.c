#include "trace_fates.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>
#include <sys/stat.h>

#include "libconvert/base/regular_file.h"
#include "libconvert/base/value_table.h"

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
    struct text line = regular_file_start("/proc/sys/kernel/random/boot_id", id, sizeof id);
    struct text own_id = text_slice(line, 0, text_find(line, '\n'));
    return own_id.bytes_count && text_equal(meta->boot_id, own_id);
}

/* 0: unknown. */
static uint64_t own_pid_namespace(void) {
    struct stat status;
    return stat("/proc/self/ns/pid", &status) == 0 ? (uint64_t)status.st_ino : 0;
}

static bool has_no_process(int64_t pid) { return kill((pid_t)pid, 0) != 0 && errno == ESRCH; }

/* Returns the latest start, in nanoseconds, of the processes with that pid and namespace; NULL if memory ran out
 * (latched). */
static uint64_t *latest_of(struct value_table *latest, const struct process *process) {
    const uint64_t key[2] = {(uint64_t)process->pid, process->pid_namespace};
    return value_table_intern(latest, key, &(uint64_t){0});
}

static void find_latest(struct value_table *latest, const struct trace_tasks *tasks) {
    COLUMN_EACH(const struct trace_process, process, &tasks->processes) {
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
    struct value_table latest;
    uint64_t pid_namespace = is_of_this_boot(meta) ? own_pid_namespace() : 0;
    value_table_init(&latest, 2 * sizeof(uint64_t), sizeof(uint64_t), tasks->profile->failure);
    find_latest(&latest, tasks);
    COLUMN_EACH(struct trace_process, process, &tasks->processes) {
        const struct process *row = profile_process_at(tasks->profile, process->id);
        const uint64_t *latest_ns = latest_of(&latest, row);
        if (process->has_ended || !process->has_live_chunk || !latest_ns) continue;
        bool is_replaced = process->start_ns < *latest_ns;
        process->fate = is_replaced ? TRACE_FATE_REPLACED : find_fate(row, pid_namespace, file);
    }
    value_table_fini(&latest);
}
