/* Tests event lines: each form that perf prints, and lines that must not be mistaken for one. */
#include <stdio.h>
#include <stdlib.h>

#include "libconvert/profile/threads.h"
#include "readers/perf_script/script_event_line.h"
#include "tests/support/unit_test.h"

enum { NO_CPU = -1 };
#define NO_TIME   INT64_MIN
#define NO_PERIOD UINT64_MAX

struct reading {
    const char *line;
    const char *comm;
    int64_t pid;
    int64_t tid;
    int32_t cpu;
    int64_t time_ns; /* NO_TIME */
    uint64_t period; /* NO_PERIOD */
    const char *event;
    const char *rest;
    uint32_t machine;
};

static void assert_text(struct text got, const char *wanted, const char *what, const char *line) {
    if (!text_equal(got, text_of(wanted)))
        fail_msg("%s: %s is \"%.*s\", not \"%s\"", line, what, (int)got.bytes_count, got.bytes ? got.bytes : "",
                 wanted);
}

static void assert_number(int64_t got, int64_t wanted, const char *what, const char *line) {
    if (got != wanted) fail_msg("%s: %s is %lld, not %lld", line, what, (long long)got, (long long)wanted);
}

static bool is_same_text(struct text a, struct text b) {
    return a.bytes_count == b.bytes_count && (a.bytes == b.bytes || !a.bytes_count);
}

/* Checks that the line means the same to a memo, which knows all earlier lines, whether it knows this one or not. */
static void assert_same_again(struct text line, bool is_event_line, const struct script_event_line *wanted) {
    static struct script_event_memo memo;
    for (unsigned i = 0; i < 2; i++) {
        struct script_event_line got;
        assert_int_equal(script_event_line_parse_again(&memo, line, &got), is_event_line);
        if (!is_event_line) continue;
        assert_true(is_same_text(got.comm, wanted->comm) && is_same_text(got.event, wanted->event) &&
                    is_same_text(got.rest, wanted->rest));
        assert_true(got.pid == wanted->pid && got.tid == wanted->tid && got.machine == wanted->machine &&
                    got.cpu == wanted->cpu && got.has_skipped_field == wanted->has_skipped_field);
        assert_true(got.has_time == wanted->has_time && got.time_ns == wanted->time_ns &&
                    got.has_period == wanted->has_period && (!got.has_period || got.period == wanted->period));
    }
}

/* Parses a copy of exactly the line's size, so that a sanitizer detects reads beyond its end. */
static bool parse(const char *line, struct script_event_line *out, char **bytes) {
    size_t bytes_count = strlen(line);
    *bytes = malloc(bytes_count + !bytes_count);
    assert_non_null(*bytes);
    memcpy(*bytes, line, bytes_count);
    bool is_event_line = script_event_line_parse((struct text){*bytes, bytes_count}, out);
    assert_same_again((struct text){*bytes, bytes_count}, is_event_line, out);
    return is_event_line;
}

static void assert_reading(const struct reading *wanted) {
    const char *line = wanted->line;
    struct script_event_line got;
    char *bytes;
    if (!parse(line, &got, &bytes)) fail_msg("%s: refused", line);
    assert_text(got.comm, wanted->comm, "comm", line);
    assert_number(got.pid, wanted->pid, "pid", line);
    assert_number(got.tid, wanted->tid, "tid", line);
    assert_number(got.machine, wanted->machine, "machine", line);
    assert_number(got.cpu, wanted->cpu, "cpu", line);
    assert_number(got.has_time, wanted->time_ns != NO_TIME, "has_time", line);
    if (got.has_time) assert_number(got.time_ns, wanted->time_ns, "time", line);
    assert_number(got.has_period, wanted->period != NO_PERIOD, "has_period", line);
    if (got.has_period) assert_number((int64_t)got.period, (int64_t)wanted->period, "period", line);
    assert_text(got.event, wanted->event, "event", line);
    assert_text(got.rest, wanted->rest, "rest", line);
    free(bytes);
}

#define ASSERT_READINGS(readings) \
    for (size_t i = 0; i < sizeof readings / sizeof *readings; i++) assert_reading(&readings[i])

static void assert_refused(const char *line) {
    struct script_event_line got;
    char *bytes;
    if (parse(line, &got, &bytes)) fail_msg("\"%s\" was taken for an event line", line);
    free(bytes);
}

