/* gecko-convert record: runs a program, or observes what runs already, and makes a profile of it (docs/recording.md).
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libconvert/base/decimal.h"
#include "libconvert/symbols/kept_files.h"
#include "readers/code/kernel_list.h"
#include "record.h"

static const char usage[] =
    "Usage: gecko-convert record [options] COMMAND [ARGUMENT...]\n"
    "       gecko-convert record [options] -p PID\n"
    "       gecko-convert record [options] -a\n"
    "\n"
    "Runs a command, or observes a process or the whole machine, and samples the\n"
    "stacks of all threads. The result is opened in the Firefox Profiler as\n"
    "gecko-convert view does, or written to a file with --output.\n"
    "Options come before the command. Its input, output, terminal and signals are its\n"
    "own. Ctrl-C ends the program, or what is observed, and the profile is still\n"
    "made; a second Ctrl-C gives up.\n";

static const char notes[] =
    "Exit codes: that of the command if it is not 0, as a shell has it (126: it\n"
    "cannot be executed, 127: there is none, 128 + N: signal N ended it). Otherwise:\n"
    "  0  success\n"
    "  1  nothing was recorded\n"
    "  2  the command line is wrong\n"
    "  3  recording is not allowed, or reading or writing failed; if the disk is full\n"
    "     or an iteration cannot begin, the profile has what was recorded before\n"
    "  4  memory ran out, or more than --max-memory was needed\n"
    "  5  --strict was given, and something would have been lost\n";

/* ---- Options. ---- */

static void parse_duration(struct options *options, struct failure *failure) {
    enum { NS_DIGITS = 9 };
    struct decimal seconds;
    bool is_rounded = false;
    if (!options->duration) return;
    bool is_good = decimal_parse(text_of(options->duration), &seconds, &is_rounded) && !is_rounded &&
                   seconds.scale <= NS_DIGITS && decimal_rescale(seconds, NS_DIGITS, &options->duration_ns) &&
                   options->duration_ns > 0;
    if (!is_good)
        failure_set(failure, FAILURE_USAGE, "--duration: '%s' is not a number of seconds above 0", options->duration);
}

/* Returns whether an option is for a recording by the kernel. */
static bool needs_kernel(const struct options *options) {
    return options->recorded_events.count || options->trace_path || options->perf_maps.count ||
           options->filter_values[GECKO_CONVERT_FILTER_CPU].count || options->convert.is_per_cpu ||
           options->convert.off_cpu != GECKO_CONVERT_OFF_CPU_AUTO;
}

static void check_target(const struct options *options, struct failure *failure) {
    int count = (options->inputs.count > 0) + (options->recorded_pids.count > 0) + options->is_system_wide;
    if (!count) failure_set(failure, FAILURE_USAGE, "nothing to record: name a command, --pid PID or --all");
    if (count > 1)
        failure_set(failure, FAILURE_USAGE,
                    "a command, --pid and --all exclude each other: what is recorded is one of them");
    bool is_by_recorder = options->recorder_choice == WITH_RECORDER;
    if (is_by_recorder && !options->inputs.count)
        failure_set(failure, FAILURE_USAGE, "--with recorder is for a command: what runs already cannot be preloaded");
    if (is_by_recorder && needs_kernel(options))
        failure_set(failure, FAILURE_USAGE,
                    "--cpu, --event, --off-cpu, --per-cpu, --perf-map and --trace are for recording by the kernel");
    if (options->iteration_count > 1 && !options->inputs.count)
        failure_set(failure, FAILURE_USAGE, "--iterations is for a command");
}

/* A command without a slash is searched for in PATH. */
static void check_output(const struct options *options, struct failure *failure) {
    const char *program = options->inputs.count ? options->inputs.values[0] : "";
    if (strchr(program, '/')) options_keep_input(options, program, failure);
    if (options->trace_path && strcmp(options->trace_path, "-") == 0)
        failure_set(failure, FAILURE_USAGE, "--trace -: the profile is made of the recording, which needs a file");
    const char *option = options->convert.format ? "format" : options->convert.is_strict ? "strict" : NULL;
    if (options->report_path) option = "report";
    if (option && !options->convert.output_path)
        failure_set(failure, FAILURE_USAGE, "--%s is for a profile that is written: it needs --output FILE", option);
}

/* Refuses percentages: the recording is a stream, whose length is not known when it is read. */
static void check_times(const struct options *options, struct failure *failure) {
    const struct options_list *times = &options->filter_values[GECKO_CONVERT_FILTER_TIME];
    for (size_t i = 0; i < times->count; i++)
        if (strchr(times->values[i], '%'))
            failure_set(failure, FAILURE_USAGE,
                        "--time %s: how long a recording is, is not known before its end: give seconds",
                        times->values[i]);
}

static void complete(struct options *options, struct failure *failure) {
    enum { ALIGNMENT = 8, STACK_BYTES_MAX = 65528 };
    parse_duration(options, failure);
    check_target(options, failure);
    check_output(options, failure);
    check_times(options, failure);
    if (options->stack_bytes % ALIGNMENT || options->stack_bytes > STACK_BYTES_MAX)
        failure_set(failure, FAILURE_USAGE, "--stack-size: a multiple of 8 of at most 65528 is needed");
}

