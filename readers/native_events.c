/* Entries of event chunks. An entry is read as a whole or not at all: what it needs is looked up first, and only when
 * all of it is there the profile and the place are changed. */
#include <stdlib.h>

#include "native_trace_internal.h"

/* A trace whose definitions are gone would have all of it set aside, for nothing. */
static const size_t SET_ASIDE_BYTES_MAX = (size_t)1 << 30;

/* An entry on its way. */
struct entry {
    struct native_trace *trace;
    struct native_place *place;
    struct native_cursor cursor; /* behind the kind */
    uint64_t offset;             /* of its block */
    uint8_t kind;
    bool is_open; /* a definition is missing that may still come */
};

static struct profile *profile_of(const struct entry *entry) { return entry->trace->profile; }

static void count(const struct entry *entry, enum native_cause cause) {
    native_ledger_count(&entry->trace->ledger, cause, 1, entry->offset);
}

static enum native_verdict kept(const struct entry *entry) {
    native_ledger_settle(&entry->trace->ledger, entry->offset);
    count(entry, (enum native_cause)entry->kind);
    return NATIVE_READ;
}

static enum native_verdict lost(const struct entry *entry, enum native_cause cause) {
    count(entry, cause);
    return NATIVE_READ;
}

/* Takes the time that the entry begins with. */
static int64_t take_time(struct entry *entry) {
    uint64_t delta = native_cursor_bounded(&entry->cursor, INT64_MAX);
    int64_t ticks = 0;
    if (!native_clock_sum(&entry->trace->clock, entry->place->now_ticks, (int64_t)delta, &ticks))
        native_cursor_spoil(&entry->cursor);
    return ticks;
}

static int64_t time_before(struct entry *entry, int64_t ticks, int64_t before) {
    int64_t earlier = 0;
    if (before == INT64_MIN || !native_clock_sum(&entry->trace->clock, ticks, -before, &earlier))
        native_cursor_spoil(&entry->cursor);
    return earlier;
}

/* ---- Whose the entries are ---- */

static enum native_verdict read_process(struct entry *entry) {
    struct native_cursor *cursor = &entry->cursor;
    struct native_place *place = entry->place;
    uint64_t pid = native_cursor_bounded(cursor, INT32_MAX);
    native_cursor_leb(cursor); /* the parent's pid, which profiles have no place for */
    uint64_t start_ns = native_cursor_leb(cursor);
    struct text name = native_cursor_text(cursor);
    if (cursor->is_bad) return NATIVE_DAMAGED;
    place->thread = NULL;
    place->process = native_tasks_process(&entry->trace->tasks, (int64_t)pid, start_ns);
    place->is_beyond = !place->process;
    if (!place->process) return lost(entry, NATIVE_LOST_BEYOND);
    if (place->is_live) place->process->has_live_chunk = true;
    native_tasks_name_process(&entry->trace->tasks, place->process, name, place->now_ticks);
    return kept(entry);
}

static enum native_verdict read_thread(struct entry *entry) {
    struct native_cursor *cursor = &entry->cursor;
    struct native_place *place = entry->place;
    struct native_trace *trace = entry->trace;
    uint64_t since_base = native_cursor_bounded(cursor, INT64_MAX), uid = native_cursor_leb(cursor);
    uint64_t tid = native_cursor_bounded(cursor, INT32_MAX);
    native_cursor_leb(cursor); /* flags: that it is a main thread its tid tells too */
    int64_t start_since_base = native_cursor_zigzag(cursor), now_ticks, start_ticks;
    struct text name = native_cursor_text(cursor);
    if (cursor->is_bad || !native_clock_sum(&trace->clock, place->base_ticks, (int64_t)since_base, &now_ticks) ||
        !native_clock_sum(&trace->clock, place->base_ticks, start_since_base, &start_ticks))
        return NATIVE_DAMAGED;
    place->now_ticks = now_ticks;
    place->thread = NULL;
    if (!place->process) return lost(entry, place->is_beyond ? NATIVE_LOST_BEYOND : NATIVE_LOST_THREADLESS);
    place->thread = native_tasks_thread(&trace->tasks, place->process, uid, (int64_t)tid);
    place->is_beyond = !place->thread;
    if (!place->thread) return lost(entry, NATIVE_LOST_BEYOND);
    struct thread *thread = profile_thread_at(trace->profile, place->thread->id);
    thread->tid = (int64_t)tid;
    thread->start_ns = start_ticks;
    native_tasks_name_thread(&trace->tasks, place->thread, name, now_ticks);
    return kept(entry);
}

