/* Tests the pool of chunks under limits: which events are dropped first, which are kept, and which are counted. */
#include <stdio.h>
#include <stdlib.h>

#include "recorder/pool/chunk_pool.h"
#include "recorder/state/process.h"
#include "recorder/state/recording_state.h"
#include "tests/support/recorder_trace.h"
#include "tests/support/recorder_workers.h"
#include "tests/support/sanitizers.h"
#include "tests/support/unit_test.h"
#include "tests/support/wait_for_child.h"

static struct grec_status status_now(void) {
    struct grec_status status;
    grec_get_status(&status);
    return status;
}

static void assert_status_is_header(const struct grec_status *status, const struct trace_header *header) {
    assert_int_equal(status->chunks_recycled, header->recycled_chunk_count);
    assert_int_equal(status->events_lost, header->lost_event_count);
    assert_int_equal(status->texts_cut, header->cut_text_count);
    assert_int_equal(status->definitions_lost, header->lost_definition_count);
    assert_int_equal(status->values_mismatched, header->mismatched_value_count);
}

/* ---- One thread that exceeds the limit. ---- */

/* Converts ticks to the profile's clock. This is approximate, because it uses only the tick at the trace's start. */
static double ticks_to_ns(const struct recorded *recorded, uint64_t ticks) {
    const struct trace_header *header = &recorded->header;
    double ns = (double)(ticks - header->start_ticks) * 1e9 / (double)header->ticks_per_second;
    return ns + (double)header->start_monotonic_ns - (double)recorded->profile.origin_ns;
}

/* Markers with a number and a long text, which fill chunks with few events. */
static const struct grec_field padded_fields[] = {GREC_FIELD("number", NULL, GREC_FORMAT_INTEGER),
                                                  GREC_FIELD("text", NULL, GREC_FORMAT_STRING)};
static struct grec_marker_type padded_type = GREC_MARKER_TYPE("Padded", padded_fields);
static struct grec_marker padded_marker = GREC_MARKER("number", NULL, &padded_type);

enum { TEXT_BYTES_MAX = 400 };

static void record_padded(uint64_t number, size_t text_bytes) {
    static const char text[TEXT_BYTES_MAX];
    const struct grec_value values[] = {GREC_INT(number), GREC_TEXT_OF(text, text_bytes)};
    if (text_bytes)
        grec_instant(&padded_marker, values, 2);
    else
        record_number(number);
}

static void record_beyond(struct temp_folder *folder, struct grec_options options, uint64_t event_count,
                          size_t text_bytes) {
    const char *path = temp_folder_file(folder, "beyond.trace");
    uint64_t largest_bytes = 0;
    start_recording(folder, "beyond.trace", options);
    for (uint64_t i = 0; i < event_count; i++) {
        record_padded(i, text_bytes);
        if (i % 10000) continue;
        uint64_t bytes = file_size_of(path);
        if (bytes > largest_bytes) largest_bytes = bytes;
    }
    struct grec_status status = status_now();
    const struct recorded *recorded = stop_and_read_whole(folder, "beyond.trace");
    assert_true(largest_bytes <= options.limit_bytes);
    assert_true(file_size_of(path) <= options.limit_bytes);
    assert_true(file_size_of(path) + 2 * options.chunk_bytes > options.limit_bytes - options.limit_bytes / 8);
    assert_status_is_header(&status, &recorded->header);
    assert_true(status.chunks_recycled > 0);

    struct numbers numbers = collect_numbers(&recorded->profile, NULL, "number", event_count);
    uint64_t first = first_of_tail(&numbers);
    /* The trace must have the newest events and no others. */
    assert_true(first > 0 && first < event_count);
    assert_int_equal(numbers.found_count, event_count - first);
    free(numbers.counts);

    /* The trace must have all events since the time in the header, and this time must be before the first event. */
    const struct marker *marker = find_marker(&recorded->profile, "number", NULL);
    double from_ns = ticks_to_ns(recorded, recorded->header.complete_from_ticks);
    enum { CLOCK_TOLERANCE_NS = 2000000 };
    assert_true(from_ns <= (double)marker->start_ns + CLOCK_TOLERANCE_NS);
    assert_true(recorded->header.complete_from_ticks > recorded->header.start_ticks);
    assert_int_equal(count_of_cause(&recorded->profile.ledger, LEDGER_NOTED, "chunk that was recycled"),
                     status.chunks_recycled);
}

