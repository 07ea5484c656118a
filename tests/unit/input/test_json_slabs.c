/* Tests that JsonSlabs are read as the JSON that they stand for, and that lies in them are found. */
#include <endian.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "libconvert/base/json_slabs.h"
#include "readers/input/input.h"
#include "tests/support/unit_test.h"

enum { FILE_BYTES_MAX = 1024 * 1024 };

static char file_bytes[FILE_BYTES_MAX];
static size_t file_length;

struct part {
    enum slab_type type;
    struct text bytes;
};

#define JSON(literal) \
    { SLAB_JSON, TEXT(literal) }
#define NUMBERS(type, array)                           \
    {                                                  \
        type, { (const char *)(array), sizeof(array) } \
    }

static void put_u32(size_t at, uint32_t value) {
    uint32_t bytes = htole32(value);
    memcpy(file_bytes + at, &bytes, sizeof bytes);
}

static size_t entry_at(size_t number) { return JSON_SLABS_HEADER_BYTES + number * JSON_SLABS_ENTRY_BYTES; }

/* Makes the file. The first part is the document. */
static void make(const struct part *parts, uint32_t count) {
    size_t end = entry_at(count);
    memset(file_bytes, 0, sizeof file_bytes);
    memcpy(file_bytes, JSON_SLABS_MAGIC.bytes, JSON_SLABS_MAGIC.bytes_count);
    put_u32(JSON_SLABS_VERSION_AT, JSON_SLABS_VERSION);
    put_u32(JSON_SLABS_COUNT_AT, count);
    for (size_t i = 0; i < count; i++) {
        size_t element_bytes = slab_element_bytes(parts[i].type);
        end = (end + element_bytes - 1) / element_bytes * element_bytes;
        put_u32(entry_at(i) + JSON_SLABS_TYPE_AT, parts[i].type - 1);
        put_u32(entry_at(i) + JSON_SLABS_OFFSET_AT, (uint32_t)end);
        put_u32(entry_at(i) + JSON_SLABS_BYTES_AT, (uint32_t)parts[i].bytes.bytes_count);
        if (parts[i].bytes.bytes_count) memcpy(file_bytes + end, parts[i].bytes.bytes, parts[i].bytes.bytes_count);
        end += parts[i].bytes.bytes_count;
    }
    file_length = end;
}

/* Reads the file in windows of that size. Returns the text, which the caller frees. */
static char *read_file(size_t window_bytes, struct failure *failure) {
    char *text = calloc(1, FILE_BYTES_MAX);
    size_t length = 0;
    *failure = (struct failure){0};
    struct input *input = input_from_memory((struct text){file_bytes, file_length}, window_bytes, failure);
    input = input_unwrap(input);
    if (!input) return text;
    assert_true(text_equal(input_wrapping(input), TEXT("JsonSlabs")));
    for (;;) {
        struct text window = input_peek(input, 1);
        if (!window.bytes_count) break;
        assert_true(length + window.bytes_count < FILE_BYTES_MAX);
        memcpy(text + length, window.bytes, window.bytes_count);
        length += window.bytes_count;
        input_consume(input, window.bytes_count);
    }
    input_close(input);
    return text;
}

static void assert_reads(const struct part *parts, uint32_t count, const char *expected) {
    static const size_t windows[] = {0, 1, 7, 4096};
    make(parts, count);
    for (size_t i = 0; i < sizeof windows / sizeof *windows; i++) {
        struct failure failure;
        char *text = read_file(windows[i], &failure);
        assert_string_equal(failure.message, "");
        assert_string_equal(text, expected);
        free(text);
    }
}

static void assert_fails(const char *reason) {
    struct failure failure;
    char expected[512];
    free(read_file(0, &failure));
    snprintf(expected, sizeof expected, "memory: the JsonSlabs are damaged or cut off: %s", reason);
    assert_int_equal(failure.code, FAILURE_INPUT);
    assert_string_equal(failure.message, expected);
}

/* ---- What files mean. ---- */

