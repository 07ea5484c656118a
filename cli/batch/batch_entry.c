#include "batch_entry.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libconvert/base/utf8.h"
#include "libconvert/report.h"

const char batch_code_refused[] = "refused", batch_code_no_trace[] = "no-trace", batch_code_empty[] = "empty";

static const struct gecko_convert_result empty_result = {
    .input_format = "", .input_title = "", .wrapping = "", .output_format = "", .output_title = ""};

/* ---- Errors of members. ---- */

enum short_code { CODE_BY_STATUS, CODE_REFUSED, CODE_NO_TRACE };

/* The error of an entry that was not converted. There may be a million of them in memory, so the struct is packed.
 * Messages begin with the name of the entry, and most of them otherwise differ only in the text that they quote, so
 * only that text is stored for each. */
struct __attribute__((packed)) short_error {
    uint32_t before; /* ids in the texts' phrases: the text before and after the quoted part */
    uint32_t after;
    uint16_t name_bytes; /* length of the part of the entry's name that begins the message */
    uint8_t status;      /* enum gecko_convert_status */
    uint8_t code;        /* enum short_code */
    char quoted[];       /* terminated; includes the quotation marks */
};

/* Refers to no phrases, so it can be used when memory runs out. */
static const struct short_error memory_error = {.before = UINT32_MAX, .status = GECKO_CONVERT_NO_MEMORY};

static const char *code_name(const struct short_error *error) {
    if (error->code == CODE_REFUSED) return batch_code_refused;
    if (error->code == CODE_NO_TRACE) return batch_code_no_trace;
    return report_status_name((enum gecko_convert_status)error->status);
}

static enum short_code short_code_of(const char *code) {
    if (!code) return CODE_BY_STATUS;
    return code == batch_code_refused ? CODE_REFUSED : CODE_NO_TRACE;
}

/* Returns the name that messages use for a member, cut to the size of a message. The name is stored in `buffer`. */
static struct text entry_name(const struct batch_entry *entry, const struct entry_texts *texts,
                              struct batch_error *buffer) {
    snprintf(buffer->message, sizeof buffer->message, "%s > %s", texts->path, entry->member);
    return text_of(buffer->message);
}

static size_t common_bytes(struct text a, struct text b) {
    size_t count = 0;
    while (count < a.bytes_count && count < b.bytes_count && a.bytes[count] == b.bytes[count]) count++;
    return count;
}

static bool is_utf8(struct text text) { return utf8_valid_prefix_bytes(text) == text.bytes_count; }

/* Returns the part of the message from its first to its last quotation mark, or an empty part at the end if it quotes
 * nothing. A message that is not valid UTF-8 counts as quoted as a whole, since the string table would change its
 * bytes. */
static struct text quoted_part(struct text message) {
    if (!is_utf8(message)) return message;
    size_t first = text_find(message, '"'), last = text_find_last(message, '"');
    return first < last && last < message.bytes_count ? text_slice(message, first, last + 1)
                                                      : text_from(message, first);
}

/* Returns NULL if memory ran out (latched). */
static const struct short_error *shorten(const struct batch_entry *entry, struct entry_texts *texts, const char *code,
                                         const struct failure *failure) {
    struct batch_error buffer;
    struct text message = text_of(failure->message), name = entry_name(entry, texts, &buffer);
    size_t name_bytes = common_bytes(message, name);
    struct text rest = text_from(message, name_bytes), quoted = quoted_part(rest);
    struct text before = {rest.bytes, (size_t)(quoted.bytes - rest.bytes)};
    struct text after = text_from(rest, before.bytes_count + quoted.bytes_count);
    string_id before_id = strings_intern(&texts->phrases, before), after_id = strings_intern(&texts->phrases, after);
    if (string_is_none(before_id) || string_is_none(after_id)) return NULL;
    char *place = arena_take_bytes(&texts->bytes, sizeof(struct short_error) + quoted.bytes_count + 1);
    if (!place) return NULL;
    struct short_error *error = (struct short_error *)place;
    *error = (struct short_error){before_id.index, after_id.index, (uint16_t)name_bytes, (uint8_t)failure->code,
                                  (uint8_t)short_code_of(code)};
    text_copy(quoted, error->quoted, quoted.bytes_count + 1);
    return error;
}

