/* What a thread leaves of itself when the sampler's signal interrupts it: its stack, native and label frames merged.
 *
 * A slot goes free → requested (the sampler, which then signals) → taken (the thread, in its handler) → free (the
 * sampler, when it has written the sample). A thread that blocks the signal leaves it requested; one that cannot record
 * just then, in a pause or too deep in signal handlers, makes it free again; one whose stack is too full says so. */
#ifndef GREC_SAMPLE_SLOT_H
#define GREC_SAMPLE_SLOT_H

#include <stdbool.h>
#include <stdint.h>

#include "merged_stack.h"

enum sample_slot_state { SAMPLE_SLOT_FREE = 0, SAMPLE_SLOT_REQUESTED, SAMPLE_SLOT_TAKEN, SAMPLE_SLOT_NO_ROOM };

struct sample_slot {
    uint32_t state; /* enum sample_slot_state */

    /* The thread's, while the state is requested. */
    bool is_unwanted; /* left out by the options */
    bool is_named;    /* by the program, not the system */
    uint64_t uid;
    uint64_t start_ticks;
    uint64_t taken_ticks;
    uint32_t name_bytes_count;
    char name[128];
    uint32_t build_count; /* of tables, when the walk began */
    struct merged_stack taken;
    struct walked_frame walked[NATIVE_FRAME_COUNT_MAX];
};

/* In the handler of the sampler's signal, whose third argument `interrupted` is: the stack that it runs on has room for
 * what else it is to do. [signal-safe] */
bool sample_slot_has_room(const void *interrupted);

/* In the same, of a thread that has a record and no room: says so, if its stack was asked for. [signal-safe] */
void sample_slot_refuse(void);

/* In the same, of a thread that has a record: takes the stack, if it was asked for. [signal-safe] */
void sample_slot_take(const void *interrupted);

#endif
