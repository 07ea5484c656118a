/* Offences: places, kinds, and how many are kept. */
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "cli/check/offences.h"

static const struct place root;

static void assert_text(struct text text, const char *expected) {
    if (!text_equal(text, text_of(expected)))
        fail_msg("'%.*s' is not '%s'", (int)text.bytes_count, text.bytes, expected);
}

static const struct offence_kind *kind_at(const struct offences *offences, size_t i) {
    return column_at(&offences->kinds, i);
}

static void test_places(void **state) {
    (void)state;
    struct place threads = place_member(&root, "threads");
    struct place thread = place_element(&threads, 3);
    struct place site = place_member(&thread, "eTLD+1");
    char path[PLACE_PATH_BYTES];
    place_write(&root, path, sizeof path);
    assert_string_equal(path, "$");
    place_write(&site, path, sizeof path);
    assert_string_equal(path, "$.threads[3][\"eTLD+1\"]");
    char small[8];
    place_write(&site, small, sizeof small);
    assert_string_equal(small, "$.threa");
}

static void test_kinds(void **state) {
    (void)state;
    struct failure failure = {0};
    struct offences offences;
    offences_init(&offences, &failure);
    struct place list = place_member(&root, "list");
    for (size_t i = 0; i < 9; i++) {
        struct place element = place_element(&list, i);
        offences_add(&offences, OFFENCE_ERROR, RULE_BROKEN_INDEX, &element, "number %zu", i);
    }
    struct place first = place_element(&list, 0);
    offences_add(&offences, OFFENCE_WARNING, RULE_BROKEN_INDEX, &first, "another severity");
    offences_add(&offences, OFFENCE_ERROR, RULE_BROKEN_TYPE, &first, "another rule");
    offences_add(&offences, OFFENCE_ERROR, RULE_BROKEN_INDEX, &list, "another place");

    assert_false(failure_is_set(&failure));
    assert_int_equal(offences.counts[OFFENCE_ERROR], 11);
    assert_int_equal(offences.counts[OFFENCE_WARNING], 1);
    assert_int_equal(offences.kinds.count, 4);
    const struct offence_kind *kind = kind_at(&offences, 0);
    assert_text(kind->path, "$.list[*]");
    assert_int_equal(kind->count, 9);
    assert_int_equal(kind->shown_count, OFFENCES_SHOWN_MAX);
    assert_text(kind->shown_paths[4], "$.list[4]");
    assert_text(kind->messages[4], "number 4");
    assert_int_equal(kind_at(&offences, 1)->severity, OFFENCE_WARNING);
    assert_int_equal(kind_at(&offences, 2)->rule, RULE_BROKEN_TYPE);
    assert_text(kind_at(&offences, 3)->path, "$.list");
    offences_fini(&offences);
}

/* A profile is not to steer the terminal. */
static void test_messages_are_printable_and_cut(void **state) {
    (void)state;
    struct failure failure = {0};
    struct offences offences;
    char text[2000];
    memset(text, 'x', sizeof text - 1);
    text[0] = '\033';
    text[sizeof text - 1] = '\0';
    offences_init(&offences, &failure);
    offences_add(&offences, OFFENCE_ERROR, RULE_BROKEN_VALUE, &root, "%s", text);
    struct text message = kind_at(&offences, 0)->messages[0];
    assert_true(text_starts_with(message, TEXT("?xx")));
    assert_true(message.bytes_count < 600);
    offences_fini(&offences);
}

static void test_names_of_rules(void **state) {
    (void)state;
    for (enum offence_rule rule = 0; rule < RULE_BROKEN_COUNT; rule++) assert_non_null(offence_rule_name(rule));
    assert_string_equal(offence_rule_name(RULE_BROKEN_CONSISTENCY), "consistency");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_places),
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_messages_are_printable_and_cut),
        cmocka_unit_test(test_names_of_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
