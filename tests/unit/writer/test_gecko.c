#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/chunk_text.h"
#include "tests/support/unit_test.h"
#include "writer/emitter.h"
#include "writer/gecko/gecko_weights.h"

enum { MS = 1000000 };

struct fixture {
    struct failure failure;
    struct profile profile;
    char *document; /* document of the last emission */
};

static int begin(void **state) {
    struct fixture *fixture = calloc(1, sizeof *fixture);
    profile_init(&fixture->profile, &fixture->failure);
    fixture->profile.meta.interval_ns = MS;
    *state = fixture;
    return 0;
}

static int end(void **state) {
    struct fixture *fixture = *state;
    profile_fini(&fixture->profile);
    free(fixture->document);
    free(fixture);
    return 0;
}

static void emit(struct fixture *fixture) {
    profile_finish(&fixture->profile);
    struct chunk_list out;
    chunk_list_init(&out, &fixture->failure);
    emitter_gecko.emit(&fixture->profile, &fixture->profile.ledger, &out, &(struct emit_options){0},
                       (struct progress){0});
    free(fixture->document);
    fixture->document = chunk_text(&out);
    chunk_list_fini(&out);
}

static void emit_well(struct fixture *fixture) {
    emit(fixture);
    assert_string_equal(fixture->failure.message, "");
    assert_true(ledger_is_balanced(&fixture->profile.ledger));
}

/* ---- Building profiles. ---- */

static thread_id add_thread(struct fixture *fixture, process_id process, int64_t tid, const char *name) {
    thread_id id = profile_add_thread(&fixture->profile, process, tid, 0);
    profile_thread_at(&fixture->profile, id)->name = profile_text(&fixture->profile, text_of(name));
    return id;
}

static struct frame plain_frame(func_id func) { return frame_of_func(func, (struct category_pair){0}); }

/* Returns a frame of a machine code function; library may be NULL. */
static frame_id library_frame(struct fixture *fixture, const char *name, const char *library) {
    struct profile *profile = &fixture->profile;
    struct func func = {
        .name = profile_string(profile, text_of(name)), .resource = resource_none(), .source = source_none()};
    if (library) func.resource = profile_resource(profile, profile_string(profile, text_of(library)), RESOURCE_LIBRARY);
    struct frame frame = plain_frame(profile_func(profile, &func));
    return profile_frame(profile, &frame);
}

static frame_id script_frame(struct fixture *fixture, const char *name, const char *file, uint32_t line) {
    struct profile *profile = &fixture->profile;
    struct func func = {.name = profile_string(profile, text_of(name)),
                        .resource = resource_none(),
                        .source = profile_source(profile, text_of(file)),
                        .line = line,
                        .flags = FUNC_IS_JS};
    struct frame frame = plain_frame(profile_func(profile, &func));
    return profile_frame(profile, &frame);
}

static stack_id stack_of(struct fixture *fixture, stack_id prefix, frame_id frame) {
    return profile_stack(&fixture->profile, prefix, frame);
}

static stack_id root_of(struct fixture *fixture, frame_id frame) { return stack_of(fixture, stack_none(), frame); }

static void add_weighed_sample(struct fixture *fixture, thread_id thread, int64_t time_ns, stack_id stack,
                               struct decimal weight) {
    uint32_t encoded = profile_weight_encode(&fixture->profile, weight);
    thread_add_sample(profile_thread_at(&fixture->profile, thread), time_ns, stack, encoded);
}

static void add_sample(struct fixture *fixture, thread_id thread, int64_t time_ns, stack_id stack) {
    add_weighed_sample(fixture, thread, time_ns, stack, decimal_make(1, 0));
}

/* Adds process 1 with a main thread "app" of that id. */
static thread_id add_app(struct fixture *fixture) {
    return add_thread(fixture, profile_add_process(&fixture->profile, 1, 0), 1, "app");
}

static uint16_t add_schema(struct fixture *fixture) {
    static const struct marker_field fields[] = {
        {.key = {"what", 4}, .label = {"What", 4}, .format = MARKER_UNIQUE_STRING},
        {.key = {"count", 5}, .label = {"Count", 5}, .format = MARKER_DECIMAL},
    };
    static const struct marker_schema schema = {
        .name = {"Event", 5},
        .description = {"What happened.", 14},
        .table_label = {"{marker.data.what}", 18},
        .fields = fields,
        .field_count = 2,
    };
    return profile_marker_schema(&fixture->profile, &schema);
}

