/* The calling thread's own stack, for a marker, an allocation or a sample on demand. It has native frames if there is a
 * sampler, whose tables it is walked by. */
#ifndef GREC_OWN_STACK_H
#define GREC_OWN_STACK_H

#include <stdint.h>

#include "merged_stack.h"
#include "recorder/state/leb128.h"

struct recording;
struct writer;

struct own_stack {
    struct merged_stack merged;
    struct walked_frame walked[NATIVE_FRAME_COUNT_MAX];
};

enum { OWN_STACK_ROOM_BYTES = 2 + LEB128_BYTES_MAX }; /* what own_stack_announce writes at most */

/* Walks the stack from the caller of the public function that has the frame address `entry` (__builtin_frame_address).
 * Outermost frames that do not fit bytes_max are left out. Returns NULL if there are no native frames: stack_write then
 * writes the labels. Valid until the recording call ends. [signal-safe] */
const struct merged_stack *own_stack_walk(const struct recording *recording, const void *entry, uint32_t bytes_max);

/* A stack for an entry of this recording call. */
struct taken_stack {
    const struct merged_stack *merged; /* NULL: the labels alone */
    uint32_t bytes_max;                /* how many bytes own_stack_write writes at most */
};

/* Takes the calling thread's stack, as own_stack_walk does; else its labels. */
struct taken_stack own_stack_take(const struct recording *recording, const void *entry, uint32_t bytes_max);

/* Writes the stack into an entry, and returns where it ends. Call own_stack_announce before the entry. */
unsigned char *own_stack_write(unsigned char *at, const struct taken_stack *stack, const struct recording *recording);

/* Writes what must come before an entry with addresses. Call this after recording_reserve with OWN_STACK_ROOM_BYTES
 * more.
 */
void own_stack_announce(struct writer *writer);

/* own_stack_announce for a stack that was taken when the last mapping had that id. */
void own_stack_announce_mapping(struct writer *writer, uint32_t mapping_id);

#endif
