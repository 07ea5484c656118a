/* Reads back the trace that a test has recorded: its header and its profile. Also finds things in the profile. */
#pragma once

#include <sys/stat.h>
#include <unistd.h>

#include "readers/reader.h"
#include "recorder/gecko_recorder.h"
#include "recorder/trace_format.h"
#include "tests/support/assert_text.h"
#include "tests/support/marker_text.h"
#include "tests/support/temp_folder.h"
#include "tests/support/unit_test.h"

struct recorded {
    struct failure failure;
    struct profile profile;
    struct trace_header header;
    struct recorded *next;
};

/* What the test has read. tear_down_folder frees it. */
static struct recorded *all_recorded;

/* Owns the input. */
static inline void recorded_read_input(struct recorded *recorded, struct input *input, const char *path) {
    struct reader_options options = {0};
    assert_non_null(input);
    struct text header = input_peek(input, sizeof recorded->header);
    assert_true(header.bytes_count >= sizeof recorded->header);
    memcpy(&recorded->header, header.bytes, sizeof recorded->header);
    reader_trace.run(input, &recorded->profile, &options);
    profile_finish(&recorded->profile);
    input_close(input);
    if (failure_is_set(&recorded->failure)) fail_msg("%s: %s", path, recorded->failure.message);
    if (!ledger_is_balanced(&recorded->profile.ledger)) fail_msg("%s: the ledger does not balance", path);
}

static inline struct recorded *recorded_add(void) {
    struct recorded *recorded = calloc(1, sizeof *recorded);
    if (!recorded) abort();
    profile_init(&recorded->profile, &recorded->failure);
    recorded->next = all_recorded;
    all_recorded = recorded;
    return recorded;
}

/* Call this before a fork whose child ends by exit: the leak sanitizer does not see that columns own memory. */
static inline void recorded_free_all(void) {
    while (all_recorded) {
        struct recorded *recorded = all_recorded;
        all_recorded = recorded->next;
        profile_fini(&recorded->profile);
        free(recorded);
    }
}

/* Reads a copy of the trace, which other processes may truncate meanwhile. The test fails if the file is not a trace or
 * its ledger does not balance. */
static inline struct recorded *recorded_read(const char *path) {
    size_t bytes_count = 0;
    char *bytes = file_read(path, &bytes_count);
    if (!bytes) fail_msg("%s cannot be read", path);
    struct recorded *recorded = recorded_add();
    recorded_read_input(recorded, input_from_memory((struct text){bytes, bytes_count}, 0, &recorded->failure), path);
    free(bytes);
    return recorded;
}

/* recorded_read from the file itself, whose locks show which processes still record. */
static inline struct recorded *recorded_read_in_place(const char *path) {
    struct recorded *recorded = recorded_add();
    recorded_read_input(recorded, input_open(path, &recorded->failure), path);
    return recorded;
}

/* Fails if the trace has lost anything. */
static inline void assert_nothing_lost(const struct recorded *recorded) {
    if (!ledger_has_losses(&recorded->profile.ledger)) return;
    struct profile_text *ledger = ledger_entries_text(&recorded->profile.ledger);
    fail_msg("lost:\n%s", ledger->bytes);
}

/* ---- Recording into a temporary folder of the test. ---- */

static inline void start_recording(const struct temp_folder *folder, const char *name, struct grec_options options) {
    if (name) options.path = temp_folder_file(folder, name);
    enum grec_error error = grec_start(&options);
    if (error) fail_msg("grec_start: %s", grec_error_text(error));
}

static inline struct recorded *stop_and_read(const struct temp_folder *folder, const char *name) {
    grec_stop();
    return recorded_read(temp_folder_file(folder, name));
}

/* stop_and_read for a recording that must have lost nothing. */
static inline struct recorded *stop_and_read_whole(const struct temp_folder *folder, const char *name) {
    struct recorded *recorded = stop_and_read(folder, name);
    assert_nothing_lost(recorded);
    return recorded;
}

static inline uint64_t file_size_of(const char *path) {
    struct stat status;
    return stat(path, &status) == 0 ? (uint64_t)status.st_size : 0;
}

/* A test that takes longer than this is considered to hang. */
enum { HANG_SECONDS = 600 };

/* A cmocka fixture whose state is a struct temp_folder. No recording runs before or after the test. */
static inline int set_up_folder(void **state) {
    struct temp_folder *folder = malloc(sizeof *folder);
    *state = folder;
    return folder && temp_folder_init(folder) ? 0 : -1;
}

/* set_up_folder for tests that may hang, which the alarm then ends. */
static inline int set_up_folder_and_alarm(void **state) {
    alarm(HANG_SECONDS);
    return set_up_folder(state);
}

static inline int tear_down_folder(void **state) {
    grec_stop();
    recorded_free_all();
    temp_folder_fini(*state);
    free(*state);
    return 0;
}

/* ---- Searching the profile. ---- */

/* Returns the first thread of that name, or NULL if there is none. The thread may be one that emitters do not write. */
static inline const struct thread *find_thread(const struct profile *profile, const char *name) {
    for (size_t i = 0; i < profile->threads.count; i++) {
        const struct thread *thread = column_at(&profile->threads, i);
        if (text_equal(thread->name, text_of(name))) return thread;
    }
    return NULL;
}

static inline size_t count_threads(const struct profile *profile, const char *name) {
    size_t count = 0;
    for (size_t i = 0; i < profile->threads.count; i++)
        count += text_equal(((const struct thread *)column_at(&profile->threads, i))->name, text_of(name));
    return count;
}

static inline bool marker_has_name(const struct profile *profile, const struct marker *marker, const char *name) {
    return text_equal(strings_text(&profile->strings, marker->name), text_of(name));
}

