/* Two threads that compute, forty calls deep. Prints the processor time that this took, in milliseconds, and when it
 * ended, in seconds of CLOCK_MONOTONIC. With SECONDS, it is done again and again for so long.
 * usage: record-work ROUNDS [SECONDS] */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { THREAD_COUNT = 2, DEPTH = 40, STEPS_PER_ROUND = 1000000, PAUSE_US = 2000 };

static volatile uint64_t sum;

__attribute__((noinline)) static uint64_t compute(int depth, uint64_t value, long step_count) {
    volatile char room[128] = {0};
    if (depth) return compute(depth - 1, value + (uint64_t)room[0], step_count) + 1;
    for (long i = 0; i < step_count; i++) value = value * 6364136223846793005U + 1;
    return value;
}

static void *run(void *argument) {
    sum = compute(DEPTH, 1, *(long *)argument * STEPS_PER_ROUND);
    return NULL;
}

static double seconds(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

int main(int count, char **arguments) {
    pthread_t threads[THREAD_COUNT];
    long round_count = count > 1 ? strtol(arguments[1], NULL, 10) : 100;
    double end_s = seconds(CLOCK_MONOTONIC) + (count > 2 ? strtod(arguments[2], NULL) : 0);
    do {
        for (int i = 0; i < THREAD_COUNT; i++) pthread_create(&threads[i], NULL, run, &round_count);
        for (int i = 0; i < THREAD_COUNT; i++) pthread_join(threads[i], NULL);
        if (count > 2) usleep(PAUSE_US);
    } while (seconds(CLOCK_MONOTONIC) < end_s);
    printf("%.3f %.6f\n", seconds(CLOCK_PROCESS_CPUTIME_ID) * 1e3, seconds(CLOCK_MONOTONIC));
}
