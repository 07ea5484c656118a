/* Memory of a thread that children can use again.
 *
 * glibc keeps a control block, with the thread-local storage, in the memory of each thread. A forked child inherits
 * that of its parent's thread, which does not exist there. glibc forgets the block if the memory is not from glibc. So
 * the child can make a thread with this block by the system call alone, also in a signal handler, where pthread_create
 * is forbidden. glibc does not know such a clone: it does not change its ids with those of the others, and does not
 * join it. Only some machines, and builds without sanitizers, have clones. */
#ifndef GREC_THREAD_MEMORY_H
#define GREC_THREAD_MEMORY_H

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

struct thread_memory {
    unsigned char *bytes; /* NULL: none */
    pthread_t handle;     /* of the thread that has the control block, or had it in the parent process */
    bool has_block;       /* the memory has a control block that a clone can use */
};

/* Call this in the first thread of the process, before it can start others. Does nothing in any other thread. */
void thread_memory_init(void);

/* Returns the word of a thread that the kernel clears when the thread ends; NULL: unknown. */
uint32_t *thread_memory_tid(pthread_t thread);

/* Maps the memory, unless there is some. */
void thread_memory_map(struct thread_memory *memory);

/* Has the C library make a thread there. Returns false if there is no memory, if the thread-local storage of the
 * program is too large for it, or if the system has no thread. */
bool thread_memory_create(struct thread_memory *memory, void *(*run)(void *context), void *context);

/* Makes a clone there, which needs a control block. Its thread-local variables have the values of the parent's thread.
 * Returns false if the system has no thread. [signal-safe] */
bool thread_memory_clone(const struct thread_memory *memory, int (*run)(void *context), void *context);

/* Waits for the end of the clone, after which another one can be made. */
void thread_memory_join_clone(const struct thread_memory *memory);

#endif
