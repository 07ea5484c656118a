#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/unit_test.h"
#include "writer/gecko/gecko_location.h"

enum {
    SPACE = 1 << LOCATION_SPACE_ADDED,
    JOINED = 1 << LOCATION_LINES_JOINED,
    BENT = 1 << LOCATION_BRACKETS_REPLACED,
};

struct written_case {
    enum location_kind kind;
    const char *name;
    const char *container;
    uint32_t line;
    uint32_t column;
    const char *location;
    bool has_source;
    unsigned changes;
};

static struct location_parts parts_of(const struct written_case *wanted) {
    return (struct location_parts){
        .kind = wanted->kind,
        .name = text_of(wanted->name),
        .container = text_of(wanted->container),
        .line = wanted->line,
        .column = wanted->column,
    };
}

static void assert_text(struct text actual, const char *expected) {
    if (!text_equal(actual, text_of(expected)))
        fail_msg("\"%.*s\" is not \"%s\"", (int)actual.bytes_count, actual.bytes, expected);
}

static void assert_written(const struct written_case *cases, size_t count) {
    struct failure failure = {0};
    struct location_writer writer;
    location_writer_init(&writer, &failure);
    for (size_t i = 0; i < count; i++) {
        struct location_parts parts = parts_of(&cases[i]);
        struct location location = location_write(&writer, &parts);
        assert_text(location.text, cases[i].location);
        assert_int_equal(location.has_source, cases[i].has_source);
        assert_int_equal(location.changes, cases[i].changes);
    }
    location_writer_fini(&writer);
    assert_false(failure_is_set(&failure));
}

#define ASSERT_WRITTEN(cases) assert_written(cases, sizeof(cases) / sizeof *(cases))

static void a_label_is_its_name_unless_the_client_sees_more_in_it(void **state) {
    static const struct written_case cases[] = {
        {LOCATION_LABEL, "main", "", 0, 0, "main", false, 0},
        {LOCATION_LABEL, "", "", 0, 0, "", false, 0},
        {LOCATION_LABEL, "[unknown]", "", 0, 0, "[unknown]", false, 0},
        {LOCATION_LABEL, "std::map<int, char>::find", "", 0, 0, "std::map<int, char>::find", false, 0},
        {LOCATION_LABEL, "non-virtual thunk to f", "", 0, 0, "non-virtual thunk to f", false, 0},
        {LOCATION_LABEL, "line\nbreak:12", "", 0, 0, "line\nbreak:12", false, 0},
        {LOCATION_LABEL, "0x7f01", "", 0, 0, "0x7f01", false, 0},
        {LOCATION_LABEL, "0x10 main", "", 0, 0, " 0x10 main", false, SPACE},
        {LOCATION_LABEL, "0x", "", 0, 0, " 0x", false, SPACE},
        {LOCATION_LABEL, "0x7f:12", "", 0, 0, " 0x7f:12 ", false, SPACE},
        {LOCATION_LABEL, "foo:12", "", 0, 0, "foo:12 ", false, SPACE},
        {LOCATION_LABEL, "foo:12:3", "", 0, 0, "foo:12:3 ", false, SPACE},
        {LOCATION_LABEL, "foo:12[3]", "", 0, 0, "foo:12[3] ", false, SPACE},
        {LOCATION_LABEL, ":12", "", 0, 0, ":12", false, 0},
        {LOCATION_LABEL, "foo (x:12)", "", 0, 0, "foo (x:12) ", false, SPACE},
        {LOCATION_LABEL, "foo (x:12) ", "", 0, 0, "foo (x:12) ", false, 0},
        {LOCATION_LABEL, "foo (x)", "", 0, 0, "foo (x)", false, 0},
        {LOCATION_LABEL, "foo (in lib)", "", 0, 0, "foo (in lib) ", false, SPACE},
        {LOCATION_LABEL, "foo (in lib) + 12", "", 0, 0, "foo (in lib) + 12 ", false, SPACE},
        {LOCATION_LABEL, "foo (in lib) (a.c:1)", "", 0, 0, "foo (in lib) (a.c:1) ", false, SPACE},
        {LOCATION_LABEL, "foo (in lib)::bar", "", 0, 0, "foo (in lib)::bar", false, 0},
    };
    ASSERT_WRITTEN(cases);
}

