/* Reads the entries of event chunks. An entry takes effect as a whole or not at all: everything that it refers to is
 * looked up before the profile and the chunk context change. */
#include "libconvert/base/memory.h"
#include "trace_reader_internal.h"

/* An entry that is being read. */
struct entry {
    struct trace_reader *trace;
    struct trace_chunk_context *context;
    struct trace_cursor cursor; /* the entry after its kind */
    uint64_t offset;            /* where the entry's block begins */
    int64_t ticks;              /* its time; without one of its own, that of the entry before */
    uint8_t kind;
    bool is_open; /* a definition that may still come is missing */
};

static struct profile *profile_of(const struct entry *entry) { return entry->trace->profile; }

static void count(const struct entry *entry, enum trace_cause cause) {
    trace_ledger_account(&entry->trace->ledger, cause, 1, entry->offset);
}

static enum trace_verdict kept(const struct entry *entry) {
    trace_ledger_commit(&entry->trace->ledger, entry->offset);
    count(entry, (enum trace_cause)entry->kind);
    return TRACE_READ;
}

static enum trace_verdict lost(const struct entry *entry, enum trace_cause cause) {
    count(entry, cause);
    return TRACE_READ;
}

/* Takes the time at the start of the entry. */
static void take_time(struct entry *entry) {
    uint64_t delta = trace_cursor_bounded(&entry->cursor, INT64_MAX);
    if (!trace_clock_sum(&entry->trace->clock, entry->context->now_ticks, (int64_t)delta, &entry->ticks))
        trace_cursor_spoil(&entry->cursor);
}

/* Returns a time relative to the entry's. The program provides it, so an impossible time sets *is_wrong and is not
 * counted as damage. */
static int64_t time_before(const struct entry *entry, int64_t before, bool *is_wrong) {
    int64_t earlier = entry->ticks;
    *is_wrong |= before == INT64_MIN || !trace_clock_sum(&entry->trace->clock, entry->ticks, -before, &earlier);
    return earlier;
}

/* ---- Processes and threads. ---- */

static enum trace_verdict read_process(struct entry *entry) {
    struct trace_cursor *cursor = &entry->cursor;
    struct trace_chunk_context *context = entry->context;
    uint64_t pid = trace_cursor_bounded(cursor, INT32_MAX);
    uint64_t parent_pid = trace_cursor_leb(cursor);
    uint64_t start_ns = trace_cursor_leb(cursor);
    struct text name = trace_cursor_text(cursor);
    uint64_t taken_count = trace_cursor_left(cursor) ? trace_cursor_leb(cursor) : 0;
    uint64_t outer_pid = trace_cursor_left(cursor) ? trace_cursor_bounded(cursor, INT32_MAX) : 0;
    if (cursor->is_bad) return TRACE_DAMAGED;
    context->thread = NULL;
    trace_sampled_destroy(context->sampled);
    context->sampled = NULL;
    context->mappings_id = 0;
    context->address = 0;
    context->is_address_lost = false;
    context->process = trace_tasks_process(&entry->trace->tasks, (int64_t)pid, start_ns);
    context->is_beyond = !context->process;
    if (!context->process) return lost(entry, TRACE_LOST_BEYOND);
    if (context->is_live) context->process->has_live_chunk = true;
    if (taken_count > context->process->taken_count) context->process->taken_count = taken_count;
    /* A chunk names its process again when another thread continues it. */
    if (context->counted.index != context->process->id.index) context->process->chunk_count++;
    context->counted = context->process->id;
    if (parent_pid <= INT32_MAX) context->process->parent_pid = (int64_t)parent_pid;
    trace_tasks_name_process(&entry->trace->tasks, context->process, name, context->now_ticks);
    struct process *process = profile_process_at(profile_of(entry), context->process->id);
    if (context->pid_namespace) process->pid_namespace = process->home_namespace = context->pid_namespace;
    if (outer_pid) process->outer_pid = (int64_t)outer_pid;
    return kept(entry);
}

/* A thread that began before the recording does not know when. The sampler may have found it before its first entry. */
static void set_start(struct thread *thread, int64_t start_ticks) {
    if (thread->start_ticks == TIME_NONE || start_ticks < thread->start_ticks) thread->start_ticks = start_ticks;
}

