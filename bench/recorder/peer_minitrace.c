/* Measures minitrace. Its buffer has a million events and is written as JSON after the laps; further events are
 * dropped. */
#include <stdio.h>

#include <minitrace.h>
#include "lap.h"

enum { EVENTS_MAX = 900000, WARM_UP_COUNT = 1000 };

static int start(const char *folder) {
    char path[1024];
    snprintf(path, sizeof path, "%s/trace.json", folder);
    mtr_init(path);
    return 0;
}

static void run_marker(uint64_t count) {
    uint64_t index;
    for (index = 0; index < count; index++) MTR_INSTANT("bench", "tick");
}

static void run_counter(uint64_t count) {
    uint64_t index;
    for (index = 0; index < count; index++) MTR_COUNTER("bench", "count", 64);
}

static const struct lap_case cases[] = {
    {"marker", start, run_marker, mtr_shutdown, WARM_UP_COUNT, EVENTS_MAX},
    {"counter", start, run_counter, mtr_shutdown, WARM_UP_COUNT, EVENTS_MAX},
};

int main(int argc, char **argv) { return lap_main(argc, argv, cases, sizeof cases / sizeof cases[0]); }
