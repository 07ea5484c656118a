/* Storage fails while threads record. The program must continue, one line must report the failure, and no event
 * recorded before it may be lost. */
#include <pthread.h>
#include <sched.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/syscall.h>
#include <sys/uio.h>

#include "recorder/state/sampler_hooks.h"
#include "tests/support/crash_events.h"
#include "tests/support/temp_folder.h"
#include "tests/support/unit_test.h"

enum {
    THREAD_COUNT = 4,
    SMALL_CHUNK_BYTES = 4096,
    FULL_BYTES = 300 * 1024, /* capacity of the simulated disk */
    FAULT_BYTES = 256,
};

/* ---- A simulated disk: replaces functions of the C library. ---- */

static struct {
    uint64_t full_bytes;     /* 0: unlimited */
    int fallocate_error;     /* errno of fallocate on a full disk */
    uint32_t interrupted_of; /* n: all but every nth call are interrupted; 0: none */
    uint32_t call_count;
    bool has_no_fallocate;
} disk;

int fallocate(int file, int mode, off_t offset, off_t bytes_count) {
    uint32_t call = __atomic_fetch_add(&disk.call_count, 1, __ATOMIC_RELAXED);
    if (disk.interrupted_of && call % disk.interrupted_of) {
        errno = EINTR;
        return -1;
    }
    if (disk.has_no_fallocate) {
        errno = EOPNOTSUPP;
        return -1;
    }
    if (disk.full_bytes && (uint64_t)(offset + bytes_count) > disk.full_bytes) {
        errno = disk.fallocate_error;
        return -1;
    }
    return (int)syscall(SYS_fallocate, file, mode, offset, bytes_count);
}

ssize_t pwritev2(int file, const struct iovec *parts, int count, off_t offset, int flags) {
    struct stat status;
    uint64_t bytes_count = 0;
    for (int i = 0; i < count; i++) bytes_count += parts[i].iov_len;
    if (disk.full_bytes && fstat(file, &status) == 0 && (uint64_t)status.st_size + bytes_count > disk.full_bytes) {
        errno = ENOSPC;
        return -1;
    }
    return (ssize_t)syscall(SYS_pwritev2, file, parts, count, offset, (off_t)0, flags);
}

/* ---- Recording until the disk is full, and afterwards. ---- */

struct fill {
    struct crash_log *log;
    struct temp_folder folder;
    char path[PATH_MAX];
    const char *messages_path;
    struct grec_options options;
    uint64_t limit_of_files_bytes; /* limit of file sizes; 0: none */
    const char *mount_point;       /* where a small file system is mounted; NULL: nowhere */
    bool has_child;
    int stop_errno; /* expected errno */
};

struct worker {
    struct fill *fill;
    unsigned slot;
};

static void *record_all(void *context) {
    struct worker *worker = context;
    while (crash_record(worker->fill->log, worker->slot)) {
    }
    return NULL;
}

static void record_in_threads(struct fill *fill, unsigned first_slot) {
    pthread_t threads[THREAD_COUNT];
    struct worker workers[THREAD_COUNT];
    for (unsigned i = 0; i < THREAD_COUNT; i++) {
        fill->log->slots[first_slot + i].pid = (int32_t)getpid();
        workers[i] = (struct worker){fill, first_slot + i};
        CRASH_CHECK(pthread_create(&threads[i], NULL, record_all, &workers[i]) == 0);
    }
    for (unsigned i = 0; i < THREAD_COUNT; i++) pthread_join(threads[i], NULL);
}

/* Records in a child. Under the thread sanitizer the child uses one thread only, because it allows no new threads
 * after a fork. */
static void record_in_child(struct fill *fill) {
    struct worker worker = {fill, THREAD_COUNT};
    fill->log->slots[THREAD_COUNT].pid = (int32_t)getpid();
    if (CRASH_IS_TSAN)
        record_all(&worker);
    else
        record_in_threads(fill, THREAD_COUNT);
}

static void say_to(const char *path) {
    int file = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    CRASH_CHECK(file >= 0 && dup2(file, STDERR_FILENO) == STDERR_FILENO);
}

