/* Tests recording by environment variables. This program executes itself with different variables in a temporary
 * folder, and examines the files that it leaves there. */
#include <stdio.h>
#include <stdlib.h>

#include <fcntl.h>
#include <linux/capability.h>
#include <pthread.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "tests/support/recorder_trace.h"
#include "tests/support/sanitizers.h"
#include "tests/support/unit_test.h"
#include "tests/support/wait_for_child.h"

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

enum { BRIEF_COUNT = 3 };

/* ---- The executed program: its first argument names what it does. ---- */

static pid_t execute(char *const arguments[], char *const environment[]) {
    pid_t pid = fork();
    if (pid != 0) return pid;
    if (environment)
        execve("/proc/self/exe", arguments, environment);
    else
        execv("/proc/self/exe", arguments);
    _exit(127);
}

static int execute_and_wait(const char *name, const char *program, const char *argument) {
    char *const arguments[] = {(char *)(uintptr_t)name, (char *)(uintptr_t)program, (char *)(uintptr_t)argument, NULL};
    return wait_for_child(execute(arguments, NULL));
}

static void mark_exit(void) { GREC_INSTANT("at exit", NULL); }

static int be_plain(const char *argument) {
    atexit(mark_exit);
    GREC_INSTANT("in main", NULL);
    return 0;
}

/* Returns, as the exit status, whether the program is recorded. */
static int tell_whether_recorded(const char *argument) { return grec_is_recording(); }

static void *record_as(void *name) {
    grec_thread_register(name);
    grec_text_marker("in a thread", NULL, name);
    return NULL;
}

static int run_threads(const char *argument) {
    static char names[][16] = {"Worker one", "painter", "worker two"};
    GREC_INSTANT("in main", NULL);
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, record_as, names[i]) || pthread_join(thread, NULL)) return 1;
    }
    return 0;
}

/* Returns, as the exit status, whether the trace's file already exists. A recording in memory has no file before the
 * program ends. */
static int look_for_file(const char *path) {
    GREC_INSTANT("in main", NULL);
    return access(path, F_OK) == 0;
}

static int execute_child(const char *argument) {
    GREC_INSTANT("parent", NULL);
    int status = execute_and_wait("child", argument, NULL);
    GREC_INSTANT("parent again", NULL);
    return status;
}

static int stop_and_execute(const char *argument) {
    GREC_INSTANT("parent", NULL);
    grec_stop();
    return execute_and_wait("child", argument, NULL);
}

/* Makes the trace read-only and executes a program. Root can write any file whatever its mode, unless executed
 * programs lose that capability. */
static int lock_and_execute(const char *path) {
    GREC_INSTANT("parent", NULL);
    if (chmod(path, 0444) != 0) return 1;
    if (geteuid() == 0 && prctl(PR_CAPBSET_DROP, CAP_DAC_OVERRIDE, 0, 0, 0) != 0) return 1;
    return execute_and_wait("child", "plain", NULL);
}

static int execute_grandchild(const char *argument) { return execute_child(argument ? argument : "execute-plain"); }
static int execute_plain(const char *argument) {
    GREC_INSTANT("middle", NULL);
    return execute_and_wait("grandchild", "plain", NULL);
}

static int execute_with_empty_environment(const char *argument) {
    static char name[] = "child", program[] = "whether";
    char *const arguments[] = {name, program, NULL}, *const empty[] = {NULL};
    return wait_for_child(execute(arguments, empty));
}

static int become_another(const char *argument) {
    static char name[] = "another", program[] = "plain";
    char *const arguments[] = {name, program, NULL};
    GREC_INSTANT("before", NULL);
    execv("/proc/self/exe", arguments);
    return 127;
}

static int fork_child(const char *argument) {
    GREC_INSTANT("parent", NULL);
    pid_t pid = fork();
    if (!pid) {
        int is_recording = grec_is_recording();
        GREC_INSTANT("forked", NULL);
        _exit(is_recording);
    }
    return wait_for_child(pid);
}

/* Forks children that end at once, and records nothing of them. */
static int fork_brief_children(const char *argument) {
    GREC_INSTANT("parent", NULL);
    for (int i = 0; i < BRIEF_COUNT; i++) {
        pid_t pid = fork();
        if (!pid) _exit(0);
        if (wait_for_child(pid) != 0) return 1;
    }
    return 0;
}

/* A forked child exits normally. Returns whether that saves a trace in memory, which its creator will save. */
static int fork_child_that_exits(const char *path) {
    GREC_INSTANT("parent", NULL);
    pid_t pid = fork();
    if (!pid) {
        GREC_INSTANT("forked", NULL);
        exit(0);
    }
    int status = wait_for_child(pid);
    GREC_INSTANT("parent again", NULL);
    return status || access(path, F_OK) == 0;
}

static int outlive(const char *path) {
    char byte;
    if (read(STDIN_FILENO, &byte, 1) != 1) return 1;
    if (access(path, F_OK) == 0) GREC_INSTANT("saved before", NULL);
    GREC_INSTANT("outlived", NULL);
    return 0;
}

/* This process ends after a forked child has become part of the recording. The child goes on once the standard input
 * says that this process has ended. */
static int leave_child(const char *path, void (*end)(int status)) {
    int ends[2];
    char byte = 0;
    GREC_INSTANT("parent", NULL);
    if (pipe(ends) != 0) return 1;
    pid_t pid = fork();
    if (!pid) return write(ends[1], &byte, 1) != 1 || outlive(path);
    close(ends[1]);
    if (pid < 0 || read(ends[0], &byte, 1) != 1) return 1;
    end(0);
    return 1;
}

static int leave_child_by_exit(const char *path) { return leave_child(path, exit); }
static int leave_child_unsaved(const char *path) { return leave_child(path, _exit); }

/* Executes a program, recorded, tells its child when the program has ended, and waits until the child has ended. The
 * program is a zombie meanwhile. Nobody writes to its standard output, which shows when both have ended. */