TEST(test_limit, set_up_folder, tear_down_folder) {
    static const struct {
        struct grec_options options;
        uint64_t event_count;
        size_t text_bytes;
    } cases[] = {
        {{.limit_bytes = 64 * 1024, .chunk_bytes = 4096, .flags = GREC_HELPER}, 30000, 0},
        {{.limit_bytes = 100001, .chunk_bytes = 4096}, 30000, 0},
        {{.limit_bytes = 256 * 1024, .chunk_bytes = 16384}, 100000, 0},
        {{.limit_bytes = 1024 * 1024, .chunk_bytes = 65536}, 100000, 30},
        {{.limit_bytes = 1024 * 1024, .chunk_bytes = 65536}, 20000, 100},
        {{.limit_bytes = 4096 * 1024, .chunk_bytes = 262144}, 40000, 200},
        {{.limit_bytes = 16 * 1024 * 1024, .chunk_bytes = 1024 * 1024}, 80000, TEXT_BYTES_MAX},
    };
    /* The thread sanitizer makes events slow. Only one thread records here, and the small chunks already show it what
     * that thread shares with the helper. */
    size_t case_count = HAS_THREAD_SANITIZER ? 2 : sizeof cases / sizeof *cases;
    for (size_t i = 0; i < case_count; i++)
        record_beyond(*state, cases[i].options, cases[i].event_count, cases[i].text_bytes);
}

/* With several threads, the trace must have the newest events of each. */
TEST(test_limit_with_threads, set_up_folder, tear_down_folder) {
    struct workers workers;
    struct grec_options options = {.limit_bytes = 128 * 1024, .chunk_bytes = 4096};
    start_recording(*state, "threads.trace", options);
    workers_start(&workers);
    workers_wait(&workers, 20000);
    struct workers_mark end = workers_end(&workers);
    const struct recorded *recorded = stop_and_read_whole(*state, "threads.trace");
    assert_true(file_size_of(temp_folder_file(*state, "threads.trace")) <= options.limit_bytes);
    for (int i = 0; i < WORKER_COUNT; i++) {
        struct numbers numbers = numbers_of_worker(recorded, i, end.done_counts[i]);
        uint64_t first = first_of_tail(&numbers);
        assert_true(first > 0 && first < end.done_counts[i]);
        assert_int_equal(numbers.found_count, end.done_counts[i] - first);
        free(numbers.counts);
    }
}

/* Chunks that ended too long ago are used again although the limit leaves room, and are not in the trace. */
TEST(test_duration, set_up_folder, tear_down_folder) {
    enum { OLD_COUNT = 2000, NEW_COUNT = 1000 };
    const uint32_t flags[] = {0, GREC_HELPER};
    const struct timespec longer = {1, 200000000};
    for (size_t i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        start_recording(*state, "duration.trace",
                        (struct grec_options){.chunk_bytes = 4096, .duration_s = 1, .flags = flags[i]});
        assert_int_equal(status_now().duration_s, 1);
        for (uint64_t number = 0; number < OLD_COUNT; number++) record_padded(number, TEXT_BYTES_MAX);
        uint64_t old_bytes = status_now().size_bytes;
        nanosleep(&longer, NULL);
        for (uint64_t number = OLD_COUNT; number < OLD_COUNT + NEW_COUNT; number++)
            record_padded(number, TEXT_BYTES_MAX);
        assert_int_equal(status_now().size_bytes, old_bytes);
        const struct recorded *recorded = stop_and_read_whole(*state, "duration.trace");
        assert_true(recorded->header.recycled_chunk_count > OLD_COUNT / 10 - 2);
        assert_true(recorded->header.complete_from_ticks > 0);
        struct numbers numbers = collect_numbers(&recorded->profile, NULL, "number", OLD_COUNT + NEW_COUNT);
        /* The last chunk of the old events ended with the first of the new ones. */
        assert_true(first_of_tail(&numbers) > OLD_COUNT - 20);
        free(numbers.counts);
    }
    assert_int_equal(grec_start(&(struct grec_options){.limit_bytes = GREC_UNLIMITED, .duration_s = 1}),
                     GREC_ERROR_OPTIONS);
}

