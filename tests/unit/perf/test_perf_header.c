/* Tests the comments of perf script --header as metadata. */
#include <stdio.h>

#include "readers/perf/perf_header.h"
#include "readers/perf_script/script_parser.h"
#include "tests/support/unit_test.h"

struct header_test {
    struct failure failure;
    struct profile profile;
    struct perf_header header;
};

static struct header_test fixture;

static int set_up(void **state) {
    fixture = (struct header_test){0};
    profile_init(&fixture.profile, &fixture.failure);
    *state = &fixture;
    return 0;
}

static int tear_down(void **state) {
    bool is_good = !failure_is_set(&fixture.failure);
    profile_fini(&fixture.profile);
    return is_good ? 0 : -1;
}

static void enter(void *context, const struct perf_record *record) {
    (void)context;
    if (record->type == PERF_HEADER) perf_header_enter(&fixture.header, &fixture.profile, record->name, record->text);
}

static void read_text(struct text text) {
    struct perf_tallies tallies = {0};
    struct input *input = input_from_memory(text, 0, &fixture.failure);
    assert_non_null(input);
    script_parse(input, (struct perf_sink){enter, NULL}, &tallies, &fixture.failure);
    input_close(input);
}

static void read_line(const char *line) { read_text(text_of(line)); }

static void assert_text(struct text got, const char *wanted) {
    if (!text_equal(got, text_of(wanted)))
        fail_msg("\"%.*s\" is not \"%s\"", (int)got.bytes_count, got.bytes ? got.bytes : "", wanted);
}

TEST(test_every_key, set_up, tear_down) {
    read_line("# ========");
    read_line("# captured on    : Sat Nov 21 07:35:50 2026");
    read_line("# header version : 1");
    read_line("# hostname : vm");
    read_line("# os release : 6.1.0-18-amd64");
    read_line("# perf version : 6.1.76");
    read_line("# arch : x86_64");
    read_line("# nrcpus online : 8");
    read_line("# nrcpus avail : 16");
    read_line("# cpudesc : Intel(R) Xeon(R) CPU: E5 @ 2.00GHz");
    read_line("# total memory : 16384516 kB");
    read_line("# cmdline : /usr/bin/perf record -g -- /opt/demo/app --fast ");
    read_line("# ========");
    read_line("#");
    const struct profile_meta *meta = &fixture.profile.meta;
    assert_int_equal(meta->captured_at_ms, INT64_C(1795246550000));
    assert_text(meta->device, "vm");
    assert_text(meta->platform, "Linux");
    assert_text(meta->os_cpu, "Linux 6.1.0-18-amd64");
    assert_text(meta->abi, "x86_64");
    assert_int_equal(meta->logical_cpu_count, 8);
    assert_text(meta->cpu_name, "Intel(R) Xeon(R) CPU: E5 @ 2.00GHz");
    assert_int_equal(meta->main_memory_bytes, UINT64_C(16384516) * 1024);
    assert_text(meta->arguments, "/usr/bin/perf record -g -- /opt/demo/app --fast");
    assert_text(meta->product, "app");
    assert_false(fixture.header.has_dwarf_stacks);
    assert_true(fixture.header.frequency_hz == 0);
}

