/* Counters, and samples on demand.
 *
 * sum_ of a sampled counter adds up all changes, and is recorded now and then. Each change of any other counter is an
 * entry of the trace, if recording is on. sum_ of such a counter adds up the changes that are not entries, because
 * recording was paused or, if the counter is accumulated, off. recorded_ adds up those that are entries, but for the
 * parts that threads keep (struct level_part). Together, these are the level of an accumulated counter. */
#include "counters.h"

#include "definitions.h"
#include "packed_stack.h"
#include "recorder/state/recording_state.h"

#include "writer.h"

static bool is_sampled(const struct grec_counter *counter) { return counter->flags & GREC_COUNTER_SAMPLED; }

static bool has_level(const struct grec_counter *counter) { return counter->graph != GREC_COUNTER_RATE; }

/* ---- The level of a counter, which threads keep in parts. ---- */

static uint64_t load_set_count(const struct grec_counter *counter) {
    return __atomic_load_n(&counter->number_, __ATOMIC_RELAXED);
}

static bool is_up_to_date(const struct level_part *part, const struct grec_counter *counter) {
    return part->counter == counter && part->set_count == load_set_count(counter);
}

/* The calling thread's part of the level. NULL: it keeps none, because the counter has no level, because the place is
 * another counter's, or because the call has interrupted one that may be changing the part. */
static inline struct level_part *find_part(const struct recording *recording, const struct grec_counter *counter,
                                           uint32_t id) {
    struct level_part *part = &recording->thread->level_parts[id % LEVEL_PART_COUNT];
    bool is_usable = recording->depth == 0 && has_level(counter) && (!part->counter || part->counter == counter);
    return is_usable ? part : NULL;
}

/* Other threads read the part meanwhile: see load_part. */
static void renew_part(struct level_part *part, const struct grec_counter *counter) {
    __atomic_store_n(&part->sum, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&part->set_count, load_set_count(counter), __ATOMIC_RELEASE);
    __atomic_store_n(&part->counter, counter, __ATOMIC_RELEASE);
}

static inline void set_level(struct grec_counter *counter, int64_t value) {
    __atomic_store_n(&counter->number_, load_set_count(counter) + 1, __ATOMIC_RELAXED);
    __atomic_store_n(&counter->recorded_, value, __ATOMIC_RELAXED);
}

/* part: see find_part. One that is up to date, or NULL. */
static inline __attribute__((always_inline)) void keep_level(struct grec_counter *counter, struct level_part *part,
                                                             enum trace_entry_kind kind, int64_t value) {
    if (kind == TRACE_COUNT_SAMPLE || kind == TRACE_COUNT_LEVEL || !has_level(counter)) return;
    if (kind == TRACE_COUNT_SET)
        set_level(counter, value);
    else if (part)
        __atomic_store_n(&part->sum, part->sum + value, __ATOMIC_RELAXED);
    else
        __atomic_fetch_add(&counter->recorded_, value, __ATOMIC_RELAXED);
}

struct level {
    const struct grec_counter *counter;
    int64_t sum;
};

static void load_part(struct thread_writers *writers, struct thread_record *record, void *context) {
    (void)record;
    struct level *level = context;
    for (int i = 0; i < LEVEL_PART_COUNT; i++) {
        const struct level_part *part = &writers->level_parts[i];
        if (__atomic_load_n(&part->counter, __ATOMIC_ACQUIRE) != level->counter) continue;
        uint64_t set_count = __atomic_load_n(&part->set_count, __ATOMIC_ACQUIRE);
        if (set_count == load_set_count(level->counter)) level->sum += __atomic_load_n(&part->sum, __ATOMIC_RELAXED);
    }
}

static int64_t load_level(const struct grec_counter *counter) {
    if (is_sampled(counter)) return __atomic_load_n(&counter->sum_, __ATOMIC_RELAXED);
    struct level level = {counter, __atomic_load_n(&counter->recorded_, __ATOMIC_RELAXED)};
    thread_registry_each_record(load_part, &level);
    return level.sum;
}

static void free_parts(struct thread_writers *writers, struct thread_record *record, void *context) {
    (void)record, (void)context;
    for (int i = 0; i < LEVEL_PART_COUNT; i++)
        __atomic_store_n(&writers->level_parts[i].counter, NULL, __ATOMIC_RELAXED);
}

