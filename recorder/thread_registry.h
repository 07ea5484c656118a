/* The threads that record. A record is claimed by a thread and released at its end, for the next one; memory grows only
 * with the number of threads that live at a time. Claiming is lock-free, since signal handlers may do it. */
#ifndef GREC_THREAD_REGISTRY_H
#define GREC_THREAD_REGISTRY_H

#include <signal.h>
#include <stdbool.h>
#include <stdint.h>

#include "gecko_recorder.h"
#include "own_stack.h"
#include "sample_slot.h"
#include "sampled_thread.h"
#include "trace_format.h"

enum {
    /* A recording call, a signal handler's in it, and two more. */
    NESTING_MAX = 4,
    THREAD_NAME_BYTES = 128,
    SCRATCH_BYTES = 4096,
};

#define EVENT_LOOP_IDLE UINT64_MAX

/* Where a thread writes, one for each level of nesting: a signal handler that interrupts a recording call has a chunk
 * of its own, so neither sees the other. */
struct writer {
    unsigned char *next; /* the next block's place; equal to end: there is no chunk */
    unsigned char *end;
    uint64_t last_ticks;  /* the chunk's running time */
    uint64_t clock_ticks; /* from this time on a calibration is due */
    uint64_t commit;      /* as in the chunk */
    struct trace_chunk_header *chunk;
    uint64_t sequence;        /* chunks taken before */
    uint64_t retry_ticks;     /* no chunk could be had: not to be tried again before */
    uint32_t is_abandoned;    /* the chunk stays as it is, and may be of a pool that is no more: see writers_abandon */
    uint32_t mapping_id;      /* what the chunk says of the program's mappings: see own_stack_announce */
    uint64_t running_address; /* the chunk's */
};

/* What recording calls touch. Cleared in forked children, which so never write into their parent's chunks. */
struct thread_writers {
    uint32_t tid;               /* of the owner; 0: free. Others ask thread_registry_tid */
    uint32_t depth;             /* recording calls that are in progress */
    uint32_t generation;        /* of the recording that the rest belongs to; 0: none */
    uint32_t is_muted;          /* left out by the options */
    uint32_t lock;              /* see thread_writers_lock */
    uint32_t orphan_generation; /* of the recording in which a thread that has ended left its writers; 0: none did */
    struct writer writers[NESTING_MAX];
};

struct thread_record {
    uint64_t shared_uid;     /* see thread_record_uid */
    uint64_t uid;            /* in the trace */
    uint32_t uid_generation;       /* of the recording that the uid is of… */
    uint64_t uid_process_start_ns; /* …and the process */
    uint64_t start_ticks;    /* 0: from the first event on. The sampler looks at it: thread_record_start */
    uint32_t name_bytes_count;
    bool is_named; /* by the program: the system's name does not count. Others look at the name behind this alone */
    char name[THREAD_NAME_BYTES];
    uint32_t is_asleep;        /* as the program says */
    uint32_t is_spared;        /* not to be signalled: see own_signal_spare_thread */
    uint64_t busy_since_ticks; /* the thread's event loop; 0: it has none; EVENT_LOOP_IDLE: it waits for events */
    /* The sampler's: here, since what it looks at in each round is to lie on one page. */
    struct sampled_thread sampled;
    struct own_stack own_stack;
    struct sample_slot sample;
    struct grec_label_stack labels;
    unsigned char scratch[NESTING_MAX][SCRATCH_BYTES]; /* where definitions are composed */
};

/* Of the calling thread; NULL while it has none. */
extern __thread struct thread_writers *thread_writers_self __attribute__((tls_model("initial-exec")));
extern __thread struct thread_record *thread_record_self __attribute__((tls_model("initial-exec")));

/* Once, before threads are claimed. */
void thread_registry_init(void);

/* A record for the calling thread, under the system's name for it; NULL when there is no memory. [signal-safe] */
struct thread_writers *thread_registry_claim(void);

/* The calling thread's record is free again; while labels are pushed it stays the thread's own, whose next event is one
 * of another thread in the trace. [signal-safe] */
void thread_registry_release(void);

/* While recording is off two threads may come to close the same writers: their owner, which ends, and who stops the
 * recording. Signals must be blocked. [signal-safe] */
void thread_writers_lock(struct thread_writers *writers);
void thread_writers_unlock(struct thread_writers *writers);

/* In a forked child: the record that the thread had as its copy's is its own again. [signal-safe] */
void thread_registry_reclaim(void);

/* Sets the name of the calling thread's record; NULL: the system's. [signal-safe] */
void thread_registry_name(struct thread_record *record, const char *name);

/* Copies the name of a record, which its thread may be changing; returns its length. [signal-safe] */
uint32_t thread_record_copy_name(const struct thread_record *record, char name[THREAD_NAME_BYTES]);

/* Around what a signal handler in the same thread must not find half done. [signal-safe] */
void thread_signals_block(sigset_t *before);
void thread_signals_restore(const sigset_t *before);

/* The calling thread's record, its own or the one that is held for it, if a signal of the sampler's is on its way to the
 * thread; else NULL. [signal-safe] */
struct thread_record *thread_registry_find_asked(void);

static inline void thread_record_start(struct thread_record *record, uint64_t ticks) {
    __atomic_store_n(&record->start_ticks, ticks, __ATOMIC_RELAXED);
}

/* The number in the trace that the thread of a record has in this recording, which it takes with the first call: its
 * own, or the sampler's. Within a recording call. [signal-safe] */
uint64_t thread_record_uid(struct thread_record *record);

/* The same, with the recording's number in the high bits below the highest one; taken apart; and whether such a number is
 * that of a thread of this process in this recording. [signal-safe] */
uint64_t thread_record_tagged_uid(struct thread_record *record);
uint64_t thread_uid_of_tagged(uint64_t tagged_uid);
bool thread_uid_is_current(uint64_t tagged_uid);

/* Sets *is_left_out to whether the options leave the thread out; leaves it as it is where the thread has ended. Within a
 * recording call. [signal-safe] */
void thread_registry_look_up(uint64_t tagged_uid, uint32_t tid, bool *is_left_out);

/* For the sampler: the thread has a record of its own from now on, though it has not asked for one, unless it has one.
 * Its first call of the library finds it. Such a record is given back by who took it, when the thread has ended without
 * such a call or nobody wants it any more; one that has its thread is left alone. */
void thread_registry_hold(uint32_t tid);
bool thread_registry_is_held(const struct thread_writers *writers);
void thread_registry_drop(struct thread_writers *writers);

/* The thread that a record is there for; 0: none. */
uint32_t thread_registry_tid(const struct thread_writers *writers);

/* Whether a thread of this process has a record; the main thread as markers can be aimed at it. */
bool thread_registry_has(uint32_t tid);
struct grec_thread thread_registry_main(void);

/* Calls `visit` for all records, those that nobody has too. */
void thread_registry_each_record(void (*visit)(struct thread_writers *writers, struct thread_record *record,
                                               void *context),
                                 void *context);

/* Calls `visit` for all that are claimed. */
void thread_registry_each(void (*visit)(struct thread_writers *writers, void *context), void *context);

#endif
