/* Finds out for all idle threads at once whether they are still idle: the processor time of the process, less that of
 * the running threads, has not changed then. Reading the time of each thread would take half a microsecond a thread.
 *
 * The kernel updates the time of a running thread when it is read, and the time of the process is the sum of all
 * threads. So the rest changes between rounds only by what the sampler uses between two readings, well below a
 * microsecond. An interrupt at that moment may make it larger: then all threads are read although none has run. Call
 * these in the sampler's thread alone. */
#ifndef GREC_CPU_BALANCE_H
#define GREC_CPU_BALANCE_H

#include <stdbool.h>
#include <stdint.h>

/* The sum of one round, from all zero. */
struct cpu_balance {
    uint64_t known_ns;    /* processor time of all threads: of running ones now, of idle ones when it was last read */
    uint32_t quiet_count; /* idle threads */
    int64_t rest_ns;      /* processor time of the process that known_ns does not have */
};

/* Call this when a sampler starts. */
void cpu_balance_begin(void);

static inline void cpu_balance_add(struct cpu_balance *balance, uint64_t cpu_ns, bool is_quiet) {
    balance->known_ns += cpu_ns;
    balance->quiet_count += is_quiet;
}

/* Returns whether no idle thread has run. Call this right after adding all threads. Returns false if some may have run,
 * if there are too few idle threads, or if the last hundred rounds read no idle thread: until then, a thread that runs
 * for less than two microseconds can be missed. */
bool cpu_balance_is_kept(struct cpu_balance *balance);

/* Call this after reading the times of all idle threads, which have used found_ns since they were read before. */
void cpu_balance_update(const struct cpu_balance *balance, uint64_t found_ns);

#endif
