/* "threads": their samples, allocations and markers. */
#include <inttypes.h>

#include "libconvert/base/cursor.h"
#include "libconvert/base/id_column.h"
#include "libconvert/format/common_format.h"
#include "libconvert/format/processed_format.h"
#include "saved_thread.h"

/* ---- Processes. ---- */

/* Parses "12" and "12.2", the second task with that id, which samply calls "12.1". Returns whether the numbers say all
 * of the text. */
static bool parse_id(struct text text, int64_t *id, uint32_t *generation) {
    uint64_t number;
    *generation = 0;
    *id = PID_UNKNOWN;
    if (!cursor_take_id(&text, id)) return false;
    if (!text.bytes_count) return true;
    if (cursor_take(&text, TEXT(".")) && cursor_parse_number(text, 10, &number) && number && number < UINT32_MAX)
        *generation = (uint32_t)number - 1;
    else
        *id = PID_UNKNOWN;
    return *generation;
}

process_id saved_process(struct saved_reader *reader, string_id pid) {
    if (string_is_none(pid)) return process_none();
    uint32_t *known = id_column_at(&reader->processes, pid.index);
    if (!known) return process_none();
    if (*known) return (process_id){*known - 1};
    int64_t number;
    uint32_t generation;
    struct text text = strings_text(&reader->texts, pid);
    bool is_number = parse_id(text, &number, &generation);
    process_id id = profile_add_process(reader->profile, number, generation);
    if (process_is_none(id)) return id;
    struct process *process = profile_process_at(reader->profile, id);
    if (!is_number) process->pid_text = profile_text(reader->profile, text);
    process->has_lost_content = true; /* it was written, so it has a place */
    *known = id.index + 1;
    return id;
}

/* What each thread says of its process is the same, so the first one's word is taken. */
static void describe_process(struct saved_reader *reader, const struct saved_thread *saved, process_id id,
                             bool is_first) {
    struct process *process = profile_process_at(reader->profile, id);
    if (is_first) {
        process->name = saved->process_name;
        process->type = saved->process_type;
        process->start_ns = saved->process_start_ns;
        process->end_ns = saved->process_end_ns;
        COLUMN_EACH(const struct paused_range, pause, &saved->pauses)
            profile_add_paused_range(reader->profile, id, pause->start_ns, pause->end_ns);
    }
    if (!saved->is_main || !thread_is_none(process->main_thread)) return;
    process->main_thread = saved->id;
    saved->thread->is_main = true;
}

/* ---- Ids of tracks of events. ---- */

struct track_ids {
    struct text owner_tid;
    struct text owner_name;
    struct text event;
    bool is_processor;
};

/* Returns whether the thread is a track, by its ids: the thread "12 cache-misses", "worker · cache-misses" is one of
 * the thread 12, "worker", and "processors CPU 2", "CPU 2" shows a processor. */
static bool find_track(const struct thread *thread, struct track_ids *ids) {
    static const struct text dot = TEXT(" \xc2\xb7 ");
    struct text tid = thread->tid_text, name = thread->name;
    size_t tid_bytes = text_find(tid, ' ');
    struct text event = text_from(tid, tid_bytes < tid.bytes_count ? tid_bytes + 1 : tid.bytes_count);
    if (!event.bytes_count || !text_ends_with(name, event)) return false;
    name = text_slice(name, 0, name.bytes_count - event.bytes_count);
    size_t owner_bytes = name.bytes_count - (text_ends_with(name, dot) ? dot.bytes_count : 0);
    bool is_processor = !name.bytes_count && text_starts_with(tid, TEXT(PROCESSORS_TID " "));
    if (!text_ends_with(name, dot) && !is_processor) return false;
    *ids = (struct track_ids){.owner_tid = text_slice(tid, 0, tid_bytes),
                              .owner_name = text_slice(name, 0, owner_bytes),
                              .event = event,
                              .is_processor = is_processor};
    return true;
}

/* ---- Samples. ---- */

static void add_number(struct saved_reader *reader, struct column *column, int64_t number) {
    int64_t *added = column_push(column);
    if (added) *added = number;
    reader->part_row_count = column->count;
}

