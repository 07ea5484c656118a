/* The names by which functions of different builds are matched. */
#include <stdio.h>

#include "libconvert/compare/matched_name.h"
#include "tests/support/profile_fixture.h"

static struct strings names;

static int begin(void **state) {
    begin_profile(state);
    strings_init(&names, &failure);
    return 0;
}

static int end(void **state) {
    strings_fini(&names);
    return end_profile(state);
}

/* "name|library|file" of the function by which it is matched. */
static void assert_matched(const char *name, const char *library, const char *file, unsigned ignored,
                           const char *expected) {
    char shown[512];
    struct func func = {.name = profile_string(&profile, text_of(name)),
                        .resource = resource_none(),
                        .source = *file ? profile_source(&profile, text_of(file)) : source_none()};
    if (*library)
        func.resource = profile_resource(&profile, profile_string(&profile, text_of(library)), RESOURCE_LIBRARY);
    struct matched_name matched = matched_name_of(&profile, profile_func(&profile, &func), false, ignored, &names);
    snprintf(shown, sizeof shown, "%.*s|%.*s|%.*s", (int)matched.name.bytes_count, matched.name.bytes,
             (int)matched.library.bytes_count, matched.library.bytes, (int)matched.file.bytes_count,
             matched.file.bytes);
    assert_string_equal(shown, expected);
}

static void assert_name(const char *name, unsigned ignored, const char *expected) {
    char whole[512];
    snprintf(whole, sizeof whole, "%s||", expected);
    assert_matched(name, "", "", ignored, whole);
}

TEST(test_nothing_ignored, begin, end) {
    assert_matched("sort<int>.part.0", "libz.so.1.3", "/build/a/sort.cc", 0,
                   "sort<int>.part.0|libz.so.1.3|/build/a/sort.cc");
}

TEST(test_templates, begin, end) {
    static const char *const cases[][2] = {
        {"std::vector<int, std::allocator<int>>::push_back", "std::vector::push_back"},
        {"f<(E)1>(int)", "f(int)"},
        {"operator<<", "operator<<"},
        {"operator<< <char>(int)", "operator<<(int)"},
        {"operator< <int>", "operator<"},
        {"operator-><int>", "operator->"},
        {"operator==<int>", "operator=="},
        {"operator()<int>", "operator()"},
        {"a<b::operator<<>::c", "a::c"},
        {"a<operator> >::c", "a::c"},
        {"alloc::vec::Vec<T>::push", "alloc::vec::Vec::push"},
        {"core::mem::drop::<u8>", "core::mem::drop"},
        {"<T as Trait>::run", "<T as Trait>::run"},
        {"<alloc::Vec<u8> as Trait<i8>>::run", "<alloc::Vec as Trait>::run"},
        {"f<fn(i8) -> u8>", "f"},
        {"{lambda(auto:1)#1}<int>", "{lambda(auto:1)#1}"},
        {"unbalanced<int", "unbalanced<int"},
        {"less>", "less>"},
        {"<", "<"},
        {"operator", "operator"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) assert_name(cases[i][0], IGNORE_TEMPLATES, cases[i][1]);
}

TEST(test_clones, begin, end) {
    static const char *const cases[][2] = {
        {"f.part.0", "f"},      {"f.constprop.12.isra.0", "f"},
        {"f.cold", "f"},        {"f.cold.3", "f"},
        {"f.llvm.123456", "f"}, {"f(int) [clone .part.0] [clone .cold]", "f(int)"},
        {"f.lto_priv.0", "f"},  {"f.part.x", "f.part.x"},
        {".part.0", ".part.0"}, {"runtime.gopark", "runtime.gopark"},
        {"f.1", "f.1"},         {"a[1]", "a[1]"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) assert_name(cases[i][0], IGNORE_CLONES, cases[i][1]);
}

TEST(test_versions, begin, end) {
    static const char *const libraries[][2] = {
        {"libz.so.1.3.1", "f|libz.so|"},
        {"libc-2.31.so", "f|libc.so|"},
        {"libfoo-bar.so", "f|libfoo-bar.so|"},
        {"lib1.so", "f|lib1.so|"},
        {"app-1.2", "f|app-1.2|"},
        {"1.2.so", "f|1.2.so|"},
        {".so", "f|.so|"},
    };
    for (size_t i = 0; i < sizeof libraries / sizeof *libraries; i++)
        assert_matched("f@@V_1.2", libraries[i][0], "", IGNORE_VERSIONS, libraries[i][1]);
}

TEST(test_paths, begin, end) {
    assert_matched("f", "", "/build/a/f.c", IGNORE_PATHS, "f||f.c");
    assert_matched("f", "", "f.c", IGNORE_PATHS, "f||f.c");
}

TEST(test_lists, begin, end) {
    assert_int_equal(ignored_parts_parse(NULL, &failure), 0);
    assert_int_equal(ignored_parts_parse("clones,paths", &failure), IGNORE_CLONES | IGNORE_PATHS);
    assert_int_equal(ignored_parts_parse("all", &failure), IGNORE_ALL);
    assert_false(failure_is_set(&failure));
    assert_int_equal(ignored_parts_parse("clones,", &failure), 0);
    assert_int_equal(failure.code, FAILURE_USAGE);
}

int main(void) { return unit_tests_run(NULL, NULL); }