TEST(test_types) {
    static const int8_t int8[] = {-128, 127};
    static const uint8_t uint8[] = {0, 255};
    static const int16_t int16[] = {INT16_MIN, INT16_MAX};
    static const uint16_t uint16[] = {UINT16_MAX};
    static const int32_t int32[] = {INT32_MIN, -1, INT32_MAX};
    static const uint32_t uint32[] = {UINT32_MAX};
    static const float float32[] = {0.5f, -2.0f};
    static const double float64[] = {0.1, -0.000001, 1234567.890123, 1e300, 1.0 / 3, 0, 8589934592.5};
    static const int64_t int64[] = {INT64_MIN, INT64_MAX};
    static const uint64_t uint64[] = {UINT64_MAX, 1};
    const struct part parts[] = {
        JSON("[{\"$s\":1},{\"$s\":2},{\"$s\":3},{\"$s\":4},{\"$s\":5},{\"$s\":6},{\"$s\":7},{\"$s\":8},{\"$s\":9},"
             "{\"$s\":10}]"),
        NUMBERS(SLAB_INT8, int8),
        NUMBERS(SLAB_UINT8, uint8),
        NUMBERS(SLAB_INT16, int16),
        NUMBERS(SLAB_UINT16, uint16),
        NUMBERS(SLAB_INT32, int32),
        NUMBERS(SLAB_UINT32, uint32),
        NUMBERS(SLAB_FLOAT32, float32),
        NUMBERS(SLAB_FLOAT64, float64),
        NUMBERS(SLAB_INT64, int64),
        NUMBERS(SLAB_UINT64, uint64),
    };
    assert_reads(parts, sizeof parts / sizeof *parts,
                 "[[-128,127],[0,255],[-32768,32767],[65535],[-2147483648,-1,2147483647],[4294967295],[0.5,-2],"
                 "[0.1,-0.000001,1234567.890123,1e300,0.3333333333333333,0,8589934592.5],"
                 "[-9223372036854775808,9223372036854775807],[18446744073709551615,1]]");
}

TEST(test_no_numbers) {
    const double odd[] = {NAN, INFINITY};
    const struct part parts[] = {JSON("{\"$s\":1}"), NUMBERS(SLAB_FLOAT64, odd), {SLAB_INT32, {NULL, 0}}};
    assert_reads(parts, 3, "[null,null]");
    const struct part empty[] = {JSON("{\"a\":{\"$s\":2},\"b\":{\"$s\":1}}"), {SLAB_INT32, {NULL, 0}}, JSON("7")};
    assert_reads(empty, 3, "{\"a\":7,\"b\":[]}");
}

TEST(test_nested_json) {
    static const int32_t numbers[] = {1, 2};
    const struct part parts[] = {JSON(" {\"a\": { \"$s\" : 2 } , \"b\":[{\"$s\":1}]} "), JSON("\"text\""),
                                 JSON("{\"inner\":{\"$s\":3},\"x\":0}"), NUMBERS(SLAB_INT32, numbers)};
    assert_reads(parts, 4, " {\"a\": {\"inner\":[1,2],\"x\":0} , \"b\":[\"text\"]} ");
}

/* Only an object with this key alone stands for a slab. */
TEST(test_what_is_no_reference) {
    static const char json[] =
        "[{\"$s\":1,\"b\":2},{\"b\":2,\"$s\":1},\"$s\",{\"a\":\"{\\\"$s\\\":1}\"},{\"$s\\\\\":0},\"{\",{\"$ss\":1},{}]";
    const struct part parts[] = {JSON(json), JSON("0")};
    assert_reads(parts, 2, json);
}

/* More than the reader puts out at a time. */
TEST(test_long_array) {
    enum { COUNT = 50000 };
    static int32_t numbers[COUNT];
    static char expected[FILE_BYTES_MAX];
    size_t length = (size_t)sprintf(expected, "{\"a\":[");
    for (int i = 0; i < COUNT; i++) {
        numbers[i] = (int32_t)htole32((uint32_t)i);
        length += (size_t)sprintf(expected + length, "%s%d", i ? "," : "", i);
    }
    strcpy(expected + length, "]}");
    const struct part parts[] = {JSON("{\"a\":{\"$s\":1}}"), NUMBERS(SLAB_INT32, numbers)};
    assert_reads(parts, 2, expected);
}

/* ---- Lies. ---- */

static void make_good(void) {
    static const int32_t numbers[] = {1, 2};
    const struct part parts[] = {JSON("[{\"$s\":1},{\"$s\":2}]    "), NUMBERS(SLAB_INT32, numbers), JSON("{}")};
    make(parts, 3);
}

