/* Sums: of the sampled counters, and of what the others came to in a pause. */
#ifndef GREC_COUNTERS_H
#define GREC_COUNTERS_H

/* Sums start at 0 in each recording and in each process, as the values of the other counters do. While nothing is
 * recorded. [signal-safe] */
void counters_forget(void);

/* Records the sums of the sampled counters. [signal-safe] */
void counters_sample(void);

/* Records what all counters came to in a pause. Call this when recording is on again. */
void counters_resume(void);

#endif