TEST(test_unlimited, set_up_folder, tear_down_folder) {
    /* Enough for the helper to extend the file. The thread sanitizer makes events slow. */
    enum { EVENT_COUNT = HAS_THREAD_SANITIZER ? 20000 : 100000 };
    static const uint32_t chunk_sizes[] = {4096, 65536, 1024 * 1024};
    for (size_t i = 0; i < sizeof chunk_sizes / sizeof *chunk_sizes; i++)
        for (uint32_t flags = 0; flags <= GREC_HELPER; flags += GREC_HELPER) {
            start_recording(
                *state, "unlimited.trace",
                (struct grec_options){.limit_bytes = GREC_UNLIMITED, .chunk_bytes = chunk_sizes[i], .flags = flags});
            for (uint64_t number = 0; number < EVENT_COUNT; number++) record_number(number);
            assert_true(status_now().limit_bytes == GREC_UNLIMITED);
            const struct recorded *recorded = stop_and_read_whole(*state, "unlimited.trace");
            struct numbers numbers = collect_numbers(&recorded->profile, NULL, "number", EVENT_COUNT);
            assert_numbers(&numbers, 0, EVENT_COUNT);
            free(numbers.counts);
            assert_int_equal(recorded->header.recycled_chunk_count, 0);
            assert_int_equal(recorded->header.complete_from_ticks, 0);
            /* The file must be cut to its used size: the space prepared in advance is gone. */
            uint64_t file_bytes = file_size_of(temp_folder_file(*state, "unlimited.trace"));
            assert_int_equal(file_bytes,
                             recorded->header.chunks_offset + recorded->header.chunk_count * chunk_sizes[i]);
            assert_true(file_bytes < EVENT_COUNT * 12u + 6 * 1024 * 1024);
        }
}

/* ---- Definitions. ---- */

/* Definitions of early events must stay in the trace long after the events were recycled. */
TEST(test_definitions_survive, set_up_folder, tear_down_folder) {
    static struct grec_category category = GREC_CATEGORY("Early category", GREC_COLOR_RED);
    static const struct grec_field fields[] = {GREC_FIELD("early", NULL, GREC_FORMAT_STRING)};
    static struct grec_marker_type type = GREC_MARKER_TYPE("Early type", fields);
    static struct grec_marker early = GREC_MARKER("early", &category, &type);
    static struct grec_string string = GREC_STRING_OF("early string");
    const struct grec_value value = GREC_STRING(&string);
    start_recording(*state, "early.trace", (struct grec_options){.limit_bytes = 64 * 1024});
    grec_instant(&early, &value, 1);
    for (uint64_t i = 0; i < 100000; i++) record_number(i);
    assert_true(status_now().chunks_recycled > 20);
    grec_instant(&early, &value, 1);
    const struct recorded *recorded = stop_and_read_whole(*state, "early.trace");
    assert_int_equal(count_markers(&recorded->profile, "early"), 1);
    assert_payload(&recorded->profile, "early", "Early type{early=\"early string\"}");
    const struct marker *marker = find_marker(&recorded->profile, "early", NULL);
    const struct category *row = categories_at(&recorded->profile.categories, marker->category);
    assert_true(text_equal(row->name, TEXT("Early category")));
    assert_int_equal(row->color, COLOR_RED);
    assert_true(recorded->profile.meta.product.bytes_count > 0);
}

