/* Batches within one process, so that the thread sanitizer sees their workers; and signals that arrive while they run.
 */
#include <fcntl.h>
#include <signal.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/wait.h>

#include "cli/batch/batch.h"
#include "cli/batch/batch_threads.h"
#include "cli/bus_guard.h"
#include "cli/workspace.h"
#include "libconvert/conversion.h"
#include "tests/support/temp_folder.h"
#include "tests/support/unit_test.h"

enum { TRACE_COUNT = 12 };

struct fixture {
    struct temp_folder folder;
    char output[PATH_MAX];
    struct options options;
    const char *input;
};

static int begin(void **state) {
    static struct fixture fixture;
    fixture = (struct fixture){0};
    if (!temp_folder_init(&fixture.folder)) return -1;
    snprintf(fixture.output, sizeof fixture.output, "%s", temp_folder_file(&fixture.folder, "out"));
    fixture.input = fixture.folder.path;
    fixture.options.inputs = (struct options_list){&fixture.input, 1};
    fixture.options.output_dir = fixture.output;
    fixture.options.is_quiet = true;
    *state = &fixture;
    return 0;
}

static int end(void **state) {
    struct fixture *fixture = *state;
    char command[PATH_MAX + 16];
    snprintf(command, sizeof command, "rm -rf '%s'", fixture->folder.path);
    return system(command);
}

/* Writes a trace with addresses of this test program, which are all looked up in it. */
static void write_trace(const struct fixture *fixture, int number, const char *program) {
    char name[32], trace[8 * 1024];
    snprintf(name, sizeof name, "%02d.txt", number);
    size_t used = 0;
    for (int i = 0; i < 20; i++)
        used += (size_t)snprintf(trace + used, sizeof trace - used,
                                 "app 10/10 1.%09d: 250000 cycles:P: \n\t%x fib+0x12 (%s)\n\t1200 main+0x20 (%s)\n\n",
                                 i, 0x11000 + 64 * i, program, program);
    assert_true(file_write(temp_folder_file(&fixture->folder, name), (struct text){trace, used}));
}

static int run(const struct fixture *fixture, unsigned job_count) {
    struct options options = fixture->options;
    options.convert.job_count = job_count;
    struct progress_tty bar;
    progress_tty_init(&bar, -1, false, 0);
    return batch_run(&options, &bar);
}

static char *read_profile(const struct fixture *fixture, int number) {
    char path[2 * PATH_MAX];
    struct text folder = text_base_name(text_of(fixture->folder.path));
    snprintf(path, sizeof path, "%s/%.*s/%02d.profile.json", fixture->output, (int)folder.bytes_count, folder.bytes,
             number);
    return file_read(path, NULL);
}

TEST(test_workers_that_look_up_symbols, begin, end) {
    struct fixture *fixture = *state;
    char program[PATH_MAX];
    ssize_t program_bytes = readlink("/proc/self/exe", program, sizeof program - 1);
    assert_true(program_bytes > 0);
    program[program_bytes] = '\0';
    for (int i = 0; i < TRACE_COUNT; i++) write_trace(fixture, i, program);
    fixture->options.convert.symbols = GECKO_CONVERT_SYMBOLS_ALWAYS;
    assert_int_equal(run(fixture, 4), 0);
    char *first = read_profile(fixture, 0);
    assert_non_null(first);
    for (int i = 1; i < TRACE_COUNT; i++) {
        char *profile = read_profile(fixture, i);
        assert_non_null(profile);
        assert_string_equal(profile, first);
        free(profile);
    }
    free(first);
    assert_int_equal(run(fixture, 1), 0);
    fixture->options.if_changed = "";
    assert_int_equal(run(fixture, 3), 0);
}

