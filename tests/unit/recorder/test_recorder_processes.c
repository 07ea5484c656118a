/* Several processes record, or try to record, into one file. Some are forked children that outlive the recording.
 * Others have the same pid, each in a pid namespace of its own. */
#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/mount.h>

#include "tests/support/recorder_trace.h"
#include "tests/support/sanitizers.h"
#include "tests/support/unit_test.h"
#include "tests/support/wait_for_child.h"

enum { EXIT_NOT_PERMITTED = 77 };

/* In memory that processes share: the pid of the last first process, as its parent saw it. NULL: not wanted. */
static pid_t *seen_first;

/* Forks the first process of a new pid namespace. Its pid is 1 there. */
static pid_t fork_first_process(void) {
    bool is_permitted = unshare(CLONE_NEWPID) == 0 || unshare(CLONE_NEWUSER | CLONE_NEWPID) == 0;
    if (!is_permitted) _exit(EXIT_NOT_PERMITTED);
    pid_t pid = fork();
    if (pid < 0) _exit(EXIT_NOT_PERMITTED);
    return pid;
}

/* Gives this process a folder /proc of its own, which shows its pid namespace alone. */
static void mount_own_proc(void) {
    bool is_mounted = unshare(CLONE_NEWNS) == 0 && mount("none", "/", NULL, MS_REC | MS_PRIVATE, NULL) == 0 &&
                      mount("proc", "/proc", "proc", 0, NULL) == 0;
    if (!is_mounted) _exit(EXIT_NOT_PERMITTED);
}

/* Runs a function in the first process of a pid namespace. Returns false and reports that the test is skipped if this
 * is not permitted. */
static bool run_as_first_process(void (*run)(const struct temp_folder *folder), const struct temp_folder *folder) {
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        pid_t first = fork_first_process();
        if (first && seen_first) *seen_first = first;
        if (first) _exit(wait_for_child(first));
        run(folder);
        _exit(0);
    }
    int status = wait_for_child(child);
    if (status == EXIT_NOT_PERMITTED) {
        print_message("skipped: no pid namespace can be made here, or not all that the test needs in it\n");
        return false;
    }
    assert_int_equal(status, 0);
    return true;
}

static void start_or_exit(const struct temp_folder *folder, const char *name) {
    struct grec_options options = {.path = temp_folder_file(folder, name)};
    if (grec_start(&options) != GREC_OK) _exit(1);
}

/* A trace in which two processes have the same pid, and the process of each marker. */
struct namesakes {
    const struct recorded *recorded;
    const struct process *first, *second;
};

static const struct process *process_of(const struct recorded *recorded, const char *marker) {
    const struct thread *thread = NULL;
    find_marker(&recorded->profile, marker, &thread);
    return profile_process_at(&recorded->profile, thread->process);
}

/* Reads the trace, which must have lost nothing. */
static void read_namesakes(struct namesakes *both, const struct temp_folder *folder, const char *name,
                           const char *first_marker, const char *second_marker, int64_t pid) {
    both->recorded = recorded_read(temp_folder_file(folder, name));
    assert_nothing_lost(both->recorded);
    both->first = process_of(both->recorded, first_marker);
    both->second = process_of(both->recorded, second_marker);
    assert_ptr_not_equal(both->first, both->second);
    assert_int_equal(both->first->pid, pid);
    assert_int_equal(both->second->pid, pid);
}

/* ---- Processes with the same pid in one recording. ---- */

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

TEST(test_one_recording, set_up_folder, tear_down_folder) {
    const struct thread *outer = NULL, *inner = NULL;
    if (!run_as_first_process(record_in_nested_namespaces, *state)) return;
    struct namesakes both;
    read_namesakes(&both, *state, "nested.trace", "outer", "inner", 1);
    find_marker(&both.recorded->profile, "outer", &outer);
    find_marker(&both.recorded->profile, "inner", &inner);
    assert_int_equal(count_markers_of(&both.recorded->profile, outer, "of both"), 1);
    assert_int_equal(count_markers_of(&both.recorded->profile, inner, "of both"), 1);
    /* Each thread has a different number. */
    assert_int_equal(both.recorded->header.next_thread_uid, 3);
}

