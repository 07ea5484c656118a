/* The differences between two sides of runs. */
#pragma once

#include "limit.h"
#include "runs.h"

enum row_kind { ROW_FUNCTION, ROW_MARKER, ROW_COUNTER, ROW_DURATION };

/* The quantities of rows. */
enum cell_kind {
    CELL_SELF = 0, /* functions have this one and the next */
    CELL_TOTAL = 1,
    CELL_COUNT = 0, /* markers have this one and the next two */
    CELL_MEDIAN = 1,
    CELL_P95 = 2,
    CELL_VALUE = 0, /* counters have this one; so has the duration, in milliseconds */
    CELL_COUNT_MAX = 3
};

struct cell {
    double *values;    /* one for each run; NULL: not known, or the row has no such cell */
    double *variances; /* variance of each value due to sampling; NULL: values are exact */
    struct estimate estimate;
    double lower; /* ends of the interval of the change */
    double upper;
    bool stands_out;
};

struct comparison_row {
    enum row_kind kind;
    struct text name;
    struct text library; /* empty: unknown */
    struct text file;    /* empty: unknown */
    bool has_namesake;   /* for a function: another file has one with its name and library */
    size_t timed_count;  /* for a marker: number of runs in which it has durations */
    struct cell cells[CELL_COUNT_MAX];
};

/* What amounts are divided by. */
enum per_kind { PER_SHARE, PER_RUN, PER_SECOND, PER_MARKER };

struct comparison {
    struct failure *failure; /* borrowed */
    const struct runs *runs; /* borrowed */
    enum per_kind per;
    struct text marker; /* if PER_MARKER */
    struct resamples resamples;
    struct strings texts;
    struct arena memory;
    struct row_table keys; /* keys of the rows */
    struct column rows;    /* struct comparison_row */
};

/* Compares the runs. `per` is the value of --per, or NULL. Failures are latched in `failure`. Call comparison_fini in
 * any case. */
void comparison_init(struct comparison *comparison, const struct runs *runs, const char *per, struct failure *failure);
void comparison_fini(struct comparison *comparison);

/* Returns what the weights of a side (0: base, 1: head) are divided by: its runs, seconds or markers. Not for
 * PER_SHARE. */
double comparison_amount(const struct comparison *comparison, size_t side);

static inline const struct comparison_row *comparison_row_at(const struct comparison *comparison, size_t row) {
    return column_at(&comparison->rows, row);
}

/* Returns "new", "gone" or "changed". */
const char *comparison_state(const struct cell *cell);

/* ---- Limits. ---- */

enum verdict { VERDICT_PASSED, VERDICT_FAILED, VERDICT_MISSING };

/* The outcome of a limit. If nothing matched, only the verdict is set. */
struct outcome {
    enum verdict verdict;
    double base; /* in the unit of the limit, except for a percentage of the base */
    double head;
    double change;    /* in the unit of the limit; the head if the limit is not of a change */
    double lower;     /* lower bound of `change` */
    struct text unit; /* unit of base and head; "%": percent of all samples */
};

/* Judges the limit. If it is of functions, `group` is the number of their group in the runs. */
struct outcome comparison_judge(struct comparison *comparison, const struct limit *limit, size_t group);
