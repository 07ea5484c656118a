/* Labels among inlined functions: a label belongs to the function whose source has it, not to the innermost one that is
 * inlined there. */
#pragma once

#include "libconvert/profile/profile.h"

/* Returns whether the frame is a label of a program: it has a place in the source but no code. */
bool frame_is_label(const struct profile *profile, const struct frame *frame);

/* Puts the label into the stack, whose last frames are a function, those inlined into it, and other labels in them.
 * The label follows the function that contains its line. That is the function that begins last, among the functions in
 * the label's file that begin at or before its line. Without any, it follows the innermost function. Labels keep their
 * order. Returns the stack with the label, which ends in the innermost function unless the label is in that. */
stack_id label_place(struct profile *profile, stack_id stack, frame_id label);
