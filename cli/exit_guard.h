/* Some libraries end the program when memory runs out: libarchive calls exit if it cannot copy a name. While the
 * program is guarded, such an end cleans up and has the exit code for memory that ran out. */
#pragma once

/* The program calls these once, before and after everything that may call such a library. */
void exit_guard_begin(void);
void exit_guard_end(void);

/* Sets the function to call before a guarded program ends. It runs in the thread that called exit, while other threads
 * still run, and must not allocate. NULL: none. The context is borrowed. */
void exit_guard_set_clean_up(void (*clean_up)(void *context), void *context);
