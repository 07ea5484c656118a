/* Stacks of label frames, as in entries of the trace. */
#ifndef GREC_STACK_H
#define GREC_STACK_H

#include <stdbool.h>
#include <stdint.h>

#include "recorder/gecko_recorder.h"
#include "recorder/state/shared.h"

/* Where output goes, and where it must end. A frame that does not fit is left out. */
struct room {
    unsigned char *at;
    unsigned char *end;
};

/* Returns how many bytes stack_write writes at most. [signal-safe] */
uint32_t stack_bytes_max(const struct grec_label_stack *labels);

/* Writes a stack, the outermost frame first. If not all frames fit, the innermost are left out. The room must have at
 * least three bytes. [signal-safe] */
void stack_write(struct room *room, const struct grec_label_stack *labels);

/* The frames of a label stack, one by one: how many there are; whether a frame is complete; and its bytes in a stack
 * (false: they do not fit). [signal-safe] */
uint32_t stack_frame_count(const struct grec_label_stack *labels) GREC_SHARED(stack_frame_count);
bool stack_frame_is_there(const struct grec_label_frame *frame) GREC_SHARED(stack_frame_is_there);
bool stack_write_frame(struct room *room, const struct grec_label_frame *frame) GREC_SHARED(stack_write_frame);

#endif
