/* Stacks from their text, "frame;frame;frame", root first. Neighbouring lines are mostly alike, so only the frames
 * in which a stack differs from the one before are looked up. */
#ifndef GECKO_COLLAPSED_STACKS_H
#define GECKO_COLLAPSED_STACKS_H

#include "libconvert/profile.h"

/* What a frame is by its annotation or its lack, inlined ones aside. */
enum frame_kind { FRAME_USER, FRAME_KERNEL, FRAME_JIT, FRAME_WAKER, FRAME_SEPARATOR, FRAME_KIND_COUNT };

/* Things worth saying of a stack. */
enum stack_note {
    STACK_NOTE_EMPTY_FRAME = 1,  /* frames without a name were left out */
    STACK_NOTE_INLINED_ROOT = 2, /* a root was marked as inlined: taken for a frame like others */
    STACK_NOTE_INLINED_DEEP = 4  /* more than INLINE_DEPTH_MAX frames inlined into each other: begun anew */
};

struct collapsed_stacks {
    struct profile *profile; /* borrowed */
    struct category_pair categories[FRAME_KIND_COUNT];
    bool has_category[FRAME_KIND_COUNT];
    struct column named_frames; /* struct named_frame, by string_id */
    struct column levels;       /* struct level: the frames of the last stack */
    char *text;                 /* of the last stack */
    size_t text_bytes_count;
    size_t text_capacity_bytes;
};

void collapsed_stacks_init(struct collapsed_stacks *stacks, struct profile *profile);
void collapsed_stacks_fini(struct collapsed_stacks *stacks);

/* The stack of that text, added to the profile when it is new. None when there is no frame in it, or when memory
 * ran out (latched). Sets the bits of what there is to note. */
stack_id collapsed_stacks_intern(struct collapsed_stacks *stacks, struct text text, unsigned *notes);

#endif
