/* The clock of a native trace: ticks of a counter in, nanoseconds of CLOCK_MONOTONIC out.
 *
 * While a trace is read, times are ticks since its start. Chunks and clock entries tell instants on both clocks
 * (points); when all are known, a monotone piecewise-linear function goes through those that can be believed. */
#ifndef GECKO_NATIVE_CLOCK_H
#define GECKO_NATIVE_CLOCK_H

#include "libconvert/column.h"

struct native_clock_point {
    int64_t ticks; /* since the start of the trace */
    int64_t ns;    /* as well */
};

struct native_clock {
    struct failure *failure; /* borrowed */
    bool is_monotonic;       /* the ticks are nanoseconds of CLOCK_MONOTONIC */
    uint64_t ticks_per_second;
    uint64_t start_ticks;
    int64_t start_ns;
    int64_t limit_ticks;             /* a time further from the start than this is damage */
    struct column offered;           /* struct native_clock_point */
    struct native_clock_point *kept; /* ascending; the first is the start */
    size_t kept_count;
    size_t last_kept; /* where the last conversion was: the next one is near it */
};

/* A rate that clocks of this kind can have. */
enum { NATIVE_CLOCK_RATE_MIN = 1000 * 1000 };
#define NATIVE_CLOCK_RATE_MAX (100ull * 1000 * 1000 * 1000)

/* `ticks_per_second` is within the limits above, `start_ns` at most 2^62. */
void native_clock_init(struct native_clock *clock, bool is_monotonic, uint64_t ticks_per_second, uint64_t start_ticks,
                       uint64_t start_ns, struct failure *failure);
void native_clock_fini(struct native_clock *clock);

/* Ticks since the start of the trace; false when that is further away than any trace lasts: ten years. */
bool native_clock_relative(const struct native_clock *clock, uint64_t ticks, int64_t *relative_ticks);

/* a + b ticks, both since the start, or a time span; false when that is further away than ten years. */
bool native_clock_sum(const struct native_clock *clock, int64_t a, int64_t b, int64_t *sum);

/* The same instant on both clocks, `ns` of CLOCK_MONOTONIC. */
void native_clock_offer(struct native_clock *clock, int64_t relative_ticks, uint64_t ns);

/* Chooses the points, once, when all are offered. */
void native_clock_settle(struct native_clock *clock);

/* Nanoseconds of CLOCK_MONOTONIC, after native_clock_settle. Never falls as the ticks rise. */
int64_t native_clock_convert(struct native_clock *clock, int64_t relative_ticks);

/* Nanoseconds that so many ticks last at the rate that the trace begins with. */
int64_t native_clock_span_ns(const struct native_clock *clock, int64_t ticks);

#endif
