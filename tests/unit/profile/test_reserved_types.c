/* Tests types and names for which the front-end has its own code: which are kept, which get another name, and that the
 * command "check" has the same rules. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cli/check/check.h"
#include "libconvert/profile/reserved_types.h"
#include "tests/support/chunk_text.h"
#include "tests/support/full_tables.h"
#include "tests/support/profile_fixture.h"
#include "tests/support/unit_test.h"
#include "writer/emitter.h"

enum { FIELD_COUNT_MAX = 6, MS = 1000000 };

struct field {
    const char *key;
    enum marker_format format;
    const char *text; /* the value of a text; NULL: "text" */
};

static thread_id thread;

static int begin(void **state) {
    begin_profile(state);
    profile.meta.interval_ns = MS;
    thread = profile_add_thread(&profile, profile_add_process(&profile, 1, 0), 1, 0);
    thread_add_sample(profile_thread_at(&profile, thread), 0, stack_none(), 1);
    return 0;
}

static void assert_same(struct text got, const char *wanted) {
    if (!text_equal(got, text_of(wanted))) fail_msg("\"%.*s\", wanted \"%s\"", (int)got.bytes_count, got.bytes, wanted);
}

/* ---- Profiles. ---- */

static uint16_t add_schema(const char *name, const struct field *fields) {
    static struct marker_field rows[FIELD_COUNT_MAX];
    struct marker_schema schema = {.name = text_of(name), .fields = rows};
    for (; fields && fields->key; fields++)
        rows[schema.field_count++] = (struct marker_field){.key = text_of(fields->key), .format = fields->format};
    return profile_marker_schema(&profile, &schema);
}

static union marker_value value_for(const struct field *field) {
    enum marker_value_kind kind = marker_format_kind(field->format);
    const union marker_value values[] = {
        [VALUE_TEXT] = {.text = text_of(field->text ? field->text : "text")},
        [VALUE_STRING] = {.string = profile_string(&profile, TEXT("string"))},
        [VALUE_NUMBER] = marker_value_integer(5),
        [VALUE_DURATION] = {.duration_ns = 5 * MS},
        [VALUE_TIME] = {.time_ns = 5 * MS},
        [VALUE_CELLS] = {.cells = profile_marker_cells(&profile, &(union marker_value){.text = TEXT("cell")}, 1)},
    };
    return values[kind];
}

static const struct marker *last_marker(void) {
    const struct column *markers = &profile_thread_at(&profile, thread)->markers;
    return column_at(markers, markers->count - 1);
}

static struct text type_of(const struct marker *marker) {
    return ((const struct marker_schema *)column_at(&profile.marker_schemas, marker->schema))->name;
}

/* Adds a marker with values in all fields except the one of that key. Returns its type. */
static struct text add_marker(uint16_t schema, const char *name, enum marker_phase phase, const struct field *fields,
                              const char *absent_key) {
    union marker_value values[FIELD_COUNT_MAX];
    for (uint32_t i = 0; fields && fields[i].key; i++) {
        bool is_absent = absent_key && !strcmp(fields[i].key, absent_key);
        values[i] = is_absent ? marker_value_absent(marker_format_kind(fields[i].format)) : value_for(&fields[i]);
    }
    struct marker marker = {.start_ns = 5 * MS,
                            .end_ns = 6 * MS,
                            .name = profile_marker_name(&profile, text_of(name), schema),
                            .stack = stack_none(),
                            .schema = schema,
                            .phase = phase};
    profile_add_marker(&profile, profile_thread_at(&profile, thread), marker, values);
    return type_of(last_marker());
}

/* Returns the profile in this format, in which the command "check" must find nothing wrong. Free it. */
static char *emit_good(const struct emitter *emitter) {
    struct chunk_list out;
    chunk_list_init(&out, &failure);
    emitter->emit(&profile, &profile.ledger, &out, &(struct emit_options){0}, (struct progress){0});
    char *text = chunk_text(&out);
    chunk_list_fini(&out);
    struct document document;
    struct violations violations;
    document_init(&document, &failure);
    violations_init(&violations, &failure);
    struct input *input = input_from_memory(text_of(text), SIZE_MAX, &failure);
    check_input(input, &document, &violations, (struct progress){0});
    assert_string_equal(failure.message, "");
    for (size_t i = 0; i < violations.kinds.count; i++) {
        const struct violation_kind *kind = column_at(&violations.kinds, i);
        fail_msg("%.*s: %.*s", (int)kind->shown_paths[0].bytes_count, kind->shown_paths[0].bytes,
                 (int)kind->messages[0].bytes_count, kind->messages[0].bytes);
    }
    violations_fini(&violations);
    document_fini(&document);
    return text;
}