static void read_weights(struct saved_reader *reader, struct saved_thread *saved) {
    uint64_t null_count = 0;
    int64_t run[JSON_RUN_MAX];
    bool is_rounded;
    if (json_take_null(reader->json) || !json_begin_list(reader->json)) return;
    saved->has_weights = true;
    while (json_next(reader->json)) {
        size_t run_count = json_take_run(reader->json, 0, INT64_MAX, run);
        for (size_t i = 0; i < run_count; i++) {
            struct decimal *weight = column_push(&saved->weights);
            if (!weight) return;
            *weight = (struct decimal){.mantissa = run[i]};
        }
        if (run_count) continue;
        struct decimal *weight = column_push(&saved->weights);
        bool is_null = json_take_null(reader->json); /* also of a typed number that is none */
        if (!weight) return;
        *weight = (struct decimal){0};
        if (!is_null) json_take_decimal(reader->json, weight, &is_rounded);
        null_count += is_null;
    }
    saved_lose(reader, TEXT(""), null_count);
    reader->part_row_count = saved->weights.count;
}

static void read_times(struct saved_reader *reader, struct saved_thread *saved) {
    JSON_EACH(reader->json) add_number(reader, &saved->times, saved_ns_of_ms(reader));
}

int64_t saved_cpu_ns(struct saved_reader *reader, struct saved_thread *saved) {
    double rest;
    int64_t units, cpu = TIME_NONE;
    if (json_take_null(reader->json) || !json_take_scaled(reader->json, 0, &units, &rest)) return TIME_NONE;
    saved->has_cpu_rest |= rest != 0;
    if (__builtin_mul_overflow(units, reader->cpu_unit_ns, &cpu))
        json_stream_fail(reader->json, "the number is too large");
    return cpu;
}

static void read_cpu(struct saved_reader *reader, struct saved_thread *saved) {
    int64_t run[JSON_RUN_MAX];
    JSON_EACH_UNLESS_NULL(reader->json) {
        size_t run_count = json_take_run(reader->json, 0, INT64_MAX / reader->cpu_unit_ns, run);
        for (size_t i = 0; i < run_count; i++) run[i] *= reader->cpu_unit_ns;
        column_push_all(&saved->cpu_ns, run, run_count);
        if (!run_count) add_number(reader, &saved->cpu_ns, saved_cpu_ns(reader, saved));
    }
    reader->part_row_count = saved->cpu_ns.count;
}

static void read_delays(struct saved_reader *reader, struct saved_thread *saved) {
    JSON_EACH_UNLESS_NULL(reader->json) add_number(reader, &saved->delays_ns, saved_ns_of_ms(reader));
}

static void read_weight_type(struct saved_reader *reader, struct saved_thread *saved) {
    static const char *const types[] = {"samples", "tracing-ms", "bytes", NULL};
    saved->weight_type = (enum weight_type)(WEIGHT_SAMPLES + saved_choice(reader, types, 0));
}

struct thread_part {
    struct text key;
    void (*read)(struct saved_reader *reader, struct saved_thread *saved);
};

static bool read_part_of(struct saved_reader *reader, const struct thread_part *parts, size_t part_count,
                         struct text key, struct saved_thread *saved) {
    for (size_t i = 0; i < part_count; i++) {
        if (!text_equal(key, parts[i].key)) continue;
        json_push_name(reader->json, parts[i].key.bytes, -1);
        parts[i].read(reader, saved);
        json_pop_name(reader->json);
        return true;
    }
    return false;
}

static bool read_sample_part(struct saved_reader *reader, struct text key, void *context) {
    static const struct thread_part parts[] = {{TEXT("weight"), read_weights},
                                               {TEXT("weightType"), read_weight_type},
                                               {TEXT("time"), read_times},
                                               {TEXT("threadCPUDelta"), read_cpu},
                                               {TEXT("eventDelay"), read_delays}};
    if (reader->cpu_unit == CPU_DELTA_NONE && text_equal(key, TEXT("threadCPUDelta"))) return false;
    return read_part_of(reader, parts, sizeof parts / sizeof *parts, key, context);
}

static void set_times(struct saved_thread *saved) {
    struct samples *samples = &saved->thread->samples;
    for (uint32_t i = 0; i < saved->times.count; i++)
        samples_at(samples, i)->time_ns = *(const int64_t *)column_at(&saved->times, i);
}

