/* Entries of event chunks. An entry is read as a whole or not at all: what it needs is looked up first, and only when
 * all of it is there the profile and the place are changed. */
#include "libconvert/memory.h"
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

/* A time that the program gave: a wrong one is its own, and no damage. */
static int64_t time_before(struct entry *entry, int64_t ticks, int64_t before, bool *is_wrong) {
    int64_t earlier = ticks;
    *is_wrong |= before == INT64_MIN || !native_clock_sum(&entry->trace->clock, ticks, -before, &earlier);
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
    native_sampled_destroy(place->sampled);
    place->sampled = NULL;
    place->mappings_id = 0;
    place->address = 0;
    place->is_address_lost = false;
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
    uint64_t flags = native_cursor_leb(cursor); /* that it is a main thread its tid tells too */
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
    native_tasks_name_thread(&trace->tasks, place->thread, name,
                             flags & TRACE_THREAD_IS_NAMED ? NATIVE_NAME_OWN : NATIVE_NAME_OF_SYSTEM, now_ticks);
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
    bool has_wrong_time;
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
    if (marker->has_wrong_time) return lost(entry, NATIVE_LOST_MARKER_TIME);
    /* One that began in a recording before this one began with it, as far as this one knows. */
    if (marker->marker.phase == MARKER_INTERVAL && marker->marker.start_ns < 0) marker->marker.start_ns = 0;
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
    marker.has_wrong_time = false;
    if (phase == MARKER_INTERVAL)
        start_ticks = time_before(entry, ticks, (int64_t)native_cursor_bounded(&entry->cursor, INT64_MAX),
                                  &marker.has_wrong_time);
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

/* When and where a kept stack says that it was taken. A time before the trace cannot be: then it is the entry's. */
static struct stack_origin take_origin(struct entry *entry, int64_t ticks) {
    struct native_cursor *cursor = &entry->cursor;
    struct native_tasks *tasks = &entry->trace->tasks;
    bool is_wrong = false;
    struct stack_origin origin = {.thread = thread_none()};
    origin.time_ns = time_before(entry, ticks, native_cursor_zigzag(cursor), &is_wrong);
    if (is_wrong || origin.time_ns < 0) origin.time_ns = ticks;
    uint64_t uid = native_cursor_leb(cursor), tid = native_cursor_bounded(cursor, INT32_MAX);
    uint64_t pid = native_cursor_bounded(cursor, INT32_MAX), start_ns = native_cursor_leb(cursor);
    if (cursor->is_bad) return origin;
    const struct native_process *process = native_tasks_process(tasks, (int64_t)pid, start_ns);
    const struct native_thread *thread = process ? native_tasks_thread(tasks, process, uid, (int64_t)tid) : NULL;
    if (thread) origin.thread = thread->id;
    return origin;
}

/* The stack of a marker, and its origin. */
static void take_stack(struct entry *entry, struct marker *marker, uint64_t flags, int64_t ticks) {
    struct native_place *place = entry->place;
    struct stack_origin origin = {ticks, place->thread->id};
    marker->stack = native_stack_read(entry->trace, place, ticks, &entry->cursor, &entry->is_open);
    if (entry->cursor.is_bad || entry->is_open || stack_is_none(marker->stack)) return;
    if (flags & TRACE_MARKER_HAS_ORIGIN) origin = take_origin(entry, ticks);
    if (!entry->cursor.is_bad) marker->origin = profile_stack_origin(profile_of(entry), origin);
}

static enum native_verdict read_marker(struct entry *entry) {
    struct native_cursor *cursor = &entry->cursor;
    struct native_trace *trace = entry->trace;
    struct marker_entry marker;
    int64_t ticks = take_time(entry), start_ticks = ticks, end_ticks = ticks;
    uint64_t flags = native_cursor_leb(cursor);
    marker.definition = NULL;
    marker.has_wrong_time = false;
    marker.thread = entry->place->thread;
    marker.marker = (struct marker){.stack = stack_none(), .phase = (uint8_t)(flags & TRACE_MARKER_PHASE)};
    take_definition(entry, &marker);
    if (flags & TRACE_MARKER_HAS_TIMES) {
        start_ticks = time_before(entry, ticks, native_cursor_zigzag(cursor), &marker.has_wrong_time);
        end_ticks = time_before(entry, ticks, native_cursor_zigzag(cursor), &marker.has_wrong_time);
    }
    set_times(&marker.marker, start_ticks, end_ticks);
    bool has_thread = flags & TRACE_MARKER_HAS_THREAD;
    uint64_t uid = has_thread ? native_cursor_leb(cursor) : 0;
    uint64_t tid = has_thread ? native_cursor_bounded(cursor, INT32_MAX) : 0;
    bool has_tags = flags & TRACE_MARKER_HAS_TAGS;
    if (flags & TRACE_MARKER_HAS_STACK) {
        struct native_cursor payload = native_cursor_of(native_cursor_text(cursor));
        take_payload(entry, &marker, &payload, has_tags, ticks);
        if (!entry->is_open) take_stack(entry, &marker.marker, flags, ticks);
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
    stack_id stack = native_stack_read(entry->trace, entry->place, ticks, &entry->cursor, &entry->is_open);
    if (entry->cursor.is_bad) return NATIVE_DAMAGED;
    if (entry->is_open) return NATIVE_OPEN;
    entry->place->now_ticks = ticks;
    struct samples *samples = &profile_thread_at(profile_of(entry), thread->id)->samples;
    samples_add(samples, ticks, stack, 1);
    /* The sampler's next one has the time that was used before and after this one. */
    if (samples_have_cpu(samples)) samples_set_details(samples, 0, TIME_NONE);
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

/* ---- What a sampler writes of other threads ---- */

static enum native_verdict read_sampled_thread(struct entry *entry) {
    struct native_cursor *cursor = &entry->cursor;
    struct native_place *place = entry->place;
    struct native_trace *trace = entry->trace;
    uint64_t uid = native_cursor_leb(cursor), tid = native_cursor_bounded(cursor, INT32_MAX);
    uint64_t flags = native_cursor_leb(cursor); /* that it is a main thread its tid tells too */
    int64_t start_since_base = native_cursor_zigzag(cursor), start_ticks;
    struct text name = native_cursor_text(cursor);
    if (cursor->is_bad || !native_clock_sum(&trace->clock, place->base_ticks, start_since_base, &start_ticks))
        return NATIVE_DAMAGED;
    if (!place->sampled) place->sampled = native_sampled_create(trace->profile);
    struct native_sampled_thread *sampled = place->sampled ? native_sampled_thread(place->sampled, uid) : NULL;
    if (!sampled) return NATIVE_READ; /* memory ran out */
    sampled->is_named = true;
    sampled->thread = native_tasks_thread(&trace->tasks, place->process, uid, (int64_t)tid);
    if (!sampled->thread) return lost(entry, NATIVE_LOST_BEYOND);
    struct thread *thread = profile_thread_at(trace->profile, sampled->thread->id);
    if (thread->start_ns == TIME_NONE) thread->start_ns = start_ticks;
    native_tasks_name_thread(&trace->tasks, sampled->thread, name,
                             flags & TRACE_THREAD_IS_NAMED ? NATIVE_NAME_SAMPLED : NATIVE_NAME_OF_SYSTEM,
                             place->now_ticks);
    return kept(entry);
}

/* The thread that is told of; NULL: nothing was said of that uid in the chunk. */
static struct native_sampled_thread *find_sampled(const struct entry *entry, uint64_t uid) {
    struct native_sampled *all = entry->place->sampled;
    struct native_sampled_thread *sampled = all ? native_sampled_thread(all, uid) : NULL;
    return sampled && sampled->is_named ? sampled : NULL;
}

/* What samples of other threads begin with. */
struct sample_head {
    int64_t ticks;
    uint64_t uid;
    uint64_t flags;
    int64_t cpu_ns;   /* TIME_NONE: not told */
    int64_t delay_ns; /* as well */
};

/* Far more than any process runs; small enough to be added up. */
static const uint64_t SPAN_NS_MAX = (uint64_t)1 << 60;

static const uint64_t KNOWN_SAMPLE_FLAGS =
    TRACE_SAMPLE_HAS_CPU | TRACE_SAMPLE_HAS_DELAY | TRACE_SAMPLE_IS_TRUNCATED | TRACE_SAMPLE_IS_UNREACHED;

static int64_t take_span(struct entry *entry) { return (int64_t)native_cursor_bounded(&entry->cursor, SPAN_NS_MAX); }

static struct sample_head take_sample_head(struct entry *entry) {
    struct sample_head head = {.cpu_ns = TIME_NONE, .delay_ns = TIME_NONE};
    head.ticks = take_time(entry);
    head.uid = native_cursor_leb(&entry->cursor);
    head.flags = native_cursor_leb(&entry->cursor);
    if (head.flags & TRACE_SAMPLE_HAS_CPU) head.cpu_ns = take_span(entry);
    if (head.flags & TRACE_SAMPLE_HAS_DELAY) head.delay_ns = take_span(entry);
    return head;
}

static enum native_verdict add_sample(struct entry *entry, const struct native_sampled_thread *sampled,
                                      const struct sample_head *head) {
    struct thread *thread = profile_thread_at(profile_of(entry), sampled->thread->id);
    thread_add_sample(thread, head->ticks, sampled->stack, 1);
    samples_set_details(&thread->samples, head->cpu_ns, head->delay_ns);
    if (sampled->flags & TRACE_SAMPLE_IS_TRUNCATED) count(entry, NATIVE_NOTE_TRUNCATED);
    if (sampled->flags & TRACE_SAMPLE_IS_UNREACHED) count(entry, NATIVE_NOTE_UNREACHED);
    return kept(entry);
}

/* New flags may have fields of their own before the stack. */
static enum native_verdict lose_sample_of_unknown_flags(struct entry *entry, const struct sample_head *head) {
    struct native_sampled_thread *sampled = find_sampled(entry, head->uid);
    if (sampled) sampled->has_stack = false;
    entry->place->now_ticks = head->ticks;
    entry->place->is_address_lost = true;
    return lost(entry, NATIVE_LOST_SAMPLE_FLAGS);
}

/* Sets the stack of the thread's samples; false when it goes on from one that is missing. */
static bool set_sampled_stack(struct native_trace *trace, struct native_sampled_thread *sampled, uint64_t kept_count,
                              const struct native_frames *frames) {
    uint64_t known_count = sampled->has_stack ? sampled->path.count : 0;
    sampled->has_stack = kept_count <= known_count;
    if (!sampled->has_stack) return false;
    sampled->stack =
        stack_path_go_on(&sampled->path, trace->profile, (uint32_t)kept_count, trace->frames, frames->count);
    if (sampled->path.count > 1) trace->profile->meta.has_stacks = true;
    if (!frames->is_lost) return true;
    /* It has no stack, and what goes on from it has none either. */
    sampled->path.count = 0;
    sampled->stack = stack_none();
    return true;
}

static enum native_verdict read_thread_sample(struct entry *entry) {
    struct native_cursor *cursor = &entry->cursor;
    struct sample_head head = take_sample_head(entry);
    if (cursor->is_bad) return NATIVE_DAMAGED;
    if (head.flags & ~KNOWN_SAMPLE_FLAGS) return lose_sample_of_unknown_flags(entry, &head);
    uint64_t kept_count = native_cursor_leb(cursor);
    struct native_frames frames =
        native_stack_read_frames(entry->trace, entry->place, head.ticks, cursor, &entry->is_open);
    if (cursor->is_bad) return NATIVE_DAMAGED;
    if (entry->is_open) return NATIVE_OPEN;
    entry->place->now_ticks = head.ticks;
    native_stack_pass(entry->place, &frames);
    struct native_sampled_thread *sampled = find_sampled(entry, head.uid);
    if (!sampled) return lost(entry, NATIVE_LOST_UNNAMED_SAMPLE);
    if (!sampled->thread) return lost(entry, NATIVE_LOST_BEYOND_SAMPLE);
    if (!set_sampled_stack(entry->trace, sampled, kept_count, &frames)) return lost(entry, NATIVE_LOST_SAMPLE_BASE);
    sampled->flags = head.flags;
    return add_sample(entry, sampled, &head);
}

static enum native_verdict read_thread_same(struct entry *entry) {
    struct sample_head head = take_sample_head(entry);
    if (entry->cursor.is_bad) return NATIVE_DAMAGED;
    entry->place->now_ticks = head.ticks;
    struct native_sampled_thread *sampled = find_sampled(entry, head.uid);
    if (!sampled) return lost(entry, NATIVE_LOST_UNNAMED_SAMPLE);
    if (!sampled->thread) return lost(entry, NATIVE_LOST_BEYOND_SAMPLE);
    if (head.flags & ~KNOWN_SAMPLE_FLAGS) return lost(entry, NATIVE_LOST_SAMPLE_FLAGS);
    if (!sampled->has_stack) return lost(entry, NATIVE_LOST_SAMPLE_BASE);
    return add_sample(entry, sampled, &head);
}

static enum native_verdict read_sampled_thread_end(struct entry *entry) {
    int64_t ticks = take_time(entry);
    uint64_t uid = native_cursor_leb(&entry->cursor);
    if (entry->cursor.is_bad) return NATIVE_DAMAGED;
    entry->place->now_ticks = ticks;
    const struct native_sampled_thread *sampled = find_sampled(entry, uid);
    if (!sampled) return lost(entry, NATIVE_LOST_UNNAMED);
    if (!sampled->thread) return lost(entry, NATIVE_LOST_BEYOND);
    struct thread *thread = profile_thread_at(profile_of(entry), sampled->thread->id);
    if (thread->end_ns == TIME_NONE) thread->end_ns = ticks;
    return kept(entry);
}

static enum native_verdict read_mappings(struct entry *entry) {
    uint64_t id = native_cursor_leb(&entry->cursor);
    if (entry->cursor.is_bad) return NATIVE_DAMAGED;
    if (!native_definitions_knows_mappings(&entry->trace->definitions, id)) return NATIVE_OPEN;
    entry->place->mappings_id = id;
    return kept(entry);
}

static enum native_verdict read_tick(struct entry *entry) {
    int64_t ticks = take_time(entry);
    struct overhead overhead = {.process = entry->place->process->id, .time_ns = ticks};
    overhead.locking_ns = take_span(entry);
    overhead.counters_ns = take_span(entry);
    overhead.threads_ns = take_span(entry);
    if (entry->cursor.is_bad) return NATIVE_DAMAGED;
    entry->place->now_ticks = ticks;
    profile_add_overhead(profile_of(entry), &overhead);
    return kept(entry);
}

static enum native_verdict read_allocation(struct entry *entry) {
    struct native_cursor *cursor = &entry->cursor;
    int64_t ticks = take_time(entry), bytes = native_cursor_zigzag(cursor);
    uint64_t address = native_cursor_leb(cursor);
    stack_id stack = native_stack_read(entry->trace, entry->place, ticks, cursor, &entry->is_open);
    if (cursor->is_bad) return NATIVE_DAMAGED;
    if (entry->is_open) return NATIVE_OPEN;
    entry->place->now_ticks = ticks;
    profile_add_allocation(profile_of(entry), entry->place->thread->id, ticks, bytes, address, stack);
    return kept(entry);
}

/* ---- Blocks ---- */

enum need { NEEDS_NOTHING, NEEDS_PROCESS, NEEDS_THREAD };

static const struct kind_traits {
    enum native_verdict (*read)(struct entry *entry);
    enum need need; /* what must stand before it in its chunk */
    bool has_stack;
} KINDS[] = {
    [TRACE_PROCESS] = {read_process, NEEDS_NOTHING, false},
    [TRACE_THREAD] = {read_thread, NEEDS_NOTHING, false},
    [TRACE_THREAD_END] = {read_thread_end, NEEDS_THREAD, false},
    [TRACE_PROCESS_END] = {read_process_end, NEEDS_PROCESS, false},
    [TRACE_CLOCK] = {read_clock, NEEDS_NOTHING, false},
    [TRACE_INSTANT] = {read_instant, NEEDS_THREAD, false},
    [TRACE_INTERVAL] = {read_interval, NEEDS_THREAD, false},
    [TRACE_INTERVAL_START] = {read_interval_start, NEEDS_THREAD, false},
    [TRACE_INTERVAL_END] = {read_interval_end, NEEDS_THREAD, false},
    [TRACE_MARKER] = {read_marker, NEEDS_THREAD, true},
    [TRACE_COUNT] = {read_count, NEEDS_PROCESS, false},
    [TRACE_COUNT_SET] = {read_count_set, NEEDS_PROCESS, false},
    [TRACE_COUNT_SAMPLE] = {read_count_sample, NEEDS_PROCESS, false},
    [TRACE_SAMPLE] = {read_sample, NEEDS_THREAD, true},
    [TRACE_PAUSE] = {read_pause, NEEDS_PROCESS, false},
    [TRACE_RESUME] = {read_resume, NEEDS_PROCESS, false},
    [TRACE_MESSAGE] = {read_message, NEEDS_PROCESS, false},
    [TRACE_SAMPLED_THREAD] = {read_sampled_thread, NEEDS_PROCESS, false},
    [TRACE_THREAD_SAMPLE] = {read_thread_sample, NEEDS_PROCESS, true},
    [TRACE_THREAD_SAME] = {read_thread_same, NEEDS_PROCESS, false},
    [TRACE_SAMPLED_THREAD_END] = {read_sampled_thread_end, NEEDS_PROCESS, false},
    [TRACE_MAPPINGS] = {read_mappings, NEEDS_PROCESS, false},
    [TRACE_TICK] = {read_tick, NEEDS_PROCESS, false},
    [TRACE_ALLOCATION] = {read_allocation, NEEDS_THREAD, true},
};
enum { KIND_COUNT = sizeof KINDS / sizeof *KINDS };

static bool is_placed(const struct native_place *place, enum need need) {
    return need == NEEDS_NOTHING || (need == NEEDS_PROCESS ? place->process != NULL : place->thread != NULL);
}

static bool is_sample(uint8_t kind) {
    return kind == TRACE_SAMPLE || kind == TRACE_THREAD_SAMPLE || kind == TRACE_THREAD_SAME;
}

static bool begins_with_time(uint8_t kind) { return kind != TRACE_SAMPLED_THREAD && kind != TRACE_MAPPINGS; }

/* An entry that nothing stands before; the time that it takes, and the address, count for those behind. */
static enum native_verdict lose_placeless(struct entry *entry) {
    struct native_place *place = entry->place;
    if (begins_with_time(entry->kind)) {
        int64_t ticks = take_time(entry);
        if (entry->cursor.is_bad) return NATIVE_DAMAGED;
        place->now_ticks = ticks;
    }
    if (KINDS[entry->kind].has_stack) place->is_address_lost = true;
    if (place->is_beyond) return lost(entry, is_sample(entry->kind) ? NATIVE_LOST_BEYOND_SAMPLE : NATIVE_LOST_BEYOND);
    return lost(entry, is_sample(entry->kind) ? NATIVE_LOST_THREADLESS_SAMPLE : NATIVE_LOST_THREADLESS);
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
    char *bytes = memory_allocate(trace->profile->failure, bytes_count);
    struct native_blocks *kept_blocks = bytes ? column_push(&trace->set_aside) : NULL;
    if (!kept_blocks) {
        memory_free(bytes);
        native_sampled_destroy(blocks->place.sampled);
        return true;
    }
    memcpy(bytes, blocks->bytes.bytes, bytes_count);
    *kept_blocks = *blocks; /* and what its place owns */
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

/* False when what is left was set aside. */
static bool read_blocks(struct native_trace *trace, struct native_blocks *blocks) {
    while (blocks->bytes.bytes_count && !failure_is_set(trace->profile->failure)) {
        struct native_cursor cursor = native_cursor_of(blocks->bytes);
        struct text entry = native_cursor_text(&cursor);
        bool is_cut = cursor.is_bad && blocks->is_cut;
        enum native_verdict verdict = NATIVE_DAMAGED;
        if (!cursor.is_bad) verdict = read_entry(trace, &blocks->place, entry, blocks->offset);
        if (verdict == NATIVE_OPEN) {
            if (set_aside(trace, blocks)) return false;
            verdict = read_without_waiting(trace, &blocks->place, entry, blocks->offset);
        }
        if (verdict != NATIVE_READ) {
            lose_rest(trace, blocks, is_cut);
            return true;
        }
        size_t block_bytes = blocks->bytes.bytes_count - native_cursor_left(&cursor);
        blocks->bytes = text_from(blocks->bytes, block_bytes);
        blocks->offset += block_bytes;
        if (blocks->block_count) blocks->block_count--;
    }
    if (!failure_is_set(trace->profile->failure)) check_count(trace, blocks);
    return true;
}

void native_events_read(struct native_trace *trace, struct native_blocks blocks) {
    if (read_blocks(trace, &blocks)) native_sampled_destroy(blocks.place.sampled);
}

/* Moves the time on by an entry; false when there is no telling what is behind it. */
static bool pass_entry(const struct native_trace *trace, const struct native_place *place, struct native_cursor *fields,
                       uint8_t kind, int64_t *now_ticks) {
    bool is_thread = kind == TRACE_THREAD;
    if (kind == TRACE_PROCESS) return false;
    if (kind >= KIND_COUNT || !KINDS[kind].read || (!is_thread && !begins_with_time(kind))) return true;
    uint64_t ticks = native_cursor_bounded(fields, INT64_MAX);
    return !fields->is_bad &&
           native_clock_sum(&trace->clock, is_thread ? place->base_ticks : *now_ticks, (int64_t)ticks, now_ticks);
}

/* The end of the process that is told behind what waits: files about its code are judged by it. */
static void look_for_end(struct native_trace *trace, const struct native_blocks *blocks) {
    int64_t now_ticks = blocks->place.now_ticks;
    struct native_cursor cursor = native_cursor_of(blocks->bytes);
    while (blocks->place.process && native_cursor_left(&cursor)) {
        struct native_cursor fields = native_cursor_of(native_cursor_text(&cursor));
        uint8_t kind = native_cursor_byte(&fields);
        if (fields.is_bad || !pass_entry(trace, &blocks->place, &fields, kind, &now_ticks)) return;
        if (kind == TRACE_PROCESS_END)
            profile_process_at(trace->profile, blocks->place.process->id)->end_ns = now_ticks;
    }
}

/* All that was told is known now, but for what was set aside. */
static void prepare_jit(struct native_trace *trace) {
    native_clock_settle(&trace->clock);
    for (size_t i = 0; i < trace->set_aside.count; i++) look_for_end(trace, column_at(&trace->set_aside, i));
    native_jit_make_ready(&trace->code.jit);
}

void native_events_read_set_aside(struct native_trace *trace) {
    native_definitions_complete(&trace->definitions);
    if (trace->code.jit.has_files) prepare_jit(trace);
    for (size_t i = 0; i < trace->set_aside.count; i++) {
        struct native_blocks *blocks = column_at(&trace->set_aside, i);
        struct native_blocks taken = *blocks;
        blocks->bytes = (struct text){0};
        blocks->place.sampled = NULL;
        native_events_read(trace, taken);
        memory_free((char *)(uintptr_t)taken.bytes.bytes);
    }
}
