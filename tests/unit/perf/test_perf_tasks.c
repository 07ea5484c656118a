/* Tests threads and processes: to which generation of its ids a line belongs. */
#include <stdio.h>

#include "readers/perf/perf_tasks.h"
#include "tests/support/marker_value.h"
#include "tests/support/unit_test.h"

struct tasks_test {
    struct failure failure;
    struct profile profile;
    struct perf_tasks tasks;
};

enum { EVENT_COUNT = 4096 };

static struct tasks_test fixture;

static int set_up(void **state) {
    fixture = (struct tasks_test){0};
    profile_init(&fixture.profile, &fixture.failure);
    perf_tasks_init(&fixture.tasks, &fixture.profile, NULL);
    *state = &fixture;
    return 0;
}

static int tear_down(void **state) {
    bool is_good = !failure_is_set(&fixture.failure);
    perf_tasks_fini(&fixture.tasks);
    profile_fini(&fixture.profile);
    return is_good ? 0 : -1;
}

static struct perf_task *find(int64_t pid, int64_t tid) {
    struct perf_task *task = perf_tasks_find(&fixture.tasks, 0, pid, tid);
    assert_non_null(task);
    return task;
}

static struct thread *thread_of(const struct perf_task *task) {
    return profile_thread_at(&fixture.profile, task->thread);
}

static struct process *process_of(const struct perf_task *task) {
    struct thread *thread = thread_of(task);
    assert_false(process_is_none(thread->process));
    return profile_process_at(&fixture.profile, thread->process);
}

static void add_sample(struct perf_task *task, uint32_t event, int64_t time_ns) {
    struct perf_series *series = perf_tasks_series(&fixture.tasks, task, event, false);
    assert_non_null(series);
    samples_add(&series->samples, time_ns, stack_none(), 1);
    task->has_samples = true;
}

/* Finishes with the samples of that event; ID_NONE: of none. */
static void finish(uint32_t event) {
    struct perf_events events;
    perf_events_init(&events, NULL, &fixture.failure);
    for (uint32_t i = 0; i < EVENT_COUNT; i++) {
        perf_events_add(&events, TEXT(""), &(struct perf_event_description){0}, (struct position){0});
        perf_events_at(&events, i)->treatment = EVENT_MARKERS;
    }
    if (event != ID_NONE) perf_events_at(&events, event)->treatment = EVENT_SAMPLES;
    perf_tasks_finish(&fixture.tasks, &events);
    perf_events_fini(&events);
}

static void assert_text(struct text got, const char *wanted) {
    if (!text_equal(got, text_of(wanted)))
        fail_msg("\"%.*s\" is not \"%s\"", (int)got.bytes_count, got.bytes ? got.bytes : "", wanted);
}

static void fork_task(int64_t pid, int64_t tid, struct perf_task *parent, int64_t time_ns) {
    perf_tasks_fork(&fixture.tasks, 0, pid, tid, parent, time_ns);
}

/* ---- Ids. ---- */

TEST(test_a_task_is_found_again, set_up, tear_down) {
    struct perf_task *main_task = find(7, 7), *other = find(7, 8);
    assert_ptr_not_equal(main_task, other);
    assert_ptr_equal(find(7, 7), main_task);
    assert_ptr_equal(find(7, 8), other);
    assert_ptr_equal(find(PID_UNKNOWN, 8), other); /* the tid suffices */
    assert_ptr_equal(process_of(main_task), process_of(other));
    assert_int_equal(process_of(main_task)->pid, 7);
    assert_int_equal(thread_of(other)->tid, 8);
    assert_int_equal(fixture.profile.processes.count, 1);
}

TEST(test_the_pid_is_learnt_later, set_up, tear_down) {
    struct perf_task *task = find(PID_UNKNOWN, 8);
    assert_true(process_is_none(thread_of(task)->process));
    assert_ptr_equal(find(7, 8), task);
    assert_int_equal(process_of(task)->pid, 7);
    assert_ptr_equal(find(PID_UNKNOWN, 8), task);
    assert_int_equal(fixture.profile.threads.count, 1);
}

