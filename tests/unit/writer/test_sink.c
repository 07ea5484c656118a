#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <dirent.h>
#include <fcntl.h>
#include <pthread.h>
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include "tests/support/unit_test.h"
#include "writer/sink.h"

enum { MANY_BYTES = 20 * 1024 * 1024 };

static struct failure failure;
static struct chunk_list chunks;
static uint64_t written_bytes;
static char folder[64];

/* Runs each test in an empty folder of its own. */
static int begin(void **state) {
    failure_clear(&failure);
    chunk_list_init(&chunks, &failure);
    written_bytes = 12345;
    snprintf(folder, sizeof folder, "/tmp/test_sink.XXXXXX");
    return mkdtemp(folder) && chdir(folder) == 0 ? 0 : -1;
}

static size_t count_files(void) {
    size_t count = 0;
    DIR *listing = opendir(".");
    for (struct dirent *entry; (entry = readdir(listing));)
        if (strcmp(entry->d_name, ".") != 0 && strcmp(entry->d_name, "..") != 0) count++;
    closedir(listing);
    return count;
}

static int end(void **state) {
    chunk_list_fini(&chunks);
    DIR *listing = opendir(folder);
    for (struct dirent *entry; (entry = readdir(listing));)
        if (unlinkat(dirfd(listing), entry->d_name, 0) != 0) unlinkat(dirfd(listing), entry->d_name, AT_REMOVEDIR);
    closedir(listing);
    return chdir("/") == 0 && rmdir(folder) == 0 ? 0 : -1;
}

static void create_file(const char *path, const char *content, mode_t mode) {
    int fd = open(path, O_WRONLY | O_CREAT | O_EXCL, 0600);
    assert_true(fd >= 0);
    assert_int_equal(write(fd, content, strlen(content)), strlen(content));
    assert_int_equal(fchmod(fd, mode), 0);
    close(fd);
}

/* Returns the file's bytes, NUL-terminated. The caller frees them. */
static char *read_file(const char *path, size_t *bytes_count) {
    int fd = open(path, O_RDONLY);
    assert_true(fd >= 0);
    struct stat status;
    assert_int_equal(fstat(fd, &status), 0);
    *bytes_count = (size_t)status.st_size;
    char *bytes = malloc(*bytes_count + 1);
    assert_non_null(bytes);
    assert_int_equal(read(fd, bytes, *bytes_count), *bytes_count);
    bytes[*bytes_count] = '\0';
    close(fd);
    return bytes;
}

static void assert_file(const char *path, const char *expected) {
    size_t bytes_count;
    char *bytes = read_file(path, &bytes_count);
    assert_int_equal(bytes_count, strlen(expected));
    assert_string_equal(bytes, expected);
    free(bytes);
}

static mode_t mode_of(const char *path) {
    struct stat status;
    assert_int_equal(lstat(path, &status), 0);
    return status.st_mode;
}

static bool write_chunks(const char *path, unsigned thread_count, struct progress progress) {
    struct sink_written written;
    struct sink *sink = sink_open(path, NULL, thread_count, &failure);
    sink_put(sink, &chunks, progress);
    bool is_good = sink_close(sink, &written);
    written_bytes = written.bytes_count;
    return is_good;
}

static bool write_to(const char *path) { return write_chunks(path, 1, (struct progress){0}); }

static bool write_text_to(const char *text, const char *path) {
    chunk_list_append(&chunks, text, strlen(text));
    return write_to(path);
}

static void assert_failed(const char *path, enum gecko_convert_status code, const char *message) {
    assert_false(write_text_to("never seen", path));
    assert_int_equal(failure.code, code);
    assert_string_equal(failure.message, message);
    assert_null(chunks.first);
}

/* Appends bytes with a period that no buffer size is a multiple of. */
static void append_many_bytes(void) {
    static char pattern[1009];
    for (size_t i = 0; i < sizeof pattern; i++) pattern[i] = (char)('a' + i % 23);
    while (chunks.total_bytes < MANY_BYTES) {
        size_t left = MANY_BYTES - chunks.total_bytes;
        chunk_list_append(&chunks, pattern, left < sizeof pattern ? left : sizeof pattern);
        assert_false(failure_is_set(&failure));
    }
}

static void assert_many_bytes(const char *bytes, size_t bytes_count) {
    assert_int_equal(bytes_count, MANY_BYTES);
    for (size_t i = 0; i < bytes_count; i++)
        if (bytes[i] != (char)('a' + i % 1009 % 23)) fail_msg("byte %zu is wrong", i);
}

/* ---- Files. ---- */

