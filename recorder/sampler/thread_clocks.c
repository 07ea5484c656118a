#include "thread_clocks.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/perf_event.h>
#include <linux/seccomp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ioctl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

#include "recorder/state/clock.h"
#include "recorder/state/own_files.h"
#include "task_list.h"

/* glibc has no name for the member before its version 2.38. */
#ifndef sigev_notify_thread_id
#define sigev_notify_thread_id _sigev_un._tid
#endif

static int refusal;

/* A filter that the program has inherited may kill it for perf_event_open: those of services often do. Those of
 * containers refuse the call. */
static bool is_filtered(void) { return prctl(PR_GET_SECCOMP) == SECCOMP_MODE_FILTER; }

void thread_clocks_begin(void) {
    const char *events = secure_getenv("GECKO_RECORDER_EVENTS");
    bool is_told = events && *events, is_wanted = is_told ? *events != '0' : !is_filtered();
    refusal = is_wanted ? 0 : is_told ? ECANCELED : EPERM;
}

int thread_clocks_refusal(void) { return refusal; }

uint64_t thread_clocks_tick_ns(void) {
    enum { USUAL_NS = 4000000 };
    struct timespec tick;
    return clock_getres(CLOCK_MONOTONIC_COARSE, &tick) == 0 ? (uint64_t)tick.tv_nsec : USUAL_NS;
}

/* ---- Events. ---- */

/* With a table of its own, a thread that runs out of descriptors takes none from the program. These errors concern one
 * event; all others concern every one. */
static bool is_shortage(int error) { return error == EMFILE || error == ENFILE || error == ENOMEM || error == ESRCH; }

static bool is_real_time(int signal) { return signal >= SIGRTMIN; }

/* If a real-time signal cannot be queued, the kernel sends SIGIO in its place, which ends most programs. */
static bool can_have_event(int signal) { return !refusal && !is_real_time(signal) && own_files_are_private(); }

/* Returns a descriptor that files of the program seldom have. */
static int high_descriptor(void) {
    enum { HIGH = 1023 };
    struct rlimit limit;
    return getrlimit(RLIMIT_NOFILE, &limit) == 0 && limit.rlim_cur <= HIGH ? (int)limit.rlim_cur - 1 : HIGH;
}

/* A signal names the descriptor by which it was asked for. The event's own is a low one, because the table is almost
 * empty, and the program's files have low ones too: their signals could not be told from those of the event. */
static bool direct_signal(struct thread_event *event, uint32_t tid, int signal) {
    struct f_owner_ex owner = {.type = F_OWNER_TID, .pid = (pid_t)tid};
    int high = (int)syscall(SYS_fcntl, event->file, F_DUPFD_CLOEXEC, high_descriptor());
    int file = high >= 0 ? high : event->file; /* if descriptors have run out */
    __atomic_store_n(&event->signal_file, file + 1, __ATOMIC_RELEASE);
    bool is_good = syscall(SYS_fcntl, file, F_SETOWN_EX, &owner) == 0 &&
                   syscall(SYS_fcntl, file, F_SETSIG, signal) == 0 &&
                   syscall(SYS_fcntl, file, F_SETFL, O_ASYNC | O_NONBLOCK) == 0;
    if (high >= 0) syscall(SYS_close, high);
    return is_good;
}

/* is_repeated: the event signals after each interval, not only after the first. */
static bool open_event(struct thread_event *event, uint32_t tid, int signal, uint64_t interval_ns, bool is_repeated) {
    struct perf_event_attr attributes = {.type = PERF_TYPE_SOFTWARE,
                                         .size = sizeof attributes,
                                         .config = PERF_COUNT_SW_TASK_CLOCK,
                                         .sample_period = interval_ns,
                                         .exclude_kernel = 1,
                                         .exclude_hv = 1,
                                         .disabled = 1,
                                         .wakeup_events = 1};
    event->file = (int)syscall(SYS_perf_event_open, &attributes, tid, -1, -1, PERF_FLAG_FD_CLOEXEC);
    if (event->file < 0) {
        if (!is_shortage(errno)) refusal = errno;
        return false;
    }
    unsigned long enable = is_repeated ? PERF_EVENT_IOC_ENABLE : PERF_EVENT_IOC_REFRESH;
    if (direct_signal(event, tid, signal) && syscall(SYS_ioctl, event->file, enable, !is_repeated) == 0) return true;
    syscall(SYS_close, event->file);
    return false;
}

