/* Compares the times of events with CLOCK_MONOTONIC. The recorder takes times from the processor's counter or from
 * CLOCK_MONOTONIC; to test the second one, this program executes itself again. */
#include <stdio.h>
#include <stdlib.h>

#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <time.h>

#include "recorder/state/recording_state.h"
#include "tests/support/recorder_trace.h"
#include "tests/support/recorder_workers.h"
#include "tests/support/sanitizers.h"
#include "tests/support/unit_test.h"

static struct grec_options no_options;

enum {
    ATTEMPT_COUNT = 5,
    /* The tolerance of most comparisons. Reading the counter and then the clock takes about 50 ns unless something
     * interrupts. */
    USUAL_ERROR_NS = 1000,
    /* The tolerance of every comparison. A busy machine may interrupt between the two reads, but the recorder does
     * not use a calibration point with a larger error. */
    LARGEST_ERROR_NS = 200000,
};

static int64_t now_ns(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static bool is_clock_forced(void) {
    const char *asked = getenv("GECKO_RECORDER_CLOCK");
    return asked && !strcmp(asked, "monotonic");
}

/* The readings of CLOCK_MONOTONIC before and after an event. */
struct bracket {
    int64_t before_ns, after_ns;
};

/* Returns how far a time lies outside of the bracket, in nanoseconds; 0 if inside. */
static int64_t error_of(const struct bracket *bracket, int64_t ns) {
    if (ns < bracket->before_ns) return bracket->before_ns - ns;
    return ns > bracket->after_ns ? ns - bracket->after_ns : 0;
}

static int64_t on_clock(const struct profile *profile, int64_t ns) { return ns + profile->origin_ns; }

/* Returns whether nine of ten errors are as small as usual. The test fails if any error is too large. */
static bool are_near(const struct recorded *recorded, const int64_t *errors, size_t count) {
    size_t near_count = 0;
    /* Times from CLOCK_MONOTONIC need no conversion, so they are exact. */
    bool is_exact = recorded->header.clock == TRACE_CLOCK_MONOTONIC;
    for (size_t i = 0; i < count; i++) {
        near_count += errors[i] <= (is_exact ? 0 : USUAL_ERROR_NS);
        if (errors[i] > (is_exact ? 0 : LARGEST_ERROR_NS)) fail_msg("%zu is off by %" PRId64 " ns", i, errors[i]);
    }
    return near_count >= count - count / 10;
}

/* ---- The first recording, which chooses the clock. ---- */

struct first_time {
    grec_time start;
    struct bracket bracket;
};

/* Nothing but the recorder's own word tells this thread that recording has started. */
static void *take_first_time(void *argument) {
    struct first_time *first = argument;
    while (!grec_is_recording()) sched_yield();
    first->bracket.before_ns = now_ns(CLOCK_MONOTONIC);
    first->start = grec_now();
    first->bracket.after_ns = now_ns(CLOCK_MONOTONIC);
    grec_event_loop_busy();
    grec_memory_allocated(argument, 1);
    return NULL;
}

/* This test comes first, because later recordings keep the clock. */
TEST(test_a_thread_that_sees_the_first_start, set_up_folder, tear_down_folder) {
    static struct grec_marker taken = GREC_MARKER("taken", NULL, NULL);
    struct first_time first;
    pthread_t thread;
    assert_int_equal(grec_now(), 0);
    assert_int_equal(pthread_create(&thread, NULL, take_first_time, &first), 0);
    start_recording(*state, "first.trace", no_options);
    pthread_join(thread, NULL);
    grec_interval(&taken, first.start, NULL, 0);
    const struct recorded *recorded = stop_and_read(*state, "first.trace");
    const struct marker *marker = next_marker(&recorded->profile, "taken", NULL, NULL);
    assert_non_null(marker);
    int64_t error_ns = error_of(&first.bracket, on_clock(&recorded->profile, marker->start_ns));
    are_near(recorded, &error_ns, 1);
}

/* ---- Events. ---- */

enum { EVENT_COUNT = 400 };

static bool try_events(struct temp_folder *folder, unsigned nap_us, uint32_t chunk_bytes) {
    static struct bracket brackets[EVENT_COUNT];
    static int64_t errors[EVENT_COUNT];
    start_recording(folder, "events.trace", (struct grec_options){.chunk_bytes = chunk_bytes});
    for (uint64_t i = 0; i < EVENT_COUNT; i++) {
        brackets[i].before_ns = now_ns(CLOCK_MONOTONIC);
        record_number(i);
        brackets[i].after_ns = now_ns(CLOCK_MONOTONIC);
        if (nap_us && i % 4 == 0) usleep(nap_us);
    }
    const struct recorded *recorded = stop_and_read_whole(folder, "events.trace");
    assert_true(recorded->profile.meta.is_clock_monotonic);
    if (is_clock_forced()) assert_int_equal(recorded->header.clock, TRACE_CLOCK_MONOTONIC);
    const struct marker *marker = NULL;
    for (size_t i = 0; i < EVENT_COUNT; i++) {
        marker = next_marker(&recorded->profile, "number", marker, NULL);
        assert_non_null(marker);
        assert_int_equal(value_of(&recorded->profile, marker, 0).number.mantissa, i);
        errors[i] = error_of(&brackets[i], on_clock(&recorded->profile, marker->start_ns));
    }
    bool is_near = are_near(recorded, errors, EVENT_COUNT);
    return is_near;
}

/* Records events at once, over a tenth of a second in many chunks, and for longer than the second between
 * calibrations. */
TEST(test_events, set_up_folder, tear_down_folder) {
    static const struct {
        unsigned nap_us;
        uint32_t chunk_bytes;
    } cases[] = {{0, 65536}, {1000, 4096}, {12000, 65536}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        int attempt = 0;
        while (!try_events(*state, cases[i].nap_us, cases[i].chunk_bytes))
            if (++attempt == ATTEMPT_COUNT) fail_msg("case %zu: most times are off", i);
    }
}

/* ---- Intervals, pauses, the start. ---- */

TEST(test_lengths, set_up_folder, tear_down_folder) {
    enum { NAP_US = 20000 };
    struct bracket start, end, pause, in_pause, resume, real;
    real.before_ns = now_ns(CLOCK_REALTIME);
    start_recording(*state, "lengths.trace", no_options);
    real.after_ns = now_ns(CLOCK_REALTIME);
    GREC_INTERVAL("from the start", NULL, 0);
    start.before_ns = now_ns(CLOCK_MONOTONIC);
    grec_time from = grec_now();
    start.after_ns = now_ns(CLOCK_MONOTONIC);
    usleep(NAP_US);
    end.before_ns = now_ns(CLOCK_MONOTONIC);
    GREC_INTERVAL("nap", NULL, from);
    end.after_ns = now_ns(CLOCK_MONOTONIC);
    pause.before_ns = now_ns(CLOCK_MONOTONIC);
    grec_pause();
    pause.after_ns = now_ns(CLOCK_MONOTONIC);
    usleep(NAP_US);
    in_pause.before_ns = now_ns(CLOCK_MONOTONIC);
    from = grec_now();
    in_pause.after_ns = now_ns(CLOCK_MONOTONIC);
    usleep(NAP_US);
    resume.before_ns = now_ns(CLOCK_MONOTONIC);
    grec_resume();
    resume.after_ns = now_ns(CLOCK_MONOTONIC);
    GREC_INTERVAL("begun in the pause", NULL, from);
    const struct recorded *recorded = stop_and_read_whole(*state, "lengths.trace");
    const struct profile *profile = &recorded->profile;
    int64_t tolerance_ns = recorded->header.clock == TRACE_CLOCK_MONOTONIC ? 0 : LARGEST_ERROR_NS;
    const struct marker *nap = find_marker(profile, "nap", NULL);
    assert_true(error_of(&start, on_clock(profile, nap->start_ns)) <= tolerance_ns);
    assert_true(error_of(&end, on_clock(profile, nap->end_ns)) <= tolerance_ns);
    assert_true(nap->end_ns - nap->start_ns >= NAP_US * 1000 - tolerance_ns);
    assert_int_equal(profile->paused_ranges.count, 1);
    const struct paused_range *range = column_at(&profile->paused_ranges, 0);
    assert_true(error_of(&pause, on_clock(profile, range->start_ns)) <= tolerance_ns);
    assert_true(error_of(&resume, on_clock(profile, range->end_ns)) <= tolerance_ns);
    const struct marker *begun = find_marker(profile, "begun in the pause", NULL);
    assert_true(error_of(&in_pause, on_clock(profile, begun->start_ns)) <= tolerance_ns);
    /* The profile's range begins with the recording, and the profile has its date. */
    assert_int_equal(find_marker(profile, "from the start", NULL)->start_ns, profile->start_ns);
    assert_in_range(profile->meta.start_time_ms + profile->start_ns / 1000000, real.before_ns / 1000000 - 2,
                    real.after_ns / 1000000 + 1);
}

/* ---- grec_time_from_clock_ns. ---- */

enum { INSTANT_COUNT = 200 };

static bool try_instants(struct temp_folder *folder, bool is_converted_late) {
    static struct {
        grec_time before, after, converted;
        int64_t ns;
    } instants[INSTANT_COUNT];
    static int64_t errors[2 * INSTANT_COUNT];
    start_recording(folder, "instants.trace", no_options);
    for (int i = 0; i < INSTANT_COUNT; i++) {
        instants[i].before = grec_now();
        instants[i].ns = now_ns(CLOCK_MONOTONIC);
        instants[i].after = grec_now();
        if (!is_converted_late) instants[i].converted = grec_time_from_clock_ns((uint64_t)instants[i].ns);
        usleep(300);
    }
    for (int i = 0; i < INSTANT_COUNT; i++) {
        if (is_converted_late) instants[i].converted = grec_time_from_clock_ns((uint64_t)instants[i].ns);
        struct grec_marker_options options = {.start = instants[i].converted};
        grec_add_named_marker("converted", NULL, NULL, &options, NULL, 0);
    }
    const struct recorded *recorded = stop_and_read_whole(folder, "instants.trace");
    double ns_per_tick = 1e9 / (double)recorded->header.ticks_per_second;
    const struct marker *marker = NULL;
    for (int i = 0; i < INSTANT_COUNT; i++) {
        const struct bracket ticks = {(int64_t)instants[i].before, (int64_t)instants[i].after};
        const struct bracket exact = {instants[i].ns, instants[i].ns};
        errors[i] = (int64_t)((double)error_of(&ticks, (int64_t)instants[i].converted) * ns_per_tick);
        marker = next_marker(&recorded->profile, "converted", marker, NULL);
        assert_non_null(marker);
        errors[INSTANT_COUNT + i] = error_of(&exact, on_clock(&recorded->profile, marker->start_ns));
    }
    bool is_near = are_near(recorded, errors, 2 * INSTANT_COUNT);
    return is_near;
}

TEST(test_times_of_the_clock, set_up_folder, tear_down_folder) {
    assert_int_equal(grec_time_from_clock_ns((uint64_t)now_ns(CLOCK_MONOTONIC)), 0);
    assert_int_equal(grec_now(), 0);
    for (int is_late = 0; is_late < 2; is_late++) {
        int attempt = 0;
        while (!try_instants(*state, is_late))
            if (++attempt == ATTEMPT_COUNT) fail_msg("most instants are off");
    }
    assert_int_equal(grec_time_from_clock_ns((uint64_t)now_ns(CLOCK_MONOTONIC)), 0);
}

/* Converts times in the future. */
TEST(test_times_to_come, set_up_folder, tear_down_folder) {
    enum { AHEAD_NS = 50000000 };
    start_recording(*state, "ahead.trace", no_options);
    int64_t ns = now_ns(CLOCK_MONOTONIC) + AHEAD_NS;
    grec_time time = grec_time_from_clock_ns((uint64_t)ns);
    assert_true(time > grec_now());
    grec_add_named_marker("to come", NULL, NULL, &(struct grec_marker_options){.start = time}, NULL, 0);
    const struct recorded *recorded = stop_and_read_whole(*state, "ahead.trace");
    int64_t got_ns = on_clock(&recorded->profile, find_marker(&recorded->profile, "to come", NULL)->start_ns);
    /* A future time is converted with the rate measured shortly after the start. */
    int64_t tolerance_ns = recorded->header.clock == TRACE_CLOCK_MONOTONIC ? 0 : LARGEST_ERROR_NS;
    const struct bracket exact = {ns, ns};
    assert_true(error_of(&exact, got_ns) <= tolerance_ns);
}

/* ---- Threads. ---- */

enum { PLAYER_COUNT = 3, TURN_COUNT = 3000 };

struct game {
    atomic_uint_fast64_t turn;
};

struct player {
    pthread_t thread;
    struct game *game;
    uint64_t number;
};

static void *play(void *argument) {
    struct player *player = argument;
    for (uint64_t turn = player->number; turn < TURN_COUNT; turn += PLAYER_COUNT) {
        while (atomic_load(&player->game->turn) != turn) sched_yield();
        record_number(turn);
        atomic_store(&player->game->turn, turn + 1);
    }
    return NULL;
}

/* If one thread records after another one, its event must not be earlier in the profile. */
TEST(test_order_of_threads, set_up_folder, tear_down_folder) {
    static int64_t times_ns[TURN_COUNT];
    struct game game = {0};
    struct player players[PLAYER_COUNT];
    start_recording(*state, "order.trace", (struct grec_options){.chunk_bytes = 4096, .limit_bytes = 1 << 20});
    for (uint64_t i = 0; i < PLAYER_COUNT; i++) {
        players[i] = (struct player){.game = &game, .number = i};
        assert_int_equal(pthread_create(&players[i].thread, NULL, play, &players[i]), 0);
    }
    for (int i = 0; i < PLAYER_COUNT; i++) pthread_join(players[i].thread, NULL);
    const struct recorded *recorded = stop_and_read_whole(*state, "order.trace");
    const struct profile *profile = &recorded->profile;
    assert_int_equal(count_markers(profile, "number"), TURN_COUNT);
    for (size_t i = 0; i < profile->threads.count; i++) {
        const struct thread *thread = column_at(&profile->threads, i);
        for (size_t j = 0; j < thread->markers.count; j++) {
            const struct marker *marker = column_at(&thread->markers, j);
            times_ns[value_of(profile, marker, 0).number.mantissa] = marker->start_ns;
        }
    }
    for (int i = 1; i < TURN_COUNT; i++)
        if (times_ns[i] < times_ns[i - 1])
            fail_msg("%d is %" PRId64 " ns before the one before", i, times_ns[i - 1] - times_ns[i]);
}

/* ---- A counter that must not be read. ---- */

enum { FORBIDDEN_COUNT = 100 };

struct forbidden {
    struct bracket brackets[2 * FORBIDDEN_COUNT];
    uint64_t count;
};

/* Reads the clock by a system call, because the C library's clock reads the counter too. */
static int64_t system_now_ns(void) {
    struct timespec now;
    syscall(SYS_clock_gettime, CLOCK_MONOTONIC, &now);
    return (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
}

static void record_forbidden(struct forbidden *forbidden) {
    for (int i = 0; i < FORBIDDEN_COUNT; i++) {
        struct bracket *bracket = &forbidden->brackets[forbidden->count];
        bracket->before_ns = system_now_ns();
        record_number(forbidden->count++);
        bracket->after_ns = system_now_ns();
    }
}

/* Records before and after a thread forbids itself to read the counter, up to the end of the recording. */
static void forbid_and_record(const struct temp_folder *folder, struct forbidden *forbidden) {
    start_recording(folder, "forbidden.trace", no_options);
    record_forbidden(forbidden);
    recording_forbid_counter();
    if (prctl(PR_SET_TSC, PR_TSC_SIGSEGV, 0, 0, 0) != 0) _exit(77);
    record_forbidden(forbidden);
    grec_thread_register("forbidden");
    grec_stop();
    _exit(0);
}

TEST(test_forbidden_counter, set_up_folder, tear_down_folder) {
    static int64_t errors[2 * FORBIDDEN_COUNT];
    int status = -1;
    struct forbidden *forbidden =
        mmap(NULL, sizeof *forbidden, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    /* The sanitizers' runtimes read the counter. */
    if (IS_SANITIZED) skip();
    pid_t pid = fork();
    if (!pid) forbid_and_record(*state, forbidden);
    assert_int_equal(waitpid(pid, &status, 0), pid);
    if (WIFEXITED(status) && WEXITSTATUS(status) == 77) skip();
    assert_int_equal(status, 0);
    const struct recorded *recorded = recorded_read(temp_folder_file(*state, "forbidden.trace"));
    assert_nothing_lost(recorded);
    const struct profile *profile = &recorded->profile;
    assert_int_equal(count_markers(profile, "number"), 2 * FORBIDDEN_COUNT);
    const struct marker *marker = NULL;
    for (size_t i = 0; (marker = next_marker(profile, "number", marker, NULL)); i++) {
        uint64_t number = (uint64_t)value_of(profile, marker, 0).number.mantissa;
        errors[number] = error_of(&forbidden->brackets[number], on_clock(profile, marker->start_ns));
    }
    are_near(recorded, errors, 2 * FORBIDDEN_COUNT);
    munmap(forbidden, sizeof *forbidden);
}

/* ---- CLOCK_MONOTONIC instead of the counter. ---- */

TEST(test_with_the_other_clock, set_up_folder, tear_down_folder) {
    char said_path[PATH_MAX];
    snprintf(said_path, sizeof said_path, "%s/said", ((struct temp_folder *)*state)->path);
    fflush(NULL);
    pid_t pid = fork();
    assert_true(pid >= 0);
    if (!pid) {
        int file = open(said_path, O_RDWR | O_CREAT | O_TRUNC, 0600);
        if (file < 0 || dup2(file, STDOUT_FILENO) < 0 || dup2(file, STDERR_FILENO) < 0) _exit(126);
        setenv("GECKO_RECORDER_CLOCK", "monotonic", 1);
        execl("/proc/self/exe", "test_recorder_clock", (char *)NULL);
        _exit(127);
    }
    int status = -1;
    assert_int_equal(waitpid(pid, &status, 0), pid);
    char *said = file_read(said_path, NULL);
    if (status != 0) fail_msg("status %d\n%s", status, said ? said : "");
    free(said);
}

int main(void) {
    if (is_clock_forced()) unit_test_count--; /* the last test executes this program again */
    return unit_tests_run(NULL, NULL);
}
