#include "sample_slot.h"

#include <string.h>

#include "clock.h"
#include "writer.h"

/* The thread sanitizer does not know that a stack is gone with its thread, and its place another's. */
#define READS_CONTEXT __attribute__((no_sanitize_thread))

READS_CONTEXT static uint64_t stack_pointer_of(const ucontext_t *context) {
#if defined(__x86_64__)
    return (uint64_t)context->uc_mcontext.gregs[REG_RSP];
#elif defined(__aarch64__)
    return context->uc_mcontext.sp;
#else
    (void)context; /* no stack is walked */
    return 0;
#endif
}

READS_CONTEXT static bool is_on_alternate_stack(const ucontext_t *context) {
    uint64_t start = (uint64_t)(uintptr_t)context->uc_stack.ss_sp, sp = stack_pointer_of(context);
    return !(context->uc_stack.ss_flags & SS_DISABLE) && sp >= start && sp < start + context->uc_stack.ss_size;
}

enum { ROOM_BYTES = 3072 }; /* most is needed when a chunk is taken */

/* Of a thread's own stack the end is known from its second answer on. */
READS_CONTEXT bool sample_slot_has_room(const void *interrupted) {
    const stack_t *alternate = &((const ucontext_t *)interrupted)->uc_stack;
    const struct thread_record *record = thread_record_self;
    uint64_t here = (uint64_t)(uintptr_t)__builtin_frame_address(0), start = (uint64_t)(uintptr_t)alternate->ss_sp;
    if (!(alternate->ss_flags & SS_DISABLE) && here >= start && here - start < alternate->ss_size)
        return here - start >= ROOM_BYTES;
    if (!record || here < record->stack_limits.grows_to || here >= record->stack_limits.high) return true;
    return here - record->stack_limits.grows_to >= ROOM_BYTES;
}

static void take(struct sample_slot *slot, const void *interrupted, uint32_t depth) {
    struct thread_record *record = thread_record_self;
    slot->taken_ticks = clock_ticks();
    slot->build_count = unwind_snapshot_build_count();
    slot->uid = record->uid;
    slot->start_ticks = record->start_ticks;
    slot->is_named = record->is_named;
    slot->name_bytes_count = record->name_bytes_count;
    memcpy(slot->name, record->name, record->name_bytes_count);
    if (!is_on_alternate_stack(interrupted)) thread_record_find_limits(record, stack_pointer_of(interrupted));
    size_t count = stack_walk(unwind_snapshot_current(), interrupted, record->stack_limits, slot->walked,
                              NATIVE_FRAME_COUNT_MAX, &slot->taken.is_truncated);
    merged_stack_make(&slot->taken, slot->walked, count, &record->labels, depth);
}

static enum sample_slot_state answer(struct sample_slot *slot, const void *interrupted) {
    struct recording recording = recording_enter();
    if (!recording.thread) return SAMPLE_SLOT_FREE;
    bool is_known = recording_identify(&recording);
    slot->is_unwanted = !is_known && recording.thread->is_muted;
    if (is_known) take(slot, interrupted, recording.depth);
    recording_leave(&recording);
    return is_known || slot->is_unwanted ? SAMPLE_SLOT_TAKEN : SAMPLE_SLOT_FREE;
}

void sample_slot_refuse(void) {
    uint32_t state = SAMPLE_SLOT_REQUESTED;
    __atomic_compare_exchange_n(&thread_record_self->sample.state, &state, SAMPLE_SLOT_NO_ROOM, false, __ATOMIC_RELEASE,
                                __ATOMIC_RELAXED);
}

void sample_slot_take(const void *interrupted) {
    struct sample_slot *slot = &thread_record_self->sample;
    if (__atomic_load_n(&slot->state, __ATOMIC_ACQUIRE) == SAMPLE_SLOT_REQUESTED)
        __atomic_store_n(&slot->state, answer(slot, interrupted), __ATOMIC_RELEASE);
}
