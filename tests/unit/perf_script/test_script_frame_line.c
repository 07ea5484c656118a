/* Tests frame lines and source lines: each form that perf prints. */
#include <stdio.h>
#include <stdlib.h>

#include "readers/perf_script/script_frame_line.h"
#include "tests/support/unit_test.h"

#define NO_ADDRESS UINT64_MAX
#define NO_OFFSET  UINT64_MAX

enum { IS_INLINED = 1, IS_COOKIE = 2 };

struct reading {
    const char *line;
    uint64_t address;
    const char *symbol;
    uint64_t offset;
    const char *library;
    int flags;
};

static void assert_text(struct text got, const char *wanted, const char *what, const char *line) {
    if (!text_equal(got, text_of(wanted)))
        fail_msg("%s: %s is \"%.*s\", not \"%s\"", line, what, (int)got.bytes_count, got.bytes ? got.bytes : "",
                 wanted);
}

static void assert_reading(const struct reading *wanted) {
    const char *line = wanted->line;
    struct perf_frame_line got;
    /* The copy has exactly the line's size, so that a sanitizer detects reads beyond its end. */
    size_t bytes_count = strlen(line);
    char *bytes = malloc(bytes_count);
    assert_non_null(bytes);
    memcpy(bytes, line, bytes_count);
    if (!script_frame_line_parse((struct text){bytes, bytes_count}, &got)) fail_msg("%s: refused", line);
    if (got.has_address != (wanted->address != NO_ADDRESS) || (got.has_address && got.address != wanted->address))
        fail_msg("%s: address %d %llx", line, got.has_address, (unsigned long long)got.address);
    if (got.has_offset != (wanted->offset != NO_OFFSET) || (got.has_offset && got.offset != wanted->offset))
        fail_msg("%s: offset %d %llx", line, got.has_offset, (unsigned long long)got.offset);
    assert_text(got.symbol, wanted->symbol, "symbol", line);
    assert_text(got.library, wanted->library, "library", line);
    if (got.is_inlined != !!(wanted->flags & IS_INLINED)) fail_msg("%s: is_inlined", line);
    if (got.is_cookie != !!(wanted->flags & IS_COOKIE)) fail_msg("%s: is_cookie", line);
    free(bytes);
}

#define ASSERT_READINGS(readings) \
    for (size_t i = 0; i < sizeof readings / sizeof *readings; i++) assert_reading(&readings[i])

TEST(test_parts) {
    static const struct reading readings[] = {
        {"\tffffffff8158e375 next_uptodate_folio+0x55 ([kernel.kallsyms])", 0xffffffff8158e375, "next_uptodate_folio",
         0x55, "[kernel.kallsyms]", 0},
        {"\t            1190 fib+0x12 (/usr/bin/app)", 0x1190, "fib", 0x12, "/usr/bin/app", 0},
        {"1190 fib (/usr/bin/app)", 0x1190, "fib", NO_OFFSET, "/usr/bin/app", 0},
        {"\t1190\tfib() const (/system/lib/a.so)", 0x1190, "fib() const", NO_OFFSET, "/system/lib/a.so", 0},
        {"1190 fib+0x0 (/usr/bin/app)", 0x1190, "fib", 0, "/usr/bin/app", 0},
        {"\t7f01", 0x7f01, "", NO_OFFSET, "", 0},
        {"\t7f01 leaf+0x10", 0x7f01, "leaf", 0x10, "", 0},
        {"\t7f01 leaf", 0x7f01, "leaf", NO_OFFSET, "", 0},
        {"\t7f01 (/usr/bin/app)", 0x7f01, "", NO_OFFSET, "/usr/bin/app", 0},
        {"\t0 [unknown]", 0, "", NO_OFFSET, "", 0},
        {"\t0 [unknown] ([unknown])", 0, "", NO_OFFSET, "", 0},
        {"\t[unknown] ([unknown])", NO_ADDRESS, "", NO_OFFSET, "", 0},
        {"\t[unknown] (/usr/bin/perf)", NO_ADDRESS, "", NO_OFFSET, "/usr/bin/perf", 0},
        {"\t[unknown]", NO_ADDRESS, "", NO_OFFSET, "", 0},
        {"\tffff8000801c1b2c do_idle+0x22c ([kernel.kallsyms])", 0xffff8000801c1b2c, "do_idle", 0x22c,
         "[kernel.kallsyms]", 0},
        {"\t7F01 leaf\t(/a)  \t", 0x7f01, "leaf", NO_OFFSET, "/a", 0},
        {"\tfffffffffffffffe a+0xfffffffffffffffe (/a)", UINT64_MAX - 1, "a", UINT64_MAX - 1, "/a", 0},
        {"\t7f01 a+0x10000000000000000 (/a)", 0x7f01, "a+0x10000000000000000", NO_OFFSET, "/a", 0},
    };
    ASSERT_READINGS(readings);
}

