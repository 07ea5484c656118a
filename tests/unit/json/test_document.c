/* JSON documents, read through windows of all sizes. */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "readers/json/document.h"
#include "tests/support/unit_test.h"

struct reading {
    struct failure failure;
    struct document document;
};

static void read_text(struct reading *reading, struct text text, size_t max_window_bytes) {
    *reading = (struct reading){0};
    document_init(&reading->document, &reading->failure);
    struct input *input = input_from_memory(text, max_window_bytes, &reading->failure);
    assert_non_null(input);
    document_read(&reading->document, input);
    input_close(input);
}

static const struct node *member(const struct reading *reading, const struct node *node, const char *key) {
    return document_member(&reading->document, node, text_of(key));
}

static void assert_text_node(const struct node *node, const char *expected) {
    assert_true(node_is_text(node, text_of(expected)));
}

/* ---- Values. ---- */

TEST(test_values) {
    static const struct text text = TEXT(
        " {\"null\": null, \"yes\": true, \"no\": false,\n \"text\": \"a\\n\\u00e9\xc3\xa9\\\"\", \"empty\": \"\", "
        "\"list\": [1, [], {}], \"object\": {\"a\": {\"b\": \"c\"}}}\n");
    for (size_t window_bytes = 0; window_bytes <= text.bytes_count; window_bytes++) {
        struct reading reading;
        read_text(&reading, text, window_bytes);
        const struct node *root = &reading.document.root;
        assert_false(failure_is_set(&reading.failure));
        assert_true(node_is(root, NODE_OBJECT));
        assert_int_equal(root->count, 7);
        assert_true(node_is(member(&reading, root, "null"), NODE_NULL));
        assert_true(node_is(member(&reading, root, "yes"), NODE_TRUE));
        assert_true(node_is(member(&reading, root, "no"), NODE_FALSE));
        assert_text_node(member(&reading, root, "text"), "a\n\xc3\xa9\xc3\xa9\"");
        assert_text_node(member(&reading, root, "empty"), "");
        const struct node *list = member(&reading, root, "list");
        assert_true(node_is(list, NODE_LIST));
        assert_int_equal(list->count, 3);
        assert_true(list->nodes[0].number == 1);
        assert_true(node_is(&list->nodes[1], NODE_LIST));
        assert_int_equal(list->nodes[1].count, 0);
        assert_true(node_is(&list->nodes[2], NODE_OBJECT));
        assert_text_node(member(&reading, member(&reading, member(&reading, root, "object"), "a"), "b"), "c");
        assert_null(member(&reading, root, "other"));
        assert_null(member(&reading, list, "null"));
        assert_null(member(&reading, NULL, "null"));
        assert_int_equal(reading.document.bytes_count, text.bytes_count);
        document_fini(&reading.document);
    }
}

TEST(test_members_in_order) {
    struct reading reading;
    read_text(&reading, TEXT("{\"b\": 1, \"a\": 2}"), 0);
    struct text key;
    assert_true(document_member_at(&reading.document, &reading.document.root, 0, &key)->number == 1);
    assert_true(text_equal(key, TEXT("b")));
    assert_true(document_member_at(&reading.document, &reading.document.root, 1, &key)->number == 2);
    assert_true(text_equal(key, TEXT("a")));
    document_fini(&reading.document);
}

