/* Tests that inputs of one profile are read side by side: the same output, result and errors for any number of
 * threads. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/converted_trace.h"
#include "tests/support/sanitizers.h"
#include "tests/support/unit_test.h"

enum { INPUT_COUNT = 6, MORE_COUNT = INPUT_COUNT - 1 };

static const unsigned job_counts[] = {1, 2, 3, 16};
/* Three threads share what sixteen share. The thread sanitizer makes conversions slow. */
enum { JOB_COUNT_COUNT = HAS_THREAD_SANITIZER ? 3 : sizeof job_counts / sizeof *job_counts };

static struct temp_folder more_folder;
static char more_files[MORE_COUNT][PATH_MAX];
static const char *more_paths[MORE_COUNT];

static int begin(void **state) {
    static struct conversion conversion;
    *state = &conversion;
    if (!conversion_init(&conversion) || !temp_folder_init(&more_folder)) return -1;
    for (size_t i = 0; i < MORE_COUNT; i++) {
        char name[16];
        snprintf(name, sizeof name, "more%zu", i + 1);
        snprintf(more_files[i], sizeof more_files[i], "%s", temp_folder_file(&more_folder, name));
        more_paths[i] = more_files[i];
    }
    conversion.options.more_input_paths = more_paths;
    conversion.options.more_input_count = MORE_COUNT;
    conversion.options.symbols = GECKO_CONVERT_SYMBOLS_NONE;
    return 0;
}

static int end(void **state) {
    conversion_fini(*state);
    temp_folder_fini(&more_folder);
    return 0;
}

/* Returns stacks that the other inputs do not have. The later the input, the less there is to read. The caller frees
 * the bytes. */
static struct text stacks_of_input(size_t number) {
    enum { LINE_BYTES_MAX = 64, LINE_COUNT = HAS_THREAD_SANITIZER ? 100 : 1000 };
    size_t line_count = LINE_COUNT * (INPUT_COUNT - number), used = 0;
    char *bytes = malloc(line_count * LINE_BYTES_MAX);
    assert_non_null(bytes);
    for (size_t i = 0; i < line_count; i++)
        used += (size_t)snprintf(bytes + used, LINE_BYTES_MAX, "input%zu;function%zu;leaf %zu\n", number, i % 1000, i);
    return (struct text){bytes, used};
}

static const char *path_of(const struct conversion *conversion, size_t number) {
    return number ? more_paths[number - 1] : conversion->input;
}

static void write_inputs(const struct conversion *conversion) {
    for (size_t i = 0; i < INPUT_COUNT; i++) {
        struct text stacks = stacks_of_input(i);
        assert_true(file_write(path_of(conversion, i), stacks));
        free((char *)(uintptr_t)stacks.bytes);
    }
}

static void convert(struct conversion *conversion, unsigned job_count) {
    conversion->options.job_count = job_count;
    gecko_convert_result_fini(&conversion->result);
    gecko_convert(&conversion->options, &conversion->result);
}

TEST(test_any_number_of_threads_writes_the_same, begin, end) {
    struct conversion *conversion = *state;
    write_inputs(conversion);
    char *expected = NULL;
    for (size_t i = 0; i < JOB_COUNT_COUNT; i++) {
        convert(conversion, job_counts[i]);
        assert_int_equal(conversion->result.status, GECKO_CONVERT_GOOD);
        assert_true(conversion->result.is_balanced);
        char *output = file_read(conversion->output, NULL);
        assert_non_null(output);
        if (expected) assert_string_equal(output, expected);
        free(expected);
        expected = output;
    }
    free(expected);
}

TEST(test_inputs_are_described_in_their_order, begin, end) {
    struct conversion *conversion = *state;
    write_inputs(conversion);
    for (size_t i = 0; i < JOB_COUNT_COUNT; i++) {
        convert(conversion, job_counts[i]);
        assert_int_equal(conversion->result.input_count, INPUT_COUNT);
        for (size_t j = 0; j < INPUT_COUNT; j++) {
            struct text stacks = stacks_of_input(j);
            const struct gecko_convert_input *input = &conversion->result.inputs[j];
            assert_string_equal(input->name, path_of(conversion, j));
            assert_string_equal(input->format, "collapsed");
            assert_int_equal(input->bytes, stacks.bytes_count);
            free((char *)(uintptr_t)stacks.bytes);
        }
    }
}

/* The inputs after the first that fails may or may not have been read, and the report does not depend on it. */
TEST(test_the_first_failing_input_is_reported, begin, end) {
    struct conversion *conversion = *state;
    for (size_t i = 0; i < JOB_COUNT_COUNT; i++) {
        for (size_t failing = 0; failing < INPUT_COUNT; failing++) {
            write_inputs(conversion);
            for (size_t j = failing; j < INPUT_COUNT; j += 2) unlink(path_of(conversion, j));
            convert(conversion, job_counts[i]);
            char message[PATH_MAX + 64];
            snprintf(message, sizeof message, "%s: cannot be opened: No such file or directory",
                     path_of(conversion, failing));
            assert_int_equal(conversion->result.status, GECKO_CONVERT_IO_FAILED);
            assert_string_equal(conversion->result.message, message);
            assert_null(file_read(conversion->output, NULL));
        }
    }
}

/* What the progress function was told. */
struct telling {
    pthread_t caller;
    unsigned permille;
    unsigned call_count;
    unsigned cancels_at; /* the call that returns false, counted from 0 */
};

/* A gecko_convert_progress_callback. */
static bool take_progress(void *context, const struct gecko_convert_progress *progress) {
    struct telling *telling = context;
    assert_true(pthread_equal(pthread_self(), telling->caller));
    assert_true(progress->permille >= telling->permille);
    telling->permille = progress->permille;
    return telling->call_count++ != telling->cancels_at;
}

static struct telling convert_telling(struct conversion *conversion, unsigned job_count, unsigned cancels_at) {
    struct telling telling = {.caller = pthread_self(), .cancels_at = cancels_at};
    conversion->options.progress = take_progress;
    conversion->options.progress_context = &telling;
    convert(conversion, job_count);
    return telling;
}

TEST(test_the_calling_thread_tells_the_progress, begin, end) {
    struct conversion *conversion = *state;
    write_inputs(conversion);
    for (size_t i = 0; i < JOB_COUNT_COUNT; i++) {
        struct telling telling = convert_telling(conversion, job_counts[i], UINT_MAX);
        assert_int_equal(conversion->result.status, GECKO_CONVERT_GOOD);
        assert_int_equal(telling.permille, 1000);
        /* Each input that ends is progress, even if other threads have read it. */
        assert_true(telling.call_count > 2);
    }
}

TEST(test_any_report_may_cancel, begin, end) {
    struct conversion *conversion = *state;
    write_inputs(conversion);
    for (size_t i = 0; i < JOB_COUNT_COUNT; i++) {
        for (unsigned cancels_at = 0; cancels_at < 3; cancels_at++) {
            struct telling telling = convert_telling(conversion, job_counts[i], cancels_at);
            assert_int_equal(telling.call_count, cancels_at + 1);
            assert_int_equal(conversion->result.status, GECKO_CONVERT_CANCELLED);
            assert_null(file_read(conversion->output, NULL));
        }
    }
}

int main(void) { return unit_tests_run(NULL, NULL); }
