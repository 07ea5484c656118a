/* Stacks of label frames, as in entries of the trace. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "labels.h"
#include "recorder/state/shared.h"

/* Where output goes, and where it must end. A frame that does not fit is left out. */
struct room {
    unsigned char *at;
    unsigned char *end;
};

/* Writes the calling thread's labels of that stack, the outermost frame first. If not all frames fit, the innermost are
 * left out. The room must have at least three bytes. Call these in a recording call. [signal-safe] */
void stack_write(struct room *room, const struct grec_label_stack *labels, struct stack_part part);

/* Writes one frame of a stack. Returns false if it does not fit. [signal-safe] */
bool stack_write_frame(struct room *room, const struct label_view *frame) GREC_SHARED(stack_write_frame);