TEST(test_a_pid_that_is_never_told, set_up, tear_down) {
    struct perf_task *a = find(PID_UNKNOWN, 8), *b = find(-1, 9), *c = find(3, 3);
    finish(ID_NONE);
    assert_int_equal(process_of(a)->pid, PID_UNKNOWN);
    assert_text(process_of(a)->name, "unknown pid");
    assert_text(process_of(a)->pid_text, "unknown pid");
    assert_ptr_equal(process_of(b), process_of(a));
    assert_int_equal(process_of(c)->pid, 3);
    assert_int_equal(fixture.profile.processes.count, 2);
}

TEST(test_ids_that_tell_their_pid, set_up, tear_down) {
    struct perf_task *idle = find(PID_UNKNOWN, 0), *unknown = find(PID_UNKNOWN, -1);
    assert_int_equal(process_of(idle)->pid, 0);
    assert_int_equal(process_of(unknown)->pid, -1);
    assert_ptr_equal(find(0, 0), idle);
    assert_ptr_equal(find(-1, -1), unknown);
    perf_tasks_rename(&fixture.tasks, unknown, TEXT(":-1"), 5);
    assert_text(thread_of(unknown)->name, "unknown");
    perf_tasks_rename(&fixture.tasks, idle, TEXT("swapper"), 5);
    assert_text(thread_of(idle)->name, "swapper");
}

TEST(test_another_pid_is_another_task, set_up, tear_down) {
    struct perf_task *first = find(7, 8), *second = find(9, 8), *third = find(7, 8);
    assert_ptr_not_equal(second, first);
    assert_ptr_not_equal(third, first);
    assert_int_equal(thread_of(first)->generation, 0);
    assert_int_equal(thread_of(second)->generation, 0); /* the first with this pid */
    assert_int_equal(thread_of(third)->generation, 1);
    assert_int_equal(process_of(first)->pid, 7);
    assert_int_equal(process_of(second)->pid, 9);
    assert_int_equal(process_of(third)->pid, 7);
}

TEST(test_a_guest_is_apart, set_up, tear_down) {
    struct perf_task *host = find(1, 1), *guest = perf_tasks_find(&fixture.tasks, 5000, 1, 1);
    assert_non_null(guest);
    assert_ptr_not_equal(guest, host);
    assert_ptr_equal(perf_tasks_find(&fixture.tasks, 5000, PID_UNKNOWN, 1), guest);
    assert_ptr_not_equal(perf_tasks_find(&fixture.tasks, 5001, 1, 1), guest);
    assert_ptr_not_equal(process_of(guest), process_of(host));
    assert_text(process_of(guest)->pid_text, "1 (VM 5000)");
    assert_text(process_of(host)->pid_text, ""); /* profile_finish sets it */
    assert_int_equal(thread_of(guest)->generation, 0);
}

/* ---- Lives. ---- */

TEST(test_a_fork_names_and_starts_the_child, set_up, tear_down) {
    struct perf_task *parent = find(7, 7);
    perf_tasks_rename(&fixture.tasks, parent, TEXT("shell"), 1);
    fork_task(8, 8, parent, 100);
    struct perf_task *child = find(8, 8);
    assert_text(thread_of(child)->name, "shell");
    assert_int_equal(thread_of(child)->start_ns, 100);
    assert_int_equal(process_of(child)->start_ns, 100);
    assert_int_equal(process_of(child)->generation, 0);
    fork_task(8, 9, child, 200); /* the start of a thread is not that of its process */
    assert_int_equal(thread_of(find(8, 9))->start_ns, 200);
    assert_int_equal(process_of(child)->start_ns, 100);
    perf_tasks_exit(&fixture.tasks, 0, 8, 9, 300);
    assert_int_equal(thread_of(find(8, 9))->end_ns, 300);
    perf_tasks_exit(&fixture.tasks, 0, 8, 8, 250);
    assert_int_equal(thread_of(child)->end_ns, 250);
    finish(0);
    assert_int_equal(process_of(child)->end_ns, 300); /* ends with the last of its threads, not with the main thread */
    assert_int_equal(process_of(parent)->end_ns, TIME_NONE);
    assert_int_equal(thread_of(parent)->start_ns, TIME_NONE);
    assert_int_equal(thread_of(parent)->end_ns, TIME_NONE);
}

