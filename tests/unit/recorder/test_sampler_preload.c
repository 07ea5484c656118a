/* Preloads the libraries into programs that do not use the recorder. The programs must do the same as without it,
 * and must be recorded. Builds with sanitizers skip these tests, because such programs do not have the sanitizers'
 * runtime. */
#include <stdio.h>
#include <stdlib.h>

#include <fcntl.h>
#include <inttypes.h>

#include "tests/support/sampler_check.h"
#include "tests/support/unit_test.h"
#include "tests/support/wait_for_child.h"

/* Returns the path of a built file, relative to the folder of this test program. */
static const char *built_file(const char *name) {
    static char path[PATH_MAX];
    ssize_t count = readlink("/proc/self/exe", path, sizeof path - 100);
    assert_true(count > 0);
    path[count] = '\0';
    strcpy(strrchr(path, '/') + 1, name);
    if (access(path, F_OK) != 0) fail_msg("%s is missing", path);
    return path;
}

struct ended {
    int status;
    char *output; /* the caller frees it */
    size_t output_bytes;
};

static void be_program(const struct temp_folder *folder, const char *library, char *const arguments[]) {
    int output = open("output", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    int errors = open("errors", O_WRONLY | O_CREAT | O_TRUNC, 0600);
    if (output < 0 || dup2(output, STDOUT_FILENO) < 0 || errors < 0 || dup2(errors, STDERR_FILENO) < 0) _exit(126);
    if (library) {
        setenv("LD_PRELOAD", library, 1);
        setenv("GECKO_RECORDER", "1", 1);
        setenv("GECKO_RECORDER_OUTPUT", temp_folder_file(folder, "preloaded.trace"), 1);
        setenv("GECKO_RECORDER_LIMIT", "unlimited", 1);
    }
    alarm(HANG_SECONDS);
    execvp(arguments[0], arguments);
    _exit(127);
}

/* Runs the program in the folder, with the library preloaded unless `library` is NULL. */
static struct ended run(const struct temp_folder *folder, const char *library, char *const arguments[]) {
    struct ended ended = {0};
    pid_t pid = fork();
    if (!pid) {
        if (chdir(folder->path) != 0) _exit(125);
        be_program(folder, library, arguments);
    }
    ended.status = wait_for_child(pid);
    ended.output = file_read(temp_folder_file(folder, "output"), &ended.output_bytes);
    assert_non_null(ended.output);
    return ended;
}

/* Runs a program without and with the recorder, checks that both runs end the same way, and reads the trace. */
static const struct recorded *run_both(const struct temp_folder *folder, char *const arguments[]) {
    struct ended plain = run(folder, NULL, arguments);
    struct ended preloaded = run(folder, built_file("../libgecko_preload.so"), arguments);
    assert_int_equal(preloaded.status, plain.status);
    assert_int_equal(preloaded.output_bytes, plain.output_bytes);
    assert_memory_equal(preloaded.output, plain.output, plain.output_bytes);
    free(plain.output);
    free(preloaded.output);
    const struct recorded *recorded = recorded_read(temp_folder_file(folder, "preloaded.trace"));
    assert_nothing_lost(recorded);
    return recorded;
}

/* Runs a program again until the trace has what the test needs. The machine's load decides when the program and the
 * sampler get processors, so a single run may be too short. */
static const struct recorded *run_until(bool (*has_seen)(const struct profile *profile),
                                        const struct temp_folder *folder, char *const arguments[]) {
    enum { RUN_COUNT_MAX = 100 };
    for (int i = 0; i < RUN_COUNT_MAX; i++) {
        const struct recorded *recorded = run_both(folder, arguments);
        if (has_seen(&recorded->profile)) return recorded;
    }
    fail_msg("%d runs, and never what the sampler has to see", RUN_COUNT_MAX);
    return NULL;
}

struct stacks {
    size_t count;
    uint64_t frame_count;
};

/* Counts samples with native stacks in all threads. */
static struct stacks count_stacks(const struct profile *profile) {
    struct stacks stacks = {0};
    for (size_t i = 0; i < profile->threads.count; i++) {
        const struct thread *thread = column_at(&profile->threads, i);
        for (size_t row = 0; row < samples_count(&thread->samples); row++) {
            stack_id stack = samples_at(&thread->samples, row)->stack;
            uint32_t depth = stack_depth(profile, stack);
            if (depth < 2) continue;
            stacks.count++;
            stacks.frame_count += depth;
        }
    }
    return stacks;
}

static bool has_stacks(const struct profile *profile) { return count_stacks(profile).count >= 30; }

static bool has_some_stacks(const struct profile *profile) { return count_stacks(profile).count > 5; }

static void assert_deep(const struct profile *profile) {
    struct stacks stacks = count_stacks(profile);
    if (stacks.frame_count < 5 * stacks.count)
        fail_msg("%zu samples with %" PRIu64 " frames", stacks.count, stacks.frame_count);
}

static const struct recorded *run_python(bool (*has_seen)(const struct profile *profile),
                                         const struct temp_folder *folder, char *script) {
    static char own[] = "/usr/bin/python3", any[] = "python3", option[] = "-c";
    char *const arguments[] = {access(own, X_OK) == 0 ? own : any, option, script, NULL};
    return run_until(has_seen, folder, arguments);
}

TEST(test_python, set_up_folder, tear_down_folder) {
    static char script[] =
        "import json, sys\n"
        "def work(n): return sum(i * i for i in range(n))\n"
        "print(work(2000000), len(json.dumps(list(range(100000)))))\n"
        "sys.exit(3)\n";
    const struct recorded *recorded = run_python(has_stacks, *state, script);
    assert_deep(&recorded->profile);
}

static size_t count_sampled_threads(const struct profile *profile) {
    size_t count = 0;
    for (size_t i = 0; i < profile->threads.count; i++)
        count += samples_count(&((const struct thread *)column_at(&profile->threads, i))->samples) > 0;
    return count;
}

static bool has_three_threads(const struct profile *profile) { return count_sampled_threads(profile) >= 3; }

/* A program that handles the sampler's signal itself. Its threads must still have tracks. */
TEST(test_own_handler, set_up_folder, tear_down_folder) {
    static char script[] =
        "import signal, threading\n"
        "signal.signal(signal.SIGURG, lambda number, frame: None)\n"
        "def work(): sum(i * i for i in range(2000000))\n"
        "threads = [threading.Thread(target=work) for i in range(2)]\n"
        "for thread in threads: thread.start()\n"
        "for thread in threads: thread.join()\n"
        "print('done')\n";
    const struct recorded *recorded = run_python(has_three_threads, *state, script);
    assert_int_equal(count_sampled_threads(&recorded->profile), 3);
}

static void write_lines(const struct temp_folder *folder) {
    enum { LINE_COUNT = 300000 };
    FILE *file = fopen(temp_folder_file(folder, "lines"), "w");
    assert_non_null(file);
    uint64_t number = 1;
    for (int i = 0; i < LINE_COUNT; i++) {
        number = number * 6364136223846793005u + 1442695040888963407u;
        fprintf(file, "%" PRIu64 " line\n", number >> 33);
    }
    assert_int_equal(fclose(file), 0);
}

/* sort starts threads of its own if the machine has several processors. */
TEST(test_sort, set_up_folder, tear_down_folder) {
    static char program[] = "sort", order[] = "-n", threads[] = "--parallel=2", input[] = "lines";
    char *const arguments[] = {program, order, threads, input, NULL};
    write_lines(*state);
    const struct recorded *recorded = run_until(has_stacks, *state, arguments);
    assert_deep(&recorded->profile);
}

static bool has_process(const struct profile *profile, const char *name) {
    for (size_t i = 0; i < profile->processes.count; i++)
        if (text_equal(profile_process_at(profile, (process_id){(uint32_t)i})->name, text_of(name))) return true;
    return false;
}

static bool has_sort(const struct profile *profile) { return has_process(profile, "sort"); }

/* Launchers execute the program in their place, or start it. The profile is named after that program, or after the
 * script of a shell. */
TEST(test_launchers, set_up_folder, tear_down_folder) {
    static char nice_program[] = "nice", env[] = "env", variable[] = "A=1", sh[] = "sh", option[] = "-c",
                script[] = "exec sort -n lines", timeout[] = "timeout", limit[] = "1000", sort[] = "sort",
                order[] = "-n", input[] = "lines";
    char *const replaced[] = {nice_program, env, variable, sh, option, script, NULL};
    char *const started[] = {timeout, limit, sort, order, input, NULL};
    static char file[] = "sort.sh";
    char *const scripted[] = {sh, file, NULL};
    write_lines(*state);
    const struct recorded *recorded = run_until(has_sort, *state, replaced);
    assert_true(text_equal(recorded->profile.meta.product, TEXT("sort")));
    recorded = run_until(has_sort, *state, started);
    assert_true(text_equal(recorded->profile.meta.product, TEXT("sort")));
    FILE *written = fopen(temp_folder_file(*state, file), "w");
    assert_non_null(written);
    fprintf(written, "sort -n lines\n:\n");
    assert_int_equal(fclose(written), 0);
    recorded = run_until(has_sort, *state, scripted);
    assert_true(text_equal(recorded->profile.meta.product, TEXT("sort.sh")));
}

/* Writes a source file that takes the compiler longer than a child must live to be sampled. */
static void write_source(const struct temp_folder *folder) {
    enum { FUNCTION_COUNT = 60 };
    FILE *file = fopen(temp_folder_file(folder, "input.c"), "w");
    assert_non_null(file);
    for (int i = 0; i < FUNCTION_COUNT; i++)
        fprintf(
            file,
            "int f%d(int n, int *p) { int s = %d; for (int i = 0; i < n; i++) { if (p[i] %% %d) s += p[i] * i; else "
            "s ^= p[n - i]; } return s; }\n",
            i, i, i + 2);
    assert_int_equal(fclose(file), 0);
}

/* gcc executes other programs. All of them must be in the trace. */
TEST(test_gcc, set_up_folder, tear_down_folder) {
    static char program[] = "gcc", optimised[] = "-O2", option[] = "-c", input[] = "input.c", to[] = "-o",
                output[] = "/dev/stdout";
    char *const arguments[] = {program, optimised, option, input, to, output, NULL};
    write_source(*state);
    const struct recorded *recorded = run_until(has_some_stacks, *state, arguments);
    assert_true(recorded->profile.processes.count >= 3);
}

/* ---- Children. ---- */

enum { CHILD_COUNT = 20 };

static size_t count_samplers(const struct profile *profile) {
    size_t count = 0;
    for (size_t i = 0; i < profile->profiling_log.count; i++) {
        const struct log_line *line = column_at(&profile->profiling_log, i);
        count += line->text.bytes && text_starts_with(line->text, TEXT("sampler: "));
    }
    return count;
}

/* Returns whether few processes had a sampler. One is the parent. A child that waits long for a processor may have
 * one too. */
static bool has_few_samplers(const struct profile *profile) { return count_samplers(profile) <= 1 + CHILD_COUNT / 2; }

/* Short-lived children must be in the trace. Most of them must not have had a sampler. */
TEST(test_short_children, set_up_folder, tear_down_folder) {
    static char program[] = "sh", option[] = "-c",
                script[] = "n=0; while [ $n -lt 20 ]; do n=$((n + 1)); /bin/true; done; echo $n";
    char *const arguments[] = {program, option, script, NULL};
    const struct recorded *recorded = run_until(has_few_samplers, *state, arguments);
    assert_true(recorded->profile.processes.count > CHILD_COUNT);
}

static bool has_two_threads_with_stacks(const struct profile *profile) {
    return count_sampled_threads(profile) >= 2 && has_stacks(profile);
}

/* A child that works must have samples with stacks. */
TEST(test_working_child, set_up_folder, tear_down_folder) {
    static char script[] =
        "import os\n"
        "child = os.fork()\n"
        "if not child:\n"
        "    print(sum(i * i for i in range(3000000)), flush=True)\n"
        "    os._exit(0)\n"
        "os.waitpid(child, 0)\n";
    const struct recorded *recorded = run_python(has_two_threads_with_stacks, *state, script);
    assert_int_equal(count_sampled_threads(&recorded->profile), 2);
    assert_deep(&recorded->profile);
}

enum { BRIEF_COUNT = 20 };

static int brief_ms; /* what each child uses */

/* The first thread of the profile is that of the parent. */
static int64_t sum_children_cpu_ns(const struct profile *profile) {
    const struct thread *parent = column_at(&profile->threads, 0);
    int64_t sum_ns = 0;
    for (size_t i = 1; i < profile->threads.count; i++) {
        const struct thread *thread = column_at(&profile->threads, i);
        if (thread->process.index != parent->process.index) sum_ns += sum_cpu_ns(thread);
    }
    return sum_ns;
}

static bool has_time_of_children(const struct profile *profile) {
    return sum_children_cpu_ns(profile) >= (int64_t)BRIEF_COUNT * brief_ms * 1000000;
}

#define IN_CHILD(ms, end) IN_CHILD_OF("os.fork()", ms, end)
#define IN_CHILD_OF(fork, ms, end)             \
    "    if not " fork                         \
    ":\n"                                      \
    "        while time.process_time() < " #ms \
    " / 1000: pass\n"                          \
    "        " end                             \
    "\n"                                       \
    "    os.wait()\n"
#define CLONE "libc.syscall(56 if os.uname().machine == 'x86_64' else 220, 17, 0, 0, 0, 0)"
#define AT_START                                                                                       \
    "    os.posix_spawn('/bin/sh', ['sh', '-c', 'i=0; while [ $i -lt 15000 ]; do i=$((i + 1)); done; " \
    "LD_PRELOAD=' + library + ' exec true'], rest); os.wait()\n"

/* The processor time of children that end before their samplers begin must be in the trace: also what was used before
 * they executed a program, if they end by _exit, and if they have no sampler because they were made by clone. After
 * 5 ms a sampler begins, but not at once. Children that share their parent's memory record from the program on that
 * they execute, which takes long to start: here it begins without the recorder. */
TEST(test_time_of_brief_children, set_up_folder, tear_down_folder) {
    static const struct {
        int ms;
        const char *child;
    } rows[] = {{3, IN_CHILD(3, "os.execv('/bin/true', ['true'])")},
                {3, IN_CHILD(3, "os._exit(0)")},
                {3, IN_CHILD(3, "libc.quick_exit(0)")},
                {7, IN_CHILD(7, "os.execv('/bin/true', ['true'])")},
                {7, IN_CHILD_OF(CLONE, 7, "os._exit(0)")},
                {5, AT_START}};
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char script[512];
        brief_ms = rows[i].ms;
        snprintf(script, sizeof script,
                 "import ctypes, os, time\n"
                 "libc = ctypes.CDLL(None)\n"
                 "rest = dict(os.environ)\n"
                 "library = rest.pop('LD_PRELOAD', '')\n"
                 "for _ in range(%d):\n"
                 "%s",
                 BRIEF_COUNT, rows[i].child);
        run_python(has_time_of_children, *state, script);
    }
}

