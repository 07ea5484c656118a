/* Tests whole texts of perf script, read in blocks of several sizes, from memory and as a stream, by one thread and by
 * two: samples, threads, the ledger, detection. */
#include <stdio.h>
#include <stdlib.h>

#include "readers/reader.h"
#include "tests/support/assert_text.h"
#include "tests/support/marker_text.h"
#include "tests/support/profile_text.h"
#include "tests/support/random_numbers.h"
#include "tests/support/reading.h"
#include "tests/support/sanitizers.h"
#include "tests/support/unit_test.h"

static const size_t block_sizes[] = {0, 1, 2, 3, 7, 16, 64, 100, 4096};
enum { BLOCK_SIZE_COUNT = sizeof block_sizes / sizeof *block_sizes };

/* How a trace is read. */
struct way {
    size_t block_bytes; /* 0: the default */
    unsigned job_count;
    bool is_stream;
};

/* What is left of a stream. */
struct stream {
    struct text left;
    size_t block_bytes;
};

/* An input_next_block. */
static struct text next_of_stream(void *context) {
    struct stream *stream = context;
    struct text block = text_slice(stream->left, 0, stream->block_bytes);
    stream->left = text_from(stream->left, block.bytes_count);
    return block;
}

static void read_in_way(struct text trace, struct reader_options options, struct way way) {
    struct stream stream = {trace, way.block_bytes ? way.block_bytes / 2 + 1 : trace.bytes_count};
    begin_reading();
    struct input *input = way.is_stream ? input_from_blocks("stream", next_of_stream, &stream, &reading.failure)
                                        : input_from_memory(trace, 0, &reading.failure);
    assert_non_null(input);
    options.block_bytes = way.block_bytes;
    options.job_count = way.job_count;
    reader_perf_script.run(input, &reading.profile, &options);
    profile_finish(&reading.profile);
    input_close(input);
    if (failure_is_set(&reading.failure)) fail_msg("%s", reading.failure.message);
    if (!ledger_is_balanced(&reading.profile.ledger)) fail_msg("the ledger does not balance");
}

static void read_text(const char *trace) { read_in_way(text_of(trace), (struct reader_options){0}, (struct way){0}); }

/* Checks that two profiles have the same frames, stacks and samples under the same numbers. */
static void assert_same_stacks(const struct profile *left, const struct profile *right) {
    assert_int_equal(row_table_count(&left->frames), row_table_count(&right->frames));
    for (uint32_t i = 0; i < row_table_count(&left->frames); i++)
        assert_memory_equal(row_table_at(&left->frames, i), row_table_at(&right->frames, i), sizeof(struct frame));
    assert_int_equal(stack_table_count(&left->stacks), stack_table_count(&right->stacks));
    for (uint32_t i = 0; i < stack_table_count(&left->stacks); i++) {
        const struct stack *a = stack_table_at(&left->stacks, i), *b = stack_table_at(&right->stacks, i);
        assert_true(stack_is_same(a->prefix, b->prefix) && frame_is_same(a->frame, b->frame));
    }
    struct profile_text *right_samples = profile_samples_text(right);
    assert_printed(profile_samples_text(left), right_samples->bytes);
    free(right_samples);
}

/* Of recordings with switches, for tests of something else. */
static const struct reader_options without_waits = {.off_cpu = GECKO_CONVERT_OFF_CPU_NO};

/* Checks what the trace becomes, in whichever way it is read. Each expectation may be NULL. */
static void assert_trace(struct text trace, struct reader_options options, const char *samples, const char *ledger) {
    for (size_t i = 0; i < BLOCK_SIZE_COUNT * 4; i++) {
        struct way way = {block_sizes[i / 4], 1 + i % 2, i % 4 > 1};
        /* Two threads share the same whatever the size of a block. */
        if (HAS_THREAD_SANITIZER && (way.job_count == 1 || i / 4 % 2 == 0)) continue;
        read_in_way(trace, options, way);
        struct profile_text *got_samples = profile_samples_text(&reading.profile);
        struct profile_text *got_ledger = ledger_entries_text(&reading.profile.ledger);
        if (samples) assert_string_equal(got_samples->bytes, samples);
        if (ledger) assert_string_equal(got_ledger->bytes, ledger);
        free(got_samples);
        free(got_ledger);
    }
}

static void assert_samples(const char *trace, const char *samples) {
    assert_trace(text_of(trace), without_waits, samples, NULL);
}

static void assert_samples_and_ledger(const char *trace, const char *samples, const char *ledger) {
    assert_trace(text_of(trace), without_waits, samples, ledger);
}

/* ---- Samples. ---- */

static const char simple_trace[] =
    "app 7/7 [000] 10.000000001: 250000 cycles:P:\n"
    "\t1190 leaf+0x10 (/usr/bin/app)\n"
    "\t1290 main+0x10 (/usr/bin/app)\n"
    "\n"
    "worker 7/8 [001] 10.5: 250000 cycles:P:\n"
    "\tffffffff81001190 do_read+0x10 ([kernel.kallsyms])\n"
    "\t1390 read+0x10 (/lib/libc.so.6)\n"
    "\n"
    "app 7/7 [000] 11.000000001: 250000 cycles:P:\n"
    "\t1290 main+0x10 (/usr/bin/app)\n"
    "\n";

static const char simple_samples[] =
    "7/7 app 0 250000 main;leaf\n"
    "7/7 app 1000000000 250000 main\n"
    "7/8 worker 499999999 250000 read;do_read\n";

TEST(test_samples_and_ledger) {
    assert_samples_and_ledger(simple_trace, simple_samples,
                              "lines kept 3 blank line\n"
                              "lines kept 3 event line\n"
                              "lines kept 5 frame line\n"
                              "values noted 3 processor number: profiles have no place for it\n"
                              "samples kept 3 event cycles:P\n"
                              "periods kept 750000 event cycles:P\n");
}

/* A walk along frame pointers ends at an address that is not code. As a root it would divide equal stacks. */
TEST(test_unknown_roots) {
    assert_samples(
        "a 1/1 1.0: x:\n\t10 f (/a)\n\t20 [unknown] ([unknown])\n\t30 [unknown] ([unknown])\n\n" /* callers */
        "a 1/1 1.1: x:\n\t10 f (/a)\n\t20 [unknown] ([unknown])\n\t11 g (/a)\n\n"                /* in between */
        "a 1/1 1.2: x:\n\t20 [unknown] ([unknown])\n\t30 [unknown] ([unknown])\n\n"              /* alone */
        "a 1/1 1.3: x:\n\t10 f (/a)\n\t20 [unknown] (/b)\n\n"                                    /* code */
        "a 1/1 1.4: x:\n\tffffffff81001180 k ([k])\n\tffffffff81001190 [unknown] ([unknown])\n\n"
        "a 1/1 1.5: x:\n\t10 f (/a)\n\tffffffff81001190 [unknown] ([unknown])\n\n", /* called by the kernel? */
        "1/1 a 0 1 f\n"
        "1/1 a 100000000 1 g;[unknown];f\n"
        "1/1 a 200000000 1 [unknown]+0x20\n"
        "1/1 a 300000000 1 b+0x20;f\n"
        "1/1 a 400000000 1 [unknown];k\n"
        "1/1 a 500000000 1 f\n");
    /* Without -F sym and without -F dso. */
    assert_samples("a 1/1 1.0: x:\n\t10 (/a)\n\t20 ([unknown])\n\n", "1/1 a 0 1 a+0x10\n");
    assert_samples("a 1/1 1.0: x:\n\t10 f\n\t20 [unknown]\n\n", "1/1 a 0 1 [unknown];f\n");
}

TEST(test_line_ends) {
    char *crlf = calloc(1, 2 * sizeof simple_trace);
    assert_non_null(crlf);
    for (size_t from = 0, to = 0; simple_trace[from]; from++) {
        if (simple_trace[from] == '\n') crlf[to++] = '\r';
        crlf[to++] = simple_trace[from];
    }
    assert_samples(crlf, simple_samples);
    free(crlf);
    size_t bytes_count = sizeof simple_trace - 1;
    assert_trace((struct text){simple_trace, bytes_count - 1}, (struct reader_options){0}, simple_samples, NULL);
    assert_trace((struct text){simple_trace, bytes_count - 2}, (struct reader_options){0}, simple_samples, NULL);
    assert_samples("a 1/1 1.0: x:\n\t10 f (/a)\n  \t \na 1/1 2.0: x:\n\t10 g (/a)", /* a blank line of blanks */
                   "1/1 a 0 1 f\n1/1 a 1000000000 1 g\n");
    assert_samples("a 1/1 1.0: x:\n\t10 f (/a)\na 1/1 2.0: x:\n\t10 g (/a)", /* no blank line */
                   "1/1 a 0 1 f\n1/1 a 1000000000 1 g\n");
}

/* Stacks are lexed only if all of their text is in one block. In blocks of three bytes, every line is read on its own.
 * The stacks must be the same in both cases, whatever they share with earlier ones. */
TEST(test_stacks_that_repeat) {
    static const char *const lines[] = {
        "\tffffffff81001190 do_read+0x10 ([kernel.kallsyms])\n",
        "\tffffffff81001290 sys_read+0x10 ([kernel.kallsyms])\n",
        "\t1390 read+0x10 (/lib/libc.so.6)\n",
        "\t1390 main+0x10 (/usr/bin/app)\n",
        "\t1391 main+0x11 (/usr/bin/app)\n",
        "\t1391 helper (inlined)\n",
        "\t7f0000001234 A::f->B::g (/tmp/perf-7.map)\n",
        "\t7f0000001234 [unknown] ([unknown])\n",
        "\t7f0000002234 far+0x4 (/usr/bin/app)\n",
        "\tb00000006 (cookie)\n",
        "\tnot a frame\n",
        "  file.c:12\n",
        "PERF_RECORD_THROTTLE\n",
        "\n",
    };
    static const char *const starts[] = {
        "app 7/7 10.0: cycles:\n",
        "app 7/8 10.0: cycles:\n",
        "app 8 10.0: cycles:\n",
        "app 7/7 10.0: DEFERRED CALLCHAIN [cookie: b00000006]\n",
        "app 7/7 10.0: PERF_RECORD_MMAP2 7/7: [0x7f0000000000(0x9000) @ 0 fe:00 1 2]: r-xp /usr/bin/app\n",
        "# captured on: x\n",
    };
    /* Most stacks have only frames. Some have a line that is something else. */
    enum { TEXT_BYTES = 1 << 20, LINES_MAX = 7, COMMON_LINES = 9, COMMON_STARTS = 2 };
    /* The thread sanitizer makes samples slow, and sees what threads share in few of them. */
    enum { SAMPLE_COUNT = HAS_THREAD_SANITIZER ? 500 : 3000 };
    struct random_numbers random = {.state = 17};
    char *trace = malloc(TEXT_BYTES);
    assert_non_null(trace);
    size_t used = 0;
    for (unsigned i = 0; i < SAMPLE_COUNT; i++) {
        bool is_odd = random_below(&random, 40) == 0;
        uint32_t start_count = is_odd ? sizeof starts / sizeof *starts : COMMON_STARTS;
        used += (size_t)sprintf(trace + used, "%s", starts[random_below(&random, start_count)]);
        for (uint32_t left = 1 + random_below(&random, LINES_MAX); left > 0; left--) {
            uint32_t line_count = is_odd ? sizeof lines / sizeof *lines : COMMON_LINES;
            used += (size_t)sprintf(trace + used, "%s", lines[random_below(&random, line_count)]);
        }
        used += (size_t)sprintf(trace + used, "\n");
    }
    static const struct way ways[] = {{0, 1, false},   {0, 1, true},    {4096, 1, false}, {4096, 2, false},
                                      {4096, 2, true}, {300, 2, false}, {4096, 8, false}};
    read_in_way((struct text){trace, used}, (struct reader_options){0}, (struct way){3, 1, false});
    struct reading by_line = reading;
    reading = (struct reading){0};
    for (size_t i = 0; i < sizeof ways / sizeof *ways; i++) {
        read_in_way((struct text){trace, used}, (struct reader_options){0}, ways[i]);
        assert_same_stacks(&by_line.profile, &reading.profile);
    }
    profile_fini(&by_line.profile);
    free(trace);
}