static void add_marker(struct fixture *fixture, thread_id thread, struct marker marker, const char *name,
                       const char *what, int64_t count) {
    struct profile *profile = &fixture->profile;
    marker.name = profile_string(profile, text_of(name));
    union marker_value values[] = {{.string = profile_string(profile, text_of(what))},
                                   {.number = decimal_make(count, 0)}};
    profile_add_marker(profile, profile_thread_at(profile, thread), marker, values);
}

/* ---- Looking at what came out. ---- */

static void assert_contains(const struct fixture *fixture, const char *part) {
    if (!strstr(fixture->document, part)) fail_msg("no %s in %s", part, fixture->document);
}

static void assert_lacks(const struct fixture *fixture, const char *part) {
    if (strstr(fixture->document, part)) fail_msg("%s in %s", part, fixture->document);
}

static uint64_t ledger_count(const struct fixture *fixture, enum gecko_convert_fate fate, const char *cause) {
    const struct ledger *ledger = &fixture->profile.ledger;
    for (size_t i = 0; i < ledger->entries.count; i++) {
        const struct ledger_entry *entry = ledger_at(ledger, i);
        if (entry->fate == fate && text_equal(entry->cause, text_of(cause))) {
            assert_int_equal(entry->unit, LEDGER_VALUES);
            return entry->count;
        }
    }
    return 0;
}

static size_t count_parts(const char *text, const char *part) {
    size_t count = 0;
    for (const char *at = strstr(text, part); at; at = strstr(at + 1, part)) count++;
    return count;
}

/* ---- Documents. ---- */

TEST(children_start_where_the_root_starts, begin, end) {
    struct fixture *fixture = *state;
    struct profile *profile = &fixture->profile;
    profile->meta.start_time_ms = 77;
    thread_id first = add_app(fixture);
    process_id late = profile_add_process(profile, 2, 0);
    profile_process_at(profile, late)->start_ns = 5 * MS;
    thread_id second = add_thread(fixture, late, 2, "late");
    stack_id root = root_of(fixture, library_frame(fixture, "f", NULL));
    add_sample(fixture, first, 0, root);
    add_sample(fixture, second, 6 * MS, root);
    emit_well(fixture);
    assert_int_equal(count_parts(fixture->document, "\"startTime\":77"), 2);
    assert_int_equal(ledger_count(fixture, LEDGER_LOST, "start time of a process"), 1);
}

TEST(pids_that_are_no_plain_numbers_are_texts, begin, end) {
    static const struct {
        const char *pid;
        const char *written;
    } cases[] = {
        {"0", "\"pid\":0,"},
        {"12", "\"pid\":12,"},
        {"012", "\"pid\":\"012\","},
        {"00", "\"pid\":\"00\","},
        {"1.2", "\"pid\":\"1.2\","},
        {"12a", "\"pid\":\"12a\","},
        {"unknown", "\"pid\":\"unknown\","},
        {"-1", "\"pid\":\"-1\","},
        {"999999999999999", "\"pid\":999999999999999,"},
        {"9999999999999999", "\"pid\":\"9999999999999999\","},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture *fixture = *state;
        process_id process = profile_add_process(&fixture->profile, 5, 0);
        profile_process_at(&fixture->profile, process)->pid_text = text_of(cases[i].pid);
        thread_id thread = add_thread(fixture, process, 5, "app");
        add_sample(fixture, thread, 0, root_of(fixture, library_frame(fixture, "f", NULL)));
        emit_well(fixture);
        assert_contains(fixture, cases[i].written);
        end(state);
        begin(state);
    }
}

/* ---- Frames and functions. ---- */

