/* The recorder's threads have descriptor tables of their own, so the program does not see their files. */
#include <stdio.h>
#include <stdlib.h>

#include <dirent.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/resource.h>

#include "recorder/sampler/sampled_thread.h"
#include "recorder/write/thread_registry.h"
#include "tests/support/sampler_check.h"
#include "tests/support/unit_test.h"
#include "tests/support/wait_for_child.h"

enum { ROUND_COUNT = 300, STACK_COUNT = 100 };

static void *do_nothing(void *unused) { return unused; }

/* Starts and joins a thread. New threads make the sampler open files. */
static void start_and_join_thread(void) {
    pthread_t thread;
    assert_int_equal(pthread_create(&thread, NULL, do_nothing, NULL), 0);
    pthread_join(thread, NULL);
}

static void sample_all(const struct temp_folder *folder) {
    start_sampling(folder, "files.trace", (struct grec_options){.interval_us = 100, .flags = GREC_ALL_THREADS});
    wait_rounds(2);
}

static void stop_and_check(const struct temp_folder *folder) { stop_and_read_whole(folder, "files.trace"); }

/* Returns the number of this process's descriptors that refer to files other than the trace. */
static size_t count_other_files(const struct temp_folder *folder) {
    const char *trace = temp_folder_file(folder, "files.trace");
    DIR *list = opendir("/proc/self/fd");
    struct dirent *entry;
    size_t count = 0;
    assert_non_null(list);
    while ((entry = readdir(list))) {
        char path[300], target[PATH_MAX];
        snprintf(path, sizeof path, "/proc/self/fd/%s", entry->d_name);
        ssize_t bytes_count = readlink(path, target, sizeof target - 1);
        if (bytes_count < 0) continue;
        target[bytes_count] = '\0';
        count += strcmp(target, trace) != 0;
    }
    closedir(list);
    return count;
}

TEST(test_no_file_is_seen, set_up_folder, tear_down_folder) {
    skip_under_thread_sanitizer();
    size_t before = count_other_files(*state);
    sample_all(*state);
    for (uint64_t end = atomic_load(&round_count) + ROUND_COUNT; atomic_load(&round_count) < end;) {
        start_and_join_thread();
        assert_int_equal(count_other_files(*state), before);
    }
    stop_and_check(*state);
}

/* Returns the id of the sampler's thread; 0: it is not there. */
static uint32_t find_sampler(void) {
    DIR *list = opendir("/proc/self/task");
    struct dirent *entry;
    uint32_t tid = 0;
    assert_non_null(list);
    while (!tid && (entry = readdir(list))) {
        char path[300], name[32] = "";
        snprintf(path, sizeof path, "/proc/self/task/%s/comm", entry->d_name);
        FILE *file = fopen(path, "r");
        if (file && fgets(name, sizeof name, file) && !strcmp(name, "grec-sampler\n"))
            tid = (uint32_t)atoi(entry->d_name);
        if (file) fclose(file);
    }
    closedir(list);
    return tid;
}

/* The kernel drops files of /proc/PID/task/TID when that thread ends, and a parent in wait4 may have to spin until it
 * has. So the sampler opens none of its own. */
TEST(test_no_file_of_the_samplers_own_folder, set_up_folder, tear_down_folder) {
    skip_under_thread_sanitizer();
    char files[64], own[64];
    struct dirent *entry;
    size_t count = 0;
    sample_all(*state);
    start_and_join_thread();
    wait_rounds(ROUND_COUNT);
    uint32_t tid = find_sampler();
    assert_int_not_equal(tid, 0);
    snprintf(files, sizeof files, "/proc/self/task/%u/fd", tid);
    snprintf(own, sizeof own, "/task/%u/", tid);
    DIR *list = opendir(files);
    assert_non_null(list);
    while ((entry = readdir(list))) {
        char path[400], target[PATH_MAX];
        snprintf(path, sizeof path, "%s/%s", files, entry->d_name);
        ssize_t bytes_count = readlink(path, target, sizeof target - 1);
        if (bytes_count < 0) continue;
        target[bytes_count] = '\0';
        count++;
        if (strstr(target, own)) fail_msg("%s is open", target);
    }
    closedir(list);
    assert_true(count > 1);
    stop_and_check(*state);
}

