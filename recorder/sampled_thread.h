/* What the sampler knows of a thread, and what it writes of it into the trace. Of the sampler's thread alone. */
#ifndef GREC_SAMPLED_THREAD_H
#define GREC_SAMPLED_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "sample_slot.h"

struct recording;

struct sampled_thread {
    uint32_t epoch; /* of the sampler: another one's is forgotten */
    uint32_t tid;   /* 0: none */
    uint64_t uid;   /* in the trace; 0: not known yet */
    uint64_t start_ticks;
    uint64_t cpu_ns;           /* that it has used, when last looked at… */
    uint64_t unwritten_cpu_ns; /* …and since its last sample in the trace */
    bool is_asleep;            /* by its own words */
    bool is_looked_at;         /* at its processor time */
    bool is_awake;             /* it had used some */
    bool is_asked;             /* for it, in this round */
    uint64_t asked_cpu_ns;
    bool is_cpu_known; /* since a sample in the trace */
    bool is_unwanted;  /* by its name, until it has another one */
    bool is_named;     /* by the program */
    bool is_renamed;
    bool has_stack;         /* `last` is what it was doing when it last did anything */
    bool is_unreached;      /* it cannot be asked, or does not answer */
    bool is_said_unreached; /* in the log… */
    bool is_said_refused;   /* …and that it had no room for a handler once */
    bool is_reachable;      /* it was found not to block the signal, some time */
    uint32_t signal_count;  /* of the signal that it was found not to block */
    bool is_foreign;        /* the C library does not know it */
    uint64_t control_block; /* that the C library has for it; 0: not known */
    uint64_t found_ticks;
    uint64_t unreached_ticks;  /* of when it was first found to be out of reach, before that; 0: it was not */
    uint64_t next_check_ticks; /* of whether it still does */
    uint32_t dropped_count;    /* stacks in a row that were not written, to be asked for again */
    uint64_t wait_fingerprint; /* of what it waited in when it was last asked; 0: nothing */
    uint64_t late_wait_ticks;  /* of when it was last seen in a wait that is cut when it is late; 0: never */
    uint32_t spared_count;     /* looks in a row at which it was not asked, since it was about to leave such a wait */
    uint64_t request_ticks;    /* of the signal that is under way; 0: none */
    uint64_t chunk_of_name;    /* the sampler's chunk, by its number, in which the thread is introduced… */
    uint64_t chunk_of_stack;   /* …and `last` stands; 0: none */
    uint32_t name_bytes_count;
    char name[128];
    struct merged_stack last;
};

/* What goes with a sample. */
struct sample_facts {
    uint64_t ticks; /* 0: now */
    bool has_delay;
    uint64_t delay_ns;
};

/* A sampler has begun: what the one before wrote is in other chunks. */
void sampled_threads_begin(void);

/* Whether this process has a sample in the recording. When there is no sampler any more. */
bool sampled_threads_are_there(void);

/* A sample with the thread's last stack, whole where the chunk does not have it. Within a recording call. */
void sampled_thread_write_last(struct sampled_thread *thread, struct recording *recording,
                               const struct sample_facts *facts);

/* A sample with this stack, which becomes the last one. */
void sampled_thread_write(struct sampled_thread *thread, struct recording *recording, const struct merged_stack *stack,
                          const struct sample_facts *facts);

/* The thread is gone. */
void sampled_thread_write_end(struct sampled_thread *thread, struct recording *recording);

#endif
