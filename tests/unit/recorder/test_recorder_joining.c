/* Processes join a recording that another process has started: workers that were forked before, programs that are
 * executed, and processes that reach the trace under another path. */
#include <stdio.h>
#include <stdlib.h>

#include <fcntl.h>
#include <pthread.h>
#include <sys/file.h>
#include <sys/syscall.h>

#include "recorder/state/pool.h"
#include "tests/support/recorder_team.h"
#include "tests/support/recorder_trace.h"
#include "tests/support/unit_test.h"

#define JOIN_VARIABLE "GECKO_RECORDER_JOIN"

static const struct grec_options no_options = {0};

static void mark(const char *name) { order_mark(name); }

static const char *own_location(void) {
    static char location[GREC_LOCATION_BYTES];
    assert_int_equal(grec_location(location), GREC_OK);
    return location;
}

/* Checks that each marker is in the trace once, and all of them in different processes. */
static void assert_marked_apart(const struct recorded *recorded, const char *first, const char *second) {
    const struct thread *owners[2] = {NULL, NULL};
    find_marker(&recorded->profile, first, &owners[0]);
    find_marker(&recorded->profile, second, &owners[1]);
    assert_int_equal(count_markers(&recorded->profile, first), 1);
    assert_int_equal(count_markers(&recorded->profile, second), 1);
    assert_int_not_equal(owners[0]->process.index, owners[1]->process.index);
}

/* ---- Workers that were forked before the start. ---- */

TEST(test_worker_joins, set_up_folder, tear_down_folder) {
    struct member worker = member_fork();
    start_recording(*state, "team.trace", no_options);
    mark("first");
    assert_int_equal(member_run(&worker, order_join, own_location()), GREC_OK);
    assert_int_equal(member_run(&worker, order_join, own_location()), GREC_ERROR_STATE);
    member_run(&worker, order_mark, "worker");
    /* The worker records on when the first process has stopped, and can stop and join again. */
    char location[GREC_LOCATION_BYTES];
    strcpy(location, own_location());
    struct member other = member_fork();
    assert_int_equal(member_run(&other, order_tell_recording, NULL), 1);
    assert_int_equal(member_run(&worker, order_stop, NULL), 0);
    assert_int_equal(member_run(&worker, order_join, location), GREC_OK);
    member_run(&worker, order_mark, "worker again");
    assert_int_equal(member_end(&other), 0);
    assert_int_equal(member_end(&worker), 0);
    const struct recorded *recorded = stop_and_read_whole(*state, "team.trace");
    assert_marked_apart(recorded, "first", "worker");
    assert_int_equal(count_markers(&recorded->profile, "worker again"), 1);
}

/* A container may see the folder of the trace under another path, and knows no more than that. */
TEST(test_other_path, set_up_folder, tear_down_folder) {
    char link_path[PATH_MAX], seen_path[PATH_MAX + 16];
    struct member worker = member_fork();
    start_recording(*state, "team.trace", no_options);
    mark("first");
    snprintf(link_path, sizeof link_path, "%s.link", ((struct temp_folder *)*state)->path);
    assert_int_equal(symlink(((struct temp_folder *)*state)->path, link_path), 0);
    snprintf(seen_path, sizeof seen_path, "%s/team.trace", link_path);
    assert_int_equal(member_run(&worker, order_join, seen_path), GREC_OK);
    member_run(&worker, order_mark, "worker");
    assert_int_equal(member_end(&worker), 0);
    unlink(link_path);
    const struct recorded *recorded = stop_and_read(*state, "team.trace");
    assert_marked_apart(recorded, "first", "worker");
}

/* The process that began a recording in memory saves what all have recorded. */
TEST(test_memory, set_up_folder, tear_down_folder) {
    struct grec_options options = {.storage = GREC_STORAGE_MEMORY, .limit_bytes = 1 << 20};
    struct member worker = member_fork();
    assert_int_equal(grec_start(&options), GREC_OK);
    mark("first");
    assert_int_equal(member_run(&worker, order_join, own_location()), GREC_OK);
    member_run(&worker, order_mark, "worker");
    assert_int_equal(member_end(&worker), 0);
    assert_int_equal(grec_save(temp_folder_file(*state, "memory.trace")), GREC_OK);
    grec_stop();
    const struct recorded *recorded = recorded_read(temp_folder_file(*state, "memory.trace"));
    assert_nothing_lost(recorded);
    assert_marked_apart(recorded, "first", "worker");
}

static int tell_settings(const char *expected_path) {
    struct grec_status status;
    grec_get_status(&status);
    pthread_setname_np(pthread_self(), "unwanted");
    grec_thread_register("unwanted");
    mark("left out");
    grec_thread_register("wanted");
    mark("kept");
    return strcmp(status.path, expected_path) == 0 ? 0 : 1;
}

