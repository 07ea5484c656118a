/* The threads that record. A thread claims a record and releases it when it ends; the next thread then claims the same
 * record, so memory grows only with the number of threads that exist at one time. Claiming is lock-free, since signal
 * handlers may do it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "block.h"
#include "labels.h"
#include "recorder/gecko_recorder.h"
#include "recorder/state/recording_state.h"
#include "recorder/state/shared.h"

enum {
    /* A recording call, one of a signal handler that interrupts it, and two more. */
    NESTING_MAX = 4,
    THREAD_NAME_BYTES = 128,
    SYSTEM_NAME_BYTES = 16,
    LEVEL_PART_COUNT = 16,
};

#define EVENT_LOOP_IDLE UINT64_MAX

struct sampled_thread;

/* What a thread has added to the level of a counter since that was last set. A thread changes its own parts alone, so
 * threads that share a counter do not wait for each other. They stay in the record when the thread ends. */
struct level_part {
    const struct grec_counter *counter; /* NULL: the part is free */
    uint64_t set_count;                 /* the part is of no more use when it differs from the counter's */
    int64_t sum;
};

/* What recording calls touch. The kernel clears it in forked children, so they never write into their parent's chunks.
 */
struct thread_writers {
    uint32_t tid;               /* the owner's; 0: the record is free. Other threads read it by thread_registry_tid */
    uint32_t depth;             /* recording calls in progress */
    uint32_t generation;        /* the recording that the members below belong to; 0: none */
    uint32_t is_muted;          /* the options leave the thread out */
    uint32_t lock;              /* see thread_writers_lock */
    uint64_t group_word;        /* recording_group_word when the thread last looked */
    uint32_t orphan_generation; /* the recording in which an earlier owner left its chunks open; 0: none */
    struct writer writers[NESTING_MAX];
    struct level_part level_parts[LEVEL_PART_COUNT]; /* a counter's id leads to its part. Only calls that interrupt no
                                                        other one use them */
};

/* What a thread leaves when it gives its record back. */
struct thread_left {
    uint64_t cpu_ns;                  /* the processor time that it had used; 0: unknown */
    uint64_t ticks;                   /* when that was; 0: unknown */
    char name[SYSTEM_NAME_BYTES + 1]; /* the system's name for it; empty: unknown */
};

/* Whether another thread waits for a sample of the thread. */
enum thread_demand { THREAD_NOT_DEMANDED = 0, THREAD_DEMANDED, THREAD_DEMAND_SEEN };

struct thread_record {
    uint64_t shared_uid;           /* see thread_record_uid */
    uint64_t uid;                  /* the thread's number in the trace */
    uint32_t uid_generation;       /* the uid is valid in this recording */
    uint32_t outer_tid;            /* the thread's id where the process has its outer pid; 0: it has none */
    uint64_t uid_process_start_ns; /* the uid is valid in the process that began at this time */
    uint64_t start_ticks;          /* 0: the first event's time. Set it by thread_record_start: the sampler reads it */
    uint32_t name_bytes_count;
    bool is_named; /* the program has given the name. Other threads read the name only if this is set */
    char name[THREAD_NAME_BYTES];
    uint32_t is_asleep;        /* the program's hint says so */
    uint32_t demand;           /* enum thread_demand */
    uint32_t is_spared;        /* must not be interrupted: see own_signal_spare_thread */
    uint64_t busy_since_ticks; /* the event loop handles an event since then; 0: there is no loop; EVENT_LOOP_IDLE: it
                                  waits */
    uint64_t control_block;    /* the C library's, for the thread; 0: not known. Set by the sampler */
    uint32_t left_tid;         /* the last thread that has given the record back; 0: none */
    struct thread_left left;   /* by that thread */
    struct sampled_thread *sampled; /* the sampler's; NULL: it has not seen the record yet */
    struct grec_label_stack labels;
};

/* The calling thread's; NULL while it has no record. */
extern __thread struct thread_writers *thread_writers_self GREC_SHARED(thread_writers_self)
    __attribute__((tls_model("initial-exec")));
extern __thread struct thread_record *thread_record_self GREC_SHARED(thread_record_self)
    __attribute__((tls_model("initial-exec")));

/* Call this once, in the first thread of the process, before threads are claimed. */
void thread_registry_init(void);

/* Call this once, before the first recording: finds out whether the process is under a filter of system calls. */
void thread_registry_look_for_filter(void);

/* From now on the recorder makes no system call in threads that end, and keeps their records. */
void thread_registry_silence(void) GREC_SHARED(thread_registry_silence);

