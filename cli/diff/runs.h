/* The runs that are compared: each side is one input, or a folder of them. */
#pragma once

#include "cli/info/info.h"
#include "cli/options.h"
#include "libconvert/base/memory.h"
#include "libconvert/compare/estimate.h"
#include "libconvert/compare/run_weights.h"

struct run {
    char *path; /* owned */
    struct failure failure;
    struct info info;
    struct run_weights weights;
    char *title;         /* owned; "perf script text" */
    char *losses;        /* owned; what was lost in reading, "lost: 2 lines (…)"; empty: nothing */
    char *missing_names; /* owned; "app 92 % (…)", the library that lacks most names; empty: hardly any are missing */
    uint64_t lost_count; /* lost samples */
    double unit_factor;  /* from weights to the unit of the comparison */
};

struct runs {
    struct memory_limit memory;
    struct failure failure;
    const char *failed_path; /* the input that the failure is about; NULL: none */
    struct run *all;         /* owned; those of the base, then those of the head */
    struct run_counts counts;
    unsigned job_count;   /* at least 1 */
    const char *paths[2]; /* the base and the head, as the options name them */
    enum measure measure; /* what is compared */
    struct text unit;     /* its unit: "samples", "ms" or an event; a text of the first run */
    bool has_times;       /* all runs have times */
};

/* Reads the runs side by side. Groups of functions are made of the globs in `globs` (struct text). Failures are latched
 * in runs->failure. Call runs_fini in any case. */
void runs_read(struct runs *runs, const struct options *options, const struct column *globs);
void runs_fini(struct runs *runs);

static inline size_t runs_count(const struct runs *runs) { return runs->counts.base + runs->counts.head; }
