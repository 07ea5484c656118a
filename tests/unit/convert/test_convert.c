/* Tests the library's API with files: options in, files and results out. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "libconvert/report.h"
#include "tests/support/converted_trace.h"
#include "tests/support/sanitizers.h"
#include "tests/support/trace_builder.h"
#include "tests/support/unit_test.h"

static const struct text folded = TEXT("main;a;b 3\nmain;c 2\nmain;a;b 1\n");
static const struct text folded_with_loss = TEXT("main;a 3\nno count here\nmain;b 2\n\nnone either\n");
static const struct text perf_text = TEXT(
    "app 10/10 1.000000000: 250000 cycles:P: \n\t1190 fib+0x12 (/usr/bin/app)\n\t1200 main+0x20 (/usr/bin/app)\n\n"
    "worker 10/11 1.001000000: 250000 cycles:P: \n\t1190 fib+0x12 (/usr/bin/app)\n\n"
    "app 10/10 1.002000000: 500000 cycles:P: \n\t1200 main+0x20 (/usr/bin/app)\n\n");

static int begin(void **state) {
    static struct conversion conversion;
    *state = &conversion;
    return conversion_init(&conversion) ? 0 : -1;
}

static int end(void **state) {
    conversion_fini(*state);
    return 0;
}

/* Asserts that the conversion failed with that message and wrote no output. "^" stands for the input's name. */
static void assert_failed(struct conversion *conversion, enum gecko_convert_status status, const char *message_format) {
    char message[2 * PATH_MAX];
    snprintf(message, sizeof message, "%s%s", strchr(message_format, '^') ? conversion->input : "",
             message_format + (*message_format == '^'));
    assert_string_equal(conversion->result.message, message);
    assert_int_equal(conversion->result.status, status);
    assert_int_equal(conversion->result.output_bytes, 0);
    assert_null(file_read(conversion->output, NULL));
}

TEST(test_a_good_conversion, begin, end) {
    struct conversion *conversion = *state;
    assert_int_equal(convert_trace(conversion, folded), GECKO_CONVERT_GOOD);
    const struct gecko_convert_result *result = &conversion->result;
    assert_string_equal(result->message, "");
    assert_string_equal(result->input_format, "collapsed");
    assert_string_equal(result->input_title, "collapsed stacks");
    assert_string_equal(result->wrapping, "");
    assert_int_equal(result->input_bytes, folded.bytes_count);
    assert_string_equal(result->output_format, "processed");
    assert_string_equal(result->output_title, "processed v70");
    assert_false(result->has_error_place);
    size_t output_bytes = 0;
    char *output = file_read(conversion->output, &output_bytes);
    assert_non_null(output);
    assert_int_equal(result->output_bytes, output_bytes);
    assert_non_null(strstr(output, "\"product\":\"collapsed stacks\""));
    assert_null(strstr(output, "trace"));
    free(output);
    assert_int_equal(temp_folder_count(&conversion->folder), 2);
}

TEST(test_counts, begin, end) {
    struct conversion *conversion = *state;
    convert_trace(conversion, perf_text);
    const struct gecko_convert_counts *counts = &conversion->result.counts;
    assert_int_equal(counts->processes, 1);
    assert_int_equal(counts->threads, 2);
    assert_int_equal(counts->samples, 3);
    assert_int_equal(counts->markers, 0);
    /* A return address to main and an address that runs in main are different frames. */
    assert_int_equal(counts->stacks, 4);
    assert_int_equal(counts->funcs, 2);
    assert_int_equal(counts->libs, 1);
    assert_int_equal(conversion->result.sums[GECKO_CONVERT_SAMPLES].read, 3);
    assert_int_equal(conversion->result.sums[GECKO_CONVERT_SAMPLES].kept, 3);
    assert_int_equal(conversion->result.sums[GECKO_CONVERT_LINES].read, 10);
    assert_true(conversion->result.is_balanced);
}

static const struct gecko_convert_entry *first_loss(const struct gecko_convert_result *result) {
    for (size_t i = 0; i < result->entry_count; i++)
        if (result->entries[i].fate == GECKO_CONVERT_FATE_LOST) return &result->entries[i];
    return NULL;
}

