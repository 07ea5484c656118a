/* Writes one thread: its samples, allocations and markers. */
#include "processed_cells.h"
#include "processed_writer.h"
#include "writer/table_of_columns.h"
#include "writer/thread_json.h"

/* ---- Samples. ---- */

/* A trace has millions of samples. So each loop calls one writer of numbers, which reserves room for comma and digits
 * once. */

/* The context of the writers of samples. */
struct sample_rows {
    const struct processed_writer *writer;
    const struct samples *samples;
};

static void write_sample_stacks(struct json *json, const void *context, size_t first, size_t end) {
    const struct samples *samples = ((const struct sample_rows *)context)->samples;
    for (size_t i = first; i < end; i++) table_index_or_null(json, samples_at(samples, (uint32_t)i)->stack.index);
}

/* Writes time deltas, which need fewer digits than times. The first delta is relative to the profile's zero. */
static void write_sample_time_deltas(struct json *json, const void *context, size_t first, size_t end) {
    const struct samples *samples = ((const struct sample_rows *)context)->samples;
    int64_t before_ns = first ? samples_at(samples, (uint32_t)first - 1)->time_ns : 0;
    for (size_t i = first; i < end; i++) {
        int64_t time_ns = samples_at(samples, (uint32_t)i)->time_ns;
        json_ms(json, time_ns - before_ns);
        before_ns = time_ns;
    }
}

static struct decimal sample_weight(const struct sample_rows *rows, size_t i) {
    return profile_weight_decode(rows->writer->profile, samples_at(rows->samples, (uint32_t)i)->weight);
}

static void write_sample_weights(struct json *json, const void *context, size_t first, size_t end) {
    for (size_t i = first; i < end; i++) json_decimal(json, sample_weight(context, i));
}

static void write_equal_weights(struct json *json, const void *context, size_t first, size_t end) {
    (void)context;
    for (size_t i = first; i < end; i++) json_int(json, 1);
}

enum { MS_DIGITS_OF_NS = 6 };

static void write_sample_weights_as_ms(struct json *json, const void *context, size_t first, size_t end) {
    for (size_t i = first; i < end; i++) {
        struct decimal ns = sample_weight(context, i);
        if (ns.scale == 0)
            json_ms(json, ns.mantissa);
        else
            json_decimal(json, decimal_make(ns.mantissa, ns.scale + MS_DIGITS_OF_NS));
    }
}

static void write_sample_cpu_deltas(struct json *json, const void *context, size_t first, size_t end) {
    const struct sample_rows *rows = context;
    for (size_t i = first; i < end; i++) {
        stack_id stack = samples_at(rows->samples, (uint32_t)i)->stack;
        bool is_unused = i == 0 || profile_is_idle(rows->writer->idle_stacks, stack);
        thread_json_cpu_delta(json, sample_weight(rows, i), is_unused);
    }
}

static void write_sample_cpu_times(struct json *json, const void *context, size_t first, size_t end) {
    const struct samples *samples = ((const struct sample_rows *)context)->samples;
    for (size_t i = first; i < end; i++) thread_json_cpu_ns(json, samples_cpu_ns(samples, (uint32_t)i));
}

static void write_sample_delays(struct json *json, const void *context, size_t first, size_t end) {
    const struct samples *samples = ((const struct sample_rows *)context)->samples;
    for (size_t i = first; i < end; i++) {
        int64_t delay_ns = samples_delay_ns(samples, (uint32_t)i);
        json_ms_or_null(json, delay_ns, delay_ns != TIME_NONE);
    }
}

static const char *weight_type_name(enum weight_type type) {
    static const char *const names[] = {
        [WEIGHT_ONE] = "samples",
        [WEIGHT_SAMPLES] = "samples",
        [WEIGHT_TRACING_MS] = "tracing-ms",
        [WEIGHT_BYTES] = "bytes",
    };
    return names[type];
}

static rows_writer *weights_writer(enum weight_type type) {
    static rows_writer *const writers[] = {
        [WEIGHT_ONE] = write_equal_weights,
        [WEIGHT_SAMPLES] = write_sample_weights,
        [WEIGHT_TRACING_MS] = write_sample_weights_as_ms,
        [WEIGHT_BYTES] = write_sample_weights,
    };
    return writers[type];
}