static void fill_disk(void *context) {
    struct fill *fill = context;
    struct grec_status status;
    struct rlimit limit = {fill->limit_of_files_bytes, fill->limit_of_files_bytes};
    fill->options.path = fill->path;
    fill->options.chunk_bytes = SMALL_CHUNK_BYTES;
    if (!fill->options.limit_bytes) fill->options.limit_bytes = GREC_UNLIMITED;
    say_to(fill->messages_path);
    if (limit.rlim_cur) CRASH_CHECK(setrlimit(RLIMIT_FSIZE, &limit) == 0);
    CRASH_CHECK(grec_start(&fill->options) == GREC_OK);
    crash_log_open(fill->log, 1);
    pid_t pid = fill->has_child ? fork() : -1;
    if (pid == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        record_in_child(fill);
        CRASH_CHECK(CRASH_IS_TSAN || !grec_is_recording());
        _exit(0);
    }
    record_in_threads(fill, 0);
    if (pid > 0) CRASH_CHECK(crash_wait(pid) == 0);
    grec_get_status(&status);
    CRASH_CHECK(status.is_recording == 1 && status.is_paused == 0);
    CRASH_CHECK(status.stop_errno == fill->stop_errno);
    CRASH_CHECK(grec_is_recording() == !fill->stop_errno);
    grec_pause();
    grec_resume();
    CRASH_CHECK(grec_is_recording() == !fill->stop_errno);
    grec_stop();
    grec_get_status(&status);
    CRASH_CHECK(!status.is_recording);
}

/* ---- The events in the trace. ---- */

/* Checks that the trace has all events of each thread up to the stop, from the first to the last one. The recorder
 * turns recording off a moment before it notes the stop, so each thread may have begun one more call meanwhile. */
static void check_prefix(const struct fill *fill, const struct crash_trace *trace, const struct crash_tally *tally) {
    const struct trace_header *header = crash_trace_header(trace);
    uint64_t missing_count = 0, there_count = 0;
    for (unsigned i = 0; i < 2 * THREAD_COUNT; i++) {
        const struct crash_slot *slot = &fill->log->slots[i];
        bool is_at_end = false;
        for (uint32_t number = 0; number < slot->begun_count; number++) {
            if (crash_kind_of(number) == CRASH_COUNT) continue;
            bool is_there = tally->seen[i][number];
            if (tally->seen[i][number] > 1 || (is_there && is_at_end))
                fail_msg("event %u of slot %u is there, one before is not", number, i);
            is_at_end = !is_there;
            there_count += is_there;
            missing_count += !is_there && slot->before[number] && slot->before[number] < header->stop_ticks;
        }
    }
    if (missing_count > header->lost_event_count + 2 * THREAD_COUNT)
        fail_msg("%llu events are missing, %llu are counted", (unsigned long long)missing_count,
                 (unsigned long long)header->lost_event_count);
    /* The threads must have filled more than half of the space. An event needs at most 40 bytes. */
    assert_true(there_count > trace->bytes_count / 2 / 40);
}

static void check_stop(const struct fill *fill, const struct crash_trace *trace) {
    char expected[128];
    const struct trace_header *header = crash_trace_header(trace);
    assert_int_equal(header->stop_reason, TRACE_STOP_STORAGE);
    assert_int_equal(header->stop_errno, fill->stop_errno);
    assert_int_equal(crash_trace_count(trace, "recording that stopped by itself: the file could not grow"), 1);
    snprintf(expected, sizeof expected, "the file could not grow: %s", strerrordesc_np(fill->stop_errno));
    bool is_said = false;
    for (size_t i = 0; i < trace->profile.meta.extra.count; i++) {
        const struct extra_entry *extra = column_at(&trace->profile.meta.extra, i);
        is_said |= text_equal(extra->label, TEXT("Stopped by itself")) && text_equal(extra->value, text_of(expected));
    }
    assert_true(is_said);
}

static void check_messages(const struct fill *fill) {
    char expected[PATH_MAX + 128] = "";
    char *messages = file_read(fill->messages_path, NULL);
    if (fill->stop_errno)
        snprintf(expected, sizeof expected, "gecko-recorder: recording stopped: %s cannot grow: %s\n", fill->path,
                 strerrordesc_np(fill->stop_errno));
    assert_non_null(messages);
    assert_string_equal(messages, expected);
    free(messages);
}

static void check_trace(const struct fill *fill) {
    static struct crash_tally tally;
    struct crash_trace trace;
    assert_true(crash_trace_read(&trace, fill->path));
    if (failure_is_set(&trace.failure)) fail_msg("%s", trace.failure.message);
    assert_null(profile_fault(&trace.profile));
    assert_true(ledger_is_balanced(&trace.profile.ledger));
    memset(&tally, 0, sizeof tally);
    crash_tally_add(&tally, fill->log, &trace.profile);
    assert_int_equal(tally.bad_count, 0);
    if (fill->stop_errno) {
        check_stop(fill, &trace);
        check_prefix(fill, &trace, &tally);
        assert_int_equal(crash_trace_count(&trace, "event that the recorder had no room for"),
                         crash_trace_header(&trace)->lost_event_count);
    } else {
        char fault[FAULT_BYTES];
        crash_tally_compare(&tally, fill->log, 1, 0, fault, sizeof fault);
        if (*fault) fail_msg("%s", fault);
    }
    crash_trace_fini(&trace);
}

