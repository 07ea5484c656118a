/* Tests names of generated code, by the time at which the code was there. */
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "readers/code/jit_code.h"
#include "tests/support/jitdump_builder.h"
#include "tests/support/shell_command.h"
#include "tests/support/unit_test.h"

enum { PID = 77, CODE = 0x1000, MOVED = 0x9000 };

static struct {
    struct temp_folder folder;
    struct failure failure;
    struct jit jit;
    struct dump dump;
} test;

static const char *path_of(const char *name) { return temp_folder_file(&test.folder, name); }

/* Writes a jitdump: "first" is at CODE from time 100 on, "second" from 200 on, and from 300 on it is at MOVED, too. */
static int set_up(void **state) {
    if (!temp_folder_init(&test.folder)) return -1;
    dump_header(&test.dump, PID, 0);
    dump_load(&test.dump, 100, CODE, 64, "first");
    dump_load(&test.dump, 200, CODE, 64, "second");
    dump_move(&test.dump, 300, CODE, MOVED, 64);
    struct text bytes = {(const char *)test.dump.bytes, test.dump.count};
    if (!file_write(path_of("jit-77.dump"), bytes)) return -1;
    const struct jit_policy policy = {.map_folder = test.folder.path, .opens_files = true};
    jit_init(&test.jit, &policy, &test.failure);
    return 0;
}

static int tear_down(void **state) {
    jit_fini(&test.jit);
    run_in_folder(&test.folder, "rm -f * && cd / && rmdir '%s'", test.folder.path);
    return 0;
}

static struct jit_process process_of(int64_t pid) {
    return (struct jit_process){
        .pid = pid, .serial = (uint64_t)pid, .changed_first_ns = INT64_MIN, .changed_last_ns = INT64_MAX};
}

static void offer(const char *name) {
    const struct jit_process process = process_of(PID);
    jit_offer(&test.jit, &process, text_of(path_of(name)));
}

/* Asserts which function is at an address at a time; NULL: none. */
static void assert_name(uint64_t address, int64_t time_ns, const char *expected, uint64_t start) {
    const struct jit_process process = process_of(PID);
    uint64_t number = jit_find(&test.jit, &process, address, time_ns);
    assert_int_equal(number != 0, expected != NULL);
    if (!expected) return;
    const struct jit_code *code = jit_code_at(&test.jit, number);
    assert_true(text_equal(code->name, text_of(expected)));
    assert_int_equal(code->address, start);
}

TEST(code_has_the_name_of_its_time, set_up, tear_down) {
    const struct jit_process other = process_of(PID + 1);
    offer("jit-77.dump");
    offer("jit-77.dump");
    assert_name(CODE + 5, 99, NULL, 0);
    assert_name(CODE + 5, 100, "first", CODE);
    assert_name(CODE + 64, 100, NULL, 0);
    assert_name(CODE + 5, 250, "second", CODE);
    assert_name(MOVED, 250, NULL, 0);
    assert_name(MOVED + 5, 300, "second", MOVED);
    assert_name(MOVED + 5, INT64_MAX, "second", MOVED);
    assert_int_equal(jit_find(&test.jit, &other, CODE + 5, 100), 0);
    for (size_t i = 0; i < JIT_NOTE_COUNT; i++) assert_int_equal(test.jit.notes[i], 0);
}

/* A caller who keeps results is told when they may no longer be right. */
TEST(moments_pass_with_what_changes, set_up, tear_down) {
    static const int64_t times_ns[] = {99, 100, 199, 200, 300, 400};
    static const uint64_t steps[] = {0, 1, 0, 1, 1, 0};
    offer("jit-77.dump");
    jit_advance(&test.jit, 50);
    assert_name(CODE, 50, NULL, 0);
    uint64_t moment = test.jit.moment;
    for (size_t i = 0; i < sizeof times_ns / sizeof *times_ns; i++) {
        jit_advance(&test.jit, times_ns[i]);
        assert_int_equal(test.jit.moment, moment + steps[i]);
        moment = test.jit.moment;
    }
    offer("jit-78.dump"); /* there is none */
    assert_int_equal(test.jit.moment, moment);
}

static void write_dump(const char *name) {
    const struct text bytes = {(const char *)test.dump.bytes, test.dump.count};
    assert_true(file_write(path_of(name), bytes));
}

/* The times of such a jitdump are those of another clock. */
TEST(code_without_times_is_there_from_the_start, set_up, tear_down) {
    dump_header(&test.dump, PID, 1);
    dump_load(&test.dump, 100, CODE, 64, "first");
    write_dump("jit-77.dump");
    offer("jit-77.dump");
    assert_name(CODE, 1, "first", CODE);
}