TEST(test_losses_are_told, begin, end) {
    struct conversion *conversion = *state;
    assert_int_equal(convert_trace(conversion, folded_with_loss), GECKO_CONVERT_GOOD);
    const struct gecko_convert_entry *loss = first_loss(&conversion->result);
    assert_non_null(loss);
    assert_int_equal(loss->unit, GECKO_CONVERT_LINES);
    assert_string_equal(loss->cause, "line without a decimal count at its end");
    assert_int_equal(loss->count, 2);
    assert_true(loss->has_first);
    assert_int_equal(loss->first_line, 2);
    assert_int_equal(loss->first_offset, 9);
    assert_int_equal(conversion->result.sums[GECKO_CONVERT_LINES].lost, 2);
}

TEST(test_strict, begin, end) {
    struct conversion *conversion = *state;
    conversion->options.is_strict = true;
    assert_int_equal(convert_trace(conversion, folded), GECKO_CONVERT_GOOD);
    unlink(conversion->output);
    assert_int_equal(convert_trace(conversion, folded_with_loss), GECKO_CONVERT_LOST);
    assert_failed(conversion, GECKO_CONVERT_LOST,
                  "2 lines would be lost (line without a decimal count at its end): nothing was written, since the "
                  "conversion is strict");
    assert_true(conversion->result.has_error_place);
    assert_int_equal(conversion->result.error_line, 2);
    assert_int_equal(conversion->result.error_offset, 9);
    assert_non_null(first_loss(&conversion->result));
    assert_int_equal(conversion->result.counts.samples, 2);
}

/* The Gecko format has no weights. If reading loses nothing, emitting still may. */
TEST(test_strict_counts_what_the_format_cannot_carry, begin, end) {
    struct conversion *conversion = *state;
    conversion->options.is_strict = true;
    conversion->options.weight = GECKO_CONVERT_WEIGHT_PERIOD;
    assert_int_equal(convert_trace(conversion, perf_text), GECKO_CONVERT_GOOD);
    unlink(conversion->output);
    conversion->options.format = "gecko";
    assert_int_equal(convert_trace(conversion, perf_text), GECKO_CONVERT_LOST);
    assert_null(file_read(conversion->output, NULL));
    assert_true(conversion->result.sums[GECKO_CONVERT_VALUES].lost > 0);
}

TEST(test_a_failure_leaves_the_old_output, begin, end) {
    struct conversion *conversion = *state;
    assert_true(file_write(conversion->output, TEXT("old")));
    conversion->options.is_strict = true;
    convert_trace(conversion, folded_with_loss);
    char *output = file_read(conversion->output, NULL);
    assert_string_equal(output, "old");
    free(output);
    assert_int_equal(temp_folder_count(&conversion->folder), 2);
}

/* The output of so many functions is large enough for several threads to compress. */
enum { MANY_COUNT = 25000 };

/* Returns a trace of many functions, whose output is written while it is made. The caller frees the bytes. */
static struct text large_trace(unsigned function_count, const char *end) {
    enum { LINE_BYTES_MAX = 32 };
    char *bytes = malloc((size_t)function_count * LINE_BYTES_MAX);
    assert_non_null(bytes);
    size_t used = 0;
    for (unsigned i = 0; i < function_count; i++) used += (size_t)sprintf(bytes + used, "main;function%u 1\n", i);
    used += (size_t)sprintf(bytes + used, "%s", end);
    return (struct text){bytes, used};
}

TEST(test_a_large_output, begin, end) {
    if (HAS_THREAD_SANITIZER) skip(); /* only one thread converts */
    struct conversion *conversion = *state;
    struct text trace = large_trace(100000, "");
    assert_int_equal(convert_trace(conversion, trace), GECKO_CONVERT_GOOD);
    size_t file_bytes;
    char *file = file_read(conversion->output, &file_bytes);
    assert_true(file_bytes > 6 * 1024 * 1024);
    assert_int_equal(conversion->result.output_bytes, file_bytes);
    conversion->options.output_path = NULL;
    conversion->options.keeps_output = true;
    assert_int_equal(convert_trace(conversion, trace), GECKO_CONVERT_GOOD);
    assert_int_equal(conversion->result.output_bytes, file_bytes);
    assert_memory_equal(conversion->result.output_data, file, file_bytes);
    free(file);
    free((char *)trace.bytes);
}

static void compress_output(struct conversion *conversion, unsigned job_count) {
    snprintf(conversion->output, sizeof conversion->output, "%s", temp_folder_file(&conversion->folder, "out.json.gz"));
    conversion->options.job_count = job_count;
}

