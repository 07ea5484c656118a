#include <stdlib.h>
#include <string.h>

#include "tests/support/chunk_text.h"
#include "tests/support/unit_test.h"
#include "writer/chunk_list.h"

enum { CHUNK_BYTES = 64 * 1024 };

static size_t chunk_count(const struct chunk_list *list) {
    size_t count = 0;
    for (const struct chunk *chunk = list->first; chunk; chunk = chunk->next) count++;
    return count;
}

static void append_repeated(struct chunk_list *list, char byte, size_t bytes_count) {
    char *bytes = malloc(bytes_count);
    assert_non_null(bytes);
    memset(bytes, byte, bytes_count);
    chunk_list_append(list, bytes, bytes_count);
    free(bytes);
}

static void assert_bytes(const struct chunk_list *list, const char *expected) {
    char *text = chunk_text(list);
    assert_string_equal(text, expected);
    free(text);
}

static void an_empty_list_has_no_chunks(void **state) {
    struct failure failure = {0};
    struct chunk_list list;
    chunk_list_init(&list, &failure);
    chunk_list_append(&list, "", 0);
    assert_null(list.first);
    assert_int_equal(list.total_bytes, 0);
    chunk_list_fini(&list);
}

static void appended_bytes_stand_in_order(void **state) {
    struct failure failure = {0};
    struct chunk_list list;
    chunk_list_init(&list, &failure);
    chunk_list_append(&list, "one", 3);
    chunk_list_append(&list, "two", 3);
    assert_bytes(&list, "onetwo");
    assert_int_equal(chunk_count(&list), 1);
    chunk_list_fini(&list);
    assert_null(list.first);
    assert_int_equal(list.total_bytes, 0);
}

static void a_long_append_fills_every_chunk(void **state) {
    struct failure failure = {0};
    struct chunk_list list;
    chunk_list_init(&list, &failure);
    append_repeated(&list, 'a', CHUNK_BYTES - 1);
    append_repeated(&list, 'b', 2 * CHUNK_BYTES + 1);
    assert_int_equal(chunk_count(&list), 3);
    assert_int_equal(list.total_bytes, 3 * CHUNK_BYTES);
    char *text = chunk_text(&list);
    assert_int_equal(strspn(text, "a"), CHUNK_BYTES - 1);
    assert_int_equal(strspn(text + CHUNK_BYTES - 1, "b"), 2 * CHUNK_BYTES + 1);
    free(text);
    chunk_list_fini(&list);
}

static void a_reservation_is_side_by_side(void **state) {
    struct failure failure = {0};
    struct chunk_list list;
    chunk_list_init(&list, &failure);
    append_repeated(&list, 'a', CHUNK_BYTES - 2);
    char *room = chunk_list_reserve(&list, 3 * CHUNK_BYTES);
    assert_non_null(room);
    memset(room, 'b', 3 * CHUNK_BYTES);
    chunk_list_commit(&list, 3 * CHUNK_BYTES);
    assert_int_equal(chunk_count(&list), 2);
    assert_int_equal(list.total_bytes, 4 * CHUNK_BYTES - 2);
    chunk_list_fini(&list);
}

static void an_unused_reservation_adds_nothing(void **state) {
    struct failure failure = {0};
    struct chunk_list list;
    chunk_list_init(&list, &failure);
    assert_non_null(chunk_list_reserve(&list, 10));
    assert_bytes(&list, "");
    chunk_list_append(&list, "x", 1);
    assert_bytes(&list, "x");
    chunk_list_fini(&list);
}

static void splicing_moves_large_lists(void **state) {
    struct failure failure = {0};
    struct chunk_list into, from;
    chunk_list_init(&into, &failure);
    chunk_list_init(&from, &failure);
    chunk_list_append(&into, "head", 4);
    append_repeated(&from, 'x', CHUNK_BYTES + 1);
    const struct chunk *moved = from.first;
    chunk_list_splice(&into, &from);
    assert_ptr_equal(into.first->next, moved);
    assert_int_equal(into.total_bytes, 4 + CHUNK_BYTES + 1);
    assert_null(from.first);
    assert_null(from.last);
    assert_int_equal(from.total_bytes, 0);
    chunk_list_append(&into, "tail", 4);
    chunk_list_append(&from, "again", 5);
    char *text = chunk_text(&into);
    assert_memory_equal(text, "headxx", 6);
    assert_string_equal(text + 4 + CHUNK_BYTES, "xtail");
    free(text);
    assert_bytes(&from, "again");
    chunk_list_fini(&into);
    chunk_list_fini(&from);
}

