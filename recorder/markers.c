/* Markers. The usual ones, without payload or with numbers, are a short block written in one go; all others take the
 * longer way of add_marker. */
#include "markers.h"

#include <string.h>

#include "backtrace.h"
#include "definitions.h"
#include "own_stack.h"
#include "payload.h"
#include "session.h"
#include "stack.h"
#include "thread_handle.h"
#include "writer.h"

enum {
    SHORT_HEAD_BYTES = 1 + 3 * LEB128_BYTES_MAX, /* kind, t, duration, id */
    SHORT_VALUE_COUNT_MAX = 8,                   /* whose wire types are a word */
    LONG_HEAD_BYTES = 1 + 8 * LEB128_BYTES_MAX,
};

/* What was not recorded has no time: of such an interval the start is the recording's. */
static uint64_t known_start(grec_time start) { return start ? start : session_pool.header->start_ticks; }

/* Numbers alone, each of the wire type that its field has without a tag. */
static inline __attribute__((always_inline)) bool is_short(const struct grec_marker_type *type,
                                                           const struct grec_value *values, size_t count) {
    typedef uint64_t __attribute__((may_alias)) wires_word;
    _Static_assert(SHORT_HEAD_BYTES + SHORT_VALUE_COUNT_MAX * LEB128_BYTES_MAX <= SHORT_BLOCK_BYTES_MAX, "they fit");
    if (!type || !values || count > type->field_count || count > SHORT_VALUE_COUNT_MAX) return false;
    uint64_t wires = __atomic_load_n((const wires_word *)type->wires_, __ATOMIC_RELAXED);
    for (size_t i = 0; i < count; i++, wires >>= 8) {
        uint32_t kind = values[i].kind;
        bool is_number = kind - GREC_VALUE_INTEGER <= GREC_VALUE_REAL - GREC_VALUE_INTEGER;
        if (!is_number || kind != (wires & 0xff)) return false;
    }
    return true;
}

/* Two small integers, which are what most payloads of numbers are, are composed in a register. */
static inline __attribute__((always_inline)) unsigned char *write_numbers(unsigned char *at,
                                                                          const struct grec_value *values,
                                                                          size_t count) {
    if (count == 2 && values[0].kind == GREC_VALUE_INTEGER && values[1].kind == GREC_VALUE_INTEGER) {
        uint64_t first = leb128_zigzag(values[0].as.integer), second = leb128_zigzag(values[1].as.integer);
        if (__builtin_expect((first | second) < LEB128_SMALL_END, 1)) {
            struct leb128_word word = {0, 0};
            leb128_append_small(&word, first);
            leb128_append_small(&word, second);
            memcpy(at, &word.bytes, sizeof word.bytes);
            return at + word.bits / 8;
        }
    }
    for (size_t i = 0; i < count; i++) at = payload_write_number(at, &values[i]);
    return at;
}

/* A short block, in the ordinary case; false: nothing was recorded. */
static inline __attribute__((always_inline)) bool record_short(struct grec_marker *marker, enum trace_entry_kind kind,
                                                               grec_time start, const struct grec_value *values,
                                                               size_t count) {
    struct recording recording;
    uint64_t time;
    if (!recording_try(&recording)) return false;
    struct writer *writer = recording.writer;
    uint64_t cache = __atomic_load_n(&marker->cache_, __ATOMIC_ACQUIRE);
    uint32_t id = (uint32_t)cache;
    bool is_ordinary = cache >> 32 == session_generation && id && id < LEB128_SMALL_END &&
                       (kind != TRACE_INTERVAL || start) && (!count || is_short(marker->type, values, count)) &&
                       recording_try_time(writer, &time);
    if (__builtin_expect(!is_ordinary, 0)) {
        recording_leave(&recording);
        return false;
    }
    struct leb128_word word = word_block_begin(kind, time);
    if (kind != TRACE_INTERVAL) leb128_append_small(&word, id);
    if (kind != TRACE_INTERVAL && !count) {
        word_block_end(writer, word);
    } else {
        unsigned char *at = word_block_write(writer, word);
        if (kind == TRACE_INTERVAL) {
            at = leb128_write(at, writer->last_ticks > start ? writer->last_ticks - start : 0);
            at = leb128_write(at, id);
        }
        short_block_end(writer, write_numbers(at, values, count));
    }
    recording_leave(&recording);
    return true;
}