static void assert_good_with(const char *part) {
    static const struct emitter *const both[] = {&emitter_processed, &emitter_gecko};
    profile_finish(&profile);
    for (size_t i = 0; i < 2; i++) {
        char *text = emit_good(both[i]);
        if (part && !strstr(text, part)) fail_msg("there is no %s in %s", part, text);
        free(text);
    }
}

/* ---- Types. ---- */

/* The fields fit if the name is kept. */
static const struct {
    const char *name;
    struct field fields[FIELD_COUNT_MAX];
    const char *type;
} types[] = {
    {"Mine", {{"text", MARKER_STRING, NULL}}, "Mine"},
    {"Log", {{"text", MARKER_STRING, NULL}}, "Log_"},
    {"Log", {{"name", MARKER_STRING, NULL}, {"module", MARKER_STRING, NULL}}, "Log"},
    {"Log", {{"name", MARKER_STRING, NULL}, {"module", MARKER_UNIQUE_STRING, NULL}}, "Log_"},
    {"Log", {{"level", MARKER_UNIQUE_STRING, NULL}, {"message", MARKER_STRING, NULL}}, "Log"},
    {"Log", {{"level", MARKER_UNIQUE_STRING, NULL}, {"message", MARKER_UNIQUE_STRING, NULL}}, "Log"},
    {"Log", {{"level", MARKER_STRING, NULL}, {"message", MARKER_STRING, NULL}}, "Log_"},
    {"Log", {{"name", MARKER_STRING, NULL}, {"module", MARKER_STRING, NULL}, {"message", MARKER_LIST, NULL}}, "Log_"},
    {"Network", {{"text", MARKER_STRING, NULL}}, "Network_"},
    {"Network",
     {{"id", MARKER_INTEGER, NULL},
      {"URI", MARKER_URL, NULL},
      {"status", MARKER_STRING, "STATUS_STOP"},
      {"startTime", MARKER_TIME, NULL},
      {"endTime", MARKER_TIME, NULL}},
     "Network"},
    {"Network",
     {{"id", MARKER_HEXADECIMAL, NULL}, /* may be written as a text */
      {"URI", MARKER_URL, NULL},
      {"status", MARKER_STRING, "STATUS_STOP"},
      {"startTime", MARKER_TIME, NULL},
      {"endTime", MARKER_TIME, NULL}},
     "Network_"},
    {"IPC",
     {{"startTime", MARKER_TIME, NULL},
      {"messageType", MARKER_STRING, NULL},
      {"side", MARKER_STRING, NULL},
      {"direction", MARKER_STRING, NULL},
      {"otherPid", MARKER_INTEGER, NULL}},
     "IPC_"},
    {"CompositorScreenshot",
     {{"windowID", MARKER_STRING, NULL}, {"url", MARKER_UNIQUE_STRING, NULL}},
     "CompositorScreenshot"},
    {"CompositorScreenshot",
     {{"windowID", MARKER_STRING, NULL}, {"url", MARKER_STRING, NULL}},
     "CompositorScreenshot_"},
    {"CompositorScreenshot", {{"text", MARKER_STRING, NULL}}, "CompositorScreenshot_"},
    {"GCMajor", {{"timings", MARKER_LIST, NULL}}, "GCMajor_"},
    {"GCSlice", {{"timings", MARKER_STRING, NULL}}, "GCSlice_"},
    {"GCMinor", {{"nursery", MARKER_STRING, NULL}}, "GCMinor"},
    {"Text", {{"name", MARKER_STRING, NULL}}, "Text"},
    {"Text", {{"name", MARKER_UNIQUE_STRING, NULL}}, "Text"},
    {"Text", {{"name", MARKER_INTEGER, NULL}}, "Text_"},
    {"Text", {{"text", MARKER_STRING, NULL}}, "Text_"},
    {"UserTiming", {{"name", MARKER_STRING, NULL}, {"entryType", MARKER_STRING, NULL}}, "UserTiming"},
    {"UserTiming", {{"name", MARKER_UNIQUE_STRING, NULL}}, "UserTiming_"},
    {"FileIO", {{"operation", MARKER_STRING, NULL}, {"filename", MARKER_FILE_PATH, NULL}}, "FileIO"},
    {"FileIO", {{"operation", MARKER_UNIQUE_STRING, NULL}}, "FileIO_"},
    {"FileIO", {{"filename", MARKER_FILE_PATH, NULL}}, "FileIO_"},
    {"PreferenceRead", {{"prefName", MARKER_STRING, NULL}, {"prefValue", MARKER_STRING, NULL}}, "PreferenceRead"},
    {"PreferenceRead", {{"prefValue", MARKER_INTEGER, NULL}}, "PreferenceRead_"},
    {"Styles",
     {{"elementsTraversed", MARKER_INTEGER, NULL},
      {"elementsStyled", MARKER_INTEGER, NULL},
      {"elementsMatched", MARKER_INTEGER, NULL}},
     "Styles"},
    {"Styles", {{"elementsTraversed", MARKER_INTEGER, NULL}}, "Styles_"},
    {"Jank", {{0}}, "Jank"},
    {"Jank", {{"text", MARKER_STRING, NULL}}, "Jank_"},
    {"BHR-detected hang", {{"text", MARKER_STRING, NULL}}, "BHR-detected hang"},
    {"tracing", {{"category", MARKER_STRING, NULL}}, "tracing"},
    {"JS allocation", {{"text", MARKER_STRING, NULL}}, "JS allocation_"},
    {"Native allocation", {{"text", MARKER_STRING, NULL}}, "Native allocation_"},
    {"NoPayloadUserData", {{"text", MARKER_STRING, NULL}}, "NoPayloadUserData_"},
    {"StackOfAnotherThread", {{"text", MARKER_STRING, NULL}}, "StackOfAnotherThread_"},
    {"toString", {{"text", MARKER_STRING, NULL}}, "toString_"},
    {"__proto__", {{0}}, "__proto___"},
    {"MediaSample", {{"text", MARKER_STRING, NULL}}, "MediaSample"},
    {"Url", {{"text", MARKER_STRING, NULL}}, "Url"},
    {"DOMEvent", {{"text", MARKER_STRING, NULL}}, "DOMEvent"},
};

