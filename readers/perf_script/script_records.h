/* Records that perf script --show-task-events, --show-mmap-events and the like print between samples, each on a line.
 */
#pragma once

#include "libconvert/base/strings.h"
#include "readers/perf/perf_record.h"
#include "script_event_line.h"

/* Returns the text from "PERF_RECORD_" on if the event line is a record, otherwise an empty text. `line` is the whole
 * line. */
struct text script_record_of(const struct script_event_line *event_line, struct text line);

/* Returns whether the line has nothing before "PERF_RECORD_": perf prints a record of its own so. */
bool script_record_is_bare(struct text line);

struct script_records {
    struct perf_sink sink;
    struct perf_tallies *tallies; /* borrowed */
    struct strings losses;        /* causes */
    struct perf_record open;      /* a NAMESPACES record whose lines are being read, if namespaces_left is not 0 */
    struct perf_namespace namespaces[PERF_NAMESPACES_MAX];
    uint32_t namespaces_left; /* how many of them are still to be read */
    bool has_bytes;           /* lines with the bytes of a TEXT_POKE record may follow */
};

/* Emits the record, unless it is lost, and what became of it. */
void script_records_read(struct script_records *records, const struct script_event_line *event_line, struct text record,
                         struct position position);

/* Reads the line after a record or after a line that belonged to it. Returns false, and ends the record, if the line
 * does not belong to it. */
bool script_records_read_more(struct script_records *records, struct text trimmed);

/* Ends the last record. If lines of it are missing, it is malformed. */
void script_records_end(struct script_records *records);
