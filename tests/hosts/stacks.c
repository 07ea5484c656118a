/* Test programs that run on stacks other than their threads' own, leave functions by jumps, or recurse deeply. */
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <ucontext.h>

#include "host.h"

/* ---- Coroutines. ---- */

enum { COROUTINE_COUNT = 4, PAGE_BYTES = 4096 };

static ucontext_t outside, coroutines[COROUTINE_COUNT];

__attribute__((noinline)) static void work_in_coroutine(void) {
    work_once();
    host_sum++;
}

__attribute__((noinline)) static void run_coroutine(int number) {
    for (;;) {
        work_in_coroutine();
        host_sum++;
        swapcontext(&coroutines[number], &outside);
    }
}

static void *map_stack(size_t bytes_count) {
    return mmap(NULL, bytes_count, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
}

/* Runs coroutines on stacks that are separated by unreadable pages. */
static void run_coroutines(void) {
    enum { STACK_BYTES = 16 * PAGE_BYTES };
    for (int i = 0; i < COROUTINE_COUNT; i++) {
        char *stack = map_stack(STACK_BYTES);
        mprotect(stack, PAGE_BYTES, PROT_NONE);
        getcontext(&coroutines[i]);
        coroutines[i].uc_stack = (stack_t){.ss_sp = stack, .ss_size = STACK_BYTES};
        makecontext(&coroutines[i], (void (*)(void))run_coroutine, 1, i);
    }
    for (long end_us = end_of_work_us(500); thread_cpu_us() < end_us;)
        for (int i = 0; i < COROUTINE_COUNT; i++) swapcontext(&outside, &coroutines[i]);
    puts("switched");
}

static void work_and_return(void) { work(400); }

static void run_on(void *stack, size_t bytes_count) {
    getcontext(&coroutines[0]);
    coroutines[0].uc_stack = (stack_t){.ss_sp = stack, .ss_size = bytes_count};
    coroutines[0].uc_link = &outside;
    makecontext(&coroutines[0], work_and_return, 0);
    swapcontext(&outside, &coroutines[0]);
}

/* Runs on a stack that is just large enough for a signal. The bytes on both sides of the stack must not change. */
static void run_on_small_stack(void) {
    enum { STACK_BYTES = 16384, AROUND_BYTES = 16384, UNTOUCHED = 0x5a };
    static unsigned char bytes[AROUND_BYTES + STACK_BYTES + AROUND_BYTES];
    int changed_count = 0;
    memset(bytes, UNTOUCHED, sizeof bytes);
    run_on(bytes + AROUND_BYTES, STACK_BYTES);
    for (size_t i = 0; i < AROUND_BYTES; i++)
        changed_count += (bytes[i] != UNTOUCHED) + (bytes[AROUND_BYTES + STACK_BYTES + i] != UNTOUCHED);
    printf("%d bytes changed\n", changed_count);
}

/* ---- Alternate signal stacks. ---- */

static void work_in_handler(int number) {
    (void)number;
    work(2);
}

/* Runs a handler on an alternate stack that is too small for a second handler. */
static void handle_on_other_stack(void) {
    enum { STACK_BYTES = 8192, SIGNAL_COUNT = 60 };
    const stack_t stack = {.ss_sp = malloc(STACK_BYTES), .ss_size = STACK_BYTES};
    struct sigaction action = {.sa_handler = work_in_handler, .sa_flags = SA_ONSTACK};
    printf("set %d\n", sigaltstack(&stack, NULL));
    sigaction(SIGUSR1, &action, NULL);
    for (int i = 0; i < SIGNAL_COUNT; i++) {
        raise(SIGUSR1);
        work(1);
    }
}

/* Installs an alternate stack that is too small for the kernel's signal frame on processors with large registers. */
static void have_small_stack(void) {
    enum { STACK_BYTES = 2748, BELOW_BYTES = 4096, UNTOUCHED = 0x77 };
    unsigned char *bytes = malloc(BELOW_BYTES + STACK_BYTES);
    const stack_t stack = {.ss_sp = bytes + BELOW_BYTES, .ss_size = STACK_BYTES};
    int changed_count = 0;
    if (!bytes) return;
    memset(bytes, UNTOUCHED, BELOW_BYTES + STACK_BYTES);
    printf("set %d\n", sigaltstack(&stack, NULL));
    work(400);
    for (size_t i = 0; i < BELOW_BYTES; i++) changed_count += bytes[i] != UNTOUCHED;
    printf("%d bytes changed\n", changed_count);
}

/* Asks for an alternate stack that is too small for any signal. The kernel refuses it, so the thread keeps its own. */
static void refuse_small_stack(void) {
    static unsigned char bytes[1024];
    const stack_t stack = {.ss_sp = bytes, .ss_size = sizeof bytes};
    int result = sigaltstack(&stack, NULL);
    printf("set %d: %s\n", result, strerror(errno));
    work(400);
}

/* A pointer, because the first call of a function by its name takes more stack. */
static void (*const volatile end_process)(int) = _exit;

static void end_at_once(int number) {
    (void)number;
    end_process(7);
}

/* Ends in a handler on a stack that has a little more room than the kernel's signal frame takes. The pages below it
 * cannot be written. */
static void end_on_small_stack(void) {
    enum { BELOW_PAGE_COUNT = 4, PAGE_COUNT = 8, ROOM_BYTES = 1024 };
    const long works_ms[] = {0, 4, 100};
    struct sigaction action = {.sa_handler = end_at_once, .sa_flags = SA_ONSTACK};
    char *pages = map_stack(PAGE_COUNT * PAGE_BYTES);
    const stack_t stack = {.ss_sp = pages + BELOW_PAGE_COUNT * PAGE_BYTES,
                           .ss_size = (size_t)sysconf(_SC_MINSIGSTKSZ) + ROOM_BYTES};
    mprotect(pages, BELOW_PAGE_COUNT * PAGE_BYTES, PROT_NONE);
    for (size_t i = 0; i < sizeof works_ms / sizeof *works_ms; i++) {
        fflush(stdout);
        pid_t pid = fork();
        if (!pid) {
            sigaltstack(&stack, NULL);
            sigaction(SIGUSR1, &action, NULL);
            work(works_ms[i]);
            raise(SIGUSR1);
        }
        printf("child %d\n", wait_for(pid));
    }
}

/* ---- Jumps. ---- */

static void jump(void) {
    static jmp_buf place;
    volatile long count = 0;
    for (long end_us = end_of_work_us(400); thread_cpu_us() < end_us;)
        if (!setjmp(place)) {
            count++;
            longjmp(place, 1);
        }
    printf("%s\n", count > 100 ? "jumped" : "stuck");
}

static sigjmp_buf outer_place;

static void jump_out(int number) {
    (void)number;
    siglongjmp(outer_place, 1);
}

/* Jumps out of signal handlers, which may interrupt any instruction. */
static void jump_out_of_handlers(void) {
    const struct itimerval often = {{0, 1000}, {0, 1000}}, never = {{0, 0}, {0, 0}};
    volatile int count = 0;
    signal(SIGALRM, jump_out);
    sigsetjmp(outer_place, 1);
    if (count++ == 0) setitimer(ITIMER_REAL, &often, NULL);
    while (count < 300) host_sum++;
    setitimer(ITIMER_REAL, &never, NULL);
    puts("jumped");
}

/* ---- Depth. ---- */

__attribute__((noinline)) static void go_deep(int depth) {
    volatile char room[64];
    room[0] = (char)depth;
    if (depth)
        go_deep(depth - 1);
    else
        work(300);
    host_sum += (unsigned long)room[0];
}

static void recurse(void) {
    go_deep(5000);
    puts("returned");
}

__attribute__((noinline)) static void never_return(unsigned long depth) {
    volatile char room[100000];
    room[0] = (char)depth;
    work(1);
    if (depth < ULONG_MAX) never_return(depth + 1);
    host_sum += (unsigned long)room[0];
}

static void overflow(void) { never_return(0); }

static const struct host_case cases[] = {
    {"coroutines", run_coroutines},
    {"small-stack", run_on_small_stack},
    {"handle-on-other-stack", handle_on_other_stack},
    {"have-small-stack", have_small_stack},
    {"refuse-small-stack", refuse_small_stack},
    {"end-on-small-stack", end_on_small_stack},
    {"jump", jump},
    {"jump-out-of-handlers", jump_out_of_handlers},
    {"recurse", recurse},
    {"overflow", overflow},
};

HOST_MAIN(cases)