void saved_samples_check_times(struct saved_reader *reader, const struct samples *samples) {
    for (uint32_t i = 0; i < samples_count(samples) && saved_is_good(reader); i++)
        if (samples_at(samples, i)->time_ns == TIME_NONE)
            json_stream_fail(reader->json, "sample %" PRIu32 " has no time", i);
}

/* Returns whether all weights are 1. */
static bool encode_weights(struct saved_reader *reader, struct saved_thread *saved) {
    enum { MS_DIGITS_OF_NS = 6 };
    struct samples *samples = &saved->thread->samples;
    bool are_ones = true;
    for (uint32_t i = 0; i < saved->weights.count; i++) {
        struct decimal weight = *(const struct decimal *)column_at(&saved->weights, i);
        if (saved->weight_type == WEIGHT_TRACING_MS) weight = decimal_shift(weight, MS_DIGITS_OF_NS);
        uint32_t *encoded = &samples_at(samples, i)->weight;
        *encoded = profile_weight_encode(reader->profile, weight);
        are_ones &= *encoded == 1;
    }
    return are_ones;
}

/* The profile has one kind of weights, but for tracks: that of the first thread that has any. */
static void set_weights(struct saved_reader *reader, struct saved_thread *saved) {
    struct profile_meta *meta = &reader->profile->meta;
    struct track_ids ids;
    if (find_track(saved->thread, &ids)) {
        encode_weights(reader, saved);
        return;
    }
    reader->has_null_weights |= !saved->has_weights && samples_count(&saved->thread->samples);
    if (!saved->has_weights) return;
    reader->has_weights = saved->thread->has_weights = true;
    if (meta->weight_type == WEIGHT_ONE) meta->weight_type = saved->weight_type;
    if (meta->weight_type != saved->weight_type)
        saved_lose(reader, TEXT("weight (of another unit than in other threads)"), saved->weights.count);
    else
        reader->has_other_weights |= !encode_weights(reader, saved);
}

void saved_thread_set_details(struct saved_reader *reader, struct saved_thread *saved) {
    struct samples *samples = &saved->thread->samples;
    if (saved->has_cpu_rest) saved_lose(reader, TEXT("threadCPUDelta (its fractions)"), saved->cpu_ns.count);
    samples_take_details(samples, &saved->cpu_ns, &saved->delays_ns);
}

const struct sample saved_blank_sample = {.time_ns = TIME_NONE, .stack = {ID_NONE}, .weight = 1};

void saved_samples_read(struct saved_reader *reader, struct saved_thread *saved) {
    struct samples *samples = &saved->thread->samples;
    saved_read_columns(reader, &(struct saved_table){.shape = &processed_sample_table,
                                                     .rows = &samples->rows,
                                                     .blank = &saved_blank_sample,
                                                     .part = read_sample_part,
                                                     .context = saved});
    if (!saved_is_good(reader)) return;
    set_times(saved);
    saved_samples_check_times(reader, samples);
    set_weights(reader, saved);
    saved_thread_set_details(reader, saved);
}

/* ---- Allocations. ---- */

static bool read_allocation_part(struct saved_reader *reader, struct text key, void *context) {
    const struct saved_table *table = context;
    uint32_t row = 0;
    struct text type;
    if (text_equal(key, TEXT("weightType"))) return json_take_text(reader->json, &type);
    if (!text_equal(key, TEXT("threadId"))) return false;
    JSON_EACH(reader->json) {
        string_id tid = saved_id_text(reader);
        struct allocation *allocation = saved_row_at(table, row++);
        if (!allocation) return true;
        allocation->thread.index = tid.index; /* saved_threads_link replaces it */
    }
    reader->part_row_count = row;
    return true;
}

void saved_allocations_read(struct saved_reader *reader, struct saved_thread *saved) {
    static const struct allocation blank = {.stack = {ID_NONE}, .thread = {ID_NONE}};
    struct saved_table table = {.shape = &processed_native_allocation_table,
                                .rows = &saved->thread->allocations,
                                .blank = &blank,
                                .part = read_allocation_part};
    table.context = &table;
    if (json_take_null(reader->json)) return;
    saved_read_columns(reader, &table);
}

/* ---- Markers. ---- */

