#include <locale.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/chunk_text.h"
#include "tests/support/random_numbers.h"
#include "tests/support/unit_test.h"
#include "writer/json.h"

static struct failure failure;

static int begin(void **state) {
    static struct json json;
    failure_clear(&failure);
    json_init(&json, &failure);
    *state = &json;
    return 0;
}

static int end(void **state) {
    json_fini(*state);
    return 0;
}

static char *taken_text(struct json *json) {
    struct chunk_list chunks = json_take_chunks(json);
    char *text = chunk_text(&chunks);
    chunk_list_fini(&chunks);
    return text;
}

/* Checks that the document is exactly this, and takes it. */
static void assert_json(struct json *json, const char *expected) {
    char *text = taken_text(json);
    assert_string_equal(text, expected);
    free(text);
}

static void assert_text(struct json *json, struct text text, const char *expected) {
    json_text(json, text);
    assert_json(json, expected);
}

TEST(texts_are_escaped, begin, end) {
    struct json *json = *state;
    assert_text(json, (struct text){0}, "\"\"");
    assert_text(json, TEXT("plain text"), "\"plain text\"");
    assert_text(json, TEXT("\"\\/"), "\"\\\"\\\\/\"");
    assert_text(json, TEXT("\b\f\n\r\t"), "\"\\b\\f\\n\\r\\t\"");
    assert_text(json, TEXT("\0\x01\x0b\x1f\x20\x7f"), "\"\\u0000\\u0001\\u000b\\u001f \x7f\"");
    assert_text(json, TEXT("ends with \\"), "\"ends with \\\\\"");
    assert_text(json, TEXT("\xc3\xa4\xe2\x82\xac\xf0\x9f\xa6\x8a"), "\"\xc3\xa4\xe2\x82\xac\xf0\x9f\xa6\x8a\"");
}

#define REPLACED "\xef\xbf\xbd"

TEST(malformed_bytes_are_replaced, begin, end) {
    struct json *json = *state;
    assert_text(json,
                TEXT("a\xff"
                     "b"),
                "\"a" REPLACED "b\"");
    assert_text(json, TEXT("\xc3"), "\"" REPLACED "\"");
    assert_text(json, TEXT("\xe2\x82"), "\"" REPLACED REPLACED "\"");
    assert_text(json, TEXT("\xc0\x80"), "\"" REPLACED REPLACED "\"");
    assert_text(json, TEXT("\xed\xa0\x80"), "\"" REPLACED REPLACED REPLACED "\"");
    assert_text(json, TEXT("\xf4\x90\x80\x80"), "\"" REPLACED REPLACED REPLACED REPLACED "\"");
    assert_text(json, TEXT("\xe2\x82\""), "\"" REPLACED REPLACED "\\\"\"");
}

/* Long texts are escaped in slices. A sequence must survive wherever a slice ends within it. */
TEST(long_texts_keep_sequences_across_slices, begin, end) {
    struct json *json = *state;
    static const char euro[] = "\xe2\x82\xac";
    for (size_t shift = 0; shift < 4; shift++) {
        size_t bytes_count = shift + 3 * 3000;
        char *bytes = malloc(bytes_count + 3);
        assert_non_null(bytes);
        bytes[0] = '"';
        memset(bytes + 1, 'a', shift);
        for (size_t i = 0; i < 3000; i++) memcpy(bytes + 1 + shift + i * 3, euro, 3);
        bytes[bytes_count + 1] = '"';
        bytes[bytes_count + 2] = '\0';
        assert_text(json, (struct text){bytes + 1, bytes_count}, bytes);
        free(bytes);
    }
}

TEST(worst_case_texts_fit_their_room, begin, end) {
    struct json *json = *state;
    enum { COUNT = 200000 };
    char *bytes = calloc(COUNT, 1);
    assert_non_null(bytes);
    json_text(json, (struct text){bytes, COUNT});
    free(bytes);
    char *text = taken_text(json);
    assert_int_equal(strlen(text), 2 + 6 * COUNT);
    for (size_t i = 0; i < COUNT; i++) assert_memory_equal(text + 1 + i * 6, "\\u0000", 6);
    free(text);
}

static void assert_int(struct json *json, int64_t value) {
    char expected[32];
    snprintf(expected, sizeof expected, "%lld", (long long)value);
    json_int(json, value);
    assert_json(json, expected);
}

TEST(integers_are_exact_at_every_length, begin, end) {
    struct json *json = *state;
    assert_int(json, 0);
    assert_int(json, INT64_MIN);
    assert_int(json, INT64_MAX);
    int64_t power = 1;
    for (int digits = 1; digits <= 19; digits++) {
        for (int64_t offset = -1; offset <= 1; offset++) {
            assert_int(json, power + offset);
            assert_int(json, -power + offset);
        }
        assert_int(json, power / 7 * 5);
        if (digits < 19) power *= 10;
    }
    for (int64_t value = -120; value <= 12000; value++) assert_int(json, value);
}

