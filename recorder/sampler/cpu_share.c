#include "cpu_share.h"

/* test_cpu_share.c runs threads with known shares of code, calls and faults through these rules: after ten seconds, all
 * are right to within three points. */
enum {
    WINDOW_MS = 4000,        /* older time counts half */
    JUDGED_MS_MIN = 250,     /* with less time, chance would decide */
    FAULT_PART = 20,         /* faults may take this part of the time */
    CALL_TICK_COUNT = 8,     /* as much as one tick in a call may take */
    BACKLOG_TICK_COUNT = 16, /* chance alone makes no thread owe more */
};

static const int64_t NS_PER_MS = 1000000;

/* What a page fault takes at most: the kernel clears a large page. */
static const int64_t FAULT_NS_MAX = 250000;

void cpu_share_add(struct cpu_share *share, uint64_t used_ns) {
    share->owed_ns += (int64_t)used_ns;
    share->used_ns += (int64_t)used_ns;
    if (share->used_ns < 2 * WINDOW_MS * NS_PER_MS) return;
    share->used_ns /= 2;
    share->code_ns /= 2;
    share->seen_ns /= 2;
    share->fault_ns_max /= 2;
}

void cpu_share_add_faults(struct cpu_share *share, uint64_t count) {
    int64_t limit_ns = 2 * WINDOW_MS * NS_PER_MS;
    share->fault_ns_max += count < (uint64_t)(limit_ns / FAULT_NS_MAX) ? (int64_t)count * FAULT_NS_MAX : limit_ns;
}

/* The excess of ticks in code must also be twice what chance makes of their number, which is its square root. */
bool cpu_share_has_excess(const struct cpu_share *share, uint64_t tick_ns) {
    int64_t excess_ns = share->seen_ns - share->code_ns;
    if (share->used_ns < JUDGED_MS_MIN * NS_PER_MS || excess_ns * FAULT_PART <= share->used_ns) return false;
    return (double)excess_ns * (double)excess_ns > 4.0 * (double)tick_ns * (double)share->seen_ns;
}

static bool has_faults(const struct cpu_share *share, int64_t tick_ns) {
    return share->fault_ns_max * FAULT_PART > share->used_ns && cpu_share_has_excess(share, (uint64_t)tick_ns);
}

/* Takes up to asked_ns, or nothing if less than least_ns are owed. */
static uint64_t take(struct cpu_share *share, int64_t asked_ns, int64_t least_ns) {
    int64_t taken_ns = asked_ns < share->owed_ns ? asked_ns : share->owed_ns;
    if (taken_ns < least_ns) return 0;
    share->owed_ns -= taken_ns;
    return (uint64_t)taken_ns;
}

/* Less than nothing may be owed: the thread's processor time may have been read before the sample was taken. */
static uint64_t take_interval(struct cpu_share *share, int64_t interval_ns) {
    share->owed_ns -= interval_ns;
    return (uint64_t)interval_ns;
}

static int64_t larger(int64_t a, int64_t b) { return a > b ? a : b; }

uint64_t cpu_share_take(struct cpu_share *share, const struct shared_sample *sample) {
    int64_t interval_ns = (int64_t)sample->interval_ns, tick_ns = larger(interval_ns, (int64_t)sample->tick_ns);
    if (sample->origin == SAMPLE_OF_EVENT) share->code_ns += interval_ns;
    if (sample->origin == SAMPLE_OF_TICK) share->seen_ns += tick_ns;
    if (!sample->has_event || has_faults(share, tick_ns))
        return sample->origin == SAMPLE_OF_EVENT ? 0 : take(share, share->owed_ns, 1);
    switch (sample->origin) {
        case SAMPLE_OF_EVENT:
            return take_interval(share, interval_ns);
        case SAMPLE_OF_CALL:
            /* The call may have lasted for many ticks. */
            return take(share, larger(tick_ns * CALL_TICK_COUNT, (int64_t)sample->passed_ns), interval_ns / 2);
        case SAMPLE_OF_TICK:
            break;
    }
    return take(share, share->owed_ns - tick_ns * BACKLOG_TICK_COUNT, interval_ns / 2);
}
