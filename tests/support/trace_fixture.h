/* A fixture for tests that build a recorder trace and read it into a profile. */
#pragma once

#include "readers/reader.h"
#include "tests/support/assert_text.h"
#include "tests/support/chunk_text.h"
#include "tests/support/marker_text.h"
#include "tests/support/profile_check.h"
#include "tests/support/profile_text.h"
#include "tests/support/trace_builder.h"
#include "tests/support/unit_test.h"
#include "writer/emitter.h"

struct fixture {
    struct trace_builder trace;
    struct reader_options options;
    struct failure failure;
    struct profile profile;
    bool has_profile;
    char *document; /* owned; NULL if the test writes no document */
};

static struct fixture fixture;

static const char CAUSE_DAMAGED[] = "damaged block, or one after it in its chunk";

static inline int setup(void **state) {
    fixture = (struct fixture){.options = {.perf_map_folder = ""}};
    trace_builder_init(&fixture.trace);
    return 0;
}

static inline int teardown(void **state) {
    if (fixture.has_profile) profile_fini(&fixture.profile);
    trace_builder_fini(&fixture.trace);
    free(fixture.document);
    return 0;
}

/* Reads these bytes in windows of at most window_bytes (0 for no limit) and finishes the profile. */
static inline void read_bytes(struct text bytes, size_t window_bytes) {
    if (fixture.has_profile) profile_fini(&fixture.profile);
    failure_clear(&fixture.failure);
    profile_init(&fixture.profile, &fixture.failure);
    fixture.has_profile = true;
    struct input *input = input_from_memory(bytes, window_bytes, &fixture.failure);
    assert_non_null(input);
    reader_trace.run(input, &fixture.profile, &fixture.options);
    if (!failure_is_set(&fixture.failure)) {
        assert_int_equal(input_peek(input, 1).bytes_count, 0);
        assert_true(ledger_is_balanced(&fixture.profile.ledger));
    }
    input_close(input);
    profile_finish(&fixture.profile);
    if (failure_is_set(&fixture.failure)) return;
    assert_true(ledger_is_balanced(&fixture.profile.ledger));
    const char *fault = profile_fault(&fixture.profile);
    if (fault) fail_msg("%s", fault);
}

static inline void read_trace(void) {
    read_bytes(trace_text(&fixture.trace), 0);
    assert_string_equal(fixture.failure.message, "");
}

/* Begins a chunk of definitions, with which most traces of tests start. Returns the trace. */
static inline struct trace_builder *begin_definitions(void) {
    trace_definitions_chunk(&fixture.trace);
    return &fixture.trace;
}

/* Begins a chunk of events of process 10, which begins with the trace. */
static inline void begin_app_chunk(uint64_t base_ticks, uint64_t base_ns) {
    trace_events_chunk(&fixture.trace, base_ticks, base_ns);
    add_process(&fixture.trace, 10, BUILD_START_NS, "app");
}

/* Seals the last chunk, two milliseconds after the start of the trace. */
static inline void seal(void) { trace_seal(&fixture.trace, 4000000, 2000000); }

static inline void seal_and_read(void) {
    seal();
    read_trace();
}

/* Writes the profile in that format into the fixture's document. */
static inline void emit(const struct emitter *emitter) {
    struct chunk_list out;
    chunk_list_init(&out, &fixture.failure);
    emitter->emit(&fixture.profile, &fixture.profile.ledger, &out, &(struct emit_options){0}, (struct progress){0});
    free(fixture.document);
    fixture.document = chunk_text(&out);
    chunk_list_fini(&out);
    assert_string_equal(fixture.failure.message, "");
    assert_true(ledger_is_balanced(&fixture.profile.ledger));
}

static inline void assert_has(const char *part) {
    if (!strstr(fixture.document, part)) fail_msg("missing: %s\nin: %s", part, fixture.document);
}

static inline void assert_samples(const char *expected) {
    assert_printed(profile_samples_text(&fixture.profile), expected);
}

static inline void assert_markers(const char *expected) {
    assert_printed(profile_markers_text(&fixture.profile), expected);
}

/* Returns the ledger's count for the cause. If first_offset is not NULL, sets it to the first offset, or 0. */
static inline uint64_t ledger_of(const char *cause, uint64_t *first_offset) {
    const struct ledger *ledger = &fixture.profile.ledger;
    uint64_t count = 0;
    if (first_offset) *first_offset = 0;
    for (size_t i = 0; i < ledger->entries.count; i++) {
        const struct ledger_entry *entry = ledger_at(ledger, i);
        if (!text_equal(entry->cause, text_of(cause))) continue;
        count += entry->count;
        if (first_offset && entry->has_first) *first_offset = entry->first.offset;
    }
    return count;
}

static inline void assert_ledger(const char *cause, uint64_t count) {
    uint64_t actual = ledger_of(cause, NULL);
    if (actual == count) return;
    struct profile_text *text = ledger_entries_text(&fixture.profile.ledger);
    fail_msg("%s: %llu, wanted %llu; all:\n%s", cause, (unsigned long long)actual, (unsigned long long)count,
             text->bytes);
}

static inline uint64_t lost_sum(void) {
    uint64_t sum = 0;
    for (enum gecko_convert_unit unit = 0; unit < LEDGER_UNIT_COUNT; unit++)
        sum += ledger_sum(&fixture.profile.ledger, unit, LEDGER_LOST);
    return sum;
}