/* The newest code counts, whichever file has it. A perf map has no times. */
TEST(files_are_searched_together, set_up, tear_down) {
    assert_true(file_write(path_of("perf-77.map"), TEXT("1000 10 map\n4000 10 map too\n")));
    offer("jit-77.dump");
    dump_header(&test.dump, PID, 0);
    dump_load(&test.dump, 150, CODE, 64, "between");
    write_dump("jit-78.dump");
    offer("jit-78.dump");
    assert_name(CODE, 99, "map", CODE);
    assert_name(CODE, 149, "first", CODE);
    assert_name(CODE, 199, "between", CODE);
    assert_name(CODE, 200, "second", CODE);
    assert_name(0x4000, 200, "map too", 0x4000);
}

/* A perf map that the user names takes the place of another one, and not that of the jitdump beside it. */
TEST(a_named_map_leaves_the_jitdump, set_up, tear_down) {
    char map[PATH_MAX + sizeof "77="];
    assert_true(file_write(path_of("named.map"), TEXT("4000 10 named\n")));
    assert_true(file_write(path_of("perf-77.map"), TEXT("5000 10 not named\n")));
    snprintf(map, sizeof map, "77=%s", path_of("named.map"));
    const struct jit_policy policy = {
        .maps = (const char *const[]){map}, .map_count = 1, .map_folder = test.folder.path, .opens_files = true};
    jit_fini(&test.jit);
    jit_init(&test.jit, &policy, &test.failure);
    assert_name(CODE, 100, "first", CODE);
    assert_name(0x4000, 100, "named", 0x4000);
    assert_name(0x5000, 100, NULL, 0);
}

TEST(a_file_with_many_paths_is_read_once, set_up, tear_down) {
    dump_load(&test.dump, 400, CODE, 64, "");
    write_dump("jit-77.dump");
    offer("jit-77.dump");
    offer("./jit-77.dump");
    offer("././jit-77.dump");
    assert_name(CODE, 200, "second", CODE);
    assert_int_equal(test.jit.notes[JIT_NOTE_DAMAGED], 1);
}

/* In a container, a process has a pid of its own, which is in its jitdump and in the jitdump's name. */
TEST(a_jitdump_has_the_pid_in_its_name, set_up, tear_down) {
    dump_header(&test.dump, 1, 0);
    dump_load(&test.dump, 100, CODE, 64, "contained");
    assert_int_equal(remove(path_of("jit-77.dump")), 0);
    write_dump("jit-1.dump");
    write_dump("jit-78.dump");
    offer("jit-78.dump");
    assert_name(CODE, 100, NULL, 0);
    assert_int_equal(test.jit.notes[JIT_NOTE_DAMAGED], 1);
    offer("jit-1.dump");
    assert_name(CODE, 100, "contained", CODE);
}

/* ---- Forks. ---- */

static void assert_name_in(int64_t pid, uint64_t address, const char *expected) {
    const struct jit_process process = process_of(pid);
    uint64_t number = jit_find(&test.jit, &process, address, INT64_MAX);
    assert_true(text_equal(number ? jit_code_at(&test.jit, number)->name : TEXT(""), text_of(expected)));
    assert_int_equal(jit_has_files(&test.jit, &process), *expected != 0);
}

static void fork_processes(int64_t first_pid, int64_t last_pid) {
    for (int64_t pid = first_pid; pid < last_pid; pid++) {
        const struct jit_process parent = process_of(pid), child = process_of(pid + 1);
        jit_fork(&test.jit, &child, &parent);
    }
}

TEST(forked_processes_have_the_code_of_their_parents, set_up, tear_down) {
    enum { GENERATIONS = 20000 };
    assert_true(file_write(path_of("perf-79.map"), TEXT("4000 10 inherited\n5000 10 replaced\n")));
    assert_true(file_write(path_of("perf-82.map"), TEXT("5000 10 own\n")));
    fork_processes(PID, PID + GENERATIONS);
    for (int64_t pid = PID + GENERATIONS; pid > PID + 4; pid -= 17) assert_name_in(pid, 0x4000, "inherited");
    assert_name_in(81, 0x5000, "replaced");
    assert_name_in(82, 0x5000, "own");
    assert_name_in(83, 0x5000, "own");
    assert_name_in(PID + GENERATIONS, CODE, "second");
    for (size_t i = 0; i < JIT_NOTE_COUNT; i++) assert_int_equal(test.jit.notes[i], 0);
}

/* A damaged recording may say that processes have forked each other. */
TEST(no_process_is_its_own_parent, set_up, tear_down) {
    const struct jit_process first = process_of(PID + 1), second = process_of(PID + 2);
    jit_fork(&test.jit, &second, &first);
    jit_fork(&test.jit, &first, &second);
    jit_fork(&test.jit, &first, &first);
    assert_name_in(PID + 2, CODE, "");
}

