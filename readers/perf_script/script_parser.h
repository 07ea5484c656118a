/* Parses the text of perf script in one pass over its lines. An event line opens a sample, frame lines fill its stack,
 * and a blank line or the next event line closes it. Records are single lines between samples. */
#pragma once

#include "readers/input/input.h"
#include "readers/perf/perf_record.h"

/* Parses the whole input, emits its records, and adds to the tallies what became of its lines. Stops after a failure
 * (latched). */
void script_parse(struct input *input, struct perf_sink sink, struct perf_tallies *tallies, struct failure *failure);

/* Returns whether the line is a message that perf and its helpers write to the same stream: "Failed to open …". */
bool script_is_message(struct text line);

/* Recognises the source code that -F srccode prints: "|12       return 0;". */
bool script_is_source_code(struct text line);
