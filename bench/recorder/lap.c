#include "lap.h"

#include <inttypes.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { THREAD_COUNT_MAX = 64 };

struct lap {
    const struct lap_case *lap_case;
    uint64_t count; /* events of one lap */
    uint32_t thread_count;
    uint32_t arrived_count; /* threads that finished the warm-up; all leave wait_for_all together */
};

struct lap_thread {
    pthread_t thread;
    struct lap *lap;
    size_t cpu;
    double ns_per_event[LAP_COUNT];
};

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

static void pin_to(size_t cpu) {
    cpu_set_t set;
    CPU_ZERO(&set);
    CPU_SET(cpu, &set);
    (void)pthread_setaffinity_np(pthread_self(), sizeof set, &set);
}

/* Returns the CPU for a thread, counting down from the last CPU. The first CPU handles interrupts. */
static size_t cpu_of_thread(uint32_t index) {
    cpu_set_t set;
    size_t cpu;
    uint32_t skip;
    if (sched_getaffinity(0, sizeof set, &set)) return 0;
    skip = index % (uint32_t)CPU_COUNT(&set);
    for (cpu = CPU_SETSIZE - 1; cpu > 0; cpu--) {
        if (CPU_ISSET(cpu, &set) && skip-- == 0) break;
    }
    return cpu;
}

/* Waits for all threads. Spins, because a sleeping thread would wake up after the others have begun. */
static void wait_for_all(struct lap *lap) {
    __atomic_fetch_add(&lap->arrived_count, 1, __ATOMIC_ACQ_REL);
    while (__atomic_load_n(&lap->arrived_count, __ATOMIC_ACQUIRE) < lap->thread_count) {
        if (lap->thread_count > 2) sched_yield();
    }
}

static void *run_thread(void *context) {
    struct lap_thread *thread = context;
    struct lap *lap = thread->lap;
    uint64_t start_ns, end_ns;
    uint32_t lap_index;
    pin_to(thread->cpu);
    if (lap->lap_case->warm_up_count) lap->lap_case->run(lap->lap_case->warm_up_count);
    wait_for_all(lap);
    start_ns = now_ns();
    for (lap_index = 0; lap_index < LAP_COUNT; lap_index++) {
        lap->lap_case->run(lap->count);
        end_ns = now_ns();
        thread->ns_per_event[lap_index] = (double)(end_ns - start_ns) / (double)lap->count;
        start_ns = end_ns;
    }
    return NULL;
}

/* Returns the events of one lap. */
static uint64_t lap_events(const struct lap_case *lap_case, uint32_t thread_count, uint64_t count) {
    uint64_t limit = lap_case->event_limit / thread_count;
    if (lap_case->event_limit && count + lap_case->warm_up_count > limit) {
        count = limit > lap_case->warm_up_count ? limit - lap_case->warm_up_count : 0;
    }
    return count < LAP_COUNT ? 1 : count / LAP_COUNT;
}

static int run_case(const struct lap_case *lap_case, uint32_t thread_count, uint64_t count, const char *folder) {
    struct lap_thread threads[THREAD_COUNT_MAX];
    struct lap lap = {lap_case, lap_events(lap_case, thread_count, count), thread_count, 0};
    uint32_t index, lap_index;
    if (lap_case->start && lap_case->start(folder)) return 1;
    for (index = 0; index < thread_count; index++) {
        threads[index].lap = &lap;
        threads[index].cpu = cpu_of_thread(index);
        if (pthread_create(&threads[index].thread, NULL, run_thread, &threads[index])) {
            perror("pthread_create");
            exit(1); /* the other threads wait for this one */
        }
    }
    for (index = 0; index < thread_count; index++) pthread_join(threads[index].thread, NULL);
    printf("events %" PRIu64 "\n", (LAP_COUNT * lap.count + lap_case->warm_up_count) * thread_count);
    for (index = 0; index < thread_count; index++) {
        for (lap_index = 0; lap_index < LAP_COUNT; lap_index++)
            printf("ns %.4f\n", threads[index].ns_per_event[lap_index]);
    }
    if (lap_case->finish) lap_case->finish();
    return fflush(stdout) ? 1 : 0;
}

int lap_main(int argc, char **argv, const struct lap_case *cases, size_t case_count) {
    size_t index;
    uint64_t thread_count, count;
    if (argc == 2 && !strcmp(argv[1], "cases")) {
        for (index = 0; index < case_count; index++) puts(cases[index].name);
        return 0;
    }
    if (argc != 5) {
        fprintf(stderr, "%s: expects CASE THREADS EVENTS FOLDER\n", argv[0]);
        return 2;
    }
    thread_count = strtoull(argv[2], NULL, 10);
    count = strtoull(argv[3], NULL, 10);
    if (!count || !thread_count || thread_count > THREAD_COUNT_MAX) {
        fprintf(stderr, "%s: wants events, and from 1 to %d threads\n", argv[0], THREAD_COUNT_MAX);
        return 2;
    }
    for (index = 0; index < case_count; index++) {
        if (!strcmp(cases[index].name, argv[1])) return run_case(&cases[index], (uint32_t)thread_count, count, argv[4]);
    }
    fprintf(stderr, "%s: no case \"%s\"\n", argv[0], argv[1]);
    return 2;
}
