/* Frame lines of perf script, "<TAB>address symbol+0xoffset (library)", and the source lines that follow them.
 * Layout: Linux tools/perf/util/evsel_fprintf.c, sample__fprintf_callchain. */
#pragma once

#include "readers/perf/perf_record.h"

/* Returns false if the line is not a frame line. The texts in *out point into `line`. */
bool script_frame_line_parse(struct text line, struct perf_frame_line *out);

/* True for a frame line that has lost its indentation, for instance in text that was pasted from elsewhere. Other lines
 * can look like an unindented frame line ("add ...", "18 out of order events recorded."), so the address must be
 * followed by a library in parentheses or a symbol with an offset, or have six digits and not be a word. */
bool script_frame_line_is_bare(struct text line);

/* Returns whether the line is a frame line, indented or not. */
bool script_frame_line_is_any(struct text line);

/* Parses a line of -F srcline: "file.c:12", "libc.so[27b25]" or ":0". Returns false if the line is none of these. */
bool script_source_line_parse(struct text line, struct perf_source_line *out);
