/* Threads that take work from one queue under one lock. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREADS = 4, JOBS = 4000, VALUES = 20000 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;
static unsigned next_job;
static unsigned long total;

static int compare(const void *a, const void *b) {
    unsigned x = *(const unsigned *)a, y = *(const unsigned *)b;
    return (x > y) - (x < y);
}

__attribute__((noinline)) static unsigned long run_job(unsigned job, unsigned *values) {
    unsigned long sum = 0;
    for (unsigned i = 0; i < VALUES / 16; i++) values[i] = job = job * 1664525u + 1013904223u;
    qsort(values, VALUES / 16, sizeof *values, compare);
    for (unsigned i = 0; i < VALUES / 16; i++) sum += values[i] ^ i;
    return sum;
}

__attribute__((noinline)) static int take_job(unsigned *job) {
    pthread_mutex_lock(&lock);
    *job = next_job;
    int is_job = next_job < JOBS;
    next_job += (unsigned)is_job;
    pthread_mutex_unlock(&lock);
    return is_job;
}

static void *work(void *argument) {
    static __thread unsigned values[VALUES];
    unsigned job;
    while (take_job(&job)) {
        unsigned long sum = run_job(job, values);
        pthread_mutex_lock(&lock);
        total += sum;
        pthread_mutex_unlock(&lock);
    }
    return argument;
}

int main(void) {
    pthread_t threads[THREADS];
    for (int i = 0; i < THREADS; i++) {
        char name[16];
        pthread_create(&threads[i], NULL, work, NULL);
        snprintf(name, sizeof name, "worker %d", i);
        pthread_setname_np(threads[i], name);
    }
    for (int i = 0; i < THREADS; i++) pthread_join(threads[i], NULL);
    printf("%lu\n", total);
    return 0;
}
