/* Tests markers: formats, phases, payloads, stacks, markers of other threads, and wrong arguments. */
#include <stdio.h>
#include <stdlib.h>

#include <pthread.h>
#include <sys/syscall.h>

#include "tests/support/recorder_trace.h"
#include "tests/support/unit_test.h"
#include "tests/support/wait_for_child.h"

static struct grec_options no_options;

#define COUNT_OF(array) (sizeof(array) / sizeof(array)[0])

static uint64_t cause_count(const struct recorded *recorded, enum gecko_convert_fate fate, const char *start) {
    return count_of_cause(&recorded->profile.ledger, fate, start);
}

static uint64_t lost_count(const struct recorded *recorded) { return cause_count(recorded, LEDGER_LOST, ""); }

static const char *category_of(const struct profile *profile, const char *marker_name) {
    static char name[1024];
    const struct marker *marker = find_marker(profile, marker_name, NULL);
    struct text text = categories_at(&profile->categories, marker->category)->name;
    snprintf(name, sizeof name, "%.*s", (int)text.bytes_count, text.bytes);
    return name;
}

/* ---- Every format. ---- */

static const struct grec_column all_columns[] = {GREC_COLUMN("Name", GREC_FORMAT_STRING),
                                                 GREC_COLUMN("Size", GREC_FORMAT_BYTES),
                                                 GREC_COLUMN("Share", GREC_FORMAT_PERCENTAGE)};
static const struct grec_field all_fields[] = {
    GREC_FIELD("string", NULL, GREC_FORMAT_STRING),
    GREC_FIELD("url", NULL, GREC_FORMAT_URL),
    GREC_FIELD("path", NULL, GREC_FORMAT_FILE_PATH),
    GREC_FIELD("sanitized", NULL, GREC_FORMAT_SANITIZED_STRING),
    GREC_FIELD("unique", NULL, GREC_FORMAT_UNIQUE_STRING),
    GREC_FIELD("flow", NULL, GREC_FORMAT_FLOW_ID),
    GREC_FIELD("last", NULL, GREC_FORMAT_TERMINATING_FLOW_ID),
    GREC_FIELD("duration", NULL, GREC_FORMAT_DURATION),
    GREC_FIELD("time", NULL, GREC_FORMAT_TIME),
    GREC_FIELD("s", NULL, GREC_FORMAT_SECONDS),
    GREC_FIELD("ms", NULL, GREC_FORMAT_MILLISECONDS),
    GREC_FIELD("us", NULL, GREC_FORMAT_MICROSECONDS),
    GREC_FIELD("ns", NULL, GREC_FORMAT_NANOSECONDS),
    GREC_FIELD("bytes", NULL, GREC_FORMAT_BYTES),
    GREC_FIELD("percentage", NULL, GREC_FORMAT_PERCENTAGE),
    GREC_FIELD("integer", NULL, GREC_FORMAT_INTEGER),
    GREC_FIELD("decimal", NULL, GREC_FORMAT_DECIMAL),
    GREC_FIELD("hexadecimal", NULL, GREC_FORMAT_HEXADECIMAL),
    GREC_FIELD("pid", NULL, GREC_FORMAT_PID),
    GREC_FIELD("tid", NULL, GREC_FORMAT_TID),
    GREC_FIELD("list", NULL, GREC_FORMAT_LIST),
    GREC_FIELD_OF_TABLE("table", NULL, all_columns),
};
enum { FORMAT_COUNT = GREC_FORMAT_TABLE + 1 };
_Static_assert(COUNT_OF(all_fields) == FORMAT_COUNT, "one of each");
static struct grec_marker_type all_type = GREC_MARKER_TYPE("All", all_fields);

/* Records a marker at the returned time. The marker shows what this time is on the profile's clock. */
static grec_time record_anchor(void) {
    grec_time now = grec_now();
    grec_add_named_marker("anchor", NULL, NULL, &(struct grec_marker_options){.start = now}, NULL, 0);
    return now;
}

static int64_t anchor_ns(const struct profile *profile) { return find_marker(profile, "anchor", NULL)->start_ns; }

static const char *const list_texts[] = {"one", "", "th\xc3\xa9ree"};

static void assert_all_formats(const struct profile *profile, const char *marker_name) {
    char expected[1024];
    snprintf(expected, sizeof expected,
             "All{string=\"a text\",url=\"https://example.org/\",path=\"/a/b\",sanitized=\"a name\",unique='again',"
             "flow='00000000deadbeef',last='ffffffffffffffff',duration=-1500ns,time=@%" PRId64
             ",s=1500,ms=0.25,us=12,"
             "ns=-13,bytes=9223372036854775807,percentage=0.5,integer=-9223372036854775808,decimal=1e-300,"
             "hexadecimal=255,pid=\"4194304\",tid=\"1\",list=[\"one\",\"\",\"th\xc3\xa9ree\"],"
             "table=[\"a\",1,0.25|\"b\",-,1]}",
             anchor_ns(profile));
    assert_payload(profile, marker_name, expected);
}

#define ALL_VALUES(cells, time)                                                                             \
    GREC_TEXT("a text"), GREC_TEXT("https://example.org/"), GREC_TEXT_OF("/a/bc", 4), GREC_TEXT("a name"),  \
        GREC_TEXT("again"), GREC_FLOW(0xdeadbeef), GREC_FLOW(UINT64_MAX), GREC_INT(-1500), GREC_TIME(time), \
        GREC_REAL(1.5), GREC_REAL(0.25), GREC_INT(12), GREC_INT(-13), GREC_INT(INT64_MAX), GREC_REAL(0.5),  \
        GREC_INT(INT64_MIN), GREC_REAL(1e-300), GREC_UINT(255), GREC_INT(4194304), GREC_INT(1),             \
        GREC_LIST(list_texts, 3), GREC_TABLE(cells, 6)

TEST(test_every_format, set_up_folder, tear_down_folder) {
    static struct grec_marker marker = GREC_MARKER("function", NULL, &all_type);
    start_recording(*state, "formats.trace", no_options);
    grec_time time = record_anchor();
    const struct grec_value cells[] = {GREC_TEXT("a"), GREC_INT(1), GREC_REAL(0.25),
                                       GREC_TEXT("b"), GREC_NONE(), GREC_REAL(1)};
    const struct grec_value values[] = {ALL_VALUES(cells, time)};
    for (int i = 0; i < 2; i++) {
        GREC_INSTANT_WITH("instant macro", NULL, &all_type, ALL_VALUES(cells, time));
        GREC_INTERVAL_WITH("interval macro", NULL, &all_type, time, ALL_VALUES(cells, time));
        grec_instant(&marker, values, FORMAT_COUNT);
        grec_add_named_marker("named", NULL, &all_type, NULL, values, FORMAT_COUNT);
        grec_add_named_marker("with stack", NULL, &all_type, &(struct grec_marker_options){.with_stack = 1}, values,
                              FORMAT_COUNT);
    }
    const struct recorded *recorded = stop_and_read_whole(*state, "formats.trace");
    static const char *const names[] = {"instant macro", "interval macro", "function", "named", "with stack"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        assert_all_formats(&recorded->profile, names[i]);
        assert_int_equal(count_markers(&recorded->profile, names[i]), 2);
    }
    const struct marker_schema *schema =
        schema_of(&recorded->profile, find_marker(&recorded->profile, "function", NULL));
    assert_int_equal(schema->field_count, FORMAT_COUNT);
    static const char *const format_names[] = {
        "string",     "url",     "file-path", "sanitized-string", "unique-string", "flow-id",     "terminating-flow-id",
        "duration",   "time",    "seconds",   "milliseconds",     "microseconds",  "nanoseconds", "bytes",
        "percentage", "integer", "decimal",   "hexadecimal",      "pid",           "tid",         "list",
        "table"};
    for (size_t i = 0; i < FORMAT_COUNT; i++) {
        if (schema->fields[i].format == MARKER_TABLE)
            assert_int_equal(schema->fields[i].column_count, COUNT_OF(all_columns));
        else
            assert_string_equal(marker_format_name(schema->fields[i].format), format_names[i]);
        assert_true(text_equal(schema->fields[i].key, text_of(all_fields[i].key)));
    }
}

