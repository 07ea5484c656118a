/* Parses the text of perf script in one pass over its lines. An event line opens a sample, frame lines fill its stack,
 * and a blank line or the next event line closes it. Records are single lines between samples. */
#ifndef GECKO_SCRIPT_PARSER_H
#define GECKO_SCRIPT_PARSER_H

#include "readers/input/input.h"
#include "readers/perf/perf_record.h"

/* Parses the whole input, emits its records, and adds to the tallies what became of its lines. Stops after a failure
 * (latched). */
void script_parse(struct input *input, struct perf_sink sink, struct perf_tallies *tallies, struct failure *failure);

#endif