static bool read_marker_part(struct saved_reader *reader, struct text key, void *context) {
    const struct saved_table *table = context;
    uint32_t row = 0;
    if (!text_equal(key, TEXT("data"))) return false;
    json_push_name(reader->json, "data", -1);
    JSON_EACH(reader->json) {
        struct marker *marker = saved_row_at(table, row++);
        if (!marker) break;
        saved_payload_read(reader, marker);
    }
    reader->part_row_count = row;
    json_pop_name(reader->json);
    return true;
}

const struct marker saved_blank_marker = {
    .start_ns = TIME_NONE, .end_ns = TIME_NONE, .name = {ID_NONE}, .stack = {ID_NONE}, .schema = MARKER_SCHEMA_NONE};

/* A marker without an end, or without a start, has one time twice. */
void saved_marker_settle(struct saved_reader *reader, struct marker *marker, uint32_t row) {
    bool has_start = marker->phase != MARKER_INTERVAL_END, has_end = marker_has_end(marker);
    bool lacks_time = (has_start && marker->start_ns == TIME_NONE) || (has_end && marker->end_ns == TIME_NONE);
    if (lacks_time) {
        json_stream_fail(reader->json, "marker %" PRIu32 " lacks a time that its phase needs", row);
        return;
    }
    if (string_is_none(marker->name)) {
        json_stream_fail(reader->json, "marker %" PRIu32 " has no name", row);
        return;
    }
    if (!has_start) marker->start_ns = marker->end_ns;
    if (!has_end) marker->end_ns = marker->start_ns;
    if (marker->end_ns < marker->start_ns) {
        saved_lose(reader, TEXT("markers.endTime (before the start)"), 1);
        marker->end_ns = marker->start_ns;
    }
    profile_fit_marker(reader->profile, marker);
}

void saved_markers_read(struct saved_reader *reader, struct saved_thread *saved) {
    struct column *markers = &saved->thread->markers;
    struct saved_table table = {
        .shape = &processed_marker_table, .rows = markers, .blank = &saved_blank_marker, .part = read_marker_part};
    table.context = &table;
    saved_read_columns(reader, &table);
    for (uint32_t i = 0; i < markers->count && saved_is_good(reader); i++)
        saved_marker_settle(reader, column_at(markers, i), i);
}

/* ---- Members of threads. ---- */

static void read_name(struct saved_reader *reader, struct saved_thread *saved) {
    saved->thread->name = saved_text(reader);
}
static void read_pid(struct saved_reader *reader, struct saved_thread *saved) { saved->pid = saved_id_text(reader); }

/* Sets the number of a tid, and its text if it is not only a number. */
static void set_tid(struct profile *profile, struct thread *thread, struct text text, bool is_number) {
    uint64_t number;
    uint32_t generation;
    if (is_number && cursor_parse_number(text, 10, &number) && number <= INT64_MAX) {
        thread->tid = (int64_t)number;
        return;
    }
    if (parse_id(text, &thread->tid, &generation) && is_number && !generation) return;
    if (thread->tid == PID_UNKNOWN) thread->tid = 0;
    thread->tid_text = profile_text(profile, text);
}

static void read_tid(struct saved_reader *reader, struct saved_thread *saved) {
    bool is_number = json_peek_kind(reader->json) == JSON_NUMBER;
    string_id id = saved_id_text(reader);
    if (string_is_none(id)) return;
    ((string_id *)column_at(&reader->thread_tids, saved->id.index))->index = id.index;
    set_tid(reader->profile, saved->thread, strings_text(&reader->texts, id), is_number);
}

static void read_is_main(struct saved_reader *reader, struct saved_thread *saved) {
    json_take_bool(reader->json, &saved->is_main);
}
static void read_process_name(struct saved_reader *reader, struct saved_thread *saved) {
    saved->process_name = saved_text(reader);
}
static void read_process_type(struct saved_reader *reader, struct saved_thread *saved) {
    saved->process_type = saved_text(reader);
}

/* A start at zero says no more than that it was before the profile. */
static int64_t take_start(struct saved_reader *reader) {
    int64_t start_ns = saved_time_ns(reader);
    return start_ns ? start_ns : TIME_NONE;
}