TEST(test_numbers) {
    static const struct {
        const char *text;
        double expected;
    } cases[] = {
        {"0", 0},
        {"-0", -0.0},
        {"7", 7},
        {"-12", -12},
        {"999999999999999", 999999999999999},
        {"-999999999999999", -999999999999999},
        {"9007199254740993", 9007199254740992.0},
        {"18446744073709551616", 18446744073709551616.0},
        {"0.1", 0.1},
        {"-1.5e3", -1500},
        {"1E-2", 0.01},
        {"5e-324", 5e-324},
        {"1e400", INFINITY},
        {"-1e400", -INFINITY},
        {"0.1000000000000000055511151231257827021181583404541015625000000000000000000000000000000000000", 0.1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct reading reading;
        read_text(&reading, text_of(cases[i].text), 0);
        double number = reading.document.root.number;
        assert_true(node_is(&reading.document.root, NODE_NUMBER));
        if (number != cases[i].expected || signbit(number) != signbit(cases[i].expected)) fail_msg("%s", cases[i].text);
        document_fini(&reading.document);
    }
}

TEST(test_integers_and_indexes) {
    struct node number = {.kind = NODE_NUMBER}, text = {.kind = NODE_TEXT, .bytes = ""};
    static const struct {
        double number;
        bool is_integer, is_index_of_3;
    } cases[] = {{0, true, true},        {-0.0, true, true},       {2, true, true},           {3, true, false},
                 {-1, true, false},      {0.5, false, false},      {0x1p53, true, false},     {-0x1p53, true, false},
                 {0x1p54, false, false}, {INFINITY, false, false}, {-INFINITY, false, false}, {NAN, false, false}};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        number.number = cases[i].number;
        assert_int_equal(node_is_integer(&number), cases[i].is_integer);
        assert_int_equal(node_is_index(&number, 3), cases[i].is_index_of_3);
    }
    assert_false(node_is_integer(&text));
    assert_false(node_is_integer(NULL));
    assert_false(node_is_index(NULL, 3));
}

TEST(test_what_the_viewer_takes) {
    static const char *const cases[] = {"\"\\u0000\"", "\"\x7f\"", "\"\\ud800\"", "  1  ", "\xef\xbb\xbf{}"};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct reading reading;
        read_text(&reading, text_of(cases[i]), 0);
        if (failure_is_set(&reading.failure)) fail_msg("%s: %s", cases[i], reading.failure.message);
        assert_int_equal(reading.document.has_byte_order_mark, i == 4);
        document_fini(&reading.document);
    }
}

/* ---- Keys that hide others. ---- */

TEST(test_repeated_keys) {
    struct reading reading;
    read_text(&reading,
              TEXT("{\"a\": 1, \"b\": {\"a\": 2, \"list\": [1, {\"x-y\": 1, \"x-y\": 2, \"x-y\": 3}], \"list\": 4}, "
                   "\"a\": 3}"),
              0);
    static const char *const expected[] = {"$.b.list[1][\"x-y\"]", "$.b.list[1][\"x-y\"]", "$.b.list", "$.a"};
    assert_int_equal(reading.document.repeated_keys.count, 4);
    for (size_t i = 0; i < 4; i++)
        assert_true(
            text_equal(*(const struct text *)column_at(&reading.document.repeated_keys, i), text_of(expected[i])));
    assert_true(member(&reading, &reading.document.root, "a")->number == 3);
    document_fini(&reading.document);
}

TEST(test_same_keys_in_other_objects_are_not_repeated) {
    struct reading reading;
    read_text(&reading, TEXT("[{\"a\": {\"a\": 1}, \"b\": {\"a\": 1}}, {\"a\": [{\"a\": 1}]}]"), 0);
    assert_int_equal(reading.document.repeated_keys.count, 0);
    document_fini(&reading.document);
}

TEST(test_few_of_many_repeated_keys_are_named) {
    struct reading reading;
    read_text(&reading, TEXT("{\"a\":1,\"a\":1,\"a\":1,\"a\":1,\"a\":1,\"a\":1,\"a\":1,\"a\":1}"), 0);
    assert_int_equal(reading.document.repeated_keys.count, 5);
    document_fini(&reading.document);
}

/* ---- Text that is not JSON. ---- */

