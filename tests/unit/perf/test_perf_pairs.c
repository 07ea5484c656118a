/* Tests pairs of tracepoints that nest, or lack one of the two. The fixture "pairs" has all kinds of pairs. */
#include <stdio.h>
#include <stdlib.h>

#include "readers/reader.h"
#include "tests/support/unit_test.h"

enum { DEPTH = 1000, LINE_BYTES_MAX = 128, TEXT_BYTES_MAX = 4 * DEPTH * LINE_BYTES_MAX };

struct pairs_test {
    struct failure failure;
    struct profile profile;
    char *text;
    size_t used;
    int time_us;
};

static struct pairs_test fixture;

static int set_up(void **state) {
    fixture = (struct pairs_test){.text = malloc(TEXT_BYTES_MAX)};
    profile_init(&fixture.profile, &fixture.failure);
    *state = &fixture;
    return fixture.text ? 0 : -1;
}

static int tear_down(void **state) {
    bool is_good = !failure_is_set(&fixture.failure);
    free(fixture.text);
    profile_fini(&fixture.profile);
    return is_good ? 0 : -1;
}

/* Adds a hit of the tracepoint, one microsecond after the one before. */
static void hit(const char *event) {
    fixture.used += (size_t)snprintf(fixture.text + fixture.used, TEXT_BYTES_MAX - fixture.used,
                                     "app 10/10 [000] 1.%06d: %s: (401106)\n", fixture.time_us++, event);
}

static void hit_times(const char *event, int count) {
    for (int i = 0; i < count; i++) hit(event);
}

static const struct column *read_markers(void) {
    struct reader_options options = {0};
    struct input *input = input_from_memory((struct text){fixture.text, fixture.used}, 0, &fixture.failure);
    reader_perf_script.run(input, &fixture.profile, &options);
    profile_finish(&fixture.profile);
    input_close(input);
    assert_true(ledger_is_balanced(&fixture.profile.ledger));
    assert_int_equal(fixture.profile.threads.count, 1);
    return &((const struct thread *)column_at(&fixture.profile.threads, 0))->markers;
}

static void assert_marker(const struct column *markers, size_t row, enum marker_phase phase, int start_us, int end_us) {
    enum { NS_PER_US = 1000 };
    const struct marker *marker = column_at(markers, row);
    assert_int_equal(marker->phase, phase);
    assert_int_equal(marker->start_ns, start_us * NS_PER_US);
    assert_int_equal(marker->end_ns, end_us * NS_PER_US);
}

TEST(test_nested, set_up, tear_down) {
    hit_times("probe_app:walk", DEPTH);
    hit_times("probe_app:walk__return", DEPTH);
    const struct column *markers = read_markers();
    assert_int_equal(markers->count, DEPTH);
    for (int i = 0; i < DEPTH; i++) assert_marker(markers, (size_t)i, MARKER_INTERVAL, i, 2 * DEPTH - 1 - i);
}

TEST(test_starts_without_an_end, set_up, tear_down) {
    hit_times("probe_app:walk", DEPTH);
    hit("probe_app:walk__return");
    const struct column *markers = read_markers();
    assert_int_equal(markers->count, DEPTH);
    for (int i = 0; i < DEPTH - 1; i++) assert_marker(markers, (size_t)i, MARKER_INSTANT, i, i);
    assert_marker(markers, DEPTH - 1, MARKER_INTERVAL, DEPTH - 1, DEPTH);
}

/* A thread is in one system call at a time, so the end of another one shows that records are missing. */
TEST(test_a_lost_end, set_up, tear_down) {
    hit("syscalls:sys_enter_read");
    hit("syscalls:sys_enter_read");
    hit("syscalls:sys_exit_read");
    hit("syscalls:sys_enter_read");
    hit("syscalls:sys_exit_write");
    hit("syscalls:sys_enter_write");
    hit("syscalls:sys_exit_read");
    const struct column *markers = read_markers();
    assert_int_equal(markers->count, 6);
    assert_marker(markers, 0, MARKER_INSTANT, 0, 0);
    assert_marker(markers, 1, MARKER_INTERVAL, 1, 2);
    for (int i = 2; i < 6; i++) assert_marker(markers, (size_t)i, MARKER_INSTANT, i + 1, i + 1);
}

TEST(test_an_end_before_its_start, set_up, tear_down) {
    hit("syscalls:sys_enter_read");
    fixture.time_us = 500;
    hit("syscalls:sys_enter_read");
    fixture.time_us = 100;
    hit("syscalls:sys_exit_read");
    const struct column *markers = read_markers();
    assert_int_equal(markers->count, 3);
    assert_marker(markers, 0, MARKER_INSTANT, 0, 0);
    assert_marker(markers, 1, MARKER_INSTANT, 100, 100);
    assert_marker(markers, 2, MARKER_INSTANT, 500, 500);
}

int main(void) { return unit_tests_run(NULL, NULL); }
