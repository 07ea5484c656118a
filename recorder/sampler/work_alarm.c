#include "work_alarm.h"

#include <sched.h>
#include <signal.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "recorder/state/clock.h"
#include "recorder/state/process.h"
#include "recorder/state/signal_mask.h"

/* The first real-time signal belongs to the C library, which sends it to single threads and never to the process. So a
 * wait for it cannot take a signal of the program. The C library's functions do not block it, hence the system calls,
 * and unblock it whenever they set a mask. So the signal is blocked, sent and taken within one wait: unblocked, it
 * would end the process. */
enum { ALARM_SIGNAL = 32, SIGNAL_SET_BYTES = 8 };

static const uint64_t ALARM_SET = (uint64_t)1 << (ALARM_SIGNAL - 1);

/* work_alarm_ring signals the thread only if it is asleep. The thread then ends its wait only after the signal was
 * sent.
 */
enum sleeper_state { SLEEPER_AWAKE = 0, SLEEPER_ASLEEP, SLEEPER_IS_SIGNALLED, SLEEPER_WAS_SIGNALLED };

/* A forked child has a copy of its parent's sleeper. It must not signal that thread, so the state holds the process it
 * belongs to: no change of state succeeds in another one. */
static struct {
    bool is_open;
    int timer;
    pid_t tid;
    uint64_t state; /* process id << 32 | enum sleeper_state */
} sleeper;

static uint64_t own_state(enum sleeper_state state) { return (uint64_t)(uint32_t)getpid() << 32 | (uint32_t)state; }

static void set_state(enum sleeper_state state) {
    __atomic_store_n(&sleeper.state, own_state(state), __ATOMIC_SEQ_CST);
}

static bool change_state(enum sleeper_state from, enum sleeper_state to) {
    uint64_t expected = own_state(from);
    return __atomic_compare_exchange_n(&sleeper.state, &expected, own_state(to), false, __ATOMIC_SEQ_CST,
                                       __ATOMIC_SEQ_CST);
}

bool work_alarm_open(void) {
    struct sigevent event;
    sleeper.tid = (pid_t)process_own_tid();
    set_state(SLEEPER_AWAKE);
    memset(&event, 0, sizeof event);
    event.sigev_notify = SIGEV_THREAD_ID;
    event.sigev_signo = ALARM_SIGNAL;
    event._sigev_un._tid = sleeper.tid;
    sleeper.is_open = syscall(SYS_timer_create, CLOCK_PROCESS_CPUTIME_ID, &event, &sleeper.timer) == 0;
    return sleeper.is_open;
}

static void set_timer(uint64_t cpu_ns) {
    struct itimerspec time = {.it_value = clock_timespec(cpu_ns)};
    syscall(SYS_timer_settime, sleeper.timer, 0, &time, NULL);
}

static bool take_signal(uint64_t limit_ns) {
    const struct timespec limit = clock_timespec(limit_ns);
    return syscall(SYS_rt_sigtimedwait, &ALARM_SET, NULL, &limit, SIGNAL_SET_BYTES) == ALARM_SIGNAL;
}

static void wake_up(void) {
    if (change_state(SLEEPER_ASLEEP, SLEEPER_AWAKE)) return;
    while (!change_state(SLEEPER_WAS_SIGNALLED, SLEEPER_AWAKE)) sched_yield();
}

void work_alarm_wait(uint64_t cpu_ns, uint64_t limit_ns, const uint32_t *end_word) {
    if (syscall(SYS_rt_sigprocmask, SIG_BLOCK, &ALARM_SET, NULL, SIGNAL_SET_BYTES) != 0) return;
    set_state(SLEEPER_ASLEEP);
    set_timer(cpu_ns);
    if (!__atomic_load_n(end_word, __ATOMIC_SEQ_CST)) take_signal(limit_ns);
    set_timer(0);
    wake_up();
    while (take_signal(0)) {
    }
    syscall(SYS_rt_sigprocmask, SIG_UNBLOCK, &ALARM_SET, NULL, SIGNAL_SET_BYTES);
}

void work_alarm_close(void) {
    if (sleeper.is_open) syscall(SYS_timer_delete, sleeper.timer);
    sleeper.is_open = false;
}

/* The sleeping thread waits for the end of this. So no signal handler, which could jump out of it or call exit, may
 * interrupt it. */
void work_alarm_ring(void) {
    sigset_t before;
    signal_mask_block_all(&before);
    if (change_state(SLEEPER_ASLEEP, SLEEPER_IS_SIGNALLED)) {
        syscall(SYS_tgkill, getpid(), sleeper.tid, ALARM_SIGNAL);
        set_state(SLEEPER_WAS_SIGNALLED);
    }
    signal_mask_restore(&before);
}
