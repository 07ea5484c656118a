/* Test programs that depend on the numbers of their file descriptors, or close descriptors that they did not open. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/resource.h>

#include "host.h"

static void *do_nothing(void *unused) { return unused; }

static void start_thread(void) {
    pthread_t thread;
    if (pthread_create(&thread, NULL, do_nothing, NULL) == 0) pthread_join(thread, NULL);
}

/* Checks that each new descriptor of the program has the lowest free number. */
static void get_lowest(void) {
    enum { ROUND_COUNT = 300 };
    int wrong_count = 0;
    for (int i = 0; i < ROUND_COUNT; i++) {
        close(STDIN_FILENO);
        work(1);
        int file = open("/dev/null", O_RDONLY);
        wrong_count += file != STDIN_FILENO;
        if (file != STDIN_FILENO) dup2(file, STDIN_FILENO);
        if (i % 10 == 0) start_thread();
    }
    printf("%d wrong\n", wrong_count);
}

static void close_all(void) {
    enum { NUMBER_COUNT = 1024 };
    for (int i = 3; i < NUMBER_COUNT; i++) close(i);
}

/* Closes all descriptors except the standard ones, as daemons and their children do. */
static void close_unknown(void) {
    char text[8];
    int ends[2];
    close_all();
    close_range(3, ~0u, 0);
    work(100);
    int file = open("/proc/self/comm", O_RDONLY);
    printf("file %d, %zd bytes\n", file, read(file, text, 4));
    if (pipe(ends) == 0) printf("pipe %d %d\n", ends[0], ends[1]);
    work(100);
    fflush(stdout);
    pid_t pid = fork();
    if (!pid) {
        work(50);
        _exit(3);
    }
    printf("child %d\n", wait_for(pid));
}

/* Takes the descriptor numbers that the recorder may have used before. */
static void take_numbers(void) {
    enum { FILE_COUNT = 600, WRITE_COUNT = 100 };
    static int files[FILE_COUNT];
    int wrong_count = 0;
    close_all();
    for (int i = 0; i < FILE_COUNT; i++) {
        char name[32];
        snprintf(name, sizeof name, "taken-%d", i);
        files[i] = open(name, O_RDWR | O_CREAT | O_TRUNC, 0600);
        unlink(name);
    }
    for (int round = 0; round < WRITE_COUNT; round++) {
        work(1);
        for (int i = 0; i < FILE_COUNT; i++) wrong_count += write(files[i], "x", 1) != 1;
    }
    for (int i = 0; i < FILE_COUNT; i++) wrong_count += lseek(files[i], 0, SEEK_END) != WRITE_COUNT;
    printf("first %d, %d wrong\n", files[0], wrong_count);
}

static void open_and_copy(void) {
    int file = open("/dev/null", O_RDONLY), copy = dup(STDOUT_FILENO);
    printf("file %d, copy %d\n", file, copy);
}

/* Checks that a pipe which the program closes is really closed: its reader sees the end of the file. */
static void close_pipe(void) {
    int ends[2];
    char byte;
    if (pipe(ends) != 0) return;
    work(50);
    close(ends[1]);
    printf("read %zd\n", read(ends[0], &byte, 1));
}

static void forbid_files(void) {
    const struct rlimit limit = {3, 3};
    setrlimit(RLIMIT_NOFILE, &limit);
    work(200);
    int file = open("/dev/null", O_RDONLY);
    printf("file %d, %s\n", file, strerror(errno));
    fflush(stdout);
    pid_t pid = fork();
    if (!pid) {
        work(50);
        _exit(4);
    }
    printf("child %d\n", wait_for(pid));
}

static const struct host_case cases[] = {
    {"get-lowest", get_lowest},       {"close-unknown", close_unknown}, {"take-numbers", take_numbers},
    {"open-and-copy", open_and_copy}, {"close-pipe", close_pipe},       {"forbid-files", forbid_files},
};

HOST_MAIN(cases)