static void a_library_stands_in_brackets_behind_the_name(void **state) {
    static const struct written_case cases[] = {
        {LOCATION_LIBRARY, "main", "app", 0, 0, "main (in app)", false, 0},
        {LOCATION_LIBRARY, "", "app", 0, 0, " (in app)", false, 0},
        {LOCATION_LIBRARY, "main", "", 0, 0, "main (in )", false, 0},
        {LOCATION_LIBRARY, "foo:12", "app", 0, 0, "foo:12 (in app)", false, 0},
        {LOCATION_LIBRARY, "foo (x:12)", "app", 0, 0, "foo (x:12) (in app)", false, 0},
        {LOCATION_LIBRARY, "work(int)", "libc.so.6", 0, 0, "work(int) (in libc.so.6)", false, 0},
        {LOCATION_LIBRARY, "foo (in bar)", "app", 0, 0, "foo (in bar) (in app)", false, 0},
        {LOCATION_LIBRARY, "foo (in bar) (a::b)", "app", 0, 0, "foo (in bar) (a::b) (in app) + 0", false, 0},
        {LOCATION_LIBRARY, "foo (in", "app", 0, 0, "foo (in (in app)", false, 0},
        {LOCATION_LIBRARY, "0x7f01", "app", 0, 0, "non-virtual thunk to 0x7f01 (in app)", false, 0},
        {LOCATION_LIBRARY, "0x (in a) (:", "app", 0, 0, "non-virtual thunk to 0x (in a) (: (in app) + 0", false, 0},
        {LOCATION_LIBRARY, "non-virtual thunk to f", "app", 0, 0,
         "non-virtual thunk to non-virtual thunk to f (in app)", false, 0},
        {LOCATION_LIBRARY, "two\nlines", "app", 0, 0, "two lines (in app)", false, JOINED},
        {LOCATION_LIBRARY, "two\xe2\x80\xa8lines\r\n", "app", 0, 0, "two lines   (in app)", false, JOINED},
        {LOCATION_LIBRARY, "f", "two\nlines", 0, 0, "f (in two\nlines)", false, 0},
        {LOCATION_LIBRARY, "f", "[JIT] tid 5", 0, 0, "f (in [JIT] tid 5)", false, 0},
        {LOCATION_LIBRARY, "f", "memfd:x (deleted)", 0, 0, "f (in memfd:x [deleted])", false, BENT},
        {LOCATION_LIBRARY, "f", "a (in b", 0, 0, "f (in a [in b)", false, BENT},
        {LOCATION_LIBRARY, "f", "(in b", 0, 0, "f (in [in b)", false, BENT},
        {LOCATION_LIBRARY, "a\nb", "c)", 0, 0, "a b (in c])", false, JOINED | BENT},
    };
    ASSERT_WRITTEN(cases);
}

