/* Formats markers, counters, pauses and logs of a profile as text, for comparisons. See also profile_text.h. */
#pragma once

#include <inttypes.h>
#include <stdarg.h>

#include "tests/support/marker_value.h"
#include "tests/support/profile_text.h"

static inline void profile_text_print(struct profile_text *out, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
static inline void profile_text_print(struct profile_text *out, const char *format, ...) {
    char line[1024];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    profile_text_add(out, text_of(line));
}

static inline void profile_text_add_value(struct profile_text *out, const struct profile *profile,
                                          const struct marker_field *field, enum marker_format format,
                                          const union marker_value *value) {
    enum marker_value_kind kind = marker_format_kind(format);
    if (marker_value_is_absent(kind, value)) {
        profile_text_print(out, "-");
        return;
    }
    switch (kind) {
        case VALUE_TEXT: profile_text_print(out, "\"%.*s\"", (int)value->text.bytes_count, value->text.bytes); break;
        case VALUE_STRING: {
            struct text text = strings_text(&profile->strings, value->string);
            profile_text_print(out, "'%.*s'", (int)text.bytes_count, text.bytes);
            break;
        }
        case VALUE_NUMBER:
            if (value->number.scale == MARKER_REAL)
                profile_text_print(out, "%g", marker_value_real_of(value->number));
            else
                profile_text_print(out, "%" PRId64, value->number.mantissa);
            break;
        case VALUE_DURATION: profile_text_print(out, "%" PRId64 "ns", value->duration_ns); break;
        case VALUE_TIME: profile_text_print(out, "@%" PRId64, value->time_ns); break;
        case VALUE_CELLS:
            profile_text_print(out, "[");
            for (uint32_t i = 0; i < value->cells.count; i++) {
                const union marker_value *cell = profile_cell_at(profile, value->cells.first + i);
                bool is_table = format == MARKER_TABLE;
                if (i) profile_text_print(out, is_table && i % field->column_count == 0 ? "|" : ",");
                profile_text_add_value(out, profile, NULL,
                                       is_table ? field->columns[i % field->column_count].format : MARKER_STRING, cell);
            }
            profile_text_print(out, "]");
            break;
    }
}

/* Appends where the marker's stack was taken: " taken at TIME" if the time differs from the marker's start, and " in
 * PID/TID" if the thread is not the marker's. */
static inline void profile_text_add_origin(struct profile_text *out, const struct profile *profile,
                                           const struct thread *thread, const struct marker *marker) {
    const int64_t *origin_ns = profile_origin_time(profile, marker);
    const struct thread *foreign = profile_foreign_thread(profile, thread, marker);
    if (origin_ns && *origin_ns != marker->start_ns) profile_text_print(out, " taken at %" PRId64, *origin_ns);
    if (!foreign) return;
    struct text pid = profile_process_at(profile, foreign->process)->pid_text;
    profile_text_print(out, " in %.*s/%" PRId64, (int)pid.bytes_count, pid.bytes, foreign->tid);
}

/* Returns the profile's markers, one a line: "pid/tid phase start..end category name type{key=value,…} <root;leaf>
 * taken at time in pid/tid". */
static inline struct profile_text *profile_markers_text(const struct profile *profile) {
    static const char *const phases[] = {"instant", "interval", "start", "end"};
    struct profile_text *out = profile_text_create();
    for (size_t i = 0; i < profile->thread_order.count; i++) {
        const struct thread *thread = profile_ordered_thread(profile, i);
        for (size_t j = 0; j < thread->markers.count; j++) {
            const struct marker *marker = column_at(&thread->markers, j);
            struct text category = categories_at(&profile->categories, marker->category)->name;
            struct text name = strings_text(&profile->strings, marker->name);
            profile_text_print(out, "%.*s/%" PRId64 " %s %" PRId64,
                               (int)profile_process_at(profile, thread->process)->pid_text.bytes_count,
                               profile_process_at(profile, thread->process)->pid_text.bytes, thread->tid,
                               phases[marker->phase], marker->start_ns);
            if (marker->phase == MARKER_INTERVAL) profile_text_print(out, "..%" PRId64, marker->end_ns);
            profile_text_print(out, " %.*s %.*s", (int)category.bytes_count, category.bytes, (int)name.bytes_count,
                               name.bytes);
            if (marker->schema != MARKER_SCHEMA_NONE) {
                const struct marker_schema *schema = column_at(&profile->marker_schemas, marker->schema);
                profile_text_print(out, " %.*s{", (int)schema->name.bytes_count, schema->name.bytes);
                for (uint32_t field = 0; field < schema->field_count; field++) {
                    const struct marker_field *row = &schema->fields[field];
                    profile_text_print(out, "%s%.*s=", field ? "," : "", (int)row->key.bytes_count, row->key.bytes);
                    const union marker_value value = value_of(profile, marker, field);
                    profile_text_add_value(out, profile, row, row->format, &value);
                }
                profile_text_print(out, "}");
            }
            if (!stack_is_none(marker->stack)) {
                profile_text_print(out, " <");
                profile_text_add_stack(out, profile, marker->stack);
                profile_text_print(out, ">");
                profile_text_add_origin(out, profile, thread, marker);
            }
            profile_text_print(out, "\n");
        }
    }
    return out;
}

/* Returns the profile's counters, one a line: "pid name: time:change/number …". */
static inline struct profile_text *profile_counters_text(const struct profile *profile) {
    struct profile_text *out = profile_text_create();
    for (size_t i = 0; i < profile->counters.count; i++) {
        const struct counter *counter = column_at(&profile->counters, i);
        profile_text_print(out, "%" PRId64 " %.*s:", profile_process_at(profile, counter->process)->pid,
                           (int)counter->name.bytes_count, counter->name.bytes);
        for (size_t j = 0; j < counter->samples.count; j++) {
            const struct counter_sample *sample = column_at(&counter->samples, j);
            profile_text_print(out, " %" PRId64 ":%" PRId64 "/%" PRIu32, sample->time_ns, sample->change,
                               sample->number);
        }
        profile_text_print(out, "\n");
    }
    return out;
}

/* Returns a log as lines "key number", "key text" or "@time text". If an entry has a pid, the line begins with it. */
static inline struct profile_text *log_text(const struct profile *profile, const struct column *log) {
    struct profile_text *out = profile_text_create();
    for (size_t i = 0; i < log->count; i++) {
        const struct log_line *line = column_at(log, i);
        if (!process_is_none(line->process))
            profile_text_print(out, "%" PRId64 ": ", profile_process_at(profile, line->process)->pid);
        if (line->time_ns != TIME_NONE) profile_text_print(out, "@%" PRId64 " ", line->time_ns);
        if (line->key.bytes_count) profile_text_print(out, "%.*s ", (int)line->key.bytes_count, line->key.bytes);
        if (line->text.bytes)
            profile_text_print(out, "%.*s\n", (int)line->text.bytes_count, line->text.bytes);
        else
            profile_text_print(out, "%" PRId64 "\n", line->number);
    }
    return out;
}