TEST(test_syntax_errors) {
    static const struct {
        const char *text;
        uint64_t line, offset;
    } cases[] = {
        {"", 1, 0},
        {"{", 1, 1},
        {"[1,]", 1, 3},
        {"[1,\n\v2]", 2, 4},
        {"[1,\f\v2]", 1, 3},
        {"{\n\"a\":\n tru}", 3, 8},
        {"[1\n,\n+1]", 3, 5},
        {"[01]", 1, 1},
        {"[.5]", 1, 1},
        {"[1.]", 1, 1},
        {"[NaN]", 1, 1},
        {"[0x1]", 1, 2},
        {"\"\t\"", 1, 1},
        {"\"\xc3\"", 1, 1},
        {"1 1", 1, 2},
        {"{}\"a", 1, 2},
        {"3\"", 1, 1},
        {"\"a", 1, 0},
        {"{\"a\" 1}", 1, 5},
        {"\"\xed\xa0\x80\"", 1, 1},
        {"\"a\xc0\x80\"", 1, 2},
        {"{\"\xff\":1}", 1, 2},
        {"\"\\n\xf5\x80\x80\x80\"", 1, 8},
        {"['a']", 1, 1},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        for (size_t window_bytes = 0; window_bytes < 3; window_bytes++) {
            struct reading reading;
            read_text(&reading, text_of(cases[i].text), window_bytes);
            assert_int_equal(reading.failure.code, FAILURE_INPUT);
            assert_true(reading.failure.has_position);
            if (reading.failure.position.line != cases[i].line || reading.failure.position.offset != cases[i].offset)
                fail_msg("'%s', window %zu: line %d, byte %d", cases[i].text, window_bytes,
                         (int)reading.failure.position.line, (int)reading.failure.position.offset);
            assert_true(text_starts_with(text_of(reading.failure.message), TEXT("this is not JSON: ")));
            assert_null(strchr(reading.failure.message, '\n'));
            assert_true(node_is(&reading.document.root, NODE_NULL));
            document_fini(&reading.document);
        }
}

TEST(test_depth) {
    enum { DEPTH_MAX = 10000 };
    char *text = malloc(2 * DEPTH_MAX + 2);
    assert_non_null(text);
    memset(text, '[', DEPTH_MAX + 1);
    struct reading reading;
    read_text(&reading, (struct text){text, DEPTH_MAX + 1}, 0);
    assert_int_equal(reading.failure.code, FAILURE_INPUT);
    assert_string_equal(reading.failure.message, "lists and objects are nested more than 10000 deep");
    document_fini(&reading.document);
    memset(text + DEPTH_MAX, ']', DEPTH_MAX);
    read_text(&reading, (struct text){text, (size_t)2 * DEPTH_MAX}, 0);
    assert_false(failure_is_set(&reading.failure));
    size_t depth = 1;
    for (const struct node *node = &reading.document.root; node->count; node = node->nodes) depth++;
    assert_int_equal(depth, DEPTH_MAX);
    document_fini(&reading.document);
    free(text);
}

/* ---- Paths. ---- */

TEST(test_keys_in_paths) {
    static const struct {
        struct text key;
        const char *expected;
    } cases[] = {
        {TEXT("name"), "$.name"}, {TEXT("eTLD+1"), "$[\"eTLD+1\"]"},
        {TEXT("_a$9"), "$._a$9"}, {TEXT("9a"), "$[\"9a\"]"},
        {TEXT(""), "$[\"\"]"},    {TEXT("a\033[1m"), "$[\"a?[1m\"]"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char path[64] = "$";
        document_append_key(path, sizeof path, cases[i].key);
        assert_string_equal(path, cases[i].expected);
    }
    char small[6] = "$";
    document_append_key(small, sizeof small, TEXT("name"));
    assert_string_equal(small, "$.nam");
}

/* ---- Members that nobody wants. ---- */

static bool wants_a_and_b(unsigned depth, struct text key) {
    return depth > 2 || text_equal(key, TEXT("a")) || text_equal(key, TEXT("b"));
}

TEST(test_unwanted_members_are_left_out) {
    static const struct text text = TEXT(
        "{\"x\": 1, \"a\": {\"y\": {\"a\": [1, {}]}, \"b\": [{\"c\": true}], \"z\": [[]]}, \"w\": \"t\", \"b\": 2}");
    for (size_t window_bytes = 0; window_bytes < text.bytes_count; window_bytes++) {
        struct failure failure = {0};
        struct document document;
        document_init(&document, &failure);
        document.wants_member = wants_a_and_b;
        struct input *input = input_from_memory(text, window_bytes, &failure);
        document_read(&document, input);
        input_close(input);
        assert_false(failure_is_set(&failure));
        const struct node *a = document_member(&document, &document.root, TEXT("a"));
        const struct node *b = document_member(&document, a, TEXT("b"));
        assert_int_equal(document.root.count, 2);
        assert_int_equal(a->count, 1);
        assert_true(node_is(document_member(&document, &b->nodes[0], TEXT("c")), NODE_TRUE));
        assert_true(document_member(&document, &document.root, TEXT("b"))->number == 2);
        document_fini(&document);
    }
}

int main(void) { return unit_tests_run(NULL, NULL); }
