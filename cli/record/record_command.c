/* gecko-convert record: runs a program, or observes what runs already, and makes a profile of it (docs/recording.md).
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sched.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/signalfd.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/command.h"
#include "cli/console.h"
#include "cli/record/kernel/kernel_recording.h"
#include "kept_maps.h"
#include "libconvert/base/decimal.h"
#include "libconvert/base/monotonic_clock.h"
#include "libconvert/symbols/kept_files.h"
#include "readers/code/kernel_list.h"
#include "recorder_traces.h"
#include "started_program.h"
#include "writer/sink.h"

static const uint64_t NS_PER_S = 1000000000;

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

static void check_target(const struct options *options, struct failure *failure) {
    int count = (options->inputs.count > 0) + (options->recorded_pids.count > 0) + options->is_system_wide;
    if (!count) failure_set(failure, FAILURE_USAGE, "nothing to record: name a command, --pid PID or --all");
    if (count > 1)
        failure_set(failure, FAILURE_USAGE,
                    "a command, --pid and --all exclude each other: what is recorded is one of them");
    bool is_by_recorder = options->recorder_choice == WITH_RECORDER;
    if (is_by_recorder && !options->inputs.count)
        failure_set(failure, FAILURE_USAGE, "--with recorder is for a command: what runs already cannot be preloaded");
    if (is_by_recorder && (options->recorded_events.count || options->trace_path))
        failure_set(failure, FAILURE_USAGE, "--event and --trace are for recording by the kernel");
    if (options->iteration_count > 1 && !options->inputs.count)
        failure_set(failure, FAILURE_USAGE, "--iterations is for a command");
}

static void check_output(const struct options *options, struct failure *failure) {
    if (options->trace_path && strcmp(options->trace_path, "-") == 0)
        failure_set(failure, FAILURE_USAGE, "--trace -: the profile is made of the recording, which needs a file");
    const char *option = options->convert.format ? "format" : options->convert.is_strict ? "strict" : NULL;
    if (options->report_path) option = "report";
    if (option && !options->convert.output_path)
        failure_set(failure, FAILURE_USAGE, "--%s is for a profile that is written: it needs --output FILE", option);
}

/* The recording is a stream, which does not tell when it ends. */
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

/* Stands for the default of the command that makes the profile. */
enum { SOURCES_OF_NEXT_COMMAND = GECKO_CONVERT_SOURCES_EMBED + 1 };

/* ---- State of the command. ---- */

struct record {
    struct options *options;
    struct failure failure;
    struct progress_tty bar;
    int trace;             /* the file of the recording by the kernel; -1: there is none */
    char trace_path[4096]; /* the path of that file */
    sigset_t signals;      /* the signals that the command waits for */
    struct caller_settings caller;
    int signal_fd;
    char **command;                 /* ends with NULL; owned, but not the words; NULL: what runs already is recorded */
    struct started_program program; /* program of this iteration; its pid is 0 if it has ended */
    size_t ended_count;             /* iterations that have ended */
    struct proc_ids targets;
    bool hurries;      /* it has a real-time priority while it records */
    bool is_by_kernel; /* otherwise by the recorder that is preloaded into the programs */
    struct kernel_recording recording;
    struct kept_maps maps;         /* maps of what runs already */
    struct recorder_traces traces; /* have the programs' own events, or what the recorder has sampled */
    uint64_t begin_ns;
    bool is_interrupted;
    bool is_cut;      /* the recording could not be written to its end */
    int program_code; /* the first that is not 0 of a program, or of an iteration that could not begin */
};

static void tell(struct record *record, const char *format, ...) __attribute__((format(printf, 2, 3)));

static void tell(struct record *record, const char *format, ...) {
    char message[512];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    if (!record->options->is_quiet) console_print_message("%s", message);
}

/* ---- The file of the recording. ---- */

static const char *temporary_folder(void) {
    const char *folder = getenv("TMPDIR");
    return folder && *folder ? folder : "/tmp";
}

/* A recording that is not kept has no name, so nothing of it is left however the command ends. Only where the file
 * system can create such a file, it can get a name later. */