TEST(test_ids_and_fields) {
    static const struct reading readings[] = {
        {"java 25607 4794564.109216: cycles:", "java", PID_UNKNOWN, 25607, NO_CPU, 4794564109216000, NO_PERIOD,
         "cycles", "", 0},
        {"java 25607 4794564.109216: cycles: ", "java", PID_UNKNOWN, 25607, NO_CPU, 4794564109216000, NO_PERIOD,
         "cycles", "", 0},
        {"java 24636/25607 [000] 4794564.109216: 250000 cycles:P:", "java", 24636, 25607, 0, 4794564109216000, 250000,
         "cycles:P", "", 0},
        {"java 24636/25607 4794564.109216:     250000 cycles:P:", "java", 24636, 25607, NO_CPU, 4794564109216000,
         250000, "cycles:P", "", 0},
        {"swapper     0 [127] 1.0: cycles:", "swapper", PID_UNKNOWN, 0, 127, 1000000000, NO_PERIOD, "cycles", "", 0},
        {"   bash 14404 [007] 2.07: 250000 cycles:  7f01 leaf+0x10 (/a)", "bash", PID_UNKNOWN, 14404, 7, 2070000000,
         250000, "cycles", "7f01 leaf+0x10 (/a)", 0},
        {":-1 -1/-1 [003] 1.0: cycles:", ":-1", -1, -1, 3, 1000000000, NO_PERIOD, "cycles", "", 0},
        {":-1    -1 [000] 1.0: cycles:", ":-1", PID_UNKNOWN, -1, 0, 1000000000, NO_PERIOD, "cycles", "", 0},
        {":4711  4711/4711 1.0: cycles:", ":4711", 4711, 4711, NO_CPU, 1000000000, NO_PERIOD, "cycles", "", 0},
        {"perf 12 [-01] 0.000000: PERF_RECORD_COMM: perf:12/12", "perf", PID_UNKNOWN, 12, NO_CPU, 0, NO_PERIOD,
         "PERF_RECORD_COMM", "perf:12/12", 0},
        {"a 2147483647/4194304 [1048575] 1.0: x:", "a", 2147483647, 4194304, 1048575, 1000000000, NO_PERIOD, "x", "",
         0},
    };
    ASSERT_READINGS(readings);
}

TEST(test_the_comm_may_hold_anything) {
    static const struct reading readings[] = {
        {"CPU 0/KVM 5000/5003 [001] 7.5: cycles:", "CPU 0/KVM", 5000, 5003, 1, 7500000000, NO_PERIOD, "cycles", "", 0},
        {"CPU 0/KVM 5003 7.5: cycles:", "CPU 0/KVM", PID_UNKNOWN, 5003, NO_CPU, 7500000000, NO_PERIOD, "cycles", "", 0},
        {"Plex 5 Serve 26638 7.5: cycles:", "Plex 5 Serve", PID_UNKNOWN, 26638, NO_CPU, 7500000000, NO_PERIOD, "cycles",
         "", 0},
        {"[ET_NET 0] 9 7.5: cycles:", "[ET_NET 0]", PID_UNKNOWN, 9, NO_CPU, 7500000000, NO_PERIOD, "cycles", "", 0},
        {"kworker/u8:2-ev 77 [003] 7.5: cycles:", "kworker/u8:2-ev", PID_UNKNOWN, 77, 3, 7500000000, NO_PERIOD,
         "cycles", "", 0},
        {"io:pool(1) 5 7.5: cycles:", "io:pool(1)", PID_UNKNOWN, 5, NO_CPU, 7500000000, NO_PERIOD, "cycles", "", 0},
        {"a 5 7.5: cycles:", "a", PID_UNKNOWN, 5, NO_CPU, 7500000000, NO_PERIOD, "cycles", "", 0},
        {"123 456 7.5: cycles:", "123", PID_UNKNOWN, 456, NO_CPU, 7500000000, NO_PERIOD, "cycles", "", 0},
        {"123 456/789 [012] 7.5: cycles:", "123", 456, 789, 12, 7500000000, NO_PERIOD, "cycles", "", 0},
        {"x 1.5: 456 7.5: cycles:", "x 1.5:", PID_UNKNOWN, 456, NO_CPU, 7500000000, NO_PERIOD, "cycles", "", 0},
        {"a: 5/6 7.5: cycles:", "a:", 5, 6, NO_CPU, 7500000000, NO_PERIOD, "cycles", "", 0},
        {"[000] 5/6 [001] 7.5: cycles:", "[000]", 5, 6, 1, 7500000000, NO_PERIOD, "cycles", "", 0},
        {"UK 5/6 [001] 7.5: cycles:", "UK", 5, 6, 1, 7500000000, NO_PERIOD, "cycles", "", 0},
        {"#1 worker 5/6 7.5: cycles:", "#1 worker", 5, 6, NO_CPU, 7500000000, NO_PERIOD, "cycles", "", 0},
        {"two  blanks 5/6 7.5: cycles:", "two  blanks", 5, 6, NO_CPU, 7500000000, NO_PERIOD, "cycles", "", 0},
        {"kworker/u16:3-events_unbound_and_a_long_workqueue_name_of_63_byt 5 7.5: x:",
         "kworker/u16:3-events_unbound_and_a_long_workqueue_name_of_63_byt", PID_UNKNOWN, 5, NO_CPU, 7500000000,
         NO_PERIOD, "x", "", 0},
        {"\xff\xfe\xc3 5 7.5: x:", "\xff\xfe\xc3", PID_UNKNOWN, 5, NO_CPU, 7500000000, NO_PERIOD, "x", "", 0},
    };
    ASSERT_READINGS(readings);
}

