#include <stdlib.h>
#include <string.h>

#include "libconvert/base/path.h"
#include "tests/support/unit_test.h"

TEST(one_file_has_one_path) {
    static const struct {
        const char *path, *normal;
    } cases[] = {
        {"./csu/../csu/libc-start.c", "csu/libc-start.c"},
        {"/build/glibc/csu/../sysdeps/x.c", "/build/glibc/sysdeps/x.c"},
        {"/a//b/./c.c", "/a/b/c.c"},
        {"/../a.c", "/a.c"},
        {"../../a.c", "../../a.c"},
        {"a/../../b.c", "../b.c"},
        {"./a.c", "a.c"},
        {"/a/b/..", "/a"},
        {"/..", "/"},
        {"./", "./"},
        {"a/..", "a/.."},
        {"", ""},
        {"a.c", "a.c"},
        {".hidden/..a/b..c", ".hidden/..a/b..c"},
        {"/a/.b/c", "/a/.b/c"},
        {"https://host//a/../b.js", "https://host//a/../b.js"},
        {"file:///a/./b.js", "file:///a/./b.js"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char bytes[PATH_MAX];
        assert_true(text_equal(path_normalize(text_of(cases[i].path), bytes), text_of(cases[i].normal)));
    }
}

TEST(long_paths_stay) {
    char path[PATH_MAX], bytes[PATH_MAX];
    memset(path, 'a', sizeof path);
    memcpy(path, "/./", 3);
    assert_int_equal(path_normalize((struct text){path, PATH_MAX}, bytes).bytes_count, PATH_MAX);
    assert_int_equal(path_normalize((struct text){path, PATH_MAX - 1}, bytes).bytes_count, PATH_MAX - 3);
}

TEST(a_path_that_leads_up_is_recognised) {
    static const char *const up[] = {"..", "../a", "a/..", "/a/../b"}, *const down[] = {"", "a", "..a/b", "a../..b",
                                                                                        "/"};
    for (size_t i = 0; i < sizeof up / sizeof *up; i++) assert_true(path_leads_up(text_of(up[i])));
    for (size_t i = 0; i < sizeof down / sizeof *down; i++) assert_false(path_leads_up(text_of(down[i])));
}

int main(void) { return unit_tests_run(NULL, NULL); }
