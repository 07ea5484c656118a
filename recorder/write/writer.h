/* Recording one event: enter, reserve, write, publish, leave. There is no lock. Unless a new chunk is due, there is no
 * system call and no atomic read-modify-write, except for a counter's level that the thread does not keep (level_part).
 *
 * Short markers and counters use recording_try, which is inline, and which gives up without any effect if anything is
 * out of the ordinary. Such a call is a leaf function, and takes at most two nanoseconds more than reading the cycle
 * counter (bench/README.md). Everything else, and a call that gave up, uses recording_enter.
 *
 * Why no lock is needed: a chunk has one writer. Readers of the trace use only blocks before the chunk's commit word,
 * which is stored last. A signal handler that interrupts a call uses another chunk (struct writer). A thread that stops
 * the recording waits until no thread is between enter and leave (session_quiesce). */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "block.h"
#include "recorder/gecko_recorder.h"
#include "recorder/state/clock.h"
#include "recorder/state/recording_state.h"
#include "recorder/state/shared.h"
#include "thread_registry.h"

/* A recording call in progress. */
struct recording {
    struct thread_writers *thread; /* NULL: do not record */
    uint32_t depth;
    bool is_off;      /* if thread is NULL: nothing is being recorded, or recording is paused */
    bool is_admitted; /* see recording_admit */
    struct writer *writer;
};

enum {
    /* A calibration before the entry: length, kind, two numbers. */
    CLOCK_BLOCK_BYTES = 2 + 2 * LEB128_BYTES_MAX,
    SHORT_BLOCK_ROOM_BYTES = SHORT_BLOCK_BYTES_MAX + LEB128_PADDED_BYTES + CLOCK_BLOCK_BYTES,
};

/* The rest of recording_enter: another process has given a command. */
void recording_look_up_command(struct thread_writers *thread) GREC_SHARED(recording_look_up_command);

/* The rest of recording_reserve and recording_time: these take a new chunk, and write a calibration. */
bool recording_refill(struct recording *recording, uint32_t bytes_count) GREC_SHARED(recording_refill);
void recording_calibrate(struct writer *writer, uint64_t now_ticks) GREC_SHARED(recording_calibrate);

/* Records levels of counters that may be recycled soon in the chunk that the recording call has just taken, as long as
 * bytes_count bytes are left. counters.c defines this. [signal-safe] */
void recording_renew_levels(struct recording *recording, uint32_t bytes_count);

/* Gives the calling thread its number in the trace. Returns false if the options leave the thread out. [signal-safe] */
bool recording_identify(const struct recording *recording);

/* Returns how many bytes a block can have, and how many are left for a stack after head_bytes other ones. */
uint32_t recording_block_bytes_max(void) GREC_SHARED(recording_block_bytes_max);
uint32_t recording_stack_bytes_max(uint32_t head_bytes);

/* Writes an entry of the process that has only a time, and a number unless that is 0. [signal-safe] */
void recording_write_mark(enum trace_entry_kind kind, uint64_t number);

/* Writes a message of the recorder into the log of the trace. [signal-safe] */
void recording_write_message(const char *text) GREC_SHARED(recording_write_message);

/* Gives back the chunks of a thread that is not in a recording call. */
void writers_close(struct thread_writers *thread);

/* Gives up waiting for a thread that does not leave its recording call. It may still write into its chunk, which stays
 * as it is, and then takes a new one. */
void writers_abandon(struct thread_writers *thread);

/* Makes the call record even if the options leave the calling thread out, because the entry belongs to the process or
 * to another thread. Call this before recording_reserve, and end with recording_leave_admitted. */
void recording_admit(struct recording *recording) GREC_SHARED(recording_admit);

/* recording_leave for a call that may be admitted. Between admitted calls, a thread that is left out keeps its chunk,
 * but its writer shows no room. So the short paths need not check whether the thread is left out. */
void recording_leave_admitted(struct recording *recording) GREC_SHARED(recording_leave_admitted);

/* Begins a recording call. If recording.thread is NULL, nothing may be recorded, and no other function may be called.
 * All of them are [signal-safe]. */
