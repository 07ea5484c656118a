/* Processes that have one pid, each in its own pid namespace, in one recording and in recordings of their own. */
#include <errno.h>
#include <sched.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include <cmocka.h>

#include "tests/support/recorder_trace.h"
#include "tests/support/wait_for_child.h"

enum { EXIT_NOT_PERMITTED = 77 };

/* Forks the first process of a new pid namespace, whose pid is 1 there. */
static pid_t fork_first_process(void) {
    bool is_permitted = unshare(CLONE_NEWPID) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWPID) == 0;
    if (!is_permitted) _exit(EXIT_NOT_PERMITTED);
    pid_t pid = fork();
    if (pid < 0) _exit(EXIT_NOT_PERMITTED);
    return pid;
}

/* Runs a function in the first process of a pid namespace. False, and the test is skipped, where that is not permitted. */
static bool run_as_first_process(void (*run)(const struct temp_folder *folder), const struct temp_folder *folder) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        pid_t first = fork_first_process();
        if (first) _exit(wait_for_child(first));
        run(folder);
        _exit(0);
    }
    int status = wait_for_child(child);
    if (status == EXIT_NOT_PERMITTED) {
        print_message("skipped: no pid namespace can be made here\n");
        return false;
    }
    assert_int_equal(status, 0);
    return true;
}

static void start_or_exit(const struct temp_folder *folder, const char *name) {
    struct grec_options options = {.path = temp_folder_file(folder, name), .flags = GREC_NO_HELPER};
    if (grec_start(&options) != GREC_OK) _exit(1);
}

/* ---- One recording. ---- */

static void record_in_nested_namespaces(const struct temp_folder *folder) {
    start_or_exit(folder, "nested.trace");
    GREC_INSTANT("outer", NULL);
    pid_t inner = fork_first_process();
    GREC_INSTANT("of both", NULL);
    if (!inner) {
        GREC_INSTANT("inner", NULL);
        grec_stop();
        _exit(getpid() == 1 ? 0 : 1);
    }
    if (wait_for_child(inner) != 0) _exit(1);
    grec_stop();
}

static void test_one_recording(void **state) {
    struct recorded recorded;
    const struct thread *outer = NULL, *inner = NULL;
    if (!run_as_first_process(record_in_nested_namespaces, *state)) return;
    recorded_read(&recorded, temp_folder_file(*state, "nested.trace"));
    assert_nothing_lost(&recorded);
    find_marker(&recorded.profile, "outer", &outer);
    find_marker(&recorded.profile, "inner", &inner);
    assert_int_equal(count_markers_of(&recorded.profile, outer, "of both"), 1);
    assert_int_equal(count_markers_of(&recorded.profile, inner, "of both"), 1);
    assert_int_not_equal(outer->process.index, inner->process.index);
    assert_int_equal(profile_process_at(&recorded.profile, outer->process)->pid, 1);
    assert_int_equal(profile_process_at(&recorded.profile, inner->process)->pid, 1);
    /* Each thread has a number of its own. */
    assert_int_equal(recorded.header.next_thread_uid, 3);
    recorded_fini(&recorded);
}

/* ---- Recordings of their own. ---- */

/* A child that names a path leaves its parent's recording, whose file keeps its name. */
static void start_anew_in_nested_namespace(const struct temp_folder *folder) {
    start_or_exit(folder, "parent.trace");
    GREC_INSTANT("parent", NULL);
    pid_t inner = fork_first_process();
    if (!inner) {
        start_or_exit(folder, "child.trace");
        GREC_INSTANT("child", NULL);
        grec_stop();
        _exit(0);
    }
    if (wait_for_child(inner) != 0) _exit(1);
    grec_stop();
}

static void test_recordings_of_their_own(void **state) {
    struct recorded recorded;
    if (!run_as_first_process(start_anew_in_nested_namespace, *state)) return;
    recorded_read(&recorded, temp_folder_file(*state, "parent.trace"));
    assert_int_equal(count_markers(&recorded.profile, "parent"), 1);
    assert_int_equal(count_markers(&recorded.profile, "child"), 0);
    recorded_fini(&recorded);
    recorded_read(&recorded, temp_folder_file(*state, "child.trace"));
    assert_int_equal(count_markers(&recorded.profile, "parent"), 0);
    assert_int_equal(count_markers(&recorded.profile, "child"), 1);
    recorded_fini(&recorded);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, set_up_folder, tear_down_folder)

int main(void) {
    const struct CMUnitTest tests[] = {TEST(test_one_recording), TEST(test_recordings_of_their_own)};
    return cmocka_run_group_tests(tests, NULL, NULL);
}