static enum native_verdict read_thread_end(struct entry *entry) {
    int64_t ticks = take_time(entry);
    if (entry->cursor.is_bad) return NATIVE_DAMAGED;
    entry->place->now_ticks = ticks;
    profile_thread_at(profile_of(entry), entry->place->thread->id)->end_ns = ticks;
    return kept(entry);
}

static enum native_verdict read_process_end(struct entry *entry) {
    int64_t ticks = take_time(entry);
    if (entry->cursor.is_bad) return NATIVE_DAMAGED;
    entry->place->now_ticks = ticks;
    entry->place->process->has_ended = true;
    profile_process_at(profile_of(entry), entry->place->process->id)->end_ns = ticks;
    return kept(entry);
}

static enum native_verdict read_clock(struct entry *entry) {
    int64_t ticks = take_time(entry);
    uint64_t ns = native_cursor_bounded(&entry->cursor, INT64_MAX);
    if (entry->cursor.is_bad) return NATIVE_DAMAGED;
    entry->place->now_ticks = ticks;
    native_clock_offer(&entry->trace->clock, ticks, entry->place->base_ns + ns);
    return kept(entry);
}

/* ---- Markers ---- */

/* A marker on its way. */
struct marker_entry {
    const struct native_marker *definition;
    struct native_thread *thread;
    struct marker marker;
    union marker_value values[NATIVE_FIELD_COUNT_MAX];
};

static void take_definition(struct entry *entry, struct marker_entry *marker) {
    uint64_t id = native_cursor_leb(&entry->cursor);
    if (entry->cursor.is_bad) return;
    marker->definition = native_definitions_marker(&entry->trace->definitions, id, &entry->is_open);
}

static void take_payload(struct entry *entry, struct marker_entry *marker, struct native_cursor *payload, bool has_tags,
                         int64_t ticks) {
    const struct native_marker *definition = marker->definition;
    if (!definition || entry->cursor.is_bad || entry->is_open) return;
    if (definition->type) {
        native_payload_read(entry->trace, payload, definition->type, has_tags, ticks, marker->values, &entry->is_open);
        if (payload->is_bad) native_cursor_spoil(&entry->cursor);
    } else if (definition->has_lost_type && native_cursor_left(payload)) {
        native_ledger_defer(&entry->trace->ledger, NATIVE_LOST_PAYLOAD);
    }
}

/* The end of all markers: in the profile, or why not. */
static enum native_verdict finish_marker(struct entry *entry, struct marker_entry *marker, int64_t ticks) {
    if (entry->cursor.is_bad) return NATIVE_DAMAGED;
    if (entry->is_open) return NATIVE_OPEN;
    entry->place->now_ticks = ticks;
    if (!marker->definition) return lost(entry, NATIVE_LOST_MARKER);
    if (!marker->thread) return lost(entry, NATIVE_LOST_BEYOND);
    if (marker->marker.end_ns < marker->marker.start_ns) {
        count(entry, NATIVE_NOTE_REVERSED);
        marker->marker.end_ns = marker->marker.start_ns;
    }
    const struct native_marker_type *type = marker->definition->type;
    marker->marker.name = marker->definition->name;
    marker->marker.category = marker->definition->category;
    marker->marker.schema = type ? type->row : (uint16_t)MARKER_SCHEMA_NONE;
    struct thread *thread = profile_thread_at(profile_of(entry), marker->thread->id);
    profile_add_marker(profile_of(entry), thread, marker->marker, marker->values);
    return kept(entry);
}

/* The four kinds without options. */
static enum native_verdict read_simple_marker(struct entry *entry, enum marker_phase phase) {
    struct marker_entry marker;
    int64_t ticks = take_time(entry), start_ticks = ticks;
    if (phase == MARKER_INTERVAL)
        start_ticks = time_before(entry, ticks, (int64_t)native_cursor_bounded(&entry->cursor, INT64_MAX));
    marker.definition = NULL;
    marker.thread = entry->place->thread;
    marker.marker =
        (struct marker){.start_ns = start_ticks, .end_ns = ticks, .stack = stack_none(), .phase = (uint8_t)phase};
    take_definition(entry, &marker);
    take_payload(entry, &marker, &entry->cursor, false, ticks);
    return finish_marker(entry, &marker, ticks);
}

