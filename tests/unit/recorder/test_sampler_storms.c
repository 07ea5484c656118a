/* Samples at the highest rate while the program does things that are hard to interrupt. Nothing may hang, and no
 * data may be lost. */
#include <stdio.h>
#include <stdlib.h>

#include <errno.h>
#include <spawn.h>
#include <sys/resource.h>
#include <sys/wait.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "tests/support/recorder_workers.h"
#include "tests/support/sampler_check.h"
#include "tests/support/unit_test.h"

extern char **environ;

enum { INTERVAL_US = 100 };

static int tear_down(void **state) {
    int result = tear_down_folder(state);
    alarm(0);
    return result;
}

static int status_of(pid_t pid) {
    int status = -1;
    while (waitpid(pid, &status, 0) < 0 && errno == EINTR) {
    }
    return WIFEXITED(status) ? WEXITSTATUS(status) : 128 + WTERMSIG(status);
}

/* ---- Calls of the recorder and of malloc. ---- */

static void record_all_sorts(struct busy_thread *self) {
    static struct grec_counter counter =
        GREC_COUNTER("storms", "Other", "", NULL, GREC_COUNTER_ACCUMULATED, GREC_GRAPH_BLUE, 0);
    static struct grec_marker with_stack = GREC_MARKER("with a stack", NULL, NULL);
    for (uint64_t i = 0; goes_on(self); i++) {
        GREC_LABEL("storm", NULL);
        record_number(i);
        grec_counter_add(&counter, 1);
        grec_sample();
        grec_add_marker(&with_stack, &(struct grec_marker_options){.with_stack = 1}, NULL, 0);
    }
}

static void allocate(struct busy_thread *self) {
    enum { KEPT_COUNT = 64 };
    char *kept[KEPT_COUNT] = {NULL};
    for (size_t i = 0; goes_on(self); i++) {
        free(kept[i % KEPT_COUNT]);
        kept[i % KEPT_COUNT] = malloc(16 + i * 7919 % 5000);
        if (kept[i % KEPT_COUNT]) *kept[i % KEPT_COUNT] = 1;
    }
    for (int i = 0; i < KEPT_COUNT; i++) free(kept[i]);
}

TEST(test_calls, set_up_folder_and_alarm, tear_down) {
    skip_under_thread_sanitizer();
    struct busy_thread recording = {.name = "records", .run = record_all_sorts},
                       allocating = {.name = "allocates", .run = allocate};
    start_sampling(*state, "calls.trace", (struct grec_options){.interval_us = INTERVAL_US, .limit_bytes = 8u << 20});
    busy_thread_start(&recording);
    busy_thread_start(&allocating);
    wait_stacks(&recording, 100);
    wait_stacks(&allocating, 100);
    /* Events of the other thread may have recycled the chunks of earlier samples, so wait for new ones. */
    busy_thread_join(&recording);
    wait_stacks(&allocating, 50);
    const struct recorded *recorded = stop_and_read(*state, "calls.trace");
    busy_thread_join(&allocating);
    assert_int_equal(recorded->header.lost_event_count, 0);
    const struct thread *thread = need_thread(recorded, "allocates");
    assert_true(samples_count(&thread->samples) > 20);
}

/* ---- Objects that are loaded and unloaded. ---- */

static char object_path[PATH_MAX];

static void find_object(void) {
    ssize_t count = readlink("/proc/self/exe", object_path, sizeof object_path - 1);
    assert_true(count > 0);
    object_path[count] = '\0';
    strcpy(strrchr(object_path, '/') + 1, "walked_object.so");
}

/* The same declaration as in tests/recorder/walked_object.c. */
struct walked_call {
    int (*compare)(const void *, const void *);
    int values[16];
    int depth;
};

static int compare_numbers(const void *left, const void *right) {
    const int *a = left, *b = right;
    return (*a > *b) - (*a < *b);
}

static void call_object(void *object) {
    int (*call)(struct walked_call *, int);
    void *symbol = dlsym(object, "walked_call");
    assert_non_null(symbol);
    memcpy(&call, &symbol, sizeof call);
    struct walked_call argument = {.compare = compare_numbers};
    for (int i = 0; i < 200; i++) {
        for (int j = 0; j < 16; j++) argument.values[j] = j * 7919 % 16;
        call(&argument, 10);
    }
}

static void load_and_unload(struct busy_thread *self) {
    while (goes_on(self)) {
        void *object = dlopen(object_path, RTLD_NOW);
        assert_non_null(object);
        call_object(object);
        dlclose(object);
    }
}

