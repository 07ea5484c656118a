/* A small server that forks its workers before there is work, and runs a program for one kind of request. It plays its
 * own clients. `make profile` records all processes with perf and the recorder at once.
 *
 *     ./server [REQUESTS]     a parent, WORKER_COUNT workers with two threads each, and a helper that worker 0 executes
 */
#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include <gecko_recorder.h>

enum { WORKER_COUNT = 3, REQUESTS_DEFAULT = 60, PAGE_WORDS = 20000 };

static struct grec_category network = GREC_CATEGORY("Network", GREC_COLOR_LIGHTBLUE);
static struct grec_category work = GREC_CATEGORY("Work", GREC_COLOR_GREEN);
static const struct grec_field request_fields[] = {
    GREC_FIELD("number", "Number", GREC_FORMAT_INTEGER),
    GREC_FIELD("checksum", "Checksum", GREC_FORMAT_INTEGER),
};
static struct grec_marker_type request_type = GREC_MARKER_TYPE("Request", request_fields);

/* Stands for what a server computes. */
static uint64_t render_page(uint64_t number) {
    uint64_t state = number | 1;
    GREC_LABEL("render page", &work);
    for (unsigned i = 0; i < PAGE_WORDS * 20; i++) state = state * 6364136223846793005u + (state >> 33);
    return state >> 40;
}

static uint64_t compress_page(uint64_t number) {
    uint64_t sum = 0;
    GREC_LABEL("compress page", &work);
    for (uint64_t i = 0; i < 20; i++) sum ^= render_page(number + i) / 7;
    return sum;
}

static void answer(uint64_t number) {
    grec_time start = grec_now();
    GREC_LABEL("answer", &network);
    uint64_t checksum = render_page(number) ^ render_page(number + 1);
    GREC_INTERVAL_WITH("request", &network, &request_type, start, GREC_INT((int64_t)number),
                       GREC_INT((int64_t)checksum));
}

/* Takes requests from the pipe until it is closed. */
static void *take_requests(void *context) {
    int requests = *(const int *)context;
    uint64_t number;
    while (read(requests, &number, sizeof number) == sizeof number) answer(number);
    return NULL;
}

/* Executes this program again, in another process. */
static void run_helper(const char *program) {
    pid_t child = fork();
    if (child == 0) {
        execl(program, program, "--helper", (char *)NULL);
        _exit(127);
    }
    if (child > 0) waitpid(child, NULL, 0);
}

static void be_worker(const char *program, int requests, bool has_helper) {
    pthread_t second;
    bool is_second = pthread_create(&second, NULL, take_requests, &requests) == 0;
    if (has_helper) run_helper(program);
    take_requests(&requests);
    if (is_second) pthread_join(second, NULL);
    exit(EXIT_SUCCESS);
}

static int be_server(const char *program, uint64_t request_count) {
    int pipe_ends[2];
    int status = EXIT_SUCCESS;
    if (pipe(pipe_ends) != 0) return EXIT_FAILURE;
    for (int i = 0; i < WORKER_COUNT; i++) {
        pid_t worker = fork();
        if (worker < 0) return EXIT_FAILURE;
        if (worker > 0) continue;
        close(pipe_ends[1]);
        be_worker(program, pipe_ends[0], i == 0);
    }
    close(pipe_ends[0]);
    for (uint64_t i = 0; i < request_count; i++)
        if (write(pipe_ends[1], &i, sizeof i) != sizeof i) status = EXIT_FAILURE;
    close(pipe_ends[1]);
    for (int child_status; wait(&child_status) > 0;)
        if (child_status) status = EXIT_FAILURE;
    return status;
}

int main(int argc, char **argv) {
    if (argc > 1 && strcmp(argv[1], "--helper") == 0) {
        printf("%llu\n", (unsigned long long)compress_page(1));
        return EXIT_SUCCESS;
    }
    return be_server(argv[0], argc > 1 ? strtoull(argv[1], NULL, 10) : REQUESTS_DEFAULT);
}