/* Many names must all be in the trace if they fit into the part of the limit that is reserved for definitions. */
TEST(test_many_names, set_up_folder, tear_down_folder) {
    enum { NAME_COUNT = 20000 };
    start_recording(*state, "names.trace", (struct grec_options){.limit_bytes = 16u << 20});
    for (int i = 0; i < NAME_COUNT; i++) {
        char name[32];
        snprintf(name, sizeof name, "name %d", i);
        grec_add_named_marker(name, NULL, NULL, NULL, NULL, 0);
    }
    const struct recorded *recorded = stop_and_read_whole(*state, "names.trace");
    const struct thread *thread = recorded->profile.threads.count ? column_at(&recorded->profile.threads, 0) : NULL;
    assert_non_null(thread);
    assert_int_equal(thread->markers.count, NAME_COUNT);
    for (int i = 0; i < NAME_COUNT; i++) {
        char name[32];
        snprintf(name, sizeof name, "name %d", i);
        assert_true(marker_has_name(&recorded->profile, column_at(&thread->markers, (size_t)i), name));
    }
}

/* Fills the largest possible chunks with names. All names have the same length, so that sooner or later a name ends
 * exactly at a chunk's end. */
TEST(test_names_in_the_largest_chunks, set_up_folder, tear_down_folder) {
    enum { NAME_COUNT = 120000 };
    if (HAS_THREAD_SANITIZER) skip(); /* only one thread records */
    start_recording(*state, "large.trace",
                    (struct grec_options){.limit_bytes = GREC_UNLIMITED, .chunk_bytes = 1 << 20});
    for (int i = 0; i < NAME_COUNT; i++) {
        char name[16];
        snprintf(name, sizeof name, "name-%06d", i);
        grec_add_named_marker(name, NULL, NULL, NULL, NULL, 0);
    }
    const struct recorded *recorded = stop_and_read_whole(*state, "large.trace");
    const struct thread *thread = column_at(&recorded->profile.threads, 0);
    assert_int_equal(thread->markers.count, NAME_COUNT);
    for (int i = 0; i < NAME_COUNT; i++) {
        char name[16];
        snprintf(name, sizeof name, "name-%06d", i);
        assert_true(marker_has_name(&recorded->profile, column_at(&thread->markers, (size_t)i), name));
    }
}

/* Names that exceed their part of the limit are lost and counted, together with the events that use them. Other
 * events are recorded. */
TEST(test_too_many_names, set_up_folder, tear_down_folder) {
    enum { NAME_COUNT = 30000, LIMIT_BYTES = 256 * 1024 };
    start_recording(*state, "too-many.trace", (struct grec_options){.limit_bytes = LIMIT_BYTES});
    record_number(0);
    for (int i = 0; i < NAME_COUNT; i++) {
        char name[32];
        snprintf(name, sizeof name, "name %d", i);
        grec_add_named_marker(name, NULL, NULL, NULL, NULL, 0);
    }
    for (uint64_t i = 1; i <= 100; i++) record_number(i);
    struct grec_status status = status_now();
    const struct recorded *recorded = stop_and_read(*state, "too-many.trace");
    assert_status_is_header(&status, &recorded->header);
    assert_true(status.definitions_lost > 0 && status.definitions_lost < NAME_COUNT);
    assert_int_equal(status.events_lost, status.definitions_lost);
    assert_true(file_size_of(temp_folder_file(*state, "too-many.trace")) <= LIMIT_BYTES);
    /* The first names fitted, so their events are in the trace unless they were recycled. */
    size_t kept_count = (size_t)NAME_COUNT - status.definitions_lost, found_count = 0;
    const struct thread *thread = column_at(&recorded->profile.threads, 0);
    for (size_t i = 0; i < thread->markers.count; i++) {
        struct text name =
            strings_text(&recorded->profile.strings, ((const struct marker *)column_at(&thread->markers, i))->name);
        if (!text_starts_with(name, TEXT("name "))) continue;
        /* The name is not NUL-terminated: other texts follow it. */
        char number[32];
        snprintf(number, sizeof number, "%.*s", (int)name.bytes_count - 5, name.bytes + 5);
        assert_true(strtoull(number, NULL, 10) < kept_count);
        found_count++;
    }
    assert_true(found_count > 0 && found_count <= kept_count);
    assert_true(status.chunks_recycled || found_count == kept_count);
    struct numbers numbers = collect_numbers(&recorded->profile, NULL, "number", 101);
    assert_numbers(&numbers, 1, 101);
    free(numbers.counts);
    assert_int_equal(count_of_cause(&recorded->profile.ledger, LEDGER_LOST, "marker whose definition"), 0);
}