static void lengthen(const struct batch_entry *entry, const struct entry_texts *texts, struct batch_error *out) {
    const struct short_error *error = entry->error;
    *out = (struct batch_error){.code = code_name(error)};
    if (error == &memory_error) {
        struct failure failure = {0};
        failure_set_memory(&failure);
        memcpy(out->message, failure.message, sizeof out->message);
        return;
    }
    entry_name(entry, texts, out);
    struct text before = strings_text(&texts->phrases, (string_id){error->before});
    struct text after = strings_text(&texts->phrases, (string_id){error->after});
    snprintf(out->message + error->name_bytes, sizeof out->message - error->name_bytes, "%.*s%s%.*s",
             (int)before.bytes_count, before.bytes, error->quoted, (int)after.bytes_count, after.bytes);
}

/* ---- Entries. ---- */

void entry_texts_init(struct entry_texts *texts, const char *path, struct failure *failure) {
    texts->path = path;
    arena_init(&texts->bytes, failure);
    strings_init(&texts->phrases, failure);
}

void entry_texts_fini(struct entry_texts *texts) {
    arena_fini(&texts->bytes);
    strings_fini(&texts->phrases);
}

bool batch_entry_init(struct batch_entry *entry, struct entry_texts *texts, struct text member) {
    memset(entry, 0, sizeof *entry);
    if (!member.bytes_count) return true;
    entry->member = arena_copy_terminated(&texts->bytes, member);
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
    trace->result = empty_result;
    entry->trace = trace;
    entry->has_short_error = false;
    return trace;
}

static void fail_trace(struct batch_trace *trace, const char *code, const struct failure *failure) {
    struct gecko_convert_result *result = &trace->result;
    result->status = failure->code;
    memcpy(result->message, failure->message, sizeof failure->message);
    result->has_error_place = failure->has_position;
    result->error_line = failure->position.line;
    result->error_offset = failure->position.offset;
    trace->error_code = code;
}

/* Returns NULL if memory ran out now or if that is the failure. */
static struct batch_trace *trace_to_fail(struct batch_entry *entry, const struct failure *failure) {
    return failure->code == FAILURE_MEMORY ? batch_entry_trace(entry) : batch_entry_make_trace(entry);
}

void batch_entry_fail(struct batch_entry *entry, struct entry_texts *texts, enum batch_status status, const char *code,
                      const struct failure *failure) {
    bool is_short = entry->member && !batch_entry_trace(entry) && !failure->has_position;
    struct batch_trace *trace = is_short ? NULL : trace_to_fail(entry, failure);
    if (trace) {
        fail_trace(trace, code, failure);
    } else {
        const struct short_error *error =
            is_short && failure->code != FAILURE_MEMORY ? shorten(entry, texts, code, failure) : NULL;
        entry->error = error ? error : &memory_error;
        entry->has_short_error = true;
    }
    atomic_store(&entry->status, status);
}

void batch_entry_reset(struct batch_entry *entry) {
    struct batch_trace *trace = batch_entry_trace(entry);
    if (trace) {
        gecko_convert_result_fini(&trace->result);
        trace->result = empty_result;
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
    return trace ? &trace->result : &empty_result;
}

enum gecko_convert_status batch_entry_outcome(const struct batch_entry *entry) {
    if (entry->has_short_error) return (enum gecko_convert_status)entry->error->status;
    return batch_entry_result(entry)->status;
}

bool batch_entry_error(const struct batch_entry *entry, const struct entry_texts *texts, struct batch_error *error) {
    enum batch_status status = atomic_load(&entry->status);
    if (status != BATCH_FAILED && status != BATCH_NO_TRACE && status != BATCH_EMPTY) return false;
    if (entry->has_short_error) {
        lengthen(entry, texts, error);
        return true;
    }
    const struct batch_trace *trace = batch_entry_trace(entry);
    const struct gecko_convert_result *result = batch_entry_result(entry);
    bool has_code = trace && trace->error_code;
    *error = (struct batch_error){.code = has_code ? trace->error_code : report_status_name(result->status),
                                  .has_place = result->has_error_place,
                                  .line = result->error_line,
                                  .offset = result->error_offset};
    memcpy(error->message, result->message, sizeof error->message);
    return true;
}
