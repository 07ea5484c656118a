/* "counters", "profilerOverhead", and the two logs. */
#include <inttypes.h>

#include "libconvert/base/cursor.h"
#include "libconvert/base/id_column.h"
#include "libconvert/format/counter_display.h"
#include "libconvert/format/gecko_format.h"
#include "libconvert/format/processed_format.h"
#include "saved_reader.h"

/* Returns the process of the pid that an object has; none, and a loss, if no thread has that pid. */
static process_id known_process(struct saved_reader *reader, string_id pid) {
    const uint32_t *known =
        !string_is_none(pid) && pid.index < reader->processes.count ? column_at(&reader->processes, pid.index) : NULL;
    if (known && *known) return (process_id){*known - 1};
    saved_lose(reader, TEXT("(of a process without threads)"), 1);
    return process_none();
}

/* ---- Counters. ---- */

struct saved_counter {
    struct counter counter;
    string_id pid;
    bool has_display; /* profiles before version 62 have none */
};

static bool read_display_part(struct saved_reader *reader, struct text key, void *context) {
    struct counter *counter = context;
    if (text_equal(key, TEXT("sortWeight")))
        counter->sort_weight = (int32_t)saved_int(reader, INT32_MIN, INT32_MAX);
    else if (text_equal(key, TEXT("markerSchemaLocation")) || text_equal(key, TEXT("tooltipRows")))
        json_skip(reader->json); /* they follow from the others, and are written anew */
    else
        return false;
    return true;
}

static bool read_counter_sample_part(struct saved_reader *reader, struct text key, void *context) {
    const struct saved_table *table = context;
    uint32_t row = 0;
    uint64_t lost_count = 0;
    bool is_time = text_equal(key, TEXT("time")), is_number = text_equal(key, TEXT("number"));
    if (!is_time && !is_number) return false;
    JSON_EACH_UNLESS_NULL(reader->json) {
        struct counter_sample *sample = saved_row_at(table, row++);
        if (!sample) return true;
        if (is_time)
            sample->time_ns = saved_ns_of_ms(reader);
        else
            sample->number = saved_uint(reader, &lost_count);
    }
    saved_lose(reader, key, lost_count);
    reader->part_row_count = row;
    return true;
}

static void read_counter_samples(struct saved_reader *reader, struct counter *counter) {
    static const struct counter_sample blank = {.time_ns = TIME_NONE};
    struct saved_table table = {.rows = &counter->samples, .blank = &blank};
    json_push_name(reader->json, "samples", -1);
    if (reader->is_gecko) {
        table.shape = &gecko_counter_sample_table;
        saved_read_rows(reader, &table);
    } else {
        table.shape = &processed_counter_sample_table;
        table.part = read_counter_sample_part;
        table.context = &table;
        saved_read_columns(reader, &table);
    }
    for (uint32_t i = 0; i < counter->samples.count && saved_is_good(reader); i++)
        if (((const struct counter_sample *)column_at(&counter->samples, i))->time_ns == TIME_NONE)
            json_stream_fail(reader->json, "sample %" PRIu32 " has no time", i);
    json_pop_name(reader->json);
}

static bool read_group_part(struct saved_reader *reader, struct text key, void *context) {
    if (!text_equal(key, TEXT("samples"))) return text_equal(key, TEXT("id")) && (json_skip(reader->json), true);
    read_counter_samples(reader, context);
    return true;
}

/* Before version 29 of the Gecko format and 48 of the processed one, a counter had groups of samples, of which the
 * front-end reads the first. */
static bool read_groups(struct saved_reader *reader, struct counter *counter) {
    if (!json_begin_list(reader->json)) return true;
    for (unsigned i = 0; json_next(reader->json); i++) {
        if (i == 0)
            saved_read_object(reader, read_group_part, counter);
        else
            saved_lose(reader, TEXT("samples (of another group)"), json_skip_counting(reader->json));
    }
    return true;
}

