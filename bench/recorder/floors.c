/* Measures lower bounds that no recorder of events with times can beat. */
#include <time.h>

#include "lap.h"

static void run_loop(uint64_t count) {
    uint64_t index;
    for (index = 0; index < count; index++) lap_barrier();
}

static void run_loop_of_8(uint64_t count) {
    uint64_t index;
    for (index = 0; index < count / 8; index++) {
        LAP_REPEAT_8(lap_barrier());
    }
}

static void run_clock_gettime(uint64_t count) {
    struct timespec now;
    uint64_t index;
    for (index = 0; index < count; index++) {
        clock_gettime(CLOCK_MONOTONIC, &now);
        lap_barrier();
    }
}

#if defined(__x86_64__)
static void run_cycle_counter(uint64_t count) {
    uint64_t index;
    for (index = 0; index < count; index++) {
        (void)__builtin_ia32_rdtsc();
        lap_barrier();
    }
}
#elif defined(__aarch64__)
static void run_cycle_counter(uint64_t count) {
    uint64_t index;
    for (index = 0; index < count; index++) {
        uint64_t ticks;
        __asm__ volatile("mrs %0, cntvct_el0" : "=r"(ticks)::"memory");
    }
}
#endif

static const struct lap_case cases[] = {
    {"loop", NULL, run_loop, NULL, 1000000, 0},
    {"loop-of-8", NULL, run_loop_of_8, NULL, 1000000, 0},
#if defined(__x86_64__) || defined(__aarch64__)
    {"cycle-counter", NULL, run_cycle_counter, NULL, 1000000, 0},
#endif
    {"clock-gettime", NULL, run_clock_gettime, NULL, 1000000, 0},
};

int main(int argc, char **argv) { return lap_main(argc, argv, cases, sizeof cases / sizeof cases[0]); }
