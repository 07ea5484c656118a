/* Starts threads one after another, which work for some milliseconds each, and as long again while they end. Prints for
 * how many nanoseconds of processor time. With an argument, it does so under a filter of system calls.
 * tests/unit/recorder/test_sampler_preload.c runs this program with the recorder preloaded. The program itself does not
 * use the recorder, but for waiting: each thread ends some rounds of the sampler after its start. */
#include <dlfcn.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

enum { THREAD_COUNT = 30 };

static const uint64_t WORK_NS = 3000000;

static int (*wait_for_sampling)(void);

static uint64_t thread_ns(void) {
    struct timespec time;
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &time);
    return (uint64_t)time.tv_sec * 1000000000 + (uint64_t)time.tv_nsec;
}

static void work(void *total_ns) {
    uint64_t end_ns = thread_ns() + WORK_NS;
    while (thread_ns() < end_ns) continue;
    *(uint64_t *)total_ns += WORK_NS;
}

static pthread_key_t key;

static void *serve(void *total_ns) {
    wait_for_sampling();
    pthread_setspecific(key, total_ns);
    work(total_ns);
    return NULL;
}

/* Executes the program again, under a filter that allows all system calls, as those of containers allow most. */
static void execute_under_filter(char *program) {
    struct sock_filter all[] = {BPF_STMT(BPF_RET | BPF_K, SECCOMP_RET_ALLOW)};
    const struct sock_fprog filter = {1, all};
    char *const arguments[] = {program, NULL};
    prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0);
    if (prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &filter) == 0) execv(program, arguments);
    exit(1);
}

int main(int count, char **arguments) {
    uint64_t total_ns = 0;
    if (count > 1) execute_under_filter(arguments[0]);
    if (pthread_key_create(&key, work) != 0) return 1;
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
