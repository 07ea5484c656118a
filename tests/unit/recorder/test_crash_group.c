/* Kills the processes of a group by SIGKILL, one after the other, at random instants, the one that has started the
 * recording too. The others must go on, and every event whose recording call had returned must be in the trace.
 * CRASH_SEED repeats the random choices of a run, but not the scheduling. */
#include <stdio.h>
#include <stdlib.h>

#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>

#include "tests/support/random_numbers.h"
#include "tests/support/recorder_trace.h"
#include "tests/support/recorder_workers.h"
#include "tests/support/sanitizers.h"
#include "tests/support/unit_test.h"
#include "tests/support/wait_for_child.h"

enum {
    RUN_COUNT = 75,
    SANITIZED_RUN_COUNT = 10,
    MEMBER_COUNT = 5, /* all but one are killed */
    EVENT_COUNT_MAX = 60000,
    PROGRESS_COUNT = 20, /* events that each survivor must record after each kill */
    DELAY_US_MAX = 2000,
};

/* Shared by all processes. */
struct log {
    atomic_bool is_started;
    atomic_bool is_ended;
    atomic_uint_fast64_t returned_counts[MEMBER_COUNT];
};

struct run {
    struct log *log;
    const char *path;
    uint32_t flags;
    pid_t pids[MEMBER_COUNT];
};

static void nap(long us) { nanosleep(&(struct timespec){us / 1000000, us % 1000000 * 1000}, NULL); }

/* The first member starts the recording, and the others join it. */
static void take_part(const struct run *run, int number) {
    struct grec_options options = {
        .path = run->path, .chunk_bytes = 4096, .limit_bytes = GREC_UNLIMITED, .flags = run->flags};
    if (number == 0 && grec_start(&options) != GREC_OK) _exit(1);
    if (number == 0) atomic_store(&run->log->is_started, true);
    while (!atomic_load(&run->log->is_started)) nap(100);
    if (number > 0 && grec_join(run->path) != GREC_OK) _exit(2);
}

static void record_until_told(const struct run *run, int number) {
    char name[16];
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    take_part(run, number);
    snprintf(name, sizeof name, "member %d", number);
    grec_thread_register(name);
    for (uint64_t i = 0; !atomic_load(&run->log->is_ended); i++) {
        if (i < EVENT_COUNT_MAX) record_number(i);
        if (i < EVENT_COUNT_MAX) atomic_store(&run->log->returned_counts[number], i + 1);
        if (i % 64 == 0 || i >= EVENT_COUNT_MAX) nap(50);
    }
    exit(0);
}

static void fork_members(struct run *run) {
    for (int i = 0; i < MEMBER_COUNT; i++) {
        run->pids[i] = fork();
        assert_true(run->pids[i] >= 0);
        if (!run->pids[i]) record_until_told(run, i);
    }
}

static void await_progress(const struct run *run) {
    for (int i = 0; i < MEMBER_COUNT; i++) {
        if (!run->pids[i]) continue;
        uint64_t end = atomic_load(&run->log->returned_counts[i]) + PROGRESS_COUNT;
        if (end > EVENT_COUNT_MAX) end = EVENT_COUNT_MAX;
        while (atomic_load(&run->log->returned_counts[i]) < end) nap(100);
    }
}

static void kill_one(struct run *run, int number) {
    kill(run->pids[number], SIGKILL);
    assert_int_equal(wait_for_child(run->pids[number]), 128 + SIGKILL);
    run->pids[number] = 0;
}

static void kill_all_but_one(struct run *run, struct random_numbers *numbers) {
    for (int left = MEMBER_COUNT; left > 1; left--) {
        nap((long)random_below(numbers, DELAY_US_MAX));
        int number;
        do number = (int)random_below(numbers, MEMBER_COUNT);
        while (!run->pids[number]);
        kill_one(run, number);
        await_progress(run);
    }
    atomic_store(&run->log->is_ended, true);
    for (int i = 0; i < MEMBER_COUNT; i++)
        if (run->pids[i]) assert_int_equal(wait_for_child(run->pids[i]), 0);
}

static void check_events(const struct run *run) {
    const struct recorded *recorded = recorded_read(run->path);
    assert_nothing_lost(recorded);
    for (int i = 0; i < MEMBER_COUNT; i++) {
        char name[16];
        snprintf(name, sizeof name, "member %d", i);
        uint64_t count = atomic_load(&run->log->returned_counts[i]);
        if (!count) continue;
        const struct thread *thread = find_thread(&recorded->profile, name);
        if (!thread) fail_msg("there is no \"%s\"", name);
        /* One more may be there, whose call had not returned. */
        struct numbers numbers = collect_numbers(&recorded->profile, thread, "number", count + 1);
        assert_numbers(&numbers, 0, count);
        free(numbers.counts);
    }
    recorded_free_all();
}

TEST(test_killed_members, set_up_folder, tear_down_folder) {
    const char *seed_text = getenv("CRASH_SEED");
    struct random_numbers numbers = {seed_text ? strtoull(seed_text, NULL, 10) : (uint64_t)time(NULL)};
    print_message("CRASH_SEED=%llu\n", (unsigned long long)numbers.state);
    struct log *log = mmap(NULL, sizeof *log, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(log, MAP_FAILED);
    for (int i = 0; i < (IS_SANITIZED ? SANITIZED_RUN_COUNT : RUN_COUNT); i++) {
        memset(log, 0, sizeof *log);
        struct run run = {.log = log, .path = temp_folder_file(*state, "group.trace")};
        if (i % 2 && !IS_SANITIZED) run.flags |= GREC_HELPER;
        if (i % 3 == 0 && !IS_SANITIZED) run.flags |= GREC_SAMPLER;
        fork_members(&run);
        while (!atomic_load(&log->returned_counts[0])) nap(100);
        await_progress(&run);
        kill_all_but_one(&run, &numbers);
        check_events(&run);
        unlink(run.path);
    }
    munmap(log, sizeof *log);
}

int main(void) { return unit_tests_run(NULL, NULL); }
