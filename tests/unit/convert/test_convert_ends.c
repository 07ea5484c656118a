/* Tests what the public header promises about inputs and outputs other than files, about cancelling, and about callers
 * that were compiled with another version of the header. */
#include <stdlib.h>
#include <string.h>

#include <zlib.h>

#include "tests/support/converted_trace.h"
#include "tests/support/unit_test.h"

static const char folded[] = "main;a;b 3\nmain;c 2\nmain;a;b 1\n";
enum { FOLDED_BYTES = sizeof folded - 1, LINE_COUNT = 50000, LINE_BYTES = sizeof "main;f123456 1\n" - 1 };

static struct gecko_convert_options options;
static struct gecko_convert_result result;

static int begin(void **state) {
    options = (struct gecko_convert_options){.struct_bytes = sizeof options};
    result = (struct gecko_convert_result){.struct_bytes = sizeof result};
    return 0;
}

static int end(void **state) {
    gecko_convert_result_fini(&result);
    return 0;
}

static void assert_status(enum gecko_convert_status status, const char *message) {
    gecko_convert_result_fini(&result);
    assert_int_equal(gecko_convert(&options, &result), status);
    assert_int_equal(result.status, status);
    assert_string_equal(result.message, message);
}

/* ---- Inputs. ---- */

static void use_data(const void *bytes, size_t bytes_count) {
    options.input_data = bytes;
    options.input_data_bytes = bytes_count;
    options.keeps_output = true;
}

TEST(memory_to_memory, begin, end) {
    use_data(folded, FOLDED_BYTES);
    assert_status(GECKO_CONVERT_GOOD, "");
    assert_int_equal(result.counts.samples, 3);
    assert_int_equal(result.input_bytes, FOLDED_BYTES);
    assert_int_equal(result.output_bytes, strlen(result.output_data));
    assert_non_null(strstr(result.output_data, "\"preprocessedProfileVersion\":70"));
    gecko_convert_result_fini(&result);
    assert_null(result.output_data);
}

TEST(packed_data_is_unpacked, begin, end) {
    unsigned char packed[256];
    z_stream stream = {.next_in = (unsigned char *)(uintptr_t)folded, .avail_in = FOLDED_BYTES, .next_out = packed};
    stream.avail_out = sizeof packed;
    assert_int_equal(deflateInit2(&stream, Z_BEST_SPEED, Z_DEFLATED, 31, 8, Z_DEFAULT_STRATEGY), Z_OK);
    assert_int_equal(deflate(&stream, Z_FINISH), Z_STREAM_END);
    use_data(packed, stream.total_out);
    deflateEnd(&stream);
    assert_status(GECKO_CONVERT_GOOD, "");
    assert_string_equal(result.wrapping, "gzip");
    assert_int_equal(result.counts.samples, 3);
}

TEST(messages_have_the_name_of_the_input, begin, end) {
    use_data("", 0);
    assert_status(GECKO_CONVERT_BAD_INPUT, "the input: is empty; there is nothing to convert");
    options.input_name = "upload 7";
    assert_status(GECKO_CONVERT_BAD_INPUT, "upload 7: is empty; there is nothing to convert");
    char *report = gecko_convert_report(&options, &result, NULL);
    assert_non_null(strstr(report, "\"name\":\"upload 7\""));
    free(report);
}

/* A read function that gives a few bytes at a time, and fails once it has given fails_at bytes. */
struct reading {
    size_t given_bytes;
    size_t step_bytes;
    size_t fails_at; /* 0: never */
};

static ptrdiff_t read_folded(void *context, void *bytes, size_t capacity_bytes) {
    struct reading *reading = context;
    if (reading->fails_at && reading->given_bytes >= reading->fails_at) return -1;
    size_t left_bytes = FOLDED_BYTES - reading->given_bytes;
    size_t bytes_count = left_bytes < reading->step_bytes ? left_bytes : reading->step_bytes;
    assert_true(bytes_count <= capacity_bytes);
    memcpy(bytes, folded + reading->given_bytes, bytes_count);
    reading->given_bytes += bytes_count;
    return (ptrdiff_t)bytes_count;
}