/* The process that joins is the first of its pid namespace, as in a container. */
static void join_from_nested_namespace(const struct temp_folder *folder) {
    pid_t inner = fork_first_process();
    if (!inner) {
        while (grec_join(temp_folder_file(folder, "joined.trace")) != GREC_OK) usleep(1000);
        GREC_INSTANT("inner", NULL);
        grec_stop();
        _exit(0);
    }
    start_or_exit(folder, "joined.trace");
    GREC_INSTANT("outer", NULL);
    if (wait_for_child(inner) != 0) _exit(1);
    grec_stop();
}

TEST(test_join_from_a_container, set_up_folder, tear_down_folder) {
    if (!run_as_first_process(join_from_nested_namespace, *state)) return;
    struct namesakes both;
    read_namesakes(&both, *state, "joined.trace", "outer", "inner", 1);
}

/* Waits until the sampler has looked at all threads twice. */
static void await_two_rounds(void) {
    for (int i = 0; i < 2; i++)
        while (grec_wait_for_sampling() != GREC_OK) continue;
}

/* As `unshare --pid --mount-proc --fork` and containers do it. The outer process is the first of a namespace, too. */
static void join_with_own_proc(const struct temp_folder *folder) {
    const char *path = temp_folder_file(folder, "joined.trace");
    uint32_t flags = IS_SANITIZED ? 0 : GREC_SAMPLER; /* children of sanitized programs start no threads */
    pid_t inner = fork_first_process();
    if (!inner) {
        mount_own_proc();
        while (grec_join(path) != GREC_OK) continue; /* at the first moment at which it can */
        GREC_INSTANT("inner", NULL);
        if (flags & GREC_SAMPLER) await_two_rounds();
        exit(0);
    }
    if (grec_start(&(struct grec_options){.path = path, .flags = flags}) != GREC_OK) _exit(1);
    GREC_INSTANT("outer", NULL);
    int status = wait_for_child(inner);
    if (status) _exit(status);
    grec_stop();
}

/* The sampler reads the memory of its process from /proc, in its first round. */
static bool knows_memory(const struct profile *profile, const struct process *process) {
    for (size_t i = 0; i < profile->counters.count; i++) {
        const struct counter *counter = column_at(&profile->counters, i);
        bool is_memory = text_equal(counter->name, TEXT("resident set"));
        if (is_memory && profile_process_at(profile, counter->process) == process) return true;
    }
    return false;
}

TEST(test_join_with_own_proc, set_up_folder, tear_down_folder) {
    if (!run_as_first_process(join_with_own_proc, *state)) return;
    struct namesakes both;
    read_namesakes(&both, *state, "joined.trace", "outer", "inner", 1);
    assert_true(both.first->pid_namespace && both.second->pid_namespace);
    assert_true(both.first->pid_namespace != both.second->pid_namespace);
    assert_int_equal(both.second->outer_pid, 0); /* its /proc does not show it */
    assert_true(both.second->end_ns != TIME_NONE);
    if (!IS_SANITIZED) assert_true(knows_memory(&both.recorded->profile, both.second));
}

/* ---- A pid that is used again. ---- */

enum { REUSED_PID = 4711 };

/* Forks a child with this pid. A process may choose pids in a pid namespace that it has made. */
static pid_t fork_with_pid(pid_t pid) {
    FILE *file = fopen("/proc/sys/kernel/ns_last_pid", "w");
    if (!file || fprintf(file, "%d", pid - 1) < 0 || fclose(file) != 0) _exit(EXIT_NOT_PERMITTED);
    return fork();
}

