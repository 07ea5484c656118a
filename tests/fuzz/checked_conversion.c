#include "checked_conversion.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>

#include "cli/check/check.h"
#include "readers/collapsed/collapsed_line.h"
#include "tests/support/chunk_text.h"
#include "tests/support/json_check.h"
#include "tests/support/profile_check.h"
#include "writer/emitter.h"
#include "writer/frame_parts.h"
#include "writer/gecko/gecko_weights.h"

/* Limit for repeated samples: more of them are slow to write and run the same code. Counts beyond the format's limit
 * are tried too, because the reader refuses those quickly. */
enum { GECKO_ROWS_MAX = 20000 };

void fuzz_abort(const char *file, int line, const char *rule, const char *format, ...) {
    fprintf(stderr, "%s:%d: broken: %s: ", file, line, rule);
    va_list arguments;
    va_start(arguments, format);
    vfprintf(stderr, format, arguments);
    va_end(arguments);
    fputc('\n', stderr);
    abort();
}

bool fuzz_does_all;

enum fuzz_depth fuzz_depth_of(struct text input) {
    static const enum fuzz_depth depths[32] = {FUZZ_ALL, FUZZ_COMPARE, FUZZ_COMPARE}; /* the others are FUZZ_READ */
    uint32_t hash = 0;
    for (size_t i = 0; i < input.bytes_count; i++) hash = hash * 31 + (unsigned char)input.bytes[i];
    hash = (hash ^ hash >> 15) * 0x9e3779b1u;
    return fuzz_does_all ? FUZZ_ALL : depths[hash >> 27];
}

struct fuzz_choices fuzz_take_choices(struct text *input) {
    unsigned char byte = 0;
    if (input->bytes_count) byte = (unsigned char)input->bytes[--input->bytes_count];
    return (struct fuzz_choices){
        .options = {.perf_map_folder = "",
                    .weight = byte & 1 ? GECKO_CONVERT_WEIGHT_PERIOD : GECKO_CONVERT_WEIGHT_SAMPLES,
                    .root = byte & 2 ? GECKO_CONVERT_ROOT_THREAD : GECKO_CONVERT_ROOT_AUTO},
        .step_bytes = 1 + (byte >> 2),
    };
}

void fuzz_check_failure(const struct failure *failure) {
    if (!failure_is_set(failure)) return;
    FUZZ_CHECK(failure->code == FAILURE_INPUT || failure->code == FAILURE_MEMORY, "%d: %s", (int)failure->code,
               failure->message);
    size_t bytes_count = strnlen(failure->message, sizeof failure->message);
    FUZZ_CHECK(bytes_count > 0 && bytes_count < sizeof failure->message, "%zu bytes", bytes_count);
    for (size_t i = 0; i < bytes_count; i++)
        FUZZ_CHECK((unsigned char)failure->message[i] >= ' ', "byte %zu of: %s", i, failure->message);
}

static void check_balance(const struct ledger *ledger, const char *when) {
    for (enum gecko_convert_unit unit = 0; unit < LEDGER_UNIT_COUNT; unit++) {
        uint64_t kept = ledger_sum(ledger, unit, LEDGER_KEPT), lost = ledger_sum(ledger, unit, LEDGER_LOST);
        FUZZ_CHECK(ledger->read[unit] == kept + lost, "%s: %llu %s read, %llu kept, %llu lost", when,
                   (unsigned long long)ledger->read[unit], gecko_convert_unit_name(unit), (unsigned long long)kept,
                   (unsigned long long)lost);
    }
    FUZZ_CHECK(ledger_is_balanced(ledger), "%s", when);
}

static bool is_slow(const struct emitter *emitter, const struct profile *profile) {
    if (emitter != &emitter_gecko) return false;
    struct failure failure = {0};
    struct profile weighed = *profile;
    weighed.failure = &failure;
    struct gecko_weights weights;
    gecko_weights_init(&weights, &weighed);
    return weights.row_count > GECKO_ROWS_MAX && weights.row_count <= GECKO_SAMPLE_ROWS_MAX;
}

