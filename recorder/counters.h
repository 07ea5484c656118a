/* Sums of the sampled counters. */
#ifndef GREC_COUNTERS_H
#define GREC_COUNTERS_H

/* Sums start at 0 in each recording and in each process, as the values of the other counters do. While nothing is
 * recorded. [signal-safe] */
void counters_forget(void);

/* Records the sums. [signal-safe] */
void counters_sample(void);

#endif