/* Returns the number that the program has printed to standard error. */
static int64_t told_ns(const struct temp_folder *folder) {
    char *errors = file_read(temp_folder_file(folder, "errors"), NULL);
    int64_t ns = strtoll(errors, NULL, 10);
    free(errors);
    return ns;
}

/* The end of a script that is executed again, with other words. */
#define EXECUTE(words) "os.execv(sys.executable, [sys.executable, '-S', '-c', os.environ['SCRIPT'], " words "])\n"

static int64_t sum_all_cpu_ns(const struct profile *profile) {
    int64_t sum_ns = 0;
    for (size_t i = 0; i < profile->threads.count; i++) sum_ns += sum_cpu_ns(column_at(&profile->threads, i));
    return sum_ns;
}

/* Runs the script, which may EXECUTE itself, and returns the processor time of all threads in its trace. */
static int64_t run_script_for_cpu_ns(void **state, char *script) {
    setenv("SCRIPT", script, 1);
    const struct recorded *recorded = run_python(has_some_stacks, *state, script);
    unsetenv("SCRIPT");
    return sum_all_cpu_ns(&recorded->profile);
}

/* The processor time of a process that executes one program after the other must be in the trace once: also what each
 * has used since the sampler's last round, and what loading the next one takes. */
TEST(test_time_of_executed_programs, set_up_folder, tear_down_folder) {
    static char script[] =
        "import os, sys, time\n"
        "turn = int(sys.argv[1]) + 1 if len(sys.argv) > 1 else 1\n"
        "while time.process_time() < turn * 0.03: pass\n"
        "if turn < 20: " EXECUTE("str(turn)") "print(time.thread_time_ns(), file=sys.stderr)\n";
    static const int64_t LITTLE_NS = 30000000;
    int64_t sum_ns = run_script_for_cpu_ns(state, script), true_ns = told_ns(*state);
    if (llabs(sum_ns - true_ns) > LITTLE_NS)
        fail_msg("%" PRId64 " of %" PRId64 " ns are in the trace", sum_ns, true_ns);
}

