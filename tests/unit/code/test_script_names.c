/* Tests the parsing of names of generated code: compiler tier, file and line. */
#include <stdio.h>

#include "readers/code/script_names.h"
#include "tests/support/unit_test.h"

struct reading {
    const char *symbol;
    const char *name; /* NULL: the whole symbol */
    enum script_kind kind;
    const char *tier;
    const char *file;
    uint32_t line;
    uint32_t column;
};

static void assert_text(struct text got, const char *wanted, const char *what, const char *symbol) {
    if (!text_equal(got, text_of(wanted)))
        fail_msg("%s: %s is \"%.*s\", not \"%s\"", symbol, what, (int)got.bytes_count, got.bytes ? got.bytes : "",
                 wanted);
}

static void assert_readings(const struct reading *readings, size_t count) {
    for (size_t i = 0; i < count; i++) {
        const struct reading *wanted = &readings[i];
        struct script_name got;
        script_name_parse(text_of(wanted->symbol), &got);
        if (got.kind != wanted->kind) fail_msg("%s: kind %d, not %d", wanted->symbol, (int)got.kind, (int)wanted->kind);
        assert_text(got.name, wanted->name ? wanted->name : wanted->symbol, "name", wanted->symbol);
        assert_text(got.tier, wanted->tier, "tier", wanted->symbol);
        assert_text(got.file, wanted->file, "file", wanted->symbol);
        if (got.line != wanted->line) fail_msg("%s: line %u, not %u", wanted->symbol, got.line, wanted->line);
        if (got.column != wanted->column) fail_msg("%s: column %u, not %u", wanted->symbol, got.column, wanted->column);
    }
}

#define ASSERT_READINGS(readings) assert_readings(readings, sizeof readings / sizeof *readings)

TEST(test_javascript) {
    static const struct reading readings[] = {
        {"LazyCompile:*fn file.js:10:3", "fn", SCRIPT_JAVASCRIPT, "TurboFan", "file.js", 10, 3},
        {"LazyCompile:^fn file.js:10:3", "fn", SCRIPT_JAVASCRIPT, "Sparkplug", "file.js", 10, 3},
        {"LazyCompile:~fn file.js:10", "fn", SCRIPT_JAVASCRIPT, "Ignition", "file.js", 10, 0},
        {"LazyCompile:fn file.js", "fn", SCRIPT_JAVASCRIPT, "JavaScript", "file.js", 0, 0},
        {"Function:*fn file.js:10:3", "fn", SCRIPT_JAVASCRIPT, "TurboFan", "file.js", 10, 3},
        {"Function:~fn file.js:10:3", "fn", SCRIPT_JAVASCRIPT, "Ignition", "file.js", 10, 3},
        {"JS:*fn file:///srv/app.js:10:3", "fn", SCRIPT_JAVASCRIPT, "TurboFan", "file:///srv/app.js", 10, 3},
        {"JS:+fn file.js:10:3", "fn", SCRIPT_JAVASCRIPT, "Maglev", "file.js", 10, 3},
        {"JS:^emit node:events:466:44", "emit", SCRIPT_JAVASCRIPT, "Sparkplug", "node:events", 466, 44},
        {"JS:~ /srv/app.js:1:11", "(anonymous)", SCRIPT_JAVASCRIPT, "Ignition", "/srv/app.js", 1,
         11}, /* a function without a name */
        {"JS:fn", "fn", SCRIPT_JAVASCRIPT, "JavaScript", "", 0, 0},
        {"JS:*fn file.js:4294967296:1", "fn", SCRIPT_JAVASCRIPT, "TurboFan", "file.js:4294967296", 1,
         0}, /* a line has fewer than ten digits */
        {"Script:~ file.js:1:1", "(anonymous)", SCRIPT_JAVASCRIPT, "JavaScript", "file.js", 1, 1},
        {"Eval:~ file.js:1:1", "(anonymous)", SCRIPT_JAVASCRIPT, "JavaScript", "file.js", 1, 1},
    };
    ASSERT_READINGS(readings);
}

TEST(test_python) {
    static const struct reading readings[] = {
        {"py::fn:/file.py", "fn", SCRIPT_PYTHON, "Python", "/file.py", 0, 0},
        {"py::Class.method:<frozen importlib._bootstrap>", "Class.method", SCRIPT_PYTHON, "Python",
         "<frozen importlib._bootstrap>", 0, 0},
        {"py::<lambda>:/srv/my app.py", "<lambda>", SCRIPT_PYTHON, "Python", "/srv/my app.py", 0, 0},
        {"py::fn", "fn", SCRIPT_PYTHON, "Python", "", 0, 0},
        {"py::fn:/a:b.py", "fn", SCRIPT_PYTHON, "Python", "/a:b.py", 0, 0},
        {"py:::<string>", "(anonymous)", SCRIPT_PYTHON, "Python", "<string>", 0, 0},
    };
    ASSERT_READINGS(readings);
}

TEST(test_code_without_a_script) {
    static const struct reading readings[] = {
        {"RegExp:^a b:1:2$", NULL, SCRIPT_CODE, "RegExp", "", 0, 0},
        {"BytecodeHandler:Star", NULL, SCRIPT_CODE, "Interpreter", "", 0, 0},
        {"Builtin:ArrayMap", NULL, SCRIPT_CODE, "Builtin", "", 0, 0},
        {"Stub:CEntry", NULL, SCRIPT_CODE, "Stub", "", 0, 0},
    };
    ASSERT_READINGS(readings);
}

TEST(test_dotnet) {
    static const struct reading readings[] = {
        {"void [App] App.Svc::Spin(int64)[OptimizedTier1]", "void [App] App.Svc::Spin(int64)", SCRIPT_CODE,
         "OptimizedTier1", "", 0, 0},
        {"instance void [System.Private.CoreLib] System.Text::Add()[PreJIT]",
         "instance void [System.Private.CoreLib] System.Text::Add()", SCRIPT_CODE, "PreJIT", "", 0, 0},
        {"[OptimizedTier1]", NULL, SCRIPT_NONE, "", "", 0, 0},
        {"void [App] App::Run()[Tier9]", NULL, SCRIPT_NONE, "", "", 0, 0},
    };
    ASSERT_READINGS(readings);
}

TEST(test_other_names) {
    static const struct reading readings[] = {
        {"", NULL, SCRIPT_NONE, "", "", 0, 0},
        {"main", NULL, SCRIPT_NONE, "", "", 0, 0},
        {"Ljava/io/PrintStream;::print", NULL, SCRIPT_NONE, "", "", 0, 0},
        {"JS::Call(JSContext*)", NULL, SCRIPT_NONE, "", "", 0, 0},
        {"Script::run a.js:1:2", NULL, SCRIPT_NONE, "", "", 0, 0},
        {"Function::~Function", NULL, SCRIPT_NONE, "", "", 0, 0},
        {"js:*fn file.js:10:3", NULL, SCRIPT_NONE, "", "", 0, 0},
        {"aLazyCompile:*fn file.js:10:3", NULL, SCRIPT_NONE, "", "", 0, 0},
        {"py:fn:/file.py", NULL, SCRIPT_NONE, "", "", 0, 0},
        {"JS", NULL, SCRIPT_NONE, "", "", 0, 0},
    };
    ASSERT_READINGS(readings);
}

int main(void) { return unit_tests_run(NULL, NULL); }