TEST(test_threads_compress_a_large_output, begin, end) {
    struct conversion *conversion = *state;
    struct text trace = large_trace(MANY_COUNT, "");
    compress_output(conversion, 1);
    assert_int_equal(convert_trace(conversion, trace), GECKO_CONVERT_GOOD);
    size_t expected_bytes, file_bytes;
    char *expected = file_read(conversion->output, &expected_bytes);
    compress_output(conversion, 3);
    assert_int_equal(convert_trace(conversion, trace), GECKO_CONVERT_GOOD);
    assert_int_equal(conversion->result.output_bytes, expected_bytes);
    char *file = file_read(conversion->output, &file_bytes);
    assert_int_equal(file_bytes, expected_bytes);
    assert_memory_equal(file, expected, expected_bytes);
    free(file);
    free(expected);
    free((char *)trace.bytes);
}

TEST(test_a_failure_leaves_nothing_of_a_large_output, begin, end) {
    struct conversion *conversion = *state;
    struct text trace = large_trace(MANY_COUNT, "no count here\n");
    conversion->options.is_strict = true;
    /* The last conversion has most threads. */
    for (unsigned i = HAS_THREAD_SANITIZER ? 2 : 0; i < 3; i++) {
        if (i > 0) compress_output(conversion, 1 + i);
        assert_int_equal(convert_trace(conversion, trace), GECKO_CONVERT_LOST);
        assert_int_equal(conversion->result.output_bytes, 0);
        assert_int_equal(temp_folder_count(&conversion->folder), 1);
    }
    free((char *)trace.bytes);
}

TEST(test_bad_inputs, begin, end) {
    struct conversion *conversion = *state;
    convert_trace(conversion, TEXT(""));
    assert_failed(conversion, GECKO_CONVERT_BAD_INPUT, "^: is empty; there is nothing to convert");
    assert_string_equal(conversion->result.input_format, "");
    convert_trace(conversion, TEXT("{\"traceEvents\":[]}"));
    assert_failed(conversion, GECKO_CONVERT_BAD_INPUT,
                  "^: this is a Chrome trace (trace events in JSON): it needs no conversion: open it at "
                  "https://profiler.firefox.com");
    conversion->options.from = "recorder";
    convert_trace(conversion, folded);
    assert_failed(
        conversion, GECKO_CONVERT_BAD_INPUT,
        "this is not a trace of the recorder, which begins with other bytes; without --from it is read as what "
        "it looks like");
    conversion->options.from = "perf-script";
    convert_trace(conversion, folded);
    assert_failed(conversion, GECKO_CONVERT_BAD_INPUT,
                  "^, read as perf script text, holds no samples and no markers: 3 lines and 0 samples read; lost: 3 "
                  "lines (line that is no event, frame or record)");
    conversion->options.from = "collapsed";
    convert_trace(conversion, TEXT("# only\n\n"));
    assert_failed(conversion, GECKO_CONVERT_BAD_INPUT,
                  "^: there are no collapsed stacks in the input: it is empty or holds only comments");
}

/* A service may report its queues and nothing else. */
TEST(test_counters_alone, begin, end) {
    struct conversion *conversion = *state;
    struct trace_builder trace;
    trace_builder_init(&trace);
    trace_definitions_chunk(&trace);
    uint64_t queue = define_counter(&trace, "queue", 0);
    trace_events_chunk(&trace, 0, 0);
    add_process(&trace, 10, BUILD_START_NS, "service");
    add_thread(&trace, 0, 1, 10, 0, "service");
    add_count(&trace, BUILD_COUNT, 100, queue, 5);
    trace_seal(&trace, 200, 100);
    assert_int_equal(convert_trace(conversion, trace_text(&trace)), GECKO_CONVERT_GOOD);
    trace_builder_fini(&trace);
    assert_int_equal(conversion->result.counts.threads, 1);
    char *output = file_read(conversion->output, NULL);
    assert_non_null(strstr(output, "{\"name\":\"queue\",\"category\":\"Queues\""));
    assert_non_null(strstr(output, "\"pid\":\"10\",\"mainThreadIndex\":0,"));
    free(output);
}

