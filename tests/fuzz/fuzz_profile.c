/* Checks any bytes as a profile. */
#include "checked_conversion.h"
#include "cli/check/check.h"

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
    if (!failure_is_set(&failure)) check_document(&document, &violations);
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
