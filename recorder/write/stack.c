#include "stack.h"

#include <string.h>

#include "definitions.h"
#include "recorder/state/leb128.h"
#include "recorder/state/recording_state.h"
#include "recorder/trace_format.h"

enum {
    FRAME_TEXT_BYTES_MAX = GREC_NAME_BYTES_MAX,
    FRAME_COUNT_BYTES = LEB128_PADDED_BYTES,
};

uint32_t stack_frame_count(const struct grec_label_stack *labels) {
    uint32_t depth = labels ? __atomic_load_n(&labels->depth, __ATOMIC_RELAXED) : 0;
    __atomic_signal_fence(__ATOMIC_ACQUIRE);
    return depth < GREC_LABEL_DEPTH_MAX ? depth : GREC_LABEL_DEPTH_MAX;
}

static uint32_t text_bytes(const char *text) { return text ? (uint32_t)strnlen(text, FRAME_TEXT_BYTES_MAX) : 0; }

/* A frame is not complete if this call has interrupted its push. */
bool stack_frame_is_there(const struct grec_label_frame *frame) {
    bool is_there = __atomic_load_n(&frame->address, __ATOMIC_RELAXED) != NULL;
    __atomic_signal_fence(__ATOMIC_ACQUIRE);
    return is_there;
}

/* Returns the most bytes that a frame can take: its kind, id, text and source. */
static uint32_t frame_bytes_max(const struct grec_label_frame *frame) {
    uint32_t bytes = 1 + LEB128_BYTES_MAX;
    if (frame->text || frame->file) bytes += LEB128_BYTES_MAX + text_bytes(frame->text);
    if (frame->file) bytes += 3 * LEB128_BYTES_MAX + text_bytes(frame->file);
    return bytes;
}

uint32_t stack_bytes_max(const struct grec_label_stack *labels) {
    uint32_t bytes = FRAME_COUNT_BYTES;
    uint32_t count = stack_frame_count(labels);
    for (uint32_t i = 0; i < count; i++)
        if (stack_frame_is_there(&labels->frames[i])) bytes += frame_bytes_max(&labels->frames[i]);
    return bytes;
}

static void write_text(struct room *room, const char *text) {
    uint32_t bytes_count = text_bytes(text);
    if (bytes_count == FRAME_TEXT_BYTES_MAX && text[bytes_count]) recording_count_loss(LOSS_TEXT, 1);
    room->at = leb128_write_bytes(room->at, text ? text : "", bytes_count);
}

static void write_script(struct room *room, const struct grec_label_frame *frame) {
    *room->at++ = TRACE_FRAME_SCRIPT;
    room->at = leb128_write(room->at, frame->label ? definition_of_category(frame->label->category) : 0);
    write_text(room, frame->text);
    write_text(room, frame->file);
    room->at = leb128_write(room->at, __atomic_load_n(&frame->line, __ATOMIC_RELAXED));
    room->at = leb128_write(room->at, __atomic_load_n(&frame->column, __ATOMIC_RELAXED));
}

bool stack_write_frame(struct room *room, const struct grec_label_frame *frame) {
    if ((size_t)(room->end - room->at) < frame_bytes_max(frame)) return false;
    if (frame->file) {
        write_script(room, frame);
        return true;
    }
    *room->at++ = frame->text ? TRACE_FRAME_LABEL_TEXT : TRACE_FRAME_LABEL;
    room->at = leb128_write(room->at, definition_of_label(frame->label));
    if (frame->text) write_text(room, frame->text);
    return true;
}

void stack_write(struct room *room, const struct grec_label_stack *labels) {
    uint32_t count = stack_frame_count(labels), written_count = 0;
    unsigned char *count_at = room->at;
    room->at += FRAME_COUNT_BYTES;
    for (uint32_t i = 0; i < count; i++) {
        const struct grec_label_frame *frame = &labels->frames[i];
        if (!stack_frame_is_there(frame)) continue;
        if (!stack_write_frame(room, frame)) {
            recording_count_loss(LOSS_TEXT, 1);
            break;
        }
        written_count++;
    }
    leb128_write_padded(count_at, written_count);
}

/* ---- Script frames. ---- */

struct grec_label_stack *grec_script_push_(struct grec_label *label, const char *function, const char *file,
                                           uint32_t line, uint32_t column) {
    struct grec_label_stack *stack = grec_label_stack_ ? grec_label_stack_ : grec_label_stack_acquire_();
    if (!stack) return NULL;
    uint32_t depth = stack->depth;
    __atomic_store_n(&stack->depth, depth + 1, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_ACQ_REL);
    if (depth >= GREC_LABEL_DEPTH_MAX) return stack;
    struct grec_label_frame *frame = &stack->frames[depth];
    frame->label = label;
    frame->text = function;
    frame->file = file ? file : "";
    frame->line = line;
    frame->column = column;
    __atomic_signal_fence(__ATOMIC_RELEASE);
    /* The address of the caller's frame, right above this function's. */
    const char *address = (const char *)__builtin_frame_address(0) + 2 * sizeof(void *);
    __atomic_store_n(&frame->address, (const void *)address, __ATOMIC_RELAXED);
    return stack;
}
