/* Reads any bytes as a file and through a pipe: unwrapping, detection and the detected reader. */
#include <stdlib.h>

#include "checked_conversion.h"
#include "source_file.h"

enum {
    TRACE_BYTES_MAX = 256 * 1024, /* bounds what is read, since a few bytes can unpack to gigabytes */
    STEP_BYTES_MAX = 64 * 1024
};

/* ---- The content of an input. ---- */

struct content {
    struct failure failure;
    char *bytes;
    size_t bytes_count;
    bool is_cut; /* the input has more bytes than were read */
    char wrapping[512];
};

static struct text content_text(const struct content *content) {
    return (struct text){content->bytes, content->bytes_count};
}

static void content_fini(struct content *content) { free(content->bytes); }

/* Does one step. Returns false if it was the last one. */
static bool read_step(struct input *input, struct content *content, size_t step_bytes) {
    struct text window = input_peek(input, step_bytes);
    bool has_ended = window.bytes_count < step_bytes;
    struct text step = text_slice(window, 0, step_bytes);
    content->is_cut = step.bytes_count > TRACE_BYTES_MAX - content->bytes_count;
    if (content->is_cut || !step.bytes_count) return false;
    memcpy(content->bytes + content->bytes_count, step.bytes, step.bytes_count);
    content->bytes_count += step.bytes_count;
    input_consume(input, step.bytes_count);
    FUZZ_CHECK(input_offset(input) == content->bytes_count, "%llu", (unsigned long long)input_offset(input));
    FUZZ_CHECK(!has_ended || !input_peek(input, 1).bytes_count, "bytes after the end");
    return !has_ended;
}

static struct content read_source(size_t step_bytes) {
    struct content content = {.bytes = malloc(TRACE_BYTES_MAX)};
    FUZZ_CHECK(content.bytes, "no memory");
    struct input *input = input_open(source_file_path, &content.failure);
    FUZZ_CHECK(!input == failure_is_set(&content.failure), "%s", content.failure.message);
    if (input) {
        struct text wrapping = input_wrapping(input);
        FUZZ_CHECK(wrapping.bytes_count < sizeof content.wrapping, "%zu bytes", wrapping.bytes_count);
        memcpy(content.wrapping, wrapping.bytes, wrapping.bytes_count);
        while (read_step(input, &content, step_bytes)) continue;
        input_close(input);
    }
    fuzz_check_failure(&content.failure);
    return content;
}

/* Compares messages up to a parenthesis: in it, libarchive tells how many bytes it had at hand. What ends the compared
 * part, a parenthesis or the end, is compared, too. */
static void check_same_failure(const struct failure *a, const struct failure *b) {
    bool is_same = a->code == b->code && strncmp(a->message, b->message, strcspn(a->message, "(") + 1) == 0;
    FUZZ_CHECK(is_same, "\"%s\" and \"%s\"", a->message, b->message);
}

/* Checks that two readings of an input had the same content. If an input fails, how many bytes it returned before
 * depends on the steps. One reading may fail at a place that the other does not reach. */
static void check_same_content(const struct content *a, const struct content *b) {
    if (a->is_cut || b->is_cut) return;
    check_same_failure(&a->failure, &b->failure);
    FUZZ_CHECK(strcmp(a->wrapping, b->wrapping) == 0, "\"%s\" and \"%s\"", a->wrapping, b->wrapping);
    if (failure_is_set(&a->failure)) return;
    FUZZ_CHECK(text_equal(content_text(a), content_text(b)), "%zu and %zu bytes", a->bytes_count, b->bytes_count);
}

/* ---- The result of a conversion. ---- */

static struct fuzz_conversion convert_source(struct text trace, const struct reader_options *options,
                                             enum fuzz_depth depth) {
    struct failure failure = {0};
    struct fuzz_conversion conversion = {0};
    struct input *input = input_open(source_file_path, &failure);
    const struct reader *reader = input ? reader_detect(input, &failure) : NULL;
    FUZZ_CHECK(!reader == failure_is_set(&failure), "%s", failure.message);
    if (reader) {
        FUZZ_CHECK(!input_offset(input), "%s", reader->name);
        conversion = fuzz_convert(reader, input, trace, &failure, options, depth);
    } else {
        fuzz_check_failure(&failure);
        conversion.failure = failure;
    }
    input_close(input);
    return conversion;
}

/* Returns whether the source is an archive with a directory at its end. Such files are read by the directory. From a
 * pipe they are read without it (zip) or not at all (7z). If they are damaged, the results may differ. */
static bool has_directory(struct text source) {
    return text_starts_with(source, TEXT("PK")) || text_starts_with(source, TEXT("7z"));
}

/* Repeats the reading through a pipe, if one can hold the source. */
static void check_pipe(struct text source, const struct fuzz_choices *choices, const struct content *content,
                       const struct fuzz_conversion *conversion) {
    if (!source_file_fill_pipe(source)) return;
    struct content piped = read_source(choices->step_bytes);
    if (!has_directory(source)) check_same_content(content, &piped);
    bool is_convertible = !failure_is_set(&piped.failure) && !piped.is_cut;
    if (is_convertible && source_file_fill_pipe(source)) {
        struct fuzz_conversion piped_conversion = convert_source(content_text(&piped), &choices->options, FUZZ_COMPARE);
        if (!has_directory(source)) fuzz_check_same(conversion, &piped_conversion);
        fuzz_conversion_fini(&piped_conversion);
    }
    content_fini(&piped);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t bytes_count) {
    struct text source = {(const char *)bytes, bytes_count};
    struct fuzz_choices choices = fuzz_take_choices(&source);
    enum fuzz_depth depth = fuzz_depth_of(source);
    source_file_fill(source);
    struct content content = read_source(STEP_BYTES_MAX);
    struct fuzz_conversion conversion = {0};
    bool is_convertible = !failure_is_set(&content.failure) && !content.is_cut;
    if (is_convertible) conversion = convert_source(content_text(&content), &choices.options, depth);
    if (depth > FUZZ_READ) {
        struct content in_steps = read_source(choices.step_bytes);
        check_same_content(&content, &in_steps);
        content_fini(&in_steps);
        check_pipe(source, &choices, &content, &conversion);
    }
    fuzz_conversion_fini(&conversion);
    content_fini(&content);
    return 0;
}
