/* What the sampler knows of a thread, and the entries that it writes for the thread. Call these in the sampler's thread
 * alone. */
#ifndef GREC_SAMPLED_THREAD_H
#define GREC_SAMPLED_THREAD_H

#include <stdbool.h>
#include <stdint.h>

#include "sample_slot.h"

struct recording;

/* What samples of the thread have. */
enum sampled_state {
    SAMPLED_UNKNOWN = 0, /* nothing yet: its next stack is awaited, and there is no sample without one */
    SAMPLED_KNOWN,       /* the stack `last`, which the thread has had since it last ran */
    SAMPLED_UNREACHED,   /* no stack: the thread cannot be asked, or does not answer */
    SAMPLED_LEFT_OUT,    /* no samples: the thread's name is not wanted, or the thread has ended */
};

/* Whether the thread has used processor time between the last two rounds. */
enum sampled_activity {
    ACTIVITY_UNREAD = 0, /* its processor time was read less than twice */
    ACTIVITY_IDLE,
    ACTIVITY_RUNNING,
};

/* Whether the sampler's signal can be sent to the thread, when that was last checked. */
enum sampled_reach {
    REACH_UNCHECKED = 0,
    REACH_OPEN,
    REACH_BLOCKED, /* the thread blocks the signal */
    REACH_FOREIGN, /* the C library does not know the thread */
};

struct sampled_thread {
    uint32_t written_count; /* samples since another thread demanded one */
    uint32_t epoch;         /* the number of the sampler that set the other members; a later sampler resets them */
    uint32_t tid;           /* 0: none */
    uint64_t uid;           /* in the trace; 0: not known yet */
    uint64_t start_ticks;
    uint64_t found_ticks; /* the round that found the thread */
    enum sampled_state state;
    enum sampled_activity activity;
    enum sampled_reach reach;

    bool is_asleep;             /* by its own hint, in the round before */
    bool has_new_cpu;           /* new_cpu_ns was read in this round */
    bool is_cpu_known;          /* unwritten_cpu_ns counts from a sample in the trace */
    bool is_named;              /* by the program */
    bool is_renamed;            /* since it was introduced in the trace */
    bool is_unreached_reported; /* in the log */
    bool is_refusal_reported;   /* in the log, that its stack had no room for a handler */

    uint64_t cpu_ns;           /* processor time that it has used, when last read */
    uint64_t new_cpu_ns;       /* cpu_ns as it was read in this round */
    uint64_t unwritten_cpu_ns; /* processor time that it has used since its last sample in the trace */

    uint32_t signal_change_count;  /* the sampler's signal that `reach` is about */
    uint32_t dropped_count;        /* stacks in a row that were dropped, to be asked for again */
    uint32_t postponed_count;      /* rounds in a row that did not ask it, since it may be about to leave a wait */
    uint64_t control_block;        /* that the C library has for it; 0: not known */
    uint64_t unreached_ticks;      /* since when it cannot be asked; 0: it can */
    uint64_t next_check_ticks;     /* when to check `reach` again */
    uint64_t request_ticks;        /* when the request under way was made; 0: there is none */
    uint64_t wait_fingerprint;     /* of its wait when that was last looked at; 0: it did not wait */
    struct grec_label *asked_wait; /* names the wait that the request under way interrupts; NULL: the thread ran */
    uint64_t asked_wait_pc;
    uint64_t late_wait_ticks; /* when it was last in a wait that a late signal cuts short; 0: never */

    /* Numbers of the sampler's chunks; 0: none. */
    uint64_t chunk_of_name;  /* in which the thread is introduced */
    uint64_t chunk_of_stack; /* in which `last` was written */

    uint32_t name_bytes_count;
    char name[128];
    struct merged_stack last;
};

/* Facts about one sample. */
struct sample_facts {
    uint64_t ticks; /* 0: now */
    bool has_delay;
    uint64_t delay_ns;
};

/* Call this when a sampler starts: it writes into other chunks than the sampler before. */
void sampled_threads_begin(void);

/* Whether this process has a sample in the recording. Call this when the sampler has stopped. */
bool sampled_threads_are_there(void);

/* Writes a sample with the thread's last stack. Call this, and the functions below, in a recording call. */
void sampled_thread_write_last(struct sampled_thread *thread, struct recording *recording,
                               const struct sample_facts *facts);

/* Writes a sample with this stack, which becomes the thread's last one. */
void sampled_thread_write(struct sampled_thread *thread, struct recording *recording, const struct merged_stack *stack,
                          const struct sample_facts *facts);

/* Writes that the thread has ended. */
void sampled_thread_write_end(struct sampled_thread *thread, struct recording *recording);

#endif
