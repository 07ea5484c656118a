/* Violations: paths, kinds, and how many are kept. */
#include <stdlib.h>
#include <string.h>

#include "cli/check/violations.h"
#include "tests/support/unit_test.h"

static const struct node_path root;

static void assert_text(struct text text, const char *expected) {
    if (!text_equal(text, text_of(expected)))
        fail_msg("'%.*s' is not '%s'", (int)text.bytes_count, text.bytes, expected);
}

static const struct violation_kind *kind_at(const struct violations *violations, size_t i) {
    return column_at(&violations->kinds, i);
}

static void test_paths(void **state) {
    struct node_path threads = node_path_member(&root, "threads");
    struct node_path thread = node_path_element(&threads, 3);
    struct node_path site = node_path_member(&thread, "eTLD+1");
    char path[NODE_PATH_BYTES];
    node_path_write(&root, path, sizeof path);
    assert_string_equal(path, "$");
    node_path_write(&site, path, sizeof path);
    assert_string_equal(path, "$.threads[3][\"eTLD+1\"]");
    char small[8];
    node_path_write(&site, small, sizeof small);
    assert_string_equal(small, "$.threa");
}

static void test_kinds(void **state) {
    struct failure failure = {0};
    struct violations violations;
    violations_init(&violations, &failure);
    struct node_path list = node_path_member(&root, "list");
    for (size_t i = 0; i < 9; i++) {
        struct node_path element = node_path_element(&list, i);
        violations_add(&violations, VIOLATION_ERROR, RULE_BROKEN_INDEX, &element, "number %zu", i);
    }
    struct node_path first = node_path_element(&list, 0);
    violations_add(&violations, VIOLATION_WARNING, RULE_BROKEN_INDEX, &first, "another severity");
    violations_add(&violations, VIOLATION_ERROR, RULE_BROKEN_TYPE, &first, "another rule");
    violations_add(&violations, VIOLATION_ERROR, RULE_BROKEN_INDEX, &list, "another place");

    assert_false(failure_is_set(&failure));
    assert_int_equal(violations.counts[VIOLATION_ERROR], 11);
    assert_int_equal(violations.counts[VIOLATION_WARNING], 1);
    assert_int_equal(violations.kinds.count, 4);
    const struct violation_kind *kind = kind_at(&violations, 0);
    assert_text(kind->path, "$.list[*]");
    assert_int_equal(kind->count, 9);
    assert_int_equal(kind->shown_count, VIOLATIONS_SHOWN_MAX);
    assert_text(kind->shown_paths[4], "$.list[4]");
    assert_text(kind->messages[4], "number 4");
    assert_int_equal(kind_at(&violations, 1)->severity, VIOLATION_WARNING);
    assert_int_equal(kind_at(&violations, 2)->rule, RULE_BROKEN_TYPE);
    assert_text(kind_at(&violations, 3)->path, "$.list");
    violations_fini(&violations);
}

/* A profile must not control the terminal. */
static void test_messages_are_printable_and_cut(void **state) {
    struct failure failure = {0};
    struct violations violations;
    char text[2000];
    memset(text, 'x', sizeof text - 1);
    text[0] = '\033';
    text[sizeof text - 1] = '\0';
    violations_init(&violations, &failure);
    violations_add(&violations, VIOLATION_ERROR, RULE_BROKEN_VALUE, &root, "%s", text);
    struct text message = kind_at(&violations, 0)->messages[0];
    assert_true(text_starts_with(message, TEXT("?xx")));
    assert_true(message.bytes_count < 600);
    violations_fini(&violations);
}

static void test_names_of_rules(void **state) {
    for (enum violation_rule rule = 0; rule < RULE_BROKEN_COUNT; rule++) assert_non_null(violation_rule_name(rule));
    assert_string_equal(violation_rule_name(RULE_BROKEN_CONSISTENCY), "consistency");
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(test_paths),
        cmocka_unit_test(test_kinds),
        cmocka_unit_test(test_messages_are_printable_and_cut),
        cmocka_unit_test(test_names_of_rules),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