TEST(test_archives_feed_workers, begin, end) {
    struct fixture *fixture = *state;
    char command[3 * PATH_MAX];
    for (int i = 0; i < TRACE_COUNT; i++) write_trace(fixture, i, "/nowhere/app");
    snprintf(command, sizeof command, "cd '%s' && tar -czf all.tar.gz *.txt && rm *.txt", fixture->folder.path);
    assert_int_equal(system(command), 0);
    assert_int_equal(run(fixture, 4), 0);
    snprintf(command, sizeof command, "find '%s' -name '*.profile.json' | wc -l | grep -qx %d", fixture->output,
             TRACE_COUNT);
    assert_int_equal(system(command), 0);
    char archive[PATH_MAX + 16];
    snprintf(archive, sizeof archive, "%s.tar.zst", fixture->output);
    fixture->options.output_dir = NULL;
    fixture->options.output_archive = archive;
    assert_int_equal(run(fixture, 3), 0);
    assert_int_equal(access(archive, R_OK), 0);
}

/* ---- Threads. ---- */

struct counted_work {
    struct batch_threads *threads;
    atomic_uint started;
    atomic_uint ticked;
};

static void count(void *context, unsigned number) {
    struct counted_work *work = context;
    atomic_fetch_add(&work->started, 1);
}

static void wait_for_stop(void *context, unsigned number) {
    struct counted_work *work = context;
    atomic_fetch_add(&work->started, 1);
    if (number == 0) kill(getpid(), SIGTERM);
    while (!atomic_load(&work->threads->is_stopping)) usleep(1000);
}

static void tick(void *context) {
    struct counted_work *work = context;
    atomic_fetch_add(&work->ticked, 1);
}

TEST(test_batch_threads) {
    struct failure failure = {0};
    struct batch_threads threads;
    batch_threads_init(&threads, &failure);
    struct counted_work work = {.threads = &threads};
    assert_true(batch_threads_run(&threads, 5, count, &work, tick, &work, &failure));
    assert_int_equal(work.started, 5);
    assert_true(work.ticked > 0);
    assert_int_equal(threads.ended_by, 0);
    assert_true(batch_threads_run(&threads, 3, wait_for_stop, &work, NULL, NULL, &failure));
    assert_int_equal(work.started, 8);
    assert_int_equal(threads.ended_by, SIGTERM);
    /* After a signal, no more threads start. */
    assert_true(batch_threads_run(&threads, 3, count, &work, NULL, NULL, &failure));
    assert_int_equal(work.started, 8);
    assert_false(failure_is_set(&failure));
    batch_threads_fini(&threads);
}

TEST(test_ignored_signals_stay_ignored) {
    struct failure failure = {0};
    struct batch_threads threads;
    signal(SIGTERM, SIG_IGN);
    batch_threads_init(&threads, &failure);
    struct counted_work work = {.threads = &threads};
    kill(getpid(), SIGTERM);
    assert_true(batch_threads_run(&threads, 1, count, &work, NULL, NULL, &failure));
    assert_int_equal(threads.ended_by, 0);
    batch_threads_fini(&threads);
    signal(SIGTERM, SIG_DFL);
}

/* ---- Workspaces. ---- */

TEST(test_workspaces, begin, end) {
    struct fixture *fixture = *state;
    char path[PATH_MAX + 16], file[PATH_MAX + 32];
    snprintf(path, sizeof path, "%s/a/b/space", fixture->folder.path);
    snprintf(file, sizeof file, "%s/x", path);
    struct failure failure = {0}, second_failure = {0};
    struct workspace workspace = {0}, second;
    workspace_remove(&workspace); /* a signal may arrive before workspace_init */
    workspace_init(&workspace, path, &failure);
    assert_false(failure_is_set(&failure));
    assert_true(workspace.is_locked);
    assert_true(file_write(file, TEXT("left")));
    workspace_init(&second, path, &second_failure);
    assert_int_equal(second_failure.code, FAILURE_IO);
    assert_non_null(strstr(second_failure.message, "is in use"));
    workspace_fini(&second);
    assert_int_equal(access(file, F_OK), 0);
    workspace_fini(&workspace);
    assert_int_not_equal(access(path, F_OK), 0);
    workspace_fini(&workspace);
    assert_int_equal(mkdir(path, 0777), 0);
    assert_true(file_write(file, TEXT("left by a killed one")));
    workspace_init(&workspace, path, &failure);
    assert_false(failure_is_set(&failure));
    assert_int_not_equal(access(file, F_OK), 0);
    workspace_remove(&workspace);
    assert_false(file_write(file, TEXT("too late")));
    workspace_fini(&workspace);
}