static enum native_verdict read_instant(struct entry *entry) { return read_simple_marker(entry, MARKER_INSTANT); }
static enum native_verdict read_interval(struct entry *entry) { return read_simple_marker(entry, MARKER_INTERVAL); }
static enum native_verdict read_interval_start(struct entry *entry) {
    return read_simple_marker(entry, MARKER_INTERVAL_START);
}
static enum native_verdict read_interval_end(struct entry *entry) {
    return read_simple_marker(entry, MARKER_INTERVAL_END);
}

/* Only intervals have two times. */
static void set_times(struct marker *marker, int64_t start_ticks, int64_t end_ticks) {
    marker->start_ns = marker->phase == MARKER_INTERVAL_END ? end_ticks : start_ticks;
    marker->end_ns = marker->phase == MARKER_INTERVAL ? end_ticks : marker->start_ns;
}

static enum native_verdict read_marker(struct entry *entry) {
    struct native_cursor *cursor = &entry->cursor;
    struct native_trace *trace = entry->trace;
    struct marker_entry marker;
    int64_t ticks = take_time(entry), start_ticks = ticks, end_ticks = ticks;
    uint64_t flags = native_cursor_leb(cursor);
    marker.definition = NULL;
    marker.thread = entry->place->thread;
    marker.marker = (struct marker){.stack = stack_none(), .phase = (uint8_t)(flags & TRACE_MARKER_PHASE)};
    take_definition(entry, &marker);
    if (flags & TRACE_MARKER_HAS_TIMES) {
        start_ticks = time_before(entry, ticks, native_cursor_zigzag(cursor));
        end_ticks = time_before(entry, ticks, native_cursor_zigzag(cursor));
    }
    set_times(&marker.marker, start_ticks, end_ticks);
    bool has_thread = flags & TRACE_MARKER_HAS_THREAD;
    uint64_t uid = has_thread ? native_cursor_leb(cursor) : 0;
    uint64_t tid = has_thread ? native_cursor_bounded(cursor, INT32_MAX) : 0;
    bool has_tags = flags & TRACE_MARKER_HAS_TAGS;
    if (flags & TRACE_MARKER_HAS_STACK) {
        struct native_cursor payload = native_cursor_of(native_cursor_text(cursor));
        take_payload(entry, &marker, &payload, has_tags, ticks);
        if (marker.definition && !entry->is_open)
            marker.marker.stack = native_stack_read(trace, entry->place->thread, cursor, &entry->is_open);
    } else {
        take_payload(entry, &marker, cursor, has_tags, ticks);
    }
    if (has_thread && !cursor->is_bad && !entry->is_open)
        marker.thread = native_tasks_thread(&trace->tasks, entry->place->process, uid, (int64_t)tid);
    return finish_marker(entry, &marker, ticks);
}

/* ---- Counters, samples, pauses, messages ---- */

static enum native_verdict read_counter(struct entry *entry, enum native_count kind) {
    struct native_cursor *cursor = &entry->cursor;
    struct native_trace *trace = entry->trace;
    int64_t ticks = take_time(entry);
    uint64_t id = native_cursor_leb(cursor);
    int64_t value = native_cursor_zigzag(cursor);
    uint64_t number = kind == NATIVE_COUNT_SUM ? native_cursor_leb(cursor) : 1;
    if (cursor->is_bad) return NATIVE_DAMAGED;
    uint32_t row = 0;
    const struct counter *definition = native_definitions_counter(&trace->definitions, id, &entry->is_open, &row);
    if (entry->is_open) return NATIVE_OPEN;
    entry->place->now_ticks = ticks;
    if (!definition) return lost(entry, NATIVE_LOST_COUNTER);
    native_counters_add(&trace->counters, entry->place->process->id, row, definition, ticks, kind, value, number);
    return kept(entry);
}

static enum native_verdict read_count(struct entry *entry) { return read_counter(entry, NATIVE_COUNT_CHANGE); }
static enum native_verdict read_count_set(struct entry *entry) { return read_counter(entry, NATIVE_COUNT_VALUE); }
static enum native_verdict read_count_sample(struct entry *entry) { return read_counter(entry, NATIVE_COUNT_SUM); }