TEST(frames_that_differ_in_what_is_lost_are_one, begin, end) {
    struct fixture *fixture = *state;
    struct profile *profile = &fixture->profile;
    thread_id thread = add_app(fixture);
    lib_id lib = libs_intern(&profile->libs, TEXT("/usr/lib/libc.so.6"), TEXT("abcd"));
    struct frame frame = *profile_frame_at(profile, library_frame(fixture, "malloc", "libc.so.6"));
    frame.lib = lib;
    for (int i = 0; i < 3; i++) {
        frame.address = 0x100 + i;
        frame.inline_depth = i == 2;
        frame.native_symbol = profile_native_symbol(profile, lib, 0x100, profile_string(profile, TEXT("malloc")));
        add_sample(fixture, thread, i, root_of(fixture, profile_frame(profile, &frame)));
    }
    emit_well(fixture);
    assert_contains(fixture, "\"data\":[[0,0],[0,0.000001],[0,0.000002]]");
    assert_contains(fixture, "\"stackTable\":{\"schema\":{\"prefix\":0,\"frame\":1},\"data\":[[null,0]]}");
    assert_contains(fixture, "\"innerWindowID\":6},\"data\":[[0,false,0,0]]}");
    assert_contains(fixture, "\"libs\":[]");
    assert_int_equal(ledger_count(fixture, LEDGER_LOST, "address of a frame"), 3);
    assert_int_equal(ledger_count(fixture, LEDGER_LOST, "native symbol of a frame"), 3);
    assert_int_equal(ledger_count(fixture, LEDGER_LOST, "inline depth of a frame (the frame itself is kept)"), 1);
    assert_int_equal(ledger_count(fixture, LEDGER_LOST, "path and build id of a library"), 1);
}

TEST(library_functions_precede_the_locations_that_are_their_names, begin, end) {
    struct fixture *fixture = *state;
    thread_id thread = add_app(fixture);
    stack_id stack = root_of(fixture, library_frame(fixture, "f", NULL));
    stack = stack_of(fixture, stack, library_frame(fixture, "f", "a"));
    stack = stack_of(fixture, stack, library_frame(fixture, "g", "a"));
    stack = stack_of(fixture, stack, library_frame(fixture, "f (in a)", "b"));
    add_sample(fixture, thread, 0, stack);
    emit_well(fixture);
    assert_contains(fixture, "\"stringTable\":[\"f (in a) (in b)\",\"f (in a)\",\"g (in a)\",\"f\"]");
    assert_contains(fixture, "\"data\":[[null,3],[0,1],[1,2],[2,0]]");
}

struct located {
    const char *name;
    const char *place; /* library or file; NULL: none */
    const char *location;
    uint32_t line;
    uint32_t column;
};

/* The client takes the right parts out of each of these locations; the expectations come from its own code. */
static const struct located labels[] = {
    {.name = "main", .location = "main"},
    {.name = "[unknown]", .location = "[unknown]"},
    {.name = "std::map<int, char>::find", .location = "std::map<int, char>::find"},
    {.name = "non-virtual thunk to f", .location = "non-virtual thunk to f"},
    {.name = "line\nbreak:12", .location = "line\\nbreak:12"},
    {.name = "0x7f01", .location = "0x7f01"},
    {.name = ":12", .location = ":12"},
    {.name = "f (x:12) ", .location = "f (x:12) "},
    {.name = "f (x)", .location = "f (x)"},
    {.name = "f (in lib)::g", .location = "f (in lib)::g"},
    {.name = "f (in lib) (a.c)", .location = "f (in lib) (a.c)"},
    {.name = "f\n (in a)", .location = "f\\n (in a)"},
    {.name = "f (in a)b)", .location = "f (in a)b)"},
    {.name = "f (in a) (b\n:c)", .location = "f (in a) (b\\n:c)"},
    {.name = "f (a.js:1:2)[]", .location = "f (a.js:1:2)[]"},
    {.name = "f (a.js:)", .location = "f (a.js:)"},
    {.name = "f(a.js:1)", .location = "f(a.js:1)"},
    {.name = "f\n (a.js:1)", .location = "f\\n (a.js:1)"},
};

/* The client would see a library, a file or an address in these names, so they get a space. */
static const struct located labels_with_space[] = {
    {.name = "0x10 main", .location = " 0x10 main"},
    {.name = "0x", .location = " 0x"},
    {.name = "0x7f:12", .location = " 0x7f:12 "},
    {.name = "f:12", .location = "f:12 "},
    {.name = "f:12:3", .location = "f:12:3 "},
    {.name = "f:12[3]", .location = "f:12[3] "},
    {.name = "a.js:99999999999:2[0]", .location = "a.js:99999999999:2[0] "},
    {.name = "f (x:12)", .location = "f (x:12) "},
    {.name = "f (a.js:1:2)[34]", .location = "f (a.js:1:2)[34] "},
    {.name = "f (a -> b.js:1:2)", .location = "f (a -> b.js:1:2) "},
    {.name = "f (:1:2)", .location = "f (:1:2) "},
    {.name = "f (in lib)", .location = "f (in lib) "},
    {.name = "f (in lib) + 12", .location = "f (in lib) + 12 "},
    {.name = "f (in lib) (a.c:1)", .location = "f (in lib) (a.c:1) "},
    {.name = "f (in a\n (in b)", .location = "f (in a\\n (in b) "},
};

