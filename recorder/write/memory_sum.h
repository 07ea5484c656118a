/* The sum of the memory that the program allocates and frees. */
#pragma once

/* Begins the sum at 0, and forgets single allocations. Call this while nothing is recorded. */
void memory_forget(void);