/* Repeated names do not take more space. */
TEST(test_names_again_and_again, set_up_folder, tear_down_folder) {
    enum { NAME_COUNT = 1000, ROUND_COUNT = 50 };
    start_recording(*state, "again.trace", (struct grec_options){.limit_bytes = 4u << 20});
    for (int round = 0; round < ROUND_COUNT; round++)
        for (int i = 0; i < NAME_COUNT; i++) {
            char name[32];
            snprintf(name, sizeof name, "name %d", i);
            grec_add_named_marker(name, NULL, NULL, NULL, NULL, 0);
        }
    struct grec_status status = status_now();
    stop_and_read(*state, "again.trace");
    assert_int_equal(status.definitions_lost, 0);
    assert_int_equal(status.events_lost, 0);
}

/* Several threads make equal and different definitions at the same time. */
static void *define_many(void *argument) {
    uint64_t first = (uint64_t)(uintptr_t)argument;
    for (uint64_t i = 0; i < 2000; i++) {
        char name[32];
        snprintf(name, sizeof name, "%s %" PRIu64, i % 2 ? "shared" : "own", i % 2 ? i : first + i);
        grec_add_named_marker(name, NULL, NULL, NULL, NULL, 0);
    }
    return NULL;
}

TEST(test_definitions_at_once, set_up_folder, tear_down_folder) {
    enum { COUNT = 4 };
    pthread_t threads[COUNT];
    start_recording(*state, "at-once.trace", (struct grec_options){.chunk_bytes = 4096, .limit_bytes = 8u << 20});
    for (uint64_t i = 0; i < COUNT; i++)
        assert_int_equal(pthread_create(&threads[i], NULL, define_many, (void *)(uintptr_t)(i * 10000)), 0);
    for (int i = 0; i < COUNT; i++) pthread_join(threads[i], NULL);
    const struct recorded *recorded = stop_and_read_whole(*state, "at-once.trace");
    assert_int_equal(count_markers(&recorded->profile, "shared 1999"), COUNT);
    assert_int_equal(count_markers(&recorded->profile, "shared 1"), COUNT);
    for (int i = 0; i < COUNT; i++) {
        char name[32];
        snprintf(name, sizeof name, "own %d", i * 10000 + 1998);
        assert_int_equal(count_markers(&recorded->profile, name), 1);
    }
}

/* ---- More threads than chunks. ---- */

enum { CROWD_COUNT = 40 };

struct crowd {
    pthread_t threads[CROWD_COUNT];
    pthread_barrier_t barrier;
};

static void *hold_a_chunk(void *argument) {
    struct crowd *crowd = argument;
    record_number(0);
    pthread_barrier_wait(&crowd->barrier);
    pthread_barrier_wait(&crowd->barrier);
    return NULL;
}

TEST(test_more_threads_than_chunks, set_up_folder, tear_down_folder) {
    struct crowd *crowd = calloc(1, sizeof *crowd);
    assert_non_null(crowd);
    pthread_barrier_init(&crowd->barrier, NULL, CROWD_COUNT + 1);
    start_recording(*state, "crowd.trace", (struct grec_options){.limit_bytes = 64 * 1024, .chunk_bytes = 4096});
    for (int i = 0; i < CROWD_COUNT; i++)
        assert_int_equal(pthread_create(&crowd->threads[i], NULL, hold_a_chunk, crowd), 0);
    pthread_barrier_wait(&crowd->barrier);
    struct grec_status status = status_now();
    uint64_t lost_count = status.events_lost;
    assert_true(lost_count > 0 && lost_count < CROWD_COUNT);
    pthread_barrier_wait(&crowd->barrier);
    for (int i = 0; i < CROWD_COUNT; i++) pthread_join(crowd->threads[i], NULL);
    /* A thread that could not get a chunk tries again after a while. */
    usleep(20000);
    for (uint64_t i = 1; i <= 1000; i++) record_number(i);
    assert_int_equal(status_now().events_lost, lost_count);
    const struct recorded *recorded = stop_and_read(*state, "crowd.trace");
    assert_int_equal(recorded->header.lost_event_count, lost_count);
    assert_int_equal(count_of_cause(&recorded->profile.ledger, LEDGER_LOST, "event that the recorder"), lost_count);
    struct numbers numbers = collect_numbers(&recorded->profile, NULL, "number", 1001);
    assert_numbers(&numbers, 1, 1001);
    /* The chunks of the ended threads still had space, so no chunk was recycled, and no recorded event of these
     * threads was dropped. */
    assert_int_equal(recorded->header.recycled_chunk_count, 0);
    assert_int_equal(numbers.counts[0], CROWD_COUNT - lost_count);
    free(numbers.counts);
    pthread_barrier_destroy(&crowd->barrier);
    free(crowd);
}

