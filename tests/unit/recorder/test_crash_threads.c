/* Recordings start and stop one after the other, while threads start, record and end. If a recording runs from the
 * start to the return of an event's call, the event must be in its trace. */
#include <pthread.h>

#include "tests/support/crash_events.h"
#include "tests/support/random_numbers.h"
#include "tests/support/temp_folder.h"
#include "tests/support/unit_test.h"

enum {
    LINE_COUNT = 6, /* sequences of threads; in each, one thread starts after the other */
    CYCLE_COUNT = CRASH_IS_SANITIZED ? 50 : 200,
    FEW_CYCLE_COUNT = CRASH_IS_SANITIZED ? 30 : 60,
    SMALL_CHUNK_BYTES = 4096,
    FAULT_BYTES = 256,
};

struct storm {
    struct crash_log *log;
    struct temp_folder folder;
    unsigned cycle_count;
    uint64_t limit_bytes;
    uint32_t pause_period; /* number of cycles of which one ends in a pause; 0: none */
    bool is_over;
};

struct short_thread {
    struct storm *storm;
    unsigned slot;
    uint64_t seed;
};

static bool is_over(const struct storm *storm) { return __atomic_load_n(&storm->is_over, __ATOMIC_ACQUIRE); }

/* Runs a thread that ends in one of several ways, with or without labels pushed. */
static void *run_short_thread(void *context) {
    const struct short_thread *self = context;
    struct random_numbers numbers = {self->seed};
    uint32_t way = random_below(&numbers, 6), count = random_below(&numbers, 60);
    if (way == 1) grec_thread_register("early");
    if (way == 2) grec_label_push(&crash_label, "left behind");
    for (uint32_t i = 0; i < count; i++) crash_record(self->storm->log, self->slot);
    if (way == 3) grec_thread_unregister();
    if (way == 4) grec_thread_register("late");
    if (way == 5) pthread_exit(NULL);
    return NULL;
}

static void *run_one_after_the_other(void *context) {
    const struct short_thread *line = context;
    struct random_numbers numbers = {line->seed};
    while (!is_over(line->storm)) {
        struct short_thread next = {line->storm, line->slot, random_next(&numbers)};
        pthread_t thread;
        CRASH_CHECK(pthread_create(&thread, NULL, run_short_thread, &next) == 0);
        pthread_join(thread, NULL);
    }
    return NULL;
}

static void start_and_stop(void *context) {
    struct storm *storm = context;
    struct random_numbers numbers = {5};
    struct short_thread lines[LINE_COUNT];
    pthread_t threads[LINE_COUNT];
    for (unsigned i = 0; i < LINE_COUNT; i++) {
        storm->log->slots[i].pid = (int32_t)getpid();
        lines[i] = (struct short_thread){storm, i, i};
        CRASH_CHECK(pthread_create(&threads[i], NULL, run_one_after_the_other, &lines[i]) == 0);
    }
    for (unsigned cycle = 1; cycle <= storm->cycle_count; cycle++) {
        char path[PATH_MAX];
        struct grec_status status;
        struct grec_options options = {
            .path = path, .limit_bytes = storm->limit_bytes, .chunk_bytes = SMALL_CHUNK_BYTES};
        snprintf(path, sizeof path, "%s/%u.trace", storm->folder.path, cycle);
        CRASH_CHECK(grec_start(&options) == GREC_OK);
        crash_log_open(storm->log, (uint8_t)cycle);
        crash_sleep_us(random_below(&numbers, 3000));
        crash_log_close(storm->log);
        if (storm->pause_period && cycle % storm->pause_period == 0) {
            grec_pause();
            crash_sleep_us(random_below(&numbers, 500));
        }
        grec_get_status(&status);
        CRASH_CHECK(status.events_lost == 0);
        grec_stop();
        CRASH_CHECK(!grec_is_recording());
    }
    __atomic_store_n(&storm->is_over, true, __ATOMIC_RELEASE);
    for (unsigned i = 0; i < LINE_COUNT; i++) pthread_join(threads[i], NULL);
}

static void check_storm(struct storm storm) {
    char fault[FAULT_BYTES];
    storm.log = crash_share(sizeof *storm.log);
    assert_true(temp_folder_init(&storm.folder));
    int status = crash_run(start_and_stop, &storm);
    if (status != 0) fail_msg("status %d (%s)", status, storm.folder.path);
    unsigned count =
        crash_check_folder(storm.folder.path, storm.log, storm.limit_bytes != GREC_UNLIMITED, fault, sizeof fault);
    if (*fault) fail_msg("trace %u: %s (%s)", count, fault, storm.folder.path);
    assert_int_equal(count, storm.cycle_count);
    munmap(storm.log, sizeof *storm.log);
    temp_folder_fini(&storm.folder);
}

TEST(test_cycles) { check_storm((struct storm){.cycle_count = CYCLE_COUNT, .limit_bytes = GREC_UNLIMITED}); }

TEST(test_cycles_with_pauses) {
    check_storm((struct storm){.cycle_count = FEW_CYCLE_COUNT, .limit_bytes = GREC_UNLIMITED, .pause_period = 2});
}

TEST(test_cycles_within_a_limit) {
    check_storm(
        (struct storm){.cycle_count = FEW_CYCLE_COUNT, .limit_bytes = 40 * SMALL_CHUNK_BYTES, .pause_period = 3});
}

int main(void) {
    crash_events_init();
    return unit_tests_run(NULL, NULL);
}