TEST(test_objects, set_up_folder_and_alarm, tear_down) {
    skip_under_thread_sanitizer();
    struct busy_thread thread = {.name = "loads", .run = load_and_unload};
    find_object();
    const struct recorded *recorded = record_busy_thread(*state, &thread, INTERVAL_US, 200);
    assert_nothing_lost(recorded);
    const struct thread *samples = need_thread(recorded, "loads");
    assert_true(samples_count(&samples->samples) > 50);
}

static atomic_bool is_object_loaded;

static void stay_in_object(struct busy_thread *self) {
    void *object = dlopen(object_path, RTLD_NOW);
    assert_non_null(object);
    atomic_store(&is_object_loaded, true);
    while (goes_on(self)) call_object(object);
    dlclose(object);
}

static void wait_for_object(const struct busy_thread *thread) {
    while (!atomic_load(&is_object_loaded)) usleep(1000);
    wait_stacks_at_work(thread, 60);
}

static void assert_mostly_in_object(const struct recorded *recorded, const char *name, size_t depth_min) {
    const struct profile *profile = &recorded->profile;
    const struct thread *samples = need_thread(recorded, name);
    size_t in_object = 0, all = 0;
    for (size_t i = 0; i < samples_count(&samples->samples); i++) {
        stack_id stack = sample_stack(samples, i);
        if (sample_time_ns(samples, i) <= at_work_ns(profile)) continue;
        all++;
        in_object += stack_has_library(profile, stack, "walked_object.so") && stack_depth(profile, stack) >= depth_min;
    }
    if (all < 20 || in_object * 2 < all) fail_msg("%zu of %zu samples in the object", in_object, all);
}

/* An object is loaded while the sampler runs. Its frames and their callers must be found. */
TEST(test_loaded_object, set_up_folder_and_alarm, tear_down) {
    skip_under_thread_sanitizer();
    struct busy_thread thread = {.name = "loaded", .run = stay_in_object};
    find_object();
    start_sampling(*state, "loaded.trace", (struct grec_options){.interval_us = 1000});
    wait_rounds(2);
    atomic_store(&is_object_loaded, false);
    busy_thread_start(&thread);
    wait_for_object(&thread);
    const struct recorded *recorded = stop_and_read(*state, "loaded.trace");
    busy_thread_join(&thread);
    assert_mostly_in_object(recorded, "loaded", 6);
}

/* ---- Children. ---- */

TEST(test_forks, set_up_folder_and_alarm, tear_down) {
    skip_forks_under_sanitizers();
    enum { FORK_COUNT = 500 };
    struct busy_thread thread = {.name = "busy", .run = allocate};
    start_sampling(*state, "forks.trace", (struct grec_options){.interval_us = INTERVAL_US, .chunk_bytes = 4096});
    busy_thread_start(&thread);
    for (int i = 0; i < FORK_COUNT; i++) {
        pid_t pid = fork();
        if (!pid) {
            free(malloc(100));
            GREC_INSTANT("in a child", NULL);
            _exit(42);
        }
        int status = status_of(pid);
        if (status != 42) fail_msg("child %d ended with %d", i, status);
    }
    busy_thread_join(&thread);
    const struct recorded *recorded = stop_and_read(*state, "forks.trace");
    assert_int_equal(count_markers(&recorded->profile, "in a child"), FORK_COUNT);
}

/* A forked child is sampled too. */
TEST(test_sampled_child, set_up_folder_and_alarm, tear_down) {
    skip_forks_under_sanitizers();
    start_sampling(*state, "child.trace", (struct grec_options){.interval_us = 1000});
    wait_rounds(3);
    pid_t pid = fork();
    if (!pid) {
        struct busy_thread thread = {.name = "busy in a child", .run = allocate};
        busy_thread_start(&thread);
        wait_stacks(&thread, 40);
        busy_thread_join(&thread);
        grec_stop();
        _exit(0);
    }
    assert_int_equal(status_of(pid), 0);
    const struct recorded *recorded = stop_and_read(*state, "child.trace");
    const struct thread *thread = need_thread(recorded, "busy in a child");
    assert_int_equal(profile_process_at(&recorded->profile, thread->process)->pid, pid);
    assert_true(samples_count(&thread->samples) > 20);
}

struct definition_counts {
    size_t all;
    size_t different; /* differs from `all` if threads make an equal definition at once and both append it */
};

static bool is_among(const uint64_t *hashes, size_t count, uint64_t hash) {
    for (size_t i = 0; i < count; i++)
        if (hashes[i] == hash) return true;
    return false;
}

