/* Counters, with what the viewer is to make of them. */
#include "counter_json.h"
#include "processed_writer.h"
#include "table_of_columns.h"

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
    counter_json_identity(json, counter);
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