/* Tests every chunk size with blocks of the maximum length. */
TEST(test_chunk_sizes, set_up_folder, tear_down_folder) {
    static const struct grec_field fields[] = {GREC_FIELD("number", NULL, GREC_FORMAT_INTEGER),
                                               GREC_FIELD("text", NULL, GREC_FORMAT_STRING)};
    static struct grec_marker_type type = GREC_MARKER_TYPE("Sized", fields);
    static struct grec_marker marker = GREC_MARKER("sized", NULL, &type);
    enum { EVENT_COUNT = 500, TEXT_BYTES = 1000 };
    static char text[TEXT_BYTES];
    memset(text, 't', sizeof text);
    for (uint32_t chunk_bytes = 4096; chunk_bytes <= 1024 * 1024; chunk_bytes *= 2) {
        start_recording(*state, "sizes.trace",
                        (struct grec_options){.limit_bytes = GREC_UNLIMITED, .chunk_bytes = chunk_bytes});
        for (size_t i = 0; i < EVENT_COUNT; i++) {
            const struct grec_value values[] = {GREC_INT(i), GREC_TEXT_OF(text, i * 2)};
            grec_instant(&marker, values, 2);
        }
        const struct recorded *recorded = stop_and_read_whole(*state, "sizes.trace");
        assert_int_equal(recorded->header.chunk_bytes, chunk_bytes);
        assert_int_equal(recorded->header.cut_text_count, 0);
        struct numbers numbers = collect_numbers(&recorded->profile, NULL, "sized", EVENT_COUNT);
        assert_numbers(&numbers, 0, EVENT_COUNT);
        free(numbers.counts);
        const struct thread *thread = column_at(&recorded->profile.threads, 0);
        for (size_t i = 0; i < EVENT_COUNT; i++)
            assert_int_equal(value_of(&recorded->profile, column_at(&thread->markers, i), 1).text.bytes_count, i * 2);
    }
}

/* ---- Chunks kept for the next thread, of this or another process. ---- */

static void create_pool(struct pool *pool) {
    assert_true(pool_create(pool, &(struct pool_options){.limit_bytes = 1 << 20, .chunk_bytes = 4096}));
}

static struct trace_chunk_header *take_from(struct pool *pool) {
    struct pool_owner owner = {.pid = process_self()->pid, .tid = 1, .thread_uid = 1};
    return pool_take(pool, &owner);
}

TEST(test_kept_chunks, set_up_folder, tear_down_folder) {
    uint32_t pid = process_self()->pid;
    struct pool pool;
    create_pool(&pool);
    struct trace_chunk_header *chunk = take_from(&pool);
    assert_non_null(chunk);
    for (uint32_t i = 0; i < 2; i++) {
        bool is_of_other = false;
        uint64_t index = chunk->global_index;
        pool_put_partial(&pool, chunk);
        assert_ptr_equal(pool_take_partial(&pool, pid + i, &is_of_other), chunk);
        assert_int_equal(is_of_other, i);
        assert_int_equal(chunk->owner, pid + i);
        assert_true(chunk->global_index > index);
        assert_null(pool_take_partial(&pool, pid, &is_of_other));
    }
    assert_int_equal(chunk->pid, pid);
    assert_int_equal(chunk->state, TRACE_CHUNK_LIVE);
    pool_close(&pool);
}

/* The pids in a chunk are of one namespace. At the limit, what no process of this namespace can continue is used again.
 */