static bool read_counter_part(struct saved_reader *reader, struct text key, void *context) {
    struct saved_counter *saved = context;
    struct counter *counter = &saved->counter;
    if (text_equal(key, TEXT("pid")))
        saved->pid = saved_id_text(reader);
    else if (text_equal(key, TEXT("mainThreadIndex")))
        json_skip(reader->json); /* the pid says more */
    else if (text_equal(key, TEXT("display"))) {
        saved->has_display = true;
        saved_read_members(reader, &processed_display_shape, counter, read_display_part, counter);
    } else if (text_equal(key, TEXT("samples"))) {
        read_counter_samples(reader, counter);
    } else {
        const struct text groups = reader->is_gecko ? TEXT("sample_groups") : TEXT("sampleGroups");
        return text_equal(key, groups) && read_groups(reader, counter);
    }
    return true;
}

static void display_by_default(struct counter *counter) {
    const struct counter_display *display = counter_display_of(counter);
    counter->graph = display->graph;
    counter->unit = display->unit;
    counter->color = display->color;
    counter->sort_weight = display->sort_weight;
    counter->label = display->label;
}

/* The front-end shows no change before the first sample. */
static void forget_first_change(struct counter *counter) {
    struct counter_sample *first = counter->samples.count ? column_at(&counter->samples, 0) : NULL;
    if (first) first->change = first->number = 0;
}

/* Returns the process of what has that pid; in the Gecko format, that is the process whose object it is in. */
static process_id owner_of(struct saved_reader *reader, string_id pid, process_id gecko_process) {
    if (!saved_is_good(reader)) return process_none();
    return reader->is_gecko ? gecko_process : known_process(reader, pid);
}

static void read_counter(struct saved_reader *reader, process_id gecko_process) {
    struct saved_counter saved = {.counter = {.graph = COUNTER_RATE, .color = GRAPH_GREY}, .pid = string_none()};
    column_init(&saved.counter.samples, sizeof(struct counter_sample), reader->profile->failure);
    saved_read_members(reader, &processed_counter_shape, &saved.counter, read_counter_part, &saved);
    forget_first_change(&saved.counter);
    if (!saved.has_display) display_by_default(&saved.counter);
    saved.counter.process = owner_of(reader, saved.pid, gecko_process);
    struct counter *added =
        !process_is_none(saved.counter.process) ? profile_add_counter(reader->profile, &saved.counter) : NULL;
    if (!added) {
        column_fini(&saved.counter.samples);
        return;
    }
    column_fini(&added->samples);
    added->samples = saved.counter.samples;
}

void saved_gecko_counters_read(struct saved_reader *reader, process_id process) {
    JSON_EACH_UNLESS_NULL(reader->json) read_counter(reader, process);
}

void saved_counters_read(struct saved_reader *reader, void *context) {
    (void)context;
    saved_gecko_counters_read(reader, process_none());
}

/* ---- The cost of recording. ---- */

struct saved_overhead {
    struct column rows; /* struct overhead */
    string_id pid;
};

static bool read_overhead_part(struct saved_reader *reader, struct text key, void *context) {
    static const struct overhead blank = {.process = {ID_NONE}};
    struct saved_overhead *saved = context;
    if (text_equal(key, TEXT("pid")))
        saved->pid = saved_id_text(reader);
    else if (text_equal(key, TEXT("mainThreadIndex")) || text_equal(key, TEXT("statistics")))
        json_skip(reader->json); /* they follow from the samples */
    else if (!text_equal(key, TEXT("samples")))
        return false;
    else if (reader->is_gecko)
        saved_read_rows(reader,
                        &(struct saved_table){.shape = &gecko_overhead_table, .rows = &saved->rows, .blank = &blank});
    else
        saved_read_columns(
            reader, &(struct saved_table){.shape = &processed_overhead_table, .rows = &saved->rows, .blank = &blank});
    return true;
}

