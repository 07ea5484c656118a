/* Measures what a marker costs if many processes record into one trace of limited size, with their samplers:
 *
 *     processes PROCESSES SECONDS TRACE
 *
 * Each process has four threads, which record laps of 1000 markers with pauses. A lap's cost is the processor time of
 * its thread. Prints the median of all laps for the median process and for the slowest one. */
#include <gecko_recorder.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

enum {
    PROCESS_COUNT_MAX = 1024,
    THREAD_COUNT = 4,
    LAP_COUNT_MAX = 1000,
    MARKER_COUNT = 1000,
    PAUSE_US = 20000,
    LIMIT_BYTES = 64 << 20
};

static struct grec_marker marker = GREC_MARKER("lap", GREC_OTHER, NULL);

/* The laps of one process; shared with the first one. */
struct laps {
    double ns[THREAD_COUNT][LAP_COUNT_MAX];
    int counts[THREAD_COUNT];
};

struct worker {
    struct laps *laps;
    int number;
    double seconds;
};

static double seconds_of(clockid_t clock) {
    struct timespec now;
    clock_gettime(clock, &now);
    return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static void *record(void *context) {
    struct worker *worker = context;
    double end = seconds_of(CLOCK_MONOTONIC) + worker->seconds;
    int lap = 0;
    grec_thread_register("worker");
    for (; lap < LAP_COUNT_MAX && seconds_of(CLOCK_MONOTONIC) < end; lap++) {
        double start = seconds_of(CLOCK_THREAD_CPUTIME_ID);
        for (int i = 0; i < MARKER_COUNT; i++) grec_instant(&marker, NULL, 0);
        worker->laps->ns[worker->number][lap] = (seconds_of(CLOCK_THREAD_CPUTIME_ID) - start) * 1e9 / MARKER_COUNT;
        usleep(PAUSE_US);
    }
    worker->laps->counts[worker->number] = lap;
    return NULL;
}

static void run_process(struct laps *laps, double seconds) {
    pthread_t threads[THREAD_COUNT];
    struct worker workers[THREAD_COUNT];
    for (int i = 0; i < THREAD_COUNT; i++) {
        workers[i] = (struct worker){laps, i, seconds};
        if (pthread_create(&threads[i], NULL, record, &workers[i]) != 0) exit(1);
    }
    for (int i = 0; i < THREAD_COUNT; i++) pthread_join(threads[i], NULL);
    exit(0);
}

static int compare(const void *left, const void *right) {
    const double *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

static double median(double *numbers, size_t count) {
    qsort(numbers, count, sizeof *numbers, compare);
    return count ? numbers[count / 2] : 0;
}

static double median_of_process(const struct laps *laps) {
    static double all[THREAD_COUNT * LAP_COUNT_MAX];
    size_t count = 0;
    for (int i = 0; i < THREAD_COUNT; i++)
        for (int lap = 0; lap < laps->counts[i]; lap++) all[count++] = laps->ns[i][lap];
    return median(all, count);
}

int main(int argument_count, char **arguments) {
    size_t process_count = argument_count == 4 ? strtoul(arguments[1], NULL, 10) : 0;
    if (!process_count || process_count > PROCESS_COUNT_MAX) return 2;
    struct grec_options options = {.path = arguments[3], .limit_bytes = LIMIT_BYTES, .flags = GREC_SAMPLER};
    struct laps *laps =
        mmap(NULL, process_count * sizeof *laps, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    static double medians[PROCESS_COUNT_MAX];
    if (laps == MAP_FAILED || grec_start(&options) != GREC_OK) return 1;
    for (size_t i = 0; i < process_count; i++)
        if (fork() == 0) run_process(&laps[i], atof(arguments[2]));
    while (wait(NULL) > 0) continue;
    struct grec_status status;
    grec_get_status(&status);
    for (size_t i = 0; i < process_count; i++) medians[i] = median_of_process(&laps[i]);
    double typical_ns = median(medians, process_count);
    printf(
        "%zu processes: marker %.1f ns, in the slowest process %.1f ns; %llu of %llu bytes, %llu chunks recycled, %llu "
        "events lost\n",
        process_count, typical_ns, medians[process_count - 1], (unsigned long long)status.size_bytes,
        (unsigned long long)status.limit_bytes, (unsigned long long)status.chunks_recycled,
        (unsigned long long)status.events_lost);
    return 0;
}
