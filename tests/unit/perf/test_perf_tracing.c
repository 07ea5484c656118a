/* Tests payloads of tracepoints that are laid out as formats say, and formats that lie. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "readers/perf/perf_tracing.h"
#include "tests/support/unit_test.h"

enum { SECTION_BYTES_MAX = 4 * 1024 * 1024, TRACEPOINT_ID = 7, FIELD_COUNT = 10000 };

struct tracing_test {
    struct failure failure;
    struct profile profile;
    struct perf_tracing tracing;
    char *section;
    size_t used;
};

static struct tracing_test fixture;

static int set_up(void **state) {
    fixture = (struct tracing_test){.section = malloc(SECTION_BYTES_MAX)};
    profile_init(&fixture.profile, &fixture.failure);
    perf_tracing_init(&fixture.tracing, &fixture.profile);
    *state = &fixture;
    return fixture.section ? 0 : -1;
}

static int tear_down(void **state) {
    bool is_good = !failure_is_set(&fixture.failure);
    free(fixture.section);
    perf_tracing_fini(&fixture.tracing);
    profile_fini(&fixture.profile);
    return is_good ? 0 : -1;
}

static void put(const void *bytes, size_t bytes_count) {
    assert_true(fixture.used + bytes_count <= SECTION_BYTES_MAX);
    memcpy(fixture.section + fixture.used, bytes, bytes_count);
    fixture.used += bytes_count;
}

static void put_name(const char *name) { put(name, strlen(name) + 1); }

static void put_sized(const char *text) {
    uint64_t bytes_count = strlen(text);
    put(&bytes_count, sizeof bytes_count);
    put(text, bytes_count);
}

/* Reads a section with one format, and with constant texts of the kernel. */
static void read_format_and_texts(const char *fields, const char *rule, const char *texts) {
    static const char common[] = "\tfield:unsigned short common_type;\toffset:0;\tsize:2;\tsigned:0;\n";
    char *format = NULL;
    uint32_t none = 0, one = 1;
    assert_true(asprintf(&format, "name: event\nID: %d\nformat:\n%s\n%s\nprint fmt: %s\n", TRACEPOINT_ID, common,
                         fields, rule) > 0);
    put("\x17\x08\x44tracing", 10);
    put_name("0.6");
    put("\0\x8\0\x10\0\0", 6);
    put_name("header_page");
    put_sized("");
    put_name("header_event");
    put_sized("");
    put(&none, sizeof none);
    put(&one, sizeof one);
    put_name("test");
    put(&one, sizeof one);
    put_sized(format);
    free(format);
    put(&none, sizeof none);
    put(&(uint32_t){(uint32_t)strlen(texts)}, sizeof(uint32_t));
    put(texts, strlen(texts));
    assert_true(perf_tracing_read(&fixture.tracing, (struct text){fixture.section, fixture.used}));
}

static void read_format(const char *fields, const char *rule) { read_format_and_texts(fields, rule, ""); }

/* Writes the fields of a payload as "key=value key=value"; "-": the payload does not have it. */
static void assert_payload(const char *bytes, size_t bytes_count, const char *expected) {
    const union marker_value *values;
    uint64_t lost_count;
    char text[256] = "";
    size_t used = 0;
    struct text payload = {bytes, bytes_count};
    const struct perf_layout *layout =
        perf_tracing_decode(&fixture.tracing, TRACEPOINT_ID, payload, &values, &lost_count);
    assert_non_null(layout);
    for (uint32_t i = 0; i < layout->field_count; i++) {
        enum marker_value_kind kind = marker_format_kind(layout->fields[i].format);
        bool is_absent = marker_value_is_absent(kind, &values[i]);
        struct text string = kind == VALUE_STRING && !is_absent
                                 ? strings_text(&fixture.profile.strings, values[i].string)
                                 : (struct text){0};
        used += (size_t)snprintf(text + used, sizeof text - used, "%s%.*s=", i ? " " : "",
                                 (int)layout->fields[i].key.bytes_count, layout->fields[i].key.bytes);
        if (is_absent)
            used += (size_t)snprintf(text + used, sizeof text - used, "-");
        else if (kind == VALUE_STRING)
            used += (size_t)snprintf(text + used, sizeof text - used, "%.*s", (int)string.bytes_count, string.bytes);
        else
            used += (size_t)snprintf(text + used, sizeof text - used, "%" PRId64, values[i].number.mantissa);
    }
    assert_string_equal(text, expected);
}

#define PAYLOAD(bytes, expected) assert_payload(bytes, sizeof bytes - 1, expected)