/* Each child leaves its chunk behind, and the last one must not continue in that of the first. */
static void record_two_lives(const struct temp_folder *folder) {
    static const char *const names[] = {"first life", "second life"};
    start_or_exit(folder, "lives.trace");
    for (int i = 0; i < 2; i++) {
        pid_t child = fork_with_pid(REUSED_PID);
        if (!child) {
            grec_add_named_marker(names[i], NULL, NULL, NULL, NULL, 0);
            kill(getpid(), SIGKILL);
        }
        if (wait_for_child(child) != 128 + SIGKILL || child != REUSED_PID) _exit(1);
    }
    grec_stop();
}

TEST(test_pid_used_again, set_up_folder, tear_down_folder) {
    if (!run_as_first_process(record_two_lives, *state)) return;
    struct namesakes both;
    read_namesakes(&both, *state, "lives.trace", "first life", "second life", REUSED_PID);
}

/* ---- The same process in another namespace. ---- */

static void *mark_in_second_thread(void *unused) {
    grec_thread_register("second");
    GREC_INSTANT("in the second thread", NULL);
    return unused;
}

static void record_two_threads(const struct temp_folder *folder) {
    pthread_t thread;
    start_or_exit(folder, "inner.trace");
    GREC_INSTANT("in the first thread", NULL);
    if (pthread_create(&thread, NULL, mark_in_second_thread, NULL) != 0) _exit(1);
    pthread_join(thread, NULL);
    grec_stop();
}

