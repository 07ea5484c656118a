#include "task_wait.h"

#include <stdlib.h>
#include <sys/syscall.h>

#include "hash.h"
#include "task_file.h"

static struct grec_category idle = GREC_CATEGORY("Idle", GREC_COLOR_TRANSPARENT);

/* signal(7), "Interruption of system calls and library functions by signal handlers". */
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

static struct wait *find_wait(long number) {
    for (size_t i = 0; i < sizeof waits / sizeof *waits; i++)
        if (waits[i].number == number) return &waits[i];
    return NULL;
}

bool task_wait_is_cut_short(long number) { return find_wait(number) != NULL; }

/* The kernel's file has the number of the call, -1 where there is none, its arguments, sp and pc; or "running". */
enum { ARGUMENT_COUNT = 6, TEXT_BYTES = 256 };

static void read_registers(struct task_wait *wait, char *at) {
    for (int i = 0; i < ARGUMENT_COUNT; i++) strtoull(at, &at, 16);
    wait->sp = strtoull(at, &at, 16);
    wait->pc = strtoull(at, &at, 16);
}

struct task_wait task_wait_find(uint32_t tid) {
    char text[TEXT_BYTES], *end;
    size_t count = task_file_read(tid, text, sizeof text);
    long number = strtol(text, &end, 10);
    /* None: it runs. */
    if (end == text) return (struct task_wait){.fingerprint = 0};
    struct wait *known = find_wait(number);
    struct task_wait wait = {.fingerprint = hash_bytes(text, count), .label = known ? &known->label : NULL};
    if (wait.label) read_registers(&wait, end);
    return wait;
}

bool task_wait_is_told(uint32_t tid) {
    char text[TEXT_BYTES];
    return task_file_read(tid, text, sizeof text) > 0;
}