/* The parent's pid belonged to another process before and after. */
TEST(files_of_other_processes_with_the_pid_of_the_parent_do_not_count, set_up, tear_down) {
    struct stat status;
    const struct jit_process child = process_of(PID + 1);
    assert_int_equal(stat(path_of("jit-77.dump"), &status), 0);
    int64_t changed_ns = status.st_mtim.tv_sec * INT64_C(1000000000) + status.st_mtim.tv_nsec;
    struct jit_process parents[] = {process_of(PID), process_of(PID)};
    parents[0].serial = 1;
    parents[0].changed_last_ns = changed_ns - 1;
    parents[1].serial = 2;
    parents[1].changed_first_ns = changed_ns + 1;
    for (size_t i = 0; i < 2; i++) {
        jit_fork(&test.jit, &child, &parents[i]);
        assert_int_equal(jit_find(&test.jit, &child, CODE, INT64_MAX), 0);
    }
    parents[1].changed_first_ns = changed_ns;
    parents[1].serial = 3;
    jit_fork(&test.jit, &child, &parents[1]);
    assert_name_in(PID + 1, CODE, "second");
}

/* Such a time does not fit into nanoseconds. */
TEST(a_file_changed_after_2262_is_that_of_no_process_before, set_up, tear_down) {
    const struct timespec times[] = {{.tv_sec = INT64_C(20000000000)}, {.tv_sec = INT64_C(20000000000)}};
    struct stat status;
    assert_int_equal(utimensat(AT_FDCWD, path_of("jit-77.dump"), times, 0), 0);
    assert_int_equal(stat(path_of("jit-77.dump"), &status), 0);
    if (status.st_mtime < INT64_MAX / 1000000000) skip(); /* some file systems have no such times */
    offer("jit-77.dump");
    assert_name(CODE, 100, "first", CODE);
    const struct jit_process child = process_of(PID + 1);
    struct jit_process parent = process_of(PID);
    parent.serial = 1;
    parent.changed_first_ns = 0;
    jit_fork(&test.jit, &child, &parent);
    assert_name_in(PID + 1, CODE, "second");
    parent.changed_last_ns = INT64_MAX - 1;
    parent.serial = 2;
    jit_fork(&test.jit, &child, &parent);
    assert_int_equal(jit_find(&test.jit, &child, CODE, INT64_MAX), 0);
}

/* ---- Call frame information. ---- */

static void assert_eh_frame(uint64_t address, int64_t time_ns, const char *expected) {
    const struct jit_process process = process_of(PID);
    uint64_t number = jit_find(&test.jit, &process, address, time_ns);
    assert_true(number && text_equal(jit_code_at(&test.jit, number)->eh_frame, text_of(expected)));
}

TEST(call_frame_information_is_that_of_the_next_code, set_up, tear_down) {
    dump_header(&test.dump, PID, 0);
    dump_unwinding(&test.dump, "replaced", 8, 0);
    dump_unwinding(&test.dump, "rules+table", 11, 6);
    dump_load(&test.dump, 100, CODE, 64, "first");
    dump_move(&test.dump, 200, CODE, MOVED, 64);
    dump_load(&test.dump, 300, CODE, 64, "second");
    write_dump("jit-77.dump");
    offer("jit-77.dump");
    assert_eh_frame(CODE, 100, "rules");
    assert_eh_frame(MOVED, 200, "rules");
    assert_eh_frame(CODE, 300, "");
    assert_int_equal(test.jit.notes[JIT_NOTE_DAMAGED], 0);
}

/* The record, of which 5 bytes are there, tells more bytes than it has, or a table that is larger than all of it. */
TEST(damaged_call_frame_information_is_left_out, set_up, tear_down) {
    static const uint64_t sizes[][2] = {{6, 0}, {UINT64_MAX, 0}, {5, 6}, {UINT64_MAX, UINT64_MAX}};
    dump_header(&test.dump, PID, 0);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        dump_unwinding(&test.dump, "right", 5, 0);
        dump_unwinding(&test.dump, "wrong", sizes[i][0], sizes[i][1]);
        dump_load(&test.dump, 100, CODE + i * 64, 64, "code");
    }
    dump_head(&test.dump, 4, 16, 0);
    write_dump("jit-77.dump");
    offer("jit-77.dump");
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) assert_eh_frame(CODE + i * 64, 100, "");
    assert_int_equal(test.jit.notes[JIT_NOTE_DAMAGED], sizeof sizes / sizeof *sizes + 1);
}

/* A process that is killed while it writes leaves part of a record. */
TEST(part_of_a_record_counts_once, set_up, tear_down) {
    test.dump.count--;
    write_dump("jit-77.dump");
    offer("jit-77.dump");
    assert_name(CODE, INT64_MAX, "second", CODE);
    assert_int_equal(test.jit.notes[JIT_NOTE_DAMAGED], 1);
}

int main(void) { return unit_tests_run(NULL, NULL); }
