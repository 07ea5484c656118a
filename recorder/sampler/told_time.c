#include "told_time.h"

#include "recorder/state/process.h"
#include "recorder/state/recording_state.h"

/* One word for each process, in the page of the header: the low bits of the pid and of its namespace, and the time in
 * the low half. A later process may take the word, and then nothing is known of the one before. */
enum { WORDS_OFFSET = 1024, WORD_COUNT = 128, PID_SHIFT = 42, NAMESPACE_SHIFT = 32, UNIT_SHIFT = 14 };
static const uint64_t TIME_MASK = ((uint64_t)1 << NAMESPACE_SHIFT) - 1;
_Static_assert(sizeof(struct trace_header) <= WORDS_OFFSET, "docs/trace-format.md names this offset");

static uint64_t *word_of(const struct process_state *process) {
    return (uint64_t *)(void *)(recording_pool.base + WORDS_OFFSET) +
           (process->pid ^ process->pid_namespace) % WORD_COUNT;
}

static uint64_t identify(const struct process_state *process) {
    uint64_t namespace_bits = (process->pid_namespace << NAMESPACE_SHIFT) & (((uint64_t)1 << PID_SHIFT) - 1);
    return (uint64_t)process->pid << PID_SHIFT | namespace_bits;
}

void told_time_store(uint64_t cpu_ns) {
    const struct process_state *process = process_self();
    uint64_t *word = word_of(process), units = cpu_ns >> UNIT_SHIFT;
    uint64_t told = identify(process) | (units <= TIME_MASK ? units : 0);
    if (__atomic_load_n(word, __ATOMIC_RELAXED) != told) __atomic_store_n(word, told, __ATOMIC_RELAXED);
}

void told_time_add(uint64_t cpu_ns) {
    uint64_t told_ns = cpu_ns ? told_time_load() : 0;
    if (told_ns) told_time_store(told_ns + cpu_ns);
}

uint64_t told_time_load(void) {
    const struct process_state *process = process_self();
    uint64_t word = __atomic_load_n(word_of(process), __ATOMIC_RELAXED);
    return (word & ~TIME_MASK) == identify(process) ? (word & TIME_MASK) << UNIT_SHIFT : 0;
}
