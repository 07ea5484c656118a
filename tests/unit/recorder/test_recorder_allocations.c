/* Checks that recording an event does not allocate memory, map memory, or make a system call. This program replaces
 * the allocation functions. Sanitizers have their own, and report each call. */
#include <stdio.h>
#include <stdlib.h>

#include <errno.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/syscall.h>

#include "tests/support/recorder_trace.h"
#include "tests/support/recorder_workers.h"
#include "tests/support/sanitizers.h"
#include "tests/support/unit_test.h"

/* While this is set, allocations of recording threads are counted. Other threads are not counted: the helper may
 * start at any time, and a sanitizer allocates memory for it. */
static atomic_bool is_counting;
static __thread bool is_counted;
static atomic_uint allocation_count, mapping_count;

static void count_in(atomic_uint *count) {
    if (is_counted && atomic_load_explicit(&is_counting, memory_order_relaxed)) atomic_fetch_add(count, 1);
}

#if IS_SANITIZED

int __sanitizer_install_malloc_and_free_hooks(void (*malloc_hook)(const volatile void *, size_t),
                                              void (*free_hook)(const volatile void *));

static void on_malloc(const volatile void *block, size_t bytes_count) { count_in(&allocation_count); }

static void on_free(const volatile void *block) { (void)block; }

static void install(void) { assert_true(__sanitizer_install_malloc_and_free_hooks(on_malloc, on_free) > 0); }

#else

void *__libc_malloc(size_t bytes_count);
void *__libc_calloc(size_t count, size_t bytes_count);
void *__libc_realloc(void *block, size_t bytes_count);
void *__libc_memalign(size_t alignment, size_t bytes_count);

/* Makes a replacement visible, so that the libraries are linked against it too. */
#define REPLACES __attribute__((visibility("default"), used))

REPLACES void *malloc(size_t bytes_count) {
    count_in(&allocation_count);
    return __libc_malloc(bytes_count);
}

REPLACES void *calloc(size_t count, size_t bytes_count) {
    count_in(&allocation_count);
    return __libc_calloc(count, bytes_count);
}

REPLACES void *realloc(void *block, size_t bytes_count) {
    count_in(&allocation_count);
    return __libc_realloc(block, bytes_count);
}

REPLACES void *memalign(size_t alignment, size_t bytes_count) {
    count_in(&allocation_count);
    return __libc_memalign(alignment, bytes_count);
}

REPLACES void *aligned_alloc(size_t alignment, size_t bytes_count) { return memalign(alignment, bytes_count); }

REPLACES int posix_memalign(void **block, size_t alignment, size_t bytes_count) {
    *block = memalign(alignment, bytes_count);
    return *block ? 0 : ENOMEM;
}

REPLACES void *mmap(void *address, size_t bytes_count, int protection, int flags, int file, off_t offset) {
    count_in(&mapping_count);
    return (void *)syscall(SYS_mmap, address, bytes_count, protection, flags, file, offset);
}

static void install(void) {}

#endif

static void begin_counting(void) {
    atomic_store(&allocation_count, 0);
    atomic_store(&mapping_count, 0);
    atomic_store(&is_counting, true);
}

static void end_counting(void) { atomic_store(&is_counting, false); }

/* ---- Events of every kind. ---- */

static const char *const list_texts[] = {"one", "two"};
static const struct grec_column columns[] = {GREC_COLUMN("a", GREC_FORMAT_STRING),
                                             GREC_COLUMN("b", GREC_FORMAT_INTEGER)};
static const struct grec_field fields[] = {GREC_FIELD("number", NULL, GREC_FORMAT_INTEGER),
                                           GREC_FIELD("text", NULL, GREC_FORMAT_STRING),
                                           GREC_FIELD("unique", NULL, GREC_FORMAT_UNIQUE_STRING),
                                           GREC_FIELD("time", NULL, GREC_FORMAT_TIME),
                                           GREC_FIELD("list", NULL, GREC_FORMAT_LIST),
                                           GREC_FIELD_OF_TABLE("table", NULL, columns)};
static struct grec_category category = GREC_CATEGORY("Events", GREC_COLOR_GREEN);
static struct grec_marker_type type = GREC_MARKER_TYPE("Event", fields);
static struct grec_marker marker = GREC_MARKER("event", &category, &type);
static struct grec_string string = GREC_STRING_OF("string");
static struct grec_label script = GREC_LABEL_AT("script", &category, NULL, 0);
static struct grec_counter plain =
    GREC_COUNTER("plain", "Tests", NULL, NULL, GREC_COUNTER_ACCUMULATED, GREC_GRAPH_BLUE, 0);
