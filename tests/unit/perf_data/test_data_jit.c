/* Tests names of generated code from jitdumps, by the time at which the code was there. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "readers/perf_data/data_jit.h"
#include "tests/support/jitdump_builder.h"
#include "tests/support/shell_command.h"
#include "tests/support/unit_test.h"

enum { PID = 77, CODE = 0x1000, MOVED = 0x9000 };

static struct {
    struct temp_folder folder;
    struct failure failure;
    struct data_jit jit;
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
    data_jit_init(&test.jit, "", true, &test.failure);
    return 0;
}

static int tear_down(void **state) {
    data_jit_fini(&test.jit);
    run_in_folder(&test.folder, "rm -f * && cd / && rmdir '%s'", test.folder.path);
    return 0;
}

static void offer(bool is_timed) { data_jit_offer(&test.jit, PID, text_of(path_of("jit-77.dump")), is_timed); }

/* Asserts which function is at an address according to the code's number; NULL: none. */
static void assert_name(uint64_t address, uint64_t code_number, const char *expected, uint64_t start) {
    struct data_name name;
    bool is_found = data_jit_find(&test.jit, PID, address, code_number, &name);
    assert_int_equal(is_found, expected != NULL);
    if (!expected) return;
    assert_int_equal(name.name.bytes_count, strlen(expected));
    assert_memory_equal(name.name.bytes, expected, name.name.bytes_count);
    assert_int_equal(name.start, start);
    assert_true(text_equal(name.file, TEXT("jit-77.dump")));
}

static void code_has_the_name_of_its_time(void **state) {
    offer(true);
    offer(true);
    data_jit_advance(&test.jit, 99);
    assert_int_equal(data_jit_code(&test.jit, PID, CODE), 0);
    data_jit_advance(&test.jit, 100);
    uint64_t first = data_jit_code(&test.jit, PID, CODE + 5);
    assert_int_equal(data_jit_code(&test.jit, PID + 1, CODE + 5), 0);
    assert_int_equal(data_jit_code(&test.jit, PID, CODE + 64), 0);
    data_jit_advance(&test.jit, 250);
    uint64_t second = data_jit_code(&test.jit, PID, CODE + 5);
    assert_int_equal(data_jit_code(&test.jit, PID, MOVED), 0);
    data_jit_advance(&test.jit, 10000);
    uint64_t moved = data_jit_code(&test.jit, PID, MOVED + 5);
    assert_name(CODE + 5, first, "first", CODE);
    assert_name(CODE + 5, second, "second", CODE);
    assert_name(MOVED + 5, moved, "second", MOVED);
    /* Before its time the code was not there. */
    assert_name(CODE + 5, 0, NULL, 0);
    assert_int_equal(test.jit.damaged_count, 0);
}

static void without_times_the_last_name_counts(void **state) {
    offer(false);
    data_jit_advance(&test.jit, 150);
    assert_int_equal(data_jit_code(&test.jit, PID, CODE), 0);
    assert_name(CODE + 5, 0, "second", CODE);
    assert_name(MOVED + 5, 0, "second", MOVED);
}

/* The times of such a jitdump are those of another clock. */
static void code_without_times_is_there_from_the_start(void **state) {
    dump_header(&test.dump, PID, 1);
    dump_load(&test.dump, 100, CODE, 64, "first");
    assert_true(file_write(path_of("jit-77.dump"), (struct text){(const char *)test.dump.bytes, test.dump.count}));
    offer(true);
    data_jit_advance(&test.jit, 1);
    assert_name(CODE, data_jit_code(&test.jit, PID, CODE), "first", CODE);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(code_has_the_name_of_its_time, set_up, tear_down),
        cmocka_unit_test_setup_teardown(without_times_the_last_name_counts, set_up, tear_down),
        cmocka_unit_test_setup_teardown(code_without_times_is_there_from_the_start, set_up, tear_down),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