TEST(test_kept_chunks_of_another_namespace, set_up_folder, tear_down_folder) {
    struct pool pool;
    bool is_of_other;
    create_pool(&pool);
    struct trace_chunk_header *chunk = take_from(&pool);
    assert_non_null(chunk);
    chunk->pid_namespace++;
    pool_put_partial(&pool, chunk);
    assert_null(pool_take_partial(&pool, process_self()->pid, &is_of_other));
    while (!pool_is_at_limit(&pool)) assert_ptr_not_equal(take_from(&pool), chunk);
    assert_ptr_equal(take_from(&pool), chunk);
    assert_int_equal(chunk->pid_namespace, process_self()->pid_namespace);
    assert_int_equal(pool.header->recycled_chunk_count, 1);
    assert_null(take_from(&pool));
    pool_close(&pool);
}

/* A chunk that was continued has newer events than those that were taken after it at first. */
TEST(test_kept_chunks_are_as_old_as_their_last_use, set_up_folder, tear_down_folder) {
    struct pool pool;
    bool is_of_other;
    create_pool(&pool);
    struct trace_chunk_header *kept = take_from(&pool), *other = take_from(&pool);
    pool_put_partial(&pool, kept);
    assert_ptr_equal(pool_take_partial(&pool, process_self()->pid, &is_of_other), kept);
    pool_seal(&pool, kept);
    pool_seal(&pool, other);
    while (!pool_is_at_limit(&pool)) assert_non_null(take_from(&pool));
    assert_ptr_equal(take_from(&pool), other);
    assert_ptr_equal(take_from(&pool), kept);
    pool_close(&pool);
}

/* The last process that leaves the pool seals what nobody has continued. */
TEST(test_kept_chunks_at_the_end, set_up_folder, tear_down_folder) {
    struct pool pool;
    create_pool(&pool);
    struct trace_chunk_header *chunk = take_from(&pool);
    pool_put_partial(&pool, chunk);
    assert_true(pool_enter(&pool));
    pool_leave(&pool);
    assert_int_equal(chunk->state, TRACE_CHUNK_LIVE);
    pool_leave(&pool);
    assert_int_equal(chunk->state, TRACE_CHUNK_SEALED);
    pool_close(&pool);
}

/* ---- Pages of the trace in the memory of the process. ---- */

/* Returns how many bytes of the trace the kernel counts as resident memory of this process. */
static uint64_t resident_by_kernel(void) {
    FILE *file = fopen("/proc/self/smaps", "r");
    char line[512];
    uint64_t kilobytes = 0;
    uintptr_t start, end;
    bool is_trace = false;
    assert_non_null(file);
    while (fgets(line, sizeof line, file)) {
        if (sscanf(line, "%" SCNxPTR "-%" SCNxPTR " ", &start, &end) == 2)
            is_trace = start == (uintptr_t)recording_pool.base;
        if (is_trace && sscanf(line, "Rss: %" SCNu64 " kB", &kilobytes) == 1) break;
    }
    fclose(file);
    return kilobytes * 1024;
}

/* The recorder does not note which pages of its tables it has touched. The kernel maps some pages around one that is
 * read. */
static bool is_resident_right(void) {
    enum { ERROR_BYTES_MAX = 32 * 4096 };
    uint64_t counted = pool_resident_bytes(&recording_pool), by_kernel = resident_by_kernel();
    uint64_t error_bytes = counted > by_kernel ? counted - by_kernel : by_kernel - counted;
    if (error_bytes > ERROR_BYTES_MAX) print_error("%" PRIu64 " bytes, not %" PRIu64 "\n", counted, by_kernel);
    return error_bytes <= ERROR_BYTES_MAX;
}

static void record_pages(void) {
    for (uint64_t i = 0; i < 5000; i++) record_padded(i, TEXT_BYTES_MAX);
}

