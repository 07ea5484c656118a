/* What a conversion says, for people and as JSON, from results made by hand. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/progress_tty.h"
#include "cli/report.h"
#include "tests/support/temp_folder.h"

static const struct gecko_convert_options options = {.input_path = "app.txt.gz", .output_path = "out.json"};

static struct gecko_convert_result good_result(void) {
    return (struct gecko_convert_result){
        .input_format = "perf-script",
        .input_title = "perf script text",
        .wrapping = "gzip",
        .input_bytes = 1234567,
        .output_format = "processed",
        .output_title = "processed v70",
        .output_bytes = 410999,
        .duration_ns = 49999999,
        .counts = {.processes = 17, .threads = 41, .samples = 766},
        .is_balanced = true,
    };
}

static struct report_text text;

static void assert_text(const char *expected) {
    assert_int_equal(strlen(expected), text.bytes_count);
    assert_memory_equal(text.bytes, expected, text.bytes_count);
}

static void test_summary(void **state) {
    (void)state;
    struct gecko_convert_result result = good_result();
    report_summary(&options, &result, &text);
    assert_text(
        "read app.txt.gz: perf script text (gzip), 1.2 MB, 766 samples in 41 threads of 17 processes\n"
        "wrote out.json: processed v70, 410 kB, in 0.04 s\n");
}

static void test_summary_of_one_each_and_standard_streams(void **state) {
    (void)state;
    static const struct gecko_convert_options streams = {.input_path = "-", .output_path = "-"};
    struct gecko_convert_result result = good_result();
    result.wrapping = "";
    result.input_bytes = 999;
    result.output_bytes = 1000;
    result.duration_ns = 61230000000;
    result.counts = (struct gecko_convert_counts){.processes = 1, .threads = 1, .samples = 1, .markers = 2};
    report_summary(&streams, &result, &text);
    assert_text(
        "read standard input: perf script text, 999 B, 1 sample and 2 markers in 1 thread of 1 process\n"
        "wrote standard output: processed v70, 1.0 kB, in 61.23 s\n");
}

static void test_sizes(void **state) {
    (void)state;
    static const struct {
        uint64_t bytes;
        const char *shown;
    } cases[] = {{0, ", 0 B, "},           {999, ", 999 B, "},         {1000, ", 1.0 kB, "},
                 {9999, ", 9.9 kB, "},     {10000, ", 10 kB, "},       {999999, ", 999 kB, "},
                 {1000000, ", 1.0 MB, "},  {2500000000, ", 2.5 GB, "}, {7000000000000, ", 7.0 TB, "},
                 {UINT64_MAX, ", 18 EB, "}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct gecko_convert_result result = good_result();
        result.input_bytes = cases[i].bytes;
        report_summary(&options, &result, &text);
        text.bytes[text.bytes_count] = '\0';
        assert_non_null(strstr(text.bytes, cases[i].shown));
    }
}

/* A lost sample takes lines and periods along: its cause is said once. Kept and noted entries are no losses. */
static void test_losses(void **state) {
    (void)state;
    static const struct gecko_convert_entry entries[] = {
        {.unit = GECKO_CONVERT_LINES, .fate = GECKO_CONVERT_FATE_LOST, .cause = "x", .count = 78},
        {.unit = GECKO_CONVERT_LINES, .fate = GECKO_CONVERT_FATE_LOST, .cause = "stray", .count = 1},
        {.unit = GECKO_CONVERT_RECORDS,
         .fate = GECKO_CONVERT_FATE_LOST,
         .cause = "cut",
         .count = 2,
         .has_first = true,
         .first_offset = 77},
        {.unit = GECKO_CONVERT_SAMPLES, .fate = GECKO_CONVERT_FATE_KEPT, .cause = "fine", .count = 700},
        {.unit = GECKO_CONVERT_SAMPLES,
         .fate = GECKO_CONVERT_FATE_LOST,
         .cause = "x",
         .count = 39,
         .has_first = true,
         .first_line = 12,
         .first_offset = 300},
        {.unit = GECKO_CONVERT_PERIODS, .fate = GECKO_CONVERT_FATE_LOST, .cause = "x", .count = 9999999},
        {.unit = GECKO_CONVERT_SAMPLES, .fate = GECKO_CONVERT_FATE_NOTED, .cause = "late", .count = 5},
    };
    struct gecko_convert_result result = good_result();
    result.entries = entries;
    result.entry_count = sizeof entries / sizeof *entries;
    report_summary(&options, &result, &text);
    assert_text(
        "read app.txt.gz: perf script text (gzip), 1.2 MB, 766 samples in 41 threads of 17 processes\n"
        "wrote out.json: processed v70, 410 kB, in 0.04 s; lost: 39 samples (x, first at line 12), 2 records "
        "(cut, first at byte 77), 1 line (stray)\n");
}

