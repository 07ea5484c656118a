/* Tests payloads of tracepoints as text: limits. The fixture tracepoint-fields has their forms. */
#include <stdio.h>
#include <stdlib.h>

#include "readers/perf/perf_text_payload.h"
#include "tests/support/assert_text.h"
#include "tests/support/unit_test.h"

enum { FIELD_COUNT = 10000 };

struct payload_test {
    struct failure failure;
    struct profile profile;
    struct perf_text_fields fields;
    char *payload;
};

static struct payload_test fixture;

static int set_up(void **state) {
    fixture = (struct payload_test){0};
    profile_init(&fixture.profile, &fixture.failure);
    perf_text_fields_init(&fixture.fields, &fixture.profile, TEXT("app:many"));
    *state = &fixture;
    return 0;
}

static int tear_down(void **state) {
    bool is_good = !failure_is_set(&fixture.failure);
    free(fixture.payload);
    perf_text_fields_fini(&fixture.fields);
    profile_fini(&fixture.profile);
    return is_good ? 0 : -1;
}

/* Returns the payload with that many fields: "key0=0 key1=1", or "key=0 key=1". */
static struct text payload_of(bool have_one_key) {
    enum { FIELD_BYTES_MAX = 32 };
    size_t used = 0;
    fixture.payload = malloc((size_t)FIELD_COUNT * FIELD_BYTES_MAX);
    assert_non_null(fixture.payload);
    for (int i = 0; i < FIELD_COUNT; i++) {
        char *at = fixture.payload + used;
        int count = have_one_key ? snprintf(at, FIELD_BYTES_MAX, "key=%d ", i)
                                 : snprintf(at, FIELD_BYTES_MAX, "key%d=%d ", i, i);
        used += (size_t)count;
    }
    return (struct text){fixture.payload, used};
}

static void assert_first_fields(struct text payload) {
    const union marker_value *values;
    uint64_t lost_count;
    perf_text_fields_learn(&fixture.fields, payload);
    struct perf_layout *layout = perf_text_fields_values(&fixture.fields, payload, &values, &lost_count);
    assert_non_null(layout);
    assert_int_equal(lost_count, FIELD_COUNT - PERF_FIELDS_MAX);
    assert_int_equal(layout->field_count, PERF_FIELDS_MAX);
    for (int i = 0; i < PERF_FIELDS_MAX; i++) assert_int_equal(values[i].number.mantissa, i);
}

TEST(test_many_fields, set_up, tear_down) { assert_first_fields(payload_of(false)); }

TEST(test_a_key_that_comes_often, set_up, tear_down) { assert_first_fields(payload_of(true)); }

/* Each bracket is one of a separator, and a line may have four million. */
TEST(test_many_brackets, set_up, tear_down) {
    static const struct text start = TEXT("a=1 b=f(2)"), end = TEXT(" c=3");
    enum { BRACKET_COUNT = 4000000 };
    fixture.payload = malloc(start.bytes_count + BRACKET_COUNT + end.bytes_count);
    assert_non_null(fixture.payload);
    memcpy(fixture.payload, start.bytes, start.bytes_count);
    memset(fixture.payload + start.bytes_count, ')', BRACKET_COUNT);
    memcpy(fixture.payload + start.bytes_count + BRACKET_COUNT, end.bytes, end.bytes_count);
    struct text payload = {fixture.payload, start.bytes_count + BRACKET_COUNT + end.bytes_count};
    const union marker_value *values;
    uint64_t lost_count;
    perf_text_fields_learn(&fixture.fields, payload);
    assert_non_null(perf_text_fields_values(&fixture.fields, payload, &values, &lost_count));
    assert_int_equal(values[0].number.mantissa, 1);
    assert_text(strings_text(&fixture.profile.strings, values[1].string), "f(2)");
    assert_int_equal(values[2].number.mantissa, 3);
}

