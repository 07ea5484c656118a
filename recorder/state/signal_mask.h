/* Reads and changes the kernel's signal masks by system calls. The recorder may interpose the C library's functions
 * (signal_preload.c), and would take its own calls of those for the program's. All functions are [signal-safe]. */
#pragma once

#include <signal.h>
#include <stdint.h>

#include "shared.h"

/* Returns all signals except the two that the C library reserves (32 and 33). Bit 0 is signal 1. */
uint64_t signal_mask_all(void) GREC_SHARED(signal_mask_all);

/* Returns the signals of a set, without the two that the C library reserves. */
uint64_t signal_mask_of(const sigset_t *set) GREC_SHARED(signal_mask_of);

/* Changes the calling thread's mask, like rt_sigprocmask. Returns 0 or an error number, and leaves errno as it is. */
int signal_mask_change(int how, const uint64_t *set, uint64_t *before) GREC_SHARED(signal_mask_change);

/* Call these around code that a signal handler in the same thread must not find half done. */
void signal_mask_block_all(sigset_t *before) GREC_SHARED(signal_mask_block_all);
void signal_mask_restore(const sigset_t *before) GREC_SHARED(signal_mask_restore);
