/* The recorder's clock: the cycle counter if it is invariant, else CLOCK_MONOTONIC. Reading the counter takes less than
 * half the time of a call of the clock. Chunks have pairs of both times. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "recorder/trace_format.h"
#include "shared.h"

struct clock_state {
    uint32_t kind;                 /* enum trace_clock_source */
    uint32_t is_counter_forbidden; /* see clock_forbid_counter */
    uint64_t ticks_per_second;     /* estimated by clock_init, here or in the process that began the recording */
};

/* Constant after clock_init or clock_adopt, except is_counter_forbidden. */
extern struct clock_state recorder_clock GREC_SHARED_DATA(recorder_clock);

/* Chooses the clock, once, and estimates its rate, which takes a fraction of a millisecond. Not thread-safe. */
void clock_init(void);

/* Takes the clock and its rate from the recording that this process joins, so that clock_init need not estimate it.
 * Returns false if this process uses another clock already, or was asked to. Not thread-safe. */
bool clock_adopt(uint32_t kind, uint64_t ticks_per_second);

/* Call this before a thread is forbidden to read the cycle counter (prctl with PR_SET_TSC): reading it would end the
 * process. The C library's clocks read the counter too, so all threads use system calls for the time from now on. Ticks
 * keep the counter's rate. */
void clock_forbid_counter(void);

static inline bool clock_is_counter_forbidden(void) {
    return __builtin_expect(__atomic_load_n(&recorder_clock.is_counter_forbidden, __ATOMIC_RELAXED), 0);
}

/* The same instant on both clocks. */
struct clock_pair {
    uint64_t ticks;
    uint64_t monotonic_ns;
};

/* [signal-safe] */
struct clock_pair clock_read_pair(void);

/* clock_gettime without the C library. [signal-safe] */
void clock_read_by_system(clockid_t clock, struct timespec *time) GREC_SHARED(clock_read_by_system);

/* [signal-safe] */
static inline uint64_t clock_ns_of(clockid_t clock) {
    struct timespec now;
    if (clock_is_counter_forbidden())
        clock_read_by_system(clock, &now);
    else
        clock_gettime(clock, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static inline struct timespec clock_timespec(uint64_t ns) {
    return (struct timespec){.tv_sec = (time_t)(ns / 1000000000), .tv_nsec = (long)(ns % 1000000000)};
}

/* Reads the cycle counter. recorder_clock.kind must not be TRACE_CLOCK_MONOTONIC, and the counter must not be
 * forbidden. [signal-safe] */
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

/* Returns the ticks that the counter should have now, without reading it. [signal-safe] */
uint64_t clock_estimate_ticks(void) GREC_SHARED(clock_estimate_ticks);

/* Returns the current time of the recorder's clock. [signal-safe] */
static inline uint64_t clock_ticks(void) {
    if (recorder_clock.kind == TRACE_CLOCK_MONOTONIC) return clock_ns_of(CLOCK_MONOTONIC);
    return clock_is_counter_forbidden() ? clock_estimate_ticks() : clock_counter();
}

/* Returns false before the first recording. */
static inline bool clock_is_known(void) {
    return __atomic_load_n(&recorder_clock.ticks_per_second, __ATOMIC_ACQUIRE) != 0;
}
