/* Tests the checker that the fuzz targets rely on: it must reject what is wrong. */

#include "tests/support/json_check.h"
#include "tests/support/unit_test.h"

TEST(json_is_accepted) {
    static const struct text documents[] = {
        TEXT("0"),
        TEXT("-0"),
        TEXT("12.50e+3"),
        TEXT("1E-2"),
        TEXT("\"\""),
        TEXT(" [ ] "),
        TEXT("{}"),
        TEXT("[true,false,null]"),
        TEXT("\"\\u00e9\""),
        TEXT("\"\xc3\xa9\""),
        TEXT("\"\\ud83d\\uDE00\""),
        TEXT("\"\xf0\x9f\x98\x80\x7f\""),
        TEXT("\"\xed\x9f\xbf\xee\x80\x80\xf4\x8f\xbf\xbf\""),
        TEXT("{\"a\":[1,{\"b\":\"\\n\\/\"}],\"c\":2}\n"),
    };
    for (size_t i = 0; i < sizeof documents / sizeof *documents; i++) {
        size_t bad_at;
        if (!json_is_well_formed(documents[i], &bad_at)) fail_msg("refused at %zu: %s", bad_at, documents[i].bytes);
        assert_int_equal(bad_at, documents[i].bytes_count);
    }
}

TEST(what_is_no_json_is_refused) {
    static const struct {
        struct text document;
        size_t bad_at;
    } rows[] = {
        {TEXT(""), 0},
        {TEXT("01"), 1},
        {TEXT("+1"), 0},
        {TEXT("1."), 2},
        {TEXT(".5"), 0},
        {TEXT("1e"), 2},
        {TEXT("-"), 1},
        {TEXT("NaN"), 0},
        {TEXT("nul"), 3},
        {TEXT("1 2"), 2},
        {TEXT("[1,]"), 3},
        {TEXT("[1 2]"), 3},
        {TEXT("[1"), 2},
        {TEXT("{\"a\"}"), 4},
        {TEXT("{a:1}"), 1},
        {TEXT("{\"a\":1,}"), 7},
        {TEXT("[}"), 1},
        {TEXT("\"a"), 2},
        {TEXT("\"\t\""), 1},
        {TEXT("\"\0\""), 1},
        {TEXT("\"\\x\""), 3},
        {TEXT("\"\\\0\""), 3},
        {TEXT("\"\\u12g4\""), 6},
        {TEXT("\"\\u123"), 6},
        {TEXT("\"\\ud800\""), 7},
        {TEXT("\"\\ud800\\u0041\""), 13},
        {TEXT("\"\\udc00\""), 7},
        {TEXT("\"\x80\""), 1},
        {TEXT("\"\xc1\x81\""), 1},
        {TEXT("\"\xc3\""), 2},
        {TEXT("\"\xe0\x80\x80\""), 2},
        {TEXT("\"\xed\xa0\x80\""), 2},
        {TEXT("\"\xf4\x90\x80\x80\""), 2},
        {TEXT("\"\xf5\x80\x80\x80\""), 1},
        {TEXT("\xef\xbb\xbf{}"), 0},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        size_t bad_at;
        if (json_is_well_formed(rows[i].document, &bad_at)) fail_msg("accepted: %s", rows[i].document.bytes);
        if (bad_at != rows[i].bad_at) fail_msg("refused at %zu: %s", bad_at, rows[i].document.bytes);
    }
}

TEST(depth_has_a_bound) {
    char nested[2 * (JSON_CHECK_DEPTH_MAX + 1)];
    size_t bad_at, half = JSON_CHECK_DEPTH_MAX;
    memset(nested, '[', half);
    memset(nested + half, ']', half);
    assert_true(json_is_well_formed((struct text){nested, 2 * half}, &bad_at));
    half++;
    memset(nested, '[', half);
    memset(nested + half, ']', half);
    assert_false(json_is_well_formed((struct text){nested, 2 * half}, &bad_at));
}

int main(void) { return unit_tests_run(NULL, NULL); }
