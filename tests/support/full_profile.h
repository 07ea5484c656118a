/* Builds a profile with everything that a trace can contain: markers with fields of all formats, counters, paused
 * ranges, and logs. */
#pragma once

#include "libconvert/profile/profile.h"
#include "tests/support/counter_samples.h"

static const int64_t FULL_PROFILE_ZERO_NS = 5000000000;

static const struct marker_table_column full_columns[] = {
    {TEXT("Name"), MARKER_UNIQUE_STRING}, {TEXT("Size"), MARKER_BYTES},
    {TEXT(""), MARKER_DURATION},          {TEXT("At"), MARKER_TIME},
    {TEXT("Flags"), MARKER_HEXADECIMAL},  {TEXT("Thread"), MARKER_TID},
};
enum { FULL_COLUMN_COUNT = sizeof full_columns / sizeof *full_columns };

static const struct marker_field full_fields[] = {
    {.key = TEXT("url"), .label = TEXT("Address"), .format = MARKER_URL},
    {.key = TEXT("file"), .label = TEXT("File"), .format = MARKER_FILE_PATH},
    {.key = TEXT("clean"), .label = TEXT("Clean"), .format = MARKER_SANITIZED_STRING},
    {.key = TEXT("color"), .label = TEXT("Color"), .format = MARKER_STRING, .is_hidden = true},
    {.key = TEXT("unique"), .label = TEXT("Unique"), .format = MARKER_UNIQUE_STRING},
    {.key = TEXT("flow"), .label = TEXT("Flow"), .format = MARKER_FLOW_ID},
    {.key = TEXT("end"), .label = TEXT("Flow's end"), .format = MARKER_TERMINATING_FLOW_ID},
    {.key = TEXT("duration"), .label = TEXT("Duration"), .format = MARKER_DURATION},
    {.key = TEXT("time"), .label = TEXT("Time"), .format = MARKER_TIME},
    {.key = TEXT("seconds"), .label = TEXT("Seconds"), .format = MARKER_SECONDS},
    {.key = TEXT("milliseconds"), .label = TEXT("Milliseconds"), .format = MARKER_MILLISECONDS},
    {.key = TEXT("microseconds"), .label = TEXT("Microseconds"), .format = MARKER_MICROSECONDS},
    {.key = TEXT("nanoseconds"), .label = TEXT("Nanoseconds"), .format = MARKER_NANOSECONDS},
    {.key = TEXT("bytes"), .label = TEXT("Bytes"), .format = MARKER_BYTES},
    {.key = TEXT("percentage"), .label = TEXT("Percentage"), .format = MARKER_PERCENTAGE},
    {.key = TEXT("integer"), .label = TEXT("Integer"), .format = MARKER_INTEGER},
    {.key = TEXT("decimal"), .label = TEXT(""), .format = MARKER_DECIMAL},
    {.key = TEXT("flags"), .label = TEXT("Flags"), .format = MARKER_HEXADECIMAL},
    {.key = TEXT("address"), .label = TEXT("Wide address"), .format = MARKER_HEXADECIMAL},
    {.key = TEXT("pid"), .label = TEXT("Process"), .format = MARKER_PID},
    {.key = TEXT("tid"), .label = TEXT("Thread"), .format = MARKER_TID},
    {.key = TEXT("list"), .label = TEXT("List"), .format = MARKER_LIST},
    {.key = TEXT("table"),
     .label = TEXT("Table"),
     .format = MARKER_TABLE,
     .columns = full_columns,
     .column_count = FULL_COLUMN_COUNT},
    {.key = TEXT("type"), .label = TEXT("A key that is taken"), .format = MARKER_STRING},
};
enum { FULL_FIELD_COUNT = sizeof full_fields / sizeof *full_fields };

static const struct marker_graph full_graphs[] = {
    {TEXT("bytes"), MARKER_GRAPH_BAR, GRAPH_RED},
    {TEXT("duration"), MARKER_GRAPH_LINE, GRAPH_TEAL},
    {TEXT("decimal"), MARKER_GRAPH_LINE_FILLED, GRAPH_INK},
    {TEXT("address"), MARKER_GRAPH_BAR, GRAPH_RED}, /* too wide for a number */
    {TEXT("url"), MARKER_GRAPH_BAR, GRAPH_RED},
    {TEXT("nothing"), MARKER_GRAPH_BAR, GRAPH_RED},
};

static const struct marker_schema full_schema = {
    .name = TEXT("Full"),
    .description = TEXT("All formats."),
    .chart_label = TEXT("{marker.data.unique}"),
    .tooltip_label = TEXT("{marker.name}: {marker.data.integer}"),
    .table_label = TEXT("{marker.data.url} {marker.data.bytes}"),
    .color_field = TEXT("color"),
    .display = MARKER_DISPLAY_CHART | MARKER_DISPLAY_TABLE | MARKER_DISPLAY_MEMORY,
    .is_stack_based = true,
    .fields = full_fields,
    .field_count = FULL_FIELD_COUNT,
    .graphs = full_graphs,
    .graph_count = sizeof full_graphs / sizeof *full_graphs,
};

