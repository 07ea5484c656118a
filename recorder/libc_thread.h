/* Which threads are the C library's. A thread that a program made by the system call itself may have no thread-local
 * storage of its own, or one that the C library knows nothing of: a signal handler that uses any would be at a loss. The
 * kernel tells: the C library registers a list of locks for each of its threads, at a fixed distance from the thread's
 * control block. Of the sampler's thread alone. */
#ifndef GREC_LIBC_THREAD_H
#define GREC_LIBC_THREAD_H

#include <stdbool.h>
#include <stdint.h>

/* Finds the control block, which pthread_self() is in that thread. Returns false if the thread is not the C library's,
 * is gone, or cannot be told. */
bool libc_thread_find(uint32_t tid, uint64_t *control_block);

/* The thread that looked has ended, or is not this process's. */
void libc_thread_forget(void);

#endif