/* Records numbers with short and with long encodings, by the calls that programs normally use. */
TEST(test_numbers, set_up_folder, tear_down_folder) {
    static const struct grec_field fields[] = {GREC_FIELD("i", NULL, GREC_FORMAT_INTEGER),
                                               GREC_FIELD("h", NULL, GREC_FORMAT_HEXADECIMAL),
                                               GREC_FIELD("d", NULL, GREC_FORMAT_DECIMAL)};
    static struct grec_marker_type type = GREC_MARKER_TYPE("Numbers", fields);
    static struct grec_marker marker = GREC_MARKER("numbers", NULL, &type);
    static const int64_t integers[] = {0,       1,       -1,      63,        64,        -64,       -65,
                                       8191,    8192,    -8193,   INT32_MAX, INT32_MIN, INT64_MAX, INT64_MIN,
                                       1 << 20, 1 << 21, 1 << 28, 1ll << 35, 1ll << 42, 1ll << 49, 1ll << 56};
    static const double reals[] = {0, -0.0, 0.5, 1e300, -1e-300, 0.1};
    start_recording(*state, "numbers.trace", no_options);
    for (size_t i = 0; i < COUNT_OF(integers); i++) {
        const struct grec_value values[] = {GREC_INT(integers[i]), GREC_UINT(integers[i]),
                                            GREC_REAL(reals[i % COUNT_OF(reals)])};
        for (size_t count = 0; count <= 3; count++) grec_instant(&marker, values, count);
        grec_interval(&marker, grec_now(), values, 3);
        grec_interval_start(&marker, values, 3);
        grec_interval_end(&marker, values, 3);
    }
    const struct recorded *recorded = stop_and_read_whole(*state, "numbers.trace");
    const struct profile *profile = &recorded->profile;
    const struct marker *row = NULL;
    static const uint8_t phases[] = {MARKER_INSTANT,  MARKER_INSTANT,        MARKER_INSTANT,     MARKER_INSTANT,
                                     MARKER_INTERVAL, MARKER_INTERVAL_START, MARKER_INTERVAL_END};
    int64_t last_ns = 0;
    for (size_t i = 0; i < COUNT_OF(integers); i++)
        for (size_t j = 0; j < COUNT_OF(phases); j++) {
            row = next_marker(profile, "numbers", row, NULL);
            assert_non_null(row);
            size_t count = j < 3 ? j : 3;
            assert_int_equal(row->phase, phases[j]);
            assert_true(row->start_ns >= last_ns && row->end_ns >= row->start_ns);
            last_ns = row->start_ns;
            for (uint32_t k = 0; k < 3; k++) {
                const union marker_value value = value_of(profile, row, k);
                assert_int_equal(marker_value_is_absent(VALUE_NUMBER, &value), k >= count);
            }
            if (count > 0) assert_int_equal(value_of(profile, row, 0).number.mantissa, integers[i]);
            if (count > 1) assert_true(marker_value_bits(value_of(profile, row, 1).number) == (uint64_t)integers[i]);
            if (count > 2)
                assert_true(marker_value_real_of(value_of(profile, row, 2).number) == reals[i % COUNT_OF(reals)]);
        }
    assert_null(next_marker(profile, "numbers", row, NULL));
}

/* ---- Values whose kind does not match the field. ---- */

enum { KIND_COUNT = GREC_VALUE_TABLE + 1 };

/* The text of each field for these values: nothing, -7, 9, 2.5, "t", the string "s", a time, ["x"], a table ["y"].
 * "!" means that the value is dropped and counted. */
static const char *const conversions[FORMAT_COUNT][KIND_COUNT] = {
    [GREC_FORMAT_STRING] = {"-", "\"-7\"", "\"9\"", "!", "\"t\"", "\"s\"", "!", "!", "!"},
    [GREC_FORMAT_URL] = {"-", "\"-7\"", "\"9\"", "!", "\"t\"", "\"s\"", "!", "!", "!"},
    [GREC_FORMAT_FILE_PATH] = {"-", "\"-7\"", "\"9\"", "!", "\"t\"", "\"s\"", "!", "!", "!"},
    [GREC_FORMAT_SANITIZED_STRING] = {"-", "\"-7\"", "\"9\"", "!", "\"t\"", "\"s\"", "!", "!", "!"},
    [GREC_FORMAT_UNIQUE_STRING] = {"-", "'-7'", "'9'", "!", "'t'", "'s'", "!", "!", "!"},
    [GREC_FORMAT_FLOW_ID] = {"-", "'fffffffffffffff9'", "'0000000000000009'", "!", "'t'", "'s'", "!", "!", "!"},
    [GREC_FORMAT_TERMINATING_FLOW_ID] = {"-", "'fffffffffffffff9'", "'0000000000000009'", "!", "'t'", "'s'", "!", "!",
                                         "!"},
    [GREC_FORMAT_DURATION] = {"-", "-7ns", "9ns", "2ns", "!", "!", "!", "!", "!"},
    [GREC_FORMAT_TIME] = {"-", "!", "!", "!", "!", "!", "@", "!", "!"},
    [GREC_FORMAT_SECONDS] = {"-", "-7000", "9000", "2500", "!", "!", "!", "!", "!"},
    [GREC_FORMAT_MILLISECONDS] = {"-", "-7", "9", "2.5", "!", "!", "!", "!", "!"},
    [GREC_FORMAT_MICROSECONDS] = {"-", "-7", "9", "2.5", "!", "!", "!", "!", "!"},
    [GREC_FORMAT_NANOSECONDS] = {"-", "-7", "9", "2.5", "!", "!", "!", "!", "!"},
    [GREC_FORMAT_BYTES] = {"-", "-7", "9", "2.5", "!", "!", "!", "!", "!"},
    [GREC_FORMAT_PERCENTAGE] = {"-", "-7", "9", "2.5", "!", "!", "!", "!", "!"},
    [GREC_FORMAT_INTEGER] = {"-", "-7", "9", "2.5", "!", "!", "!", "!", "!"},
    [GREC_FORMAT_DECIMAL] = {"-", "-7", "9", "2.5", "!", "!", "!", "!", "!"},
    [GREC_FORMAT_HEXADECIMAL] = {"-", "-7", "9", "2.5", "!", "!", "!", "!", "!"},
    [GREC_FORMAT_PID] = {"-", "\"-7\"", "\"9\"", "!", "\"t\"", "\"s\"", "!", "!", "!"},
    [GREC_FORMAT_TID] = {"-", "\"-7\"", "\"9\"", "!", "\"t\"", "\"s\"", "!", "!", "!"},
    [GREC_FORMAT_LIST] = {"-", "!", "!", "!", "!", "!", "!", "[\"x\"]", "!"},
    [GREC_FORMAT_TABLE] = {"-", "!", "!", "!", "!", "!", "!", "!", "[\"y\"]"},
};

TEST(test_every_kind_for_every_format, set_up_folder, tear_down_folder) {
    static const struct grec_column column[] = {GREC_COLUMN("column", GREC_FORMAT_STRING)};
    static struct grec_field fields[FORMAT_COUNT][2];
    static struct grec_marker_type types[FORMAT_COUNT];
    static struct grec_marker markers[FORMAT_COUNT];
    static char names[FORMAT_COUNT][32];
    static struct grec_string string = GREC_STRING_OF("s");
    static const char *const texts[] = {"x"};
    const struct grec_value cells[] = {GREC_TEXT("y")};
    start_recording(*state, "kinds.trace", no_options);
    grec_time time = record_anchor();
    /* A second field follows each value, to check that the reader finds where the value ends. */
    const struct grec_value values[KIND_COUNT] = {GREC_NONE(),     GREC_INT(-7),        GREC_UINT(9),
                                                  GREC_REAL(2.5),  GREC_TEXT("t"),      GREC_STRING(&string),
                                                  GREC_TIME(time), GREC_LIST(texts, 1), GREC_TABLE(cells, 1)};
    uint64_t expected_lost_count = 0;
    for (uint32_t format = 0; format < FORMAT_COUNT; format++) {
        snprintf(names[format], sizeof names[format], "format %u", format);
        fields[format][0] = (struct grec_field){.key = "v", .format = format};
        fields[format][1] = (struct grec_field){.key = "behind", .format = GREC_FORMAT_INTEGER};
        if (format == GREC_FORMAT_TABLE) {
            fields[format][0].columns = column;
            fields[format][0].column_count = 1;
        }
        types[format] = (struct grec_marker_type){.name = names[format], .fields = fields[format], .field_count = 2};
        markers[format] = (struct grec_marker)GREC_MARKER(names[format], NULL, &types[format]);
        for (int kind = 0; kind < KIND_COUNT; kind++) {
            const struct grec_value both[] = {values[kind], GREC_INT(42)};
            grec_instant(&markers[format], both, 2);
            expected_lost_count += conversions[format][kind][0] == '!';
        }
    }
    const struct recorded *recorded = stop_and_read(*state, "kinds.trace");
    const struct profile *profile = &recorded->profile;
    for (uint32_t format = 0; format < FORMAT_COUNT; format++) {
        const struct marker *marker = NULL;
        for (int kind = 0; kind < KIND_COUNT; kind++) {
            char expected[128], value[64];
            marker = next_marker(profile, names[format], marker, NULL);
            assert_non_null(marker);
            snprintf(value, sizeof value, "%s", conversions[format][kind]);
            if (value[0] == '!') value[0] = '-';
            if (value[0] == '@') snprintf(value, sizeof value, "@%" PRId64, anchor_ns(profile));
            snprintf(expected, sizeof expected, "%s{v=%s,behind=42}", names[format], value);
            struct profile_text *got = payload_text(profile, marker);
            if (strcmp(got->bytes, expected) != 0) fail_msg("kind %d: %s, not %s", kind, got->bytes, expected);
            free(got);
        }
    }
    assert_int_equal(cause_count(recorded, LEDGER_LOST, "value that "), expected_lost_count);
    assert_int_equal(lost_count(recorded), expected_lost_count);
    assert_int_equal(recorded->header.mismatched_value_count, 0);
}

/* ---- Too many values, too few values, no values. ---- */

static const struct grec_field pair_fields[] = {GREC_FIELD("a", "First", GREC_FORMAT_INTEGER),
                                                GREC_FIELD("b", NULL, GREC_FORMAT_STRING)};
