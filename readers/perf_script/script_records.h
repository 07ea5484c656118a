/* Records that perf script --show-task-events, --show-mmap-events and the like print between samples, each on a line.
 */
#pragma once

#include "libconvert/base/strings.h"
#include "readers/perf/perf_record.h"
#include "script_event_line.h"

/* Returns the text from "PERF_RECORD_" on if the event line is a record, otherwise an empty text. `line` is the whole
 * line. */
struct text script_record_of(const struct script_event_line *event_line, struct text line);

struct script_records {
    struct perf_sink sink;
    struct strings losses; /* causes */
};

/* Emits the record, unless it is lost, and what became of it. */
void script_records_read(struct script_records *records, const struct script_event_line *event_line, struct text record,
                         struct position position);
