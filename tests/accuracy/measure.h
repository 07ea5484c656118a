/* Declarations that all programs of this folder share. Each program runs functions with known shares of its processor
 * time until it has used as many milliseconds as its first argument says. Then it prints its truth:
 *
 *     total NANOSECONDS           processor time of all its threads
 *     function NAME NANOSECONDS   processor time in a function and its callees
 *     cut COUNT                   system calls that a signal cut short
 *
 * Lengths of work and waits are pseudo-random. Equal ones might fall into step with the sampler's clocks, which would
 * then find the same function each time. */
#pragma once

#include <inttypes.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>

/* The most functions that one program reports. */
enum { FUNCTION_COUNT_MAX = 8 };

/* What one thread measures. Each thread has its own, and the first thread adds them up. */
struct measure {
    uint64_t clock_ns; /* what reading the thread's clock adds to a measured time */
    uint64_t total_ns;
    uint64_t ns[FUNCTION_COUNT_MAX];
    uint64_t cut_count;
    uint64_t random;
};

/* ---- Work. ---- */

/* Each step waits for the one before. So its duration does not depend on how the compiler places the loop. */
static inline uint64_t work(uint64_t value, uint64_t steps) {
    for (uint64_t i = 0; i < steps; i++) {
        value = value * 6364136223846793005 + 1442695040888963407;
        __asm__ volatile("" : "+r"(value));
    }
    return value;
}

/* A microsecond of work takes longer on a slow processor. The shares do not depend on that. */
enum { STEPS_PER_US = 700 };

/* ---- Processor time. ---- */

static inline uint64_t thread_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static inline void measure_begin(struct measure *measure, uint64_t seed) {
    enum { COUNT = 1000 };
    uint64_t start_ns = thread_ns();
    for (int i = 0; i < COUNT; i++) thread_ns();
    *measure = (struct measure){.clock_ns = (thread_ns() - start_ns) / COUNT, .random = seed * 2 + 1};
}

/* Returns a time that was measured by two readings of the clock, without what the readings took. */
static inline uint64_t span_ns(const struct measure *measure, uint64_t start_ns, uint64_t end_ns) {
    uint64_t ns = end_ns - start_ns;
    return ns > measure->clock_ns ? ns - measure->clock_ns : 0;
}

/* Returns a number from half of the mean to one and a half of it. */
static inline uint64_t about(struct measure *measure, uint64_t mean) {
    measure->random = measure->random * 6364136223846793005 + 1442695040888963407;
    return mean / 2 + (measure->random >> 33) % (mean + 1);
}

/* ---- Reports. ---- */

/* Call this in the thread when it has done its work. */
static inline void measure_end(struct measure *measure) { measure->total_ns = thread_ns(); }

static inline void measure_add(struct measure *sum, const struct measure *measure) {
    sum->total_ns += measure->total_ns;
    sum->cut_count += measure->cut_count;
    for (size_t i = 0; i < FUNCTION_COUNT_MAX; i++) sum->ns[i] += measure->ns[i];
}

static inline void measure_print(const struct measure *measure, const char *const *names, size_t name_count) {
    printf("total %" PRIu64 "\n", measure->total_ns);
    for (size_t i = 0; i < name_count; i++) printf("function %s %" PRIu64 "\n", names[i], measure->ns[i]);
    printf("cut %" PRIu64 "\n", measure->cut_count);
}

/* Returns the processor time that the program is to use, in nanoseconds. */
static inline uint64_t wanted_ns(int count, char **arguments) {
    enum { USUAL_MS = 2000 };
    return (count > 1 ? strtoull(arguments[1], NULL, 10) : USUAL_MS) * 1000000;
}