static struct grec_marker_type pair_type = GREC_MARKER_TYPE("Pair", pair_fields);
static struct grec_marker pair_marker = GREC_MARKER("pair", NULL, &pair_type);

TEST(test_counts_of_values, set_up_folder, tear_down_folder) {
    static const char *const expected[] = {
        "Pair{a=-,b=-}", "Pair{a=1,b=-}",       "Pair{a=1,b=\"two\"}", "Pair{a=1,b=\"two\"}", "Pair{a=1,b=\"two\"}",
        "Pair{a=-,b=-}", "Pair{a=-,b=\"two\"}", "Pair{a=-,b=-}",       "Pair{a=1,b=-}",       "Pair{a=1,b=-}",
    };
    start_recording(*state, "counts.trace", no_options);
    const struct grec_value values[] = {GREC_INT(1), GREC_TEXT("two"), GREC_INT(3), GREC_TEXT("four")};
    for (size_t count = 0; count <= 4; count++) grec_instant(&pair_marker, values, count);
    /* A NULL array with a count that is not 0. */
    grec_instant(&pair_marker, NULL, 2);
    const struct grec_value without_first[] = {GREC_NONE(), GREC_TEXT("two")};
    grec_instant(&pair_marker, without_first, 2);
    const struct grec_value nulls[] = {GREC_TEXT(NULL), GREC_STRING(NULL)};
    grec_instant(&pair_marker, nulls, 2);
    const struct grec_value null_list[] = {GREC_INT(1), GREC_LIST(NULL, 3)};
    grec_instant(&pair_marker, null_list, 2);
    const struct grec_value null_text[] = {GREC_INT(1), GREC_TEXT_OF(NULL, 7)};
    grec_instant(&pair_marker, null_text, 2);
    /* A marker without a type takes no values. */
    GREC_INSTANT_WITH("without a type", NULL, NULL, GREC_INT(1), GREC_INT(2), GREC_INT(3));
    struct grec_status status;
    grec_get_status(&status);
    const struct recorded *recorded = stop_and_read(*state, "counts.trace");
    const struct marker *marker = NULL;
    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        marker = next_marker(&recorded->profile, "pair", marker, NULL);
        assert_non_null(marker);
        assert_printed(payload_text(&recorded->profile, marker), expected[i]);
    }
    assert_payload(&recorded->profile, "without a type", "");
    assert_int_equal(status.values_mismatched, 1 + 2 + 3);
    assert_int_equal(recorded->header.mismatched_value_count, 1 + 2 + 3);
    assert_int_equal(cause_count(recorded, LEDGER_LOST, "value beyond the fields"), 1 + 2 + 3);
    assert_int_equal(lost_count(recorded), 1 + 2 + 3);
    size_t said_count = 0;
    for (size_t i = 0; i < recorded->profile.profiling_log.count; i++) {
        const struct log_line *line = column_at(&recorded->profile.profiling_log, i);
        said_count += text_equal(line->text, TEXT("values beyond the fields of the marker's type are left out, "
                                                  "first of the marker pair"));
    }
    assert_int_equal(said_count, 1);
}

/* ---- Invalid types. ---- */

TEST(test_types, set_up_folder, tear_down_folder) {
    static const struct grec_field same_keys[] = {
        GREC_FIELD("k", NULL, GREC_FORMAT_INTEGER), GREC_FIELD("k", NULL, GREC_FORMAT_INTEGER),
        GREC_FIELD("type", NULL, GREC_FORMAT_INTEGER), GREC_FIELD(NULL, NULL, GREC_FORMAT_INTEGER)};
    static struct grec_marker_type keys_type = GREC_MARKER_TYPE("Keys", same_keys);
    static struct grec_marker_type nameless = GREC_MARKER_TYPE(NULL, pair_fields);
    static struct grec_marker_type fieldless = {.name = "Fieldless", .field_count = 3};
    /* Types whose names the front-end uses itself. */
    static const struct grec_field text_field[] = {GREC_FIELD("text", "Text", GREC_FORMAT_STRING)};
    static const struct grec_field log_fields[] = {GREC_FIELD("module", NULL, GREC_FORMAT_STRING),
                                                   GREC_FIELD("name", NULL, GREC_FORMAT_STRING)};
    static struct grec_marker_type taken = GREC_MARKER_TYPE("Network", pair_fields);
    static struct grec_marker_type taken_log = GREC_MARKER_TYPE("Log", text_field);
    static struct grec_marker_type fitting_log = GREC_MARKER_TYPE("Log", log_fields);
    /* A different type of the same name. */
    static const struct grec_field other_fields[] = {GREC_FIELD("z", NULL, GREC_FORMAT_BYTES)};
    static struct grec_marker_type other_pair = GREC_MARKER_TYPE("Pair", other_fields);
    /* An equal type of the same name, which must become the same type. */
    static struct grec_marker_type equal_pair = GREC_MARKER_TYPE("Pair", pair_fields);
    static struct grec_field strange_fields[] = {GREC_FIELD("s", NULL, 99), GREC_FIELD("n", NULL, GREC_FORMAT_INTEGER)};
    static struct grec_marker_type strange = GREC_MARKER_TYPE("Strange", strange_fields);
    start_recording(*state, "types.trace", no_options);
    GREC_INSTANT_WITH("keys", NULL, &keys_type, GREC_INT(1), GREC_INT(2), GREC_INT(3), GREC_INT(4));
    GREC_INSTANT_WITH("nameless", NULL, &nameless, GREC_INT(1));
    GREC_INSTANT_WITH("fieldless", NULL, &fieldless, GREC_INT(1), GREC_INT(2));
    GREC_INSTANT_WITH("taken", NULL, &taken, GREC_INT(1));
    GREC_INSTANT_WITH("taken log", NULL, &taken_log, GREC_TEXT("hello"));
    GREC_INSTANT_WITH("fitting log", NULL, &fitting_log, GREC_TEXT("a module"), GREC_TEXT("hello"));
    GREC_INSTANT_WITH("fitting log without a text", NULL, &fitting_log, GREC_TEXT("a module"));
    GREC_INSTANT("constructor", NULL);
    GREC_INSTANT_WITH("pair", NULL, &pair_type, GREC_INT(1));
    GREC_INSTANT_WITH("other pair", NULL, &other_pair, GREC_INT(2));
    GREC_INSTANT_WITH("equal pair", NULL, &equal_pair, GREC_INT(3), GREC_TEXT("b"));
    GREC_INSTANT_WITH("strange", NULL, &strange, GREC_TEXT("as a text"), GREC_INT(5));
    const struct recorded *recorded = stop_and_read(*state, "types.trace");
    const struct profile *profile = &recorded->profile;
    assert_payload(profile, "keys", "Keys{k=1,k 2=2,type_=3,=4}");
    assert_payload(profile, "nameless", "");
    assert_payload(profile, "fieldless", "Fieldless");
    assert_payload(profile, "taken", "Network_{a=1,b=-}");
    assert_payload(profile, "taken log", "Log_{text=\"hello\"}");
    assert_payload(profile, "fitting log", "Log{module=\"a module\",name=\"hello\"}");
    assert_payload(profile, "fitting log without a text", "Log__{module=\"a module\",name=-}");
    assert_payload(profile, "constructor_", "");
    assert_payload(profile, "pair", "Pair{a=1,b=-}");
    assert_payload(profile, "other pair", "Pair 2{z=2}");
    assert_payload(profile, "equal pair", "Pair{a=3,b=\"b\"}");
    assert_payload(profile, "strange", "Strange{s=\"as a text\",n=5}");
    assert_int_equal(recorded->header.mismatched_value_count, 1 + 2);
    assert_int_equal(lost_count(recorded), 1 + 2);
}

/* Fields beyond the limit are left out, and their values are counted as lost. */
TEST(test_many_fields, set_up_folder, tear_down_folder) {
    enum { COUNT = GREC_FIELD_COUNT_MAX + 3 };
    static struct grec_field fields[COUNT];
    static char keys[COUNT][8];
    static struct grec_marker_type type = {.name = "Many", .fields = fields, .field_count = COUNT};
    static struct grec_marker marker = GREC_MARKER("many", NULL, &type);
    struct grec_value values[COUNT];
    for (int i = 0; i < COUNT; i++) {
        snprintf(keys[i], sizeof keys[i], "k%d", i);
        fields[i] = (struct grec_field){.key = keys[i], .format = GREC_FORMAT_INTEGER};
        values[i] = GREC_INT(i * i);
    }
    start_recording(*state, "many.trace", no_options);
    grec_instant(&marker, values, COUNT);
    grec_instant(&marker, values, GREC_FIELD_COUNT_MAX);
    const struct recorded *recorded = stop_and_read(*state, "many.trace");
    const struct marker *row = NULL;
    for (int i = 0; i < 2; i++) {
        row = next_marker(&recorded->profile, "many", row, NULL);
        assert_non_null(row);
        assert_int_equal(schema_of(&recorded->profile, row)->field_count, GREC_FIELD_COUNT_MAX);
        for (uint32_t j = 0; j < GREC_FIELD_COUNT_MAX; j++)
            assert_int_equal(value_of(&recorded->profile, row, j).number.mantissa, j * j);
    }
    assert_int_equal(recorded->header.mismatched_value_count, 3);
    assert_int_equal(lost_count(recorded), 3);
}

