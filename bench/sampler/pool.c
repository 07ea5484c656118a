/* Threads that compute, and threads that wait: pool BUSY IDLE ROUNDS. Prints the seconds that the busy ones took, and
 * what it costs to read the processor time of another thread, in nanoseconds. */
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <time.h>
#include <unistd.h>

enum { THREADS_MAX = 256, STEPS = 2000000, CLOCK_READS = 20000 };

static pthread_mutex_t mutex = PTHREAD_MUTEX_INITIALIZER;
static pthread_cond_t never = PTHREAD_COND_INITIALIZER;

static double seconds_now(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

/* Twenty frames deep, as programs are. */
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
    static volatile uint64_t sink;
    for (intptr_t i = 0; i < (intptr_t)rounds; i++) sink += compute(20, (uint64_t)i);
    return NULL;
}

static void *idle(void *unused) {
    (void)unused;
    pthread_mutex_lock(&mutex);
    for (;;) pthread_cond_wait(&never, &mutex);
    return NULL;
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
    int busy_count = argc > 1 ? atoi(argv[1]) : 2, idle_count = argc > 2 ? atoi(argv[2]) : 30;
    intptr_t rounds = argc > 3 ? atoi(argv[3]) : 400;
    pthread_t threads[THREADS_MAX], sleeper;
    if (busy_count > THREADS_MAX || idle_count < 1) return 2;
    for (int i = 0; i < idle_count; i++)
        if (pthread_create(&sleeper, NULL, idle, NULL)) return 1;
    usleep(50000);
    double read_ns = clock_read_ns(sleeper), start = seconds_now();
    for (int i = 0; i < busy_count; i++)
        if (pthread_create(&threads[i], NULL, work, (void *)rounds)) return 1;
    if (!busy_count) usleep((useconds_t)rounds * 10000);
    for (int i = 0; i < busy_count; i++) pthread_join(threads[i], NULL);
    printf("%.6f %.1f\n", seconds_now() - start, read_ns);
    return 0;
}