/* The kernel prints other keys than the fields have that perf.data tells. */
TEST(test_keys_of_fields, set_up, tear_down) {
    static const struct {
        struct text event, payload, last_key;
        uint32_t field_count;
    } cases[] = {
        {TEXT("sched:sched_process_fork"), TEXT("comm=a b pid=7 child_comm=c child_pid=8"), TEXT("child_pid"), 4},
        {TEXT("workqueue:workqueue_queue_work"), TEXT("work struct=0xf function=f workqueue=events req_cpu=256 cpu=-1"),
         TEXT("cpu"), 5},
        {TEXT("workqueue:workqueue_activate_work"), TEXT("work struct 0xf function=f"), TEXT("function"), 2},
        {TEXT("block:block_touch_buffer"), TEXT("254,0 sector=7 size=4096"), TEXT("size"), 3},
        {TEXT("block:block_unplug"), TEXT("[a b] 3"), TEXT("nr_rq"), 2},
        {TEXT("block:block_plug"), TEXT("[a b]"), TEXT("comm"), 1},
        {TEXT("net:net_dev_xmit"), TEXT("dev=lo skbaddr=0xf len=74 rc=0"), TEXT("rc"), 4},
        {TEXT("napi:napi_poll"), TEXT("napi poll on napi struct 0xf for device (no_device) work 2 budget 64"),
         TEXT("budget"), 4},
        {TEXT("tlb:tlb_flush"), TEXT("pages:1 reason:local MM shootdown (3)"), TEXT("reason"), 3},
        {TEXT("sock:inet_sock_set_state"),
         TEXT("family=AF_INET protocol=IPPROTO_TCP sport=1 dport=2 saddr=127.0.0.1 daddr=0.0.0.0 "
              "saddrv6=::ffff:127.0.0.1 daddrv6=:: oldstate=TCP_CLOSE newstate=TCP_LISTEN"),
         TEXT("newstate"), 10},
        {TEXT("ext4:ext4_unlink_enter"), TEXT("dev 254,0 ino 12 size 334 parent 2"), TEXT("parent"), 4},
        {TEXT("io_uring:io_uring_create"), TEXT("ring 0xf, fd 3 sq size 8, cq size 16, flags 0x0"), TEXT("fields"), 1},
        {TEXT("io_uring:io_uring_complete"), TEXT("ring 0xf, req 0xe, user_data 0x0, opcode READV"), TEXT("opcode"), 4},
        {TEXT("app:sentence"), TEXT("one 2 three four five six"), TEXT("fields"), 1},
        {TEXT("app:sentence"), TEXT("a 1 b 2 c"), TEXT("fields"), 1},
        {TEXT("app:sentence"), TEXT("word 1"), TEXT("fields"), 1},
    };
    static const struct text first_keys[] = {TEXT("parent_comm"), TEXT("work"),   TEXT("work"),   TEXT("dev"),
                                             TEXT("comm"),        TEXT("comm"),   TEXT("name"),   TEXT("napi"),
                                             TEXT("pages"),       TEXT("family"), TEXT("dev"),    TEXT("fields"),
                                             TEXT("ring"),        TEXT("fields"), TEXT("fields"), TEXT("fields")};
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct perf_text_fields fields;
        perf_text_fields_init(&fields, &fixture.profile, cases[i].event);
        perf_text_fields_learn(&fields, cases[i].payload);
        const struct perf_layout *layout = perf_text_fields_layout(&fields);
        assert_int_equal(layout->field_count, cases[i].field_count);
        assert_true(text_equal(layout->fields[0].key, first_keys[i]));
        assert_true(text_equal(layout->fields[layout->field_count - 1].key, cases[i].last_key));
        perf_text_fields_fini(&fields);
    }
}

/* The kernel prints 0 in hexadecimal without 0x ("%#x"). */
TEST(test_zeros, set_up, tear_down) {
    static const struct {
        struct text payloads[2];
        enum marker_format format;
        int64_t first, last;
    } cases[] = {
        {{TEXT("flags=0"), TEXT("flags=0x1f")}, MARKER_HEXADECIMAL, 0, 31},
        {{TEXT("flags=0x1f"), TEXT("flags=0")}, MARKER_HEXADECIMAL, 31, 0},
        {{TEXT("flags=0"), TEXT("flags=12")}, MARKER_INTEGER, 0, 12},
        {{TEXT("flags=-1"), TEXT("flags=0")}, MARKER_INTEGER, -1, 0},
        {{TEXT("flags=0"), TEXT("flags=0")}, MARKER_INTEGER, 0, 0},
    };
    static const struct text mixed[] = {TEXT("flags=0x1"), TEXT("flags=0"), TEXT("flags=10")};
    const union marker_value *values;
    uint64_t lost_count;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct perf_text_fields fields;
        perf_text_fields_init(&fields, &fixture.profile, TEXT("app:flags"));
        for (size_t j = 0; j < 2; j++) perf_text_fields_learn(&fields, cases[i].payloads[j]);
        assert_int_equal(perf_text_fields_layout(&fields)->fields[0].format, cases[i].format);
        for (size_t j = 0; j < 2; j++) {
            assert_non_null(perf_text_fields_values(&fields, cases[i].payloads[j], &values, &lost_count));
            assert_int_equal(values[0].number.mantissa, j ? cases[i].last : cases[i].first);
            assert_int_equal(values[0].number.scale, 0);
        }
        perf_text_fields_fini(&fields);
    }
    for (size_t i = 0; i < 3; i++) perf_text_fields_learn(&fixture.fields, mixed[i]);
    assert_int_equal(perf_text_fields_layout(&fixture.fields)->fields[0].format, MARKER_UNIQUE_STRING);
}

