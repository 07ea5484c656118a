/* Tests failures, drains and memory. The goldens of every number of threads show what is written. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libconvert/base/memory.h"
#include "tests/support/chunk_text.h"
#include "tests/support/sanitizers.h"
#include "tests/support/unit_test.h"
#include "writer/parallel_rows.h"

/* The thread sanitizer makes rows slow, and sees what threads share in few of them. */
enum { ROWS_PER_BLOCK = HAS_THREAD_SANITIZER ? 100 : 1000, MANY_ROWS = 300 * ROWS_PER_BLOCK + 1 };
#define NO_ROW SIZE_MAX

static const unsigned thread_counts[] = {1, 2, 3, 8, 100};
/* Three threads share what a hundred share. */
enum { THREAD_COUNT_COUNT = HAS_THREAD_SANITIZER ? 3 : sizeof thread_counts / sizeof *thread_counts };

/* The context of the writer of rows. */
struct squares {
    size_t fails_at; /* the row that latches a failure */
};

/* A rows_writer. */
static void write_squares(struct json *json, const void *context, size_t first, size_t end) {
    const struct squares *squares = context;
    for (size_t i = first; i < end; i++) {
        json_int(json, (int64_t)(i * i));
        if (i == squares->fails_at) failure_set(json->out.failure, FAILURE_INPUT, "row %zu", i);
    }
}

/* A rows_writer. Long rows make a large output in little time. */
static void write_long_rows(struct json *json, const void *context, size_t first, size_t end) {
    enum { ROW_BYTES = 250, NUMBER_BYTES = 10 };
    for (size_t i = first; i < end; i++) {
        char *row = json_reserve(json, ROW_BYTES + 1);
        if (!row) return;
        snprintf(row, ROW_BYTES, "\"%0*zu", NUMBER_BYTES, i);
        memset(row + 1 + NUMBER_BYTES, ' ', ROW_BYTES - NUMBER_BYTES - 2);
        row[ROW_BYTES - 1] = '"';
        json_commit(json, row + ROW_BYTES);
    }
}

static void write_array_of(struct chunk_list *out, size_t row_count, unsigned thread_count, rows_writer *write,
                           const void *context) {
    struct json json;
    json_init_for(&json, out);
    struct parallel_rows *parallel = parallel_rows_create(thread_count, out->failure);
    json_array_begin(&json);
    parallel_rows_write(parallel, &json, row_count, ROWS_PER_BLOCK, write, context);
    json_array_end(&json);
    parallel_rows_destroy(parallel);
    struct chunk_list document = json_take_chunks(&json);
    chunk_list_splice(out, &document);
}

/* Writes an array of squares. */
static void write_array(struct chunk_list *out, size_t row_count, unsigned thread_count, size_t fails_at) {
    struct squares squares = {fails_at};
    write_array_of(out, row_count, thread_count, write_squares, &squares);
}

/* Returns the array as text. The caller frees it. */
static char *array_text(size_t row_count, unsigned thread_count) {
    struct failure failure = {0};
    struct chunk_list out;
    chunk_list_init(&out, &failure);
    write_array(&out, row_count, thread_count, NO_ROW);
    assert_false(failure_is_set(&failure));
    char *text = chunk_text(&out);
    chunk_list_fini(&out);
    return text;
}

TEST(the_first_failing_block_is_reported) {
    for (size_t i = 0; i < THREAD_COUNT_COUNT; i++) {
        for (size_t fails_at = 0; fails_at < MANY_ROWS; fails_at += 50 * ROWS_PER_BLOCK + 7) {
            struct failure failure = {0};
            char message[32];
            struct chunk_list out;
            chunk_list_init(&out, &failure);
            write_array(&out, MANY_ROWS, thread_counts[i], fails_at);
            snprintf(message, sizeof message, "row %zu", fails_at);
            assert_int_equal(failure.code, FAILURE_INPUT);
            assert_string_equal(failure.message, message);
            chunk_list_fini(&out);
        }
    }
}