/* id: that of the counter's definition. */
static inline __attribute__((always_inline)) void write_count(struct writer *writer, enum trace_entry_kind kind,
                                                              uint64_t time, const struct grec_counter *counter,
                                                              uint32_t id, int64_t value) {
    unsigned char *at = leb128_write(short_block_begin(writer, kind), time);
    at = leb128_write(at, id);
    at = leb128_write(at, leb128_zigzag(value));
    if (kind == TRACE_COUNT_SAMPLE) at = leb128_write(at, __atomic_load_n(&counter->number_, __ATOMIC_RELAXED));
    short_block_end(writer, at);
}

/* Records in the ordinary case. Returns false without any effect in any other case: changes that are held from a pause,
 * for instance, must be recorded first. */
static inline __attribute__((always_inline)) bool record_short(struct grec_counter *counter, enum trace_entry_kind kind,
                                                               int64_t value) {
    struct recording recording;
    uint64_t time;
    if (!recording_try(&recording)) return false;
    struct writer *writer = recording.writer;
    uint64_t cache = __atomic_load_n(&counter->cache_, __ATOMIC_ACQUIRE);
    uint32_t id = (uint32_t)cache;
    bool is_held = kind != TRACE_COUNT_SAMPLE && __atomic_load_n(&counter->sum_, __ATOMIC_RELAXED);
    struct level_part *part = kind == TRACE_COUNT ? find_part(&recording, counter, id) : NULL;
    bool is_ordinary = !is_held && (!part || is_up_to_date(part, counter)) && cache >> 32 == recording_generation &&
                       id && id < LEB128_SMALL_END && recording_try_time(writer, &time);
    if (__builtin_expect(is_ordinary, 1)) {
        write_count(writer, kind, time, counter, id, value);
        keep_level(counter, part, kind, value);
    }
    recording_leave(&recording);
    return is_ordinary;
}

/* Returns false if recording is off. Counts what is lost. */
static __attribute__((noinline)) bool record_long(struct grec_counter *counter, enum trace_entry_kind kind,
                                                  int64_t value) {
    struct recording recording = recording_enter();
    if (!recording.thread) return !recording.is_off;
    recording_admit(&recording);
    uint32_t id = definition_of_counter(counter);
    if (!id) {
        recording_count_loss(LOSS_EVENT, 1);
    } else if (recording_reserve(&recording, SHORT_BLOCK_BYTES_MAX)) {
        uint64_t time = recording_time(recording.writer);
        write_count(recording.writer, kind, time, counter, id, value);
    }
    if (!is_sampled(counter)) {
        struct level_part *part = find_part(&recording, counter, id);
        if (part && !is_up_to_date(part, counter)) renew_part(part, counter);
        keep_level(counter, part, kind, value);
    }
    recording_leave_admitted(&recording);
    return true;
}

/* ---- Changes while recording is off or paused. ----
 *
 * The sum_ of a counter that is not sampled then holds its last value or the sum of its changes. */

enum { HELD_IS_VALUE = 1, HELD_VALUE_SHIFT = 1 }; /* see grec_counter_shifted_ */
static const int64_t HELD_MAX = INT64_MAX >> HELD_VALUE_SHIFT;

/* Packs a value that was set, or a sum of changes; 0: nothing. */
static int64_t held_of(bool is_value, int64_t number) {
    int64_t limited = number > HELD_MAX ? HELD_MAX : number < -HELD_MAX ? -HELD_MAX : number;
    return (int64_t)((uint64_t)limited << HELD_VALUE_SHIFT | (is_value ? HELD_IS_VALUE : 0));
}

static bool held_is_value(int64_t held) { return held & HELD_IS_VALUE; }

static int64_t held_number(int64_t held) { return held >> HELD_VALUE_SHIFT; }

/* The sum of two numbers of 63 bits fits 64 bits. */
static int64_t held_join(int64_t older, int64_t newer) {
    if (held_is_value(newer)) return newer;
    return held_of(held_is_value(older), held_number(older) + held_number(newer));
}

/* Joins a change with what is held already: the change is older or newer. */
static void hold(struct grec_counter *counter, int64_t held, bool is_older) {
    int64_t seen = __atomic_load_n(&counter->sum_, __ATOMIC_RELAXED), joined;
    do joined = is_older ? held_join(held, seen) : held_join(seen, held);
    while (!__atomic_compare_exchange_n(&counter->sum_, &seen, joined, true, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED));
}

