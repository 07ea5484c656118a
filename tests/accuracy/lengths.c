/* Threads one after another, of two lengths: one that works for about 2.5 milliseconds, then three for 0.3. The sampler
 * finds few of the short ones before they end, and the long ones must not get their time. `threads` measures the stacks
 * of the long ones. */
#include <pthread.h>

#include "measure.h"

enum { LONG_US = 2500, SHORT_US = 300, SHORT_COUNT = 3 };
enum { PING, SERVE };

static volatile uint64_t sum;

__attribute__((noinline)) static void serve(uint64_t steps) { sum = work(1, steps); }

__attribute__((noinline)) static void ping(uint64_t steps) { sum = work(2, steps); }

struct task {
    struct measure *all;
    int function;
};

static void *run(void *context) {
    const struct task *task = context;
    struct measure measure = {.clock_ns = task->all->clock_ns};
    uint64_t steps = about(task->all, (task->function == SERVE ? LONG_US : SHORT_US) * STEPS_PER_US);
    uint64_t start_ns = thread_ns();
    if (task->function == SERVE)
        serve(steps);
    else
        ping(steps);
    measure.ns[task->function] = span_ns(&measure, start_ns, thread_ns());
    measure_end(&measure);
    measure_add(task->all, &measure);
    return NULL;
}

int main(int count, char **arguments) {
    static const char *const names[] = {"ping"};
    struct measure all, first;
    uint64_t end_ns = wanted_ns(count, arguments);
    measure_begin(&all, 1);
    first = all;
    for (int i = 0; all.total_ns < end_ns; i++) {
        pthread_t thread;
        struct task task = {&all, i % (1 + SHORT_COUNT) ? PING : SERVE};
        if (pthread_create(&thread, NULL, run, &task) != 0) return EXIT_FAILURE;
        pthread_join(thread, NULL);
    }
    measure_end(&first);
    measure_add(&all, &first);
    measure_print(&all, names, sizeof names / sizeof *names);
    return EXIT_SUCCESS;
}
