#include <stdio.h>
#include <stdlib.h>

#include "tests/support/trace_fixture.h"
#include "tests/support/unit_test.h"

static void assert_counters(const char *expected) { assert_printed(profile_counters_text(&fixture.profile), expected); }

/* Begins the events chunk of most tests: process 10 with thread 10, "main". */
static void begin_events(uint64_t base_ticks) {
    begin_app_chunk(base_ticks, base_ticks / 2);
    add_thread(&fixture.trace, 0, 1, 10, 0, "main");
}

/* ---- Detection and the header. ---- */

TEST(test_probe, setup, teardown) {
    assert_int_equal(reader_trace.probe(TEXT("GREC\r\n\x1a\n"), true), PROBE_SURE);
    assert_int_equal(reader_trace.probe(trace_text(&fixture.trace), false), PROBE_SURE);
    assert_int_equal(reader_trace.probe(TEXT("GREC\r\n\x1a"), true), PROBE_NO);
    assert_int_equal(reader_trace.probe(TEXT("GREC\n\x1a\nxxxx"), true), PROBE_NO);
    assert_int_equal(reader_trace.probe((struct text){0}, true), PROBE_NO);
}

static void assert_header_failure(uint64_t offset, const char *message) {
    read_bytes(trace_text(&fixture.trace), 0);
    assert_int_equal(fixture.failure.code, FAILURE_INPUT);
    assert_string_equal(fixture.failure.message, message);
    assert_true(fixture.failure.has_position);
    assert_int_equal(fixture.failure.position.line, 0);
    assert_int_equal(fixture.failure.position.offset, offset);
}

TEST(test_header_that_is_cut, setup, teardown) {
    for (size_t count = 8; count < BUILD_HEADER_BYTES; count += 7) {
        read_bytes(text_slice(trace_text(&fixture.trace), 0, count), 0);
        assert_int_equal(fixture.failure.code, FAILURE_INPUT);
        assert_int_equal(fixture.failure.position.offset, count);
    }
    fixture.trace.bytes_count = 100;
    assert_header_failure(100, "the trace is cut off within its header: 100 of 4096 bytes are there");
    fixture.trace.bytes_count = 4;
    assert_header_failure(0,
                          "this is not a trace of the recorder, which begins with other bytes; without --from it is "
                          "read as what it looks like");
    fixture.trace.bytes_count = 0;
    read_bytes(trace_text(&fixture.trace), 0);
    assert_int_equal(fixture.failure.code, FAILURE_INPUT);
}

TEST(test_header_of_another_version, setup, teardown) {
    trace_write(&fixture.trace, BUILD_AT_VERSION, 2, 4);
    assert_header_failure(8,
                          "the trace is of version 2, and version 1 is read here: convert it with the gecko-convert "
                          "that came with its recorder");
}

TEST(test_header_that_is_damaged, setup, teardown) {
    trace_write(&fixture.trace, BUILD_AT_RATE, 1, 1);
    assert_header_failure(80,
                          "the header of the trace is damaged: its hash is wrong; copy the trace again from where "
                          "it was recorded");
}

