/* Counters, and samples on demand. */
#include "counters.h"

#include "definitions.h"
#include "own_stack.h"
#include "session.h"
#include "stack.h"
#include "writer.h"

static inline __attribute__((always_inline)) unsigned char *write_count(struct writer *writer,
                                                                        enum trace_entry_kind kind, uint64_t time,
                                                                        uint32_t id, int64_t value) {
    unsigned char *at = leb128_write(short_block_begin(writer, kind), time);
    at = leb128_write(at, id);
    at = leb128_write(at, leb128_zigzag(value));
    if (kind == TRACE_COUNT_SAMPLE) *at++ = 0; /* changes are not counted: that would cost a second addition each */
    return at;
}

/* The ordinary case; false: nothing was recorded. A value that a pause has left goes first: see hold. */
static inline __attribute__((always_inline)) bool record_short(struct grec_counter *counter, enum trace_entry_kind kind,
                                                               int64_t value) {
    struct recording recording;
    uint64_t time;
    if (!recording_try(&recording)) return false;
    struct writer *writer = recording.writer;
    uint64_t cache = __atomic_load_n(&counter->cache_, __ATOMIC_ACQUIRE);
    uint32_t id = (uint32_t)cache;
    bool is_held = kind != TRACE_COUNT_SAMPLE && __atomic_load_n(&counter->sum_, __ATOMIC_RELAXED);
    bool is_ordinary = !is_held && cache >> 32 == session_generation && id && id < LEB128_SMALL_END &&
                       recording_try_time(writer, &time);
    if (__builtin_expect(is_ordinary, 1)) short_block_end(writer, write_count(writer, kind, time, id, value));
    recording_leave(&recording);
    return is_ordinary;
}

/* Returns false when nothing is recorded now. What was lost is counted. */
static __attribute__((noinline)) bool record_long(struct grec_counter *counter, enum trace_entry_kind kind,
                                                  int64_t value) {
    struct recording recording = recording_enter();
    if (!recording.thread) return !recording.is_off;
    recording_admit(&recording);
    uint32_t id = definition_of_counter(counter, recording.depth);
    if (!id) {
        recording_count_lost();
    } else if (recording_reserve(&recording, SHORT_BLOCK_BYTES_MAX)) {
        uint64_t time = recording_time(recording.writer);
        short_block_end(recording.writer, write_count(recording.writer, kind, time, id, value));
    }
    recording_leave_admitted(&recording);
    return true;
}

/* ---- Counters that have a sum are listed when they get it. ---- */

static struct grec_counter *first_counter;

