/* Reads any bytes as a profile: checks it and, if it is valid, extracts its facts. */
#include "checked_conversion.h"
#include "cli/check/check.h"
#include "cli/info/info_document.h"

/* Extracts the facts of a document. Only valid profiles have facts. */
static void ask(const struct document *document) {
    struct failure failure = {0};
    struct info info;
    info_init(&info, &failure);
    info_fill_from_document(&info, document);
    FUZZ_CHECK(failure.code == FAILURE_NONE || failure.code == FAILURE_MEMORY, "%s", failure.message);
    info_fini(&info);
}

static void check(struct text text, size_t window_bytes, uint64_t counts[2]) {
    struct failure failure = {0};
    struct document document;
    struct violations violations;
    document_init(&document, &failure);
    violations_init(&violations, &failure);
    struct input *input = input_from_memory(text, window_bytes, &failure);
    if (input) {
        document_read(&document, input);
        input_close(input);
    }
    fuzz_check_failure(&failure);
    if (!failure_is_set(&failure)) {
        check_document(&document, &violations);
        if (!failure_is_set(&failure) && !violations.counts[VIOLATION_ERROR]) ask(&document);
    }
    counts[VIOLATION_ERROR] = failure_is_set(&failure) ? UINT64_MAX : violations.counts[VIOLATION_ERROR];
    counts[VIOLATION_WARNING] = violations.counts[VIOLATION_WARNING];
    violations_fini(&violations);
    document_fini(&document);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t bytes_count) {
    struct text text = {(const char *)bytes, bytes_count};
    struct fuzz_choices choices = fuzz_take_choices(&text);
    uint64_t whole[2], pieces[2];
    check(text, 0, whole);
    check(text, choices.step_bytes, pieces);
    FUZZ_CHECK(whole[0] == pieces[0] && whole[1] == pieces[1], "step %zu", choices.step_bytes);
    return 0;
}
