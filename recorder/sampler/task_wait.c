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

static struct grec_label *find_label(long number) {
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++)
        if (waits[i].number == number) return &waits[i].label;
    return &other_wait;
}

/* The kernel's file has the number of the call, its arguments, sp and pc; or -1, sp and pc if the thread sleeps outside
 * a call; or "running". */
enum { ARGUMENT_COUNT = 6, TEXT_BYTES = 256 };

static void read_registers(struct task_wait *wait, char *at) {
    wait->sp = strtoull(at, &at, 16);
    wait->pc = strtoull(at, &at, 16);
}

/* The thread has touched memory that the kernel first has to read from a file, or that another thread has to provide
 * (userfaultfd). */
static void read_page_fault(struct task_wait *wait, char *at) {
    read_registers(wait, at);
    if (!wait->pc) return; /* the thread ends */
    wait->label = &page_wait;
}

static void read_call(struct task_wait *wait, long number, char *at) {
    for (int i = 0; i < ARGUMENT_COUNT; i++) strtoull(at, &at, 16);
    read_registers(wait, at);
    wait->label = find_label(number);
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

bool task_wait_is_told(uint32_t tid) {
    char text[TEXT_BYTES];
    return task_file_read(tid, text, sizeof text) > 0;
}