TEST(test_an_empty_trace) {
    assert_samples_and_ledger("", "", "");
    assert_samples_and_ledger("\n\n", "", "lines kept 2 blank line\n");
    read_text("# hostname : vm\n");
    assert_int_equal(reading.profile.thread_order.count, 0);
    assert_true(text_equal(reading.profile.meta.device, TEXT("vm")));
}

TEST(test_recorded_without_callgraphs) {
    const char *trace =
        "            bash 14404/14404 [007] 2.07: 250000 cycles:  7f01 leaf+0x10 (/a)\n"
        "            bash 14404/14404 [007] 2.08: 250000 cycles:  7f01 leaf+0x10 (/a)\n"
        "   two words 14405/14405 [007] 2.09: 250000 cycles:  7f02 [unknown] ([unknown])\n"
        "            bash 14404/14404 [007] 2.10: 250000 cycles:  /user.slice/x.scope 7f01 f(int) (/a b)\n"
        "            bash 14404/14404 [007] 2.11: 250000 cycles:  7ffd0000 7f01 g+0x1 (/a)\n"
        "            bash 14404/14404 [007] 2.12: 250000 cycles:  7f01 h (/a) 0x12/0x34/P/-/-/1\n";
    assert_samples(trace,
                   "14404/14404 bash 0 250000 leaf\n"
                   "14404/14404 bash 10000000 250000 leaf\n"
                   "14404/14404 bash 30000000 250000 f(int)\n"
                   "14404/14404 bash 40000000 250000 g\n"
                   "14404/14404 bash 50000000 250000 h\n"
                   "14405/14405 two words 20000000 250000 [unknown]+0x7f02\n");
    read_text(trace);
    assert_false(reading.profile.meta.has_stacks);
    assert_int_equal(count_of(&reading.profile.ledger, LEDGER_VALUES, LEDGER_LOST, "field after the event"), 1);
    assert_int_equal(count_of(&reading.profile.ledger, LEDGER_VALUES, LEDGER_LOST, "branch stack"), 1);
}

TEST(test_without_a_time) {
    const char *trace =
        "java 9 cycles:\n\t10 f (/a)\n\n"
        "java 8 cycles:\n\t10 g (/a)\n\n"
        "java 9 cycles:\n\t10 h (/a)\n\n";
    assert_samples_and_ledger(trace,
                              "unknown pid/9 java 0 1 f\n"
                              "unknown pid/9 java 2000000 1 h\n"
                              "unknown pid/8 java 1000000 1 g\n",
                              "lines kept 3 blank line\n"
                              "lines kept 3 event line\n"
                              "lines kept 3 frame line\n"
                              "samples noted 3 sample without a time: made up from the order\n"
                              "samples kept 3 event cycles\n");
    read_text(trace);
    assert_false(reading.profile.meta.has_times);
    read_text(simple_trace);
    assert_true(reading.profile.meta.has_times);
    assert_true(reading.profile.meta.has_stacks);
    /* The time is the latest possible one. After a line with a time, a line without one is not an event. */
    assert_samples("a 1/1 2305843007.999999999: x:\n\t10 f (/a)\n\na 1/1 x:\n\t10 g (/a)\n", "1/1 a 0 1 f\n");
}

TEST(test_times_that_jump_back) {
    assert_samples_and_ledger(
        "a 1/1 5.000000003: x:\n\t10 f (/a)\n\n"
        "a 1/1 5.000000001: x:\n\t10 g (/a)\n\n"
        "b 2/2 4.0: x:\n\t10 h (/a)\n\n" /* another thread, so time does not go backwards */
        "a 1/1 5.000000001: x:\n\t10 i (/a)\n\n",
        "1/1 a 1000000001 1 g\n"
        "1/1 a 1000000001 1 i\n"
        "1/1 a 1000000003 1 f\n"
        "2/2 b 0 1 h\n",
        "lines kept 4 blank line\n"
        "lines kept 4 event line\n"
        "lines kept 4 frame line\n"
        "samples noted 1 sample earlier than the one before it in its thread: sorted\n"
        "samples kept 4 event x\n");
}

TEST(test_threads) {
    assert_samples(
        "worker 8 1.0: x:\n\t10 f (/a)\n\n"
        "app 7/7 1.1: x:\n\t10 g (/a)\n\n"
        "other 9 1.2: x:\n\t10 h (/a)\n\n"
        "worker 7/8 1.3: x:\n\t10 i (/a)\n\n" /* names the process of thread 8, also for its earlier samples */
        ":-1 -1/-1 1.4: x:\n\t10 j (/a)\n\n"
        "swapper 0 1.5: x:\n\t10 k (/a)\n\n"
        ":-1    -1 1.6: x:\n\t10 l (/a)\n\n",
        "7/7 app 100000000 1 g\n"
        "7/8 worker 0 1 f\n"
        "7/8 worker 300000000 1 i\n"
        "-1/-1 unknown 400000000 1 j\n"
        "-1/-1 unknown 600000000 1 l\n"
        "0/0 swapper 500000000 1 k\n"
        "unknown pid/9 other 200000000 1 h\n");
}

TEST(test_a_comm_that_looks_like_a_comment) {
    assert_samples("#1 worker 7/7 1.0: x:\n\t10 f (/a)\n\n", "7/7 #1 worker 0 1 f\n");
}

TEST(test_guests) {
    assert_samples(
        "app 1/1 1.0: x:\n\t10 f (/a)\n\n"
        "VM:5000 VCPU:000 init 1/1 1.1: x:\n\t10 g (/a)\n\n",
        "1/1 app 0 1 f\n"
        "1 (VM 5000)/1 init 100000000 1 g\n");
}

/* ---- Events. ---- */

/* Arguments of the program are none of perf's: "make -C". */
TEST(test_switches_of_some_processors) {
    static const char *const commands[] = {"-aC 1 -- make", "-C 1 -- make", "--cpu=1 make", "-- make -C 1"};
    static const char events[] =
        "a 1/1 [001] 1.0: 1 cycles: \n\t10 f (/a)\n\n"
        "a 1/1 [001] 1.1: sched:sched_switch: prev_comm=a prev_pid=1 prev_prio=120 prev_state=S ==> "
        "next_comm=swapper/1 "
        "next_pid=0 next_prio=120\n\n"
        "swapper 0/0 [001] 1.2: sched:sched_switch: prev_comm=swapper/1 prev_pid=0 prev_prio=120 prev_state=R ==> "
        "next_comm=a next_pid=1 next_prio=120\n\n"
        "a 1/1 [001] 1.3: 1 cycles: \n\t10 f (/a)\n\n";
    for (size_t i = 0; i < sizeof commands / sizeof *commands; i++) {
        char text[1024];
        snprintf(text, sizeof text, "# cmdline : /usr/bin/perf record %s\n%s", commands[i], events);
        read_text(text);
        bool is_noted = false;
        for (size_t row = 0; row < reading.profile.ledger.entries.count; row++)
            is_noted |= text_has(ledger_at(&reading.profile.ledger, row)->cause, TEXT("on the recorded processors"));
        assert_int_equal(is_noted, i < 3);
    }
}

/* A blank line after a sample says that perf had a stack to print, even if it has no line. */
TEST(test_empty_stacks) {
    assert_samples_and_ledger(
        "a 1/1 1.0: 3 cycles: \n\n"
        "a 1/1 1.1: 4 cycles: \n\t10 f (/a)\n\n"
        "a 1/1 1.2: 1 context-switches: \n\n"
        "a 1/1 1.3: sched:sched_switch: prev=a\n\n"
        "a 1/1 1.4: 5 cycles: \n",
        "1/1 a 0 3 [unknown]\n"
        "1/1 a 100000000 4 f\n",
        "lines kept 4 blank line\n"
        "lines kept 5 event line\n"
        "lines kept 1 frame line\n"
        "samples lost 1 event line without a stack\n"
        "samples kept 2 event cycles\n"
        "periods kept 7 event cycles\n"
        "records kept 1 event context-switches without a stack\n"
        "periods kept 1 event context-switches without a stack\n"
        "records kept 1 event sched:sched_switch without a stack\n");
}

TEST(test_several_events) {
    assert_samples_and_ledger(
        "a 1/1 1.0: 5 page-faults:\n\t10 f (/a)\n\n"
        "a 1/1 1.1: 7 cycles:\n\t10 g (/a)\n\n"
        "a 1/1 1.2: sched:sched_switch: prev=a\n\t10 h (/a)\n\n"
        "a 1/1 1.3: 8 cycles:\n\t10 i (/a)\n\n"
        "a 1/1 1.4: sched:sched_switch: prev=a\n\t10 j (/a)\n\n"
        "a 1/1 1.5: sched:sched_switch: prev=a\n\t10 k (/a)\n\n"
        "a 1/1 1.6: dummy:\n",
        "1/1 a 100000000 7 g\n"
        "1/1 a 300000000 8 i\n",
        "lines kept 6 blank line\n"
        "lines kept 7 event line\n"
        "lines kept 6 frame line\n"
        "samples lost 1 event line without a stack\n"
        "samples kept 1 event page-faults\n"
        "periods kept 5 event page-faults\n"
        "samples kept 2 event cycles\n"
        "periods kept 15 event cycles\n"
        "samples kept 3 event sched:sched_switch\n");
}

/* ---- Off-CPU time. ---- */

/* Without switches that tell when threads run again, waits end when the thread is seen again, or as much earlier as its
 * samples say that it ran. */
TEST(test_ends_of_waits_are_estimated) {
    static const char trace[] =
        "a 1/1 1.000: 1000000 cpu-clock:\n\t10 f (/a)\n\n"
        "a 1/1 1.001: 1000000 cpu-clock:\n\t10 f (/a)\n\n"
        "a 1/1 1.001: sched:sched_switch: prev_comm=a prev_pid=1 prev_prio=120 prev_state=S ==> next_comm=b next_pid=2 "
        "next_prio=1\n\t20 g (/a)\n\n"
        "a 1/1 1.005: 1000000 cpu-clock:\n\t10 f (/a)\n\n";
    assert_trace(text_of(trace), (struct reader_options){0},
                 "1/1 a 0 1000000 f\n"
                 "1/1 a 1000000 1000000 f\n"
                 "1/1 a 1000000 1000000 g;(waits)\n"
                 "1/1 a 3000000 1000000 g;(waits)\n"
                 "1/1 a 3000000 500000 f\n"
                 "1/1 a 5000000 500000 f\n",
                 NULL);
    assert_trace(text_of(trace), without_waits,
                 "1/1 a 0 1000000 f\n"
                 "1/1 a 1000000 1000000 f\n"
                 "1/1 a 5000000 1000000 f\n",
                 NULL);
}

/* A thread that seems to have run for a second between two samples has waited: most switches are missing. */
TEST(test_missing_switches) {
    static const char trace[] =
        "a 1/1 1.000: 1000000 cpu-clock:\n\t10 f (/a)\n\n"
        "a 1/1 1.001: 1000000 cpu-clock:\n\t10 f (/a)\n\n"
        "a 1/1 2.000: 1 sched:sched_switch: a:1 [120] D ==> b:2 [120]\n\t20 g (/a)\n\n"
        "a 1/1 2.001: 1000000 cpu-clock:\n\t10 f (/a)\n\n";
    static const char several[] =
        "a 1/1 1.000: 1000000 cpu-clock:\n\t10 f (/a)\n\n"
        "a 1/1 1.001: 7 sched:sched_switch: a:1 [120] D ==> b:2 [120]\n\t20 g (/a)\n\n"
        "a 1/1 1.005: 1000000 cpu-clock:\n\t10 f (/a)\n\n";
    const char *const traces[] = {trace, several};
    const char *const samples[] = {
        "1/1 a 0 1000000 f\n1/1 a 1000000 1000000 f\n1/1 a 1001000000 1000000 f\n",
        "1/1 a 0 1000000 f\n1/1 a 5000000 1000000 f\n",
    };
    for (size_t i = 0; i < sizeof traces / sizeof *traces; i++) {
        read_text(traces[i]);
        assert_printed(profile_samples_text(&reading.profile), samples[i]);
        assert_int_equal(count_of(&reading.profile.ledger, LEDGER_RECORDS, LEDGER_NOTED,
                                  "time in which a thread did not run: left out, as the recording lacks others (record "
                                  "sched_switch without -F)"),
                         1);
    }
}

