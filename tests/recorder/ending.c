/* Ends in the way that its argument names, and prints a line about it. tests/unit/recorder/test_sampler_preload.c
 * runs this program with the recorder preloaded. The program itself does not use the recorder. */
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/syscall.h>
#include <time.h>
#include <unistd.h>

static void say_exit(void) {
    puts("at exit");
    fflush(stdout);
}

/* Runs long enough for the recorder to notice that the first thread has ended. */
static void *work(void *unused) {
    const struct timespec pause = {0, 300000000};
    nanosleep(&pause, NULL);
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