/* What a process uses in a program that is not recorded must not be that of the program that it executes next. */
TEST(test_time_of_a_program_that_is_not_recorded, set_up_folder, tear_down_folder) {
    static char script[] =
        "import os, sys, time\n"
        "def work(ms):\n"
        "    end = time.thread_time_ns() + ms * 1000000\n"
        "    while time.thread_time_ns() < end: pass\n"
        "turn, others_ns = int(sys.argv[1]) if len(sys.argv) > 1 else 0, sys.argv[2:]\n"
        "work((40, 400, 40)[turn])\n"
        "if turn == 2:\n"
        "    print(time.thread_time_ns() - int(others_ns[1]) + int(others_ns[0]), file=sys.stderr)\n"
        "    os._exit(0)\n"
        "names = 'LD_PRELOAD', 'KEPT'\n"
        "os.environ[names[not turn]] = os.environ.pop(names[turn], '')\n" EXECUTE(
            "str(turn + 1), *others_ns, str(time.thread_time_ns())");
    static const int64_t LITTLE_NS = 100000000;
    int64_t sum_ns = run_script_for_cpu_ns(state, script), true_ns = told_ns(*state);
    if (sum_ns > true_ns + LITTLE_NS) fail_msg("%" PRId64 " ns are in the trace of %" PRId64, sum_ns, true_ns);
}