static const struct located libraries[] = {
    {.name = "main", .place = "app", .location = "main (in app)"},
    {.name = "f:12", .place = "app", .location = "f:12 (in app)"},
    {.name = "f (x:12)", .place = "app", .location = "f (x:12) (in app)"},
    {.name = "work(int)", .place = "libc.so.6", .location = "work(int) (in libc.so.6)"},
    {.name = "f (in g)", .place = "app", .location = "f (in g) (in app)"},
    {.name = "f (in g) (a::b)", .place = "app", .location = "f (in g) (a::b) (in app) + 0"},
    {.name = "f (in", .place = "app", .location = "f (in (in app)"},
    {.name = "0x7f01", .place = "app", .location = "non-virtual thunk to 0x7f01 (in app)"},
    {.name = "0x (in a) (:", .place = "app", .location = "non-virtual thunk to 0x (in a) (: (in app) + 0"},
    {.name = "non-virtual thunk to f",
     .place = "app",
     .location = "non-virtual thunk to non-virtual thunk to f (in app)"},
    {.name = "f", .place = "two\nlines", .location = "f (in two\\nlines)"},
    {.name = "f", .place = "[JIT] tid 5", .location = "f (in [JIT] tid 5)"},
};

static const struct located libraries_changed[] = {
    {.name = "two\nlines", .place = "app", .location = "two lines (in app)"},
    {.name = "two\xe2\x80\xa8lines\r\n", .place = "app", .location = "two lines   (in app)"},
    {.name = "f", .place = "memfd:x (deleted)", .location = "f (in memfd:x [deleted])"},
    {.name = "f", .place = "a (in b", .location = "f (in a [in b)"},
    {.name = "f", .place = "(in b", .location = "f (in [in b)"},
    {.name = "a\nb", .place = "c)", .location = "a b (in c])"},
};

static const struct located scripts[] = {
    {"fn", "app.js", "fn (app.js:10:3)", 10, 3},
    {"fn", "app.js", "fn (app.js:10)", 10, 0},
    {"fn", "app.js", "fn (app.js:0)", 0, 0},
    {"fn", "https://a.org:80/x.js", "fn (https://a.org:80/x.js:4294967295:1)", UINT32_MAX, 1},
    {"fn (x:1)", "app.js", "fn (x:1) (app.js:10:3)", 10, 3},
    {"fn", "app.js:7", "fn (app.js:7:10:3)", 10, 3},
};

/* The client would take these files wrongly, so the table of sources has them. */
static const struct located scripts_with_source[] = {
    {"fn", "app.js:7", "fn (app.js:7 :10)[2]", 10, 0},
    {"fn", "a -> b.js", "fn (a -> b.js:10:3)[3]", 10, 3},
    {"fn", "in x.js", "fn (in x.js:10:3)[0]", 10, 3},
    {"fn (in lib)", "app.js", "fn (in lib) (app.js:10:3)[1]", 10, 3},
    {"fn", "/My App (x86)/a.js", "fn (/My App [x86]/a.js :10:3)[4]", 10, 3},
    {"fn", "two\nlines.js", "fn (two lines.js :10:3)[5]", 10, 3},
    {"fn", "", "fn ( :10:3)[6]", 10, 3},
};

static const struct located scripts_changed[] = {
    {"two\nlines", "app.js", "two lines (app.js:10:3)", 10, 3},
    {"", "app.js", "  (app.js:10:3)", 10, 3},
    {"0xfn", "app.js", " 0xfn (app.js:10:3)", 10, 3},
    {"0xfn", "b (c).js", " 0xfn (b [c].js :10)[0]", 10, 0},
};

