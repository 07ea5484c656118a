/* Several threads that do the same work, each with measures of its own. */
#pragma once

#include <pthread.h>

#include "measure.h"

enum { WORKER_COUNT = 4 };

struct worker {
    pthread_t thread;
    struct measure measure;
    uint64_t seed;
    uint64_t end_ns; /* processor time that the thread is to use */
};

/* Runs the threads until they have used `ns` of processor time together, and prints what they have measured. Returns
 * the program's exit status. */
static inline int run_workers(void *(*run)(void *worker), uint64_t ns, const char *const *names, size_t name_count) {
    static struct worker workers[WORKER_COUNT];
    struct measure sum;
    measure_begin(&sum, 0);
    for (uint64_t i = 0; i < WORKER_COUNT; i++) {
        workers[i].seed = i + 1;
        workers[i].end_ns = ns / WORKER_COUNT;
        if (pthread_create(&workers[i].thread, NULL, run, &workers[i]) != 0) return EXIT_FAILURE;
    }
    for (int i = 0; i < WORKER_COUNT; i++) pthread_join(workers[i].thread, NULL);
    measure_end(&sum);
    for (int i = 0; i < WORKER_COUNT; i++) measure_add(&sum, &workers[i].measure);
    measure_print(&sum, names, name_count);
    return EXIT_SUCCESS;
}