static int create_unnamed(const char *folder) {
    char path[4096];
    int file = open(folder, O_TMPFILE | O_RDWR | O_CLOEXEC, 0600);
    if (file >= 0) return file;
    snprintf(path, sizeof path, "%s/gecko-convert-XXXXXX", folder);
    file = mkostemp(path, O_CLOEXEC);
    if (file >= 0) unlink(path);
    return file;
}

static bool open_trace(struct record *record) {
    const char *kept = record->options->trace_path, *folder = temporary_folder();
    record->trace = kept ? open(kept, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600) : create_unnamed(folder);
    if (record->trace < 0)
        failure_set(&record->failure, FAILURE_IO, "cannot create %s for the recording: %s%s", kept ? kept : folder,
                    strerror(errno), kept ? "" : ": set TMPDIR to a folder that may be written");
    if (!kept) snprintf(record->trace_path, sizeof record->trace_path, "/proc/self/fd/%d", record->trace);
    if (access(record->trace_path, R_OK))
        failure_set(&record->failure, FAILURE_IO, "without /proc, a recording needs a name: add --trace FILE");
    return !failure_is_set(&record->failure);
}

/* Gives the file another name that begins with `start`. Returns false with errno EEXIST if there is such a file. */
static bool give_name(const char *path, const char *start, const char *end) {
    char name[4096];
    snprintf(name, sizeof name, "%s.%s", start, end);
    return linkat(AT_FDCWD, path, AT_FDCWD, name, AT_SYMLINK_FOLLOW) == 0;
}

/* Returns how many of the files have names now that did not get one from the user; 0 if another recording has them. */
static size_t give_names(const struct record *record, const char *start) {
    bool is_unnamed = record->is_by_kernel && !record->options->trace_path;
    size_t count = is_unnamed && give_name(record->trace_path, start, "data");
    if (is_unnamed && !count && errno == EEXIST) return 0;
    for (size_t i = 0; i < record->traces.count; i++) {
        const char *path = record->traces.paths[i];
        count += give_name(path, start, strrchr(path, '/') + 1);
    }
    return count;
}

/* Gives what was recorded names if no profile could be made of it, for want of room or memory. In a container, the
 * process often has the pid of the one before, which may have left a recording, too. */
static void rescue_traces(const struct record *record, int exit_code) {
    enum { NAME_COUNT = 1000 };
    char start[2048];
    const char *named = record->options->trace_path;
    size_t count = 0;
    if (exit_code < FAILURE_IO) return;
    errno = EEXIST;
    for (int i = 0; i < NAME_COUNT && !count && errno == EEXIST; i++) {
        snprintf(start, sizeof start, "%s/gecko-convert-%d-%d", temporary_folder(), (int)getpid(), i);
        count = give_names(record, start);
    }
    if (count)
        console_print_message("the recording is kept: make a profile of it by gecko-convert %s%s%s.%s -o FILE",
                              named ? named : "", named ? " " : "", start, record->traces.count ? "*" : "data");
}

/* ---- Targets. ---- */

static void add_target(struct record *record, pid_t id) {
    if (!proc_ids_add(&record->targets, id)) failure_set_memory(&record->failure);
}

/* Replaces processes by their threads. */
static void find_threads(struct record *record, const struct proc_ids *processes) {
    char path[64];
    for (size_t i = 0; i < processes->count; i++) {
        struct proc_ids threads;
        snprintf(path, sizeof path, "/proc/%d/task", processes->values[i]);
        if (!proc_ids_read(&threads, path))
            failure_set(&record->failure, FAILURE_USAGE, "--pid %d: there is no such process", processes->values[i]);
        for (size_t j = 0; j < threads.count; j++) add_target(record, threads.values[j]);
        proc_ids_fini(&threads);
    }
}

static bool has_process(const struct proc_ids *processes, pid_t pid) {
    for (size_t i = 0; i < processes->count; i++)
        if (processes->values[i] == pid) return true;
    return false;
}

