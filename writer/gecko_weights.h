/* Weights in a format without weights: a heavy sample is written several times.
 *
 * What one written sample stands for is the greatest common divisor of all weights, so the proportions are exact. */
#ifndef GECKO_WEIGHTS_H
#define GECKO_WEIGHTS_H

#include "libconvert/profile.h"

/* More rows than that are no use in a viewer: the emission fails instead. */
enum { GECKO_SAMPLE_ROWS_MAX = 10000000 };

struct gecko_weights {
    const struct profile *profile;
    bool are_lost;          /* some weight is not above zero: each sample is written once */
    bool are_repeated;      /* some sample is written more than once */
    uint32_t scale;         /* of `unit`: the most digits behind the point that any weight has */
    unsigned __int128 unit; /* what one written sample stands for, times 10^scale; 0: nothing was weighed */
    uint64_t sample_count;  /* of all threads */
    uint64_t row_count;     /* samples to write; UINT64_MAX also stands for more */
};

/* Weighs the samples of the threads to write. Latches FAILURE_INPUT when they need too many rows. */
void gecko_weights_init(struct gecko_weights *weights, const struct profile *profile);

/* How often a sample of that weight (see profile_weight_encode) is written. */
uint32_t gecko_weights_row_count(const struct gecko_weights *weights, uint32_t weight);

/* What one written sample stands for. Only when samples were weighed and no weight is lost. */
struct decimal gecko_weights_unit(const struct gecko_weights *weights);

/* Says in the ledger what became of the weights. */
void gecko_weights_enter(const struct gecko_weights *weights, struct ledger *ledger);

#endif