/* Returns whether the profile has samples or markers. Programs refuse to write a profile without either. */
static bool has_content(const struct profile *profile) {
    for (size_t i = 0; i < profile->thread_order.count; i++) {
        const struct thread *thread = profile_ordered_thread(profile, i);
        if (samples_count(&thread->samples) || thread->markers.count) return true;
    }
    return false;
}

/* Checks that the profile obeys the rules of the format, whatever the trace is. */
static void check_profile(struct text text, const char *name) {
    struct failure failure = {0};
    struct document document;
    struct violations violations;
    document_init(&document, &failure);
    violations_init(&violations, &failure);
    struct input *input = input_from_memory(text, 0, &failure);
    if (input) input = input_unwrap(input); /* JsonSlabs */
    if (input) {
        document_read(&document, input);
        input_close(input);
    }
    FUZZ_CHECK(failure.code == FAILURE_NONE || failure.code == FAILURE_MEMORY, "%s: %s", name, failure.message);
    if (!failure_is_set(&failure)) check_document(&document, &violations);
    for (size_t i = 0; i < violations.kinds.count; i++) {
        const struct violation_kind *kind = column_at(&violations.kinds, i);
        FUZZ_CHECK(failure_is_set(&failure) || kind->severity != VIOLATION_ERROR, "%s: %.*s: %.*s", name,
                   (int)kind->shown_paths[0].bytes_count, kind->shown_paths[0].bytes,
                   (int)kind->messages[0].bytes_count, kind->messages[0].bytes);
    }
    violations_fini(&violations);
    document_fini(&document);
}

static void check_text(struct text document, const char *name) {
    size_t bad_at;
    bool is_json = json_is_well_formed(document, &bad_at);
    FUZZ_CHECK(is_json, "%s, byte %zu: %.*s", name, bad_at, 80, document.bytes + bad_at);
}

/* Checks that the reader takes each line of collapsed stacks for a stack. */
static void check_lines(struct text document) {
    struct text text;
    struct collapsed_line line;
    while (collapsed_line_take(&document, true, &text))
        FUZZ_CHECK(collapsed_line_parse(text, false, &line) == COLLAPSED_STACK, "%.*s", 80, text.bytes);
    FUZZ_CHECK(!document.bytes_count, "%zu bytes without a line end", document.bytes_count);
}

/* Returns the document, which has no bytes if the emitter failed. */
static struct text emit(const struct emitter *emitter, struct profile *profile, enum fuzz_depth depth) {
    struct chunk_list out;
    struct text document = {0};
    chunk_list_init(&out, profile->failure);
    struct emit_options options = {.frame_parts = FRAME_PART_COMM | FRAME_PART_KERNEL};
    emitter->emit(profile, &profile->ledger, &out, &options, (struct progress){0});
    if (!failure_is_set(profile->failure)) {
        document = (struct text){chunk_text(&out), out.total_bytes};
        check_balance(&profile->ledger, emitter->name);
        bool is_text = emitter == &emitter_collapsed, is_json = !is_text && emitter != &emitter_jslb;
        if (is_text) check_lines(document);
        if (depth == FUZZ_ALL && is_json) check_text(document, emitter->name);
        if (depth == FUZZ_ALL && !is_text && has_content(profile)) check_profile(document, emitter->name);
    }
    chunk_list_fini(&out);
    return document;
}

/* Writes a document with each emitter. The failure of one emitter must not affect the next one. */
static void emit_all(struct profile *profile, struct text documents[FUZZ_EMITTERS_MAX], enum fuzz_depth depth) {
    for (size_t i = 0; emitters[i]; i++) {
        FUZZ_CHECK(i < FUZZ_EMITTERS_MAX, "%s", emitters[i]->name);
        if (is_slow(emitters[i], profile)) continue;
        documents[i] = emit(emitters[i], profile, depth);
        fuzz_check_failure(profile->failure);
        failure_clear(profile->failure);
    }
}

static uint64_t line_count(struct text text) {
    uint64_t count = 0;
    for (size_t i = 0; i < text.bytes_count; i++) count += text.bytes[i] == '\n';
    return count + (text.bytes_count && text.bytes[text.bytes_count - 1] != '\n');
}