TEST(any_pieces_make_the_same_profile, begin, end) {
    use_data(folded, FOLDED_BYTES);
    assert_status(GECKO_CONVERT_GOOD, "");
    char *expected = strdup(result.output_data);
    options.input_data = NULL;
    options.read = read_folded;
    for (size_t step_bytes = 1; step_bytes <= FOLDED_BYTES; step_bytes++) {
        struct reading reading = {.step_bytes = step_bytes};
        options.read_context = &reading;
        assert_status(GECKO_CONVERT_GOOD, "");
        assert_string_equal(result.output_data, expected);
    }
    free(expected);
}

static ptrdiff_t read_too_much(void *context, void *bytes, size_t capacity_bytes) {
    return (ptrdiff_t)capacity_bytes + 1;
}

TEST(a_read_function_fails, begin, end) {
    struct reading reading = {.step_bytes = 5, .fails_at = 10};
    options.read = read_folded;
    options.read_context = &reading;
    options.keeps_output = true;
    assert_status(GECKO_CONVERT_IO_FAILED, "the input: cannot be read: its read function failed");
    assert_null(result.output_data);
    options.read = read_too_much;
    assert_status(GECKO_CONVERT_IO_FAILED, "the input: cannot be read: its read function failed");
}

/* ---- Outputs. ---- */

struct writing {
    char *bytes; /* owned */
    size_t bytes_count;
    size_t room_bytes;
};

static bool write_some(void *context, const void *bytes, size_t bytes_count) {
    struct writing *writing = context;
    assert_true(bytes_count > 0);
    if (bytes_count > writing->room_bytes - writing->bytes_count) return false;
    writing->bytes = realloc(writing->bytes, writing->bytes_count + bytes_count);
    memcpy(writing->bytes + writing->bytes_count, bytes, bytes_count);
    writing->bytes_count += bytes_count;
    return true;
}

TEST(a_write_function_gets_the_profile, begin, end) {
    use_data(folded, FOLDED_BYTES);
    assert_status(GECKO_CONVERT_GOOD, "");
    char *expected = strdup(result.output_data);
    struct writing writing = {.room_bytes = SIZE_MAX};
    options.keeps_output = false;
    options.write = write_some;
    options.write_context = &writing;
    assert_status(GECKO_CONVERT_GOOD, "");
    assert_null(result.output_data);
    assert_int_equal(result.output_bytes, writing.bytes_count);
    assert_int_equal(writing.bytes_count, strlen(expected));
    assert_memory_equal(writing.bytes, expected, writing.bytes_count);
    free(writing.bytes);
    free(expected);
}

TEST(a_write_function_fails, begin, end) {
    use_data(folded, FOLDED_BYTES);
    struct writing writing = {.room_bytes = 10};
    options.keeps_output = false;
    options.write = write_some;
    options.write_context = &writing;
    assert_status(GECKO_CONVERT_IO_FAILED, "cannot write the output: its write function failed");
    assert_int_equal(result.output_bytes, 0);
    free(writing.bytes);
}

/* A profile that is refused must not be written, not even in part. */
TEST(a_strict_failure_writes_nothing, begin, end) {
    static const char lossy[] = "main;a 3\nno count here\n";
    use_data(lossy, sizeof lossy - 1);
    struct writing writing = {.room_bytes = SIZE_MAX};
    options.keeps_output = false;
    options.write = write_some;
    options.write_context = &writing;
    options.is_strict = true;
    gecko_convert(&options, &result);
    assert_int_equal(result.status, GECKO_CONVERT_LOST);
    assert_int_equal(writing.bytes_count, 0);
}

/* ---- Progress. ---- */

struct listener {
    unsigned cancel_permille;
    unsigned call_count;
    unsigned calls_after_cancelling;
    bool has_cancelled;
    bool is_ascending;
    struct gecko_convert_progress last;
};

