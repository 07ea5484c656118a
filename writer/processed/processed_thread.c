/* Writes one thread: its samples, allocations and markers. */
#include "libconvert/format/processed_format.h"
#include "processed_writer.h"
#include "writer/thread_json.h"

/* ---- Samples. ---- */

/* The context of the writers of samples. */
struct sample_rows {
    const struct processed_writer *writer;
    const struct samples *samples;
};

static struct decimal sample_weight(const struct sample_rows *rows, size_t i) {
    return profile_weight_decode(rows->writer->profile, samples_at(rows->samples, (uint32_t)i)->weight);
}

static void write_sample_weights(struct json *json, const void *context, size_t count) {
    for (size_t i = 0; i < count; i++) json_decimal(json, sample_weight(context, i));
}

static void write_equal_weights(struct json *json, const void *context, size_t count) {
    (void)context;
    for (size_t i = 0; i < count; i++) json_int(json, 1);
}

enum { MS_DIGITS_OF_NS = 6 };

static void write_sample_weights_as_ms(struct json *json, const void *context, size_t count) {
    for (size_t i = 0; i < count; i++) {
        struct decimal ns = sample_weight(context, i);
        if (!ns.scale && !ns.exponent)
            json_ms(json, ns.mantissa);
        else
            json_decimal(json, decimal_shift(ns, -MS_DIGITS_OF_NS));
    }
}

static void write_sample_cpu_deltas(struct json *json, const void *context, size_t count) {
    const struct sample_rows *rows = context;
    for (size_t i = 0; i < count; i++) {
        stack_id stack = samples_at(rows->samples, (uint32_t)i)->stack;
        bool is_unused = i == 0 || profile_is_idle(rows->writer->idle_stacks, stack);
        thread_json_cpu_delta(json, sample_weight(rows, i), is_unused);
    }
}

static void write_samples(struct processed_writer *writer, const struct thread *thread) {
    static const struct {
        const char *type;
        rows_writer *write;
    } weights[] = {
        [WEIGHT_ONE] = {"samples", write_equal_weights},
        [WEIGHT_SAMPLES] = {"samples", write_sample_weights},
        [WEIGHT_TRACING_MS] = {"tracing-ms", write_sample_weights_as_ms},
        [WEIGHT_BYTES] = {"bytes", write_sample_weights},
    };
    const struct samples *samples = &thread->samples;
    enum weight_type type = profile_weights_of(writer->profile, thread);
    bool is_track = thread_is_track(thread);
    const struct sample_rows rows = {writer, samples};
    bool has_weights = writer->has_weights || thread->merged_count || thread->has_weights || is_track;
    uint32_t count = samples_count(samples);
    bool are_weights_cpu = profile_are_weights_cpu(writer->profile) && !is_track;
    const struct sample_details *details = samples->details;
    const struct processed_part parts[PART_COUNT] = {
        [PART_WEIGHT] = {.write = has_weights ? weights[type].write : NULL},
        [PART_WEIGHT_TYPE] = {.text = weights[type].type},
        /* profiler-cli 0.10.0 loops forever over this column if the thread has no samples. */
        [PART_CPU_DELTA] = {.write = are_weights_cpu && count ? write_sample_cpu_deltas : NULL,
                            .rows = samples_have_cpu(samples) && !are_weights_cpu ? &details->cpu_ns : NULL},
        [PART_DELAY] = {.rows = samples_have_delays(samples) ? &details->delay_ns : NULL},
    };
    processed_table_write(writer, &(struct processed_table){.name = "samples",
                                                            .shape = &processed_sample_table,
                                                            .rows = &samples->rows,
                                                            .count = count,
                                                            .parts = parts,
                                                            .context = &rows});
    processed_report_rows(writer, count);
}

/* ---- Allocations. ---- */

/* The context of the writers of allocations and markers. */
struct thread_rows {
    const struct processed_writer *writer;
    const struct thread *thread;
};

static void write_allocation_threads(struct json *json, const void *context, size_t count) {
    const struct thread_rows *rows = context;
    for (size_t i = 0; i < count; i++) {
        const struct allocation *allocation = column_at(&rows->thread->allocations, i);
        json_int(json, profile_thread_at(rows->writer->profile, allocation->thread)->tid);
    }
}