static enum trace_verdict read_thread(struct entry *entry) {
    struct trace_cursor *cursor = &entry->cursor;
    struct trace_chunk_context *context = entry->context;
    struct trace_reader *trace = entry->trace;
    uint64_t since_base = trace_cursor_bounded(cursor, INT64_MAX), uid = trace_cursor_leb(cursor);
    uint64_t tid = trace_cursor_bounded(cursor, INT32_MAX);
    uint64_t flags = trace_cursor_leb(cursor); /* the flag for main threads is redundant: the tid equals the pid */
    int64_t start_since_base = trace_cursor_zigzag(cursor), now_ticks, start_ticks;
    struct text name = trace_cursor_text(cursor);
    uint64_t outer_tid = trace_cursor_left(cursor) ? trace_cursor_bounded(cursor, INT32_MAX) : 0;
    if (cursor->is_bad || !trace_clock_sum(&trace->clock, context->base_ticks, (int64_t)since_base, &now_ticks) ||
        !trace_clock_sum(&trace->clock, context->base_ticks, start_since_base, &start_ticks))
        return TRACE_DAMAGED;
    entry->ticks = now_ticks;
    context->thread = NULL;
    if (!context->process) return lost(entry, context->is_beyond ? TRACE_LOST_BEYOND : TRACE_LOST_THREADLESS);
    context->thread = trace_tasks_thread(&trace->tasks, context->process, uid, (int64_t)tid);
    context->is_beyond = !context->thread;
    if (!context->thread) return lost(entry, TRACE_LOST_BEYOND);
    struct thread *thread = profile_thread_at(trace->profile, context->thread->id);
    thread->tid = (int64_t)tid;
    if (outer_tid) thread->outer_tid = (int64_t)outer_tid;
    set_start(thread, start_ticks);
    /* A thread asks for the system's name once, as it starts. The sampler may have read a later one since. */
    bool is_own = flags & TRACE_THREAD_IS_NAMED, is_known = context->thread->first_name.bytes_count != 0;
    if (!is_own && text_equal(name, context->thread->first_name)) return kept(entry);
    if (!is_own) context->thread->first_name = profile_text(trace->profile, name);
    trace_tasks_name_thread(&trace->tasks, context->thread, name, is_own ? TRACE_NAME_OWN : TRACE_NAME_OF_SYSTEM,
                            is_own || is_known ? now_ticks : start_ticks);
    return kept(entry);
}

static enum trace_verdict read_thread_end(struct entry *entry) {
    if (entry->cursor.is_bad) return TRACE_DAMAGED;
    profile_thread_at(profile_of(entry), entry->context->thread->id)->end_ticks = entry->ticks;
    return kept(entry);
}

static enum trace_verdict read_process_end(struct entry *entry) {
    uint64_t end = trace_cursor_left(&entry->cursor) ? trace_cursor_leb(&entry->cursor) : TRACE_END_UNKNOWN;
    if (entry->cursor.is_bad) return TRACE_DAMAGED;
    entry->context->process->has_ended = true;
    entry->context->process->end = end <= TRACE_END_TOLD ? (uint32_t)end : TRACE_END_UNKNOWN;
    profile_process_at(profile_of(entry), entry->context->process->id)->end_ticks = entry->ticks;
    return kept(entry);
}

static enum trace_verdict read_clock(struct entry *entry) {
    uint64_t ns = trace_cursor_bounded(&entry->cursor, INT64_MAX);
    if (entry->cursor.is_bad) return TRACE_DAMAGED;
    trace_clock_offer(&entry->trace->clock, entry->ticks, entry->context->base_ns + ns);
    return kept(entry);
}

/* ---- Markers. ---- */

/* A marker that is being read. */
struct marker_entry {
    const struct trace_marker *definition;
    struct trace_thread *thread;
    struct marker marker;
    struct stack_origin origin; /* if has_origin */
    bool has_origin;
    bool has_wrong_time;
    union marker_value values[TRACE_FIELD_COUNT_MAX];
};

static void take_definition(struct entry *entry, struct marker_entry *marker) {
    uint64_t id = trace_cursor_leb(&entry->cursor);
    if (entry->cursor.is_bad) return;
    marker->definition = trace_definitions_marker(&entry->trace->definitions, id, &entry->is_open);
}

static void take_payload(struct entry *entry, struct marker_entry *marker, struct trace_cursor *payload,
                         bool has_tags) {
    const struct trace_marker *definition = marker->definition;
    if (!definition || entry->cursor.is_bad || entry->is_open) return;
    if (definition->type) {
        trace_payload_read(entry->trace, payload, definition, has_tags, entry->ticks, marker->values, &entry->is_open);
        if (payload->is_bad) trace_cursor_spoil(&entry->cursor);
    } else if (definition->has_lost_type && trace_cursor_left(payload)) {
        trace_ledger_defer(&entry->trace->ledger, TRACE_LOST_PAYLOAD);
    }
}

/* Adds the marker to the profile, or counts why not. */
static enum trace_verdict finish_marker(struct entry *entry, struct marker_entry *marker) {
    if (entry->cursor.is_bad) return TRACE_DAMAGED;
    if (entry->is_open) return TRACE_OPEN;
    if (!marker->definition) return lost(entry, TRACE_LOST_MARKER);
    if (!marker->thread) return lost(entry, TRACE_LOST_BEYOND);
    if (marker->has_wrong_time) return lost(entry, TRACE_LOST_MARKER_TIME);
    /* An interval that began before this recording is taken to have begun with it. */
    if (marker->marker.phase == MARKER_INTERVAL && marker->marker.start_ticks < 0) marker->marker.start_ticks = 0;
    if (marker->marker.end_ticks < marker->marker.start_ticks) {
        count(entry, TRACE_NOTE_REVERSED);
        marker->marker.end_ticks = marker->marker.start_ticks;
    }
    const struct trace_marker_type *type = marker->definition->type;
    marker->marker.name = marker->definition->name;
    marker->marker.category = marker->definition->category;
    marker->marker.is_routine = marker->definition->is_routine;
    marker->marker.schema = type ? type->row : (uint16_t)MARKER_SCHEMA_NONE;
    struct thread *thread = profile_thread_at(profile_of(entry), marker->thread->id);
    const struct stack_origin *origin = marker->has_origin ? &marker->origin : NULL;
    profile_add_marker_from(profile_of(entry), thread, &marker->marker, origin, marker->values);
    return kept(entry);
}

