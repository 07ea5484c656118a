/* Tests memory that processes share, with children that write to it, crash, and read. */
#include <signal.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libconvert/symbols/debug_ahead.h"
#include "libconvert/symbols/shared_sections.h"
#include "tests/support/shell_command.h"
#include "tests/support/unit_test.h"

enum { BYTES = 100000 };

static struct section_key key_of(uint64_t number) {
    return (struct section_key){.inode = number, .bytes_count = BYTES};
}

/* Runs the function in a child and returns the child's status. */
static int run_in_child(void (*run)(const struct section_key *key), uint64_t number) {
    const struct section_key key = key_of(number);
    int status;
    pid_t child = fork();
    assert_true(child >= 0);
    if (child == 0) {
        run(&key);
        _exit(0);
    }
    assert_int_equal(waitpid(child, &status, 0), child);
    return status;
}

static void publish(const struct section_key *key, bool is_good) {
    struct shared_section *section;
    char *bytes = shared_section_begin(key, &section);
    if (!bytes) _exit(1);
    memset(bytes, 'a', BYTES);
    shared_section_end(section, is_good);
}

static void publish_good(const struct section_key *key) { publish(key, true); }
static void publish_damaged(const struct section_key *key) { publish(key, false); }

static void end_meanwhile(const struct section_key *key) {
    struct shared_section *section;
    if (!shared_section_begin(key, &section)) _exit(1);
}

static void write_to(const struct section_key *key) {
    signal(SIGSEGV, SIG_DFL);
    *(volatile char *)(uintptr_t)shared_sections_find(key) = 'b';
}

TEST(sections_of_children_are_found) {
    char expected[BYTES];
    const struct section_key key = key_of(1), other = key_of(2);
    memset(expected, 'a', BYTES);
    assert_int_equal(run_in_child(publish_good, 1), 0);
    const char *found = shared_sections_find(&key);
    assert_non_null(found);
    assert_memory_equal(found, expected, BYTES);
    assert_null(shared_sections_find(&other));
}

TEST(only_the_child_that_makes_a_section_writes_to_it) {
    const struct section_key key = key_of(3);
    assert_int_equal(run_in_child(publish_good, 3), 0);
    int status = run_in_child(write_to, 3);
    assert_true(WIFSIGNALED(status) || WEXITSTATUS(status) != 0); /* sanitizers end it by exit */
    assert_int_equal(*shared_sections_find(&key), 'a');
}

TEST(what_is_damaged_or_not_finished_is_not_found) {
    const struct section_key damaged = key_of(4), unfinished = key_of(5);
    assert_int_equal(run_in_child(publish_damaged, 4), 0);
    assert_null(shared_sections_find(&damaged));
    assert_int_equal(run_in_child(end_meanwhile, 5), 0);
    assert_null(shared_sections_find(&unfinished));
}

/* What a process that was told of a library has uncompressed, another one need not uncompress. */
TEST(debug_information_is_uncompressed_ahead) {
    struct debug_ahead ahead = {.memory = NULL};
    struct debug_file file;
    struct temp_folder folder;
    assert_true(temp_folder_init(&folder));
    const char *path = temp_folder_file(&folder, "whole.so");
    run_in_folder(&folder,
                  "echo 'int twice(int x) { return 2 * x; }' > whole.c && "
                  "cc -g -gz=zlib -shared -fPIC whole.c -o whole.so");
    debug_ahead_tell(&ahead, &(struct lib){.name = TEXT("missing.so"), .path = TEXT("/missing.so")});
    debug_ahead_tell(&ahead, &(struct lib){.name = TEXT("whole.so"), .path = text_of(path)});
    debug_ahead_close(&ahead);
    debug_ahead_fini(&ahead);
    assert_true(debug_file_open_supplement(&file, NULL, path));
    assert_true(debug_file_uncompress(&file));
    assert_null(file.uncompressed);
    assert_true(debug_file_section(&file, ".debug_info").bytes_count);
    debug_file_close(&file);
    run_in_folder(&folder, "rm whole.c whole.so && cd / && rmdir '%s'", folder.path);
}

/* This is the last test, since it uses the memory up. */
TEST(there_is_an_end_of_the_memory) {
    struct shared_section *section;
    struct section_key key = {.inode = 6, .bytes_count = UINT64_MAX};
    assert_null(shared_section_begin(&key, &section));
    assert_null(shared_sections_find(&key));
    key.bytes_count = UINT64_C(64) << 20; /* as much as there is, and some of it is used */
    assert_null(shared_section_begin(&key, &section));
}

static int set_up_group(void **state) {
    (void)state;
    shared_sections_prepare(NULL);
    return 0;
}

int main(void) { return unit_tests_run(set_up_group, NULL); }
