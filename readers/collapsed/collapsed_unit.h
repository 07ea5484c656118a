/* What the numbers at the ends of lines count. */
#pragma once

#include "collapsed_line.h"
#include "readers/reader.h"

struct collapsed_unit {
    enum collapsed_counts counts;
    enum gecko_convert_weight_unit weight_unit; /* not AUTO */
    int64_t interval_ns;                        /* between two samples of a thread; 0: unknown */
};

/* Returns what the start of a trace and the options say. */
struct collapsed_unit collapsed_unit_of(struct text start, bool is_whole, const struct reader_options *options);

/* Returns whether the header of austin says that lines end in COLLAPSED_AUSTIN_NUMBERS. */
bool collapsed_unit_is_full_austin(struct text start);

/* Returns the weight in the profile's unit: a time in nanoseconds, or the weight itself. */
struct decimal collapsed_unit_weight(const struct collapsed_unit *unit, struct decimal weight);

/* Returns whether it is known how long a stack took. */
bool collapsed_unit_has_times(const struct collapsed_unit *unit);

/* Returns how long a stack of that weight, which is in the profile's unit, took. Use it only if that is known. */
int64_t collapsed_unit_duration_ns(const struct collapsed_unit *unit, struct decimal weight);

enum weight_type collapsed_unit_weight_type(const struct collapsed_unit *unit);
