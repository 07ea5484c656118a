#include <stdlib.h>
#include <string.h>

#include "libconvert/base/strings.h"
#include "libconvert/base/utf8.h"
#include "tests/support/assert_text.h"
#include "tests/support/full_tables.h"
#include "tests/support/random_numbers.h"
#include "tests/support/unit_test.h"

#define REPLACEMENT "\xef\xbf\xbd"

static struct failure failure;
static struct strings strings;

static int begin(void **state) {
    failure_clear(&failure);
    strings_init(&strings, &failure);
    return 0;
}

static int end(void **state) {
    strings_fini(&strings);
    return 0;
}

static uint32_t intern(struct text text) { return strings_intern(&strings, text).index; }

static void texts_are_numbered_as_they_appear(void **state) {
    assert_int_equal(strings_count(&strings), 0);
    assert_int_equal(intern(TEXT("main")), 0);
    assert_int_equal(intern(TEXT("work")), 1);
    assert_int_equal(intern(TEXT("main")), 0);
    assert_int_equal(intern(TEXT("mai")), 2);
    assert_int_equal(intern(TEXT("main ")), 3);
    assert_int_equal(strings_count(&strings), 4);
    assert_text(strings_text(&strings, (string_id){0}), "main");
    assert_text(strings_text(&strings, (string_id){3}), "main ");
}

static void the_empty_text_is_a_text(void **state) {
    assert_int_equal(intern(TEXT("")), 0);
    assert_int_equal(intern((struct text){NULL, 0}), 0);
    assert_int_equal(strings_count(&strings), 1);
    assert_text(strings_text(&strings, (string_id){0}), "");
    assert_non_null(strings_copy(&strings, TEXT("")).bytes);
    assert_false(failure_is_set(&failure));
}

static void a_nul_byte_ends_no_text(void **state) {
    assert_int_equal(intern(TEXT("a\0b")), 0);
    assert_int_equal(intern(TEXT("a\0c")), 1);
    assert_int_equal(intern(TEXT("a")), 2);
    assert_text(strings_text(&strings, (string_id){0}), "a\0b");
}

static void the_table_keeps_a_copy(void **state) {
    char source[] = "source";
    struct text copy = strings_copy(&strings, text_of(source));
    memset(source, 'x', sizeof source - 1);
    assert_text(copy, "source");
    assert_ptr_equal(strings_copy(&strings, TEXT("source")).bytes, copy.bytes);
    assert_int_equal(strings_count(&strings), 1);
}

static void what_is_written_alike_is_one_text(void **state) {
    assert_int_equal(intern(TEXT("a\xff"
                                 "b")),
                     0);
    assert_text(strings_text(&strings, (string_id){0}), "a" REPLACEMENT "b");
    assert_int_equal(intern(TEXT("a\x80"
                                 "b")),
                     0);
    assert_int_equal(intern(TEXT("a" REPLACEMENT "b")), 0);
    assert_int_equal(intern(TEXT("a\xff"
                                 "b")),
                     0);
    assert_int_equal(strings_count(&strings), 1);
    assert_int_equal(intern(TEXT("a\xff\xff"
                                 "b")),
                     1);
    assert_text(strings_text(&strings, (string_id){1}), "a" REPLACEMENT REPLACEMENT "b");
    assert_text(strings_copy(&strings, TEXT("\xed\xa0\x80")), REPLACEMENT REPLACEMENT REPLACEMENT);
    assert_text(strings_copy(&strings, TEXT("caf\xc3\xa9")), "caf\xc3\xa9");
}

static void a_long_invalid_text_is_repaired_whole(void **state) {
    enum { COUNT = 50000 };
    char *bytes = malloc(COUNT);
    assert_non_null(bytes);
    memset(bytes, 0xff, COUNT);
    struct text copy = strings_copy(&strings, (struct text){bytes, COUNT});
    free(bytes);
    assert_int_equal(copy.bytes_count, COUNT * 3);
    for (size_t i = 0; i < copy.bytes_count; i += 3) assert_memory_equal(copy.bytes + i, REPLACEMENT, 3);
}

static void names_are_composed(void **state) {
    string_id id = strings_intern_format(&strings, "%.*s+0x%x", 3, "libc.so", 0x12au);
    assert_text(strings_text(&strings, id), "lib+0x12a");
    assert_int_equal(strings_intern_format(&strings, "lib%s", "+0x12a").index, id.index);
    assert_text(strings_text(&strings, strings_intern_format(&strings, "%s", "\xff")), REPLACEMENT);
    assert_text(strings_text(&strings, strings_intern_format(&strings, "%s", "")), "");
}