TEST(a_new_file_appears_whole, begin, end) {
    mode_t old_mask = umask(027);
    assert_true(write_text_to("{\"a\":1}", "out.json"));
    umask(old_mask);
    assert_file("out.json", "{\"a\":1}");
    assert_int_equal(written_bytes, 7);
    assert_int_equal(mode_of("out.json"), S_IFREG | 0640);
    assert_int_equal(count_files(), 1);
    assert_null(chunks.first);
}

TEST(an_old_file_is_replaced_and_keeps_its_permissions, begin, end) {
    create_file("out.json", "old", 0604);
    struct stat before, after;
    assert_int_equal(stat("out.json", &before), 0);
    mode_t old_mask = umask(077);
    assert_true(write_text_to("new", "out.json"));
    umask(old_mask);
    assert_file("out.json", "new");
    assert_int_equal(stat("out.json", &after), 0);
    assert_int_equal(after.st_mode, S_IFREG | 0604);
    assert_true(before.st_ino != after.st_ino);
    assert_int_equal(count_files(), 1);
}

TEST(a_full_file_system_leaves_the_old_file, begin, end) {
    create_file("out.json", "old", 0644);
    append_many_bytes();
    struct rlimit old_limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old_limit), 0);
    signal(SIGXFSZ, SIG_IGN);
    struct rlimit limit = {.rlim_cur = MANY_BYTES / 2, .rlim_max = old_limit.rlim_max};
    assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
    bool is_written = write_to("out.json");
    setrlimit(RLIMIT_FSIZE, &old_limit);
    assert_false(is_written);
    assert_int_equal(failure.code, FAILURE_IO);
    assert_string_equal(failure.message, "cannot write out.json: File too large");
    assert_file("out.json", "old");
    assert_int_equal(count_files(), 1);
    assert_null(chunks.first);
}

TEST(a_path_below_a_file_is_a_failure, begin, end) {
    create_file("file", "content", 0644);
    assert_failed("file/out.json", FAILURE_IO, "cannot write file/out.json: Not a directory");
    assert_file("file", "content");
}

TEST(long_names_have_temporary_ones, begin, end) {
    char name[NAME_MAX + 1];
    memset(name, 'n', NAME_MAX);
    name[NAME_MAX] = '\0';
    assert_true(write_text_to("content", name));
    assert_file(name, "content");
    assert_int_equal(count_files(), 1);
}

TEST(a_stale_temporary_file_is_left_alone, begin, end) {
    char stale[64];
    snprintf(stale, sizeof stale, ".out.json.%ld.tmp", (long)getpid());
    create_file(stale, "stale", 0644);
    assert_true(write_text_to("new", "out.json"));
    assert_file("out.json", "new");
    assert_file(stale, "stale");
    assert_int_equal(count_files(), 2);
}

/* ---- Links. ---- */

TEST(a_link_stays_and_its_file_is_replaced, begin, end) {
    create_file("real.json", "old", 0644);
    assert_int_equal(symlink("real.json", "link.json"), 0);
    assert_true(write_text_to("new", "link.json"));
    assert_true(S_ISLNK(mode_of("link.json")));
    assert_true(S_ISREG(mode_of("real.json")));
    assert_file("real.json", "new");
}

TEST(a_link_to_nothing_gets_its_file, begin, end) {
    assert_int_equal(mkdir("folder", 0755), 0);
    assert_int_equal(symlink("second.json", "folder/first.json"), 0);
    assert_int_equal(symlink("folder/first.json", "link.json"), 0);
    assert_true(write_text_to("new", "link.json"));
    assert_true(S_ISLNK(mode_of("link.json")));
    assert_true(S_ISLNK(mode_of("folder/first.json")));
    assert_file("folder/second.json", "new");
    assert_int_equal(unlink("folder/second.json"), 0);
    assert_int_equal(unlink("folder/first.json"), 0);
}

/* Makes a folder that everybody can write to, like /tmp, with a link in it. */
static void make_shared_folder(uid_t folder_owner, const char *points_to, uid_t link_owner) {
    assert_int_equal(mkdir("shared", 0700), 0);
    assert_int_equal(symlink(points_to, "shared/link.json"), 0);
    assert_int_equal(lchown("shared/link.json", link_owner, (gid_t)-1), 0);
    assert_int_equal(chown("shared", folder_owner, (gid_t)-1), 0);
    assert_int_equal(chmod("shared", 01777), 0);
}

static void remove_shared_folder(void) {
    assert_int_equal(unlink("shared/link.json"), 0);
    assert_int_equal(rmdir("shared"), 0);
}

