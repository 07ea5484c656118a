/* Tests which words and formats the print rules of tracepoints give numbers. */
#include "readers/perf/perf_print_rule.h"

#include <stdio.h>
#include <string.h>

#include "tests/support/profile_fixture.h"
#include "tests/support/unit_test.h"

#define SWITCH                                                                                                         \
    "\"prev_prio=%d prev_state=%s%s ==> next_prio=%d\", REC->prev_prio, (REC->prev_state & ((((0x0 | 0x1 | 0x2) + 1) " \
    "<< 1) - 1)) ? __print_flags(REC->prev_state & ((((0x0 | 0x1 | 0x2) + 1) << 1) - 1), \"|\", { 0x1, \"S\" }, { "    \
    "0x2, \"D\" }) : \"R\", REC->prev_state & (((0x1 | 0x2) + 1) << 1) ? \"+\" : \"\", REC->next_prio"
#define SOFTIRQ "\"vec=%u [action=%s]\", REC->vec, __print_symbolic(REC->vec, { 0, \"HI\" }, { (1 << 1), \"NET, TX\" })"
#define ALLOC                                                                                                         \
    "\"call_site=%pS size=%zu runtime=%Lu [ns] bytes=%ldB gfp_flags=%s accounted=%s\", (void *)REC->call_site, "      \
    "REC->size, REC->runtime, REC->bytes, (REC->gfp_flags) ? __print_flags(REC->gfp_flags, \"|\", {( unsigned "       \
    "long)((( gfp_t)(((((1UL))) << (10))|((((1UL))) << (11)))) | (( gfp_t)((((1UL))) << (6)))), \"GFP_USER\"}, "      \
    "{( unsigned long)(( gfp_t)((((1UL))) << (6))), \"__GFP_IO\"}, { 0, ((void *)0) }) : \"none\", (REC->flags & 4) " \
    "? \"true\" : "                                                                                                   \
    "\"false\""
#define LONG_PART               "0123456789012345678901234567890123456789012345678901234567890123456789"
#define LONG                    LONG_PART LONG_PART LONG_PART
#define FLAGS                   "\"v=%s\", __print_flags(REC->v, \"|\", { 1, \"" LONG "\" }, { 2, \"" LONG "\" }, { 4, \"" LONG "\" })"
#define PART                    "REC->v ? \"a\" : \"b\""
#define SYMBOLS(argument, rows) "\"v=%s\", __print_symbolic(" argument ", " rows ")"

static struct value_table known;

static int set_up(void **state) {
    begin_profile(state);
    perf_known_words_init(&known, &failure);
    return 0;
}

static int tear_down(void **state) {
    value_table_fini(&known);
    return end_profile(state);
}

static struct text words_of(struct perf_words *words, uint64_t value) {
    return strings_text(&profile.strings, perf_words_of(words, &known, &profile, value));
}

/* "-": there are none. */
static void assert_words(const char *rule, const char *field, uint64_t value, const char *expected) {
    struct text key;
    struct perf_words *words = perf_words_create(&profile, text_of(rule), field, &key);
    struct text found = words ? words_of(words, value) : TEXT("-");
    assert_int_equal(found.bytes_count, strlen(expected));
    assert_memory_equal(found.bytes, expected, found.bytes_count);
}