static void test_many_losses(void **state) {
    (void)state;
    static const struct gecko_convert_entry entries[] = {
        {.unit = GECKO_CONVERT_VALUES, .fate = GECKO_CONVERT_FATE_LOST, .cause = "a", .count = 1},
        {.unit = GECKO_CONVERT_VALUES, .fate = GECKO_CONVERT_FATE_LOST, .cause = "b", .count = 3},
        {.unit = GECKO_CONVERT_VALUES, .fate = GECKO_CONVERT_FATE_LOST, .cause = "c", .count = 3},
        {.unit = GECKO_CONVERT_SAMPLES, .fate = GECKO_CONVERT_FATE_LOST, .cause = "d", .count = 1},
        {.unit = GECKO_CONVERT_LINES, .fate = GECKO_CONVERT_FATE_LOST, .cause = "e", .count = 900},
    };
    struct gecko_convert_result result = good_result();
    result.entries = entries;
    result.entry_count = sizeof entries / sizeof *entries;
    report_summary(&options, &result, &text);
    assert_text(
        "read app.txt.gz: perf script text (gzip), 1.2 MB, 766 samples in 41 threads of 17 processes\n"
        "wrote out.json: processed v70, 410 kB, in 0.04 s; lost: 1 sample (d), 3 values (b), 3 values (c) and 2 more, "
        "see --report\n");
}

static void test_errors(void **state) {
    (void)state;
    struct gecko_convert_result result = {.status = GECKO_CONVERT_BAD_INPUT, .message = "no good"};
    report_error(&options, &result, &text);
    assert_text("gecko-convert: no good\n");
    result.has_error_place = true;
    result.error_offset = 77;
    report_error(&options, &result, &text);
    assert_text("gecko-convert: app.txt.gz: at byte 77: no good\n");
    result.error_line = 12;
    report_error(&options, &result, &text);
    assert_text("gecko-convert: app.txt.gz:12: no good\n");
    report_message("what is wrong", &text);
    assert_text("gecko-convert: what is wrong\n");
}

static void test_the_terminal_is_not_steered(void **state) {
    (void)state;
    report_message(
        "a\033[2Jb\nc\177d\xc2\x9b"
        "e\xff"
        "f\xc3\xa4",
        &text);
    assert_text("gecko-convert: a?[2Jb?c?d?e?f\xc3\xa4\n");
}

/* However long the names are, both lines are there and end. */
static void test_long_names_are_cut(void **state) {
    (void)state;
    static char long_name[3 * REPORT_TEXT_BYTES];
    memset(long_name, 'x', sizeof long_name - 1);
    const struct gecko_convert_options long_options = {.input_path = long_name, .output_path = "out.json"};
    struct gecko_convert_result result = good_result();
    report_summary(&long_options, &result, &text);
    const char *first_end = memchr(text.bytes, '\n', text.bytes_count);
    assert_memory_equal(first_end - 3, "...", 3);
    const char second[] = "wrote out.json: processed v70, 410 kB, in 0.04 s\n";
    assert_memory_equal(first_end + 1, second, sizeof second - 1);
    assert_int_equal(first_end + 1 + sizeof second - 1 - text.bytes, text.bytes_count);
}

static void assert_json(const struct gecko_convert_result *result, const char *expected) {
    size_t bytes_count;
    char *report = gecko_convert_report(&options, result, &bytes_count);
    assert_string_equal(report, expected);
    assert_int_equal(bytes_count, strlen(expected));
    free(report);
}

#define NO_ENTRIES(unit) "\"" unit "\":{\"read\":0,\"kept\":0,\"lost\":0,\"entries\":[]},"