/* Checks all attributes of a type that describe how the viewer shows it. */
TEST(test_schema, set_up_folder, tear_down_folder) {
    static const struct grec_field fields[] = {
        {.key = "count", .label = "Count", .format = GREC_FORMAT_INTEGER},
        {.key = "colour", .label = "Colour", .format = GREC_FORMAT_STRING, .flags = GREC_FIELD_HIDDEN},
        {.key = "bare", .label = NULL, .format = GREC_FORMAT_DECIMAL},
    };
    static const struct grec_graph graphs[] = {{"count", GREC_GRAPH_LINE_FILLED, GREC_GRAPH_YELLOW},
                                               {"bare", GREC_GRAPH_BAR, GREC_GRAPH_BLUE}};
    static struct grec_marker_type type = {.name = "Shown",
                                           .fields = fields,
                                           .field_count = COUNT_OF(fields),
                                           .description = "What it is",
                                           .chart_label = "{marker.data.count} in the chart",
                                           .tooltip_label = "{marker.name} tip",
                                           .table_label = "table",
                                           .color_field = "colour",
                                           .graphs = graphs,
                                           .graph_count = COUNT_OF(graphs),
                                           .display = GREC_DISPLAY_CHART | GREC_DISPLAY_STACK_CHART,
                                           .is_stack_based = 1};
    start_recording(*state, "schema.trace", no_options);
    GREC_INSTANT_WITH("shown", NULL, &type, GREC_INT(1), GREC_TEXT("red"), GREC_REAL(0.5));
    const struct recorded *recorded = stop_and_read_whole(*state, "schema.trace");
    assert_payload(&recorded->profile, "shown", "Shown{count=1,colour=\"red\",bare=0.5}");
    const struct marker_schema *schema = schema_of(&recorded->profile, find_marker(&recorded->profile, "shown", NULL));
    assert_true(text_equal(schema->description, TEXT("What it is")));
    assert_true(text_equal(schema->chart_label, TEXT("{marker.data.count} in the chart")));
    assert_true(text_equal(schema->tooltip_label, TEXT("{marker.name} tip")));
    assert_true(text_equal(schema->table_label, TEXT("table")));
    assert_true(text_equal(schema->color_field, TEXT("colour")));
    assert_int_equal(schema->display, MARKER_DISPLAY_CHART | MARKER_DISPLAY_STACK_CHART);
    assert_true(schema->is_stack_based);
    assert_int_equal(schema->field_count, 3);
    assert_true(text_equal(schema->fields[0].label, TEXT("Count")) && !schema->fields[0].is_hidden);
    assert_true(text_equal(schema->fields[1].label, TEXT("Colour")) && schema->fields[1].is_hidden);
    assert_true(text_equal(schema->fields[2].label, TEXT("bare")) && !schema->fields[2].is_hidden);
    assert_int_equal(schema->graph_count, 2);
    assert_true(text_equal(schema->graphs[0].key, TEXT("count")));
    assert_int_equal(schema->graphs[0].type, MARKER_GRAPH_LINE_FILLED);
    assert_int_equal(schema->graphs[0].color, GRAPH_YELLOW);
    assert_true(text_equal(schema->graphs[1].key, TEXT("bare")));
    assert_int_equal(schema->graphs[1].type, MARKER_GRAPH_BAR);
    assert_int_equal(schema->graphs[1].color, GRAPH_BLUE);
}

/* ---- Null pointers, and invalid texts. ---- */

TEST(test_null, set_up_folder, tear_down_folder) {
    static struct grec_category nameless = GREC_CATEGORY(NULL, GREC_COLOR_RED);
    static struct grec_marker null_name = GREC_MARKER(NULL, NULL, NULL);
    static struct grec_marker in_nameless = GREC_MARKER("in a nameless category", &nameless, NULL);
    start_recording(*state, "null.trace", no_options);
    grec_instant(NULL, NULL, 0);
    grec_interval(NULL, 0, NULL, 0);
    grec_interval_start(NULL, NULL, 0);
    grec_interval_end(NULL, NULL, 0);
    grec_add_marker(NULL, NULL, NULL, 0);
    grec_instant(&null_name, NULL, 0);
    grec_add_named_marker(NULL, NULL, NULL, NULL, NULL, 0);
    grec_instant(&in_nameless, NULL, 0);
    grec_text_marker(NULL, NULL, NULL);
    grec_text_marker("text without text", GREC_OTHER, NULL);
    grec_log(GREC_LOG_INFO, NULL, NULL);
    grec_take_backtrace(NULL);
    grec_get_status(NULL);
    const struct recorded *recorded = stop_and_read_whole(*state, "null.trace");
    assert_int_equal(count_markers(&recorded->profile, ""), 3);
    assert_payload(&recorded->profile, "text without text", "Text{name=\"\"}");
    assert_payload(&recorded->profile, "LogMessages", "Log{module='',level='Info',message=\"\"}");
    assert_string_equal(category_of(&recorded->profile, "text without text"), "Other");
    assert_string_equal(category_of(&recorded->profile, "LogMessages"), "Other");
    assert_string_equal(category_of(&recorded->profile, "in a nameless category"), "");
    const struct thread *thread = column_at(&recorded->profile.threads, 0);
    assert_int_equal(recorded->profile.threads.count, 1);
    assert_int_equal(thread->markers.count, 6);
}

TEST(test_bad_texts, set_up_folder, tear_down_folder) {
    static struct grec_category category = GREC_CATEGORY("caf\xe9", GREC_COLOR_RED);
    start_recording(*state, "texts.trace", no_options);
    grec_text_marker("na\xffme", &category, "\xc3( \xed\xa0\x80 \xf0\x9f\x98\x80");
    grec_text_marker("controls \x01\t\n\x7f", NULL, "\x1b[1m\r\n\"\\");
    grec_add_named_marker("zero", NULL, &pair_type, NULL,
                          (const struct grec_value[]){GREC_NONE(), GREC_TEXT_OF("a\0b", 3)}, 2);
    const struct recorded *recorded = stop_and_read_whole(*state, "texts.trace");
    const struct profile *profile = &recorded->profile;
    assert_payload(profile, "na\\xffme", "Text{name=\"\\xc3( \\xed\\xa0\\x80 \xf0\x9f\x98\x80\"}");
    assert_string_equal(category_of(profile, "na\\xffme"), "caf\\xe9");
    assert_payload(profile, "controls \x01\t\n\x7f", "Text{name=\"\x1b[1m\r\n\"\\\"}");
    assert_true(text_equal(value_of(profile, find_marker(profile, "zero", NULL), 1).text, TEXT("a\0b")));
}

static const char *filled(char *bytes, size_t bytes_count) {
    memset(bytes, 'x', bytes_count);
    bytes[bytes_count] = '\0';
    return bytes;
}

/* A text that is one byte longer than the maximum is cut and counted. A text of the maximum length is not. */
TEST(test_long_texts, set_up_folder, tear_down_folder) {
    static char text[2 * GREC_TEXT_BYTES_MAX + 2], name[GREC_NAME_BYTES_MAX + 2];
    static const size_t lengths[] = {GREC_TEXT_BYTES_MAX - 1, GREC_TEXT_BYTES_MAX, GREC_TEXT_BYTES_MAX + 1,
                                     2 * GREC_TEXT_BYTES_MAX};
    start_recording(*state, "long.trace", no_options);
    for (size_t i = 0; i < COUNT_OF(lengths); i++) {
        const struct grec_value values[] = {GREC_INT(i), GREC_TEXT(filled(text, lengths[i]))};
        grec_instant(&pair_marker, values, 2);
        const struct grec_value counted[] = {GREC_INT(i), GREC_TEXT_OF(text, lengths[i])};
        grec_instant(&pair_marker, counted, 2);
    }
    for (size_t bytes = GREC_NAME_BYTES_MAX - 1; bytes <= GREC_NAME_BYTES_MAX + 1; bytes++)
        grec_add_named_marker(filled(name, bytes), NULL, NULL, NULL, NULL, 0);
    const struct recorded *recorded = stop_and_read_whole(*state, "long.trace");
    const struct marker *marker = NULL;
    for (size_t i = 0; i < 2 * COUNT_OF(lengths); i++) {
        marker = next_marker(&recorded->profile, "pair", marker, NULL);
        assert_non_null(marker);
        size_t kept = lengths[i / 2] < GREC_TEXT_BYTES_MAX ? lengths[i / 2] : GREC_TEXT_BYTES_MAX;
        struct text got = value_of(&recorded->profile, marker, 1).text;
        assert_int_equal(got.bytes_count, kept);
        for (size_t j = 0; j < kept; j++) assert_int_equal(got.bytes[j], 'x');
    }
    assert_int_equal(count_markers(&recorded->profile, filled(name, GREC_NAME_BYTES_MAX - 1)), 1);
    assert_int_equal(count_markers(&recorded->profile, filled(name, GREC_NAME_BYTES_MAX)), 2);
    assert_int_equal(recorded->header.cut_text_count, 2 * 2 + 1);
    assert_int_equal(cause_count(recorded, LEDGER_NOTED, "text that the recorder cut"), 2 * 2 + 1);
}