TEST(test_impossible_numbers, setup, teardown) {
    static const struct {
        size_t at;
        size_t width;
        uint64_t value;
        const char *message;
    } cases[] = {
        {BUILD_AT_HEADER_BYTES, 4, 500, "the size of the header in the header of the trace is impossible: 500"},
        {BUILD_AT_HEADER_BYTES, 4, 8193, "the size of the header in the header of the trace is impossible: 8193"},
        {BUILD_AT_CHUNKS_OFFSET, 8, 8191, "the offset of the chunks in the header of the trace is impossible: 8191"},
        {BUILD_AT_CHUNKS_OFFSET, 8, (uint64_t)1 << 40,
         "the offset of the chunks in the header of the trace is impossible: 1099511627776"},
        {BUILD_AT_CHUNK_BYTES, 4, 0, "the size of a chunk in the header of the trace is impossible: 0"},
        {BUILD_AT_CHUNK_BYTES, 4, 5000, "the size of a chunk in the header of the trace is impossible: 5000"},
        {BUILD_AT_CHUNK_BYTES, 4, 2048, "the size of a chunk in the header of the trace is impossible: 2048"},
        {BUILD_AT_CHUNK_BYTES, 4, 2097152, "the size of a chunk in the header of the trace is impossible: 2097152"},
        {BUILD_AT_CLOCK, 4, 3, "the kind of clock in the header of the trace is impossible: 3"},
        {BUILD_AT_RATE, 8, 999999, "the rate of the clock in the header of the trace is impossible: 999999"},
        {BUILD_AT_RATE, 8, 100000000001,
         "the rate of the clock in the header of the trace is impossible: 100000000001"},
        {BUILD_AT_START_NS, 8, UINT64_MAX,
         "the start on the monotonic clock in the header of the trace is impossible: 18446744073709551615"},
        {BUILD_AT_START_REALTIME, 8, UINT64_MAX,
         "the start on the clock of the day in the header of the trace is impossible: 18446744073709551615"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        uint64_t old = trace_read(&fixture.trace, cases[i].at, cases[i].width);
        trace_write(&fixture.trace, cases[i].at, cases[i].value, cases[i].width);
        trace_hash_header(&fixture.trace);
        assert_header_failure(cases[i].at, cases[i].message);
        trace_write(&fixture.trace, cases[i].at, old, cases[i].width);
    }
}

TEST(test_trace_without_chunks, setup, teardown) {
    read_trace();
    assert_int_equal(fixture.profile.threads.count, 0);
    assert_int_equal(lost_sum(), 0);
    assert_text(fixture.profile.meta.imported_from, "gecko-convert recorder");
    /* The trace ends within the recorder's tables. */
    read_bytes(text_slice(trace_text(&fixture.trace), 0, 5000), 0);
    assert_int_equal(fixture.failure.code, FAILURE_NONE);
}

/* ---- Processes and threads. ---- */

TEST(test_processes_and_threads, setup, teardown) {
    struct trace_builder *trace = begin_definitions();
    uint64_t marker = define_marker(trace, "m", 0, 0);
    /* This chunk has the second thread of the process, then the first one with two names. */
    trace_events_chunk(trace, 2000, 1000);
    add_process(trace, 10, BUILD_START_NS + 500, "old name");
    add_thread(trace, 10, 2, 12, -2000, "worker");
    add_instant(trace, 10, marker);
    seal();
    trace_events_chunk(trace, 4000, 2000);
    add_process(trace, 10, BUILD_START_NS + 500, "new name");
    add_thread(trace, 0, 1, 10, 100, "main");
    add_instant(trace, 20, marker);
    add_thread(trace, 100, 1, 10, 100, "renamed");
    add_mark(trace, BUILD_THREAD_END, 100);
    add_mark(trace, BUILD_PROCESS_END, 100);
    seal();
    /* This older chunk is later in the file, so its names are older. Its thread with tid 12 is a different one. */
    trace_events_chunk(trace, 1000, 500);
    add_process(trace, 10, BUILD_START_NS + 500, "oldest name");
    add_thread(trace, 0, 1, 10, 3100, "first name");
    add_thread(trace, 0, 3, 12, 0, "");
    add_instant(trace, 0, marker);
    seal();
    /* Another process with the same pid, which began earlier, and ended. */
    trace_events_chunk(trace, 1000, 500);
    add_process(trace, 10, BUILD_START_NS + 400, "before");
    add_thread(trace, 0, 4, 10, 0, "x");
    add_instant(trace, 0, marker);
    add_mark(trace, BUILD_PROCESS_END, 0);
    seal_and_read();
    assert_markers(
        "10.2/10 instant 2010 Other m\n"
        "10.2/12 instant 1010 Other m\n"
        "10.2/12 instant 500 Other m\n"
        "10/10 instant 500 Other m\n");
    const struct process *process = profile_process_at(&fixture.profile, (process_id){0});
    assert_text(process->name, "new name");
    assert_text(process->pid_text, "10.2");
    assert_int_equal(process->start_ns, 500);
    assert_int_equal(process->end_ns, 2150);
    const struct thread *worker = profile_thread_at(&fixture.profile, (thread_id){0});
    assert_text(worker->name, "worker");
    assert_int_equal(worker->start_ns, 0);
    assert_int_equal(worker->generation, 0);
    const struct thread *main_thread = profile_thread_at(&fixture.profile, (thread_id){1});
    assert_text(main_thread->name, "renamed");
    assert_true(main_thread->is_main);
    assert_int_equal(main_thread->start_ns, 2050);
    assert_int_equal(main_thread->end_ns, 2100);
    const struct thread *second_generation = profile_thread_at(&fixture.profile, (thread_id){2});
    assert_text(second_generation->name, "thread 12");
    assert_text(second_generation->tid_text, "12.2");
    assert_text(profile_process_at(&fixture.profile, (process_id){1})->name, "before");
}

/* The recorder's own marker for a short process does not make its thread worth a track. */
TEST(test_routine_markers, setup, teardown) {
    struct trace_builder *trace = begin_definitions();
    uint64_t own = define_marker(trace, "Process without samples", 0, 0), plain = define_marker(trace, "m", 0, 0);
    begin_events(0);
    add_instant(trace, 10, own);
    add_instant(trace, 10, plain);
    seal_and_read();
    const struct column *markers = &((const struct thread *)column_at(&fixture.profile.threads, 0))->markers;
    assert_true(((const struct marker *)column_at(markers, 0))->is_routine);
    assert_false(((const struct marker *)column_at(markers, 1))->is_routine);
}

TEST(test_marker_for_another_thread, setup, teardown) {
    struct trace_builder *trace = begin_definitions();
    uint64_t marker = define_marker(trace, "m", 0, 0);
    begin_events(0);
    for (uint64_t uid = 2; uid < 4; uid++) add_block(trace, BUILD_MARKER, 10, 8, marker, uid, 20 + uid);
    add_thread(trace, 20, 3, 23, 0, "three");
    add_instant(trace, 10, marker);
    seal_and_read();
    assert_markers(
        "10/22 instant 5 Other m\n"
        "10/23 instant 10 Other m\n"
        "10/23 instant 15 Other m\n");
}

TEST(test_events_before_their_thread, setup, teardown) {
    struct trace_builder *trace = begin_definitions();
    uint64_t marker = define_marker(trace, "m", 0, 0);
    trace_events_chunk(trace, 0, 0);
    add_instant(trace, 10, marker);
    add_thread(trace, 0, 1, 10, 0, "main");
    add_block(trace, BUILD_SAMPLE, 10, 0);
    add_process(trace, 10, 0, "app");
    add_instant(trace, 10, marker);
    add_mark(trace, BUILD_PAUSE, 0);
    add_thread(trace, 40, 1, 10, 0, "main");
    add_instant(trace, 2, marker);
    seal_and_read();
    assert_markers("10/10 instant 21 Other m\n");
    assert_ledger("entry without a process or thread named before it", 3);
    assert_ledger("sample without a thread named before it", 1);
    assert_int_equal(fixture.profile.origin_ns, BUILD_START_NS);
}

/* ---- Markers. ---- */

TEST(test_kinds_of_markers, setup, teardown) {
    struct trace_builder *trace = begin_definitions();
    uint64_t category = define_category(trace, "Work", 3, 0);
    uint64_t part = define_category(trace, "Part", 3, category);
    uint64_t marker = define_marker(trace, "m", part, 0);
    begin_events(0);
    add_instant(trace, 100, marker);
    add_block(trace, BUILD_INTERVAL, 100, 60, marker);   /* 200 */
    add_block(trace, BUILD_INTERVAL_START, 100, marker); /* 300 */
    add_block(trace, BUILD_INTERVAL_END, 100, marker);   /* 400 */
    for (unsigned phase = 0; phase < 4; phase++) {
        put_lebs(trace, 100, 4 | phase, marker);
        put_zigzag(trace, 80);
        put_zigzag(trace, 20);
        trace_block(trace, BUILD_MARKER);
    }
    for (unsigned phase = 0; phase < 4; phase++) add_block(trace, BUILD_MARKER, 100, phase, marker);
    /* One interval ends before it starts, the other one is in the future. */
    put_lebs(trace, 100, 5, marker);
    put_zigzag(trace, 20);
    put_zigzag(trace, 80);
    trace_block(trace, BUILD_MARKER);
    put_lebs(trace, 100, 5, marker);
    put_zigzag(trace, 0);
    put_zigzag(trace, -2000);
    trace_block(trace, BUILD_MARKER);
    seal_and_read();
    assert_markers(
        "10/10 instant 50 Work m\n"
        "10/10 interval 70..100 Work m\n"
        "10/10 start 150 Work m\n"
        "10/10 end 200 Work m\n"
        "10/10 instant 210 Work m\n"
        "10/10 interval 260..290 Work m\n"
        "10/10 start 310 Work m\n"
        "10/10 end 390 Work m\n"
        "10/10 instant 450 Work m\n"
        "10/10 interval 500..500 Work m\n"
        "10/10 start 550 Work m\n"
        "10/10 end 600 Work m\n"
        "10/10 interval 640..640 Work m\n"
        "10/10 interval 700..1700 Work m\n");
    assert_ledger("interval that ends before it starts, now without length", 1);
    assert_int_equal(lost_sum(), 0);
}

enum {
    FORMAT_STRING,
    FORMAT_URL,
    FORMAT_FILE_PATH,
    FORMAT_SANITIZED,
    FORMAT_UNIQUE,
    FORMAT_FLOW,
    FORMAT_TERMINATING_FLOW,
    FORMAT_DURATION,
    FORMAT_TIME,
    FORMAT_SECONDS,
    FORMAT_MILLISECONDS,
    FORMAT_MICROSECONDS,
    FORMAT_NANOSECONDS,
    FORMAT_BYTES,
    FORMAT_PERCENTAGE,
    FORMAT_INTEGER,
    FORMAT_DECIMAL,
    FORMAT_HEXADECIMAL,
    FORMAT_PID,
    FORMAT_TID,
    FORMAT_LIST,
    FORMAT_TABLE,
    FORMAT_COUNT
};

/* Defines a type with a field of every format, named "f0" and so on. The table has a text, a time and a percentage per
 * row. */
static uint64_t define_all_formats(struct trace_builder *trace) {
    put_type(trace, "All", 1 | 64, 1);
    put_leb(trace, FORMAT_COUNT);
    for (unsigned format = 0; format < FORMAT_COUNT; format++) {
        char key[8];
        snprintf(key, sizeof key, "f%u", format);
        put_text(trace, key);
        put_text(trace, "label");
        put_lebs(trace, format, format == FORMAT_URL, format == FORMAT_TABLE ? 3 : 0);
        if (format != FORMAT_TABLE) continue;
        put_text(trace, "text");
        put_leb(trace, FORMAT_STRING);
        put_text(trace, "time");
        put_leb(trace, FORMAT_TIME);
        put_text(trace, "");
        put_leb(trace, FORMAT_PERCENTAGE);
    }
    put_leb(trace, 2);
    put_text(trace, "f15");
    put_lebs(trace, 2, 9);
    put_text(trace, "f0");
    put_lebs(trace, 0, 0);
    return trace_definition(trace, BUILD_MARKER_TYPE);
}

TEST(test_payload_of_every_format, setup, teardown) {
    struct trace_builder *trace = begin_definitions();
    uint64_t marker = define_marker(trace, "m", 0, define_all_formats(trace));
    begin_events(0);
    put_lebs(trace, 1000, marker);
    put_text(trace, "string");
    put_text(trace, "https://example.org/");
    put_text(trace, "/a/b");
    put_text(trace, "secret");
    put_text(trace, "unique");
    put_lebs(trace, 0xabcdef, UINT64_MAX);
    put_zigzag(trace, -1500);
    put_zigzag(trace, -400);
    put_real(trace, 1.5);
    put_real(trace, 2.5);
    put_zigzag(trace, 3);
    put_zigzag(trace, -4);
    put_zigzag(trace, 5);
    put_real(trace, 0.25);
    put_zigzag(trace, INT64_MIN);
    put_real(trace, -1e300);
    put_leb(trace, 0xffffffffffffffff);
    put_zigzag(trace, 123);
    put_zigzag(trace, 456);
    put_leb(trace, 2);
    put_text(trace, "one");
    put_text(trace, "");
    put_leb(trace, 6);
    put_byte(trace, 4);
    put_text(trace, "row");
    put_byte(trace, 6);
    put_zigzag(trace, 200);
    put_byte(trace, 3);
    put_real(trace, 0.5);
    put_byte(trace, 0);
    put_byte(trace, 0);
    put_byte(trace, 1);
    put_zigzag(trace, 1);
    trace_block(trace, BUILD_INSTANT);
    seal_and_read();
    assert_markers(
        "10/10 instant 500 Other m All{f0=\"string\",f1=\"https://example.org/\",f2=\"/a/b\",f3=\"secret\",f4='unique',"
        "f5='0000000000abcdef',f6='ffffffffffffffff',f7=-1500ns,f8=@700,f9=1500,f10=2.5,f11=3,f12=-4,f13=5,f14=0.25,"
        "f15=-9223372036854775808,f16=-1e+300,f17=-1,f18=\"123\",f19=\"456\",f20=[\"one\",\"\"],"
        "f21=[\"row\",@400,0.5|-,-,1]}\n");
    const struct marker_schema *schema = column_at(&fixture.profile.marker_schemas, 0);
    assert_text(schema->description, "a type");
    assert_text(schema->chart_label, "chart");
    assert_text(schema->tooltip_label, "tooltip");
    assert_text(schema->table_label, "table");
    assert_int_equal(schema->display, MARKER_DISPLAY_CHART | MARKER_DISPLAY_STACK_CHART);
    assert_true(schema->is_stack_based);
    assert_text(schema->fields[0].label, "label");
    assert_false(schema->fields[0].is_hidden);
    assert_true(schema->fields[1].is_hidden);
    assert_true(schema->fields[17].has_wide_values);
    assert_int_equal(schema->fields[21].column_count, 3);
    assert_text(schema->fields[21].columns[1].label, "time");
    /* Only one of the graphs is kept: a text field cannot be drawn. */
    assert_int_equal(schema->graph_count, 1);
    assert_text(schema->graphs[0].key, "f15");
    assert_int_equal(schema->graphs[0].type, MARKER_GRAPH_LINE_FILLED);
    assert_int_equal(schema->graphs[0].color, GRAPH_YELLOW);
    assert_ledger("field, column or graph of a marker type that cannot be shown", 1);
}

static void put_tagged(struct trace_builder *trace, unsigned wire, uint64_t string) {
    put_byte(trace, wire);
    if (wire == 1) put_zigzag(trace, -7);
    if (wire == 2) put_leb(trace, 8);
    if (wire == 3) put_real(trace, 2.5);
    if (wire == 4) put_text(trace, "text");
    if (wire == 5) put_leb(trace, string);
    if (wire == 6) put_zigzag(trace, 20);
    if (wire == 7) {
        put_leb(trace, 1);
        put_text(trace, "item");
    }
    if (wire == 8) {
        put_leb(trace, 1);
        put_byte(trace, 2);
        put_leb(trace, 9);
    }
}

/* Reads a field of the format with a tagged value of each wire type. */
static void assert_tagged(unsigned format, const char *expected) {
    teardown(NULL);
    setup(NULL);
    struct trace_builder *trace = begin_definitions();
    uint64_t string = define_string(trace, "defined");
    put_type(trace, "T", 0, 0);
    put_leb(trace, 1);
    put_text(trace, "v");
    put_text(trace, "");
    put_lebs(trace, format, 0, format == FORMAT_TABLE);
    if (format == FORMAT_TABLE) {
        put_text(trace, "");
        put_leb(trace, FORMAT_INTEGER);
    }
    put_leb(trace, 0);
    uint64_t marker = define_marker(trace, "m", 0, trace_definition(trace, BUILD_MARKER_TYPE));
    begin_events(0);
    for (unsigned wire = 0; wire < 9; wire++) {
        put_lebs(trace, 20, 16, marker);
        put_tagged(trace, wire, string);
        trace_block(trace, BUILD_MARKER);
    }
    seal_and_read();
    struct profile_text *values = profile_text_create();
    const struct thread *thread = profile_thread_at(&fixture.profile, (thread_id){0});
    const struct marker_schema *schema = column_at(&fixture.profile.marker_schemas, 0);
    assert_int_equal(thread->markers.count, 9);
    for (size_t i = 0; i < 9; i++) {
        const struct marker *row = column_at(&thread->markers, i);
        if (i) profile_text_print(values, " ");
        const union marker_value value = value_of(&fixture.profile, row, 0);
        profile_text_add_value(values, &fixture.profile, schema->fields, schema->fields->format, &value);
    }
    assert_printed(values, expected);
}

TEST(test_tagged_values, setup, teardown) {
    /*                          absent integer unsigned real text string time texts table */
    assert_tagged(FORMAT_STRING, "- \"-7\" \"8\" - \"text\" \"defined\" - - -");
    assert_tagged(FORMAT_PID, "- \"-7\" \"8\" - \"text\" \"defined\" - - -");
    assert_tagged(FORMAT_UNIQUE, "- '-7' '8' - 'text' 'defined' - - -");
    assert_tagged(FORMAT_FLOW, "- 'fffffffffffffff9' '0000000000000008' - 'text' 'defined' - - -");
    assert_tagged(FORMAT_DURATION, "- -7ns 8ns 2ns - - - - -");
    assert_tagged(FORMAT_TIME, "- - - - - - @60 - -");
    assert_tagged(FORMAT_SECONDS, "- -7000 8000 2500 - - - - -");
    assert_tagged(FORMAT_BYTES, "- -7 8 2.5 - - - - -");
    assert_tagged(FORMAT_HEXADECIMAL, "- -7 8 2.5 - - - - -");
    assert_tagged(FORMAT_LIST, "- - - - - - - [\"item\"] -");
    assert_ledger("value that field \"v\" of marker \"m\" cannot have", 7);
    assert_tagged(FORMAT_TABLE, "- - - - - - - - [9]");
    assert_int_equal(lost_sum(), 7);
    assert_int_equal(ledger_sum(&fixture.profile.ledger, LEDGER_VALUES, LEDGER_LOST), 7);
}

TEST(test_numbers_beyond, setup, teardown) {
    struct trace_builder *trace = begin_definitions();
    put_type(trace, "T", 0, 0);
    put_leb(trace, 4);
    put_field(trace, "seconds", FORMAT_SECONDS);
    put_field(trace, "bytes", FORMAT_BYTES);
    put_field(trace, "duration", FORMAT_DURATION);
    put_field(trace, "real", FORMAT_DECIMAL);
    put_leb(trace, 0);
    uint64_t marker = define_marker(trace, "m", 0, trace_definition(trace, BUILD_MARKER_TYPE));
    begin_events(0);
    put_lebs(trace, 0, 16, marker);
    put_byte(trace, 1);
    put_zigzag(trace, INT64_MAX);
    put_byte(trace, 2);
    put_leb(trace, UINT64_MAX);
    put_byte(trace, 3);
    put_real(trace, 1e300);
    put_byte(trace, 3);
    put_real(trace, __builtin_inf());
    trace_block(trace, BUILD_MARKER);
    seal_and_read();
    assert_markers("10/10 instant 0 Other m T{seconds=9.22337e+21,bytes=1.84467e+19,duration=-,real=-}\n");
    assert_ledger("value that field \"duration\" of marker \"m\" cannot have", 1);
    assert_ledger("value that field \"real\" of marker \"m\" cannot have", 1);
}

/* The ledger and the log name the marker and the field of the first sixteen pairs. */
TEST(test_values_that_do_not_fit, setup, teardown) {
    enum { MARKER_COUNT = 18 };
    struct trace_builder *trace = begin_definitions();
    uint64_t type = define_type(trace, "T", FORMAT_DURATION), markers[MARKER_COUNT];
    for (unsigned i = 0; i < MARKER_COUNT; i++) {
        char name[16];
        snprintf(name, sizeof name, "marker %u", i);
        markers[i] = define_marker(trace, name, 0, type);
    }
    begin_events(0);
    uint64_t first_offset = 0;
    for (unsigned i = 0; i < 2 * MARKER_COUNT; i++) {
        if (i == 1) first_offset = trace->chunk_at + trace->chunk_used;
        put_lebs(trace, 0, 16, markers[i % MARKER_COUNT]);
        put_byte(trace, 4);
        put_text(trace, "a text");
        trace_block(trace, BUILD_MARKER);
    }
    seal_and_read();
    uint64_t offset;
    assert_int_equal(ledger_of("value that field \"v\" of marker \"marker 1\" cannot have", &offset), 2);
    assert_int_equal(offset, first_offset);
    assert_ledger("value that field \"v\" of marker \"marker 15\" cannot have", 2);
    assert_ledger("value that its field cannot have", 4);
    assert_int_equal(lost_sum(), 2 * MARKER_COUNT);
    char expected[128];
    snprintf(expected, sizeof expected,
             "lost 2 values: value that field \"v\" of marker \"marker 1\" cannot have, first at byte %llu",
             (unsigned long long)first_offset);
    unsigned line_count = 0, same_count = 0;
    for (size_t i = 0; i < fixture.profile.gathering_log.count; i++) {
        const struct log_line *line = column_at(&fixture.profile.gathering_log, i);
        line_count += !line->key.bytes_count;
        same_count += text_equal(line->text, text_of(expected));
    }
    assert_int_equal(line_count, 16);
    assert_int_equal(same_count, 1);
}

/* A damaged entry loses its block, not its values. */
TEST(test_misfits_of_a_damaged_entry, setup, teardown) {
    struct trace_builder *trace = begin_definitions();
    uint64_t marker = define_marker(trace, "m", 0, define_type(trace, "T", FORMAT_DURATION));
    begin_events(0);
    put_lebs(trace, 0, 16 | 32, marker, 3);
    put_byte(trace, 4);
    put_text(trace, "a");
    trace_block(trace, BUILD_MARKER); /* its stack is missing */
    seal_and_read();
    assert_ledger(CAUSE_DAMAGED, 1);
    assert_int_equal(lost_sum(), 1);
}

TEST(test_payloads_of_other_lengths, setup, teardown) {
    struct trace_builder *trace = begin_definitions();
    put_type(trace, "T", 0, 0);
    put_leb(trace, 2);
    put_field(trace, "a", FORMAT_INTEGER);
    put_field(trace, "b", FORMAT_INTEGER);
    put_leb(trace, 0);
    uint64_t marker = define_marker(trace, "m", 0, trace_definition(trace, BUILD_MARKER_TYPE));
    begin_events(0);
    for (unsigned count = 0; count < 4; count++) {
        put_lebs(trace, 2, marker);
        for (unsigned i = 0; i < count; i++) put_zigzag(trace, 1 + i);
        trace_block(trace, BUILD_INSTANT);
    }
    /* After an unknown wire type, nothing more can be read. */
    put_lebs(trace, 2, 16, marker);
    put_byte(trace, 9);
    put_byte(trace, 1);
    put_zigzag(trace, 1);
    trace_block(trace, BUILD_MARKER);
    seal_and_read();
    assert_markers(
        "10/10 instant 1 Other m T{a=-,b=-}\n"
        "10/10 instant 2 Other m T{a=1,b=-}\n"
        "10/10 instant 3 Other m T{a=1,b=2}\n"
        "10/10 instant 4 Other m T{a=1,b=2}\n"
        "10/10 instant 5 Other m T{a=-,b=-}\n");
    assert_int_equal(lost_sum(), 1);
}

TEST(test_tables_that_are_not_even, setup, teardown) {
    struct trace_builder *trace = begin_definitions();
    put_type(trace, "T", 0, 0);
    put_leb(trace, 2);
    put_text(trace, "t");
    put_text(trace, "");
    put_lebs(trace, FORMAT_TABLE, 0, 2);
    put_text(trace, "a");
    put_leb(trace, FORMAT_LIST); /* a column cannot be a list */
    put_text(trace, "b");
    put_leb(trace, 99);
    put_field(trace, "after", FORMAT_INTEGER);
    put_leb(trace, 0);
    uint64_t marker = define_marker(trace, "m", 0, trace_definition(trace, BUILD_MARKER_TYPE));
    begin_events(0);
    put_lebs(trace, 0, marker, 5);
    for (unsigned i = 0; i < 3; i++) {
        put_byte(trace, 4);
        put_text(trace, "x");
    }
    put_byte(trace, 7); /* a list in a cell is skipped */
    put_leb(trace, 1);
    put_text(trace, "y");
    put_byte(trace, 4);
    put_text(trace, "rest");
    put_zigzag(trace, 77);
    trace_block(trace, BUILD_INSTANT);
    seal_and_read();
    assert_markers("10/10 instant 0 Other m T{t=[\"x\",\"x\"|\"x\",-],after=77}\n");
    assert_ledger("value that field \"t\" of marker \"m\" cannot have", 2);
}

TEST(test_long_lists, setup, teardown) {
    struct trace_builder *trace = begin_definitions();
    uint64_t marker = define_marker(trace, "m", 0, define_type(trace, "T", FORMAT_LIST));
    begin_events(0);
    put_lebs(trace, 0, marker, 500);
    for (unsigned i = 0; i < 500; i++) put_text(trace, i % 2 ? "b" : "a");
    trace_block(trace, BUILD_INSTANT);
    add_block(trace, BUILD_INSTANT, 0, marker, 0);
    seal_and_read();
    assert_int_equal(fixture.profile.payloads.cells.count, 500);
    const union marker_value *last = profile_cell_at(&fixture.profile, 499);
    assert_text(last->text, "b");
    const union marker_value first = profile_value_at(&fixture.profile, 0, VALUE_CELLS);
    assert_int_equal(first.cells.count, 500);
    const union marker_value empty = profile_value_at(&fixture.profile, 1, VALUE_CELLS);
    assert_false(marker_value_is_absent(VALUE_CELLS, &empty));
    assert_int_equal(empty.cells.count, 0);
}

/* Several types of one name get unique names, and fields of one key get unique keys. */
TEST(test_types_of_one_name, setup, teardown) {
    struct trace_builder *trace = begin_definitions();
    uint64_t types[] = {define_type(trace, "T", FORMAT_INTEGER),   define_type(trace, "T", FORMAT_INTEGER),
                        define_type(trace, "T", FORMAT_BYTES),     define_type(trace, "T 2", FORMAT_DECIMAL),
                        define_type(trace, "T", FORMAT_DECIMAL),   define_type(trace, "", FORMAT_INTEGER),
                        define_type(trace, "Network", FORMAT_PID), define_type(trace, "Network_", FORMAT_TID)};
    enum { TYPE_COUNT = sizeof types / sizeof *types };
    uint64_t markers[TYPE_COUNT];
    for (size_t i = 0; i < TYPE_COUNT; i++) markers[i] = define_marker(trace, "m", 0, types[i]);
    put_type(trace, "Keys", 0, 0);
    put_leb(trace, 4);
    for (unsigned i = 0; i < 3; i++) put_field(trace, "k", FORMAT_INTEGER);
    put_field(trace, "k 2", FORMAT_INTEGER);
    put_leb(trace, 0);
    uint64_t keys = define_marker(trace, "m", 0, trace_definition(trace, BUILD_MARKER_TYPE));
    begin_events(0);
    for (size_t i = 0; i < TYPE_COUNT; i++) add_instant(trace, 2, markers[i]);
    add_instant(trace, 2, keys);
    seal_and_read();
    assert_markers(
        "10/10 instant 1 Other m T{v=-}\n"
        "10/10 instant 2 Other m T{v=-}\n"
        "10/10 instant 3 Other m T 2{v=-}\n"
        "10/10 instant 4 Other m T 2 2{v=-}\n"
        "10/10 instant 5 Other m T 3{v=-}\n"
        "10/10 instant 6 Other m Unnamed{v=-}\n"
        "10/10 instant 7 Other m Network_{v=-}\n"
        "10/10 instant 8 Other m Network_ 2{v=-}\n"
        "10/10 instant 9 Other m Keys{k=-,k 2=-,k 3=-,k 2 2=-}\n");
}

/* If several types have a name that the front-end knows, the type with the right fields keeps the name, wherever it is
 * defined. Of that type's markers, those with the required values keep it. */
TEST(test_types_that_the_front_end_knows, setup, teardown) {
    struct trace_builder *trace = begin_definitions();
    uint64_t other_type = define_type(trace, "Text", FORMAT_STRING);
    put_type(trace, "Text", 0, 0);
    put_leb(trace, 1);
    put_field(trace, "name", FORMAT_STRING);
    put_leb(trace, 0);
    uint64_t type = trace_definition(trace, BUILD_MARKER_TYPE);
    uint64_t other = define_marker(trace, "toString", 0, other_type), text = define_marker(trace, "m", 0, type);
    uint64_t bare = define_marker(trace, "CompositorScreenshot", 0, 0);
    begin_events(0);
    add_instant(trace, 2, other);
    add_instant(trace, 2, text);
    put_lebs(trace, 2, text);
    put_text(trace, "a");
    trace_block(trace, BUILD_INSTANT);
    add_instant(trace, 2, bare);
    seal_and_read();
    assert_markers(
        "10/10 instant 1 Other toString_ Text_{v=-}\n"
        "10/10 instant 2 Other m Text__{name=-}\n"
        "10/10 instant 3 Other m Text{name=\"a\"}\n"
        "10/10 instant 4 Other CompositorScreenshot_\n");
}

/* A type may have fields and flags of a newer recorder, or damaged ones. */
TEST(test_types_beyond_what_is_known, setup, teardown) {
    struct trace_builder *trace = begin_definitions();
    put_type(trace, "New", 0xff00, 2);
    put_leb(trace, 3);
    put_field(trace, "a", FORMAT_INTEGER);
    put_field(trace, "new", FORMAT_COUNT);
    put_field(trace, "b", FORMAT_INTEGER);
    put_leb(trace, 2);
    put_text(trace, "a");
    put_lebs(trace, 77, 78);
    put_text(trace, "missing");
    put_lebs(trace, 0, 0);
    put_text(trace, "what comes behind");
    uint64_t new_type = define_marker(trace, "m", 0, trace_definition(trace, BUILD_MARKER_TYPE));
    put_type(trace, "Large", 0, 0);
    put_leb(trace, 130);
    for (unsigned i = 0; i < 130; i++) {
        char key[8];
        snprintf(key, sizeof key, "%u", i);
        put_field(trace, key, FORMAT_INTEGER);
    }
    put_leb(trace, 0);
    uint64_t large = define_marker(trace, "m", 0, trace_definition(trace, BUILD_MARKER_TYPE));
    begin_events(0);
    for (unsigned i = 0; i < 2; i++) {
        put_lebs(trace, 2, i ? large : new_type);
        for (int value = 0; value < 130; value++) put_zigzag(trace, value);
        trace_block(trace, BUILD_INSTANT);
    }
    seal_and_read();
    const struct marker_schema *schema = column_at(&fixture.profile.marker_schemas, 0);
    assert_int_equal(schema->display, 0);
    assert_false(schema->is_stack_based);
    assert_int_equal(schema->field_count, 1);
    assert_int_equal(schema->graph_count, 1);
    assert_int_equal(schema->graphs[0].type, MARKER_GRAPH_BAR);
    assert_int_equal(schema->graphs[0].color, GRAPH_GREY);
    schema = column_at(&fixture.profile.marker_schemas, 1);
    assert_int_equal(schema->field_count, 128);
    assert_ledger("field, column or graph of a marker type that cannot be shown", 2 + 1 + 2);
}

/* ---- Stacks. ---- */

static void put_label(struct trace_builder *trace, uint64_t label) {
    put_byte(trace, 0);
    put_leb(trace, label);
}

static void put_label_text(struct trace_builder *trace, uint64_t label, const char *text) {
    put_byte(trace, 1);
    put_leb(trace, label);
    put_text(trace, text);
}

static void put_script(struct trace_builder *trace, uint64_t category, unsigned line, unsigned column) {
    put_byte(trace, 2);
    put_leb(trace, category);
    put_text(trace, "run");
    put_text(trace, "app.lua");
    put_lebs(trace, line, column);
}

static const struct frame *frame_named(const char *name) {
    for (uint32_t i = 0; i < row_table_count(&fixture.profile.frames); i++)
        if (text_equal(frame_func_name(&fixture.profile, (frame_id){i}), text_of(name)))
            return profile_frame_at(&fixture.profile, (frame_id){i});
    fail_msg("no frame of %s", name);
    return NULL;
}

TEST(test_stacks, setup, teardown) {
    struct trace_builder *trace = begin_definitions();
    uint64_t category = define_category(trace, "Work", 3, 0);
    uint64_t part = define_category(trace, "Part", 3, category);
    uint64_t outer = define_label(trace, "outer", 0, "main.c", 12);
    uint64_t inner = define_label(trace, "inner", part, "", 0);
    uint64_t nameless = define_label(trace, "", 0, "", 0);
    begin_events(0);
    put_lebs(trace, 2, 3);
    put_label(trace, outer);
    put_label_text(trace, inner, "with text");
    put_script(trace, part, 30, 4);
    trace_block(trace, BUILD_SAMPLE);
    add_block(trace, BUILD_SAMPLE, 2, 0);
    put_lebs(trace, 2, 4);
    put_label(trace, outer);
    put_label_text(trace, inner, "");
    put_label_text(trace, nameless, "text alone");
    put_script(trace, 0, 0, 4);
    trace_block(trace, BUILD_SAMPLE);
    put_lebs(trace, 2, 1);
    put_label(trace, outer);
    trace_block(trace, BUILD_SAMPLE);
    seal_and_read();
    assert_samples(
        "10/10 main 1 1 outer;inner with text;run\n"
        "10/10 main 2 1 \n"
        "10/10 main 3 1 outer;inner;text alone;run\n"
        "10/10 main 4 1 outer\n");
    assert_true(fixture.profile.meta.has_stacks);
    assert_int_equal(fixture.profile.meta.interval_ns, 1);
    const struct frame *frame = frame_named("outer");
    const struct func *func = profile_func_at(&fixture.profile, frame->func);
    assert_int_equal(func->line, 12);
    assert_int_equal(func->flags, 0);
    assert_true(resource_is_none(func->resource));
    assert_text(strings_text(&fixture.profile.strings, profile_source_at(&fixture.profile, func->source)->filename),
                "main.c");
    assert_int_equal(frame->category, 0);
    frame = frame_named("inner with text");
    assert_int_equal(frame->category, 1);
    assert_int_equal(frame->subcategory, 1);
    assert_true(source_is_none(profile_func_at(&fixture.profile, frame->func)->source));
    frame = frame_named("run");
    func = profile_func_at(&fixture.profile, frame->func);
    assert_int_equal(func->flags, FUNC_IS_JS);
    assert_int_equal(func->line, 0);
    assert_int_equal(frame->line, 30);
    assert_int_equal(frame->column, 4);
    assert_int_equal(frame->category, 1);
    assert_text(categories_at(&fixture.profile.categories, 1)->name, "Work");
    assert_text(*category_subcategory_at(categories_at(&fixture.profile.categories, 1), 1), "Part");
    assert_int_equal(ledger_sum(&fixture.profile.ledger, LEDGER_SAMPLES, LEDGER_KEPT), 4);
    assert_int_equal(lost_sum(), 0);
}

TEST(test_marker_with_a_stack, setup, teardown) {
    struct trace_builder *trace = begin_definitions();
    uint64_t label = define_label(trace, "label", 0, "", 0);
    uint64_t typed = define_marker(trace, "m", 0, define_type(trace, "T", FORMAT_INTEGER));
    uint64_t plain = define_marker(trace, "p", 0, 0);
    begin_events(0);
    /* This marker has all flags at once. */
    put_lebs(trace, 200, 1 | 4 | 8 | 16 | 32, typed);
    put_zigzag(trace, 100);
    put_zigzag(trace, 50);
    put_lebs(trace, 7, 17, 2);
    put_byte(trace, 2);
    put_lebs(trace, 5, 1);
    put_label(trace, label);
    trace_block(trace, BUILD_MARKER);
    /* The payload of a marker without a type is skipped. */
    put_lebs(trace, 0, 32, plain);
    put_text(trace, "payload");
    put_leb(trace, 2);
    put_label(trace, label);
    put_label(trace, label);
    trace_block(trace, BUILD_MARKER);
    seal_and_read();
    assert_markers(
        "10/10 instant 100 Other p <label;label>\n"
        "10/17 interval 50..75 Other m T{v=5} <label> taken at 100 in 10/10\n");
    assert_int_equal(lost_sum(), 0);
}

TEST(test_frames_of_an_unknown_kind, setup, teardown) {
    struct trace_builder *trace = begin_definitions();
    uint64_t label = define_label(trace, "label", 0, "", 0);
    begin_events(0);
    put_lebs(trace, 0, 2);
    put_label(trace, label);
    put_byte(trace, 9);
    put_text(trace, "from the future");
    trace_block(trace, BUILD_SAMPLE);
    put_lebs(trace, 2, 2);
    put_label(trace, 0);
    put_label_text(trace, 99, "text");
    trace_block(trace, BUILD_SAMPLE);
    seal_and_read();
    assert_samples(
        "10/10 main 0 1 \n"
        "10/10 main 1 1 (unknown label);(unknown label) text\n");
    assert_ledger("stack with a frame of an unknown kind", 1);
    assert_ledger("frame whose label's definition is missing", 2);
}

/* ---- Parents. ---- */

static void add_family_member(unsigned pid, unsigned parent_pid, uint64_t start_ns, const char *name) {
    static uint64_t next_uid = 100;
    trace_events_chunk(&fixture.trace, 0, 0);
    add_child_process(&fixture.trace, pid, parent_pid, start_ns, name);
    add_thread(&fixture.trace, 0, next_uid++, pid, 0, name);
    add_block(&fixture.trace, BUILD_SAMPLE, 1, 0);
    seal();
}

/* A pid may be used again: the parent is the process that had it when the child began. */
TEST(test_parents, setup, teardown) {
    trace_definitions_chunk(&fixture.trace);
    add_family_member(30, 20, BUILD_START_NS + 300, "grandchild");
    add_family_member(20, 10, BUILD_START_NS + 200, "child");
    add_family_member(10, 1, BUILD_START_NS + 400, "later");
    add_family_member(10, 1, BUILD_START_NS + 100, "root");
    add_family_member(40, 40, BUILD_START_NS + 500, "its own parent");
    read_trace();
    static const char *const names[] = {"root", "child", "grandchild", "later", "its own parent"};
    const struct profile *profile = &fixture.profile;
    assert_int_equal(profile->thread_order.count, 5);
    for (size_t i = 0; i < 5; i++) assert_true(text_equal(profile_ordered_thread(profile, i)->name, text_of(names[i])));
}

/* A program that ends before its first sample has counters. The viewer shows them with a thread, which must not be the
 * recorder's own. */
TEST(test_process_without_samples, setup, teardown) {
    trace_definitions_chunk(&fixture.trace);
    uint64_t counter = define_counter(&fixture.trace, "memory", 0);
    trace_events_chunk(&fixture.trace, 0, 0);
    add_process(&fixture.trace, 10, BUILD_START_NS, "env");
    add_thread(&fixture.trace, 0, 1, 13, 0, "grec-sampler");
    add_count(&fixture.trace, BUILD_COUNT, 100, counter, 5);
    seal_and_read();
    assert_int_equal(fixture.profile.thread_order.count, 1);
    const struct thread *thread = profile_ordered_thread(&fixture.profile, 0);
    assert_text(thread->name, "env");
    assert_int_equal(thread->tid, 10);
    assert_true(thread->is_main);
}

/* Begins a chunk of a process that changes the counter at 100 ticks. */
static void add_counting_process(unsigned pid, uint64_t start_ns, uint64_t counter) {
    struct trace_builder *trace = &fixture.trace;
    trace_events_chunk(trace, 0, 0);
    add_process(trace, pid, start_ns, "app");
    add_thread(trace, 0, pid + start_ns, pid, 0, "main");
    add_count(trace, BUILD_COUNT, 100, counter, 1);
}

static void assert_end(uint32_t number, int64_t process_end_ns, int64_t thread_end_ns) {
    assert_int_equal(process_shutdown_ns(profile_process_at(&fixture.profile, (process_id){number})), process_end_ns);
    assert_int_equal(profile_thread_at(&fixture.profile, (thread_id){number})->end_ns, thread_end_ns);
}

/* A process that stops recording lives on, but nothing is known of its counters. One without an end ends with its last
 * entry, or with the program that it executes. */
TEST(test_ends_of_processes, setup, teardown) {
    enum { STOPPED = 1, EXITED = 2, TOLD = 3 };
    struct trace_builder *trace = begin_definitions();
    uint64_t counter = define_counter(trace, "level", 0), marker = define_marker(trace, "m", 0, 0);
    for (unsigned how = STOPPED; how <= TOLD; how++) {
        add_counting_process(how, BUILD_START_NS, counter);
        add_block(trace, BUILD_PROCESS_END, 100, how);
        seal();
    }
    add_counting_process(4, BUILD_START_NS, counter);
    add_mark(trace, BUILD_PROCESS_END, 200);
    seal();
    add_counting_process(5, BUILD_START_NS, counter);
    /* The marker lies in the future. */
    put_lebs(trace, 300, 4, marker);
    put_zigzag(trace, -200);
    put_zigzag(trace, -200);
    trace_block(trace, BUILD_MARKER);
    seal();
    add_counting_process(6, BUILD_START_NS, counter);
    seal();
    add_counting_process(6, BUILD_START_NS + 120, counter);
    add_block(trace, BUILD_PROCESS_END, 900, EXITED);
    seal_and_read();
    int64_t zero_ns = fixture.profile.origin_ns - BUILD_START_NS;
    assert_end(0, TIME_NONE, TIME_NONE);
    assert_end(1, 100 - zero_ns, 100 - zero_ns);
    assert_end(2, TIME_NONE, TIME_NONE);
    assert_end(3, 150 - zero_ns, 150 - zero_ns);
    assert_end(4, 200 - zero_ns, 200 - zero_ns);
    assert_end(5, 120 - zero_ns, 120 - zero_ns);
    assert_end(6, 500 - zero_ns, 500 - zero_ns);
    static const int64_t level_ends_ns[] = {100, 100, 100, 150, 200, 120, 500};
    for (uint32_t i = 0; i < 7; i++) {
        const struct column *samples = &((const struct counter *)column_at(&fixture.profile.counters, i))->samples;
        const struct counter_sample *last = column_at(samples, samples->count - 1);
        assert_int_equal(last->time_ns, level_ends_ns[i] - zero_ns);
    }
}

/* ---- Counters. ---- */

static void add_counter_sample(struct trace_builder *trace, uint64_t t, uint64_t counter, int64_t sum,
                               uint64_t number) {
    put_lebs(trace, t, counter);
    put_zigzag(trace, sum);
    put_leb(trace, number);
    trace_block(trace, BUILD_COUNT_SAMPLE);
}

/* Adds entries of two threads of a process, and of another process. */
static void build_counters(struct trace_builder *trace, unsigned graph) {
    trace_definitions_chunk(trace);
    uint64_t changes = define_counter(trace, "changes", graph);
    uint64_t values = define_counter(trace, "values", graph);
    uint64_t sums = define_counter(trace, "sums", graph);
    uint64_t same_sums = define_counter(trace, "sums", graph);
    begin_events(0);
    add_count(trace, BUILD_COUNT, 100, changes, 5);
    add_count(trace, BUILD_COUNT, 100, changes, -2);
    add_count(trace, BUILD_COUNT_SET, 100, values, 40); /* 300 */
    add_count(trace, BUILD_COUNT_SET, 200, values, 10); /* 500 */
    add_counter_sample(trace, 100, sums, 1000, 3);      /* 600 */
    add_counter_sample(trace, 200, same_sums, 1500, 7); /* 800 */
    seal();
    begin_app_chunk(0, 0);
    add_thread(trace, 0, 2, 12, 0, "other");
    add_count(trace, BUILD_COUNT, 150, changes, 10);
    add_count(trace, BUILD_COUNT_SET, 250, values, 45); /* 400 */
    add_counter_sample(trace, 300, sums, 1100, 4);      /* 700 */
    seal();
    trace_events_chunk(trace, 0, 0);
    add_process(trace, 20, BUILD_START_NS, "child");
    add_thread(trace, 0, 3, 20, 0, "main");
    add_count(trace, BUILD_COUNT, 150, changes, 1);
    seal();
}

TEST(test_counters, setup, teardown) {
    build_counters(&fixture.trace, 0);
    read_trace();
    assert_counters(
        "10 changes: 25:0/0 50:5/1 75:10/1 100:-2/1 400:0/0\n"
        "10 values: 100:0/0 150:40/1 200:5/1 250:-35/1 400:0/0\n"
        "10 sums: 250:0/0 300:1000/3 350:100/1 400:400/3\n"
        "20 changes: -999925:0/0 -925:0/0 75:1/1\n");
    const struct counter *counter = column_at(&fixture.profile.counters, 0);
    assert_text(counter->category, "Queues");
    assert_text(counter->description, "about it");
    assert_text(counter->label, "label");
    assert_text(counter->unit, "bytes");
    assert_int_equal(counter->graph, COUNTER_ACCUMULATED);
    assert_int_equal(counter->color, GRAPH_ORANGE);
    assert_int_equal(counter->sort_weight, -3);
    assert_int_equal(lost_sum(), 0);
}

/* What a program reports as it happens is summed up by intervals, of 1 ms here. What the sampler adds in each round is
 * an interval apart already. */
TEST(test_counters_of_rates, setup, teardown) {
    build_counters(&fixture.trace, 1);
    trace_definitions_chunk(&fixture.trace);
    uint64_t cpu = define_counter(&fixture.trace, "cpu", 1);
    begin_app_chunk(0, 0);
    add_thread(&fixture.trace, 0, 4, 14, 0, "grec-sampler");
    add_count(&fixture.trace, BUILD_COUNT, 200, cpu, 90);
    add_count(&fixture.trace, BUILD_COUNT, 200, cpu, 80);
    trace_write(&fixture.trace, BUILD_AT_LOST_EVENTS, 1, 8);
    seal_and_read();
    assert_counters(
        "10 changes: 0:0/0 1000000:13/3 2000000:0/0\n"
        "10 values: 0:0/0 1000000:10/3 2000000:0/0\n"
        "10 sums: 250:0/0 300:1000/3 350:100/1 400:400/3\n"
        "10 cpu: 0:0/0 100:90/1 200:80/1\n"
        "20 changes: 0:0/0 1000000:1/1 2000000:0/0\n");
}

/* Changes that were summed up before the oldest chunk are not part of a rate. They are part of a level, but are no
 * operations of its first sample. */
TEST(test_counters_of_a_recycled_trace, setup, teardown) {
    build_counters(&fixture.trace, 1);
    trace_definitions_chunk(&fixture.trace);
    uint64_t level = define_counter(&fixture.trace, "level", 0);
    begin_events(0);
    add_counter_sample(&fixture.trace, 600, level, 1000, 3);
    add_counter_sample(&fixture.trace, 100, level, 1100, 4);
    seal();
    trace_write(&fixture.trace, BUILD_AT_RECYCLED, 1, 8);
    read_trace();
    assert_counters(
        "10 changes: 0:0/0 1000000:13/3 2000000:0/0\n"
        "10 values: 0:0/0 1000000:10/3 2000000:0/0\n"
        "10 sums: 300:0/0 350:100/1 400:400/3\n"
        "10 level: 250:0/0 300:1000/0 350:100/1 400:0/0\n"
        "20 changes: 0:0/0 1000000:1/1 2000000:0/0\n");
}

/* The level from before the recording is that before all changes, whenever the counter is first noticed. It holds from
 * the process's first entry on. */
TEST(test_levels_at_the_start, setup, teardown) {
    struct trace_builder *trace = begin_definitions();
    uint64_t changes = define_counter(trace, "changes", 0), values = define_counter(trace, "values", 0);
    uint64_t sums = define_counter(trace, "sums", 0);
    begin_events(0);
    add_count(trace, BUILD_COUNT_START, 100, changes, 500);
    add_count(trace, BUILD_COUNT, 0, changes, -3);
    add_count(trace, BUILD_COUNT_START, 20, values, 70);
    add_count(trace, BUILD_COUNT_SET, 0, values, 60);
    add_count(trace, BUILD_COUNT_START, 20, sums, 7);
    add_counter_sample(trace, 60, sums, 10, 2);
    seal();
    begin_app_chunk(0, 0);
    add_thread(trace, 0, 2, 12, 0, "other");
    add_count(trace, BUILD_COUNT, 40, changes, 1);
    seal_and_read();
    assert_counters(
        "10 changes: -20:0/0 0:500/0 20:1/1 50:-3/1 100:0/0\n"
        "10 values: -60:0/0 0:70/0 60:-10/1 100:0/0\n"
        "10 sums: -70:0/0 0:7/0 70:0/0 100:3/2\n");
}

/* Levels say what changes that are missing have made. In a trace that is complete, they say nothing new. */
TEST(test_levels, setup, teardown) {
    static const struct {
        size_t at; /* offset of a count in the header; 0: none */
        const char *expected;
    } cases[] = {
        {0,
         "10 changes: 0:0/0 50:1/1 100:0/0 150:2/1 200:0/0\n"
         "10 constant: 100:0/0 200:0/0\n"
         "10 values: 100:0/0 150:5/1 200:0/0\n"},
        {BUILD_AT_RECYCLED,
         "10 changes: 10:0/0 30:499/0 50:1/1 100:0/0 150:2/1 200:1/0\n"
         "10 constant: -40:0/0 30:70/0 100:0/0 200:0/0\n"
         "10 values: 100:0/0 150:5/1 200:1/0\n"},
        {BUILD_AT_LOST_EVENTS,
         "10 changes: -50:0/0 0:499/0 50:1/1 100:0/0 150:2/1 200:1/0\n"
         "10 constant: -100:0/0 0:70/0 100:0/0 200:0/0\n"
         "10 values: 100:0/0 150:5/1 200:1/0\n"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct trace_builder *trace = begin_definitions();
        uint64_t changes = define_counter(trace, "changes", 0), values = define_counter(trace, "values", 0);
        uint64_t constant = define_counter(trace, "constant", 0);
        begin_events(0);
        add_count(trace, BUILD_COUNT, 100, changes, 1);
        add_count(trace, BUILD_COUNT_LEVEL, 100, changes, 500);
        add_count(trace, BUILD_COUNT_LEVEL, 0, constant, 70);
        add_count(trace, BUILD_COUNT, 100, changes, 2);
        add_count(trace, BUILD_COUNT_SET, 0, values, 5);
        add_count(trace, BUILD_COUNT_LEVEL, 100, changes, 503);
        add_count(trace, BUILD_COUNT_LEVEL, 0, constant, 70);
        add_count(trace, BUILD_COUNT_LEVEL, 0, values, 6);
        if (cases[i].at) trace_write(trace, cases[i].at, 1, 8);
        trace_write(trace, BUILD_AT_COMPLETE_FROM, BUILD_START_TICKS + 60, 8);
        seal_and_read();
        assert_counters(cases[i].expected);
        if (i + 1 < sizeof cases / sizeof *cases) {
            teardown(state);
            setup(state);
        }
    }
}

TEST(test_counters_that_are_odd, setup, teardown) {
    struct trace_builder *trace = begin_definitions();
    put_text(trace, "odd");
    for (unsigned i = 0; i < 4; i++) put_text(trace, "");
    put_lebs(trace, 2, 10);
    put_zigzag(trace, INT64_MAX);
    uint64_t odd = trace_definition(trace, BUILD_COUNTER);
    begin_events(0);
    add_count(trace, BUILD_COUNT, 2, odd, INT64_MAX);
    add_count(trace, BUILD_COUNT, 2, odd, INT64_MAX);
    add_count(trace, BUILD_COUNT_SET, 2, odd, INT64_MIN);
    add_counter_sample(trace, 2, odd, 0, UINT64_MAX);
    add_count(trace, BUILD_COUNT, 2, 77, 1);
    seal_and_read();
    const struct counter *counter = column_at(&fixture.profile.counters, 0);
    assert_int_equal(counter->graph, COUNTER_ACCUMULATED);
    assert_int_equal(counter->color, GRAPH_GREY);
    assert_int_equal(counter->sort_weight, INT32_MAX);
    assert_int_equal(counter->samples.count, 6);
    assert_ledger("value of a counter whose definition is missing", 1);
}

/* ---- Pauses, messages, the clock. ---- */

TEST(test_pauses, setup, teardown) {
    struct trace_builder *trace = begin_definitions();
    uint64_t marker = define_marker(trace, "m", 0, 0);
    begin_events(0);
    add_instant(trace, 0, marker);
    add_mark(trace, BUILD_RESUME, 200);
    add_mark(trace, BUILD_PAUSE, 600); /* 800 */
    add_mark(trace, BUILD_PAUSE, 200); /* 1000: already paused */
    seal();
    begin_app_chunk(0, 0);
    add_thread(trace, 0, 2, 12, 0, "other");
    add_mark(trace, BUILD_PAUSE, 400);
    add_mark(trace, BUILD_RESUME, 200); /* 600 */
    add_mark(trace, BUILD_RESUME, 100); /* 700: already resumed */
    seal();
    trace_events_chunk(trace, 0, 0);
    add_process(trace, 20, BUILD_START_NS, "child");
    add_thread(trace, 0, 3, 20, 0, "main");
    add_mark(trace, BUILD_PAUSE, 2000);
    add_mark(trace, BUILD_RESUME, 200);
    seal_and_read();
    static const struct {
        uint32_t process;
        int64_t start_ns, end_ns;
    } expected[] = {{0, TIME_NONE, 100}, {0, 200, 300}, {0, 400, TIME_NONE}, {1, 1000, 1100}};
    assert_int_equal(fixture.profile.paused_ranges.count, 4);
    for (size_t i = 0; i < 4; i++) {
        const struct paused_range *range = column_at(&fixture.profile.paused_ranges, i);
        assert_int_equal(range->process.index, expected[i].process);
        assert_int_equal(range->start_ns, expected[i].start_ns);
        assert_int_equal(range->end_ns, expected[i].end_ns);
    }
}

TEST(test_calibrations, setup, teardown) {
    struct trace_builder *trace = begin_definitions();
    uint64_t marker = define_marker(trace, "m", 0, define_type(trace, "T", FORMAT_TIME));
    /* The true rate is 2.01e9 ticks per second. */
    begin_app_chunk(20100000, 10000000);
    add_thread(trace, 0, 1, 10, 0, "main");
    add_instant(trace, 0, marker);
    add_block(trace, BUILD_CLOCK, 20100000, 10000000);
    put_lebs(trace, 0, marker);
    put_zigzag(trace, 10050000);
    trace_block(trace, BUILD_INSTANT);
    trace_seal(trace, 60300000, 30000000);
    read_trace();
    assert_markers(
        "10/10 instant 10000000 Other m T{v=-}\n"
        "10/10 instant 20000000 Other m T{v=@15000000}\n");
    assert_int_equal(fixture.profile.origin_ns, BUILD_START_NS);
    assert_true(fixture.profile.meta.is_clock_monotonic);
    assert_int_equal(fixture.profile.meta.start_time_ms, 1700000000000);
    assert_printed(log_text(&fixture.profile, &fixture.profile.gathering_log),
                   "10: chunks 1\n10: chunksSkipped 0\n10: ended unknown\n"
                   "chunksRead 2\nchunksUnsealed 0\nchunksFree 0\nchunksWithWrongHash 0\nchunksSetAside 0\n"
                   "bytesSkipped 0\ndefinitionsRead 2\nprocessesWithoutEnd 0\ncalibrationsMet 3\n"
                   "calibrationsUsed 4\n");
}

/* Builds a trace of a process that started 3 ms before the recording and stopped recording 2.5 ms after its start. It
 * has a marker of that time, which is relative to the end. */
static void build_late_recording(int64_t before_end_ns) {
    enum { STOPPED = 1 };
    struct trace_builder *trace = begin_definitions();
    uint64_t marker = define_marker(trace, "m", 0, 0);
    trace_events_chunk(trace, 0, 0);
    add_process(trace, 10, BUILD_START_NS - 3000000, "app");
    add_thread(trace, 0, 1, 10, 1000000, "main");
    put_lebs(trace, 5000000, 4, marker);
    put_zigzag(trace, 2 * before_end_ns);
    put_zigzag(trace, 2 * before_end_ns);
    trace_block(trace, BUILD_MARKER);
    add_block(trace, BUILD_PROCESS_END, 0, STOPPED);
    seal();
}

/* The process may have run before it was recorded, and nothing may happen at the start and at the end. */
TEST(test_times_of_the_recording, setup, teardown) {
    build_late_recording(500000);
    read_trace();
    assert_markers("10/10 instant 5000000 Other m\n");
    assert_int_equal(fixture.profile.origin_ns, BUILD_START_NS - 3000000);
    assert_int_equal(fixture.profile.meta.start_time_ms, 1699999999997);
    static const struct emitter *const with_times[] = {&emitter_processed, &emitter_gecko};
    for (size_t i = 0; i < sizeof with_times / sizeof *with_times; i++) {
        emit(with_times[i]);
        assert_has("\"profilingStartTime\":3,\"profilingEndTime\":6,");
        assert_has("\"registerTime\":3.5,\"unregisterTime\":null,");
    }
    emit(&emitter_processed);
    assert_has("\"processStartupTime\":0,\"processShutdownTime\":null,");
    /* The viewer leaves out what is at the end of its range. */
    teardown(NULL);
    setup(NULL);
    build_late_recording(0);
    read_trace();
    emit(&emitter_processed);
    assert_has("\"profilingStartTime\":3,\"profilingEndTime\":6.5,");
}

/* The program may know of what happened before the recording. */
TEST(test_events_before_the_recording, setup, teardown) {
    build_late_recording(4000000);
    read_trace();
    assert_markers("10/10 instant 1500000 Other m\n");
    emit(&emitter_processed);
    assert_has("\"profilingStartTime\":1.5,\"profilingEndTime\":5.5,");
    teardown(NULL);
    setup(NULL);
    build_late_recording(7000000);
    read_trace();
    assert_markers("10/10 instant 0 Other m\n");
    emit(&emitter_processed);
    assert_has("\"profilingStartTime\":0,\"profilingEndTime\":7,");
}

/* What the recording began with is gone. */
TEST(test_times_of_a_recycled_recording, setup, teardown) {
    build_late_recording(500000);
    trace_write(&fixture.trace, BUILD_AT_RECYCLED, 1, 8);
    read_trace();
    emit(&emitter_processed);
    assert_has("\"profilingStartTime\":5,\"profilingEndTime\":6,");
}

TEST(test_ticks_that_are_nanoseconds, setup, teardown) {
    struct trace_builder *trace = &fixture.trace;
    trace_write(trace, BUILD_AT_CLOCK, 0, 4);
    trace_write(trace, BUILD_AT_START_TICKS, BUILD_START_NS, 8);
    trace_hash_header(trace);
    trace_definitions_chunk(trace);
    uint64_t marker = define_marker(trace, "m", 0, 0);
    begin_events(0);
    trace_write(trace, trace->chunk_at + CHUNK_AT_BASE_TICKS, BUILD_START_NS + 100, 8);
    add_instant(trace, 50, marker);
    add_instant(trace, 50, marker);
    seal_and_read();
    assert_int_equal(fixture.profile.origin_ns, BUILD_START_NS);
    assert_markers("10/10 instant 150 Other m\n10/10 instant 200 Other m\n");
}

TEST(test_what_the_recorder_says, setup, teardown) {
    struct trace_builder *trace = begin_definitions();
    uint64_t marker = define_marker(trace, "m", 0, 0);
    begin_events(4000);
    put_leb(trace, 0);
    put_text(trace, "hello");
    trace_block(trace, BUILD_MESSAGE);
    add_instant(trace, 0, marker);
    seal();
    trace_write(trace, BUILD_AT_LIMIT, 1 << 20, 8);
    trace_write(trace, BUILD_AT_GLOBAL_INDEX, 99, 8);
    trace_write(trace, BUILD_AT_THREAD_UID, 8, 8);
    trace_write(trace, BUILD_AT_RECYCLED, 12, 8);
    trace_write(trace, BUILD_AT_COMPLETE_FROM, BUILD_START_TICKS + 6000, 8);
    trace_write(trace, BUILD_AT_LOST_EVENTS, 3, 8);
    trace_write(trace, BUILD_AT_CUT_TEXTS, 4, 8);
    trace_write(trace, BUILD_AT_LOST_DEFINITIONS, 5, 8);
    trace_write(trace, BUILD_AT_MISMATCHED, 6, 8);
    trace_write(trace, BUILD_AT_STOP_TICKS, BUILD_START_TICKS + 8000, 8);
    trace_write(trace, BUILD_AT_STOP_REASON, 1, 4);
    trace_write(trace, BUILD_AT_STOP_ERRNO, 28, 4);
    trace_write(trace, BUILD_AT_STALE_MARKERS, 7, 8);
    trace_write(trace, BUILD_AT_SILENT_PROCESSES, 9, 8);
    read_trace();
    assert_printed(log_text(&fixture.profile, &fixture.profile.profiling_log),
                   "10: @2000 hello\n"
                   "chunksGivenOut 99\n"
                   "chunksRecycled 12\n"
                   "eventsLost 3\n"
                   "markersStale 7\n"
                   "processesSilent 9\n"
                   "definitionsLost 5\n"
                   "valuesMismatched 6\n"
                   "textsCut 4\n"
                   "limitBytes 1048576\n"
                   "threadsSeen 7\n"
                   "processesSeen 1\n"
                   "@3000 complete from here on: chunks with older events were recycled\n"
                   "@4000 recording stopped: the file could not grow: No space left on device\n");
    assert_ledger("event that the recorder had no room for", 3);
    assert_ledger("marker that was aimed at a thread of another recording or process", 7);
    assert_ledger("definition that the recorder had no room for", 5);
    assert_ledger("value beyond the fields of its marker's type", 6);
    assert_ledger("text that the recorder cut to its limit", 4);
    assert_ledger("chunk that was recycled under the limit: its older events are gone", 12);
    assert_ledger("process of which nothing was recorded: it ended before its first sample, or could not be sampled",
                  9);
    assert_ledger("recording that stopped by itself: the file could not grow", 1);
    assert_int_equal(lost_sum(), 21);
    const struct extra_entry *entry = column_at(&fixture.profile.meta.extra, 0);
    assert_text(entry->section, "Recorder");
    assert_text(entry->label, "Complete from");
    assert_text(entry->value, "0.000003000 s after the start of the recording");
    entry = column_at(&fixture.profile.meta.extra, 2);
    assert_text(entry->label, "Stopped by itself");
    assert_text(entry->value, "the file could not grow: No space left on device");
}

/* A header has the size that it contains. Bytes after its end are not part of it. */
TEST(test_shorter_headers, setup, teardown) {
    struct trace_builder *trace = &fixture.trace;
    static const struct { uint64_t header_bytes, stale_count; } cases[] = {{616, 0}, {624, 7}, {4096, 7}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        trace_write(trace, BUILD_AT_HEADER_BYTES, cases[i].header_bytes, 4);
        trace_hash_header(trace);
        trace_write(trace, BUILD_AT_STALE_MARKERS, 7, 8);
        read_trace();
        assert_int_equal(lost_sum(), cases[i].stale_count);
    }
}

/* The counts of the header may be damaged. They must not appear as billions of losses. */
TEST(test_counts_that_cannot_be, setup, teardown) {
    struct trace_builder *trace = &fixture.trace;
    memset(trace->bytes + BUILD_AT_LIMIT, 0xff, 112);
    read_trace();
    assert_int_equal(lost_sum(), 0);
    assert_printed(log_text(&fixture.profile, &fixture.profile.profiling_log),
                   "chunksGivenOut 0\nchunksRecycled 0\neventsLost 0\nthreadsSeen 0\nprocessesSeen 0\n"
                   "stopped for reason 4294967295\n");
}

TEST(test_pid_namespaces, setup, teardown) {
    enum { CHUNK_AT_PID_NAMESPACE = 112 };
    for (unsigned i = 0; i < 3; i++) {
        trace_events_chunk(&fixture.trace, 0, 0);
        trace_write(&fixture.trace, fixture.trace.chunk_at + CHUNK_AT_PID_NAMESPACE, i * 7, 8);
        add_process(&fixture.trace, 10, BUILD_START_NS + i, "app");
    }
    read_trace();
    for (uint32_t i = 0; i < 3; i++)
        assert_int_equal(profile_process_at(&fixture.profile, (process_id){i})->pid_namespace, i * 7);
}

/* Returns what the trace is named after, if its first process has executed `second`, with the arguments of_second
 * unless they are empty. */
static struct text product_of(const char *product, const char *arguments, const char *second, struct text of_second) {
    struct trace_builder *trace = &fixture.trace;
    trace_builder_fini(trace);
    trace_builder_init(trace);
    trace_write(trace, BUILD_AT_CREATOR_PID, 10, 4);
    trace_hash_header(trace);
    trace_definitions_chunk(trace);
    define_meta(trace, "product", product);
    define_meta(trace, "arguments", arguments);
    if (of_second.bytes_count) {
        put_lebs(trace, 10, BUILD_START_NS + 1, of_second.bytes_count);
        put_bytes(trace, of_second.bytes, of_second.bytes_count);
        trace_definition(trace, BUILD_ARGUMENTS);
    }
    trace_events_chunk(trace, 0, 0);
    add_process(trace, 10, BUILD_START_NS, "first");
    add_process(trace, 10, BUILD_START_NS + 1, second);
    seal();
    read_trace();
    return fixture.profile.meta.product;
}

TEST(test_product, setup, teardown) {
    assert_text(product_of("first", "/bin/first --fast", "second", TEXT("")), "second");
    assert_text(product_of("Own name", "/bin/first --fast", "second", TEXT("")), "Own name");
    assert_text(product_of("first", "/bin/first --fast", "timeout", TEXT("")), "");
    assert_text(product_of("timeout", "timeout 60 sh my.sh", "timeout", TEXT("")), "my.sh");
    assert_text(product_of("timeout", "timeout 60 /bin/first", "timeout", TEXT("")), "first");
    assert_text(product_of("timeout", "timeout 60 other", "timeout", TEXT("")), "");
    assert_text(product_of("sh", "/bin/sh my script.sh", "sh", TEXT("")), "my");
    assert_text(product_of("sh", "/bin/sh my script.sh", "sh", TEXT("/bin/sh\0my dir/my script.sh\0")), "my script.sh");
}

TEST(test_meta, setup, teardown) {
    struct trace_builder *trace = begin_definitions();
    define_meta(trace, "product", "program");
    define_meta(trace, "branch", "old");
    define_meta(trace, "product", "demo");
    define_meta(trace, "arguments", "demo --fast");
    define_meta(trace, "oscpu", "Linux 6.1");
    define_meta(trace, "CPUName", "CPU");
    define_meta(trace, "platform", "Linux");
    define_meta(trace, "abi", "x86_64");
    define_meta(trace, "bootID", "8dc4");
    define_meta(trace, "logicalCPUs", "8");
    define_meta(trace, "mainMemory", "17179869184");
    define_meta(trace, "physicalCPUs", "4");
    define_meta(trace, "durationLimit", "30");
    define_meta(trace, "features", "stackwalk,cpu");
    define_meta(trace, "threadFilter", "main");
    define_meta(trace, "app.version", "1.2");
    define_meta(trace, "app.build ID", "77");
    define_meta(trace, "app.source URL", "https://example.org/77");
    define_meta(trace, "app.branch", "feature");
    define_meta(trace, "recorder", "0.1.0");
    define_meta(trace, "branch", "main");
    read_trace();
    const struct profile_meta *meta = &fixture.profile.meta;
    assert_text(meta->product, "demo");
    assert_text(meta->arguments, "demo --fast");
    assert_text(meta->os_cpu, "Linux 6.1");
    assert_text(meta->cpu_name, "CPU");
    assert_text(meta->platform, "Linux");
    assert_text(meta->abi, "x86_64");
    assert_text(meta->boot_id, "8dc4");
    assert_true(meta->tick_relation.is_known);
    assert_int_equal(meta->tick_relation.base_ticks, BUILD_START_TICKS);
    assert_int_equal(meta->tick_relation.base_ns, BUILD_START_NS);
    assert_int_equal(meta->logical_cpu_count, 8);
    assert_int_equal(meta->main_memory_bytes, 17179869184);
    assert_int_equal(meta->physical_cpu_count, 4);
    assert_text(meta->version, "1.2");
    assert_text(meta->build_id, "77");
    assert_text(meta->source_url, "https://example.org/77");
    assert_true(meta->configuration.is_known);
    assert_int_equal(meta->configuration.duration_s, 30);
    assert_text(meta->configuration.features, "stackwalk,cpu");
    assert_text(meta->configuration.threads, "main");
    assert_text(meta->imported_from, "gecko-convert recorder 0.1.0");
    const struct extra_entry *entry = column_at(&meta->extra, 0);
    assert_text(entry->section, "Program");
    assert_text(entry->label, "branch");
    assert_text(entry->value, "feature");
    entry = column_at(&meta->extra, 1);
    assert_text(entry->section, "Recorder");
    assert_text(entry->label, "branch");
    assert_text(entry->value, "main");
    assert_int_equal(meta->extra.count, 2 + 1); /* two entries of the trace, one of the ledger */
}

TEST(test_meta_that_is_no_number, setup, teardown) {
    trace_definitions_chunk(&fixture.trace);
    define_meta(&fixture.trace, "logicalCPUs", "many");
    define_meta(&fixture.trace, "mainMemory", "99999999999999999999999");
    read_trace();
    assert_int_equal(fixture.profile.meta.logical_cpu_count, 0);
    assert_int_equal(fixture.profile.meta.main_memory_bytes, 0);
}

/* ---- Definitions. ---- */

/* Categories, types, labels, counters and texts may be in a chunk after the events that use them. */
TEST(test_definitions_behind_their_use, setup, teardown) {
    struct trace_builder *trace = begin_definitions();
    uint64_t early = define_marker(trace, "early", 0, 0);
    /* The entries refer to definitions later in the file, but not later in the log. */
    uint64_t first_late = 50;
    uint64_t half = define_marker(trace, "half", first_late, first_late + 2);
    uint64_t half_label = define_label(trace, "half label", first_late, "", 0);
    begin_events(0);
    add_instant(trace, 2, early);
    put_lebs(trace, 2, 16, half);
    put_byte(trace, 5);
    put_leb(trace, first_late + 1);
    trace_block(trace, BUILD_MARKER);
    add_count(trace, BUILD_COUNT, 2, first_late + 3, 6);
    put_lebs(trace, 2, 2);
    put_label(trace, half_label);
    put_label(trace, first_late + 4);
    trace_block(trace, BUILD_SAMPLE);
    add_instant(trace, 2, early);
    seal();
    begin_events(100);
    put_lebs(trace, 2, 1);
    put_script(trace, first_late, 3, 0);
    trace_block(trace, BUILD_SAMPLE);
    seal();
    begin_events(200);
    add_instant(trace, 2, early);
    seal();
    trace->next_id = first_late;
    trace_definitions_chunk(trace);
    assert_int_equal(define_category(trace, "Late", 2, 0), first_late);
    define_string(trace, "late text");
    define_type(trace, "Late", FORMAT_STRING);
    define_counter(trace, "late", 0);
    define_label(trace, "late label", 0, "", 0);
    read_trace();
    assert_markers(
        "10/10 instant 1 Other early\n"
        "10/10 instant 2 Late half Late{v=\"late text\"}\n"
        "10/10 instant 5 Other early\n"
        "10/10 instant 101 Other early\n");
    assert_samples(
        "10/10 main 4 1 half label;late label\n"
        "10/10 main 51 1 run\n");
    assert_counters("10 late: -44:0/0 3:6/1 101:0/0\n");
    assert_int_equal(lost_sum(), 0);
    struct profile_text *log = log_text(&fixture.profile, &fixture.profile.gathering_log);
    assert_non_null(strstr(log->bytes, "chunksSetAside 2\n"));
    free(log);
    /* The result must not depend on the size of the input's window. */
    struct profile_text *markers = profile_markers_text(&fixture.profile);
    for (size_t window_bytes = 1; window_bytes < 20000; window_bytes = window_bytes * 3 + 1) {
        read_bytes(trace_text(trace), window_bytes);
        assert_markers(markers->bytes);
    }
    free(markers);
}

TEST(test_definitions_that_are_missing, setup, teardown) {
    struct trace_builder *trace = begin_definitions();
    uint64_t marker = define_marker(trace, "m", 70, 71);
    uint64_t string = define_string(trace, "s");
    uint64_t texts = define_marker(trace, "t", 0, define_type(trace, "T", FORMAT_UNIQUE));
    uint64_t of_wrong_kinds = define_marker(trace, "w", string, string);
    begin_events(0);
    put_lebs(trace, 2, marker);
    put_text(trace, "payload");
    trace_block(trace, BUILD_INSTANT);
    add_instant(trace, 2, 72);
    add_instant(trace, 2, 0);
    add_instant(trace, 2, string);
    add_instant(trace, 2, of_wrong_kinds);
    put_lebs(trace, 2, 16, texts);
    put_byte(trace, 5);
    put_leb(trace, 73);
    trace_block(trace, BUILD_MARKER);
    seal_and_read();
    assert_markers(
        "10/10 instant 1 Other m\n"
        "10/10 instant 5 Other w\n"
        "10/10 instant 6 Other t T{v=-}\n");
    assert_ledger("marker whose definition is missing", 3);
    assert_ledger("payload whose marker type is missing", 1);
    assert_ledger("value whose text's definition is missing", 1);
    assert_ledger("definition whose category is missing, now in the category Other", 2);
}

TEST(test_definitions_that_are_unfinished_or_damaged, setup, teardown) {
    struct trace_builder *trace = begin_definitions();
    uint64_t markers[5];
    size_t places[5];
    for (size_t i = 0; i < 5; i++) {
        places[i] = trace->chunk_at + trace->chunk_used;
        char name[8];
        snprintf(name, sizeof name, "m%zu", i);
        markers[i] = define_marker(trace, name, 0, 0);
    }
    /* One definition was never published, one has a damaged body, and one has the id of another definition. */
    trace->bytes[places[1] + 3] &= 0x7f;
    trace->bytes[places[2] + 10] ^= 1;
    put_byte(trace, 0xff);
    trace_definition(trace, BUILD_MARKER_DEFINITION);
    put_text(trace, "of the future");
    uint64_t future = trace_definition(trace, 99);
    begin_events(0);
    for (size_t i = 0; i < 5; i++) add_instant(trace, 2, markers[i]);
    add_instant(trace, 2, future);
    seal_and_read();
    assert_markers(
        "10/10 instant 1 Other m0\n"
        "10/10 instant 4 Other m3\n"
        "10/10 instant 5 Other m4\n");
    uint64_t offset;
    assert_int_equal(ledger_of("damaged definition", &offset), 2);
    assert_int_equal(offset, places[2]);
    assert_ledger("definition that was never finished", 1);
    assert_ledger("definition of an unknown kind", 1);
    assert_ledger("marker whose definition is missing", 3);
}

/* After a definition with a damaged length, later definitions must not get wrong ids. */
TEST(test_a_length_that_is_damaged, setup, teardown) {
    struct trace_builder *trace = begin_definitions();
    size_t place = trace->chunk_at + trace->chunk_used;
    uint64_t first = define_marker(trace, "aaaa", 0, 0);
    size_t step = trace->chunk_at + trace->chunk_used - place;
    uint64_t second = define_marker(trace, "bbbb", 0, 0);
    uint64_t third = define_marker(trace, "cccc", 0, 0);
    trace->bytes[place] = (unsigned char)(trace->bytes[place] + step);
    begin_events(0);
    add_instant(trace, 2, first);
    add_instant(trace, 2, second);
    add_instant(trace, 2, third);
    seal();
    read_bytes(trace_text(trace), 0);
    assert_markers("");
    assert_ledger("damaged definition", 2);
    assert_ledger("marker whose definition is missing", 3);
    trace->bytes[place] = (unsigned char)(trace->bytes[place] - step);
    trace_write(trace, place, 0x80000000u | 5000, 4);
    read_bytes(trace_text(trace), 0);
    assert_ledger("damaged definition", 1);
}

TEST(test_chains_of_categories, setup, teardown) {
    struct trace_builder *trace = begin_definitions();
    uint64_t top = define_category(trace, "Top", 99, 0);
    uint64_t middle = define_category(trace, "Middle", 4, top);
    uint64_t leaf = define_category(trace, "Leaf", 4, middle);
    uint64_t of_itself = define_category(trace, "Own", 4, trace->next_id);
    uint64_t labels[] = {define_label(trace, "leaf", leaf, "", 0), define_label(trace, "own", of_itself, "", 0),
                         define_label(trace, "top", top, "", 0)};
    begin_events(0);
    put_lebs(trace, 0, 3);
    for (size_t i = 0; i < 3; i++) put_label(trace, labels[i]);
    trace_block(trace, BUILD_SAMPLE);
    seal_and_read();
    const struct frame *frame = frame_named("leaf");
    const struct category *category = categories_at(&fixture.profile.categories, frame->category);
    assert_text(category->name, "Top");
    assert_int_equal(category->color, COLOR_GREY);
    assert_text(*category_subcategory_at(category, frame->subcategory), "Leaf");
    frame = frame_named("own");
    assert_text(categories_at(&fixture.profile.categories, frame->category)->name, "Own");
    assert_int_equal(frame->subcategory, 0);
    frame = frame_named("top");
    assert_int_equal(frame->subcategory, 0);
}

/* ---- Chunks. ---- */

TEST(test_several_definitions_chunks, setup, teardown) {
    struct trace_builder *trace = begin_definitions();
    define_string(trace, "one");
    trace_end_definitions(trace);
    size_t junk = trace->chunk_at + trace->chunk_used + 4;
    memset(trace->bytes + junk, 0x5a, 64);
    trace_definitions_chunk(trace);
    uint64_t marker = define_marker(trace, "m", 0, 0);
    assert_int_equal(marker, 2);
    begin_events(0);
    add_instant(trace, 0, marker);
    seal_and_read();
    assert_markers("10/10 instant 0 Other m\n");
    assert_int_equal(lost_sum(), 0);
}

/* Builds a trace: chunk 0 defines a marker, chunk 1 has two events with it. */
static uint64_t build_small(void) {
    struct trace_builder *trace = begin_definitions();
    uint64_t marker = define_marker(trace, "m", 0, 0);
    begin_events(0);
    add_instant(trace, 2, marker);
    add_instant(trace, 2, marker);
    seal();
    return marker;
}

/* Names a process that has taken `taken_count` chunks, and its thread. */
static void add_taker(unsigned pid, uint64_t taken_count) {
    struct trace_builder *trace = &fixture.trace;
    put_lebs(trace, pid, 1, BUILD_START_NS);
    put_text(trace, "app");
    put_leb(trace, taken_count);
    trace_block(trace, BUILD_PROCESS);
    add_thread(trace, 0, pid, pid, 0, "main");
}

/* Adds a chunk in which a process that has taken `taken_count` chunks ends. */
static void add_last_chunk(unsigned pid, uint64_t taken_count) {
    struct trace_builder *trace = &fixture.trace;
    trace_events_chunk(trace, 0, 0);
    add_taker(pid, taken_count);
    add_mark(trace, BUILD_PROCESS_END, 0);
    seal();
}

/* All chunks with markers of one process were recycled. The other process never had any. */
TEST(test_process_with_a_last_chunk, setup, teardown) {
    build_small();
    add_last_chunk(20, 3);
    add_last_chunk(30, 1);
    read_trace();
    assert_int_not_equal(profile_process_at(&fixture.profile, (process_id){1})->place, ID_NONE);
    assert_int_equal(profile_process_at(&fixture.profile, (process_id){2})->place, ID_NONE);
}

/* A chunk counts for each process that took it, however many of its threads did. */
TEST(test_chunk_of_several_processes, setup, teardown) {
    static const struct {
        unsigned pid;
        uint64_t taken_count;
    } takers[] = {{20, 1}, {20, 1}, {30, 1}, {20, 2}, {30, 4}};
    uint64_t marker = build_small();
    trace_events_chunk(&fixture.trace, 0, 0);
    for (size_t i = 0; i < sizeof takers / sizeof *takers; i++) {
        add_taker(takers[i].pid, takers[i].taken_count);
        add_instant(&fixture.trace, 2 * (i + 1), marker);
    }
    seal();
    read_trace();
    assert_markers(
        "10/10 instant 1 Other m\n"
        "10/10 instant 2 Other m\n"
        "20/20 instant 1 Other m\n"
        "20/20 instant 2 Other m\n"
        "20/20 instant 4 Other m\n"
        "30/30 instant 3 Other m\n"
        "30/30 instant 5 Other m\n");
    struct profile_text *log = log_text(&fixture.profile, &fixture.profile.gathering_log);
    assert_non_null(strstr(log->bytes, "20: chunks 2\n20: chunksRecycled 0\n"));
    assert_non_null(strstr(log->bytes, "30: chunks 2\n30: chunksRecycled 2\n"));
    free(log);
}

TEST(test_free_chunks, setup, teardown) {
    build_small();
    trace_write(&fixture.trace, fixture.trace.chunk_at, BUILD_FREE, 4);
    trace_grow(&fixture.trace, BUILD_CHUNK_BYTES);
    read_trace();
    assert_markers("");
    assert_int_equal(lost_sum(), 0);
    struct profile_text *log = log_text(&fixture.profile, &fixture.profile.gathering_log);
    assert_non_null(strstr(log->bytes, "chunksFree 2\n"));
    assert_non_null(strstr(log->bytes, "bytesSkipped 0\n"));
    free(log);
}

TEST(test_chunks_with_a_damaged_header, setup, teardown) {
    static const struct {
        size_t at;
        size_t width;
        uint64_t value;
    } cases[] = {
        {CHUNK_AT_STATE, 4, 3},    {CHUNK_AT_MAGIC, 4, 0},        {CHUNK_AT_VERSION, 2, 2},
        {CHUNK_AT_KIND, 2, 3},     {CHUNK_AT_FIRST_BLOCK, 4, 64}, {CHUNK_AT_FIRST_BLOCK, 4, 5000},
        {CHUNK_AT_COMMIT, 4, 100}, {CHUNK_AT_COMMIT, 4, 5000},    {CHUNK_AT_BASE_TICKS, 8, (uint64_t)1 << 62},
    };
    build_small();
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        size_t at = fixture.trace.chunk_at + cases[i].at;
        uint64_t old = trace_read(&fixture.trace, at, cases[i].width);
        trace_write(&fixture.trace, at, cases[i].value, cases[i].width);
        read_trace();
        uint64_t offset;
        assert_int_equal(ledger_of("chunk with a damaged header", &offset), 1);
        assert_int_equal(offset, fixture.trace.chunk_at);
        assert_markers("");
        trace_write(&fixture.trace, at, old, cases[i].width);
    }
    /* The definitions begin here. */
    size_t definitions_at = fixture.trace.chunks_offset;
    trace_write(&fixture.trace, definitions_at + CHUNK_AT_FIRST_DEFINITION, 0, 8);
    read_trace();
    assert_ledger("chunk with a damaged header", 1);
    trace_write(&fixture.trace, definitions_at + CHUNK_AT_FIRST_DEFINITION, 1, 8);
    trace_write(&fixture.trace, definitions_at + CHUNK_AT_FIRST_BLOCK, 129, 4);
    read_trace();
    assert_ledger("chunk with a damaged header", 1);
}

TEST(test_wrong_hash, setup, teardown) {
    build_small();
    fixture.trace.bytes[fixture.trace.chunk_at + fixture.trace.chunk_used - 1] ^= 1;
    read_trace();
    uint64_t offset;
    assert_int_equal(ledger_of("block of a chunk whose hash is wrong", &offset), 4);
    assert_int_equal(offset, fixture.trace.chunk_at);
    assert_int_equal(fixture.profile.threads.count, 0);
    /* The chunk's header has a huge count of blocks. The reader must use at most as many as fit. */
    trace_write(&fixture.trace, fixture.trace.chunk_at + CHUNK_AT_COMMIT + 4, UINT32_MAX, 4);
    read_trace();
    assert_ledger("block of a chunk whose hash is wrong", (fixture.trace.chunk_used - CHUNK_HEADER_BYTES) / 2);
}

TEST(test_live_chunks, setup, teardown) {
    struct trace_builder *trace = &fixture.trace;
    uint64_t marker = build_small();
    /* The process of the first chunk has no end. Another one has an end, and one has only just begun. */
    trace_write(trace, trace->chunk_at, BUILD_LIVE, 4);
    trace_events_chunk(trace, 0, 0);
    add_process(trace, 20, BUILD_START_NS, "orderly");
    add_thread(trace, 0, 2, 20, 0, "main");
    add_instant(trace, 2, marker);
    add_mark(trace, BUILD_PROCESS_END, 2);
    /* These bytes are not published. */
    memset(trace->bytes + trace->chunk_at + trace->chunk_used, 0xff, 100);
    trace_events_chunk(trace, 0, 0);
    trace_events_chunk(trace, 0, 0);
    trace_write(trace, trace->chunk_at + CHUNK_AT_COMMIT, 0, 8);
    read_trace();
    assert_markers(
        "10/10 instant 1 Other m\n"
        "10/10 instant 2 Other m\n"
        "20/20 instant 1 Other m\n");
    assert_int_equal(lost_sum(), 0);
    struct profile_text *log = log_text(&fixture.profile, &fixture.profile.gathering_log);
    assert_non_null(strstr(log->bytes, "chunksUnsealed 4\n"));
    assert_non_null(strstr(log->bytes, "processesWithoutEnd 1\n"));
    free(log);
}

/* A live chunk has no hash. It is read up to the first block that is damaged. */
static void assert_damage(const unsigned char *block, size_t block_bytes) {
    teardown(NULL);
    setup(NULL);
    struct trace_builder *trace = begin_definitions();
    uint64_t marker = define_marker(trace, "m", 0, 0);
    define_marker(trace, "typed", 0, define_type(trace, "T", FORMAT_LIST));
    begin_events(0);
    add_instant(trace, 2, marker);
    size_t damage_at = trace->chunk_at + trace->chunk_used;
    trace_append(trace, block, block_bytes);
    trace->block_count++;
    add_instant(trace, 2, marker);
    add_instant(trace, 2, marker);
    read_trace();
    assert_markers("10/10 instant 1 Other m\n");
    uint64_t offset;
    assert_int_equal(ledger_of(CAUSE_DAMAGED, &offset), 3);
    assert_int_equal(offset, damage_at);
}

TEST(test_damaged_blocks, setup, teardown) {
#define DAMAGE(literal) assert_damage((const unsigned char *)(literal), sizeof(literal) - 1)
    DAMAGE("\x00\x00");                                         /* without a kind */
    DAMAGE("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00");     /* length 0 in ten bytes */
    DAMAGE("\x7f\x06\x00\x01");                                 /* beyond the chunk */
    DAMAGE("\x02\x06\x00");                                     /* without a marker */
    DAMAGE("\x02\x06\x80");                                     /* a truncated time */
    DAMAGE("\x0b\x06\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x01"); /* a time far in the future */
    DAMAGE("\x03\x07\x00\x80");                                 /* an interval without a length */
    DAMAGE("\x06\x01\xff\xff\xff\xff\xff");                     /* an impossible pid */
    DAMAGE(
        "\x09\x01\x0a\x00\x00\x05"
        "abcd");                                                                /* a truncated name */
    DAMAGE("\x07\x02\x00\x01\x80\x80\x80\x80");                                 /* a truncated tid */
    DAMAGE("\x0f\x02\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x01\x0a\x00\x00\x00"); /* an impossible time */
    DAMAGE("\x01\x03");                                                         /* an end without a time */
    DAMAGE("\x01\x04");
    DAMAGE("\x02\x05\x00");                         /* a truncated calibration */
    DAMAGE("\x04\x0a\x00\x04\x01");                 /* missing times */
    DAMAGE("\x05\x0a\x00\x08\x01\x01");             /* a truncated thread */
    DAMAGE("\x07\x0a\x00\x20\x01\x09\x00\x00");     /* a payload longer than the block */
    DAMAGE("\x06\x0a\x00\x20\x01\x00\x05");         /* more frames than the block has */
    DAMAGE("\x03\x0b\x00\x01");                     /* without a change */
    DAMAGE("\x04\x0d\x00\x01\x01");                 /* without a number */
    DAMAGE("\x02\x0e\x00");                         /* without a stack */
    DAMAGE("\x03\x0e\x00\x01");                     /* without a frame */
    DAMAGE("\x05\x0e\x00\x01\x01\x01");             /* without a text */
    DAMAGE("\x08\x0e\x00\x01\x02\x00\x00\x00\x01"); /* without a column */
    DAMAGE("\x01\x0f");
    DAMAGE("\x01\x10");
    DAMAGE("\x03\x11\x00\x01");                     /* without a message */
    DAMAGE("\x04\x06\x00\x03\x7f");                 /* a list longer than its payload */
    DAMAGE("\x05\x06\x00\x03\x01\x05");             /* a text longer than its list */
    DAMAGE("\x08\x0a\x00\x10\x03\x08\x01\x08\x00"); /* a table in a table */
    DAMAGE("\x05\x0a\x00\x10\x03\x03");             /* a truncated real */
#undef DAMAGE
}

/* The program may give a marker impossible times. Only that marker is lost. An interval that began before the recording
 * is cut to begin with the recording. */
TEST(test_times_of_the_program, setup, teardown) {
    struct trace_builder *trace = begin_definitions();
    uint64_t marker = define_marker(trace, "m", 0, 0);
    begin_events(0);
    add_instant(trace, 2, marker);
    static const unsigned char beyond_all_time[] = "\x0c\x07\x00\xff\xff\xff\xff\xff\xff\xff\xff\x7f\x01";
    size_t wrong_at = trace->chunk_at + trace->chunk_used;
    trace_append(trace, beyond_all_time, sizeof beyond_all_time - 1);
    trace->block_count++;
    static const unsigned char wrong_end[] = "\x0e\x0a\x00\x05\x01\x00\xff\xff\xff\xff\xff\xff\xff\xff\x7f";
    trace_append(trace, wrong_end, sizeof wrong_end - 1);
    trace->block_count++;
    static const unsigned char before_the_start[] = "\x07\x07\x00\x80\x80\x80\x40\x01";
    trace_append(trace, before_the_start, sizeof before_the_start - 1);
    trace->block_count++;
    add_instant(trace, 2, marker);
    read_trace();
    uint64_t offset;
    assert_int_equal(ledger_of("marker whose start or end is impossible", &offset), 2);
    assert_int_equal(offset, wrong_at);
    assert_int_equal(lost_sum(), 2);
    const struct thread *thread = column_at(&fixture.profile.threads, 0);
    assert_int_equal(thread->markers.count, 3);
    const struct marker *interval = column_at(&thread->markers, 0);
    assert_int_equal(interval->phase, MARKER_INTERVAL);
    assert_int_equal(interval->start_ns, 0);
}

TEST(test_entries_of_unknown_kinds, setup, teardown) {
    struct trace_builder *trace = begin_definitions();
    uint64_t marker = define_marker(trace, "m", 0, 0);
    begin_events(0);
    add_instant(trace, 2, marker);
    size_t at = trace->chunk_at + trace->chunk_used;
    add_block(trace, 99, 1000000);
    trace_block(trace, 0);
    trace_block(trace, 255);
    trace_block(trace, 255);
    /* Bytes after the fields of an entry are ignored. */
    put_leb(trace, 2);
    put_text(trace, "a message");
    put_text(trace, "and more");
    trace_block(trace, BUILD_MESSAGE);
    add_instant(trace, 0, marker);
    seal_and_read();
    assert_markers(
        "10/10 instant 1 Other m\n"
        "10/10 instant 2 Other m\n");
    uint64_t offset;
    assert_int_equal(ledger_of("entry of an unknown kind", &offset), 4);
    assert_int_equal(offset, at);
    struct profile_text *log = log_text(&fixture.profile, &fixture.profile.gathering_log);
    assert_non_null(strstr(log->bytes, "entriesOfUnknownKind0 1\nentriesOfUnknownKind99 1\nentriesOfUnknownKind255 2"));
    free(log);
}

TEST(test_blocks_that_are_counted_wrong, setup, teardown) {
    build_small();
    size_t at = fixture.trace.chunk_at + CHUNK_AT_COMMIT + 4;
    trace_write(&fixture.trace, at, 5, 4);
    trace_hash_chunk(&fixture.trace, fixture.trace.chunk_at);
    read_trace();
    assert_ledger("chunk with a wrong number of blocks", 1);
    assert_int_equal(lost_sum(), 0);
}

TEST(test_cut_trace, setup, teardown) {
    build_small();
    /* The trace is cut within the last block, whose bytes are \x03 \x06 \x02 \x01. */
    size_t end = fixture.trace.chunk_at + fixture.trace.chunk_used;
    read_bytes(text_slice(trace_text(&fixture.trace), 0, end - 1), 0);
    assert_markers("10/10 instant 1 Other m\n");
    uint64_t offset;
    assert_int_equal(ledger_of("block after the end of a trace that is cut off", &offset), 1);
    assert_int_equal(offset, end - 4);
    assert_ledger("trace that is cut off within a chunk", 1);
    /* The trace is cut between blocks. */
    read_bytes(text_slice(trace_text(&fixture.trace), 0, end - 4), 0);
    assert_int_equal(ledger_of("block after the end of a trace that is cut off", &offset), 1);
    assert_int_equal(offset, end - 4);
    /* After the last block nothing is missing, and the hash can be checked. */
    read_bytes(text_slice(trace_text(&fixture.trace), 0, end), 0);
    assert_ledger("block after the end of a trace that is cut off", 0);
    assert_markers(
        "10/10 instant 1 Other m\n"
        "10/10 instant 2 Other m\n");
    fixture.trace.bytes[end - 1] ^= 1;
    read_bytes(text_slice(trace_text(&fixture.trace), 0, end), 0);
    assert_ledger("block of a chunk whose hash is wrong", 4);
    /* The trace is cut within the definitions. */
    read_bytes(text_slice(trace_text(&fixture.trace), 0, fixture.trace.chunks_offset + CHUNK_HEADER_BYTES + 9), 0);
    assert_ledger("block after the end of a trace that is cut off", 1);
}

/* ---- The documentation. ---- */

/* Reads the bytes of the lines "    OFFSET: BYTES" of the file. */
static void read_example(const char *path, unsigned char *bytes, size_t bytes_count) {
    FILE *file = fopen(path, "r");
    if (!file) skip(); /* the test may run outside of the source tree */
    char line[512];
    while (fgets(line, sizeof line, file)) {
        unsigned at, byte;
        int used = 0;
        if (strncmp(line, "    ", 4) != 0 || sscanf(line, "%8x:%n", &at, &used) != 1 || !used) continue;
        for (const char *next = line + used; sscanf(next, "%x%n", &byte, &used) == 1; next += used) {
            assert_true(at < bytes_count);
            bytes[at++] = (unsigned char)byte;
        }
    }
    fclose(file);
}

TEST(test_example_of_the_documentation, setup, teardown) {
    unsigned char bytes[12288] = {0};
    read_example("docs/trace-format.md", bytes, sizeof bytes);
    read_bytes((struct text){(const char *)bytes, sizeof bytes}, 0);
    assert_string_equal(fixture.failure.message, "");
    assert_markers("7/7 instant 1001520 Other tick T{n=-3}\n");
    assert_int_equal(fixture.profile.origin_ns, 4000000);
    assert_int_equal(fixture.profile.meta.start_time_ms, 1699999999999);
    assert_text(profile_process_at(&fixture.profile, (process_id){0})->name, "app");
    assert_text(profile_thread_at(&fixture.profile, (thread_id){0})->name, "main");
    assert_int_equal(lost_sum(), 0);
    assert_int_equal(ledger_sum(&fixture.profile.ledger, LEDGER_RECORDS, LEDGER_KEPT), 5);
}

/* ---- All together. ---- */

/* Builds three chunks with every kind of entry and definition. Each chunk of events has every kind twice: more would
 * take time with every byte that tests cut or flip, and have only more of the same. */
static void build_rich(void) {
    struct trace_builder *trace = begin_definitions();
    define_meta(trace, "product", "demo");
    uint64_t string = define_string(trace, "text");
    uint64_t category = define_category(trace, "Work", 3, 0);
    uint64_t part = define_category(trace, "Part", 4, category);
    uint64_t all = define_all_formats(trace);
    uint64_t plain = define_marker(trace, "plain", part, 0);
    uint64_t typed = define_marker(trace, "typed", category, all);
    uint64_t label = define_label(trace, "label", part, "main.c", 3);
    uint64_t counter = define_counter(trace, "counter", 1);
    for (unsigned chunk = 0; chunk < 2; chunk++) {
        begin_events(chunk * 1000000);
        for (unsigned i = 0; i < 2; i++) {
            add_instant(trace, 10, plain);
            add_block(trace, BUILD_INTERVAL, 10, 5, plain);
            add_block(trace, BUILD_INTERVAL_START, 10, plain);
            add_block(trace, BUILD_INTERVAL_END, 10, plain);
            put_lebs(trace, 300, 1 | 4 | 8 | 16 | 32 | 64, typed);
            put_zigzag(trace, 100);
            put_zigzag(trace, 50);
            put_lebs(trace, 2 + i, 11 + i);
            size_t length_at = trace->pending_count;
            put_byte(trace, 0);
            for (unsigned wire = 0; wire < 9; wire++) put_tagged(trace, wire, string);
            trace->pending[length_at] = (unsigned char)(trace->pending_count - length_at - 1);
            put_leb(trace, 3);
            put_label(trace, label);
            put_label_text(trace, label, "deep");
            put_script(trace, category, 7, 8);
            put_origin(trace, 20, 3 + i, 12 + i, 10 + i % 2);
            trace_block(trace, BUILD_MARKER);
            add_count(trace, BUILD_COUNT, 10, counter, 5);
            add_count(trace, BUILD_COUNT_SET, 10, counter, 50);
            add_counter_sample(trace, 10, counter, 70, 9);
            add_count(trace, BUILD_COUNT_START, 10, counter, 3);
            add_count(trace, BUILD_COUNT_LEVEL, 10, counter, 80);
            put_lebs(trace, 10, 2);
            put_label(trace, label);
            put_label(trace, label);
            trace_block(trace, BUILD_SAMPLE);
            add_block(trace, BUILD_CLOCK, 100, 1000 * i);
            add_mark(trace, BUILD_PAUSE, 10);
            add_mark(trace, BUILD_RESUME, 10);
            put_leb(trace, 1);
            put_text(trace, "message");
            trace_block(trace, BUILD_MESSAGE);
            trace_block(trace, 77);
        }
        add_mark(trace, BUILD_THREAD_END, 10);
        add_mark(trace, BUILD_PROCESS_END, 10);
        if (!chunk) trace_seal(trace, 900000, 450000);
    }
}

static uint64_t kept_sum(void) {
    uint64_t sum = 0;
    for (enum gecko_convert_unit unit = 0; unit < LEDGER_UNIT_COUNT; unit++)
        sum += ledger_sum(&fixture.profile.ledger, unit, LEDGER_KEPT);
    return sum;
}

/* Reads a copy of exactly that size, so that a sanitizer detects reads beyond its end. */
static void read_exactly(const unsigned char *bytes, size_t bytes_count, size_t window_bytes) {
    char *exact = malloc(bytes_count ? bytes_count : 1);
    if (!exact) abort();
    memcpy(exact, bytes, bytes_count);
    read_bytes((struct text){exact, bytes_count}, window_bytes);
    free(exact);
    assert_true(fixture.failure.code == FAILURE_NONE || fixture.failure.code == FAILURE_INPUT);
    if (failure_is_set(&fixture.failure)) return;
    const char *fault = profile_fault(&fixture.profile);
    if (fault) fail_msg("%s", fault);
}

TEST(test_rich_trace, setup, teardown) {
    build_rich();
    read_trace();
    assert_int_equal(ledger_sum(&fixture.profile.ledger, LEDGER_RECORDS, LEDGER_LOST), 4);
    assert_ledger("entry of an unknown kind", 4);
    assert_int_equal(ledger_sum(&fixture.profile.ledger, LEDGER_SAMPLES, LEDGER_KEPT), 4);
}

/* Reads the trace cut at every byte. A shorter trace must not have more content than a longer one. */
TEST(test_every_cut, setup, teardown) {
    build_rich();
    size_t end = fixture.trace.chunk_at + fixture.trace.chunk_used + 40;
    uint64_t before = 0;
    for (size_t count = 0; count <= end; count++) {
        read_exactly(fixture.trace.bytes, count, 0);
        uint64_t kept = failure_is_set(&fixture.failure) ? 0 : kept_sum();
        if (kept < before)
            fail_msg("%zu bytes: %llu after %llu", count, (unsigned long long)kept, (unsigned long long)before);
        before = kept;
    }
    read_exactly(fixture.trace.bytes, fixture.trace.bytes_count, 0);
    assert_int_equal(kept_sum(), before);
}

/* Returns whether a byte is unused: between the header and the chunks, or one of the zeros at the ends of chunks. */
static bool is_gap(size_t at) {
    const struct trace_builder *trace = &fixture.trace;
    if (at < trace->chunks_offset) return at >= BUILD_AT_STOP_ERRNO + 16;
    size_t chunk_end = at - at % trace->chunk_bytes + trace->chunk_bytes;
    for (size_t i = at < 16 ? 0 : at - 16; i < chunk_end; i++)
        if (trace->bytes[i]) return false;
    return true;
}

TEST(test_every_flipped_byte, setup, teardown) {
    static const unsigned char flips[] = {0x01, 0x80, 0xff};
    build_rich();
    for (size_t at = 0; at < fixture.trace.bytes_count; at++) {
        if (is_gap(at)) continue;
        for (size_t i = 0; i < sizeof flips; i++) {
            fixture.trace.bytes[at] ^= flips[i];
            read_exactly(fixture.trace.bytes, fixture.trace.bytes_count, 0);
            fixture.trace.bytes[at] ^= flips[i];
        }
    }
}

/* Flips each bit of a chunk and corrects the chunk's hash, so that the reader gets unexpected values with a valid
 * hash. */
TEST(test_every_flipped_byte_with_good_hashes, setup, teardown) {
    build_rich();
    struct trace_builder *trace = &fixture.trace;
    size_t chunk_at = trace->chunks_offset + trace->chunk_bytes;
    size_t end = chunk_at + trace_read(trace, chunk_at + CHUNK_AT_COMMIT, 4);
    for (size_t at = chunk_at + CHUNK_AT_MAGIC; at < end; at++) {
        for (unsigned flip = 1; flip < 256; flip <<= 1) {
            unsigned char old[CHUNK_HEADER_BYTES];
            memcpy(old, trace->bytes + chunk_at, sizeof old);
            unsigned char byte = trace->bytes[at];
            trace->bytes[at] ^= (unsigned char)flip;
            uint64_t commit_end = trace_read(trace, chunk_at + CHUNK_AT_COMMIT, 4);
            if (commit_end > CHUNK_AT_MAGIC && commit_end <= trace->chunk_bytes) trace_hash_chunk(trace, chunk_at);
            read_exactly(trace->bytes, trace->bytes_count, 0);
            trace->bytes[at] = byte;
            memcpy(trace->bytes + chunk_at, old, sizeof old);
        }
    }
}

TEST(test_small_windows, setup, teardown) {
    build_rich();
    read_trace();
    struct profile_text *markers = profile_markers_text(&fixture.profile);
    struct profile_text *ledger = ledger_entries_text(&fixture.profile.ledger);
    for (size_t window_bytes = 1; window_bytes < 20000; window_bytes = window_bytes * 2 + 1) {
        read_exactly(fixture.trace.bytes, fixture.trace.bytes_count, window_bytes);
        assert_markers(markers->bytes);
        assert_printed(ledger_entries_text(&fixture.profile.ledger), ledger->bytes);
    }
    free(markers);
    free(ledger);
}

int main(void) { return unit_tests_run(NULL, NULL); }
