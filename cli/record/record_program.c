/* The program that is recorded, and its iterations. */
#include <errno.h>
#include <poll.h>
#include <sched.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/console.h"
#include "libconvert/base/monotonic_clock.h"
#include "record.h"

void record_program_prepare(struct record *record) {
    const struct options_list *words = &record->options->inputs;
    record->command = failure_check_memory(&record->failure, calloc(words->count + 1, sizeof *record->command));
    for (size_t i = 0; i < words->count && record->command; i++)
        record->command[i] = (char *)(uintptr_t)words->values[i];
}

void record_schedule(const struct record *record, int policy) {
    struct sched_param parameters = {.sched_priority = policy == SCHED_OTHER ? 0 : 1};
    if (record->wants_realtime) sched_setscheduler(0, policy, &parameters);
}

void record_program_start(struct record *record, bool is_by_recorder) {
    unsigned frequency_hz = is_by_recorder ? record->options->frequency_hz : 0;
    bool is_good = recorder_traces_set_environment(&record->traces, frequency_hz, &record->failure);
    record_schedule(record, SCHED_OTHER); /* the process inherits it */
    if (is_good && !started_program_init(&record->program, record->command, &record->caller))
        failure_set(&record->failure, FAILURE_IO, "cannot start a process: %s", strerror(errno));
    record_schedule(record, SCHED_FIFO);
    recorder_traces_restore_environment(&record->traces);
}

void record_program_abandon(struct record *record) {
    started_program_fini(&record->program);
    if (record->program.pid > 0) waitpid(record->program.pid, NULL, 0);
    record->program.pid = 0;
}

static const char *execution_failure_reason(const char *command, int error) {
    if (error != ENOENT) return strerror(error);
    if (!strchr(command, '/'))
        return access(command, X_OK) ? "PATH leads to no such program; functions and aliases need their shell"
                                     : "PATH leads to no such program; put ./ before one of the current folder";
    if (access(command, F_OK)) return strerror(error);
    return "its interpreter is missing: that of the script's first line, or the dynamic linker";
}

bool record_program_execute(struct record *record) {
    const char *command = record->options->inputs.values[0];
    int error = started_program_execute(&record->program);
    if (!error) return true;
    if (!record->program_code) record->program_code = error == ENOENT ? EXIT_CODE_NOT_FOUND : EXIT_CODE_NOT_EXECUTABLE;
    failure_set(&record->failure, FAILURE_IO, "cannot execute %s: %s", command,
                execution_failure_reason(command, error));
    return false;
}

/* Returns false if the program of this iteration still runs. */
static bool reap_program(struct record *record) {
    int status;
    struct started_program *program = &record->program;
    if (waitpid(program->pid, &status, WNOHANG) != program->pid) return false;
    if (!record->program_code) record->program_code = started_program_exit_code(status);
    started_program_fini(program);
    program->pid = 0;
    record->ended_count++;
    return true;
}

bool record_is_over(const struct record *record) {
    uint64_t limit_ns = (uint64_t)record->options->duration_ns;
    return limit_ns && monotonic_now_ns() - record->begin_ns >= limit_ns;
}

void record_salvage(struct record *record) {
    if (!record->program_code) record->program_code = (int)record->failure.code;
    failure_clear(&record->failure);
}

/* Executes the program once more. Returns false if that fails: the profile then has only the earlier iterations. */
static bool begin_iteration(struct record *record) {
    record_program_start(record, !record->is_by_kernel);
    if (record->is_by_kernel && !failure_is_set(&record->failure))
        kernel_recording_add(&record->recording, record->program.pid, &record->failure);
    if (!failure_is_set(&record->failure) && record_program_execute(record)) return true;
    record_program_abandon(record);
    console_print_message("only %zu of %zu iterations were recorded: %s", record->ended_count,
                          (size_t)record->options->iteration_count, record->failure.message);
    record_salvage(record);
    return false;
}

bool record_program_has_ended(struct record *record) {
    if (!reap_program(record)) return false;
    bool is_last = record->is_interrupted || record->ended_count == record->options->iteration_count ||
                   record_is_over(record) || failure_is_set(&record->failure);
    return is_last || !begin_iteration(record);
}

void record_program_end(struct record *record) {
    int code_before = record->program_code;
    bool is_ended = false;
    if (record->program.pid <= 0) return;
    while (!reap_program(record)) {
        struct pollfd polled = {record->signal_fd, POLLIN, 0};
        if (!is_ended && record_is_over(record)) is_ended = kill(record->program.pid, SIGTERM) == 0;
        poll(&polled, 1, record->options->duration_ns && !is_ended ? RECORD_CHECK_MS : -1);
        record_signals_handle(record);
    }
    if (is_ended) record->program_code = code_before;
}