static union marker_value full_text(const char *text) { return (union marker_value){.text = text_of(text)}; }

static union marker_value full_string(struct profile *profile, const char *text) {
    return (union marker_value){.string = profile_string(profile, text_of(text))};
}

static struct marker_cells full_table(struct profile *profile) {
    const union marker_value cells[] = {
        full_string(profile, "first row"),
        marker_value_integer(4096),
        {.duration_ns = 1500000},
        {.time_ns = FULL_PROFILE_ZERO_NS + 2000001},
        marker_value_integer(INT64_C(0x7ffff7dd5000)),
        full_text("101"),
        marker_value_absent(VALUE_STRING),
        marker_value_absent(VALUE_NUMBER),
        marker_value_absent(VALUE_DURATION),
        marker_value_absent(VALUE_TIME),
        marker_value_integer(255),
        marker_value_absent(VALUE_TEXT),
    };
    return profile_marker_cells(profile, cells, sizeof cells / sizeof *cells);
}

static void full_marker_with_all(struct profile *profile, struct thread *thread, uint16_t schema, stack_id stack) {
    const union marker_value list[] = {full_text("one"), marker_value_absent(VALUE_TEXT), full_text("")};
    const union marker_value values[FULL_FIELD_COUNT] = {
        full_text("https://example.org/?q=1"),
        full_text("/home/me/file.c"),
        full_text("clean"),
        full_text("magenta"),
        full_string(profile, "unique"),
        full_string(profile, "1f"),
        full_string(profile, "2f"),
        {.duration_ns = 1234567},
        {.time_ns = FULL_PROFILE_ZERO_NS + 3500000},
        marker_value_integer(5000),
        marker_value_integer(5),
        marker_value_real(2.5),
        marker_value_integer(7),
        marker_value_integer(INT64_C(1) << 53),
        marker_value_real(0.1),
        marker_value_integer(-12),
        {.number = decimal_make(12345, 3)},
        marker_value_integer(0xff),
        marker_value_integer(-0x7d000000), /* an address in the kernel's image */
        full_text("100"),
        full_text("101"),
        {.cells = profile_marker_cells(profile, list, 3)},
        {.cells = full_table(profile)},
        full_text("taken"),
    };
    struct marker marker = {
        .start_ns = FULL_PROFILE_ZERO_NS + 1000000,
        .end_ns = FULL_PROFILE_ZERO_NS + 3000000,
        .name = profile_string(profile, TEXT("all")),
        .stack = stack,
        .schema = schema,
        .phase = MARKER_INTERVAL,
    };
    profile_add_marker(profile, thread, marker, values);
}

static void full_marker_with_none(struct profile *profile, struct thread *thread, uint16_t schema) {
    union marker_value values[FULL_FIELD_COUNT];
    for (size_t i = 0; i < FULL_FIELD_COUNT; i++)
        values[i] = marker_value_absent(marker_format_kind(full_fields[i].format));
    struct marker marker = {
        .start_ns = FULL_PROFILE_ZERO_NS + 2000000,
        .end_ns = FULL_PROFILE_ZERO_NS + 2000000,
        .name = profile_string(profile, TEXT("none")),
        .stack = stack_none(),
        .schema = schema,
    };
    profile_add_marker(profile, thread, marker, values);
}

static void full_bare_marker(struct profile *profile, struct thread *thread, const char *name, stack_id stack) {
    struct marker marker = {
        .start_ns = FULL_PROFILE_ZERO_NS + 2500000,
        .end_ns = FULL_PROFILE_ZERO_NS + 2500000,
        .name = profile_string(profile, text_of(name)),
        .stack = stack,
        .schema = MARKER_SCHEMA_NONE,
    };
    profile_add_marker(profile, thread, marker, NULL);
}

static stack_id full_stack(struct profile *profile) {
    frame_id frame = profile_named_frame(profile, TEXT("run"), (struct category_pair){0});
    return profile_stack(profile, stack_none(), frame);
}

static thread_id full_thread(struct profile *profile, process_id process, int64_t tid, const char *name) {
    thread_id id = profile_add_thread(profile, process, tid, 0);
    profile_thread_at(profile, id)->name = text_of(name);
    return id;
}

static void full_samples(struct counter *counter, const int64_t (*samples)[3], size_t count) {
    for (size_t i = 0; i < count; i++)
        counter_add_sample(counter, FULL_PROFILE_ZERO_NS + samples[i][0] * 1000, samples[i][1],
                           (uint32_t)samples[i][2]);
}