static bool has_anything(const struct profile *profile) { return profile->threads.count > 0; }

/* The processor time of threads and children that use less than half an interval each must be in the trace, but for the
 * last interval of it. */
TEST(test_time_of_little_work_at_a_long_interval, set_up_folder, tear_down_folder) {
    static char children[] =
        "import os, sys, time\n"
        "for _ in range(20):\n"
        "    if not os.fork():\n"
        "        while time.process_time() < 0.015: pass\n"
        "        os._exit(0)\n"
        "    os.wait()\n"
        "print(int(sum(os.times()[:4]) * 1e9), file=sys.stderr)\n";
    static char threads[] =
        "import os, sys, threading, time\n"
        "done = threading.Barrier(31)\n"
        "def work():\n"
        "    while time.thread_time() < 0.01: pass\n"
        "    done.wait()\n"
        "    time.sleep(9)\n"
        "for _ in range(30): threading.Thread(target=work, daemon=True).start()\n"
        "done.wait()\n"
        "print(time.process_time_ns(), file=sys.stderr, flush=True)\n"
        "os._exit(0)\n";
    static const int64_t LITTLE_NS = 80000000;
    char *const scripts[] = {children, threads};
    setenv("GECKO_RECORDER_INTERVAL", "50", 1);
    for (size_t i = 0; i < sizeof scripts / sizeof *scripts; i++) {
        const struct recorded *recorded = run_python(has_anything, *state, scripts[i]);
        int64_t sum_ns = sum_all_cpu_ns(&recorded->profile), true_ns = told_ns(*state);
        if (llabs(sum_ns - true_ns) > LITTLE_NS)
            fail_msg("%" PRId64 " of %" PRId64 " ns are in the trace", sum_ns, true_ns);
    }
    unsetenv("GECKO_RECORDER_INTERVAL");
}