/* The folder /proc is that of this process's namespace, so it has the ids that this process sees. */
TEST(test_outer_ids, set_up_folder, tear_down_folder) {
    const struct recorded *recorded;
    const struct thread *first = NULL, *second = NULL;
    seen_first = mmap(NULL, sizeof *seen_first, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    assert_ptr_not_equal(seen_first, MAP_FAILED);
    if (run_as_first_process(record_two_threads, *state)) {
        recorded = recorded_read(temp_folder_file(*state, "inner.trace"));
        assert_nothing_lost(recorded);
        find_marker(&recorded->profile, "in the first thread", &first);
        find_marker(&recorded->profile, "in the second thread", &second);
        const struct process *process = profile_process_at(&recorded->profile, first->process);
        assert_int_equal(process->pid, 1);
        assert_int_equal(process->outer_pid, *seen_first);
        assert_int_equal(first->outer_tid, *seen_first);
        assert_true(second->outer_tid && second->outer_tid != second->tid && second->outer_tid != *seen_first);
    }
    munmap(seen_first, sizeof *seen_first);
    seen_first = NULL;
}

/* ---- A recording per process. ---- */

/* A child that starts a recording with a path leaves its parent's recording, whose file keeps its name. */
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

TEST(test_recordings_of_their_own, set_up_folder, tear_down_folder) {
    if (!run_as_first_process(start_anew_in_nested_namespace, *state)) return;
    const struct recorded *recorded = recorded_read(temp_folder_file(*state, "parent.trace"));
    assert_int_equal(count_markers(&recorded->profile, "parent"), 1);
    assert_int_equal(count_markers(&recorded->profile, "child"), 0);
    recorded = recorded_read(temp_folder_file(*state, "child.trace"));
    assert_int_equal(count_markers(&recorded->profile, "parent"), 0);
    assert_int_equal(count_markers(&recorded->profile, "child"), 1);
}

/* ---- A file that a child still records into. ---- */

/* A forked child that does something and then waits until the parent tells it to end. */
struct child {
    pid_t pid;
    int ready, end; /* pipes: the parent reads `ready`, and closes `end` */
};

static void wait_for_end(int end) {
    char byte;
    while (read(end, &byte, 1) < 0 && errno == EINTR) continue;
}

static struct child fork_waiting_child(void (*before)(void), void (*after)(void)) {
    int ready[2], end[2];
    assert_int_equal(pipe(ready) | pipe(end), 0);
    struct child child = {.pid = fork(), .ready = ready[0], .end = end[1]};
    assert_true(child.pid >= 0);
    if (child.pid) {
        close(ready[1]);
        close(end[0]);
        wait_for_end(child.ready);
        return child;
    }
    close(end[1]);
    if (before) before();
    close(ready[1]);
    close(ready[0]);
    wait_for_end(end[0]);
    if (after) after();
    _exit(0);
}

static void end_child(struct child *child) {
    close(child->end);
    close(child->ready);
    assert_int_equal(wait_for_child(child->pid), 0);
}

static void kill_child(struct child *child) {
    assert_int_equal(kill(child->pid, SIGKILL), 0);
    assert_int_equal(wait_for_child(child->pid), 128 + SIGKILL);
    close(child->end);
    close(child->ready);
}

static void record_before(void) { GREC_INSTANT("before", NULL); }
static void record_after(void) { GREC_INSTANT("after", NULL); }
static void record_and_stop(void) {
    GREC_INSTANT("before", NULL);
    grec_stop();
}

static enum grec_error start(const struct temp_folder *folder, const char *name, struct grec_options options) {
    errno = 0;
    if (name) options.path = temp_folder_file(folder, name);
    return grec_start(&options);
}

static struct grec_options with_limit(uint64_t mebibytes) {
    return (struct grec_options){.limit_bytes = mebibytes << 20};
}

static const struct grec_options no_options;

static void assert_recorded(const struct temp_folder *folder, const char *name, size_t before_count,
                            size_t after_count) {
    const struct recorded *recorded = recorded_read(temp_folder_file(folder, name));
    assert_nothing_lost(recorded);
    assert_int_equal(count_markers(&recorded->profile, "before"), before_count);
    assert_int_equal(count_markers(&recorded->profile, "after"), after_count);
}

static void assert_busy(const struct temp_folder *folder, const char *name) {
    assert_int_equal(start(folder, name, no_options), GREC_ERROR_STORAGE);
    assert_int_equal(errno, EBUSY);
    assert_int_equal(grec_is_recording(), 0);
}

/* Nor may a copy of another recording replace the file. */
static void assert_busy_for_copies(const struct temp_folder *folder, const char *name) {
    assert_int_equal(start(folder, "other.trace", no_options), GREC_OK);
    assert_int_equal(grec_save(temp_folder_file(folder, name)), GREC_ERROR_STORAGE);
    assert_int_equal(errno, EBUSY);
    grec_stop();
}

/* The file stays in use by the child as long as the child lives. */
TEST(test_start_over_a_living_child, set_up_folder, tear_down_folder) {
    assert_int_equal(start(*state, "same.trace", no_options), GREC_OK);
    struct child child = fork_waiting_child(record_before, record_after);
    grec_control(GREC_STOP, GREC_PROCESS);
    assert_busy(*state, "same.trace");
    assert_busy_for_copies(*state, "same.trace");
    end_child(&child);
    assert_recorded(*state, "same.trace", 1, 1);
    assert_int_equal(start(*state, "same.trace", no_options), GREC_OK);
}

/* Children that were told to stop with all others are not part of the next recording. So it must not replace the last
 * one unasked, until they have ended in any way. */
TEST(test_start_over_children_that_were_told_to_stop, set_up_folder, tear_down_folder) {
    assert_int_equal(start(*state, "same.trace", no_options), GREC_OK);
    struct child ended = fork_waiting_child(record_before, record_after);
    struct child killed = fork_waiting_child(record_before, NULL);
    grec_stop();
    assert_busy(*state, "same.trace");
    assert_busy_for_copies(*state, "same.trace");
    kill_child(&killed);
    assert_busy(*state, "same.trace");
    end_child(&ended);
    assert_recorded(*state, "same.trace", 2, 0);
    assert_int_equal(start(*state, "same.trace", no_options), GREC_OK);
    grec_stop();
    assert_recorded(*state, "same.trace", 0, 0);
}

/* The last recording can be kept under another name meanwhile. */
TEST(test_start_over_a_renamed_file, set_up_folder, tear_down_folder) {
    assert_int_equal(start(*state, "same.trace", no_options), GREC_OK);
    struct child child = fork_waiting_child(record_before, record_after);
    grec_stop();
    assert_int_equal(rename(temp_folder_file(*state, "same.trace"), temp_folder_file(*state, "kept.trace")), 0);
    assert_int_equal(start(*state, "same.trace", no_options), GREC_OK);
    end_child(&child);
    grec_stop();
    assert_recorded(*state, "kept.trace", 1, 0);
    assert_recorded(*state, "same.trace", 0, 0);
}

/* A recording that continues under another limit moves to a new file of the same name. This fails while a child
 * still records into the old file. */
TEST(test_another_limit_with_a_living_child, set_up_folder, tear_down_folder) {
    assert_int_equal(start(*state, "limit.trace", with_limit(8)), GREC_OK);
    struct child child = fork_waiting_child(record_before, record_after);
    assert_int_equal(start(*state, NULL, with_limit(4)), GREC_ERROR_STORAGE);
    assert_int_equal(errno, EBUSY);
    GREC_INSTANT("goes on", NULL);
    struct grec_status status;
    grec_get_status(&status);
    assert_int_equal(status.limit_bytes, 8 << 20);
    /* With a new name, both processes can record. */
    assert_int_equal(start(*state, "moved.trace", with_limit(4)), GREC_OK);
    end_child(&child);
    grec_stop();
    assert_recorded(*state, "limit.trace", 1, 1);
    const struct recorded *recorded = recorded_read(temp_folder_file(*state, "moved.trace"));
    assert_int_equal(count_markers(&recorded->profile, "goes on"), 1);
}

/* A child must not replace its parent's file either. It continues in its parent's recording. */
TEST(test_child_that_starts_over_its_parent, set_up_folder, tear_down_folder) {
    assert_int_equal(start(*state, "parent.trace", no_options), GREC_OK);
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        GREC_INSTANT("before", NULL);
        bool is_refused =
            start(*state, "parent.trace", no_options) == GREC_ERROR_STORAGE && errno == EBUSY && grec_is_recording();
        is_refused &= start(*state, NULL, with_limit(4)) == GREC_ERROR_STORAGE && errno == EBUSY;
        GREC_INSTANT("after", NULL);
        _exit(is_refused ? 0 : 1);
    }
    assert_int_equal(wait_for_child(child), 0);
    grec_stop();
    assert_recorded(*state, "parent.trace", 1, 1);
}