/* Returns the next marker of that name after `last`, in all threads; if `last` is NULL, the first one. Sets *thread
 * to the marker's thread unless `thread` is NULL. */
static inline const struct marker *next_marker(const struct profile *profile, const char *name,
                                               const struct marker *last, const struct thread **thread) {
    bool is_behind = !last;
    for (size_t i = 0; i < profile->threads.count; i++) {
        const struct thread *owner = column_at(&profile->threads, i);
        for (size_t j = 0; j < owner->markers.count; j++) {
            const struct marker *marker = column_at(&owner->markers, j);
            if (is_behind && marker_has_name(profile, marker, name)) {
                if (thread) *thread = owner;
                return marker;
            }
            is_behind = is_behind || marker == last;
        }
    }
    return NULL;
}

static inline const struct marker *find_marker(const struct profile *profile, const char *name,
                                               const struct thread **thread) {
    const struct marker *marker = next_marker(profile, name, NULL, thread);
    if (!marker) fail_msg("there is no marker \"%s\"", name);
    return marker;
}

static inline size_t count_markers_of(const struct profile *profile, const struct thread *thread, const char *name) {
    size_t count = 0;
    for (size_t i = 0; i < thread->markers.count; i++)
        count += marker_has_name(profile, column_at(&thread->markers, i), name);
    return count;
}

static inline size_t count_markers(const struct profile *profile, const char *name) {
    size_t count = 0;
    for (size_t i = 0; i < profile->threads.count; i++)
        count += count_markers_of(profile, column_at(&profile->threads, i), name);
    return count;
}

static inline const struct marker_schema *schema_of(const struct profile *profile, const struct marker *marker) {
    return marker->schema == MARKER_SCHEMA_NONE ? NULL : column_at(&profile->marker_schemas, marker->schema);
}

/* Returns the payload as "type{key=value,…}", or "" if there is none. The caller frees it. */
static inline struct profile_text *payload_text(const struct profile *profile, const struct marker *marker) {
    struct profile_text *out = profile_text_create();
    const struct marker_schema *schema = schema_of(profile, marker);
    if (!schema) return out;
    profile_text_add(out, schema->name);
    for (uint32_t i = 0; i < schema->field_count; i++) {
        const struct marker_field *field = &schema->fields[i];
        profile_text_add(out, i ? TEXT(",") : TEXT("{"));
        profile_text_add(out, field->key);
        profile_text_add(out, TEXT("="));
        const union marker_value value = value_of(profile, marker, i);
        profile_text_add_value(out, profile, field, field->format, &value);
    }
    if (schema->field_count) profile_text_add(out, TEXT("}"));
    return out;
}

static inline void assert_payload(const struct profile *profile, const char *name, const char *expected) {
    assert_printed(payload_text(profile, find_marker(profile, name, NULL)), expected);
}

static inline struct profile_text *stack_text(const struct profile *profile, stack_id stack) {
    struct profile_text *out = profile_text_create();
    profile_text_add_stack(out, profile, stack);
    return out;
}

static inline void assert_stack(const struct profile *profile, stack_id stack, const char *expected) {
    assert_printed(stack_text(profile, stack), expected);
}

static inline uint32_t stack_depth(const struct profile *profile, stack_id stack) {
    uint32_t depth = 0;
    for (; !stack_is_none(stack); depth++) stack = profile_stack_at(profile, stack)->prefix;
    return depth;
}

static inline const struct counter *find_counter(const struct profile *profile, const char *name) {
    for (size_t i = 0; i < profile->counters.count; i++) {
        const struct counter *counter = column_at(&profile->counters, i);
        if (text_equal(counter->name, text_of(name))) return counter;
    }
    return NULL;
}

/* ---- Numbered events: markers with one integer field that counts 0, 1, 2… The functions check which of them are in
 * the trace. ---- */

struct numbers {
    uint8_t *counts;
    uint64_t limit; /* upper bound: all numbers are below it */
    uint64_t found_count;
};

static inline void add_numbers_of(struct numbers *numbers, const struct profile *profile, const struct thread *thread,
                                  const char *name) {
    for (size_t i = 0; i < thread->markers.count; i++) {
        const struct marker *marker = column_at(&thread->markers, i);
        if (!marker_has_name(profile, marker, name)) continue;
        int64_t number = value_of(profile, marker, 0).number.mantissa;
        assert_true(number >= 0 && (uint64_t)number < numbers->limit);
        numbers->counts[number]++;
        numbers->found_count++;
    }
}

/* Collects the numbers of a thread's events, or of all threads' events if `thread` is NULL. The caller frees
 * `counts`. */
static inline struct numbers collect_numbers(const struct profile *profile, const struct thread *thread,
                                             const char *name, uint64_t limit) {
    struct numbers numbers = {calloc(limit ? limit : 1, 1), limit, 0};
    assert_non_null(numbers.counts);
    if (thread) {
        add_numbers_of(&numbers, profile, thread, name);
        return numbers;
    }
    for (size_t i = 0; i < profile->threads.count; i++)
        add_numbers_of(&numbers, profile, column_at(&profile->threads, i), name);
    return numbers;
}

/* Checks that each event from `from` up to, but not including, `end` is in the trace exactly once. */
static inline void assert_numbers(const struct numbers *numbers, uint64_t from, uint64_t end) {
    for (uint64_t i = from; i < end; i++)
        if (numbers->counts[i] != 1)
            fail_msg("event %" PRIu64 " of %" PRIu64 " is there %d times", i, numbers->limit, numbers->counts[i]);
}

/* Returns the first number from which every event to the limit is in the trace exactly once. */
static inline uint64_t first_of_tail(const struct numbers *numbers) {
    uint64_t first = numbers->limit;
    while (first && numbers->counts[first - 1] == 1) first--;
    return first;
}