static frame_id located_frame(struct fixture *fixture, const struct located *located, bool is_script) {
    if (!is_script) return library_frame(fixture, located->name, located->place);
    struct profile *profile = &fixture->profile;
    struct func func = {.name = profile_string(profile, text_of(located->name)),
                        .resource = resource_none(),
                        .source = profile_source(profile, text_of(located->place)),
                        .line = located->line,
                        .column = located->column,
                        .flags = FUNC_IS_JS};
    struct frame frame = plain_frame(profile_func(profile, &func));
    return profile_frame(profile, &frame);
}

/* Checks the locations of functions, and how many of them had to be changed: a space, a line break, brackets. */
static void assert_locations(struct fixture *fixture, const struct located *located, size_t count, bool is_script,
                             const uint64_t changed_counts[3]) {
    static const char *const changes[] = {
        "function name that the client would take for more (a space is added)",
        "line break in a function name (a space is written)",
        "round brackets in a library's name (square ones are written)",
    };
    thread_id thread = add_app(fixture);
    stack_id stack = stack_none();
    for (size_t i = 0; i < count; i++) stack = stack_of(fixture, stack, located_frame(fixture, &located[i], is_script));
    add_sample(fixture, thread, 0, stack);
    emit_well(fixture);
    for (size_t i = 0; i < count; i++) {
        char quoted[128];
        snprintf(quoted, sizeof quoted, "\"%s\"", located[i].location);
        assert_contains(fixture, quoted);
    }
    for (size_t i = 0; i < 3; i++) assert_int_equal(ledger_count(fixture, LEDGER_LOST, changes[i]), changed_counts[i]);
}

#define LOCATION_TEST(located, is_script, ...)                                                             \
    TEST(locations_of_##located, begin, end) {                                                             \
        static const uint64_t changed_counts[] = {__VA_ARGS__};                                            \
        assert_locations(*state, located, sizeof(located) / sizeof *(located), is_script, changed_counts); \
    }

LOCATION_TEST(labels, false, 0, 0, 0)
LOCATION_TEST(labels_with_space, false, sizeof labels_with_space / sizeof *labels_with_space, 0, 0)
LOCATION_TEST(libraries, false, 0, 0, 0)
LOCATION_TEST(libraries_changed, false, 0, 3, 4)
LOCATION_TEST(scripts, true, 0, 0, 0)
LOCATION_TEST(scripts_with_source, true, 0, 0, 0)
LOCATION_TEST(scripts_changed, true, 3, 1, 0)

/* Many half-matches must not make reading quadratic; that would take forever. */
TEST(long_names_are_read_in_one_pass, begin, end) {
    enum { BYTES = 4 * 1024 * 1024 };
    static const char part[] = " (in ) (";
    struct fixture *fixture = *state;
    char *name = malloc(BYTES + 1);
    assert_non_null(name);
    for (size_t i = 0; i < BYTES; i++) name[i] = part[i % (sizeof part - 1)];
    name[0] = '\n';
    name[BYTES] = '\0';
    add_sample(
        fixture, add_app(fixture), 0,
        stack_of(fixture, root_of(fixture, library_frame(fixture, name, NULL)), library_frame(fixture, name, "lib")));
    emit_well(fixture);
    assert_int_equal(ledger_count(fixture, LEDGER_LOST, "line break in a function name (a space is written)"), 1);
    free(name);
}

