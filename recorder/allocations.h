/* Memory that the program allocates: what the rest of the recorder tells it. */
#ifndef GREC_ALLOCATIONS_H
#define GREC_ALLOCATIONS_H

/* Forgets which allocations were recorded. While nothing is recorded. */
void allocations_forget(void);

/* Records that memory was freed in a pause. Call this when recording is on again. */
void allocations_resume(void);

#endif
