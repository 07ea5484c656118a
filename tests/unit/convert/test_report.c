/* Tests what is reported about a conversion, for people and as JSON, from results made by hand. */
#include <stdlib.h>
#include <string.h>

#include "cli/progress_tty.h"
#include "libconvert/report.h"
#include "tests/support/temp_folder.h"
#include "tests/support/unit_test.h"

static const struct gecko_convert_options options = {
    .struct_bytes = sizeof options, .input_path = "app.txt.gz", .output_path = "out.json"};

static struct gecko_convert_result good_result(void) {
    return (struct gecko_convert_result){
        .struct_bytes = sizeof(struct gecko_convert_result),
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

/* An entry; the place of the first one, if it has any, follows in members. */
#define ENTRY(unit_, fate_, cause_, count_, ...)                                                             \
    {                                                                                                        \
        .unit = GECKO_CONVERT_##unit_, .fate = GECKO_CONVERT_FATE_##fate_, .cause = cause_, .count = count_, \
        ##__VA_ARGS__                                                                                        \
    }

static struct report_text text;

static void assert_text(const char *expected) {
    assert_int_equal(strlen(expected), text.bytes_count);
    assert_memory_equal(text.bytes, expected, text.bytes_count);
}

TEST(test_sizes) {
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

/* Checks what the summary of a conversion with these entries says about losses. */
static void assert_losses(const struct gecko_convert_entry *entries, size_t entry_count, const char *expected) {
    struct gecko_convert_result result = good_result();
    char whole[1000];
    result.entries = entries;
    result.entry_count = entry_count;
    report_summary(&options, &result, &text);
    snprintf(whole, sizeof whole,
             "read app.txt.gz: perf script text (gzip), 1.2 MB, 766 samples in 41 threads of 17 processes\n"
             "wrote out.json: processed v70, 410 kB, in 0.04 s; lost: %s\n",
             expected);
    assert_text(whole);
}

/* A lost sample takes its lines and its period with it, so its cause is listed once. Entries that are kept or noted are
 * not losses. */
TEST(test_losses) {
    static const struct gecko_convert_entry entries[] = {
        ENTRY(LINES, LOST, "x", 78),
        ENTRY(LINES, LOST, "stray", 1),
        ENTRY(RECORDS, LOST, "cut", 2, .has_first = true, .first_offset = 77),
        ENTRY(SAMPLES, KEPT, "fine", 700),
        ENTRY(SAMPLES, LOST, "x", 39, .has_first = true, .first_line = 12, .first_offset = 300),
        ENTRY(PERIODS, LOST, "x", 9999999),
        ENTRY(SAMPLES, NOTED, "late", 5),
    };
    assert_losses(entries, sizeof entries / sizeof *entries,
                  "39 samples (x, first at line 12), 2 records "
                  "(cut, first at byte 77), 1 line (stray)");
}

TEST(test_many_losses) {
    static const struct gecko_convert_entry entries[] = {
        ENTRY(VALUES, LOST, "a", 1),  ENTRY(VALUES, LOST, "b", 3),  ENTRY(VALUES, LOST, "c", 3),
        ENTRY(SAMPLES, LOST, "d", 1), ENTRY(LINES, LOST, "e", 900),
    };
    assert_losses(entries, sizeof entries / sizeof *entries,
                  "1 sample (d), 3 values (b), 3 values (c) and 2 more, "
                  "see --report");
}

TEST(test_the_terminal_is_not_steered) {
    text.bytes_count = 0;
    report_append(&text,
                  "a\033[2Jb\nc\177d\xc2\x9b"
                  "e\xff"
                  "f\xc3\xa4");
    report_end_line(&text, 0);
    assert_text("a?[2Jb?c?d?e?f\xc3\xa4\n");
}

/* However long the names are, both lines are written and end with a line end. */
TEST(test_long_names_are_cut) {
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

/* ---- JSON: what the command line does not show. ---- */

static void assert_reported(const struct gecko_convert_result *result, const char *expected) {
    char *report = gecko_convert_report(&options, result, NULL);
    assert_non_null(report);
    assert_non_null(strstr(report, expected));
    free(report);
}

TEST(test_codes_of_failures) {
    static const char *const codes[] = {"\"input\",\"exit\":1",  "\"usage\",\"exit\":2",  "\"io\",\"exit\":3",
                                        "\"memory\",\"exit\":4", "\"strict\",\"exit\":5", "\"cancelled\",\"exit\":6"};
    for (unsigned i = 0; i < sizeof codes / sizeof *codes; i++) {
        struct gecko_convert_result result = good_result();
        result.status = (enum gecko_convert_status)(i + 1);
        char expected[64];
        snprintf(expected, sizeof expected, "\"error\":{\"code\":%s,", codes[i]);
        assert_reported(&result, expected);
    }
}

TEST(test_duration) {
    struct gecko_convert_result result = good_result();
    assert_reported(&result, ",\"milliseconds\":49,");
}

/* Readers of JSON have signed integers. */
TEST(test_largest_count) {
    static const struct gecko_convert_entry entry = ENTRY(PERIODS, NOTED, "y", UINT64_MAX, .has_first = false);
    struct gecko_convert_result result = good_result();
    result.entries = &entry;
    result.entry_count = 1;
    assert_reported(&result, "\"cause\":\"y\",\"count\":9223372036854775807}");
}

/* ---- The progress bar. ---- */

static void assert_drawn(int fd, const char *expected) {
    char drawn[1024];
    ssize_t bytes_count = read(fd, drawn, sizeof drawn - 1);
    drawn[bytes_count > 0 ? bytes_count : 0] = '\0';
    assert_string_equal(drawn, expected);
}

static void draw(struct progress_tty *bar, unsigned permille, uint64_t total_bytes) {
    struct gecko_convert_progress progress = {.permille = permille, .total_bytes = total_bytes};
    assert_true(progress_tty_draw(bar, &progress));
}

static void draw_read(struct progress_tty *bar, uint64_t read_bytes) {
    struct gecko_convert_progress progress = {.read_bytes = read_bytes};
    assert_true(progress_tty_draw(bar, &progress));
}

TEST(test_bar) {
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    struct progress_tty bar;
    progress_tty_init(&bar, ends[1], true, 0);
    draw(&bar, 509, 0);
    assert_drawn(ends[0], "\r[##########..........]  50 %");
    draw(&bar, 501, 0);
    draw(&bar, 1000, 0);
    assert_drawn(ends[0], "\r[####################] 100 %");
    progress_tty_clear(&bar);
    assert_drawn(ends[0], "\r                            \r");
    progress_tty_clear(&bar);
    progress_tty_init(&bar, ends[1], true, 3600000000000u);
    draw(&bar, 500, 0);
    progress_tty_clear(&bar);
    progress_tty_init(&bar, ends[1], false, 0);
    draw(&bar, 500, 0);
    progress_tty_clear(&bar);
    close(ends[1]);
    assert_drawn(ends[0], "");
    close(ends[0]);
}

/* Begins a bar as if it had begun that many seconds ago. */
static void begin_bar(struct progress_tty *bar, int fd, uint64_t seconds) {
    progress_tty_init(bar, fd, true, 0);
    bar->start_ns -= seconds * 1000000000u;
}

TEST(test_bar_of_bytes) {
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
    draw(&bar, 800, 40000000);
    assert_drawn(ends[0], "\r[################....]  80 %  32 MB of 40 MB, 3.9 kB/s, 33 min 20 s left");
    begin_bar(&bar, ends[1], 8000);
    progress_tty_draw_bytes(&bar, 0, 0);
    assert_drawn(ends[0], "\r[....................]   0 %");
    close(ends[0]);
    close(ends[1]);
}

/* The size of a pipe is unknown. */
TEST(test_bar_of_a_pipe) {
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    struct progress_tty bar;
    begin_bar(&bar, ends[1], 8000);
    draw_read(&bar, 36400000000u);
    assert_drawn(ends[0], "\rread 36 GB, 4.5 MB/s");
    draw_read(&bar, 36400000001u);
    draw(&bar, 600, 0);
    assert_drawn(ends[0], "\r[############........]  60 %");
    progress_tty_clear(&bar);
    assert_drawn(ends[0], "\r                            \r");
    progress_tty_init(&bar, ends[1], true, 3600000000000u);
    draw_read(&bar, 36400000000u);
    progress_tty_init(&bar, ends[1], false, 0);
    draw_read(&bar, 36400000000u);
    close(ends[1]);
    assert_drawn(ends[0], "");
    close(ends[0]);
}

int main(void) { return unit_tests_run(NULL, NULL); }