static int execute_and_outlast(const char *program) {
    static char name[] = "app", path[] = "kept.trace", byte;
    char *const arguments[] = {name, (char *)(uintptr_t)program, path, NULL};
    int input[2], output[2];
    siginfo_t info;
    if (pipe2(input, O_CLOEXEC) != 0 || pipe2(output, O_CLOEXEC) != 0) return 1;
    if (dup2(input[0], STDIN_FILENO) < 0 || dup2(output[1], STDOUT_FILENO) < 0) return 1;
    setenv("GECKO_RECORDER", "1", true);
    pid_t pid = execute(arguments, NULL);
    close(output[1]);
    close(STDOUT_FILENO);
    if (waitid(P_PID, (id_t)pid, &info, WEXITED | WNOWAIT) != 0 || write(input[1], &byte, 1) != 1) return 1;
    if (read(output[0], &byte, 1) != 0) return 1;
    return wait_for_child(pid);
}

static int start_with_path(const char *path) {
    struct grec_options options = {.path = path, .product = "Named"};
    GREC_INSTANT("before", NULL);
    if (!grec_is_recording() || grec_start(&options)) return 1;
    GREC_INSTANT("after", NULL);
    return 0;
}

static int start_with_nothing(const char *argument) {
    static const struct grec_options zeros;
    struct grec_status before, after;
    grec_get_status(&before);
    if (grec_start(NULL) || grec_start(&zeros)) return 1;
    grec_get_status(&after);
    GREC_INSTANT("after", NULL);
    return strcmp(before.path, after.path) != 0 || before.limit_bytes != after.limit_bytes || !after.is_recording;
}

static int start_with_bad_options(const char *argument) {
    struct grec_options options = {.limit_bytes = 1};
    GREC_INSTANT("before", NULL);
    if (grec_start(&options) != GREC_ERROR_OPTIONS) return 1;
    GREC_INSTANT("after", NULL);
    return 0;
}

static int move_and_execute(const char *path) {
    if (start_with_path(path)) return 1;
    return execute_and_wait("child", "plain", NULL);
}

/* Changes the trace's version, as if another version of the library had created it, and executes a program. */
static int age_and_execute(const char *path) {
    const unsigned char version = 0xff;
    int file = open(path, O_WRONLY);
    if (file < 0 || pwrite(file, &version, 1, TRACE_HEADER_BYTES) != 1) return 1;
    close(file);
    return execute_and_wait("child", "plain", NULL);
}

static int stop_early(const char *argument) {
    GREC_INSTANT("before", NULL);
    grec_stop();
    GREC_INSTANT("after", NULL);
    return 0;
}

static int exit_at_once(const char *argument) {
    GREC_INSTANT("in main", NULL);
    _exit(0);
}

/* Works long enough for the recorder to notice that the first thread has ended. */
static void *work_on(void *unused) {
    const struct timespec pause = {0, 300000000};
    nanosleep(&pause, NULL);
    GREC_INSTANT("worked on", NULL);
    return unused;
}

static int end_first_thread(const char *has_worker) {
    pthread_t thread;
    atexit(mark_exit);
    GREC_INSTANT("in main", NULL);
    if (has_worker && pthread_create(&thread, NULL, work_on, NULL) != 0) return 1;
    pthread_exit(NULL);
}

static int end_behind_libc(const char *has_worker) {
    pthread_t thread;
    GREC_INSTANT("in main", NULL);
    if (has_worker && pthread_create(&thread, NULL, work_on, NULL) != 0) return 1;
    return (int)syscall(SYS_exit, 5);
}

static const struct {
    const char *name;
    int (*run)(const char *argument);
} programs[] = {
    {"plain", be_plain},
    {"whether", tell_whether_recorded},
    {"threads", run_threads},
    {"look", look_for_file},
    {"stop-and-execute", stop_and_execute},
    {"execute", execute_child},
    {"execute-twice", execute_grandchild},
    {"lock-execute", lock_and_execute},
    {"execute-plain", execute_plain},
    {"execute-empty", execute_with_empty_environment},
    {"become", become_another},
    {"fork", fork_child},
    {"fork-brief", fork_brief_children},
    {"fork-exit", fork_child_that_exits},
    {"leave", leave_child_by_exit},
    {"leave-unsaved", leave_child_unsaved},
    {"outlast", execute_and_outlast},
    {"start", start_with_path},
    {"start-nothing", start_with_nothing},
    {"start-bad", start_with_bad_options},
    {"move-execute", move_and_execute},
    {"age-execute", age_and_execute},
    {"stop", stop_early},
    {"exit", exit_at_once},
    {"end-first", end_first_thread},
    {"end-raw", end_behind_libc},
};

/* ---- Executing the program. ---- */

enum { VARIABLE_COUNT = 8 };

/* Avoids the sampler. Under the thread sanitizer, a child of a program with threads must not start threads, such as
 * a sampler. */
#define WITHOUT_SAMPLER "GECKO_RECORDER_INTERVAL=0"

struct run {
    const char *program, *argument;
    const char *variables[VARIABLE_COUNT]; /* "NAME=value". These variables are added to those of this program, except
                                              the recorder's. */
};

struct ended {
    pid_t pid;
    int status;
    char *said; /* text on standard error; the caller frees it */
};

/* Returns whether the executed program inherits a variable. The recorder's variables come from the run alone. */
static bool is_kept_variable(const char *variable) {
    return strncmp(variable, "GECKO_RECORDER", strlen("GECKO_RECORDER")) != 0;
}

extern char **environ;

static struct ended run_in(const struct temp_folder *folder, struct run run) {
    char *environment[512];
    size_t count = 0;
    for (char **variable = environ; *variable && count < COUNT_OF(environment) - VARIABLE_COUNT - 2; variable++)
        if (is_kept_variable(*variable)) environment[count++] = *variable;
    for (int i = 0; i < VARIABLE_COUNT && run.variables[i]; i++)
        environment[count++] = (char *)(uintptr_t)run.variables[i];
    if (HAS_THREAD_SANITIZER) environment[count++] = (char *)(uintptr_t)WITHOUT_SAMPLER;
    environment[count] = NULL;
    char *const arguments[] = {(char *)(uintptr_t) "app", (char *)(uintptr_t)run.program,
                               (char *)(uintptr_t)run.argument, NULL};
    char said_path[PATH_MAX];
    snprintf(said_path, sizeof said_path, "%s.said", folder->path);
    struct ended ended = {.pid = fork()};
    assert_true(ended.pid >= 0);
    if (!ended.pid) {
        int file = open(said_path, O_RDWR | O_CREAT | O_TRUNC, 0600);
        if (file < 0 || dup2(file, STDERR_FILENO) < 0 || chdir(folder->path) != 0) _exit(126);
        alarm(HANG_SECONDS);
        execve("/proc/self/exe", arguments, environment);
        _exit(127);
    }
    ended.status = wait_for_child(ended.pid);
    ended.said = file_read(said_path, NULL);
    unlink(said_path);
    assert_non_null(ended.said);
    return ended;
}