TEST(test_tabs_are_blanks) {
    static const struct reading readings[] = {
        {"Gecko\t25122 [007] 115539.9:\t\t1000000 task-clock:u:", "Gecko", PID_UNKNOWN, 25122, 7, 115539900000000,
         1000000, "task-clock:u", "", 0},
        {"\tGecko Main\t25122/25123\t[007]\t115539.9:\ttask-clock:u:\t7f01\tleaf", "Gecko Main", 25122, 25123, 7,
         115539900000000, NO_PERIOD, "task-clock:u", "7f01\tleaf", 0},
    };
    ASSERT_READINGS(readings);
}

TEST(test_times) {
    static const struct {
        const char *time;
        int64_t time_ns;
    } times[] = {
        {"0.0", 0},
        {"0.1", 100000000},
        {"1.23", 1230000000},
        {"1.234", 1234000000},
        {"1.2345", 1234500000},
        {"1.23456", 1234560000},
        {"1.234567", 1234567000},
        {"1.2345678", 1234567800},
        {"1.23456789", 1234567890},
        {"1.234567891", 1234567891},
        {"0.000000001", 1},
        {"00012.5", 12500000000},
        {"2305843008.999999999", 2305843008999999999},
    };
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        char line[80];
        snprintf(line, sizeof line, "a 1/2 %s: x:", times[i].time);
        const struct reading reading = {line, "a", 1, 2, NO_CPU, times[i].time_ns, NO_PERIOD, "x", "", 0};
        assert_reading(&reading);
    }
}

TEST(test_without_a_time) {
    static const struct reading readings[] = {
        {"java 19983 cycles:", "java", PID_UNKNOWN, 19983, NO_CPU, NO_TIME, NO_PERIOD, "cycles", "", 0},
        {"java 19983/19984 [002] cycles:ppp: ", "java", 19983, 19984, 2, NO_TIME, NO_PERIOD, "cycles:ppp", "", 0},
        {"java 19983 250000 cycles:", "java", PID_UNKNOWN, 19983, NO_CPU, NO_TIME, 250000, "cycles", "", 0},
        {"java 19983 [002] U cycles:", "java", PID_UNKNOWN, 19983, 2, NO_TIME, NO_PERIOD, "cycles", "", 0},
        {"CPU 0/KVM 5000/5003 cycles:  7f01 leaf (/a)", "CPU 0/KVM", 5000, 5003, NO_CPU, NO_TIME, NO_PERIOD, "cycles",
         "7f01 leaf (/a)", 0},
        {"Plex 5 Serve 26638 cycles:", "Plex 5 Serve", PID_UNKNOWN, 26638, NO_CPU, NO_TIME, NO_PERIOD, "cycles", "", 0},
        {"sshd 9/9 sched:sched_switch: prev_comm=sshd ==> next_comm=a", "sshd", 9, 9, NO_CPU, NO_TIME, NO_PERIOD,
         "sched:sched_switch", "prev_comm=sshd ==> next_comm=a", 0},
        {"app 7/8 PERF_RECORD_COMM exec: app:7/8", "app", 7, 8, NO_CPU, NO_TIME, NO_PERIOD, "",
         "PERF_RECORD_COMM exec: app:7/8", 0},
        {"app 7/8 PERF_RECORD_EXIT(7:8):(7:7)", "app", 7, 8, NO_CPU, NO_TIME, NO_PERIOD, "",
         "PERF_RECORD_EXIT(7:8):(7:7)", 0},
        {"app 7/8 DEFERRED CALLCHAIN [cookie: b6]", "app", 7, 8, NO_CPU, NO_TIME, NO_PERIOD, "",
         "DEFERRED CALLCHAIN [cookie: b6]", 0},
    };
    ASSERT_READINGS(readings);
}