/* Counts the definitions of that kind in the trace. */
static struct definition_counts count_definitions(const char *path, enum trace_definition_kind kind) {
    enum { HASHES_MAX = 1024 };
    uint64_t hashes[HASHES_MAX];
    struct definition_counts counts = {0, 0};
    size_t bytes_count;
    char *bytes = file_read(path, &bytes_count);
    assert_non_null(bytes);
    struct trace_header header;
    memcpy(&header, bytes, sizeof header);
    for (size_t at = header.chunks_offset; at + header.chunk_bytes <= bytes_count; at += header.chunk_bytes) {
        struct trace_chunk_header chunk;
        memcpy(&chunk, bytes + at, sizeof chunk);
        if (chunk.state == TRACE_CHUNK_FREE || chunk.kind != TRACE_CHUNK_DEFINITIONS) continue;
        for (size_t offset = chunk.first_block; offset + 8 <= header.chunk_bytes;) {
            uint32_t word;
            memcpy(&word, bytes + at + offset, sizeof word);
            if (!word || word == TRACE_DEFINITION_CHUNK_END) break;
            const char *body = bytes + at + offset + 8;
            uint32_t body_bytes = word & ~TRACE_DEFINITION_PUBLISHED;
            offset += 8 + (body_bytes + 3) / 4 * 4;
            if ((unsigned char)*body != (unsigned char)kind) continue;
            counts.all++;
            uint64_t hash = XXH3_64bits(body, body_bytes);
            assert_true(counts.different < HASHES_MAX);
            if (!is_among(hashes, counts.different, hash)) hashes[counts.different++] = hash;
        }
    }
    free(bytes);
    return counts;
}

CODE_SECTION(child_section)

/* Records a marker with its own stack. */
IN_SECTION(child_section) static void mark_with_stack(const char *name) {
    grec_add_named_marker(name, NULL, NULL, &(struct grec_marker_options){.with_stack = 1}, NULL, 0);
    NOT_THE_LAST_THING();
}

IN_SECTION(child_section) static void work_in_section(struct busy_thread *self) {
    work(self);
    NOT_THE_LAST_THING();
}

static void assert_marked_in_section(const struct recorded *recorded, const char *name) {
    const struct thread *thread;
    const struct marker *marker = find_marker(&recorded->profile, name, &thread);
    assert_non_null(marker);
    if (!stack_has_code(&recorded->profile, marker->stack, child_section_code())) fail_msg("%s: not in the code", name);
}

static void grandchild(void) {
    mark_with_stack("grandchild");
    struct busy_thread thread = {.name = "busy grandchild", .run = work_in_section};
    busy_thread_start(&thread);
    wait_stacks(&thread, 10);
    GREC_INSTANT("grandchild at work", NULL);
    wait_stacks(&thread, 40);
    grec_stop();
    _exit(0);
}

/* The recorder calls getrlimit near the end of the kernel's list of mappings, and this replaces the C library's. The
 * sampler of that process waits in it while the list is held. */
static atomic_int list_holder;
static atomic_bool list_is_held;

int getrlimit(__rlimit_resource_t resource, struct rlimit *limit) {
    if (resource == RLIMIT_STACK && atomic_load(&list_holder) == getpid()) {
        atomic_store(&list_is_held, true);
        while (atomic_load(&list_holder)) usleep(1000);
    }
    return prlimit(0, resource, NULL, limit);
}

static void hold_list(void) {
    atomic_store(&list_holder, getpid());
    while (!atomic_load(&list_is_held)) usleep(1000);
}

static void release_list(void) { atomic_store(&list_holder, 0); }

/* A child inherits its parent's mappings and must not define them again, even if it is forked while the sampler reads
 * the kernel's list. It must define the mappings that it creates itself. */
