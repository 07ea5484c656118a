/* Writes counters with the viewer's display settings, and the recording overhead. */
#include "libconvert/format/processed_format.h"
#include "processed_writer.h"
#include "writer/counter_json.h"
#include "writer/overhead_json.h"

static void write_counter(struct processed_writer *writer, const struct counter *counter) {
    const struct profile *profile = writer->profile;
    struct json *json = &writer->json;
    const struct processed_part parts[PART_COUNT] = {
        [PART_COUNTER_NUMBER] = {.rows = counter_has_numbers(counter) ? &counter->samples : NULL}};
    json_object_begin(json);
    counter_json_identity(json, counter, counter_visible_name(counter));
    json_key_value_text(json, "pid", profile_process_at(profile, counter->process)->pid_text);
    json_key_int(json, "mainThreadIndex", (int64_t)profile_place_of_process(profile, counter->process));
    processed_table_write(writer, &(struct processed_table){.name = "samples",
                                                            .shape = &processed_counter_sample_table,
                                                            .rows = &counter->samples,
                                                            .count = counter->samples.count,
                                                            .parts = parts});
    counter_json_display(json, counter);
    json_object_end(json);
}

void processed_counters_write(struct processed_writer *writer) {
    const struct column *counters = &writer->profile->counters;
    if (!counters->count) return;
    json_key_array_begin(&writer->json, "counters");
    for (size_t i = 0; i < counters->count; i++) write_counter(writer, column_at(counters, i));
    json_array_end(&writer->json);
}

/* ---- Overhead. ---- */

/* Writes the overhead of one process. Returns how many rows it has. */
static size_t write_overhead(struct processed_writer *writer, size_t first) {
    const struct profile *profile = writer->profile;
    process_id process = ((const struct overhead *)column_at(&profile->overheads, first))->process;
    size_t count;
    profile_rows_of_process(&profile->overheads, process, &count);
    json_object_begin(&writer->json);
    processed_table_write(writer, &(struct processed_table){.name = "samples",
                                                            .shape = &processed_overhead_table,
                                                            .rows = &profile->overheads,
                                                            .first = first,
                                                            .count = count});
    overhead_json_statistics(&writer->json, profile, first, count);
    json_key_value_text(&writer->json, "pid", profile_process_at(profile, process)->pid_text);
    json_key_int(&writer->json, "mainThreadIndex", (int64_t)profile_place_of_process(profile, process));
    json_object_end(&writer->json);
    return count;
}

void processed_overheads_write(struct processed_writer *writer) {
    size_t count = writer->profile->overheads.count;
    if (!count) return;
    json_key_array_begin(&writer->json, "profilerOverhead");
    for (size_t row = 0; row < count;) row += write_overhead(writer, row);
    json_array_end(&writer->json);
}