/* Reads one of the four kinds of markers without options. */
static enum trace_verdict read_simple_marker(struct entry *entry) {
    static const enum marker_phase phases[] = {[TRACE_INSTANT] = MARKER_INSTANT,
                                               [TRACE_INTERVAL] = MARKER_INTERVAL,
                                               [TRACE_INTERVAL_START] = MARKER_INTERVAL_START,
                                               [TRACE_INTERVAL_END] = MARKER_INTERVAL_END};
    enum marker_phase phase = phases[entry->kind];
    struct marker_entry marker;
    int64_t start_ticks = entry->ticks;
    marker.has_wrong_time = marker.has_origin = false;
    if (phase == MARKER_INTERVAL)
        start_ticks =
            time_before(entry, (int64_t)trace_cursor_bounded(&entry->cursor, INT64_MAX), &marker.has_wrong_time);
    marker.definition = NULL;
    marker.thread = entry->context->thread;
    marker.marker =
        (struct marker){.start_ticks = start_ticks, .end_ticks = entry->ticks, .stack = stack_none(), .phase = phase};
    take_definition(entry, &marker);
    take_payload(entry, &marker, &entry->cursor, false);
    return finish_marker(entry, &marker);
}

/* Sets one or two times; only intervals have two. */
static void set_times(struct marker *marker, int64_t start_ticks, int64_t end_ticks) {
    marker->start_ticks = marker->phase == MARKER_INTERVAL_END ? end_ticks : start_ticks;
    marker->end_ticks = marker->phase == MARKER_INTERVAL ? end_ticks : marker->start_ticks;
}

/* Takes the time and the thread of a stack that was captured earlier. A time before the trace is impossible; the
 * entry's time replaces it. */
static struct stack_origin take_origin(struct entry *entry) {
    struct trace_cursor *cursor = &entry->cursor;
    struct trace_tasks *tasks = &entry->trace->tasks;
    bool is_wrong = false;
    struct stack_origin origin = {.thread = thread_none()};
    origin.time_ticks = time_before(entry, trace_cursor_zigzag(cursor), &is_wrong);
    if (is_wrong || origin.time_ticks < 0) origin.time_ticks = entry->ticks;
    uint64_t uid = trace_cursor_leb(cursor), tid = trace_cursor_bounded(cursor, INT32_MAX);
    uint64_t pid = trace_cursor_bounded(cursor, INT32_MAX), start_ns = trace_cursor_leb(cursor);
    if (cursor->is_bad) return origin;
    const struct trace_process *process = trace_tasks_process(tasks, (int64_t)pid, start_ns);
    const struct trace_thread *thread = process ? trace_tasks_thread(tasks, process, uid, (int64_t)tid) : NULL;
    if (thread) origin.thread = thread->id;
    return origin;
}

/* Takes the stack of a marker and its origin. */
static void take_stack(struct entry *entry, struct marker_entry *marker, uint64_t flags) {
    struct trace_chunk_context *context = entry->context;
    stack_id stack = trace_stack_read(entry->trace, context, entry->ticks, &entry->cursor, &entry->is_open);
    marker->marker.stack = stack;
    if (entry->cursor.is_bad || entry->is_open || stack_is_none(stack)) return;
    marker->has_origin = true;
    marker->origin = (struct stack_origin){.time_ticks = entry->ticks, .thread = context->thread->id};
    if (flags & TRACE_MARKER_HAS_ORIGIN) marker->origin = take_origin(entry);
}

static enum trace_verdict read_marker(struct entry *entry) {
    struct trace_cursor *cursor = &entry->cursor;
    struct trace_reader *trace = entry->trace;
    struct marker_entry marker;
    int64_t start_ticks = entry->ticks, end_ticks = entry->ticks;
    uint64_t flags = trace_cursor_leb(cursor);
    marker.definition = NULL;
    marker.has_wrong_time = marker.has_origin = false;
    marker.thread = entry->context->thread;
    marker.marker = (struct marker){.stack = stack_none(), .phase = flags & TRACE_MARKER_PHASE};
    take_definition(entry, &marker);
    if (flags & TRACE_MARKER_HAS_TIMES) {
        start_ticks = time_before(entry, trace_cursor_zigzag(cursor), &marker.has_wrong_time);
        end_ticks = time_before(entry, trace_cursor_zigzag(cursor), &marker.has_wrong_time);
    }
    set_times(&marker.marker, start_ticks, end_ticks);
    bool has_thread = flags & TRACE_MARKER_HAS_THREAD;
    uint64_t uid = has_thread ? trace_cursor_leb(cursor) : 0;
    uint64_t tid = has_thread ? trace_cursor_bounded(cursor, INT32_MAX) : 0;
    bool has_tags = flags & TRACE_MARKER_HAS_TAGS;
    if (flags & TRACE_MARKER_HAS_STACK) {
        struct trace_cursor payload = trace_cursor_of(trace_cursor_text(cursor));
        take_payload(entry, &marker, &payload, has_tags);
        if (!entry->is_open) take_stack(entry, &marker, flags);
    } else {
        take_payload(entry, &marker, cursor, has_tags);
    }
    if (has_thread && !cursor->is_bad && !entry->is_open)
        marker.thread = trace_tasks_thread(&trace->tasks, entry->context->process, uid, (int64_t)tid);
    return finish_marker(entry, &marker);
}

/* ---- Counters, samples, pauses, messages. ---- */