/* simpleperf's --trace-offcpu. */
TEST(test_periods_that_are_waits) {
    assert_trace(TEXT("a 1/1 1.000: 1000000 cpu-clock:\n\t10 f (/a)\n\n"
                      "a 1/1 1.001: 3000000 sched:sched_switch:\n\t20 g (/a)\n\n"
                      "a 1/1 1.005: 1000000 cpu-clock:\n\t10 f (/a)\n\n"),
                 (struct reader_options){0},
                 "1/1 a 0 500000 f\n"
                 "1/1 a 1000000 500000 f\n"
                 "1/1 a 1000000 1500000 g;(waits)\n"
                 "1/1 a 4000000 1500000 g;(waits)\n"
                 "1/1 a 4000000 500000 f\n"
                 "1/1 a 5000000 500000 f\n",
                 NULL);
}

/* A sample that came during a wait does not begin the work after it. */
TEST(test_sample_during_a_wait) {
    assert_trace(TEXT("a 1/1 1.000: 1000000 cpu-clock:\n\t10 f (/a)\n\n"
                      "a 1/1 1.001: 3000000 sched:sched_switch:\n\t20 g (/a)\n\n"
                      "a 1/1 1.002: 1000000 cpu-clock:\n\t30 h (/a)\n\n"
                      "a 1/1 1.006: 1000000 cpu-clock:\n\t10 f (/a)\n\n"),
                 (struct reader_options){0},
                 "1/1 a 0 500000 f\n"
                 "1/1 a 1000000 500000 f\n"
                 "1/1 a 1000000 1500000 g;(waits)\n"
                 "1/1 a 2000000 1000000 h\n"
                 "1/1 a 4000000 1500000 g;(waits)\n"
                 "1/1 a 4000000 500000 f\n"
                 "1/1 a 6000000 500000 f\n",
                 NULL);
}

TEST(test_weights) {
    const struct reader_options by_period = {.weight = GECKO_CONVERT_WEIGHT_PERIOD};
    static const struct {
        const char *event;
        enum gecko_convert_weight choice;
        enum weight_type type;
        const char *unit;
        enum cpu_delta_unit cpu_delta;
    } rows[] = {
        {"cycles:P", GECKO_CONVERT_WEIGHT_SAMPLES, WEIGHT_ONE, "", CPU_DELTA_CYCLES},
        {"cycles:P", GECKO_CONVERT_WEIGHT_PERIOD, WEIGHT_SAMPLES, "cycles", CPU_DELTA_CYCLES},
        {"cpu-clock:ppp", GECKO_CONVERT_WEIGHT_PERIOD, WEIGHT_TRACING_MS, "", CPU_DELTA_NS},
        {"instructions", GECKO_CONVERT_WEIGHT_PERIOD, WEIGHT_SAMPLES, "instructions", CPU_DELTA_NONE},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char trace[128];
        snprintf(trace, sizeof trace, "a 1/1 1.0: 5000000000 %s:\n\t10 f (/a)\n\n", rows[i].event);
        read_in_way(text_of(trace), (struct reader_options){.weight = rows[i].choice}, (struct way){0});
        const struct profile_meta *meta = &reading.profile.meta;
        assert_int_equal(meta->weight_type, rows[i].type);
        assert_true(text_equal(meta->weight_unit, text_of(rows[i].unit)));
        assert_int_equal(meta->cpu_delta_unit, rows[i].cpu_delta);
    }
    assert_trace(TEXT("a 1/1 1.0: 18446744073709551615 x:\n\t10 f (/a)\n\na 1/1 1.1: 1 x:\n\t10 f (/a)\n\n"), by_period,
                 "1/1 a 0 9223372036854775807 f\n1/1 a 100000000 1 f\n", NULL);
}

/* Reads ten samples on alternating processors, `gap_us` apart on each. Adds one that is 200 us after its predecessor
 * if has_fitting_gap. */
static void read_clock(unsigned period_us, unsigned gap_us, bool has_fitting_gap) {
    char trace[2048];
    size_t bytes = 0;
    for (unsigned i = 0; i < 10; i++)
        bytes += (size_t)snprintf(trace + bytes, sizeof trace - bytes,
                                  "a %u/%u [00%u] 1.%06u: %u000 cpu-clock:\n\t10 f (/a)\n\n", i % 3 + 1, i % 3 + 1,
                                  i % 2, i / 2 * gap_us, period_us);
    if (has_fitting_gap)
        snprintf(trace + bytes, sizeof trace - bytes, "a 1/1 [001] 1.%06u: 200000 cpu-clock:\n\t10 f (/a)\n\n",
                 4 * gap_us + 200);
    read_text(trace);
}

/* If the timer is slower than was asked for, the period is not the processor time between samples. */
TEST(test_periods_that_are_no_distances) {
    read_clock(200, 4000, false);
    assert_int_equal(reading.profile.meta.cpu_delta_unit, CPU_DELTA_NONE);
    assert_int_equal(reading.profile.meta.interval_ns, 4000000);
    /* The program mostly waits. */
    read_clock(200, 4000, true);
    assert_int_equal(reading.profile.meta.cpu_delta_unit, CPU_DELTA_NS);
    assert_int_equal(reading.profile.meta.interval_ns, 200000);
    read_clock(200, 100000, false);
    assert_int_equal(reading.profile.meta.cpu_delta_unit, CPU_DELTA_NS);
    assert_int_equal(reading.profile.meta.interval_ns, 200000);
    /* The thread waits many times in each period: gaps are no ticks of a kernel. */
    read_clock(200, 2300, false);
    assert_int_equal(reading.profile.meta.cpu_delta_unit, CPU_DELTA_NS);
    assert_int_equal(reading.profile.meta.interval_ns, 200000);
    /* Each tick is a period. The thread runs at a few of them. */
    read_clock(1003, 9000, false);
    assert_int_equal(reading.profile.meta.cpu_delta_unit, CPU_DELTA_NS);
    assert_int_equal(reading.profile.meta.interval_ns, 1003000);
}

TEST(test_the_interval) {
    read_text("a 1/1 1.0: 250000 cpu-clock:\n\t10 f (/a)\n\na 1/1 1.7: 250000 cpu-clock:\n\t10 f (/a)\n");
    assert_int_equal(reading.profile.meta.interval_ns, 250000); /* the period of the clock event */
    read_text(
        "# event : name = cycles, { sample_period, sample_freq } = 4000, freq = 1\n"
        "a 1/1 1.0: 99 cycles:\n\t10 f (/a)\n\na 1/1 1.7: 88 cycles:\n\t10 f (/a)\n");
    assert_int_equal(reading.profile.meta.interval_ns, 250000); /* from 4000 Hz */
}

/* ---- Tracepoints without stacks, and other lines between samples. ---- */

TEST(test_tracepoint_with_the_name_of_waits) {
    read_text("app 357 offcpu-time: a=b\n");
    assert_printed(profile_markers_text(&reading.profile),
                   "unknown pid/357 instant 0 Kernel offcpu-time offcpu-time{a='b'}\n");
}

TEST(test_cut_lines) {
    const char *trace = "app 7/7 2.0: cycles:\n\t10 f+0x1 (/usr/lib/x86_64-lin>\n\t20 g+0x2 (/usr/lib/x8>\n\n";
    assert_samples_and_ledger(trace, "7/7 app 0 1 g;f\n",
                              "lines kept 1 blank line\n"
                              "lines kept 1 event line\n"
                              "lines kept 2 frame line\n"
                              "values noted 2 library of a frame line that is cut off: left out\n"
                              "samples kept 1 event cycles\n");
}

TEST(test_tracepoint_markers) {
    const char *trace =
        "sshd 9/9 [0] 1.0: sched:sched_switch: prev_comm=sshd prev_state=S ==> next_comm=b\n"
        "sshd 9/9 [0] 1.5: sched:sched_wakeup: comm=a 12.5: x\n"
        "app 7/7 2.0: cycles:\n"
        "\t10 f (/a)\n"
        "\n";
    assert_samples_and_ledger(trace, "7/7 app 1000000000 1 f\n",
                              "lines kept 1 blank line\n"
                              "lines kept 3 event line\n"
                              "lines kept 1 frame line\n"
                              "values noted 2 processor number: profiles have no place for it\n"
                              "records kept 1 event sched:sched_switch without a stack\n"
                              "records kept 1 event sched:sched_wakeup without a stack\n"
                              "samples kept 1 event cycles\n");
    read_text(trace);
    const struct profile *profile = &reading.profile;
    assert_int_equal(profile->thread_order.count, 2);
    const struct thread *thread = profile_thread_at(profile, *(const thread_id *)column_at(&profile->thread_order, 0));
    assert_int_equal(thread->markers.count, 2);
    static const char *const names[] = {"sched:sched_switch", "sched:sched_wakeup"};
    static const char *const first_fields[] = {"sshd", "a 12.5: x"};
    static const int64_t times_ns[] = {0, 500000000};
    for (size_t i = 0; i < 2; i++) {
        const struct marker *marker = column_at(&thread->markers, i);
        assert_int_equal(marker->start_ns, times_ns[i]);
        assert_int_equal(marker->phase, MARKER_INSTANT);
        assert_true(text_equal(strings_text(&profile->strings, marker->name), text_of(names[i])));
        assert_true(
            text_equal(strings_text(&profile->strings, value_of(profile, marker, 0).string), text_of(first_fields[i])));
        const struct marker_schema *schema = column_at(&profile->marker_schemas, marker->schema);
        assert_true(text_equal(schema->name, text_of(names[i])));
    }
}

TEST(test_records) {
    assert_samples_and_ledger(
        "perf 7/7 1.0: PERF_RECORD_COMM: perf:7/7\n"
        "perf 7/7 1.1: PERF_RECORD_COMM exec: my:app:7/7\n"
        "my:app 7/7 1.2: PERF_RECORD_MMAP2 7/7: [0x7f0000001000(0x5000) @ 0x26000 fe:00 1 2]: r-xp /lib/libc.so.6\n"
        "my:app 7/7 1.3: PERF_RECORD_FORK(7:8):(7:7)\n"
        "my:app 7/8 1.4: x:\n"
        "\t7f0000001190 read+0x10 (/lib/libc.so.6)\n"
        "my:app 7/8 1.5: PERF_RECORD_EXIT(7:8):(7:7)\n"
        "my:app 7/7 1.6: PERF_RECORD_LOST lost 123\n"
        "my:app 7/7 1.7: PERF_RECORD_SWITCH OUT preempt\n"
        "my:app 7/7 1.7: PERF_RECORD_SWITCH IN\n"
        "my:app 7/7 1.8: PERF_RECORD_KSYMBOL addr ffffffffc0 len 5 type 1 flags 0x0 name bpf_prog_x\n"
        "my:app 7/7 1.8: PERF_RECORD_EXIT(7:8)\n",
        "7/8 my:app 0 1 read\n",
        "records lost 1 malformed EXIT record\n"
        "records kept 2 COMM record\n"
        "records kept 1 FORK record\n"
        "records kept 1 EXIT record\n"
        "records kept 1 MMAP record\n"
        "records kept 1 LOST record\n"
        "records kept 2 SWITCH record\n"
        "records kept 1 KSYMBOL record\n"
        "lines kept 1 event line\n"
        "lines kept 1 frame line\n"
        "lines kept 10 record\n"
        "samples noted 123 sample that perf itself lost while recording\n"
        "samples kept 1 event x\n");
}