static int mend_disk(void **state) {
    memset(&disk, 0, sizeof disk);
    return 0;
}

static void fill_and_check(struct fill *fill) {
    fill->log = crash_share(sizeof *fill->log);
    assert_true(temp_folder_init(&fill->folder));
    snprintf(fill->path, sizeof fill->path, "%s/full.trace", fill->mount_point ? fill->mount_point : fill->folder.path);
    fill->messages_path = temp_folder_file(&fill->folder, "messages");
    int status = crash_run(fill_disk, fill);
    char *messages = file_read(fill->messages_path, NULL);
    if (status != 0) fail_msg("status %d: %s", status, messages ? messages : "");
    free(messages);
    check_messages(fill);
    check_trace(fill);
    munmap(fill->log, sizeof *fill->log);
    temp_folder_fini(&fill->folder);
}

TEST(test_full_disk, NULL, mend_disk) {
    disk.full_bytes = FULL_BYTES;
    disk.fallocate_error = ENOSPC;
    fill_and_check(&(struct fill){.stop_errno = ENOSPC});
}

TEST(test_full_disk_with_helper, NULL, mend_disk) {
    disk.full_bytes = FULL_BYTES;
    disk.fallocate_error = ENOSPC;
    fill_and_check(&(struct fill){.stop_errno = ENOSPC, .options.flags = GREC_HELPER});
}

TEST(test_disk_full_before_the_limit, NULL, mend_disk) {
    disk.full_bytes = FULL_BYTES;
    disk.fallocate_error = EDQUOT;
    fill_and_check(&(struct fill){.stop_errno = EDQUOT, .options.limit_bytes = 16 << 20});
}

/* Two processes record on a full disk. Only one of them may report the failure. */
TEST(test_full_disk_of_two_processes, NULL, mend_disk) {
    disk.full_bytes = FULL_BYTES;
    disk.fallocate_error = ENOSPC;
    fill_and_check(&(struct fill){.stop_errno = ENOSPC, .has_child = true});
}

TEST(test_full_disk_without_fallocate, NULL, mend_disk) {
    disk.full_bytes = FULL_BYTES;
    disk.has_no_fallocate = true;
    fill_and_check(&(struct fill){.stop_errno = ENOSPC});
}

TEST(test_no_fallocate, NULL, mend_disk) {
    disk.has_no_fallocate = true;
    fill_and_check(&(struct fill){.stop_errno = 0});
}

TEST(test_interrupted_fallocate, NULL, mend_disk) {
    disk.interrupted_of = 3;
    fill_and_check(&(struct fill){.stop_errno = 0});
}

/* Tests the limit of file sizes. SIGXFSZ must not kill the program. */
TEST(test_limit_of_file_sizes, NULL, mend_disk) {
    fill_and_check(&(struct fill){.stop_errno = EFBIG, .limit_of_files_bytes = FULL_BYTES});
}

TEST(test_limit_of_file_sizes_without_fallocate, NULL, mend_disk) {
    disk.has_no_fallocate = true;
    fill_and_check(&(struct fill){.stop_errno = EFBIG, .limit_of_files_bytes = FULL_BYTES});
}

/* Tests a real full file system, if the test has the right to mount one. */
TEST(test_small_file_system, NULL, mend_disk) {
    struct temp_folder folder;
    assert_true(temp_folder_init(&folder));
    if (mount("tmpfs", folder.path, "tmpfs", 0, "size=1m") != 0) {
        print_message("not possible here: mounting a file system (%s)\n", strerror(errno));
        temp_folder_fini(&folder);
        skip();
    }
    struct fill fill = {.stop_errno = ENOSPC, .mount_point = folder.path};
    fill_and_check(&fill);
    umount2(folder.path, MNT_DETACH);
    temp_folder_fini(&folder);
}

/* ---- Starting. ---- */

