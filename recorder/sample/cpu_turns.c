#include "cpu_turns.h"

#include <sched.h>
#include <stdbool.h>

/* How long the sampler stays on a processor. Moving costs about ten microseconds, so a turn must not be short. The
 * thread that shares the processor loses time to each round, so a turn must not be long. */
enum { TURN_NS = 16000000 };

static uint64_t turn_ends_ns;

static size_t next_processor(const cpu_set_t *allowed, size_t processor) {
    do processor = (processor + 1) % CPU_SETSIZE;
    while (!CPU_ISSET(processor, allowed));
    return processor;
}

/* Moves the thread by allowing only that processor for a moment. The thread stays there when the others are allowed
 * again. */
static void go_to(size_t processor, const cpu_set_t *allowed) {
    cpu_set_t there;
    CPU_ZERO(&there);
    CPU_SET(processor, &there);
    if (sched_setaffinity(0, sizeof there, &there) == 0) sched_setaffinity(0, sizeof *allowed, allowed);
}

void cpu_turns_take(uint64_t now_ns, uint32_t running_count) {
    cpu_set_t allowed;
    if (now_ns < turn_ends_ns) return;
    turn_ends_ns = now_ns + TURN_NS;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
    int processor_count = CPU_COUNT(&allowed), processor = sched_getcpu();
    bool is_crowded = running_count >= (uint32_t)processor_count;
    if (processor_count > 1 && is_crowded && processor >= 0)
        go_to(next_processor(&allowed, (size_t)processor), &allowed);
}
