/* Splits an input into lines. A line within one window is not copied. */
#pragma once

#include "input.h"

/* Bounds memory. A longer line is cut to this length and counted. */
enum { SCAN_LINE_BYTES_MAX = 4 * 1024 * 1024 };

struct scan {
    struct input *input;      /* borrowed */
    const char *next;         /* first byte of the next line */
    const char *window_end;   /* end of the available bytes */
    const char *window_start; /* start of the bytes that were peeked and not consumed */
    struct position position; /* place of the line that scan_line last returned */
    uint64_t next_offset;
    uint64_t cut_line_count; /* lines longer than SCAN_LINE_BYTES_MAX */
    struct position first_cut;
    bool is_inside_cut; /* the rest of a cut line must still be skipped */
};

void scan_init(struct scan *scan, struct input *input);

/* Sets *line to the next line without its end (LF or CR LF). It is valid until the next call. The last line needs no
 * end. A NUL is an ordinary byte. Returns false at the end of the input. */
bool scan_line(struct scan *scan, struct text *line);