#define RUN(folder, ...) run_in(folder, (struct run){__VA_ARGS__})
#define WITH(...)        .variables = {__VA_ARGS__}

/* Checks that the program succeeded without a message. Returns its pid. */
static pid_t assert_quiet(struct ended ended) {
    assert_string_equal(ended.said, "");
    assert_int_equal(ended.status, 0);
    free(ended.said);
    return ended.pid;
}

/* Checks that the program succeeded, reported why it is not recorded, and left no file. */
static void assert_refused(const struct temp_folder *folder, struct ended ended, const char *said) {
    assert_string_equal(ended.said, said);
    assert_int_equal(ended.status, 0);
    assert_int_equal(temp_folder_count(folder), 0);
    free(ended.said);
}

/* Reads the trace and removes the file. */
static struct recorded *take(const struct temp_folder *folder, const char *name) {
    struct recorded *recorded = recorded_read(temp_folder_file(folder, name));
    assert_nothing_lost(recorded);
    unlink(temp_folder_file(folder, name));
    return recorded;
}

static const struct recorded *take_of_pid(const struct temp_folder *folder, const char *program, pid_t pid) {
    char name[64];
    snprintf(name, sizeof name, "%s-%d.trace", program, pid);
    return take(folder, name);
}

static void assert_marked(const struct recorded *recorded, const char *name, size_t count) {
    if (count_markers(&recorded->profile, name) != count)
        fail_msg("%zu of \"%s\"", count_markers(&recorded->profile, name), name);
}

static const struct process *process_of_marker(const struct profile *profile, const char *name) {
    const struct thread *thread = NULL;
    find_marker(profile, name, &thread);
    return profile_process_at(profile, thread->process);
}

/* ---- Switching recording on and off. ---- */

TEST(test_off, set_up_folder, tear_down_folder) {
    static const char *const settings[] = {NULL, "GECKO_RECORDER=0", "GECKO_RECORDER=", "GECKO_RECORDERS=1"};
    for (size_t i = 0; i < COUNT_OF(settings); i++) {
        assert_quiet(RUN(*state, "plain", WITH(settings[i])));
        assert_quiet(RUN(*state, "whether", WITH(settings[i])));
        assert_int_equal(temp_folder_count(*state), 0);
    }
    /* The other variables do nothing without GECKO_RECORDER. */
    assert_quiet(RUN(*state, "whether",
                     WITH("GECKO_RECORDER_OUTPUT=x.trace", "GECKO_RECORDER_LIMIT=bad", "GECKO_RECORDER_HELP=0")));
    assert_int_equal(temp_folder_count(*state), 0);
}

TEST(test_on, set_up_folder, tear_down_folder) {
    pid_t pid = assert_quiet(RUN(*state, "plain", WITH("GECKO_RECORDER=1")));
    const struct recorded *recorded = take_of_pid(*state, "app", pid);
    assert_int_equal(temp_folder_count(*state), 0);
    assert_marked(recorded, "in main", 1);
    assert_marked(recorded, "at exit", 1);
    assert_int_equal(recorded->header.limit_bytes, 128u << 20);
    assert_int_equal(recorded->header.chunk_bytes, 65536);
    assert_int_equal(recorded->header.creator_pid, pid);
    assert_true(text_equal(recorded->profile.meta.product, TEXT("app")));
    assert_true(text_equal(recorded->profile.meta.arguments, TEXT("app plain")));
    const struct process *process = process_of_marker(&recorded->profile, "in main");
    assert_int_equal(process->pid, pid);
    assert_true(text_equal(process->name, TEXT("app")));
    const struct marker *last = find_marker(&recorded->profile, "at exit", NULL);
    assert_true(process->end_ns != TIME_NONE && process->end_ns >= last->start_ns);
    assert_true(process->end_ns <= recorded->profile.end_ns);
}

TEST(test_ends, set_up_folder, tear_down_folder) {
    static const struct {
        const char *program;
        bool has_end;
        const char *marker;
    } cases[] = {{"plain", true, "at exit"}, {"exit", false, "in main"}, {"stop", true, "before"}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        assert_quiet(RUN(*state, cases[i].program, WITH("GECKO_RECORDER=1", "GECKO_RECORDER_OUTPUT=end.trace")));
        const struct recorded *recorded = take(*state, "end.trace");
        assert_marked(recorded, cases[i].marker, 1);
        assert_marked(recorded, "after", 0);
        assert_int_equal(count_of_cause(&recorded->profile.ledger, LEDGER_KEPT, "end of a process"), cases[i].has_end);
    }
}

/* The recorder's threads must not keep the process alive, and must not change how it ends. */
TEST(test_ends_of_threads, set_up_folder, tear_down_folder) {
    static const char *const programs_that_end[] = {"end-first", "end-raw"}, *const workers[] = {NULL, "worker"},
                             *const intervals[] = {"GECKO_RECORDER_INTERVAL=1", WITHOUT_SAMPLER};
    if (HAS_THREAD_SANITIZER) skip(); /* the thread sanitizer's own thread runs until the end */
    for (size_t i = 0; i < 8; i++) {
        const char *program = programs_that_end[i / 4], *worker = workers[i / 2 % 2], *interval = intervals[i % 2];
        struct ended plain = RUN(*state, program, worker, WITH(NULL));
        struct ended ended =
            RUN(*state, program, worker, WITH("GECKO_RECORDER=1", "GECKO_RECORDER_OUTPUT=end.trace", interval));
        bool is_exit = i < 4;
        assert_int_equal(ended.status, plain.status);
        assert_string_equal(ended.said, "");
        const struct recorded *recorded = take(*state, "end.trace");
        assert_marked(recorded, "in main", 1);
        assert_marked(recorded, "worked on", worker != NULL);
        assert_marked(recorded, "at exit", is_exit);
        assert_int_equal(count_of_cause(&recorded->profile.ledger, LEDGER_KEPT, "end of a process"), is_exit);
        free(plain.said);
        free(ended.said);
    }
}

/* ---- The variables. ---- */

