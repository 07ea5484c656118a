/* The calling thread's own stack, for a marker, an allocation or a sample on demand: with native frames where there is
 * a sampler, whose tables they are walked by. */
#ifndef GREC_OWN_STACK_H
#define GREC_OWN_STACK_H

#include <stdint.h>

#include "leb128.h"
#include "merged_stack.h"

struct recording;
struct writer;

struct own_stack {
    struct merged_stack merged;
    struct walked_frame walked[NATIVE_FRAME_COUNT_MAX];
};

enum { OWN_STACK_ROOM_BYTES = 2 + LEB128_BYTES_MAX }; /* what own_stack_announce takes */

/* Takes the stack outside of the function with that frame address (__builtin_frame_address), which is one of this
 * library that the program has called; frames that do not fit bytes_max are left out. NULL: there are labels at most,
 * which stack_write has. Valid until the recording call ends. [signal-safe] */
const struct merged_stack *own_stack_take(const struct recording *recording, const void *entry, uint32_t bytes_max);

/* Says in the chunk what must stand before a block with that stack. After recording_reserve with OWN_STACK_ROOM_BYTES
 * more. */
void own_stack_announce(struct writer *writer);

/* The same for a stack that was taken when that was the last definition of a mapping. */
void own_stack_announce_mapping(struct writer *writer, uint32_t mapping_id);

#endif