static void read_start(struct saved_reader *reader, struct saved_thread *saved) {
    saved->thread->start_ns = take_start(reader);
}
static void read_end(struct saved_reader *reader, struct saved_thread *saved) {
    saved->thread->end_ns = saved_time_ns(reader);
}
static void read_process_start(struct saved_reader *reader, struct saved_thread *saved) {
    saved->process_start_ns = take_start(reader);
}
static void read_process_end(struct saved_reader *reader, struct saved_thread *saved) {
    saved->process_end_ns = saved_ns_of_ms(reader);
}

void saved_pauses_read(struct saved_reader *reader, struct column *pauses) {
    JSON_EACH_UNLESS_NULL(reader->json) {
        struct paused_range *pause = column_push(pauses);
        if (!pause) return;
        *pause = (struct paused_range){.start_ns = TIME_NONE, .end_ns = TIME_NONE};
        saved_read_members(reader, &paused_range_shape, pause, NULL, NULL);
    }
}

static void read_pauses(struct saved_reader *reader, struct saved_thread *saved) {
    saved_pauses_read(reader, &saved->pauses);
}

static void skip(struct saved_reader *reader, struct saved_thread *saved) {
    (void)saved;
    json_skip(reader->json);
}

static const struct thread_part THREAD_PARTS[] = {
    {TEXT("name"), read_name},
    {TEXT("processType"), read_process_type},
    {TEXT("processName"), read_process_name},
    {TEXT("pid"), read_pid},
    {TEXT("tid"), read_tid},
    {TEXT("registerTime"), read_start},
    {TEXT("unregisterTime"), read_end},
    {TEXT("isMainThread"), read_is_main},
    {TEXT("processStartupTime"), read_process_start},
    {TEXT("processShutdownTime"), read_process_end},
    {TEXT("pausedRanges"), read_pauses},
    {TEXT("showMarkersInTimeline"), skip}, /* always true here */
    {TEXT("samples"), saved_samples_read},
    {TEXT("nativeAllocations"), saved_allocations_read},
    {TEXT("markers"), saved_markers_read},
};

bool saved_thread_read_member(struct saved_reader *reader, struct text key, void *saved) {
    return read_part_of(reader, THREAD_PARTS, sizeof THREAD_PARTS / sizeof *THREAD_PARTS, key, saved);
}

/* ---- Tids. ---- */

/* Returns the first thread with that tid in the process, or in all (none); none if there is none. */
static thread_id first_thread(const struct saved_reader *reader, process_id process, string_id tid) {
    const struct saved_tid *known = value_table_find(&reader->tids, &(struct saved_tid_key){process, tid});
    return known ? known->first : thread_none();
}

/* Returns what is known of the tid in the process, or in any process (none), and enters the thread if it is the first.
 * NULL if memory ran out (latched). */
static struct saved_tid *enter_tid(struct saved_reader *reader, process_id process, string_id tid, thread_id thread) {
    struct saved_tid first = {.first = thread};
    return value_table_intern(&reader->tids, &(struct saved_tid_key){process, tid}, &first);
}

/* Of threads with the same tid in a process, the second one is called "12.2". */
static void enter_thread(struct saved_reader *reader, struct saved_thread *saved) {
    string_id tid = *(const string_id *)column_at(&reader->thread_tids, saved->id.index);
    if (string_is_none(tid)) return;
    enter_tid(reader, process_none(), tid, saved->id);
    struct saved_tid *known = enter_tid(reader, saved->thread->process, tid, saved->id);
    if (!known || known->first.index == saved->id.index) return;
    struct text text = strings_text(&reader->texts, tid);
    saved->thread->tid_text =
        profile_text_format(reader->profile, "%.*s.%" PRIu32, TEXT_ARGS(text), ++known->repeated_count + 1);
}

/* Adds a thread whose process is not known yet. Returns none if memory ran out (latched). */
static thread_id add_thread(struct saved_reader *reader, string_id tid) {
    thread_id id = profile_add_thread(reader->profile, process_none(), 0, 0);
    if (!thread_is_none(id)) column_add(&reader->thread_tids, &tid);
    return failure_is_set(reader->profile->failure) ? thread_none() : id;
}

/* ---- Tracks of events. ---- */

/* Returns the thread with that tid in the process of a track; a new one if the document has none since it has nothing
 * to show. None if memory ran out (latched). */
