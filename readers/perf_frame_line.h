/* Frame lines of perf script: "<TAB>address symbol+0xoffset (library)", and the source lines behind them.
 * Layout: Linux tools/perf/util/evsel_fprintf.c, sample__fprintf_callchain. */
#ifndef GECKO_PERF_FRAME_LINE_H
#define GECKO_PERF_FRAME_LINE_H

#include <stdint.h>

#include "libconvert/text.h"

struct perf_frame_line {
    bool has_address;
    uint64_t address;
    struct text symbol; /* without its offset; empty when unknown */
    bool has_offset;
    uint64_t offset;     /* of the address in the symbol */
    struct text library; /* as printed, without "(deleted)" and offset; empty when unknown */
    bool is_inlined;     /* inlined into the next frame that is not; has no library of its own */
    bool is_cookie; /* stands for a user stack that a "DEFERRED CALLCHAIN" with this address as its cookie brings */
};

/* False when the line is no frame. The texts lie in `line`. */
bool perf_frame_line_parse(struct text line, struct perf_frame_line *out);

/* True of a frame line that has lost its indentation, as in text that was pasted somewhere. Without that, other lines
 * could be taken for one ("add ...", "18 out of order events recorded."), so more is asked of it: an address that is
 * followed by a library in parentheses or by a symbol with an offset, or one that has six digits and is no word. */
bool perf_frame_line_is_bare(struct text line);

struct perf_source_line {
    struct text file; /* empty when unknown */
    uint32_t line;    /* 1-based; 0 unknown */
    bool is_inlined;  /* "(inlined)" stands at the end of the source line, not of the frame's */
};

/* A line of -F srcline: "file.c:12", "libc.so[27b25]", ":0". False when it is none. */
bool perf_source_line_parse(struct text line, struct perf_source_line *out);

#endif
