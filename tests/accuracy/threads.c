/* Threads one after another that work for about three milliseconds each, in two functions: 60 and 40 % of the time. */
#include <pthread.h>

#include "measure.h"

enum { WORK_US = 3000, OPEN_PART = 3, CLOSE_PART = 2 };
enum { OPEN_REQUEST, CLOSE_REQUEST };

static volatile uint64_t sum;

__attribute__((noinline)) static void open_request(uint64_t steps) { sum = work(1, steps); }

__attribute__((noinline)) static void close_request(uint64_t steps) { sum = work(2, steps); }

static void *serve(void *all) {
    struct measure measure = {.clock_ns = ((struct measure *)all)->clock_ns};
    uint64_t steps = about(all, WORK_US * STEPS_PER_US) / (OPEN_PART + CLOSE_PART);
    uint64_t start_ns = thread_ns();
    open_request(steps * OPEN_PART);
    close_request(steps * CLOSE_PART);
    uint64_t ns = span_ns(&measure, start_ns, thread_ns());
    measure.ns[OPEN_REQUEST] = ns * OPEN_PART / (OPEN_PART + CLOSE_PART);
    measure.ns[CLOSE_REQUEST] = ns - measure.ns[OPEN_REQUEST];
    measure_end(&measure);
    measure_add(all, &measure);
    return NULL;
}

int main(int count, char **arguments) {
    static const char *const names[] = {"open_request", "close_request"};
    struct measure all, first;
    uint64_t end_ns = wanted_ns(count, arguments);
    measure_begin(&all, 1);
    first = all;
    while (all.total_ns < end_ns) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, serve, &all) != 0) return EXIT_FAILURE;
        pthread_join(thread, NULL);
    }
    measure_end(&first);
    measure_add(&all, &first);
    measure_print(&all, names, sizeof names / sizeof *names);
    return EXIT_SUCCESS;
}
