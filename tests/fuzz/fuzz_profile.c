/* Any bytes as a profile: checked, and asked for its facts when it is good. */
#include "cli/check/check.h"
#include "cli/info/info_document.h"
#include "conversion.h"

/* Facts are of good profiles only. */
static void ask(const struct document *document) {
    struct failure failure = {0};
    struct info info;
    info_init(&info, &failure);
    info_take_document(&info, document);
    FUZZ_CHECK(failure.code == FAILURE_NONE || failure.code == FAILURE_MEMORY, "%s", failure.message);
    info_fini(&info);
}

static void check(struct text text, size_t window_bytes, uint64_t counts[2]) {
    struct failure failure = {0};
    struct document document;
    struct offences offences;
    document_init(&document, &failure);
    offences_init(&offences, &failure);
    struct input *input = input_from_memory(text, window_bytes, &failure);
    if (input) {
        document_read(&document, input);
        input_close(input);
    }
    fuzz_check_failure(&failure);
    if (!failure_is_set(&failure)) {
        check_document(&document, &offences);
        if (!failure_is_set(&failure) && !offences.counts[OFFENCE_ERROR]) ask(&document);
    }
    counts[OFFENCE_ERROR] = failure_is_set(&failure) ? UINT64_MAX : offences.counts[OFFENCE_ERROR];
    counts[OFFENCE_WARNING] = offences.counts[OFFENCE_WARNING];
    offences_fini(&offences);
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
