#include "merged_stack.h"

#include <string.h>

#include "recorder/state/hash.h"
#include "recorder/state/leb128.h"
#include "recorder/state/own_code.h"
#include "recorder/state/recording_state.h"
#include "recorder/trace_format.h"
#include "recorder/write/stack.h"

/* ---- Merging. ---- */

/* Appends a label frame. Returns false if the labels would take more than bytes_max. */
static bool add_label(struct merged_stack *stack, const struct label_view *frame, uint32_t bytes_max) {
    struct room room = {.at = stack->bytes + stack->bytes_count, .end = stack->bytes + bytes_max};
    unsigned char *start = room.at;
    if (stack->frame_count == MERGED_FRAME_COUNT_MAX || !stack_write_frame(&room, frame)) return false;
    uint32_t bytes_count = (uint32_t)(room.at - start);
    stack->frames[stack->frame_count++] = (struct merged_frame){.value = hash_bytes(start, bytes_count),
                                                                .kind = *start,
                                                                .bytes_at = (uint16_t)stack->bytes_count,
                                                                .bytes_count = (uint16_t)bytes_count};
    stack->bytes_count += bytes_count;
    return true;
}

/* A return address may be that of the next function, if the call was the last instruction. */
static bool is_own(const struct walked_frame *frame) { return own_code_has(frame->address - !frame->is_exact); }

static void add_native(struct merged_stack *stack, const struct walked_frame *frame) {
    if (stack->frame_count == MERGED_FRAME_COUNT_MAX || is_own(frame)) return;
    stack->frames[stack->frame_count++] = (struct merged_frame){
        .value = frame->address, .kind = frame->is_exact ? TRACE_FRAME_EXACT : TRACE_FRAME_RETURNS};
}

/* Goes from the outermost frame inwards: the labels of a function come right after it. struct walked_frame says which
 * function a label belongs to. */
void merged_stack_make(struct merged_stack *stack, const struct walked_frame *walked, size_t walked_count,
                       const struct label_view *labels, uint32_t label_count) {
    stack->frame_count = 0;
    stack->bytes_count = 0;
    uint32_t label = 0;
    for (size_t left = walked_count; left || label < label_count;) {
        const struct label_view *frame = label < label_count ? &labels[label] : NULL;
        bool is_native_first = left && (!frame || walked[left - 1].stack_end > (uint64_t)(uintptr_t)frame->address);
        if (is_native_first) {
            add_native(stack, &walked[--left]);
            continue;
        }
        if (!add_label(stack, frame, MERGED_LABEL_BYTES_MAX)) recording_count_loss(LOSS_TEXT, 1);
        label++;
    }
}

void merged_stack_make_empty(struct merged_stack *stack) {
    stack->frame_count = 0;
    stack->bytes_count = 0;
    stack->is_truncated = false;
}

void merged_stack_add_innermost(struct merged_stack *stack, struct grec_label *label) {
    const struct label_view frame = {.label = label, .address = stack};
    add_label(stack, &frame, sizeof stack->bytes);
}

/* ---- In the trace. ---- */

static bool is_native(const struct merged_frame *frame) { return !frame->bytes_count; }

static uint32_t run_length(const struct merged_stack *stack, uint32_t first) {
    uint32_t end = first + 1;
    while (end < stack->frame_count && is_native(&stack->frames[end]) &&
           stack->frames[end].kind == stack->frames[first].kind)
        end++;
    return end - first;
}

static unsigned char *write_run(unsigned char *at, const struct merged_stack *stack, uint32_t first, uint32_t count,
                                uint64_t *running_address, unsigned char **address_at) {
    *at++ = (unsigned char)stack->frames[first].kind;
    at = leb128_write(at, count);
    if (address_at && !*address_at) *address_at = at;
    for (uint32_t i = first; i < first + count; i++) {
        uint64_t address = stack->frames[i].value;
        at = leb128_write(at, leb128_zigzag((int64_t)(address - *running_address)));
        *running_address = address;
    }
    return at;
}

unsigned char *merged_stack_write(unsigned char *at, const struct merged_stack *stack, uint32_t first,
                                  uint64_t *running_address, unsigned char **address_at) {
    at = leb128_write(at, stack->frame_count - first);
    for (uint32_t i = first; i < stack->frame_count;) {
        const struct merged_frame *frame = &stack->frames[i];
        if (is_native(frame)) {
            uint32_t count = run_length(stack, i);
            at = write_run(at, stack, i, count, running_address, address_at);
            i += count;
        } else {
            memcpy(at, stack->bytes + frame->bytes_at, frame->bytes_count);
            at += frame->bytes_count;
            i++;
        }
    }
    return at;
}

uint64_t merged_stack_first_address(const struct merged_stack *stack) {
    for (uint32_t i = 0; i < stack->frame_count; i++)
        if (is_native(&stack->frames[i])) return stack->frames[i].value;
    return 0;
}

enum { FRAME_BYTES_MAX = 2 + LEB128_BYTES_MAX };

uint32_t merged_stack_bytes_max(const struct merged_stack *stack) {
    return LEB128_BYTES_MAX + stack->bytes_count + stack->frame_count * FRAME_BYTES_MAX;
}

void merged_stack_fit(struct merged_stack *stack, uint32_t bytes_max) {
    uint32_t bytes = merged_stack_bytes_max(stack), dropped = 0;
    while (bytes > bytes_max && dropped < stack->frame_count) {
        bytes -= FRAME_BYTES_MAX + stack->frames[dropped].bytes_count;
        dropped++;
    }
    if (!dropped) return;
    stack->frame_count -= dropped;
    stack->is_truncated = true;
    memmove(stack->frames, stack->frames + dropped, stack->frame_count * sizeof *stack->frames);
}

/* ---- Two stacks. ---- */

void merged_stack_copy(struct merged_stack *to, const struct merged_stack *stack) {
    to->frame_count = stack->frame_count;
    to->bytes_count = stack->bytes_count;
    to->is_truncated = stack->is_truncated;
    memcpy(to->frames, stack->frames, stack->frame_count * sizeof *stack->frames);
    memcpy(to->bytes, stack->bytes, stack->bytes_count);
}

static bool is_same_frame(const struct merged_frame *a, const struct merged_frame *b) {
    return a->value == b->value && a->kind == b->kind;
}

uint32_t merged_stack_common(const struct merged_stack *a, const struct merged_stack *b) {
    uint32_t count = a->frame_count < b->frame_count ? a->frame_count : b->frame_count, common = 0;
    while (common < count && is_same_frame(&a->frames[common], &b->frames[common])) common++;
    return common;
}