TEST(test_output, set_up_folder, tear_down_folder) {
    pid_t pid = assert_quiet(RUN(*state, "plain", WITH("GECKO_RECORDER=1", "GECKO_RECORDER_OUTPUT=%e_%p%%.x")));
    char name[64];
    snprintf(name, sizeof name, "app_%d%%.x", pid);
    take(*state, name);
    /* An empty variable is treated like one that is not set. */
    pid = assert_quiet(RUN(*state, "plain", WITH("GECKO_RECORDER=1", "GECKO_RECORDER_OUTPUT=")));
    take_of_pid(*state, "app", pid);
    assert_refused(
        *state, RUN(*state, "plain", WITH("GECKO_RECORDER=1", "GECKO_RECORDER_OUTPUT=%x")),
        "gecko-recorder: GECKO_RECORDER_OUTPUT=%x is not a path of up to 1023 bytes, with %p, %e or %% where "
        "it has a percent sign: nothing is recorded\n");
    assert_refused(*state, RUN(*state, "plain", WITH("GECKO_RECORDER=1", "GECKO_RECORDER_OUTPUT=nowhere/x.trace")),
                   "gecko-recorder: nothing is recorded: nowhere/x.trace: No such file or directory\n");
    assert_refused(*state, RUN(*state, "plain", WITH("GECKO_RECORDER=1", "GECKO_RECORDER_OUTPUT=.")),
                   "gecko-recorder: nothing is recorded: .: Is a directory\n");
}

TEST(test_sizes, set_up_folder, tear_down_folder) {
    static const struct {
        const char *limit, *chunk;
        uint64_t limit_bytes; /* 0: none */
        uint32_t chunk_bytes;
    } cases[] = {
        {"64M", NULL, 64u << 20, 65536},  {"2m", "4k", 2u << 20, 4096},     {"1048576", "4096", 1u << 20, 4096},
        {"1G", "1M", 1u << 30, 1u << 20}, {"512K", NULL, 512u << 10, 8192}, {"unlimited", NULL, 0, 65536},
        {"", "", 128u << 20, 65536},      {"64K", "4K", 64u << 10, 4096},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        char limit[64], chunk[64];
        snprintf(limit, sizeof limit, "GECKO_RECORDER_LIMIT=%s", cases[i].limit);
        snprintf(chunk, sizeof chunk, "GECKO_RECORDER_CHUNK=%s", cases[i].chunk ? cases[i].chunk : "");
        assert_quiet(RUN(*state, "plain", WITH("GECKO_RECORDER=1", "GECKO_RECORDER_OUTPUT=size.trace", limit, chunk)));
        const struct recorded *recorded = take(*state, "size.trace");
        assert_marked(recorded, "in main", 1);
        assert_int_equal(recorded->header.limit_bytes, cases[i].limit_bytes);
        assert_int_equal(recorded->header.chunk_bytes, cases[i].chunk_bytes);
    }
}

static const char wanted_limit[] = "a size (64M, 1G) from 64K, and of 16 chunks or more";
static const char wanted_chunk[] = "a power of two from 4K to 1M";

TEST(test_bad_sizes, set_up_folder, tear_down_folder) {
    static const char *const names[] = {"GECKO_RECORDER_LIMIT", "GECKO_RECORDER_CHUNK"};
    static const char *const values[] = {
        "12Q",          "-5",   "+5",       " 5", "0", "0M", "5 M", "64MB", "M", "0x100000", "99999999999999999999",
        "20000000000G", "64M ", "Unlimited"};
    for (size_t i = 0; i < COUNT_OF(names); i++)
        for (size_t j = 0; j < COUNT_OF(values); j++) {
            char variable[64], said[200];
            snprintf(variable, sizeof variable, "%s=%s", names[i], values[j]);
            snprintf(said, sizeof said, "gecko-recorder: %s is not %s: nothing is recorded\n", variable,
                     i == 0 ? wanted_limit : wanted_chunk);
            assert_refused(*state, RUN(*state, "plain", WITH("GECKO_RECORDER=1", variable)), said);
        }
    /* Sizes that are not valid for a recording. */
    static const char *const out_of_range[] = {"GECKO_RECORDER_LIMIT=1K",        "GECKO_RECORDER_LIMIT=65535",
                                               "GECKO_RECORDER_CHUNK=5000",      "GECKO_RECORDER_CHUNK=2048",
                                               "GECKO_RECORDER_CHUNK=2M",        "GECKO_RECORDER_CHUNK=unlimited",
                                               "GECKO_RECORDER_CHUNK=4294967296"};
    for (size_t i = 0; i < COUNT_OF(out_of_range); i++) {
        char said[160];
        snprintf(said, sizeof said, "gecko-recorder: %s is not %s: nothing is recorded\n", out_of_range[i],
                 i < 2 ? wanted_limit : wanted_chunk);
        assert_refused(*state, RUN(*state, "plain", WITH("GECKO_RECORDER=1", out_of_range[i])), said);
    }
    /* The limit is too low for this chunk size. */
    assert_refused(
        *state, RUN(*state, "plain", WITH("GECKO_RECORDER=1", "GECKO_RECORDER_LIMIT=8M", "GECKO_RECORDER_CHUNK=1M")),
        "gecko-recorder: GECKO_RECORDER_LIMIT=8M is not a size (64M, 1G) from 64K, and of 16 chunks or more: nothing "
        "is recorded\n");
}

