/* Converts the text of stacks, "frame;frame;frame", root first. Neighbouring lines are usually similar, so only the
 * frames that differ from the previous stack are looked up. */
#ifndef GECKO_COLLAPSED_STACKS_H
#define GECKO_COLLAPSED_STACKS_H

#include "libconvert/profile/profile.h"

/* The kinds of frames that are not inlined. An annotation, or the lack of one, tells them apart. */
enum frame_kind { FRAME_USER, FRAME_KERNEL, FRAME_JIT, FRAME_WAKER, FRAME_SEPARATOR, FRAME_KIND_COUNT };

/* Notes on a stack; bits. */
enum stack_note {
    STACK_NOTE_EMPTY_FRAME = 1,  /* frames without a name were dropped */
    STACK_NOTE_INLINED_ROOT = 2, /* the first frame was marked as inlined; it became an ordinary frame */
    STACK_NOTE_INLINED_DEEP =
        4 /* more than INLINE_DEPTH_MAX frames are inlined into each other; the depth restarted at 0 */
};

struct collapsed_stacks {
    struct profile *profile; /* borrowed */
    struct category_pair categories[FRAME_KIND_COUNT];
    bool has_category[FRAME_KIND_COUNT];
    struct column named_frames; /* struct named_frame, by string_id */
    struct column levels;       /* struct level: the frames of the previous stack */
    char *text;                 /* text of the previous stack */
    size_t text_bytes_count;
    size_t text_capacity_bytes;
};

void collapsed_stacks_init(struct collapsed_stacks *stacks, struct profile *profile);
void collapsed_stacks_fini(struct collapsed_stacks *stacks);

/* Returns the stack of that text, which it adds to the profile if it is new. Returns none if the text has no frame or
 * memory ran out (latched). Sets the bits of enum stack_note that apply. */
stack_id collapsed_stacks_intern(struct collapsed_stacks *stacks, struct text text, unsigned *notes);

#endif