static bool listen(void *context, const struct gecko_convert_progress *progress) {
    struct listener *listener = context;
    listener->call_count++;
    listener->calls_after_cancelling += listener->has_cancelled;
    if (progress->permille < listener->last.permille || progress->read_bytes < listener->last.read_bytes)
        listener->is_ascending = false;
    listener->last = *progress;
    listener->has_cancelled = progress->permille >= listener->cancel_permille;
    return !listener->has_cancelled;
}

/* Returns enough stacks that every stage reports progress more than once. Free them. */
static char *many_stacks(size_t *bytes_count) {
    char *bytes = malloc((size_t)LINE_COUNT * LINE_BYTES + 1);
    assert_non_null(bytes);
    for (unsigned i = 0; i < LINE_COUNT; i++)
        snprintf(bytes + i * LINE_BYTES, LINE_BYTES + 1, "main;f%06u 1\n", i % 999983);
    *bytes_count = (size_t)LINE_COUNT * LINE_BYTES;
    return bytes;
}

static struct listener convert_listened(unsigned cancel_permille) {
    struct listener listener = {.cancel_permille = cancel_permille, .is_ascending = true};
    options.progress = listen;
    options.progress_context = &listener;
    gecko_convert_result_fini(&result);
    gecko_convert(&options, &result);
    assert_true(listener.is_ascending);
    assert_int_equal(listener.calls_after_cancelling, 0);
    return listener;
}

TEST(progress_of_memory_has_its_size, begin, end) {
    size_t bytes_count;
    char *bytes = many_stacks(&bytes_count);
    use_data(bytes, bytes_count);
    struct listener listener = convert_listened(1001);
    assert_int_equal(result.status, GECKO_CONVERT_GOOD);
    assert_true(listener.call_count > 10);
    assert_int_equal(listener.last.permille, 1000);
    assert_int_equal(listener.last.read_bytes, bytes_count);
    assert_int_equal(listener.last.total_bytes, bytes_count);
    free(bytes);
}

/* Reading ends at 500, emitting at 900. */
TEST(any_stage_can_be_cancelled, begin, end) {
    size_t bytes_count;
    char *bytes = many_stacks(&bytes_count);
    use_data(bytes, bytes_count);
    static const unsigned permilles[] = {1, 250, 499, 650, 750, 910, 999};
    for (size_t i = 0; i < sizeof permilles / sizeof *permilles; i++) {
        struct listener listener = convert_listened(permilles[i]);
        assert_true(listener.has_cancelled);
        assert_int_equal(result.status, GECKO_CONVERT_CANCELLED);
        assert_string_equal(result.message, "the conversion was cancelled");
        assert_null(result.output_data);
        assert_int_equal(result.output_bytes, 0);
        if (permilles[i] < 500) assert_true(result.input_bytes < bytes_count);
    }
    free(bytes);
}

TEST(a_cancelled_file_stays_as_it_was, begin, end) {
    struct temp_folder folder;
    assert_true(temp_folder_init(&folder));
    char output[PATH_MAX];
    size_t bytes_count;
    char *bytes = many_stacks(&bytes_count);
    use_data(bytes, bytes_count);
    options.keeps_output = false;
    options.output_path = output;
    options.job_count = 3; /* for compressing */
    static const unsigned permilles[] = {100, 800, 950, 999};
    enum { PERMILLE_COUNT = sizeof permilles / sizeof *permilles };
    for (size_t i = 0; i < 2 * PERMILLE_COUNT; i++) {
        bool is_compressed = i >= PERMILLE_COUNT;
        if (i == PERMILLE_COUNT) unlink(output);
        snprintf(output, sizeof output, "%s", temp_folder_file(&folder, is_compressed ? "out.json.gz" : "out.json"));
        assert_true(file_write(output, TEXT("old")));
        convert_listened(permilles[i % PERMILLE_COUNT]);
        assert_int_equal(result.status, GECKO_CONVERT_CANCELLED);
        char *content = file_read(output, NULL);
        assert_string_equal(content, "old");
        free(content);
        assert_int_equal(temp_folder_count(&folder), 1);
    }
    free(bytes);
    temp_folder_fini(&folder);
}

