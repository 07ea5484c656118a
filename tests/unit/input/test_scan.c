/* Tests lines, whatever windows they come in. */
#include <stdio.h>
#include <stdlib.h>

#include "readers/input/scan.h"
#include "tests/support/unit_test.h"

struct line {
    struct text text;
    uint64_t offset;
};

static void assert_lines(struct text bytes, size_t window_bytes, const struct line *lines, size_t line_count) {
    struct failure failure = {0};
    struct input *input = input_from_memory(bytes, window_bytes, &failure);
    assert_non_null(input);
    struct scan scan;
    scan_init(&scan, input);
    struct text line;
    for (size_t i = 0; i < line_count; i++) {
        assert_true(scan_line(&scan, &line));
        if (!text_equal(line, lines[i].text))
            fail_msg("windows of %zu, line %zu: \"%.*s\"", window_bytes, i + 1, (int)line.bytes_count, line.bytes);
        assert_int_equal(scan.position.line, i + 1);
        assert_int_equal(scan.position.offset, lines[i].offset);
    }
    assert_false(scan_line(&scan, &line));
    assert_false(scan_line(&scan, &line));
    assert_int_equal(scan.next_offset, bytes.bytes_count);
    assert_int_equal(scan.cut_line_count, 0);
    assert_false(failure_is_set(&failure));
    input_close(input);
}

static void assert_lines_in_all_windows(struct text bytes, const struct line *lines, size_t line_count) {
    for (size_t window_bytes = 0; window_bytes <= 64; window_bytes++)
        assert_lines(bytes, window_bytes, lines, line_count);
}

TEST(test_no_line) { assert_lines_in_all_windows(TEXT(""), NULL, 0); }

TEST(test_lines_of_every_length) {
    static char bytes[5000];
    static struct line lines[80];
    size_t used_bytes = 0;
    for (size_t i = 0; i < 80; i++) {
        lines[i] = (struct line){{bytes + used_bytes, i}, used_bytes};
        memset(bytes + used_bytes, 'a' + (int)(i % 26), i);
        used_bytes += i;
        bytes[used_bytes++] = '\n';
    }
    assert_lines_in_all_windows((struct text){bytes, used_bytes}, lines, 80);
    /* The last line may lack its end. */
    assert_lines_in_all_windows((struct text){bytes, used_bytes - 1}, lines, 80);
}

TEST(test_ends_of_lines) {
    static const struct line lines[] = {
        {TEXT("crlf"), 0}, {TEXT(""), 6}, {TEXT("lf"), 8}, {TEXT(""), 11}, {TEXT("in\rside\r"), 12}, {TEXT("last"), 22},
    };
    assert_lines_in_all_windows(TEXT("crlf\r\n\r\nlf\n\nin\rside\r\r\nlast\r"), lines, 6);
}

TEST(test_a_byte_order_mark) {
    static const struct line lines[] = {{TEXT("first"), 0},
                                        {TEXT("\xef\xbb\xbf"
                                              "second"),
                                         9}};
    assert_lines_in_all_windows(TEXT("\xef\xbb\xbf"
                                     "first\n\xef\xbb\xbf"
                                     "second"),
                                lines, 2);
}

TEST(test_bytes_of_every_value) {
    static char bytes[257];
    for (int i = 0; i < 256; i++) bytes[i] = (char)i;
    bytes[256] = '\n';
    const struct line lines[] = {{{bytes, 10}, 0}, {{bytes + 11, 245}, 11}};
    assert_lines_in_all_windows((struct text){bytes, 257}, lines, 2);
}

TEST(test_goes_on_where_the_input_is) {
    struct failure failure = {0};
    struct input *input = input_from_memory(TEXT("head\nfirst\nsecond"), 3, &failure);
    input_peek(input, 5);
    input_consume(input, 5);
    struct scan scan;
    scan_init(&scan, input);
    struct text line;
    assert_true(scan_line(&scan, &line));
    assert_true(text_equal(line, TEXT("first")));
    assert_int_equal(scan.position.offset, 5);
    assert_true(scan_line(&scan, &line));
    assert_int_equal(scan.position.offset, 11);
    assert_int_equal(scan.position.line, 2);
    input_close(input);
}

