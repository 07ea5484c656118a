/* Tests the reader of collapsed stacks: what each line becomes, and which inputs the reader accepts. */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "readers/collapsed/collapsed_line.h"
#include "readers/input/scan.h"
#include "readers/reader.h"
#include "tests/support/assert_text.h"
#include "tests/support/unit_test.h"

enum { OUT_BYTES = 16 * 1024 };

/* The content of a profile as text. */
struct out {
    char bytes[OUT_BYTES];
    size_t count;
};

__attribute__((format(printf, 2, 3))) static void put(struct out *out, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    int count = vsnprintf(out->bytes + out->count, OUT_BYTES - out->count, format, arguments);
    va_end(arguments);
    assert_true(count >= 0 && (size_t)count < OUT_BYTES - out->count);
    out->count += (size_t)count;
}

static void put_text(struct out *out, struct text text) { put(out, "%.*s", (int)text.bytes_count, text.bytes); }

static void put_decimal(struct out *out, struct decimal value) {
    put(out, "%" PRId64, value.mantissa);
    if (value.scale) put(out, "e-%" PRIu32, value.scale);
    if (value.exponent) put(out, "e%" PRIu32, value.exponent);
}

/* Writes "main/User;run/JIT+1": names with the category, and the inline depth if it is not 0. */
static void put_stack(struct out *out, const struct profile *profile, stack_id id) {
    if (stack_is_none(id)) {
        put(out, "(none)");
        return;
    }
    const struct stack *stack = profile_stack_at(profile, id);
    if (!stack_is_none(stack->prefix)) {
        put_stack(out, profile, stack->prefix);
        put(out, ";");
    }
    const struct frame *frame = profile_frame_at(profile, stack->frame);
    assert_int_equal(frame->address, ADDRESS_NONE);
    assert_true(lib_is_none(frame->lib) && native_symbol_is_none(frame->native_symbol));
    put_text(out, strings_text(&profile->strings, profile_func_at(profile, frame->func)->name));
    put(out, "/");
    put_text(out, categories_at(&profile->categories, frame->category)->name);
    if (frame->inline_depth) put(out, "+%d", frame->inline_depth);
}

/* Writes "name pid tid.generation" and a line for each sample: its time in intervals, its weight and its stack. */
static void put_threads(struct out *out, const struct profile *profile) {
    for (size_t i = 0; i < profile->threads.count; i++) {
        const struct thread *thread = column_at(&profile->threads, i);
        const struct process *process = profile_process_at(profile, thread->process);
        put_text(out, thread->name);
        if (process->pid == PID_UNKNOWN)
            put(out, " ? ");
        else
            put(out, " %" PRId64 " ", process->pid);
        put(out, "%" PRId64 ".%" PRIu32 "\n", thread->tid, thread->generation);
        for (size_t j = 0; j < samples_count(&thread->samples); j++) {
            int64_t time_ns = samples_at(&thread->samples, j)->time_ns;
            assert_int_equal(time_ns % 1000000, 0);
            put(out, "%" PRId64 ": ", time_ns / 1000000);
            put_decimal(out, profile_weight_decode(profile, samples_at(&thread->samples, j)->weight));
            put(out, " ");
            put_stack(out, profile, samples_at(&thread->samples, j)->stack);
            put(out, "\n");
        }
    }
}

static void put_ledger(struct out *out, const struct ledger *ledger) {
    assert_true(ledger_is_balanced(ledger));
    for (size_t i = 0; i < ledger->entries.count; i++) {
        const struct ledger_entry *entry = ledger_at(ledger, i);
        put(out, "%s %s %" PRIu64 " at %" PRIu64 ": ", gecko_convert_unit_name(entry->unit),
            gecko_convert_fate_name(entry->fate), entry->count, entry->first.line);
        put_text(out, entry->cause);
        put(out, "\n");
    }
}

/* The profile of some lines. */
struct reading {
    struct failure failure;
    struct profile profile;
    struct out out;
};

