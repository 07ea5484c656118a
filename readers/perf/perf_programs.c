#include "perf_programs.h"

#include "libconvert/profile/launchers.h"

void perf_programs_execute(struct perf_tasks *tasks, struct perf_task *task, struct text comm, int64_t time_ns) {
    perf_tasks_rename(tasks, task, comm, time_ns);
    string_id program = strings_intern(&tasks->profile->texts, comm);
    if (string_is_none(program)) return;
    task->last_program = program;
    if (string_is_none(task->first_program)) task->first_program = program;
}

void perf_programs_set_arguments(struct perf_tasks *tasks, const struct perf_task *task, struct text arguments) {
    struct profile *profile = tasks->profile;
    process_id process = profile_thread_at(profile, task->thread)->process;
    if (process_is_none(process)) return;
    struct command_line *line = arguments.bytes_count ? profile_allocate(profile, sizeof *line) : NULL;
    if (line) *line = (struct command_line){.arguments = profile_text(profile, arguments)};
    profile_process_at(profile, process)->command_line = line;
}

void perf_programs_rename(struct perf_tasks *tasks, struct perf_task *task, struct text comm, int64_t time_ns) {
    perf_tasks_rename(tasks, task, comm, time_ns);
    bool runs_code_of_parent = task->is_forked && string_is_none(task->first_program);
    if (!runs_code_of_parent || task->pid != perf_tasks_tid(tasks, task)) return;
    string_id program = strings_intern(&tasks->profile->texts, comm);
    if (!string_is_none(program)) task->last_program = program;
    perf_programs_set_arguments(tasks, task, TEXT("")); /* they are its parent's */
}

/* Returns whether the name is that of a file whose code was sampled: "python3" is that of "python3.11" and of
 * "libpython3.11.so.1.0". */
static bool has_file(struct perf_tasks *tasks, struct text name) {
    /* No real recording needs as many, and a hostile one must not take minutes. */
    const uint64_t comparisons_max = 100000000;
    const struct profile *profile = tasks->profile;
    const struct text prefix = TEXT("lib");
    if (tasks->comparison_count > comparisons_max) return false;
    tasks->comparison_count += libs_count(&profile->libs);
    for (uint32_t i = 0; i < libs_count(&profile->libs); i++) {
        struct text file = libs_at(&profile->libs, (lib_id){i})->name;
        if (text_starts_with(file, name)) return true;
        if (text_starts_with(file, prefix) && text_starts_with(text_from(file, prefix.bytes_count), name)) return true;
    }
    return false;
}

static bool is_after_launcher(const struct perf_tasks *tasks, const struct perf_task *task) {
    return !string_is_none(task->last_program) &&
           program_is_launcher(strings_text(&tasks->profile->texts, task->last_program));
}

/* Without records of tasks, a program is known by its file, or because a launcher has executed it: those do not rename
 * themselves. Other names are those of scripts and threads. */
static void note_program(struct perf_tasks *tasks, struct perf_task *task) {
    struct text name = profile_thread_at(tasks->profile, task->thread)->name;
    if (tasks->has_records || task->pid != perf_tasks_tid(tasks, task) || !name.bytes_count) return;
    string_id program = strings_intern(&tasks->profile->texts, name);
    if (string_is_none(task->first_program)) task->first_program = program;
    if (is_after_launcher(tasks, task) || has_file(tasks, name)) task->last_program = program;
}

void perf_programs_see_name(struct perf_tasks *tasks, struct perf_task *task, struct text comm, int64_t time_ns) {
    if (!text_equal(profile_thread_at(tasks->profile, task->thread)->name, comm)) note_program(tasks, task);
    perf_tasks_rename(tasks, task, comm, time_ns);
}

struct text perf_programs_last(const struct perf_tasks *tasks, struct text name) {
    enum { COMM_BYTES_MAX = 15 };
    const struct strings *texts = &tasks->profile->texts;
    struct text comm = text_slice(name, 0, COMM_BYTES_MAX);
    for (size_t i = 0; name.bytes_count && i < tasks->rows.count; i++) {
        const struct perf_task *task = column_at(&tasks->rows, i);
        if (string_is_none(task->first_program) || !text_equal(strings_text(texts, task->first_program), comm))
            continue;
        bool has_last = !string_is_none(task->last_program) && !string_is_same(task->first_program, task->last_program);
        return has_last ? strings_text(texts, task->last_program) : name;
    }
    return name;
}

struct text perf_programs_busiest(struct perf_tasks *tasks) {
    struct text busiest = {0};
    uint32_t most = 0;
    COLUMN_EACH(const struct perf_task, task, &tasks->rows) {
        const struct thread *thread = profile_thread_at(tasks->profile, task->thread);
        if (task->pid > 0) return (struct text){0};
        uint32_t count = samples_count(&thread->samples);
        if (count <= most || !thread->name.bytes_count || !has_file(tasks, thread->name)) continue;
        most = count;
        busiest = thread->name;
    }
    return busiest;
}

static void name_process(struct perf_tasks *tasks, struct perf_task *task) {
    struct profile *profile = tasks->profile;
    const struct thread *thread = profile_thread_at(profile, task->thread);
    if (!string_is_none(task->first_program)) note_program(tasks, task);
    if (task->pid != perf_tasks_tid(tasks, task) || string_is_none(task->last_program)) return;
    profile_process_at(profile, thread->process)->name = strings_text(&profile->texts, task->last_program);
}

/* Names a process without a main thread after the task, if that has the name of a file whose code was sampled. */
static void name_process_after_file(struct perf_tasks *tasks, const struct perf_task *task) {
    const struct thread *thread = profile_thread_at(tasks->profile, task->thread);
    struct process *process = profile_process_at(tasks->profile, thread->process);
    if (task->pid == PID_UNKNOWN || process->name.bytes_count || perf_tasks_has_main(tasks, task)) return;
    if (thread->name.bytes_count && has_file(tasks, thread->name)) process->name = thread->name;
}

void perf_programs_name_processes(struct perf_tasks *tasks) {
    for (size_t i = 0; i < tasks->rows.count; i++) name_process(tasks, column_at(&tasks->rows, i));
    for (size_t i = 0; i < tasks->rows.count; i++) name_process_after_file(tasks, column_at(&tasks->rows, i));
}