TEST(test_only_the_last_balanced_group_is_the_library) {
    static const struct reading readings[] = {
        {"401000 (anonymous namespace)::work(int) (/a)", 0x401000, "(anonymous namespace)::work(int)", NO_OFFSET, "/a",
         0},
        {"401000 Foo::operator()+0x3 (/a)", 0x401000, "Foo::operator()", 3, "/a", 0},
        {"401000 std::function<void (X&)>::_M_invoke+0x12 (/a)", 0x401000, "std::function<void (X&)>::_M_invoke", 0x12,
         "/a", 0},
        {"401000 f(int (*)(char)) (/a)", 0x401000, "f(int (*)(char))", NO_OFFSET, "/a", 0},
        {"401000 work(int)", 0x401000, "work(int)", NO_OFFSET, "", 0},
        {"401000 f(int (*)(char))", 0x401000, "f(int (*)(char))", NO_OFFSET, "", 0},
        {"401000 Foo::operator->()+0x3 (/a)", 0x401000, "Foo::operator->()", 3, "/a", 0},
        {"401000 operator+ (/a)", 0x401000, "operator+", NO_OFFSET, "/a", 0},
        {"401000 operator++0x5 (/a)", 0x401000, "operator+", 5, "/a", 0},
        {"401000 a<b, (c)1>::d (/a)", 0x401000, "a<b, (c)1>::d", NO_OFFSET, "/a", 0},
        {"401000 f ([JIT] tid 5)", 0x401000, "f", NO_OFFSET, "[JIT] tid 5", 0},
        {"401000 f ([JIT app cache])", 0x401000, "f", NO_OFFSET, "[JIT app cache]", 0},
        {"401000 f (/opt/My App (x86)/a)", 0x401000, "f", NO_OFFSET, "/opt/My App (x86)/a", 0},
        {"401000 f(int) (/opt/My App (x86)/a)", 0x401000, "f(int)", NO_OFFSET, "/opt/My App (x86)/a", 0},
        {"401000 f (/lib/x.so (deleted))", 0x401000, "f", NO_OFFSET, "/lib/x.so", 0},
        {"401000 f (/usr/bin/a+0x1000)", 0x401000, "f", NO_OFFSET, "/usr/bin/a", 0},
        {"401000 f+0x1 (/lib/x.so (deleted)+0x1000)", 0x401000, "f", 1, "/lib/x.so", 0},
        {"401000 f (/usr/lib/libstdc++.so.6)", 0x401000, "f", NO_OFFSET, "/usr/lib/libstdc++.so.6", 0},
        {"401000 f (/opt/:-)/a)", 0x401000, "f", NO_OFFSET, "/opt/:-)/a", 0},
        {"401000 f+0x1 (/usr/lib/x86_64-lin", 0x401000, "f", 1, "", 0},
        {"401000 f+0x1234567890abcdef (/usr/lib/x86_64-lin", 0x401000, "f", 0x1234567890abcdef, "", 0},
        {"401000 f(int (*)(char))+0x1 ([kernel.kalls>", 0x401000, "f(int (*)(char))", 1, "", 0},
        {"401000 [unknown] (", 0x401000, "", NO_OFFSET, "", 0},
        {"401000 f (/usr/li", 0x401000, "f (/usr/li", NO_OFFSET, "", 0},
        {"401000 f ()", 0x401000, "f", NO_OFFSET, "", 0},
    };
    ASSERT_READINGS(readings);
}

TEST(test_names_of_interpreters) {
    static const struct reading readings[] = {
        {"7f01 Ljava/io/PrintStream;::print (/tmp/perf-1.map)", 0x7f01, "Ljava/io/PrintStream;::print", NO_OFFSET,
         "/tmp/perf-1.map", 0},
        {"7f01 A::f->B::g+0x4 (/tmp/perf-1.map)", 0x7f01, "A::f->B::g", 4, "/tmp/perf-1.map", 0},
        {"7f01 LazyCompile:*fn file.js:10:3 (/tmp/perf-1.map)", 0x7f01, "LazyCompile:*fn file.js:10:3", NO_OFFSET,
         "/tmp/perf-1.map", 0},
        {"7f01 py::fn:/file.py+0x8 (/tmp/perf-1.map)", 0x7f01, "py::fn:/file.py", 8, "/tmp/perf-1.map", 0},
    };
    ASSERT_READINGS(readings);
}

TEST(test_inlined_and_cookies) {
    static const struct reading readings[] = {
        {"3477 std::char_traits<char>::compare+0x1f7 (inlined)", 0x3477, "std::char_traits<char>::compare", 0x1f7, "",
         IS_INLINED},
        {"3477 operator() (inlined)", 0x3477, "operator()", NO_OFFSET, "", IS_INLINED},
        {"3477 inner() [inlined]+0x6 (/opt/server)", 0x3477, "inner()", NO_OFFSET, "", IS_INLINED},
        {"\tb00000006 (cookie) ([unknown])", 0xb00000006, "", NO_OFFSET, "", IS_COOKIE},
        {"\tb6 (cookie)", 0xb6, "", NO_OFFSET, "", IS_COOKIE},
    };
    ASSERT_READINGS(readings);
}