static void read_overhead(struct saved_reader *reader, process_id gecko_process) {
    struct saved_overhead saved = {.pid = string_none()};
    column_init(&saved.rows, sizeof(struct overhead), reader->profile->failure);
    saved_read_object(reader, read_overhead_part, &saved);
    process_id process = owner_of(reader, saved.pid, gecko_process);
    uint64_t lost_count = 0;
    for (size_t i = 0; i < saved.rows.count && !process_is_none(process); i++) {
        struct overhead *overhead = column_at(&saved.rows, i);
        overhead->process = process;
        if (overhead->time_ns == TIME_NONE ||
            __builtin_add_overflow(overhead->time_ns, reader->shift_ns, &overhead->time_ns))
            lost_count++;
        else
            profile_add_overhead(reader->profile, overhead);
    }
    saved_lose(reader, TEXT("samples (without a time)"), lost_count);
    column_fini(&saved.rows);
}

void saved_overheads_read(struct saved_reader *reader, void *context) {
    (void)context;
    JSON_EACH_UNLESS_NULL(reader->json) read_overhead(reader, process_none());
}

void saved_gecko_overhead_read(struct saved_reader *reader, process_id process) {
    if (!json_take_null(reader->json)) read_overhead(reader, process);
}

/* ---- Logs. ---- */

struct saved_log {
    struct column *log;
    process_id process;
};

/* Reads "[time, text]". */
static void read_line(struct saved_reader *reader, const struct saved_log *log) {
    int64_t time_ns = TIME_NONE;
    struct text text = TEXT("");
    if (!json_begin_list(reader->json)) return;
    for (unsigned i = 0; json_next(reader->json); i++) {
        if (i == 0)
            time_ns = saved_ns_of_ms(reader);
        else if (i == 1)
            text = saved_text(reader);
        else
            json_skip(reader->json);
    }
    profile_log_line(reader->profile, log->log, log->process, time_ns, text);
}

static bool read_fact(struct saved_reader *reader, struct text key, void *context) {
    const struct saved_log *log = context;
    int64_t number;
    struct text text;
    if (text_equal(key, TEXT("lines")) && json_peek_kind(reader->json) == JSON_LIST) {
        JSON_EACH(reader->json) read_line(reader, log);
        return true;
    }
    switch (json_peek_kind(reader->json)) {
        case JSON_TEXT: profile_log_text(reader->profile, log->log, log->process, key, saved_text(reader)); return true;
        case JSON_NUMBER:
            if (!json_take_number_text(reader->json, &text)) return true;
            if (cursor_parse_id(text, &number))
                profile_log_number(reader->profile, log->log, log->process, key, number);
            else
                profile_log_text(reader->profile, log->log, log->process, key, profile_text(reader->profile, text));
            return true;
        default: return false;
    }
}

/* A process whose threads are in the track of others has a log all the same. */
static process_id process_of_log(struct saved_reader *reader, struct text pid) {
    size_t known_count = reader->profile->processes.count;
    process_id process = saved_process(reader, strings_intern(&reader->texts, pid));
    if (reader->profile->processes.count > known_count)
        profile_process_at(reader->profile, process)->has_lost_content = false;
    return process;
}

static bool read_log_of_process(struct saved_reader *reader, struct text key, void *context) {
    struct saved_log log = {.log = context, .process = process_none()};
    if (json_peek_kind(reader->json) != JSON_OBJECT) return false;
    if (!text_equal(key, TEXT("trace"))) log.process = process_of_log(reader, key);
    saved_read_object(reader, read_fact, &log);
    return true;
}

static void read_log(struct saved_reader *reader, struct column *log) {
    if (!json_take_null(reader->json)) saved_read_object(reader, read_log_of_process, log);
}

void saved_profiling_log_read(struct saved_reader *reader, void *context) {
    (void)context;
    read_log(reader, &reader->profile->profiling_log);
}
void saved_gathering_log_read(struct saved_reader *reader, void *context) {
    (void)context;
    read_log(reader, &reader->profile->gathering_log);
}