static void parse_pids(struct record *record, struct proc_ids *processes) {
    const struct options_list *pids = &record->options->recorded_pids;
    for (size_t i = 0; i < pids->count; i++) {
        char *end;
        long pid = strtol(pids->values[i], &end, 10);
        if (*end || pid <= 0 || pid > INT32_MAX)
            failure_set(&record->failure, FAILURE_USAGE, "--pid: '%s' is not the number of a process", pids->values[i]);
        if (!has_process(processes, (pid_t)pid) && !proc_ids_add(processes, (pid_t)pid))
            failure_set_memory(&record->failure);
    }
}

static void set_command(struct record *record) {
    const struct options_list *words = &record->options->inputs;
    record->command = failure_check_memory(&record->failure, calloc(words->count + 1, sizeof *record->command));
    for (size_t i = 0; i < words->count && record->command; i++)
        record->command[i] = (char *)(uintptr_t)words->values[i];
}

/* The rings must be emptied in time on busy machines, too: with a real-time priority, if this user may have it. */
static void schedule(const struct record *record, int policy) {
    struct sched_param parameters = {.sched_priority = policy == SCHED_OTHER ? 0 : 1};
    if (record->hurries) sched_setscheduler(0, policy, &parameters);
}

/* Creates the process of the next iteration, which waits. By the recorder, its threads are sampled. */
static void start_program(struct record *record, bool is_by_recorder) {
    unsigned frequency_hz = is_by_recorder ? record->options->frequency_hz : 0;
    bool is_good = recorder_traces_set_environment(&record->traces, frequency_hz, &record->failure);
    schedule(record, SCHED_OTHER); /* the process inherits it */
    if (is_good && !started_program_init(&record->program, record->command, &record->caller))
        failure_set(&record->failure, FAILURE_IO, "cannot start a process: %s", strerror(errno));
    schedule(record, SCHED_FIFO);
    recorder_traces_restore_environment(&record->traces);
}

/* Ends the process if it waits to execute the program. */
static void end_waiting_program(struct record *record) {
    started_program_fini(&record->program);
    if (record->program.pid > 0) waitpid(record->program.pid, NULL, 0);
    record->program.pid = 0;
}

/* ---- Signals. ---- */

static const int ending_signals[] = {SIGINT, SIGQUIT, SIGTERM, SIGHUP};

enum { ENDING_SIGNAL_COUNT = sizeof ending_signals / sizeof *ending_signals };

/* Returns whether the profile is written where programs write their output. A device, such as a terminal or /dev/null,
 * has room for both. */
static bool is_output_taken(const char *path) {
    struct stat output, standard;
    if (!path || strcmp(path, "-") == 0) return path;
    return stat(path, &output) == 0 && fstat(STDOUT_FILENO, &standard) == 0 && output.st_dev == standard.st_dev &&
           output.st_ino == standard.st_ino && !S_ISCHR(output.st_mode);
}

/* Blocks the signals that end a command, except those that the caller ignores. If SIGCHLD were ignored, nobody could
 * wait for programs. */
static void take_signals(struct record *record) {
    static const struct sigaction by_default = {.sa_handler = SIG_DFL};
    caller_settings_init(&record->caller, is_output_taken(record->options->convert.output_path));
    sigaction(SIGCHLD, &by_default, NULL);
    sigemptyset(&record->signals);
    sigaddset(&record->signals, SIGCHLD);
    for (size_t i = 0; i < ENDING_SIGNAL_COUNT; i++) {
        struct sigaction action;
        if (sigaction(ending_signals[i], NULL, &action) == 0 && action.sa_handler != SIG_IGN)
            sigaddset(&record->signals, ending_signals[i]);
    }
    sigprocmask(SIG_BLOCK, &record->signals, NULL);
    record->signal_fd = signalfd(-1, &record->signals, SFD_CLOEXEC | SFD_NONBLOCK);
    if (record->signal_fd < 0)
        failure_set(&record->failure, FAILURE_IO, "cannot wait for signals: %s", strerror(errno));
}

static struct workspace *left_folder; /* global because a signal handler must find it */

static void end_by_signal(int signal_number) {
    workspace_remove(left_folder);
    sink_abandon();
    raise(signal_number);
}

