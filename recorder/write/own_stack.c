#include "own_stack.h"

#include "last_mapping.h"
#include "recorder/unwind/stack_walk.h"
#include "recorder/unwind/thread_stack.h"
#include "stack.h"
#include "thread_registry.h"
#include "writer.h"

/* Counts the innermost frames, which belong to this library: their parts of the stack end no later than that of the
 * public function, two words above its frame address. */
static size_t own_frame_count(const struct walked_frame *walked, size_t count, const void *entry) {
    uint64_t end = (uint64_t)(uintptr_t)entry + 2 * sizeof(void *);
    size_t own_count = 0;
    while (own_count < count && walked[own_count].stack_end <= end) own_count++;
    return own_count;
}

const struct merged_stack *own_stack_walk(const struct recording *recording, const void *entry, uint32_t bytes_max) {
    const struct unwind_snapshot *snapshot = unwind_snapshot_current();
    struct thread_record *record = thread_record_self;
    /* The buffer belongs to the thread, and a call that this one has interrupted may be using it. */
    if (!snapshot || recording->depth) return NULL;
    struct stack_limits limits = thread_stack_of_self((uint64_t)(uintptr_t)__builtin_frame_address(0));
    struct own_stack *own = &record->own_stack;
    size_t count = stack_walk_here(snapshot, limits, own->walked, NATIVE_FRAME_COUNT_MAX, &own->merged.is_truncated);
    /* The thread may not ask for its next stack for a long time. That stack must be complete. */
    if (own->merged.is_truncated && unwind_snapshot_has_wanted()) unwind_snapshot_want_all();
    size_t own_count = own_frame_count(own->walked, count, entry);
    merged_stack_make(&own->merged, own->walked + own_count, count - own_count, record->labels.frames,
                      stack_frame_count(&record->labels), recording->depth);
    merged_stack_fit(&own->merged, bytes_max);
    return &own->merged;
}

struct taken_stack own_stack_take(const struct recording *recording, const void *entry, uint32_t bytes_max) {
    struct taken_stack stack = {.merged = own_stack_walk(recording, entry, bytes_max)};
    stack.bytes_max =
        stack.merged ? merged_stack_bytes_max(stack.merged) : stack_bytes_max(&thread_record_self->labels);
    if (stack.bytes_max > bytes_max) stack.bytes_max = bytes_max;
    return stack;
}

unsigned char *own_stack_write(unsigned char *at, const struct taken_stack *stack, const struct recording *recording) {
    if (stack->merged) return merged_stack_write(at, stack->merged, 0, &recording->writer->running_address, NULL);
    struct room room = {.at = at, .end = at + stack->bytes_max};
    stack_write(&room, &thread_record_self->labels, recording->depth);
    return room.at;
}

void own_stack_announce(struct writer *writer) {
    last_mapping_inherit();
    own_stack_announce_mapping(writer, last_mapping_id());
}

void own_stack_announce_mapping(struct writer *writer, uint32_t mapping_id) {
    if (writer->mapping_id == mapping_id) return;
    writer->mapping_id = mapping_id;
    short_block_end(writer, leb128_write(short_block_begin(writer, TRACE_MAPPINGS), mapping_id));
}