/* Puts samples of a thread that each stand for so many milliseconds, with a stack of `depth` labels. */
static void add_stacks(struct trace_builder *trace, unsigned count, unsigned flags, uint64_t ms, unsigned depth) {
    for (unsigned i = 0; i < count; i++) {
        put_lebs(trace, 5000000, 7, BUILD_HAS_CPU | flags, ms * 1000000, 0, depth);
        for (unsigned j = 0; j < depth; j++) {
            put_byte(trace, BUILD_FRAME_LABEL);
            put_leb(trace, trace->next_id - 1);
        }
        trace_block(trace, BUILD_THREAD_SAMPLE);
    }
}

/* A recording has so many cut stacks of 5 ms, and whole ones of 1 ms. Others do not count. */
static void assert_advice(struct conversion *conversion, unsigned cut_count, unsigned whole_count, const char *line) {
    static const unsigned DEPTH_MAX = 256;
    struct trace_builder trace;
    trace_builder_init(&trace);
    trace_definitions_chunk(&trace);
    define_label(&trace, "work", 0, "", 0);
    trace_events_chunk(&trace, 0, 0);
    add_process(&trace, 10, BUILD_START_NS, "app");
    put_lebs(&trace, 7, 10, 0);
    put_zigzag(&trace, 0);
    put_text(&trace, "main");
    put_leb(&trace, 1000000);
    trace_block(&trace, BUILD_SAMPLED_THREAD);
    add_stacks(&trace, cut_count, BUILD_IS_TRUNCATED, 5, 3);
    add_stacks(&trace, whole_count, 0, 1, 3);
    add_stacks(&trace, 1, BUILD_IS_TRUNCATED, 1, DEPTH_MAX);
    add_stacks(&trace, 90, BUILD_IS_TRUNCATED, 0, 3);
    add_stacks(&trace, 9, BUILD_IS_UNREACHED, 1, 0);
    trace_seal(&trace, 2000000000, 1000000000);
    assert_int_equal(convert_trace(conversion, trace_text(&trace)), GECKO_CONVERT_GOOD);
    trace_builder_fini(&trace);
    struct report_text text = {.bytes_count = 0};
    report_append_advice(&conversion->result, &text);
    assert_int_equal(text.bytes_count, strlen(line));
    assert_memory_equal(text.bytes, line, text.bytes_count);
}

TEST(test_cut_stacks_of_a_recording, begin, end) {
    struct conversion *conversion = *state;
    assert_advice(conversion, 3, 4,
                  "75 % of the stacks end early: have generated code, and what else lacks .eh_frame, keep frame "
                  "pointers (java -XX:+PreserveFramePointer)\n");
    assert_advice(conversion, 3, 3, "");  /* 19 stacks in all */
    assert_advice(conversion, 1, 44, ""); /* one in ten */
    static const struct gecko_convert_filter filter = {.kind = GECKO_CONVERT_FILTER_PID, .value = "10"};
    conversion->options.filters = &filter;
    conversion->options.filter_count = 1;
    assert_advice(conversion, 3, 4, "");
}

TEST(test_bad_options, begin, end) {
    struct conversion *conversion = *state;
    conversion->options.from = "xml";
    convert_trace(conversion, folded);
    assert_failed(conversion, GECKO_CONVERT_BAD_USAGE, "no input format is named 'xml'");
    conversion->options.from = NULL;
    conversion->options.format = "xml";
    convert_trace(conversion, folded);
    assert_failed(conversion, GECKO_CONVERT_BAD_USAGE, "no output format is named 'xml'");
    conversion->options.format = NULL;
    conversion->options.weight = (enum gecko_convert_weight)7;
    convert_trace(conversion, folded);
    assert_failed(conversion, GECKO_CONVERT_BAD_USAGE, "weight or root has an unknown value");
    conversion->options.weight = GECKO_CONVERT_WEIGHT_SAMPLES;
    conversion->options.weight_unit = (enum gecko_convert_weight_unit)6;
    convert_trace(conversion, folded);
    assert_failed(conversion, GECKO_CONVERT_BAD_USAGE,
                  "weight_unit has an unknown value, or sample_interval_ns is negative");
    conversion->options.weight_unit = GECKO_CONVERT_UNIT_AUTO;
    conversion->options.sample_interval_ns = -1;
    convert_trace(conversion, folded);
    assert_failed(conversion, GECKO_CONVERT_BAD_USAGE,
                  "weight_unit has an unknown value, or sample_interval_ns is negative");
    conversion->options.sample_interval_ns = 0;
    conversion->options.symbols = (enum gecko_convert_symbols)3;
    convert_trace(conversion, folded);
    assert_failed(conversion, GECKO_CONVERT_BAD_USAGE, "symbols has an unknown value");
    conversion->options.symbols = GECKO_CONVERT_SYMBOLS_AUTO;
    conversion->options.output_path = "";
    convert_trace(conversion, folded);
    assert_failed(conversion, GECKO_CONVERT_BAD_USAGE,
                  "exactly one output must be given: output_path, write or keeps_output");
    conversion->options.output_path = conversion->output;
    conversion->options.keeps_output = true;
    convert_trace(conversion, folded);
    assert_failed(conversion, GECKO_CONVERT_BAD_USAGE,
                  "exactly one output must be given: output_path, write or keeps_output");
    conversion->options.input_data = folded.bytes;
    convert_trace(conversion, folded);
    conversion->options = (struct gecko_convert_options){.struct_bytes = sizeof conversion->options};
    convert_trace(conversion, folded);
    assert_failed(conversion, GECKO_CONVERT_BAD_USAGE,
                  "exactly one input must be given: input_path, input_data or read");
}