TEST(test_workspaces_of_other_users, begin, end) {
    const struct fixture *fixture = *state;
    struct failure failure = {0};
    struct workspace workspace;
    char path[PATH_MAX];
    if (geteuid() != 0) {
        print_message("SKIPPED: only root can make folders of other users\n");
        skip();
    }
    snprintf(path, sizeof path, "%s", temp_folder_file(&fixture->folder, "work"));
    workspace_init(&workspace, path, &failure);
    struct stat status;
    assert_int_equal(stat(path, &status), 0);
    assert_int_equal(status.st_mode & 0777, 0700);
    workspace_fini(&workspace);
    assert_int_equal(mkdir(path, 0777), 0);
    assert_int_equal(chown(path, 4321, (gid_t)-1), 0);
    workspace_init(&workspace, path, &failure);
    assert_int_equal(failure.code, FAILURE_IO);
    assert_non_null(strstr(failure.message, "it belongs to another user"));
    workspace_fini(&workspace);
    assert_int_equal(rmdir(path), 0);
}

/* ---- Files that shrink. ---- */

static void nothing(void) {}

TEST(test_lost_bytes_are_told, begin, end) {
    struct fixture *fixture = *state;
    const char *path = temp_folder_file(&fixture->folder, "shrinking");
    enum { FILE_BYTES = 40000 };
    static char bytes[FILE_BYTES];
    memset(bytes, 'x', sizeof bytes);
    assert_true(file_write(path, (struct text){bytes, sizeof bytes}));
    int descriptor = open(path, O_RDWR);
    const char *map = mmap(NULL, FILE_BYTES, PROT_READ, MAP_PRIVATE, descriptor, 0);
    assert_true(map != MAP_FAILED);
    bus_guard_install(nothing, FAILURE_IO);
    const volatile sig_atomic_t *has_lost_bytes = bus_guard_begin();
    assert_int_equal(map[FILE_BYTES - 1], 'x');
    assert_int_equal(*has_lost_bytes, 0);
    assert_int_equal(ftruncate(descriptor, 10), 0);
    for (size_t i = 8192; i < FILE_BYTES; i += 1024) assert_int_equal(map[i], 0);
    assert_int_equal(*has_lost_bytes, 1);
    assert_int_equal(map[0], 'x');
    bus_guard_end();
    close(descriptor);

    char output[PATH_MAX];
    snprintf(output, sizeof output, "%s", temp_folder_file(&fixture->folder, "out.json"));
    write_trace(fixture, 1, "/nowhere/app");
    struct gecko_convert_options options = {.input_path = temp_folder_file(&fixture->folder, "01.txt"),
                                            .output_path = output};
    struct conversion_ends ends = {.input.has_lost_bytes = has_lost_bytes};
    struct gecko_convert_result result;
    assert_int_equal(conversion_run(&options, &ends, &result, NULL), GECKO_CONVERT_IO_FAILED);
    assert_non_null(strstr(result.message, "01.txt: became shorter while it was read"));
    assert_int_not_equal(access(output, F_OK), 0);
    gecko_convert_result_fini(&result);
    bus_guard_begin();
    assert_int_equal(*has_lost_bytes, 0);
    bus_guard_end();
    signal(SIGBUS, SIG_DFL);
}

int main(void) { return unit_tests_run(NULL, NULL); }