TEST(a_finished_conversion_cannot_be_cancelled, begin, end) {
    use_data(folded, FOLDED_BYTES);
    options.keeps_output = true;
    /* The last report comes after the output is complete. */
    struct listener listener = convert_listened(1000);
    assert_true(listener.has_cancelled);
    assert_int_equal(result.status, GECKO_CONVERT_GOOD);
    assert_non_null(result.output_data);
}

/* A read function has no size, so each of its blocks is reported. */
TEST(reading_a_function_can_be_cancelled, begin, end) {
    struct reading reading = {.step_bytes = 4};
    options.read = read_folded;
    options.read_context = &reading;
    options.keeps_output = true;
    struct listener listener = convert_listened(0);
    assert_int_equal(listener.call_count, 1);
    assert_int_equal(listener.last.read_bytes, 4);
    assert_int_equal(listener.last.total_bytes, 0);
    assert_int_equal(result.status, GECKO_CONVERT_CANCELLED);
    assert_int_equal(reading.given_bytes, 4);
}

/* ---- Versions. ---- */

static const char version_message[] =
    "struct_bytes of the options is wrong, or they set a member that version " GECKO_CONVERT_VERSION
    " of the library lacks";

/* Options as a later header might have them. */
struct later_options {
    struct gecko_convert_options known;
    const char *later;
};

TEST(options_of_other_versions, begin, end) {
    /* Members beyond the caller's struct_bytes must be ignored. */
    use_data(folded, FOLDED_BYTES);
    options.max_memory_bytes = 1;
    options.struct_bytes = offsetof(struct gecko_convert_options, max_memory_bytes);
    assert_status(GECKO_CONVERT_GOOD, "");
    options.struct_bytes = 0;
    assert_status(GECKO_CONVERT_BAD_USAGE, version_message);
    begin(NULL);
    use_data(folded, FOLDED_BYTES);
    struct later_options later = {.known = options};
    later.known.struct_bytes = sizeof later;
    assert_int_equal(gecko_convert(&later.known, &result), GECKO_CONVERT_GOOD);
    gecko_convert_result_fini(&result);
    later.later = "set";
    assert_int_equal(gecko_convert(&later.known, &result), GECKO_CONVERT_BAD_USAGE);
    assert_string_equal(result.message, version_message);
    assert_null(gecko_convert_report(&later.known, &result, NULL));
}

TEST(results_of_other_versions, begin, end) {
    use_data(folded, FOLDED_BYTES);
    /* A result of an earlier version, followed by bytes that must not change. */
    memset(&result, 0x5a, sizeof result);
    result.struct_bytes = offsetof(struct gecko_convert_result, duration_ns);
    assert_int_equal(gecko_convert(&options, &result), GECKO_CONVERT_GOOD);
    assert_int_equal(result.struct_bytes, offsetof(struct gecko_convert_result, duration_ns));
    assert_int_equal(result.output_bytes, strlen(result.output_data));
    assert_int_equal(result.duration_ns, 0x5a5a5a5a5a5a5a5aull);
    char *report = gecko_convert_report(&options, &result, NULL);
    assert_non_null(report);
    free(report);
    gecko_convert_result_fini(&result);
    assert_int_equal(result.duration_ns, 0x5a5a5a5a5a5a5a5aull);

    struct {
        struct gecko_convert_result known;
        uint64_t later;
    } later = {.known.struct_bytes = sizeof later, .later = 1};
    assert_int_equal(gecko_convert(&options, &later.known), GECKO_CONVERT_GOOD);
    assert_int_equal(later.known.counts.samples, 3);
    assert_int_equal(later.later, 0);
    assert_int_equal(later.known.struct_bytes, sizeof later);
    gecko_convert_result_fini(&later.known);

    /* A result without struct_bytes is not written to, and nothing is converted. */
    begin(NULL);
    use_data(folded, FOLDED_BYTES);
    result.struct_bytes = 0;
    assert_int_equal(gecko_convert(&options, &result), GECKO_CONVERT_BAD_USAGE);
    assert_null(result.input_format);
}

int main(void) { return unit_tests_run(NULL, NULL); }