/* Records what is held, while recording is on. */
static void release(struct grec_counter *counter, bool is_from_before) {
    while (recording_is_on()) {
        int64_t held = __atomic_exchange_n(&counter->sum_, 0, __ATOMIC_SEQ_CST);
        enum trace_entry_kind kind = is_from_before        ? TRACE_COUNT_START
                                     : held_is_value(held) ? TRACE_COUNT_SET
                                                           : TRACE_COUNT;
        if (!held || record_long(counter, kind, held_number(held))) return;
        hold(counter, held, true);
    }
}

/* ---- A counter is listed when it first changes in a recording. ---- */

static struct grec_counter *first_counter;
/* The process was forked from a recorded one, so its counters start at 0. */
static uint32_t is_forked;

/* A thread may be here while a new recording begins and the counter is listed again. */
static struct grec_counter *next_of(struct grec_counter *counter) {
    return __atomic_load_n(&counter->next_, __ATOMIC_ACQUIRE);
}

static bool is_listed(struct grec_counter *counter) { return __atomic_load_n(&counter->is_listed_, __ATOMIC_RELAXED); }

static void add_to_list(struct grec_counter *counter) {
    struct grec_counter *first = __atomic_load_n(&first_counter, __ATOMIC_ACQUIRE);
    do __atomic_store_n(&counter->next_, first, __ATOMIC_RELEASE);
    while (!__atomic_compare_exchange_n(&first_counter, &first, counter, true, __ATOMIC_RELEASE, __ATOMIC_ACQUIRE));
}

/* Call this before the change. Then `before` has no changes of this process and recording. */
void grec_counter_list_(struct grec_counter *counter) {
    uint64_t unlisted = 0;
    int64_t before = __atomic_load_n(&counter->sum_, __ATOMIC_RELAXED);
    if (!__atomic_compare_exchange_n(&counter->is_listed_, &unlisted, 1, false, __ATOMIC_ACQ_REL, __ATOMIC_RELAXED))
        return;
    add_to_list(counter);
    if (__atomic_load_n(&is_forked, __ATOMIC_RELAXED))
        __atomic_fetch_sub(&counter->sum_, before, __ATOMIC_RELAXED);
    else if (!is_sampled(counter))
        release(counter, true);
    else if (before)
        record_long(counter, TRACE_COUNT_START, before);
}

static void for_each_unlisted(void (*change)(struct grec_counter *counter)) {
    struct grec_counter *counter = __atomic_exchange_n(&first_counter, NULL, __ATOMIC_ACQ_REL);
    while (counter) {
        struct grec_counter *next = next_of(counter);
        change(counter);
        __atomic_store_n(&counter->number_, 0, __ATOMIC_RELAXED);
        __atomic_store_n(&counter->is_listed_, 0, __ATOMIC_RELEASE);
        counter = next;
    }
}

static void end_counter(struct grec_counter *counter) {
    if (!has_level(counter))
        __atomic_store_n(&counter->sum_, 0, __ATOMIC_RELAXED);
    else if (!is_sampled(counter))
        hold(counter, held_of(false, load_level(counter)), true);
    __atomic_store_n(&counter->recorded_, 0, __ATOMIC_RELAXED);
}

void counters_end(void) {
    for_each_unlisted(end_counter);
    thread_registry_each_record(free_parts, NULL);
    __atomic_store_n(&is_forked, 0, __ATOMIC_RELAXED);
}

/* The cached id is as good in the child, but a counter with one would not be listed. */
static void clear_counter(struct grec_counter *counter) {
    __atomic_store_n(&counter->cache_, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&counter->sum_, 0, __ATOMIC_RELAXED);
    __atomic_store_n(&counter->recorded_, 0, __ATOMIC_RELAXED);
}

void counters_enter_child(void) {
    for_each_unlisted(clear_counter);
    __atomic_store_n(&is_forked, 1, __ATOMIC_RELAXED);
}

/* ---- Changes. ---- */

/* If recording is switched on meanwhile, the thread that does so may have looked before the change was held. So this
 * calls release afterwards. */