/* Records of several lines end where another line comes: those whose lines are missing are malformed. */
TEST(test_records_of_several_lines) {
    static const char trace[] =
        "a 7/7 1.0: x:\n\t10 f (/a)\n\n"
        "a 7/7 0.000000: PERF_RECORD_NAMESPACES 7/7 - nr_namespaces: 7\n"
        "\t\t[0/net: 4/0x9, 1/uts: 4/0xe, 2/ipc: 4/0xf, 3/pid: 4/0xc, \n"
        "\t\t 4/user: 4/0xd, 5/mnt: 4/0x8, 6/cgroup: 4/0]\n"
        "PERF_RECORD_FINISHED_ROUND\n"
        "a 7/7 2.0: PERF_RECORD_NAMESPACES 7/7 - nr_namespaces: 2\n"
        "\t\t[0/net: 4/0xa, 1/uts: 4/0xe]\n"
        "a 7/7 3.0: PERF_RECORD_NAMESPACES 7/7 - nr_namespaces: 2\n"
        "\t\t[0/net: 4/0xb, \n"
        "a 7/7 3.1: PERF_RECORD_NAMESPACES 7/7 - nr_namespaces: 9\n"
        "a 7/7 3.2: PERF_RECORD_TEXT_POKE ffffffff8200019d  old len 1 new len 1\n"
        "            Old bytes: 0f\n"
        "            New bytes: e8\n"
        "            New: e8\n"
        "a 7/7 3.3: PERF_RECORD_NAMESPACES 7/7 - nr_namespaces: 1\n";
    for (unsigned job_count = 1; job_count <= 2; job_count++) {
        read_in_way(text_of(trace), (struct reader_options){0}, (struct way){16, job_count, false});
        assert_printed(profile_markers_text(&reading.profile),
                       "7/7 instant 1000000000 Kernel Namespaces Namespaces{namespaces='net:[10]'}\n");
        const struct ledger *ledger = &reading.profile.ledger;
        assert_int_equal(count_of(ledger, LEDGER_RECORDS, LEDGER_KEPT, "NAMESPACES record"), 2);
        assert_int_equal(count_of(ledger, LEDGER_RECORDS, LEDGER_KEPT, "FINISHED_ROUND record"), 1);
        assert_int_equal(count_of(ledger, LEDGER_RECORDS, LEDGER_LOST, "malformed NAMESPACES record"), 3);
        assert_int_equal(count_of(ledger, LEDGER_RECORDS, LEDGER_LOST, "TEXT_POKE record"), 1);
        assert_int_equal(count_of(ledger, LEDGER_LINES, LEDGER_LOST, "line that is no event, frame or record"), 1);
    }
}

TEST(test_what_records_say) {
    read_text(
        "a 7/7 1.0: PERF_RECORD_COMM exec: my:app:7/7\n"
        "my:app 7/7 1.1: x:\n"
        "\t10 f (/a)\n"
        "a 7/7 1.2: PERF_RECORD_MMAP2 7/7: [0x7f0000001000(0x5000) @ 0x26000 <00ff>]: r-xp /lib/libc.so.6\n"
        "a 7/7 1.3: PERF_RECORD_FORK(7:8):(7:7)\n"
        "b 7/8 1.4: x:\n"
        "\t7f0000001190 read+0x10 (/lib/libc.so.6)\n"
        "b 7/8 1.5: PERF_RECORD_EXIT(7:8):(7:7)\n"
        "my:app 7/7 1.6: x:\n"
        "\t10 f (/a)\n");
    const struct profile *profile = &reading.profile;
    const struct thread *main_thread =
        profile_thread_at(profile, *(const thread_id *)column_at(&profile->thread_order, 0));
    const struct thread *thread = profile_thread_at(profile, *(const thread_id *)column_at(&profile->thread_order, 1));
    assert_true(text_equal(main_thread->name, TEXT("my:app")));
    assert_int_equal(main_thread->markers.count, 0);
    assert_int_equal(thread->start_ns, 200000000);
    assert_int_equal(thread->end_ns, 400000000);
    assert_int_equal(libs_count(&profile->libs), 2);
    const struct lib *lib = libs_at(&profile->libs, (lib_id){1});
    assert_true(text_equal(lib->path, TEXT("/lib/libc.so.6")));
    assert_true(text_equal(lib->code_id, TEXT("00ff")));
    stack_id stack = samples_at(&thread->samples, 0)->stack;
    assert_int_equal(profile_frame_at(profile, profile_stack_at(profile, stack)->frame)->address, 0x26190);
}

/* Formats all threads with their processes: pid/tid, name, generation and life, each of the process and of the thread.
 */
static struct profile_text *tasks_text(const struct profile *profile) {
    struct profile_text *out = profile_text_create();
    for (uint32_t i = 0; i < profile->threads.count; i++) {
        const struct thread *thread = profile_thread_at(profile, (thread_id){i});
        const struct process *process = profile_process_at(profile, thread->process);
        const int64_t times_ns[] = {process->start_ns, process->end_ns, thread->start_ns, thread->end_ns};
        profile_text_print(out, "%u: %.*s/%" PRId64 " '%.*s' %u.%u", thread->process.index,
                           (int)process->pid_text.bytes_count, process->pid_text.bytes, thread->tid,
                           (int)thread->name.bytes_count, thread->name.bytes, process->generation, thread->generation);
        for (size_t j = 0; j < sizeof times_ns / sizeof *times_ns; j++)
            if (times_ns[j] == TIME_NONE)
                profile_text_print(out, " -");
            else
                profile_text_print(out, " %" PRId64, times_ns[j] / 1000000);
        profile_text_print(out, "\n");
    }
    return out;
}

static void assert_tasks(const char *trace, const char *tasks) {
    read_text(trace);
    assert_printed(tasks_text(&reading.profile), tasks);
}

/* A process starts with its main thread, ends with its last thread, and has no end while one of them runs. */
TEST(test_lives_of_processes) {
    assert_tasks(
        "a 7/7 1.0: x:\n\t10 f (/a)\n"
        "a 7/7 1.1: PERF_RECORD_FORK(8:8):(7:7)\n"
        "a 8/8 1.2: PERF_RECORD_FORK(8:9):(8:8)\n"
        "a 8/8 1.3: PERF_RECORD_EXIT(8:8):(7:7)\n"
        "a 8/9 1.4: PERF_RECORD_EXIT(8:9):(8:8)\n"
        "a 7/10 1.5: PERF_RECORD_EXIT(7:10):(7:7)\n",
        "0: 7/7 'a' 0.0 - - - -\n"
        "1: 8/8 'a' 0.0 100 400 100 300\n"
        "1: 8/9 'a' 0.0 100 400 200 400\n"
        "0: 7/10 'thread 10' 0.0 - - - 500\n");
}

/* A tid that ended, was forked or has another pid belongs to another task, also without samples. */
TEST(test_generations_of_tasks) {
    assert_tasks(
        "a 7/7 1.0: x:\n\t10 f (/a)\n"
        "b 8/8 1.1: PERF_RECORD_COMM: b:8/8\n"
        "b 8/8 1.2: PERF_RECORD_EXIT(8:8):(7:7)\n"
        "a 7/7 1.3: PERF_RECORD_FORK(8:8):(7:7)\n"
        "a 7/7 1.4: PERF_RECORD_FORK(8:8):(7:7)\n"
        "a 7/9 1.5: PERF_RECORD_COMM: c:7/9\n"
        "a 8/9 1.6: PERF_RECORD_COMM: d:8/9\n"
        "a 7/9 1.7: PERF_RECORD_COMM: e:7/9\n"
        "f 6/6 1.8: x:\n\t10 f (/a)\n"
        "a 7/7 1.9: PERF_RECORD_FORK(6:6):(7:7)\n",
        "0: 7/7 'a' 0.0 - - - -\n"
        "2: 8/8 'b' 0.0 - 200 - 200\n"
        "3: 8.2/8 'a' 1.1 300 - 300 -\n"
        "4: 8.3/8 'a' 2.2 400 - 400 -\n"
        "0: 7/9 'c' 0.0 - - - -\n"
        "4: 8.3/9 'd' 2.0 400 - - -\n"
        "0: 7/9 'e' 0.1 - - - -\n"
        "1: 6/6 'f' 0.0 - - - -\n"
        "5: 6.2/6 'a' 1.1 900 - 900 -\n");
}

/* Tasks whose pid is never told are threads of one process, and records do not rename the unknown one. */
TEST(test_unknown_tasks) {
    assert_tasks(
        "a -1/9 1.0: x:\n\t10 f (/a)\n"
        "b -1/10 1.1: x:\n\t10 f (/a)\n"
        "c -1/-1 1.2: x:\n\t10 f (/a)\n"
        "c -1/-1 1.3: PERF_RECORD_COMM: :-1:-1/-1\n",
        "1: unknown pid/9 'a' 0.0 - - - -\n"
        "1: unknown pid/10 'b' 0.0 - - - -\n"
        "0: -1/-1 'unknown' 0.0 - - - -\n");
}

TEST(test_renamed_threads) {
    read_text(
        "perf 7/7 1.0: PERF_RECORD_COMM: perf:7/7\n"
        "perf 7/7 1.1: PERF_RECORD_COMM: app:7/7\n"
        "app 7/7 1.2: x:\n\t10 f (/a)\n"
        "app 7/7 1.3: PERF_RECORD_COMM: app:7/7\n"
        "app 7/7 1.4: PERF_RECORD_COMM: worker:7/7\n");
    assert_printed(profile_markers_text(&reading.profile),
                   "7/7 instant 200000000 Other Renamed Renamed{from='app',to='worker'}\n");
}

static void assert_names(const char *name, const char *input, const char *product, const char *process,
                         const char *title) {
    read_text(input);
    const struct profile *profile = &reading.profile;
    const struct process *last =
        profile_process_at(profile, profile_ordered_thread(profile, profile->thread_order.count - 1)->process);
    const struct text got[] = {profile->meta.product, last->name, last->title};
    const char *const wanted[] = {product, process, title};
    for (size_t i = 0; i < sizeof got / sizeof *got; i++)
        if (!text_equal(got[i], text_of(wanted[i])))
            fail_msg("%s: \"%.*s\" is not \"%s\"", name, (int)got[i].bytes_count, got[i].bytes, wanted[i]);
}

#define SAMPLE(comm, file) comm " 7/7 1.0: x:\n\t10 f (/bin/" file ")\n\n"
#define COMMAND(command)   "# cmdline : /usr/bin/perf record -g " command "\n"

