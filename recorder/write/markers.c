/* Markers. Usual ones, without a payload or with numbers alone, are short blocks (record_short); all others are long
 * ones (add_marker). */
#include "marker_room.h"

#include <string.h>

#include "backtrace.h"
#include "definitions.h"
#include "packed_stack.h"
#include "payload.h"
#include "recorder/state/scratch.h"
#include "thread_handle.h"
#include "writer.h"

enum {
    SHORT_HEAD_BYTES = 1 + 3 * LEB128_BYTES_MAX, /* kind, t, duration, id */
    SHORT_VALUE_COUNT_MAX = 8,                   /* their wire types fit into one word */
    LONG_HEAD_BYTES = 1 + 8 * LEB128_BYTES_MAX,
};

/* Whether all values are numbers, and have the wire types of their fields, so that they need no tags. */
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

/* Most payloads of numbers are two small integers: those are composed in a register. */
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

/* Records a short block in the ordinary case. Returns false without any effect in any other case. */
static inline __attribute__((always_inline)) bool record_short(struct grec_marker *marker, enum trace_entry_kind kind,
                                                               grec_time start, const struct grec_value *values,
                                                               size_t count) {
    struct recording recording;
    uint64_t time;
    if (!recording_try(&recording)) return false;
    struct writer *writer = recording.writer;
    uint64_t cache = __atomic_load_n(&marker->cache_, __ATOMIC_ACQUIRE);
    uint32_t id = (uint32_t)cache;
    bool is_ordinary = cache >> 32 == recording_generation && id && id < LEB128_SMALL_END &&
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

_Static_assert(TRACE_INTERVAL_END - TRACE_INSTANT == GREC_PHASE_END, "kinds are in the order of phases");

static __attribute__((noinline)) void record_long(struct grec_marker *marker, enum trace_entry_kind kind,
                                                  grec_time start, const struct grec_value *values, size_t count) {
    struct grec_marker_options options = {.phase = (uint32_t)(kind - TRACE_INSTANT), .start = start};
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

/* ---- Long blocks. ---- */

/* The stack of a marker. */
struct stack_source {
    bool is_own;                       /* it is the calling thread's, now */
    const struct backtrace *backtrace; /* it was taken before; NULL: it was not */
    const struct packed_stack *packed; /* NULL: there is none, or no memory for it */
    uint32_t mapping_id;               /* its addresses refer to the mappings up to this one */
};

/* What a stack needs in addition to its bytes. */
enum { STACK_EXTRA_BYTES = LEB128_BYTES_MAX + PACKED_STACK_ROOM_BYTES + BACKTRACE_ORIGIN_BYTES_MAX };

/* A block has room for the longest payload, the stack, the lengths of both, and that of the block. */
uint32_t marker_stack_bytes_max(void) {
    return recording_block_bytes_max() / 2 - LONG_HEAD_BYTES - 2 * LEB128_PADDED_BYTES - CLOCK_BLOCK_BYTES -
           STACK_EXTRA_BYTES;
}

static struct stack_source find_stack(const struct grec_marker_options *options, const void *entry) {
    struct stack_source source = {0};
    uint32_t room = marker_stack_bytes_max();
    if (options->backtrace) {
        source.backtrace = backtrace_find(options->backtrace);
        if (source.backtrace && source.backtrace->stack.bytes_count > room) source.backtrace = NULL;
        if (!source.backtrace) return source;
        source.packed = &source.backtrace->stack;
        source.mapping_id = backtrace_mapping_id(source.backtrace);
    } else if (options->with_stack) {
        source.is_own = true;
        source.packed = packed_stack_take_own(room, entry);
        source.mapping_id = source.packed ? source.packed->mapping_id : 0;
    }
    return source;
}

static bool has_stack(const struct stack_source *stack) { return stack->is_own || stack->backtrace; }

static void release_stack(const struct stack_source *stack) {
    if (stack->is_own) scratch_give((void *)(uintptr_t)stack->packed);
}

static uint32_t flags_of(const struct grec_marker_options *options, const struct stack_source *stack, bool has_tags) {
    uint32_t phase = options->phase & TRACE_MARKER_PHASE;
    bool has_times = options->start || options->end || phase == GREC_PHASE_INTERVAL;
    return phase | (has_times ? TRACE_MARKER_HAS_TIMES : 0) | (options->thread.uid ? TRACE_MARKER_HAS_THREAD : 0) |
           (has_tags ? TRACE_MARKER_HAS_TAGS : 0) | (has_stack(stack) ? TRACE_MARKER_HAS_STACK : 0) |
           (stack->backtrace ? TRACE_MARKER_HAS_ORIGIN : 0);
}

/* Writes how many ticks before `now` a time is; negative if the time is later. */
static unsigned char *write_ticks_before(unsigned char *at, uint64_t now, uint64_t ticks) {
    return leb128_write(at, leb128_zigzag((int64_t)(now - ticks)));
}

/* A time from before the recording is 0: such an interval starts when the recording does. */
static unsigned char *write_times(unsigned char *at, uint64_t now, const struct grec_marker_options *options) {
    bool is_interval = (options->phase & TRACE_MARKER_PHASE) == GREC_PHASE_INTERVAL;
    uint64_t end = options->end ? options->end : now;
    uint64_t start = options->start ? options->start : is_interval ? recording_pool.header->start_ticks : now;
    if (is_interval && start > end) start = end;
    at = write_ticks_before(at, now, start);
    return write_ticks_before(at, now, options->end || is_interval ? end : start);
}

/* Returns where both end. */
static unsigned char *write_payload_and_stack(unsigned char *at, const struct payload *payload, bool has_tags,
                                              const struct stack_source *stack, const struct recording *recording) {
    unsigned char *length_at = at;
    if (has_stack(stack)) at += LEB128_PADDED_BYTES;
    struct room room = {at, at + payload->bytes_max};
    payload_write(&room, payload, has_tags, recording->writer->last_ticks);
    if (!has_stack(stack)) return room.at;
    leb128_write_padded(length_at, (uint32_t)(room.at - at));
    at = packed_stack_write(room.at, stack->packed, recording->writer);
    return stack->backtrace ? backtrace_write_origin(at, stack->backtrace, recording->writer) : at;
}

static void write_marker(struct recording *recording, uint32_t id, const struct grec_marker_type *type,
                         const struct grec_marker_options *options, const struct payload *payload,
                         const struct stack_source *stack) {
    bool has_tags = payload->count && payload_needs_tags(payload, type);
    uint32_t flags = flags_of(options, stack, has_tags);
    uint32_t stack_bytes_max =
        has_stack(stack) ? packed_stack_bytes_max(stack->packed) + BACKTRACE_ORIGIN_BYTES_MAX : 0;
    uint32_t bytes_max = LONG_HEAD_BYTES + payload->bytes_max + LEB128_PADDED_BYTES + stack_bytes_max;
    if (!recording_reserve(recording, bytes_max)) return;
    struct writer *writer = recording->writer;
    packed_stack_announce(stack->packed, stack->mapping_id, writer);
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
    long_block_end(writer, write_payload_and_stack(at, payload, has_tags, stack, recording));
}

/* Says once in a recording which marker has values without a field. */
static void report_surplus(const struct grec_marker *marker) {
    static uint32_t reported_generation;
    char text[GREC_NAME_BYTES_MAX] = "values beyond the fields of the marker's type are left out, first of the marker ";
    uint32_t generation = recording_generation;
    if (__atomic_exchange_n(&reported_generation, generation, __ATOMIC_RELAXED) == generation) return;
    strncat(text, marker->name ? marker->name : "", sizeof text - strlen(text) - 1);
    recording_write_message(text);
}

/* Returns false if there are more values than the marker's type has fields. */
static bool add_marker(struct recording *recording, struct grec_marker *marker,
                       const struct grec_marker_options *options, const struct grec_value *values, size_t count,
                       const void *entry) {
    uint32_t id = definition_of_marker(marker);
    if (!id) {
        recording_count_loss(LOSS_EVENT, 1);
        return true;
    }
    struct payload payload = payload_measure(marker->type, values, count);
    struct stack_source stack = find_stack(options, entry);
    write_marker(recording, id, marker->type, options, &payload, &stack);
    release_stack(&stack);
    return !values || payload.count == count;
}

static const struct grec_marker_options default_options;

/* A marker belongs to the thread that it is aimed at, which may be left out by the options, as in Gecko. Returns false
 * if the marker is not recorded. */
static bool admit(struct recording *recording, const struct grec_marker_options *options) {
    if (!options->thread.uid) return true;
    recording_admit(recording);
    enum thread_handle_fate fate = thread_handle_fate(&options->thread);
    if (fate == THREAD_HANDLE_STALE) recording_count_loss(LOSS_STALE_MARKER, 1);
    return fate == THREAD_HANDLE_WANTED;
}

/* `entry`: frame address of the public function. */
static void enter_and_add(struct grec_marker *marker, const struct grec_marker_options *options,
                          const struct grec_value *values, size_t count, const void *entry) {
    struct recording recording = recording_enter();
    if (!recording.thread) return;
    if (!options) options = &default_options;
    bool is_whole = !admit(&recording, options) || add_marker(&recording, marker, options, values, count, entry);
    recording_leave_admitted(&recording);
    if (!is_whole) report_surplus(marker);
}

void grec_add_marker(struct grec_marker *marker, const struct grec_marker_options *options,
                     const struct grec_value *values, size_t count) {
    if (grec_may_record_() && marker) enter_and_add(marker, options, values, count, __builtin_frame_address(0));
}

void grec_add_named_marker(const char *name, struct grec_category *category, struct grec_marker_type *type,
                           const struct grec_marker_options *options, const struct grec_value *values, size_t count) {
    struct grec_marker marker = GREC_MARKER(name, category, type);
    if (grec_may_record_()) enter_and_add(&marker, options, values, count, __builtin_frame_address(0));
}

/* ---- Types that the viewer knows. ---- */

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

/* The front-end reads these members of a payload (NetworkPayload in its src/types/markers.ts). */
static const struct grec_field network_fields[] = {
    GREC_FIELD("id", "Request", GREC_FORMAT_INTEGER),
    GREC_FIELD("status", "Status", GREC_FORMAT_STRING),
    GREC_FIELD("URI", "Address", GREC_FORMAT_URL),
    GREC_FIELD("pri", "Priority", GREC_FORMAT_INTEGER),
    GREC_FIELD("startTime", "Start", GREC_FORMAT_TIME),
    GREC_FIELD("endTime", "End", GREC_FORMAT_TIME),
    GREC_FIELD("RedirectURI", "Redirected to", GREC_FORMAT_URL),
    GREC_FIELD("contentType", "Content type", GREC_FORMAT_STRING),
    GREC_FIELD("responseStatus", "Response status", GREC_FORMAT_INTEGER),
    GREC_FIELD("count", "Received", GREC_FORMAT_BYTES),
    GREC_FIELD("domainLookupStart", "Start of name look-up", GREC_FORMAT_TIME),
    GREC_FIELD("domainLookupEnd", "End of name look-up", GREC_FORMAT_TIME),
    GREC_FIELD("connectStart", "Start of connecting", GREC_FORMAT_TIME),
    GREC_FIELD("connectEnd", "End of connecting", GREC_FORMAT_TIME),
    GREC_FIELD("requestStart", "Start of request", GREC_FORMAT_TIME),
    GREC_FIELD("responseStart", "Start of response", GREC_FORMAT_TIME),
    GREC_FIELD("responseEnd", "End of response", GREC_FORMAT_TIME),
};
static struct grec_marker_type network_type =
    GREC_MARKER_TYPE_SHOWN("Network", network_fields, "{marker.data.URI}", "{marker.name}", "{marker.data.URI}",
                           GREC_DISPLAY_CHART | GREC_DISPLAY_TABLE | GREC_DISPLAY_NETWORK);

static struct grec_value known_number(uint64_t number) { return number ? GREC_INT(number) : GREC_NONE(); }

void grec_network_(struct grec_category *category, const struct grec_network_request *request) {
    static const char *const ends[] = {"STATUS_STOP", "STATUS_REDIRECT", "STATUS_CANCEL"};
    static uint32_t last_id;
    uint32_t how = request->how_ended < sizeof ends / sizeof *ends ? request->how_ended : (uint32_t)GREC_NETWORK_STOP;
    uint64_t id = __atomic_add_fetch(&last_id, 1, __ATOMIC_RELAXED);
    grec_time end = request->end ? request->end : grec_now(), start = request->start ? request->start : end;
    const char *url = request->url ? request->url : "";
    struct grec_marker marker = GREC_MARKER("Load", category, &network_type);
    struct grec_marker_options options = {.phase = GREC_PHASE_INTERVAL, .start = start, .end = start};
    const struct grec_value values[] = {
        GREC_INT(id),
        GREC_TEXT(ends[how]),
        GREC_TEXT(url),
        GREC_INT(0),
        GREC_TIME(start),
        GREC_TIME(end),
        GREC_TEXT(request->redirect_url),
        GREC_TEXT(request->content_type),
        known_number(request->response_status),
        known_number(request->transfer_bytes),
        GREC_TIME(request->lookup_start),
        GREC_TIME(request->lookup_end),
        GREC_TIME(request->connect_start),
        GREC_TIME(request->connect_end),
        GREC_TIME(request->request_start),
        GREC_TIME(request->response_start),
        GREC_TIME(request->response_end),
    };
    /* The front-end joins two markers of each request. If only the second one exists, it takes the request for one that
     * started before the profile. */
    const struct grec_value first_values[] = {values[0], GREC_TEXT("STATUS_START"), values[2],
                                              values[3], GREC_TIME(start),          GREC_TIME(start)};
    grec_add_marker(&marker, &options, first_values, sizeof first_values / sizeof *first_values);
    options.end = end;
    grec_add_marker(&marker, &options, values, sizeof values / sizeof *values);
}
