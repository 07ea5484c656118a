/* Finds out which threads the C library has made. A thread that the program made by the system call may have no
 * thread-local storage, or storage that the C library does not know: signal handlers that use it would fail there. The
 * C library registers a list of robust futexes for each of its threads with the kernel, at a fixed distance from the
 * thread's control block. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

/* Call this first, in a thread that the C library has made. */
void libc_thread_init(void);

/* Finds the thread's control block, which is the value of pthread_self() there. Returns false if the C library has not
 * made the thread, if the thread has ended, or if the kernel does not show it. Call this in the
 * sampler's thread alone. */
bool libc_thread_find(uint32_t tid, uint64_t *control_block);