/* Claims a record for the calling thread, with the system's name for the thread. Returns NULL when there is no memory.
 * [signal-safe] */
struct thread_writers *thread_registry_claim(void) GREC_SHARED(thread_registry_claim);

/* Releases the calling thread's record. While labels are pushed, the thread keeps the record, and its next event begins
 * another thread in the trace. [signal-safe] */
void thread_registry_release(void);

/* While recording is off, two threads may close the same writers at once: the owner, as it ends, and the thread that
 * stops the recording. Call these with signals blocked. [signal-safe] */
void thread_writers_lock(struct thread_writers *writers);
void thread_writers_unlock(struct thread_writers *writers);

/* In a forked child, claims the record that the thread had in its parent. [signal-safe] */
void thread_registry_reclaim(void);

/* Sets the name of the calling thread's record. name NULL: the system's name. [signal-safe] */
void thread_registry_name(struct thread_record *record, const char *name);

/* Copies the name of a record, which its thread may be changing meanwhile. Returns the length. [signal-safe] */
uint32_t thread_record_copy_name(const struct thread_record *record, char name[THREAD_NAME_BYTES])
    GREC_SHARED(thread_record_copy_name);

/* Returns what the thread has left; all zero: nothing is known. */
struct thread_left thread_record_left(const struct thread_record *record, uint32_t tid) GREC_SHARED(thread_record_left);

static inline void thread_record_start(struct thread_record *record, uint64_t ticks) {
    __atomic_store_n(&record->start_ticks, ticks, __ATOMIC_RELAXED);
}

/* Returns the number of a record's thread in the trace. The first call in a recording, by the thread or the sampler,
 * assigns it. Call this in a recording call. [signal-safe] */
uint64_t thread_record_uid(struct thread_record *record) GREC_SHARED(thread_record_uid);

/* A tagged uid also has the recording's number in its high bits; the highest bit is 0. These return the tagged uid, the
 * uid in it, and whether it belongs to a thread of this process in this recording. [signal-safe] */
uint64_t thread_record_tagged_uid(struct thread_record *record);
uint64_t thread_uid_of_tagged(uint64_t tagged_uid);
bool thread_uid_is_current(uint64_t tagged_uid);

/* Sets *is_left_out to whether the options leave the thread out. Leaves it unchanged if the thread has ended. Call this
 * in a recording call. [signal-safe] */
void thread_registry_look_up(uint64_t tagged_uid, uint32_t tid, bool *is_left_out);

/* The sampler holds records for threads that have not claimed one. The first call of such a thread claims the record
 * that is held for it. thread_registry_hold does nothing if the thread has a record. It returns false if the thread has
 * released its record, so that the thread has had its track, and has recorded nothing since. */
bool thread_registry_hold(uint32_t tid) GREC_SHARED(thread_registry_hold);
bool thread_registry_is_held(const struct thread_writers *writers) GREC_SHARED(thread_registry_is_held);

/* Returns the id of the thread that the record is held for, or that has released it; 0: none. */
uint32_t thread_registry_absent_tid(const struct thread_writers *writers) GREC_SHARED(thread_registry_absent_tid);

/* Frees such a record, when that thread has ended or is no longer of interest. Does nothing to a claimed one. */
void thread_registry_drop(struct thread_writers *writers) GREC_SHARED(thread_registry_drop);

/* Returns the id of the thread that has claimed the record or that it is held for; 0: none. */
uint32_t thread_registry_tid(const struct thread_writers *writers) GREC_SHARED(thread_registry_tid);

/* Returns the record of the thread, registered or held for it; NULL: it has ended, or is one of another recording. */
struct thread_record *thread_registry_find(uint64_t tagged_uid, uint32_t tid);

/* Returns the record that the thread has claimed, or that is held for it; NULL: there is none. */
struct thread_record *thread_registry_record_of(uint32_t tid) GREC_SHARED(thread_registry_record_of);

/* Whether the thread's is_muted is up to date: the thread has looked at the filter since the recording began and the
 * filter changed. */
static inline bool thread_writers_know_filter(const struct thread_writers *writers) {
    return __atomic_load_n(&writers->generation, __ATOMIC_ACQUIRE) == recording_generation &&
           __atomic_load_n(&writers->group_word, __ATOMIC_ACQUIRE) == recording_load_group_word();
}

/* Calls `visit` for all records, free ones too. */
void thread_registry_each_record(void (*visit)(struct thread_writers *writers, struct thread_record *record,
                                               void *context),
                                 void *context) GREC_SHARED(thread_registry_each_record);