TEST(test_optional_fields) {
    static const struct reading readings[] = {
        {"a 1/2 2024-01-02 10:00:00.1 100.0: x:", "a", 1, 2, NO_CPU, 100000000000, NO_PERIOD, "x", "", 0},
        {"a 1/2 [003] 2024-01-02 10:00:00.123456 100.0: x:", "a", 1, 2, 3, 100000000000, NO_PERIOD, "x", "", 0},
        {"a 1/2 disabled 100.0: x:", "a", 1, 2, NO_CPU, 100000000000, NO_PERIOD, "x", "", 0},
        {"a 1/2 [000] U 100.0: x:", "a", 1, 2, 0, 100000000000, NO_PERIOD, "x", "", 0},
        {"a 1/2 K 100.0: x:", "a", 1, 2, NO_CPU, 100000000000, NO_PERIOD, "x", "", 0},
        {"a 1/2 [000] Sp 100.0: PERF_RECORD_SWITCH OUT preempt", "a", 1, 2, 0, 100000000000, NO_PERIOD, "",
         "PERF_RECORD_SWITCH OUT preempt", 0},
        {"a 1/2 [000] U 2024-01-02 10:00:00.1 100.0: x:", "a", 1, 2, 0, 100000000000, NO_PERIOD, "x", "", 0},
        {"VM:1 VCPU:0 a 1/1 [000] 1.0: x:", "a", 1, 1, 0, 1000000000, NO_PERIOD, "x", "", 1},
        {"VM: 5000 VCPU:001 a b 1/1 [000] 1.0: x:", "a b", 1, 1, 0, 1000000000, NO_PERIOD, "x", "", 5000},
        {"VM: 5000 a 1/1 1.0: x:", "a", 1, 1, NO_CPU, 1000000000, NO_PERIOD, "x", "", 5000},
        {"VM:x a 1/1 1.0: x:", "VM:x a", 1, 1, NO_CPU, 1000000000, NO_PERIOD, "x", "", 0},
        {"VM:4294967295 a 1/1 1.0: x:", "a", 1, 1, NO_CPU, 1000000000, NO_PERIOD, "x", "", UINT32_MAX},
        {"a 1/1 1.0: cycles:  /user.slice/a b.scope  7f01 leaf (/a)", "a", 1, 1, NO_CPU, 1000000000, NO_PERIOD,
         "cycles", "/user.slice/a b.scope  7f01 leaf (/a)", 0},
        {"2024-01-02 1/1 1.0: x:", "2024-01-02", 1, 1, NO_CPU, 1000000000, NO_PERIOD, "x", "", 0},
    };
    ASSERT_READINGS(readings);
}

