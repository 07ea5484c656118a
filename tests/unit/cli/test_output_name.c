/* The names of outputs. */
#include <stdlib.h>

#include "cli/batch/member_path.h"
#include "cli/output_name.h"
#include "tests/support/unit_test.h"

TEST(test_stems) {
    static const struct {
        const char *path, *stem, *folder;
    } cases[] = {
        {"app.txt", "app", "app.txt"},
        {"a/b.c/app.perf.txt.zst", "a/b.c/app.perf", "a/b.c/app.perf.txt"},
        {"app.txt.tar.gz", "app", "app.txt"},
        {"app.gz.gz", "app", "app"},
        {"app.txt.txt", "app.txt", "app.txt.txt"},
        {"a.txt/.gz", "a.txt/.gz", "a.txt/.gz"},
        {".txt", ".txt", ".txt"},
        {".txt.gz", ".txt", ".txt"},
        {"app", "app", "app"},
        {"app.json", "app.json", "app.json"},
        {"run.tgz", "run", "run"},
        {"a/run.7z", "a/run", "a/run"},
        {"", "", ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_true(text_equal(output_name_stem(text_of(cases[i].path)), text_of(cases[i].stem)));
        assert_true(text_equal(output_name_folder(text_of(cases[i].path)), text_of(cases[i].folder)));
    }
}

TEST(test_outputs) {
    char *name = output_name_of(TEXT("a/app.txt.zst"), NULL, false);
    assert_string_equal(name, "a/app.profile.json");
    free(name);
    name = output_name_of(TEXT("app"), "gecko", true);
    assert_string_equal(name, "app.profile.json.gz");
    free(name);
}

TEST(test_members) {
    static const struct {
        const char *given, *path, *reason;
        enum input_member_kind kind;
    } cases[] = {
        {"a/b.txt", "a/b.txt", NULL, INPUT_MEMBER_FILE},
        {"./a//./b.txt", "a/b.txt", NULL, INPUT_MEMBER_FILE},
        {"..a/b..", "..a/b..", NULL, INPUT_MEMBER_FILE},
        {"...", "...", NULL, INPUT_MEMBER_FILE},
        {"/a", "/a", "its name is absolute", INPUT_MEMBER_FILE},
        {"../a", "../a", "its name leads out of the archive", INPUT_MEMBER_FILE},
        {"a/..", "a/..", "its name leads out of the archive", INPUT_MEMBER_FILE},
        {"a/../b", "a/../b", "its name leads out of the archive", INPUT_MEMBER_FILE},
        {"", "?", "its name cannot be read (it may need the locale C.UTF-8)", INPUT_MEMBER_FILE},
        {"./.", "./.", "it has no name", INPUT_MEMBER_FILE},
        {"./a", "./a", "it is a link", INPUT_MEMBER_LINK},
        {"a", "a", "it is not a regular file", INPUT_MEMBER_SPECIAL},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct input_member member = {.kind = cases[i].kind, .path = text_of(cases[i].given)};
        const char *reason = "none";
        char *path = member_path(&member, &reason);
        assert_string_equal(path, cases[i].path);
        if (cases[i].reason)
            assert_string_equal(reason, cases[i].reason);
        else
            assert_null(reason);
        free(path);
    }
}

int main(void) { return unit_tests_run(NULL, NULL); }