TEST(test_storage, set_up_folder, tear_down_folder) {
    static const struct {
        const char *storage, *program;
        int status;
        bool is_left;
    } cases[] = {
        {"GECKO_RECORDER_STORAGE=memory", "look", 0, true},
        {"GECKO_RECORDER_STORAGE=file", "look", 1, true},
        {"GECKO_RECORDER_STORAGE=", "look", 1, true},
        /* The program calls _exit, so the recorder cannot save the recording in memory. */
        {"GECKO_RECORDER_STORAGE=memory", "exit", 0, false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct recorded *recorded;
        struct ended ended = RUN(*state, cases[i].program, "kept.trace",
                                 WITH("GECKO_RECORDER=1", "GECKO_RECORDER_OUTPUT=kept.trace", cases[i].storage));
        assert_int_equal(ended.status, cases[i].status);
        assert_string_equal(ended.said, "");
        free(ended.said);
        if (cases[i].is_left) {
            recorded = take(*state, "kept.trace");
            assert_marked(recorded, "in main", 1);
        }
        assert_int_equal(temp_folder_count(*state), 0);
    }
    assert_refused(*state, RUN(*state, "plain", WITH("GECKO_RECORDER=1", "GECKO_RECORDER_STORAGE=disk")),
                   "gecko-recorder: GECKO_RECORDER_STORAGE=disk is not file or memory: nothing is recorded\n");
    assert_refused(*state,
                   RUN(*state, "plain",
                       WITH("GECKO_RECORDER=1", "GECKO_RECORDER_STORAGE=memory", "GECKO_RECORDER_OUTPUT=nowhere/x")),
                   "gecko-recorder: nowhere/x cannot be written: No such file or directory\n");
}

TEST(test_threads, set_up_folder, tear_down_folder) {
    assert_quiet(RUN(*state, "threads",
                     WITH("GECKO_RECORDER=1", "GECKO_RECORDER_OUTPUT=t.trace", "GECKO_RECORDER_THREADS=WORKER,zz")));
    const struct recorded *recorded = take(*state, "t.trace");
    assert_marked(recorded, "in main", 0);
    assert_marked(recorded, "in a thread", 2);
    assert_non_null(find_thread(&recorded->profile, "Worker one"));
    assert_non_null(find_thread(&recorded->profile, "worker two"));
    assert_null(find_thread(&recorded->profile, "painter"));
}

TEST(test_clock, set_up_folder, tear_down_folder) {
    static const char *const settings[] = {"GECKO_RECORDER_CLOCK=monotonic", "GECKO_RECORDER_CLOCK="};
    for (size_t i = 0; i < COUNT_OF(settings); i++) {
        assert_quiet(RUN(*state, "plain", WITH("GECKO_RECORDER=1", "GECKO_RECORDER_OUTPUT=c.trace", settings[i])));
        const struct recorded *recorded = take(*state, "c.trace");
        assert_marked(recorded, "in main", 1);
        if (i == 0) assert_int_equal(recorded->header.clock, TRACE_CLOCK_MONOTONIC);
        if (i == 0) assert_int_equal(recorded->header.ticks_per_second, 1000000000);
        if (i == 0) assert_int_equal(recorded->header.start_ticks, recorded->header.start_monotonic_ns);
    }
    assert_refused(*state, RUN(*state, "plain", WITH("GECKO_RECORDER=1", "GECKO_RECORDER_CLOCK=else")),
                   "gecko-recorder: GECKO_RECORDER_CLOCK=else is not monotonic: nothing is recorded\n");
}

TEST(test_signal, set_up_folder, tear_down_folder) {
    static const char *const good[] = {"GECKO_RECORDER_SIGNAL=URG",   "GECKO_RECORDER_SIGNAL=SIGWINCH",
                                       "GECKO_RECORDER_SIGNAL=prof",  "GECKO_RECORDER_SIGNAL=RTMIN+2",
                                       "GECKO_RECORDER_SIGNAL=RTMAX", "GECKO_RECORDER_SIGNAL="};
    static const char *const bad[] = {"KILL", "SEGV", "7", "RTMAX+1", "RTMIN-1", "RTMINx", "RTMIN+9223372036854775807"};
    for (size_t i = 0; i < COUNT_OF(good); i++) {
        assert_quiet(RUN(*state, "plain", WITH("GECKO_RECORDER=1", "GECKO_RECORDER_OUTPUT=s.trace", good[i])));
        take(*state, "s.trace");
    }
    /* Without the sampler, nobody reads the name. */
    for (size_t i = 0; i < COUNT_OF(bad) && !HAS_THREAD_SANITIZER; i++) {
        char setting[64], said[256];
        snprintf(setting, sizeof setting, "GECKO_RECORDER_SIGNAL=%s", bad[i]);
        snprintf(said, sizeof said,
                 "gecko-recorder: %s is not one of URG, WINCH, IO, PROF, PWR, USR1, USR2, VTALRM, RTMIN+N, RTMAX-N: "
                 "nothing is recorded\n",
                 setting);
        assert_refused(*state, RUN(*state, "plain", WITH("GECKO_RECORDER=1", setting)), said);
    }
}

TEST(test_events, set_up_folder, tear_down_folder) {
    assert_quiet(
        RUN(*state, "plain", WITH("GECKO_RECORDER=1", "GECKO_RECORDER_OUTPUT=e.trace", "GECKO_RECORDER_EVENTS=0")));
    take(*state, "e.trace");
}

/* A switch that is neither on nor off would else do what its user does not expect. */
TEST(test_switches, set_up_folder, tear_down_folder) {
    assert_refused(*state, RUN(*state, "plain", WITH("GECKO_RECORDER=app.trace")),
                   "gecko-recorder: GECKO_RECORDER=app.trace is not 0 or 1: nothing is recorded\n");
    static const char *const names[] = {"ALL_THREADS", "CHILDREN", "ARGUMENTS", "EVENTS"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        char setting[64], said[128];
        snprintf(setting, sizeof setting, "GECKO_RECORDER_%s=no", names[i]);
        snprintf(said, sizeof said, "gecko-recorder: %s is not 0 or 1: nothing is recorded\n", setting);
        assert_refused(*state, RUN(*state, "plain", WITH("GECKO_RECORDER=1", setting)), said);
    }
}

/* A variable that does not exist is reported, and the program is recorded. */
TEST(test_unknown_variables, set_up_folder, tear_down_folder) {
    struct ended ended = RUN(*state, "plain",
                             WITH("GECKO_RECORDER=1", "GECKO_RECORDER_OUTPUT=u.trace", "GECKO_RECORDER_INTERVALL=5",
                                  "GECKO_RECORDERS=1", "GECKO_RECORDE=1"));
    assert_int_equal(ended.status, 0);
    assert_string_equal(
        ended.said,
        "gecko-recorder: GECKO_RECORDER_INTERVALL has no meaning: GECKO_RECORDER_HELP=1 lists the variables\n"
        "gecko-recorder: GECKO_RECORDERS has no meaning: GECKO_RECORDER_HELP=1 lists the variables\n");
    free(ended.said);
    const struct recorded *recorded = take(*state, "u.trace");
    assert_marked(recorded, "in main", 1);
}

TEST(test_help, set_up_folder, tear_down_folder) {
    static const char *const variables[] = {"GECKO_RECORDER=1", "_OUTPUT=PATH",  "_LIMIT=SIZE",  "_CHUNK=SIZE",
                                            "_DURATION=S",      "_STORAGE=KIND", "_INTERVAL=MS", "_ALL_THREADS=0",
                                            "_THREADS=WORDS",   "_CHILDREN=0",   "_ARGUMENTS=0", "_CLOCK=monotonic",
                                            "_SIGNAL=NAME",     "_EVENTS=0",     "_HELP=1",      "_JOIN=PLACE"};
    struct ended ended = RUN(*state, "whether", WITH("GECKO_RECORDER_HELP=1"));
    assert_int_equal(ended.status, 0);
    assert_int_equal(temp_folder_count(*state), 0);
    const char *line = ended.said;
    assert_true(
        text_starts_with(text_of(line), TEXT("gecko-recorder " GREC_VERSION ": variables of the environment\n")));
    for (size_t i = 0; i < COUNT_OF(variables); i++) {
        char start[64];
        snprintf(start, sizeof start, "%s%s", variables[i][0] == '_' ? "GECKO_RECORDER" : "", variables[i]);
        line = strchr(line, '\n') + 1;
        assert_true(text_starts_with(text_of(line), text_of(start)));
        assert_true(line[strlen(start)] == ' ');
    }
    assert_string_equal(strchr(line, '\n'), "\n");
    /* After printing the help the program continues, and records if GECKO_RECORDER is set. */
    struct ended again =
        RUN(*state, "plain", WITH("GECKO_RECORDER_HELP=1", "GECKO_RECORDER=1", "GECKO_RECORDER_OUTPUT=help.trace"));
    assert_string_equal(again.said, ended.said);
    const struct recorded *recorded = take(*state, "help.trace");
    assert_marked(recorded, "in main", 1);
    free(again.said);
    free(ended.said);
}

/* ---- Continuing under the program's own options. ---- */

TEST(test_hand_over, set_up_folder, tear_down_folder) {
    assert_quiet(RUN(*state, "start", "own.trace",
                     WITH("GECKO_RECORDER=1", "GECKO_RECORDER_OUTPUT=early.trace", "GECKO_RECORDER_LIMIT=32M",
                          "GECKO_RECORDER_CHUNK=8K")));
    const struct recorded *recorded = take(*state, "own.trace");
    assert_int_equal(temp_folder_count(*state), 0);
    assert_marked(recorded, "before", 1);
    assert_marked(recorded, "after", 1);
    assert_int_equal(recorded->header.limit_bytes, 32u << 20);
    assert_int_equal(recorded->header.chunk_bytes, 8192);
    assert_true(text_equal(recorded->profile.meta.product, TEXT("Named")));
    /* A recording in memory continues in a file. */
    assert_quiet(RUN(*state, "start", "own.trace",
                     WITH("GECKO_RECORDER=1", "GECKO_RECORDER_OUTPUT=early.trace", "GECKO_RECORDER_STORAGE=memory")));
    recorded = take(*state, "own.trace");
    assert_int_equal(temp_folder_count(*state), 0);
    assert_marked(recorded, "before", 1);
    assert_marked(recorded, "after", 1);
    static const char *const unchanged[] = {"start-nothing", "start-bad"};
    for (size_t i = 0; i < COUNT_OF(unchanged); i++) {
        assert_quiet(RUN(*state, unchanged[i], WITH("GECKO_RECORDER=1", "GECKO_RECORDER_OUTPUT=early.trace")));
        recorded = take(*state, "early.trace");
        assert_marked(recorded, "after", 1);
    }
}

/* ---- Children. ---- */

TEST(test_executed_child_joins, set_up_folder, tear_down_folder) {
    pid_t pid = assert_quiet(RUN(*state, "execute", "plain", WITH("GECKO_RECORDER=1")));
    const struct recorded *recorded = take_of_pid(*state, "app", pid);
    assert_int_equal(temp_folder_count(*state), 0);
    const struct profile *profile = &recorded->profile;
    assert_marked(recorded, "parent", 1);
    assert_marked(recorded, "parent again", 1);
    assert_marked(recorded, "in main", 1);
    assert_marked(recorded, "at exit", 1);
    const struct process *parent = process_of_marker(profile, "parent"), *child = process_of_marker(profile, "in main");
    assert_int_equal(parent->pid, pid);
    assert_true(child->pid != pid);
    assert_true(text_equal(parent->name, TEXT("app")) && text_equal(child->name, TEXT("child")));
    /* The markers must be in the order in which they were recorded. */
    int64_t first_ns = find_marker(profile, "parent", NULL)->start_ns;
    int64_t last_ns = find_marker(profile, "parent again", NULL)->start_ns;
    int64_t child_ns = find_marker(profile, "in main", NULL)->start_ns;
    assert_true(first_ns < child_ns && child_ns < child->end_ns && child->end_ns < last_ns);
}

static struct text arguments_of(const struct recorded *recorded, const char *marker) {
    const struct command_line *line = process_of_marker(&recorded->profile, marker)->command_line;
    return line ? line->arguments : (struct text){0};
}

/* An executed child tells its own command line. A forked one has its parent's. */
TEST(test_arguments, set_up_folder, tear_down_folder) {
    assert_quiet(RUN(*state, "execute", "plain", WITH("GECKO_RECORDER=1", "GECKO_RECORDER_OUTPUT=a.trace")));
    const struct recorded *recorded = take(*state, "a.trace");
    assert_true(text_equal(arguments_of(recorded, "parent"), TEXT("app\0execute\0plain\0")));
    assert_true(text_equal(arguments_of(recorded, "in main"), TEXT("child\0plain\0")));
    free(RUN(*state, "fork", WITH("GECKO_RECORDER=1", "GECKO_RECORDER_OUTPUT=a.trace")).said);
    recorded = take(*state, "a.trace");
    assert_true(text_equal(arguments_of(recorded, "parent"), TEXT("app\0fork\0")));
    assert_true(text_equal(arguments_of(recorded, "forked"), TEXT("app\0fork\0")));
    assert_quiet(RUN(*state, "execute", "plain",
                     WITH("GECKO_RECORDER=1", "GECKO_RECORDER_OUTPUT=a.trace", "GECKO_RECORDER_ARGUMENTS=0")));
    recorded = take(*state, "a.trace");
    assert_int_equal(arguments_of(recorded, "parent").bytes_count, 0);
    assert_int_equal(arguments_of(recorded, "in main").bytes_count, 0);
    assert_int_equal(recorded->profile.meta.arguments.bytes_count, 0);
}

/* A long command line is cut, and the trace says so. */
TEST(test_long_arguments, set_up_folder, tear_down_folder) {
    char argument[2000];
    memset(argument, 'x', sizeof argument - 1);
    argument[sizeof argument - 1] = '\0';
    assert_quiet(RUN(*state, "plain", argument, WITH("GECKO_RECORDER=1", "GECKO_RECORDER_OUTPUT=a.trace")));
    const struct recorded *recorded = take(*state, "a.trace");
    assert_int_equal(arguments_of(recorded, "in main").bytes_count, 1024);
    assert_true(text_starts_with(arguments_of(recorded, "in main"), TEXT("app\0plain\0xxx")));
    assert_int_equal(recorded->header.cut_text_count, 1);
}

TEST(test_grandchild_joins, set_up_folder, tear_down_folder) {
    assert_quiet(RUN(*state, "execute-twice", WITH("GECKO_RECORDER=1", "GECKO_RECORDER_OUTPUT=all.trace")));
    const struct recorded *recorded = take(*state, "all.trace");
    assert_int_equal(temp_folder_count(*state), 0);
    static const char *const markers[] = {"parent", "middle", "in main", "parent again"};
    for (size_t i = 0; i < COUNT_OF(markers); i++) assert_marked(recorded, markers[i], 1);
    assert_true(text_equal(process_of_marker(&recorded->profile, "middle")->name, TEXT("child")));
    assert_true(text_equal(process_of_marker(&recorded->profile, "in main")->name, TEXT("grandchild")));
}

/* A process executes another program. The trace must have two incarnations of one pid. */
TEST(test_process_becomes_another, set_up_folder, tear_down_folder) {
    pid_t pid = assert_quiet(RUN(*state, "become", WITH("GECKO_RECORDER=1", "GECKO_RECORDER_OUTPUT=two.trace")));
    struct recorded *recorded = take(*state, "two.trace");
    assert_int_equal(temp_folder_count(*state), 0);
    const struct process *first = process_of_marker(&recorded->profile, "before");
    const struct process *second = process_of_marker(&recorded->profile, "in main");
    assert_true(first != second);
    assert_int_equal(first->pid, pid);
    assert_int_equal(second->pid, pid);
    assert_int_equal(first->generation, 0);
    assert_int_equal(second->generation, 1);
    assert_true(text_equal(first->pid_text, profile_text_format(&recorded->profile, "%d.2", (int)pid)));
    assert_true(text_equal(second->pid_text, profile_text_format(&recorded->profile, "%d", (int)pid)));
    /* Only the start of the second program shows that the first one ended. */
    assert_int_equal(first->end_ns, second->start_ns);
    assert_int_equal(profile_thread_at(&recorded->profile, first->main_thread)->end_ns, second->start_ns);
    assert_true(second->start_ns > 0);
    assert_true(text_equal(first->name, TEXT("app")) && text_equal(second->name, TEXT("another")));
}

TEST(test_children_are_left_out, set_up_folder, tear_down_folder) {
    static const char *const programs_run[] = {"fork", "execute"};
    for (size_t i = 0; i < COUNT_OF(programs_run); i++) {
        /* The exit status of the child shows that it was not recorded. */
        assert_quiet(RUN(*state, programs_run[i], "whether",
                         WITH("GECKO_RECORDER=1", "GECKO_RECORDER_OUTPUT=%e.trace", "GECKO_RECORDER_CHILDREN=0")));
        const struct recorded *recorded = take(*state, "app.trace");
        assert_int_equal(temp_folder_count(*state), 0);
        assert_marked(recorded, "parent", 1);
        assert_marked(recorded, "forked", 0);
        assert_int_equal(recorded->profile.processes.count, 1);
    }
}

/* Children that are to be sampled are in the trace, or counted. On a busy machine, some have samples. */
TEST(test_brief_children, set_up_folder, tear_down_folder) {
    static const struct {
        const char *variable;
        size_t process_count;
    } cases[] = {{"GECKO_RECORDER_ALL_THREADS=1", HAS_THREAD_SANITIZER ? 1 : 1 + BRIEF_COUNT},
                 {WITHOUT_SAMPLER, 1},
                 {"GECKO_RECORDER_CHILDREN=0", 1}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct recorded *recorded = take_of_pid(
            *state, "app", assert_quiet(RUN(*state, "fork-brief", WITH("GECKO_RECORDER=1", cases[i].variable))));
        assert_int_equal(recorded->profile.processes.count + recorded->header.silent_process_count,
                         cases[i].process_count);
    }
}

TEST(test_forked_child, set_up_folder, tear_down_folder) {
    struct ended ended = RUN(*state, "fork", WITH("GECKO_RECORDER=1", "GECKO_RECORDER_OUTPUT=fork.trace"));
    assert_int_equal(ended.status, 1);
    assert_string_equal(ended.said, "");
    free(ended.said);
    const struct recorded *recorded = take(*state, "fork.trace");
    assert_marked(recorded, "forked", 1);
    assert_true(process_of_marker(&recorded->profile, "forked")->pid != ended.pid);
    assert_int_equal(process_of_marker(&recorded->profile, "parent")->pid, ended.pid);
}

TEST(test_child_without_environment, set_up_folder, tear_down_folder) {
    assert_quiet(RUN(*state, "execute-empty", WITH("GECKO_RECORDER=1", "GECKO_RECORDER_OUTPUT=one.trace")));
    take(*state, "one.trace");
    assert_int_equal(temp_folder_count(*state), 0);
}

/* The parent saves what the child has recorded. */
TEST(test_child_of_a_recording_in_memory, set_up_folder, tear_down_folder) {
    assert_quiet(RUN(*state, "execute", "plain",
                     WITH("GECKO_RECORDER=1", "GECKO_RECORDER_OUTPUT=%e.trace", "GECKO_RECORDER_STORAGE=memory")));
    const struct recorded *recorded = take(*state, "app.trace");
    assert_marked(recorded, "parent again", 1);
    assert_marked(recorded, "in main", 1);
    assert_marked(recorded, "at exit", 1);
    assert_int_equal(temp_folder_count(*state), 0);
}

TEST(test_forked_child_of_a_recording_in_memory, set_up_folder, tear_down_folder) {
    assert_quiet(RUN(*state, "fork-exit", "kept.trace",
                     WITH("GECKO_RECORDER=1", "GECKO_RECORDER_OUTPUT=kept.trace", "GECKO_RECORDER_STORAGE=memory")));
    const struct recorded *recorded = take(*state, "kept.trace");
    assert_marked(recorded, "forked", 1);
    assert_marked(recorded, "parent again", 1);
    assert_int_equal(recorded->profile.processes.count, 2);
    assert_int_equal(temp_folder_count(*state), 0);
}

/* A daemon's parent may save nothing when it ends. */
TEST(test_child_outlives_a_recording_in_memory, set_up_folder, tear_down_folder) {
    static const struct {
        const char *program;
        bool is_saved_before;
    } cases[] = {{"leave", true}, {"leave-unsaved", false}};
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        assert_quiet(RUN(*state, "outlast", cases[i].program,
                         WITH("GECKO_RECORDER_OUTPUT=kept.trace", "GECKO_RECORDER_STORAGE=memory")));
        const struct recorded *recorded = take(*state, "kept.trace");
        assert_marked(recorded, "parent", 1);
        assert_marked(recorded, "saved before", cases[i].is_saved_before);
        assert_marked(recorded, "outlived", 1);
        assert_int_equal(temp_folder_count(*state), 0);
    }
}

