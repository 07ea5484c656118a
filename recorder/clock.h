/* The recorder's clock: the cycle counter where it is invariant, else CLOCK_MONOTONIC. Reading the counter costs less
 * than half of a call of the clock; chunks tell where it stands on CLOCK_MONOTONIC. */
#ifndef GREC_CLOCK_H
#define GREC_CLOCK_H

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "trace_format.h"

struct clock_state {
    uint32_t kind;                 /* enum trace_clock */
    uint32_t is_counter_forbidden; /* see clock_forbid_counter */
    uint64_t ticks_per_second;     /* as clock_init has estimated it, here or in the process that began the recording */
};

/* Constant after clock_init or clock_adopt, but for is_counter_forbidden. */
extern struct clock_state recorder_clock;

/* Chooses the clock, once, and estimates its rate, for which it spins a fraction of a millisecond. Not thread-safe. */
void clock_init(void);

/* Takes the clock and its rate from the recording that this process joins, which saves the time that clock_init spins.
 * False: this process uses another clock already, or was asked to. Not thread-safe. */
bool clock_adopt(uint32_t kind, uint64_t ticks_per_second);

/* Call this before a thread is forbidden to read the cycle counter (prctl with PR_SET_TSC), which then ends the process:
 * the C library's clocks read it too, so all threads take the time by system calls from now on. Ticks stay those of the
 * counter. */
void clock_forbid_counter(void);

static inline bool clock_is_counter_forbidden(void) {
    return __builtin_expect(__atomic_load_n(&recorder_clock.is_counter_forbidden, __ATOMIC_RELAXED), 0);
}

/* The same instant on both clocks. [signal-safe] */
struct clock_pair {
    uint64_t ticks;
    uint64_t monotonic_ns;
};
struct clock_pair clock_read_pair(void);

/* clock_gettime without the C library. [signal-safe] */
void clock_read_by_system(clockid_t clock, struct timespec *time);

/* [signal-safe] */
static inline uint64_t clock_ns_of(clockid_t clock) {
    struct timespec now;
    if (clock_is_counter_forbidden())
        clock_read_by_system(clock, &now);
    else
        clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* The cycle counter; for a recorder_clock.kind other than TRACE_CLOCK_MONOTONIC, while it is not forbidden.
 * [signal-safe] */
static inline uint64_t clock_counter(void) {
#if defined(__x86_64__)
    return __builtin_ia32_rdtsc();
#elif defined(__aarch64__)
    uint64_t ticks;
    __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks));
    return ticks;
#else
    return 0;
#endif
}

/* The ticks that the counter should show now. [signal-safe] */
uint64_t clock_estimate_ticks(void);

/* [signal-safe] */
static inline uint64_t clock_ticks(void) {
    if (recorder_clock.kind == TRACE_CLOCK_MONOTONIC) return clock_ns_of(CLOCK_MONOTONIC);
    return clock_is_counter_forbidden() ? clock_estimate_ticks() : clock_counter();
}

/* False before the first recording. */
static inline bool clock_is_known(void) {
    return __atomic_load_n(&recorder_clock.ticks_per_second, __ATOMIC_ACQUIRE) != 0;
}

#endif