/* Servers overwrite their arguments with a title. The name of the program lies among these. */
TEST(test_child_of_a_process_with_a_title, set_up_folder, tear_down_folder) {
    assert_int_equal(start(*state, "title.trace", no_options), GREC_OK);
    GREC_INSTANT("parent", NULL);
    char first = *program_invocation_short_name;
    *program_invocation_short_name = '!';
    pid_t child = fork();
    assert_true(child >= 0);
    if (!child) {
        GREC_INSTANT("child", NULL);
        _exit(0);
    }
    *program_invocation_short_name = first;
    assert_int_equal(wait_for_child(child), 0);
    grec_stop();
    const struct recorded *recorded = recorded_read(temp_folder_file(*state, "title.trace"));
    assert_true(text_equal(process_of(recorded, "child")->name, process_of(recorded, "parent")->name));
}

/* ---- A file that no other process records into. ---- */

static void die(void) {
    GREC_INSTANT("before", NULL);
    kill(getpid(), SIGKILL);
}

static void run_another_program(void) {
    GREC_INSTANT("before", NULL);
    execl("/bin/cat", "cat", (char *)NULL);
    _exit(1);
}

/* Starting again over the same file succeeds if the child has stopped, was killed, executes another program, or was
 * never to record. */
TEST(test_start_over_children_that_do_not_record, set_up_folder, tear_down_folder) {
    assert_int_equal(start(*state, "again.trace", no_options), GREC_OK);
    struct child stopped = fork_waiting_child(record_and_stop, NULL);
    assert_int_equal(start(*state, NULL, with_limit(8)), GREC_OK);
    grec_stop();
    assert_int_equal(start(*state, "again.trace", no_options), GREC_OK);

    pid_t killed = fork();
    assert_true(killed >= 0);
    if (!killed) die();
    assert_int_equal(wait_for_child(killed), 128 + SIGKILL);
    assert_int_equal(start(*state, NULL, with_limit(8)), GREC_OK);
    grec_stop();
    assert_int_equal(start(*state, "again.trace", no_options), GREC_OK);

    /* The executed program reads from the pipe, which nobody writes to, so it waits. */
    int input[2];
    assert_int_equal(pipe2(input, O_CLOEXEC), 0);
    pid_t executed = fork();
    assert_true(executed >= 0);
    if (!executed) {
        dup2(input[0], STDIN_FILENO);
        run_another_program();
    }
    char name[64] = "";
    while (strcmp(name, "cat\n") != 0) {
        char path[64];
        snprintf(path, sizeof path, "/proc/%d/comm", executed);
        FILE *file = fopen(path, "r");
        assert_non_null(file);
        if (!fgets(name, sizeof name, file)) name[0] = '\0';
        fclose(file);
    }
    assert_int_equal(start(*state, NULL, with_limit(8)), GREC_OK);
    grec_stop();
    assert_int_equal(start(*state, "again.trace", (struct grec_options){.flags = GREC_NO_CHILDREN}), GREC_OK);
    close(input[0]);
    close(input[1]);
    assert_int_equal(wait_for_child(executed), 0);

    struct child unwanted = fork_waiting_child(record_before, NULL);
    grec_stop();
    assert_int_equal(start(*state, "again.trace", no_options), GREC_OK);
    end_child(&unwanted);
    end_child(&stopped);
}

