/* Recording one event: enter, reserve, write, publish, leave, without a lock, an atomic read-modify-write or a system
 * call unless a new chunk is due.
 *
 * The short markers and the counters go through recording_try, which is all inline and gives up, with nothing done,
 * where anything is out of the ordinary; they are leaf functions then, which keeps them within two nanoseconds of what
 * reading the counter costs (bench/README.md). All else, and whatever gave up, goes through recording_enter.
 *
 * Why this is enough: a chunk has one writer. The reader of a trace believes in what lies before the chunk's commit
 * word, which is stored last. A signal handler in between uses another chunk (struct writer). A thread that stops the
 * recording waits until no thread is between enter and leave (session.c). */
#ifndef GREC_WRITER_H
#define GREC_WRITER_H

#include <stdbool.h>
#include <stdint.h>

#include "clock.h"
#include "gecko_recorder.h"
#include "leb128.h"
#include "thread_registry.h"

/* A recording call in progress. */
struct recording {
    struct thread_writers *thread; /* NULL: nothing is to be recorded */
    uint32_t depth;
    bool is_off;      /* with thread NULL: there is no recording, or it is paused */
    bool is_admitted; /* see recording_admit */
    struct writer *writer;
};

enum {
    /* A calibration that goes before the entry: length, kind, two numbers. */
    CLOCK_BLOCK_BYTES = 2 + 2 * LEB128_BYTES_MAX,
    SHORT_BLOCK_BYTES_MAX = 127, /* length in one byte */
    SHORT_BLOCK_ROOM_BYTES = SHORT_BLOCK_BYTES_MAX + LEB128_PADDED_BYTES + CLOCK_BLOCK_BYTES,
    COMMIT_BLOCK_SHIFT = 32,
    /* Values of grec_recording_, beside 0. */
    RECORDING_BY_CLOCK = 1,
    RECORDING_BY_COUNTER = 2,
};

/* Counts an event that cannot be recorded: in a recording call, or where there is none because the thread could not be
 * registered. [signal-safe] */
void recording_count_lost(void);
void recording_count_lost_outside(void);
/* A text that was cut where there is no recording call. [signal-safe] */
void recording_count_cut_outside(void);
/* Enters those of outside in the trace, while its pool is open. */
void recording_flush_lost(void);

/* The rest of recording_reserve and recording_time: a new chunk for a block of so many bytes; a calibration. */
bool recording_refill(struct recording *recording, uint32_t bytes_count);
void recording_calibrate(struct writer *writer, uint64_t now_ticks);

/* The calling thread has its number in the trace after this; false: it is left out by the options. [signal-safe] */
bool recording_identify(const struct recording *recording);

/* The bytes that a block can have. */
uint32_t recording_block_bytes_max(void);

/* An entry of the process with nothing but its time. False when it could not be recorded. [signal-safe] */
bool recording_write_mark(enum trace_entry_kind kind);

/* What the recorder has to say. [signal-safe] */
void recording_write_message(const char *text);

/* Completes the chunks of a thread that records nothing meanwhile. */
void writers_close(struct thread_writers *thread);

/* Of a thread that does not come out of a recording call: it goes on in the chunk that it has, and takes a new one
 * next. */
void writers_abandon(struct thread_writers *thread);

/* What this call records is not the thread's own: it belongs to the process, or to another thread that is recorded. So
 * it is recorded even if the options leave the calling thread out. Call this before recording_reserve, and end with
 * recording_leave_admitted. */
void recording_admit(struct recording *recording);

/* recording_leave, of a call that may be admitted. Between admitted calls, a thread that is left out keeps its chunk but
 * shows no room in it, so that the short paths need not look whether the thread is left out. */
void recording_leave_admitted(struct recording *recording);

