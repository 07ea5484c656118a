/* Tests the symbols of frame lines: kind of code, category, name, script position. */
#include <stdio.h>

#include "readers/perf_script/perf_symbols.h"
#include "tests/support/unit_test.h"

struct symbols_test {
    struct failure failure;
    struct profile profile;
    struct perf_symbols symbols;
};

static struct symbols_test fixture;

static int set_up(void **state) {
    fixture = (struct symbols_test){0};
    profile_init(&fixture.profile, &fixture.failure);
    perf_symbols_init(&fixture.symbols, &fixture.profile);
    *state = &fixture;
    return 0;
}

static int tear_down(void **state) {
    bool is_good = !failure_is_set(&fixture.failure);
    perf_symbols_fini(&fixture.symbols);
    profile_fini(&fixture.profile);
    return is_good ? 0 : -1;
}

static const struct perf_symbol *symbol_of(const char *line) {
    uint32_t row = perf_symbols_of_line(&fixture.symbols, text_of(line));
    if (row == ID_NONE) fail_msg("%s: refused", line);
    struct perf_symbol *symbol = perf_symbols_at(&fixture.symbols, row);
    perf_symbols_func(&fixture.symbols, symbol);
    return symbol;
}

static void assert_text(struct text got, const char *wanted, const char *line) {
    if (!text_equal(got, text_of(wanted)))
        fail_msg("%s: \"%.*s\" is not \"%s\"", line, (int)got.bytes_count, got.bytes ? got.bytes : "", wanted);
}

static struct category_pair category_of(const char *line) {
    return perf_symbols_name(&fixture.symbols, symbol_of(line))->category;
}

static struct text name_of(const struct perf_symbol *symbol) {
    return strings_text(&fixture.profile.strings, profile_func_at(&fixture.profile, symbol->func)->name);
}