/* Whether the last event has such a high descriptor that events which signal once would leave too few for other
 * threads: the event of a thread that waits for ever stays open. */
static bool are_descriptors_scarce;

static bool is_beyond_part(int descriptor) {
    enum { LIMIT_PART = 4 };
    struct rlimit limit;
    return getrlimit(RLIMIT_NOFILE, &limit) == 0 && (rlim_t)descriptor >= limit.rlim_cur / LIMIT_PART;
}

/* ---- Timers. ---- */

static bool open_timer(struct thread_clocks *clocks, const struct thread_clocks_rules *rules) {
    struct sigevent event = {.sigev_notify = SIGEV_THREAD_ID, .sigev_signo = rules->signal};
    const struct itimerspec time = {clock_timespec(rules->interval_ns),
                                    clock_timespec(rules->first_ns ? rules->first_ns : rules->interval_ns)};
    event.sigev_value.sival_ptr = clocks;
    event.sigev_notify_thread_id = (pid_t)clocks->tid;
    if (syscall(SYS_timer_create, task_cpu_clock(clocks->tid), &event, &clocks->timer) != 0) return false;
    if (syscall(SYS_timer_settime, clocks->timer, 0, &time, NULL) == 0) return true;
    syscall(SYS_timer_delete, clocks->timer);
    return false;
}

/* ---- Both. ---- */

bool thread_clocks_open(struct thread_clocks *clocks, uint32_t tid, const struct thread_clocks_rules *rules) {
    int signal = rules->signal;
    bool wants_event = rules->wants_event && can_have_event(signal);
    clocks->tid = tid;
    bool wants_first = wants_event && rules->first_ns && !are_descriptors_scarce;
    clocks->has_first = wants_first && open_event(&clocks->first, tid, signal, rules->first_ns, false);
    bool has_event = wants_event && !refusal && open_event(&clocks->event, tid, signal, rules->interval_ns, true);
    if (has_event) are_descriptors_scarce = is_beyond_part(clocks->event.file);
    __atomic_store_n(&clocks->has_event, has_event, __ATOMIC_RELEASE);
    __atomic_store_n(&clocks->has_timer, open_timer(clocks, rules), __ATOMIC_RELEASE);
    return clocks->has_event || clocks->has_timer;
}

void thread_clocks_close_first(struct thread_clocks *clocks) {
    if (clocks->has_first) syscall(SYS_close, clocks->first.file);
    clocks->has_first = false;
}

void thread_clocks_close(struct thread_clocks *clocks) {
    thread_clocks_close_first(clocks);
    if (clocks->has_event) syscall(SYS_close, clocks->event.file);
    if (clocks->has_timer) syscall(SYS_timer_delete, clocks->timer);
    __atomic_store_n(&clocks->has_event, false, __ATOMIC_RELEASE);
    __atomic_store_n(&clocks->has_timer, false, __ATOMIC_RELEASE);
}

static bool has_sent(const struct thread_event *event, const siginfo_t *info) {
    return info->si_fd == __atomic_load_n(&event->signal_file, __ATOMIC_RELAXED) - 1;
}

enum thread_clock thread_clocks_find(const struct thread_clocks *clocks, const siginfo_t *info) {
    if (info->si_code == SI_TIMER && info->si_value.sival_ptr == clocks) return THREAD_CLOCK_TIMER;
    if (info->si_code == POLL_HUP && has_sent(&clocks->first, info)) return THREAD_CLOCK_FIRST;
    return info->si_code == POLL_IN && has_sent(&clocks->event, info) ? THREAD_CLOCK_EVENT : NO_THREAD_CLOCK;
}