static enum native_verdict read_sample(struct entry *entry) {
    struct native_thread *thread = entry->place->thread;
    int64_t ticks = take_time(entry);
    stack_id stack = native_stack_read(entry->trace, thread, &entry->cursor, &entry->is_open);
    if (entry->cursor.is_bad) return NATIVE_DAMAGED;
    if (entry->is_open) return NATIVE_OPEN;
    entry->place->now_ticks = ticks;
    thread_add_sample(profile_thread_at(profile_of(entry), thread->id), ticks, stack, 1);
    return kept(entry);
}

static enum native_verdict add_pause(struct entry *entry, bool is_resume) {
    int64_t ticks = take_time(entry);
    if (entry->cursor.is_bad) return NATIVE_DAMAGED;
    entry->place->now_ticks = ticks;
    struct native_pause *pause = column_push(&entry->trace->pauses);
    if (pause) *pause = (struct native_pause){entry->place->process->id.index, is_resume, ticks};
    return kept(entry);
}

static enum native_verdict read_pause(struct entry *entry) { return add_pause(entry, false); }
static enum native_verdict read_resume(struct entry *entry) { return add_pause(entry, true); }

static enum native_verdict read_message(struct entry *entry) {
    int64_t ticks = take_time(entry);
    struct text text = native_cursor_text(&entry->cursor);
    if (entry->cursor.is_bad) return NATIVE_DAMAGED;
    entry->place->now_ticks = ticks;
    struct profile *profile = profile_of(entry);
    profile_log_line(profile, &profile->profiling_log, entry->place->process->id, ticks, text);
    return kept(entry);
}

/* ---- Blocks ---- */

enum need { NEEDS_NOTHING, NEEDS_PROCESS, NEEDS_THREAD };

static const struct kind_traits {
    enum native_verdict (*read)(struct entry *entry);
    enum need need; /* what must stand before it in its chunk */
} KINDS[] = {
    [TRACE_PROCESS] = {read_process, NEEDS_NOTHING},
    [TRACE_THREAD] = {read_thread, NEEDS_NOTHING},
    [TRACE_THREAD_END] = {read_thread_end, NEEDS_THREAD},
    [TRACE_PROCESS_END] = {read_process_end, NEEDS_PROCESS},
    [TRACE_CLOCK] = {read_clock, NEEDS_NOTHING},
    [TRACE_INSTANT] = {read_instant, NEEDS_THREAD},
    [TRACE_INTERVAL] = {read_interval, NEEDS_THREAD},
    [TRACE_INTERVAL_START] = {read_interval_start, NEEDS_THREAD},
    [TRACE_INTERVAL_END] = {read_interval_end, NEEDS_THREAD},
    [TRACE_MARKER] = {read_marker, NEEDS_THREAD},
    [TRACE_COUNT] = {read_count, NEEDS_PROCESS},
    [TRACE_COUNT_SET] = {read_count_set, NEEDS_PROCESS},
    [TRACE_COUNT_SAMPLE] = {read_count_sample, NEEDS_PROCESS},
    [TRACE_SAMPLE] = {read_sample, NEEDS_THREAD},
    [TRACE_PAUSE] = {read_pause, NEEDS_PROCESS},
    [TRACE_RESUME] = {read_resume, NEEDS_PROCESS},
    [TRACE_MESSAGE] = {read_message, NEEDS_PROCESS},
};
enum { KIND_COUNT = sizeof KINDS / sizeof *KINDS };

static bool is_placed(const struct native_place *place, enum need need) {
    return need == NEEDS_NOTHING || (need == NEEDS_PROCESS ? place->process != NULL : place->thread != NULL);
}

/* An entry that nothing stands before; the time that it takes counts for those behind. */
static enum native_verdict lose_placeless(struct entry *entry) {
    int64_t ticks = take_time(entry);
    if (entry->cursor.is_bad) return NATIVE_DAMAGED;
    entry->place->now_ticks = ticks;
    bool is_sample = entry->kind == TRACE_SAMPLE;
    if (entry->place->is_beyond) return lost(entry, is_sample ? NATIVE_LOST_BEYOND_SAMPLE : NATIVE_LOST_BEYOND);
    return lost(entry, is_sample ? NATIVE_LOST_THREADLESS_SAMPLE : NATIVE_LOST_THREADLESS);
}