TEST(properties_of_functions_without_a_place_are_in_the_ledger, begin, end) {
    struct fixture *fixture = *state;
    struct profile *profile = &fixture->profile;
    thread_id thread = add_app(fixture);
    string_id name = profile_string(profile, TEXT("f"));
    resource_id library = profile_resource(profile, profile_string(profile, TEXT("lib")), RESOURCE_LIBRARY);
    resource_id url = profile_resource(profile, profile_string(profile, TEXT("url")), RESOURCE_URL);
    source_id source = profile_source(profile, TEXT("a.c"));
    const struct func funcs[] = {
        {.name = name, .resource = library, .source = source, .line = 3},
        {.name = name, .resource = library, .source = source_none(), .line = 0},
        {.name = name, .resource = url, .source = source_none()},
        {.name = name, .resource = resource_none(), .source = source_none(), .flags = FUNC_IS_JS},
        {.name = name, .resource = url, .source = source, .flags = FUNC_IS_JS},
    };
    for (size_t i = 0; i < sizeof funcs / sizeof *funcs; i++) {
        struct frame frame = plain_frame(profile_func(profile, &funcs[i]));
        add_sample(fixture, thread, (int64_t)i, root_of(fixture, profile_frame(profile, &frame)));
    }
    emit_well(fixture);
    assert_contains(fixture, "\"stringTable\":[\"f (in lib)\",\"f (in url)\",\"f\",\"f (a.c:0)\"]");
    assert_contains(fixture, "[2,true,0,0]");
    static const char *const lost[] = {
        "source file of a native function",
        "line of a native function",
        "JavaScript flag of a function without a source file",
        "resource of a JavaScript function",
        "type of a resource that is not a library",
        "function that differs from another one only in what is lost",
    };
    for (size_t i = 0; i < sizeof lost / sizeof *lost; i++)
        assert_int_equal(ledger_count(fixture, LEDGER_LOST, lost[i]), 1);
    assert_int_equal(ledger_count(fixture, LEDGER_NOTED, "JavaScript function without a line (line 0 is written)"), 1);
    assert_int_equal(fixture->profile.ledger.read[LEDGER_VALUES], 6);
}

TEST(scripts_that_need_the_sources_table_count_by_process, begin, end) {
    struct fixture *fixture = *state;
    thread_id first = add_app(fixture);
    thread_id second = add_thread(fixture, profile_add_process(&fixture->profile, 2, 0), 2, "b");
    stack_id plain = root_of(fixture, script_frame(fixture, "p", "plain.js", 1));
    stack_id only_first = root_of(fixture, script_frame(fixture, "f", "one (1).js", 2));
    stack_id both = root_of(fixture, script_frame(fixture, "g", "two (2).js", 3));
    add_sample(fixture, first, 0, plain);
    add_sample(fixture, first, 1, only_first);
    add_sample(fixture, first, 2, both);
    add_sample(fixture, second, 3, both);
    emit_well(fixture);
    assert_contains(fixture, "\"stringTable\":[\"p (plain.js:1)\",\"f (one [1].js :2)[0]\",\"g (two [2].js :3)[1]\"]");
    assert_contains(fixture,
                    "\"data\":[[\"source-1\",\"one (1).js\",1,1,null],[\"source-2\",\"two (2).js\",1,1,null]]}");
    assert_contains(fixture, "\"stringTable\":[\"g (two [2].js :3)[0]\"]");
    assert_contains(fixture, "\"data\":[[\"source-2\",\"two (2).js\",1,1,null]]}");
    assert_false(ledger_has_losses(&fixture->profile.ledger));
}

/* ---- Names and metadata. ---- */

TEST(processes_are_shown_with_the_names_of_their_main_threads, begin, end) {
    struct fixture *fixture = *state;
    process_id process = profile_add_process(&fixture->profile, 1, 0);
    profile_process_at(&fixture->profile, process)->name = TEXT("app");
    thread_id main_thread = add_thread(fixture, process, 1, "ui");
    thread_id impostor = add_thread(fixture, process, 2, "GeckoMain");
    stack_id root = root_of(fixture, library_frame(fixture, "f", NULL));
    add_sample(fixture, main_thread, 0, root);
    add_sample(fixture, impostor, 1, root);
    emit_well(fixture);
    assert_contains(fixture, "{\"name\":\"GeckoMain\",\"processType\":\"app\",\"processName\":\"app (ui)\"");
    assert_contains(fixture, "{\"name\":\"GeckoMain \",\"processType\":\"app\",\"processName\":\"app\"");
    assert_int_equal(
        ledger_count(fixture, LEDGER_LOST, "name of a thread that would make it a main thread (a space is added)"), 1);
}

/* ---- Markers. ---- */