TEST(test_mappings_of_children, set_up_folder_and_alarm, tear_down) {
    skip_forks_under_sanitizers();
    enum { CHILD_COUNT = 20 };
    find_object();
    start_sampling(*state, "mappings.trace", (struct grec_options){.interval_us = 1000});
    wait_rounds(3);
    const char *path = temp_folder_file(*state, "mappings.trace");
    size_t before = count_definitions(path, TRACE_DEFINE_MAPPING).all;
    assert_true(before > 2);
    hold_list();
    for (int i = 0; i < CHILD_COUNT; i++) {
        pid_t pid = fork();
        if (!pid) {
            /* Record at once, before the child's sampler has started. */
            mark_with_stack("child");
            if (i % 2) _exit(0);
            wait_rounds(2);
            if (i) _exit(0);
            pid_t next = fork();
            if (!next) grandchild();
            _exit(status_of(next));
        }
        assert_int_equal(status_of(pid), 0);
    }
    release_list();
    path = temp_folder_file(*state, "mappings.trace");
    assert_int_equal(count_definitions(path, TRACE_DEFINE_MAPPING).all, before);
    assert_int_equal(count_definitions(path, TRACE_DEFINE_INHERITANCE).different, CHILD_COUNT + 1);
    pid_t pid = fork();
    if (!pid) {
        struct busy_thread thread = {.name = "loaded in a child", .run = stay_in_object};
        atomic_store(&is_object_loaded, false);
        busy_thread_start(&thread);
        wait_for_object(&thread);
        grec_stop();
        _exit(0);
    }
    assert_int_equal(status_of(pid), 0);
    const struct recorded *recorded = stop_and_read(*state, "mappings.trace");
    path = temp_folder_file(*state, "mappings.trace");
    assert_int_equal(count_definitions(path, TRACE_DEFINE_MAPPING).all, before + 1);
    assert_marked_in_section(recorded, "child");
    assert_marked_in_section(recorded, "grandchild");
    const struct thread *busy = need_thread(recorded, "busy grandchild");
    int64_t from_ns = find_marker(&recorded->profile, "grandchild at work", NULL)->start_ns;
    size_t at_work = 0;
    for (size_t i = 0; i < samples_count(&busy->samples); i++) {
        if (sample_time_ns(busy, i) <= from_ns || stack_is_rest(&recorded->profile, sample_stack(busy, i))) continue;
        assert_true(stack_has_code(&recorded->profile, sample_stack(busy, i), child_section_code()));
        at_work++;
    }
    assert_true(at_work >= 20);
    assert_mostly_in_object(recorded, "loaded in a child", 1);
}

static pid_t start_by_fork(char *const arguments[]) {
    pid_t pid = fork();
    if (!pid) {
        execv(arguments[0], arguments);
        _exit(127);
    }
    return pid;
}

static pid_t start_by_vfork(char *const arguments[]) {
    pid_t pid = vfork();
    if (!pid) {
        execv(arguments[0], arguments);
        _exit(127);
    }
    return pid;
}

static pid_t start_by_spawn(char *const arguments[]) {
    pid_t pid = -1;
    return posix_spawn(&pid, arguments[0], NULL, NULL, arguments, environ) == 0 ? pid : -1;
}

/* After an exec the new program has no handler. A signal of the sampler that is still pending must not kill it. */
TEST(test_executed_children, set_up_folder_and_alarm, tear_down) {
    skip_forks_under_sanitizers();
    enum { ROUND_COUNT = 60 };
    static pid_t (*const ways[])(char *const[]) = {start_by_fork, start_by_vfork, start_by_spawn};
    static char shell[] = "/bin/sh", option[] = "-c", script[] = "exit 7";
    char *const arguments[] = {shell, option, script, NULL};
    struct busy_thread thread = {.name = "busy", .run = allocate};
    start_sampling(*state, "exec.trace", (struct grec_options){.interval_us = INTERVAL_US});
    grec_thread_register("parent");
    busy_thread_start(&thread);
    for (int i = 0; i < ROUND_COUNT; i++) {
        pid_t pid = ways[i % 3](arguments);
        assert_true(pid > 0);
        int status = status_of(pid);
        if (status != 7) fail_msg("way %d: %d", i % 3, status);
    }
    busy_thread_join(&thread);
    /* Repeated short waits let this thread run, so that it answers the requests for stacks from the waits before. */
    for (int i = 0; i < 20; i++) wait_rounds(3);
    const struct recorded *recorded = stop_and_read(*state, "exec.trace");
    assert_true(samples_count(&need_thread(recorded, "parent")->samples) > 10);
}

/* ---- Starts and stops while threads work. ---- */

TEST(test_stops, set_up_folder_and_alarm, tear_down) {
    /* The thread sanitizer sees accesses that are not ordered even if they do not meet. A round takes it seconds. */
    enum { ROUND_COUNT = HAS_THREAD_SANITIZER ? 4 : 15 };
    struct busy_thread recording = {.name = "records", .run = record_all_sorts}, allocating = {.run = allocate};
    busy_thread_start(&recording);
    busy_thread_start(&allocating);
    for (int i = 0; i < ROUND_COUNT; i++) {
        start_sampling(*state, "stops.trace",
                       (struct grec_options){
                           .interval_us = INTERVAL_US, .limit_bytes = 4u << 20, .flags = i % 2 ? GREC_ALL_THREADS : 0});
        usleep((unsigned)(i % 10) * 1000);
        grec_stop();
    }
    recorded_read(temp_folder_file(*state, "stops.trace"));
    busy_thread_join(&recording);
    busy_thread_join(&allocating);
}

int main(void) { return unit_tests_run(NULL, NULL); }