static void test_json_of_a_good_conversion(void **state) {
    (void)state;
    static const struct gecko_convert_entry entries[] = {
        {.unit = GECKO_CONVERT_SAMPLES, .fate = GECKO_CONVERT_FATE_KEPT, .cause = "event", .count = 7},
        {.unit = GECKO_CONVERT_SAMPLES,
         .fate = GECKO_CONVERT_FATE_LOST,
         .cause = "\"x\"\xff",
         .count = 1,
         .has_first = true,
         .first_line = 12,
         .first_offset = 300},
        {.unit = GECKO_CONVERT_PERIODS,
         .fate = GECKO_CONVERT_FATE_NOTED,
         .cause = "y",
         .count = UINT64_MAX,
         .has_first = true,
         .first_offset = 5},
    };
    struct gecko_convert_result result = good_result();
    result.counts = (struct gecko_convert_counts){1, 2, 3, 4, 5, 6, 7, 8, 9};
    result.sums[GECKO_CONVERT_SAMPLES] = (struct gecko_convert_unit_sums){8, 7, 1};
    result.entries = entries;
    result.entry_count = sizeof entries / sizeof *entries;
    assert_json(&result,
                "{\"version\":1,\"tool\":\"gecko-convert " GECKO_CONVERT_VERSION "\","
                "\"input\":{\"name\":\"app.txt.gz\",\"format\":\"perf-script\",\"wrapping\":\"gzip\",\"bytes\":1234567},"
                "\"output\":{\"name\":\"out.json\",\"format\":\"processed\",\"bytes\":410999},"
                "\"milliseconds\":49,"
                "\"counts\":{\"processes\":1,\"threads\":2,\"samples\":3,\"stacks\":5,\"frames\":6,\"funcs\":7,"
                "\"strings\":8,\"libs\":9,\"markers\":4},"
                "\"ledger\":{" NO_ENTRIES("lines")
                "\"samples\":{\"read\":8,\"kept\":7,\"lost\":1,\"entries\":["
                "{\"fate\":\"kept\",\"cause\":\"event\",\"count\":7},"
                "{\"fate\":\"lost\",\"cause\":\"\\\"x\\\"\xef\xbf\xbd\",\"count\":1,\"line\":12,\"offset\":300}]},"
                NO_ENTRIES("records")
                "\"periods\":{\"read\":0,\"kept\":0,\"lost\":0,\"entries\":["
                "{\"fate\":\"noted\",\"cause\":\"y\",\"count\":9223372036854775807,\"offset\":5}]},"
                NO_ENTRIES("values")
                "\"balanced\":true},\"error\":null}\n");
}

static void test_json_of_a_failure(void **state) {
    (void)state;
    static const char *const codes[] = {"\"input\",\"exit\":1", "\"usage\",\"exit\":2", "\"io\",\"exit\":3",
                                        "\"memory\",\"exit\":4", "\"strict\",\"exit\":5"};
    for (unsigned i = 0; i < sizeof codes / sizeof *codes; i++) {
        struct gecko_convert_result result = {
            .status = (enum gecko_convert_status)(i + 1), .message = "no good", .input_format = "", .wrapping = ""};
        char expected[1024];
        snprintf(expected, sizeof expected,
                 "{\"version\":1,\"tool\":\"gecko-convert " GECKO_CONVERT_VERSION "\","
                 "\"input\":{\"name\":\"app.txt.gz\",\"format\":null,\"wrapping\":null,\"bytes\":0},"
                 "\"output\":{\"name\":\"out.json\",\"format\":null,\"bytes\":0},\"milliseconds\":0,"
                 "\"counts\":{\"processes\":0,\"threads\":0,\"samples\":0,\"stacks\":0,\"frames\":0,\"funcs\":0,"
                 "\"strings\":0,\"libs\":0,\"markers\":0},"
                 "\"ledger\":{" NO_ENTRIES("lines") NO_ENTRIES("samples") NO_ENTRIES("records") NO_ENTRIES("periods")
                 NO_ENTRIES("values") "\"balanced\":false},"
                 "\"error\":{\"code\":%s,\"message\":\"no good\",\"line\":3,\"offset\":9}}\n",
                 codes[i]);
        result.has_error_place = true;
        result.error_line = 3;
        result.error_offset = 9;
        assert_json(&result, expected);
    }
}

/* ---- The progress bar. ---- */