static inline struct recording recording_enter(void) {
    struct recording recording = {.thread = thread_writers_self};
    if (__builtin_expect(!recording.thread, 0)) {
        recording.thread = thread_registry_claim();
        if (!recording.thread) {
            recording.is_off = !grec_is_recording();
            if (!recording.is_off) recording_count_loss_outside(LOSS_EVENT);
            return recording;
        }
    }
    uint32_t depth = __atomic_load_n(&recording.thread->depth, __ATOMIC_RELAXED);
    __atomic_store_n(&recording.thread->depth, depth + 1, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    /* While recording is off, the pool may be closed at any time, and the word with it. */
    bool may_record = __atomic_load_n(&grec_recording_, __ATOMIC_ACQUIRE);
    if (__builtin_expect(may_record && recording.thread->group_word != recording_load_group_word(), 0))
        recording_look_up_command(recording.thread);
    bool is_on = may_record && recording_is_on();
    if (__builtin_expect(!is_on || depth >= NESTING_MAX, 0)) {
        if (is_on) recording_count_loss(LOSS_EVENT, 1);
        __atomic_store_n(&recording.thread->depth, depth, __ATOMIC_RELEASE);
        recording.is_off = !is_on;
        recording.thread = NULL;
        return recording;
    }
    recording.depth = depth;
    recording.writer = &recording.thread->writers[depth];
    return recording;
}

/* recording_enter and recording_reserve for a short block, in the ordinary case. Returns false without any effect in
 * any other case. */
static inline __attribute__((always_inline)) bool recording_try(struct recording *recording) {
    struct thread_writers *thread = thread_writers_self;
    if (__builtin_expect(!thread, 0)) return false;
    uint32_t depth = __atomic_load_n(&thread->depth, __ATOMIC_RELAXED);
    if (__builtin_expect(depth >= NESTING_MAX, 0)) return false;
    __atomic_store_n(&thread->depth, depth + 1, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    struct writer *writer = &thread->writers[depth];
    *recording = (struct recording){.thread = thread, .depth = depth, .writer = writer};
    bool is_on = __atomic_load_n(&grec_recording_, __ATOMIC_ACQUIRE) == RECORDING_BY_COUNTER &&
                 thread->group_word == recording_load_group_word();
    /* While recording is off, another thread may be closing the writer. */
    if (__builtin_expect(is_on && (intptr_t)writer->end - (intptr_t)writer->next >= SHORT_BLOCK_ROOM_BYTES, 1))
        return true;
    __atomic_store_n(&thread->depth, depth, __ATOMIC_RELEASE);
    return false;
}

/* recording_time in the ordinary case. Returns false if a calibration is due, or if the time does not fit a word block.
 * Call this after recording_try. */
static inline __attribute__((always_inline)) bool recording_try_time(struct writer *writer, uint64_t *ticks) {
    uint64_t now = clock_counter(), last = writer->last_ticks;
    if (__builtin_expect(now >= writer->clock_ticks || now - last >= LEB128_SMALL_END, 0)) return false;
    writer->last_ticks = now;
    *ticks = now - last;
    return true;
}

static inline void recording_leave(struct recording *recording) {
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    __atomic_store_n(&recording->thread->depth, recording->depth, __ATOMIC_RELEASE);
}

/* Makes room for a block of bytes_count bytes, not counting its length. Returns false, and counts the loss, if there
 * is no room. */
static inline bool recording_reserve(struct recording *recording, uint32_t bytes_count) {
    struct writer *writer = recording->writer;
    uint32_t with_length = bytes_count + LEB128_PADDED_BYTES + CLOCK_BLOCK_BYTES;
    /* Subtract as numbers: without a chunk both pointers are NULL. */
    if (__builtin_expect((intptr_t)writer->end - (intptr_t)writer->next >= (intptr_t)with_length, 1)) return true;
    return recording_refill(recording, with_length);
}

/* Returns the current time as ticks since the entry before, the field `t` of the trace. Call this after
 * recording_reserve and before the block begins. */
static inline uint64_t recording_time(struct writer *writer) {
    uint64_t now = clock_ticks();
    if (__builtin_expect(now >= writer->clock_ticks, 0)) recording_calibrate(writer, now);
    uint64_t last = writer->last_ticks;
    /* The counters of two processors may differ by a few ticks. */
    if (__builtin_expect(now < last, 0)) return 0;
    writer->last_ticks = now;
    return now - last;
}
