/* Tests how the processor time of a thread is divided among its samples, with threads of known shares: they spend their
 * time in their own code, in system calls, and in page faults, in random turns. A simulated kernel raises their event
 * and their clock ticks. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "recorder/sampler/cpu_share.h"
#include "tests/support/unit_test.h"

enum { STEP_NS = 50000, TICK_NS = 4000000, RUN_SECONDS = 10, ROUND_NS = 100000, POINTS_MAX = 3, SEED_COUNT = 5 };

/* UNSEEN: calls in which ticks find another thread, since the thread only goes to sleep and wakes up in them.
 * INTERRUPTED: the kernel works for others, which counts as the thread's own code. */
enum place { IN_CODE, IN_CALL, IN_FAULT, UNSEEN, INTERRUPTED, PLACE_COUNT };

struct thread_model {
    int percent[PLACE_COUNT];
    uint64_t interval_ns;
    bool has_event;
};

struct run {
    struct cpu_share share;
    uint64_t random;
    uint64_t till_event_ns, till_tick_ns;
    uint64_t now_ns, timer_ns; /* the first tick at or after timer_ns fires the timer */
    uint64_t taken_ns[PLACE_COUNT];
};

static uint32_t next_random(struct run *run) {
    run->random = run->random * 6364136223846793005u + 1442695040888963407u;
    return (uint32_t)(run->random >> 33);
}

static enum place next_place(struct run *run, const struct thread_model *model) {
    int at = (int)(next_random(run) % 100);
    for (int place = 0; place < PLACE_COUNT; place++) {
        if (at < model->percent[place]) return (enum place)place;
        at -= model->percent[place];
    }
    return IN_CODE;
}

static void take(struct run *run, const struct thread_model *model, enum place place, enum sample_origin origin) {
    const struct shared_sample sample = {.origin = origin,
                                         .has_event = model->has_event,
                                         .interval_ns = model->interval_ns,
                                         .tick_ns = TICK_NS,
                                         .passed_ns = origin == SAMPLE_OF_EVENT ? model->interval_ns : TICK_NS};
    run->taken_ns[place] += cpu_share_take(&run->share, &sample);
}

static bool is_due(uint64_t *left_ns, uint64_t period_ns) {
    *left_ns -= STEP_NS;
    if (*left_ns) return false;
    *left_ns = period_ns;
    return true;
}

static bool is_timer_due(struct run *run, const struct thread_model *model) {
    run->now_ns += STEP_NS;
    if (!is_due(&run->till_tick_ns, TICK_NS) || run->now_ns < run->timer_ns) return false;
    run->timer_ns += ((run->now_ns - run->timer_ns) / model->interval_ns + 1) * model->interval_ns;
    return true;
}

static void step(struct run *run, const struct thread_model *model) {
    enum place place = next_place(run, model);
    bool is_event = is_due(&run->till_event_ns, model->interval_ns), is_tick = is_timer_due(run, model);
    if (is_event && model->has_event && place == IN_CODE) take(run, model, place, SAMPLE_OF_EVENT);
    if (is_tick && place != UNSEEN) take(run, model, place, place == IN_CALL ? SAMPLE_OF_CALL : SAMPLE_OF_TICK);
    if (place == IN_FAULT) cpu_share_add_faults(&run->share, 1);
}

static struct run run_thread(const struct thread_model *model, unsigned seed) {
    struct run run = {.random = seed, .till_event_ns = model->interval_ns};
    for (int i = 0; i < 3; i++) next_random(&run);
    run.till_tick_ns = (next_random(&run) % (TICK_NS / STEP_NS) + 1) * STEP_NS;
    for (uint64_t ns = 0; ns < RUN_SECONDS * (uint64_t)1000000000; ns += STEP_NS) {
        if (ns % ROUND_NS == 0) cpu_share_add(&run.share, ROUND_NS);
        step(&run, model);
    }
    return run;
}

/* Unseen calls count as calls: there are always some that ticks find. */
static void assert_share(const struct thread_model *model, const double points[PLACE_COUNT], enum place place) {
    static const enum place counted_as[] = {[IN_CODE] = INTERRUPTED, [IN_CALL] = UNSEEN, [IN_FAULT] = IN_FAULT};
    enum place other = counted_as[place];
    int wanted = model->percent[place] + (other == place ? 0 : model->percent[other]);
    double share = points[place] + (other == place ? 0 : points[other]);
    if (share >= wanted - POINTS_MAX && share <= wanted + POINTS_MAX) return;
    fail_msg("%d, %d, %d, %d, %d %%: place %d has %.1f %%", model->percent[0], model->percent[1], model->percent[2],
             model->percent[3], model->percent[4], place, share);
}

