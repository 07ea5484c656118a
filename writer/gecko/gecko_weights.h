/* Weights in a format that has none: a heavy sample is written several times. Only samples of tracks are not, so their
 * weights are lost.
 *
 * A written sample stands for the greatest common divisor of all weights, so the proportions are exact. If that needs
 * more rows than a viewer can use, the weights are rounded to multiples of a larger unit. */
#pragma once

#include "libconvert/profile/profile.h"

/* A viewer cannot use more rows than GECKO_SAMPLE_ROWS_MAX. Rounded weights get about a thousand rows per sample, so
 * they are exact to a thousandth on average, but not many more than a million in all. Times of waiting are rounded to a
 * part of the interval between samples. */
enum {
    GECKO_SAMPLE_ROWS_MAX = 10000000,
    GECKO_ROUNDED_ROWS_MAX = 1000000,
    GECKO_ROUNDED_ROWS_PER_SAMPLE = 1000,
    GECKO_ROWS_PER_INTERVAL = 10
};

struct gecko_weights {
    const struct profile *profile;
    bool are_lost;           /* some weight is not above zero, so each sample is written once */
    bool are_repeated;       /* some sample is written more than once */
    bool are_rounded;        /* weights are not exact multiples of `rounding` */
    struct decimal rounding; /* what one written sample stands for if are_rounded */
    uint32_t scale;          /* scale of `unit`: the most digits after the point that any weight has */
    unsigned __int128 unit;  /* what one written sample stands for, times 10^scale; 0 if no sample was weighed */
    double sum;              /* the sum of all weights */
    uint64_t sample_count;   /* number of samples in all threads */
    uint64_t row_count;      /* number of samples to write; UINT64_MAX if that or more */
};

/* Weighs the samples of all threads to write except tracks. Latches FAILURE_INPUT if there are too many samples. */
void gecko_weights_init(struct gecko_weights *weights, const struct profile *profile);

/* Returns how often a sample of that encoded weight (profile_weight_encode) is written. */
uint32_t gecko_weights_row_count(const struct gecko_weights *weights, uint32_t weight);

/* Returns whether the thread's samples have separate CPU times that are written. They cannot be split among a sample's
 * repetitions. */
bool gecko_weights_leave_cpu(const struct gecko_weights *weights, const struct thread *thread);

/* Enters in the ledger what became of the weights. */
void gecko_weights_enter(const struct gecko_weights *weights, struct ledger *ledger);