static void assert_ms(struct json *json, int64_t ns, const char *expected) {
    json_ms(json, ns);
    assert_json(json, expected);
}

TEST(nanoseconds_become_exact_milliseconds, begin, end) {
    struct json *json = *state;
    assert_ms(json, 0, "0");
    assert_ms(json, 1, "0.000001");
    assert_ms(json, -1, "-0.000001");
    assert_ms(json, 10, "0.00001");
    assert_ms(json, 100, "0.0001");
    assert_ms(json, 1000, "0.001");
    assert_ms(json, 500000, "0.5");
    assert_ms(json, 999999, "0.999999");
    assert_ms(json, 1000000, "1");
    assert_ms(json, 3000000, "3");
    assert_ms(json, 10000000, "10");
    assert_ms(json, 1000001, "1.000001");
    assert_ms(json, 1020304, "1.020304");
    assert_ms(json, 1234567891, "1234.567891");
    assert_ms(json, -1234567891, "-1234.567891");
    assert_ms(json, -2000000, "-2");
    assert_ms(json, INT64_MAX, "9223372036854.775807");
    assert_ms(json, INT64_MIN, "-9223372036854.775808");
}

static void assert_decimal(struct json *json, int64_t mantissa, uint32_t scale, const char *expected) {
    json_decimal(json, (struct decimal){.mantissa = mantissa, .scale = scale});
    assert_json(json, expected);
}

TEST(decimals_are_exact, begin, end) {
    struct json *json = *state;
    assert_decimal(json, 0, 0, "0");
    assert_decimal(json, 42, 0, "42");
    assert_decimal(json, -42, 0, "-42");
    assert_decimal(json, 15, 1, "1.5");
    assert_decimal(json, -15, 1, "-1.5");
    assert_decimal(json, 5, 1, "0.5");
    assert_decimal(json, -5, 3, "-0.005");
    assert_decimal(json, 123, 3, "0.123");
    assert_decimal(json, 1234, 3, "1.234");
    assert_decimal(json, 1, DECIMAL_SCALE_MAX, "0.000000000000000001");
    assert_decimal(json, INT64_MAX, DECIMAL_SCALE_MAX, "9.223372036854775807");
    assert_decimal(json, INT64_MIN, DECIMAL_SCALE_MAX, "-9.223372036854775808");
    assert_decimal(json, INT64_MIN, 0, "-9223372036854775808");
    assert_decimal(json, INT64_MIN, 24, "-0.000009223372036854775808");
    json_decimal(json, (struct decimal){.mantissa = -120, .exponent = 18});
    assert_json(json, "-120000000000000000000");
}

TEST(doubles_read_back_the_same, begin, end) {
    struct json *json = *state;
    static const struct {
        double value;
        const char *text;
    } cases[] = {
        {0.0, "0"},
        {-0.0, "-0"},
        {1.0, "1"},
        {-12.5, "-12.5"},
        {0.1, "0.1"},
        {1.0 / 3, "0.3333333333333333"},
        {0.1 + 0.2, "0.30000000000000004"},
        {100.0, "100"},
        {1e20, "100000000000000000000"},
        {1e21, "1e21"},
        {1.5e300, "1.5e300"},
        {0.0000001, "0.0000001"},
        {0.00000001, "1e-8"},
        {-1.25e-9, "-1.25e-9"},
        {9007199254740992.0, "9007199254740992"},
        {9007199254740993.5, "9007199254740994"},
        {1.7976931348623157e308, "1.7976931348623157e308"},
        {2.2250738585072014e-308, "2.2250738585072014e-308"},
        {4.9e-324, "5e-324"},
        {1.2e-322, "1.2e-322"},
        {INFINITY, "null"},
        {-INFINITY, "null"},
        {NAN, "null"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        json_double(json, cases[i].value);
        assert_json(json, cases[i].text);
    }
}

static double double_of(uint64_t bits) {
    double value;
    memcpy(&value, &bits, sizeof value);
    return value;
}

static void assert_reads_back(struct json *json, double value) {
    json_double(json, value);
    char *text = taken_text(json);
    if (strtod(text, NULL) != value) fail_msg("%s is not %a", text, value);
    if (strlen(text) > 32) fail_msg("%s is long", text);
    free(text);
}

TEST(random_doubles_read_back_the_same, begin, end) {
    struct json *json = *state;
    struct random_numbers numbers = {1};
    for (size_t i = 0; i < 200000; i++) {
        double value = double_of(random_next(&numbers));
        if (isfinite(value)) assert_reads_back(json, value);
    }
    /* Powers of two, at which the distance between doubles changes, and their neighbours. */
    enum { MANTISSA_BITS = 52, EXPONENT_COUNT = 2047 };
    for (uint64_t exponent = 1; exponent < EXPONENT_COUNT; exponent++) {
        assert_reads_back(json, double_of(exponent << MANTISSA_BITS));
        assert_reads_back(json, double_of((exponent << MANTISSA_BITS) - 1));
    }
    for (unsigned bit = 0; bit < MANTISSA_BITS; bit++) assert_reads_back(json, double_of(UINT64_C(1) << bit));
}

/* The C library keeps a copy of LOCPATH forever, which is not a leak. */
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void);
__attribute__((visibility("default"))) const char *__lsan_default_suppressions(void) { return "leak:argz_add_sep"; }