TEST(test_what_is_no_frame) {
    static const char *const lines[] = {
        "",
        "   ",
        "  file.c:12",
        "  :0",
        "  libc.so.6[27b25]",
        "0x401000/0x402000/P/-/-/1/CALL/-",
        "0x401000 f (/a)",
        "1234567890abcdef0 f (/a)", /* 17 digits */
        "xyz f (/a)",
        "-1 f (/a)",
        "instruction trace error type 1",
        "(/a)",
        "unknown (/a)",
        "\t401126\tinsn: 48 89 e5",
        "\t401126\tpush (%rax)",
    };
    struct perf_frame_line frame;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (script_frame_line_parse(text_of(lines[i]), &frame)) fail_msg("\"%s\" was taken for a frame", lines[i]);
}

TEST(test_frames_without_indentation) {
    static const struct {
        const char *line;
        bool is_bare;
    } rows[] = {
        {"ffffffff8103d0ca native_write_msr_safe ([kernel.kallsyms])", true},
        {"10 f (/a)", true},
        {"10 f() const (/a) ", true},
        {"1190 leaf (inlined)", true},
        {"1190 leaf+0x10", true},
        {"401195 leaf", true},
        {"ffff8000801234a0", true},
        {"[unknown] ([unknown])", true},
        {"", false},
        {"\t10 f (/a)", false},
        {" 10 f (/a)", false},
        {"add to that", false},
        {"add(1)", false},
        {"add f(1)", false},
        {"18 out of order events recorded.", false},
        {"decade", false},
        {"decade2 (/a)", true},
        {"[unknown]", false},
        {"file.c:12", false},
        {"xyz f (/a)", false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (script_frame_line_is_bare(text_of(rows[i].line)) != rows[i].is_bare)
            fail_msg("\"%s\" was %staken for a frame", rows[i].line, rows[i].is_bare ? "not " : "");
}

TEST(test_a_line_full_of_brackets) {
    enum { LINE_BYTES = 4 * 1024 * 1024 };
    char *line = malloc(LINE_BYTES);
    assert_non_null(line);
    struct perf_frame_line frame;
    static const char *const units[] = {"(", ")", " (", ") ", "()", " +0x", "->"};
    for (size_t u = 0; u < sizeof units / sizeof *units; u++) {
        size_t unit_bytes = strlen(units[u]);
        memset(line, ')', LINE_BYTES);
        memcpy(line, "1 ", 2);
        for (size_t at = 2; at + unit_bytes < LINE_BYTES; at += unit_bytes) memcpy(line + at, units[u], unit_bytes);
        assert_true(script_frame_line_parse((struct text){line, LINE_BYTES}, &frame));
        assert_int_equal(frame.address, 1);
    }
    free(line);
}

struct source_reading {
    const char *line;
    const char *file;
    uint32_t number;
    bool is_inlined;
};

TEST(test_source_lines) {
    static const struct source_reading readings[] = {
        {"  basic_string.h:234", "basic_string.h", 234, false},
        {"  file.c:12", "file.c", 12, false},
        {"  /usr/include/c++/12/bits/stl algo.h:1", "/usr/include/c++/12/bits/stl algo.h", 1, false},
        {"  file.c:12 (inlined)", "file.c", 12, true},
        {"  file.c:12 (discriminator 3)", "file.c", 12, false},
        {"  C:/a.c:999999999", "C:/a.c", 999999999, false},
        {"  libc.so[27b25]", "", 0, false},
        {"  [kernel.kallsyms][ffffffff8158e375]", "", 0, false},
        {"  :0", "", 0, false},
        {"  ??:0", "", 0, false},
        {"  ??:0 (inlined)", "", 0, true},
        {"  file.c:0", "", 0, false},
    };
    for (size_t i = 0; i < sizeof readings / sizeof *readings; i++) {
        const struct source_reading *wanted = &readings[i];
        struct perf_source_line got;
        if (!script_source_line_parse(text_of(wanted->line), &got)) fail_msg("%s: refused", wanted->line);
        assert_text(got.file, wanted->file, "file", wanted->line);
        assert_int_equal(got.line, wanted->number);
        if (got.is_inlined != wanted->is_inlined) fail_msg("%s: is_inlined", wanted->line);
    }
}

TEST(test_what_is_no_source_line) {
    static const char *const lines[] = {
        "",
        " ",
        ":",
        "file.c",
        "file.c:",
        "file.c:x",
        "file.c:-1",
        "file.c:9999999999",
        "file.c:12 (x)",
        "libc.so[]",
        "libc.so[xyz]",
        "libc.so[27b25",
        "code 8: Lost trace data",
        "(inlined)",
    };
    struct perf_source_line source;
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++)
        if (script_source_line_parse(text_of(lines[i]), &source))
            fail_msg("\"%s\" was taken for a source line", lines[i]);
}

int main(void) { return unit_tests_run(NULL, NULL); }
