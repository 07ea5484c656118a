/* Numbers the frame lines and source lines of a text: equal lines have one number, and are parsed and emitted once. A
 * line is recognised by a 128-bit hash (index_set_identity), so a known line costs one hash and one look-up. */
#pragma once

#include "libconvert/base/column.h"
#include "libconvert/base/index_set.h"
#include "readers/perf/perf_record.h"

struct script_lines {
    struct perf_sink sink;
    struct index_set index;
    struct column hashes; /* struct index_identity, by number */
};

void script_lines_init(struct script_lines *lines, struct perf_sink sink, struct failure *failure);
void script_lines_fini(struct script_lines *lines);

/* Takes the place of a number: the line is the cookie of a deferred user stack. */
static const uint32_t SCRIPT_LINE_COOKIE = UINT32_MAX - 1;

/* Returns the number of a frame line, or SCRIPT_LINE_COOKIE, and sets *cookie then. Returns ID_NONE if it is no frame
 * line, or memory ran out (latched). */
uint32_t script_lines_frame(struct script_lines *lines, struct text line, uint64_t *cookie);

/* Returns the number of a source line; ID_NONE if it is none, or memory ran out (latched). */
uint32_t script_lines_source(struct script_lines *lines, struct text line);