/* If texts, lists and tables do not fit into a block together, the values in the trace are right, and the cuts are
 * counted. */
TEST(test_more_than_a_block, set_up_folder, tear_down_folder) {
    enum { TEXT_BYTES = 700, ITEM_COUNT = 200 };
    static char text[TEXT_BYTES + 1];
    static const char *texts[ITEM_COUNT];
    static struct grec_value cells[3 * ITEM_COUNT];
    filled(text, TEXT_BYTES);
    for (size_t i = 0; i < ITEM_COUNT; i++) {
        texts[i] = "an item";
        cells[3 * i] = GREC_TEXT("a cell");
        cells[3 * i + 1] = GREC_INT(i);
        cells[3 * i + 2] = GREC_REAL(0.5);
    }
    start_recording(*state, "block.trace", (struct grec_options){.chunk_bytes = 4096, .limit_bytes = 1 << 20});
    struct grec_value values[FORMAT_COUNT];
    for (int i = 0; i < FORMAT_COUNT; i++) values[i] = GREC_NONE();
    for (int i = 0; i < 5; i++) values[i] = GREC_TEXT(text);
    grec_add_named_marker("texts", NULL, &all_type, NULL, values, FORMAT_COUNT);
    for (int i = 0; i < 5; i++) values[i] = GREC_TEXT("short");
    values[GREC_FORMAT_LIST] = GREC_LIST(texts, ITEM_COUNT);
    values[GREC_FORMAT_TABLE] = GREC_TABLE(cells, COUNT_OF(cells));
    grec_add_named_marker("cells", NULL, &all_type, NULL, values, FORMAT_COUNT);
    GREC_INSTANT("behind", NULL);
    struct grec_status status;
    grec_get_status(&status);
    const struct recorded *recorded = stop_and_read(*state, "block.trace");
    const struct profile *profile = &recorded->profile;
    const struct marker *marker = find_marker(profile, "texts", NULL);
    size_t text_count = 0, text_bytes = 0;
    for (uint32_t i = 0; i < 4; i++) {
        struct text got = value_of(profile, marker, i).text;
        text_count += got.bytes_count == TEXT_BYTES;
        text_bytes += got.bytes_count;
    }
    /* Payloads may use a quarter of a chunk. */
    assert_int_equal(text_count, 1);
    assert_true(text_bytes > 1024 - 64 && text_bytes <= 1024);
    assert_true(status.texts_cut >= 2);
    assert_int_equal(count_markers(profile, "cells"), 1);
    assert_int_equal(count_markers(profile, "behind"), 1);
    assert_int_equal(cause_count(recorded, LEDGER_NOTED, "text that the recorder cut"), status.texts_cut);
}

/* ---- Phases and times. ---- */

TEST(test_phases, set_up_folder, tear_down_folder) {
    static struct grec_marker marker = GREC_MARKER("phase", NULL, NULL);
    start_recording(*state, "phases.trace", no_options);
    usleep(1000);
    grec_time early = grec_now();
    usleep(1000);
    grec_time late = grec_now();
    /* Pairs of times and the phase that each must become. A time of 0 means a time later than all others. */
    const struct {
        const char *name;
        struct grec_marker_options options;
        grec_time start, end; /* 0: a time later than all others */
        bool is_from_start;
    } cases[] = {
        {"instant", {.phase = GREC_PHASE_INSTANT}, 0, 0, false},
        {"instant at", {.phase = GREC_PHASE_INSTANT, .start = early}, early, early, false},
        {"instant with an end", {.phase = GREC_PHASE_INSTANT, .start = early, .end = late}, early, early, false},
        {"interval", {.phase = GREC_PHASE_INTERVAL, .start = early, .end = late}, early, late, false},
        {"interval until now", {.phase = GREC_PHASE_INTERVAL, .start = late}, late, 0, false},
        {"interval from the start", {.phase = GREC_PHASE_INTERVAL, .end = late}, 0, late, true},
        {"interval over all", {.phase = GREC_PHASE_INTERVAL}, 0, 0, true},
        {"interval reversed", {.phase = GREC_PHASE_INTERVAL, .start = late, .end = early}, early, early, false},
        {"start", {.phase = GREC_PHASE_START}, 0, 0, false},
        {"start at", {.phase = GREC_PHASE_START, .start = early}, early, early, false},
        {"end", {.phase = GREC_PHASE_END}, 0, 0, false},
        {"end at", {.phase = GREC_PHASE_END, .end = early}, early, early, false},
    };
    for (size_t i = 0; i < COUNT_OF(cases); i++)
        grec_add_named_marker(cases[i].name, NULL, NULL, &cases[i].options, NULL, 0);
    grec_add_named_marker("early", NULL, NULL, &(struct grec_marker_options){.start = early}, NULL, 0);
    grec_add_named_marker("late", NULL, NULL, &(struct grec_marker_options){.start = late}, NULL, 0);
    for (int i = 0; i < 2; i++) {
        grec_instant(&marker, NULL, 0);
        grec_interval(&marker, early, NULL, 0);
        grec_interval(&marker, 0, NULL, 0);
        grec_interval_start(&marker, NULL, 0);
        grec_interval_end(&marker, NULL, 0);
        GREC_INTERVAL("macro", NULL, late);
    }
    const struct recorded *recorded = stop_and_read_whole(*state, "phases.trace");
    const struct profile *profile = &recorded->profile;
    int64_t early_ns = find_marker(profile, "early", NULL)->start_ns;
    int64_t late_ns = find_marker(profile, "late", NULL)->start_ns;
    /* The profile starts when the recording starts. */
    assert_true(early_ns >= profile->start_ns + 1000000 && late_ns >= early_ns + 1000000);
    for (size_t i = 0; i < COUNT_OF(cases); i++) {
        const struct marker *row = find_marker(profile, cases[i].name, NULL);
        assert_int_equal(row->phase, cases[i].options.phase);
        if (cases[i].is_from_start)
            assert_int_equal(row->start_ns, profile->start_ns);
        else if (cases[i].start)
            assert_int_equal(row->start_ns, cases[i].start == early ? early_ns : late_ns);
        else
            assert_true(row->start_ns > late_ns);
        if (cases[i].end)
            assert_int_equal(row->end_ns, cases[i].end == early ? early_ns : late_ns);
        else
            assert_true(row->end_ns > late_ns);
    }
    size_t counts[4] = {0};
    for (const struct marker *row = NULL; (row = next_marker(profile, "phase", row, NULL));) {
        counts[row->phase]++;
        if (row->phase == MARKER_INTERVAL) assert_true(row->start_ns == profile->start_ns || row->start_ns == early_ns);
        assert_true(row->end_ns > late_ns);
    }
    for (int phase = 0; phase < 4; phase++) assert_int_equal(counts[phase], phase == MARKER_INTERVAL ? 4 : 2);
    assert_int_equal(count_markers(profile, "macro"), 2);
    assert_int_equal(find_marker(profile, "macro", NULL)->start_ns, late_ns);
}

/* Records intervals of blocks. Some begin before the recording, and some end after it. */
TEST(test_scopes, set_up_folder, tear_down_folder) {
    static struct grec_category category = GREC_CATEGORY("Scopes", GREC_COLOR_GREEN);
    grec_time begun_in_pause[2];
    { GREC_INTERVAL_SCOPE("never", NULL); }
    {
        GREC_INTERVAL_SCOPE("from before", NULL);
        start_recording(*state, "scopes.trace", no_options);
        {
            GREC_INTERVAL_SCOPE("outer", &category);
            usleep(500);
            for (int i = 0; i < 3; i++) {
                GREC_INTERVAL_SCOPE("inner", NULL);
                if (i == 1) continue;
                usleep(500);
            }
        }
        {
            GREC_INTERVAL_SCOPE("paused at its end", NULL);
            grec_pause();
        }
        {
            begun_in_pause[0] = grec_now();
            GREC_INTERVAL_SCOPE("begun in a pause", NULL);
            begun_in_pause[1] = grec_now();
            grec_resume();
        }
        GREC_INTERVAL("before it", NULL, begun_in_pause[0]);
        GREC_INTERVAL("after it", NULL, begun_in_pause[1]);
        {
            GREC_INTERVAL_SCOPE("over a pause", NULL);
            grec_pause();
            grec_resume();
        }
    }
    GREC_INTERVAL_SCOPE("until after", NULL);
    const struct recorded *recorded = stop_and_read_whole(*state, "scopes.trace");
    const struct profile *profile = &recorded->profile;
    const struct marker *outer = find_marker(profile, "outer", NULL), *inner = NULL;
    assert_string_equal(category_of(profile, "outer"), "Scopes");
    assert_int_equal(count_markers(profile, "inner"), 3);
    int64_t last_ns = outer->start_ns + 500000;
    for (int i = 0; i < 3; i++) {
        inner = next_marker(profile, "inner", inner, NULL);
        assert_int_equal(inner->phase, MARKER_INTERVAL);
        assert_true(inner->start_ns >= last_ns);
        if (i != 1) assert_true(inner->end_ns >= inner->start_ns + 500000);
        last_ns = inner->end_ns;
    }
    assert_true(outer->end_ns >= last_ns);
    assert_int_equal(find_marker(profile, "from before", NULL)->start_ns, profile->start_ns);
    int64_t begun_ns = find_marker(profile, "begun in a pause", NULL)->start_ns;
    assert_in_range(begun_ns, find_marker(profile, "before it", NULL)->start_ns,
                    find_marker(profile, "after it", NULL)->start_ns);
    assert_int_equal(count_markers(profile, "over a pause"), 1);
    static const char *const absent[] = {"never", "paused at its end", "until after"};
    for (size_t i = 0; i < COUNT_OF(absent); i++) assert_int_equal(count_markers(profile, absent[i]), 0);
}