/* From here on, signals end this process at once, and nothing is left. */
static void release_signals(struct record *record) {
    left_folder = &record->traces.folder;
    for (size_t i = 0; i < ENDING_SIGNAL_COUNT; i++) {
        struct sigaction action = {.sa_handler = end_by_signal, .sa_flags = (int)SA_RESETHAND};
        sigemptyset(&action.sa_mask);
        if (sigismember(&record->signals, ending_signals[i])) sigaction(ending_signals[i], &action, NULL);
    }
    sigaction(SIGCHLD, &record->caller.on_child, NULL);
    sigprocmask(SIG_SETMASK, &record->caller.signals, NULL);
}

/* A terminal sends its signals to the program too, but tells only the first process of a session that it is gone.
 * Others are passed on to the program. Without a program, they end the recording. SIGQUIT is the program's alone: those
 * in Java and Go print their stacks then. The second Ctrl-C ends this process. */
static void use_signal(struct record *record, const struct signalfd_siginfo *signal) {
    pid_t program = record->program.pid;
    if (signal->ssi_signo == SIGCHLD) return;
    if (record->is_interrupted && signal->ssi_signo == SIGINT) {
        release_signals(record);
        raise(SIGINT);
    }
    record->is_interrupted |= program <= 0 || signal->ssi_signo != SIGQUIT;
    bool is_of_terminal = signal->ssi_code > 0 && signal->ssi_signo != SIGHUP;
    if (program > 0 && !is_of_terminal) kill(program, (int)signal->ssi_signo);
}

static void use_signals(struct record *record) {
    struct signalfd_siginfo signal;
    while (read(record->signal_fd, &signal, sizeof signal) == sizeof signal) use_signal(record, &signal);
}

/* ---- Recording. ---- */

static const char *why_not_executed(const char *command, int error) {
    if (error != ENOENT) return strerror(error);
    if (!strchr(command, '/'))
        return access(command, X_OK) ? "PATH leads to no such program; functions and aliases need their shell"
                                     : "PATH leads to no such program; put ./ before one of the current folder";
    if (access(command, F_OK)) return strerror(error);
    return "its interpreter is missing: that of the script's first line, or the dynamic linker";
}

/* Executes the program of this iteration. Returns false if that fails. */
static bool execute_program(struct record *record) {
    const char *command = record->options->inputs.values[0];
    int error = started_program_execute(&record->program);
    if (!error) return true;
    if (!record->program_code) record->program_code = error == ENOENT ? EXIT_CODE_NOT_FOUND : EXIT_CODE_NOT_EXECUTABLE;
    failure_set(&record->failure, FAILURE_IO, "cannot execute %s: %s", command, why_not_executed(command, error));
    return false;
}

/* Returns false if the program of this iteration still runs. */
static bool take_end(struct record *record) {
    int status;
    struct started_program *program = &record->program;
    if (waitpid(program->pid, &status, WNOHANG) != program->pid) return false;
    if (!record->program_code) record->program_code = started_program_exit_code(status);
    started_program_fini(program);
    program->pid = 0;
    record->ended_count++;
    return true;
}

static bool is_over(const struct record *record) {
    uint64_t limit_ns = (uint64_t)record->options->duration_ns;
    return limit_ns && monotonic_now_ns() - record->begin_ns >= limit_ns;
}

/* Lets the profile be made of what was recorded before the failure. */
static void keep_recorded(struct record *record) {
    if (!record->program_code) record->program_code = (int)record->failure.code;
    failure_clear(&record->failure);
}

/* Executes the program once more. Returns false if that fails: the profile is that of the iterations before. */
static bool begin_iteration(struct record *record) {
    start_program(record, !record->is_by_kernel);
    if (record->is_by_kernel && !failure_is_set(&record->failure))
        kernel_recording_add(&record->recording, record->program.pid, &record->failure);
    if (!failure_is_set(&record->failure) && execute_program(record)) return true;
    end_waiting_program(record);
    console_print_message("only %zu of %zu iterations were recorded: %s", record->ended_count,
                          (size_t)record->options->iteration_count, record->failure.message);
    keep_recorded(record);
    return false;
}

