#include "cpu_share.h"

/* test_cpu_share.c runs threads with known shares of code, calls and faults through these rules: after ten seconds, all
 * are right to within three points. */
enum {
    WINDOW_MS = 4000,        /* older time counts half */
    FAULT_PART = 20,         /* faults may take this part of the time */
    CALL_TICK_COUNT = 8,     /* as much as one tick in a call may take */
    BACKLOG_TICK_COUNT = 16, /* chance alone makes no thread owe more */
    /* Each time that a thread with an event is given a processor, the kernel sets a timer for the event, and stops it
     * afterwards. On virtual machines, the two take 4 to 7 µs. */
    SWITCHES_PER_MS_MAX = 20,
};

static const int64_t NS_PER_MS = 1000000;

/* What a page fault takes at most: the kernel clears a large page. */
static const int64_t FAULT_NS_MAX = 250000;

/* The part of a thread's own time that interrupts take, before anything is known: the mean and the standard deviation.
 */
static const double INTERRUPTED_PART = 0.02, INTERRUPTED_DEVIATION = 0.02;

void cpu_share_add(struct cpu_share *share, uint64_t used_ns) {
    share->owed_ns += (int64_t)used_ns;
    share->used_ns += (int64_t)used_ns;
    if (share->used_ns < 2 * WINDOW_MS * NS_PER_MS) return;
    share->used_ns /= 2;
    share->code_ns /= 2;
    share->seen_ns /= 2;
    share->call_ns /= 2;
    share->wait_count /= 2;
    share->preemption_count /= 2;
    share->fault_ns_max /= 2;
}

void cpu_share_add_switches(struct cpu_share *share, uint64_t wait_count, uint64_t preemption_count) {
    share->wait_count += (int64_t)wait_count;
    share->preemption_count += (int64_t)preemption_count;
}

void cpu_share_add_faults(struct cpu_share *share, uint64_t count) {
    int64_t limit_ns = 2 * WINDOW_MS * NS_PER_MS;
    share->fault_ns_max += count < (uint64_t)(limit_ns / FAULT_NS_MAX) ? (int64_t)count * FAULT_NS_MAX : limit_ns;
}

bool cpu_share_is_switching(const struct cpu_share *share, bool was_switching) {
    int64_t limit = share->used_ns / NS_PER_MS * SWITCHES_PER_MS_MAX;
    return share->wait_count + share->preemption_count > (was_switching ? limit / 2 : limit);
}

/* Returns the variance of the number of ticks outside of calls. If a thread keeps its processor, there are as many
 * ticks as its processor time has room for, and chance decides only which of them are in calls. Each time that it runs
 * between two waits, it may or may not see a tick. */
static double variance_of_seen(const struct cpu_share *share, double tick_ns) {
    enum { WAITS_PER_TICK = 4, OF_EDGES = 1 };
    double seen_count = (double)share->seen_ns / tick_ns, call_count = (double)share->call_ns / tick_ns;
    double count = seen_count + call_count, part = count > 0 ? seen_count / count : 0;
    double random_count = (double)share->wait_count / WAITS_PER_TICK;
    if (random_count > count) random_count = count;
    return OF_EDGES + part * call_count + part * part * random_count;
}

/* Returns the time in code that the event has not counted. The scheduler gives a processor to a thread at a clock tick,
 * and may take it away before the next one. Ticks that are missing for this reason would have found the same as the
 * others. Those that are missing because the thread waits would have found calls. */
static double excess_ns(const struct cpu_share *share) {
    double seen = (double)share->seen_ns, told = seen + (double)share->call_ns, unseen = (double)share->used_ns - told;
    double switches = (double)(share->wait_count + share->preemption_count);
    double preempted = switches > 0 ? unseen * (double)share->preemption_count / switches : 0;
    return seen - (double)share->code_ns + (told > 0 ? preempted * seen / told : 0);
}

bool cpu_share_has_excess(const struct cpu_share *share, uint64_t tick_ns) {
    double excess = excess_ns(share), tick = (double)tick_ns;
    if (excess * FAULT_PART <= (double)share->used_ns) return false;
    return excess * excess > 4 * tick * tick * variance_of_seen(share, tick);
}

static bool has_faults(const struct cpu_share *share, int64_t tick_ns) {
    return share->fault_ns_max * FAULT_PART > share->used_ns && cpu_share_has_excess(share, (uint64_t)tick_ns);
}

/* Returns the part of the thread's own time that interrupts take, as the mean of what is known before and what ticks
 * tell, each with the weight of its certainty. */