static void read_bytes(struct reading *reading, struct text bytes, enum gecko_convert_root root, size_t window_bytes) {
    *reading = (struct reading){0};
    profile_init(&reading->profile, &reading->failure);
    struct input *input = input_from_memory(bytes, window_bytes, &reading->failure);
    assert_non_null(input);
    struct reader_options options = {.root = root};
    reader_collapsed.run(input, &reading->profile, &options);
    input_close(input);
}

static void forget(struct reading *reading) { profile_fini(&reading->profile); }

/* The threads must be the same wherever the input's windows end. */
static void expect_threads(const char *lines, enum gecko_convert_root root, const char *expected) {
    static const size_t windows[] = {0, 1, 7, 64};
    for (size_t i = 0; i < sizeof windows / sizeof *windows; i++) {
        static struct reading reading;
        read_bytes(&reading, text_of(lines), root, windows[i]);
        assert_int_equal(reading.failure.code, FAILURE_NONE);
        put_threads(&reading.out, &reading.profile);
        assert_string_equal(reading.out.bytes, expected);
        forget(&reading);
    }
}

static void expect_ledger(const char *lines, enum gecko_convert_root root, const char *expected) {
    static struct reading reading;
    read_bytes(&reading, text_of(lines), root, 0);
    assert_int_equal(reading.failure.code, FAILURE_NONE);
    put_ledger(&reading.out, &reading.profile.ledger);
    assert_string_equal(reading.out.bytes, expected);
    forget(&reading);
}

/* ---- Lines. ---- */

TEST(test_line_verdicts) {
    static const struct {
        const char *text;
        bool is_difference;
        enum collapsed_verdict verdict;
    } cases[] = {
        {"a;b 1", false, COLLAPSED_STACK},
        {"a 1", false, COLLAPSED_STACK},
        {"a\t1", false, COLLAPSED_STACK},
        {"a;b 1 \t", false, COLLAPSED_STACK},
        {"a;b -1", false, COLLAPSED_STACK},
        {"a;b +1", false, COLLAPSED_STACK},
        {"a;b 1.", false, COLLAPSED_STACK},
        {"a;b .5", false, COLLAPSED_STACK},
        {"#a;b 1", false, COLLAPSED_STACK},
        {"a;b 999999999999999999", false, COLLAPSED_STACK},
        {"a;b 1000000000000000000", false, COLLAPSED_STACK},
        {"a;b 1e5", false, COLLAPSED_STACK},
        {"a;b -1.5E+05", false, COLLAPSED_STACK},
        {"", false, COLLAPSED_BLANK},
        {" \t ", false, COLLAPSED_BLANK},
        {"#", false, COLLAPSED_COMMENT},
        {"# interval: 100", false, COLLAPSED_COMMENT},
        {"#!collapsed", false, COLLAPSED_COMMENT},
        {"a;b", false, COLLAPSED_NO_COUNT},
        {"a;b 1e", false, COLLAPSED_NO_COUNT},
        {"a;b 1e+-5", false, COLLAPSED_NO_COUNT},
        {"a;b e5", false, COLLAPSED_NO_COUNT},
        {"a;b 1,000", false, COLLAPSED_GROUPED},
        {"a;b 0x10", false, COLLAPSED_NO_COUNT},
        {"a;b nan", false, COLLAPSED_NO_COUNT},
        {"a;b -", false, COLLAPSED_NO_COUNT},
        {"a;b .", false, COLLAPSED_NO_COUNT},
        {"a;b 1.2.3", false, COLLAPSED_GROUPED},
        {"a;b -12'345", false, COLLAPSED_GROUPED},
        {"a;b 1\xe2\x80\xaf"
         "000",
         false, COLLAPSED_GROUPED},
        {"a;b 2\xe6\xac\xa1", false, COLLAPSED_NO_COUNT},
        {"a;b 5,", false, COLLAPSED_NO_COUNT},
        {"a;b 1,x", false, COLLAPSED_NO_COUNT},
        {"a;b 1-2", false, COLLAPSED_NO_COUNT},
        {"a;12", false, COLLAPSED_NO_COUNT},
        {"12", false, COLLAPSED_NO_STACK},
        {" 12", false, COLLAPSED_NO_STACK},
        {";; 12", false, COLLAPSED_NO_STACK},
        {"a;b 1e36", false, COLLAPSED_OUT_OF_RANGE},
        {"a;b 1e99999999999", false, COLLAPSED_OUT_OF_RANGE},
        {"a;b 1 2", true, COLLAPSED_STACK},
        {"a;b\t1\t2", true, COLLAPSED_STACK},
        {"a;b 2", true, COLLAPSED_ONE_COUNT},
        {"a;b x 2", true, COLLAPSED_ONE_COUNT},
        {"a;b 2 x", true, COLLAPSED_NO_COUNT},
        {"1 2", true, COLLAPSED_NO_STACK},
        {"2", true, COLLAPSED_NO_STACK},
        {"a;b 1 1e20", true, COLLAPSED_OUT_OF_RANGE},
        {"a;b 1000000000000000000 0", true, COLLAPSED_STACK},
        {"a;b 1e35 1", true, COLLAPSED_OUT_OF_RANGE},
        {"a;b 0.000000000000000001 999999999999999999", true, COLLAPSED_OUT_OF_RANGE},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct collapsed_line line;
        enum collapsed_verdict verdict = collapsed_line_parse(text_of(cases[i].text), cases[i].is_difference, &line);
        if (verdict != cases[i].verdict) print_error("line \"%s\"\n", cases[i].text);
        assert_int_equal(verdict, cases[i].verdict);
    }
}