static enum trace_verdict read_counter(struct entry *entry) {
    static const enum trace_count kinds[] = {[TRACE_COUNT] = COUNTER_ENTRY_CHANGE,
                                             [TRACE_COUNT_SET] = COUNTER_ENTRY_VALUE,
                                             [TRACE_COUNT_SAMPLE] = COUNTER_ENTRY_SUM,
                                             [TRACE_COUNT_START] = COUNTER_ENTRY_START,
                                             [TRACE_COUNT_LEVEL] = COUNTER_ENTRY_LEVEL};
    enum trace_count kind = kinds[entry->kind];
    struct trace_cursor *cursor = &entry->cursor;
    struct trace_reader *trace = entry->trace;
    uint64_t id = trace_cursor_leb(cursor);
    int64_t value = trace_cursor_zigzag(cursor);
    uint64_t number = kind == COUNTER_ENTRY_SUM ? trace_cursor_leb(cursor) : trace_count_is_change(kind);
    if (cursor->is_bad) return TRACE_DAMAGED;
    uint32_t row = 0;
    const struct counter *definition = trace_definitions_counter(&trace->definitions, id, &entry->is_open, &row);
    if (entry->is_open) return TRACE_OPEN;
    if (!definition) return lost(entry, TRACE_LOST_COUNTER);
    const struct trace_thread *thread = entry->context->thread;
    bool is_of_sampler = thread && trace_tasks_is_sampler(&trace->tasks, thread);
    trace_counters_add(&trace->counters, entry->context->process->id, row, definition, entry->ticks, kind, value,
                       number, is_of_sampler);
    return kept(entry);
}

static enum trace_verdict read_sample(struct entry *entry) {
    struct trace_thread *thread = entry->context->thread;
    stack_id stack = trace_stack_read(entry->trace, entry->context, entry->ticks, &entry->cursor, &entry->is_open);
    if (entry->cursor.is_bad) return TRACE_DAMAGED;
    if (entry->is_open) return TRACE_OPEN;
    struct samples *samples = &profile_thread_at(profile_of(entry), thread->id)->samples;
    samples_add(samples, entry->ticks, stack, 1);
    /* The sampler's next sample counts all CPU time since its previous sample, so this one has none of its own. Whether
     * there is a sampler is known at the end: its chunks may come later. */
    samples_set_details(samples, 0, TIME_NONE);
    return kept(entry);
}

static enum trace_verdict read_pause(struct entry *entry) {
    bool is_resume = entry->kind == TRACE_RESUME;
    if (entry->cursor.is_bad) return TRACE_DAMAGED;
    column_add(&entry->trace->pauses,
               &(struct trace_pause){entry->context->process->id.index, is_resume, entry->ticks});
    return kept(entry);
}

static enum trace_verdict read_message(struct entry *entry) {
    struct text text = trace_cursor_text(&entry->cursor);
    if (entry->cursor.is_bad) return TRACE_DAMAGED;
    struct profile *profile = profile_of(entry);
    profile_log_line(profile, &profile->profiling_log, entry->context->process->id, entry->ticks, text);
    return kept(entry);
}

/* ---- Samples of other threads, written by a sampler. ---- */

/* Longer than any process runs, yet short enough that sums do not overflow. */
static const uint64_t SPAN_NS_MAX = (uint64_t)1 << 60;

void trace_sampled_destroy(struct value_table *sampled) {
    if (!sampled) return;
    for (uint32_t i = 0; i < value_table_count(sampled); i++)
        stack_path_fini(&((struct trace_sampled_thread *)value_table_at(sampled, i))->path);
    value_table_fini(sampled);
    memory_free(sampled);
}

/* Returns NULL if memory ran out (latched). */
static struct trace_sampled_thread *name_sampled(struct entry *entry, uint64_t uid) {
    static const struct trace_sampled_thread initial = {.stack = {ID_NONE}, .last_idle_ticks = TIME_NONE};
    struct value_table **sampled = &entry->context->sampled;
    struct failure *failure = profile_of(entry)->failure;
    if (!*sampled) {
        *sampled = memory_allocate(failure, sizeof **sampled);
        if (!*sampled) return NULL;
        value_table_init(*sampled, sizeof uid, sizeof initial, failure);
    }
    return value_table_intern(*sampled, &uid, &initial);
}

static enum trace_verdict read_sampled_thread(struct entry *entry) {
    struct trace_cursor *cursor = &entry->cursor;
    struct trace_chunk_context *context = entry->context;
    struct trace_reader *trace = entry->trace;
    uint64_t uid = trace_cursor_leb(cursor), tid = trace_cursor_bounded(cursor, INT32_MAX);
    uint64_t flags = trace_cursor_leb(cursor); /* the flag for main threads is redundant: the tid equals the pid */
    int64_t start_since_base = trace_cursor_zigzag(cursor), start_ticks;
    struct text name = trace_cursor_text(cursor);
    uint64_t interval_ns = trace_cursor_left(cursor) ? trace_cursor_bounded(cursor, SPAN_NS_MAX) : 0;
    if (cursor->is_bad || !trace_clock_sum(&trace->clock, context->base_ticks, start_since_base, &start_ticks))
        return TRACE_DAMAGED;
    struct trace_sampled_thread *sampled = name_sampled(entry, uid);
    if (!sampled) return TRACE_READ; /* memory ran out */
    sampled->interval_ns = (int64_t)interval_ns;
    sampled->thread = trace_tasks_thread(&trace->tasks, context->process, uid, (int64_t)tid);
    if (!sampled->thread) return lost(entry, TRACE_LOST_BEYOND);
    struct thread *thread = profile_thread_at(trace->profile, sampled->thread->id);
    set_start(thread, start_ticks);
    trace_tasks_name_thread(&trace->tasks, sampled->thread, name,
                            flags & TRACE_THREAD_IS_NAMED ? TRACE_NAME_SAMPLED : TRACE_NAME_OF_SYSTEM,
                            context->now_ticks);
    return kept(entry);
}

