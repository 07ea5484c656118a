/* Loads the kernel's symbols in a thread of its own while records are read: the running kernel prints its list slowly.
 */
#ifndef GECKO_DATA_KERNEL_AHEAD_H
#define GECKO_DATA_KERNEL_AHEAD_H

#include <pthread.h>

#include "data_kernel.h"

struct data_kernel_ahead {
    bool is_begun;   /* data_kernel_ahead_begin was called */
    bool is_started; /* the thread was started, and not joined yet */
    bool is_loaded;  /* the kernel has the symbols for the identity */
    pthread_t thread;
    struct failure failure; /* failure of the thread, then of everything that uses the kernel */
    struct data_kernel_identity identity;
    struct data_kernel kernel;
};

/* Starts to load the symbols. Without a build id, later records may say more about the kernel, and nothing is loaded
 * ahead. The texts of the identity stay borrowed. */
void data_kernel_ahead_begin(struct data_kernel_ahead *ahead, const struct data_kernel_identity *identity,
                             const struct debug_folders *folders, struct memory_limit *memory);

/* Returns the kernel with the symbols for the identity, which are loaded now unless they are loaded ahead. Latches in
 * `failure` if memory ran out. */
struct data_kernel *data_kernel_ahead_use(struct data_kernel_ahead *ahead, const struct data_kernel_identity *identity,
                                          const struct debug_folders *folders, struct failure *failure);

void data_kernel_ahead_fini(struct data_kernel_ahead *ahead);

#endif