/* Tests the rule of protected_symlinks, which the kernel may have switched off. */
TEST(links_that_others_planted_are_not_followed, begin, end) {
    enum { STRANGER = 4321, HOST = 4322 };
    static const struct {
        uid_t folder_owner;
        uid_t link_owner;
        mode_t folder_mode;
        bool is_followed;
    } cases[] = {
        {0, STRANGER, 01777, false},   {HOST, STRANGER, 01777, false}, {HOST, HOST, 01777, true},
        {HOST, 0, 01777, true},        {STRANGER, 0, 01777, true},     {HOST, STRANGER, 0777, true},
        {HOST, STRANGER, 01775, true},
    };
    if (geteuid() != 0) {
        print_message("SKIPPED: only root can make links of other users\n");
        skip();
    }
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        create_file("victim.json", "old", 0644);
        make_shared_folder(cases[i].folder_owner, "../victim.json", cases[i].link_owner);
        assert_int_equal(chmod("shared", cases[i].folder_mode), 0);
        if (cases[i].is_followed)
            assert_true(write_text_to("new", "shared/link.json"));
        else
            assert_failed("shared/link.json", FAILURE_IO, "cannot write shared/link.json: Permission denied");
        assert_file("victim.json", cases[i].is_followed ? "new" : "old");
        assert_int_equal(count_files(), 2);
        remove_shared_folder();
        assert_int_equal(unlink("victim.json"), 0);
        failure_clear(&failure);
    }
}

TEST(planted_links_to_nothing_create_nothing, begin, end) {
    if (geteuid() != 0) {
        print_message("SKIPPED: only root can make links of other users\n");
        skip();
    }
    make_shared_folder(0, "../victim.json", 4321);
    assert_int_equal(symlink("shared/link.json", "own.json"), 0);
    assert_failed("shared/link.json", FAILURE_IO, "cannot write shared/link.json: Permission denied");
    failure_clear(&failure);
    assert_failed("own.json", FAILURE_IO, "cannot write own.json: Permission denied");
    assert_int_equal(count_files(), 2);
    remove_shared_folder();
}

/* ---- What is not a regular file. ---- */

TEST(a_fifo_is_written_directly, begin, end) {
    assert_int_equal(mkfifo("fifo", 0600), 0);
    int reading_fd = open("fifo", O_RDONLY | O_NONBLOCK);
    assert_true(reading_fd >= 0);
    assert_true(write_text_to("content", "fifo"));
    char bytes[16];
    assert_int_equal(read(reading_fd, bytes, sizeof bytes), 7);
    assert_memory_equal(bytes, "content", 7);
    close(reading_fd);
    assert_true(S_ISFIFO(mode_of("fifo")));
}

/* ---- Standard output. ---- */

/* Writes the chunks to "-" while descriptor 1 is `fd`. */
static bool write_to_standard_output(int fd) {
    fflush(stdout);
    int saved_fd = dup(STDOUT_FILENO);
    assert_true(saved_fd >= 0);
    if (fd >= 0)
        dup2(fd, STDOUT_FILENO);
    else
        close(STDOUT_FILENO);
    bool is_written = write_to("-");
    dup2(saved_fd, STDOUT_FILENO);
    close(saved_fd);
    return is_written;
}

struct pipe_reader {
    int fd;
    char *bytes;
    size_t bytes_count;
};

static void *read_pipe(void *context) {
    struct pipe_reader *reader = context;
    for (;;) {
        ssize_t result = read(reader->fd, reader->bytes + reader->bytes_count, MANY_BYTES + 1 - reader->bytes_count);
        if (result <= 0) return NULL;
        reader->bytes_count += (size_t)result;
    }
}

static void do_nothing(int signal_number) { (void)signal_number; }

/* A timer interrupts the writer repeatedly, and the pipe accepts only part of each write. */
static void assert_pipe_gets_all(int pipe_flags) {
    int ends[2];
    assert_int_equal(pipe(ends), 0);
    assert_int_equal(fcntl(ends[1], F_SETFL, pipe_flags), 0);
    struct pipe_reader reader = {.fd = ends[0], .bytes = malloc(MANY_BYTES + 1)};
    assert_non_null(reader.bytes);
    struct sigaction action = {.sa_handler = do_nothing}, old_action;
    sigaction(SIGALRM, &action, &old_action);
    sigset_t alarms;
    sigemptyset(&alarms);
    sigaddset(&alarms, SIGALRM);
    pthread_sigmask(SIG_BLOCK, &alarms, NULL);
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, read_pipe, &reader), 0);
    pthread_sigmask(SIG_UNBLOCK, &alarms, NULL);
    struct itimerval timer = {.it_interval.tv_usec = 200, .it_value.tv_usec = 200};
    setitimer(ITIMER_REAL, &timer, NULL);
    append_many_bytes();
    bool is_written = write_to_standard_output(ends[1]);
    setitimer(ITIMER_REAL, &(struct itimerval){0}, NULL);
    sigaction(SIGALRM, &old_action, NULL);
    close(ends[1]);
    pthread_join(thread, NULL);
    close(ends[0]);
    assert_true(is_written);
    assert_many_bytes(reader.bytes, reader.bytes_count);
    free(reader.bytes);
}