static double interrupted_part(const struct cpu_share *share, int64_t tick_ns) {
    double code = (double)share->code_ns, tick = (double)tick_ns;
    double told_weight = code * code / (tick * tick * variance_of_seen(share, tick));
    double known_weight = 1 / (INTERRUPTED_DEVIATION * INTERRUPTED_DEVIATION);
    double told = code > 0 ? excess_ns(share) / code : 0;
    return (told * told_weight + INTERRUPTED_PART * known_weight) / (told_weight + known_weight);
}

/* Takes up to asked_ns, or nothing if less than least_ns are owed. */
static uint64_t take(struct cpu_share *share, int64_t asked_ns, int64_t least_ns) {
    int64_t taken_ns = asked_ns < share->owed_ns ? asked_ns : share->owed_ns;
    if (taken_ns < least_ns) return 0;
    share->owed_ns -= taken_ns;
    return (uint64_t)taken_ns;
}

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

static int64_t smaller(int64_t a, int64_t b) { return a < b ? a : b; }

/* Takes what a call may have taken a part of already: samples may stand for up to an interval more than the thread has
 * used. */
static uint64_t take_lent(struct cpu_share *share, int64_t asked_ns, int64_t interval_ns) {
    int64_t taken_ns = smaller(asked_ns, share->owed_ns + interval_ns);
    if (taken_ns <= 0) return 0;
    share->owed_ns -= taken_ns;
    return (uint64_t)taken_ns;
}

/* Takes time in code, in whole intervals. The time of interrupts is set aside with it, and taken once more is owed than
 * the part of the next interval that may have passed. On virtual machines, the event also counts time in which the host
 * runs others, which the thread has not used: then the part is less than nothing. */
static uint64_t take_code(struct cpu_share *share, int64_t code_ns, int64_t interval_ns, int64_t tick_ns) {
    int64_t more_ns = (int64_t)((double)code_ns * interrupted_part(share, tick_ns));
    if (more_ns < 0) return take_lent(share, code_ns + more_ns, interval_ns);
    share->aside_ns = smaller(share->aside_ns + more_ns, code_ns);
    uint64_t taken_ns = take_lent(share, code_ns, interval_ns);
    uint64_t aside_ns = take(share, smaller(share->aside_ns, share->owed_ns - interval_ns), 1);
    share->aside_ns -= (int64_t)aside_ns;
    return taken_ns + aside_ns;
}

/* Takes for a clock tick the time of as many ticks as have passed since the last sample, and a part of what else is
 * owed. A tick that comes during a call leaves its sample only when the call returns. If it took all that is owed by
 * then, it would take the time of what comes after the tick, which the next sample would lack: calls would always gain,
 * and what follows them would lose. */
static uint64_t take_for_tick(struct cpu_share *share, int64_t passed_ns, int64_t tick_ns) {
    enum { REST_PART = 4 };
    int64_t due_ns = larger(passed_ns / tick_ns, 1) * tick_ns, rest_ns = share->owed_ns - due_ns;
    share->aside_ns = 0;
    return take(share, rest_ns > 0 ? due_ns + rest_ns / REST_PART : share->owed_ns, 1);
}

uint64_t cpu_share_take(struct cpu_share *share, const struct shared_sample *sample) {
    int64_t interval_ns = (int64_t)sample->interval_ns, tick_ns = larger(interval_ns, (int64_t)sample->tick_ns);
    int64_t passed_ns = (int64_t)sample->passed_ns;
    /* The call may have lasted for many ticks. */
    int64_t call_ns = larger(tick_ns * CALL_TICK_COUNT, passed_ns);
    if (sample->origin == SAMPLE_OF_EVENT) share->code_ns += passed_ns;
    if (sample->origin == SAMPLE_OF_TICK) share->seen_ns += tick_ns;
    if (sample->origin == SAMPLE_OF_CALL) share->call_ns += tick_ns;
    if (!sample->has_event || has_faults(share, tick_ns))
        return sample->origin == SAMPLE_OF_EVENT ? 0 : take_for_tick(share, passed_ns, tick_ns);
    switch (sample->origin) {
        case SAMPLE_OF_EVENT:
            if (sample->is_of_ended && share->owed_ns < passed_ns) share->owed_ns = passed_ns;
            return take_code(share, passed_ns, interval_ns, tick_ns);
        case SAMPLE_OF_FIRST: return take(share, share->owed_ns, 1);
        case SAMPLE_OF_CALL: return take(share, smaller(call_ns, share->owed_ns - share->aside_ns), interval_ns / 2);
        case SAMPLE_OF_TICK: break;
    }
    return take(share, share->owed_ns - share->aside_ns - tick_ns * BACKLOG_TICK_COUNT, interval_ns / 2);
}