/* Checks that the child is not in its parent's trace but in a trace of its own. */
static void assert_child_apart(const struct temp_folder *folder, const struct recorded *parent) {
    assert_marked(parent, "in main", 0);
    assert_marked(take(folder, "child.trace"), "in main", 1);
    assert_int_equal(temp_folder_count(folder), 0);
}

/* The environment names the new file. */
TEST(test_child_of_a_recording_that_moved, set_up_folder, tear_down_folder) {
    assert_quiet(
        RUN(*state, "move-execute", "moved.trace", WITH("GECKO_RECORDER=1", "GECKO_RECORDER_OUTPUT=%e.trace")));
    const struct recorded *recorded = take(*state, "moved.trace");
    assert_marked(recorded, "before", 1);
    assert_marked(recorded, "after", 1);
    assert_marked(recorded, "in main", 1);
    assert_int_equal(temp_folder_count(*state), 0);
}

TEST(test_child_with_another_version, set_up_folder, tear_down_folder) {
    assert_quiet(RUN(*state, "age-execute", "app.trace", WITH("GECKO_RECORDER=1", "GECKO_RECORDER_OUTPUT=%e.trace")));
    const struct recorded *recorded = take(*state, "app.trace");
    assert_child_apart(*state, recorded);
}

/* The environment may name a recording that does not exist. */
TEST(test_nothing_to_join, set_up_folder, tear_down_folder) {
    static const char *const locations[] = {
        "GECKO_RECORDER_JOIN=",
        "GECKO_RECORDER_JOIN=0",
        "GECKO_RECORDER_JOIN=garbage",
        "GECKO_RECORDER_JOIN= ",
        "GECKO_RECORDER_JOIN=1 nowhere",
        "GECKO_RECORDER_JOIN=1 /proc/self/exe",
        "GECKO_RECORDER_JOIN=ffffffffffffffffffff /dev/null",
    };
    for (size_t i = 0; i < COUNT_OF(locations); i++) {
        assert_quiet(RUN(*state, "plain", WITH("GECKO_RECORDER=1", "GECKO_RECORDER_OUTPUT=own.trace", locations[i])));
        const struct recorded *recorded = take(*state, "own.trace");
        assert_marked(recorded, "in main", 1);
        assert_int_equal(recorded->profile.processes.count, 1);
    }
}