/* Each file of the program must get the lowest free number. */
TEST(test_lowest_number, set_up_folder, tear_down_folder) {
    skip_under_thread_sanitizer();
    sample_all(*state);
    int lowest = open("/dev/null", O_RDONLY | O_CLOEXEC);
    assert_true(lowest >= 0);
    for (uint64_t end = atomic_load(&round_count) + ROUND_COUNT; atomic_load(&round_count) < end;) {
        close(lowest);
        start_and_join_thread();
        assert_int_equal(open("/dev/null", O_RDONLY | O_CLOEXEC), lowest);
    }
    close(lowest);
    stop_and_check(*state);
}

/* A sampler starts while the program has a pipe open. When the program closes the write end, the reader must still
 * see the end of the file. */
TEST(test_closed_is_closed, set_up_folder, tear_down_folder) {
    skip_under_thread_sanitizer();
    int ends[2];
    char byte;
    assert_int_equal(pipe(ends), 0);
    sample_all(*state);
    alarm(HANG_SECONDS);
    close(ends[1]);
    assert_int_equal(read(ends[0], &byte, 1), 0);
    alarm(0);
    close(ends[0]);
    stop_and_check(*state);
}

/* ---- A program that may open no more files, or has changed its root directory. ---- */

static void work_here(struct busy_thread *self) {
    volatile uint64_t sum __attribute__((unused)) = 0;
    while (goes_on(self))
        for (uint64_t i = 0; i < 1000; i++) sum += i;
}

/* Runs in a process of its own and calls `change` while the sampler runs. A thread that starts after the change and
 * works must still have whole stacks in all samples. */
static void run_changed(const struct temp_folder *folder, void (*change)(const struct temp_folder *folder)) {
    struct busy_thread thread = {.name = "worker", .run = work_here};
    alarm(HANG_SECONDS);
    sample_all(folder);
    change(folder);
    busy_thread_start(&thread);
    wait_stacks_at_work(&thread, STACK_COUNT);
    grec_stop();
    busy_thread_join(&thread);
}

static void assert_whole_after(const struct temp_folder *folder, void (*change)(const struct temp_folder *folder)) {
    pid_t pid = fork();
    if (!pid) {
        run_changed(folder, change);
        _exit(0);
    }
    assert_int_equal(wait_for_child(pid), 0);
    const struct recorded *recorded = recorded_read(temp_folder_file(folder, "files.trace"));
    const struct thread *samples = need_thread(recorded, "worker");
    size_t count = 0, whole_count = 0;
    for (size_t i = 0; i < samples_count(&samples->samples); i++) {
        struct frame_list list;
        if (sample_time_ns(samples, i) <= at_work_ns(&recorded->profile)) continue;
        if (stack_is_rest(&recorded->profile, sample_stack(samples, i))) continue;
        count++;
        frame_list_take(&list, &recorded->profile, sample_stack(samples, i));
        whole_count += list.count > 2;
    }
    if (count < STACK_COUNT / 2 || whole_count < count) fail_msg("%zu of %zu samples have callers", whole_count, count);
}

static void forbid_files(const struct temp_folder *folder) {
    if (setrlimit(RLIMIT_NOFILE, &(struct rlimit){3, 3}) != 0) _exit(1);
}

TEST(test_without_room_for_files, set_up_folder, tear_down_folder) {
    skip_forks_under_sanitizers();
    assert_whole_after(*state, forbid_files);
}

static void change_root(const struct temp_folder *folder) {
    if (chroot(folder->path) != 0 || chdir("/") != 0) _exit(1);
}