TEST(test_line_keeps_numbers_in_names) {
    struct collapsed_line line;
    assert_int_equal(collapsed_line_parse(TEXT("a;state 3  \t 12"), false, &line), COLLAPSED_STACK);
    assert_true(text_equal(line.stack, TEXT("a;state 3")));
    assert_int_equal(line.weight.mantissa, 12);
    assert_int_equal(collapsed_line_parse(TEXT("a;state 3 12 5.5"), true, &line), COLLAPSED_STACK);
    assert_true(text_equal(line.stack, TEXT("a;state 3")));
    assert_int_equal(line.weight.mantissa, -65);
    assert_int_equal(line.weight.scale, 1);
}

/* ---- Samples. ---- */

TEST(test_one_sample_a_line) {
    expect_threads(
        "main;parse;read 12\n"
        "main;parse;read\t7\r\n"
        "main;parse \t 30\n"
        "\n"
        "main;parse;reading 1\n"
        "main 3\n"
        "main;parse;read 4294967296",
        GECKO_CONVERT_ROOT_FRAME,
        "all stacks 0 0.0\n"
        "0: 12 main/User;parse/User;read/User\n"
        "1: 7 main/User;parse/User;read/User\n"
        "2: 30 main/User;parse/User\n"
        "3: 1 main/User;parse/User;reading/User\n"
        "4: 3 main/User\n"
        "5: 4294967296 main/User;parse/User;read/User\n");
}

/* Threads and functions of other programs may have names like those of austin 1. */
TEST(test_names_like_those_of_austin) {
    expect_threads("Thread 140737353922368;main(int);L1;L2 10\nThread 140737353922368;(root);L1 20\n",
                   GECKO_CONVERT_ROOT_AUTO,
                   "all stacks 0 0.0\n"
                   "0: 10 Thread 140737353922368/User;main(int)/User;L1/User;L2/User\n"
                   "1: 20 Thread 140737353922368/User;(root)/User;L1/User\n");
    expect_threads("Thread pool;state 3 12 15\nThread pool;b 5 3\n", GECKO_CONVERT_ROOT_FRAME,
                   "all stacks 0 0.0\n"
                   "0: 3 Thread pool/User;state 3/User\n"
                   "1: -2 Thread pool/User;b/User\n"
                   "before and after 0 0.1\n");
}

TEST(test_stacks_and_frames_are_unique) {
    static struct reading reading;
    read_bytes(&reading, TEXT("a;b;a 1\na;b 1\nx 1\na;b;a 1\na;b_[k] 1\n"), GECKO_CONVERT_ROOT_FRAME, 0);
    assert_int_equal(reading.failure.code, FAILURE_NONE);
    assert_int_equal(row_table_count(&reading.profile.funcs), 3);
    assert_int_equal(row_table_count(&reading.profile.frames), 4);
    assert_int_equal(stack_table_count(&reading.profile.stacks), 5);
    forget(&reading);
}

