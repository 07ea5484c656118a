#include "batch_entry.h"

#include <stdlib.h>
#include <string.h>

#include "libconvert/conversion.h"
#include "libconvert/report.h"

const char batch_code_refused[] = "refused", batch_code_no_trace[] = "no-trace", batch_code_empty[] = "empty";

/* ---- Errors of members. ---- */

/* The error of an entry that is not known to be a trace. There may be many in memory. */
struct short_error {
    enum gecko_convert_status status;
    const char *code; /* static; NULL: derived from the status */
    const char *message;
};

static const struct short_error memory_error = {.status = GECKO_CONVERT_NO_MEMORY, .message = "memory ran out"};

/* Returns NULL if memory ran out (latched). */
static const struct short_error *shorten(struct arena *texts, const char *code, const struct failure *failure) {
    struct short_error *error = arena_take_aligned(texts, sizeof *error);
    if (!error) return NULL;
    *error = (struct short_error){failure->code, code, arena_copy_terminated(texts, text_of(failure->message))};
    return error->message ? error : NULL;
}

/* ---- Entries. ---- */

bool batch_entry_init(struct batch_entry *entry, struct arena *texts, struct text member) {
    memset(entry, 0, sizeof *entry);
    if (!member.bytes_count) return true;
    entry->member = arena_copy_terminated(texts, member);
    return entry->member;
}

void batch_entry_fini(struct batch_entry *entry) {
    struct batch_trace *trace = batch_entry_trace(entry);
    if (!trace) return;
    free(trace->output);
    gecko_convert_result_fini(&trace->result);
    free(trace);
    entry->trace = NULL;
}

struct batch_trace *batch_entry_make_trace(struct batch_entry *entry) {
    struct batch_trace *trace = batch_entry_trace(entry);
    if (trace) return trace;
    trace = calloc(1, sizeof *trace);
    if (!trace) return NULL;
    trace->result = conversion_no_result;
    entry->trace = trace;
    entry->has_short_error = false;
    return trace;
}

static void fail_trace(struct batch_trace *trace, const char *code, const struct failure *failure) {
    report_give_failure(&trace->result, failure);
    trace->error_code = code;
}

/* Returns NULL if memory ran out now or if that is the failure. */
static struct batch_trace *trace_to_fail(struct batch_entry *entry, const struct failure *failure) {
    return failure->code == FAILURE_MEMORY ? batch_entry_trace(entry) : batch_entry_make_trace(entry);
}

void batch_entry_fail(struct batch_entry *entry, struct arena *texts, enum batch_status status, const char *code,
                      const struct failure *failure) {
    bool is_short = entry->member && !batch_entry_trace(entry) && !failure->has_position;
    struct batch_trace *trace = is_short ? NULL : trace_to_fail(entry, failure);
    if (trace) {
        fail_trace(trace, code, failure);
    } else {
        const struct short_error *error =
            is_short && failure->code != FAILURE_MEMORY ? shorten(texts, code, failure) : NULL;
        entry->error = error ? error : &memory_error;
        entry->has_short_error = true;
    }
    atomic_store(&entry->status, status);
}

void batch_entry_reset(struct batch_entry *entry) {
    struct batch_trace *trace = batch_entry_trace(entry);
    if (trace) {
        gecko_convert_result_fini(&trace->result);
        trace->result = conversion_no_result;
        trace->error_code = NULL;
    } else {
        entry->trace = NULL;
        entry->has_short_error = false;
    }
    atomic_store(&entry->status, BATCH_PENDING);
}

void batch_entry_set_digest(struct batch_entry *entry, struct input_digest digest) {
    entry->digest = digest;
    atomic_store(&entry->has_digest, true);
}

const struct gecko_convert_result *batch_entry_result(const struct batch_entry *entry) {
    const struct batch_trace *trace = batch_entry_trace(entry);
    return trace ? &trace->result : &conversion_no_result;
}

enum gecko_convert_status batch_entry_outcome(const struct batch_entry *entry) {
    if (entry->has_short_error) return entry->error->status;
    return batch_entry_result(entry)->status;
}

bool batch_entry_error(const struct batch_entry *entry, struct batch_error *error) {
    enum batch_status status = atomic_load(&entry->status);
    if (status != BATCH_FAILED && status != BATCH_NO_TRACE && status != BATCH_EMPTY) return false;
    const struct batch_trace *trace = batch_entry_trace(entry);
    const struct gecko_convert_result *result = batch_entry_result(entry);
    *error = (struct batch_error){.code = trace ? trace->error_code : NULL,
                                  .has_place = result->has_error_place,
                                  .line = result->error_line,
                                  .offset = result->error_offset,
                                  .message = result->message};
    if (entry->has_short_error)
        *error = (struct batch_error){.code = entry->error->code, .message = entry->error->message};
    if (!error->code) error->code = report_status_name(batch_entry_outcome(entry));
    return true;
}