static void splicing_into_an_empty_list_moves(void **state) {
    struct failure failure = {0};
    struct chunk_list into, from;
    chunk_list_init(&into, &failure);
    chunk_list_init(&from, &failure);
    chunk_list_append(&from, "abc", 3);
    const struct chunk *moved = from.first;
    chunk_list_splice(&into, &from);
    assert_ptr_equal(into.first, moved);
    assert_bytes(&into, "abc");
    chunk_list_fini(&into);
    chunk_list_fini(&from);
}

static void small_fragments_share_a_chunk(void **state) {
    struct failure failure = {0};
    struct chunk_list into;
    chunk_list_init(&into, &failure);
    for (int i = 0; i < 1000; i++) {
        struct chunk_list from;
        chunk_list_init(&from, &failure);
        chunk_list_append(&from, "abc", 3);
        chunk_list_splice(&into, &from);
        assert_null(from.first);
    }
    assert_int_equal(chunk_count(&into), 1);
    assert_int_equal(into.total_bytes, 3000);
    chunk_list_fini(&into);
}

static void splicing_an_empty_list_changes_nothing(void **state) {
    struct failure failure = {0};
    struct chunk_list into, from;
    chunk_list_init(&into, &failure);
    chunk_list_init(&from, &failure);
    chunk_list_splice(&into, &from);
    assert_null(into.first);
    chunk_list_append(&into, "a", 1);
    chunk_list_splice(&into, &from);
    assert_bytes(&into, "a");
    chunk_list_fini(&into);
}

static void dropping_frees_from_the_front(void **state) {
    struct failure failure = {0};
    struct chunk_list list;
    chunk_list_init(&list, &failure);
    append_repeated(&list, 'a', CHUNK_BYTES);
    chunk_list_append(&list, "rest", 4);
    chunk_list_drop_first(&list);
    assert_bytes(&list, "rest");
    chunk_list_drop_first(&list);
    assert_null(list.first);
    chunk_list_append(&list, "new", 3);
    assert_bytes(&list, "new");
    chunk_list_fini(&list);
}

static void memory_running_out_is_latched(void **state) {
    struct failure failure = {0};
    struct chunk_list list;
    chunk_list_init(&list, &failure);
    chunk_list_append(&list, "kept", 4);
    assert_null(chunk_list_reserve(&list, SIZE_MAX));
    assert_int_equal(failure.code, FAILURE_MEMORY);
    assert_bytes(&list, "kept");
    chunk_list_fini(&list);
}

static void a_failed_conversion_takes_no_more_memory(void **state) {
    struct failure failure = {0};
    struct chunk_list list;
    chunk_list_init(&list, &failure);
    failure_set(&failure, FAILURE_INPUT, "bad input");
    assert_null(chunk_list_reserve(&list, 1));
    chunk_list_append(&list, "lost", 4);
    assert_null(list.first);
    assert_int_equal(failure.code, FAILURE_INPUT);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(an_empty_list_has_no_chunks),
        cmocka_unit_test(appended_bytes_stand_in_order),
        cmocka_unit_test(a_long_append_fills_every_chunk),
        cmocka_unit_test(a_reservation_is_side_by_side),
        cmocka_unit_test(an_unused_reservation_adds_nothing),
        cmocka_unit_test(splicing_moves_large_lists),
        cmocka_unit_test(splicing_into_an_empty_list_moves),
        cmocka_unit_test(small_fragments_share_a_chunk),
        cmocka_unit_test(splicing_an_empty_list_changes_nothing),
        cmocka_unit_test(dropping_frees_from_the_front),
        cmocka_unit_test(memory_running_out_is_latched),
        cmocka_unit_test(a_failed_conversion_takes_no_more_memory),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
