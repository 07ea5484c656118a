/* Starts threads one after another, which work for some milliseconds each, and prints for how many nanoseconds of
 * processor time. tests/unit/recorder/test_sampler_preload.c runs this program with the recorder preloaded. The program
 * itself does not use the recorder, but for waiting: each thread ends some rounds of the sampler after its start. */
#include <dlfcn.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

enum { THREAD_COUNT = 30 };

static const uint64_t WORK_NS = 3000000;

static int (*wait_for_sampling)(void);

static uint64_t thread_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void *serve(void *total_ns) {
    wait_for_sampling();
    uint64_t end_ns = thread_ns() + WORK_NS;
    while (thread_ns() < end_ns) continue;
    *(uint64_t *)total_ns += WORK_NS;
    return NULL;
}

int main(void) {
    uint64_t total_ns = 0;
    void *function = dlsym(RTLD_DEFAULT, "grec_wait_for_sampling");
    if (!function) return 1;
    memcpy(&wait_for_sampling, &function, sizeof function);
    for (int i = 0; i < THREAD_COUNT; i++) {
        pthread_t thread;
        if (pthread_create(&thread, NULL, serve, &total_ns) != 0) return 1;
        pthread_join(thread, NULL);
    }
    printf("%llu\n", (unsigned long long)total_ns);
}
