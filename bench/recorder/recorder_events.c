/* Measures the recorder's events. The trace is FOLDER/trace. */
#include <stdio.h>
#include <time.h>

#include "lap.h"
#include "recorder/gecko_recorder.h"

enum {
    RECYCLED_LIMIT_BYTES = 8 * 1024 * 1024,
    /* The smallest event has 4 bytes, so the pool has wrapped at least once per thread after this many events. */
    RECYCLED_WARM_UP_COUNT = 4000000,
    /* After the warm-up, the thread, its first chunk and the call site are known. */
    WARM_UP_COUNT = 1000,
    SPACED_EVENTS_MAX = 5000,
    SPACED_NS = 100000,
};

static struct grec_category work = GREC_CATEGORY("Work", GREC_COLOR_BLUE);

static const struct grec_field request_fields[] = {
    GREC_FIELD("size", "Size", GREC_FORMAT_INTEGER),
    GREC_FIELD("status", "Status", GREC_FORMAT_INTEGER),
};
static struct grec_marker_type request_type = GREC_MARKER_TYPE("Request", request_fields);

static struct grec_counter recorded_counter =
    GREC_COUNTER("recorded", "Bench", "", NULL, GREC_COUNTER_ACCUMULATED, GREC_GRAPH_BLUE, 0);
static struct grec_counter sampled_counter =
    GREC_COUNTER("sampled", "Bench", "", NULL, GREC_COUNTER_ACCUMULATED, GREC_GRAPH_BLUE, GREC_COUNTER_SAMPLED);

/* ---- Events. ---- */

static void run_marker(uint64_t count) {
    uint64_t index;
    for (index = 0; index < count; index++) GREC_INSTANT("tick", &work);
}

/* Records markers 100 µs apart, to measure how many bytes a longer time difference takes. */
static void run_spaced_marker(uint64_t count) {
    const struct timespec pause = {0, SPACED_NS};
    uint64_t index;
    for (index = 0; index < count; index++) {
        GREC_INSTANT("tick", &work);
        nanosleep(&pause, NULL);
    }
}

static void run_fields(uint64_t count) {
    uint64_t index;
    for (index = 0; index < count; index++) {
        GREC_INSTANT_WITH("request", &work, &request_type, GREC_INT(index & 0xffff), GREC_INT(200));
    }
}

static void run_interval(uint64_t count) {
    uint64_t index;
    for (index = 0; index < count; index++) {
        GREC_INTERVAL_SCOPE("step", &work);
        lap_barrier();
    }
}

static void run_label(uint64_t count) {
    uint64_t index;
    for (index = 0; index < count; index++) {
        GREC_LABEL("step", &work);
        lap_barrier();
    }
}

static void run_counter(uint64_t count) {
    uint64_t index;
    for (index = 0; index < count; index++) grec_counter_add(&recorded_counter, 64);
}

static void run_sampled_counter(uint64_t count) {
    uint64_t index;
    for (index = 0; index < count; index++) grec_counter_add(&sampled_counter, 64);
}

/* ---- Events at eight call sites in a row, for events that take less time than a loop around them. ---- */

static void run_marker_8(uint64_t count) {
    uint64_t index;
    for (index = 0; index < count / 8; index++) {
        LAP_REPEAT_8(GREC_INSTANT("tick", &work); lap_barrier());
    }
}

static void run_fields_8(uint64_t count) {
    uint64_t index;
    for (index = 0; index < count / 8; index++) {
        LAP_REPEAT_8(GREC_INSTANT_WITH("request", &work, &request_type, GREC_INT(index & 0xffff), GREC_INT(200));
                     lap_barrier());
    }
}

static void run_interval_8(uint64_t count) {
    uint64_t index;
    for (index = 0; index < count / 8; index++) {
        LAP_REPEAT_8({
            GREC_INTERVAL_SCOPE("step", &work);
            lap_barrier();
        });
    }
}

static void run_label_8(uint64_t count) {
    uint64_t index;
    for (index = 0; index < count / 8; index++) {
        LAP_REPEAT_8({
            GREC_LABEL("step", &work);
            lap_barrier();
        });
    }
}

static void run_counter_8(uint64_t count) {
    uint64_t index;
    for (index = 0; index < count / 8; index++) {
        LAP_REPEAT_8(grec_counter_add(&recorded_counter, 64); lap_barrier());
    }
}

static void run_sampled_counter_8(uint64_t count) {
    uint64_t index;
    for (index = 0; index < count / 8; index++) {
        LAP_REPEAT_8(grec_counter_add(&sampled_counter, 64); lap_barrier());
    }
}

/* ---- Recordings. ---- */

static int start_recording(const char *folder, uint64_t limit_bytes) {
    char path[1024];
    struct grec_options options = {.path = path, .limit_bytes = limit_bytes, .product = "bench"};
    enum grec_error error;
    snprintf(path, sizeof path, "%s/trace", folder);
    error = grec_start(&options);
    if (error) fprintf(stderr, "grec_start: %s\n", grec_error_text(error));
    return error != GREC_OK;
}

static int start_recycled(const char *folder) { return start_recording(folder, RECYCLED_LIMIT_BYTES); }
static int start_growing(const char *folder) { return start_recording(folder, GREC_UNLIMITED); }

static void finish_recording(void) {
    struct grec_status status;
    grec_get_status(&status);
    printf("recycled %llu\n", (unsigned long long)status.chunks_recycled);
    printf("lost %llu\n", (unsigned long long)status.events_lost);
    grec_stop();
}

#define RECYCLED(name, run) \
    { name "-recycled", start_recycled, run, finish_recording, RECYCLED_WARM_UP_COUNT, 0 }
/* Cases that record nothing while recording is on. */
#define UNRECORDED(name, run) \
    { name "-recording", start_recycled, run, finish_recording, WARM_UP_COUNT, 0 }
#define GROWING(name, run) \
    { name "-growing", start_growing, run, finish_recording, WARM_UP_COUNT, 0 }
#define OFF(name, run) \
    { name "-off", NULL, run, NULL, 1000000, 0 }

static const struct lap_case cases[] = {
    RECYCLED("marker", run_marker),
    RECYCLED("fields", run_fields),
    RECYCLED("interval", run_interval),
    RECYCLED("counter", run_counter),
    UNRECORDED("label", run_label),
    UNRECORDED("sampled-counter", run_sampled_counter),
    GROWING("marker", run_marker),
    GROWING("fields", run_fields),
    GROWING("interval", run_interval),
    GROWING("counter", run_counter),
    {"marker-spaced", start_growing, run_spaced_marker, finish_recording, 0, SPACED_EVENTS_MAX},
    OFF("marker", run_marker_8),
    OFF("fields", run_fields_8),
    OFF("interval", run_interval_8),
    OFF("counter", run_counter_8),
    OFF("label", run_label_8),
    OFF("sampled-counter", run_sampled_counter_8),
};

int main(int argc, char **argv) { return lap_main(argc, argv, cases, sizeof cases / sizeof cases[0]); }