/* Returns the sampled thread, or NULL if the chunk has not named that uid. */
static struct trace_sampled_thread *find_sampled(const struct entry *entry, uint64_t uid) {
    return entry->context->sampled ? value_table_find(entry->context->sampled, &uid) : NULL;
}

/* The fields that samples of other threads begin with. */
struct sample_head {
    uint64_t uid;
    uint64_t flags;
    int64_t cpu_ns;      /* what the sample stands for; TIME_NONE if unknown */
    int64_t delay_ns;    /* TIME_NONE if unknown */
    int64_t taken_ticks; /* when it was taken, which may be before the entry was written */
};

static const uint64_t KNOWN_SAMPLE_FLAGS = TRACE_SAMPLE_HAS_CPU | TRACE_SAMPLE_HAS_DELAY | TRACE_SAMPLE_IS_TRUNCATED |
                                           TRACE_SAMPLE_IS_UNREACHED | TRACE_SAMPLE_HAS_AGE;

static int64_t take_span(struct entry *entry) { return (int64_t)trace_cursor_bounded(&entry->cursor, SPAN_NS_MAX); }

/* Times are within a quarter of what an int64_t holds. */
static int64_t take_age(struct entry *entry) { return (int64_t)trace_cursor_bounded(&entry->cursor, INT64_MAX / 2); }

static struct sample_head take_sample_head(struct entry *entry) {
    struct sample_head head = {.cpu_ns = TIME_NONE, .delay_ns = TIME_NONE};
    head.uid = trace_cursor_leb(&entry->cursor);
    head.flags = trace_cursor_leb(&entry->cursor);
    if (head.flags & TRACE_SAMPLE_HAS_CPU) head.cpu_ns = take_span(entry);
    if (head.flags & TRACE_SAMPLE_HAS_DELAY) head.delay_ns = take_span(entry);
    head.taken_ticks = entry->ticks;
    if (head.flags & TRACE_SAMPLE_HAS_AGE) head.taken_ticks -= take_age(entry);
    if (!trace_clock_is_within(&entry->trace->clock, head.taken_ticks)) trace_cursor_spoil(&entry->cursor);
    return head;
}

/* A sampler that may run takes samples more often. The limit bounds what a few bytes of a damaged trace cost. */
static const int64_t INTERVALS_MAX = 1 << 20;

/* Returns how many samples of the profile the sample stands for: one for each interval of processor time, since the
 * viewer counts samples. A clock tick in a system call may stand for several intervals. */
static int64_t count_intervals(const struct entry *entry, struct trace_sampled_thread *sampled, int64_t cpu_ns) {
    int64_t interval_ns = sampled->interval_ns;
    if (cpu_ns == TIME_NONE || !cpu_ns || !interval_ns) return 1;
    int64_t all_ns = cpu_ns + sampled->uncounted_ns, count = (all_ns + interval_ns / 2) / interval_ns;
    if (count < 1) count = 1;
    sampled->uncounted_ns = all_ns - count * interval_ns;
    if (count <= INTERVALS_MAX) return count;
    trace_ledger_account(&entry->trace->ledger, TRACE_LOST_INTERVALS, 1, entry->offset);
    return INTERVALS_MAX;
}

/* Returns how long an event had waited some time before it had waited `delay_ns`. */
static int64_t delay_before(int64_t delay_ns, double before_ns) {
    if (delay_ns == TIME_NONE) return TIME_NONE;
    delay_ns -= (int64_t)before_ns;
    return delay_ns > 0 ? delay_ns : 0;
}

static void move_to(struct samples *samples, uint32_t row, int64_t time_ticks, double ticks_per_ns) {
    struct sample *sample = samples_at(samples, row);
    if (samples_have_delays(samples)) {
        int64_t *delay_ns = column_at(&samples->details->delay_ns, row);
        *delay_ns = delay_before(*delay_ns, (double)(sample->time_ticks - time_ticks) / ticks_per_ns);
    }
    sample->time_ticks = time_ticks;
}

/* Moves samples of waits out of the time that the thread has run for its next sample, to the start of that time. A
 * thread that often waits for a short time has several stretches of work for one sample, and the viewer draws no more
 * of them than the time since the sample before. */
static void make_room(struct trace_sampled_thread *sampled, struct samples *samples, int64_t start_ticks,
                      int64_t taken_ticks, double ticks_per_ns) {
    if (start_ticks < sampled->last_run_ticks) start_ticks = sampled->last_run_ticks;
    for (uint32_t row = samples_count(samples), left = sampled->idle_count; row && left; left--) {
        int64_t time_ticks = samples_at(samples, --row)->time_ticks;
        if (time_ticks <= start_ticks || time_ticks > taken_ticks) continue;
        move_to(samples, row, start_ticks, ticks_per_ns);
        sampled->last_idle_ticks = start_ticks;
    }
}

static int64_t bounded_ticks(double ticks, int64_t limit_ticks) {
    if (ticks < (double)limit_ticks) return (int64_t)ticks;
    return limit_ticks > 0 ? limit_ticks : 0;
}

