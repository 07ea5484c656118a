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

/* Parts of lines, for other tables. */
void report_append_bytes(struct report_text *text, uint64_t bytes); /* "1.2 MB" */

/* Parts of the report as JSON, for others: members with their keys. */
void report_write_ledger(struct json *json, const struct gecko_convert_result *result);

/* The report as JSON, with a line end behind it, appended to the list. Running out of memory is latched in the
 * list's failure. */
void report_json(const struct gecko_convert_options *options, const struct gecko_convert_result *result,
                 struct chunk_list *out);

#endif