static __attribute__((noinline)) void count_long(struct grec_counter *counter, enum trace_entry_kind kind,
                                                 int64_t value) {
    if (!is_listed(counter)) grec_counter_list_(counter);
    if (grec_may_record_()) {
        if (__atomic_load_n(&counter->sum_, __ATOMIC_RELAXED)) release(counter, false);
        if (record_long(counter, kind, value)) return;
    }
    hold(counter, held_of(kind == TRACE_COUNT_SET, value), false);
    release(counter, false);
}

static inline __attribute__((always_inline)) void count(struct grec_counter *counter, enum trace_entry_kind kind,
                                                        int64_t value) {
    if (__builtin_expect(!record_short(counter, kind, value), 0)) count_long(counter, kind, value);
}

void grec_counter_add_(struct grec_counter *counter, int64_t change) { count(counter, TRACE_COUNT, change); }

void grec_counter_set_(struct grec_counter *counter, int64_t value) {
    if (!is_sampled(counter)) {
        count(counter, TRACE_COUNT_SET, value);
        return;
    }
    if (!is_listed(counter)) grec_counter_list_(counter);
    __atomic_store_n(&counter->sum_, value, __ATOMIC_RELAXED);
}

/* ---- Levels and sums. ---- */

/* If a level does not change, its last entry is recycled some time. So once chunks are recycled, levels are recorded
 * again, several times while all chunks are used once. */
enum { LEVELS_PER_TURN = 16 };

/* Returns whether levels must be recorded again, and the caller does that. Call this in a recording call. */
static bool take_turn(void) {
    static uint64_t last_index;
    const struct trace_header *header = recording_pool.header;
    uint64_t index = __atomic_load_n(&header->next_global_index, __ATOMIC_RELAXED);
    uint64_t chunk_count = __atomic_load_n(&header->chunk_count, __ATOMIC_RELAXED);
    uint64_t seen = __atomic_load_n(&last_index, __ATOMIC_RELAXED);
    bool is_due = __atomic_load_n(&header->recycled_chunk_count, __ATOMIC_RELAXED) &&
                  index - seen > chunk_count / LEVELS_PER_TURN;
    return is_due && __atomic_compare_exchange_n(&last_index, &seen, index, false, __ATOMIC_RELAXED, __ATOMIC_RELAXED);
}

static struct grec_counter *load_first(void) { return __atomic_load_n(&first_counter, __ATOMIC_ACQUIRE); }

static enum trace_entry_kind kind_of_level(const struct grec_counter *counter) {
    return is_sampled(counter) ? TRACE_COUNT_SAMPLE : TRACE_COUNT_LEVEL;
}

void recording_renew_levels(struct recording *recording, uint32_t bytes_count) {
    struct writer *writer = recording->writer;
    struct grec_counter *counter = load_first();
    if (!counter || !take_turn()) return;
    for (; counter; counter = next_of(counter)) {
        uint64_t cache = __atomic_load_n(&counter->cache_, __ATOMIC_ACQUIRE);
        if (!has_level(counter) || !definition_is_known(cache) || !(uint32_t)cache) continue;
        if (writer->end - writer->next < (ptrdiff_t)bytes_count + SHORT_BLOCK_ROOM_BYTES) return;
        uint64_t time = recording_time(writer);
        write_count(writer, kind_of_level(counter), time, counter, (uint32_t)cache, load_level(counter));
    }
}

static bool are_levels_due(void) {
    struct recording recording = recording_enter();
    if (!recording.thread) return false;
    bool is_due = take_turn();
    recording_leave(&recording);
    return is_due;
}

void counters_sample(void) {
    struct grec_counter *counter = load_first();
    bool is_due = counter && are_levels_due();
    for (; counter; counter = next_of(counter)) {
        if (!is_sampled(counter) && !(is_due && has_level(counter))) continue;
        enum trace_entry_kind kind = kind_of_level(counter);
        int64_t level = load_level(counter);
        if (!record_short(counter, kind, level)) record_long(counter, kind, level);
    }
}

void counters_resume(void) {
    for (struct grec_counter *counter = load_first(); counter; counter = next_of(counter))
        if (!is_sampled(counter)) release(counter, false);
    counters_sample();
}

void grec_sample_(void) {
    counters_sample();
    struct recording recording = recording_enter();
    if (!recording.thread) return;
    packed_stack_record(&recording, TRACE_SAMPLE, NULL, 0, __builtin_frame_address(0));
    recording_leave(&recording);
}