/* The input must be protected whatever path leads to it. */
TEST(test_the_input_is_not_overwritten, begin, end) {
    struct conversion *conversion = *state;
    assert_int_equal(symlink(conversion->input, conversion->output), 0);
    convert_trace(conversion, folded);
    char message[2 * PATH_MAX];
    snprintf(message, sizeof message, "%s is both the input and the output: name another output", conversion->input);
    assert_string_equal(conversion->result.message, message);
    assert_int_equal(conversion->result.status, GECKO_CONVERT_BAD_USAGE);
    char *input = file_read(conversion->input, NULL);
    assert_string_equal(input, folded.bytes);
    free(input);
}

static bool output_has(struct conversion *conversion, struct text trace, const char *part) {
    assert_int_equal(convert_trace(conversion, trace), GECKO_CONVERT_GOOD);
    char *output = file_read(conversion->output, NULL);
    bool has = strstr(output, part) != NULL;
    free(output);
    return has;
}

TEST(test_product, begin, end) {
    struct conversion *conversion = *state;
    assert_true(output_has(conversion, perf_text, "\"product\":\"app\""));
    assert_true(output_has(conversion,
                           TEXT("one 1/1 1.0: cycles: \n\t1 f (/a)\n\ntwo 2/2 1.1: cycles: \n\t1 f (/a)\n\n"
                                "two 2/3 1.2: cycles: \n\t1 f (/a)\n\n"),
                           "\"product\":\"two\""));
    /* A thread that waits has samples, but no processor time. */
    assert_true(output_has(conversion,
                           TEXT("one 1/1 [000] 1.000: 1000000 cpu-clock: \n\t1 f (/a)\n\n"
                                "one 1/1 [000] 1.001: sched:sched_switch: prev_comm=one prev_pid=1 prev_prio=120 "
                                "prev_state=S ==> next_comm=two next_pid=2 next_prio=120\n\t1 f (/a)\n\n"
                                "two 2/2 [000] 1.002: 1000000 cpu-clock: \n\t1 f (/a)\n\n"
                                "two 2/2 [000] 1.003: 1000000 cpu-clock: \n\t1 f (/a)\n\n"
                                "two 2/2 [000] 1.004: sched:sched_switch: prev_comm=two prev_pid=2 prev_prio=120 "
                                "prev_state=R ==> next_comm=one next_pid=1 next_prio=120\n\t1 f (/a)\n\n"
                                "one 1/1 [000] 1.0041: sched:sched_switch: prev_comm=one prev_pid=1 prev_prio=120 "
                                "prev_state=S ==> next_comm=two next_pid=2 next_prio=120\n\t1 f (/a)\n\n"
                                "two 2/2 [000] 1.005: sched:sched_switch: prev_comm=two prev_pid=2 prev_prio=120 "
                                "prev_state=R ==> next_comm=one next_pid=1 next_prio=120\n\t1 f (/a)\n\n"
                                "one 1/1 [000] 1.0051: 1000000 cpu-clock: \n\t1 f (/a)\n\n"),
                           "\"product\":\"two\""));
    /* Launchers start the program, or execute it in their place. */
    assert_true(output_has(conversion,
                           TEXT("# cmdline : perf record timeout 9 two\none 1/1 1.0: cycles: \n\t1 f (/a)\n\n"
                                "two 2/2 1.1: cycles: \n\t1 f (/a)\n\ntwo 2/3 1.2: cycles: \n\t1 f (/a)\n\n"),
                           "\"product\":\"two\""));
    assert_true(output_has(conversion,
                           TEXT("# cmdline : perf record ./a-shim-with-long-name\n"
                                "perf-exec 1/1 0.1: PERF_RECORD_COMM exec: a-shim-with-lon:1/1\n"
                                "a-shim-with-lon 1/1 0.2: PERF_RECORD_COMM exec: two:1/1\n"
                                "two 1/1 1.0: cycles: \n\t1 f (/a)\n\n"),
                           "\"product\":\"two\""));
    assert_true(output_has(conversion,
                           TEXT("# cmdline : perf record ./a-program-that-renames\n"
                                "perf-exec 1/1 0.1: PERF_RECORD_COMM exec: a-program-that-:1/1\n"
                                "a-program-that- 1/1 0.2: PERF_RECORD_COMM: MainThread:1/1\n"
                                "MainThread 1/1 1.0: cycles: \n\t1 f (/a)\n\n"),
                           "\"product\":\"a-program-that-renames\""));
    conversion->options.product = "My \"App\"";
    assert_true(output_has(conversion, perf_text, "\"product\":\"My \\\"App\\\"\""));
    assert_true(output_has(conversion, folded, "\"product\":\"My \\\"App\\\"\""));
}