static void write_samples(struct processed_writer *writer, const struct samples *samples) {
    const struct profile_meta *meta = &writer->profile->meta;
    const struct sample_rows rows = {writer, samples};
    uint32_t count = samples_count(samples);
    bool has_cpu_deltas = meta->cpu_delta_unit != CPU_DELTA_NONE;
    struct json *json = &writer->json;
    json_key(json, "samples");
    json_object_begin(json);
    processed_column_write(writer, "stack", count, write_sample_stacks, &rows);
    processed_column_write(writer, "timeDeltas", count, write_sample_time_deltas, &rows);
    if (writer->has_weights)
        processed_column_write(writer, "weight", count, weights_writer(meta->weight_type), &rows);
    else
        json_key_null(json, "weight");
    json_key_string(json, "weightType", weight_type_name(meta->weight_type));
    /* profiler-cli 0.10.0 loops forever over this column if the thread has no samples. */
    if (has_cpu_deltas && count)
        processed_column_write(writer, "threadCPUDelta", count, write_sample_cpu_deltas, &rows);
    if (samples->details && samples_have_cpu(samples) && !has_cpu_deltas)
        processed_column_write(writer, "threadCPUDelta", count, write_sample_cpu_times, &rows);
    if (samples->details && samples_have_delays(samples))
        processed_column_write(writer, "eventDelay", count, write_sample_delays, &rows);
    json_key_int(json, "length", count);
    json_object_end(json);
    processed_report_rows(writer, count);
}

/* ---- Allocations. ---- */

enum allocation_column {
    ALLOCATION_TIME,
    ALLOCATION_WEIGHT,
    ALLOCATION_STACK,
    ALLOCATION_ADDRESS,
    ALLOCATION_THREAD,
    ALLOCATION_COLUMN_COUNT
};

static const char *const allocation_columns[ALLOCATION_COLUMN_COUNT] = {
    [ALLOCATION_TIME] = "time",       [ALLOCATION_WEIGHT] = "weight",         [ALLOCATION_STACK] = "stack",
    [ALLOCATION_THREAD] = "threadId", [ALLOCATION_ADDRESS] = "memoryAddress",
};

static void write_allocation(struct json columns[], const struct profile *profile,
                             const struct allocation *allocation) {
    json_ms(&columns[ALLOCATION_TIME], allocation->time_ns);
    json_int(&columns[ALLOCATION_WEIGHT], allocation->bytes);
    table_index_or_null(&columns[ALLOCATION_STACK], allocation->stack.index);
    thread_json_address(&columns[ALLOCATION_ADDRESS], allocation->address);
    json_int(&columns[ALLOCATION_THREAD], profile_thread_at(profile, allocation->thread)->tid);
}

/* An empty table would make the viewer show nothing at all. */
static void write_allocations(struct processed_writer *writer, const struct column *allocations) {
    if (!allocations->count) return;
    struct table_of_columns table;
    table_of_columns_begin(&table, allocation_columns, ALLOCATION_COLUMN_COUNT, writer->json.out.failure);
    for (size_t i = 0; i < allocations->count; i++)
        write_allocation(table.columns, writer->profile, column_at(allocations, i));
    json_key(&writer->json, "nativeAllocations");
    json_object_begin(&writer->json);
    table_of_columns_splice(&table, &writer->json);
    json_key_string(&writer->json, "weightType", "bytes");
    json_key_int(&writer->json, "length", (int64_t)allocations->count);
    json_object_end(&writer->json);
    processed_report_rows(writer, allocations->count);
}

/* ---- Markers. ---- */

static inline char *put_name(char *out, const void *row) {
    const struct marker *marker = row;
    return json_put_int(out, marker->name.index);
}

static inline char *put_start(char *out, const void *row) {
    const struct marker *marker = row;
    if (marker->phase == MARKER_INTERVAL_END) return json_put_null(out);
    return json_put_ms(out, marker->start_ns);
}