TEST(markers_are_sorted_by_their_ends, begin, end) {
    struct fixture *fixture = *state;
    thread_id thread = add_app(fixture);
    struct marker marker = {.stack = stack_none(), .schema = add_schema(fixture)};
    static const struct {
        enum marker_phase phase;
        int start_ms;
        int end_ms;
        const char *name;
    } cases[] = {
        {MARKER_INTERVAL_END, 0, 0, "a"}, {MARKER_INTERVAL, 1, 9, "b"}, {MARKER_INTERVAL_START, 2, 2, "c"},
        {MARKER_INTERVAL_END, 2, 2, "c"}, {MARKER_INSTANT, 4, 4, "d"},  {MARKER_INTERVAL, 5, 5, "e"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        marker.phase = cases[i].phase;
        marker.start_ns = (int64_t)cases[i].start_ms * MS;
        marker.end_ns = (int64_t)cases[i].end_ms * MS;
        add_marker(fixture, thread, marker, cases[i].name, "w", 1);
    }
    emit_well(fixture);
    assert_contains(fixture,
                    "\"data\":["
                    "[0,0,0,3,0,{\"type\":\"Event\",\"what\":1,\"count\":1}],"
                    "[2,2,null,2,0,{\"type\":\"Event\",\"what\":1,\"count\":1}],"
                    "[2,null,2,3,0,{\"type\":\"Event\",\"what\":1,\"count\":1}],"
                    "[3,4,null,0,0,{\"type\":\"Event\",\"what\":1,\"count\":1}],"
                    "[4,5,5,1,0,{\"type\":\"Event\",\"what\":1,\"count\":1}],"
                    "[5,1,9,1,0,{\"type\":\"Event\",\"what\":1,\"count\":1}]]");
    assert_contains(fixture, "\"stringTable\":[\"a\",\"w\",\"c\",\"d\",\"e\",\"b\"]");
}

/* ---- Counters. ---- */

/* Adds a counter with changes of 5, -3 and 1 at 1, 3 and 9 ms. */
static void add_counter(struct fixture *fixture, process_id process, const char *category, const char *label) {
    static const int64_t samples[][2] = {{1, 5}, {3, -3}, {9, 1}};
    const struct counter definition = {.process = process,
                                       .name = TEXT("count"),
                                       .category = text_of(category),
                                       .label = text_of(label),
                                       .unit = TEXT("bytes"),
                                       .graph = COUNTER_ACCUMULATED};
    struct counter *counter = profile_add_counter(&fixture->profile, &definition);
    for (size_t i = 0; i < sizeof samples / sizeof *samples; i++) {
        struct counter_sample *sample = column_push(&counter->samples);
        *sample = (struct counter_sample){.time_ns = samples[i][0] * MS, .change = samples[i][1]};
    }
}

TEST(accumulating_counters_show_their_levels, begin, end) {
    struct fixture *fixture = *state;
    thread_id thread = add_app(fixture);
    add_sample(fixture, thread, 0, root_of(fixture, library_frame(fixture, "f", NULL)));
    process_id process = profile_thread_at(&fixture->profile, thread)->process;
    add_counter(fixture, process, "Memory", "Memory (heap)");
    add_counter(fixture, process, "Memory", "Pixels");
    emit_well(fixture);
    assert_non_null(strstr(fixture->document, "{\"name\":\"count\",\"category\":\"Memory\""));
    assert_non_null(strstr(fixture->document, "\"data\":[[-1,0],[1,5],[3,-3],[9,1]]"));
    assert_non_null(strstr(fixture->document, "{\"name\":\"Pixels\",\"category\":\"Counters\""));
    assert_non_null(strstr(fixture->document, "[[-1,0],[0,0],[1,5],[2,5],[3,5],[4,2],[5,2],[6,2],[7,2],[8,2],[9,3]]"));
}

/* ---- Weights. ---- */

/* Adds samples of these weights, one per millisecond. */
static void add_weights(struct fixture *fixture, const struct decimal *weights, size_t count) {
    thread_id thread = add_app(fixture);
    stack_id root = root_of(fixture, library_frame(fixture, "f", NULL));
    for (size_t i = 0; i < count; i++) add_weighed_sample(fixture, thread, (int64_t)i * MS, root, weights[i]);
}

#define ADD_WEIGHTS(fixture, weights) add_weights(fixture, weights, sizeof(weights) / sizeof *(weights))

static const char *const difference_cause = "weight of a sample: a difference cannot be repeated samples";

TEST(the_unit_is_told_as_the_viewer_would_tell_it, begin, end) {
    static const struct {
        enum weight_type type;
        const char *unit;
        struct decimal weights[2];
        const char *cause; /* NULL if there is none */
    } cases[] = {
        {WEIGHT_SAMPLES, "", {{6, 0, 0}, {4, 0, 0}}, "weight of a sample: one sample stands for 2 samples"},
        {WEIGHT_SAMPLES, "", {{6, 0, 0}, {5, 0, 0}}, NULL},
        {WEIGHT_SAMPLES, "", {{5, 1, 0}, {125, 2, 0}}, "weight of a sample: one sample stands for 0.25 samples"},
        {WEIGHT_TRACING_MS, "", {{500000, 0, 0}, {250000, 0, 0}}, "weight of a sample: one sample stands for 0.25 ms"},
        {WEIGHT_TRACING_MS, "", {{4 * MS, 0, 0}, {2 * MS, 0, 0}}, "weight of a sample: one sample stands for 2 ms"},
        {WEIGHT_TRACING_MS, "", {{15, 1, 0}, {3, 0, 0}}, "weight of a sample: one sample stands for 0.0000015 ms"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture *fixture = *state;
        ADD_WEIGHTS(fixture, cases[i].weights);
        fixture->profile.meta.weight_type = cases[i].type;
        fixture->profile.meta.weight_unit = text_of(cases[i].unit);
        emit_well(fixture);
        if (cases[i].cause)
            assert_int_equal(ledger_count(fixture, LEDGER_NOTED, cases[i].cause), 2);
        else
            assert_int_equal(ledger_sum(&fixture->profile.ledger, LEDGER_VALUES, LEDGER_NOTED), 0);
        end(state);
        begin(state);
    }
}

TEST(differences_are_written_once_and_lose_their_weights, begin, end) {
    static const struct decimal weights[][3] = {{{5, 0, 0}, {-5, 0, 0}, {10, 0, 0}}, {{5, 0, 0}, {0, 0, 0}, {1, 0, 0}}};
    for (size_t i = 0; i < 2; i++) {
        struct fixture *fixture = *state;
        ADD_WEIGHTS(fixture, weights[i]);
        fixture->profile.meta.weight_type = WEIGHT_SAMPLES;
        fixture->profile.meta.cpu_delta_unit = CPU_DELTA_NS;
        emit_well(fixture);
        assert_contains(fixture, "\"data\":[[0,0],[0,1],[0,2]]");
        assert_lacks(fixture, "threadCPUDelta");
        assert_int_equal(ledger_count(fixture, LEDGER_LOST, difference_cause), 3);
        end(state);
        begin(state);
    }
}

/* Weights that would need more than ten million rows are rounded, and every sample keeps at least one row. */
TEST(weights_are_rounded_where_they_need_too_many_rows, begin, end) {
    static const struct {
        struct decimal weights[3];
        const char *unit; /* unit of samples */
        int row_count;
    } cases[] = {
        {{{1, 0, 0}, {10000000, 0, 0}, {1, 0, 0}}, "5000", 2002},
        {{{15, 1, 0}, {INT64_C(9000000000), 0, 0}, {INT64_C(4500000000), 0, 0}}, "5000000", 2701},
        {{{1, DECIMAL_SCALE_MAX, 0}, {12, 0, 0}, {6, 0, 0}}, "0.01", 1801},
        /* More rows than can be counted. */
        {{{INT64_MAX, 0, 0}, {1, DECIMAL_SCALE_MAX, 0}, {INT64_MAX, 0, 0}}, "10000000000000000", 1845},
        {{{100000000000000000, 0, 18}, {1, 0, 0}, {1, 0, 0}}, "50000000000000000000000000000000", 2002},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct fixture *fixture = *state;
        ADD_WEIGHTS(fixture, cases[i].weights);
        fixture->profile.meta.weight_type = WEIGHT_SAMPLES;
        profile_finish(&fixture->profile);
        struct gecko_weights weights;
        gecko_weights_init(&weights, &fixture->profile);
        assert_int_equal(fixture->failure.code, FAILURE_NONE);
        assert_int_equal(weights.row_count, cases[i].row_count);
        gecko_weights_enter(&weights, &fixture->profile.ledger);
        char cause[256];
        snprintf(cause, sizeof cause,
                 "weight of a sample: one sample stands for %s samples, and weights are rounded to multiples of that",
                 cases[i].unit);
        assert_int_equal(ledger_count(fixture, LEDGER_NOTED, cause), 3);
        end(state);
        begin(state);
    }
}

int main(void) { return unit_tests_run(NULL, NULL); }
