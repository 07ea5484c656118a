#include "own_stack.h"

#include "libraries.h"
#include "stack_walk.h"
#include "thread_registry.h"
#include "thread_stack.h"
#include "writer.h"

/* Frames of this library are the innermost ones: their parts of the stack end no later than the entry's does, which is
 * two words above its frame address. */
static size_t own_frame_count(const struct walked_frame *walked, size_t count, const void *entry) {
    uint64_t end = (uint64_t)(uintptr_t)entry + 2 * sizeof(void *);
    size_t own_count = 0;
    while (own_count < count && walked[own_count].stack_end <= end) own_count++;
    return own_count;
}

const struct merged_stack *own_stack_take(const struct recording *recording, const void *entry, uint32_t bytes_max) {
    const struct unwind_snapshot *snapshot = unwind_snapshot_current();
    struct thread_record *record = thread_record_self;
    /* There is one for each thread. */
    if (!snapshot || recording->depth) return NULL;
    struct stack_limits limits = thread_stack_of_self((uint64_t)(uintptr_t)__builtin_frame_address(0));
    struct own_stack *own = &record->own_stack;
    size_t count = stack_walk_here(snapshot, limits, own->walked, NATIVE_FRAME_COUNT_MAX, &own->merged.is_truncated);
    /* The next one may be asked for in a long time: it is to be whole. */
    if (own->merged.is_truncated && unwind_snapshot_has_wanted()) unwind_snapshot_want_all();
    size_t own_count = own_frame_count(own->walked, count, entry);
    merged_stack_make(&own->merged, own->walked + own_count, count - own_count, &record->labels, recording->depth);
    merged_stack_fit(&own->merged, bytes_max);
    return &own->merged;
}

void own_stack_announce(struct writer *writer) {
    libraries_inherit();
    own_stack_announce_mapping(writer, libraries_last_mapping());
}

void own_stack_announce_mapping(struct writer *writer, uint32_t mapping_id) {
    if (writer->mapping_id == mapping_id) return;
    writer->mapping_id = mapping_id;
    short_block_end(writer, leb128_write(short_block_begin(writer, TRACE_MAPPINGS), mapping_id));
}
