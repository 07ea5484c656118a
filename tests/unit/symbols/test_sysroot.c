/* Tests that files below a sysroot are found while other processes rename files. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "libconvert/symbols/sysroot.h"
#include "tests/support/shell_command.h"
#include "tests/support/unit_test.h"

static struct temp_folder folder;

static int set_up_group(void **state) { return temp_folder_init(&folder) ? 0 : -1; }

static int tear_down_group(void **state) {
    run_in_folder(&folder, "rm -rf * && cd / && rmdir '%s'", folder.path);
    return 0;
}

/* Renames a file until it is killed. */
static pid_t start_renaming(void) {
    char first[PATH_MAX], second[PATH_MAX];
    snprintf(first, sizeof first, "%s/first", folder.path);
    snprintf(second, sizeof second, "%s/second", folder.path);
    pid_t pid = fork();
    while (!pid)
        if (rename(first, second) != 0 || rename(second, first) != 0) _exit(1);
    return pid;
}

TEST(files_are_found_while_others_are_renamed) {
    /* Of 20 000 first tries, the kernel refused 14. */
    enum { FIND_COUNT = 10000 };
    char real_path[PATH_MAX];
    run_in_folder(&folder, "touch first && mkdir -p a/b lib && touch lib/file && ln -s ../../lib/file a/b/link");
    pid_t pid = start_renaming();
    assert_true(pid > 0);
    int error = 0;
    for (int i = 0; i < FIND_COUNT && !error; i++) {
        int file = sysroot_open(folder.path, "/a/b/link", real_path);
        error = file < 0 ? errno : 0;
        if (file >= 0) close(file);
    }
    kill(pid, SIGKILL);
    waitpid(pid, NULL, 0);
    assert_int_equal(error, 0);
    assert_string_equal(real_path, "/lib/file");
}

int main(void) { return unit_tests_run(set_up_group, tear_down_group); }
