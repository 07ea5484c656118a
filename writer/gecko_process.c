#include "gecko_process.h"

#include "counter_json.h"
#include "overhead_json.h"
#include "table_of_rows.h"

static void write_samples(struct json *json, const struct counter *counter) {
    static const char *const columns[] = {"time", "count", "number"};
    bool has_numbers = counter_has_numbers(counter);
    table_of_rows_begin(json, "samples", columns, has_numbers ? 3 : 2);
    for (size_t i = 0; i < counter->samples.count; i++) {
        const struct counter_sample *sample = column_at(&counter->samples, i);
        json_array_begin(json);
        json_ms(json, sample->time_ns);
        json_int(json, sample->change);
        if (has_numbers) json_int(json, sample->number);
        json_array_end(json);
    }
    table_of_rows_end(json);
}

static void write_counter(struct json *json, const struct counter *counter) {
    json_object_begin(json);
    counter_json_identity(json, counter);
    write_samples(json, counter);
    json_object_end(json);
}

void gecko_counters_write(struct json *json, const struct profile *profile, process_id process) {
    size_t count, first = profile_rows_of_process(&profile->counters, process, &count);
    if (!count || !gecko_has_main_thread(profile, process)) return;
    json_key(json, "counters");
    json_array_begin(json);
    for (size_t i = first; i < first + count; i++) write_counter(json, column_at(&profile->counters, i));
    json_array_end(json);
}

/* Here even times are microseconds. */
static void write_overhead(struct json *json, const struct overhead *overhead) {
    json_array_begin(json);
    overhead_json_us(json, overhead->time_ns);
    overhead_json_us(json, overhead->locking_ns);
    overhead_json_us(json, 0);
    overhead_json_us(json, overhead->counters_ns);
    overhead_json_us(json, overhead->threads_ns);
    json_array_end(json);
}

void gecko_overhead_write(struct json *json, const struct profile *profile, process_id process) {
    static const char *const columns[] = {"time", "locking", "expiredMarkerCleaning", "counters", "threads"};
    size_t count, first = profile_rows_of_process(&profile->overheads, process, &count);
    if (!count || !gecko_has_main_thread(profile, process)) return;
    json_key(json, "profilerOverhead");
    json_object_begin(json);
    TABLE_OF_ROWS_BEGIN(json, "samples", columns);
    for (size_t i = first; i < first + count; i++) write_overhead(json, column_at(&profile->overheads, i));
    table_of_rows_end(json);
    overhead_json_statistics(json, profile, first, count);
    json_object_end(json);
}
