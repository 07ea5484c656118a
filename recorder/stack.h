/* Stacks of label frames, as entries have them. */
#ifndef GREC_STACK_H
#define GREC_STACK_H

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

/* The stack of a backtrace of this recording: pointer and size; NULL when it is another one's. */
const unsigned char *stack_of_backtrace(const struct grec_backtrace *backtrace, uint32_t *bytes_count);

#endif
