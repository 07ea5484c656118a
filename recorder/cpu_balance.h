/* Whether threads that were found asleep have slept on, for all of them at once: the processor time of the process,
 * less that of the threads which are known to run, is what it was. Asking for each thread's takes half a microsecond.
 *
 * The kernel brings the time of a thread that runs up to date when it is asked for, and adds up what it has for the
 * process. So the rest is the same from round to round but for what the sampler takes between two questions, well below
 * a microsecond, and for a timer that comes just then, which is found to be nothing. Of the sampler's thread alone. */
#ifndef GREC_CPU_BALANCE_H
#define GREC_CPU_BALANCE_H

#include <stdbool.h>
#include <stdint.h>

/* Of one round. All zero: begun. */
struct cpu_balance {
    uint64_t known_ns;    /* of all threads that are looked at: of those that run now, of others when last asked for */
    uint32_t quiet_count; /* of those others */
    int64_t rest_ns;
};

void cpu_balance_begin(void);

static inline void cpu_balance_add(struct cpu_balance *balance, uint64_t cpu_ns, bool is_quiet) {
    balance->known_ns += cpu_ns;
    balance->quiet_count += is_quiet;
}

/* After all were added, those that run right before: none of the quiet threads has run. False: some may have, or it is
 * not worth while, or so many rounds have passed that each is to be asked: a thread that runs for less than two
 * microseconds can be missed until then. */
bool cpu_balance_is_kept(struct cpu_balance *balance);

/* Each was asked, and has used so much more in all. */
void cpu_balance_settle(const struct cpu_balance *balance, uint64_t found_ns);

#endif