static bool has_children(const struct profile *profile) { return profile->processes.count > 2; }

/* A process may join in a pause, and execute another program after it. What the process has used in the pause does not
 * count, nor does what it has used up to the other program count twice. The end of the pause may be noticed late. */
TEST(test_time_after_a_pause, set_up_folder, tear_down_folder) {
    static char script[] =
        "import ctypes, os, sys, time\n"
        "def work(ms):\n"
        "    while time.process_time() * 1000 < ms: pass\n"
        "def control(name): getattr(ctypes.CDLL(None), name, lambda: None)()\n"
        "words = sys.argv[1:]\n"
        "if len(words) == 1:\n"
        "    work(85)\n"
        "    print(time.thread_time_ns() - int(words[0]), file=sys.stderr)\n"
        "    os._exit(0)\n"
        "if words:\n"
        "    work(40)\n"
        "    paused_ns = time.thread_time_ns()\n"
        "    os.write(int(words[0]), b'x')\n"
        "    os.read(int(words[1]), 1)\n"
        "    work(60)\n"
        "    " EXECUTE("str(paused_ns)")
        "from_child, to_parent = os.pipe()\n"
        "from_parent, to_child = os.pipe()\n"
        "for file in to_parent, from_parent: os.set_inheritable(file, True)\n"
        "control('grec_pause')\n"
        "child = os.fork()\n"
        "if not child: " EXECUTE("str(to_parent), str(from_parent)")
        "os.read(from_child, 1)\n"
        "control('grec_resume')\n"
        "os.write(to_child, b'x')\n"
        "os.waitpid(child, 0)\n";
    static const int64_t LITTLE_NS = 10000000;
    setenv("SCRIPT", script, 1);
    const struct recorded *recorded = run_python(has_children, *state, script);
    unsetenv("SCRIPT");
    if (sum_children_cpu_ns(&recorded->profile) > told_ns(*state) + LITTLE_NS)
        fail_msg("%" PRId64 " ns, and %" PRId64 " are true", sum_children_cpu_ns(&recorded->profile), told_ns(*state));
}

