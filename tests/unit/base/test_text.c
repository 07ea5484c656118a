#include <stdlib.h>
#include <string.h>

#include "libconvert/base/text.h"
#include "tests/support/assert_text.h"
#include "tests/support/unit_test.h"

static const struct text nothing = {NULL, 0};

static void a_text_knows_its_length(void **state) {
    assert_int_equal(TEXT("").bytes_count, 0);
    assert_int_equal(TEXT("a\0b").bytes_count, 3);
    assert_int_equal(text_of("abc").bytes_count, 3);
    assert_int_equal(text_of("").bytes_count, 0);
}

static void equal_means_the_same_bytes(void **state) {
    assert_true(text_equal(TEXT("abc"), text_of("abc")));
    assert_false(text_equal(TEXT("abc"), TEXT("abd")));
    assert_false(text_equal(TEXT("abc"), TEXT("ab")));
    assert_false(text_equal(TEXT("ab"), TEXT("abc")));
    assert_true(text_equal(TEXT("a\0b"), TEXT("a\0b")));
    assert_false(text_equal(TEXT("a\0b"), TEXT("a\0c")));
    assert_true(text_equal(TEXT(""), nothing));
    assert_true(text_equal(nothing, nothing));
    assert_false(text_equal(nothing, TEXT("a")));
}

static void a_start_and_an_end(void **state) {
    static const struct {
        struct text text, part;
        bool starts, ends;
    } cases[] = {
        {TEXT("perf-12.map"), TEXT("perf-"), true, false},
        {TEXT("perf-12.map"), TEXT(".map"), false, true},
        {TEXT("aba"), TEXT("a"), true, true},
        {TEXT("aba"), TEXT("aba"), true, true},
        {TEXT("aba"), TEXT("aaba"), false, false},
        {TEXT("aba"), TEXT("b"), false, false},
        {TEXT("aba"), TEXT(""), true, true},
        {TEXT(""), TEXT(""), true, true},
        {TEXT(""), TEXT("a"), false, false},
        {{NULL, 0}, TEXT(""), true, true},
        {TEXT("a"), {NULL, 0}, true, true},
        {{NULL, 0}, {NULL, 0}, true, true},
        {{NULL, 0}, TEXT("a"), false, false},
        {TEXT("a\0b"), TEXT("a\0"), true, false},
        {TEXT("a\0b"), TEXT("\0b"), false, true},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_int_equal(text_starts_with(cases[i].text, cases[i].part), cases[i].starts);
        assert_int_equal(text_ends_with(cases[i].text, cases[i].part), cases[i].ends);
    }
}

static void a_slice_is_clipped(void **state) {
    static const struct text text = TEXT("abcdef");
    assert_text(text_slice(text, 0, 6), "abcdef");
    assert_text(text_slice(text, 2, 4), "cd");
    assert_ptr_equal(text_slice(text, 2, 4).bytes, text.bytes + 2);
    assert_text(text_slice(text, 3, 3), "");
    assert_text(text_slice(text, 4, SIZE_MAX), "ef");
    assert_text(text_slice(text, 6, 6), "");
    assert_text(text_slice(text, 7, SIZE_MAX), "");
    assert_text(text_slice(text, SIZE_MAX, SIZE_MAX), "");
    assert_text(text_slice(text, 4, 2), "");
    assert_ptr_equal(text_slice(text, 4, 2).bytes, text.bytes + 2);
    assert_text(text_from(text, 0), "abcdef");
    assert_text(text_from(text, 5), "f");
    assert_text(text_from(text, 6), "");
    assert_text(text_from(text, 60), "");
}

static void a_byte_is_found_from_both_ends(void **state) {
    static const struct text text = TEXT("a;b;c\0d");
    assert_int_equal(text_find(text, ';'), 1);
    assert_int_equal(text_find_last(text, ';'), 3);
    assert_int_equal(text_find(text, 'a'), 0);
    assert_int_equal(text_find_last(text, 'a'), 0);
    assert_int_equal(text_find(text, 'd'), 6);
    assert_int_equal(text_find(text, '\0'), 5);
    assert_int_equal(text_find(text, 'x'), 7);
    assert_int_equal(text_find_last(text, 'x'), 7);
    assert_int_equal(text_find(text_slice(text, 0, 3), 'c'), 3);
    assert_int_equal(text_find(TEXT("\x80\xff"), '\xff'), 1);
    assert_int_equal(text_find_last(TEXT("\xff\x80"), '\xff'), 0);
}

static void blanks_are_spaces_and_tabs(void **state) {
    for (int byte = -128; byte < 128; byte++)
        assert_int_equal(text_is_blank_byte((char)byte), byte == ' ' || byte == '\t');
}

static void trimming_takes_blanks_off_the_ends(void **state) {
    assert_text(text_trim(TEXT(" \t a b\t ")), "a b");
    assert_text(text_trim_start(TEXT(" \t a b\t ")), "a b\t ");
    assert_text(text_trim_end(TEXT(" \t a b\t ")), " \t a b");
    assert_text(text_trim(TEXT("ab")), "ab");
    assert_text(text_trim(TEXT("\r\nab\n")), "\r\nab\n");
    assert_text(text_trim(TEXT(" \t ")), "");
    assert_text(text_trim_start(TEXT("  ")), "");
    assert_text(text_trim_end(TEXT("  ")), "");
    assert_text(text_trim(TEXT("")), "");
}

static void a_base_name_is_behind_the_last_slash(void **state) {
    assert_text(text_base_name(TEXT("/usr/lib/libc.so.6")), "libc.so.6");
    assert_text(text_base_name(TEXT("libc.so.6")), "libc.so.6");
    assert_text(text_base_name(TEXT("/vmlinux")), "vmlinux");
    assert_text(text_base_name(TEXT("//anon")), "anon");
    assert_text(text_base_name(TEXT("[vdso]")), "[vdso]");
    assert_text(text_base_name(TEXT("folder/")), "");
    assert_text(text_base_name(TEXT("/")), "");
    assert_text(text_base_name(TEXT("")), "");
}

static void nothing_has_no_bytes_to_look_at(void **state) {
    assert_text(text_slice(nothing, 0, 0), "");
    assert_text(text_slice(nothing, 3, 5), "");
    assert_text(text_from(nothing, 0), "");
    assert_int_equal(text_find(nothing, 'a'), 0);
    assert_int_equal(text_find_last(nothing, 'a'), 0);
    assert_text(text_trim(nothing), "");
    assert_text(text_base_name(nothing), "");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(a_text_knows_its_length),
        cmocka_unit_test(equal_means_the_same_bytes),
        cmocka_unit_test(a_start_and_an_end),
        cmocka_unit_test(a_slice_is_clipped),
        cmocka_unit_test(a_byte_is_found_from_both_ends),
        cmocka_unit_test(blanks_are_spaces_and_tabs),
        cmocka_unit_test(trimming_takes_blanks_off_the_ends),
        cmocka_unit_test(a_base_name_is_behind_the_last_slash),
        cmocka_unit_test(nothing_has_no_bytes_to_look_at),
    };
    return cmocka_run_group_tests_name("text", tests, NULL, NULL);
}