/* Who joins records as the others do. */
TEST(test_settings, set_up_folder, tear_down_folder) {
    struct member worker = member_fork();
    start_recording(*state, "team.trace", (struct grec_options){.threads = ",Wanted"});
    start_recording(*state, NULL, (struct grec_options){.threads = "wanted by all,wanted"});
    assert_int_equal(member_run(&worker, order_join, own_location()), GREC_OK);
    assert_int_equal(member_run(&worker, tell_settings, temp_folder_file(*state, "team.trace")), 0);
    assert_int_equal(member_end(&worker), 0);
    const struct recorded *recorded = stop_and_read(*state, "team.trace");
    assert_int_equal(count_markers(&recorded->profile, "kept"), 1);
}

/* ---- Nothing to join. ---- */

static void assert_refused(const struct member *worker, const char *location, enum grec_error error) {
    assert_int_equal(member_run(worker, order_join, location), error);
    assert_int_equal(member_run(worker, order_tell_recording, NULL), 0);
}

static void write_at(const char *path, uint64_t offset) {
    const uint64_t number = 12345;
    int file = open(path, O_WRONLY);
    assert_true(file >= 0);
    assert_int_equal(pwrite(file, &number, sizeof number, (off_t)offset), sizeof number);
    close(file);
}

TEST(test_refused, set_up_folder, tear_down_folder) {
    char location[GREC_LOCATION_BYTES];
    unsetenv(JOIN_VARIABLE);
    struct member worker = member_fork();
    const char *path = temp_folder_file(*state, "team.trace");
    assert_int_equal(grec_location(location), GREC_ERROR_STATE);
    assert_string_equal(location, "");
    assert_refused(&worker, "", GREC_ERROR_OPTIONS); /* there is no variable */
    assert_refused(&worker, "0", GREC_ERROR_OPTIONS);
    assert_refused(&worker, "nonsense", GREC_ERROR_OPTIONS);
    assert_refused(&worker, path, GREC_ERROR_STORAGE);
    assert_refused(&worker, "/dev/null", GREC_ERROR_STORAGE);
    assert_refused(&worker, "/proc/self/exe", GREC_ERROR_STORAGE);
    start_recording(*state, "team.trace", no_options);
    strcpy(location, own_location());
    write_at(path, TRACE_HEADER_BYTES + offsetof(struct pool_bookkeeping, version));
    assert_refused(&worker, location, GREC_ERROR_STATE);
    grec_stop();
    assert_refused(&worker, location, GREC_ERROR_STATE);
    assert_refused(&worker, path, GREC_ERROR_STATE);
    assert_int_equal(member_end(&worker), 0);
}

/* A trace whose processes were all killed is not continued by its path alone. */
TEST(test_killed, set_up_folder, tear_down_folder) {
    const char *path = temp_folder_file(*state, "team.trace");
    struct member starter = member_fork(), worker = member_fork();
    assert_int_equal(member_run(&starter, order_start, path), GREC_OK);
    member_run(&starter, order_mark, "killed");
    assert_int_equal(member_kill(&starter), 128 + SIGKILL);
    assert_refused(&worker, path, GREC_ERROR_STATE);
    assert_int_equal(member_end(&worker), 0);
}

/* ---- A trace that two machines have, over a network file system. ---- */

static bool needs_writable_file;

/* Replaces the C library's function. As on NFS, only those who may write get an exclusive lock. */
int flock(int file, int operation) {
    bool is_writable = (fcntl(file, F_GETFL) & O_ACCMODE) != O_RDONLY;
    if (!needs_writable_file || is_writable || !(operation & LOCK_EX)) return (int)syscall(SYS_flock, file, operation);
    errno = EBADF;
    return -1;
}

/* The other machine, whose clock is another one, can neither join nor replace the trace. */
TEST(test_another_machine, set_up_folder, tear_down_folder) {
    const char *path = temp_folder_file(*state, "team.trace");
    needs_writable_file = true;
    struct member other = member_fork();
    start_recording(*state, "team.trace", no_options);
    mark("before");
    write_at(path, TRACE_HEADER_BYTES + offsetof(struct pool_bookkeeping, machine));
    assert_refused(&other, path, GREC_ERROR_STATE);
    assert_refused(&other, own_location(), GREC_ERROR_STATE);
    assert_int_equal(member_run(&other, order_start, path), GREC_ERROR_STORAGE);
    assert_int_equal(member_run(&other, order_tell_recording, NULL), 0);
    mark("after");
    assert_int_equal(member_end(&other), 0);
    const struct recorded *recorded = stop_and_read(*state, "team.trace");
    needs_writable_file = false;
    assert_nothing_lost(recorded);
    assert_int_equal(count_markers(&recorded->profile, "before"), 1);
    assert_int_equal(count_markers(&recorded->profile, "after"), 1);
}