static inline char *put_end(char *out, const void *row) {
    const struct marker *marker = row;
    bool has_end = marker->phase == MARKER_INTERVAL || marker->phase == MARKER_INTERVAL_END;
    return has_end ? json_put_ms(out, marker->end_ns) : json_put_null(out);
}

static inline char *put_phase(char *out, const void *row) {
    const struct marker *marker = row;
    return json_put_int(out, marker->phase);
}

static inline char *put_category(char *out, const void *row) {
    const struct marker *marker = row;
    return json_put_int(out, marker->category);
}

/* The context of the writers of markers. */
struct marker_rows {
    const struct marker_json *markers;
    const struct thread *thread;
};

static inline void write_marker_cells(struct json *json, const void *context, size_t first, size_t end,
                                      cell_putter *put) {
    processed_cells_write(json, &((const struct marker_rows *)context)->thread->markers, first, end, put);
}

static void write_names(struct json *json, const void *context, size_t first, size_t end) {
    write_marker_cells(json, context, first, end, put_name);
}
static void write_starts(struct json *json, const void *context, size_t first, size_t end) {
    write_marker_cells(json, context, first, end, put_start);
}
static void write_ends(struct json *json, const void *context, size_t first, size_t end) {
    write_marker_cells(json, context, first, end, put_end);
}
static void write_phases(struct json *json, const void *context, size_t first, size_t end) {
    write_marker_cells(json, context, first, end, put_phase);
}
static void write_categories(struct json *json, const void *context, size_t first, size_t end) {
    write_marker_cells(json, context, first, end, put_category);
}

static void write_string_number(const struct marker_json *markers, struct json *json, string_id string) {
    (void)markers;
    json_int(json, string.index);
}

static void write_cause(const struct marker_json *markers, struct json *json, const struct thread *thread,
                        const struct marker *marker) {
    (void)thread;
    const struct profile *profile = markers->profile;
    const struct stack_origin *origin = profile_marker_origin(profile, marker);
    json_key(json, "cause");
    json_object_begin(json);
    json_key_int(json, "stack", marker->stack.index);
    if (origin) json_key_ms(json, "time", origin->time_ns);
    if (origin && !thread_is_none(origin->thread)) thread_json_tid(json, profile_thread_at(profile, origin->thread));
    json_object_end(json);
}

const struct marker_json_format processed_marker_format = {write_string_number, write_cause, NULL};

static void write_payload(struct json *json, const struct marker_rows *rows, const struct marker *marker) {
    if (!marker_json_has_payload(marker)) {
        json_null(json);
        return;
    }
    marker_json_payload(rows->markers, json, rows->thread, marker);
}

static void write_payloads(struct json *json, const void *context, size_t first, size_t end) {
    const struct marker_rows *rows = context;
    for (size_t row = first, run_count; row < end; row += run_count) {
        const struct marker *run = column_run(&rows->thread->markers, row, &run_count);
        if (run_count > end - row) run_count = end - row;
        for (size_t i = 0; i < run_count; i++) write_payload(json, rows, &run[i]);
    }
}

/* Writes one column after the other, because the payloads of millions of markers must not wait in memory until the
 * other columns are written. */
static void write_markers(struct processed_writer *writer, const struct thread *thread) {
    static const struct {
        const char *name;
        rows_writer *write;
    } columns[] = {{"name", write_names},   {"startTime", write_starts},    {"endTime", write_ends},
                   {"phase", write_phases}, {"category", write_categories}, {"data", write_payloads}};
    const struct marker_rows rows = {writer->markers, thread};
    size_t count = thread->markers.count;
    struct json *json = &writer->json;
    json_key(json, "markers");
    json_object_begin(json);
    for (size_t i = 0; i < sizeof columns / sizeof *columns; i++)
        processed_column_write(writer, columns[i].name, count, columns[i].write, &rows);
    json_key_int(json, "length", (int64_t)count);
    json_object_end(json);
    processed_report_rows(writer, count);
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
    json_key_bool(json, "showMarkersInTimeline", true);
    write_samples(writer, &thread->samples);
    write_allocations(writer, &thread->allocations);
    write_markers(writer, thread);
    json_object_end(json);
}
