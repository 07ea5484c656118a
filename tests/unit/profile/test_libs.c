#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libconvert/profile/libs.h"
#include "tests/support/assert_text.h"
#include "tests/support/unit_test.h"

#define BUILD_ID    "9d15e5eb3f7c6d2f8b3e1a2b3c4d5e6f70819203"
#define BREAKPAD_ID "EBE5159D7C3F2F6D8B3E1A2B3C4D5E6F0"

static struct failure failure;
static struct libs libs;

static int begin(void **state) {
    failure_clear(&failure);
    libs_init(&libs, &failure);
    return 0;
}

static int end(void **state) {
    libs_fini(&libs);
    return 0;
}

static const struct lib *intern(struct text path, struct text build_id) {
    lib_id id = libs_intern(&libs, path, build_id);
    assert_false(lib_is_none(id));
    return libs_at(&libs, id);
}

static const struct text no_id = {NULL, 0};

TEST(breakpad_ids_are_made_from_build_ids, begin, end) {
    static const struct {
        struct text build_id, breakpad_id, code_id;
    } cases[] = {
        {TEXT("00112233445566778899aabbccddeeff"), TEXT("33221100554477668899AABBCCDDEEFF0"),
         TEXT("00112233445566778899aabbccddeeff")},
        {TEXT(BUILD_ID), TEXT(BREAKPAD_ID), TEXT(BUILD_ID)},
        {TEXT("9D15E5EB3F7C6D2F8b3e1a2b3c4d5e6f70819203"), TEXT(BREAKPAD_ID), TEXT(BUILD_ID)},
        /* Only the first 16 bytes count. Shorter build ids are padded with zeros. */
        {TEXT("00112233445566778899aabbccddeeff01"), TEXT("33221100554477668899AABBCCDDEEFF0"),
         TEXT("00112233445566778899aabbccddeeff01")},
        {TEXT("0123456789abcdef"), TEXT("67452301AB89EFCD00000000000000000"), TEXT("0123456789abcdef")},
        {TEXT("ab"), TEXT("000000AB0000000000000000000000000"), TEXT("ab")},
        {TEXT("00"), TEXT("000000000000000000000000000000000"), TEXT("00")},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const struct lib *lib = intern(TEXT("/usr/lib/a.so"), cases[i].build_id);
        assert_int_equal(lib->breakpad_id.bytes_count, 33);
        if (!text_equal(lib->breakpad_id, cases[i].breakpad_id)) fail_msg("%.33s", lib->breakpad_id.bytes);
        assert_true(text_equal(lib->code_id, cases[i].code_id));
    }
    /* Upper and lower case are the same id. */
    assert_int_equal(libs_count(&libs), sizeof cases / sizeof *cases - 1);
}

TEST(the_longest_build_id_has_64_bytes, begin, end) {
    char hex[130];
    memset(hex, 'f', sizeof hex);
    const struct lib *lib = intern(TEXT("a.so"), (struct text){hex, 128});
    assert_int_equal(lib->code_id.bytes_count, 128);
    assert_memory_equal(lib->code_id.bytes, hex, 128);
    assert_text(lib->breakpad_id, "FFFFFFFFFFFFFFFFFFFFFFFFFFFFFFFF0");
    lib = intern(TEXT("b.so"), (struct text){hex, 130});
    assert_text(lib->code_id, "");
    assert_text(lib->breakpad_id, "");
}

TEST(what_is_no_build_id_is_ignored, begin, end) {
    static const struct text cases[] = {
        TEXT("a"),
        TEXT("abc"),
        TEXT("0g"),
        TEXT("g0"),
        TEXT("0x12"),
        TEXT(" 12 "),
        TEXT("1-"),
        TEXT("/0"),
        TEXT("0:"),
        TEXT("@0"),
        TEXT("`0"),
        TEXT("G0"),
        TEXT("0\0"),
        TEXT("\xff\xff"),
        TEXT("9d15e5eb3f7c6d2f8b3e1a2b3c4d5e6f7081920"),
        TEXT("9d15e5eb3f7c6d2f8b3e1a2b3c4d5e6f7081920x"),
    };
    const struct lib *plain = intern(TEXT("/a.so"), no_id);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) assert_ptr_equal(intern(TEXT("/a.so"), cases[i]), plain);
    assert_ptr_equal(intern(TEXT("/a.so"), text_slice(TEXT("abcd"), 0, 3)), plain);
    assert_int_equal(libs_count(&libs), 1);
}