static const uint8_t phase_of[] = {
    [TRACE_INSTANT] = GREC_PHASE_INSTANT,
    [TRACE_INTERVAL] = GREC_PHASE_INTERVAL,
    [TRACE_INTERVAL_START] = GREC_PHASE_START,
    [TRACE_INTERVAL_END] = GREC_PHASE_END,
};

static __attribute__((noinline)) void record_long(struct grec_marker *marker, enum trace_entry_kind kind,
                                                  grec_time start, const struct grec_value *values, size_t count) {
    struct grec_marker_options options = {.phase = phase_of[kind], .start = start};
    grec_add_marker(marker, &options, values, count);
}

static inline __attribute__((always_inline)) void record(struct grec_marker *marker, enum trace_entry_kind kind,
                                                         grec_time start, const struct grec_value *values,
                                                         size_t count) {
    if (__builtin_expect(!marker, 0)) return;
    if (__builtin_expect(!record_short(marker, kind, start, values, count), 0))
        record_long(marker, kind, start, values, count);
}

void grec_instant(struct grec_marker *marker, const struct grec_value *values, size_t count) {
    record(marker, TRACE_INSTANT, 0, values, count);
}

void grec_interval(struct grec_marker *marker, grec_time start, const struct grec_value *values, size_t count) {
    record(marker, TRACE_INTERVAL, start, values, count);
}

void grec_interval_start(struct grec_marker *marker, const struct grec_value *values, size_t count) {
    record(marker, TRACE_INTERVAL_START, 0, values, count);
}

void grec_interval_end(struct grec_marker *marker, const struct grec_value *values, size_t count) {
    record(marker, TRACE_INTERVAL_END, 0, values, count);
}

/* ---- The longer way. ---- */

/* The stack that goes with a marker. */
struct stack_source {
    const struct merged_stack *merged;     /* of the calling thread; NULL: no… */
    const struct grec_label_stack *labels; /* …but its labels; NULL: neither */
    const struct backtrace *taken;         /* before; NULL: no */
    uint32_t bytes_max;
};

/* What a stack that was taken before has beside it at most. */
enum { TAKEN_EXTRA_BYTES = LEB128_BYTES_MAX + OWN_STACK_ROOM_BYTES + BACKTRACE_ORIGIN_BYTES_MAX };

/* Beside a payload as long as they may be, and the lengths of both and of the block. */
uint32_t marker_stack_bytes_max(void) {
    return recording_block_bytes_max() / 2 - LONG_HEAD_BYTES - 2 * LEB128_PADDED_BYTES - CLOCK_BLOCK_BYTES -
           TAKEN_EXTRA_BYTES;
}

static struct stack_source find_stack(const struct recording *recording, const struct grec_marker_options *options,
                                      const void *entry) {
    struct stack_source source = {0};
    uint32_t room = marker_stack_bytes_max();
    if (options->backtrace) {
        source.taken = backtrace_find(options->backtrace);
        if (source.taken) source.bytes_max = backtrace_bytes_max(source.taken);
    } else if (options->with_stack && (source.merged = own_stack_take(recording, entry, room))) {
        source.bytes_max = merged_stack_bytes_max(source.merged) + OWN_STACK_ROOM_BYTES;
    } else if (options->with_stack) {
        source.labels = &thread_record_self->labels;
        source.bytes_max = stack_bytes_max(source.labels);
    }
    if (source.labels && source.bytes_max > room) source.bytes_max = room;
    if (source.taken && source.bytes_max > room + TAKEN_EXTRA_BYTES) source.taken = NULL;
    return source;
}

static bool has_stack(const struct stack_source *stack) { return stack->merged || stack->labels || stack->taken; }