TEST(test_types, set_up, tear_down) {
    read_format(
        "\tfield:int a;\toffset:0;\tsize:4;\tsigned:1;\n"
        "\tfield:dev_t dev;\toffset:4;\tsize:4;\tsigned:0;\n"
        "\tfield:unsigned long args[2];\toffset:8;\tsize:16;\tsigned:0;\n"
        "\tfield:u8 mac[3];\toffset:24;\tsize:3;\tsigned:0;\n"
        "\tfield:char comm[4];\toffset:27;\tsize:4;\tsigned:0;\n"
        "\tfield:__data_loc char[] name;\toffset:31;\tsize:4;\tsigned:0;\n",
        "\"\"");
    PAYLOAD("\xfe\xff\xff\xff\x10\0\xe0\x0f\x29\0\0\0\0\0\0\0\0\x24\0\0\0\0\0\0\x0a\xff\0abc\0\x23\0\x3\0xyz",
            "a=-2 dev=254,16 args=29, 2400 mac=0aff00 comm=abc name=xyz");
    PAYLOAD("\xfe\xff\xff\xff", "a=-2 dev=- args=- mac=- comm=- name=-");
}

/* Words take the place of a number, unless that is printed, too. */
TEST(test_words, set_up, tear_down) {
    read_format(
        "\tfield:int a;\toffset:0;\tsize:4;\tsigned:1;\n"
        "\tfield:unsigned int vec;\toffset:4;\tsize:4;\tsigned:0;\n"
        "\tfield:unsigned char flags;\toffset:8;\tsize:1;\tsigned:0;\n"
        "\tfield:unsigned int id;\toffset:9;\tsize:4;\tsigned:0;\n",
        "\"a=%s vec=%u [action=%s] low=%u flags=%s id=%x\", __print_symbolic(REC->a, { -1, \"none\" }), REC->vec, "
        "__print_symbolic(REC->vec, { 1, \"TIMER\" }), REC->flags & 1, __print_flags(REC->flags, \"|\", { 1, \"A\" }, "
        "{ 2, \"B\" }), REC->id");
    PAYLOAD("\xff\xff\xff\xff\1\0\0\0\3\7\0\0\0", "a=none vec=1 action=TIMER flags=3 flags in words=A|B id=7");
    PAYLOAD("\1\0\0\0\2\0\0\0", "a=0x1 vec=2 action=0x2 flags=- flags in words=- id=-");
    assert_int_equal(perf_tracing_layout(&fixture.tracing, TRACEPOINT_ID)->fields[5].format, MARKER_HEXADECIMAL);
}

static bool find_function(void *context, uint64_t address, struct text *name, uint64_t *offset) {
    *name = TEXT("process_timeout");
    *offset = address - 0x10;
    ++*(unsigned *)context;
    return address >= 0x10 && address < 0x20;
}

/* An address that the kernel prints as a function is that function, if the kernel's functions are known. Each address
 * is looked up once. */
TEST(test_functions, set_up, tear_down) {
    unsigned count = 0;
    read_format(
        "\tfield:void * function;\toffset:0;\tsize:8;\tsigned:0;\n"
        "\tfield:unsigned long site;\toffset:8;\tsize:8;\tsigned:0;\n"
        "\tfield:void * work;\toffset:16;\tsize:8;\tsigned:0;\n",
        "\"work=%p function=%ps site=%pS\", REC->work, REC->function, (void *)REC->site");
    fixture.tracing.functions = (struct perf_kernel_functions){find_function, &count};
    for (int i = 0; i < 2; i++) {
        PAYLOAD("\x11\0\0\0\0\0\0\0\x11\0\0\0\0\0\0\0\x11\0\0\0\0\0\0\0",
                "function=process_timeout site=process_timeout+0x1 work=17");
        PAYLOAD("\x20\0\0\0\0\0\0\0\x21\0\0\0\0\0\0\0\x11\0\0\0\0\0\0\0", "function=0x20 site=0x21 work=17");
    }
    assert_int_equal(count, 4);
    PAYLOAD("\x11", "function=- site=- work=-");
}

/* Constant texts of the kernel are known by their addresses. A number that is printed as a text is not one of them. */
TEST(test_texts, set_up, tear_down) {
    read_format_and_texts(
        "\tfield:const char * s;\toffset:0;\tsize:8;\tsigned:0;\n"
        "\tfield:int state;\toffset:8;\tsize:4;\tsigned:1;\n",
        "\"%s %s\", REC->s, REC->state == other ? \"a\" : \"b\"",
        "0x11 : \"Start context switch\"\n0x12 : \"a \\\"b\\\"\\n\"\nnot one\n0x13 : \"\n0x14 \"x\"\n0x15 : \"last\"");
    PAYLOAD("\x11\0\0\0\0\0\0\0\x11\0\0\0", "s=Start context switch state=17");
    PAYLOAD("\x12\0\0\0\0\0\0\0\x11\0\0\0", "s=a \\\"b\\\"\\n state=17");
    PAYLOAD("\x13\0\0\0\0\0\0\0\x11\0\0\0", "s=0x13 state=17");
    PAYLOAD("\x14\0\0\0\0\0\0\0\x11\0\0\0", "s=0x14 state=17");
    PAYLOAD("\x15\0\0\0\0\0\0\0\x11\0\0\0", "s=last state=17");
}

