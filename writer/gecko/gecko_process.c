#include "gecko_process.h"

#include "libconvert/format/gecko_format.h"
#include "writer/counter_json.h"
#include "writer/overhead_json.h"
#include "writer/table_of_rows.h"

static void write_samples(struct json *json, const struct counter *counter) {
    const char *omitted = counter_has_numbers(counter) ? NULL : "number";
    table_of_rows_begin(json, "samples", &gecko_counter_sample_table, omitted);
    for (size_t i = 0; i < counter->samples.count; i++)
        table_row_write(json, &gecko_counter_sample_table, omitted, column_at(&counter->samples, i));
    table_of_rows_end(json);
}

static int64_t sum_of(int64_t a, int64_t b) {
    int64_t sum;
    return __builtin_add_overflow(a, b, &sum) ? (b < 0 ? INT64_MIN : INT64_MAX) : sum;
}

/* Writes the level of an accumulating counter at equal distances, in place of its changes. The client draws a change
 * divided by the time since the previous one, so the graph has the right shape, and a tooltip shows the level. Each
 * distance gets the highest level within it. */
static void write_levels(struct json *json, const struct counter *counter, int64_t interval_ns) {
    enum { LEVELS_MAX = 10000 };
    const struct counter_sample *sample = column_at(&counter->samples, 0);
    const struct counter_sample *last = column_at(&counter->samples, counter->samples.count - 1);
    int64_t step_ns = (last->time_ns - sample->time_ns) / LEVELS_MAX + 1, level = 0;
    if (step_ns < interval_ns) step_ns = interval_ns;
    table_of_rows_begin(json, "samples", &gecko_counter_sample_table, "number");
    size_t next = 0;
    for (int64_t time_ns = sample->time_ns; next < counter->samples.count; time_ns += step_ns) {
        int64_t highest = level;
        for (; next < counter->samples.count; next++) {
            sample = column_at(&counter->samples, next);
            if (sample->time_ns > time_ns) break;
            level = sum_of(level, sample->change);
            if (level > highest) highest = level;
        }
        struct counter_sample level_sample = {.time_ns = time_ns, .change = highest};
        table_row_write(json, &gecko_counter_sample_table, "number", &level_sample);
    }
    table_of_rows_end(json);
}

/* The client derives the display of a counter from its category and name. */
static void write_counter(struct json *json, const struct counter *counter, int64_t interval_ns) {
    json_object_begin(json);
    if (counter_json_is_right_by_default(counter)) {
        counter_json_identity(json, counter, counter_visible_name(counter));
        write_samples(json, counter);
    } else {
        counter_json_plain_identity(json, counter);
        if (counter->graph == COUNTER_ACCUMULATED)
            write_levels(json, counter, interval_ns);
        else
            write_samples(json, counter);
    }
    json_object_end(json);
}

void gecko_counters_write(struct json *json, const struct profile *profile, process_id process) {
    size_t count, first = profile_rows_of_process(&profile->counters, process, &count);
    if (!count || !gecko_has_main_thread(profile, process)) return;
    json_key_array_begin(json, "counters");
    for (size_t i = first; i < first + count; i++)
        write_counter(json, column_at(&profile->counters, i), profile->meta.interval_ns);
    json_array_end(json);
}

void gecko_overhead_write(struct json *json, const struct profile *profile, process_id process) {
    size_t count, first = profile_rows_of_process(&profile->overheads, process, &count);
    if (!count || !gecko_has_main_thread(profile, process)) return;
    json_key_object_begin(json, "profilerOverhead");
    table_of_rows_begin(json, "samples", &gecko_overhead_table, NULL);
    for (size_t i = first; i < first + count; i++)
        table_row_write(json, &gecko_overhead_table, NULL, column_at(&profile->overheads, i));
    table_of_rows_end(json);
    overhead_json_statistics(json, profile, first, count);
    json_object_end(json);
}