TEST(test_words, set_up, tear_down) {
    static const struct {
        const char *rule, *field;
        uint64_t value;
        const char *expected;
    } cases[] = {
        {SWITCH, "prev_state", 0, "R"},
        {SWITCH, "prev_state", 1, "S"},
        {SWITCH, "prev_state", 3, "S|D"},
        {SWITCH, "prev_state", 8, "R+"},
        {SWITCH, "prev_state", 4, "0x4"},
        {SWITCH, "prev_state", 5, "S|0x4"},
        {SWITCH, "prev_prio", 0, "-"},
        {SWITCH, "prev", 0, "-"},
        {SOFTIRQ, "vec", 0, "HI"},
        {SOFTIRQ, "vec", 2, "NET, TX"},
        {SOFTIRQ, "vec", 77, "0x4d"},
        {ALLOC, "gfp_flags", 0, "none"},
        {ALLOC, "gfp_flags", 64, "__GFP_IO"},
        {ALLOC, "gfp_flags", 3136, "GFP_USER"},
        {ALLOC, "flags", 4, "true"},
        {ALLOC, "flags", 3, "false"},
        {ALLOC, "size", 3, "-"},
        {SYMBOLS("REC->v", "{ -1, \"none\" }, { ~0x1 & 7, \"six\" }, { 2 != 2, \"zero\" }"), "v", UINT64_MAX, "none"},
        {SYMBOLS("REC->v", "{ -1, \"none\" }, { ~0x1 & 7, \"six\" }, { 2 != 2, \"zero\" }"), "v", 6, "six"},
        {SYMBOLS("REC->v", "{ -1, \"none\" }, { ~0x1 & 7, \"six\" }, { 2 != 2, \"zero\" }"), "v", 0, "zero"},
        {SYMBOLS("(REC->v >> 4) + !1", "{ 2, \"two\" }"), "v", 37, "two"},
        {SYMBOLS("(u8)REC->v", "{ 2, \"two\" }"), "v", 0x102, "two"},
        {SYMBOLS("(short int)REC->v", "{ -2, \"two\" }"), "v", 0x1fffe, "two"},
        {SYMBOLS("(short unsigned int)REC->v", "{ 65534, \"two\" }"), "v", 0x1fffe, "two"},
        {SYMBOLS("(long long unsigned int)REC->v", "{ 2, \"two\" }"), "v", 0x100000002, "0x100000002"},
        {SYMBOLS("(uint8_t)REC->v", "{ 2, \"two\" }"), "v", 0x102, "two"},
        {SYMBOLS("(uintptr_t)REC->v", "{ 2, \"two\" }"), "v", 0x100000002, "0x100000002"},
        {SYMBOLS("(const char *)REC->v", "{ 2, \"two\" }"), "v", 0x102, "0x102"},
        {SYMBOLS("(unsigned short) REC->v", "{ 0xffff, \"none\" }"), "v", UINT64_MAX, "none"},
        {SYMBOLS("(int)REC->v", "{ -1, \"none\" }"), "v", UINT32_MAX, "none"},
        {SYMBOLS("( unsigned long )REC->v", "{ 0x100000002, \"large\" }"), "v", 0x100000002, "large"},
        /* Flags of open are octal numbers. */
        {SYMBOLS("REC->v", "{ 00000100, \"O_CREAT\" }, { 0UL, \"O_RDONLY\" }"), "v", 64, "O_CREAT"},
        {SYMBOLS("REC->v", "{ 00000100, \"O_CREAT\" }, { 0UL, \"O_RDONLY\" }"), "v", 0, "O_RDONLY"},
        {"\"%s\", REC->v < 0 ? \"error\" : REC->v > 2 ? \"many\" : \"few\"", "v", UINT64_MAX, "error"},
        {"\"%s\", REC->v < 0 ? \"error\" : REC->v > 2 ? \"many\" : \"few\"", "v", 3, "many"},
        {"\"%s\", REC->v < 0 ? \"error\" : REC->v > 2 ? \"many\" : \"few\"", "v", 2, "few"},
        {"\"%.*s v=%s\", REC->count, REC->name, REC->v ? \"yes\" : \"no\"", "v", 2, "yes"},
        /* Words of more than four parts are not shown in part. */
        {"\"%s%s%s%s\", " PART ", " PART ", " PART ", " PART, "v", 1, "aaaa"},
        {"\"%s%s%s%s%s\", " PART ", " PART ", " PART ", " PART ", " PART, "v", 1, "-"},
        /* These are undefined or too long for this value alone. */
        {SYMBOLS("1 << REC->v", "{ 2, \"two\" }"), "v", 1, "two"},
        {SYMBOLS("1 << REC->v", "{ 2, \"two\" }"), "v", 64, "0x40"},
        {FLAGS, "v", 1, LONG},
        {FLAGS, "v", 7, "0x7"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_words(cases[i].rule, cases[i].field, cases[i].value, cases[i].expected);
}

TEST(test_key, set_up, tear_down) {
    struct text key;
    assert_non_null(perf_words_create(&profile, TEXT(SOFTIRQ), "vec", &key));
    assert_true(text_equal(key, TEXT("action")));
    assert_non_null(perf_words_create(&profile, TEXT(ALLOC), "gfp_flags", &key));
    assert_int_equal(key.bytes_count, 0);
}

TEST(test_formats, set_up, tear_down) {
    assert_int_equal(perf_print_rule_format(TEXT(ALLOC), "call_site"), MARKER_HEXADECIMAL);
    assert_int_equal(perf_print_rule_format(TEXT(ALLOC), "size"), MARKER_INTEGER);
    assert_int_equal(perf_print_rule_format(TEXT(ALLOC), "runtime"), MARKER_NANOSECONDS);
    assert_int_equal(perf_print_rule_format(TEXT(ALLOC), "bytes"), MARKER_BYTES);
    assert_int_equal(perf_print_rule_format(TEXT(ALLOC), "unknown"), MARKER_INTEGER);
}

TEST(test_functions, set_up, tear_down) {
    static const char rule[] = "\"a=%p b=%ps c=%pS d=%s\", REC->a, REC->b, (void *)REC->c, REC->d";
    assert_int_equal(perf_print_rule_function(text_of(rule), "a"), FUNCTION_NONE);
    assert_int_equal(perf_print_rule_function(text_of(rule), "b"), FUNCTION_ALONE);
    assert_int_equal(perf_print_rule_function(text_of(rule), "c"), FUNCTION_WITH_OFFSET);
    assert_int_equal(perf_print_rule_function(text_of(rule), "d"), FUNCTION_TEXT);
    assert_int_equal(perf_print_rule_function(text_of(rule), "unknown"), FUNCTION_NONE);
    assert_int_equal(perf_print_rule_function(TEXT("\"a=%p"), "a"), FUNCTION_NONE);
}

/* Expressions that are malformed, or depend on more than the field, give no words. */
TEST(test_no_words, set_up, tear_down) {
    static const char *const rules[] = {
        "",
        "\"%s",
        "REC->v",
        "\"v=%s\", REC->v",
        "\"v=%s\", REC->v ? \"a\"",
        "\"v=%s\", REC->v ? \"a\" : REC->w",
        "\"v=%s\", (REC->v | REC->w) ? \"a\" : \"b\"",
        "\"v=%s\", REC->v ?",
        "\"v=%u %s\", REC->v, REC->v ? \"a\" : \"b\"",
        SYMBOLS("REC->v", "{ HRTIMER_MODE_ABS, \"ABS\" }"),
        SYMBOLS("REC->v", "{ 1 << 64, \"a\" }"),
        SYMBOLS("REC->v", "{ 1, \"a\""),
        SYMBOLS("REC->v", "{ 1 }"),
        SYMBOLS("REC->v", "1, 2"),
        SYMBOLS("REC->v / 2", "{ 1, \"a\" }"),
        SYMBOLS("REC->v &&", "{ 1, \"a\" }"),
        SYMBOLS("(", "{ 1, \"a\" }"),
        SYMBOLS("(unsigned", "{ 1, \"a\" }"),
        SYMBOLS("99999999999999999999", "{ 1, \"a\" }"),
        SYMBOLS("08", "{ 1, \"a\" }"),
        SYMBOLS("07777777777777777777777", "{ 1, \"a\" }"),
        "\"v=%s\", __print_flags(REC->v, 7, { 1, \"a\" })",
    };
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) assert_words(rules[i], "v", 0, "-");
}

/* Deep expressions, long words and long rules give none; fields with more values than words could have are numbers. */
TEST(test_limits, set_up, tear_down) {
    enum { BYTES = 20000, VALUES = 70000 };
    static char rule[BYTES];
    struct text key;
    snprintf(rule, sizeof rule, "\"v=%%s\", %0500d(REC->v) ? \"a\" : \"b\"", 0);
    assert_words(rule, "v", 1, "-");
    for (char *zero = strchr(rule, '0'); *zero == '0'; zero++) *zero = '(';
    assert_words(rule, "v", 1, "-");
    snprintf(rule, sizeof rule, "\"v=%%s\", REC->v ? \"%0600d\" : \"b\"", 0);
    assert_words(rule, "v", 0, "-");
    snprintf(rule, sizeof rule, "\"v=%%s\", REC->v ? \"a\" : \"b\"%*s", BYTES - 100, "");
    assert_words(rule, "v", 0, "-");
    struct perf_words *words = perf_words_create(&profile, TEXT(SOFTIRQ), "vec", &key);
    assert_true(text_equal(words_of(words, 0), TEXT("HI")));
    for (uint64_t i = 0; i < VALUES; i++) words_of(words, i * 256 + 1);
    assert_true(text_equal(words_of(words, 2), TEXT("0x2")));
    assert_true(text_equal(words_of(words, 0), TEXT("HI")));
}

int main(void) { return unit_tests_run(NULL, NULL); }
