/* Test programs that have many threads, have threads that the C library does not know, or whose first thread ends
 * first. */
#include <dlfcn.h>
#include <poll.h>
#include <pthread.h>
#include <sched.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/mman.h>
#include <sys/syscall.h>

#include "host.h"

/* ---- Threads created by the system call alone. ---- */

enum { RAW_FLAGS = CLONE_VM | CLONE_FS | CLONE_FILES | CLONE_SIGHAND | CLONE_THREAD | CLONE_SYSVSEM };

/* Runs as a thread without touching the C library or any thread-local storage. */
__attribute__((no_stack_protector)) static int run_raw(void *argument) {
    for (int i = 0; i < 100; i++) {
        for (volatile int j = 0; j < 1500000; j++) {
        }
        __asm__ volatile("" ::: "memory");
    }
    atomic_store((atomic_int *)argument, 1);
    return 0;
}

static char *raw_stack(void) {
    enum { STACK_BYTES = 1 << 20 };
    char *stack = mmap(NULL, STACK_BYTES, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    return stack + STACK_BYTES;
}

static void wait_for_raw(atomic_int *is_over) {
    while (!atomic_load(is_over)) usleep(1000);
    puts("ended");
}

/* Runs a raw thread that uses its creator's thread-local storage. */
static void run_raw_thread(void) {
    static atomic_int is_over;
    clone(run_raw, raw_stack(), RAW_FLAGS, &is_over);
    wait_for_raw(&is_over);
}

/* Runs a raw thread with thread-local storage that only the program knows. */
static void run_with_own_storage(void) {
    static atomic_int is_over;
    static uintptr_t storage[512];
    storage[256] = (uintptr_t)&storage[256];
    clone(run_raw, raw_stack(), RAW_FLAGS | CLONE_SETTLS, &is_over, NULL, &storage[256], NULL);
    wait_for_raw(&is_over);
}

/* ---- Many threads. ---- */

static void *wait_a_little(void *unused) {
    poll(NULL, 0, 100);
    return unused;
}

static void *do_nothing(void *unused) { return unused; }

static void start_many(void) {
    enum { WAITING_COUNT = 1000, SHORT_COUNT = 2000, STACK_BYTES = 65536 };
    static pthread_t threads[WAITING_COUNT];
    pthread_attr_t attributes;
    int count = 0, short_count = 0;
    pthread_attr_init(&attributes);
    pthread_attr_setstacksize(&attributes, STACK_BYTES);
    for (int i = 0; i < WAITING_COUNT; i++)
        count += pthread_create(&threads[count], &attributes, wait_a_little, NULL) == 0;
    for (int i = 0; i < count; i++) pthread_join(threads[i], NULL);
    work(50);
    for (int i = 0; i < SHORT_COUNT; i++) {
        pthread_t thread;
        if (pthread_create(&thread, &attributes, do_nothing, NULL) != 0) continue;
        short_count++;
        pthread_join(thread, NULL);
    }
    printf("%d waited, %d were short\n", count, short_count);
}

/* ---- Threads that outlive the first one. ---- */

static void *work_on(void *unused) {
    work(300);
    puts("worked");
    return unused;
}

static void print_exit(void) { puts("at exit"); }

/* Ends the first thread. The last thread calls exit, which flushes the printed text. */
static void end_first_thread(void) {
    pthread_t thread;
    atexit(print_exit);
    pthread_create(&thread, NULL, work_on, NULL);
    pthread_exit(NULL);
}

static void execute_beside_threads(void) {
    enum { THREAD_COUNT = 50 };
    for (int i = 0; i < THREAD_COUNT; i++) {
        pthread_t thread;
        pthread_create(&thread, NULL, wait_a_little, NULL);
    }
    work(50);
    execlp("echo", "echo", "executed", (char *)NULL);
}

/* ---- Libraries that are loaded and unloaded. ---- */

static void load_and_unload(void) {
    enum { ROUND_COUNT = 200 };
    int found_count = 0;
    for (int i = 0; i < ROUND_COUNT; i++) {
        void *library = dlopen("libm.so.6", RTLD_NOW | RTLD_LOCAL);
        void *function = library ? dlsym(library, "cbrt") : NULL;
        found_count += function != NULL;
        work_once();
        if (library) dlclose(library);
    }
    printf("found %d times\n", found_count);
}

static const struct host_case cases[] = {
    {"raw-thread", run_raw_thread},
    {"own-storage", run_with_own_storage},
    {"start-many", start_many},
    {"end-first-thread", end_first_thread},
    {"execute-beside-threads", execute_beside_threads},
    {"load-and-unload", load_and_unload},
};

HOST_MAIN(cases)
