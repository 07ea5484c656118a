/* Converts the text of stacks, "frame;frame;frame", root first. Neighbouring lines are usually similar, so only the
 * frames that differ from the previous stack are looked up. */
#pragma once

#include "collapsed_dialect.h"
#include "libconvert/base/byte_buffer.h"
#include "libconvert/profile/profile.h"

/* Notes on a stack; bits. */
enum stack_note {
    STACK_NOTE_EMPTY_FRAME = 1,  /* frames without a name were dropped */
    STACK_NOTE_INLINED_ROOT = 2, /* the first frame was marked as inlined; it became an ordinary frame */
    STACK_NOTE_INLINED_DEEP =
        4 /* more than INLINE_DEPTH_MAX frames are inlined into each other; the depth restarted at 0 */
};

struct collapsed_stacks {
    struct profile *profile;       /* borrowed */
    const struct dialect *dialect; /* borrowed */
    struct strings frame_texts;    /* the texts of frames */
    struct column known_frames;    /* struct known_frame, by string_id */
    struct column levels;          /* struct level: the frames of the previous stack */
    struct byte_buffer text;       /* text of the previous stack */
};

void collapsed_stacks_init(struct collapsed_stacks *stacks, struct profile *profile, const struct dialect *dialect);
void collapsed_stacks_fini(struct collapsed_stacks *stacks);

/* Returns the stack of that text, which it adds to the profile if it is new. Returns none if the text has no frame or
 * memory ran out (latched). Sets the bits of enum stack_note that apply. */
stack_id collapsed_stacks_intern(struct collapsed_stacks *stacks, struct text text, unsigned *notes);
