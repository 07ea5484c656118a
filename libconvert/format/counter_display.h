/* How the client shows counters that do not say it themselves: by category and name. */
#pragma once

#include "libconvert/profile/counter.h"

struct counter_display {
    struct text category; /* empty matches any */
    struct text name;     /* empty matches any */
    enum counter_graph graph;
    struct text unit;
    enum graph_color color;
    int32_t sort_weight;
    struct text label; /* empty stands for the counter's name */
    const char *marker_location;
};

/* Returns the display of a counter with that category and name. */
const struct counter_display *counter_display_of(const struct counter *counter);

/* Returns whether the client knows the category or the name. */
bool counter_display_is_known(const struct counter *counter);
