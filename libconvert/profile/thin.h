/* Makes a finished profile smaller by what matters least. The sums of all weights by stack, and so by function, stay
 * exactly what they were. */
#pragma once

#include "profile.h"

/* What was done so far. */
struct thinning {
    struct profile *profile;   /* borrowed */
    uint64_t joined_samples;   /* samples that were added to others */
    int64_t window_ns;         /* within which samples were added up */
    uint64_t joined_threads;   /* threads that were moved to others */
    uint64_t *left_out;        /* markers that were left out, by schema */
    uint64_t left_out_markers; /* all of them */
};

/* Call it after profile_finish. Running out of memory is latched, as in the functions below. */
void thinning_init(struct thinning *thinning, struct profile *profile);
void thinning_fini(struct thinning *thinning);

/* Adds up the samples of a thread that have one stack and are in one of `level` equal parts of the profile's time.
 * Those of a part then share the time between its first and its last sample in proportion to their number. Does nothing
 * to a profile that has no times. */
void thin_samples(struct thinning *thinning, uint32_t level);

/* Moves the threads of a process that have at most `level` samples and markers to the first of them. Main threads and
 * those with tracks or allocations stay. */
void thin_threads(struct thinning *thinning, uint32_t level);

/* Leaves out markers of types that have more than `level`, at equal distances, until no more than that are left. Starts
 * and ends that are markers of their own stay. */
void thin_markers(struct thinning *thinning, uint32_t level);

/* Enters in the ledger what was done. */
void thinning_enter(const struct thinning *thinning);