/* Adds samples at even distances up to the time at which the stack was taken. The thread has run all the time, so they
 * come within the processor time that the sample stands for, and after the thread's start and the last sample that
 * found it waiting. The ledger counts each of them, as the profile and filters do. Returns how many they are. */
static uint64_t add_samples(struct entry *entry, struct trace_sampled_thread *sampled, const struct sample_head *head) {
    struct thread *thread = profile_thread_at(profile_of(entry), sampled->thread->id);
    int64_t count = count_intervals(entry, sampled, head->cpu_ns), step_ticks = 0;
    double ticks_per_ns = (double)entry->trace->clock.ticks_per_second / 1e9;
    if (head->cpu_ns > 0) {
        int64_t part_ns = head->cpu_ns / count;
        double part_ticks = (double)part_ns * ticks_per_ns;
        int64_t start_ticks = thread->start_ticks > 0 ? thread->start_ticks : 0;
        step_ticks = bounded_ticks(part_ticks, (head->taken_ticks - start_ticks) / count);
        make_room(sampled, &thread->samples, head->taken_ticks - count * step_ticks, head->taken_ticks, ticks_per_ns);
        if (sampled->last_idle_ticks > start_ticks) start_ticks = sampled->last_idle_ticks;
        step_ticks = bounded_ticks(part_ticks, (head->taken_ticks - start_ticks) / count);
    }
    sampled->thread->has_sampled_cpu |= head->cpu_ns != TIME_NONE;
    for (int64_t i = count; i-- > 0;) {
        int64_t cpu_ns = head->cpu_ns == TIME_NONE ? TIME_NONE : head->cpu_ns / count + (i < head->cpu_ns % count);
        thread_add_sample(thread, head->taken_ticks - i * step_ticks, sampled->stack, 1);
        double before_ns = (double)(i * step_ticks) / ticks_per_ns;
        samples_set_details(&thread->samples, cpu_ns, delay_before(head->delay_ns, before_ns));
    }
    trace_ledger_count_placeless(&entry->trace->ledger, (enum trace_cause)entry->kind, (uint64_t)count - 1);
    *(head->cpu_ns ? &sampled->last_run_ticks : &sampled->last_idle_ticks) = head->taken_ticks;
    sampled->idle_count = head->cpu_ns ? 0 : sampled->idle_count + 1;
    return (uint64_t)count;
}

/* Counts the stacks of a thread that does not wait. The recorder itself cuts those with more functions. */
static void count_cut_stacks(struct cut_stacks *sum, const struct trace_sampled_thread *sampled, uint64_t count) {
    enum { FUNCTION_COUNT_MAX = 256 };
    if (stack_is_none(sampled->stack)) return;
    sum->sample_count += count;
    if (sampled->flags & TRACE_SAMPLE_IS_TRUNCATED && sampled->path.count < FUNCTION_COUNT_MAX) sum->cut_count += count;
}

static enum trace_verdict add_sample(struct entry *entry, struct trace_sampled_thread *sampled,
                                     const struct sample_head *head) {
    struct trace_reader *trace = entry->trace;
    uint64_t flags = sampled->flags, count = add_samples(entry, sampled, head);
    if (head->cpu_ns) count_cut_stacks(&trace->cut_stacks, sampled, count);
    if (flags & TRACE_SAMPLE_IS_TRUNCATED)
        trace_ledger_account(&trace->ledger, TRACE_NOTE_TRUNCATED, count, entry->offset);
    if (flags & TRACE_SAMPLE_IS_UNREACHED)
        trace_ledger_account(&trace->ledger, TRACE_NOTE_UNREACHED, count, entry->offset);
    return kept(entry);
}

/* Counts a sample with unknown flags as lost. New flags may add fields before the stack, so it cannot be read. */
static enum trace_verdict lose_sample_of_unknown_flags(struct entry *entry, const struct sample_head *head) {
    struct trace_sampled_thread *sampled = find_sampled(entry, head->uid);
    if (sampled) sampled->has_stack = false;
    entry->context->is_address_lost = true;
    return lost(entry, TRACE_LOST_SAMPLE_FLAGS);
}

/* Sets the thread's stack. Returns false if it continues a stack that is missing. */
static bool set_sampled_stack(struct trace_reader *trace, struct trace_sampled_thread *sampled, uint64_t kept_count,
                              const struct trace_frames *frames) {
    uint64_t known_count = sampled->has_stack ? sampled->path.count : 0;
    sampled->has_stack = kept_count <= known_count;
    if (!sampled->has_stack) return false;
    trace_code_inherit(&trace->code, &sampled->path, (uint32_t)kept_count, trace->frames, frames->count);
    sampled->stack =
        stack_path_go_on(&sampled->path, trace->profile, (uint32_t)kept_count, trace->frames, frames->count);
    if (sampled->path.count > 1) trace->profile->meta.has_stacks = true;
    if (!frames->is_lost) return true;
    /* Neither this sample nor those that continue its stack have one. */
    sampled->path.count = 0;
    sampled->stack = stack_none();
    return true;
}