/* Returns whether the last program has ended. */
static bool has_ended(struct record *record) {
    if (!take_end(record)) return false;
    bool is_last = record->is_interrupted || record->ended_count == record->options->iteration_count ||
                   is_over(record) || failure_is_set(&record->failure);
    return is_last || !begin_iteration(record);
}

static void draw_progress(struct record *record) {
    const struct kernel_recording *recording = &record->recording;
    struct report_text size = {.bytes_count = 0};
    char line[160];
    report_append_bytes(&size, recording->stream.written_bytes);
    snprintf(line, sizeof line, "recording %llu s: %llu samples, %llu lost, %.*s; Ctrl-C ends it",
             (unsigned long long)((monotonic_now_ns() - record->begin_ns) / NS_PER_S),
             (unsigned long long)recording->sample_count, (unsigned long long)recording->lost_count, TEXT_ARGS(size));
    progress_tty_draw_text(&record->bar, line);
}

/* A command line can be read only while the program runs. */
enum { CHECK_MS = 20 };

/* Observes until the end of the duration or of what is observed, or a signal. Returns whether a program runs still. */
static void observe(struct record *record) {
    struct kernel_recording *recording = &record->recording;
    bool is_started = record->command, is_done = false;
    while (!is_done && !failure_is_set(&record->failure)) {
        /* A descriptor below 0 is ignored. */
        struct pollfd polled[] = {{record->signal_fd, POLLIN, 0},
                                  {record->is_by_kernel ? recording->rings.poll_fd : -1, POLLIN, 0}};
        int ready_count = poll(polled, 2, CHECK_MS);
        if (record->is_by_kernel) kernel_recording_take(recording);
        if (!is_started) draw_progress(record); /* the terminal of a program is its own */
        if (ready_count) use_signals(record);
        is_done = is_over(record);
        if (is_started)
            is_done |= ready_count && has_ended(record);
        else
            is_done |= record->is_interrupted || (!ready_count && !kernel_events_are_alive(&recording->events));
    }
    progress_tty_clear(&record->bar);
}

/* Waits for a program that runs still. At the end of the duration it is ended as timeout(1) does, and its exit code
 * does not count. If the recording failed, nothing else is done to it. */
static void end_program(struct record *record) {
    int code_before = record->program_code;
    bool is_ended = false;
    if (record->program.pid <= 0) return;
    while (!take_end(record)) {
        struct pollfd polled = {record->signal_fd, POLLIN, 0};
        if (!is_ended && is_over(record)) is_ended = kill(record->program.pid, SIGTERM) == 0;
        poll(&polled, 1, record->options->duration_ns && !is_ended ? CHECK_MS : -1);
        use_signals(record);
    }
    if (is_ended) record->program_code = code_before;
}

/* All threads of processes need many files, and writing the recording some, which they must leave over. */
static void limit_files(const struct record *record, rlim_t spare_count) {
    rlim_t max = record->caller.files.rlim_max;
    const struct rlimit raised = {max - (spare_count < max / 2 ? spare_count : max / 2), max};
    setrlimit(RLIMIT_NOFILE, &raised);
}

/* The first PID namespace has the same number on all machines. */
static bool sees_all_processes(void) {
    static const char first[] = "pid:[4026531836]";
    char name[sizeof first] = {0};
    return readlink("/proc/self/ns/pid", name, sizeof name - 1) <= 0 || strcmp(name, first) == 0;
}

/* Returns whether the threads mostly waited, and the stacks in which they did could have been recorded. */
static bool lacks_stacks_of_waits(const struct record *record) {
    const struct options *options = record->options;
    if (options->recorded_events.count || options->is_system_wide || record->recording.lacks_kernel) return false;
    uint64_t passed_ns = monotonic_now_ns() - record->begin_ns;
    uint64_t sample_count = record->recording.sample_count + record->recording.lost_count;
    uint64_t sampled_ns = sample_count * (NS_PER_S / options->frequency_hz);
    return passed_ns >= NS_PER_S && sampled_ns < passed_ns / 2;
}

static const char *why_without_samples(const struct record *record) {
    if (record->options->recorded_events.count)
        return "no event that --event names happened often enough to be sampled";
    if (!record->command) return "nothing of what was observed computed for long enough to be sampled";
    return "the program computed for less than the time between two samples: a higher --frequency, or --iterations, "
           "may "
           "help";
}

