#include "silent_process.h"

#include "process.h"
#include "recording_state.h"

/* Slots of processes that may become programs which join, in the page of the header: the pid with flags, and the pid
 * namespace in the high half; 0: free. A later process may take a slot that is not free: most have ended by then. */
enum { SLOTS_OFFSET = 2048, SLOT_COUNT = (TRACE_HEADER_BYTES - SLOTS_OFFSET) / 8, PID_BITS = 32 };
/* The trace has something of the process, maybe of a program before this one; this program is counted. */
static const uint64_t HAS_RECORDED = (uint64_t)1 << (PID_BITS - 1), IS_COUNTED = (uint64_t)1 << (PID_BITS - 2);
_Static_assert(sizeof(struct trace_header) <= SLOTS_OFFSET, "docs/trace-format.md names this offset");

/* The process that is counted and has this memory, and in which recording: a forked child starts with the memory of its
 * parent. 0: none */
static uint64_t counted;
static uint32_t counted_generation;

static uint64_t identify(void) { return process_self()->pid_namespace << PID_BITS | process_self()->pid; }

static uint64_t *slot_of(uint64_t process) {
    return (uint64_t *)(void *)(recording_pool.base + SLOTS_OFFSET) + (process ^ process >> PID_BITS) % SLOT_COUNT;
}

/* Returns whether the process may have been in its slot before the one that is there now. If that one is older, it was
 * not. Ids of different namespaces have no order. */
static bool may_be_overwritten(uint64_t process, uint64_t in_slot) {
    return in_slot && (in_slot >> PID_BITS != process >> PID_BITS || in_slot > process);
}

enum process_past silent_process_begin(bool is_forked) {
    uint64_t process = identify(), *slot = slot_of(process), found = __atomic_load_n(slot, __ATOMIC_RELAXED);
    uint64_t flags = found & (HAS_RECORDED | IS_COUNTED), in_slot = found & ~flags;
    bool is_known = !is_forked && in_slot == process;
    if (!is_known) flags = 0;
    if (!(flags & IS_COUNTED)) recording_count_loss(LOSS_PROCESS, 1);
    __atomic_store_n(slot, process | IS_COUNTED | flags, __ATOMIC_RELAXED);
    counted_generation = recording_generation;
    __atomic_store_n(&counted, process, __ATOMIC_RELEASE);
    if (flags & HAS_RECORDED) return PAST_IS_TOLD;
    return is_known || is_forked || !may_be_overwritten(process, in_slot) ? PAST_IS_SILENT : PAST_IS_UNKNOWN;
}

void silent_process_note_recorded(void) {
    uint64_t process = identify();
    __atomic_store_n(slot_of(process), process | HAS_RECORDED, __ATOMIC_RELAXED);
}

void silent_process_end(void) {
    uint64_t process = identify(), seen = process;
    bool is_counted = __atomic_load_n(&counted, __ATOMIC_ACQUIRE) && counted_generation == recording_generation &&
                      __atomic_compare_exchange_n(&counted, &seen, 0, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
    if (!is_counted) return;
    silent_process_note_recorded();
    recording_count_loss(LOSS_PROCESS, (uint64_t)-1);
}