static enum trace_verdict read_thread_sample(struct entry *entry) {
    struct trace_cursor *cursor = &entry->cursor;
    struct sample_head head = take_sample_head(entry);
    if (cursor->is_bad) return TRACE_DAMAGED;
    if (head.flags & ~KNOWN_SAMPLE_FLAGS) return lose_sample_of_unknown_flags(entry, &head);
    uint64_t kept_count = trace_cursor_leb(cursor);
    struct trace_frames frames =
        trace_stack_read_frames(entry->trace, entry->context, head.taken_ticks, cursor, &entry->is_open);
    if (cursor->is_bad) return TRACE_DAMAGED;
    if (entry->is_open) return TRACE_OPEN;
    trace_stack_pass(entry->context, &frames);
    struct trace_sampled_thread *sampled = find_sampled(entry, head.uid);
    if (!sampled) return lost(entry, TRACE_LOST_UNNAMED_SAMPLE);
    if (!sampled->thread) return lost(entry, TRACE_LOST_BEYOND_SAMPLE);
    if (!set_sampled_stack(entry->trace, sampled, kept_count, &frames)) return lost(entry, TRACE_LOST_SAMPLE_BASE);
    sampled->flags = head.flags;
    return add_sample(entry, sampled, &head);
}

static enum trace_verdict read_thread_same(struct entry *entry) {
    struct sample_head head = take_sample_head(entry);
    if (entry->cursor.is_bad) return TRACE_DAMAGED;
    struct trace_sampled_thread *sampled = find_sampled(entry, head.uid);
    if (!sampled) return lost(entry, TRACE_LOST_UNNAMED_SAMPLE);
    if (!sampled->thread) return lost(entry, TRACE_LOST_BEYOND_SAMPLE);
    if (head.flags & ~KNOWN_SAMPLE_FLAGS) return lost(entry, TRACE_LOST_SAMPLE_FLAGS);
    if (!sampled->has_stack) return lost(entry, TRACE_LOST_SAMPLE_BASE);
    return add_sample(entry, sampled, &head);
}

static enum trace_verdict read_sampled_thread_end(struct entry *entry) {
    uint64_t uid = trace_cursor_leb(&entry->cursor);
    int64_t end_ticks = entry->ticks - (trace_cursor_left(&entry->cursor) ? take_age(entry) : 0);
    if (entry->cursor.is_bad || !trace_clock_is_within(&entry->trace->clock, end_ticks)) return TRACE_DAMAGED;
    const struct trace_sampled_thread *sampled = find_sampled(entry, uid);
    if (!sampled) return lost(entry, TRACE_LOST_UNNAMED);
    if (!sampled->thread) return lost(entry, TRACE_LOST_BEYOND);
    struct thread *thread = profile_thread_at(profile_of(entry), sampled->thread->id);
    if (thread->end_ticks == TIME_NONE) thread->end_ticks = end_ticks;
    return kept(entry);
}

static enum trace_verdict read_thread_rest(struct entry *entry) {
    uint64_t uid = trace_cursor_leb(&entry->cursor);
    int64_t rest_ns = take_span(entry);
    if (entry->cursor.is_bad) return TRACE_DAMAGED;
    const struct trace_sampled_thread *sampled = find_sampled(entry, uid);
    if (!sampled) return lost(entry, TRACE_LOST_UNNAMED);
    if (!sampled->thread) return lost(entry, TRACE_LOST_BEYOND);
    if ((uint64_t)sampled->thread->rest_ns < SPAN_NS_MAX) sampled->thread->rest_ns += rest_ns;
    sampled->thread->interval_ns = sampled->interval_ns;
    return kept(entry);
}

static enum trace_verdict read_mappings(struct entry *entry) {
    uint64_t id = trace_cursor_leb(&entry->cursor);
    if (entry->cursor.is_bad) return TRACE_DAMAGED;
    if (!trace_definitions_knows_mappings(&entry->trace->definitions, id)) return TRACE_OPEN;
    entry->context->mappings_id = id;
    return kept(entry);
}

static enum trace_verdict read_tick(struct entry *entry) {
    struct overhead overhead = {.process = entry->context->process->id, .time_ticks = entry->ticks};
    overhead.locking_ns = take_span(entry);
    overhead.counters_ns = take_span(entry);
    overhead.threads_ns = take_span(entry);
    if (entry->cursor.is_bad) return TRACE_DAMAGED;
    profile_add_overhead(profile_of(entry), &overhead);
    return kept(entry);
}

static enum trace_verdict read_allocation(struct entry *entry) {
    struct trace_cursor *cursor = &entry->cursor;
    int64_t bytes = trace_cursor_zigzag(cursor);
    uint64_t address = trace_cursor_leb(cursor);
    stack_id stack = trace_stack_read(entry->trace, entry->context, entry->ticks, cursor, &entry->is_open);
    if (cursor->is_bad) return TRACE_DAMAGED;
    if (entry->is_open) return TRACE_OPEN;
    profile_add_allocation(profile_of(entry), entry->context->thread->id, entry->ticks, bytes, address, stack);
    return kept(entry);
}

/* ---- All entries. ---- */

enum need { NEEDS_NOTHING, NEEDS_PROCESS, NEEDS_THREAD };

