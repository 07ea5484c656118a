/* What a conversion did, as lines for people and as JSON (docs/report.md). */
#pragma once

#include "libconvert/base/failure.h"
#include "writer/json.h"

enum { REPORT_TEXT_BYTES = 16 * 1024 };

/* Lines for a terminal. They have no control characters but line ends, and are cut if they do not fit. */
struct report_text {
    size_t bytes_count;
    char bytes[REPORT_TEXT_BYTES];
};

/* Writes two lines about a good conversion: what was read, and what was written and lost; and a third one about missing
 * names, if more than one sample in a hundred is in a function without a name. */
void report_summary(const struct gecko_convert_options *options, const struct gecko_convert_result *result,
                    struct report_text *text);

/* Returns what messages call the input: its name, its path, "standard input" or "the input". Borrowed. */
const char *report_input_name(const struct gecko_convert_options *options);

/* Returns what messages call the input at that path: the path or "standard input". Borrowed. */
const char *report_path_name(const char *path);

/* Writes a line about one of several inputs: what was read and how it was placed on the timeline. */
void report_input(const struct gecko_convert_result *result, size_t number, struct report_text *text);

/* Writes a line about a failed conversion: where, and what. */
void report_error(const struct gecko_convert_options *options, const struct gecko_convert_result *result,
                  struct report_text *text);

/* Compose a line from parts. `start` is the text's bytes_count where the line began; report_end_line ends it. */
void report_append(struct report_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void report_append_bytes(struct report_text *text, uint64_t bytes); /* "1.2 MB" */
/* "app.txt:12: ", or "app.data: at byte 5: " if the line is 0: the trace has no lines. Of the first line, which may be
 * all of a JSON document, both: "app.json:1: at byte 5: ". */
void report_append_place(struct report_text *text, const char *name, uint64_t line, uint64_t offset);
void report_append_input(const struct gecko_convert_result *result, size_t number, struct report_text *text);
void report_append_read(const struct gecko_convert_options *options, const struct gecko_convert_result *result,
                        struct report_text *text);
void report_append_contents(const struct gecko_convert_result *result, struct report_text *text);
/* "; source files: 12 embedded, 3 not found", or nothing if no files were to be embedded. */
void report_append_sources(const struct gecko_convert_result *result, struct report_text *text);
void report_append_losses(const struct gecko_convert_result *result, struct report_text *text);
/* "app 92 % (no file with its build id; try --debug-dir)" for one row of the missing names. */
void report_append_missing_name(const struct gecko_convert_result *result, size_t number, struct report_text *text);
/* Whole lines: "names missing: app 92 % (…), kernel 3 % (…)", unless hardly any are; filters that have named no event;
 * how to record whole stacks; and tracks that cannot be divided. */
void report_append_advice(const struct gecko_convert_result *result, struct report_text *text);
void report_end_line(struct report_text *text, size_t start);

/* Makes the failure that of the conversion. */
void report_give_failure(struct gecko_convert_result *result, const struct failure *failure);
/* Replaces the failure with that of the conversion. Does nothing if the conversion succeeded. */
void report_take_failure(struct failure *failure, const struct gecko_convert_result *result);

/* Write parts of the report as JSON: members with their keys. report_write_inputs writes nothing if there is only one
 * input, and report_write_missing_names if none are missing. */
void report_write_counts(struct json *json, const struct gecko_convert_counts *counts);
void report_write_inputs(struct json *json, const struct gecko_convert_result *result);
void report_write_missing_names(struct json *json, const struct gecko_convert_result *result);
void report_write_ledger(struct json *json, const struct gecko_convert_result *result);
void report_write_error(struct json *json, const struct failure *failure); /* "error": null, or an object */
void report_write_place(struct json *json, bool is_known, uint64_t line, uint64_t offset);

/* Returns "input" for GECKO_CONVERT_BAD_INPUT, and so on. Static. */
const char *report_status_name(enum gecko_convert_status status);

/* Appends the report as JSON and a line end to the list. Running out of memory is latched in the list's failure. */
void report_json(const struct gecko_convert_options *options, const struct gecko_convert_result *result,
                 struct chunk_list *out);