void grec_counter_list_(struct grec_counter *counter) {
    uint64_t unlisted = 0;
    if (!__atomic_compare_exchange_n(&counter->is_listed_, &unlisted, 1, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return;
    counter->next_ = __atomic_load_n(&first_counter, __ATOMIC_RELAXED);
    while (!__atomic_compare_exchange_n(&first_counter, &counter->next_, counter, true, __ATOMIC_RELEASE,
                                        __ATOMIC_RELAXED)) {
    }
}

void counters_forget(void) {
    struct grec_counter *counter = __atomic_exchange_n(&first_counter, NULL, __ATOMIC_ACQ_REL);
    while (counter) {
        struct grec_counter *next = counter->next_;
        __atomic_store_n(&counter->sum_, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&counter->is_listed_, 0, __ATOMIC_RELEASE);
        counter = next;
    }
}

/* ---- Changes in a pause. Counters that are not sampled have no sum but in a pause: what came of their changes then,
 * which is recorded when the recording goes on. ---- */

enum { HELD_IS_VALUE = 1, HELD_VALUE_SHIFT = 1 };
static const int64_t HELD_MAX = INT64_MAX >> HELD_VALUE_SHIFT;

/* A value that was set, or the sum of changes; 0: nothing. */
static int64_t held_of(bool is_value, int64_t number) {
    int64_t limited = number > HELD_MAX ? HELD_MAX : number < -HELD_MAX ? -HELD_MAX : number;
    return (int64_t)((uint64_t)limited << HELD_VALUE_SHIFT | (is_value ? HELD_IS_VALUE : 0));
}

static bool held_is_value(int64_t held) { return held & HELD_IS_VALUE; }

static int64_t held_number(int64_t held) { return held >> HELD_VALUE_SHIFT; }

/* Numbers of 63 bits cannot overflow 64 when they are added up. */
static int64_t held_join(int64_t older, int64_t newer) {
    if (held_is_value(newer)) return newer;
    return held_of(held_is_value(older), held_number(older) + held_number(newer));
}

/* Adds what came before or after what is held already. */
static void hold(struct grec_counter *counter, int64_t held, bool is_older) {
    int64_t seen = __atomic_load_n(&counter->sum_, __ATOMIC_RELAXED), joined;
    do joined = is_older ? held_join(held, seen) : held_join(seen, held);
    while (!__atomic_compare_exchange_n(&counter->sum_, &seen, joined, true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
    if (!__atomic_load_n(&counter->is_listed_, __ATOMIC_RELAXED)) grec_counter_list_(counter);
}

/* Records what is held, if recording is on. */
static void release(struct grec_counter *counter) {
    while (__atomic_load_n(&grec_recording_, __ATOMIC_SEQ_CST)) {
        int64_t held = __atomic_exchange_n(&counter->sum_, 0, __ATOMIC_SEQ_CST);
        enum trace_entry_kind kind = held_is_value(held) ? TRACE_COUNT_SET : TRACE_COUNT;
        if (!held || record_long(counter, kind, held_number(held))) return;
        hold(counter, held, true);
    }
}

/* Whoever makes the recording go on may have looked for what is held before it was: so this looks again. */
static __attribute__((noinline)) void count_long(struct grec_counter *counter, enum trace_entry_kind kind,
                                                 int64_t value) {
    if (grec_is_recording()) {
        if (__atomic_load_n(&counter->sum_, __ATOMIC_RELAXED)) release(counter);
        if (record_long(counter, kind, value)) return;
    }
    hold(counter, held_of(kind == TRACE_COUNT_SET, value), false);
    release(counter);
}

static inline __attribute__((always_inline)) void count(struct grec_counter *counter, enum trace_entry_kind kind,
                                                        int64_t value) {
    if (__builtin_expect(!record_short(counter, kind, value), 0)) count_long(counter, kind, value);
}

void grec_counter_add_(struct grec_counter *counter, int64_t change) { count(counter, TRACE_COUNT, change); }

static bool is_sampled(const struct grec_counter *counter) { return counter->flags & GREC_COUNTER_SAMPLED; }

void grec_counter_set_(struct grec_counter *counter, int64_t value) {
    if (!is_sampled(counter)) {
        count(counter, TRACE_COUNT_SET, value);
        return;
    }
    __atomic_store_n(&counter->sum_, value, __ATOMIC_RELAXED);
    if (!__atomic_load_n(&counter->is_listed_, __ATOMIC_RELAXED)) grec_counter_list_(counter);
}

/* ---- All counters with a sum. ---- */

static void record_sum(struct grec_counter *counter) {
    int64_t sum = __atomic_load_n(&counter->sum_, __ATOMIC_RELAXED);
    if (!record_short(counter, TRACE_COUNT_SAMPLE, sum)) record_long(counter, TRACE_COUNT_SAMPLE, sum);
}

void counters_sample(void) {
    struct grec_counter *counter = __atomic_load_n(&first_counter, __ATOMIC_ACQUIRE);
    for (; counter; counter = counter->next_)
        if (is_sampled(counter)) record_sum(counter);
}

void counters_resume(void) {
    struct grec_counter *counter = __atomic_load_n(&first_counter, __ATOMIC_ACQUIRE);
    for (; counter; counter = counter->next_)
        if (!is_sampled(counter)) release(counter);
    counters_sample();
}

/* The calling thread's stack, as a sample. Room for bytes_max bytes more than the head takes. */
static void write_sample(struct recording *recording, const struct merged_stack *merged, uint32_t bytes_max) {
    struct writer *writer = recording->writer;
    if (merged) own_stack_announce(writer);
    uint64_t time = recording_time(writer);
    unsigned char *at = leb128_write(long_block_begin(writer, TRACE_SAMPLE), time);
    if (merged) {
        long_block_end(writer, merged_stack_write(at, merged, 0, &writer->running_address, NULL));
        return;
    }
    struct room room = {.at = at, .end = at + bytes_max};
    stack_write(&room, &thread_record_self->labels, recording->depth);
    long_block_end(writer, room.at);
}

static void sample_stack(const void *entry) {
    struct recording recording = recording_enter();
    if (!recording.thread) return;
    uint32_t head_bytes = 1 + LEB128_BYTES_MAX + OWN_STACK_ROOM_BYTES;
    uint32_t room_bytes = recording_block_bytes_max() - head_bytes - LEB128_PADDED_BYTES - CLOCK_BLOCK_BYTES;
    const struct merged_stack *merged = own_stack_take(&recording, entry, room_bytes);
    uint32_t bytes_max = merged ? merged_stack_bytes_max(merged) : stack_bytes_max(&thread_record_self->labels);
    if (bytes_max > room_bytes) bytes_max = room_bytes;
    if (recording_reserve(&recording, head_bytes + bytes_max)) write_sample(&recording, merged, bytes_max);
    recording_leave(&recording);
}

void grec_sample_(void) {
    counters_sample();
    sample_stack(__builtin_frame_address(0));
}
