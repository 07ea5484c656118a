/* Libraries that end the program when memory runs out: libarchive calls exit where it cannot copy a name. While the
 * program is guarded, such an end cleans up and has the exit code for memory that ran out. */
#ifndef GECKO_EXIT_GUARD_H
#define GECKO_EXIT_GUARD_H

/* Called once, by the program itself, before and after all that may call such a library. */
void exit_guard_begin(void);
void exit_guard_end(void);

/* Sets what is called before a guarded program ends, in the thread that calls exit, while other threads still run. It
 * must not allocate. NULL: nothing. The context is borrowed. */
void exit_guard_set_clean_up(void (*clean_up)(void *context), void *context);

#endif