static void a_script_names_its_file_or_leaves_that_to_the_sources_table(void **state) {
    static const struct written_case cases[] = {
        {LOCATION_SCRIPT, "fn", "app.js", 10, 3, "fn (app.js:10:3)", false, 0},
        {LOCATION_SCRIPT, "fn", "app.js", 10, 0, "fn (app.js:10)", false, 0},
        {LOCATION_SCRIPT, "fn", "app.js", 0, 0, "fn (app.js:0)", false, 0},
        {LOCATION_SCRIPT, "fn", "https://a.org:80/x.js", UINT32_MAX, 1, "fn (https://a.org:80/x.js:4294967295:1)",
         false, 0},
        {LOCATION_SCRIPT, "fn (x:1)", "app.js", 10, 3, "fn (x:1) (app.js:10:3)", false, 0},
        {LOCATION_SCRIPT, "fn", "app.js:7", 10, 3, "fn (app.js:7:10:3)", false, 0},
        {LOCATION_SCRIPT, "fn", "app.js:7", 10, 0, "fn (app.js:7 :10)", true, 0},
        {LOCATION_SCRIPT, "fn", "a -> b.js", 10, 3, "fn (a -> b.js:10:3)", true, 0},
        {LOCATION_SCRIPT, "fn", "in x.js", 10, 3, "fn (in x.js:10:3)", true, 0},
        {LOCATION_SCRIPT, "fn (in lib)", "app.js", 10, 3, "fn (in lib) (app.js:10:3)", true, 0},
        {LOCATION_SCRIPT, "fn", "/My App (x86)/a.js", 10, 3, "fn (/My App [x86]/a.js :10:3)", true, 0},
        {LOCATION_SCRIPT, "fn", "two\nlines.js", 10, 3, "fn (two lines.js :10:3)", true, 0},
        {LOCATION_SCRIPT, "fn", "", 10, 3, "fn ( :10:3)", true, 0},
        {LOCATION_SCRIPT, "two\nlines", "app.js", 10, 3, "two lines (app.js:10:3)", false, JOINED},
        {LOCATION_SCRIPT, "", "app.js", 10, 3, "  (app.js:10:3)", false, SPACE},
        {LOCATION_SCRIPT, "0xfn", "app.js", 10, 3, " 0xfn (app.js:10:3)", false, SPACE},
        {LOCATION_SCRIPT, "0xfn", "b (c).js", 10, 0, " 0xfn (b [c].js :10)", true, SPACE},
    };
    ASSERT_WRITTEN(cases);
}

struct read_case {
    const char *location;
    enum location_kind kind;
    const char *name;
    const char *container;
    uint32_t line;
    uint32_t column;
    bool has_source;
};

/* The expectations come from the client's own code. */
static void locations_read_as_the_client_reads_them(void **state) {
    static const struct read_case cases[] = {
        {"main", LOCATION_LABEL, "main", "", 0, 0, false},
        {"0x10", LOCATION_LABEL, "0x10", "", 0, 0, false},
        {"0x10 (in lib)", LOCATION_MALFORMED, "0x10 (in lib)", "", 0, 0, false},
        {"f (in lib)", LOCATION_LIBRARY, "f", "lib", 0, 0, false},
        {"f (in lib) + 12", LOCATION_LIBRARY, "f", "lib", 0, 0, false},
        {"f (in lib) (a.c:12)", LOCATION_LIBRARY, "f", "lib", 0, 0, false},
        {"f (in lib) (a.c)", LOCATION_LABEL, "f (in lib) (a.c)", "", 0, 0, false},
        {"f (in a) (in b)", LOCATION_LIBRARY, "f (in a)", "b", 0, 0, false},
        {"f (in a (in b)", LOCATION_LIBRARY, "f (in a", "b", 0, 0, false},
        {"f (in a\n (in b)", LOCATION_LIBRARY, "f", "a\n (in b", 0, 0, false},
        {"f\n (in a)", LOCATION_LABEL, "f\n (in a)", "", 0, 0, false},
        {"f (in a)b)", LOCATION_LABEL, "f (in a)b)", "", 0, 0, false},
        {"f (in a) (b:c) (in d)", LOCATION_LIBRARY, "f", "a", 0, 0, false},
        {"f (in a) (b\n:c)", LOCATION_LABEL, "f (in a) (b\n:c)", "", 0, 0, false},
        {"non-virtual thunk to f (in a)", LOCATION_LIBRARY, "f", "a", 0, 0, false},
        {"f (a.js:1:2)", LOCATION_SCRIPT, "f", "a.js", 1, 2, false},
        {"f (a.js:1)", LOCATION_SCRIPT, "f", "a.js", 1, 0, false},
        {"f (a.js:1:2)[34]", LOCATION_SCRIPT, "f", "a.js", 1, 2, true},
        {"f (a.js:1:2:3)", LOCATION_SCRIPT, "f", "a.js:1", 2, 3, false},
        {"f (:1:2)", LOCATION_SCRIPT, "f", ":1", 2, 0, false},
        {"f (b (:1)", LOCATION_SCRIPT, "f", "b (", 1, 0, false},
        {"f (a -> b.js:1:2)", LOCATION_SCRIPT, "f", "b.js", 1, 2, false},
        {"a.js:1", LOCATION_MALFORMED, "", "a.js", 1, 0, false},
        {"a.js:99999999999:2[0]", LOCATION_MALFORMED, "", "a.js", UINT32_MAX, 2, true},
        {"f (a.js:1:2)[]", LOCATION_LABEL, "f (a.js:1:2)[]", "", 0, 0, false},
        {"f (a.js:)", LOCATION_LABEL, "f (a.js:)", "", 0, 0, false},
        {"f(a.js:1)", LOCATION_LABEL, "f(a.js:1)", "", 0, 0, false},
        {"f\n (a.js:1)", LOCATION_LABEL, "f\n (a.js:1)", "", 0, 0, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct location_parts parts = location_read(text_of(cases[i].location));
        if (parts.kind != cases[i].kind) fail_msg("kind %d of \"%s\"", parts.kind, cases[i].location);
        assert_text(parts.name, cases[i].name);
        assert_text(parts.container, cases[i].container);
        assert_int_equal(parts.line, cases[i].line);
        assert_int_equal(parts.column, cases[i].column);
        assert_int_equal(parts.has_source, cases[i].has_source);
    }
}

/* A function's name must come after all functions whose location contains it. */
static void a_library_location_ranks_above_its_name(void **state) {
    static const char *const names[] = {"f", "f (in a)", "f (in a) (in b)", "f (in", "0x1", " (in  (in "};
    struct failure failure = {0};
    struct location_writer writer;
    location_writer_init(&writer, &failure);
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct location_parts parts = {.kind = LOCATION_LIBRARY, .name = text_of(names[i]), .container = TEXT("lib")};
        struct location location = location_write(&writer, &parts);
        assert_true(location_rank(location.text) > location_rank(text_of(names[i])));
    }
    location_writer_fini(&writer);
}