/* ---- Stacks. ---- */

static void *take_backtrace_of_another_thread(void *backtrace) {
    GREC_LABEL("elsewhere", NULL);
    GREC_LABEL_TEXT("with", NULL, "text");
    grec_take_backtrace(backtrace);
    return NULL;
}

TEST(test_stacks, set_up_folder, tear_down_folder) {
    static struct grec_backtrace elsewhere, empty, unused, own;
    pthread_t thread;
    struct grec_marker_options with_stack = {.with_stack = 1};
    grec_take_backtrace(&unused);
    start_recording(*state, "stacks.trace", no_options);
    grec_add_named_marker("no labels", NULL, NULL, &with_stack, NULL, 0);
    grec_take_backtrace(&empty);
    assert_int_equal(pthread_create(&thread, NULL, take_backtrace_of_another_thread, &elsewhere), 0);
    pthread_join(thread, NULL);
    {
        GREC_LABEL("outer", NULL);
        {
            GREC_LABEL_TEXT("inner", NULL, "deep");
            const struct grec_value values[] = {GREC_INT(1), GREC_TEXT("two")};
            grec_add_named_marker("two labels", NULL, &pair_type, &with_stack, values, 2);
            const struct grec_value other_kind[] = {GREC_UINT(3)};
            grec_add_named_marker("tags too", NULL, &pair_type, &with_stack, other_kind, 1);
            GREC_INSTANT("without", NULL);
            grec_take_backtrace(&own);
        }
        grec_add_named_marker("one label", NULL, NULL, &with_stack, NULL, 0);
        grec_add_named_marker("own", NULL, NULL, &(struct grec_marker_options){.backtrace = &own}, NULL, 0);
        /* If both are given, the backtrace is used and with_stack is ignored. */
        struct grec_marker_options both = {.with_stack = 1, .backtrace = &elsewhere};
        grec_add_named_marker("elsewhere's", NULL, NULL, &both, NULL, 0);
        grec_add_named_marker("empty", NULL, NULL, &(struct grec_marker_options){.backtrace = &empty}, NULL, 0);
        grec_add_named_marker("unused", NULL, NULL, &(struct grec_marker_options){.backtrace = &unused}, NULL, 0);
    }
    const struct recorded *recorded = stop_and_read_whole(*state, "stacks.trace");
    static const char *const expected[][2] = {{"no labels", ""},
                                              {"two labels", "outer;inner deep"},
                                              {"tags too", "outer;inner deep"},
                                              {"without", ""},
                                              {"one label", "outer"},
                                              {"own", "outer;inner deep"},
                                              {"elsewhere's", "elsewhere;with text"},
                                              {"empty", ""},
                                              {"unused", ""}};
    for (size_t i = 0; i < COUNT_OF(expected); i++)
        assert_stack(&recorded->profile, find_marker(&recorded->profile, expected[i][0], NULL)->stack, expected[i][1]);
    assert_payload(&recorded->profile, "two labels", "Pair{a=1,b=\"two\"}");
    assert_payload(&recorded->profile, "tags too", "Pair{a=3,b=-}");
}

static void *mark_with(void *backtrace) {
    grec_thread_register("works");
    GREC_INSTANT("before its work", NULL);
    grec_add_named_marker("works", NULL, NULL, &(struct grec_marker_options){.backtrace = backtrace}, NULL, 0);
    GREC_LABEL("its own", NULL);
    grec_add_named_marker("own", NULL, NULL, &(struct grec_marker_options){.with_stack = 1}, NULL, 0);
    return NULL;
}

/* A kept stack has the time and the thread at which it was taken, even if the thread is of another process. A stack
 * taken for its marker has the marker's time and thread. */
TEST(test_origins_of_stacks, set_up_folder, tear_down_folder) {
    static struct grec_backtrace backtrace;
    pthread_t thread;
    start_recording(*state, "origins.trace", no_options);
    {
        GREC_LABEL("asks", NULL);
        GREC_INSTANT("before asking", NULL);
        grec_take_backtrace(&backtrace);
        GREC_INSTANT("after asking", NULL);
    }
    assert_int_equal(pthread_create(&thread, NULL, mark_with, &backtrace), 0);
    pthread_join(thread, NULL);
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        grec_add_named_marker("child", NULL, NULL, &(struct grec_marker_options){.backtrace = &backtrace}, NULL, 0);
        _exit(0);
    }
    assert_int_equal(wait_for_child(child), 0);
    const struct recorded *recorded = stop_and_read_whole(*state, "origins.trace");
    const struct profile *profile = &recorded->profile;
    const struct thread *main_thread = NULL, *owner = NULL;
    const struct marker *before = find_marker(profile, "before asking", &main_thread);
    const struct marker *after = find_marker(profile, "after asking", NULL);
    static const char *const names[] = {"works", "child"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        const struct marker *marker = find_marker(profile, names[i], &owner);
        const int64_t *origin_ns = profile_origin_time(profile, marker);
        assert_stack(profile, marker->stack, "asks");
        assert_ptr_equal(profile_foreign_thread(profile, owner, marker), main_thread);
        assert_true(*origin_ns >= before->start_ns && *origin_ns <= after->start_ns);
    }
    const struct marker *own = find_marker(profile, "own", &owner);
    assert_null(profile_foreign_thread(profile, owner, own));
    assert_int_equal(*profile_origin_time(profile, own), own->start_ns);
}

/* A backtrace of an earlier recording counts as none. */
TEST(test_backtrace_of_another_recording, set_up_folder, tear_down_folder) {
    static struct grec_backtrace backtrace;
    start_recording(*state, "first.trace", no_options);
    {
        GREC_LABEL("first", NULL);
        grec_take_backtrace(&backtrace);
    }
    grec_stop();
    start_recording(*state, "second.trace", no_options);
    grec_add_named_marker("later", NULL, NULL, &(struct grec_marker_options){.backtrace = &backtrace}, NULL, 0);
    const struct recorded *recorded = stop_and_read_whole(*state, "second.trace");
    assert_stack(&recorded->profile, find_marker(&recorded->profile, "later", NULL)->stack, "");
}

/* ---- Other threads. ---- */

struct target {
    struct grec_thread handle;
    const char *name;
    pthread_barrier_t *barrier;
    bool has_barrier, records;
    int64_t tid;
};

static void *be_a_target(void *argument) {
    struct target *target = argument;
    target->tid = syscall(SYS_gettid);
    if (target->name) grec_thread_register(target->name);
    target->handle = grec_thread_self();
    if (target->records) GREC_INSTANT("its own", NULL);
    if (!target->has_barrier) return NULL;
    pthread_barrier_wait(target->barrier);
    pthread_barrier_wait(target->barrier);
    return NULL;
}

static void aim(const char *name, struct grec_thread thread) {
    static struct grec_label label = GREC_LABEL_AT("the marking thread's", NULL, NULL, 0);
    grec_label_place pushed = grec_label_push(&label, NULL);
    struct grec_marker_options options = {.thread = thread, .with_stack = 1};
    const struct grec_value values[] = {GREC_INT(1), GREC_TEXT("aimed")};
    grec_add_named_marker(name, NULL, &pair_type, &options, values, 2);
    grec_label_pop(pushed);
}

TEST(test_other_threads, set_up_folder, tear_down_folder) {
    pthread_barrier_t barrier;
    pthread_t live_thread, other_thread;
    pthread_barrier_init(&barrier, NULL, 2);
    struct target live = {.name = "live", .barrier = &barrier, .has_barrier = true, .records = true};
    struct target ended = {.name = "ended", .records = true};
    struct target silent = {.name = NULL};
    assert_int_equal(grec_thread_self().uid, 0);
    start_recording(*state, "threads.trace", no_options);
    assert_int_equal(pthread_create(&other_thread, NULL, be_a_target, &ended), 0);
    pthread_join(other_thread, NULL);
    assert_int_equal(pthread_create(&other_thread, NULL, be_a_target, &silent), 0);
    pthread_join(other_thread, NULL);
    assert_int_equal(pthread_create(&live_thread, NULL, be_a_target, &live), 0);
    pthread_barrier_wait(&barrier);
    aim("for the live one", live.handle);
    aim("for the ended one", ended.handle);
    aim("for the silent one", silent.handle);
    aim("for nobody", (struct grec_thread){0, 0});
    aim("for itself", grec_thread_self());
    pthread_barrier_wait(&barrier);
    pthread_join(live_thread, NULL);
    pthread_barrier_destroy(&barrier);
    const struct recorded *recorded = stop_and_read_whole(*state, "threads.trace");
    const struct profile *profile = &recorded->profile;
    const struct {
        const char *marker;
        int64_t tid;
        const char *name; /* NULL: keep the thread's name */
        bool is_main;
    } expected[] = {
        {"for the live one", live.tid, "live", false},
        {"for the ended one", ended.tid, "ended", false},
        {"for the silent one", silent.tid, NULL, false},
        {"for nobody", getpid(), NULL, true},
        {"for itself", getpid(), NULL, true},
    };
    for (size_t i = 0; i < COUNT_OF(expected); i++) {
        const struct thread *thread = NULL;
        const struct marker *marker = find_marker(profile, expected[i].marker, &thread);
        assert_int_equal(count_markers(profile, expected[i].marker), 1);
        assert_int_equal(thread->tid, expected[i].tid);
        assert_int_equal(thread->is_main, expected[i].is_main);
        if (expected[i].name) assert_true(text_equal(thread->name, text_of(expected[i].name)));
        assert_payload(profile, expected[i].marker, "Pair{a=1,b=\"aimed\"}");
        assert_stack(profile, marker->stack, "the marking thread's");
    }
    assert_int_equal(count_markers_of(profile, find_thread(profile, "live"), "its own"), 1);
    assert_int_equal(count_markers_of(profile, find_thread(profile, "ended"), "its own"), 1);
}