static void test_categories_by_library_first(void **state) {
    static const struct {
        const char *line, *category, *subcategory;
    } rows[] = {
        {"ffffffff8158e375 f ([kernel.kallsyms])", "Kernel", "Other"},
        {"ffff8000801c1b2c f ([kernel.kallsyms])", "Kernel", "Other"}, /* aarch64 */
        {"ffffffff8158e375 f ([kernel.vmlinux])", "Kernel", "Other"},
        {"ffffffff8158e375 f (vmlinux-6.1.0-18-amd64)", "Kernel", "Other"},
        {"ffffffff8158e375 f (/usr/lib/debug/boot/vmlinux-6.1.0)", "Kernel", "Other"},
        {"ffffffffc0158e37 f ([ext4])", "Kernel", "ext4"},
        {"1234 f ([nf_conntrack])", "Kernel", "nf_conntrack"}, /* the library decides, not the address */
        {"ffffffffc0158e37 f (/lib/modules/6.1/kernel/fs/xfs.ko.zst)", "Kernel", "xfs"},
        {"ffffffffc0158e37 f (/lib/modules/6.1/kernel/fs/btrfs.ko)", "Kernel", "btrfs"},
        {"ffffffffc0158e37 f (snd_hda.ko.xz)", "Kernel", "snd_hda"},
        {"ffffffffc0158e37 bpf_prog_6deef7357e7b4530_f (bpf_prog_6deef7357e7b4530_f)", "Kernel", "BPF"},
        {"ffffffffc0158e37 bpf_prog_6deef7357e7b4530_f ([kernel.kallsyms])", "Kernel", "BPF"},
        {"ffffffffc0158e37 f ([bpf])", "Kernel", "BPF"},
        {"ffffffff8158e375 f ([guest.kernel.kallsyms])", "Kernel", "Guest"},
        {"ffffffff8158e375 f ([guest.kernel.kallsyms.123])", "Kernel", "Guest"},
        {"ffffffff8158e375 f", "Kernel", "Other"}, /* without a library, the address decides */
        {"ffff8000801c1b2c f", "Kernel", "Other"},
        {"ffffffff8158e375 [unknown] ([unknown])", "Kernel", "Other"},
        {"7f01 f", "User", "Other"},
        {"7f01 [unknown] ([unknown])", "User", "Other"},
        {"7ffd1234 f ([vdso])", "User", "[vdso]"},
        {"ffffffffff600000 f ([vsyscall])", "User", "[vsyscall]"},
        {"7f01 f (/usr/lib/libc.so.6)", "User", "libc.so.6"},
        {"7f01 f (/usr/bin/anonymizer)", "User", "anonymizer"},
        {"7f01 f (/usr/bin/perf-1234.mapper)", "User", "perf-1234.mapper"},
        {"7f01 f (/tmp/perf-1234.map)", "JIT", "Other"},
        {"7f01 f ([JIT] tid 5)", "JIT", "Other"},
        {"7f01 f ([JIT app cache])", "JIT", "Other"},
        {"7f01 f (/home/u/.debug/jit/x/jitted-123-4.so)", "JIT", "Other"},
        {"7f01 LazyCompile:*fn file.js:10:3 (/tmp/perf-1.map)", "JIT", "TurboFan"},
        {"7f01 py::fn:/file.py (/tmp/perf-1.map)", "Script", "Python"},
        {"7f01 Builtin:ArrayMap (/tmp/perf-1.map)", "JIT", "Builtin"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        struct category_pair pair = category_of(rows[i].line);
        const struct category *category = categories_at(&fixture.profile.categories, pair.category);
        assert_text(category->name, rows[i].category, rows[i].line);
        assert_text(*category_subcategory_at(category, pair.subcategory), rows[i].subcategory, rows[i].line);
    }
}

static void test_idle(void **state) {
    static const char *const idle[] = {
        "ffffffff81 native_safe_halt+0xb ([kernel.kallsyms])", "ffffffff81 intel_idle+0x63 ([kernel.kallsyms])",
        "ffffffff81 do_idle+0x1a ([kernel.kallsyms])",         "ffffffff81 cpu_startup_entry+0x2a ([kernel.kallsyms])",
        "ffffffff81 acpi_idle_do_entry ([kernel.kallsyms])",   "ffff80008 cpu_do_idle+0x8 ([kernel.kallsyms])",
    };
    static const char *const busy[] = {
        "ffffffff81 idle_cpu+0xb ([kernel.kallsyms])",
        "ffffffff81 do_idle_work ([kernel.kallsyms])",
        "7f01 do_idle (/usr/bin/app)",
    };
    for (size_t i = 0; i < sizeof idle / sizeof *idle; i++)
        assert_text(categories_at(&fixture.profile.categories, category_of(idle[i]).category)->name, "Idle", idle[i]);
    for (size_t i = 0; i < sizeof busy / sizeof *busy; i++) {
        struct text name = categories_at(&fixture.profile.categories, category_of(busy[i]).category)->name;
        if (text_equal(name, TEXT("Idle"))) fail_msg("%s is idle", busy[i]);
    }
}

static void test_versions(void **state) {
    static const char *const rows[][2] = {
        {"7f01 __libc_start_main@@GLIBC_2.34+0x85 (/usr/lib/libc.so.6)", "__libc_start_main"},
        {"7f01 memcpy@GLIBC_2.2.5 (/usr/lib/libc.so.6)", "memcpy"},
        {"7f01 memcpy@@GLIBC_2.14", "memcpy"},
        {"7f01 memcpy@plt (/usr/bin/app)", "memcpy@plt"},
        {"7f01 Lcom/app;::run@Other (/tmp/perf-1.map)", "Lcom/app;::run@Other"},
        {"7f01 LazyCompile:*fn /node_modules/@scope/a.js:10:3 (/tmp/perf-1.map)", "fn"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_text(name_of(symbol_of(rows[i][0])), rows[i][1], rows[i][0]);
    assert_int_equal(symbol_of(rows[1][0])->func.index,
                     symbol_of("7f01 memcpy@@GLIBC_2.14 (/usr/lib/libc.so.6)")->func.index);
}

static void test_unknown_names(void **state) {
    static const char *const rows[][2] = {
        {"7f01 [unknown] (/usr/bin/app)", "app+0x7f01"},
        {"7f02 [unknown] (/usr/bin/app)", "app+0x7f02"},
        {"7f01 (/usr/bin/app)", "app+0x7f01"},
        {"7f01 [unknown] ([unknown])", "[unknown]+0x7f01"},
        {"7f01", "[unknown]+0x7f01"},
        {"0 [unknown] ([unknown])", "[unknown]+0x0"},
        {"[unknown] ([unknown])", "[unknown]"},
        {"[unknown] (/usr/bin/perf)", "[unknown]"},
        {"ffffffff8158e375 [unknown] ([kernel.kallsyms])", "[kernel.kallsyms]+0xffffffff8158e375"},
        {"7f01 [unknown] (//anon)", "anon+0x7f01"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct perf_symbol *symbol = symbol_of(rows[i][0]);
        assert_text(name_of(symbol), rows[i][1], rows[i][0]);
        assert_true(symbol->flags & PERF_SYMBOL_IS_UNKNOWN);
    }
}

static void test_addresses_become_functions_when_asked_for(void **state) {
    uint32_t row = perf_symbols_of_line(&fixture.symbols, TEXT("1190 [unknown] (/usr/bin/app)"));
    assert_int_not_equal(row, ID_NONE);
    assert_int_equal(row_table_count(&fixture.profile.funcs), 0);
    func_id func = perf_symbols_func(&fixture.symbols, perf_symbols_at(&fixture.symbols, row));
    assert_int_equal(row_table_count(&fixture.profile.funcs), 1);
    assert_true(func_is_same(perf_symbols_func(&fixture.symbols, perf_symbols_at(&fixture.symbols, row)), func));
}

static void test_unknown_libraries_are_told_apart(void **state) {
    const struct perf_symbol *none = symbol_of("[unknown] ([unknown])"), *perf = symbol_of("[unknown] (/usr/bin/perf)");
    assert_int_not_equal(none->func.index, perf->func.index);
    assert_true(resource_is_none(profile_func_at(&fixture.profile, none->func)->resource));
    const struct resource *resource =
        profile_resource_at(&fixture.profile, profile_func_at(&fixture.profile, perf->func)->resource);
    assert_text(strings_text(&fixture.profile.strings, resource->name), "perf", "resource");
    assert_int_equal(resource->type, RESOURCE_LIBRARY);
}

static void test_symbol_starts(void **state) {
    const struct perf_symbol *symbol = symbol_of("1190 fib+0x12 (/usr/bin/app)");
    assert_int_equal(symbol->address, 0x1190);
    assert_int_equal(symbol->start, 0x117e);
    assert_true(symbol->flags & PERF_SYMBOL_HAS_START);
    assert_text(name_of(symbol), "fib", "fib");
    assert_false(symbol_of("1190 fib (/usr/bin/app)")->flags & PERF_SYMBOL_HAS_START);
    assert_false(symbol_of("10 fib+0x12 (/usr/bin/app)")->flags &
                 PERF_SYMBOL_HAS_START); /* the symbol would start below address 0 */
    assert_false(symbol_of("[unknown] (/usr/bin/app)")->flags & PERF_SYMBOL_HAS_ADDRESS);
}

static void test_equal_lines_and_equal_funcs(void **state) {
    const char *line = "\t1190 fib+0x12 (/usr/bin/app)";
    uint32_t row = perf_symbols_of_line(&fixture.symbols, text_of(line));
    assert_int_equal(perf_symbols_of_line(&fixture.symbols, text_of(line)), row);
    size_t symbol_count = fixture.symbols.rows.count;
    assert_int_equal(perf_symbols_of_line(&fixture.symbols, text_of("  file.c:12")), ID_NONE);
    assert_int_equal(perf_symbols_of_line(&fixture.symbols, text_of("")), ID_NONE);
    assert_int_equal(fixture.symbols.rows.count, symbol_count);
    const struct perf_symbol *first = symbol_of(line), *second = symbol_of("\t11a0 fib+0x22 (/usr/bin/app)");
    assert_ptr_not_equal(first, second);
    assert_int_equal(first->func.index, second->func.index); /* the call tree merges functions that are equal */
    assert_int_not_equal(symbol_of("\t1190 fib+0x12 (/usr/bin/other)")->func.index, first->func.index);
}

static void test_scripts(void **state) {
    const struct perf_symbol *symbol = symbol_of("7f01 LazyCompile:*fn file.js:10:3 (/tmp/perf-1.map)");
    const struct func *func = profile_func_at(&fixture.profile, symbol->func);
    assert_text(name_of(symbol), "fn", "name");
    const struct perf_symbol *in_another_tier = symbol_of("7f02 LazyCompile:~fn file.js:10:3 (/tmp/perf-1.map)");
    assert_int_equal(in_another_tier->func.index, symbol->func.index);
    assert_text(strings_text(&fixture.profile.strings, profile_source_at(&fixture.profile, func->source)->filename),
                "file.js", "file");
    assert_int_equal(func->line, 10);
    assert_int_equal(func->column, 3);
    assert_int_equal(func->flags, FUNC_IS_JS);
    func = profile_func_at(&fixture.profile, symbol_of("7f01 py::fn:/file.py (/tmp/perf-1.map)")->func);
    assert_text(strings_text(&fixture.profile.strings, profile_source_at(&fixture.profile, func->source)->filename),
                "/file.py", "file");
    assert_int_equal(func->flags, 0);
    /* Compiled code with names that look like a script's. */
    static const char *const compiled[] = {
        "7f01 JS::Call (/usr/lib/libxul.so)",
        "7f01 Script:run a.js:1:2 (/usr/lib/libxul.so)",
        "7f01 py::fn:/file.py (/usr/lib/libpybind.so)",
        "ffffffff8158e375 py::fn:/file.py ([kernel.kallsyms])",
    };
    for (size_t i = 0; i < sizeof compiled / sizeof *compiled; i++) {
        func = profile_func_at(&fixture.profile, symbol_of(compiled[i])->func);
        if (!source_is_none(func->source) || func->flags) fail_msg("%s is a script", compiled[i]);
    }
}

static void test_java(void **state) {
    const struct perf_symbol *print = symbol_of("7f01 Ljava/io/PrintStream;::print (/tmp/perf-1.map)");
    assert_text(name_of(print), "Ljava/io/PrintStream;::print", "print");
    assert_int_equal(print->inlined_name, ID_NONE);
    /* h is inlined into g and g into f; f is the physical frame */
    const struct perf_symbol *f = symbol_of("7f01 A::f->B::g->C::h (/tmp/perf-1.map)");
    assert_text(name_of(f), "A::f", "f");
    assert_false(f->flags & PERF_SYMBOL_IS_INLINED);
    assert_int_not_equal(f->inlined_name, ID_NONE);
    const struct perf_symbol *g = perf_symbols_at(&fixture.symbols, f->inlined_name);
    assert_text(name_of(g), "B::g", "g");
    assert_true(g->flags & PERF_SYMBOL_IS_INLINED);
    const struct perf_symbol *h = perf_symbols_at(&fixture.symbols, g->inlined_name);
    assert_text(name_of(h), "C::h", "h");
    assert_true(h->flags & PERF_SYMBOL_IS_INLINED);
    assert_int_equal(h->inlined_name, ID_NONE);
    /* In other libraries, an arrow is part of the name. */
    const struct perf_symbol *arrow = symbol_of("7f01 Foo::operator->() (/usr/bin/app)");
    assert_text(name_of(arrow), "Foo::operator->()", "arrow");
    assert_int_equal(arrow->inlined_name, ID_NONE);
    assert_int_equal(symbol_of("7f01 A::f->B::g ([JIT] tid 5)")->inlined_name, ID_NONE);
}

static void test_more_arrows_than_frames(void **state) {
    static char line[4096] = "7f01 ";
    for (int i = 0; i < 600; i++) strcat(line, "a->");
    strcat(line, "z (/tmp/perf-1.map)");
    uint32_t row = perf_symbols_of_line(&fixture.symbols, text_of(line)), count = 0;
    for (; row != ID_NONE; row = perf_symbols_at(&fixture.symbols, row)->inlined_name) count++;
    assert_int_equal(count, INLINE_DEPTH_MAX);
}

static void test_cookies_and_inlined(void **state) {
    const struct perf_symbol *cookie = symbol_of("\tb00000006 (cookie) ([unknown])");
    assert_true(cookie->flags & PERF_SYMBOL_IS_COOKIE);
    assert_int_equal(cookie->address, 0xb00000006);
    const struct perf_symbol *inlined = symbol_of("3477 std::char_traits<char>::compare+0x1f7 (inlined)");
    assert_true(inlined->flags & PERF_SYMBOL_IS_INLINED);
    assert_text(name_of(inlined), "std::char_traits<char>::compare", "compare");
}

int main(void) {
    const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
        TEST(test_categories_by_library_first),
        TEST(test_idle),
        TEST(test_versions),
        TEST(test_unknown_names),
        TEST(test_addresses_become_functions_when_asked_for),
        TEST(test_unknown_libraries_are_told_apart),
        TEST(test_symbol_starts),
        TEST(test_equal_lines_and_equal_funcs),
        TEST(test_scripts),
        TEST(test_java),
        TEST(test_more_arrows_than_frames),
        TEST(test_cookies_and_inlined),
#undef TEST
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