/* What drains an output. It fails at the call number fails_at, counted from 0. */
struct drained {
    struct failure failure;
    struct chunk_list chunks;
    uint64_t most_bytes; /* most bytes of one call */
    unsigned call_count;
    unsigned fails_at;
};

/* A chunk_drain. */
static void take_chunks(void *context, struct chunk_list *chunks) {
    struct drained *drained = context;
    if (chunks->total_bytes > drained->most_bytes) drained->most_bytes = chunks->total_bytes;
    if (drained->call_count++ == drained->fails_at) failure_set(&drained->failure, FAILURE_IO, "no room");
    if (failure_is_set(&drained->failure))
        chunk_list_fini(chunks);
    else
        chunk_list_splice(&drained->chunks, chunks);
}

/* Writes an array of long rows that is drained meanwhile. The caller ends the chunks of *drained. */
static void drain_array(struct drained *drained, size_t row_count, unsigned thread_count, unsigned fails_at) {
    struct chunk_drain drain = {take_chunks, drained};
    *drained = (struct drained){.fails_at = fails_at};
    chunk_list_init(&drained->chunks, &drained->failure);
    struct chunk_list out;
    chunk_list_init(&out, &drained->failure);
    out.drain = &drain;
    write_array_of(&out, row_count, thread_count, write_long_rows, NULL);
    out.drain = NULL;
    if (failure_is_set(&drained->failure))
        chunk_list_fini(&out);
    else
        chunk_list_splice(&drained->chunks, &out);
}

enum { DRAINED_ROWS = 100 * 1000, DRAIN_BYTES = 4 << 20, ROOM_BYTES = 1 << 20 };

TEST(output_is_drained_as_it_grows) {
    struct drained one, several;
    drain_array(&one, DRAINED_ROWS, 1, UINT32_MAX);
    char *expected = chunk_text(&one.chunks);
    chunk_list_fini(&one.chunks);
    for (size_t i = 1; i < THREAD_COUNT_COUNT; i++) {
        drain_array(&several, DRAINED_ROWS, thread_counts[i], UINT32_MAX);
        assert_true(several.call_count > 5);
        assert_true(several.most_bytes < DRAIN_BYTES + ROOM_BYTES);
        char *text = chunk_text(&several.chunks);
        assert_string_equal(text, expected);
        free(text);
        chunk_list_fini(&several.chunks);
    }
    free(expected);
}

TEST(a_failing_drain_ends_the_writing) {
    for (size_t i = 0; i < THREAD_COUNT_COUNT; i++) {
        for (unsigned fails_at = 0; fails_at < 3; fails_at++) {
            struct drained drained;
            drain_array(&drained, DRAINED_ROWS, thread_counts[i], fails_at);
            assert_int_equal(drained.failure.code, FAILURE_IO);
            assert_int_equal(drained.call_count, fails_at + 1);
            chunk_list_fini(&drained.chunks);
        }
    }
}

TEST(memory_is_counted) {
    enum { STEP_BYTES = 100 * 1024, ENOUGH_BYTES = 3 << 20 };
    char *expected = array_text(MANY_ROWS / 3, 1);
    unsigned good_count = 0, failed_count = 0;
    for (uint64_t limit_bytes = STEP_BYTES; limit_bytes <= ENOUGH_BYTES; limit_bytes += STEP_BYTES) {
        struct memory_limit limit;
        memory_limit_init(&limit, limit_bytes);
        struct failure failure = {.memory = &limit};
        struct chunk_list out;
        chunk_list_init(&out, &failure);
        write_array(&out, MANY_ROWS / 3, 3, NO_ROW);
        if (failure_is_set(&failure)) {
            assert_int_equal(failure.code, FAILURE_MEMORY);
            failed_count++;
        } else {
            char *text = chunk_text(&out);
            assert_string_equal(text, expected);
            free(text);
            good_count++;
        }
        chunk_list_fini(&out);
        assert_int_equal(limit.held_bytes, 0);
    }
    assert_true(good_count > 0 && failed_count > 0);
    free(expected);
}

int main(void) { return unit_tests_run(NULL, NULL); }
