/* Measures tracepoints of LTTng-UST. The caller creates a session; without a session, tracepoints are off. */
#define LTTNG_UST_TRACEPOINT_CREATE_PROBES
#define LTTNG_UST_TRACEPOINT_DEFINE
#include "lap.h"
#include "lttng_events.h"

static void run_marker(uint64_t count) {
    uint64_t index;
    for (index = 0; index < count; index++) lttng_ust_tracepoint(bench, tick);
}

static void run_fields(uint64_t count) {
    uint64_t index;
    for (index = 0; index < count; index++) {
        lttng_ust_tracepoint(bench, request, (int64_t)(index & 0xffff), 200);
    }
}

static void run_counter(uint64_t count) {
    uint64_t index;
    for (index = 0; index < count; index++) lttng_ust_tracepoint(bench, count, 64);
}

static void run_marker_8(uint64_t count) {
    uint64_t index;
    for (index = 0; index < count / 8; index++) {
        LAP_REPEAT_8(lttng_ust_tracepoint(bench, tick); lap_barrier());
    }
}

static const struct lap_case cases[] = {
    {"marker", NULL, run_marker, NULL, 1000000, 0},
    {"fields", NULL, run_fields, NULL, 1000000, 0},
    {"counter", NULL, run_counter, NULL, 1000000, 0},
    {"marker-off", NULL, run_marker_8, NULL, 1000000, 0},
};

int main(int argc, char **argv) { return lap_main(argc, argv, cases, sizeof cases / sizeof cases[0]); }