TEST(test_events_are_opaque) {
    static const struct reading readings[] = {
        {"a 1 1.0: cpu/event=0x3c,umask=0x0/upp:", "a", PID_UNKNOWN, 1, NO_CPU, 1000000000, NO_PERIOD,
         "cpu/event=0x3c,umask=0x0/upp", "", 0},
        {"a 1 1.0: 7 cpu/event=0x3c,name=a:b/:", "a", PID_UNKNOWN, 1, NO_CPU, 1000000000, 7, "cpu/event=0x3c,name=a:b/",
         "", 0},
        {"a 1 1.0: [unknown]:", "a", PID_UNKNOWN, 1, NO_CPU, 1000000000, NO_PERIOD, "[unknown]", "", 0},
        {"a 1 1.0: sched:sched_switch:", "a", PID_UNKNOWN, 1, NO_CPU, 1000000000, NO_PERIOD, "sched:sched_switch", "",
         0},
        {"a 1 1.0: 5 6: ", "a", PID_UNKNOWN, 1, NO_CPU, 1000000000, 5, "6", "", 0},
        {"a 1 1.0: 0 cycles:", "a", PID_UNKNOWN, 1, NO_CPU, 1000000000, 0, "cycles", "", 0},
        {"a 1 1.0: 18446744073709551614 cycles:", "a", PID_UNKNOWN, 1, NO_CPU, 1000000000, UINT64_MAX - 1, "cycles", "",
         0},
        {"a 1 1.0: 7f01 leaf (/a)", "a", PID_UNKNOWN, 1, NO_CPU, 1000000000, NO_PERIOD, "", "7f01 leaf (/a)", 0},
        {"a 1 1.0:", "a", PID_UNKNOWN, 1, NO_CPU, 1000000000, NO_PERIOD, "", "", 0},
        {"a 1 1.0: : x", "a", PID_UNKNOWN, 1, NO_CPU, 1000000000, NO_PERIOD, "", ": x", 0},
        {"a 1 1.0: 250000", "a", PID_UNKNOWN, 1, NO_CPU, 1000000000, NO_PERIOD, "", "250000", 0},
    };
    ASSERT_READINGS(readings);
}

/* A number that is too large is not a period, and what follows it is not an event. */
TEST(test_period_too_large) {
    static const struct reading reading = {
        "a 1 1.0: 18446744073709551616 cycles:", "a", PID_UNKNOWN, 1, NO_CPU, 1000000000, NO_PERIOD, "",
        "18446744073709551616 cycles:",          0};
    assert_reading(&reading);
}

TEST(test_the_first_time_counts) {
    static const struct reading readings[] = {
        {"sshd 9/9 [0] 1.0: sched:sched_switch: prev_comm=sshd 12.5: x ==> next_comm=b", "sshd", 9, 9, 0, 1000000000,
         NO_PERIOD, "sched:sched_switch", "prev_comm=sshd 12.5: x ==> next_comm=b", 0},
        {"sshd 9/9 [0] 1.0: sched:sched_switch: prev_comm=a 7/7 [001] 12.5: x", "sshd", 9, 9, 0, 1000000000, NO_PERIOD,
         "sched:sched_switch", "prev_comm=a 7/7 [001] 12.5: x", 0},
        {"sshd 9/9 [0] 1.0: p:q: 5 12.5: y:", "sshd", 9, 9, 0, 1000000000, NO_PERIOD, "p:q", "5 12.5: y:", 0},
    };
    ASSERT_READINGS(readings);
}

TEST(test_records) {
    static const struct reading readings[] = {
        {"app 11527  1025.979859: PERF_RECORD_COMM exec: app:11527/11527", "app", PID_UNKNOWN, 11527, NO_CPU,
         1025979859000, NO_PERIOD, "", "PERF_RECORD_COMM exec: app:11527/11527", 0},
        {"app 1/1 [002] 5.0: PERF_RECORD_FORK(1:2):(1:1)", "app", 1, 1, 2, 5000000000, NO_PERIOD, "",
         "PERF_RECORD_FORK(1:2):(1:1)", 0},
        {"swapper 0 0.0: PERF_RECORD_MMAP -1/0: [0xffffffff81000000(0x1000) @ 0]: x [kernel.kallsyms]_text", "swapper",
         PID_UNKNOWN, 0, NO_CPU, 0, NO_PERIOD, "",
         "PERF_RECORD_MMAP -1/0: [0xffffffff81000000(0x1000) @ 0]: x [kernel.kallsyms]_text", 0},
        {"a 1/1 5.0: PERF_RECORD_LOST lost 123", "a", 1, 1, NO_CPU, 5000000000, NO_PERIOD, "",
         "PERF_RECORD_LOST lost 123", 0},
        {"a 1/1 5.0: DEFERRED CALLCHAIN [cookie: b00000006]", "a", 1, 1, NO_CPU, 5000000000, NO_PERIOD, "",
         "DEFERRED CALLCHAIN [cookie: b00000006]", 0},
    };
    ASSERT_READINGS(readings);
}