static void start_on_full_disk(void *context) {
    const struct temp_folder *folder = context;
    const char *path = temp_folder_file(folder, "none.trace");
    disk.full_bytes = 2 * SMALL_CHUNK_BYTES;
    disk.fallocate_error = ENOSPC;
    errno = 0;
    CRASH_CHECK(grec_start(&(struct grec_options){.path = path}) == GREC_ERROR_STORAGE);
    CRASH_CHECK(errno == ENOSPC);
    CRASH_CHECK(!grec_is_recording() && temp_folder_count(folder) == 0);
    GREC_INSTANT("unrecorded", GREC_OTHER);
    /* On some of these disks there is enough space for the bookkeeping, but for no chunk. */
    for (disk.full_bytes = 4096; disk.full_bytes <= 128 * 1024; disk.full_bytes += 4096) {
        enum grec_error error = grec_start(&(struct grec_options){.path = path, .chunk_bytes = SMALL_CHUNK_BYTES});
        CRASH_CHECK(error == GREC_OK || error == GREC_ERROR_STORAGE);
        CRASH_CHECK(grec_is_recording() == (error == GREC_OK));
        CRASH_CHECK(temp_folder_count(folder) == (error == GREC_OK));
        GREC_INSTANT("perhaps", GREC_OTHER);
        grec_stop();
        unlink(path);
    }
    /* After that the disk has space again. */
    memset(&disk, 0, sizeof disk);
    CRASH_CHECK(grec_start(&(struct grec_options){.path = path}) == GREC_OK);
    GREC_INSTANT("recorded", GREC_OTHER);
    grec_stop();
}

TEST(test_start_on_full_disk, NULL, mend_disk) {
    struct temp_folder folder;
    struct crash_trace trace;
    assert_true(temp_folder_init(&folder));
    assert_int_equal(crash_run(start_on_full_disk, &folder), 0);
    assert_true(crash_trace_read(&trace, temp_folder_file(&folder, "none.trace")));
    assert_null(crash_trace_fault(&trace));
    assert_int_equal(profile_thread_at(&trace.profile, (thread_id){0})->markers.count, 1);
    crash_trace_fini(&trace);
    temp_folder_fini(&folder);
}

/* ---- Recording continues if the file is removed or renamed. ---- */

struct removal {
    struct temp_folder folder;
    struct fill fill;
};

static void remove_and_save(void *context) {
    struct removal *removal = context;
    const char *path = temp_folder_file(&removal->folder, "removed.trace");
    CRASH_CHECK(grec_start(&(struct grec_options){
                    .path = path, .chunk_bytes = SMALL_CHUNK_BYTES, .limit_bytes = GREC_UNLIMITED}) == GREC_OK);
    crash_log_open(removal->fill.log, 1);
    removal->fill.log->slots[THREAD_COUNT].pid = (int32_t)getpid();
    for (int i = 0; i < 1000; i++) crash_record(removal->fill.log, THREAD_COUNT);
    CRASH_CHECK(unlink(path) == 0);
    record_in_threads(&removal->fill, 0);
    CRASH_CHECK(grec_is_recording());
    CRASH_CHECK(grec_save(temp_folder_file(&removal->folder, "saved.trace")) == GREC_OK);
    grec_stop();
    CRASH_CHECK(access(path, F_OK) != 0);
}

TEST(test_removed_file, NULL, mend_disk) {
    struct removal removal = {.fill.log = crash_share(sizeof *removal.fill.log)};
    char fault[FAULT_BYTES];
    assert_true(temp_folder_init(&removal.folder));
    assert_int_equal(crash_run(remove_and_save, &removal), 0);
    const char *path = temp_folder_file(&removal.folder, "saved.trace");
    assert_true(crash_check_file(path, removal.fill.log, 1, false, fault, sizeof fault));
    if (*fault) fail_msg("%s", fault);
    munmap(removal.fill.log, sizeof *removal.fill.log);
    temp_folder_fini(&removal.folder);
}

struct closing {
    const char *path;
    uint32_t flags;
    bool is_removed; /* the trace, too */
};

/* Records far beyond the part of the file that was prepared when the descriptors were closed. Recording must continue:
 * threads open the file again, and the helper has it open in its own descriptor table. If the file is gone and there is
 * no helper, recording stops with EBADF. */
static void record_much(const struct closing *closing) {
    enum { EVENT_COUNT = 2000000, GROWN_BYTES = 4 * 1024 * 1024 };
    struct grec_status status = {0};
    if (closing->is_removed && !(closing->flags & GREC_HELPER)) {
        for (int i = 0; i < EVENT_COUNT; i++) GREC_INSTANT("behind", GREC_OTHER);
        grec_get_status(&status);
        CRASH_CHECK(status.stop_errno == EBADF);
        return;
    }
    while (status.size_bytes < GROWN_BYTES) {
        for (int i = 0; i < 1000; i++) GREC_INSTANT("behind", GREC_OTHER);
        grec_get_status(&status);
        CRASH_CHECK(status.stop_errno == 0);
    }
}