/* Every function but this one needs recording.thread. [signal-safe, as all] */
static inline struct recording recording_enter(void) {
    struct recording recording = {.thread = thread_writers_self};
    if (__builtin_expect(!recording.thread, 0)) {
        recording.thread = thread_registry_claim();
        if (!recording.thread) {
            recording.is_off = !grec_is_recording();
            if (!recording.is_off) recording_count_lost_outside();
            return recording;
        }
    }
    uint32_t depth = __atomic_load_n(&recording.thread->depth, __ATOMIC_RELAXED);
    __atomic_store_n(&recording.thread->depth, depth + 1, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    bool is_on = __atomic_load_n(&grec_recording_, __ATOMIC_ACQUIRE);
    if (__builtin_expect(!is_on || depth >= NESTING_MAX, 0)) {
        if (is_on) recording_count_lost();
        __atomic_store_n(&recording.thread->depth, depth, __ATOMIC_RELEASE);
        recording.is_off = !is_on;
        recording.thread = NULL;
        return recording;
    }
    recording.depth = depth;
    recording.writer = &recording.thread->writers[depth];
    return recording;
}

/* recording_enter and recording_reserve for a short block, in the ordinary case. False: nothing was done. */
static inline __attribute__((always_inline)) bool recording_try(struct recording *recording) {
    struct thread_writers *thread = thread_writers_self;
    if (__builtin_expect(!thread, 0)) return false;
    uint32_t depth = __atomic_load_n(&thread->depth, __ATOMIC_RELAXED);
    if (__builtin_expect(depth >= NESTING_MAX, 0)) return false;
    __atomic_store_n(&thread->depth, depth + 1, __ATOMIC_RELAXED);
    __atomic_signal_fence(__ATOMIC_SEQ_CST);
    struct writer *writer = &thread->writers[depth];
    *recording = (struct recording){.thread = thread, .depth = depth, .writer = writer};
    bool is_on = __atomic_load_n(&grec_recording_, __ATOMIC_ACQUIRE) == RECORDING_BY_COUNTER;
    /* While recording is off another thread may be closing the writer. */
    if (__builtin_expect(is_on && (intptr_t)writer->end - (intptr_t)writer->next >= SHORT_BLOCK_ROOM_BYTES, 1))
        return true;
    __atomic_store_n(&thread->depth, depth, __ATOMIC_RELEASE);
    return false;
}

/* recording_time, in the ordinary case, where the time fits a word_block; false: it does not, or a calibration is due.
 * After recording_try. */
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

/* Room for a block of so many bytes, its length not counted; false: there is none, which is counted. */
static inline bool recording_reserve(struct recording *recording, uint32_t bytes_count) {
    struct writer *writer = recording->writer;
    uint32_t with_length = bytes_count + LEB128_PADDED_BYTES + CLOCK_BLOCK_BYTES;
    /* As numbers: without a chunk both are 0. */
    if (__builtin_expect((intptr_t)writer->end - (intptr_t)writer->next >= (intptr_t)with_length, 1)) return true;
    return recording_refill(recording, with_length);
}

/* The time now, as ticks since the entry before: what `t` is in the trace. After recording_reserve, before the block is
 * begun. */
static inline uint64_t recording_time(struct writer *writer) {
    uint64_t now = clock_ticks();
    if (__builtin_expect(now >= writer->clock_ticks, 0)) recording_calibrate(writer, now);
    uint64_t last = writer->last_ticks;
    /* Processors may disagree by a few ticks. */
    if (__builtin_expect(now < last, 0)) return 0;
    writer->last_ticks = now;
    return now - last;
}

/* The block from writer->next to `end` is there. */
static inline void recording_publish(struct writer *writer, unsigned char *end) {
    writer->commit += (uint64_t)(end - writer->next) + ((uint64_t)1 << COMMIT_BLOCK_SHIFT);
    writer->next = end;
    __atomic_store_n(&writer->chunk->commit, writer->commit, __ATOMIC_RELEASE);
}

/* For blocks of at most SHORT_BLOCK_BYTES_MAX bytes: fields go behind the length, which is set at the end. */
static inline unsigned char *short_block_begin(struct writer *writer, enum trace_entry_kind kind) {
    writer->next[1] = (unsigned char)kind;
    return writer->next + 2;
}

static inline void short_block_end(struct writer *writer, unsigned char *end) {
    writer->next[0] = (unsigned char)(end - writer->next - 1);
    recording_publish(writer, end);
}

/* The start of a short block that is composed in a word; its length comes to stand in the low byte. */
static inline struct leb128_word word_block_begin(enum trace_entry_kind kind, uint64_t time) {
    struct leb128_word word = {(uint64_t)kind << 8, 16};
    leb128_append_small(&word, time);
    return word;
}

/* Writes what is in the word; returns the place behind it. Room for eight bytes. */
static inline unsigned char *word_block_write(struct writer *writer, struct leb128_word word) {
    memcpy(writer->next, &word.bytes, sizeof word.bytes);
    return writer->next + word.bits / 8;
}

/* The block is all in the word. */
static inline void word_block_end(struct writer *writer, struct leb128_word word) {
    word.bytes |= word.bits / 8 - 1;
    recording_publish(writer, word_block_write(writer, word));
}

/* For longer ones. */
static inline unsigned char *long_block_begin(struct writer *writer, enum trace_entry_kind kind) {
    writer->next[LEB128_PADDED_BYTES] = (unsigned char)kind;
    return writer->next + LEB128_PADDED_BYTES + 1;
}

static inline void long_block_end(struct writer *writer, unsigned char *end) {
    leb128_write_padded(writer->next, (uint32_t)(end - writer->next - LEB128_PADDED_BYTES));
    recording_publish(writer, end);
}

#endif
