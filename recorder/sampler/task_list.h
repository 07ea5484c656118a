/* The kernel's list of this process's threads, by which the sampler finds threads that are not registered. Call these
 * in the sampler's thread alone. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

enum { TASK_NAME_BYTES = 16 };

/* takes_all: the registry holds a record for each thread that is not registered, and was not before. The processor time
 * of others becomes markers of the main thread. */
void task_list_open(bool takes_all);

/* Writes markers for the time since the last ones. */
void task_list_close(uint64_t now_ns);

/* Reads the list if that is due. */
void task_list_refresh(uint64_t now_ns);

/* Makes the next refresh read the list again: a thread may have unregistered. */
void task_list_look_again(void);

/* Returns the processor time that a thread in the list had used when that was last read; 0: it is not in the list. */
uint64_t task_list_cpu_ns(uint32_t tid);

/* Call this after a pause: the processor time that was used in the pause belongs to no marker. */
void task_list_forget_times(void);

/* Reads the system's name of a thread, which is not terminated. Returns its length. */
uint32_t task_read_name(uint32_t tid, char name[TASK_NAME_BYTES]);

/* Returns the kernel's clock of the processor time of a thread of this process. */
clockid_t task_cpu_clock(uint32_t tid);

/* Reads the processor time of a thread of this process. Returns false if the thread has ended. */
bool task_read_cpu_ns(uint32_t tid, uint64_t *cpu_ns);

/* Returns how many page faults a thread of this process has had that needed no reading from a disk; takes about 15 µs.
 * 0: unknown. */
uint64_t task_read_fault_count(uint32_t tid);

/* Finds how often a thread of this process has begun to wait, and how often it has had to leave its processor to
 * others; takes about 15 µs. Returns false if that is unknown. */
bool task_read_switches(uint32_t tid, uint64_t *wait_count, uint64_t *preemption_count);

/* Whether a thread of this process blocks the signal now; takes about 15 µs. A new thread blocks all signals until
 * glibc has set it up, and a thread that ends blocks them again. */
bool task_blocks_signal(uint32_t tid, int number);