TEST(test_recorded_programs, set_up, tear_down) {
    static const struct {
        const char *command_line;
        const char *program;
        const char *script;
    } rows[] = {
        {"perf record -F 99 -g ./app --fast", "app", ""},
        {"perf record -F99 -ag -e cycles:u -o /tmp/p.data /opt/app", "app", ""},
        {"perf record --call-graph dwarf,8192 --freq=max app record -- other", "app", ""},
        {"perf record -agF 99 -- /opt/demo/app", "app", ""},
        {"perf record -e cycles -a", "", ""},
        {"perf record -a sleep 10", "sleep", ""},
        {"perf record -e sched:sched_switch --filter 'prev_pid  == 3' -g  ./app", "app", ""},
        {"perf record -g -- env A=1 ./app", "env", ""},
        {"perf record -g sh -e ./build.sh --fast", "sh", "build.sh"},
        {"perf record -g bash -c ./build.sh", "bash", ""},
        {"perf record -g timeout -k 5 60 sh -e ./build.sh", "timeout", "build.sh"},
        {"perf record -g env A=1 nice -n 5 /bin/bash ./build.sh", "env", "build.sh"},
        {"perf record -g timeout -s KILL 60 sh ./build.sh", "timeout", "build.sh"},
        {"perf record -g stdbuf -o L env -u HOME sh ./build.sh", "stdbuf", "build.sh"},
        {"perf record -g flock /tmp/lock sh ./build.sh", "flock", "build.sh"},
        {"perf record -g strace -f -o log sh ./build.sh", "strace", "build.sh"},
        {"perf record -g timeout 60 sh -c ./build.sh", "timeout", ""},
        {"perf record -g timeout 60 ./app sh build.sh", "timeout", ""},
        {"perf record -g bash +x ./build.sh", "bash", ""},
        {"perf record -g bash /dev/fd/63", "bash", ""},
        {"/data/local/tmp/simpleperf_arm64 record -p 8337 -f 1000 --exit-with-parent", "", ""},
        {"perf", "", ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char line[128];
        snprintf(line, sizeof line, "# cmdline : %s", rows[i].command_line);
        fixture.profile.meta.product = (struct text){0};
        read_line(line);
        assert_text(fixture.profile.meta.product, rows[i].program);
        assert_text(fixture.header.script, rows[i].script);
    }
}

/* perf.data has each argument apart. */
TEST(test_arguments_with_blanks, set_up, tear_down) {
    static const char line[] = "perf\0record\0-g\0--\0sh\0my dir/my script.sh\0--fast";
    perf_header_enter(&fixture.header, &fixture.profile, TEXT("cmdline"), (struct text){line, sizeof line});
    assert_text(fixture.profile.meta.product, "sh");
    assert_text(fixture.header.script, "my script.sh");
    assert_text(fixture.profile.meta.arguments, "perf record -g -- sh my dir/my script.sh --fast");
    const struct extra_entry *entry = column_at(&fixture.profile.meta.extra, 0);
    assert_text(entry->value, "perf record -g -- sh my dir/my script.sh --fast");
}

TEST(test_all_keys_are_shown, set_up, tear_down) {
    read_line("# hostname : vm");
    read_line("# node0 meminfo  : total = 1 kB, free = 2 kB");
    read_line("# HEADER_CACHE info available, use -I to display"); /* not "key : value" */
    read_line("# missing features: AUXTRACE BRANCH_STACK ");
    read_line("# empty : ");
    read_line("# : value");
    const struct column *extra = &fixture.profile.meta.extra;
    assert_int_equal(extra->count, 3);
    static const char *const wanted[][2] = {{"hostname", "vm"},
                                            {"node0 meminfo", "total = 1 kB, free = 2 kB"},
                                            {"missing features", "AUXTRACE BRANCH_STACK"}};
    for (size_t i = 0; i < 3; i++) {
        const struct extra_entry *entry = column_at(extra, i);
        assert_text(entry->section, "perf");
        assert_text(entry->label, wanted[i][0]);
        assert_text(entry->value, wanted[i][1]);
    }
}

TEST(test_the_sampling_frequency, set_up, tear_down) {
    read_line(
        "# event : name = task-clock, , id = { 9 }, type = 1, { sample_period, sample_freq } = 1000000, sample_type = "
        "IP|TID|TIME");
    assert_true(fixture.header.frequency_hz == 0); /* this is a period, not a frequency */
    read_line(
        "# event : name = cycles:P, , id = { 1, 2 }, type = 0, size = 136, { sample_period, sample_freq } = 4000, "
        "sample_type = "
        "IP|TID|TIME|CALLCHAIN|PERIOD, read_format = ID, disabled = 1, inherit = 1, freq = 1, precise_ip = 3");
    assert_true(fixture.header.frequency_hz == 4000);
    read_line("# event : name = other, { sample_period, sample_freq } = 99, freq = 1"); /* the first one stays */
    assert_true(fixture.header.frequency_hz == 4000);
    assert_false(fixture.header.has_dwarf_stacks);
}

TEST(test_dwarf_stacks, set_up, tear_down) {
    static const char *const lines[] = {
        "# cmdline : /usr/bin/perf record --call-graph dwarf -- app",
        "# cmdline : /usr/bin/perf record --call-graph=dwarf,16384 app",
        "# event : name = cycles, sample_type = IP|TID|TIME|CALLCHAIN|REGS_USER|STACK_USER, freq = 1",
    };
    for (size_t i = 0; i < sizeof lines / sizeof *lines; i++) {
        fixture.header.has_dwarf_stacks = false;
        read_line(lines[i]);
        if (!fixture.header.has_dwarf_stacks) fail_msg("not seen: %s", lines[i]);
    }
    fixture.header.has_dwarf_stacks = false;
    read_line("# cmdline : /usr/bin/perf record --call-graph fp -- dwarf");
    assert_false(fixture.header.has_dwarf_stacks);
}

TEST(test_odd_values, set_up, tear_down) {
    static const char *const times[] = {
        "Sat Nov 21 07:35:50 202",  "Sat Nov 21 07:35:50 20266", "Sat Nux 21 07:35:50 2026",
        "Sat Nov 21 07-35-50 2026", "Sat Nov xx 07:35:50 2026",  "Sat Nov 21 07:35:50 1969",
        "2026-11-21 07:35:50 UTC ", "Sat No\0 21 07:35:50 2026",
    };
    for (size_t i = 0; i < sizeof times / sizeof *times; i++) {
        char line[64];
        snprintf(line, sizeof line, "# captured on : %s", times[i]);
        read_line(line);
        if (fixture.profile.meta.captured_at_ms) fail_msg("\"%s\" was taken for a time", times[i]);
    }
    static const char with_nul[] = "# captured on : Sat Nov 21 \0 7:35:50 2026";
    read_text((struct text){with_nul, sizeof with_nul - 1});
    assert_int_equal(fixture.profile.meta.captured_at_ms, 0);
    read_line("# nrcpus online : many");
    read_line("# nrcpus online : 99999999999999999999999999");
    assert_int_equal(fixture.profile.meta.logical_cpu_count, 0);
    read_line("# total memory : 99999999999999999999999999 kB");
    assert_int_equal(fixture.profile.meta.main_memory_bytes, 0);
    read_line("# cmdline : perf record -a");
    assert_text(fixture.profile.meta.arguments, "perf record -a");
    assert_text(fixture.profile.meta.product, "");
    read_line("# cmdline : perf record -a -- ");
    assert_text(fixture.profile.meta.product, "");
}

/* A day with one digit is padded with a blank. */
TEST(test_a_short_day, set_up, tear_down) {
    read_line("# captured on    : Thu Jan  1 00:00:01 1970");
    assert_int_equal(fixture.profile.meta.captured_at_ms, 1000);
}

int main(void) { return unit_tests_run(NULL, NULL); }
