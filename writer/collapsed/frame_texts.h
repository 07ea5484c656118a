/* The texts of frames in collapsed stacks. A text has no semicolon and no control character, and its last word is not a
 * number, so it can be read back. */
#pragma once

#include "libconvert/base/byte_buffer.h"
#include "libconvert/profile/profile.h"

/* What is changed in names because it would end a frame or a line. */
enum name_change {
    CHANGE_SEPARATOR,
    CHANGE_CONTROL,
    CHANGE_NUMBER,
    CHANGE_COMMENT,
    CHANGE_THREAD_BLANK,
    NAME_CHANGE_COUNT
};

/* The kinds of frames, as far as they matter to texts or to the ledger. */
enum frame_mark {
    MARK_NONE,
    MARK_KERNEL,
    MARK_IDLE_KERNEL, /* code of the kernel that runs while a processor is idle */
    MARK_GENERATED,
    MARK_WAKER,
    MARK_INLINED,
    MARK_IDLE,
    MARK_OTHER,
    FRAME_MARK_COUNT
};

/* The texts of the frames of a function. */
struct func_texts {
    bool is_known;
    bool is_nameless;                    /* the function is called after its address */
    string_id by_mark[FRAME_MARK_COUNT]; /* none: not made yet */
};

struct frame_texts {
    const struct profile *profile; /* borrowed */
    unsigned parts;                /* enum frame_part */
    struct strings texts;
    struct func_texts *funcs;                        /* owned; one for each function of the profile */
    enum frame_mark of_category[CATEGORY_COUNT_MAX]; /* marks of frames that are not inlined */
    struct byte_buffer buffer;
    uint64_t changes[NAME_CHANGE_COUNT]; /* how many names were changed, by kind of change */
};

/* Running out of memory is latched. */
void frame_texts_init(struct frame_texts *texts, const struct profile *profile, unsigned parts);
void frame_texts_fini(struct frame_texts *texts);

enum frame_mark frame_texts_mark(const struct frame_texts *texts, const struct frame *frame);

/* Return the text of a frame, of the frame of a thread, or of a sample that has no frame at all; none if memory ran out
 * (latched). */
string_id frame_texts_of_frame(struct frame_texts *texts, frame_id frame);
string_id frame_texts_of_thread(struct frame_texts *texts, const struct thread *thread);
string_id frame_texts_of_nothing(struct frame_texts *texts);