/* ---- Markers of other threads under a filter. ---- */

struct aimer {
    const char *name;
    struct grec_thread wanted, left_out;
};

static void *aim_at_both(void *argument) {
    const struct aimer *aimer = argument;
    char name[64];
    grec_thread_register(aimer->name);
    snprintf(name, sizeof name, "%s at wanted", aimer->name);
    aim(name, aimer->wanted);
    snprintf(name, sizeof name, "%s at left out", aimer->name);
    aim(name, aimer->left_out);
    aim(aimer->name, grec_thread_self());
    return NULL;
}

static void aim_at_all(struct grec_thread wanted, struct grec_thread left_out) {
    static const char *const names[] = {"wanted too", "other"};
    for (size_t i = 0; i < COUNT_OF(names); i++) {
        pthread_t thread;
        struct aimer aimer = {names[i], wanted, left_out};
        assert_int_equal(pthread_create(&thread, NULL, aim_at_both, &aimer), 0);
        pthread_join(thread, NULL);
    }
}

/* The filter applies to the target thread of a marker, whichever thread records the marker. This holds while the
 * target runs and after it has ended. */
TEST(test_other_threads_under_a_filter, set_up_folder, tear_down_folder) {
    for (int is_live = 0; is_live < 2; is_live++) {
        pthread_barrier_t barrier;
        pthread_t threads[2];
        pthread_barrier_init(&barrier, NULL, 3);
        struct target wanted = {.name = "wanted", .barrier = &barrier, .has_barrier = is_live, .records = true};
        struct target left_out = {.name = "muted", .barrier = &barrier, .has_barrier = is_live, .records = true};
        start_recording(*state, "filter.trace", (struct grec_options){.threads = "wanted"});
        assert_int_equal(pthread_create(&threads[0], NULL, be_a_target, &wanted), 0);
        assert_int_equal(pthread_create(&threads[1], NULL, be_a_target, &left_out), 0);
        for (int i = 0; i < 2 && !is_live; i++) pthread_join(threads[i], NULL);
        if (is_live) pthread_barrier_wait(&barrier);
        aim_at_all(wanted.handle, left_out.handle);
        if (is_live) pthread_barrier_wait(&barrier);
        for (int i = 0; i < 2 && is_live; i++) pthread_join(threads[i], NULL);
        pthread_barrier_destroy(&barrier);
        const struct recorded *recorded = stop_and_read_whole(*state, "filter.trace");
        const struct profile *profile = &recorded->profile;
        const struct thread *target = find_thread(profile, "wanted");
        assert_int_equal(count_markers_of(profile, target, "wanted too at wanted"), 1);
        assert_int_equal(count_markers_of(profile, target, "other at wanted"), 1);
        assert_int_equal(count_markers(profile, "wanted too at left out"), 0);
        assert_int_equal(count_markers(profile, "other at left out"), 0);
        assert_int_equal(count_markers(profile, "wanted too"), 1);
        assert_int_equal(count_markers(profile, "other"), 0);
        assert_stack(profile, find_marker(profile, "other at wanted", NULL)->stack, "the marking thread's");
        for (size_t i = 0; i < profile->thread_order.count; i++) {
            const struct thread *thread = profile_ordered_thread(profile, i);
            bool is_wanted = text_starts_with(thread->name, TEXT("wanted"));
            assert_true(is_wanted || (thread->is_main && !thread->markers.count));
        }
    }
}

static void *change_name(void *argument) {
    struct target *target = argument;
    be_a_target(target);
    grec_thread_register("muted");
    pthread_barrier_wait(target->barrier);
    pthread_barrier_wait(target->barrier);
    return NULL;
}

/* While the target thread runs, its current name and the current filter decide. The name and filter at the time when
 * the handle was made do not matter. */
TEST(test_filter_that_changes, set_up_folder, tear_down_folder) {
    pthread_barrier_t barrier;
    pthread_t thread;
    struct target target = {.name = "wanted", .barrier = &barrier, .has_barrier = true};
    pthread_barrier_init(&barrier, NULL, 2);
    start_recording(*state, "changes.trace", (struct grec_options){.threads = "wanted"});
    assert_int_equal(pthread_create(&thread, NULL, change_name, &target), 0);
    pthread_barrier_wait(&barrier);
    aim("as wanted", target.handle);
    pthread_barrier_wait(&barrier);
    pthread_barrier_wait(&barrier);
    aim("as muted", target.handle);
    start_recording(*state, NULL, (struct grec_options){.threads = "MUTE"});
    aim("under the new filter", target.handle);
    start_recording(*state, NULL, (struct grec_options){.threads = "wanted"});
    aim("under the old filter", target.handle);
    pthread_barrier_wait(&barrier);
    pthread_join(thread, NULL);
    pthread_barrier_destroy(&barrier);
    const struct recorded *recorded = stop_and_read_whole(*state, "changes.trace");
    assert_int_equal(count_markers(&recorded->profile, "as wanted"), 1);
    assert_int_equal(count_markers(&recorded->profile, "as muted"), 0);
    assert_int_equal(count_markers(&recorded->profile, "under the new filter"), 1);
    assert_int_equal(count_markers(&recorded->profile, "under the old filter"), 0);
}

/* ---- Handles that outlive their recording. ---- */

static uint32_t stale_count(void) {
    struct grec_status status;
    grec_get_status(&status);
    return status.markers_stale;
}

static void *be_first(void *unused) {
    grec_thread_register("first");
    GREC_INSTANT("its own", NULL);
    return NULL;
}

/* If a handle is kept across stop and start, it must not refer to another thread. */
TEST(test_stale_handles, set_up_folder, tear_down_folder) {
    pthread_t thread;
    start_recording(*state, "first.trace", no_options);
    struct grec_thread old = grec_thread_self();
    aim("good", old);
    grec_stop();
    const struct recorded *recorded = recorded_read(temp_folder_file(*state, "first.trace"));
    assert_nothing_lost(recorded);
    assert_int_equal(count_markers(&recorded->profile, "good"), 1);
    start_recording(*state, "second.trace", no_options);
    assert_int_equal(pthread_create(&thread, NULL, be_first, NULL), 0);
    pthread_join(thread, NULL);
    aim("stale", old);
    aim("stale", (struct grec_thread){.uid = 1000, .tid = 4194000});
    assert_int_equal(stale_count(), 2);
    aim("good", grec_thread_self());
    /* A handle stays valid if its recording continues under other options. */
    struct grec_thread current = grec_thread_self();
    start_recording(*state, NULL, (struct grec_options){.limit_bytes = 8u << 20});
    aim("good", current);
    assert_int_equal(stale_count(), 2);
    recorded = stop_and_read(*state, "second.trace");
    assert_int_equal(count_markers(&recorded->profile, "stale"), 0);
    assert_int_equal(count_markers(&recorded->profile, "good"), 2);
    assert_int_equal(recorded->header.stale_marker_count, 2);
    assert_int_equal(count_of_cause(&recorded->profile.ledger, LEDGER_LOST, "marker that was aimed at a thread of"), 2);
    assert_int_equal(stale_count(), 0);
}

/* In a forked child, handles of the parent's threads are invalid. Even the thread that forked is a different thread
 * in the child. */
TEST(test_handles_in_a_child, set_up_folder, tear_down_folder) {
    start_recording(*state, "child.trace", no_options);
    struct grec_thread of_parent = grec_thread_self();
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        aim("stale", of_parent);
        aim("good", grec_thread_self());
        grec_stop();
        _exit(0);
    }
    assert_int_equal(wait_for_child(child), 0);
    aim("good", of_parent);
    assert_int_equal(stale_count(), 1);
    const struct recorded *recorded = stop_and_read(*state, "child.trace");
    assert_int_equal(count_markers(&recorded->profile, "stale"), 0);
    assert_int_equal(count_markers(&recorded->profile, "good"), 2);
    assert_int_equal(recorded->profile.thread_order.count, 2);
}

/* ---- Predefined marker types. ---- */

