#include <stdlib.h>
#include <string.h>

#include "libconvert/base/arena.h"
#include "tests/support/assert_text.h"
#include "tests/support/full_tables.h"
#include "tests/support/random_numbers.h"
#include "tests/support/unit_test.h"

enum { CHUNK_BYTES = 64 * 1024 };

static struct failure failure;
static struct arena arena;

static int begin(void **state) {
    failure_clear(&failure);
    arena_init(&arena, &failure);
    return 0;
}

static int end(void **state) {
    arena_fini(&arena);
    return 0;
}

static void an_unused_arena_owns_nothing(void **state) {
    assert_null(arena.chunks);
    arena_fini(&arena);
    arena_fini(&arena);
    assert_null(arena.chunks);
}

static void a_copy_does_not_depend_on_its_source(void **state) {
    char source[] = "libc\0.so";
    struct text copy = arena_copy(&arena, (struct text){source, 8});
    memset(source, 'x', sizeof source);
    assert_text(copy, "libc\0.so");
    assert_false(failure_is_set(&failure));
}

static void nothing_can_be_taken_and_copied(void **state) {
    assert_non_null(arena_take_bytes(&arena, 0));
    struct text copy = arena_copy(&arena, (struct text){NULL, 0});
    assert_int_equal(copy.bytes_count, 0);
    assert_non_null(copy.bytes); /* NULL would mean that memory ran out */
    assert_false(failure_is_set(&failure));
}

static void small_requests_lie_side_by_side(void **state) {
    char *first = arena_take_bytes(&arena, 10);
    assert_ptr_equal(arena_take_bytes(&arena, 0), first + 10);
    assert_ptr_equal(arena_take_bytes(&arena, 1), first + 10);
    assert_ptr_equal(arena_take_bytes(&arena, 5), first + 11);
}

static void a_chunk_is_filled_to_its_last_byte(void **state) {
    char *first = arena_take_bytes(&arena, 1);
    const struct arena_chunk *chunk = arena.chunks;
    size_t left_bytes = CHUNK_BYTES - 1;
    for (unsigned i = 0; i < 4; i++) {
        size_t part_bytes = i < 3 ? CHUNK_BYTES / 4 : left_bytes;
        memset(arena_take_bytes(&arena, part_bytes), 'x', part_bytes);
        left_bytes -= part_bytes;
    }
    assert_ptr_equal(arena.chunks, chunk);
    assert_ptr_equal(arena_take_bytes(&arena, 0), first + CHUNK_BYTES);
    assert_non_null(arena_take_bytes(&arena, 1));
    assert_ptr_not_equal(arena.chunks, chunk);
}

static void a_large_request_leaves_the_current_chunk_in_use(void **state) {
    static const size_t sizes[] = {CHUNK_BYTES / 4 + 1, CHUNK_BYTES - 1, CHUNK_BYTES, CHUNK_BYTES + 1, 1000000};
    enum { LEFT_BYTES = 400, PART_BYTES = (CHUNK_BYTES - LEFT_BYTES) / 4 };
    for (unsigned i = 0; i < 4; i++) arena_take_bytes(&arena, PART_BYTES);
    char *next = arena_take_bytes(&arena, 0);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        memset(arena_take_bytes(&arena, sizes[i]), 'l', sizes[i]);
        assert_ptr_equal(arena_take_bytes(&arena, LEFT_BYTES / 5), next);
        next += LEFT_BYTES / 5;
    }
    assert_int_equal(arena.left_bytes, 0);
}

static void a_large_request_may_be_the_first(void **state) {
    char *large = arena_take_bytes(&arena, CHUNK_BYTES);
    memset(large, 'l', CHUNK_BYTES);
    char *small = arena_take_bytes(&arena, 2);
    memset(small, 's', 2);
    assert_int_equal(large[0], 'l');
    assert_int_equal(large[CHUNK_BYTES - 1], 'l');
    assert_ptr_equal(arena_take_bytes(&arena, 1), small + 2);
}

static void what_was_taken_stays_as_it_is(void **state) {
    enum { TAKEN_COUNT = 3000 };
    static struct {
        char *bytes;
        size_t bytes_count;
    } taken[TAKEN_COUNT];
    struct random_numbers numbers = {1};
    for (unsigned i = 0; i < TAKEN_COUNT; i++) {
        uint32_t limit = random_below(&numbers, 50) == 0 ? 100000 : 200;
        taken[i].bytes_count = random_below(&numbers, limit);
        taken[i].bytes = arena_take_bytes(&arena, taken[i].bytes_count);
        assert_non_null(taken[i].bytes);
        memset(taken[i].bytes, (int)(i % 251), taken[i].bytes_count);
    }
    for (unsigned i = 0; i < TAKEN_COUNT; i++)
        for (size_t j = 0; j < taken[i].bytes_count; j++)
            if ((unsigned char)taken[i].bytes[j] != i % 251) fail_msg("request %u, byte %zu was overwritten", i, j);
}

static void aligned_memory_is_zeroed(void **state) {
    for (size_t i = 0; i < 200; i++) {
        memset(arena_take_bytes(&arena, i % 7), 0xff, i % 7);
        size_t bytes_count = i * i % 1000;
        char *memory = arena_take_aligned(&arena, bytes_count);
        assert_non_null(memory);
        assert_int_equal((uintptr_t)memory % _Alignof(max_align_t), 0);
        for (size_t j = 0; j < bytes_count; j++) assert_int_equal(memory[j], 0);
        memset(memory, 0xff, bytes_count);
    }
    assert_non_null(arena_take_aligned(&arena, 1000000));
}

static void more_than_memory_is_a_failure(void **state) {
    static const size_t sizes[] = {BYTES_BEYOND_MEMORY, SIZE_MAX - 8, SIZE_MAX - 7, SIZE_MAX};
    char *first = arena_take_bytes(&arena, 1);
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        failure_clear(&failure);
        assert_null(arena_take_bytes(&arena, sizes[i]));
        assert_int_equal(failure.code, FAILURE_MEMORY);
        failure_clear(&failure);
        assert_null(arena_take_aligned(&arena, sizes[i]));
        assert_int_equal(failure.code, FAILURE_MEMORY);
        failure_clear(&failure);
        struct text copy = arena_copy(&arena, (struct text){"x", sizes[i]});
        assert_null(copy.bytes);
        assert_int_equal(copy.bytes_count, 0);
        assert_int_equal(failure.code, FAILURE_MEMORY);
    }
    assert_ptr_equal(arena_take_bytes(&arena, 1), first + 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(an_unused_arena_owns_nothing),       TEST(a_copy_does_not_depend_on_its_source),
        TEST(nothing_can_be_taken_and_copied),    TEST(small_requests_lie_side_by_side),
        TEST(a_chunk_is_filled_to_its_last_byte), TEST(a_large_request_leaves_the_current_chunk_in_use),
        TEST(a_large_request_may_be_the_first),   TEST(what_was_taken_stays_as_it_is),
        TEST(aligned_memory_is_zeroed),           TEST(more_than_memory_is_a_failure),
    };
    return cmocka_run_group_tests_name("arena", tests, NULL, NULL);
}
