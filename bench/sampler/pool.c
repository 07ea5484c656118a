/* Runs threads that compute and threads that wait: pool BUSY IDLE ROUNDS [INTERVAL_US]. Prints the seconds that the
 * busy threads took, and the nanoseconds it takes to read the processor time of another thread. With an interval, one
 * more thread sends each busy thread a signal at that interval. The signal's handler does nothing, so this is the
 * minimum cost of any sampler that signals threads. */
#ifndef _GNU_SOURCE
#define _GNU_SOURCE
#endif
#include <pthread.h>
#include <sched.h>
#include <signal.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { THREADS_MAX = 256, STEPS = 2000000, CLOCK_READS = 20000, TURN_ROUNDS = 16 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;

static volatile bool is_over; /* the first busy thread has finished */

static double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Computes at a depth of twenty frames, as is usual in programs. */
static __attribute__((noinline)) uint64_t compute(int depth, uint64_t seed) {
    if (depth > 0) {
        uint64_t result = compute(depth - 1, seed);
        __asm__ volatile("" : "+r"(result));
        return result + 1;
    }
    for (int i = 0; i < STEPS; i++) seed = seed * 6364136223846793005u + 1442695040888963407u;
    return seed;
}

static void *work(void *rounds) {
    for (intptr_t i = 0; i < (intptr_t)rounds; i++) {
        uint64_t result = compute(20, (uint64_t)i);
        __asm__ volatile("" : : "r"(result));
    }
    is_over = true;
    return NULL;
}

static void *idle(void *unused) {
    (void)unused;
    pthread_mutex_lock(&mutex);
    for (;;) pthread_cond_wait(&never, &mutex);
    return NULL;
}

static pthread_t threads[THREADS_MAX], sender;
static int busy_count;

static void do_nothing(int number) { (void)number; }

/* Moves this thread to a processor, without pinning it there. The recorder's sampler does this too, so that no busy
 * thread bears the whole load. */
static void go_to_processor(int number) {
    cpu_set_t all, one;
    if (sched_getaffinity(0, sizeof all, &all) != 0 || !CPU_ISSET((size_t)number, &all)) return;
    CPU_ZERO(&one);
    CPU_SET((size_t)number, &one);
    sched_setaffinity(0, sizeof one, &one);
    sched_setaffinity(0, sizeof all, &all);
}

static void *signal_threads(void *interval_us) {
    struct timespec deadline;
    clock_gettime(CLOCK_MONOTONIC, &deadline);
    for (int round = 1; !is_over; round++) {
        deadline.tv_nsec += (intptr_t)interval_us * 1000;
        deadline.tv_sec += deadline.tv_nsec / 1000000000;
        deadline.tv_nsec %= 1000000000;
        clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &deadline, NULL);
        for (int i = 0; i < busy_count && !is_over; i++) pthread_kill(threads[i], SIGUSR1);
        if (round % TURN_ROUNDS == 0) go_to_processor(round / TURN_ROUNDS % busy_count);
    }
    return NULL;
}

static int start_signals(intptr_t interval_us) {
    const struct sigaction action = {.sa_handler = do_nothing, .sa_flags = SA_RESTART};
    if (!interval_us) return 0;
    sigaction(SIGUSR1, &action, NULL);
    return pthread_create(&sender, NULL, signal_threads, (void *)interval_us);
}

static double clock_read_ns(pthread_t thread) {
    clockid_t clock;
    struct timespec time;
    if (pthread_getcpuclockid(thread, &clock) != 0) return 0;
    double start = seconds_now();
    for (int i = 0; i < CLOCK_READS; i++) clock_gettime(clock, &time);
    return (seconds_now() - start) / CLOCK_READS * 1e9;
}

int main(int argc, char **argv) {
    int idle_count = argc > 2 ? atoi(argv[2]) : 30;
    intptr_t rounds = argc > 3 ? atoi(argv[3]) : 400, interval_us = argc > 4 ? atoi(argv[4]) : 0;
    pthread_t sleeper;
    busy_count = argc > 1 ? atoi(argv[1]) : 2;
    if (busy_count > THREADS_MAX || idle_count < 1) return 2;
    for (int i = 0; i < idle_count; i++)
        if (pthread_create(&sleeper, NULL, idle, NULL)) return 1;
    usleep(50000);
    double read_ns = clock_read_ns(sleeper), start = seconds_now();
    for (int i = 0; i < busy_count; i++)
        if (pthread_create(&threads[i], NULL, work, (void *)rounds)) return 1;
    if (busy_count && start_signals(interval_us)) return 1;
    if (!busy_count) usleep((useconds_t)rounds * 10000);
    if (busy_count && interval_us) pthread_join(sender, NULL);
    for (int i = 0; i < busy_count; i++) pthread_join(threads[i], NULL);
    printf("%.6f %.1f\n", seconds_now() - start, read_ns);
    return 0;
}