TEST(test_network_requests, set_up_folder, tear_down_folder) {
    static struct grec_category category = GREC_CATEGORY("Network", GREC_COLOR_LIGHTBLUE);
    struct grec_network_request request = {.url = "https://example.org/a.js",
                                           .content_type = "text/javascript",
                                           .response_status = 200,
                                           .transfer_bytes = 4096};
    grec_network(&category, &request);
    start_recording(*state, "network.trace", no_options);
    request.start = grec_now();
    request.request_start = grec_now();
    request.response_start = grec_now();
    grec_network(&category, &request);
    grec_network(NULL, NULL);
    request = (struct grec_network_request){
        .url = "https://example.org/b", .redirect_url = "/c", .how_ended = GREC_NETWORK_REDIRECT, .start = grec_now()};
    grec_network(NULL, &request);
    const struct recorded *recorded = stop_and_read_whole(*state, "network.trace");
    const struct profile *profile = &recorded->profile;
    static const char *const wanted[] = {"status=\"STATUS_START\",URI=\"https://example.org/a.js\"",
                                         "status=\"STATUS_STOP\",URI=\"https://example.org/a.js\"",
                                         "status=\"STATUS_START\",URI=\"https://example.org/b\"",
                                         "status=\"STATUS_REDIRECT\",URI=\"https://example.org/b\""};
    const struct thread *thread = profile_ordered_thread(profile, 0);
    assert_int_equal(thread->markers.count, COUNT_OF(wanted));
    int64_t first_ns = 0;
    for (size_t i = 0; i < COUNT_OF(wanted); i++) {
        const struct marker *marker = column_at(&thread->markers, i);
        struct profile_text *got = payload_text(profile, marker);
        assert_non_null(strstr(got->bytes, wanted[i]));
        assert_non_null(strstr(got->bytes, "Network{id="));
        free(got);
        struct text name = strings_text(&profile->strings, marker->name);
        assert_true(text_starts_with(name, TEXT("Load ")));
        assert_true(text_ends_with(name, i < 2 ? TEXT(": https://example.org/a.js") : TEXT(": https://example.org/b")));
        assert_int_equal(marker->phase, MARKER_INTERVAL);
        if (i % 2 == 0) first_ns = marker->start_ns;
        assert_int_equal(marker->start_ns, first_ns);
        assert_true(i % 2 ? marker->end_ns >= first_ns : marker->end_ns == first_ns);
    }
    struct profile_text *stop = payload_text(profile, column_at(&thread->markers, 1));
    assert_non_null(strstr(stop->bytes, "contentType=\"text/javascript\",responseStatus=200,count=4096"));
    assert_null(strstr(stop->bytes, "requestStart=-"));
    assert_non_null(strstr(stop->bytes, "connectStart=-"));
    free(stop);
}

TEST(test_text_and_log, set_up_folder, tear_down_folder) {
    static struct grec_category category = GREC_CATEGORY("Told", GREC_COLOR_ORANGE);
    static const char *const levels[] = {"Error", "Error", "Warning", "Info", "Debug", "Verbose", "Verbose"};
    grec_text_marker("not recorded", NULL, "text");
    grec_log(GREC_LOG_ERROR, "module", "not recorded");
    start_recording(*state, "text.trace", no_options);
    grec_text_marker("told", &category, "a text");
    grec_text_marker("told", &category, "another");
    for (int level = 0; level < (int)COUNT_OF(levels); level++) grec_log((enum grec_log_level)level, "net", "a line");
    const struct recorded *recorded = stop_and_read_whole(*state, "text.trace");
    const struct profile *profile = &recorded->profile;
    const struct marker *marker = find_marker(profile, "told", NULL);
    assert_payload(profile, "told", "Text{name=\"a text\"}");
    assert_string_equal(category_of(profile, "told"), "Told");
    assert_printed(payload_text(profile, next_marker(profile, "told", marker, NULL)), "Text{name=\"another\"}");
    marker = NULL;
    for (size_t i = 0; i < COUNT_OF(levels); i++) {
        char expected[128];
        marker = next_marker(profile, "LogMessages", marker, NULL);
        snprintf(expected, sizeof expected, "Log{module='net',level='%s',message=\"a line\"}", levels[i]);
        assert_printed(payload_text(profile, marker), expected);
    }
    assert_int_equal(count_markers(profile, "not recorded"), 0);
    assert_int_equal(count_markers(profile, "LogMessages"), COUNT_OF(levels));
    const struct marker_schema *schema = schema_of(profile, find_marker(profile, "told", NULL));
    assert_true(text_equal(schema->table_label, TEXT("{marker.name} \xe2\x80\x94 {marker.data.name}")));
}

/* ---- Categories. ---- */

static size_t count_categories(const struct profile *profile, const char *name) {
    size_t count = 0;
    for (size_t i = 0; i < profile->categories.rows.count; i++)
        count += text_equal(categories_at(&profile->categories, i)->name, text_of(name));
    return count;
}

TEST(test_categories, set_up_folder, tear_down_folder) {
    static struct grec_category shared = GREC_CATEGORY("Shared", GREC_COLOR_MAGENTA);
    /* Categories of the same name become one, with the colour of the first description. */
    static struct grec_category again = GREC_CATEGORY("Shared", GREC_COLOR_MAGENTA);
    static struct grec_category sub = GREC_SUBCATEGORY("Sub", &shared);
    static struct grec_category sub_of_sub = GREC_SUBCATEGORY("Sub of sub", &sub);
    static struct grec_category round = GREC_SUBCATEGORY("Round", NULL);
    static struct grec_category about = GREC_SUBCATEGORY("About", &round);
    static struct grec_category strange = GREC_CATEGORY("Strange colour", 99);
    static struct grec_marker markers[] = {GREC_MARKER("one", &shared, NULL),
                                           GREC_MARKER("two", &shared, &pair_type),
                                           GREC_MARKER("three", &again, NULL),
                                           GREC_MARKER("in sub", &sub, NULL),
                                           GREC_MARKER("in sub of sub", &sub_of_sub, NULL),
                                           GREC_MARKER("in strange", &strange, NULL)};
    round.parent = &about;
    start_recording(*state, "categories.trace", no_options);
    for (size_t i = 0; i < COUNT_OF(markers); i++) grec_instant(&markers[i], NULL, 0);
    GREC_INSTANT("in a circle", &round);
    {
        GREC_LABEL("label", &sub);
        GREC_LABEL("deeper label", &sub_of_sub);
        grec_sample();
    }
    const struct recorded *recorded = stop_and_read_whole(*state, "categories.trace");
    const struct profile *profile = &recorded->profile;
    for (size_t i = 0; i < 5; i++) assert_string_equal(category_of(profile, markers[i].name), "Shared");
    assert_int_equal(count_categories(profile, "Shared"), 1);
    assert_int_equal(count_categories(profile, "Sub"), 0);
    const struct category *row = categories_at(&profile->categories, find_marker(profile, "one", NULL)->category);
    assert_int_equal(row->color, COLOR_MAGENTA);
    assert_int_equal(row->subcategories.count, 3);
    assert_true(text_equal(*category_subcategory_at(row, 0), TEXT("Other")));
    assert_int_equal(categories_at(&profile->categories, find_marker(profile, "in strange", NULL)->category)->color,
                     COLOR_GREY);
    assert_int_equal(count_markers(profile, "in a circle"), 1);
    /* The frame of the label has the subcategory. */
    const struct thread *thread = column_at(&profile->threads, 0);
    stack_id stack = samples_at(&thread->samples, 0)->stack;
    assert_stack(profile, stack, "label;deeper label");
    const struct frame *deeper = profile_frame_at(profile, profile_stack_at(profile, stack)->frame);
    const struct frame *frame =
        profile_frame_at(profile, profile_stack_at(profile, profile_stack_at(profile, stack)->prefix)->frame);
    assert_true(text_equal(*category_subcategory_at(row, frame->subcategory), TEXT("Sub")));
    assert_true(text_equal(*category_subcategory_at(row, deeper->subcategory), TEXT("Sub of sub")));
    assert_true(categories_at(&profile->categories, frame->category) == row);
}

/* The same descriptions are used in several recordings. */
TEST(test_descriptions_again, set_up_folder, tear_down_folder) {
    static struct grec_category category = GREC_CATEGORY("Kept", GREC_COLOR_RED);
    static struct grec_string string = GREC_STRING_OF("kept string");
    static struct grec_marker marker = GREC_MARKER("kept", &category, &pair_type);
    for (int i = 0; i < 3; i++) {
        start_recording(*state, "again.trace", no_options);
        /* Other names come first, so that ids differ from recording to recording. */
        for (int j = 0; j < i; j++) {
            char name[16];
            snprintf(name, sizeof name, "before %d", j);
            grec_add_named_marker(name, NULL, NULL, NULL, NULL, 0);
        }
        const struct grec_value values[] = {GREC_INT(i), GREC_STRING(&string)};
        for (int j = 0; j < 3; j++) grec_instant(&marker, values, 2);
        const struct recorded *recorded = stop_and_read_whole(*state, "again.trace");
        char expected[64];
        snprintf(expected, sizeof expected, "Pair{a=%d,b=\"kept string\"}", i);
        assert_payload(&recorded->profile, "kept", expected);
        assert_string_equal(category_of(&recorded->profile, "kept"), "Kept");
        assert_int_equal(count_markers(&recorded->profile, "kept"), 3);
    }
}

int main(void) { return unit_tests_run(NULL, NULL); }