TEST(namesakes_have_debug_names_of_their_own, begin, end) {
    assert_text(intern(TEXT("/1/a.so"), no_id)->debug_name, "a.so");
    assert_text(intern(TEXT("/2/a.so"), no_id)->debug_name, "a.so (2)");
    assert_text(intern(TEXT("/3/a.so"), no_id)->debug_name, "a.so (3)");
    assert_text(intern(TEXT("/2/a.so"), no_id)->debug_name, "a.so (2)");
    assert_text(intern(TEXT("/4/a.so"), TEXT("01"))->debug_name, "a.so");
    assert_text(intern(TEXT("/5/a.so"), TEXT("01"))->debug_name, "a.so (2)");
    assert_text(intern(TEXT("/3/a.so"), no_id)->name, "a.so");
    assert_int_equal(libs_count(&libs), 5);
}

TEST(a_numbered_name_may_be_taken_already, begin, end) {
    assert_text(intern(TEXT("/1/a.so (2)"), no_id)->debug_name, "a.so (2)");
    assert_text(intern(TEXT("/1/a.so"), no_id)->debug_name, "a.so");
    assert_text(intern(TEXT("/2/a.so"), no_id)->debug_name, "a.so (3)");
    assert_text(intern(TEXT("/2/a.so (2)"), no_id)->debug_name, "a.so (2) (2)");
    assert_text(intern(TEXT("/1/a.so (4)"), no_id)->debug_name, "a.so (4)");
    assert_text(intern(TEXT("/3/a.so"), no_id)->debug_name, "a.so (5)");
}

TEST(odd_paths_are_paths, begin, end) {
    assert_text(intern(TEXT("app"), no_id)->name, "app");
    assert_text(intern(TEXT("[vdso]"), no_id)->name, "[vdso]");
    assert_text(intern(TEXT("//anon"), no_id)->name, "anon");
    assert_text(intern(TEXT("/folder/"), no_id)->name, "");
    assert_text(intern(TEXT(""), no_id)->debug_name, " (2)");
    const struct lib *lib = intern(TEXT("/1/a\0b"), no_id);
    assert_text(lib->name, "a\0b");
    assert_text(intern(TEXT("/2/a\0b"), no_id)->debug_name, "a\0b (2)");
    assert_text(intern(TEXT("/x/lib\xff.so"), no_id)->path, "/x/lib\\xff.so");
    assert_text(intern(TEXT("/x/lib\\xff.so"), no_id)->debug_name, "lib\\xff.so");
    assert_int_equal(libs_count(&libs), 8);
}

/* A trace may have a name that is longer than a formatted string can be. */
TEST(long_names_are_told_apart, begin, end) {
    enum { NAME_BYTES = 6000, COUNT = 5 };
    char path[NAME_BYTES + 3] = "/1/";
    memset(path + 3, 'n', NAME_BYTES);
    for (unsigned i = 0; i < COUNT; i++) {
        path[1] = (char)('1' + i);
        const struct lib *lib = intern((struct text){path, sizeof path}, no_id);
        assert_int_equal(lib->name.bytes_count, NAME_BYTES);
        assert_memory_equal(lib->debug_name.bytes, path + 3, NAME_BYTES);
        char suffix[8];
        snprintf(suffix, sizeof suffix, " (%u)", i + 1);
        assert_true(text_equal(text_from(lib->debug_name, NAME_BYTES), i ? text_of(suffix) : TEXT("")));
    }
    assert_int_equal(libs_count(&libs), COUNT);
}

TEST(namesakes_may_be_many, begin, end) {
    enum { COUNT = 20000 };
    char path[32], debug_name[32];
    for (unsigned i = 1; i <= COUNT; i++) {
        snprintf(path, sizeof path, "/%u/a.so", i);
        snprintf(debug_name, sizeof debug_name, i > 1 ? "a.so (%u)" : "a.so", i);
        assert_true(text_equal(intern(text_of(path), no_id)->debug_name, text_of(debug_name)));
    }
    /* If each library tried all numbers from 2 on, this would take 200 million attempts. */
    assert_int_equal(value_table_count(&libs.next_copies), COUNT);
}

int main(void) { return unit_tests_run(NULL, NULL); }
