/* The slot in which a thread leaves the addresses on its stack, and its labels, when the sampler's signal interrupts
 * it. In its next round, the sampler merges both into one stack.
 *
 * The states of a slot: free → requested (the sampler, which then signals) → answering (the thread, in its handler) →
 * answered → free (the sampler, after writing the sample). If the thread blocks the signal, its slot stays requested.
 *
 * The handler makes no system call, reads no clock and takes no lock: all that it needs is in the slot. */
#ifndef GREC_SAMPLE_SLOT_H
#define GREC_SAMPLE_SLOT_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "label_copy.h"
#include "merged_stack.h"

enum sample_slot_state {
    SAMPLE_SLOT_FREE = 0,
    SAMPLE_SLOT_REQUESTED,
    SAMPLE_SLOT_ANSWERING,
    SAMPLE_SLOT_ANSWERED,
    SAMPLE_SLOT_REFUSED, /* the stack had too little room for the handler */
};

struct sample_slot {
    uint32_t state;  /* enum sample_slot_state */
    uint32_t signal; /* sent to the thread and not yet handled; 0: none */

    /* Written by the sampler, while the state is free. */
    uint64_t control_block;        /* that the C library has for the thread; 0: unknown */
    struct stack_limits own_stack; /* all zero: unknown */

    /* Written by the thread, while it answers. */
    bool is_truncated;
    uint32_t build_count; /* how often tables had been built when the walk began */
    uint32_t read_count;  /* how often mappings had been read when the walk began */
    uint32_t walked_count;
    struct walked_frame walked[NATIVE_FRAME_COUNT_MAX];
    struct label_copy labels;
};

/* Call this in the handler: leaves the calling thread's stack in the slot, if that was requested. interrupted: the
 * handler's third argument. labels: the thread's. [signal-safe] */
void sample_slot_answer(struct sample_slot *slot, const struct grec_label_stack *labels, const void *interrupted);

/* Returns whether the signal is the one sent to the slot's thread, and if so, notes that it has arrived.
 * [signal-safe] */
static inline bool sample_slot_take_signal(struct sample_slot *slot, int number) {
    uint32_t expected = (uint32_t)number;
    return __atomic_compare_exchange_n(&slot->signal, &expected, 0, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* Takes back a request. Returns false if the thread is answering it, or has answered. Call this in the sampler's
 * thread.
 */
bool sample_slot_cancel(struct sample_slot *slot);

/* Frees the slot for another thread, after the one that answered last has ended. */
static inline void sample_slot_clear(struct sample_slot *slot) {
    __atomic_exchange_n(&slot->state, SAMPLE_SLOT_FREE, __ATOMIC_ACQ_REL);
}

static inline bool sample_slot_is_answering(const struct sample_slot *slot) {
    return __atomic_load_n(&slot->state, __ATOMIC_ACQUIRE) == SAMPLE_SLOT_ANSWERING;
}

#endif
