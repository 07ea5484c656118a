/* Reads any bytes as descriptions of generated code: a perf map and a jitdump. */
#include <stdlib.h>

#include "checked_conversion.h"
#include "readers/trace/trace_jit.h"
#include "readers/trace/trace_jitdump.h"
#include "source_file.h"

enum { PID = 7 };

/* Sums over the records of a file, used to compare two readings of it. */
struct reading {
    uint64_t record_count;
    uint64_t damaged_count;
    uint64_t sum;
};

static void take_record(void *context, const struct trace_jit_record *record) {
    struct reading *reading = context;
    FUZZ_CHECK(record->size_bytes, "a record without bytes");
    uint64_t sum = (uint64_t)record->time_ns ^ record->address * 3 ^ record->size_bytes * 5 ^ record->moved_from * 7;
    for (size_t i = 0; i < record->name.bytes_count; i++) sum = sum * 31 + (unsigned char)record->name.bytes[i];
    reading->sum = reading->sum * 33 + sum;
    reading->record_count++;
}

static struct reading read_text(struct text text, size_t window_bytes, bool is_jitdump) {
    struct reading reading = {0};
    struct failure failure = {0};
    struct input *input = input_from_memory(text, window_bytes, &failure);
    FUZZ_CHECK(input, "no memory");
    reading.damaged_count = is_jitdump ? trace_jitdump_read(input, PID, take_record, &reading)
                                       : trace_perf_map_read(input, take_record, &reading);
    FUZZ_CHECK(!failure_is_set(&failure), "%s", failure.message);
    input_close(input);
    return reading;
}

static void check_parsing(struct text text, size_t step_bytes, bool is_jitdump) {
    struct reading whole = read_text(text, 0, is_jitdump), pieces = read_text(text, step_bytes, is_jitdump);
    FUZZ_CHECK(whole.record_count == pieces.record_count && whole.damaged_count == pieces.damaged_count &&
                   whole.sum == pieces.sum,
               "%llu and %llu records", (unsigned long long)whole.record_count,
               (unsigned long long)pieces.record_count);
}

/* ---- Looking up. ---- */

static void look_up(struct trace_jit *jit, const struct trace_process *process, const struct profile *profile) {
    static const uint64_t addresses[] = {0, 1, 0x1000, 0x1008, 0x2000, 0x7fff00001000, UINT64_MAX};
    static const int64_t ticks[] = {0, 1000, INT64_MAX / 4};
    for (size_t i = 0; i < sizeof addresses / sizeof *addresses; i++)
        for (size_t j = 0; j < sizeof ticks / sizeof *ticks; j++) {
            struct trace_jit_code code;
            if (trace_jit_find(jit, process, addresses[i], ticks[j], &code) != TRACE_JIT_FOUND) continue;
            FUZZ_CHECK(failure_is_set(profile->failure) || code.name.bytes_count, "a function without a name");
        }
}

/* Looks up addresses in the jitdump, as for a trace that was just recorded. */
static void check_lookup(struct text text) {
    struct failure failure = {0};
    struct profile profile;
    struct trace_ledger ledger = {0};
    struct trace_definitions definitions;
    struct trace_clock clock;
    struct trace_tasks tasks;
    struct trace_jit jit;
    source_file_fill(text);
    profile_init(&profile, &failure);
    trace_definitions_init(&definitions, &profile, &ledger);
    trace_clock_init(&clock, true, TRACE_CLOCK_RATE_MIN, 0, 0, &failure);
    trace_tasks_init(&tasks, &profile);
    trace_jit_init(&jit, &profile, &definitions, &clock, &(struct reader_options){.perf_map_folder = ""});
    jit.is_of_this_boot = true;
    const struct trace_process *process = trace_tasks_process(&tasks, PID, 0);
    struct trace_jitdump *dump = column_push(&definitions.jitdumps);
    FUZZ_CHECK(process && dump, "no memory");
    *dump = (struct trace_jitdump){.pid = PID, .path = text_of(source_file_path)};
    trace_clock_finish(&clock);
    trace_jit_make_ready(&jit);
    look_up(&jit, process, &profile);
    if (failure_is_set(&failure)) fuzz_check_failure(&failure);
    trace_jit_fini(&jit);
    trace_tasks_fini(&tasks);
    trace_clock_fini(&clock);
    trace_definitions_fini(&definitions);
    profile_fini(&profile);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t bytes_count) {
    struct text text = {(const char *)bytes, bytes_count};
    size_t step_bytes = fuzz_take_choices(&text).step_bytes;
    check_parsing(text, step_bytes, false);
    check_parsing(text, step_bytes, true);
    if (read_text(text, 0, true).record_count) check_lookup(text);
    return 0;
}