TEST(test_what_is_no_event_line) {
    static const char *const lines[] = {
        "",
        " ",
        ":",
        "a",
        "a 1",
        "a 1/2",
        "[001] 1.0: cycles:",
        "a 1.0: cycles:", /* no ids */
        "a b 1.0: cycles:",
        "a 1x 1.0: cycles:",
        "a 1/ 1.0: cycles:",
        "a /1 1.0: cycles:",
        "a 1/2/3 1.0: cycles:",
        "a 123456789012 1.0: cycles:", /* no tid has twelve digits */
        "a 1 1.1234567890: ",          /* ten digits of a second */
        "a 1 2305843009.000000000: ",  /* 73 years */
        "a 1 9223372036.854775808: ",  /* more nanoseconds than fit */
        "a 1 12345678901.0: ",
        "a 1 1.: ",
        "a 1 1.5:cycles",
        "a 1 1,5: ",
        "a 1 [x] 1.5: cycles:",
        "a 1 [-12] 1.5: cycles:",
        "a 1 UKp9 1.5: cycles:",
        "\tffffffff8158e375 next_uptodate_folio+0x55 ([kernel.kallsyms])",
        "\t          401195 leaf+0xc (/usr/bin/app)",
        "  basic_string.h:234",
        "  libc.so.6[27b25]",
        "  :0",
        "# cmdline : /usr/bin/perf record -g",
        "[ perf record: Captured and wrote 0.022 MB perf.data (12 samples) ]",
        " instruction trace error type 1 time 12.345 cpu 0 pid 12 tid 34 ip 0 code 8: Lost trace data",
        "main;fib;fib 12",
        "{\"a\": 1, \"b\": 2}",
        "a 1 cycles",
        "a b cycles:",
        "a 1 : x",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) assert_refused(lines[i]);
}

/* A comm has at most 63 bytes, so ids and time are near the start of the line. */
TEST(test_a_start_that_is_too_long) {
    char line[512];
    memset(line, 'x', 65);
    strcpy(line + 65, " 1 1.0: cycles:");
    assert_refused(line);
    memset(line, ' ', 300);
    line[0] = 'x';
    strcpy(line + 300, "1 1.0: cycles:");
    assert_refused(line);
    strcpy(line + 300, "1 cycles:");
    assert_refused(line);
}

/* Fills the bytes with as many whole units as fit. Each step doubles what is filled. */
static void repeat(char *at, const char *end, const char *unit, size_t unit_bytes) {
    size_t filled = unit_bytes, room = (size_t)(end - at) / unit_bytes * unit_bytes;
    memcpy(at, unit, unit_bytes);
    while (filled < room) {
        size_t next = filled < room - filled ? filled : room - filled;
        memcpy(at + filled, at, next);
        filled += next;
    }
}

/* Each of these lines once took time quadratic in its length. */
TEST(test_long_hostile_lines) {
    static const char *const units[] = {":",  ": ",   "1.0: ", "1 1.0: ", "x 1x 1.0: ", "1 ", "1/1 ",
                                        "U ", "1 U ", "[1] ",  " ",       "1 a: ",      "9"};
    static const char *const starts[] = {"", " ", "VM:", "a", "VM:                          x 1 1.0: "};
    enum { LINE_BYTES = 4 * 1024 * 1024 };
    char *line = malloc(LINE_BYTES);
    assert_non_null(line);
    for (size_t s = 0; s < sizeof starts / sizeof *starts; s++) {
        for (size_t u = 0; u < sizeof units / sizeof *units; u++) {
            size_t start_bytes = strlen(starts[s]), unit_bytes = strlen(units[u]);
            memset(line, ' ', LINE_BYTES);
            /* Half of the line is blank, so that repeated trimming would be slow. */
            for (int half = 0; half < 2; half++) {
                memcpy(line, starts[s], start_bytes);
                repeat(line + (half ? start_bytes : LINE_BYTES / 2), line + LINE_BYTES, units[u], unit_bytes);
                struct script_event_line got;
                script_event_line_parse((struct text){line, LINE_BYTES}, &got);
            }
        }
    }
    free(line);
}

int main(void) { return unit_tests_run(NULL, NULL); }