static void a_long_composed_name_is_cut(void **state) {
    char name[5000];
    memset(name, 'n', sizeof name);
    name[4095] = '\0';
    struct text whole = strings_text(&strings, strings_intern_format(&strings, "%s", name));
    assert_int_equal(whole.bytes_count, 4095);
    struct text cut = strings_text(&strings, strings_intern_format(&strings, "%sx", name));
    assert_int_equal(cut.bytes_count, 4095);
    assert_ptr_equal(cut.bytes, whole.bytes);
    /* The name is cut within a character and must still be valid. */
    name[4094] = '\0';
    struct text repaired = strings_text(&strings, strings_intern_format(&strings, "%s\xc3\xa9", name));
    assert_int_equal(repaired.bytes_count, 4094 + 3);
    assert_memory_equal(repaired.bytes + 4094, REPLACEMENT, 3);
}

static void a_name_that_cannot_be_composed_is_empty(void **state) {
    static const wchar_t no_character[] = {(wchar_t)0xdc80, 0};
    assert_text(strings_text(&strings, strings_intern_format(&strings, "%ls", no_character)), "");
    assert_false(failure_is_set(&failure));
}

static void a_table_is_as_a_plain_list(void **state) {
    enum { DRAW_COUNT = 4000, BYTES_MAX = 6 };
    static const char alphabet[] = {'a', 'b', '\0', '\xc3', '\xa9', '\xff'};
    static char model[DRAW_COUNT][BYTES_MAX * 3];
    static size_t model_bytes[DRAW_COUNT];
    uint32_t count = 0;
    struct random_numbers numbers = {5};
    for (uint32_t i = 0; i < DRAW_COUNT; i++) {
        char bytes[BYTES_MAX], repaired[BYTES_MAX * 3];
        size_t bytes_count = random_below(&numbers, BYTES_MAX + 1);
        for (size_t j = 0; j < bytes_count; j++) bytes[j] = alphabet[random_below(&numbers, sizeof alphabet)];
        size_t repaired_bytes = utf8_repair((struct text){bytes, bytes_count}, repaired);
        uint32_t expected = 0;
        while (expected < count && !text_equal((struct text){model[expected], model_bytes[expected]},
                                               (struct text){repaired, repaired_bytes}))
            expected++;
        if (expected == count) {
            memcpy(model[count], repaired, repaired_bytes);
            model_bytes[count++] = repaired_bytes;
        }
        assert_int_equal(intern((struct text){bytes, bytes_count}), expected);
        assert_int_equal(strings_count(&strings), count);
    }
    assert_true(count > 1000);
    for (uint32_t i = 0; i < count; i++) {
        struct text text = strings_text(&strings, (string_id){i});
        assert_int_equal(text.bytes_count, model_bytes[i]);
        if (text.bytes_count) assert_memory_equal(text.bytes, model[i], text.bytes_count);
    }
}

static void memory_running_out_gives_none(void **state) {
    intern(TEXT("before"));
    struct column rows = strings.rows;
    column_make_full(&strings.rows);
    assert_true(string_is_none(strings_intern(&strings, TEXT("new"))));
    assert_int_equal(failure.code, FAILURE_MEMORY);
    assert_null(strings_copy(&strings, TEXT("new")).bytes);
    assert_int_equal(strings_copy(&strings, TEXT("new")).bytes_count, 0);
    assert_true(string_is_none(strings_intern(&strings, TEXT("\xff"))));
    assert_true(string_is_none(strings_intern_format(&strings, "%d", 1)));
    assert_int_equal(intern(TEXT("before")), 0);
    strings.rows = rows;

    failure_clear(&failure);
    struct index_set index = strings.index;
    index_set_make_full(&strings.index);
    assert_true(string_is_none(strings_intern(&strings, TEXT("new"))));
    assert_int_equal(failure.code, FAILURE_MEMORY);
    assert_null(strings_copy(&strings, TEXT("new")).bytes);
    strings.index = index;
    assert_int_equal(strings_count(&strings), 1);
    assert_int_equal(intern(TEXT("new")), 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(texts_are_numbered_as_they_appear),
        TEST(the_empty_text_is_a_text),
        TEST(a_nul_byte_ends_no_text),
        TEST(the_table_keeps_a_copy),
        TEST(what_is_written_alike_is_one_text),
        TEST(a_long_invalid_text_is_repaired_whole),
        TEST(names_are_composed),
        TEST(a_long_composed_name_is_cut),
        TEST(a_name_that_cannot_be_composed_is_empty),
        TEST(a_table_is_as_a_plain_list),
        TEST(memory_running_out_gives_none),
    };
    return cmocka_run_group_tests_name("strings", tests, NULL, NULL);
}