/* Checks what must hold for a reading that did not fail. */
static void check_reading(const struct reader *reader, struct input *input, const struct ledger *ledger,
                          struct text trace) {
    bool is_of_lines = reader == &reader_collapsed || reader == &reader_perf_script;
    FUZZ_CHECK(!input_peek(input, 1).bytes_count, "left at %llu", (unsigned long long)input_offset(input));
    FUZZ_CHECK(!is_of_lines || ledger->read[LEDGER_LINES] == line_count(trace), "%llu of %llu lines",
               (unsigned long long)ledger->read[LEDGER_LINES], (unsigned long long)line_count(trace));
    check_balance(ledger, "read");
}

void fuzz_finish(struct profile *profile, struct fuzz_conversion *conversion, enum fuzz_depth depth) {
    profile_finish(profile);
    if (!failure_is_set(&conversion->failure)) {
        const char *fault = profile_fault(profile);
        FUZZ_CHECK(!fault, "%s", fault);
        check_balance(&profile->ledger, "finished");
        if (depth > FUZZ_READ) emit_all(profile, conversion->documents, depth);
    }
    fuzz_check_failure(&conversion->failure);
}

struct fuzz_conversion fuzz_convert(const struct reader *reader, struct input *input, struct text trace,
                                    const struct failure *input_failure, const struct reader_options *options,
                                    enum fuzz_depth depth) {
    struct fuzz_conversion conversion = {0};
    struct profile profile;
    profile_init(&profile, &conversion.failure);
    reader->run(input, &profile, options);
    if (failure_is_set(input_failure)) conversion.failure = *input_failure;
    if (!failure_is_set(&conversion.failure)) check_reading(reader, input, &profile.ledger, trace);
    fuzz_finish(&profile, &conversion, depth);
    profile_fini(&profile);
    return conversion;
}

void fuzz_conversion_fini(struct fuzz_conversion *conversion) {
    for (size_t i = 0; i < FUZZ_EMITTERS_MAX; i++) free((char *)(uintptr_t)conversion->documents[i].bytes);
}

static size_t first_difference(struct text a, struct text b) {
    size_t at = 0;
    while (at < a.bytes_count && at < b.bytes_count && a.bytes[at] == b.bytes[at]) at++;
    return at;
}

void fuzz_check_same(const struct fuzz_conversion *a, const struct fuzz_conversion *b) {
    FUZZ_CHECK(a->failure.code == b->failure.code && strcmp(a->failure.message, b->failure.message) == 0,
               "\"%s\" and \"%s\"", a->failure.message, b->failure.message);
    FUZZ_CHECK(a->failure.position.line == b->failure.position.line &&
                   a->failure.position.offset == b->failure.position.offset,
               "%s", a->failure.message);
    for (size_t i = 0; i < FUZZ_EMITTERS_MAX; i++)
        FUZZ_CHECK(text_equal(a->documents[i], b->documents[i]), "document %zu, byte %zu", i,
                   first_difference(a->documents[i], b->documents[i]));
}

static struct fuzz_conversion convert_text(const struct reader *reader, struct text text, size_t window_bytes,
                                           const struct reader_options *options, enum fuzz_depth depth) {
    struct failure failure = {0};
    struct reader_options with_blocks = *options;
    with_blocks.block_bytes = window_bytes;
    struct input *input = input_from_memory(text, window_bytes, &failure);
    if (!input) return (struct fuzz_conversion){.failure = failure};
    struct fuzz_conversion conversion = fuzz_convert(reader, input, text, &failure, &with_blocks, depth);
    input_close(input);
    return conversion;
}

void fuzz_text(const struct reader *reader, struct text input) {
    struct fuzz_choices choices = fuzz_take_choices(&input);
    enum fuzz_depth depth = fuzz_depth_of(input);
    struct fuzz_conversion whole = convert_text(reader, input, 0, &choices.options, depth);
    if (depth > FUZZ_READ) {
        struct fuzz_conversion pieces = convert_text(reader, input, choices.step_bytes, &choices.options, FUZZ_COMPARE);
        fuzz_check_same(&whole, &pieces);
        fuzz_conversion_fini(&pieces);
    }
    fuzz_conversion_fini(&whole);
}
