/* Kills the process by SIGKILL at random instants. Every event whose recording call had returned must be in the
 * trace. CRASH_SEED repeats the random choices of a run, but not the scheduling. CRASH_RUNS makes the test longer. */
#include <pthread.h>
#include <sched.h>
#include <spawn.h>
#include <sys/prctl.h>

#include "tests/support/crash_events.h"
#include "tests/support/random_numbers.h"
#include "tests/support/temp_folder.h"
#include "tests/support/unit_test.h"

enum {
    RUN_COUNT = 300,
    SANITIZED_RUN_COUNT = CRASH_IS_TSAN ? 20 : 40, /* each accident twice, or more */
    THREAD_COUNT = 8,
    LIFE_US_MAX = 6000,
    EARLY_LIFE_US_MAX = 1500,
    SMALL_CHUNK_BYTES = 4096,
    FAULT_BYTES = 256,
    /* Mean number of events that a thread records between two yields. There are more threads than processors, and
     * threads live shorter than a time slice. */
    TURN_PERIOD = 256
};

/* What else happens while the process records and until it is killed. */
enum accident {
    PLAIN,
    WITHIN_A_LIMIT,
    RECYCLED,
    LARGE_CHUNKS,
    SHORT_THREADS,
    CHILDREN,
    STARTS_AND_STOPS,
    MOVES,
    PROGRAMS,
    PAUSES,
    ACCIDENT_COUNT
};

static const char *const accident_names[] = {"plain",         "within a limit", "recycled",         "large chunks",
                                             "short threads", "children",       "starts and stops", "moves",
                                             "programs",      "pauses"};

/* A run, and the instructions for its process. */
struct run {
    struct crash_log *log;
    struct temp_folder folder;
    enum accident accident;
    uint64_t seed;
    int alive; /* the write end of a pipe, which all processes of the run keep open until they end */
};

struct worker {
    struct run *run;
    unsigned slot;
    uint32_t count; /* number of events */
    uint64_t seed;
};

static void spin(uint32_t count) {
    for (volatile uint32_t i = 0; i < count; i++) {
    }
}

static void *record_all(void *context) {
    struct worker *worker = context;
    struct random_numbers numbers = {worker->seed};
    uint32_t pace = 1u << random_below(&numbers, 9);
    for (uint32_t i = 0; i < worker->count && crash_record(worker->run->log, worker->slot); i++)
        if (random_below(&numbers, TURN_PERIOD))
            spin(random_below(&numbers, pace));
        else
            sched_yield();
    return NULL;
}

static void *record_in_short_threads(void *context) {
    struct worker *worker = context;
    struct random_numbers numbers = {worker->seed};
    for (;;) {
        struct worker piece = {worker->run, worker->slot, 1 + random_below(&numbers, 200), random_next(&numbers)};
        pthread_t thread;
        if (pthread_create(&thread, NULL, record_all, &piece) != 0) continue;
        pthread_join(thread, NULL);
        if (worker->run->log->slots[worker->slot].begun_count >= CRASH_EVENT_COUNT_MAX) return NULL;
    }
}

static struct grec_options options_of(const struct run *run, char path[PATH_MAX], unsigned trace) {
    struct grec_options options = {.path = path, .limit_bytes = GREC_UNLIMITED, .chunk_bytes = SMALL_CHUNK_BYTES};
    snprintf(path, PATH_MAX, "%s/%u.trace", run->folder.path, trace);
    if (run->accident == WITHIN_A_LIMIT) options.limit_bytes = (uint64_t)64 << 20;
    if (run->accident == RECYCLED) options.limit_bytes = 64 * SMALL_CHUNK_BYTES;
    if (run->accident == LARGE_CHUNKS) options.chunk_bytes = 65536;
    if (run->accident == PLAIN || run->accident == RECYCLED || run->accident == MOVES) options.flags = GREC_HELPER;
    return options;
}

/* ---- What happens while the process records. ---- */

static void record_in_child(struct run *run, unsigned slot) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    run->log->slots[slot].pid = (int32_t)getpid();
    struct worker worker = {run, slot, CRASH_EVENT_COUNT_MAX, slot};
    record_all(&worker);
    if (slot % 2) grec_stop();
    _exit(0);
}

