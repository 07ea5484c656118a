#include "task_wait.h"

#include <stdlib.h>
#include <sys/syscall.h>

#include "hash.h"
#include "task_file.h"

static struct grec_category idle = GREC_CATEGORY("Idle", GREC_COLOR_TRANSPARENT);

/* signal(7), "Interruption of system calls and library functions by signal handlers": what ends with EINTR behind any
 * handler. */
static struct wait {
    long number;
    struct grec_label label;
} waits[] = {
#define WAIT(name) \
    { SYS_##name, GREC_LABEL_AT("(waits in " #name ")", &idle, NULL, 0) }
#ifdef SYS_nanosleep
    WAIT(nanosleep),
    WAIT(clock_nanosleep),
    WAIT(ppoll),
    WAIT(pselect6),
    WAIT(rt_sigtimedwait),
    WAIT(io_getevents),
#endif
    WAIT(epoll_pwait),
#ifdef SYS_epoll_pwait2
    WAIT(epoll_pwait2),
#endif
    WAIT(rt_sigsuspend),
    WAIT(msgrcv),
#ifdef SYS_io_pgetevents
    WAIT(io_pgetevents),
#endif
#ifdef SYS_poll
    WAIT(poll),
    WAIT(epoll_wait),
    WAIT(pause),
#endif
#ifdef SYS_select
    WAIT(select),
#endif
#ifdef SYS__newselect
    WAIT(_newselect),
#endif
#ifdef SYS_clock_nanosleep_time64
    WAIT(clock_nanosleep_time64),
    WAIT(ppoll_time64),
    WAIT(pselect6_time64),
    WAIT(rt_sigtimedwait_time64),
    WAIT(io_pgetevents_time64),
    WAIT(semtimedop_time64),
#endif
#ifdef SYS_semtimedop
    WAIT(semtimedop),
#endif
#ifdef SYS_semop
    WAIT(semop),
#endif
#undef WAIT
};

/* The kernel looks for signals once more when the time limit of these has passed. */
static const long calls_cut_when_late[] = {
#ifdef SYS_poll
    SYS_poll,
#endif
#ifdef SYS_select
    SYS_select,
#endif
#ifdef SYS__newselect
    SYS__newselect,
#endif
#ifdef SYS_ppoll
    SYS_ppoll,
    SYS_pselect6,
#endif
#ifdef SYS_ppoll_time64
    SYS_ppoll_time64,
    SYS_pselect6_time64,
#endif
};

static bool is_cut_when_late(long number) {
    for (size_t i = 0; i < sizeof calls_cut_when_late / sizeof *calls_cut_when_late; i++)
        if (calls_cut_when_late[i] == number) return true;
    return false;
}

static struct wait *find_wait(long number) {
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++)
        if (waits[i].number == number) return &waits[i];
    return NULL;
}

/* What the kernel makes again behind a handler with SA_RESTART, as if nothing had been: not with a time limit, which
 * is that argument. Others may have a limit that is not seen here, or have transferred half of what they are to. */
enum { NO_ARGUMENT = -1 };
static const struct {
    long number;
    int limit_argument;
} restarted_calls[] = {
#ifdef SYS_futex
    {SYS_futex, 3},
#endif
#ifdef SYS_futex_time64
    {SYS_futex_time64, 3},
#endif
#ifdef SYS_wait4
    {SYS_wait4, NO_ARGUMENT},
#endif
#ifdef SYS_fcntl
    {SYS_fcntl, NO_ARGUMENT},
#endif
#ifdef SYS_fcntl64
    {SYS_fcntl64, NO_ARGUMENT},
#endif
    {SYS_waitid, NO_ARGUMENT},
    {SYS_flock, NO_ARGUMENT},
    {SYS_openat, NO_ARGUMENT},
};

/* The kernel's file has the number of the call, its arguments, sp and pc; -1, sp and pc where a thread sleeps in none;
 * or "running". */
enum { ARGUMENT_COUNT = 6, TEXT_BYTES = 256 };

static bool is_restarted(long number, const uint64_t arguments[ARGUMENT_COUNT]) {
    for (size_t i = 0; i < sizeof restarted_calls / sizeof *restarted_calls; i++) {
        int limit_argument = restarted_calls[i].limit_argument;
        if (restarted_calls[i].number == number) return limit_argument == NO_ARGUMENT || !arguments[limit_argument];
    }
    return false;
}

static void read_call(struct task_wait *wait, long number, char *at) {
    uint64_t arguments[ARGUMENT_COUNT];
    for (int i = 0; i < ARGUMENT_COUNT; i++) arguments[i] = strtoull(at, &at, 16);
    wait->sp = strtoull(at, &at, 16);
    wait->pc = strtoull(at, &at, 16);
    struct wait *known = find_wait(number);
    wait->label = known ? &known->label : NULL;
    wait->is_left_in_peace = known || !is_restarted(number, arguments);
    wait->is_cut_when_late = is_cut_when_late(number);
}

struct task_wait task_wait_find(uint32_t tid) {
    char text[TEXT_BYTES], *end;
    size_t count = task_file_read(tid, text, sizeof text);
    long number = strtol(text, &end, 10);
    if (end == text) return (struct task_wait){.is_told = count > 0};
    struct task_wait wait = {.is_told = true, .fingerprint = hash_bytes(text, count)};
    if (number >= 0) read_call(&wait, number, end);
    return wait;
}

bool task_wait_is_told(uint32_t tid) {
    char text[TEXT_BYTES];
    return task_file_read(tid, text, sizeof text) > 0;
}
