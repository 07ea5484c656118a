/* Records of the memory that the program allocates: what to do with them when a recording begins or a pause ends. */
#ifndef GREC_ALLOCATIONS_H
#define GREC_ALLOCATIONS_H

/* Forgets which allocations were recorded. Call this while nothing is recorded. */
void allocations_forget(void);

/* Records which of the recorded allocations were freed in a pause. Call this when recording is on again. */
void allocations_resume(void);

#endif
