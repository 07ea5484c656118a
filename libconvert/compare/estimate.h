/* How much a quantity differs between two groups of runs, and how sure that is.
 *
 * Several runs on each side: the standard error comes from the differences between runs, and the bootstrap says how
 * many standard errors a change must have to stand out. It draws runs with replacement from each side, and measures how
 * far the change in such a resample is from the real one, in standard errors of that resample. This is the bootstrap-t
 * of Efron and Tibshirani, An Introduction to the Bootstrap (1993), chapter 12.5, with symmetric intervals. For many
 * quantities at once, the largest of these distances counts (Westfall and Young, Resampling-Based Multiple Testing,
 * 1993), so an interval holds for all of them together: without a change, most comparisons find none at all.
 *
 * Fewer runs cannot show the noise between runs. Then the error is that of sampling alone: a run with N samples, of
 * which a share p is in a function, could as well have had more or fewer of them there (binomial distribution). */
#pragma once

#include <stdbool.h>
#include <stddef.h>

#include "libconvert/base/failure.h"
#include "libconvert/base/thread_pool.h"

/* With fewer runs on a side, resamples do not show the noise. */
enum { KNOWN_NOISE_RUNS_MIN = 5 };

/* Two groups of runs. */
struct run_counts {
    size_t base;
    size_t head;
};

/* One number for each run: first those of the base, then those of the head. Borrowed. */
struct quantity {
    const double *values;
    const double *variances; /* by sampling, of each value; NULL: the values are exact */
    double factor;           /* the head is compared with this times the base: 1, or 1.05 for "5 % more" */
};

struct estimate {
    double base; /* mean of the runs */
    double head;
    double change; /* head - factor * base */
    double error;  /* standard error of the change */
};

struct estimate estimate_change(const struct quantity *quantity, struct run_counts runs);

/* Returns whether there are enough runs to know the noise between them. */
static inline bool estimate_knows_noise(struct run_counts runs) {
    return runs.base >= KNOWN_NOISE_RUNS_MIN && runs.head >= KNOWN_NOISE_RUNS_MIN;
}

/* One number for each resample of a block. All of them are computed at once. */
enum { RESAMPLE_LANE_COUNT = 16 };
typedef double resample_lanes __attribute__((vector_size(RESAMPLE_LANE_COUNT * sizeof(double)), aligned(16)));

/* Resamples of the runs. They are the same in every process, and if base and head are exchanged, changes only change
 * their signs. */
struct resamples {
    struct failure *failure; /* borrowed */
    struct run_counts runs;
    resample_lanes *draws;   /* owned; [block][run]: how often each resample of the block has the run */
    resample_lanes *largest; /* owned; [block]: work space, as is the next one */
    double *deviations;      /* owned; [thread][run]: deviations from the mean, and then their squares */
    unsigned thread_count;
};

/* Draws nothing if there are too few runs. The number of threads changes no result. Running out of memory is
 * latched. */
void resamples_init(struct resamples *resamples, struct run_counts runs, unsigned thread_count,
                    struct failure *failure);
void resamples_fini(struct resamples *resamples);

/* Returns how many standard errors a change must have so that this part of comparisons without a change has none, among
 * all of the quantities together. The confidence is below 1. Returns 0 after a failure. */
double resamples_critical_errors(struct resamples *resamples, const struct quantity *quantities, size_t count,
                                 double confidence);

/* Returns whether a quantity could ever stand out: false if all runs together have too few samples. Leaving it out
 * before changes are looked at makes the others no surer than they are, since it does not depend on the side. */
bool estimate_may_stand_out(const struct quantity *quantity, struct run_counts runs);