static void fork_children(struct run *run) {
    for (unsigned slot = THREAD_COUNT; slot < CRASH_SLOT_COUNT; slot++) {
        if (fork() == 0) record_in_child(run, slot);
        crash_sleep_us(1000);
    }
    for (;;) pause();
}

static void start_and_stop(struct run *run) {
    char path[PATH_MAX];
    for (uint8_t trace = 1;; trace++) {
        struct grec_options options = options_of(run, path, trace);
        if (trace > 1) CRASH_CHECK(grec_start(&options) == GREC_OK);
        crash_log_open(run->log, trace);
        crash_sleep_us(1000);
        crash_log_close(run->log);
        grec_stop();
    }
}

static void move(struct run *run, struct random_numbers *numbers) {
    char path[PATH_MAX];
    crash_log_open(run->log, 1);
    for (;;) {
        crash_sleep_us(random_below(numbers, 2000));
        struct grec_options options = options_of(run, path, 1 + random_below(numbers, 2));
        options.limit_bytes = random_below(numbers, 2) ? GREC_UNLIMITED : (uint64_t)64 << 20;
        crash_log_close(run->log);
        CRASH_CHECK(grec_start(&options) == GREC_OK);
        crash_log_open(run->log, 1);
    }
}

static void execute(void) {
    char *arguments[] = {"true", NULL};
    char *environment[] = {NULL};
    for (;;) {
        pid_t pid;
        if (posix_spawnp(&pid, "true", NULL, NULL, arguments, environment) == 0) waitpid(pid, NULL, 0);
        pid = fork();
        if (pid == 0) {
            execve("/bin/true", arguments, environment);
            _exit(0);
        }
        waitpid(pid, NULL, 0);
    }
}

static void pause_and_resume(struct run *run) {
    for (;;) {
        crash_log_open(run->log, 1);
        crash_sleep_us(300);
        crash_log_close(run->log);
        grec_pause();
        grec_resume();
    }
}

static void go_on(struct run *run, struct random_numbers *numbers) {
    switch (run->accident) {
        case CHILDREN: fork_children(run); break;
        case STARTS_AND_STOPS: start_and_stop(run); break;
        case MOVES: move(run, numbers); break;
        case PROGRAMS: execute(); break;
        case PAUSES: pause_and_resume(run); break;
        default:
            for (;;) pause();
    }
}

/* Starts a kernel timer that kills the process after `us` microseconds, whichever thread runs then. */
static void kill_in(uint32_t us) {
    struct sigevent event = {.sigev_notify = SIGEV_SIGNAL, .sigev_signo = SIGKILL};
    struct itimerspec time = {.it_value.tv_nsec = (long)us * 1000 + 1};
    timer_t timer;
    CRASH_CHECK(timer_create(CLOCK_MONOTONIC, &event, &timer) == 0);
    CRASH_CHECK(timer_settime(timer, 0, &time, NULL) == 0);
}

static void run_until_killed(void *context) {
    struct run *run = context;
    struct random_numbers numbers = {run->seed};
    struct worker workers[THREAD_COUNT];
    char path[PATH_MAX];
    struct grec_options options = options_of(run, path, 1);
    bool is_early = random_below(&numbers, 8) == 0;
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (is_early) kill_in(random_below(&numbers, EARLY_LIFE_US_MAX));
    CRASH_CHECK(grec_start(&options) == GREC_OK);
    crash_log_open(run->log, 1);
    for (unsigned i = 0; i < THREAD_COUNT; i++) {
        pthread_t thread;
        run->log->slots[i].pid = (int32_t)getpid();
        workers[i] = (struct worker){run, i, CRASH_EVENT_COUNT_MAX, random_next(&numbers)};
        CRASH_CHECK(pthread_create(&thread, NULL, run->accident == SHORT_THREADS ? record_in_short_threads : record_all,
                                   &workers[i]) == 0);
    }
    if (!is_early) kill_in(random_below(&numbers, LIFE_US_MAX));
    go_on(run, &numbers);
}

/* ---- Checks after the kill. ---- */

/* Checks the trace of a recording that was moved to another file. Depending on the instant of the kill, the events
 * are in the old or in the new file. Both files may exist. */