static struct grec_counter summed =
    GREC_COUNTER("summed", "Tests", NULL, NULL, GREC_COUNTER_RATE, GREC_GRAPH_BLUE, GREC_COUNTER_SAMPLED);

static void record_round(uint64_t number) {
    struct grec_backtrace backtrace;
    grec_time start = grec_now();
    GREC_LABEL_TEXT("round", &category, "text");
    record_number(number);
    GREC_INSTANT("instant", &category);
    GREC_INTERVAL("interval", NULL, start);
    const struct grec_value cells[] = {GREC_TEXT("cell"), GREC_INT(1)};
    GREC_INSTANT_WITH("values", NULL, &type, GREC_INT(number), GREC_TEXT("text"), GREC_STRING(&string),
                      GREC_TIME(start), GREC_LIST(list_texts, 2), GREC_TABLE(cells, 2));
    grec_interval_start(&marker, NULL, 0);
    grec_interval_end(&marker, NULL, 0);
    grec_take_backtrace(&backtrace);
    struct grec_marker_options options = {.with_stack = 1, .start = start};
    grec_time_from_clock_ns(1);
    grec_add_marker(&marker, &options, NULL, 0);
    options = (struct grec_marker_options){.backtrace = &backtrace, .thread = grec_thread_self()};
    const struct grec_value tagged = GREC_UINT(number);
    grec_add_named_marker("by name", &category, &type, &options, &tagged, 1);
    grec_text_marker("text", &category, "a text");
    grec_log(GREC_LOG_INFO, "module", "message");
    grec_label_place pushed = grec_script_push(&script, "function", "file.js", 1, 1);
    grec_script_line(pushed, 2, 1);
    grec_counter_add(&plain, 1);
    grec_counter_set(&plain, 5);
    grec_counter_add(&summed, 1);
    grec_sample();
    grec_label_pop(pushed);
}

/* ---- Allocations. ---- */

