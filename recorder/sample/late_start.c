#include "late_start.h"

#include <errno.h>
#include <sched.h>
#include <stdint.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

enum { AGE_NS = 10000000, TRY_COUNT = 10000 };

enum late_phase { NOTHING_WAITS = 0, ARMED, STARTING };

static struct {
    uint32_t phase; /* enum late_phase */
    pid_t pid;
    int timer;
    void (*start)(void);
} late;

static bool move(enum late_phase from, enum late_phase to) {
    uint32_t phase = from;
    return __atomic_compare_exchange_n(&late.phase, &phase, (uint32_t)to, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

static uint32_t load_phase(void) { return __atomic_load_n(&late.phase, __ATOMIC_ACQUIRE); }

/* glibc has no name for the member before its version 2.38. */
#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

static bool create_timer(int number) {
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = number};
    event.sigev_value.sival_ptr = &late;
    event.sigev_notify_thread_id = (pid_t)syscall(SYS_gettid);
    return syscall(SYS_timer_create, CLOCK_MONOTONIC, &event, &late.timer) == 0;
}

bool late_start_arm(int number, void (*start)(void)) {
    const struct itimerspec once = {.it_value.tv_nsec = AGE_NS};
    int saved_errno = errno;
    bool is_armed = create_timer(number);
    if (is_armed) {
        late.pid = getpid();
        late.start = start;
        __atomic_store_n(&late.phase, ARMED, __ATOMIC_RELEASE);
        syscall(SYS_timer_settime, late.timer, 0, &once, NULL);
    }
    errno = saved_errno;
    return is_armed;
}

/* A child of vfork shares the memory, and must leave alone what waits in its parent. */
bool late_start_is_armed(void) { return load_phase() == ARMED && late.pid == getpid(); }

static bool take(enum late_phase next) {
    if (!late_start_is_armed() || !move(ARMED, next)) return false;
    syscall(SYS_timer_delete, late.timer);
    return true;
}

void late_start_now(void) {
    int saved_errno = errno;
    if (!take(STARTING)) return;
    late.start();
    __atomic_store_n(&late.phase, NOTHING_WAITS, __ATOMIC_RELEASE);
    errno = saved_errno;
}

bool late_start_cancel(void) {
    int saved_errno = errno;
    bool has_waited = take(NOTHING_WAITS);
    for (int i = 0; i < TRY_COUNT && load_phase() == STARTING; i++) sched_yield();
    errno = saved_errno;
    return has_waited;
}

bool late_start_take(const siginfo_t *info) {
    if (info->si_code != SI_TIMER || info->si_value.sival_ptr != &late) return false;
    late_start_now();
    return true;
}

void late_start_forget(void) { __atomic_store_n(&late.phase, NOTHING_WAITS, __ATOMIC_RELAXED); }