struct steps {
    unsigned count;
    unsigned last;
    bool is_ascending;
};

static bool take_step(void *context, const struct gecko_convert_progress *progress) {
    struct steps *steps = context;
    if (steps->count && progress->permille <= steps->last) steps->is_ascending = false;
    steps->count++;
    steps->last = progress->permille;
    return true;
}

TEST(test_progress_ascends_to_the_end, begin, end) {
    struct conversion *conversion = *state;
    struct steps steps = {.is_ascending = true};
    conversion->options.progress = take_step;
    conversion->options.progress_context = &steps;
    convert_trace(conversion, perf_text);
    assert_true(steps.count >= 2);
    assert_true(steps.is_ascending);
    assert_int_equal(steps.last, 1000);
    steps = (struct steps){.is_ascending = true};
    convert_trace(conversion, TEXT(""));
    assert_true(steps.last < 1000);
}

TEST(test_a_result_can_be_finished_twice, begin, end) {
    struct conversion *conversion = *state;
    convert_trace(conversion, folded);
    gecko_convert_result_fini(&conversion->result);
    gecko_convert_result_fini(&conversion->result);
    assert_int_equal(conversion->result.entry_count, 0);
    struct gecko_convert_result zeroed = {0};
    gecko_convert_result_fini(&zeroed);
}

enum { THREAD_COUNT = 4, THREAD_CONVERSIONS = 8 };

struct converter {
    struct gecko_convert_options options;
    char output[PATH_MAX];
    bool is_good;
};

static void *convert_again(void *context) {
    struct converter *converter = context;
    converter->is_good = true;
    for (int i = 0; i < THREAD_CONVERSIONS; i++) {
        struct gecko_convert_result result = {.struct_bytes = sizeof result};
        if (gecko_convert(&converter->options, &result) != GECKO_CONVERT_GOOD) converter->is_good = false;
        gecko_convert_result_fini(&result);
    }
    return NULL;
}

TEST(test_threads_convert_side_by_side, begin, end) {
    struct conversion *conversion = *state;
    assert_int_equal(convert_trace(conversion, perf_text), GECKO_CONVERT_GOOD);
    char *expected = file_read(conversion->output, NULL);
    static struct converter converters[THREAD_COUNT];
    pthread_t threads[THREAD_COUNT];
    for (unsigned i = 0; i < THREAD_COUNT; i++) {
        char name[] = {'0' + (char)i, '\0'};
        snprintf(converters[i].output, PATH_MAX, "%s", temp_folder_file(&conversion->folder, name));
        converters[i].options = conversion->options;
        converters[i].options.output_path = converters[i].output;
        assert_int_equal(pthread_create(&threads[i], NULL, convert_again, &converters[i]), 0);
    }
    for (unsigned i = 0; i < THREAD_COUNT; i++) {
        pthread_join(threads[i], NULL);
        assert_true(converters[i].is_good);
        char *output = file_read(converters[i].output, NULL);
        assert_string_equal(output, expected);
        free(output);
    }
    free(expected);
}

int main(void) { return unit_tests_run(NULL, NULL); }