/* If a line without samples has named a task, a later FORK record is about that task. */
TEST(test_a_fork_behind_other_records, set_up, tear_down) {
    struct perf_task *task = find(8, 8);
    fork_task(8, 8, NULL, 100);
    assert_ptr_equal(find(8, 8), task);
    assert_int_equal(thread_of(task)->start_ns, 100);
    assert_int_equal(fixture.profile.threads.count, 1);
    assert_int_equal(fixture.profile.processes.count, 1);
}

static struct perf_task *find_second_generation(int64_t pid, int64_t tid, const struct perf_task *first) {
    struct perf_task *second = find(pid, tid);
    assert_ptr_not_equal(second, first);
    assert_int_equal(thread_of(second)->generation, 1);
    return second;
}

/* An EXIT record ends a generation even if it has no samples. */
TEST(test_a_tid_is_used_again_without_samples, set_up, tear_down) {
    struct perf_task *first = find(8, 8);
    perf_tasks_exit(&fixture.tasks, 0, 8, 8, 60);
    fork_task(8, 8, NULL, 100);
    struct perf_task *second = find_second_generation(8, 8, first);
    assert_int_equal(thread_of(second)->end_ns, TIME_NONE);
}

TEST(test_a_process_is_open_while_a_thread_is, set_up, tear_down) {
    find(8, 9);
    perf_tasks_exit(&fixture.tasks, 0, 8, 8, 60);
    finish(0);
    assert_int_equal(process_of(find(8, 8))->end_ns, TIME_NONE);
}

TEST(test_a_pid_is_used_again, set_up, tear_down) {
    struct perf_task *first = find(8, 8);
    add_sample(first, 0, 50);
    perf_tasks_exit(&fixture.tasks, 0, 8, 8, 60);
    fork_task(8, 8, find(7, 7), 100);
    struct perf_task *second = find_second_generation(8, 8, first);
    assert_ptr_not_equal(process_of(second), process_of(first));
    assert_int_equal(process_of(second)->pid, 8);
    assert_int_equal(process_of(second)->generation, 1);
    assert_int_equal(process_of(second)->start_ns, 100);
    assert_int_equal(thread_of(first)->end_ns, 60);
    assert_int_equal(thread_of(second)->end_ns, TIME_NONE);
    fork_task(8, 8, NULL, 200); /* it was forked before, so this is a new one even without samples */
    assert_int_equal(thread_of(find(8, 8))->generation, 2);
    assert_int_equal(process_of(find(8, 8))->generation, 2);
}

TEST(test_a_tid_is_used_again_in_its_process, set_up, tear_down) {
    struct perf_task *main_task = find(7, 7);
    fork_task(7, 8, main_task, 100);
    struct perf_task *first = find(7, 8);
    perf_tasks_exit(&fixture.tasks, 0, 7, 8, 150);
    fork_task(7, 8, main_task, 200);
    struct perf_task *second = find_second_generation(7, 8, first);
    assert_ptr_equal(process_of(second), process_of(first));
    assert_int_equal(process_of(second)->generation, 0);
    assert_int_equal(thread_of(first)->end_ns, 150);
    assert_int_equal(thread_of(second)->end_ns, TIME_NONE);
}

TEST(test_exit_of_an_unknown_task, set_up, tear_down) {
    perf_tasks_exit(&fixture.tasks, 0, 8, 9, 100);
    assert_int_equal(thread_of(find(8, 9))->end_ns, 100);
    assert_int_equal(process_of(find(8, 9))->pid, 8);
}

