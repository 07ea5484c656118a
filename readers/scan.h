/* Lines of an input, without copying where they lie in one window. */
#ifndef GECKO_SCAN_H
#define GECKO_SCAN_H

#include "input.h"

/* A longer line is cut to this, and counted: a bound on memory. */
enum { SCAN_LINE_BYTES_MAX = 4 * 1024 * 1024 };

struct scan {
    struct input *input;      /* borrowed */
    const char *next;         /* first byte of the next line */
    const char *window_end;   /* end of the bytes at hand */
    const char *window_start; /* what was peeked and is not consumed yet */
    struct position position; /* of the line that scan_line returned last */
    uint64_t next_offset;
    uint64_t cut_line_count; /* lines longer than SCAN_LINE_BYTES_MAX */
    struct position first_cut;
    bool is_inside_cut; /* the rest of a cut line is still to be skipped */
};

void scan_init(struct scan *scan, struct input *input);

/* The next line without its end (LF or CR LF); false at the end of the input. Valid until the next call. The last
 * line needs no LF. NUL bytes are bytes like others. */
bool scan_line(struct scan *scan, struct text *line);

#endif