/* An empty table would make the viewer show nothing at all. */
static void write_allocations(struct processed_writer *writer, const struct thread *thread) {
    static const struct processed_part parts[PART_COUNT] = {
        [PART_ALLOCATION_THREAD] = {.write = write_allocation_threads}, [PART_WEIGHT_TYPE] = {.text = "bytes"}};
    const struct thread_rows rows = {writer, thread};
    if (!thread->allocations.count) return;
    processed_table_write(writer, &(struct processed_table){.name = "nativeAllocations",
                                                            .shape = &processed_native_allocation_table,
                                                            .rows = &thread->allocations,
                                                            .count = thread->allocations.count,
                                                            .parts = parts,
                                                            .context = &rows});
    processed_report_rows(writer, thread->allocations.count);
}

/* ---- Markers. ---- */

static void write_string_number(const struct marker_json *markers, struct json *json, string_id string) {
    (void)markers;
    json_int(json, string.index);
}

static void write_cause(const struct marker_json *markers, struct json *json, const struct thread *thread,
                        const struct marker *marker) {
    (void)thread;
    const struct profile *profile = markers->profile;
    const int64_t *origin_ns = profile_origin_time(profile, marker);
    const thread_id *origin = profile_origin_thread(profile, marker);
    json_key_object_begin(json, "cause");
    json_key_int(json, "stack", marker->stack.index);
    if (origin_ns) json_key_ms(json, "time", *origin_ns);
    if (origin && !thread_is_none(*origin)) thread_json_tid(json, profile_thread_at(profile, *origin));
    json_object_end(json);
}

const struct marker_json_format processed_marker_format = {write_string_number, write_cause, NULL};

static void write_payload(struct json *json, const struct thread_rows *rows, const struct marker *marker) {
    if (marker_json_has_payload(marker))
        marker_json_payload(rows->writer->markers, json, rows->thread, marker);
    else
        json_null(json);
}

static void write_payloads(struct json *json, const void *context, size_t count) {
    const struct thread_rows *rows = context;
    (void)count;
    COLUMN_EACH(const struct marker, marker, &rows->thread->markers) write_payload(json, rows, marker);
}

static void write_markers(struct processed_writer *writer, const struct thread *thread) {
    static const struct processed_part parts[PART_COUNT] = {[PART_PAYLOAD] = {.write = write_payloads}};
    const struct thread_rows rows = {writer, thread};
    processed_table_write(writer, &(struct processed_table){.name = "markers",
                                                            .shape = &processed_marker_table,
                                                            .rows = &thread->markers,
                                                            .count = thread->markers.count,
                                                            .parts = parts,
                                                            .context = &rows});
    processed_report_rows(writer, thread->markers.count);
}

/* Returns whether the front-end shows the marker in the strip above the track. */
static bool is_in_overview(const struct profile *profile, const struct marker *marker) {
    if (marker->schema == MARKER_SCHEMA_NONE) return false;
    return marker_schema_display(column_at(&profile->marker_schemas, marker->schema)) & MARKER_DISPLAY_OVERVIEW;
}

/* Without markers in it, the strip would only make the track higher. */
static bool has_overview(const struct profile *profile, const struct thread *thread) {
    for (size_t row = 0, run_count; row < thread->markers.count; row += run_count) {
        const struct marker *run = column_run(&thread->markers, row, &run_count);
        for (size_t i = 0; i < run_count; i++)
            if (is_in_overview(profile, &run[i])) return true;
    }
    return false;
}

/* ---- Threads. ---- */

void processed_thread_write(struct processed_writer *writer, const struct thread *thread) {
    const struct process *process = profile_process_at(writer->profile, thread->process);
    struct json *json = &writer->json;
    json_object_begin(json);
    json_key_value_text(json, "name", thread->is_main ? process->title : thread->name);
    json_key_bool(json, "isMainThread", thread->is_main);
    thread_json_process_type(json, writer->profile, process);
    json_key_value_text(json, "processName", process->name);
    json_key_value_text(json, "pid", process->pid_text);
    thread_json_tid(json, thread);
    thread_json_key_start(json, "processStartupTime", process->start_ns);
    thread_json_key_time(json, "processShutdownTime", process_shutdown_ns(process));
    thread_json_key_start(json, "registerTime", thread->start_ns);
    thread_json_key_time(json, "unregisterTime", thread->end_ns);
    thread_json_paused_ranges(json, writer->profile, thread->process);
    if (has_overview(writer->profile, thread)) json_key_bool(json, "showMarkersInTimeline", true);
    write_samples(writer, thread);
    write_allocations(writer, thread);
    write_markers(writer, thread);
    json_object_end(json);
}