static void assert_shares(const struct thread_model *model) {
    double points[PLACE_COUNT] = {0};
    for (unsigned seed = 0; seed < SEED_COUNT; seed++) {
        struct run run = run_thread(model, seed);
        double sum_ns = 0;
        for (int place = 0; place < PLACE_COUNT; place++) sum_ns += (double)run.taken_ns[place];
        /* What is not taken stays owed: nothing is invented. */
        assert_int_equal((int64_t)sum_ns + run.share.owed_ns, (int64_t)RUN_SECONDS * 1000000000);
        for (int place = 0; place < PLACE_COUNT; place++)
            points[place] += 100 * (double)run.taken_ns[place] / sum_ns / SEED_COUNT;
    }
    for (int place = 0; place < UNSEEN; place++) assert_share(model, points, (enum place)place);
}

static const int mixes[][PLACE_COUNT] = {
    {100, 0, 0, 0, 0},  {99, 1, 0, 0, 0},   {90, 10, 0, 0, 0}, {50, 50, 0, 0, 0},  {10, 90, 0, 0, 0},
    {1, 99, 0, 0, 0},   {90, 0, 10, 0, 0},  {50, 0, 50, 0, 0}, {30, 35, 35, 0, 0}, {60, 10, 30, 0, 0},
    {60, 30, 10, 0, 0}, {10, 10, 80, 0, 0}, {90, 5, 0, 5, 0},  {60, 10, 0, 30, 0}, {20, 60, 0, 20, 0},
    {78, 15, 0, 0, 7},  {92, 0, 0, 0, 8},   {47, 50, 0, 0, 3},
};

static void run_mixes(bool has_event, uint64_t interval_ns) {
    for (size_t i = 0; i < sizeof mixes / sizeof *mixes; i++) {
        struct thread_model model = {.interval_ns = interval_ns, .has_event = has_event};
        /* Timers alone cannot know of calls that ticks do not find. */
        if (!has_event && mixes[i][UNSEEN]) continue;
        memcpy(model.percent, mixes[i], sizeof model.percent);
        assert_shares(&model);
    }
}

TEST(events_and_ticks_give_true_shares) { run_mixes(true, 1000000); }

TEST(so_they_do_at_ten_kilohertz) { run_mixes(true, 100000); }

TEST(so_they_do_at_long_intervals) { run_mixes(true, 10000000); }

/* Stacks that did not fit left time that calls may have taken since. */
TEST(a_late_sample_borrows_one_interval) {
    enum { INTERVAL_NS = 1000000, OWED_COUNT = 50, PASSED_COUNT = 100 };
    struct cpu_share share = {0};
    const struct shared_sample late = {.origin = SAMPLE_OF_EVENT,
                                       .has_event = true,
                                       .interval_ns = INTERVAL_NS,
                                       .tick_ns = TICK_NS,
                                       .passed_ns = (uint64_t)PASSED_COUNT * INTERVAL_NS};
    cpu_share_add(&share, (uint64_t)OWED_COUNT * INTERVAL_NS);
    assert_int_equal(cpu_share_take(&share, &late), (OWED_COUNT + 1) * INTERVAL_NS);
}

TEST(ticks_alone_give_true_shares) { run_mixes(false, 1000000); }

/* A tick that comes during a call leaves its sample when the call returns, which is later than the tick. */
TEST(a_call_takes_no_time_of_what_follows_it) {
    enum { WORK_STEP_COUNT = 180, CALL_STEP_COUNT = 20, CALL_COUNT = 20000, INTERVAL_NS = 1000000 };
    struct run run = {.random = 1, .till_tick_ns = TICK_NS};
    struct shared_sample sample = {.interval_ns = INTERVAL_NS, .tick_ns = TICK_NS};
    uint64_t sampled_ns = 0, call_ns = 0;
    for (int i = 0; i < 2 * CALL_COUNT; i++) {
        uint32_t mean = i % 2 ? CALL_STEP_COUNT : WORK_STEP_COUNT, left = mean / 2 + next_random(&run) % (mean + 1);
        enum place place = i % 2 ? IN_CALL : IN_CODE;
        if (place == IN_CALL) call_ns += left * (uint64_t)STEP_NS;
        for (bool has_ticked = false; left; left--) {
            run.now_ns += STEP_NS;
            cpu_share_add(&run.share, STEP_NS);
            has_ticked |= is_due(&run.till_tick_ns, TICK_NS);
            if (!has_ticked || (place == IN_CALL && left > 1)) continue;
            sample.origin = place == IN_CALL ? SAMPLE_OF_CALL : SAMPLE_OF_TICK;
            sample.passed_ns = (run.now_ns - sampled_ns) / INTERVAL_NS * INTERVAL_NS;
            run.taken_ns[place] += cpu_share_take(&run.share, &sample);
            sampled_ns = run.now_ns;
            has_ticked = false;
        }
    }
    double points = 100 * ((double)run.taken_ns[IN_CALL] - (double)call_ns) / (double)run.now_ns;
    if (points < -1 || points > 1) fail_msg("the call has %+.1f points", points);
}

int main(void) { return unit_tests_run(NULL, NULL); }
