/* The state of the recording that all of the recorder reads: its pool and number, whether threads record now, which
 * threads are wanted, and what was lost. The files of
 * recorder/session start and stop the recording, and so change most of it. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "pool.h"
#include "recorder/gecko_recorder.h"
#include "shared.h"

/* The open pool; base is NULL before the first start. It changes only while no thread is in a recording call. */
extern struct pool recording_pool GREC_SHARED_DATA(recording_pool);

/* The number of the recording, from 1. An id that is cached in a description is valid in one recording alone. */
extern uint32_t recording_generation GREC_SHARED_DATA(recording_generation);

/* Threads with smaller numbers belong to the processes that this one was forked from. */
extern uint64_t recording_first_uid;

/* Called by the first recording call of a forked child: the child becomes part of the recording. Returns false if it
 * does not record. Set before the first recording starts; called with signals blocked. [signal-safe] */
extern bool (*recording_enter_child)(void);

/* ---- On and off. ---- */

/* Values of grec_recording_. */
enum { RECORDING_OFF = 0, RECORDING_BY_CLOCK = 1, RECORDING_BY_COUNTER = 2, RECORDING_PAUSED = GREC_PAUSED_ };

/* Switches recording on or off for threads that enter a recording call from now on. [signal-safe] */
void recording_switch(bool is_on);

/* Switches recording off. Recording calls then still look for commands of other processes. [signal-safe] */
void recording_switch_to_pause(void);

static inline bool recording_is_on(void) {
    return __atomic_load_n(&grec_recording_, __ATOMIC_SEQ_CST) - 1 < RECORDING_PAUSED - 1;
}

/* Call this before the calling thread is forbidden to read the cycle counter: see clock_forbid_counter. */
void recording_forbid_counter(void) GREC_SHARED(recording_forbid_counter);

/* Call this once in the process, before recording_fence. */
void recording_fence_init(void);

/* A full barrier in all threads of the process: the calling thread then sees what they stored before, and they see what
 * it stored before. */
void recording_fence(void) GREC_SHARED(recording_fence);

/* Stops the recording for good because the trace cannot grow, and reports `error` (an errno value) once for all
 * processes of the trace. The program goes on. [signal-safe] */
void recording_stop_for_storage(int error) GREC_SHARED(recording_stop_for_storage);

/* ---- Commands for all processes of the trace. ---- */

/* The word of the open pool that changes with each command (struct pool_bookkeeping), or the one that never changes. */
extern const uint64_t recording_no_group_word;
extern const uint64_t *recording_group_word GREC_SHARED_DATA(recording_group_word);

static inline uint64_t recording_load_group_word(void) {
    return __atomic_load_n(__atomic_load_n(&recording_group_word, __ATOMIC_RELAXED), __ATOMIC_RELAXED);
}

/* The word when this process last did what it says. */
extern uint64_t recording_obeyed_word GREC_SHARED_DATA(recording_obeyed_word);

static inline bool recording_has_command(void) {
    return recording_load_group_word() != __atomic_load_n(&recording_obeyed_word, __ATOMIC_RELAXED);
}

/* Does what the word says. Returns false if the thread must try again later, because another thread, or the call that
 * this one has interrupted, is starting or stopping something. Set before the first recording starts; called with
 * signals blocked. [signal-safe] */
extern bool (*recording_obey)(void) GREC_SHARED(recording_obey);

/* ---- Which threads are wanted. ---- */

/* Sets the words of which a thread's name must contain one, comma-separated; empty: all threads are wanted. `words` is
 * shorter than POOL_FILTER_BYTES, and is copied. A word "pid:123" stands for all threads of that process, and
 * "-word" leaves out those that the word stands for. Threads look at the words at their next chance:
 * see recording_look_up_command. [signal-safe] */
void recording_set_thread_filter(const char *words);

/* Whether the filter can leave threads out. [signal-safe] */
bool recording_has_thread_filter(void);

/* Whether threads of that name are recorded. The filter never leaves out the sampler, since its samples belong to other
 * threads. [signal-safe] */
bool recording_wants_thread(const char *name, uint32_t name_bytes_count) GREC_SHARED(recording_wants_thread);

/* ---- What was lost. ---- */

enum loss_kind {
    LOSS_EVENT,        /* an event for which there was no chunk */
    LOSS_TEXT,         /* a text that was cut, or a label that was left out */
    LOSS_DEFINITION,   /* a definition for which there was no room */
    LOSS_VALUE,        /* a payload value beyond the fields of its marker type */
    LOSS_STALE_MARKER, /* a marker that was aimed at a thread of another recording */
    LOSS_PROCESS,      /* a process of which nothing was recorded: see silent_process.h */
    LOSS_KIND_COUNT,
};

/* Adds to a count of the trace. Call this in a recording call. [signal-safe] */
void recording_count_loss(enum loss_kind kind, uint64_t count) GREC_SHARED(recording_count_loss);

/* Counts one loss outside a recording call, where the pool may be closed at any time. recording_flush_losses adds it to
 * the trace. [signal-safe] */
void recording_count_loss_outside(enum loss_kind kind) GREC_SHARED(recording_count_loss_outside);

/* Adds the losses from outside recording calls to the trace. The pool must be open. */
void recording_flush_losses(void);