/* How many samples a recording has that was cut, only the conversion finds out. The profile has more of them. */
static void tell_counts(struct record *record) {
    const struct kernel_recording *recording = &record->recording;
    bool adds_waits = recording->sample_count && !record->is_cut &&
                      record->options->convert.off_cpu != GECKO_CONVERT_OFF_CPU_NO;
    struct report_text size = {.bytes_count = 0};
    char counts[96] = "";
    report_append_bytes(&size, recording->stream.written_bytes);
    if (!record->is_cut)
        snprintf(counts, sizeof counts, "%llu sample%s, %llu lost, ", (unsigned long long)recording->sample_count,
                 recording->sample_count == 1 ? "" : "s", (unsigned long long)recording->lost_count);
    tell(record, "recorded %.1f s of %s%s: %s%.*s%s", (double)(monotonic_now_ns() - record->begin_ns) / 1e9,
         recording->events.rows[0].name, recording->events.count > 1 ? " and other events" : "", counts,
         TEXT_ARGS(size), adds_waits ? "; the times in which threads did not run become samples, too" : "");
}

static void tell_recorded(struct record *record) {
    const struct kernel_recording *recording = &record->recording;
    bool runs_on = record->command && record->program.pid <= 0 && kernel_events_are_alive(&recording->events);
    tell_counts(record);
    if (recording->rings.data_bytes < KERNEL_RING_BYTES_MIN)
        tell(record,
             "little memory may be locked (sysctl kernel.perf_event_mlock_kb), so samples are lost more easily");
    if (recording->events.left_out_count)
        tell(record,
             "%zu of %zu threads were not recorded: each needs a file for each event and processor, and no more may be "
             "open (ulimit -n)",
             recording->events.left_out_count, record->targets.count);
    if (recording->refused_count)
        tell(record,
             "the kernel records no program that changes its user (setuid) or whose file its user may not read: %llu "
             "of what was executed; record such a program as the user that it becomes",
             (unsigned long long)recording->refused_count);
    else if (lacks_stacks_of_waits(record))
        tell(record,
             "most of the time, no thread ran: they waited, or other programs had the processors; -e "
             "cycles,context-switches also records the stacks in which they waited");
    else if (!recording->sample_count && !runs_on)
        tell(record, "%s", why_without_samples(record));
    if (recording->hidden_count)
        tell(record,
             "the code of %llu process%s has no names: seeing that of other users, or of more rights, needs root or "
             "CAP_SYS_PTRACE",
             (unsigned long long)recording->hidden_count, recording->hidden_count == 1 ? "" : "es");
    if (record->options->is_system_wide && !sees_all_processes())
        tell(record,
             "processes outside of this container have no numbers and no files here, so that their code has no names: "
             "record outside of it");
    if (recording->lacks_kernel)
        tell(record,
             "the kernel's own code was not recorded: that needs CAP_PERFMON, or sysctl "
             "kernel.perf_event_paranoid=1");
    else if (recording->hiding)
        tell(record, "the kernel's functions have no names: %s", recording->hiding);
    if (runs_on) tell(record, "processes that the program has started run on, and are no longer recorded");
}

/* Lets the programs execute, or observes what runs already, to the end. Returns false if recording could not begin. */
static bool observe_all(struct record *record, const struct proc_ids *processes) {
    if (record->is_by_kernel && open_trace(record))
        kernel_recording_begin(&record->recording, record->trace, processes, &record->failure);
    if (failure_is_set(&record->failure)) return false;
    record->begin_ns = monotonic_now_ns();
    if (record->command) execute_program(record);
    observe(record);
    if (record->is_by_kernel) kernel_recording_end(&record->recording);
    return true;
}

static void run_all(struct record *record, const struct proc_ids *processes) {
    record->hurries = record->is_by_kernel && sched_getscheduler(0) == SCHED_OTHER;
    schedule(record, SCHED_FIFO);
    bool has_begun = observe_all(record, processes);
    schedule(record, SCHED_OTHER);
    if (!has_begun) return;
    if (failure_is_set(&record->failure) && record->recording.sample_count) {
        console_print_message("%s: what came later is lost", record->failure.message);
        record->is_cut = true;
        keep_recorded(record);
    }
    if (record->is_by_kernel && !failure_is_set(&record->failure)) tell_recorded(record);
    end_program(record);
}

