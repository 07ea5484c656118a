/* Tests parsing of texts from their start. */

#include "libconvert/base/cursor.h"
#include "tests/support/unit_test.h"

static void assert_left(struct text left, const char *expected) { assert_true(text_equal(left, text_of(expected))); }

TEST(literals_are_taken_whole_or_not) {
    struct text text = TEXT("0x12");
    assert_false(cursor_take(&text, TEXT("0y")));
    assert_left(text, "0x12");
    assert_true(cursor_take(&text, TEXT("0x")));
    assert_left(text, "12");
    assert_false(cursor_take(&text, TEXT("123")));
    assert_left(text, "12");
}

TEST(tokens_stand_between_blanks) {
    struct text text = TEXT(" \tone  two\t");
    assert_true(text_equal(cursor_take_token(&text), TEXT("one")));
    assert_left(text, "  two\t");
    assert_true(text_equal(cursor_take_token(&text), TEXT("two")));
    assert_int_equal(cursor_take_token(&text).bytes_count, 0);
    assert_left(text, "");
}

TEST(numbers_end_where_their_digits_end) {
    static const struct {
        struct text text;
        unsigned base;
        bool fits;
        uint64_t value;
        const char *left;
    } cases[] = {
        {TEXT("0"), 10, true, 0, ""},
        {TEXT("12a"), 10, true, 12, "a"},
        {TEXT("12ag"), 16, true, 0x12a, "g"},
        {TEXT("fF"), 16, true, 255, ""},
        {TEXT("18446744073709551615"), 10, true, UINT64_MAX, ""},
        {TEXT("18446744073709551616"), 10, false, 0, "18446744073709551616"},
        {TEXT("ffffffffffffffff "), 16, true, UINT64_MAX, " "},
        {TEXT("10000000000000000"), 16, false, 0, "10000000000000000"},
        {TEXT(""), 10, false, 0, ""},
        {TEXT("-1"), 10, false, 0, "-1"},
        {TEXT("a"), 10, false, 0, "a"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct text text = cases[i].text;
        uint64_t value = 0;
        assert_int_equal(cursor_take_number(&text, cases[i].base, &value), cases[i].fits);
        assert_int_equal(value, cases[i].value);
        assert_left(text, cases[i].left);
        bool is_all = cases[i].fits && !*cases[i].left;
        assert_int_equal(cursor_parse_number(cases[i].text, cases[i].base, &value), is_all);
    }
}

TEST(ids_fit_32_bits) {
    static const struct {
        struct text text;
        bool fits;
        int64_t value;
        const char *left;
    } cases[] = {
        {TEXT("2147483647/"), true, INT32_MAX, "/"},
        {TEXT("2147483648"), false, 0, "2147483648"},
        {TEXT("-1:"), true, -1, ":"},
        {TEXT("-"), false, 0, "-"},
        {TEXT("--1"), false, 0, "--1"},
        {TEXT("+1"), false, 0, "+1"},
        {TEXT(" 1"), false, 0, " 1"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct text text = cases[i].text;
        int64_t value = 0;
        assert_int_equal(cursor_take_id(&text, &value), cases[i].fits);
        assert_int_equal(value, cases[i].value);
        assert_left(text, cases[i].left);
    }
    int64_t value;
    assert_true(cursor_parse_id(TEXT("42"), &value));
    assert_false(cursor_parse_id(TEXT("42 "), &value));
}

int main(void) { return unit_tests_run(NULL, NULL); }
