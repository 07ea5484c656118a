#include "task_wait.h"

#include <stdlib.h>
#include <sys/syscall.h>

#include "recorder/state/hash.h"
#include "task_file.h"

static struct grec_category idle = GREC_CATEGORY("Idle", GREC_COLOR_TRANSPARENT);

#define WAIT(name) \
    { SYS_##name, GREC_LABEL_AT("(waits in " #name ")", &idle, NULL, 0) }

/* Calls in which programs wait most often. */
static struct wait {
    long number;
    struct grec_label label;
} waits[] = {
    WAIT(accept4),
    WAIT(clone),
    WAIT(close),
    WAIT(connect),
    WAIT(epoll_pwait),
    WAIT(execve),
    WAIT(fallocate),
    WAIT(fcntl),
    WAIT(fdatasync),
    WAIT(flock),
    WAIT(fsync),
    WAIT(ftruncate),
    WAIT(getdents64),
    WAIT(getrandom),
    WAIT(ioctl),
    WAIT(madvise),
    WAIT(mmap),
    WAIT(mprotect),
    WAIT(mq_timedreceive),
    WAIT(mq_timedsend),
    WAIT(msgrcv),
    WAIT(msgsnd),
    WAIT(msync),
    WAIT(munmap),
    WAIT(openat),
    WAIT(pread64),
    WAIT(preadv),
    WAIT(pwrite64),
    WAIT(pwritev),
    WAIT(read),
    WAIT(readv),
    WAIT(recvfrom),
    WAIT(recvmmsg),
    WAIT(recvmsg),
    WAIT(renameat),
    WAIT(restart_syscall),
    WAIT(rt_sigsuspend),
    WAIT(sendfile),
    WAIT(sendmmsg),
    WAIT(sendmsg),
    WAIT(sendto),
    WAIT(splice),
    WAIT(sync),
    WAIT(unlinkat),
    WAIT(waitid),
    WAIT(wait4),
    WAIT(write),
    WAIT(writev),
#ifdef SYS_accept
    WAIT(accept),
#endif
#ifdef SYS_nanosleep
    WAIT(nanosleep),
    WAIT(clock_nanosleep),
    WAIT(ppoll),
    WAIT(pselect6),
    WAIT(rt_sigtimedwait),
    WAIT(io_getevents),
    WAIT(futex),
#endif
#ifdef SYS_futex_waitv
    WAIT(futex_waitv),
#endif
#ifdef SYS_futex_wait
    WAIT(futex_wait),
#endif
#ifdef SYS_epoll_pwait2
    WAIT(epoll_pwait2),
#endif
#ifdef SYS_io_pgetevents
    WAIT(io_pgetevents),
#endif
#ifdef SYS_io_uring_enter
    WAIT(io_uring_enter),
#endif
#ifdef SYS_clone3
    WAIT(clone3),
#endif
#ifdef SYS_poll
    WAIT(poll),
    WAIT(epoll_wait),
    WAIT(pause),
    WAIT(open),
    WAIT(vfork),
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
    WAIT(futex_time64),
#endif
#ifdef SYS_semtimedop
    WAIT(semtimedop),
#endif
#ifdef SYS_semop
    WAIT(semop),
#endif
};
#undef WAIT

static struct grec_label other_wait = GREC_LABEL_AT("(waits in a system call)", &idle, NULL, 0);
static struct grec_label page_wait = GREC_LABEL_AT("(waits for a page)", &idle, NULL, 0);

/* When the time limit of these calls has passed, the kernel checks for signals once more. */
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
    SYS_ppoll,        SYS_pselect6,
#endif
#ifdef SYS_ppoll_time64
    SYS_ppoll_time64, SYS_pselect6_time64,
#endif
};

static bool is_cut_when_late(long number) {
    for (size_t i = 0; i < sizeof calls_cut_when_late / sizeof *calls_cut_when_late; i++)
        if (calls_cut_when_late[i] == number) return true;
    return false;
}

static struct grec_label *find_label(long number) {
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++)
        if (waits[i].number == number) return &waits[i].label;
    return &other_wait;
}

/* Calls that the kernel restarts after a handler with SA_RESTART without any effect, unless they have a time limit,
 * which is that argument. Other calls may have a limit that is not visible here, may be half done, or fail with EINTR
 * after any handler: signal(7), "Interruption of system calls and library functions by signal handlers". */
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

/* The kernel's file has the number of the call, its arguments, sp and pc; or -1, sp and pc if the thread sleeps outside
 * a call; or "running". */
enum { ARGUMENT_COUNT = 6, TEXT_BYTES = 256 };

static bool is_restarted(long number, const uint64_t arguments[ARGUMENT_COUNT]) {
    for (size_t i = 0; i < sizeof restarted_calls / sizeof *restarted_calls; i++) {
        int limit_argument = restarted_calls[i].limit_argument;
        if (restarted_calls[i].number == number) return limit_argument == NO_ARGUMENT || !arguments[limit_argument];
    }
    return false;
}

static void read_registers(struct task_wait *wait, char *at) {
    wait->sp = strtoull(at, &at, 16);
    wait->pc = strtoull(at, &at, 16);
}

/* The thread has touched memory that the kernel first has to read from a file, or that another thread has to provide
 * (userfaultfd). It would answer a signal after the wait. */
static void read_page_fault(struct task_wait *wait, char *at) {
    read_registers(wait, at);
    if (!wait->pc) return; /* the thread ends */
    wait->label = &page_wait;
    wait->forbids_signals = true;
}

static void read_call(struct task_wait *wait, long number, char *at) {
    uint64_t arguments[ARGUMENT_COUNT];
    for (int i = 0; i < ARGUMENT_COUNT; i++) arguments[i] = strtoull(at, &at, 16);
    read_registers(wait, at);
    wait->label = find_label(number);
    wait->forbids_signals = !is_restarted(number, arguments);
    wait->is_cut_when_late = is_cut_when_late(number);
}

struct task_wait task_wait_find(uint32_t tid) {
    char text[TEXT_BYTES], *end;
    size_t count = task_file_read(tid, text, sizeof text);
    long number = strtol(text, &end, 10);
    if (end == text) return (struct task_wait){.is_told = count > 0};
    struct task_wait wait = {.is_told = true, .fingerprint = hash_bytes(text, count)};
    if (number >= 0)
        read_call(&wait, number, end);
    else
        read_page_fault(&wait, end);
    return wait;
}

bool task_wait_was_interrupted(const struct grec_label *label, uint64_t pc, uint64_t interrupted_pc) {
    enum { CALL_BYTES_MAX = 4 };
    return label && interrupted_pc < pc && pc - interrupted_pc <= CALL_BYTES_MAX;
}

bool task_wait_is_told(uint32_t tid) {
    char text[TEXT_BYTES];
    return task_file_read(tid, text, sizeof text) > 0;
}
