/* The kernel's list of this process's threads, for those that are not registered. Of the sampler's thread alone. */
#ifndef GREC_TASK_LIST_H
#define GREC_TASK_LIST_H

#include <stdbool.h>
#include <stdint.h>

enum { TASK_NAME_BYTES = 16 };

/* takes_all: threads that are not registered get a record that is held for them until they come for it; else the
 * processor time that they use becomes markers of the main thread. */
void task_list_open(bool takes_all);

/* What is not in markers yet becomes so. */
void task_list_close(uint64_t now_ns);

/* The thread that had the list open has ended, or is not this process's. */
void task_list_forget(void);

/* Looks at the list when it is time to. */
void task_list_refresh(uint64_t now_ns);

/* The processor time that passed in a pause is no marker's. */
void task_list_forget_times(void);

/* The name that the system has for the thread, not terminated; returns its length. */
uint32_t task_read_name(uint32_t tid, char name[TASK_NAME_BYTES]);

/* Of a thread of this process, by its tid; false: there is none. */
bool task_read_cpu_ns(uint32_t tid, uint64_t *cpu_ns);

/* Whether a thread of this process blocks the signal just now; asking takes some 15 µs. A new thread blocks all signals
 * until glibc has begun it, and one that ends does so again. */
bool task_blocks_signal(uint32_t tid, int number);

#endif