/* ---- Annotations. ---- */

TEST(test_inlined_frames_have_depths) {
    expect_threads("a_[j];b_[i];c_[i];d_[k];e_[i];c 1\na_[j];b_[i];c_[i] 2\nx_[i];y_[i] 3\nx;JS:*f /a.js:1_[i] 4\n",
                   GECKO_CONVERT_ROOT_FRAME,
                   "all stacks 0 0.0\n"
                   "0: 1 a/JIT;b/JIT+1;c/JIT+2;d/Kernel;e/Kernel+1;c/User\n"
                   "1: 2 a/JIT;b/JIT+1;c/JIT+2\n"
                   "2: 3 x/User;y/User+1\n"
                   "3: 4 x/User;f/JIT+1\n");
    expect_ledger("x;y_[i] 1\nx_[i] 2\nx_[i];y_[i] 3\n", GECKO_CONVERT_ROOT_FRAME,
                  "lines kept 3 at 1: stack with its count\n"
                  "samples kept 3 at 1: stack with its count\n"
                  "samples noted 2 at 2: frame marked as inlined without a caller\n");
}

TEST(test_inline_depth_has_an_end) {
    enum { FRAME_COUNT = INLINE_DEPTH_MAX + 2 };
    static char line[FRAME_COUNT * 6 + 16];
    size_t at = 0;
    for (int i = 0; i < FRAME_COUNT; i++)
        at += (size_t)snprintf(line + at, sizeof line - at, "%sf_[i]", i ? ";" : "r;");
    snprintf(line + at, sizeof line - at, " 1\n");
    static struct reading reading;
    read_bytes(&reading, text_of(line), GECKO_CONVERT_ROOT_FRAME, 0);
    assert_int_equal(reading.failure.code, FAILURE_NONE);
    uint8_t expected = 0;
    assert_int_equal(stack_table_count(&reading.profile.stacks), FRAME_COUNT + 1);
    for (uint32_t i = 0; i <= FRAME_COUNT; i++, expected++) {
        const struct stack *stack = profile_stack_at(&reading.profile, (stack_id){i});
        assert_int_equal(profile_frame_at(&reading.profile, stack->frame)->inline_depth, expected);
    }
    put_ledger(&reading.out, &reading.profile.ledger);
    assert_non_null(strstr(reading.out.bytes, "samples noted 1 at 1: more than 255 frames inlined into each other\n"));
    forget(&reading);
}

/* ---- Names. ---- */

TEST(test_long_and_deep_stacks) {
    enum { FRAME_COUNT = 200000 };
    size_t bytes_count = FRAME_COUNT * 2 + 1;
    char *line = malloc(bytes_count);
    assert_non_null(line);
    for (size_t i = 0; i < FRAME_COUNT; i++) memcpy(line + 2 * i, i % 2 ? "a;" : "b;", 2);
    memcpy(line + bytes_count - 2, " 1", 2);
    static struct reading reading;
    read_bytes(&reading, (struct text){line, bytes_count}, GECKO_CONVERT_ROOT_FRAME, 4096);
    assert_int_equal(reading.failure.code, FAILURE_NONE);
    assert_int_equal(stack_table_count(&reading.profile.stacks), FRAME_COUNT);
    assert_int_equal(row_table_count(&reading.profile.frames), 2);
    forget(&reading);
    free(line);
}

TEST(test_cut_line_is_lost) {
    size_t bytes_count = SCAN_LINE_BYTES_MAX + 100;
    char *lines = malloc(bytes_count + 8);
    assert_non_null(lines);
    /* The line happens to end in a number where it is cut. */
    memset(lines, '7', bytes_count);
    memcpy(lines, "a;b ", 4);
    memcpy(lines + SCAN_LINE_BYTES_MAX - 4, "c 12", 4);
    memcpy(lines + bytes_count, "\na;b 3\n", 7);
    static struct reading reading;
    read_bytes(&reading, (struct text){lines, bytes_count + 7}, GECKO_CONVERT_ROOT_FRAME, 0);
    assert_int_equal(reading.failure.code, FAILURE_NONE);
    put_threads(&reading.out, &reading.profile);
    put_ledger(&reading.out, &reading.profile.ledger);
    assert_string_equal(reading.out.bytes,
                        "all stacks 0 0.0\n"
                        "0: 3 a/User;b/User\n"
                        "lines kept 1 at 2: stack with its count\n"
                        "samples kept 1 at 2: stack with its count\n"
                        "lines lost 1 at 1: line longer than 4 MiB\n");
    forget(&reading);
    free(lines);
}