/* ---- A child whose parent has ended before it runs. ---- */

/* A pipe whose other end the parent closes by ending; -1: children do not wait. */
static int wait_pipe[2] = {-1, -1};

static void await_end_of_parent(void) {
    char byte;
    if (wait_pipe[0] < 0) return;
    close(wait_pipe[1]);
    while (read(wait_pipe[0], &byte, 1) < 0 && errno == EINTR) continue;
    close(wait_pipe[0]);
    wait_pipe[0] = -1;
}

/* Handlers of fork run in the order of their registration, so this one runs before the recorder's. */
__attribute__((constructor(101))) static void register_wait(void) { pthread_atfork(NULL, NULL, await_end_of_parent); }

static _Noreturn void end_before_child(const struct temp_folder *folder, const int end_pipe[2]) {
    start_or_exit(folder, "outlived.trace");
    if (pipe(wait_pipe) != 0) _exit(1);
    pid_t child = fork();
    if (child < 0) _exit(1);
    if (child) exit(0);
    close(end_pipe[0]);
    GREC_INSTANT("outlives", NULL);
    exit(0);
}

TEST(test_parent_that_ends_at_once, set_up_folder, tear_down_folder) {
    int end_pipe[2];
    char byte;
    assert_int_equal(pipe(end_pipe), 0);
    pid_t parent = fork();
    assert_true(parent >= 0);
    if (!parent) end_before_child(*state, end_pipe);
    close(end_pipe[1]);
    assert_int_equal(wait_for_child(parent), 0);
    assert_int_equal(read(end_pipe[0], &byte, 1), 0); /* the child has ended */
    close(end_pipe[0]);
    const struct recorded *recorded = recorded_read(temp_folder_file(*state, "outlived.trace"));
    assert_nothing_lost(recorded);
    assert_int_equal(count_markers(&recorded->profile, "outlives"), 1);
    assert_int_equal(recorded->header.chunks_offset + recorded->header.chunk_count * recorded->header.chunk_bytes,
                     file_size_of(temp_folder_file(*state, "outlived.trace")));
}

int main(void) { return unit_tests_run(NULL, NULL); }