static void the_highest_rank_is_the_last_of_its_count(void **state) {
    enum { REPEATS = 400 };
    static const char part[] = " (in ";
    char bytes[REPEATS * (sizeof part - 1)];
    for (size_t i = 0; i < REPEATS; i++) memcpy(bytes + i * (sizeof part - 1), part, sizeof part - 1);
    assert_int_equal(location_rank((struct text){bytes, sizeof bytes}), LOCATION_RANK_COUNT - 1);
}

/* Many half-matches must not make reading quadratic; that would take forever. */
static void long_names_are_read_in_one_pass(void **state) {
    enum { BYTES = 4 * 1024 * 1024 };
    static const char part[] = " (in ) (";
    char *bytes = malloc(BYTES);
    assert_non_null(bytes);
    for (size_t i = 0; i < BYTES; i++) bytes[i] = part[i % (sizeof part - 1)];
    bytes[0] = '\n';
    struct text text = {bytes, BYTES};
    struct location_parts parts = location_read(text);
    assert_int_equal(parts.kind, LOCATION_LABEL);
    assert_int_equal(parts.name.bytes_count, BYTES);
    struct failure failure = {0};
    struct location_writer writer;
    location_writer_init(&writer, &failure);
    parts = (struct location_parts){.kind = LOCATION_LIBRARY, .name = text, .container = TEXT("lib")};
    assert_int_equal(location_write(&writer, &parts).changes, JOINED);
    location_writer_fini(&writer);
    free(bytes);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_label_is_its_name_unless_the_client_sees_more_in_it),
        cmocka_unit_test(a_library_stands_in_brackets_behind_the_name),
        cmocka_unit_test(a_script_names_its_file_or_leaves_that_to_the_sources_table),
        cmocka_unit_test(locations_read_as_the_client_reads_them),
        cmocka_unit_test(a_library_location_ranks_above_its_name),
        cmocka_unit_test(the_highest_rank_is_the_last_of_its_count),
        cmocka_unit_test(long_names_are_read_in_one_pass),
    };
    return cmocka_run_group_tests_name("gecko_location", tests, NULL, NULL);
}
