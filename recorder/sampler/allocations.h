/* Memory that the program allocates and frees: a random sample is recorded with stacks. */
#pragma once

#include <stddef.h>

/* Notes that memory was allocated, or that memory at the address was freed. entry: frame address of the public
 * function. [any thread] [signal-safe] */
void allocations_add(const void *address, size_t bytes_count, const void *entry);
void allocations_remove(const void *address, const void *entry);

/* Forgets which allocations were recorded. Call this while nothing is recorded. */
void allocations_forget(void);

/* Records which of the recorded allocations were freed in a pause. Call this when recording is on again. */
void allocations_resume(void);