static void assert_drawn(int fd, const char *expected) {
    char drawn[1024];
    ssize_t bytes_count = read(fd, drawn, sizeof drawn - 1);
    drawn[bytes_count > 0 ? bytes_count : 0] = '\0';
    assert_string_equal(drawn, expected);
}

static void test_bar(void **state) {
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    struct progress_tty bar;
    progress_tty_init(&bar, ends[1], true, 0);
    progress_tty_draw(&bar, 509);
    assert_drawn(ends[0], "\r[##########..........]  50 %");
    progress_tty_draw(&bar, 501);
    progress_tty_draw(&bar, 1000);
    assert_drawn(ends[0], "\r[####################] 100 %");
    progress_tty_clear(&bar);
    assert_drawn(ends[0], "\r                            \r");
    progress_tty_clear(&bar);
    progress_tty_init(&bar, ends[1], true, 3600000000000u);
    progress_tty_draw(&bar, 500);
    progress_tty_clear(&bar);
    progress_tty_init(&bar, ends[1], false, 0);
    progress_tty_draw(&bar, 500);
    progress_tty_clear(&bar);
    close(ends[1]);
    assert_drawn(ends[0], "");
    close(ends[0]);
}

/* A bar that has been there for so long. */
static void begin_bar(struct progress_tty *bar, int fd, uint64_t seconds) {
    progress_tty_init(bar, fd, true, 0);
    bar->start_ns -= seconds * 1000000000u;
}

static void test_bar_of_bytes(void **state) {
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    struct progress_tty bar;
    begin_bar(&bar, ends[1], 8000);
    progress_tty_draw_bytes(&bar, 100000000000u, 400000000000u);
    assert_drawn(ends[0], "\r[#####...............]  25 %  100 GB of 400 GB, 12 MB/s, 6 h 40 min left");
    progress_tty_draw_bytes(&bar, 500000000000u, 400000000000u);
    assert_drawn(ends[0], "\r[####################] 100 %  400 GB of 400 GB, 49 MB/s, 0 s left       ");
    progress_tty_clear(&bar);
    assert_drawn(ends[0], "\r                                                                 \r");
    begin_bar(&bar, ends[1], 8000);
    bar.total_bytes = 40000000;
    progress_tty_draw(&bar, 800);
    assert_drawn(ends[0], "\r[################....]  80 %  32 MB of 40 MB, 3.9 kB/s, 33 min 20 s left");
    begin_bar(&bar, ends[1], 8000);
    progress_tty_draw_bytes(&bar, 0, 0);
    assert_drawn(ends[0], "\r[....................]   0 %");
    close(ends[0]);
    close(ends[1]);
}

/* Nobody knows how much is to come. */
static void test_bar_of_a_pipe(void **state) {
    (void)state;
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    struct progress_tty bar;
    begin_bar(&bar, ends[1], 8000);
    progress_tty_draw_source(&bar, 36400000000u, 0);
    assert_drawn(ends[0], "\rread 36 GB, 4.5 MB/s");
    progress_tty_draw_source(&bar, 36400000001u, 0);
    progress_tty_draw(&bar, 600);
    assert_drawn(ends[0], "\r[############........]  60 %");
    progress_tty_clear(&bar);
    assert_drawn(ends[0], "\r                            \r");
    progress_tty_init(&bar, ends[1], true, 3600000000000u);
    progress_tty_draw_source(&bar, 36400000000u, 0);
    progress_tty_init(&bar, ends[1], false, 0);
    progress_tty_draw_source(&bar, 36400000000u, 0);
    close(ends[1]);
    assert_drawn(ends[0], "");
    close(ends[0]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_summary),
        cmocka_unit_test(test_summary_of_one_each_and_standard_streams),
        cmocka_unit_test(test_sizes),
        cmocka_unit_test(test_losses),
        cmocka_unit_test(test_many_losses),
        cmocka_unit_test(test_errors),
        cmocka_unit_test(test_the_terminal_is_not_steered),
        cmocka_unit_test(test_long_names_are_cut),
        cmocka_unit_test(test_json_of_a_good_conversion),
        cmocka_unit_test(test_json_of_a_failure),
        cmocka_unit_test(test_bar),
        cmocka_unit_test(test_bar_of_bytes),
        cmocka_unit_test(test_bar_of_a_pipe),
    };
    return cmocka_run_group_tests_name("report", tests, NULL, NULL);
}