/* ---- By the kernel, or by the recorder. ---- */

/* Returns whether the recorder may take the kernel's place. */
static bool may_preload(const struct record *record) {
    const struct options *options = record->options;
    return options->inputs.count && record->recording.allowing && options->recorder_choice == WITH_AUTO &&
           !options->recorded_events.count && !options->trace_path;
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
    limit_files(record, options->recorded_pids.count ? SPARE_FILE_COUNT : 0);
    record->is_by_kernel = kernel_recording_init(&record->recording, &wanted, &record->targets, &record->failure);
    limit_files(record, 0);
    if (!record->is_by_kernel) setrlimit(RLIMIT_NOFILE, &record->caller.files);
    return record->is_by_kernel;
}

static void record_program(struct record *record) {
    bool is_kernel_wanted = record->options->recorder_choice != WITH_RECORDER;
    set_command(record);
    if (failure_is_set(&record->failure) || !recorder_traces_init(&record->traces, &record->failure)) return;
    start_program(record, !is_kernel_wanted);
    if (failure_is_set(&record->failure)) return;
    if (is_kernel_wanted) add_target(record, record->program.pid);
    if (is_kernel_wanted && !begin_by_kernel(record) && may_preload(record)) {
        tell(record,
             "%s; the preloaded recorder samples in its place: without the kernel's code, and without programs "
             "that are linked statically or have more rights",
             record->failure.message);
        failure_clear(&record->failure);
        record->recording.allowing = NULL;
        end_waiting_program(record);
        start_program(record, true);
    }
    if (!failure_is_set(&record->failure)) run_all(record, NULL);
    recorder_traces_find(&record->traces, &record->failure);
}

/* Finds the processes whose generated code may be recorded: also those that forked the recorded ones. */
static void find_generating(const struct record *record, const struct proc_ids *processes, struct proc_ids *found) {
    if (record->options->is_system_wide) proc_ids_read(found, "/proc");
    for (size_t i = 0; i < processes->count; i++)
        for (pid_t pid = processes->values[i]; pid > 0 && !has_process(found, pid); pid = proc_parent(pid))
            if (!proc_ids_add(found, pid)) return;
}

/* Without symbols, maps are not wanted. */
static void keep_maps(struct record *record, const struct proc_ids *processes) {
    struct proc_ids all = {0};
    if (record->options->convert.symbols == GECKO_CONVERT_SYMBOLS_NONE) return;
    find_generating(record, processes, &all);
    limit_files(record, 0);
    for (size_t i = 0; i < all.count; i++) kept_maps_take(&record->maps, all.values[i]);
    proc_ids_fini(&all);
    if (record->maps.left_out_count)
        tell(record,
             "generated code of %zu process%s in containers or of other users has no names: no more files may be open "
             "(ulimit -n)",
             record->maps.left_out_count, record->maps.left_out_count == 1 ? "" : "es");
}

static void record_processes(struct record *record) {
    struct proc_ids processes = {0};
    parse_pids(record, &processes);
    find_threads(record, &processes);
    keep_maps(record, &processes);
    if (!failure_is_set(&record->failure) && begin_by_kernel(record)) run_all(record, &processes);
    proc_ids_fini(&processes);
}

static void run_recording(struct record *record) {
    take_signals(record);
    if (record->options->inputs.count)
        record_program(record);
    else
        record_processes(record);
    if (record->recording.allowing && failure_is_set(&record->failure)) {
        struct failure refusal = record->failure;
        failure_clear(&record->failure);
        failure_set(&record->failure, refusal.code, "%s: %s", refusal.message, record->recording.allowing);
    }
    kernel_recording_fini(&record->recording);
    end_waiting_program(record);
    free(record->command);
    proc_ids_fini(&record->targets);
    if (record->signal_fd >= 0) close(record->signal_fd);
    release_signals(record);
}

