/* Stacks of label frames, as entries have them. */
#ifndef GREC_STACK_H
#define GREC_STACK_H

#include <stdbool.h>
#include <stdint.h>

#include "gecko_recorder.h"

/* Bounded output: what does not fit is left out whole. */
struct room {
    unsigned char *at;
    unsigned char *end;
};

/* The bytes that the calling thread's stack takes at most. [signal-safe] */
uint32_t stack_bytes_max(const struct grec_label_stack *labels);

/* Writes a stack, outermost frame first; frames that do not fit are left out, the innermost first. depth: of the
 * recording call. Room for three bytes is there. [signal-safe] */
void stack_write(struct room *room, const struct grec_label_stack *labels, uint32_t depth);

/* The frames of a label stack, one by one: how many there are to look at, whether one of them is there, and what of it
 * stands in a stack; false when it does not fit. [signal-safe] */
uint32_t stack_frame_count(const struct grec_label_stack *labels);
bool stack_frame_is_there(const struct grec_label_frame *frame);
bool stack_write_frame(struct room *room, const struct grec_label_frame *frame, uint32_t depth);

#endif