TEST(test_every_cut) {
    make_good();
    for (size_t length = file_length - 1; length >= JSON_SLABS_MAGIC.bytes_count; length--) {
        struct failure failure;
        file_length = length;
        free(read_file(0, &failure));
        assert_int_equal(failure.code, FAILURE_INPUT);
    }
    file_length = 19;
    assert_fails("the file has 19 bytes, fewer than its header");
    file_length = 55;
    assert_fails("the table of 3 slabs ends at byte 56, and the file at 55");
    file_length = 89;
    assert_fails("slab 2 has 2 bytes from byte 88 on, and the file ends at 89");
}

TEST(test_lies_in_the_table) {
    static const struct {
        size_t slab; /* whose entry lies; 3: the header */
        size_t at;
        uint32_t value;
        const char *reason;
    } cases[] = {
        {3, JSON_SLABS_VERSION_AT, 2, "they have version 2 or another byte order; known is version 1"},
        {3, 4, 0x0100424c, "they have version 1 or another byte order; known is version 1"},
        {3, JSON_SLABS_COUNT_AT, UINT32_MAX,
         "the table of 4294967295 slabs ends at byte 51539607560, and the file at 90"},
        {3, JSON_SLABS_COUNT_AT, 0, "the document is slab 0, and there are 0"},
        {3, JSON_SLABS_ROOT_AT, 3, "the document is slab 3, and there are 3"},
        {3, JSON_SLABS_ROOT_AT, 1, "the document is slab 1, which is not JSON"},
        {1, JSON_SLABS_TYPE_AT, 11, "slab 1 has the type 11, which is not known"},
        {1, JSON_SLABS_OFFSET_AT, UINT32_MAX - 3,
         "slab 1 has 8 bytes from byte 4294967292 on, and the file ends at 90"},
        {1, JSON_SLABS_BYTES_AT, UINT32_MAX, "slab 1 has 4294967295 bytes from byte 80 on, and the file ends at 90"},
        {1, JSON_SLABS_OFFSET_AT, 82, "slab 1 has 8 bytes from byte 82 on, and its elements have 4"},
        {1, JSON_SLABS_BYTES_AT, 7, "slab 1 has 7 bytes from byte 80 on, and its elements have 4"},
        {1, JSON_SLABS_OFFSET_AT, 76, "slab 1 begins at byte 76, and what comes before it ends at 79"},
        {1, JSON_SLABS_OFFSET_AT, 0, "slab 1 begins at byte 0, and what comes before it ends at 56"},
        {2, JSON_SLABS_OFFSET_AT, 87, "slab 2 begins at byte 87, and what comes before it ends at 88"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        make_good();
        put_u32((cases[i].slab < 3 ? entry_at(cases[i].slab) : 0) + cases[i].at, cases[i].value);
        assert_fails(cases[i].reason);
    }
}

TEST(test_lies_in_references) {
    static const struct {
        const char *json;
        const char *reason;
    } cases[] = {
        {"[{\"$s\":3}]", "slab 0 refers to slab 3, and there are 3"},
        {"[{\"$s\":99999999999999999999999}]", "slab 0 refers to slab 9999999999, and there are 3"},
        {"[{\"$s\":0}]", "slab 0 refers to slab 0, which is already in use"},
        {"[{\"$s\":1},{\"$s\":1}]", "slab 0 refers to slab 1, which is already in use"},
        {"[{\"$s\":2}]", "slab 2 refers to slab 0, which is already in use"},
        {"[{\"$s\":-1}]", "slab 0 refers at its byte 6 to a slab that has no number"},
        {"[{\"$s\":1.5}]", "slab 0 refers at its byte 6 to a slab that has no number"},
        {"[{\"$s\":\"1\"}]", "slab 0 refers at its byte 6 to a slab that has no number"},
        {"[{\"$s\":1", "slab 0 refers at its byte 6 to a slab that has no number"},
        {"[{\"$s\":1},{\"$s\":-1}]", "slab 0 refers at its byte 15 to a slab that has no number"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        static const int32_t numbers[] = {1};
        const struct part parts[] = {
            {SLAB_JSON, text_of(cases[i].json)}, NUMBERS(SLAB_INT32, numbers), JSON("{\"a\":{\"$s\":0}}")};
        make(parts, 3);
        assert_fails(cases[i].reason);
    }
}

int main(void) { return unit_tests_run(NULL, NULL); }
