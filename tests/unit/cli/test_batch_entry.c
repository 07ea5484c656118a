/* Entries of a batch: errors of members are stored in parts and must come back complete. */
#include <stdio.h>
#include <string.h>

#include "cli/batch/batch_entry.h"
#include "tests/support/unit_test.h"

struct fixture {
    struct failure failure;
    struct entry_texts texts;
    struct batch_entry entry;
};

static int begin(void **state) {
    static struct fixture fixture;
    fixture = (struct fixture){0};
    entry_texts_init(&fixture.texts, "logs.tar", &fixture.failure);
    *state = &fixture;
    return batch_entry_init(&fixture.entry, &fixture.texts, TEXT("a/b.txt")) ? 0 : -1;
}

static int end(void **state) {
    struct fixture *fixture = *state;
    batch_entry_fini(&fixture->entry);
    entry_texts_fini(&fixture->texts);
    return failure_is_set(&fixture->failure);
}

static void explain(struct fixture *fixture, const char *message) {
    struct failure failure = {0};
    failure_set(&failure, FAILURE_INPUT, "%s", message);
    batch_entry_fail(&fixture->entry, &fixture->texts, BATCH_NO_TRACE, batch_code_no_trace, &failure);
}

static void test_messages_come_back(void **state) {
    struct fixture *fixture = *state;
    static const char *const messages[] = {
        "logs.tar > a/b.txt: this is text; it begins \"hello\"; --from reads it",
        "logs.tar > a/b.txt: this is text; it begins \"she said \"hello\"\"; --from reads it",
        "logs.tar > a/b.txt: is empty; there is nothing to convert",
        "logs.tar > a/b.txt: a \"mark alone",
        "logs.tar > a/b.txt: \"\"",
        "logs.tar: the archive is damaged",
        "logs.tar > a/bc: of another member",
        "another \"place\" at all",
        "logs.tar > a/b.txt: bytes \xff that are no \"UTF-8\" text",
        "logs.tar > a/b.txt",
        "logs.tar",
        "",
    };
    for (size_t i = 0; i < sizeof messages / sizeof *messages; i++) {
        explain(fixture, messages[i]);
        struct batch_error error;
        assert_true(batch_entry_error(&fixture->entry, &fixture->texts, &error));
        assert_string_equal(error.message, messages[i]);
        assert_string_equal(error.code, "no-trace");
        assert_false(error.has_place);
        assert_int_equal(batch_entry_outcome(&fixture->entry), GECKO_CONVERT_BAD_INPUT);
        assert_string_equal(batch_entry_result(&fixture->entry)->input_format, "");
        assert_null(batch_entry_output(&fixture->entry));
    }
}

/* Messages are cut to a fixed size: within the name, within the quoted text, or after it. */
static void test_cut_messages_come_back(void **state) {
    struct fixture *fixture = *state;
    char member[700], message[1400];
    for (size_t name_bytes = 1; name_bytes < sizeof member; name_bytes++) {
        memset(member, 'n', sizeof member);
        assert_true(batch_entry_init(&fixture->entry, &fixture->texts, (struct text){member, name_bytes}));
        snprintf(message, sizeof message, "logs.tar > %.*s: it begins \"hello\"; that is all", (int)name_bytes, member);
        struct failure failure = {0};
        failure_set(&failure, FAILURE_INPUT, "%s", message);
        batch_entry_fail(&fixture->entry, &fixture->texts, BATCH_FAILED, batch_code_refused, &failure);
        struct batch_error error;
        assert_true(batch_entry_error(&fixture->entry, &fixture->texts, &error));
        assert_string_equal(error.message, failure.message);
        assert_string_equal(error.code, "refused");
    }
}

/* Text that many members have in common is stored once. A member adds an entry, its name, what its message quotes, and
 * a few bytes. */
static void test_many_members_are_small(void **state) {
    struct fixture *fixture = *state;
    char member[64], message[256];
    for (unsigned i = 0; i < 10000; i++) {
        snprintf(member, sizeof member, "member-%u", i);
        snprintf(message, sizeof message, "logs.tar > %s: this is text; it begins \"line %u\"; --from reads it", member,
                 i);
        assert_true(batch_entry_init(&fixture->entry, &fixture->texts, text_of(member)));
        explain(fixture, message);
    }
    assert_int_equal(strings_count(&fixture->texts.phrases), 2);
    assert_true(sizeof fixture->entry <= 40);
}

static void test_memory_that_ran_out_needs_none(void **state) {
    struct fixture *fixture = *state;
    struct failure failure = {0};
    failure_set_memory(&failure);
    batch_entry_fail(&fixture->entry, &fixture->texts, BATCH_FAILED, NULL, &failure);
    struct batch_error error;
    assert_null(batch_entry_trace(&fixture->entry));
    assert_int_equal(batch_entry_outcome(&fixture->entry), GECKO_CONVERT_NO_MEMORY);
    assert_true(batch_entry_error(&fixture->entry, &fixture->texts, &error));
    assert_string_equal(error.message, "memory ran out");
    assert_string_equal(error.code, "memory");
    batch_entry_reset(&fixture->entry);
    assert_false(batch_entry_error(&fixture->entry, &fixture->texts, &error));
    assert_int_equal(batch_entry_outcome(&fixture->entry), GECKO_CONVERT_GOOD);
}

static void test_errors_of_traces_have_places(void **state) {
    struct fixture *fixture = *state;
    assert_non_null(batch_entry_make_trace(&fixture->entry));
    struct failure failure = {0};
    failure_set_at(&failure, FAILURE_STRICT, (struct position){3, 40}, "a loss");
    batch_entry_fail(&fixture->entry, &fixture->texts, BATCH_FAILED, NULL, &failure);
    struct batch_error error;
    assert_true(batch_entry_error(&fixture->entry, &fixture->texts, &error));
    assert_string_equal(error.message, "a loss");
    assert_string_equal(error.code, "strict");
    assert_true(error.has_place);
    assert_int_equal(error.line, 3);
    assert_int_equal(error.offset, 40);
    /* An earlier failure is dropped if the entry turns out to be a trace. */
    batch_entry_fini(&fixture->entry);
    explain(fixture, "no trace");
    assert_non_null(batch_entry_make_trace(&fixture->entry));
    assert_int_equal(batch_entry_outcome(&fixture->entry), GECKO_CONVERT_GOOD);
}

#define TEST(function) cmocka_unit_test_setup_teardown(function, begin, end)

int main(void) {
    static const struct CMUnitTest tests[] = {
        TEST(test_messages_come_back),           TEST(test_cut_messages_come_back),
        TEST(test_many_members_are_small),       TEST(test_memory_that_ran_out_needs_none),
        TEST(test_errors_of_traces_have_places),
    };
    return cmocka_run_group_tests_name("batch_entry", tests, NULL, NULL);
}
