#include <stdlib.h>

#include "readers/trace/trace_cursor.h"
#include "tests/support/assert_text.h"
#include "tests/support/unit_test.h"

#define CURSOR(literal) trace_cursor_of(TEXT(literal))

static void assert_leb(struct text bytes, uint64_t expected) {
    struct trace_cursor cursor = trace_cursor_of(bytes);
    assert_int_equal(trace_cursor_leb(&cursor), expected);
    assert_false(cursor.is_bad);
    assert_int_equal(trace_cursor_left(&cursor), 0);
}

static void assert_bad_leb(struct text bytes) {
    struct trace_cursor cursor = trace_cursor_of(bytes);
    assert_int_equal(trace_cursor_leb(&cursor), 0);
    assert_true(cursor.is_bad);
    assert_int_equal(trace_cursor_left(&cursor), 0);
}

TEST(test_leb) {
    assert_leb(TEXT("\0"), 0);
    assert_leb(TEXT("\x7f"), 127);
    assert_leb(TEXT("\x80\x01"), 128);
    assert_leb(TEXT("\xe5\x8e\x26"), 624485);
    assert_leb(TEXT("\x80\x80\x00"), 0);
    assert_leb(TEXT("\xff\xff\xff\xff\xff\xff\xff\xff\x7f"), INT64_MAX);
    assert_leb(TEXT("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01"), UINT64_MAX);
    assert_leb(TEXT("\x80\x80\x80\x80\x80\x80\x80\x80\x80\x00"), 0);
}

TEST(test_leb_that_is_none) {
    assert_bad_leb(TEXT(""));
    assert_bad_leb(TEXT("\x80"));
    assert_bad_leb(TEXT("\xff\xff"));
    assert_bad_leb(TEXT("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x02"));
    assert_bad_leb(TEXT("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x81\x00"));
    assert_bad_leb((struct text){0});
}

TEST(test_zigzag) {
    struct trace_cursor cursor = CURSOR("\x00\x01\x02\x03\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
    assert_int_equal(trace_cursor_zigzag(&cursor), 0);
    assert_int_equal(trace_cursor_zigzag(&cursor), -1);
    assert_int_equal(trace_cursor_zigzag(&cursor), 1);
    assert_int_equal(trace_cursor_zigzag(&cursor), -2);
    assert_int_equal(trace_cursor_zigzag(&cursor), INT64_MIN);
    assert_false(cursor.is_bad);
}

TEST(test_bounded) {
    struct trace_cursor cursor = CURSOR("\x05\x06\x01");
    assert_int_equal(trace_cursor_bounded(&cursor, 5), 5);
    assert_int_equal(trace_cursor_bounded(&cursor, 5), 0);
    assert_true(cursor.is_bad);
    /* A bad cursor stays bad. */
    assert_int_equal(trace_cursor_bounded(&cursor, 5), 0);
    assert_int_equal(trace_cursor_byte(&cursor), 0);
}

TEST(test_texts) {
    struct trace_cursor cursor = CURSOR(
        "\x03"
        "abc"
        "\x00"
        "\x02"
        "d");
    assert_text(trace_cursor_text(&cursor), "abc");
    assert_text(trace_cursor_text(&cursor), "");
    assert_false(cursor.is_bad);
    assert_text(trace_cursor_text(&cursor), "");
    assert_true(cursor.is_bad);
    cursor = CURSOR("\xff\xff\xff\xff\xff\xff\xff\xff\xff\x01");
    assert_text(trace_cursor_text(&cursor), "");
    assert_true(cursor.is_bad);
}

TEST(test_bytes_and_reals) {
    struct trace_cursor cursor = CURSOR("\x07\x00\x00\x00\x00\x00\x00\xf8\x3f\x00");
    assert_int_equal(trace_cursor_byte(&cursor), 7);
    assert_true(trace_cursor_real(&cursor) == 1.5);
    assert_false(cursor.is_bad);
    assert_true(trace_cursor_real(&cursor) == 0);
    assert_true(cursor.is_bad);
}

int main(void) { return unit_tests_run(NULL, NULL); }