TEST(test_stops_at_a_failure) {
    struct failure failure = {0};
    struct input *input = input_from_memory(TEXT("first\nsecond\n"), 8, &failure);
    struct scan scan;
    scan_init(&scan, input);
    struct text line;
    assert_true(scan_line(&scan, &line));
    failure_set(&failure, FAILURE_STRICT, "elsewhere");
    assert_false(scan_line(&scan, &line));
    input_close(input);
}

/* Lines of about the maximum length, and what follows them. */
struct long_case {
    size_t line_bytes;
    const char *end;
    uint64_t cut_line_count;
};

static void check_long_line(const struct long_case *wanted, size_t window_bytes) {
    size_t end_bytes = strlen(wanted->end);
    size_t total_bytes = 2 + wanted->line_bytes + end_bytes;
    char *bytes = malloc(total_bytes);
    assert_non_null(bytes);
    memcpy(bytes, "a\n", 2);
    memset(bytes + 2, 'x', wanted->line_bytes);
    memcpy(bytes + 2 + wanted->line_bytes, wanted->end, end_bytes);

    struct failure failure = {0};
    struct input *input = input_from_memory((struct text){bytes, total_bytes}, window_bytes, &failure);
    struct scan scan;
    scan_init(&scan, input);
    struct text line;
    assert_true(scan_line(&scan, &line));
    assert_true(scan_line(&scan, &line));
    size_t expected_bytes = wanted->line_bytes < SCAN_LINE_BYTES_MAX ? wanted->line_bytes : SCAN_LINE_BYTES_MAX;
    assert_int_equal(line.bytes_count, expected_bytes);
    assert_memory_equal(line.bytes, bytes + 2, expected_bytes);
    assert_int_equal(scan.cut_line_count, wanted->cut_line_count);
    if (wanted->cut_line_count) {
        assert_int_equal(scan.first_cut.line, 2);
        assert_int_equal(scan.first_cut.offset, 2);
    }
    bool has_next = end_bytes && wanted->end[end_bytes - 1] != '\n';
    assert_int_equal(scan_line(&scan, &line), has_next);
    if (has_next) {
        assert_true(text_equal(line, TEXT("z")));
        assert_int_equal(scan.position.line, 3);
        assert_int_equal(scan.position.offset, total_bytes - 1);
        assert_false(scan_line(&scan, &line));
    }
    assert_int_equal(scan.next_offset, total_bytes);
    input_close(input);
    free(bytes);
}

TEST(test_long_lines) {
    enum { MAX = SCAN_LINE_BYTES_MAX };
    static const struct long_case cases[] = {
        {MAX - 1, "\nz", 0},   {MAX, "\nz", 0},         {MAX, "\r\nz", 0},         {MAX, "", 0},
        {MAX + 1, "\nz", 1},   {MAX + 1, "\r\nz", 1},   {MAX + 1, "", 1},          {MAX + 2, "\nz", 1},
        {MAX + 2, "\r\nz", 1}, {MAX + 2, "", 1},        {MAX + 3, "\n", 1},        {2 * MAX, "\nz", 1},
        {3 * MAX + 7, "", 1},  {2 * MAX + 2, "\nz", 1}, {3 * MAX + 7, "\r\nz", 1},
    };
    static const size_t windows[] = {0, 65536, 1000 * 1000, MAX, MAX + 2, MAX + 3};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t k = 0; k < sizeof windows / sizeof *windows; k++) check_long_line(&cases[i], windows[k]);
}

TEST(test_each_cut_line_is_counted) {
    enum { LONG = SCAN_LINE_BYTES_MAX + 10, TOTAL = 3 * (LONG + 1) };
    char *bytes = malloc(TOTAL);
    assert_non_null(bytes);
    memset(bytes, 'x', TOTAL);
    for (size_t i = 1; i <= 3; i++) bytes[i * (LONG + 1) - 1] = '\n';
    struct failure failure = {0};
    struct input *input = input_from_memory((struct text){bytes, TOTAL}, 100000, &failure);
    struct scan scan;
    scan_init(&scan, input);
    struct text line;
    size_t line_count = 0;
    while (scan_line(&scan, &line)) assert_int_equal(scan.position.offset, line_count++ * (LONG + 1));
    assert_int_equal(line_count, 3);
    assert_int_equal(scan.cut_line_count, 3);
    assert_int_equal(scan.first_cut.line, 1);
    input_close(input);
    free(bytes);
}

int main(void) { return unit_tests_run(NULL, NULL); }
