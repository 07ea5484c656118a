/* The clock of a recorder trace. Converts ticks of a counter to nanoseconds of CLOCK_MONOTONIC.
 *
 * While a trace is read, times are ticks since its start. Chunks and clock entries have points: instants on both
 * clocks. Once all points are known, a monotone piecewise-linear function connects those that are plausible. */
#pragma once

#include "libconvert/base/column.h"

struct trace_clock_point {
    int64_t ticks; /* since the start of the trace */
    int64_t ns;    /* since the start of the trace */
};

/* How many nanoseconds that many ticks last. */
struct trace_clock_rate {
    int64_t ns;
    int64_t ticks;
};

struct trace_clock {
    struct failure *failure; /* borrowed */
    bool is_monotonic;       /* ticks are nanoseconds of CLOCK_MONOTONIC */
    uint64_t ticks_per_second;
    uint64_t start_ticks;
    int64_t start_ns;
    int64_t limit_ticks;                /* a time further from the start than this is damaged */
    struct column offered;              /* struct trace_clock_point */
    struct trace_clock_point *kept;     /* ascending; the first one is the start */
    struct trace_clock_rate *rates;     /* one for each kept point: the rate from there on */
    struct trace_clock_rate early_rate; /* rate before the start */
    size_t kept_count;
    size_t last_kept; /* point of the previous conversion; the next one is usually near it */
};

/* The rates that counters of this kind can have. */
enum { TRACE_CLOCK_RATE_MIN = 1000 * 1000 };
#define TRACE_CLOCK_RATE_MAX (100ull * 1000 * 1000 * 1000)

/* Initialises the clock. `ticks_per_second` must be within the limits above, `start_ns` at most 2^62. */
void trace_clock_init(struct trace_clock *clock, bool is_monotonic, uint64_t ticks_per_second, uint64_t start_ticks,
                      uint64_t start_ns, struct failure *failure);
void trace_clock_fini(struct trace_clock *clock);

static inline bool trace_clock_is_within(const struct trace_clock *clock, int64_t ticks) {
    return ticks <= clock->limit_ticks && ticks >= -clock->limit_ticks;
}

/* Sets *relative_ticks to the ticks since the start of the trace. Returns false if that is more than ten years, which
 * no trace lasts. */
bool trace_clock_relative(const struct trace_clock *clock, uint64_t ticks, int64_t *relative_ticks);

/* Sets *sum to a + b, which are ticks since the start or spans of ticks. Returns false if the sum is more than ten
 * years away. */
static inline bool trace_clock_sum(const struct trace_clock *clock, int64_t a, int64_t b, int64_t *sum) {
    return !__builtin_add_overflow(a, b, sum) && trace_clock_is_within(clock, *sum);
}

/* Adds a point: an instant in ticks and in nanoseconds of CLOCK_MONOTONIC. */
void trace_clock_offer(struct trace_clock *clock, int64_t relative_ticks, uint64_t ns);

/* Chooses the points to use. Call it once, after the last trace_clock_offer and before trace_clock_convert. */
void trace_clock_finish(struct trace_clock *clock);

/* Returns nanoseconds of CLOCK_MONOTONIC. Later ticks never give an earlier time. Call trace_clock_finish before. */
int64_t trace_clock_convert(struct trace_clock *clock, int64_t relative_ticks);