TEST(test_counting_counts, set_up_folder, tear_down_folder) {
    begin_counting();
    void *volatile block = malloc(10);
    free(block);
    end_counting();
    assert_true(atomic_load(&allocation_count) > 0);
    if (IS_SANITIZED) return;
    begin_counting();
    void *page = mmap(NULL, 4096, PROT_READ, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    end_counting();
    assert_true(page != MAP_FAILED);
    munmap(page, 4096);
    assert_int_equal(atomic_load(&mapping_count), 1);
}

/* The rounds fill a small limit more than once. The thread sanitizer makes them slow. */
enum { WARM_COUNT = 3, ROUND_COUNT = HAS_THREAD_SANITIZER ? 800 : 2000, OTHER_COUNT = 2 };

static void *record_rounds(void *barrier) {
    is_counted = true;
    grec_thread_register("recording");
    for (uint64_t i = 0; i < WARM_COUNT; i++) record_round(i);
    pthread_barrier_wait(barrier);
    pthread_barrier_wait(barrier);
    for (uint64_t i = WARM_COUNT; i < ROUND_COUNT; i++) record_round(i);
    pthread_barrier_wait(barrier);
    pthread_barrier_wait(barrier);
    return NULL;
}

/* Records many chunks with several threads at once, under every kind of storage. */
TEST(test_no_allocations, set_up_folder, tear_down_folder) {
    static const struct grec_options cases[] = {
        {.limit_bytes = 64u << 20},
        {.limit_bytes = GREC_UNLIMITED},
        {.limit_bytes = 512 * 1024, .chunk_bytes = 8192},
        {.limit_bytes = 512 * 1024, .chunk_bytes = 8192, .flags = GREC_HELPER},
        {.limit_bytes = 64u << 20, .storage = GREC_STORAGE_MEMORY},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        pthread_barrier_t barrier;
        pthread_t others[OTHER_COUNT];
        pthread_barrier_init(&barrier, NULL, OTHER_COUNT + 1);
        start_recording(*state, "rounds.trace", cases[i]);
        for (int j = 0; j < OTHER_COUNT; j++)
            assert_int_equal(pthread_create(&others[j], NULL, record_rounds, &barrier), 0);
        for (uint64_t j = 0; j < WARM_COUNT; j++) record_round(j);
        pthread_barrier_wait(&barrier);
        begin_counting();
        pthread_barrier_wait(&barrier);
        for (uint64_t j = WARM_COUNT; j < ROUND_COUNT; j++) record_round(j);
        pthread_barrier_wait(&barrier);
        end_counting();
        pthread_barrier_wait(&barrier);
        for (int j = 0; j < OTHER_COUNT; j++) pthread_join(others[j], NULL);
        pthread_barrier_destroy(&barrier);
        assert_int_equal(atomic_load(&allocation_count), 0);
        assert_int_equal(atomic_load(&mapping_count), 0);
        if (cases[i].storage == GREC_STORAGE_MEMORY)
            assert_int_equal(grec_save(temp_folder_file(*state, "rounds.trace")), GREC_OK);
        const struct recorded *recorded = stop_and_read(*state, "rounds.trace");
        /* All events were recorded. */
        assert_nothing_lost(recorded);
        if (!recorded->header.recycled_chunk_count) {
            assert_int_equal(count_markers(&recorded->profile, "number"), (OTHER_COUNT + 1) * ROUND_COUNT);
            assert_int_equal(count_markers(&recorded->profile, "by name"), (OTHER_COUNT + 1) * ROUND_COUNT);
        }
        assert_int_equal(recorded->header.recycled_chunk_count > 0, cases[i].chunk_bytes == 8192);
    }
}

/* Nothing is allocated while no recording runs or while it is paused. */
TEST(test_no_allocations_when_off, set_up_folder, tear_down_folder) {
    for (int is_paused = 0; is_paused < 2; is_paused++) {
        if (is_paused) start_recording(*state, "off.trace", (struct grec_options){0});
        if (is_paused) grec_pause();
        record_round(0);
        begin_counting();
        for (uint64_t i = 0; i < ROUND_COUNT; i++) record_round(i);
        end_counting();
        assert_int_equal(atomic_load(&allocation_count), 0);
        assert_int_equal(atomic_load(&mapping_count), 0);
    }
}

/* ---- System calls. ---- */

#if !IS_SANITIZED && defined(__x86_64__)

/* Syscall user dispatch, since Linux 5.11: while the selector is set, a system call raises SIGSYS instead of
 * running. */
enum { SET_DISPATCH = 59, DISPATCH_OFF = 0, DISPATCH_ON = 1 };
static volatile char selector;
static volatile sig_atomic_t first_call = -1;

/* Handles SIGSYS. First allows system calls again, because the return from this handler is one. */
static void on_system_call(int number, siginfo_t *info, void *context) {
    selector = 0;
    first_call = info->si_syscall;
}

static int begin_dispatch(void) { return prctl(SET_DISPATCH, DISPATCH_ON, 0, 0, &selector); }
static void end_dispatch(void) { prctl(SET_DISPATCH, DISPATCH_OFF, 0, 0, NULL); }

/* Records events and returns the number of the first system call that they made, or -1 if they made none. */
static int first_call_of(uint64_t round_count, bool calls) {
    enum { BLOCK = 1 };
    first_call = -1;
    selector = BLOCK;
    for (uint64_t i = 0; i < round_count; i++) record_round(i);
    if (calls) syscall(SYS_getppid);
    selector = 0;
    return first_call;
}

TEST(test_no_system_calls, set_up_folder, tear_down_folder) {
    enum { ROUNDS_OF_CHUNK = 500 };
    struct sigaction action = {.sa_sigaction = on_system_call, .sa_flags = SA_SIGINFO}, before;
    if (begin_dispatch() != 0) skip();
    sigaction(SIGSYS, &action, &before);
    start_recording(*state, "calls.trace",
                    (struct grec_options){.chunk_bytes = 1u << 20, .limit_bytes = GREC_UNLIMITED});
    for (uint64_t i = 0; i < WARM_COUNT; i++) record_round(i);
    int call = first_call_of(ROUNDS_OF_CHUNK, false);
    int counted_call = first_call_of(1, true);
    end_dispatch();
    sigaction(SIGSYS, &before, NULL);
    const struct recorded *recorded = stop_and_read_whole(*state, "calls.trace");
    assert_int_equal(counted_call, SYS_getppid);
    /* Reading the clock makes no system call either, because the system maps the clock into programs. */
    assert_int_equal(call, -1);
    assert_int_equal(count_markers(&recorded->profile, "number"), WARM_COUNT + ROUNDS_OF_CHUNK + 1);
}

#else

TEST(test_no_system_calls, set_up_folder, tear_down_folder) { skip(); }

#endif

int main(void) {
    install();
    is_counted = true;
    return unit_tests_run(NULL, NULL);
}