TEST(test_addresses_of_hosts, set_up, tear_down) {
    read_format(
        "\tfield:__u8 saddr[4];\toffset:0;\tsize:4;\tsigned:0;\n"
        "\tfield:__u8 saddr_v6[16];\toffset:4;\tsize:16;\tsigned:0;\n"
        "\tfield:__u8 odd[3];\toffset:0;\tsize:3;\tsigned:0;\n"
        "\tfield:__u8 mac[4];\toffset:0;\tsize:4;\tsigned:0;\n",
        "\"saddr=%pI4 saddrv6=%pI6c odd=%pI4 mac=%pM\", REC->saddr, REC->saddr_v6, REC->odd, REC->mac");
    PAYLOAD("\x7f\0\0\1\0\0\0\0\0\0\0\0\0\0\xff\xff\x0a\0\0\2",
            "saddr=127.0.0.1 saddr_v6=::ffff:10.0.0.2 odd=7f0000 mac=7f000001");
}

TEST(test_places_outside_of_the_payload, set_up, tear_down) {
    read_format(
        "\tfield:int far;\toffset:99999;\tsize:4;\tsigned:1;\n"
        "\tfield:int large;\toffset:0;\tsize:99999;\tsigned:1;\n"
        "\tfield:int odd;\toffset:0;\tsize:3;\tsigned:1;\n"
        "\tfield:__data_loc char[] name;\toffset:4;\tsize:4;\tsigned:0;\n",
        "\"\"");
    PAYLOAD("abcd\xff\xff\xff\xff", "far=- large=- odd=616263 name=-");
}

/* The marker has as many as it has room for, and the others are counted. */
TEST(test_many_fields, set_up, tear_down) {
    enum { FIELD_BYTES_MAX = 64, RULE_BYTES_MAX = 32 };
    char *fields = malloc((size_t)FIELD_COUNT * FIELD_BYTES_MAX), *rule = malloc((size_t)FIELD_COUNT * RULE_BYTES_MAX);
    assert_non_null(fields);
    assert_non_null(rule);
    size_t used = 0, rule_used = (size_t)sprintf(rule, "\"%%d\"");
    for (int i = 0; i < FIELD_COUNT; i++) {
        used += (size_t)sprintf(fields + used, "\tfield:char f%d;\toffset:%d;\tsize:1;\tsigned:1;\n", i, i % 4);
        rule_used += (size_t)sprintf(rule + rule_used, ", REC->f%d", i);
    }
    read_format(fields, rule);
    const union marker_value *values;
    uint64_t lost_count;
    const struct perf_layout *layout =
        perf_tracing_decode(&fixture.tracing, TRACEPOINT_ID, TEXT("\1\2\3\4"), &values, &lost_count);
    assert_non_null(layout);
    assert_int_equal(layout->field_count, PERF_FIELDS_MAX);
    assert_int_equal(lost_count, FIELD_COUNT - PERF_FIELDS_MAX);
    assert_int_equal(values[PERF_FIELDS_MAX - 1].number.mantissa, 4);
    free(fields);
    free(rule);
}

/* A field that is not within the payload is counted; a dynamic one that is empty is none. */
TEST(test_fields_outside, set_up, tear_down) {
    static const char payload[] = {4, 0, 0, 0, 5, 0, 4, 0, 0, 0, 0, 0};
    read_format(
        "\tfield:int a;\toffset:0;\tsize:4;\tsigned:1;\n"
        "\tfield:int b;\toffset:9;\tsize:4;\tsigned:1;\n"
        "\tfield:int c;\toffset:99;\tsize:4;\tsigned:1;\n"
        "\tfield:__data_loc char[] d;\toffset:4;\tsize:4;\tsigned:1;\n"
        "\tfield:__data_loc char[] e;\toffset:0;\tsize:4;\tsigned:1;\n"
        "\tfield:__data_loc char[] f;\toffset:8;\tsize:4;\tsigned:1;\n",
        "\"%d\", REC->a");
    const union marker_value *values;
    uint64_t lost_count;
    for (size_t cut = 0; cut < 2; cut++) {
        const struct text bytes = {payload, sizeof payload - cut};
        assert_non_null(perf_tracing_decode(&fixture.tracing, TRACEPOINT_ID, bytes, &values, &lost_count));
        assert_int_equal(lost_count, 2 + cut);
    }
}

TEST(test_an_unknown_id, set_up, tear_down) {
    const union marker_value *values;
    uint64_t lost_count;
    read_format("\tfield:int a;\toffset:0;\tsize:4;\tsigned:1;\n", "\"\"");
    assert_null(perf_tracing_decode(&fixture.tracing, TRACEPOINT_ID + 1, TEXT("abcd"), &values, &lost_count));
    assert_null(perf_tracing_decode(&fixture.tracing, UINT64_MAX, TEXT("abcd"), &values, &lost_count));
}

int main(void) { return unit_tests_run(NULL, NULL); }