static uint32_t flags_of(const struct grec_marker_options *options, const struct stack_source *stack, bool has_tags) {
    uint32_t phase = options->phase & TRACE_MARKER_PHASE;
    bool has_times = options->start || options->end || phase == GREC_PHASE_INTERVAL;
    return phase | (has_times ? TRACE_MARKER_HAS_TIMES : 0) | (options->thread.uid ? TRACE_MARKER_HAS_THREAD : 0) |
           (has_tags ? TRACE_MARKER_HAS_TAGS : 0) | (has_stack(stack) ? TRACE_MARKER_HAS_STACK : 0) |
           (stack->taken ? TRACE_MARKER_HAS_ORIGIN : 0);
}

/* Ticks before `now`, for times that may be after it too. */
static unsigned char *write_ticks_before(unsigned char *at, uint64_t now, uint64_t ticks) {
    return leb128_write(at, leb128_zigzag((int64_t)(now - ticks)));
}

static unsigned char *write_times(unsigned char *at, uint64_t now, const struct grec_marker_options *options) {
    bool is_interval = (options->phase & TRACE_MARKER_PHASE) == GREC_PHASE_INTERVAL;
    uint64_t end = options->end ? options->end : now;
    uint64_t start = options->start ? options->start : is_interval ? known_start(0) : now;
    if (is_interval && start > end) start = end;
    at = write_ticks_before(at, now, start);
    return write_ticks_before(at, now, options->end || is_interval ? end : start);
}

static void write_stack(struct room *room, const struct stack_source *stack, struct payload_context context,
                        struct writer *writer) {
    struct room stack_room = {room->at, room->at + stack->bytes_max};
    if (stack->taken) {
        stack_room.at = backtrace_write(stack_room.at, stack->taken, writer);
    } else if (stack->merged) {
        stack_room.at = merged_stack_write(stack_room.at, stack->merged, 0, &writer->running_address, NULL);
    } else {
        stack_write(&stack_room, stack->labels, context.depth);
    }
    room->at = stack_room.at;
}

static void write_payload_and_stack(struct room *room, const struct payload *payload, const struct stack_source *stack,
                                    bool has_tags, struct payload_context context, struct writer *writer) {
    unsigned char *length_at = room->at;
    if (has_stack(stack)) room->at += LEB128_PADDED_BYTES;
    struct room payload_room = {room->at, room->at + payload->bytes_max};
    payload_write(&payload_room, payload, has_tags, context);
    room->at = payload_room.at;
    if (!has_stack(stack)) return;
    leb128_write_padded(length_at, (uint32_t)(room->at - length_at - LEB128_PADDED_BYTES));
    write_stack(room, stack, context, writer);
}

static void add_marker(struct recording *recording, uint32_t id, const struct grec_marker_type *type,
                       const struct grec_marker_options *options, const struct grec_value *values, size_t count,
                       const void *entry) {
    if (!id) {
        recording_count_lost();
        return;
    }
    struct payload payload = payload_measure(type, values, count);
    struct stack_source stack = find_stack(recording, options, entry);
    bool has_tags = payload.count && payload_needs_tags(&payload, type);
    uint32_t flags = flags_of(options, &stack, has_tags);
    uint32_t bytes_max = LONG_HEAD_BYTES + payload.bytes_max + LEB128_PADDED_BYTES + stack.bytes_max;
    if (!recording_reserve(recording, bytes_max)) return;
    struct writer *writer = recording->writer;
    if (stack.merged) own_stack_announce(writer);
    if (stack.taken) backtrace_announce(stack.taken, writer);
    uint64_t time = recording_time(writer);
    uint64_t now = writer->last_ticks;
    unsigned char *at = long_block_begin(writer, TRACE_MARKER);
    at = leb128_write(at, time);
    at = leb128_write(at, flags);
    at = leb128_write(at, id);
    if (flags & TRACE_MARKER_HAS_TIMES) at = write_times(at, now, options);
    if (flags & TRACE_MARKER_HAS_THREAD) {
        at = leb128_write(at, thread_handle_uid(&options->thread));
        at = leb128_write(at, options->thread.tid);
    }
    struct room room = {.at = at, .end = writer->end};
    struct payload_context context = {.now_ticks = now, .depth = recording->depth};
    write_payload_and_stack(&room, &payload, &stack, has_tags, context, writer);
    long_block_end(writer, room.at);
}

