#include "counter_display.h"

/* The first row that matches applies. */
static const struct counter_display default_displays[] = {
    {TEXT("Bandwidth"), {0}, COUNTER_RATE, TEXT("bytes"), GRAPH_BLUE, 10, TEXT("Bandwidth"), NULL},
    {TEXT("Memory"), {0}, COUNTER_ACCUMULATED, TEXT("bytes"), GRAPH_ORANGE, 20, TEXT("Memory"), "timeline-memory"},
    {TEXT("power"), {0}, COUNTER_RATE, TEXT("pWh"), GRAPH_GREY, 30, {0}, NULL},
    {TEXT("CPU"), TEXT("processCPU"), COUNTER_RATE, TEXT("percent"), GRAPH_GREY, 40, TEXT("Process CPU"), NULL},
    {{0}, {0}, COUNTER_RATE, {0}, GRAPH_GREY, 50, {0}, NULL},
};

static bool fits(struct text wanted, struct text text) { return !wanted.bytes_count || text_equal(wanted, text); }

const struct counter_display *counter_display_of(const struct counter *counter) {
    const struct counter_display *display = default_displays;
    while (!fits(display->category, counter->category) || !fits(display->name, counter->name)) display++;
    return display;
}

bool counter_display_is_known(const struct counter *counter) {
    const struct counter_display *others = &default_displays[sizeof default_displays / sizeof *default_displays - 1];
    return counter_display_of(counter) != others;
}
