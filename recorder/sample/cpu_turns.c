#include "cpu_turns.h"

#include <sched.h>
#include <sys/syscall.h>
#include <unistd.h>

/* How long the sampler stays on a processor. Moving costs about ten microseconds, so a turn must not be short. The
 * thread that shares the processor loses time to each round, so a turn must not be long. A thread that cannot be asked
 * loses its stacks meanwhile, so that turn is shorter. */
enum { TURN_NS = 16000000, TURN_IN_THE_WAY_NS = 4000000 };

static uint64_t turn_began_ns;

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

void cpu_turns_take(uint64_t now_ns, uint32_t running_count, bool is_in_the_way) {
    cpu_set_t allowed;
    if (now_ns < turn_began_ns + (is_in_the_way ? TURN_IN_THE_WAY_NS : TURN_NS)) return;
    turn_began_ns = now_ns;
    if (sched_getaffinity(0, sizeof allowed, &allowed) != 0) return;
    int processor_count = CPU_COUNT(&allowed);
    unsigned processor;
    bool must_move = is_in_the_way || running_count >= (uint32_t)processor_count;
    /* In a clone (thread_memory.h), sched_getcpu would return a processor of the parent's sampler. */
    if (processor_count > 1 && must_move && syscall(SYS_getcpu, &processor, NULL, NULL) == 0)
        go_to(next_processor(&allowed, processor), &allowed);
}
