/* Records a trace of a given size, as a server with four threads leaves it: a marker with an address and two numbers
 * for each request, samples with labels and functions, and a counter.
 *
 *     large_trace MEGABYTES TRACE */
#include <gecko_recorder.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>

enum { THREAD_COUNT = 4, REQUEST_COUNT_PER_LOOK = 1000, ADDRESS_COUNT = 5000, BYTES_PER_MB = 1000000 };

static struct grec_category category = GREC_CATEGORY("Requests", GREC_COLOR_BLUE);
static const struct grec_field fields[] = {
    GREC_FIELD("url", "Address", GREC_FORMAT_URL),
    GREC_FIELD("status", "Status", GREC_FORMAT_INTEGER),
    GREC_FIELD("size", "Size", GREC_FORMAT_BYTES),
};
static struct grec_marker_type type = GREC_MARKER_TYPE("Request", fields);
static struct grec_counter served =
    GREC_COUNTER("Served", "Requests", "Requests", NULL, GREC_COUNTER_RATE, GREC_GRAPH_BLUE, 0);

static uint64_t wanted_bytes;

static int is_done(void) {
    struct grec_status status;
    grec_get_status(&status);
    return status.size_bytes >= wanted_bytes;
}

static uint64_t work(uint64_t number, int depth) {
    GREC_LABEL("work", &category);
    for (int i = 0; i < 20; i++) number = number * 6364136223846793005u + 1442695040888963407u;
    return depth ? work(number, depth - 1) : number;
}

static void serve(uint64_t number) {
    char url[128];
    grec_time start = grec_now();
    uint64_t size = work(number, (int)(number % 12)) >> 44;
    snprintf(url, sizeof url, "https://example.org/pictures/%llu/thumbnail.png?size=%d&format=webp",
             (unsigned long long)(number % ADDRESS_COUNT), (int)(number % 7) * 100);
    GREC_INTERVAL_WITH("request", &category, &type, start, GREC_TEXT(url), GREC_INT(200), GREC_UINT(size));
    grec_counter_add(&served, 1);
}

static void *run(void *first) {
    grec_thread_register("worker");
    for (uint64_t number = *(uint64_t *)first; !is_done();)
        for (int i = 0; i < REQUEST_COUNT_PER_LOOK; i++) serve(number += THREAD_COUNT);
    return NULL;
}

int main(int argument_count, char **arguments) {
    pthread_t threads[THREAD_COUNT];
    uint64_t numbers[THREAD_COUNT];
    if (argument_count != 3) return 2;
    wanted_bytes = strtoull(arguments[1], NULL, 10) * BYTES_PER_MB;
    struct grec_options options = {.path = arguments[2], .limit_bytes = GREC_UNLIMITED, .flags = GREC_SAMPLER};
    if (grec_start(&options) != GREC_OK) return 1;
    for (uint64_t i = 0; i < THREAD_COUNT; i++) {
        numbers[i] = i;
        if (pthread_create(&threads[i], NULL, run, &numbers[i]) != 0) return 1;
    }
    for (int i = 0; i < THREAD_COUNT; i++) pthread_join(threads[i], NULL);
    grec_stop();
    return 0;
}