/* Without records of tasks, files show whether a new name is that of a program. */
TEST(test_programs_without_records) {
    static const struct {
        const char *name, *input, *product, *process, *title;
    } cases[] = {
        {"a script executes a program", COMMAND("./run.sh") SAMPLE("run.sh", "dash") SAMPLE("server", "server"),
         "server", "server", "server"},
        {"a script that a shell runs executes a program",
         COMMAND("./run.sh") SAMPLE("run.sh", "dash") SAMPLE("bash", "bash") SAMPLE("run2.sh", "bash")
             SAMPLE("python3", "libpython3.11.so.1.0"),
         "python3", "python3", "python3"},
        {"a launcher executes a program whose file was not sampled",
         COMMAND("./run.sh") SAMPLE("run.sh", "bash") SAMPLE("bash", "bash") SAMPLE("server", "libc.so.6"), "server",
         "server", "server"},
        {"a shim executes a program of its name",
         COMMAND("python3 x.py") SAMPLE("python3", "bash") SAMPLE("bash", "bash") SAMPLE("python3", "python3.11"),
         "python3", "python3", "python3"},
        {"a launcher executes a program in its place",
         COMMAND("nice ./app") SAMPLE("nice", "nice") SAMPLE("app", "app"), "app", "app", "app"},
        {"another one does", COMMAND("unshare -r ./app") SAMPLE("unshare", "unshare") SAMPLE("app", "app"), "app",
         "app", "app"},
        {"a launcher starts others", COMMAND("timeout 9 ./app") SAMPLE("timeout", "timeout"), "", "timeout", "timeout"},
        {"a launcher starts a program, which starts a busier one",
         COMMAND("timeout -k 9 60 ./app-with-long-name") "timeout 6/6 1.0: PERF_RECORD_COMM exec: timeout:6/6\n"
                                                         "timeout 6/6 1.0: PERF_RECORD_FORK(7:7):(6:6)\n"
                                                         "timeout 7/7 1.0: PERF_RECORD_COMM exec: app-with-long-n:7/7\n"
                                                         "app-with-long-n 7/7 1.0: PERF_RECORD_FORK(8:8):(7:7)\n"
                                                         "app-with-long-n 8/8 1.0: PERF_RECORD_COMM exec: awk:8/8\n"
                                                         "awk 8/8 1.0: x:\n\t10 f (/bin/awk)\n\n",
         "app-with-long-name", "awk", "awk"},
        {"a shell runs a script", COMMAND("sh -e ./build.sh") SAMPLE("sh", "dash"), "build.sh", "sh", "sh"},
        {"a launcher executes a shell, which runs a script",
         COMMAND("nice sh ./build.sh") "nice 7/7 1.0: PERF_RECORD_COMM exec: nice:7/7\n" SAMPLE(
             "nice", "nice") "sh 7/7 1.0: PERF_RECORD_COMM exec: sh:7/7\n" SAMPLE("sh", "dash"),
         "build.sh", "sh", "sh"},
        {"a shell executes a program in its place, as a script says",
         COMMAND("sh run.sh") "sh 7/7 1.0: PERF_RECORD_COMM exec: sh:7/7\n" SAMPLE(
             "sh", "dash") "app 7/7 1.0: PERF_RECORD_COMM exec: app:7/7\n" SAMPLE("app", "app"),
         "app", "app", "app"},
        {"a shell starts a program, as a script says",
         COMMAND("sh run.sh") "sh 6/6 1.0: PERF_RECORD_COMM exec: sh:6/6\n"
                              "sh 6/6 1.0: PERF_RECORD_FORK(7:7):(6:6)\n"
                              "app 7/7 1.0: PERF_RECORD_COMM exec: app:7/7\n" SAMPLE("app", "app"),
         "run.sh", "app", "app"},
        {"a program renames its main thread", COMMAND("./app") SAMPLE("app", "app") SAMPLE("Main", "app"), "app", "app",
         "app (Main)"},
        {"a program renames its main thread after a script executed it",
         COMMAND("./run.sh") SAMPLE("run.sh", "dash") SAMPLE("app", "app") SAMPLE("Main", "app"), "app", "app",
         "app (Main)"},
        {"nothing tells whether it is a program",
         COMMAND("./run.sh") SAMPLE("run.sh", "dash") SAMPLE("Main", "libc.so.6"), "run.sh", "Main", "Main"},
        {"of threads without pids, the busiest one that is named after a file",
         "pool(1) 9 1.0: x:\n\t10 f (/bin/server)\n\npool(1) 9 1.1: x:\n\t10 f (/bin/server)\n\n"
         "server 8 1.2: x:\n\t10 f (/bin/server)\n",
         "server", "unknown pid", ""},
        {"a record tells the program",
         COMMAND("./app") "app 7/7 1.0: PERF_RECORD_COMM exec: app:7/7\n" SAMPLE(
             "app", "app") "Main 7/7 1.0: PERF_RECORD_COMM: Main:7/7\n" SAMPLE("Main", "Main"),
         "app", "app", "app (Main)"},
        {"a child executes nothing and renames itself",
         "app 7/7 1.0: PERF_RECORD_COMM exec: app:5/5\n"
         "app 5/5 1.0: PERF_RECORD_FORK(7:7):(5:5)\n" SAMPLE("app",
                                                             "app") "Child 7/7 1.0: PERF_RECORD_COMM: Child:7/7\n",
         "", "Child", "Child"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_names(cases[i].name, cases[i].input, cases[i].product, cases[i].process, cases[i].title);
}

/* Reads a sample of one frame after mapping records. Checks which byte of which build of a file the frame is in. */
static void assert_mapped(const char *records, const char *frame, int32_t address, const char *build_id) {
    char trace[1024];
    snprintf(trace, sizeof trace, "%sa 7/7 1.0: x:\n\t%s\n", records, frame);
    read_text(trace);
    const struct profile *profile = &reading.profile;
    const struct thread *thread = profile_thread_at(profile, *(const thread_id *)column_at(&profile->thread_order, 0));
    stack_id stack = samples_at(&thread->samples, 0)->stack;
    const struct frame *got = profile_frame_at(profile, profile_stack_at(profile, stack)->frame);
    struct text code_id = lib_is_none(got->lib) ? (struct text){0} : libs_at(&profile->libs, got->lib)->code_id;
    if (got->address != address || !text_equal(code_id, text_of(build_id)))
        fail_msg("%s: address %#x, build id \"%.*s\"", trace, (unsigned)got->address, (int)code_id.bytes_count,
                 code_id.bytes ? code_id.bytes : "");
}

#define MAPPING(payload) "a 7/7 0.5: PERF_RECORD_MMAP2 " payload "\n"

TEST(test_mappings) {
    static const struct {
        const char *records, *frame;
        int32_t address;
        const char *build_id;
    } cases[] = {
        {MAPPING("7/7: [0x7f0000001000(0x1000) @ 0x2000 fe:00 12 34]: r-xp /a"), "7f0000001010 f+0x10 (/a)", 0x2010,
         ""},
        {MAPPING("7/7: [0x7f0000001000(0x1000) @ 0x2000 fe:00 12 34]: r-xp /a"), "7f0000000fff f (/a)", ADDRESS_NONE,
         ""},
        {MAPPING("7/7: [0x7f0000001000(0x1000) @ 0x2000 fe:00 12 34]: r-xp /a"), "7f0000002000 f (/a)", ADDRESS_NONE,
         ""},
        {MAPPING("7/7: [0x7f4ee2b36000(0x2000) @ 0 00:00 0 0]: r-xp [vdso]"), "7f4ee2b36010 f+0x10 ([vdso])", 0x10, ""},
        {MAPPING("-1/0: [0xffffffff81000000(0x120bb08) @ 0xffffffff81000000]: x [kernel.kallsyms]_text"),
         "ffffffff81000010 f+0x10 ([kernel.kallsyms])", 0x10, ""},
        {MAPPING("7/7: [0x7f0000001000(0x1000) @ 0 <00aa>]: r-xp /opt/my app"), "7f0000001010 f+0x10 (/opt/my app)",
         0x10, "00aa"},
        {MAPPING("7/7: [0x7f0000001000(0x1000) @ 0 <00aa>]: r-xp /lib/x.so (deleted)"),
         "7f0000001010 f+0x10 (/lib/x.so)", 0x10, "00aa"},
        {MAPPING("8/8: [0x7f0000001000(0x1000) @ 0 <00aa>]: r-xp /a"), "7f0000001010 f+0x10 (/a)", ADDRESS_NONE, ""},
        /* Of several mappings the newest one counts, of several build ids the first one. */
        {MAPPING("7/7: [0x7f0000001000(0x9000) @ 0 <00aa>]: r-xp /a")
             MAPPING("7/7: [0x7f0000002000(0x1000) @ 0x70000 <00bb>]: r-xp /a"),
         "7f0000002010 f+0x10 (/a)", 0x70010, "00aa"},
        {MAPPING("7/7: [0x7f0000001000(0x9000) @ 0 fe:00 1 2]: r-xp /a")
             MAPPING("7/7: [0x7f0000002000(0x1000) @ 0x70000 <00bb>]: r-xp /a"),
         "7f0000003010 f+0x10 (/a)", 0x2010, "00bb"},
        {MAPPING("7/7: [0(0xffffffffffffffff) @ 0xffffffffffffffff]: r //anon"), "1010 f+0x10 (/a)", 0x1010, ""},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        assert_mapped(cases[i].records, cases[i].frame, cases[i].address, cases[i].build_id);
}

TEST(test_malformed_mappings) {
    static const char *const payloads[] = {
        "",
        " 7",
        " 7/7",
        " x/7: [0x400000(0x1000) @ 0x2000]: r /a",
        " 7/: [0x400000(0x1000) @ 0x2000]: r /a",
        " 4294967296/7: [0x400000(0x1000) @ 0x2000]: r /a",
        " 18446744073709551623/7: [0x400000(0x1000) @ 0x2000]: r /a", /* 2^64 + 7 */
        " 7/7 [0x400000(0x1000) @ 0x2000]: r /a",
        " 7/7: [(0x1000) @ 0x2000]: r /a",
        " 7/7: [0x10000000000400000(0x1000) @ 0x2000]: r /a",
        " 7/7: [0x400000 0x1000 @ 0x2000]: r /a",
        " 7/7: [0x400000(0x1000) 0x2000]: r /a",
        " 7/7: [0x400000(0x1000) @ 0x2000: r /a",
        " 7/7: [0x400000(0x1000) @ 0x2000] r /a",
        " 7/7: [0x400000(0x1000) @ 0x2000]: r",
        " 7/7: [0x400000(0x1000) @ 0x2000]: ",
    };
    for (size_t i = 0; i < sizeof payloads / sizeof *payloads; i++) {
        char trace[256];
        snprintf(trace, sizeof trace, "a 7/7 0.5: PERF_RECORD_MMAP2%s\n", payloads[i]);
        read_text(trace);
        if (count_of(&reading.profile.ledger, LEDGER_RECORDS, LEDGER_LOST, "malformed MMAP2 record") != 1)
            fail_msg("\"%s\" was taken for a record", payloads[i]);
    }
}

/* The mappings of the host's process with the same pid do not apply to a guest. */
TEST(test_mappings_of_a_guest) {
    read_text(
        "VM:5 VCPU:000 a 7/7 1.0: PERF_RECORD_MMAP2 7/7: [0x7f0000001000(0x5000) @ 0 fe:00 1 2]: r-xp /a.so\n"
        "b 7/7 1.1: x:\n"
        "\t7f0000001190 f (/a.so)\n");
    const struct profile *profile = &reading.profile;
    const struct thread *thread = profile_thread_at(profile, *(const thread_id *)column_at(&profile->thread_order, 0));
    stack_id stack = samples_at(&thread->samples, 0)->stack;
    assert_int_equal(profile_frame_at(profile, profile_stack_at(profile, stack)->frame)->address, ADDRESS_NONE);
}

TEST(test_lives_of_a_pid) {
    assert_samples(
        "a 7/7 1.0: x:\n\t10 f (/a)\n\n"
        "a 7/7 1.1: PERF_RECORD_EXIT(7:7):(1:1)\n"
        "sh 1/1 1.2: PERF_RECORD_FORK(7:7):(1:1)\n"
        "b 7/7 1.3: x:\n\t10 g (/a)\n\n",
        "7/7 a 0 1 f\n"
        "7.2/7.2 b 300000000 1 g\n");
}

/* perf prints ":8" for a thread whose name it does not know. */
TEST(test_a_thread_without_a_name) {
    assert_samples(":8 7/8 1.0: x:\n\t10 f (/a)\n\n", "7/8 thread 8 0 1 f\n");
    assert_samples(":9 7/8 1.0: x:\n\t10 f (/a)\n\n", "7/8 :9 0 1 f\n");
}

/* perf makes the first record from what it finds when it starts, while the kernel already reports the same fork. */
TEST(test_a_fork_that_is_told_twice) {
    assert_samples(
        "sh 7/7 0.000000: PERF_RECORD_FORK(8:8):(7:7)\n"
        "sh 8/8 0.000000: PERF_RECORD_COMM: sh:8/8\n"
        "sh 7/7 1.0: PERF_RECORD_FORK(8:8):(7:7)\n"
        "a 8/8 1.1: PERF_RECORD_COMM exec: a:8/8\n"
        "a 8/8 1.2: x:\n\t10 f (/a)\n\n",
        "8/8 a 0 1 f\n");
}

/* If no record says when a thread began, it is not known before its first sample. */
TEST(test_threads_without_records) {
    static const char samples[] =
        "a 7/7 1.0: x:\n\t10 f (/a)\n\n"
        "b 7/8 1.2: x:\n\t10 f (/a)\n\n"
        "b 7/8 1.1: x:\n\t10 f (/a)\n\n";
    read_text(samples);
    assert_int_equal(profile_ordered_thread(&reading.profile, 0)->start_ns, 0);
    assert_int_equal(profile_ordered_thread(&reading.profile, 1)->start_ns, 100000000);
    char text[256];
    snprintf(text, sizeof text, "a 7/7 0.5: PERF_RECORD_COMM: a:7/7\n%s", samples);
    read_text(text);
    assert_int_equal(profile_ordered_thread(&reading.profile, 1)->start_ns, TIME_NONE);
}

/* The child has the first sample. */
TEST(test_parents) {
    read_text(
        "sh 8/8 0.9: PERF_RECORD_FORK(8:8):(7:7)\n"
        "cc 8/8 1.0: x:\n\t10 f (/a)\n\n"
        "make 7/7 1.1: x:\n\t10 f (/a)\n\n");
    const struct profile *profile = &reading.profile;
    assert_int_equal(profile->thread_order.count, 2);
    assert_int_equal(profile_ordered_thread(profile, 0)->tid, 7);
}

TEST(test_records_without_a_time) {
    read_text(
        "a 7/7 x:\n\t10 f (/a)\n\n"
        "a 7/7 PERF_RECORD_FORK(7:8):(7:7)\n"
        "b 7/8 x:\n\t10 f (/a)\n\n");
    const struct profile *profile = &reading.profile;
    assert_int_equal(profile->thread_order.count, 2);
    const struct thread *thread = profile_thread_at(profile, *(const thread_id *)column_at(&profile->thread_order, 1));
    assert_int_equal(thread->start_ns, 0); /* starts with the first sample, the one before it */
}

TEST(test_deferred_callchains) {
    assert_samples_and_ledger(
        "a 1/1 1.0: x:\n\tffffffff81001190 k1 ([kernel.kallsyms])\n\tb6 (cookie) ([unknown])\n\n"
        "a 1/1 1.1: x:\n\tffffffff81001190 k2 ([kernel.kallsyms])\n\tb6 (cookie) ([unknown])\n\n"
        "b 2/2 1.2: x:\n\tffffffff81001190 k3 ([kernel.kallsyms])\n\tb6 (cookie) ([unknown])\n\n"
        "a 1/1 1.3: DEFERRED CALLCHAIN [cookie: b6]\n\t10 read (/c)\n\t20 main (/a)\n\n"
        "a 1/1 1.4: x:\n\t20 main (/a)\n\n"
        "a 1/1 1.5: DEFERRED CALLCHAIN [cookie: b6]\n\t10 late (/c)\n\n"
        "a 1/1 1.6: x:\n\tb7 (cookie) ([unknown])\n\n"
        "a 1/1 1.7: DEFERRED CALLCHAIN [cookie: b7]\n\t10 only (/c)\n\n",
        "1/1 a 0 1 main;read;k1\n"
        "1/1 a 100000000 1 main;read;k2\n"
        "1/1 a 400000000 1 main\n"
        "1/1 a 600000000 1 only\n"
        "2/2 b 200000000 1 k3\n",
        "lines kept 8 blank line\n"
        "lines kept 8 event line\n"
        "lines kept 12 frame line\n"
        "samples noted 1 sample whose deferred user stack never came\n"
        "records lost 1 deferred user stack that no sample waits for\n"
        "samples kept 5 event x\n");
    /* A later cookie of the task shows that the user stack of the earlier one was lost. */
    assert_samples_and_ledger(
        "a 1/1 1.0: x:\n\tffffffff81001190 k1 ([kernel.kallsyms])\n\tb6 (cookie) ([unknown])\n\n"
        "a 1/1 1.1: x:\n\tffffffff81001190 k2 ([kernel.kallsyms])\n\tb7 (cookie) ([unknown])\n\n"
        "a 1/1 1.3: DEFERRED CALLCHAIN [cookie: b7]\n\t10 read (/c)\n\n",
        "1/1 a 0 1 k1\n"
        "1/1 a 100000000 1 read;k2\n",
        "lines kept 3 blank line\n"
        "lines kept 3 event line\n"
        "lines kept 5 frame line\n"
        "samples noted 1 sample whose deferred user stack never came\n"
        "samples kept 2 event x\n");
}

TEST(test_source_lines_and_branches) {
    assert_samples_and_ledger(
        "a 1/1 1.0: x:\n"
        "\t3477 compare (inlined)\n"
        "  basic_string.h:234\n"
        "\t3477 work+0x7 (/usr/bin/app)\n"
        "  app.cpp:9\n"
        "\t3577 main+0x7 (/usr/bin/app)\n"
        "  app[3577]\n"
        " 0x401000/0x402000/P/-/-/1/CALL/-\n"
        "\n",
        "1/1 a 0 1 main;work;compare\n",
        "lines kept 1 blank line\n"
        "lines kept 1 event line\n"
        "lines kept 3 frame line\n"
        "lines kept 3 source line of a frame\n"
        "lines lost 1 branch stack\n"
        "samples kept 1 event x\n");
}

/* ---- Rejected lines. ---- */

/* A function whose lines are in several files has the file of most of them. Another function of that name stays. */
TEST(test_functions_have_one_file) {
    read_text(
        "a 1/1 1.0: x:\n\t1005 f+0x5 (/a)\n  a.c:3\n\t2004 f+0x4 (/a)\n  b.c:9\n\n"
        "a 1/1 1.1: x:\n\t1006 f+0x6 (/a)\n  a.c:4\n\n"
        "a 1/1 1.2: x:\n\t1007 f+0x7 (/a)\n  a.inc:7\n\n"
        "a 1/1 1.3: x:\n\t1008 f+0x8 (/a)\n  ??:0\n\n");
    const struct profile *profile = &reading.profile;
    static const struct {
        const char *file;
        uint32_t line;
    } wanted[] = {{"a.c", 3}, {"a.c", 4}, {"a.c", 0}, {"a.c", 0}};
    const struct thread *thread = column_at(&profile->threads, 0);
    for (size_t i = 0; i < sizeof wanted / sizeof *wanted; i++) {
        stack_id stack = samples_at(&thread->samples, i)->stack;
        const struct frame *frame = profile_frame_at(profile, profile_stack_at(profile, stack)->frame);
        source_id source = profile_func_at(profile, frame->func)->source;
        assert_int_equal(frame->line, wanted[i].line);
        assert_true(text_equal(strings_text(&profile->strings, profile_source_at(profile, source)->filename),
                               text_of(wanted[i].file)));
        if (i) continue;
        frame = profile_frame_at(profile, profile_stack_at(profile, profile_stack_at(profile, stack)->prefix)->frame);
        assert_int_equal(frame->line, 9);
    }
}

TEST(test_lines_that_are_lost) {
    assert_samples_and_ledger(
        "\t10 stray (/a)\n"
        "garbage\n"
        "[ perf record: Captured and wrote 0.022 MB perf.data (12 samples) ]\n"
        "Warning:\n"
        " instruction trace error type 1 time 12.345 cpu 0 pid 12 tid 34 ip 0 code 8: Lost trace data\n"
        "a 1/1 1.0: x:\n"
        "\t10 f (/a)\n"
        "\tnot a frame\n"
        " instruction trace error type 1 cpu 0 pid 12 tid 34 ip 0 code 8: Lost trace data\n"
        "Warning: in a stack\n"
        "\t20 main (/a)\n"
        "\n"
        "\t10 stray (/a)\n"
        "a 1/1 1.0\n"
        "a 1/1 1.1: x:\n",
        "1/1 a 0 1 main;f\n",
        "lines kept 1 blank line\n"
        "lines kept 2 event line\n"
        "lines kept 2 frame line\n"
        "lines kept 3 message of perf\n"
        "lines lost 2 instruction trace error: samples are missing there\n"
        "lines lost 2 frame line without an event line before it\n"
        "lines lost 1 line in a stack that is no frame\n"
        "lines lost 2 line that is no event, frame or record\n"
        "samples lost 1 event line without a stack\n"
        "samples kept 1 event x\n");
}

TEST(test_the_first_place_of_a_loss) {
    read_text("a 1/1 1.0: x:\n\t10 f (/a)\n\ngarbage\n\nmore of it\n");
    const struct ledger *ledger = &reading.profile.ledger;
    bool found = false;
    for (size_t i = 0; i < ledger->entries.count; i++) {
        const struct ledger_entry *entry = ledger_at(ledger, i);
        if (entry->fate != LEDGER_LOST) continue;
        found = true;
        assert_int_equal(entry->count, 2);
        assert_true(entry->has_first);
        assert_int_equal(entry->first.line, 4);
        assert_int_equal(entry->first.offset, 26);
    }
    assert_true(found);
}

/* A loss that is only known when the sample closes has the position of the sample's event line. */
TEST(test_the_first_place_of_a_loss_of_a_sample) {
    read_text("a 1/1 1.0: x: /cgroup\n\t10 f (/a)\n\na 1/1 2.0: x:\na 1/1 3.0: x:\n\t10 f (/a)\n");
    const struct ledger *ledger = &reading.profile.ledger;
    uint64_t lines[2] = {0};
    for (size_t i = 0, count = 0; i < ledger->entries.count && count < 2; i++)
        if (ledger_at(ledger, i)->fate == LEDGER_LOST) lines[count++] = ledger_at(ledger, i)->first.line;
    assert_int_equal(lines[0], 4); /* the event line without a stack */
    assert_int_equal(lines[1], 1); /* the field after the event */
}

/* If lines have times, a line without one is not an event. A thread without a name is not another thread. */
TEST(test_lines_without_a_comm) {
    read_text(
        "22154  7782.1:    10 cpu-clock: \n\t10 f (/a)\n ilen: 2 insn: 85 c0\n\n"
        "22155  7782.2:    10 cpu-clock: \n\t10 f (/a)\n               0 N/A\n\n");
    const struct profile *profile = &reading.profile;
    assert_int_equal(profile->thread_order.count, 2);
    const struct thread *thread = profile_thread_at(profile, *(const thread_id *)column_at(&profile->thread_order, 1));
    assert_int_equal(thread->tid, 22155);
    assert_int_equal(samples_count(&thread->samples), 1);
    stack_id stack = samples_at(&thread->samples, 0)->stack;
    assert_true(stack_is_none(profile_stack_at(profile, stack)->prefix));
    assert_int_equal(
        count_of(&profile->ledger, LEDGER_LINES, LEDGER_LOST, "registers, instructions, source code or other fields"),
        2);
}

TEST(test_guests_of_unknown_pid) {
    read_text(
        "qemu 11 1.0: x: \n\t10 f (/a)\n\nVM:1 VCPU:0 init 11 1.1: x: \n\t10 f (/a)\n\n"
        "VM:2 VCPU:0 init 11 1.2: x: \n\t10 f (/a)\n\n");
    const struct profile *profile = &reading.profile;
    static const char *const pids[] = {"unknown pid", "unknown pid (VM 1)", "unknown pid (VM 2)"};
    assert_int_equal(profile->thread_order.count, 3);
    for (size_t i = 0; i < 3; i++) {
        const struct thread *thread =
            profile_thread_at(profile, *(const thread_id *)column_at(&profile->thread_order, i));
        assert_true(text_equal(profile_process_at(profile, thread->process)->pid_text, text_of(pids[i])));
    }
}

TEST(test_odd_bytes) {
    static const char trace[] = "a\0b 1/1 1.0: x:\n\t10 \xff\0g (/a)\n\n";
    read_in_way((struct text){trace, sizeof trace - 1}, (struct reader_options){0}, (struct way){0});
    const struct profile *profile = &reading.profile;
    const struct thread *thread = profile_thread_at(profile, *(const thread_id *)column_at(&profile->thread_order, 0));
    assert_int_equal(thread->name.bytes_count, 3);
    assert_memory_equal(thread->name.bytes, "a\0b", 3);
    stack_id stack = samples_at(&thread->samples, 0)->stack;
    struct text name = frame_func_name(profile, profile_stack_at(profile, stack)->frame);
    assert_int_equal(name.bytes_count, 6);
    assert_memory_equal(name.bytes, "\\xff\0g", 6);
}

TEST(test_a_line_that_is_too_long) {
    enum { LONG_BYTES = 5 * 1024 * 1024 };
    static const char start[] = "a 1/1 1.0: x:\n\t10 ", end[] = "\n\t20 main (/a)\n\n";
    char *trace = malloc(sizeof start + LONG_BYTES + sizeof end);
    assert_non_null(trace);
    memcpy(trace, start, sizeof start - 1);
    memset(trace + sizeof start - 1, 'f', LONG_BYTES);
    memcpy(trace + sizeof start - 1 + LONG_BYTES, end, sizeof end);
    read_text(trace);
    const struct profile *profile = &reading.profile;
    assert_int_equal(count_of(&profile->ledger, LEDGER_VALUES, LEDGER_LOST, "end of a line longer than 4 MiB"), 1);
    assert_int_equal(count_of(&profile->ledger, LEDGER_LINES, LEDGER_KEPT, "frame line"), 2);
    const struct thread *thread = profile_thread_at(profile, *(const thread_id *)column_at(&profile->thread_order, 0));
    stack_id stack = samples_at(&thread->samples, 0)->stack;
    assert_int_equal(frame_func_name(profile, profile_stack_at(profile, stack)->frame).bytes_count,
                     4 * 1024 * 1024 - 4);
    free(trace);
}

TEST(test_records_of_any_name) {
    if (HAS_THREAD_SANITIZER) skip(); /* only one thread reads */
    char *trace = malloc(50000 * 48);
    assert_non_null(trace);
    size_t used_bytes = 0;
    for (int i = 0; i < 50000; i++)
        used_bytes += (size_t)sprintf(trace + used_bytes, "a 1/1 1.0: PERF_RECORD_X%d oops\n", i);
    read_text(trace);
    const struct ledger *ledger = &reading.profile.ledger;
    assert_int_equal(ledger->read[LEDGER_RECORDS], 50000);
    assert_int_equal(count_of(ledger, LEDGER_RECORDS, LEDGER_LOST, "X127 record"), 1);
    assert_int_equal(count_of(ledger, LEDGER_RECORDS, LEDGER_LOST, "other record"), 50000 - 128);
    free(trace);
}

/* What is lost is told in one line. */
TEST(test_records_with_long_names) {
    char trace[1024], expected[256];
    const char line[] = "app 7/7 2.0: cycles:\n\t10 f (/x)\n\napp 7/7 2.0: PERF_RECORD_";
    snprintf(trace, sizeof trace, "%s%0*d x\n", line, 500, 0);
    snprintf(expected, sizeof expected,
             "records lost 1 %0*d record\nlines kept 1 blank line\nlines kept 1 event line\nlines kept 1 frame line\n"
             "lines kept 1 record\nsamples kept 1 event cycles\n",
             100, 0);
    assert_samples_and_ledger(trace, "7/7 app 0 1 f\n", expected);
}

/* ---- Recognition. ---- */

/* Hostile input may name a new event on every line. */
TEST(test_events_of_any_name) {
    if (HAS_THREAD_SANITIZER) skip(); /* only one thread reads */
    char *trace = malloc(5000 * 48);
    assert_non_null(trace);
    size_t used_bytes = 0;
    for (int i = 0; i < 5000; i++)
        used_bytes += (size_t)sprintf(trace + used_bytes, "a 1/1 1.0: e%d:\n\t10 f (/a)\n\n", i);
    read_text(trace);
    const struct ledger *ledger = &reading.profile.ledger;
    assert_int_equal(ledger->read[LEDGER_SAMPLES], 5000);
    assert_int_equal(ledger_sum(ledger, LEDGER_SAMPLES, LEDGER_KEPT), 5000);
    assert_int_equal(count_of(ledger, LEDGER_SAMPLES, LEDGER_KEPT, "event e400"), 1);
    assert_true(count_of(ledger, LEDGER_SAMPLES, LEDGER_KEPT, "other causes") > 0);
    free(trace);
}

/* Each of these event lines once took time quadratic in its length. */
TEST(test_long_fields) {
    if (HAS_THREAD_SANITIZER) skip(); /* only one thread reads */
    static const struct {
        const char *start, *unit, *end;
    } rows[] = {
        {"a 1/1 1.0: cycles:      401000 ", "( ", ""},
        {"a 1/1 1.0: cycles:      401000 f< ", "() ", ""},
        {"a 1/1 1.0: cycles:      401000 f", "  401000 f", ""},
        {"a 1/1 1.0: sched:sched_waking: x ", "0000000000401000\t", ")"},
    };
    enum { LINE_BYTES = 1 << 20 };
    char *line = malloc(LINE_BYTES + 64);
    assert_non_null(line);
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        char *end = stpcpy(line, rows[i].start);
        while (end < line + LINE_BYTES) end = stpcpy(end, rows[i].unit);
        strcpy(stpcpy(end, rows[i].end), "\n\n");
        read_text(line);
        assert_int_equal(reading.profile.ledger.read[LEDGER_LINES], 2);
    }
    free(line);
}

TEST(test_probe) {
    static const struct {
        const char *start;
        bool is_whole;
        enum probe_score score;
    } rows[] = {
        {"", true, PROBE_NO},
        {"java 25607 4794564.109216: cycles:\n", true, PROBE_SURE},
        {"java 25607 4794564.109216: cycles:", true, PROBE_SURE},
        {"java 25607 4794564.109216: cycles:", false, PROBE_NO}, /* the line may continue */
        {"java 25607 4794564.109216: cycles:\r\n", false, PROBE_SURE},
        {"# ========\n# captured on    : Sat Nov 21 07:35:50 2026\n", false, PROBE_SURE},
        {"# ========\r\n# captured on    : x\r\n\r\na 1/1 1.0: x:\r\n", false, PROBE_SURE},
        {"Warning:\n[ perf record: x ]\n\n  bash 14404 [007] 2.07: 250000 cycles:  7f01 leaf+0x10 (/a)\n", false,
         PROBE_SURE},
        {"swapper     0     0.000000: PERF_RECORD_MMAP -1/0: [0xffffffff81000000(0x1000) @ 0]: x k\n", false,
         PROBE_SURE},
        {"java 19983 cycles:\n\t10 f (/a)\n", false, PROBE_LIKELY},
        {"java 19983 cycles: 7f01 f (/a)\n", true, PROBE_LIKELY},
        {"java 19983 cycles:\n", true, PROBE_NO},
        {"java 19983 cycles:\nffffffff8103d0ca native_write_msr_safe ([kernel.kallsyms])\n", true, PROBE_LIKELY},
        {"java 19983 cycles:\n401195 leaf\n", true, PROBE_LIKELY},
        {"java 19983 cycles:\nadd one\n", true, PROBE_NO},
        {"sshd 9/9 sched:sched_switch: prev_comm=sshd\n", true, PROBE_LIKELY},
        {"app 7/8 PERF_RECORD_EXIT(7:8):(7:7)\n", true, PROBE_LIKELY},
        {"java 19983 cycles:\n\t10 f (/a)\n\njava 1 1.0: cycles:\n", false, PROBE_SURE},
        {"main;fib;fib 12\nmain;fib 3\n", true, PROBE_NO},
        {"java-25607/25608;main;fib 12\n", true, PROBE_NO},
        {"{\"meta\": {}}\n", true, PROBE_NO},
        {"{\"x\":\"\n a 1 1.0: cycles:\n\"}", true, PROBE_NO},
        {"The quick brown fox\njumps 3 times: over 4 dogs\n", true, PROBE_NO},
        {"The quick brown fox\njumps 3 times:\n18 dogs\n", true, PROBE_NO},
        {"On 10/12 report: good\n  all fine\n", true, PROBE_NO},
        {"  node 0 size: 97373 MB\n  node 0 free: 1756 MB\n", true, PROBE_NO},
        {"As perf prints it:\na 1 1.0: cycles:\nThat is a sample.\nIt has a time.\nIt has no stack.\n", true, PROBE_NO},
        {"a 1 1.0: cycles:\n\tmain:\n\t401136 insn: 55\n\t401137 insn: 48 89 e5\n\t40113a insn: c3\n", true,
         PROBE_SURE},
        {"a 1 1.0: 1 bpf-output: \n      BPF output: 0000: 41 42  AB\n                   0008: 43 44  CD\n"
         "                   0010: 45 46  EF\n      BPF string: \"ABCDEF\"\n",
         true, PROBE_SURE},
        {"a 1 1.0: cycles:\n\t401136 f\n  a.c:1\n|1 f();\n|2 g();\n|3 h();\n|4 i();\n|5 j();\n", true, PROBE_SURE},
        {"Failed to open /a\nFailed to open /b\n instruction trace error type 1\nBFD: /c: bad\na 1 1.0: cycles:\n",
         true, PROBE_SURE},
        {"{a 1 1.0: cycles:\n\t401136 f\n", true, PROBE_SURE},
        {"a 1 1.0: (/a )      main\n", true, PROBE_NO},
        {"a 1 1.0: cbr: 47\na 1 1.0: (/a )      main\n", true, PROBE_NO},
        {"a 1 1.0: cycles:\n\t401136 f\n\na 1 1.0: (/a )      main\n", true, PROBE_SURE},
        {"[\"\n a 1 1.0: cycles:\n\"]", true, PROBE_NO},
        {"2024-01-02 10:00:00 host sshd[12]: Accepted\n", true, PROBE_NO},
        {"# a comment\n# and another\n", true, PROBE_NO},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        enum probe_score score = reader_perf_script.probe(text_of(rows[i].start), rows[i].is_whole);
        if (score != rows[i].score) fail_msg("\"%s\": %d, not %d", rows[i].start, (int)score, (int)rows[i].score);
    }
}

/* Events of a processor's trace have a payload. An event that a user gave such a name has a stack. */
TEST(test_names_of_events_of_traces) {
    static const char user[] = "a 1/1 1.0: cycles: \n\t10 f (/a)\n\na 1/1 2.0: evt: \n\t10 f (/a)\n\n";
    static const char trace[] = "a 1/1 1.0: cycles: \n\t10 f (/a)\n\na 1/1 2.0: evt: cfe: SIPI ip: 0\n\n";
    for (size_t is_trace = 0; is_trace < 2; is_trace++) {
        read_text(is_trace ? trace : user);
        const struct thread *thread = profile_ordered_thread(&reading.profile, 0);
        assert_int_equal(samples_count(&thread->samples), 1);
        assert_int_equal(thread->markers.count, is_trace);
    }
}

/* A system call without arguments has an empty payload, before its stack or its only frame. */
TEST(test_a_payload_of_nothing) {
    static const char *const traces[] = {
        "app 7/7 1.000: 1 cpu-clock: \n\t10 f (app)\n\n"
        "app 7/7 2.000: 1 syscalls:sys_enter_getpid: \n\t10 f (app)\n\n",
        "app 7/7 1.000: 1 cpu-clock: 10 f (app)\n"
        "app 7/7 2.000: 1 syscalls:sys_enter_getpid:      7f632adcd4e7 (app)\n",
    };
    for (size_t i = 0; i < sizeof traces / sizeof *traces; i++) {
        read_text(traces[i]);
        assert_int_equal(reading.profile.thread_order.count, 1);
        const struct thread *thread = profile_ordered_thread(&reading.profile, 0);
        assert_int_equal(samples_count(&thread->samples), 1);
        assert_int_equal(thread->markers.count, 1);
    }
}

/* The idle thread of a processor that is always busy never tells that the recording is of all threads. */
TEST(test_switches_of_a_busy_processor) {
    enum { SWITCH_COUNT = 40 };
    char trace[SWITCH_COUNT * 200 + 200], *out = trace;
    out += sprintf(out,
                   "late 9/9 [000] 1.000: PERF_RECORD_COMM: late:9/9\n"
                   "late 9/9 [000] 1.000: 1000000 cpu-clock: \n\t10 f (app)\n\n");
    for (int i = 0; i < SWITCH_COUNT; i++) {
        int from = 7 + i % 2, to = 8 - i % 2;
        out += sprintf(out,
                       "t%d %d/%d [000] 1.%03d: 1 sched:sched_switch: prev_comm=t%d prev_pid=%d prev_prio=120 "
                       "prev_state=S ==> next_comm=t%d next_pid=%d next_prio=120\n\t10 f (app)\n\n",
                       from, from, from, 10 + i, from, from, to, to);
    }
    read_text(trace);
    for (size_t i = 0; i < reading.profile.threads.count; i++) {
        const struct thread *thread = profile_thread_at(&reading.profile, (thread_id){(uint32_t)i});
        int64_t sum_ns = 0;
        for (uint32_t row = 0; row < samples_count(&thread->samples); row++)
            sum_ns += profile_weight_decode(&reading.profile, samples_at(&thread->samples, row)->weight).mantissa;
        if (thread->tid == 8) assert_int_equal(sum_ns, 49000000); /* all of the recording */
    }
}

/* Two threads have ended, which run on without a tid, and the switch from one to the other is lost. */
TEST(test_switches_without_a_tid) {
    static const char trace[] =
        "a 1/1 [000] 1.000: PERF_RECORD_FORK(1:2):(1:1)\n"
        "a 1/1 [000] 1.000: PERF_RECORD_FORK(1:3):(1:1)\n"
        "a 1/1 [000] 1.001: sched:sched_switch: prev_comm=a prev_pid=1 prev_prio=120 prev_state=S ==> next_comm=b "
        "next_pid=2 next_prio=120\n\t10 f (/a)\n\n"
        "a 1/2 [000] 1.002: PERF_RECORD_EXIT(1:2):(1:1)\n"
        ":-1 -1/-1 [000] 1.003: 1000000 cpu-clock:\n\t10 f (/a)\n\n"
        "a 1/3 [000] 1.004: PERF_RECORD_EXIT(1:3):(1:1)\n"
        ":-1 -1/-1 [000] 1.005: sched:sched_switch: prev_comm=c prev_pid=3 prev_prio=120 prev_state=X ==> next_comm=a "
        "next_pid=1 next_prio=120\n\t10 f (/a)\n\n";
    static const struct expectation {
        int64_t tid;
        int64_t end_ns;
        size_t marker_count;
    } expectations[] = {{1, TIME_NONE, 1}, {2, 3000000, 0}, {3, 5000000, 1}};
    read_text(trace);
    assert_int_equal(reading.profile.threads.count, 3);
    for (uint32_t i = 0; i < 3; i++) {
        const struct thread *thread = profile_thread_at(&reading.profile, (thread_id){i});
        assert_int_equal(thread->tid, expectations[i].tid);
        assert_int_equal(thread->end_ns, expectations[i].end_ns);
        assert_int_equal(thread->markers.count, expectations[i].marker_count);
    }
}

/* A thread of which no switch tells weighs its periods, however long others ran for each of theirs. */
TEST(test_threads_that_never_wait) {
    assert_trace(TEXT("a 1/1 [1] 1.000: PERF_RECORD_COMM: a:1/1\n"
                      "swapper 0/0 [1] 1.000: 1 sched:sched_switch: swapper/1:0 [120] R ==> a:1 [120]\n\t10 k (/k)\n\n"
                      "b 2/2 [0] 1.001: 1000000 cpu-clock: \n\t10 f (/b)\n\n"
                      "a 1/1 [1] 1.0004: 1000000 cpu-clock: \n\t10 g (/a)\n\n"
                      "a 1/1 [1] 1.0005: 1 sched:sched_switch: a:1 [120] X ==> swapper/1:0 [120]\n\t10 k (/k)\n\n"
                      "b 2/2 [0] 1.002: 1000000 cpu-clock: \n\t10 f (/b)\n\n"),
                 (struct reader_options){0},
                 "1/1 a 400000 250000 g\n"
                 "1/1 a 500000 250000 g\n"
                 "2/2 b 1000000 1000000 f\n"
                 "2/2 b 2000000 1000000 f\n",
                 NULL);
}

/* Some processes may run or wait for long before their first event. Where there are events of the idle thread, or perf
 * found threads of the kernel, events are of all threads, so they were recorded later than tasks. */
TEST(test_start_of_events) {
#define BEFORE_EVENTS "a 1/1 1.000: PERF_RECORD_COMM: a:1/1\n"
#define IDLE_EVENT    "swapper 0/0 1.049: PERF_RECORD_SWITCH OUT\n"
#define FIRST_KTHREAD "swapper 0/0 0.000: PERF_RECORD_FORK(2:2):(0:0)\n"
#define FIRST_EVENTS                                    \
    "a 1/1 1.050: 1 context-switches:\n\t10 f (/a)\n\n" \
    "a 1/1 1.050: PERF_RECORD_SWITCH OUT\n"             \
    "a 1/1 1.055: PERF_RECORD_SWITCH IN\n"
    assert_trace(TEXT(BEFORE_EVENTS FIRST_EVENTS), (struct reader_options){0},
                 "1/1 a 0 50000000 f\n"
                 "1/1 a 0 2500000 f;(waits)\n"
                 "1/1 a 5000000 2500000 f;(waits)\n",
                 NULL);
    assert_trace(TEXT(BEFORE_EVENTS IDLE_EVENT FIRST_EVENTS), (struct reader_options){0},
                 "1/1 a 0 1000000 f\n"
                 "1/1 a 0 2500000 f;(waits)\n"
                 "1/1 a 5000000 2500000 f;(waits)\n",
                 NULL);
    assert_trace(TEXT(FIRST_KTHREAD BEFORE_EVENTS "b 2/2 1.049: PERF_RECORD_SWITCH OUT\n" FIRST_EVENTS),
                 (struct reader_options){0},
                 "2/2 b 0 3000000 (waits)\n"
                 "2/2 b 6000000 3000000 (waits)\n"
                 "1/1 a 1000000 1000000 f\n"
                 "1/1 a 1000000 2500000 f;(waits)\n"
                 "1/1 a 6000000 2500000 f;(waits)\n",
                 NULL);
}

/* Records and events of switches tell on which processor a thread ran of which there is no sample. */
TEST(test_processors_of_threads_without_samples) {
#define SWITCHES_OF(record_or_event_out, record_or_event_end)                               \
    "late 9/9 [000] 1.000: 1000000 cpu-clock: \n\t10 f (app)\n\n"                           \
    "app 7/7 [000] 1.001: PERF_RECORD_FORK(7:8):(7:7)\n"                                    \
    "app 7/8 [003] 1.002: " record_or_event_out "app 7/8 [005] 1.004: " record_or_event_end \
    "late 9/9 [000] 1.009: 1000000 cpu-clock: \n\t10 f (app)\n\n"
    static const char *const traces[] = {
        SWITCHES_OF("PERF_RECORD_SWITCH OUT\napp 7/8 [005] 1.003: PERF_RECORD_SWITCH IN\n", "PERF_RECORD_SWITCH OUT\n"),
        SWITCHES_OF(
            "1 sched:sched_switch: app:8 [120] S ==> swapper/3:0 [120]\n\t10 f (app)\n\n"
            "swapper 0/0 [005] 1.003: 1 sched:sched_switch: swapper/5:0 [120] R ==> app:8 [120]\n\t10 f (k)\n\n",
            "1 sched:sched_switch: app:8 [120] X ==> swapper/5:0 [120]\n\t10 f (app)\n\n")};
    for (size_t i = 0; i < sizeof traces / sizeof *traces; i++) {
        read_in_way(text_of(traces[i]), (struct reader_options){.keeps_processors = true}, (struct way){0});
        char got[256] = "";
        for (size_t j = 0; j < reading.profile.thread_order.count; j++) {
            const struct thread *thread = profile_ordered_thread(&reading.profile, j);
            for (uint32_t row = 0; thread->tid == 8 && row < samples_count(&thread->samples); row++) {
                int64_t processor = samples_processor(&thread->samples, row);
                sprintf(got + strlen(got), "%d ", processor < 0 ? -1 : (int)processor);
            }
        }
        assert_string_equal(got, i ? "3 -1 -1 5 " : "3 -1 -1 5 -1 -1 ");
    }
}

/* A guest tells on which of the machine's processors it was, which does not mean that it ran there until the machine's
 * last switch. */
TEST(test_switches_of_a_guest) {
    static const char trace[] =
        "swapper 0/0 [0] 1.0000: 1 sched:sched_switch: swapper:0 [120] R ==> a:7 [120]\n\t10 f (/a)\n\n"
        "a 7/7 [0] 1.0000: PERF_RECORD_COMM: a:7/7\n"
        "a 7/7 [0] 1.0015: 1000000 cpu-clock:\n\t10 f (/a)\n\n"
        "a 7/7 [0] 1.0016: 1 sched:sched_switch: a:7 [120] S ==> swapper:0 [120]\n\t10 f (/a)\n\n"
        "VM: 5000 VCPU:000 g 9/9 [0] 1.0020: 1 sched:sched_switch: g:9 [120] S ==> swapper:0 [120]\n\t20 g (/a)\n\n"
        "VM: 5000 VCPU:000 g 9/9 [0] 1.0025: 1000000 cpu-clock:\n\t20 g (/a)\n\n";
    assert_trace(text_of(trace), (struct reader_options){0},
                 "7/7 a 1500000 800000 f\n"
                 "7/7 a 1600000 800000 f\n"
                 "7/7 a 1600000 900000 f;(waits)\n"
                 "9 (VM 5000)/9 g 2000000 500000 g;(waits)\n"
                 "9 (VM 5000)/9 g 2500000 2000000 g\n",
                 NULL);
}

/* Two events that tell of one switch are no lost switch. */
TEST(test_switches_that_are_told_twice) {
    assert_trace(TEXT("swapper 0/0 [0] 1.000000: 1 sched:sched_switch: swapper:0 [120] R ==> a:7 [120]\n\t10 f (/a)\n\n"
                      "swapper 0/0 [0] 1.000001: 1 sched:sched_switch: swapper:0 [120] R ==> a:7 [120]\n\t10 f (/a)\n\n"
                      "a 7/7 [0] 1.001000: 1000000 cpu-clock:\n\t10 f (/a)\n\n"
                      "a 7/7 [0] 1.002000: 1 sched:sched_switch: a:7 [120] S ==> b:8 [120]\n\t10 f (/a)\n\n"
                      "a 7/7 [0] 1.002001: 1 sched:sched_switch: a:7 [120] S ==> b:8 [120]\n\t10 f (/a)\n\n"
                      "b 8/8 [0] 1.003000: 1000000 cpu-clock:\n\t10 f (/a)\n\n"
                      "b 8/8 [0] 1.004000: 1 sched:sched_switch: b:8 [120] S ==> a:7 [120]\n\t10 f (/a)\n\n"
                      "b 8/8 [0] 1.004001: 1 sched:sched_switch: b:8 [120] S ==> a:7 [120]\n\t10 f (/a)\n\n"
                      "a 7/7 [0] 1.005000: 1000000 cpu-clock:\n\t10 f (/a)\n\n"),
                 (struct reader_options){0},
                 "7/7 a 1000000 500000 f\n"
                 "7/7 a 2000000 500000 f\n"
                 "7/7 a 2000000 1000000 f;(waits)\n"
                 "7/7 a 4000000 1000000 f;(waits)\n"
                 "7/7 a 4000000 500000 f\n"
                 "7/7 a 5000000 500000 f\n"
                 "8/8 b 3000000 500000 f\n"
                 "8/8 b 4000000 500000 f\n"
                 "8/8 b 4000000 500000 f;(waits)\n"
                 "8/8 b 5000000 500000 f;(waits)\n",
                 NULL);
}

/* A thread that ran when it was last seen may have ended then, unless records of tasks tell that it has not. */
TEST(test_threads_without_ends) {
#define TASK "b 1/2 1.000: PERF_RECORD_COMM: b:1/2\n"
#define RUNS                                           \
    "a 1/1 1.000: 1000000 cpu-clock:\n\t10 f (/a)\n\n" \
    "b 1/2 1.001: PERF_RECORD_SWITCH IN\n"             \
    "b 1/2 1.002: PERF_RECORD_SWITCH OUT\n"            \
    "b 1/2 1.003: PERF_RECORD_SWITCH IN\n"             \
    "b 1/2 1.004: 1000000 cpu-clock:\n\t10 f (/a)\n\n" \
    "a 1/1 1.010: 1000000 cpu-clock:\n\t10 f (/a)\n\n"
    assert_trace(TEXT(RUNS), (struct reader_options){0},
                 "1/1 a 0 1000000 f\n"
                 "1/1 a 10000000 1000000 f\n"
                 "1/2 b 2000000 500000 (waits)\n"
                 "1/2 b 3000000 500000 (waits)\n"
                 "1/2 b 3000000 500000 f\n"
                 "1/2 b 4000000 500000 f\n",
                 NULL);
    assert_trace(TEXT(TASK RUNS), (struct reader_options){0},
                 "1/1 a 0 1000000 f\n"
                 "1/1 a 10000000 1000000 f\n"
                 "1/2 b 0 500000 (waits)\n"
                 "1/2 b 1000000 500000 (waits)\n"
                 "1/2 b 2000000 500000 (waits)\n"
                 "1/2 b 3000000 500000 (waits)\n"
                 "1/2 b 3000000 4000000 f\n"
                 "1/2 b 4000000 2000000 f\n"
                 "1/2 b 10000000 2000000 f\n",
                 NULL);
}

int main(void) { return unit_tests_run(NULL, end_reading); }