/* ---- Differences. ---- */

TEST(test_difference_with_sums_that_do_not_fit) {
    static struct reading reading;
    read_bytes(&reading, TEXT("a 999999999999999999 1\nb 0.00000000000001 1\n"), GECKO_CONVERT_ROOT_FRAME, 0);
    assert_int_equal(reading.failure.code, FAILURE_NONE);
    const struct extra_entry *entry = column_at(&reading.profile.meta.extra, 0);
    assert_true(text_equal(entry->value, TEXT("too large")));
    forget(&reading);
}

TEST(test_long_first_line_decides_too) {
    size_t bytes_count = PROBE_BYTES * 3;
    char *line = malloc(bytes_count);
    assert_non_null(line);
    memset(line, 'a', bytes_count);
    memcpy(line + bytes_count - 5, " 3 5\n", 5);
    static struct reading reading;
    read_bytes(&reading, (struct text){line, bytes_count}, GECKO_CONVERT_ROOT_FRAME, 1024);
    assert_int_equal(reading.failure.code, FAILURE_NONE);
    assert_int_equal(samples_at(&profile_thread_at(&reading.profile, (thread_id){0})->samples, 0)->weight, 2);
    forget(&reading);
    free(line);
}

/* ---- Threads. ---- */

TEST(test_threads_have_an_end) {
    enum { THREAD_COUNT = 65536 + 3, LINE_BYTES = 16 };
    char *lines = malloc(THREAD_COUNT * LINE_BYTES);
    assert_non_null(lines);
    size_t count = 0;
    for (int i = 0; i < THREAD_COUNT; i++) count += (size_t)snprintf(lines + count, LINE_BYTES, "t%d;x 1\n", i);
    static struct reading reading;
    read_bytes(&reading, (struct text){lines, count}, GECKO_CONVERT_ROOT_THREAD, 0);
    assert_int_equal(reading.failure.code, FAILURE_NONE);
    assert_int_equal(reading.profile.threads.count, 65536 + 1);
    const struct thread *others = profile_thread_at(&reading.profile, (thread_id){65536});
    assert_true(text_equal(others->name, TEXT("other threads")));
    assert_int_equal(samples_count(&others->samples), 3);
    put_stack(&reading.out, &reading.profile, samples_at(&others->samples, 2)->stack);
    assert_string_equal(reading.out.bytes, "t65538/User;x/User");
    forget(&reading);
    free(lines);
}

/* ---- Losses and failures. ---- */

static void expect_failure(const char *lines, bool has_position, uint64_t line, const char *message_part) {
    static struct reading reading;
    read_bytes(&reading, text_of(lines), GECKO_CONVERT_ROOT_FRAME, 0);
    assert_int_equal(reading.failure.code, FAILURE_INPUT);
    assert_int_equal(reading.failure.has_position, has_position);
    assert_int_equal(reading.failure.position.line, line);
    assert_non_null(strstr(reading.failure.message, message_part));
    forget(&reading);
}

TEST(test_input_without_stacks_fails) {
    expect_failure("", false, 0, "empty");
    expect_failure("\n# nothing here\n", false, 0, "only comments");
    expect_failure("\n12\nmain;run\n", true, 2, "count without a stack");
    expect_failure("main;run\n\n12\n", true, 1, "line without a decimal count at its end");
}

/* ---- Probing. ---- */