/* ---- The kernel or the recorder. ---- */

/* Returns whether the preloaded recorder may record instead of the kernel. */
static bool may_preload(const struct record *record) {
    const struct options *options = record->options;
    return options->inputs.count && record->recording.permission_advice && options->recorder_choice == WITH_AUTO &&
           !needs_kernel(options);
}

static bool begin_by_kernel(struct record *record) {
    const struct options *options = record->options;
    const struct kernel_recording_options wanted = {.events = {.names = options->recorded_events.values,
                                                               .name_count = options->recorded_events.count,
                                                               .frequency_hz = options->frequency_hz,
                                                               .call_graph = (enum call_graph)options->call_graph,
                                                               .stack_bytes = (unsigned)options->stack_bytes,
                                                               .is_system_wide = options->is_system_wide,
                                                               .begins_on_exec = options->inputs.count > 0},
                                                    .command = options->inputs.values,
                                                    .command_count = options->inputs.count};
    enum { SPARE_FILE_COUNT = 64 };
    record_raise_file_limit(record, options->recorded_pids.count ? SPARE_FILE_COUNT : 0);
    record->is_by_kernel = kernel_recording_init(&record->recording, &wanted, &record->targets, &record->failure);
    record_raise_file_limit(record, 0);
    if (!record->is_by_kernel) setrlimit(RLIMIT_NOFILE, &record->caller.files);
    return record->is_by_kernel;
}

static void record_program(struct record *record) {
    bool is_kernel_wanted = record->options->recorder_choice != WITH_RECORDER;
    record_program_prepare(record);
    if (failure_is_set(&record->failure) || !recorder_traces_init(&record->traces, &record->failure)) return;
    record_program_start(record, !is_kernel_wanted);
    if (failure_is_set(&record->failure)) return;
    if (is_kernel_wanted) record_targets_add(record, record->program.pid);
    if (is_kernel_wanted && !begin_by_kernel(record) && may_preload(record)) {
        record_print(record,
                     "%s; the preloaded recorder samples in its place: without the kernel's code, and without programs "
                     "that are linked statically or have more rights",
                     record->failure.message);
        failure_clear(&record->failure);
        record->recording.permission_advice = NULL;
        record_program_abandon(record);
        record_program_start(record, true);
    }
    if (!failure_is_set(&record->failure)) record_run(record, NULL);
    recorder_traces_find(&record->traces, &record->failure);
}

static void record_processes(struct record *record) {
    struct proc_ids processes = {0};
    record_targets_parse(record, &processes);
    record_targets_find_threads(record, &processes);
    record_keep_maps(record, &processes);
    if (!failure_is_set(&record->failure) && begin_by_kernel(record)) record_run(record, &processes);
    proc_ids_fini(&processes);
}

static void run_recording(struct record *record) {
    record_signals_take(record);
    if (record->options->inputs.count)
        record_program(record);
    else
        record_processes(record);
    if (record->recording.permission_advice && failure_is_set(&record->failure)) {
        struct failure refusal = record->failure;
        failure_clear(&record->failure);
        failure_set(&record->failure, refusal.code, "%s: %s", refusal.message, record->recording.permission_advice);
    }
    kernel_recording_fini(&record->recording);
    record_program_abandon(record);
    free(record->command);
    proc_ids_fini(&record->targets);
    if (record->signal_fd >= 0) close(record->signal_fd);
    record_signals_release(record);
}

static int run(struct options *options) {
    const struct command *next = options->convert.output_path ? &command_convert : &command_view;
    struct record record = {.options = options, .trace = -1, .signal_fd = -1, .recording.rings.poll_fd = -1};
    bool draws = isatty(STDERR_FILENO) && !options->is_quiet && options->progress != PROGRESS_NEVER;
    progress_tty_init(&record.bar, STDERR_FILENO, draws, PROGRESS_TTY_DELAY_NS);
    snprintf(record.trace_path, sizeof record.trace_path, "%s", options->trace_path ? options->trace_path : "");
    record_profile_check(&record, next);
    if (!failure_is_set(&record.failure)) run_recording(&record);
    int exit_code = failure_is_set(&record.failure) ? command_refuse(&command_record, &record.failure)
                                                    : record_profile_make(&record, next);
    kernel_list_forget();
    kept_files_end();
    kept_maps_fini(&record.maps);
    recorder_traces_fini(&record.traces);
    if (record.trace >= 0) close(record.trace);
    return record.program_code ? record.program_code : exit_code;
}

const struct command command_record = {
    .name = "record",
    .bit = RECORD,
    .usage = usage,
    .notes = notes,
    .defaults = {.frequency_hz = 1000,
                 .iteration_count = 1,
                 .convert.sources = (enum gecko_convert_sources)SOURCES_OF_NEXT_COMMAND},
    .complete = complete,
    .run = run};