static thread_id owner_of(struct saved_reader *reader, const struct thread *track, const struct track_ids *ids) {
    struct profile *profile = reader->profile;
    string_id tid = strings_intern(&reader->texts, ids->owner_tid);
    thread_id owner = string_is_none(tid) ? thread_none() : first_thread(reader, track->process, tid);
    if (!thread_is_none(owner)) return owner;
    owner = add_thread(reader, tid);
    if (thread_is_none(owner) || !enter_tid(reader, track->process, tid, owner)) return thread_none();
    struct thread *added = profile_thread_at(profile, owner);
    set_tid(profile, added, ids->owner_tid, true);
    added->process = track->process;
    added->name = ids->owner_name;
    added->start_ns = track->start_ns;
    added->end_ns = track->end_ns;
    return owner;
}

/* Makes a thread a track if it is one by its ids. */
static void read_track(struct saved_reader *reader, const struct saved_thread *saved) {
    struct profile *profile = reader->profile;
    struct track_ids ids;
    if (!find_track(saved->thread, &ids)) return;
    thread_id owner = owner_of(reader, saved->thread, &ids);
    struct event_track *added = thread_is_none(owner) ? NULL : column_push(&profile->tracks);
    if (!added) return;
    *added = (struct event_track){.event = ids.event,
                                  .counts_ns = saved->weight_type == WEIGHT_TRACING_MS,
                                  .is_processor = ids.is_processor,
                                  .owner = owner};
    saved->thread->track = (uint32_t)profile->tracks.count - 1;
    saved->thread->tid = profile_thread_at(profile, owner)->tid;
}

/* ---- Threads. ---- */

void saved_thread_end(struct saved_reader *reader, struct saved_thread *saved) {
    if (!saved_is_good(reader)) return;
    if (string_is_none(saved->pid)) {
        json_stream_fail(reader->json, "the thread has no pid");
        return;
    }
    size_t process_count = reader->profile->processes.count;
    process_id process = saved_process(reader, saved->pid);
    if (process_is_none(process)) return;
    saved->thread->process = process;
    enter_thread(reader, saved);
    describe_process(reader, saved, process, reader->profile->processes.count > process_count);
    read_track(reader, saved);
}

bool saved_thread_begin(struct saved_reader *reader, struct saved_thread *saved) {
    struct failure *failure = reader->profile->failure;
    *saved = (struct saved_thread){.id = add_thread(reader, string_none()),
                                   .pid = string_none(),
                                   .process_start_ns = TIME_NONE,
                                   .process_end_ns = TIME_NONE,
                                   .weight_type = WEIGHT_SAMPLES};
    if (thread_is_none(saved->id)) return false;
    column_add(&reader->threads, &saved->id);
    saved->thread = profile_thread_at(reader->profile, saved->id);
    reader->thread = saved->id;
    column_init(&saved->pauses, sizeof(struct paused_range), failure);
    column_init(&saved->times, sizeof(int64_t), failure);
    column_init(&saved->weights, sizeof(struct decimal), failure);
    column_init(&saved->cpu_ns, sizeof(int64_t), failure);
    column_init(&saved->delays_ns, sizeof(int64_t), failure);
    return true;
}

void saved_thread_fini(struct saved_thread *saved) {
    COLUMNS_FINI(&saved->pauses, &saved->times, &saved->weights, &saved->cpu_ns, &saved->delays_ns);
}

static void read_thread(struct saved_reader *reader, void *context) {
    (void)context;
    struct saved_thread saved;
    if (!saved_thread_begin(reader, &saved)) return;
    if (reader->version < TABLES_ARE_SHARED)
        saved_thread_read_with_tables(reader, &saved);
    else
        saved_read_members(reader, &processed_thread_shape, NULL, saved_thread_read_member, &saved);
    saved_thread_end(reader, &saved);
    saved_thread_fini(&saved);
}

void saved_threads_read(struct saved_reader *reader, void *context) {
    if (!reader->has_shared && reader->version >= STRINGS_ARE_SHARED)
        json_stream_fail(reader->json, "there is no \"shared\"");
    saved_read_each(reader, "threads", read_thread, context);
}

/* ---- Cycles. ---- */

