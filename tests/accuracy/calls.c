/* Some microseconds of work, then a cheap system call. A sampler that finds threads only at system calls, or at their
 * ends, shows the call in place of the work.
 *
 * Reading a clock takes as long as the call. So the program measures many calls with work, the same work alone, and
 * calls alone. The difference of the first two is what the calls took between work. Each of the three takes longer than
 * a clock tick, so that the ticks are spread more evenly over them than by chance. */
#include <sys/syscall.h>
#include <unistd.h>

#include "measure.h"

enum { WORK_US = 4, WORK_COUNT = 2500, CALL_COUNT = 15000 };
enum { USER_WORK, ASK_KERNEL };

static volatile uint64_t sum;

__attribute__((noinline)) static void user_work(uint64_t steps) { sum = work(sum, steps); }

/* The recorder interposes `syscall`. No stack may show that. */
__attribute__((noinline)) static void ask_kernel(void) { sum = sum + (uint64_t)syscall(SYS_getppid); }

__attribute__((noinline)) static void work_and_ask(uint64_t steps) {
    for (int i = 0; i < WORK_COUNT; i++) {
        user_work(steps);
        ask_kernel();
    }
}

__attribute__((noinline)) static void work_alone(uint64_t steps) {
    for (int i = 0; i < WORK_COUNT; i++) user_work(steps);
}

__attribute__((noinline)) static void ask_alone(void) {
    for (int i = 0; i < CALL_COUNT; i++) ask_kernel();
}

int main(int count, char **arguments) {
    static const char *const names[] = {"user_work", "ask_kernel"};
    uint64_t end_ns = wanted_ns(count, arguments);
    struct measure measure;
    measure_begin(&measure, 2);
    while (thread_ns() < end_ns) {
        uint64_t steps = about(&measure, WORK_US * STEPS_PER_US), start_ns = thread_ns();
        work_and_ask(steps);
        uint64_t both_ns = thread_ns();
        work_alone(steps);
        uint64_t alone_ns = thread_ns();
        ask_alone();
        uint64_t work_ns = alone_ns - both_ns;
        measure.ns[USER_WORK] += 2 * work_ns;
        /* If one difference is negative by chance, the sum of all is still right, since unsigned numbers wrap around.
         */
        measure.ns[ASK_KERNEL] += both_ns - start_ns - work_ns + thread_ns() - alone_ns;
    }
    measure_end(&measure);
    measure_print(&measure, names, sizeof names / sizeof *names);
    return 0;
}
