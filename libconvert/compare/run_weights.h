/* What the functions of one run weigh, summed up under the names by which they are matched. */
#pragma once

#include "libconvert/base/row_table.h"
#include "libconvert/profile/profile.h"
#include "libconvert/profile/totals.h"

/* What is weighed. */
enum measure { MEASURE_WEIGHT, MEASURE_CPU, MEASURE_COUNT };

/* The weights of something, and the variances that they have because samples are drawn at random: sums of squares, so
 * that n samples of weight 1 have a variance of n. Both are 0 where weights are exact and not drawn. */
struct weights {
    struct function_weights sums;
    struct function_weights variances;
};

struct run_function {
    struct text name;
    struct text library; /* empty: unknown */
    struct text file;    /* empty: unknown */
    struct weights weights[MEASURE_COUNT];
};

/* All functions whose names match a pattern, as if they were one. */
struct run_group {
    struct text glob;
    uint32_t function_count; /* how many functions match */
    struct weights weights[MEASURE_COUNT];
};

struct run_weights {
    struct failure *failure; /* borrowed */
    unsigned ignored;        /* bits of enum ignored_part; set by the caller */
    struct strings names;
    struct column functions;           /* struct run_function */
    struct column groups;              /* struct run_group; added by the caller */
    struct weights all[MEASURE_COUNT]; /* all samples; self and total are the same */
};

void run_weights_init(struct run_weights *run, unsigned ignored, struct failure *failure);
void run_weights_fini(struct run_weights *run);

/* Fills the functions and groups from a finished profile. */
void run_weights_fill(struct run_weights *run, const struct profile *profile);