/* Adding one of a million generations must not walk the earlier ones. */
TEST(test_many_generations, set_up, tear_down) {
    enum { GENERATION_COUNT = 20000 };
    for (int i = 0; i < GENERATION_COUNT; i++) find(1 + i % 2, 8);
    assert_int_equal(thread_of(find(2, 8))->generation, GENERATION_COUNT / 2 - 1);
    for (int i = 0; i < GENERATION_COUNT; i++) fork_task(9, 9, NULL, i);
    assert_int_equal(thread_of(find(9, 9))->generation, GENERATION_COUNT - 1);
    assert_int_equal(process_of(find(9, 9))->generation, GENERATION_COUNT - 1);
}

/* ---- Names. ---- */

TEST(test_renames, set_up, tear_down) {
    struct perf_task *task = find(7, 7);
    perf_tasks_rename(&fixture.tasks, task, TEXT("perf"), 10);
    perf_tasks_rename(&fixture.tasks, task, TEXT("app"), 20); /* no sample yet */
    assert_int_equal(thread_of(task)->markers.count, 0);
    add_sample(task, 0, 30);
    perf_tasks_rename(&fixture.tasks, task, TEXT("app"), 40); /* the same name */
    assert_int_equal(thread_of(task)->markers.count, 0);
    perf_tasks_rename(&fixture.tasks, task, TEXT("worker"), 50);
    assert_text(thread_of(task)->name, "worker");
    assert_int_equal(thread_of(task)->markers.count, 1);
    const struct marker *marker = column_at(&thread_of(task)->markers, 0);
    assert_int_equal(marker->start_ns, 50);
    assert_int_equal(marker->end_ns, 50);
    assert_int_equal(marker->phase, MARKER_INSTANT);
    assert_text(strings_text(&fixture.profile.strings, marker->name), "Renamed");
    assert_text(strings_text(&fixture.profile.strings, value_of(&fixture.profile, marker, 0).string), "app");
    assert_text(strings_text(&fixture.profile.strings, value_of(&fixture.profile, marker, 1).string), "worker");
    const struct marker_schema *schema = column_at(&fixture.profile.marker_schemas, marker->schema);
    assert_text(schema->name, "Renamed");
    assert_int_equal(schema->field_count, 2);
}

/* ---- Samples. ---- */

TEST(test_only_the_chosen_event_is_taken, set_up, tear_down) {
    struct perf_task *a = find(7, 7), *b = find(7, 8), *c = find(7, 9);
    for (int64_t i = 0; i < 10; i++) {
        add_sample(a, 1, i);
        add_sample(a, 2, 100 + i);
        add_sample(b, 2, 200 + i);
        add_sample(c, 1, 300 + i);
    }
    assert_ptr_equal(perf_tasks_series(&fixture.tasks, a, 1, false), perf_tasks_series(&fixture.tasks, a, 1, false));
    finish(2);
    assert_int_equal(samples_count(&thread_of(a)->samples), 10);
    assert_int_equal(samples_count(&thread_of(b)->samples), 10);
    assert_int_equal(samples_count(&thread_of(c)->samples), 0);
    for (size_t i = 0; i < 10; i++) {
        assert_int_equal(samples_at(&thread_of(a)->samples, i)->time_ns, 100 + (int64_t)i);
        assert_int_equal(samples_at(&thread_of(b)->samples, i)->time_ns, 200 + (int64_t)i);
    }
}

TEST(test_many_events_in_a_task, set_up, tear_down) {
    struct perf_task *task = find(7, 7);
    for (int round = 0; round < 20; round++)
        for (uint32_t event = 0; event < EVENT_COUNT; event++) add_sample(task, event, event);
    finish(3000);
    assert_int_equal(samples_count(&thread_of(task)->samples), 20);
    assert_int_equal(samples_at(&thread_of(task)->samples, 19)->time_ns, 3000);
}

int main(void) { return unit_tests_run(NULL, NULL); }
