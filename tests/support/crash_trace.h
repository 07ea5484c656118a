/* Reads traces that a crash has left, with the converter's reader. */
#pragma once

#include <fcntl.h>
#include <sys/stat.h>

#include "readers/reader.h"
#include "recorder/trace_format.h"
#include "tests/support/crash_process.h"
#include "tests/support/marker_value.h"
#include "tests/support/profile_check.h"
#include "tests/support/profile_text.h"

struct crash_trace {
    unsigned char *bytes; /* the file's */
    size_t bytes_count;
    struct failure failure;
    struct profile profile;
};

static inline const struct trace_header *crash_trace_header(const struct crash_trace *trace) {
    return (const struct trace_header *)trace->bytes;
}

/* Reads a trace from memory. If the trace cannot be read, trace->failure is set. */
static inline void crash_trace_read_bytes(struct crash_trace *trace, struct text bytes) {
    struct reader_options options = {0};
    trace->failure = (struct failure){0};
    profile_init(&trace->profile, &trace->failure);
    struct input *input = input_from_memory(bytes, 0, &trace->failure);
    if (input) reader_trace.run(input, &trace->profile, &options);
    profile_finish(&trace->profile);
    input_close(input);
}

/* Reads the trace in a file. Returns false if the file cannot be opened. The caller frees the trace with
 * crash_trace_fini. */
static inline bool crash_trace_read(struct crash_trace *trace, const char *path) {
    struct stat status;
    *trace = (struct crash_trace){0};
    int file = open(path, O_RDONLY | O_CLOEXEC);
    if (file < 0) return false;
    if (fstat(file, &status) != 0) abort();
    trace->bytes_count = (size_t)status.st_size;
    trace->bytes = mmap(NULL, trace->bytes_count ? trace->bytes_count : 1, PROT_READ, MAP_PRIVATE, file, 0);
    if (trace->bytes == MAP_FAILED) abort();
    close(file);
    crash_trace_read_bytes(trace, (struct text){(const char *)trace->bytes, trace->bytes_count});
    return true;
}

static inline void crash_trace_fini(struct crash_trace *trace) {
    profile_fini(&trace->profile);
    if (trace->bytes) munmap(trace->bytes, trace->bytes_count ? trace->bytes_count : 1);
}

/* Returns the losses in the ledger, one cause a line. The caller frees the text. */
static inline char *crash_trace_losses(const struct crash_trace *trace) {
    char *text = NULL;
    size_t bytes_count;
    FILE *out = open_memstream(&text, &bytes_count);
    if (!out) abort();
    for (size_t i = 0; i < trace->profile.ledger.entries.count; i++) {
        const struct ledger_entry *entry = ledger_at(&trace->profile.ledger, i);
        if (entry->fate == LEDGER_LOST)
            fprintf(out, "%llu %.*s\n", (unsigned long long)entry->count, (int)entry->cause.bytes_count,
                    entry->cause.bytes);
    }
    fclose(out);
    return text;
}

/* Returns the sum of the ledger's counts for a cause, whatever their fate. */
static inline uint64_t crash_trace_count(const struct crash_trace *trace, const char *cause) {
    uint64_t count = 0;
    for (size_t i = 0; i < trace->profile.ledger.entries.count; i++) {
        const struct ledger_entry *entry = ledger_at(&trace->profile.ledger, i);
        if (text_equal(entry->cause, text_of(cause))) count += entry->count;
    }
    return count;
}

/* Returns NULL if the trace was read, nothing is lost, and its profile is sound. Otherwise returns a description of
 * the first fault, which the caller frees. */
static inline char *crash_trace_fault(const struct crash_trace *trace) {
    if (failure_is_set(&trace->failure)) return strdup(trace->failure.message);
    const char *fault = profile_fault(&trace->profile);
    if (fault) return strdup(fault);
    if (!ledger_is_balanced(&trace->profile.ledger)) return strdup("the ledger does not balance");
    char *losses = crash_trace_losses(trace);
    if (*losses) return losses;
    free(losses);
    return NULL;
}

/* Returns the integer value of a marker's field, or -1 if there is none. */
static inline int64_t crash_marker_integer(const struct profile *profile, const struct marker *marker, uint32_t field) {
    const struct marker_schema *schema = column_at(&profile->marker_schemas, marker->schema);
    if (field >= schema->field_count) return -1;
    const union marker_value value = value_of(profile, marker, field);
    enum marker_value_kind kind = marker_format_kind(schema->fields[field].format);
    return kind == VALUE_NUMBER && value.number.scale == 0 ? value.number.mantissa : -1;
}

/* Returns the text value of a marker's field, or an empty text if there is none. */
static inline struct text crash_marker_text(const struct profile *profile, const struct marker *marker,
                                            uint32_t field) {
    const struct marker_schema *schema = column_at(&profile->marker_schemas, marker->schema);
    if (field >= schema->field_count) return (struct text){0};
    const union marker_value value = value_of(profile, marker, field);
    switch (marker_format_kind(schema->fields[field].format)) {
        case VALUE_TEXT: return value.text;
        case VALUE_STRING:
            return string_is_none(value.string) ? (struct text){0} : strings_text(&profile->strings, value.string);
        default: return (struct text){0};
    }
}
