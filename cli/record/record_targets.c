/* The running processes that are recorded. */
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>

#include "record.h"

void record_targets_add(struct record *record, pid_t id) {
    if (!proc_ids_add(&record->targets, id)) failure_set_memory(&record->failure);
}

void record_targets_find_threads(struct record *record, const struct proc_ids *processes) {
    char path[64];
    for (size_t i = 0; i < processes->count; i++) {
        struct proc_ids threads;
        snprintf(path, sizeof path, "/proc/%d/task", processes->values[i]);
        if (!proc_ids_read(&threads, path))
            failure_set(&record->failure, FAILURE_USAGE, "--pid %d: there is no such process", processes->values[i]);
        for (size_t j = 0; j < threads.count; j++) record_targets_add(record, threads.values[j]);
        proc_ids_fini(&threads);
    }
}

static bool has_process(const struct proc_ids *processes, pid_t pid) {
    for (size_t i = 0; i < processes->count; i++)
        if (processes->values[i] == pid) return true;
    return false;
}

void record_targets_parse(struct record *record, struct proc_ids *processes) {
    const struct options_list *pids = &record->options->recorded_pids;
    for (size_t i = 0; i < pids->count; i++) {
        char *end;
        long pid = strtol(pids->values[i], &end, 10);
        if (*end || pid <= 0 || pid > INT32_MAX)
            failure_set(&record->failure, FAILURE_USAGE, "--pid: '%s' is not the number of a process", pids->values[i]);
        pid_t process = proc_process_of((pid_t)pid);
        if (!has_process(processes, process) && !proc_ids_add(processes, process)) failure_set_memory(&record->failure);
    }
}

void record_raise_file_limit(const struct record *record, rlim_t spare_count) {
    rlim_t max = record->caller.files.rlim_max;
    const struct rlimit raised = {max - (spare_count < max / 2 ? spare_count : max / 2), max};
    setrlimit(RLIMIT_NOFILE, &raised);
}

/* Finds the processes whose generated code may be recorded, including the ancestors of recorded processes. */
static void find_code_generators(const struct record *record, const struct proc_ids *processes,
                                 struct proc_ids *found) {
    if (record->options->is_system_wide) proc_ids_read(found, "/proc");
    for (size_t i = 0; i < processes->count; i++)
        for (pid_t pid = processes->values[i]; pid > 0 && !has_process(found, pid); pid = proc_parent(pid))
            if (!proc_ids_add(found, pid)) return;
}

void record_keep_maps(struct record *record, const struct proc_ids *processes) {
    struct proc_ids all = {0};
    if (record->options->convert.symbols == GECKO_CONVERT_SYMBOLS_NONE) return;
    find_code_generators(record, processes, &all);
    record_raise_file_limit(record, 0);
    for (size_t i = 0; i < all.count; i++) kept_maps_take(&record->maps, all.values[i]);
    proc_ids_fini(&all);
}

void record_keep_new_maps(struct record *record, uint64_t time_ns) {
    static const uint64_t PAUSE_NS = 10000000;
    struct proc_ids *awaited = &record->recording.elsewhere;
    size_t left_count = 0;
    if (record->options->convert.symbols == GECKO_CONVERT_SYMBOLS_NONE) return;
    if (time_ns - record->maps_ns < PAUSE_NS * awaited->count) return;
    record->maps_ns = time_ns;
    for (size_t i = 0; i < awaited->count; i++) {
        pid_t pid = awaited->values[i];
        bool has_ended = kill(pid, 0) != 0 && errno == ESRCH;
        if (!has_ended && !kept_maps_take(&record->maps, pid)) awaited->values[left_count++] = pid;
    }
    awaited->count = left_count;
}

void record_tell_left_out_maps(struct record *record) {
    if (record->maps.left_out_count)
        record_print(
            record,
            "generated code of %zu process%s in containers or of other users has no names: no more files may be open "
            "(ulimit -n)",
            record->maps.left_out_count, record->maps.left_out_count == 1 ? "" : "es");
}