/* Each process counts the pages that it has touched itself. */
TEST(test_resident_pages, set_up_folder, tear_down_folder) {
    static const struct grec_options cases[] = {
        {.limit_bytes = 0},
        {.storage = GREC_STORAGE_MEMORY},
        {.limit_bytes = GREC_UNLIMITED},
        {.limit_bytes = 1 << 20, .chunk_bytes = 16384},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        start_recording(*state, "pages.trace", cases[i]);
        assert_true(is_resident_right());
        record_pages();
        assert_true(is_resident_right());
        pid_t child = fork();
        if (!child) {
            bool is_good = is_resident_right();
            record_pages();
            _exit(is_good && is_resident_right() ? 0 : 1);
        }
        assert_int_equal(wait_for_child(child), 0);
        assert_int_equal(grec_save(temp_folder_file(*state, "copy.trace")), GREC_OK);
        assert_true(is_resident_right());
        grec_stop();
    }
}

/* ---- Copies while a thread takes a chunk. It may be stopped, or killed, after each of its steps. ---- */

enum { COPIED_COUNT = 100 };

static void *record_some(void *unused) {
    for (uint64_t i = 0; i < COPIED_COUNT; i++) record_number(i);
    return unused;
}

static struct trace_chunk_header *chunk_with(uint32_t state, uint64_t number) {
    for (uint64_t i = 0; i < recording_pool.header->chunk_count; i++) {
        struct trace_chunk_header *chunk = pool_chunk(&recording_pool, i);
        if (chunk->kind == TRACE_CHUNK_EVENTS && chunk->state == state && number-- == 0) return chunk;
    }
    fail_msg("there is no such chunk");
    return NULL;
}

static uint64_t *table_entry_of(const struct trace_chunk_header *chunk) {
    return &recording_pool.table[pool_chunk_number(&recording_pool, chunk)];
}

/* Saves a copy. Returns how many of the numbers it has. */
static uint64_t count_in_copy(const struct temp_folder *folder, uint64_t recycled_count) {
    assert_int_equal(grec_save(temp_folder_file(folder, "copy.trace")), GREC_OK);
    const struct recorded *copy = recorded_read(temp_folder_file(folder, "copy.trace"));
    assert_nothing_lost(copy);
    assert_int_equal(copy->header.recycled_chunk_count, recycled_count);
    return count_markers(&copy->profile, "number");
}

/* The next thread to continue a kept chunk gives it a new index, first in the chunk and then in the table. */
TEST(test_saved_while_a_kept_chunk_is_taken, set_up_folder, tear_down_folder) {
    pthread_t thread;
    start_recording(*state, "kept.trace", (struct grec_options){0});
    assert_int_equal(pthread_create(&thread, NULL, record_some, NULL), 0);
    pthread_join(thread, NULL);
    struct trace_chunk_header *kept = chunk_with(TRACE_CHUNK_LIVE, 0);
    kept->global_index = recording_pool.header->next_global_index++;
    assert_int_equal(count_in_copy(*state, 0), COPIED_COUNT);
}

/* The thread that uses a chunk again first changes the table, counts the loss, makes the chunk free, and fills in its
 * header. Its old contents are in copies until it is free. */
TEST(test_saved_while_a_chunk_is_used_again, set_up_folder, tear_down_folder) {
    start_recording(*state, "again.trace", (struct grec_options){.chunk_bytes = 4096, .limit_bytes = 1 << 20});
    for (uint64_t i = 0; i < COPIED_COUNT; i++) record_padded(i, TEXT_BYTES_MAX);
    struct trace_chunk_header *chunk = chunk_with(TRACE_CHUNK_SEALED, 1);
    uint64_t *entry = table_entry_of(chunk), kept_entry = *entry;
    uint64_t count_in_chunk = (chunk->commit >> 32) - 2; /* process, thread */
    *entry = (uint64_t)POOL_LIVE | recording_pool.header->next_global_index++ << 8;
    assert_int_equal(count_in_copy(*state, 0), COPIED_COUNT);
    recording_pool.header->recycled_chunk_count = 1;
    chunk->state = TRACE_CHUNK_FREE;
    assert_int_equal(count_in_copy(*state, 1), COPIED_COUNT - count_in_chunk);
    chunk->state = TRACE_CHUNK_SEALED;
    *entry = kept_entry;
}

int main(void) { return unit_tests_run(NULL, NULL); }