/* Text tells what the payload's bytes do. Values that the kernel makes of other fields are left out. */
TEST(test_values_of_fields, set_up, tear_down) {
    static const struct {
        struct text event, payload;
        const char *expected;
    } cases[] = {
        {TEXT("block:block_rq_issue"), TEXT("254,0 DS 4096 () 326112472 + 8 0x2,0,4 [app]"), "ioprio=16388"},
        {TEXT("block:block_rq_issue"), TEXT("254,0 DS 4096 () 326112472 + 8 be,0,4 [app]"), "ioprio='be,0,4'"},
        {TEXT("block:block_rq_issue"), TEXT("254,0 DS 4096 () 326112472 + 8 0x8,0,4 [app]"), "ioprio='0x8,0,4'"},
        {TEXT("timer:itimer_state"), TEXT("which=0 expires=0 it_value=600.000250 it_interval=0.000000"),
         "value_sec=600 value_nsec=250000"},
        {TEXT("timer:itimer_state"), TEXT("which=0 expires=0 it_value=600.9223372036854776 it_interval=0.000000"),
         "value_sec=600 value_nsec='9223372036854776'"},
        {TEXT("timer:hrtimer_setup"), TEXT("hrtimer=0xf clockid=CLOCK_MONOTONIC mode=0x9"), "mode=9"},
        {TEXT("task:task_newtask"), TEXT("pid=7 comm=a b clone_flags=1200000 oom_score_adj=-5"),
         "clone_flags=18874368 oom_score_adj=-5"},
        {TEXT("sched:sched_kthread_work_execute_end"), TEXT("work struct 0xf: function f"), "work=15 function='f'"},
        {TEXT("kmem:mm_page_free_batched"), TEXT("page=0x28d5fe pfn=0xa3 order=0"), "pfn=163"},
        {TEXT("kmem:mm_page_alloc"), TEXT("page=0x28d5fe pfn=0xa3 order=2 migratetype=1 gfp_flags=A|B"),
         "pfn=163 order=2 migratetype=1 gfp_flags='A|B'"},
        {TEXT("kmem:kmalloc"),
         TEXT("call_site=f+0x1 ptr=0xf bytes_req=3 bytes_alloc=4 gfp_flags=A|B node=-1 accounted=false"),
         "gfp_flags='A|B' node=-1"},
        {TEXT("probe_app:greet"), TEXT("(4012bd) name=\"even \"q\" {z}\" n=0"), "name='even \"q\" {z}' n=0"},
        {TEXT("probe_app:greet"), TEXT("(4012bd) name=\"a, x=1\" n=1"), "name='a, x=1' n=1"},
        {TEXT("rcu:rcu_utilization"), TEXT("Start context switch"), "s='Start context switch'"},
        {TEXT("maple_tree:ma_op"), TEXT("mas_split\tNode: (nil) (1 18446744073709551615) range: 2-3"),
         "fn='mas_split' node=0 min=1 max=-1 index=2 last=3"},
        {TEXT("maple_tree:ma_write"), TEXT("mas_store\tNode 0xf (1 4) range:2-3 piv (5) val 0x10"),
         "node=15 min=1 max=4 index=2 last=3 piv=5 val=16"},
        {TEXT("ext4:ext4_request_inode"), TEXT("dev 254,0 dir 2 mode 0100600"), "dev='254,0' dir=2 mode='0100600'"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        const union marker_value *values;
        uint64_t lost_count;
        struct perf_text_fields fields;
        char got[256] = " ";
        perf_text_fields_init(&fields, &fixture.profile, cases[i].event);
        perf_text_fields_learn(&fields, cases[i].payload);
        const struct perf_layout *layout = perf_text_fields_values(&fields, cases[i].payload, &values, &lost_count);
        for (uint32_t j = 0; j < layout->field_count; j++) {
            bool is_text = layout->fields[j].format == MARKER_UNIQUE_STRING;
            struct text text = is_text ? strings_text(&fixture.profile.strings, values[j].string) : TEXT("");
            size_t used = strlen(got);
            used += (size_t)snprintf(got + used, sizeof got - used, "%.*s=", TEXT_ARGS(layout->fields[j].key));
            if (is_text)
                snprintf(got + used, sizeof got - used, "'%.*s' ", TEXT_ARGS(text));
            else
                snprintf(got + used, sizeof got - used, "%lld ", (long long)values[j].number.mantissa);
        }
        char expected[256];
        snprintf(expected, sizeof expected, " %s ", cases[i].expected);
        if (!strstr(got, expected)) fail_msg("%s lacks %s", got, expected);
        assert_null(strstr(got, "accounted"));
        assert_null(strstr(got, "page="));
        perf_text_fields_fini(&fields);
    }
}

/* libtraceevent prints a zero so where it prints addresses. */
TEST(test_no_address, set_up, tear_down) {
    static const struct text payloads[] = {TEXT("ptr=0xffff888342bb9ab0"), TEXT("ptr=(nil)")};
    const union marker_value *values;
    uint64_t lost_count;
    for (size_t i = 0; i < 2; i++) perf_text_fields_learn(&fixture.fields, payloads[i]);
    const struct perf_layout *layout = perf_text_fields_values(&fixture.fields, payloads[1], &values, &lost_count);
    assert_int_equal(layout->fields[0].format, MARKER_HEXADECIMAL);
    assert_int_equal(values[0].number.mantissa, 0);
}

int main(void) { return unit_tests_run(NULL, NULL); }
