#include "log_json.h"

static const struct log_line *line_at(const struct column *log, size_t i) { return column_at(log, i); }

static bool is_named(const struct log_line *line) { return line->key.bytes_count > 0; }

static void write_fact(struct json *json, const struct log_line *line) {
    json_key_text(json, line->key);
    if (line->text.bytes)
        json_text(json, line->text);
    else
        json_int(json, line->number);
}

static void write_line(struct json *json, const struct log_line *line) {
    json_array_begin(json);
    json_ms_or_null(json, line->time_ns, line->time_ns != TIME_NONE);
    json_text(json, line->text);
    json_array_end(json);
}

static void write_process(struct json *json, const struct column *log, size_t from, size_t to) {
    json_object_begin(json);
    size_t named_count = 0;
    for (size_t i = from; i < to; i++) {
        if (!is_named(line_at(log, i))) continue;
        write_fact(json, line_at(log, i));
        named_count++;
    }
    if (named_count < to - from) {
        json_key_array_begin(json, "lines");
        for (size_t i = from; i < to; i++)
            if (!is_named(line_at(log, i))) write_line(json, line_at(log, i));
        json_array_end(json);
    }
    json_object_end(json);
}

static void write_log(struct json *json, const char *key, const struct profile *profile, const struct column *log) {
    if (!log->count) return;
    json_key_object_begin(json, key);
    for (size_t from = 0, count; from < log->count; from += count) {
        process_id process = line_at(log, from)->process;
        profile_rows_of_process(log, process, &count);
        if (process_is_none(process))
            json_key(json, "trace");
        else
            json_key_text(json, profile_process_at(profile, process)->pid_text);
        write_process(json, log, from, from + count);
    }
    json_object_end(json);
}

void log_json_write(struct json *json, const struct profile *profile) {
    write_log(json, "profilingLog", profile, &profile->profiling_log);
    write_log(json, "profileGatheringLog", profile, &profile->gathering_log);
}