/* A file that was removed cannot be joined, and those who record into it go on. */
TEST(test_removed, set_up_folder, tear_down_folder) {
    char location[GREC_LOCATION_BYTES];
    const char *path = temp_folder_file(*state, "team.trace");
    struct member other = member_fork();
    start_recording(*state, "team.trace", no_options);
    struct member child = member_fork();
    strcpy(location, own_location());
    assert_int_equal(unlink(path), 0);
    assert_refused(&other, location, GREC_ERROR_STORAGE);
    member_run(&child, order_mark, "child");
    assert_int_equal(member_end(&other), 0);
    assert_int_equal(member_end(&child), 0);
    assert_int_equal(grec_save(temp_folder_file(*state, "saved.trace")), GREC_OK);
    const struct recorded *recorded = recorded_read(temp_folder_file(*state, "saved.trace"));
    assert_nothing_lost(recorded);
    assert_int_equal(count_markers(&recorded->profile, "child"), 1);
}

/* ---- Programs that are executed. ---- */

static int be_executed(void) {
    GREC_INSTANT("executed", NULL);
    return grec_is_recording();
}

static int execute(const char *unused) {
    pid_t pid = fork();
    if (!pid) {
        execl("/proc/self/exe", "executed", "child", (char *)NULL);
        _exit(127);
    }
    return wait_for_child(pid);
}

static void assert_executed_in(const struct temp_folder *folder, const char *name, size_t count) {
    const struct recorded *recorded = recorded_read(temp_folder_file(folder, name));
    assert_nothing_lost(recorded);
    assert_int_equal(count_markers(&recorded->profile, "executed"), count);
}

/* The environment follows the recording. */
TEST(test_executed, set_up_folder, tear_down_folder) {
    assert_int_equal(execute(NULL), 0);
    start_recording(*state, "one.trace", no_options);
    assert_int_equal(execute(NULL), 1);
    start_recording(*state, "two.trace", no_options);
    assert_int_equal(execute(NULL), 1);
    start_recording(*state, NULL, (struct grec_options){.limit_bytes = 8 << 20});
    assert_int_equal(execute(NULL), 1);
    /* A forked child that has stopped, and one that records for itself. */
    struct member quiet = member_fork(), other = member_fork();
    member_run(&quiet, order_stop, NULL);
    assert_int_equal(member_run(&quiet, execute, NULL), 0);
    assert_int_equal(member_run(&other, order_start, temp_folder_file(*state, "other.trace")), GREC_OK);
    assert_int_equal(member_run(&other, execute, NULL), 1);
    assert_int_equal(member_end(&quiet), 0);
    assert_int_equal(member_end(&other), 0);
    start_recording(*state, NULL, (struct grec_options){.flags = GREC_NO_CHILDREN});
    assert_int_equal(execute(NULL), 0);
    grec_stop();
    assert_int_equal(execute(NULL), 0);
    assert_executed_in(*state, "two.trace", 3);
    assert_executed_in(*state, "other.trace", 1);
    assert_int_equal(setenv("GECKO_RECORDER", "0", 1), 0);
    start_recording(*state, "one.trace", no_options);
    assert_int_equal(execute(NULL), 0);
    unsetenv("GECKO_RECORDER");
}

TEST(test_executed_in_memory, set_up_folder, tear_down_folder) {
    assert_int_equal(grec_start(&(struct grec_options){.storage = GREC_STORAGE_MEMORY, .limit_bytes = GREC_UNLIMITED}),
                     GREC_OK);
    assert_int_equal(execute(NULL), 1);
    assert_int_equal(grec_save(temp_folder_file(*state, "memory.trace")), GREC_OK);
    const struct recorded *recorded = recorded_read(temp_folder_file(*state, "memory.trace"));
    assert_int_equal(count_markers(&recorded->profile, "executed"), 1);
}

extern char **environ;

/* A thread may be looking through the array of variables while a recording starts. */
TEST(test_environment_stays_readable, set_up_folder, tear_down_folder) {
    unsetenv(JOIN_VARIABLE);
    setenv("A_VARIABLE", "a value", 1); /* the array is the C library's now */
    char **seen = environ;
    size_t count = 0;
    while (seen[count]) count++;
    start_recording(*state, "one.trace", no_options);
    const char *kept = getenv(JOIN_VARIABLE);
    assert_non_null(strstr(kept, "/one.trace"));
    for (size_t i = 0; i < count; i++) assert_ptr_equal(seen[i], environ[i]);
    assert_null(seen[count]);
    /* The program may change its environment too. */
    setenv("ANOTHER_VARIABLE", "another value", 1);
    assert_string_equal(getenv("A_VARIABLE"), "a value");
    assert_non_null(strstr(getenv(JOIN_VARIABLE), "/one.trace"));
    clearenv();
    start_recording(*state, "two.trace", no_options);
    assert_non_null(strstr(getenv(JOIN_VARIABLE), "/two.trace"));
    assert_null(getenv("A_VARIABLE"));
    /* Who still has the text that was set before reads it as it was. */
    assert_non_null(strstr(kept, "/one.trace"));
}

/* For the address sanitizer: forked processes exit in the middle of a test, which would free its memory later. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
const char *__asan_default_options(void) { return "detect_leaks=0"; }

int main(int argument_count, char **arguments) {
    if (argument_count > 1 && !strcmp(arguments[1], "child")) return be_executed();
    unsetenv(JOIN_VARIABLE);
    return unit_tests_run(NULL, NULL);
}