/* Checks that the parent's trace is complete, and that the child reported why it is not recorded. */
static void assert_parent_alone(void **state, struct ended *ended, const char *trace, const char *start,
                                const char *reason) {
    assert_int_equal(ended->status, 0);
    assert_non_null(strstr(ended->said, start));
    assert_non_null(strstr(ended->said, reason));
    free(ended->said);
    const struct recorded *recorded = take(*state, trace);
    assert_marked(recorded, "parent", 1);
    assert_marked(recorded, "in main", 0);
}

TEST(test_child_of_an_ended_recording, set_up_folder, tear_down_folder) {
    struct ended ended =
        RUN(*state, "stop-and-execute", "plain", WITH("GECKO_RECORDER=1", "GECKO_RECORDER_OUTPUT=ended.trace"));
    assert_parent_alone(state, &ended, "ended.trace", "gecko-recorder: nothing is recorded: the recording in ",
                        "/ended.trace has ended, or another version of this library writes it\n");
    assert_int_equal(temp_folder_count(*state), 0);
}

/* The child may not write its parent's trace, as after a change of user. */
TEST(test_child_that_may_not_write, set_up_folder, tear_down_folder) {
    struct ended ended =
        RUN(*state, "lock-execute", "locked.trace", WITH("GECKO_RECORDER=1", "GECKO_RECORDER_OUTPUT=locked.trace"));
    assert_parent_alone(state, &ended, "locked.trace", "gecko-recorder: nothing is recorded: ",
                        "/locked.trace cannot be written: Permission denied\n");
}

/* This test records into the file that the executed program is told to use. */
TEST(test_busy, set_up_folder, tear_down_folder) {
    start_recording(*state, "busy.trace", (struct grec_options){0});
    GREC_INSTANT("the first", NULL);
    struct ended ended = RUN(*state, "plain", WITH("GECKO_RECORDER=1", "GECKO_RECORDER_OUTPUT=busy.trace"));
    assert_int_equal(ended.status, 0);
    assert_string_equal(ended.said,
                        "gecko-recorder: nothing is recorded: another process still has busy.trace open: put %p into "
                        "GECKO_RECORDER_OUTPUT\n");
    free(ended.said);
    const struct recorded *recorded = stop_and_read_whole(*state, "busy.trace");
    assert_marked(recorded, "the first", 1);
    assert_marked(recorded, "in main", 0);
}

int main(int argument_count, char **arguments) {
    if (argument_count > 1) {
        for (size_t i = 0; i < COUNT_OF(programs); i++)
            if (!strcmp(programs[i].name, arguments[1])) return programs[i].run(arguments[2]);
        return 125;
    }
    return unit_tests_run(NULL, NULL);
}
