/* What a thread leaves of itself when the sampler's signal interrupts it: the addresses on its stack, and its labels. The
 * sampler makes a stack of both, when it comes by again.
 *
 * A slot goes free → requested (the sampler, which then signals) → answering (the thread, in its handler) → answered →
 * free (the sampler, when it has written the sample). A thread that blocks the signal leaves it requested.
 *
 * The handler makes no system call, reads no clock and takes no lock: what it needs is in the slot. */
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
    SAMPLE_SLOT_REFUSED, /* there was too little room on the stack for a handler */
};

struct sample_slot {
    uint32_t state;  /* enum sample_slot_state */
    uint32_t signal; /* that is on its way to the thread; 0: none */

    /* The sampler's, while the state is free. */
    uint64_t control_block;        /* which the C library has for the thread; 0: not known */
    struct stack_limits own_stack; /* all zero: not known */

    /* The thread's, while it answers. */
    bool is_truncated;
    uint32_t build_count; /* of tables, and… */
    uint32_t read_count;  /* …of mappings, when the walk began */
    uint32_t walked_count;
    struct walked_frame walked[NATIVE_FRAME_COUNT_MAX];
    struct label_copy labels;
};

/* In the handler, whose third argument is `interrupted`: leaves what was asked for, if anything was, of the calling
 * thread, whose labels these are. [signal-safe] */
void sample_slot_answer(struct sample_slot *slot, const struct grec_label_stack *labels, const void *interrupted);

/* Whether the signal is the one that was on its way to the slot's thread, which has come then. [signal-safe] */
static inline bool sample_slot_take_signal(struct sample_slot *slot, int number) {
    uint32_t expected = (uint32_t)number;
    return __atomic_compare_exchange_n(&slot->signal, &expected, 0, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED);
}

/* Of the sampler's thread: takes back a request. Returns false if it is being answered just now, or was. */
bool sample_slot_cancel(struct sample_slot *slot);

/* Frees the slot for another thread. The thread that answered last has ended: what it wrote is complete after this. */
static inline void sample_slot_clear(struct sample_slot *slot) {
    __atomic_exchange_n(&slot->state, SAMPLE_SLOT_FREE, __ATOMIC_ACQ_REL);
}

static inline bool sample_slot_is_answering(const struct sample_slot *slot) {
    return __atomic_load_n(&slot->state, __ATOMIC_ACQUIRE) == SAMPLE_SLOT_ANSWERING;
}

#endif
