#include "packed_stack.h"

#include <errno.h>
#include <signal.h>
#include <string.h>

#include "recorder/state/sampler_hooks.h"
#include "recorder/state/scratch.h"
#include "stack.h"
#include "thread_registry.h"
#include "writer.h"

/* ---- Taking. ---- */

static bool is_on_alternate_stack(void) {
    stack_t stack;
    int saved_errno = errno;
    bool is_known = sigaltstack(NULL, &stack) == 0;
    errno = saved_errno;
    return is_known && stack.ss_flags & SS_ONSTACK;
}

static void pack_labels(struct packed_stack *stack, uint32_t bytes_max, const void *entry) {
    unsigned char *bytes = packed_stack_bytes(stack);
    struct room room = {bytes, bytes + bytes_max};
    const struct grec_label_stack *labels = &thread_record_self->labels;
    uint64_t low = (uint64_t)(uintptr_t)entry;
    struct stack_part part = {.low = low, .high = low + OTHER_STACK_BYTES};
    part.reaches_own = !labels_are_own(labels, low) && is_on_alternate_stack();
    stack_write(&room, labels, part);
    stack->bytes_count = stack->address_at = stack->address_end = (uint32_t)(room.at - bytes);
}

void packed_stack_take(struct packed_stack *stack, uint32_t bytes_max, const void *entry) {
    *stack = (struct packed_stack){0};
    if (!sampler_table() || !sampler_table()->pack_stack(stack, bytes_max, entry)) pack_labels(stack, bytes_max, entry);
}

/* Deeper stacks lose their outermost frames. */
enum { OWN_BYTES_MAX = SCRATCH_BYTES - sizeof(struct packed_stack) };

struct packed_stack *packed_stack_take_own(uint32_t bytes_max, const void *entry) {
    struct packed_stack *stack = scratch_take();
    if (stack) packed_stack_take(stack, bytes_max < OWN_BYTES_MAX ? bytes_max : OWN_BYTES_MAX, entry);
    return stack;
}

/* ---- Writing. ---- */

uint32_t packed_stack_bytes_max(const struct packed_stack *stack) {
    if (!stack) return 1;
    return stack->bytes_count + (packed_stack_has_address(stack) ? LEB128_BYTES_MAX + PACKED_STACK_ROOM_BYTES : 0);
}

void packed_stack_announce(const struct packed_stack *stack, uint32_t mapping_id, struct writer *writer) {
    if (!stack || !packed_stack_has_address(stack) || writer->mapping_id == mapping_id) return;
    writer->mapping_id = mapping_id;
    short_block_end(writer, leb128_write(short_block_begin(writer, TRACE_MAPPINGS), mapping_id));
}

unsigned char *packed_stack_write(unsigned char *at, const struct packed_stack *stack, struct writer *writer) {
    if (!stack) return leb128_write(at, 0);
    const unsigned char *bytes = packed_stack_bytes(stack);
    memcpy(at, bytes, stack->address_at);
    at += stack->address_at;
    if (!packed_stack_has_address(stack)) return at;
    at = leb128_write(at, leb128_zigzag((int64_t)(stack->first_address - writer->running_address)));
    uint32_t rest_bytes = stack->bytes_count - stack->address_end;
    memcpy(at, bytes + stack->address_end, rest_bytes);
    writer->running_address = stack->last_address;
    return at + rest_bytes;
}

bool packed_stack_record(struct recording *recording, enum trace_entry_kind kind, const uint64_t *numbers, size_t count,
                         const void *entry) {
    uint32_t head_bytes = 1 + (uint32_t)(1 + count) * LEB128_BYTES_MAX;
    uint32_t room = recording_stack_bytes_max(head_bytes + LEB128_BYTES_MAX + PACKED_STACK_ROOM_BYTES);
    struct packed_stack *stack = entry ? packed_stack_take_own(room, entry) : NULL;
    struct writer *writer = recording->writer;
    bool has_room = recording_reserve(recording, head_bytes + packed_stack_bytes_max(stack));
    if (has_room) {
        packed_stack_announce(stack, stack ? stack->mapping_id : 0, writer);
        uint64_t time = recording_time(writer);
        unsigned char *at = leb128_write(long_block_begin(writer, kind), time);
        for (size_t i = 0; i < count; i++) at = leb128_write(at, numbers[i]);
        long_block_end(writer, packed_stack_write(at, stack, writer));
    }
    scratch_give(stack);
    return has_room;
}