TEST(types_are_kept_if_their_fields_fit) {
    for (size_t i = 0; i < sizeof types / sizeof *types; i++) {
        char part[64];
        snprintf(part, sizeof part, "\"type\":\"%s\"", types[i].type);
        begin(state);
        uint16_t schema = add_schema(types[i].name, types[i].fields);
        const struct marker_schema *row = column_at(&profile.marker_schemas, schema);
        assert_same(row->name, types[i].type);
        assert_same(add_marker(schema, "marker", MARKER_INTERVAL, types[i].fields, NULL), types[i].type);
        assert_good_with(part);
        end_profile(state);
    }
}

TEST(a_label_is_enough_where_members_are_for_it, begin, end_profile) {
    static const struct marker_field field = {.key = TEXT("text")};
    static const struct marker_schema schema = {
        .name = TEXT("FileIO"), .table_label = TEXT("{marker.data.text}"), .fields = &field, .field_count = 1};
    static const struct field fields[] = {{"text", MARKER_STRING, NULL}, {0}};
    assert_same(add_marker(profile_marker_schema(&profile, &schema), "marker", MARKER_INSTANT, fields, NULL), "FileIO");
    assert_good_with("\"type\":\"FileIO\"");
}

/* ---- Markers that lack what their type has. ---- */

static const struct {
    const char *name;
    struct field fields[FIELD_COUNT_MAX];
    const char *absent_key;
    enum marker_phase phase;
    bool is_kept;
} markers[] = {
    {"Log", {{"level", MARKER_UNIQUE_STRING, NULL}, {"message", MARKER_STRING, NULL}}, NULL, MARKER_INSTANT, true},
    {"Log", {{"level", MARKER_UNIQUE_STRING, NULL}, {"message", MARKER_STRING, NULL}}, "level", MARKER_INSTANT, false},
    {"Log", {{"name", MARKER_STRING, NULL}, {"module", MARKER_STRING, NULL}}, "module", MARKER_INSTANT, false},
    {"Text", {{"name", MARKER_STRING, NULL}}, "name", MARKER_INTERVAL_END, false},
    {"PreferenceRead", {{"prefValue", MARKER_STRING, NULL}}, "prefValue", MARKER_INSTANT, true},
    {"GCMinor", {{"nursery", MARKER_STRING, NULL}}, "nursery", MARKER_INSTANT, true},
    {"CompositorScreenshot", {{"windowID", MARKER_STRING, NULL}}, NULL, MARKER_INSTANT, true},
    {"CompositorScreenshot", {{"windowID", MARKER_STRING, NULL}}, NULL, MARKER_INTERVAL_END, false},
    {"CompositorScreenshot", {{"windowID", MARKER_STRING, NULL}}, "windowID", MARKER_INSTANT, false},
};

TEST(markers_that_lack_something_have_a_type_of_their_own) {
    for (size_t i = 0; i < sizeof markers / sizeof *markers; i++) {
        begin(state);
        char expected[64];
        snprintf(expected, sizeof expected, "%s%s", markers[i].name, markers[i].is_kept ? "" : "_");
        uint16_t schema = add_schema(markers[i].name, markers[i].fields);
        for (int again = 0; again < 2; again++) {
            add_marker(schema, "marker", markers[i].phase, markers[i].fields, markers[i].absent_key);
            assert_same(type_of(last_marker()), expected);
        }
        assert_int_equal(profile.marker_schemas.count, markers[i].is_kept ? 1 : 2);
        assert_good_with(NULL);
        end_profile(state);
    }
}

