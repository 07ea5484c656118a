/* The sum of the memory that the program allocates and frees. */
#ifndef GREC_MEMORY_SUM_H
#define GREC_MEMORY_SUM_H

/* Begins the sum at 0, and forgets single allocations. Call this while nothing is recorded. */
void memory_forget(void);

#endif