TEST(a_nonblocking_pipe_gets_all_bytes, begin, end) { assert_pipe_gets_all(O_NONBLOCK); }

/* ---- gzip. ---- */

static bool write_with_threads(const char *path, unsigned thread_count) {
    append_many_bytes();
    return write_chunks(path, thread_count, (struct progress){0});
}

TEST(a_full_file_system_at_any_offset_leaves_the_old_gzip, begin, end) {
    enum { STEP_COUNT = 20 };
    create_file("out.json.gz", "old", 0644);
    assert_true(write_with_threads("whole.gz", 3));
    uint64_t whole_bytes = written_bytes;
    struct rlimit old_limit;
    assert_int_equal(getrlimit(RLIMIT_FSIZE, &old_limit), 0);
    signal(SIGXFSZ, SIG_IGN);
    for (unsigned i = 0; i < STEP_COUNT; i++) {
        uint64_t limit_bytes = i + 1 < STEP_COUNT ? whole_bytes * i / STEP_COUNT : whole_bytes - 1;
        struct rlimit limit = {.rlim_cur = limit_bytes, .rlim_max = old_limit.rlim_max};
        assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
        bool is_written = write_with_threads("out.json.gz", 1 + i % 3);
        setrlimit(RLIMIT_FSIZE, &old_limit);
        assert_false(is_written);
        assert_string_equal(failure.message, "cannot write out.json.gz: File too large");
        assert_file("out.json.gz", "old");
        assert_int_equal(count_files(), 2);
        assert_null(chunks.first);
        failure_clear(&failure);
    }
}

TEST(gzip_to_a_full_device_is_a_failure, begin, end) {
    assert_int_equal(symlink("/dev/full", "full.gz"), 0);
    assert_failed("full.gz", FAILURE_IO, "cannot write full.gz: No space left on device");
    failure_clear(&failure);
    append_many_bytes();
    assert_false(write_to("full.gz"));
    assert_string_equal(failure.message, "cannot write full.gz: No space left on device");
    assert_true(S_ISLNK(mode_of("full.gz")));
    assert_null(chunks.first);
}

/* ---- Progress and signals. ---- */

static bool abandon_midway(void *context, const struct gecko_convert_progress *progress) {
    size_t *counts = context;
    if (counts[0]) return true;
    counts[0] = count_files();
    sink_abandon();
    counts[1] = count_files();
    return true;
}

/* Calls sink_abandon during a write. The temporary file beside out.json must exist before and not after. */
static void abandon_while_writing(void) {
    size_t counts[2] = {0};
    struct progress_root root = {.callback = abandon_midway, .context = counts};
    append_many_bytes();
    assert_false(write_chunks("out.json", 1, progress_whole(&root)));
    assert_int_equal(counts[0], 2);
    assert_int_equal(counts[1], 1);
}

TEST(abandoning_removes_the_temporary_file, begin, end) {
    create_file("out.json", "old", 0644);
    abandon_while_writing();
    assert_int_equal(failure.code, FAILURE_IO);
    assert_string_equal(failure.message, "cannot replace out.json: No such file or directory");
    assert_file("out.json", "old");
    assert_int_equal(count_files(), 1);
}

TEST(abandoning_later_removes_nothing, begin, end) {
    assert_true(write_text_to("content", "out.json"));
    char same_name[64];
    snprintf(same_name, sizeof same_name, ".out.json.%ld.tmp", (long)getpid());
    create_file(same_name, "other", 0644);
    sink_abandon();
    assert_file("out.json", "content");
    assert_file(same_name, "other");
}

/* Writes more often than there are slots for temporary files. Each write must give its slot back, also after a
 * failure. */
TEST(every_write_gives_its_slot_back, begin, end) {
    for (int i = 0; i < 200; i++) {
        assert_true(write_text_to("content", "out.json"));
        assert_false(write_text_to("content", "missing/out.json"));
        failure_clear(&failure);
    }
    abandon_while_writing();
}

int main(void) { return unit_tests_run(NULL, NULL); }
