/* A limit that fails if it is exceeded: "total(parse_*) > +5%". */
#pragma once

#include "libconvert/base/failure.h"
#include "libconvert/base/text.h"

enum limit_subject {
    LIMIT_SELF,    /* own time of all functions whose names match */
    LIMIT_TOTAL,   /* time in which any function whose name matches is on the stack */
    LIMIT_COUNT,   /* number of markers */
    LIMIT_MEDIAN,  /* median of the durations of markers */
    LIMIT_P95,     /* 95th percentile of the durations of markers */
    LIMIT_COUNTER, /* the sum of a rate, or the highest level */
    LIMIT_DURATION /* from the first to the last event of the run */
};

enum limit_unit { LIMIT_PLAIN, LIMIT_PERCENT, LIMIT_MS };

/* All texts are parts of the source. */
struct limit {
    struct text source;
    enum limit_subject subject;
    struct text pattern; /* a pattern of function names, or the name of a marker or counter */
    bool is_change;      /* the limit is of the change: "+5%", and not of the value itself: "5%" */
    enum limit_unit unit;
    double value; /* in milliseconds, percent, or the unit of the subject */
};

static inline bool limit_is_of_functions(const struct limit *limit) {
    return limit->subject == LIMIT_SELF || limit->subject == LIMIT_TOTAL;
}

/* Returns whether the limit is relative to the base: "+5%". */
static inline bool limit_is_relative(const struct limit *limit) {
    return limit->is_change && limit->unit == LIMIT_PERCENT;
}

/* Latches FAILURE_USAGE if the text is no expression. */
struct limit limit_parse(struct text text, struct failure *failure);
