/* Reads any bytes as descriptions of generated code: a perf map and a jitdump. */
#include <stdlib.h>

#include "checked_conversion.h"
#include "readers/code/jit_code.h"
#include "readers/code/jit_records.h"
#include "source_file.h"

enum { PID = 7 };

/* Sums over the records of a file, used to compare two readings of it. */
struct reading {
    uint64_t record_count;
    uint64_t damaged_count;
    uint64_t sum;
};

static void take_record(void *context, const struct jit_record *record) {
    struct reading *reading = context;
    FUZZ_CHECK(record->size_bytes, "a record without bytes");
    uint64_t sum = (uint64_t)record->time_ns ^ record->address * 3 ^ record->size_bytes * 5 ^ record->moved_from * 7;
    for (size_t i = 0; i < record->name.bytes_count; i++) sum = sum * 31 + (unsigned char)record->name.bytes[i];
    for (size_t i = 0; i < record->eh_frame.bytes_count; i++) sum = sum * 31 + (unsigned char)record->eh_frame.bytes[i];
    reading->sum = reading->sum * 33 + sum;
    reading->record_count++;
}

static struct reading read_text(struct text text, size_t window_bytes, bool is_jitdump) {
    struct reading reading = {0};
    struct failure failure = {0};
    struct input *input = input_from_memory(text, window_bytes, &failure);
    FUZZ_CHECK(input, "no memory");
    reading.damaged_count = is_jitdump ? jit_read_dump(input, PID, PID, take_record, &reading)
                                       : jit_read_perf_map(input, take_record, &reading);
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

static void look_up(struct jit *jit, const struct jit_process *process) {
    static const uint64_t addresses[] = {0, 1, 0x1000, 0x1008, 0x2000, 0x7fff00001000, UINT64_MAX};
    static const int64_t times_ns[] = {INT64_MIN, 0, 1000, INT64_MAX};
    for (size_t i = 0; i < sizeof addresses / sizeof *addresses; i++)
        for (size_t j = 0; j < sizeof times_ns / sizeof *times_ns; j++) {
            uint64_t number = jit_find(jit, process, addresses[i], times_ns[j]);
            FUZZ_CHECK(!number || failure_is_set(jit->failure) || jit_code_at(jit, number)->name.bytes_count,
                       "a function without a name");
        }
}

/* Looks up addresses in the jitdump. */
static void check_lookup(struct text text) {
    static const struct jit_policy policy = {.map_folder = "", .opens_files = true};
    static const struct jit_process process = {.pid = PID, .changed_first_ns = INT64_MIN, .changed_last_ns = INT64_MAX};
    struct failure failure = {0};
    struct jit jit;
    source_file_fill(text);
    jit_init(&jit, &policy, &failure);
    jit_offer(&jit, &process, text_of(source_file_path));
    look_up(&jit, &process);
    jit_advance(&jit, INT64_MAX);
    if (failure_is_set(&failure)) fuzz_check_failure(&failure);
    jit_fini(&jit);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t bytes_count) {
    struct text text = {(const char *)bytes, bytes_count};
    size_t step_bytes = fuzz_take_choices(&text).step_bytes;
    check_parsing(text, step_bytes, false);
    check_parsing(text, step_bytes, true);
    if (read_text(text, 0, true).record_count) check_lookup(text);
    return 0;
}
