#include "own_stack.h"

#include "label_copy.h"
#include "last_mapping.h"
#include "merged_stack.h"
#include "recorder/state/scratch.h"
#include "recorder/unwind/stack_walk.h"
#include "recorder/unwind/thread_stack.h"
#include "recorder/write/packed_stack.h"
#include "recorder/write/thread_registry.h"

struct walk {
    _Alignas(16) struct merged_stack merged;
    struct walked_frame walked[NATIVE_FRAME_COUNT_MAX];
    struct label_view labels[GREC_LABEL_DEPTH_MAX];
};

_Static_assert(sizeof(struct walk) <= SCRATCH_BYTES, "a walk fits");

static uint32_t find_labels(struct walk *walk, size_t walked_count, const void *entry) {
    const struct grec_label_stack *labels = &thread_record_self->labels;
    uint8_t places[GREC_LABEL_DEPTH_MAX];
    struct stack_part part = label_part(labels, (uint64_t)(uintptr_t)entry, walk->walked, walked_count, false);
    uint32_t count = labels_find(labels, part, NULL, places);
    for (uint32_t i = 0; i < count; i++) walk->labels[i] = labels_view(labels, places[i]);
    return count;
}

static void walk_stack(struct walk *walk, const struct unwind_snapshot *snapshot, const void *entry) {
    struct stack_limits limits = thread_stack_of_self((uint64_t)(uintptr_t)__builtin_frame_address(0));
    size_t count = stack_walk_here(snapshot, limits, walk->walked, NATIVE_FRAME_COUNT_MAX, &walk->merged.is_truncated);
    /* It may be long until the thread asks for its next stack, which must be complete. */
    if (walk->merged.is_truncated && unwind_snapshot_has_wanted()) unwind_snapshot_want_all();
    uint32_t label_count = find_labels(walk, count, entry);
    merged_stack_make(&walk->merged, walk->walked, count, walk->labels, label_count);
}

/* The running address is that of the first frame, so the first address takes one byte. */
static void pack(struct packed_stack *packed, const struct merged_stack *merged) {
    unsigned char *bytes = packed_stack_bytes(packed), *address_at = NULL;
    packed->first_address = packed->last_address = merged_stack_first_address(merged);
    unsigned char *end = merged_stack_write(bytes, merged, 0, &packed->last_address, &address_at);
    packed->bytes_count = packed->address_at = packed->address_end = (uint32_t)(end - bytes);
    if (!address_at) return;
    packed->address_at = (uint32_t)(address_at - bytes);
    packed->address_end = packed->address_at + 1;
    packed->mapping_id = own_stack_last_mapping_id();
}

bool own_stack_pack(struct packed_stack *packed, uint32_t bytes_max, const void *entry) {
    const struct unwind_snapshot *snapshot = unwind_snapshot_current();
    struct walk *walk = snapshot ? scratch_take() : NULL;
    if (!walk) return false;
    walk_stack(walk, snapshot, entry);
    merged_stack_fit(&walk->merged, bytes_max);
    pack(packed, &walk->merged);
    scratch_give(walk);
    return true;
}

uint32_t own_stack_last_mapping_id(void) {
    last_mapping_inherit();
    return last_mapping_id();
}
