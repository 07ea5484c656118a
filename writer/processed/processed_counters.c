/* Writes counters with the viewer's display settings, and the recording overhead. */
#include "processed_writer.h"
#include "writer/counter_json.h"
#include "writer/overhead_json.h"
#include "writer/table_of_columns.h"

enum counter_column { COUNTER_TIME_DELTA, COUNTER_COUNT, COUNTER_NUMBER, COUNTER_COLUMN_COUNT };

static const char *const counter_columns[COUNTER_COLUMN_COUNT] = {
    [COUNTER_TIME_DELTA] = "timeDeltas",
    [COUNTER_COUNT] = "count",
    [COUNTER_NUMBER] = "number",
};

static void write_samples(struct processed_writer *writer, const struct counter *counter) {
    const struct column *samples = &counter->samples;
    bool has_numbers = counter_has_numbers(counter);
    struct table_of_columns table;
    table_of_columns_begin(&table, counter_columns, has_numbers ? COUNTER_COLUMN_COUNT : COUNTER_NUMBER,
                           writer->profile->failure);
    int64_t before_ns = 0;
    for (size_t i = 0; i < samples->count; i++) {
        const struct counter_sample *sample = column_at(samples, i);
        json_ms(&table.columns[COUNTER_TIME_DELTA], sample->time_ns - before_ns);
        json_int(&table.columns[COUNTER_COUNT], sample->change);
        if (has_numbers) json_int(&table.columns[COUNTER_NUMBER], sample->number);
        before_ns = sample->time_ns;
    }
    table_of_columns_end(&table, "samples", samples->count, &writer->json);
}

static void write_counter(struct processed_writer *writer, const struct counter *counter) {
    const struct profile *profile = writer->profile;
    struct json *json = &writer->json;
    json_object_begin(json);
    counter_json_identity(json, counter, counter_visible_name(counter));
    json_key_value_text(json, "pid", profile_process_at(profile, counter->process)->pid_text);
    json_key_int(json, "mainThreadIndex", (int64_t)profile_place_of_process(profile, counter->process));
    write_samples(writer, counter);
    counter_json_display(json, counter);
    json_object_end(json);
}

void processed_counters_write(struct processed_writer *writer) {
    const struct column *counters = &writer->profile->counters;
    if (!counters->count) return;
    json_key(&writer->json, "counters");
    json_array_begin(&writer->json);
    for (size_t i = 0; i < counters->count; i++) write_counter(writer, column_at(counters, i));
    json_array_end(&writer->json);
}

/* ---- Overhead. ---- */

enum overhead_column {
    OVERHEAD_TIME,
    OVERHEAD_LOCKING,
    OVERHEAD_CLEANING,
    OVERHEAD_COUNTERS,
    OVERHEAD_THREADS,
    OVERHEAD_COLUMN_COUNT
};

static const char *const overhead_columns[OVERHEAD_COLUMN_COUNT] = {
    [OVERHEAD_TIME] = "time",         [OVERHEAD_LOCKING] = "locking", [OVERHEAD_CLEANING] = "expiredMarkerCleaning",
    [OVERHEAD_COUNTERS] = "counters", [OVERHEAD_THREADS] = "threads",
};

static void write_overhead_samples(struct processed_writer *writer, size_t first, size_t count) {
    struct table_of_columns table;
    table_of_columns_begin(&table, overhead_columns, OVERHEAD_COLUMN_COUNT, writer->profile->failure);
    for (size_t row = first; row < first + count; row++) {
        const struct overhead *overhead = column_at(&writer->profile->overheads, row);
        json_ms(&table.columns[OVERHEAD_TIME], overhead->time_ns);
        overhead_json_us(&table.columns[OVERHEAD_LOCKING], overhead->locking_ns);
        overhead_json_us(&table.columns[OVERHEAD_CLEANING], 0);
        overhead_json_us(&table.columns[OVERHEAD_COUNTERS], overhead->counters_ns);
        overhead_json_us(&table.columns[OVERHEAD_THREADS], overhead->threads_ns);
    }
    table_of_columns_end(&table, "samples", count, &writer->json);
}

/* Writes the overhead of one process. Returns how many rows it has. */
static size_t write_overhead(struct processed_writer *writer, size_t first) {
    const struct profile *profile = writer->profile;
    process_id process = ((const struct overhead *)column_at(&profile->overheads, first))->process;
    size_t count;
    profile_rows_of_process(&profile->overheads, process, &count);
    json_object_begin(&writer->json);
    write_overhead_samples(writer, first, count);
    overhead_json_statistics(&writer->json, profile, first, count);
    json_key_value_text(&writer->json, "pid", profile_process_at(profile, process)->pid_text);
    json_key_int(&writer->json, "mainThreadIndex", (int64_t)profile_place_of_process(profile, process));
    json_object_end(&writer->json);
    return count;
}

void processed_overheads_write(struct processed_writer *writer) {
    size_t count = writer->profile->overheads.count;
    if (!count) return;
    json_key(&writer->json, "profilerOverhead");
    json_array_begin(&writer->json);
    for (size_t row = 0; row < count;) row += write_overhead(writer, row);
    json_array_end(&writer->json);
}