static enum native_verdict read_entry(struct native_trace *trace, struct native_place *place, struct text bytes,
                                      uint64_t offset) {
    struct entry entry = {.trace = trace, .place = place, .cursor = native_cursor_of(bytes), .offset = offset};
    native_ledger_drop(&trace->ledger);
    entry.kind = native_cursor_byte(&entry.cursor);
    if (entry.cursor.is_bad) return NATIVE_DAMAGED;
    if (entry.kind >= KIND_COUNT || !KINDS[entry.kind].read) {
        trace->counts.unknown_kinds[entry.kind]++;
        return lost(&entry, NATIVE_LOST_KIND);
    }
    if (!is_placed(place, KINDS[entry.kind].need)) return lose_placeless(&entry);
    return KINDS[entry.kind].read(&entry);
}

/* Keeps what is left of the blocks; false when there is no room for it. */
static bool set_aside(struct native_trace *trace, const struct native_blocks *blocks) {
    size_t bytes_count = blocks->bytes.bytes_count;
    if (bytes_count > SET_ASIDE_BYTES_MAX - trace->set_aside_bytes) return false;
    char *bytes = malloc(bytes_count);
    struct native_blocks *kept_blocks = bytes ? column_push(&trace->set_aside) : NULL;
    if (!kept_blocks) {
        failure_set_memory(trace->profile->failure);
        free(bytes);
        return true;
    }
    memcpy(bytes, blocks->bytes.bytes, bytes_count);
    *kept_blocks = *blocks;
    kept_blocks->bytes.bytes = bytes;
    trace->set_aside_bytes += bytes_count;
    trace->counts.set_aside_count++;
    return true;
}

/* As if nothing more came. */
static enum native_verdict read_without_waiting(struct native_trace *trace, struct native_place *place,
                                                struct text bytes, uint64_t offset) {
    bool is_complete = trace->definitions.is_complete;
    trace->definitions.is_complete = true;
    enum native_verdict verdict = read_entry(trace, place, bytes, offset);
    trace->definitions.is_complete = is_complete;
    return verdict;
}

/* The block that cannot be read and those behind it. */
static void lose_rest(struct native_trace *trace, const struct native_blocks *blocks, bool is_cut) {
    enum { BLOCK_BYTES_MIN = 2 };
    uint64_t lost_count = blocks->block_count, possible_count = blocks->bytes.bytes_count / BLOCK_BYTES_MIN;
    if (!is_cut && lost_count > possible_count) lost_count = possible_count;
    native_ledger_count(&trace->ledger, is_cut ? NATIVE_LOST_CUT : NATIVE_LOST_DAMAGED, lost_count ? lost_count : 1,
                        blocks->offset);
}

static void check_count(struct native_trace *trace, const struct native_blocks *blocks) {
    if (!blocks->block_count) return;
    if (blocks->is_cut)
        lose_rest(trace, blocks, true);
    else
        native_ledger_count(&trace->ledger, NATIVE_NOTE_BLOCK_COUNT, 1, blocks->offset);
}

void native_events_read(struct native_trace *trace, struct native_blocks blocks) {
    while (blocks.bytes.bytes_count && !failure_is_set(trace->profile->failure)) {
        struct native_cursor cursor = native_cursor_of(blocks.bytes);
        struct text entry = native_cursor_text(&cursor);
        bool is_cut = cursor.is_bad && blocks.is_cut;
        enum native_verdict verdict = NATIVE_DAMAGED;
        if (!cursor.is_bad) verdict = read_entry(trace, &blocks.place, entry, blocks.offset);
        if (verdict == NATIVE_OPEN) {
            if (set_aside(trace, &blocks)) return;
            verdict = read_without_waiting(trace, &blocks.place, entry, blocks.offset);
        }
        if (verdict != NATIVE_READ) {
            lose_rest(trace, &blocks, is_cut);
            return;
        }
        size_t block_bytes = blocks.bytes.bytes_count - native_cursor_left(&cursor);
        blocks.bytes = text_from(blocks.bytes, block_bytes);
        blocks.offset += block_bytes;
        if (blocks.block_count) blocks.block_count--;
    }
    if (!failure_is_set(trace->profile->failure)) check_count(trace, &blocks);
}

void native_events_read_set_aside(struct native_trace *trace) {
    trace->definitions.is_complete = true;
    for (size_t i = 0; i < trace->set_aside.count; i++) {
        struct native_blocks *blocks = column_at(&trace->set_aside, i);
        native_events_read(trace, *blocks);
        free((char *)(uintptr_t)blocks->bytes.bytes);
        blocks->bytes = (struct text){0};
    }
}