/* Returns whether each processor time is the weight of its sample, or 0 for one that does not count. */
static bool is_cpu_the_weight(const struct profile *profile, const struct samples *samples) {
    for (uint32_t i = 0; samples_have_cpu(samples) && i < samples_count(samples); i++) {
        struct decimal weight = profile_weight_decode(profile, samples_at(samples, i)->weight);
        int64_t cpu = samples_cpu_ns(samples, i);
        if (cpu && (weight.scale || weight.exponent || weight.mantissa != cpu)) return false;
    }
    return true;
}

static void make_cpu_the_weight(struct profile *profile, struct samples *samples) {
    for (uint32_t i = 0; samples_have_cpu(samples) && i < samples_count(samples); i++) {
        int64_t cpu = samples_cpu_ns(samples, i);
        samples_at(samples, i)->weight =
            profile_weight_encode(profile, (struct decimal){.mantissa = cpu == TIME_NONE ? 0 : cpu});
    }
}

/* Cycles are the weights where they are nothing else. */
void saved_threads_settle_cycles(struct saved_reader *reader) {
    struct profile *profile = reader->profile;
    bool is_the_weight = true, is_any = false;
    if (reader->cpu_unit != CPU_DELTA_CYCLES) return;
    for (uint32_t i = 0; i < profile->threads.count; i++) {
        struct samples *samples = &profile_thread_at(profile, (thread_id){i})->samples;
        is_any |= samples_have_cpu(samples);
        if (reader->has_other_weights)
            is_the_weight &= is_cpu_the_weight(profile, samples);
        else
            make_cpu_the_weight(profile, samples);
    }
    if (!is_any) return;
    profile->meta.cpu_delta_unit = CPU_DELTA_CYCLES;
    profile->meta.has_cpu_apart = !is_the_weight;
    if (!is_the_weight) return;
    for (uint32_t i = 0; i < profile->threads.count; i++)
        samples_forget_cpu(&profile_thread_at(profile, (thread_id){i})->samples);
    if (!reader->has_other_weights) profile->meta.weight_type = WEIGHT_ONE;
}

/* ---- Links to threads that may have come later. ---- */

/* Returns the thread with that tid: the thread `own`, if it has the tid, otherwise the first one in its process,
 * otherwise the first one; none if there is none. */
static thread_id thread_of_tid(const struct saved_reader *reader, thread_id own, string_id tid) {
    const string_id *own_tid = column_at(&reader->thread_tids, own.index);
    if (own_tid->index == tid.index) return own;
    thread_id thread = first_thread(reader, profile_thread_at(reader->profile, own)->process, tid);
    return thread_is_none(thread) ? first_thread(reader, process_none(), tid) : thread;
}

static void link_origin(struct saved_reader *reader, const struct saved_origin *origin) {
    profile_slot_at(reader->profile, origin->slot)->thread = thread_of_tid(reader, origin->thread, origin->tid);
}

/* Types of markers have a field for the thread of a stack that was taken in another one. */
static void note_foreign_stacks(struct profile *profile, thread_id id) {
    const struct thread *thread = profile_thread_at(profile, id);
    COLUMN_EACH(const struct marker, marker, &thread->markers) {
        if (marker->schema == MARKER_SCHEMA_NONE || !profile_foreign_thread(profile, thread, marker)) continue;
        ((struct marker_schema *)column_at(&profile->marker_schemas, marker->schema))->has_foreign_stacks = true;
    }
}

static void link_allocations(struct saved_reader *reader, thread_id id) {
    struct thread *thread = profile_thread_at(reader->profile, id);
    COLUMN_EACH(struct allocation, allocation, &thread->allocations) {
        thread_id other = thread_of_tid(reader, id, (string_id){allocation->thread.index});
        allocation->thread = thread_is_none(other) ? id : other;
    }
}

void saved_threads_link(struct saved_reader *reader) {
    struct profile *profile = reader->profile;
    for (size_t i = 0; i < reader->origins.count; i++) link_origin(reader, column_at(&reader->origins, i));
    for (uint32_t i = 0; i < profile->threads.count; i++) {
        link_allocations(reader, (thread_id){i});
        if (reader->origins.count) note_foreign_stacks(profile, (thread_id){i});
    }
    for (size_t i = 0; i < reader->visible_threads.count; i++) {
        uint32_t place = *(const uint32_t *)column_at(&reader->visible_threads, i);
        if (place >= reader->threads.count) continue;
        profile_thread_at(profile, *(const thread_id *)column_at(&reader->threads, place))->is_visible = true;
    }
}
