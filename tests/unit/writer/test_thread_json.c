#include <stdlib.h>

#include "tests/support/chunk_text.h"
#include "tests/support/unit_test.h"
#include "writer/thread_json.h"

static struct failure failure;
static struct json json;

static int begin(void **state) {
    failure_clear(&failure);
    json_init(&json, &failure);
    json_array_begin(&json);
    return 0;
}

static void assert_written(const char *expected) {
    json_array_end(&json);
    struct chunk_list chunks = json_take_chunks(&json);
    char *text = chunk_text(&chunks);
    chunk_list_fini(&chunks);
    assert_string_equal(text, expected);
    free(text);
}

static void ids_are_numbers_where_they_read_back_the_same(void **state) {
    static const char *const ids[] = {"0", "7",  "123456789012345", "1234567890123456", "007", "00", "1.2", "-1",
                                      "",  "12a"};
    for (size_t i = 0; i < sizeof ids / sizeof *ids; i++) thread_json_id(&json, text_of(ids[i]));
    assert_written("[0,7,123456789012345,\"1234567890123456\",\"007\",\"00\",\"1.2\",\"-1\",\"\",\"12a\"]");
}

static void tids_of_later_lives_are_texts(void **state) {
    struct thread thread = {.tid = -1};
    json_object_begin(&json);
    thread_json_tid(&json, &thread);
    json_object_end(&json);
    thread.tid_text = TEXT("5.2");
    json_object_begin(&json);
    thread_json_tid(&json, &thread);
    json_object_end(&json);
    assert_written("[{\"tid\":-1},{\"tid\":\"5.2\"}]");
}

static void cpu_deltas_are_positive_behind_the_first_sample(void **state) {
    thread_json_cpu_delta(&json, decimal_make(15, 1), true);
    thread_json_cpu_delta(&json, decimal_make(15, 1), false);
    thread_json_cpu_delta(&json, decimal_make(-15, 1), false);
    assert_written("[0,1.5,0]");
}

static void unknown_times_and_places_are_null(void **state) {
    json_object_begin(&json);
    thread_json_key_start(&json, "a", TIME_NONE);
    thread_json_key_start(&json, "b", 1500000);
    thread_json_key_time(&json, "c", TIME_NONE);
    thread_json_key_time(&json, "d", 0);
    json_object_end(&json);
    thread_json_line_or_column(&json, 0);
    thread_json_line_or_column(&json, 3);
    assert_written("[{\"a\":0,\"b\":1.5,\"c\":null,\"d\":0},null,3]");
}

#define TEST(name) cmocka_unit_test_setup(name, begin)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(ids_are_numbers_where_they_read_back_the_same),
        TEST(tids_of_later_lives_are_texts),
        TEST(cpu_deltas_are_positive_behind_the_first_sample),
        TEST(unknown_times_and_places_are_null),
    };
    return cmocka_run_group_tests_name("thread_json", tests, NULL, NULL);
}