static const struct field request[] = {
    {"id", MARKER_INTEGER, NULL},     {"URI", MARKER_URL, NULL},      {"status", MARKER_STRING, "STATUS_STOP"},
    {"startTime", MARKER_TIME, NULL}, {"endTime", MARKER_TIME, NULL}, {0}};

TEST(requests_are_intervals_in_a_known_state, begin, end_profile) {
    struct field odd_request[6];
    memcpy(odd_request, request, sizeof request);
    odd_request[2].text = "done";
    uint16_t schema = add_schema("Network", request);
    assert_same(add_marker(schema, "marker", MARKER_INTERVAL, request, NULL), "Network");
    assert_same(add_marker(schema, "marker", MARKER_INSTANT, request, NULL), "Network_");
    assert_same(add_marker(schema, "marker", MARKER_INTERVAL, odd_request, NULL), "Network_");
    assert_int_equal(profile.marker_schemas.count, 2);
    assert_good_with("\"status\":\"done\"");
}

/* The type that is added first gets the name. */
TEST(their_type_has_a_free_name, begin, end_profile) {
    static const struct field fields[] = {{"name", MARKER_STRING, NULL}, {0}};
    add_schema("Text_", fields);
    add_schema("Text__", fields);
    uint16_t schema = add_schema("Text", fields);
    assert_same(add_marker(schema, "marker", MARKER_INSTANT, fields, "name"), "Text___");
    assert_same(add_marker(schema, "marker", MARKER_INSTANT, fields, NULL), "Text");
    assert_int_equal(profile.marker_schemas.count, 4);
    assert_good_with("\"type\":\"Text___\"");
}

TEST(their_type_has_room, begin, end_profile) {
    static const struct field fields[] = {{"name", MARKER_STRING, NULL}, {0}};
    uint16_t schema = add_schema("Text", fields), last = schema;
    for (uint32_t i = 0; last != MARKER_SCHEMA_NONE; i++) {
        char name[16];
        snprintf(name, sizeof name, "%u", i);
        const struct marker_schema other = {.name = text_of(name)};
        last = profile_marker_schema(&profile, &other);
    }
    assert_same(add_marker(schema, "marker", MARKER_INSTANT, fields, "name"), "Text_");
}

TEST(memory_may_run_out_on_the_way, begin, end_profile) {
    static const struct field fields[] = {{"name", MARKER_STRING, NULL}, {0}};
    uint16_t schema = add_schema("Text", fields);
    struct column before = profile.marker_schemas;
    const union marker_value nothing = marker_value_absent(VALUE_TEXT);
    struct marker marker = {.name = profile_string(&profile, TEXT("marker")), .stack = stack_none(), .schema = schema};
    column_make_full(&profile.marker_schemas);
    profile_add_marker(&profile, profile_thread_at(&profile, thread), marker, &nothing);
    assert_int_equal(failure.code, FAILURE_MEMORY);
    assert_int_equal(profile_thread_at(&profile, thread)->markers.count, 0);
    profile.marker_schemas = before;
}

/* ---- Names. ---- */

TEST(names_that_the_front_end_fails_over_are_others, begin, end_profile) {
    static const struct field fields[] = {{"text", MARKER_STRING, NULL}, {0}};
    static const char *const names[][2] = {
        {"constructor", "constructor_"},
        {"hasOwnProperty", "hasOwnProperty_"},
        {"__proto__", "__proto___"},
        {"CompositorScreenshot", "CompositorScreenshot_"},
        {"Jank", "Jank"},
        {"Log", "Log"},
        {"Network", "Network"},
    };
    uint16_t schema = add_schema("Mine", fields);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        add_marker(schema, names[i][0], MARKER_INSTANT, fields, NULL);
        assert_same(strings_text(&profile.strings, last_marker()->name), names[i][1]);
        string_id bare = profile_marker_name(&profile, text_of(names[i][0]), MARKER_SCHEMA_NONE);
        assert_same(strings_text(&profile.strings, bare), names[i][1]);
    }
    assert_good_with("\"CompositorScreenshot_\"");
}

TEST(screenshots_keep_their_name, begin, end_profile) {
    static const struct field fields[] = {{"windowID", MARKER_STRING, NULL}, {0}};
    uint16_t schema = add_schema("CompositorScreenshot", fields);
    add_marker(schema, "CompositorScreenshot", MARKER_INSTANT, fields, NULL);
    assert_same(strings_text(&profile.strings, last_marker()->name), "CompositorScreenshot");
    add_marker(schema, "CompositorScreenshot", MARKER_INSTANT, fields, "windowID");
    assert_same(strings_text(&profile.strings, last_marker()->name), "CompositorScreenshot_");
    assert_good_with("\"CompositorScreenshot\"");
}

int main(void) { return unit_tests_run(NULL, NULL); }