/* A program with one thread must appear single-threaded in system calls that report the number of threads or require
 * a single thread. */
TEST(test_alone, set_up_folder, tear_down_folder) {
    char program[PATH_MAX];
    snprintf(program, sizeof program, "%s", built_file("alone"));
    char *const arguments[] = {program, NULL};
    run_until(has_some_stacks, *state, arguments);
}

/* ---- Ends. ---- */

static size_t count_samples(const struct profile *profile) {
    size_t count = 0;
    for (size_t i = 0; i < profile->threads.count; i++)
        count += samples_count(&((const struct thread *)column_at(&profile->threads, i))->samples);
    return count;
}

/* A short program ends before the sampler has taken a stack, or while it takes the first one. The stacks in the
 * trace must be whole. */
TEST(test_short, set_up_folder, tear_down_folder) {
    enum { RUN_COUNT = 20 };
    static char program[] = "true";
    char *const arguments[] = {program, NULL};
    for (int i = 0; i < RUN_COUNT; i++) {
        const struct recorded *recorded = run_both(*state, arguments);
        assert_int_equal(count_markers(&recorded->profile, "Process without samples"),
                         count_samples(&recorded->profile) == 0);
        assert_int_equal(count_of_cause(&recorded->profile.ledger, LEDGER_NOTED, "sample whose outermost frames"), 0);
    }
}

/* A forked child that executes the program may have been sampled before: both have one pid. */
static size_t count_pids(const struct profile *profile) {
    size_t count = 0;
    for (size_t i = 0; i < profile->processes.count; i++) {
        size_t same = 0;
        int64_t pid = profile_process_at(profile, (process_id){(uint32_t)i})->pid;
        while (same < i && profile_process_at(profile, (process_id){(uint32_t)same})->pid != pid) same++;
        count += same == i;
    }
    return count;
}