/* On a busy machine, the recorder's thread begins some time after the recording. */
static void await_helper(uint32_t flags) {
    while (flags & GREC_HELPER && !sampler_table()->has_trace_file()) usleep(1000);
}

/* Closes all descriptors, as some programs do. The program's next file then gets the number of the recorder's
 * descriptor. */
static void take_descriptors(void *context) {
    enum { OWN_BYTES = 100000, FILE_COUNT = 600 };
    const struct closing *closing = context;
    struct stat own;
    char own_path[PATH_MAX];
    int copies[FILE_COUNT];
    CRASH_CHECK(grec_start(&(struct grec_options){
                    .path = closing->path, .limit_bytes = GREC_UNLIMITED, .flags = closing->flags}) == GREC_OK);
    await_helper(closing->flags);
    GREC_INSTANT("before", GREC_OTHER);
    say_to("/dev/null");
    CRASH_CHECK(syscall(SYS_close_range, 3u, ~0u, 0u) == 0);
    if (closing->is_removed) CRASH_CHECK(unlink(closing->path) == 0);
    snprintf(own_path, sizeof own_path, "%s.own", closing->path);
    int file = open(own_path, O_RDWR | O_CREAT | O_TRUNC | O_CLOEXEC, 0600);
    CRASH_CHECK(file >= 0 && ftruncate(file, OWN_BYTES) == 0);
    for (int i = 0; i < FILE_COUNT; i++) CRASH_CHECK((copies[i] = dup(file)) >= 0);
    record_much(closing);
    grec_stop();
    CRASH_CHECK(fstat(file, &own) == 0 && own.st_size == OWN_BYTES);
    for (int i = 0; i < FILE_COUNT; i++) CRASH_CHECK(fcntl(copies[i], F_GETFD) >= 0);
}

static void run_with_closed_descriptors(uint32_t flags, bool is_removed) {
    /* The thread sanitizer's runtime needs descriptors of its own, which this test would close. */
    if (CRASH_IS_TSAN) skip();
    struct temp_folder folder;
    assert_true(temp_folder_init(&folder));
    struct closing closing = {
        .path = temp_folder_file(&folder, "closed.trace"), .flags = flags, .is_removed = is_removed};
    assert_int_equal(crash_run(take_descriptors, &closing), 0);
    temp_folder_fini(&folder);
}

TEST(test_closed_descriptors, NULL, mend_disk) { run_with_closed_descriptors(0, false); }
TEST(test_closed_descriptors_with_helper, NULL, mend_disk) { run_with_closed_descriptors(GREC_HELPER, false); }
TEST(test_closed_and_removed, NULL, mend_disk) { run_with_closed_descriptors(0, true); }
TEST(test_closed_and_removed_with_helper, NULL, mend_disk) { run_with_closed_descriptors(GREC_HELPER, true); }

/* Closes standard input, output and error, and then records. The trace must not get their numbers, or the program
 * would print into the trace. */
static void close_standard_files(void *path) {
    for (int i = 0; i < 3; i++) close(i);
    CRASH_CHECK(grec_start(&(struct grec_options){.path = path}) == GREC_OK);
    for (int i = 0; i < 3; i++) CRASH_CHECK(fcntl(i, F_GETFD) < 0);
}

TEST(test_without_standard_files, NULL, mend_disk) {
    struct temp_folder folder;
    assert_true(temp_folder_init(&folder));
    const char *path = temp_folder_file(&folder, "bare.trace");
    assert_int_equal(crash_run(close_standard_files, (void *)(uintptr_t)path), 0);
    temp_folder_fini(&folder);
}

/* Cuts the trace to nothing while it is recorded. Writing into a mapping beyond the end of its file raises SIGBUS,
 * as documented. */
static void shorten(void *path) {
    CRASH_CHECK(grec_start(&(struct grec_options){.path = path}) == GREC_OK);
    GREC_INSTANT("before", GREC_OTHER);
    CRASH_CHECK(truncate(path, 0) == 0);
    for (int i = 0; i < 100; i++) GREC_INSTANT("behind", GREC_OTHER);
}

TEST(test_shortened_file, NULL, mend_disk) {
    struct temp_folder folder;
    assert_true(temp_folder_init(&folder));
    const char *path = temp_folder_file(&folder, "short.trace");
    assert_int_equal(crash_run(shorten, (void *)(uintptr_t)path), -SIGBUS);
    temp_folder_fini(&folder);
}

int main(void) {
    crash_events_init();
    return unit_tests_run(NULL, NULL);
}
