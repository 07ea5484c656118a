#include "clock.h"

#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/syscall.h>
#include <unistd.h>

#if defined(__x86_64__)
#include <cpuid.h>
#endif

#include "text_file.h"

struct clock_state recorder_clock;
GREC_SHARE_DATA(recorder_clock);

enum { CALIBRATION_NS = 300000, PAIR_TRIES = 3 };

static uint32_t counter_kind(void) {
#if defined(__x86_64__)
    unsigned eax, ebx, ecx, edx;
    enum { LEAF_POWER = 0x80000007, INVARIANT_TSC = 1 << 8 };
    if (__get_cpuid(LEAF_POWER, &eax, &ebx, &ecx, &edx) && edx & INVARIANT_TSC) return TRACE_CLOCK_TSC;
#elif defined(__aarch64__)
    return TRACE_CLOCK_CNTVCT;
#endif
    return TRACE_CLOCK_MONOTONIC;
}

/* A kernel that has found the counters of its processors to differ uses one of these clocks. */
static bool kernel_distrusts_counter(void) {
    char name[32];
    text_file_read("/sys/devices/system/clocksource/clocksource0/current_clocksource", name, sizeof name);
    return !strncmp(name, "hpet", 4) || !strncmp(name, "acpi_pm", 7) || !strncmp(name, "jiffies", 7);
}

static bool is_monotonic_asked_for(void) {
    const char *asked = secure_getenv("GECKO_RECORDER_CLOCK");
    return asked && !strcmp(asked, "monotonic");
}

/* Takes the best of a few tries: the one that took the least time. */
struct clock_pair clock_read_pair(void) {
    struct clock_pair best = {0, 0};
    uint64_t least_ticks = UINT64_MAX;
    if (recorder_clock.kind == TRACE_CLOCK_MONOTONIC) {
        best.ticks = best.monotonic_ns = clock_ns_of(CLOCK_MONOTONIC);
        return best;
    }
    for (int i = 0; i < PAIR_TRIES; i++) {
        uint64_t before = clock_ticks();
        uint64_t ns = clock_ns_of(CLOCK_MONOTONIC);
        uint64_t after = clock_ticks();
        uint64_t ticks = after > before ? after - before : 0;
        if (ticks >= least_ticks) continue;
        least_ticks = ticks;
        best = (struct clock_pair){before + ticks / 2, ns};
    }
    return best;
}

static uint64_t measure_ticks_per_second(void) {
    struct clock_pair start = clock_read_pair(), end = start;
    while (end.monotonic_ns - start.monotonic_ns < CALIBRATION_NS) end = clock_read_pair();
    return (uint64_t)((double)(end.ticks - start.ticks) * 1e9 / (double)(end.monotonic_ns - start.monotonic_ns));
}

/* ---- If the counter must not be read. ---- */

/* When the counter was forbidden. */
static struct clock_pair last_pair;

/* Machines without SYS_clock_gettime have no counter that can be forbidden. */
void clock_read_by_system(clockid_t clock, struct timespec *time) {
#if defined(SYS_clock_gettime)
    syscall(SYS_clock_gettime, clock, time);
#else
    clock_gettime(clock, time);
#endif
}

uint64_t clock_estimate_ticks(void) {
    uint64_t passed_ns = clock_ns_of(CLOCK_MONOTONIC) - last_pair.monotonic_ns;
    return last_pair.ticks + (uint64_t)((double)passed_ns * (double)recorder_clock.ticks_per_second / 1e9);
}

void clock_forbid_counter(void) {
    if (clock_is_counter_forbidden()) return;
    if (clock_is_known()) last_pair = clock_read_pair();
    __atomic_store_n(&recorder_clock.is_counter_forbidden, 1, __ATOMIC_SEQ_CST);
}

/* The call fails on machines without such a prohibition. */
static bool is_forbidden_here(void) {
    int mode = 0;
    return prctl(PR_GET_TSC, &mode, 0, 0, 0) == 0 && mode == PR_TSC_SIGSEGV;
}

void clock_init(void) {
    if (recorder_clock.ticks_per_second) return;
    if (is_forbidden_here()) clock_forbid_counter();
    bool is_refused = is_monotonic_asked_for() || kernel_distrusts_counter() || clock_is_counter_forbidden();
    recorder_clock.kind = is_refused ? TRACE_CLOCK_MONOTONIC : counter_kind();
    uint64_t rate = recorder_clock.kind == TRACE_CLOCK_MONOTONIC ? 1000000000u : measure_ticks_per_second();
    __atomic_store_n(&recorder_clock.ticks_per_second, rate, __ATOMIC_RELEASE);
}

bool clock_adopt(uint32_t kind, uint64_t ticks_per_second) {
    if (recorder_clock.ticks_per_second) return kind == recorder_clock.kind;
    if (!ticks_per_second) return false;
    if (kind != TRACE_CLOCK_MONOTONIC && (is_monotonic_asked_for() || is_forbidden_here())) return false;
    recorder_clock.kind = kind;
    __atomic_store_n(&recorder_clock.ticks_per_second, ticks_per_second, __ATOMIC_RELEASE);
    return true;
}