TEST(test_probe) {
    static const struct {
        const char *start;
        enum probe_score score;
    } cases[] = {
        {"", PROBE_NO},
        {"\n\n", PROBE_NO},
        {"# only a comment 12\n", PROBE_NO},
        {"a;b;c 12\na;b 3\n", PROBE_SURE},
        {"a;b;c 12 14\na;b 3 0\n", PROBE_SURE},
        {"# interval: 100\n\na;b;c -1.5\na;b\t3\nmain 5\n", PROBE_SURE},
        {"a;operator new(unsigned long) 12\r\na;state 3 1\r\n", PROBE_SURE},
        {"a;b;c 12", PROBE_LIKELY},
        {"a;b 12\na;c 1\na;d 1\nbroken\n", PROBE_LIKELY},
        {"a;b 12\nbroken\nbroken\nbroken\n", PROBE_MAYBE},
        {"a;b 12\nbroken\nbroken\nbroken\nbroken\n", PROBE_NO},
        {"main 12", PROBE_IF_NAMED},
        {"main 12\nidle 3\n", PROBE_IF_NAMED},
        {"main 12 3\n", PROBE_IF_NAMED},
        {"nr_free_pages 12345\nnr_zone_inactive_anon 18\n", PROBE_IF_NAMED},
        {"app::run 12\nmain 3\nwork_[j] 2\n", PROBE_MAYBE},
        {"work+0x1c 12\n[unknown] 3\n", PROBE_MAYBE},
        {"[ 0] cat;entry_SYSCALL_64;ksys_read 4\n[ 0] cat 8\n[ 1] dd;ksys_read 2\n", PROBE_MAYBE},
        {"1 0\n2 1\n3 7\n", PROBE_NO},
        {"0.5 1\n10:00 7\n", PROBE_NO},
        {"0x401136 12\n7z 3\n", PROBE_MAYBE},
        {"    main\n    run\n        12\n\n", PROBE_LIKELY},
        {"let run () =\n    try f () with\n    | _ ->\n      0\n  in\n", PROBE_NO},
        {"see page 12", PROBE_NO},
        {"It rained; we left at 12\nThe end of it came at 5\n", PROBE_NO},
        {"name, 12\nother, 5\n", PROBE_NO},
        {"name: 12\n", PROBE_NO},
        {"a;b;c\n1;2;3\n4;5;6\n", PROBE_NO},
        {"1,2,3\n4,5,6\n", PROBE_NO},
        {"{\n  \"meta\": {\n    \"version\": 12\n  }\n}\n", PROBE_NO},
        {"{\"a\":[1,2,3]}", PROBE_NO},
        {"app 11527 [003] 538.237401:   1003009 cycles:P: \n"
         "\t    7f0d1c2e2a10 _dl_start_user+0x0 (/usr/lib/ld-linux-x86-64.so.2)\n"
         "\t    7f0d1c2e2a10 Lcom/acme/Loop;::turn (/tmp/perf-11527.map)\n"
         "\n"
         "app 11527 538.237401: sched:sched_switch: prev_pid=1 prev_state=S ==> next_comm=swapper/3 next_prio=120\n",
         PROBE_NO},
        {"#include <stdio.h>\nint main(void) {\n    int a = 5;\n    return a;\n}\n", PROBE_NO},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        enum probe_score score = reader_collapsed.probe(text_of(cases[i].start), true);
        if (score != cases[i].score) print_error("start \"%s\"\n", cases[i].start);
        assert_int_equal(score, cases[i].score);
    }
    assert_int_equal(reader_collapsed.probe(TEXT("a;b 12\0a;b 13\n"), true), PROBE_NO);
}

TEST(test_probe_of_a_cut_start) {
    /* The last line may be cut at any position. */
    assert_int_equal(reader_collapsed.probe(TEXT("a;b 12\na;b 3\na;b;c"), false), PROBE_SURE);
    assert_int_equal(reader_collapsed.probe(TEXT("a;b 12\na;b 3\na;b;c"), true), PROBE_MAYBE);
    assert_int_equal(reader_collapsed.probe(TEXT("main;run;run;run"), false), PROBE_MAYBE);
    assert_int_equal(reader_collapsed.probe(TEXT("{\"a\":\"x;y"), false), PROBE_NO);
    assert_int_equal(reader_collapsed.probe(TEXT("main"), false), PROBE_NO);
}

int main(void) { return unit_tests_run(NULL, NULL); }