static bool check_moved(const struct run *run, char fault[FAULT_BYTES]) {
    char path[PATH_MAX], other_fault[FAULT_BYTES];
    options_of(run, path, 1);
    bool is_there = crash_check_file(path, run->log, 1, false, fault, FAULT_BYTES);
    if (is_there && !*fault) return true;
    options_of(run, path, 2);
    bool is_other_there = crash_check_file(path, run->log, 1, false, other_fault, sizeof other_fault);
    if (is_other_there) memcpy(fault, other_fault, sizeof other_fault);
    return is_there || is_other_there;
}

static bool check_all(const struct run *run, char fault[FAULT_BYTES]) {
    if (run->accident == MOVES) return check_moved(run, fault);
    return crash_check_folder(run->folder.path, run->log, run->accident == RECYCLED, fault, FAULT_BYTES) > 0;
}

static uint32_t begun_count(const struct run *run) {
    uint32_t count = 0;
    for (unsigned i = 0; i < CRASH_SLOT_COUNT; i++) count += run->log->slots[i].begun_count;
    return count;
}

static void await_end_of_all(int file) {
    char byte;
    while (read(file, &byte, 1) < 0 && errno == EINTR) {
    }
}

/* Returns how many threads were killed inside a recording call: their last event was begun and did not return.
 * Returns 0 for scenarios that change the trace, because then other events have the value 0 in `returned` too. */
static uint32_t within_call_count(const struct run *run) {
    bool is_changing = run->accident == STARTS_AND_STOPS || run->accident == MOVES || run->accident == PAUSES;
    uint32_t count = 0;
    for (unsigned i = 0; i < CRASH_SLOT_COUNT && !is_changing; i++) {
        const struct crash_slot *slot = &run->log->slots[i];
        count += slot->begun_count && !slot->returned[slot->begun_count - 1];
    }
    return count;
}

struct kills {
    uint64_t event_count, within_call_count;
};

/* Runs a process and kills it after a random time, counted from the start of the process or of its threads. */
static void kill_once(struct kills *kills, enum accident accident, uint64_t seed) {
    struct random_numbers numbers = {seed};
    int ends[2];
    char fault[FAULT_BYTES];
    struct run run = {.log = crash_share(sizeof *run.log), .accident = accident, .seed = random_next(&numbers)};
    assert_true(temp_folder_init(&run.folder));
    assert_int_equal(pipe(ends), 0);
    pid_t pid = crash_fork(run_until_killed, &run);
    close(ends[1]);
    int status = crash_wait(pid);
    await_end_of_all(ends[0]);
    close(ends[0]);
    bool is_there = check_all(&run, fault);
    uint32_t count = begun_count(&run);
    if (status != -SIGKILL || (!is_there && count) || (is_there && *fault)) {
        fail_msg("%s, seed %llu, %s: status %d, %s", accident_names[accident], (unsigned long long)seed,
                 run.folder.path, status, is_there ? fault : "no trace");
    }
    temp_folder_fini(&run.folder);
    kills->event_count += count;
    kills->within_call_count += within_call_count(&run);
    munmap(run.log, sizeof *run.log);
}

TEST(test_kills) {
    uint64_t seed = crash_setting("CRASH_SEED", 1);
    uint64_t run_count = crash_setting("CRASH_RUNS", CRASH_IS_SANITIZED ? SANITIZED_RUN_COUNT : RUN_COUNT);
    uint64_t only = crash_setting("CRASH_ACCIDENT", ACCIDENT_COUNT);
    struct kills kills = {0};
    struct random_numbers numbers = {seed};
    print_message("CRASH_SEED=%llu CRASH_RUNS=%llu\n", (unsigned long long)seed, (unsigned long long)run_count);
    for (uint64_t i = 0; i < run_count; i++) {
        enum accident accident = (enum accident)(only < ACCIDENT_COUNT ? only : i % ACCIDENT_COUNT);
        kill_once(&kills, accident, random_next(&numbers));
    }
    print_message("%llu events; %llu threads killed within a call\n", (unsigned long long)kills.event_count,
                  (unsigned long long)kills.within_call_count);
    if (only >= ACCIDENT_COUNT && run_count >= SANITIZED_RUN_COUNT) assert_int_not_equal(kills.within_call_count, 0);
}

int main(void) {
    crash_events_init();
    return unit_tests_run(NULL, NULL);
}
