/* What the sampler knows of a thread, and the entries that it writes for the thread. Call these in the sampler's thread
 * alone. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "cpu_share.h"
#include "merged_stack.h"
#include "sample_ring.h"
#include "thread_clocks.h"

struct recording;

/* What the thread's last sample shows. */
enum sampled_state {
    SAMPLED_NOTHING = 0, /* there is none yet */
    SAMPLED_AT_WORK,     /* the stack `last`, in which the thread ran */
    SAMPLED_IN_WAIT,     /* the stack `last`, in which the thread waits, unless it has run since */
    SAMPLED_UNREACHED,   /* no stack: there is no way to take one */
    SAMPLED_LEFT_OUT,    /* there are no samples: the thread's name is not wanted, or the thread has ended */
};

/* Whether the thread can be interrupted, when that was last checked. */
enum sampled_reach {
    REACH_UNCHECKED = 0,
    REACH_OPEN,
    REACH_BLOCKED, /* the thread blocks the signal */
    REACH_FOREIGN, /* the C library does not know the thread */
};

/* The last thread that had a record. */
struct sampled_before {
    uint32_t tid; /* 0: none */
    uint64_t cpu_ns;
};

struct sampled_thread {
    uint32_t epoch; /* the number of the sampler that set the other members; a later sampler resets them */
    uint32_t tid;   /* 0: none */
    struct sampled_before before;
    uint64_t uid; /* the thread's number in the trace; 0: not known yet */
    uint64_t start_ticks;
    uint64_t found_ticks; /* the round that found the thread */
    uint64_t named_ticks; /* when the system's name for it was last read */
    enum sampled_state state;
    enum sampled_reach reach;

    bool is_cpu_read;           /* cpu_ns was read before */
    bool is_new;                /* it has begun since the round before it was found */
    bool is_left_out;           /* its name is not wanted: what it has used since cpu_ns was read does not count */
    bool was_reached;           /* its clocks have been open since it was last found to be out of reach */
    bool has_ended;             /* the thread has ended since cpu_ns was read, and has not left what it used */
    bool is_named;              /* the program has named it */
    bool is_renamed;            /* the trace does not have its name or interval of now */
    bool is_unreached_reported; /* the log says that it cannot be reached */
    bool is_refusal_reported;   /* the log says that its stack had no room for a handler */

    uint64_t cpu_ns;         /* processor time that it has used, when last read */
    uint64_t read_ticks;     /* when cpu_ns was read */
    uint64_t used_ticks;     /* the last round in which it had used more, or its end if it has used more since */
    uint64_t ended_ticks;    /* its end; 0: unknown */
    uint64_t sampled_ns;     /* the processor time that samples stand for */
    int64_t found_ns;        /* what no sample stood for when the clocks were opened */
    uint32_t idle_count;     /* rounds in a row in which it has not run */
    uint32_t unlooked_count; /* rounds to come in which it need not be looked at */
    struct cpu_share share;
    uint64_t fault_count;       /* page faults that are in `share` */
    uint64_t wait_count;        /* how often it has begun to wait, when last counted */
    uint64_t preemption_count;  /* how often it has had to leave its processor to others, at that time */
    uint64_t next_count_cpu_ns; /* the processor time at which both are counted again */
    bool is_switching;          /* see cpu_share_is_switching */
    bool was_switching;         /* is_switching when the clocks were opened */
    int signal;                 /* the clocks send it; 0: they are not open */
    uint64_t interval_ns;
    uint64_t control_block; /* the C library's, for this thread; 0: not known */

    uint32_t written_count;    /* samples since another thread demanded one */
    uint32_t dropped_count;    /* rounds in a row in which stacks were dropped because a table was missing */
    uint64_t heard_ticks;      /* when its clocks were opened, its last sample was taken, or it was found to wait */
    uint64_t unreached_ticks;  /* since when it cannot be reached; 0: it can */
    uint64_t next_check_ticks; /* when to check `reach` again */
    uint64_t wait_fingerprint; /* identifies the wait in `last`; 0: `last` is no wait */

    /* Numbers of the sampler's chunks; 0: none. */
    uint64_t chunk_of_name;  /* the chunk that introduces the thread */
    uint64_t chunk_of_stack; /* the chunk that has `last` */

    uint32_t name_bytes_count;
    char name[128];
    struct merged_stack last;

    /* These outlive the thread: its signals may still be on their way. */
    struct thread_clocks clocks;
    struct sample_ring ring;
};

/* Facts about one sample. */
struct sample_facts {
    uint64_t ticks;  /* when the sample was taken; 0: now */
    uint64_t cpu_ns; /* processor time that it stands for */
    bool has_delay;
    uint64_t delay_ns;
};

struct thread_record;

/* Returns what the sampler knows of the record's thread, from all zero; NULL: there is no memory. Stays for as long as
 * the record. */
struct sampled_thread *sampled_thread_of(struct thread_record *record);

/* Call this when a sampler starts: it writes into other chunks than the sampler before. */
void sampled_threads_begin(void);

/* Whether this process has a sample in the recording. Call this when the sampler has stopped. */
bool sampled_threads_are_there(void);

/* Writes a sample with the thread's last stack. Call this, and the functions below, in a recording call. */
void sampled_thread_write_last(struct sampled_thread *thread, struct recording *recording,
                               const struct sample_facts *facts);

/* Writes a sample with this stack, which becomes the thread's last one. NULL: without a stack. */
void sampled_thread_write(struct sampled_thread *thread, struct recording *recording, const struct merged_stack *stack,
                          const struct sample_facts *facts);

/* Writes processor time that the thread has used between its samples. */
void sampled_thread_write_rest(struct sampled_thread *thread, struct recording *recording, uint64_t rest_ns);

/* Writes the thread's name if it has changed since the thread was introduced. */
void sampled_thread_write_name(struct sampled_thread *thread, struct recording *recording);

/* Writes that the thread has ended, at ended_ticks if that is known, or now. */
void sampled_thread_write_end(struct sampled_thread *thread, struct recording *recording);
