/* What a conversion did, for people and as JSON (docs/report.md). */
#ifndef GECKO_REPORT_H
#define GECKO_REPORT_H

#include "gecko_convert.h"
#include "writer/json.h"

enum { REPORT_TEXT_BYTES = 16 * 1024 };

/* Lines for a terminal: no control character but the line ends, cut where they do not fit. */
struct report_text {
    size_t bytes_count;
    char bytes[REPORT_TEXT_BYTES];
};

/* Two lines of a good conversion: what was read, and what was written and lost. */
void report_summary(const struct gecko_convert_options *options, const struct gecko_convert_result *result,
                    struct report_text *text);

/* The line of a failed one: where and what. */
void report_error(const struct gecko_convert_options *options, const struct gecko_convert_result *result,
                  struct report_text *text);

/* A line of the program for a message of its own: "gecko-convert: MESSAGE". */
void report_message(const char *message, struct report_text *text);

/* Parts of lines, for other tables: a line begins, texts are added, it ends. `start` is the text's bytes_count where it
 * began. */
void report_append(struct report_text *text, const char *format, ...) __attribute__((format(printf, 2, 3)));
void report_append_bytes(struct report_text *text, uint64_t bytes); /* "1.2 MB" */
void report_append_contents(const struct gecko_convert_result *result, struct report_text *text);
void report_append_losses(const struct gecko_convert_result *result, struct report_text *text);
void report_end_line(struct report_text *text, size_t start);

/* Parts of the report as JSON, for others: members with their keys. */
void report_write_counts(struct json *json, const struct gecko_convert_counts *counts);
void report_write_ledger(struct json *json, const struct gecko_convert_result *result);
void report_write_place(struct json *json, bool is_known, uint64_t line, uint64_t offset);

/* "input" of GECKO_CONVERT_BAD_INPUT. Static. */
const char *report_status_name(enum gecko_convert_status status);

/* The report as JSON, with a line end behind it, appended to the list. Running out of memory is latched in the
 * list's failure. */
void report_json(const struct gecko_convert_options *options, const struct gecko_convert_result *result,
                 struct chunk_list *out);

#endif
