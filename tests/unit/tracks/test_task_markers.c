/* Tests markers of child processes: where they are, and what they tell. */
#include "libconvert/tracks/task_markers.h"

#include "tests/support/assert_text.h"
#include "tests/support/marker_value.h"
#include "tests/support/profile_fixture.h"
#include "tests/support/unit_test.h"

static struct thread *shell;

/* Adds a shell with samples at 10 and 90, and returns a child of it. */
static struct process *add_family(int64_t start_ns, int64_t end_ns) {
    profile.meta.has_times = true;
    process_id parent = profile_add_process(&profile, 1, 0), child = profile_add_process(&profile, 2, 0);
    shell = profile_thread_at(&profile, profile_add_thread(&profile, parent, 1, 0));
    shell->name = TEXT("sh");
    thread_add_sample(shell, 10, stack_none(), 1);
    thread_add_sample(shell, 90, stack_none(), 1);
    struct process *process = profile_process_at(&profile, child);
    process->name = TEXT("cc1");
    process->parent = parent;
    process->start_ns = start_ns;
    process->end_ns = end_ns;
    return process;
}

static void mark(void) {
    struct task_markers markers;
    task_markers_init(&markers, &profile);
    task_markers_add_children(&markers, false);
    assert_string_equal(failure.message, "");
}

static void assert_interval(int64_t start_ns, int64_t end_ns) {
    mark();
    assert_int_equal(shell->markers.count, 1);
    const struct marker *marker = column_at(&shell->markers, 0);
    assert_int_equal(marker->phase, MARKER_INTERVAL);
    assert_int_equal(marker->start_ns, start_ns);
    assert_int_equal(marker->end_ns, end_ns);
}

TEST(a_child_is_a_marker_of_its_parent, begin_profile, end_profile) {
    add_family(20, 50)->ending = TEXT("exited");
    assert_interval(20, 50);
    const struct marker *marker = column_at(&shell->markers, 0);
    assert_text(strings_text(&profile.strings, marker->name), "cc1");
    assert_text(value_of(&profile, marker, 0).text, "2");
    assert_text(value_of(&profile, marker, 1).text, "exited");
}

/* Children of one program are in one row of the marker chart, whatever their arguments are. */
TEST(a_label_tells_the_arguments, begin_profile, end_profile) {
    struct process *child = add_family(20, 50);
    struct command_line line = {.shown = TEXT("cc1 -quiet parse.c"), .label = TEXT("cc1 parse.c")};
    child->command_line = &line;
    assert_interval(20, 50);
    const struct marker *marker = column_at(&shell->markers, 0);
    const struct marker_schema *schema = column_at(&profile.marker_schemas, marker->schema);
    assert_text(strings_text(&profile.strings, marker->name), "cc1");
    assert_text(schema->chart_label, "{marker.data.label}");
    assert_text(schema->table_label, "{marker.data.command}");
    assert_text(schema->fields[2].key, "label");
    assert_text(value_of(&profile, marker, 2).text, "cc1 parse.c");
    assert_text(value_of(&profile, marker, 3).text, "cc1 -quiet parse.c");
}

TEST(a_child_without_an_end_lasts_until_the_last_event, begin_profile, end_profile) {
    add_family(20, TIME_NONE);
    assert_interval(20, 90);
}

TEST(a_child_that_went_on_without_recording_does_too, begin_profile, end_profile) {
    add_family(20, 50)->lives_on = true;
    assert_interval(20, 90);
}

TEST(a_marker_is_cut_to_the_events, begin_profile, end_profile) {
    add_family(5, 95);
    assert_interval(10, 90);
}

static void assert_no_marker(void) {
    mark();
    assert_int_equal(shell->markers.count, 0);
}

TEST(a_child_outside_of_the_events_has_no_marker, begin_profile, end_profile) {
    add_family(91, 95);
    assert_no_marker();
}

TEST(made_up_times_have_no_marker, begin_profile, end_profile) {
    add_family(20, 50);
    profile.meta.has_times = false;
    assert_no_marker();
}

TEST(a_child_with_an_unknown_start_has_no_marker, begin_profile, end_profile) {
    add_family(TIME_NONE, 50);
    assert_no_marker();
}

TEST(a_child_that_ends_before_it_starts_has_no_marker, begin_profile, end_profile) {
    add_family(50, 20);
    assert_no_marker();
}

TEST(a_parent_without_a_main_thread_has_no_marker, begin_profile, end_profile) {
    add_family(20, 50);
    shell->tid = 7;
    assert_no_marker();
}

int main(void) { return unit_tests_run(NULL, NULL); }
