/* The ring in which a thread leaves its stacks when its clocks interrupt it, until the sampler takes them out.
 *
 * Only the thread writes, in the handler of the sampler's signal, which nothing of the same kind interrupts. Only the
 * sampler's thread reads. The handler makes no system call and takes no lock. A sample that does not fit is left out.
 */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <ucontext.h>

#include "label_copy.h"
#include "merged_stack.h"

/* What used the processor time that a sample stands for. */
enum sample_origin {
    SAMPLE_OF_EVENT, /* the thread's own code */
    SAMPLE_OF_FIRST, /* unknown: the sample stands for all that the thread has used so far */
    SAMPLE_OF_TICK,  /* unknown: the thread's own code, or the kernel on its behalf, as for a page fault */
    SAMPLE_OF_CALL,  /* the system call that the thread has just returned from */
};

struct ring_sample {
    uint32_t bytes_count; /* with what follows this struct */
    enum sample_origin origin;
    uint32_t missed_count;     /* how many more intervals than one have passed since the last sample of its clock */
    uint64_t ticks;            /* when the sample was taken; 0: unknown, because only a system call would tell */
    uint64_t busy_since_ticks; /* see struct thread_record */
    uint32_t build_count;      /* how often tables had been built when the walk began */
    uint32_t read_count;       /* how often mappings had been read when the walk began */
    bool is_truncated;
    bool has_no_room; /* the stack had too little room for the handler: there are no frames */
    uint32_t walked_count;
    struct walked_frame *walked; /* they follow this struct */
    struct label_copy labels;    /* they follow the frames */
};

enum { SAMPLE_RING_BYTES = 32 * 1024 };

/* Positions count all bytes that were ever written. */
struct sample_ring {
    uint32_t is_open;           /* the handler may take stacks */
    uint32_t is_walking;        /* the thread is in its handler, and may read unwind tables */
    uint32_t lost_count;        /* samples that did not fit; changed by the thread */
    uint32_t lost_event_count;  /* those of the event since its last sample; set to 0 before the clocks are opened */
    uint64_t written;           /* changed by the thread */
    uint64_t read;              /* changed by the sampler */
    struct stack_limits limits; /* the thread's own stack; all zero: unknown. Set before the clocks are opened */
    _Alignas(16) unsigned char bytes[SAMPLE_RING_BYTES];
};

/* What the handler knows of the thread. */
struct sample_source {
    enum sample_origin origin;
    uint32_t missed_count;
    uint64_t busy_since_ticks;
    const struct grec_label_stack *labels;
    const ucontext_t *interrupted; /* the third argument of the handler */
};

/* Returns whether the interrupted thread has just returned from a system call. [signal-safe] */
bool sample_is_after_call(const ucontext_t *interrupted);

/* Adds a sample of the calling thread, unless the ring is closed. [signal-safe] */
void sample_ring_put(struct sample_ring *ring, const struct sample_source *source);

/* Returns the oldest sample; NULL: there is none. It stays until sample_ring_drop. */
const struct ring_sample *sample_ring_first(struct sample_ring *ring);

/* Drops what sample_ring_first has returned. */
void sample_ring_drop(struct sample_ring *ring);

/* Returns how many samples did not fit since the last call. */
uint32_t sample_ring_take_lost_count(struct sample_ring *ring);

/* Lets the handler take stacks, or forbids it. A handler that takes one at this moment ends soon: see
 * sample_ring_is_walking. */
static inline void sample_ring_open(struct sample_ring *ring) { __atomic_store_n(&ring->is_open, 1, __ATOMIC_SEQ_CST); }
static inline void sample_ring_close(struct sample_ring *ring) {
    __atomic_store_n(&ring->is_open, 0, __ATOMIC_SEQ_CST);
}

/* Returns whether the thread has left a sample that was not taken yet. */
static inline bool sample_ring_has_samples(const struct sample_ring *ring) {
    return __atomic_load_n(&ring->written, __ATOMIC_ACQUIRE) != ring->read;
}

static inline bool sample_ring_is_walking(const struct sample_ring *ring) {
    return __atomic_load_n(&ring->is_walking, __ATOMIC_SEQ_CST) != 0;
}