TEST(test_other_root, set_up_folder, tear_down_folder) {
    skip_forks_under_sanitizers();
    if (geteuid() != 0) skip();
    assert_whole_after(*state, change_root);
}

/* Works until the thread has left some stacks, and the sampler has taken them. */
static void work_until_answered(void) {
    enum { BYTES_COUNT = 20000 };
    static volatile uint64_t sum __attribute__((unused));
    const struct sampled_thread *const *place = (const struct sampled_thread *const *)&thread_record_self->sampled;
    const struct sampled_thread *thread;
    do sum++;
    while (!(thread = __atomic_load_n(place, __ATOMIC_ACQUIRE)) ||
           __atomic_load_n(&thread->ring.read, __ATOMIC_RELAXED) < BYTES_COUNT);
}

/* The child cannot open the files that tell what threads wait in. */
TEST(test_child_with_another_root, set_up_folder, tear_down_folder) {
    skip_forks_under_sanitizers();
    if (geteuid() != 0) skip();
    pid_t pid = fork();
    if (!pid) {
        alarm(300);
        start_sampling(*state, "files.trace", (struct grec_options){.flags = GREC_ALL_THREADS});
        change_root(*state);
        pid_t child = fork();
        if (!child) {
            alarm(300);
            work_until_answered();
            _exit(0);
        }
        int status = wait_for_child(child);
        grec_stop();
        _exit(status);
    }
    assert_int_equal(wait_for_child(pid), 0);
}

/* ---- Events. ---- */

struct search {
    uint32_t tid;
    bool has_event;
};

static void find_event(struct thread_writers *writers, struct thread_record *record, void *context) {
    struct search *search = context;
    const struct sampled_thread *thread = __atomic_load_n(&record->sampled, __ATOMIC_ACQUIRE);
    if (thread && thread_registry_tid(writers) == search->tid)
        search->has_event = __atomic_load_n(&thread->clocks.has_event, __ATOMIC_ACQUIRE);
}

static bool has_event(const struct busy_thread *thread) {
    struct search search = {.tid = atomic_load(&thread->tid)};
    thread_registry_each_record(find_event, &search);
    return search.has_event;
}

/* Waits until the thread, which works, has an event or none. */
static void wait_event(const struct busy_thread *thread, bool is_wanted) {
    enum { STEP_NS = 5000000, GIVE_UP_NS = 2000000000 };
    for (uint64_t ns = 0; has_event(thread) != is_wanted; ns += STEP_NS) {
        if (ns > GIVE_UP_NS) fail_msg("an event: %d", !is_wanted);
        wait_cpu(thread, STEP_NS);
        wait_rounds(2);
    }
}

static atomic_bool is_waiting_often;

static void work_and_wait_often(struct busy_thread *self) {
    while (goes_on(self)) {
        for (volatile int i = 0; i < 1000; i++) continue;
        if (atomic_load(&is_waiting_often)) usleep(1);
    }
}

/* The kernel works for an event each time that its thread begins and ends a wait. */
TEST(test_no_event_for_a_thread_that_waits_often, set_up_folder, tear_down_folder) {
    skip_under_thread_sanitizer();
    struct busy_thread thread = {.name = "busy", .run = work_and_wait_often};
    atomic_store(&is_waiting_often, false);
    start_sampling(*state, "files.trace", (struct grec_options){.interval_us = 1000});
    wait_rounds(1);
    busy_thread_start(&thread);
    wait_stacks(&thread, 3);
    bool had_event = has_event(&thread);
    if (had_event) {
        atomic_store(&is_waiting_often, true);
        wait_event(&thread, false);
        atomic_store(&is_waiting_often, false);
        wait_event(&thread, true);
    }
    stop_and_check(*state);
    busy_thread_join(&thread);
    if (!had_event) skip(); /* the kernel refuses events */
}

int main(void) { return unit_tests_run(NULL, NULL); }