/* Children may end before anything of them is recorded: their number is told. On a busy machine, some have samples. */
TEST(test_brief_children, set_up_folder, tear_down_folder) {
    static char filter[] = "filter", *const ways[] = {NULL, filter};
    char program[PATH_MAX];
    snprintf(program, sizeof program, "%s", built_file("brief"));
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        char *const arguments[] = {program, ways[i], NULL};
        const struct recorded *recorded = run_both(*state, arguments);
        char *output = file_read(temp_folder_file(*state, "output"), NULL);
        uint64_t silent_count = count_of_cause(&recorded->profile.ledger, LEDGER_NOTED, "process of which nothing");
        assert_int_equal(silent_count + count_pids(&recorded->profile), strtol(output, NULL, 10));
        free(output);
    }
}

/* The recorder's threads must not keep the process alive, and the program's exit handlers must run only once. */
TEST(test_ends, set_up_folder, tear_down_folder) {
    static char ways[][20] = {"exit", "exit with worker", "raw", "raw with worker"};
    static const char *const intervals[] = {"1", "0", "100000"};
    char program[PATH_MAX];
    snprintf(program, sizeof program, "%s", built_file("ending"));
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++)
        for (size_t j = 0; j < sizeof intervals / sizeof *intervals; j++) {
            char *const arguments[] = {program, ways[i], NULL};
            setenv("GECKO_RECORDER_INTERVAL", intervals[j], 1);
            const struct recorded *recorded = run_both(*state, arguments);
            assert_int_equal(count_of_cause(&recorded->profile.ledger, LEDGER_KEPT, "end of a process"),
                             ways[i][0] == 'e');
        }
    unsetenv("GECKO_RECORDER_INTERVAL");
}

/* ---- Memory. ---- */

/* Finds the counter's values while the program did not allocate: before its work and after it. */
static void find_plateaus(const struct counter *counter, int64_t *first, int64_t *last) {
    enum { SAMPLE_COUNT_MIN = 15 };
    int64_t value = 0;
    size_t same_count = 0;
    bool is_first = true;
    for (size_t i = 0; i < counter->samples.count; i++) {
        int64_t change = ((const struct counter_sample *)column_at(&counter->samples, i))->change;
        same_count = change ? 0 : same_count + 1;
        value += change;
        if (same_count < SAMPLE_COUNT_MIN) continue;
        if (is_first) *first = value;
        is_first = false;
        *last = value;
    }
    if (is_first) fail_msg("the counter never rests");
}

static int64_t sum_allocations(const struct profile *profile, size_t *count) {
    int64_t sum = 0;
    *count = 0;
    for (size_t i = 0; i < profile->threads.count; i++) {
        const struct column *rows = &((const struct thread *)column_at(&profile->threads, i))->allocations;
        for (size_t row = 0; row < rows->count; row++) {
            const struct allocation *allocation = column_at(rows, row);
            if (allocation->bytes <= 0) continue;
            sum += allocation->bytes;
            *count += 1;
            assert_true(stack_depth(profile, allocation->stack) > 2);
        }
    }
    return sum;
}

/* Counts frees of sampled memory. Each must give back as many bytes as were allocated at that address. */
static size_t match_frees(const struct column *rows) {
    size_t count = 0;
    for (size_t row = 0; row < rows->count; row++) {
        const struct allocation *freed = column_at(rows, row);
        if (freed->bytes >= 0) continue;
        const struct allocation *taken = NULL;
        for (size_t i = row; i > 0 && !taken; i--) {
            const struct allocation *candidate = column_at(rows, i - 1);
            if (candidate->address == freed->address) taken = candidate;
        }
        assert_non_null(taken);
        assert_int_equal(taken->bytes, -freed->bytes);
        count++;
    }
    return count;
}