static const struct grec_marker_options default_options;

/* A marker is the thread's that it is aimed at: that one's options decide, as in Gecko. False: it is not recorded. */
static bool admit(struct recording *recording, const struct grec_marker_options *options) {
    if (!options->thread.uid) return true;
    recording_admit(recording);
    switch (thread_handle_fate(&options->thread)) {
        case THREAD_HANDLE_WANTED:
            return true;
        case THREAD_HANDLE_LEFT_OUT:
            return false;
        case THREAD_HANDLE_STALE:
            break;
    }
    session_count_stale_marker();
    return false;
}

/* `entry`: frame address of the public function. */
static void enter_and_add(struct grec_marker *marker, const struct grec_marker_options *options,
                          const struct grec_value *values, size_t count, const void *entry) {
    struct recording recording = recording_enter();
    if (!recording.thread) return;
    if (!options) options = &default_options;
    if (admit(&recording, options)) {
        uint32_t id = definition_of_marker(marker, recording.depth);
        add_marker(&recording, id, marker->type, options, values, count, entry);
    }
    recording_leave_admitted(&recording);
}

void grec_add_marker(struct grec_marker *marker, const struct grec_marker_options *options,
                     const struct grec_value *values, size_t count) {
    if (grec_is_recording() && marker) enter_and_add(marker, options, values, count, __builtin_frame_address(0));
}

void grec_add_named_marker(const char *name, struct grec_category *category, struct grec_marker_type *type,
                           const struct grec_marker_options *options, const struct grec_value *values, size_t count) {
    struct grec_marker marker = GREC_MARKER(name, category, type);
    if (grec_is_recording()) enter_and_add(&marker, options, values, count, __builtin_frame_address(0));
}

/* ---- Ready-made types, as the viewer knows them. ---- */

static const struct grec_field text_fields[] = {GREC_FIELD("name", "Details", GREC_FORMAT_STRING)};
static struct grec_marker_type text_type =
    GREC_MARKER_TYPE_SHOWN("Text", text_fields, "{marker.name} \xe2\x80\x94 {marker.data.name}",
                           "{marker.name} \xe2\x80\x94 {marker.data.name}",
                           "{marker.name} \xe2\x80\x94 {marker.data.name}", GREC_DISPLAY_CHART | GREC_DISPLAY_TABLE);

void grec_text_marker_(const char *name, struct grec_category *category, const char *text) {
    struct grec_value value = GREC_TEXT(text ? text : "");
    grec_add_named_marker(name, category, &text_type, NULL, &value, 1);
}

static const struct grec_field log_fields[] = {GREC_FIELD("module", "Module", GREC_FORMAT_UNIQUE_STRING),
                                               GREC_FIELD("level", "Level", GREC_FORMAT_UNIQUE_STRING),
                                               GREC_FIELD("message", "Message", GREC_FORMAT_STRING)};
static struct grec_marker_type log_type = GREC_MARKER_TYPE_SHOWN(
    "Log", log_fields, NULL, NULL, "({marker.data.level}) {marker.data.module}: {marker.data.message}",
    GREC_DISPLAY_TABLE | GREC_DISPLAY_CHART);
static struct grec_marker log_marker = GREC_MARKER("LogMessages", NULL, &log_type);

void grec_log_(enum grec_log_level level, const char *module, const char *message) {
    static const char *const names[] = {"Error", "Error", "Warning", "Info", "Debug", "Verbose"};
    size_t at = (size_t)level < sizeof names / sizeof *names ? (size_t)level : GREC_LOG_VERBOSE;
    const struct grec_value values[] = {GREC_TEXT(module ? module : ""), GREC_TEXT(names[at]),
                                        GREC_TEXT(message ? message : "")};
    grec_add_marker(&log_marker, NULL, values, sizeof values / sizeof *values);
}
