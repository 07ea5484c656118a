#include "sample_slot.h"

#include "recorder/unwind/mappings.h"
#include "recorder/unwind/stack_walk.h"

/* The thread sanitizer does not know that a stack ends with its thread, and that its memory may become another stack.
 */
#define READS_CONTEXT __attribute__((no_sanitize_thread))

/* How much stack the handler needs: 1.6 KB as gcc -O2 compiles it, and more as other compilers may. */
enum { ROOM_BYTES = 3072 };

static bool change(struct sample_slot *slot, enum sample_slot_state from, enum sample_slot_state to) {
    uint32_t expected = from;
    return __atomic_compare_exchange_n(&slot->state, &expected, (uint32_t)to, false, __ATOMIC_SEQ_CST,
                                       __ATOMIC_RELAXED);
}

/* Returns true for a stack that is not known. */
READS_CONTEXT static bool has_room(const struct sample_slot *slot, const ucontext_t *context) {
    const stack_t *alternate = &context->uc_stack;
    uint64_t here = (uint64_t)(uintptr_t)__builtin_frame_address(0), start = (uint64_t)(uintptr_t)alternate->ss_sp;
    if (!(alternate->ss_flags & SS_DISABLE) && here >= start && here - start < alternate->ss_size)
        return here - start >= ROOM_BYTES;
    bool is_on_own = here >= slot->own_stack.low && here < slot->own_stack.high;
    return !is_on_own || here - slot->own_stack.low >= ROOM_BYTES;
}

static void answer(struct sample_slot *slot, const struct grec_label_stack *labels, const ucontext_t *context) {
    slot->build_count = unwind_snapshot_build_count();
    slot->read_count = mappings_read_count();
    slot->walked_count = (uint32_t)stack_walk(unwind_snapshot_current(), context, slot->own_stack, slot->walked,
                                              NATIVE_FRAME_COUNT_MAX, &slot->is_truncated);
    label_copy_take(&slot->labels, labels, NULL);
}

void sample_slot_answer(struct sample_slot *slot, const struct grec_label_stack *labels, const void *interrupted) {
    enum sample_slot_state end = SAMPLE_SLOT_REFUSED;
    if (!change(slot, SAMPLE_SLOT_REQUESTED, SAMPLE_SLOT_ANSWERING)) return;
    if (has_room(slot, interrupted)) {
        answer(slot, labels, interrupted);
        end = SAMPLE_SLOT_ANSWERED;
    }
    __atomic_store_n(&slot->state, (uint32_t)end, __ATOMIC_RELEASE);
}

bool sample_slot_cancel(struct sample_slot *slot) { return change(slot, SAMPLE_SLOT_REQUESTED, SAMPLE_SLOT_FREE); }