static const struct kind_traits {
    enum trace_verdict (*read)(struct entry *entry);
    enum need need; /* what the chunk must have named before */
    bool has_stack;
    bool has_late_time; /* something else stands first, and a time perhaps later */
} KINDS[] = {
    [TRACE_PROCESS] = {read_process, NEEDS_NOTHING, false, true},
    [TRACE_THREAD] = {read_thread, NEEDS_NOTHING, false, true},
    [TRACE_THREAD_END] = {read_thread_end, NEEDS_THREAD, false, false},
    [TRACE_PROCESS_END] = {read_process_end, NEEDS_PROCESS, false, false},
    [TRACE_CLOCK] = {read_clock, NEEDS_NOTHING, false, false},
    [TRACE_INSTANT] = {read_simple_marker, NEEDS_THREAD, false, false},
    [TRACE_INTERVAL] = {read_simple_marker, NEEDS_THREAD, false, false},
    [TRACE_INTERVAL_START] = {read_simple_marker, NEEDS_THREAD, false, false},
    [TRACE_INTERVAL_END] = {read_simple_marker, NEEDS_THREAD, false, false},
    [TRACE_MARKER] = {read_marker, NEEDS_THREAD, true, false},
    [TRACE_COUNT] = {read_counter, NEEDS_PROCESS, false, false},
    [TRACE_COUNT_SET] = {read_counter, NEEDS_PROCESS, false, false},
    [TRACE_COUNT_SAMPLE] = {read_counter, NEEDS_PROCESS, false, false},
    [TRACE_SAMPLE] = {read_sample, NEEDS_THREAD, true, false},
    [TRACE_PAUSE] = {read_pause, NEEDS_PROCESS, false, false},
    [TRACE_RESUME] = {read_pause, NEEDS_PROCESS, false, false},
    [TRACE_MESSAGE] = {read_message, NEEDS_PROCESS, false, false},
    [TRACE_SAMPLED_THREAD] = {read_sampled_thread, NEEDS_PROCESS, false, true},
    [TRACE_THREAD_SAMPLE] = {read_thread_sample, NEEDS_PROCESS, true, false},
    [TRACE_THREAD_SAME] = {read_thread_same, NEEDS_PROCESS, false, false},
    [TRACE_SAMPLED_THREAD_END] = {read_sampled_thread_end, NEEDS_PROCESS, false, false},
    [TRACE_MAPPINGS] = {read_mappings, NEEDS_PROCESS, false, true},
    [TRACE_TICK] = {read_tick, NEEDS_PROCESS, false, false},
    [TRACE_ALLOCATION] = {read_allocation, NEEDS_THREAD, true, false},
    [TRACE_THREAD_REST] = {read_thread_rest, NEEDS_PROCESS, false, false},
    [TRACE_COUNT_START] = {read_counter, NEEDS_PROCESS, false, false},
    [TRACE_COUNT_LEVEL] = {read_counter, NEEDS_PROCESS, false, false},
};
enum { KIND_COUNT = sizeof KINDS / sizeof *KINDS };

static bool is_placed(const struct trace_chunk_context *context, enum need need) {
    return need == NEEDS_NOTHING || (need == NEEDS_PROCESS ? context->process != NULL : context->thread != NULL);
}

static bool is_sample(uint8_t kind) {
    return kind == TRACE_SAMPLE || kind == TRACE_THREAD_SAMPLE || kind == TRACE_THREAD_SAME;
}

/* Loses an entry whose process or thread is not named. Its effect on the running address matters for later entries. */
static enum trace_verdict lose_placeless(struct entry *entry) {
    struct trace_chunk_context *context = entry->context;
    if (KINDS[entry->kind].has_stack) context->is_address_lost = true;
    if (context->is_beyond) return lost(entry, is_sample(entry->kind) ? TRACE_LOST_BEYOND_SAMPLE : TRACE_LOST_BEYOND);
    return lost(entry, is_sample(entry->kind) ? TRACE_LOST_THREADLESS_SAMPLE : TRACE_LOST_THREADLESS);
}

enum trace_verdict trace_entry_read(struct trace_reader *trace, struct trace_chunk_context *context, struct text bytes,
                                    uint64_t offset) {
    struct entry entry = {.trace = trace, .context = context, .cursor = trace_cursor_of(bytes), .offset = offset};
    trace_ledger_drop(&trace->ledger);
    entry.kind = trace_cursor_byte(&entry.cursor);
    if (entry.cursor.is_bad) return TRACE_DAMAGED;
    if (entry.kind >= KIND_COUNT || !KINDS[entry.kind].read) {
        trace->counts.unknown_kinds[entry.kind]++;
        return lost(&entry, TRACE_LOST_KIND);
    }
    entry.ticks = context->now_ticks;
    if (!KINDS[entry.kind].has_late_time) take_time(&entry);
    if (entry.cursor.is_bad) return TRACE_DAMAGED;
    bool has_place = is_placed(context, KINDS[entry.kind].need);
    enum trace_verdict verdict = has_place ? KINDS[entry.kind].read(&entry) : lose_placeless(&entry);
    if (verdict == TRACE_READ) context->now_ticks = entry.ticks;
    return verdict;
}

bool trace_entry_pass(const struct trace_reader *trace, const struct trace_chunk_context *context,
                      struct trace_cursor *fields, uint8_t kind, int64_t *now_ticks) {
    bool is_thread = kind == TRACE_THREAD;
    if (kind == TRACE_PROCESS) return false;
    if (kind >= KIND_COUNT || !KINDS[kind].read || (!is_thread && KINDS[kind].has_late_time)) return true;
    uint64_t ticks = trace_cursor_bounded(fields, INT64_MAX);
    return !fields->is_bad &&
           trace_clock_sum(&trace->clock, is_thread ? context->base_ticks : *now_ticks, (int64_t)ticks, now_ticks);
}
