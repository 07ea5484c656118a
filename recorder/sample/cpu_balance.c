#include "cpu_balance.h"

#include <stdlib.h>

#include "recorder/state/clock.h"

enum {
    QUIET_COUNT_MIN = 4,    /* reading fewer threads takes less time than reading the process and the sampler */
    NOISE_NS = 2000,        /* less than a thread uses to wake up and go to sleep again */
    KEPT_ROUND_COUNT = 100, /* after this many rounds without a reading, all idle threads are read */
};

static struct {
    int64_t rest_ns;
    uint32_t rounds_left;
} last;

void cpu_balance_begin(void) { last.rounds_left = 0; }

bool cpu_balance_is_kept(struct cpu_balance *balance) {
    if (balance->quiet_count < QUIET_COUNT_MIN) return false;
    uint64_t own_ns = clock_ns_of(CLOCK_THREAD_CPUTIME_ID), process_ns = clock_ns_of(CLOCK_PROCESS_CPUTIME_ID);
    balance->rest_ns = (int64_t)(process_ns - own_ns - balance->known_ns);
    if (!last.rounds_left || llabs(balance->rest_ns - last.rest_ns) > NOISE_NS) return false;
    last.rounds_left--;
    return true;
}

void cpu_balance_update(const struct cpu_balance *balance, uint64_t found_ns) {
    last.rest_ns = balance->rest_ns - (int64_t)found_ns;
    last.rounds_left = balance->quiet_count < QUIET_COUNT_MIN ? 0 : KEPT_ROUND_COUNT;
}
