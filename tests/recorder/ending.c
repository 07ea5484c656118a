/* Ends in the way that its argument names, and prints a line about it. tests/unit/recorder/test_sampler_preload.c
 * runs this program with the recorder preloaded. The program itself does not use the recorder. */
#include <pthread.h>
#include <sched.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <unistd.h>

static void say_exit(void) {
    puts("at exit");
    fflush(stdout);
}

/* The kernel keeps the first thread as a zombie until the others end. */
static bool has_first_ended(void) {
    char path[64], state = 0;
    snprintf(path, sizeof path, "/proc/self/task/%d/stat", getpid());
    FILE *file = fopen(path, "r");
    bool is_read = file && fscanf(file, "%*d (%*[^)]) %c", &state) == 1;
    if (file) fclose(file);
    return is_read && state == 'Z';
}

/* Runs until the first thread has ended, which the recorder may then notice. */
static void *work(void *unused) {
    while (!has_first_ended()) sched_yield();
    puts("worked");
    fflush(stdout);
    return unused;
}

int main(int count, char **arguments) {
    pthread_t thread;
    const char *way = count > 1 ? arguments[1] : "";
    atexit(say_exit);
    if (strstr(way, "worker") && pthread_create(&thread, NULL, work, NULL) != 0) return 1;
    if (strstr(way, "raw")) syscall(SYS_exit, 5);
    pthread_exit(NULL);
}
