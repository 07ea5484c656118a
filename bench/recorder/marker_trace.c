/* Records markers with two integers from two threads.
 *
 *     marker_trace MARKERS TRACE */
#include <gecko_recorder.h>
#include <pthread.h>
#include <stdlib.h>

enum { THREAD_COUNT = 2 };

static struct grec_category category = GREC_CATEGORY("Requests", GREC_COLOR_BLUE);
static const struct grec_field fields[] = {
    GREC_FIELD("size", "Size", GREC_FORMAT_BYTES),
    GREC_FIELD("number", "Number", GREC_FORMAT_INTEGER),
};
static struct grec_marker_type type = GREC_MARKER_TYPE("Request", fields);

static uint64_t marker_count; /* markers of each thread */

static void *run(void *seed) {
    uint64_t random = *(uint64_t *)seed;
    grec_thread_register("worker");
    for (uint64_t i = 0; i < marker_count; i++) {
        random = random * 6364136223846793005u + 1442695040888963407u;
        GREC_INSTANT_WITH("request", &category, &type, GREC_INT(random >> 52), GREC_INT(i));
    }
    return NULL;
}

int main(int argument_count, char **arguments) {
    pthread_t threads[THREAD_COUNT];
    uint64_t seeds[THREAD_COUNT];
    if (argument_count != 3) return 2;
    marker_count = strtoull(arguments[1], NULL, 10) / THREAD_COUNT;
    struct grec_options options = {.path = arguments[2], .limit_bytes = GREC_UNLIMITED};
    if (grec_start(&options) != GREC_OK) return 1;
    for (uint64_t i = 0; i < THREAD_COUNT; i++) {
        seeds[i] = i;
        if (pthread_create(&threads[i], NULL, run, &seeds[i]) != 0) return 1;
    }
    for (int i = 0; i < THREAD_COUNT; i++) pthread_join(threads[i], NULL);
    grec_stop();
    return 0;
}