/* Returns a locale with a decimal comma, made for this test; none if the machine cannot make one. */
static locale_t comma_locale(void) {
    char folder[] = "/tmp/gecko-test-XXXXXX", command[512];
    if (!mkdtemp(folder)) return (locale_t)0;
    /* It has a rule for numbers only, because a whole locale takes much longer to make. The command warns about what is
     * missing, so its status says nothing. */
    snprintf(command, sizeof command,
             "cd %s && printf 'LC_NUMERIC\ndecimal_point \",\"\nthousands_sep \".\"\ngrouping 3;3\nEND LC_NUMERIC\n' "
             ">comma && localedef -c -i ./comma -f ANSI_X3.4-1968 ./comma_locale 2>/dev/null",
             folder);
    locale_t comma = (locale_t)0;
    if (system(command) != -1) {
        setenv("LOCPATH", folder, 1);
        comma = newlocale(LC_ALL_MASK, "comma_locale", NULL);
        unsetenv("LOCPATH");
    }
    snprintf(command, sizeof command, "rm -r %s", folder);
    assert_int_equal(system(command), 0);
    return comma;
}

TEST(doubles_know_no_locale, begin, end) {
    struct json *json = *state;
    locale_t comma = comma_locale();
    if (!comma) skip();
    locale_t before = uselocale(comma);
    char point[8];
    snprintf(point, sizeof point, "%.1f", 1.5);
    json_array_begin(json);
    json_double(json, 1234567.25);
    json_double(json, 1.5e-30);
    json_array_end(json);
    uselocale(before);
    freelocale(comma);
    assert_string_equal(point, "1,5");
    assert_json(json, "[1234567.25,1.5e-30]");
}

/* What drains an output. It fails at the call number fails_at, counted from 0. */
struct drained {
    struct chunk_list chunks;
    uint64_t most_bytes; /* most bytes of one call */
    unsigned call_count;
    unsigned fails_at;
};

/* A chunk_drain. */
static void take_chunks(void *context, struct chunk_list *chunks) {
    struct drained *drained = context;
    if (chunks->total_bytes > drained->most_bytes) drained->most_bytes = chunks->total_bytes;
    if (drained->call_count++ == drained->fails_at) failure_set(&failure, FAILURE_IO, "no room");
    if (failure_is_set(&failure))
        chunk_list_fini(chunks);
    else
        chunk_list_splice(&drained->chunks, chunks);
}

enum { DRAINED_ROWS = 1000 * 1000 };

/* Writes an array of numbers that is drained meanwhile. The caller ends the chunks of *drained. */
static void drain_array(struct drained *drained, unsigned fails_at) {
    struct chunk_drain drain = {take_chunks, drained};
    struct chunk_list out;
    struct json json;
    *drained = (struct drained){.fails_at = fails_at};
    chunk_list_init(&drained->chunks, &failure);
    chunk_list_init(&out, &failure);
    out.drain = &drain;
    json_init_for(&json, &out);
    json_array_begin(&json);
    for (uint32_t i = 0; i < DRAINED_ROWS; i++) json_int(&json, 10000000 + i);
    json_array_end(&json);
    struct chunk_list rest = json_take_chunks(&json);
    if (failure_is_set(&failure))
        chunk_list_fini(&rest);
    else
        chunk_list_splice(&drained->chunks, &rest);
}

TEST(output_is_drained_as_it_grows, begin, end) {
    enum { DRAIN_BYTES_MAX = 2 << 20 };
    struct drained drained;
    drain_array(&drained, UINT32_MAX);
    assert_true(drained.call_count > 5);
    assert_true(drained.most_bytes < DRAIN_BYTES_MAX);
    char *text = chunk_text(&drained.chunks), *at = text;
    for (uint32_t i = 0; i < DRAINED_ROWS; i++) assert_int_equal(strtoul(at + 1, &at, 10), 10000000 + i);
    assert_string_equal(at, "]");
    free(text);
    chunk_list_fini(&drained.chunks);
}

TEST(a_failing_drain_ends_the_writing, begin, end) {
    for (unsigned fails_at = 0; fails_at < 3; fails_at++) {
        struct drained drained;
        failure_clear(&failure);
        drain_array(&drained, fails_at);
        assert_int_equal(failure.code, FAILURE_IO);
        assert_int_equal(drained.call_count, fails_at + 1);
        chunk_list_fini(&drained.chunks);
    }
}

int main(void) { return unit_tests_run(NULL, NULL); }