TEST(test_memory, set_up_folder, tear_down_folder) {
    char program[PATH_MAX];
    snprintf(program, sizeof program, "%s", built_file("allocating"));
    char *const arguments[] = {program, NULL};
    int64_t kept_bytes, allocated_bytes, first = 0, last = 0;
    struct ended ended = run(*state, built_file("../libgecko_recorder_memory.so"), arguments);
    assert_int_equal(ended.status, 0);
    assert_int_equal(sscanf(ended.output, "kept %" SCNd64 ", allocated %" SCNd64, &kept_bytes, &allocated_bytes), 2);
    free(ended.output);
    const struct recorded *recorded = recorded_read(temp_folder_file(*state, "preloaded.trace"));
    assert_nothing_lost(recorded);
    const struct profile *profile = &recorded->profile;
    const struct counter *counter = find_counter(profile, "malloc");
    assert_non_null(counter);
    find_plateaus(counter, &first, &last);
    assert_int_equal(last - first, kept_bytes);
    /* With some thousand sampled allocations, the random error of the sum is about 3 percent. */
    size_t taken_count, freed_count = 0;
    int64_t sampled_bytes = sum_allocations(profile, &taken_count);
    if (sampled_bytes < allocated_bytes / 10 * 8 || sampled_bytes > allocated_bytes / 10 * 12)
        fail_msg("%" PRId64 " of %" PRId64 " bytes", sampled_bytes, allocated_bytes);
    for (size_t i = 0; i < profile->threads.count; i++)
        freed_count += match_frees(&((const struct thread *)column_at(&profile->threads, i))->allocations);
    if (freed_count * 10 < taken_count * 8) fail_msg("%zu of %zu freed", freed_count, taken_count);
}

/* An allocator that comes before the library gets back what it has given. */
TEST(test_own_allocator, set_up_folder, tear_down_folder) {
    char program[PATH_MAX];
    snprintf(program, sizeof program, "%s", built_file("own_allocator"));
    char *const arguments[] = {program, NULL};
    struct ended ended = run(*state, built_file("../libgecko_recorder_memory.so"), arguments);
    assert_int_equal(ended.status, 0);
    free(ended.output);
}

/* The library that programs link with cannot be preloaded into others: it says what to preload. */
TEST(test_wrong_library, set_up_folder, tear_down_folder) {
    char *const arguments[] = {"echo", "text", NULL};
    size_t bytes_count;
    struct ended ended = run(*state, built_file("../libgecko_recorder.so"), arguments);
    assert_int_equal(ended.status, 0);
    assert_string_equal(ended.output, "text\n");
    char *said = file_read(temp_folder_file(*state, "errors"), &bytes_count);
    assert_string_equal(said,
                        "gecko-recorder: nothing is recorded: preload libgecko_preload.so.0 in place of "
                        "libgecko_recorder.so\n");
    assert_int_equal(access(temp_folder_file(*state, "preloaded.trace"), F_OK), -1);
    free(said);
    free(ended.output);
}

/* All processor time of short threads is in the profile. way: NULL, or the program's argument. */
static void record_relay(void **state, char *way) {
    char program[PATH_MAX];
    snprintf(program, sizeof program, "%s", built_file("relay"));
    char *const arguments[] = {program, way, NULL};
    int64_t worked_ns, sum_ns = 0;
    struct ended ended = run(*state, built_file("../libgecko_preload.so"), arguments);
    assert_int_equal(ended.status, 0);
    assert_int_equal(sscanf(ended.output, "%" SCNd64, &worked_ns), 1);
    free(ended.output);
    const struct recorded *recorded = recorded_read(temp_folder_file(*state, "preloaded.trace"));
    for (size_t i = 0; i < recorded->profile.threads.count; i++) {
        const struct thread *thread = column_at(&recorded->profile.threads, i);
        if (!thread->is_main) sum_ns += sum_cpu_ns(thread);
    }
    if (sum_ns < worked_ns) fail_msg("%" PRId64 " of %" PRId64 " ns", sum_ns, worked_ns);
    assert_nothing_lost(recorded);
}

TEST(test_threads_in_relay, set_up_folder, tear_down_folder) { record_relay(state, NULL); }

TEST(test_threads_under_filter, set_up_folder, tear_down_folder) {
    char way[] = "under-filter";
    record_relay(state, way);
}

int main(void) { return unit_tests_run(NULL, NULL); }