/* ---- The profile. ---- */

/* Traces of several runs of a program belong together here, and their clock is the kernel's. */
static void align_traces(struct options *options, struct failure *failure) {
    struct gecko_convert_alignment *alignments = calloc(options->inputs.count, sizeof *alignments);
    options->convert.alignments = options->parsed_alignments = alignments;
    if (!alignments) failure_set_memory(failure);
    for (size_t i = 0; i < options->inputs.count && alignments; i++) alignments[i].kind = GECKO_CONVERT_ALIGN_MONOTONIC;
}

/* Adds the kept maps to those that the user names, which come first. */
static void add_maps(struct record *record, struct options *options) {
    const struct options_list *named = &record->options->perf_maps;
    const char **all = calloc(named->count + record->maps.count + 1, sizeof *all);
    options->perf_maps = (struct options_list){all, 0};
    if (!all) failure_set_memory(&record->failure);
    for (size_t i = 0; i < named->count && all; i++) all[options->perf_maps.count++] = named->values[i];
    for (size_t i = 0; i < record->maps.count && all; i++) all[options->perf_maps.count++] = record->maps.values[i];
    options->convert.perf_maps = all;
    options->convert.perf_map_count = options->perf_maps.count;
}

/* Makes the recording and the traces the inputs of the command that shows or writes the profile. */
static void prepare_profile(struct record *record, const struct command *next, struct options *options) {
    size_t trace_count = record->traces.count;
    *options = *record->options;
    add_maps(record, options);
    options->inputs = (struct options_list){0};
    options->inputs.values =
        failure_check_memory(&record->failure, calloc(trace_count + 1, sizeof *options->inputs.values));
    if (!options->inputs.values) return;
    if (record->is_by_kernel) options->inputs.values[options->inputs.count++] = record->trace_path;
    for (size_t i = 0; i < trace_count; i++) options->inputs.values[options->inputs.count++] = record->traces.paths[i];
    if (!options->inputs.count) {
        failure_set(
            &record->failure, FAILURE_INPUT,
            "nothing was recorded: the recorder cannot be preloaded into programs that are linked statically or "
            "have more rights than this one");
        return;
    }
    if (!record->options->trace_path) options->convert.input_name = "the recording";
    if ((unsigned)options->convert.sources == SOURCES_OF_NEXT_COMMAND)
        options->convert.sources = next->defaults.convert.sources;
    next->complete(options, &record->failure);
    align_traces(options, &record->failure);
}

static int make_profile(struct record *record, const struct command *next) {
    struct options options;
    prepare_profile(record, next, &options);
    int exit_code =
        failure_is_set(&record->failure) ? command_refuse(&command_record, &record->failure) : next->run(&options);
    rescue_traces(record, exit_code);
    free(options.inputs.values);
    free(options.perf_maps.values);
    free(options.parsed_alignments);
    return exit_code;
}

/* Finds out before recording whether the options of the next command are right. */
static void check_options(struct record *record, const struct command *next) {
    struct options options;
    record->is_by_kernel = true;
    prepare_profile(record, next, &options);
    if (!failure_is_set(&record->failure) && next->check) next->check(&options, &record->failure);
    record->is_by_kernel = false;
    free(options.inputs.values);
    free(options.perf_maps.values);
    free(options.parsed_alignments);
}

static int run(struct options *options) {
    const struct command *next = options->convert.output_path ? &command_convert : &command_view;
    struct record record = {.options = options, .trace = -1, .signal_fd = -1, .recording.rings.poll_fd = -1};
    bool draws = isatty(STDERR_FILENO) && !options->is_quiet && options->progress != PROGRESS_NEVER;
    progress_tty_init(&record.bar, STDERR_FILENO, draws, PROGRESS_TTY_DELAY_NS);
    snprintf(record.trace_path, sizeof record.trace_path, "%s", options->trace_path ? options->trace_path : "");
    check_options(&record, next);
    if (!failure_is_set(&record.failure)) run_recording(&record);
    int exit_code = failure_is_set(&record.failure) ? command_refuse(&command_record, &record.failure)
                                                    : make_profile(&record, next);
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