static void full_counters(struct profile *profile, const process_id processes[4]) {
    static const int64_t memory[][3] = {{2000, 1000, 2}, {3000, -200, 1}, {3000, 50, 1}, {4000, 0, 0}};
    static const int64_t cpu[][3] = {{0, 0, 0}, {1000, 400000, 0}, {2000, 900000, 0}};
    static const int64_t lone[][3] = {{0, 7, 0}};
    struct counter counter = {
        .process = processes[2],
        .name = TEXT("queue"),
        .category = TEXT("app"),
        .description = TEXT("Jobs that wait"),
        .label = TEXT("Queue"),
        .unit = TEXT(""),
        .graph = COUNTER_ACCUMULATED,
        .color = GRAPH_PURPLE,
        .sort_weight = -3,
    };
    full_samples(profile_add_counter(profile, &counter), lone, 1);
    counter.process = processes[1];
    full_samples(profile_add_counter(profile, &counter), lone, 1);
    counter.process = processes[3]; /* a process without threads */
    full_samples(profile_add_counter(profile, &counter), lone, 1);
    counter = (struct counter){
        .process = processes[0],
        .name = TEXT("malloc"),
        .category = TEXT("Memory"),
        .description = TEXT("Heap"),
        .label = TEXT("Memory"),
        .unit = TEXT("bytes"),
        .graph = COUNTER_ACCUMULATED,
        .color = GRAPH_ORANGE,
        .sort_weight = 20,
    };
    full_samples(profile_add_counter(profile, &counter), memory, 4);
    counter = (struct counter){
        .process = processes[0],
        .name = TEXT("processCPU"),
        .category = TEXT("CPU"),
        .description = TEXT("Process CPU utilization"),
        .label = TEXT("Process CPU"),
        .unit = TEXT("percent"),
        .graph = COUNTER_RATE,
        .color = GRAPH_GREY,
        .sort_weight = 40,
    };
    full_samples(profile_add_counter(profile, &counter), cpu, 3);
    counter.name = TEXT("never");
    profile_add_counter(profile, &counter);
}

static void full_logs(struct profile *profile, const process_id processes[4]) {
    struct column *said = &profile->profiling_log, *met = &profile->gathering_log;
    profile_log_line(profile, said, processes[0], FULL_PROFILE_ZERO_NS + 3000000, TEXT("later"));
    profile_log_number(profile, said, process_none(), TEXT("chunks"), INT64_C(9007199254740993));
    profile_log_number(profile, said, processes[0], TEXT("chunksRecycled"), -4);
    profile_log_line(profile, said, processes[0], FULL_PROFILE_ZERO_NS - 500000, TEXT("before"));
    profile_log_text(profile, said, processes[0], TEXT("features"), TEXT("cpu,\"stacks\""));
    profile_log_text(profile, said, processes[0], TEXT("note"), TEXT(""));
    profile_log_line(profile, said, processes[3], TIME_NONE, TEXT("at no time"));
    profile_log_number(profile, met, process_none(), TEXT("blocksSkipped"), 0);
}

/* Builds the profile. Process 100 has everything. Process 200 has no main thread. Process 300 has a counter and a
 * main thread without samples. Process 400 has a counter and no thread. */
static void build_full_profile(struct profile *profile) {
    process_id processes[4];
    for (int64_t i = 0; i < 4; i++) processes[i] = profile_add_process(profile, (i + 1) * 100, 0);
    thread_id main_thread = full_thread(profile, processes[0], 100, "app");
    thread_id worker = full_thread(profile, processes[0], 101, "worker");
    thread_id helper = full_thread(profile, processes[1], 201, "helper");
    full_thread(profile, processes[2], 300, "quiet");
    stack_id stack = full_stack(profile);
    profile->meta.product = TEXT("app");
    profile->meta.interval_ns = 1000000;
    profile->meta.is_clock_monotonic = true;
    for (int64_t i = 0; i < 5; i++) {
        thread_add_sample(profile_thread_at(profile, main_thread), FULL_PROFILE_ZERO_NS + i * 1000000, stack, 1);
        thread_add_sample(profile_thread_at(profile, worker), FULL_PROFILE_ZERO_NS + i * 1000000, stack, 1);
    }
    thread_add_sample(profile_thread_at(profile, helper), FULL_PROFILE_ZERO_NS + 1000000, stack, 1);
    uint16_t schema = profile_marker_schema(profile, &full_schema);
    full_marker_with_all(profile, profile_thread_at(profile, main_thread), schema, stack);
    full_marker_with_none(profile, profile_thread_at(profile, main_thread), schema);
    full_bare_marker(profile, profile_thread_at(profile, worker), "bare", stack_none());
    full_bare_marker(profile, profile_thread_at(profile, worker), "bare with a stack", stack);
    full_counters(profile, processes);
    profile_add_paused_range(profile, processes[1], FULL_PROFILE_ZERO_NS + 2000000, TIME_NONE);
    profile_add_paused_range(profile, processes[0], FULL_PROFILE_ZERO_NS + 1250000, FULL_PROFILE_ZERO_NS + 1750000);
    profile_add_paused_range(profile, processes[0], FULL_PROFILE_ZERO_NS - 9, FULL_PROFILE_ZERO_NS + 250000);
    full_logs(profile, processes);
}
