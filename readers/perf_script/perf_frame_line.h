/* Frame lines of perf script, "<TAB>address symbol+0xoffset (library)", and the source lines that follow them.
 * Layout: Linux tools/perf/util/evsel_fprintf.c, sample__fprintf_callchain. */
#ifndef GECKO_PERF_FRAME_LINE_H
#define GECKO_PERF_FRAME_LINE_H

#include <stdint.h>

#include "libconvert/base/text.h"

struct perf_frame_line {
    bool has_address;
    uint64_t address;
    struct text symbol; /* without its offset; empty if unknown */
    bool is_unknown;    /* perf printed "[unknown]" for the symbol, or for the library and no symbol */
    bool has_offset;
    uint64_t offset;     /* distance of the address from the symbol's start */
    struct text library; /* as printed, without "(deleted)" and offset; empty if unknown */
    bool is_inlined;     /* inlined into the next frame that is not inlined; has no library of its own */
    bool is_cookie; /* stands for a user stack, which follows in a "DEFERRED CALLCHAIN" whose cookie is this address */
};

/* What a symbol depends on besides its name and library. */
enum perf_frame_form { FRAME_HAS_ADDRESS = 1, FRAME_HAS_START = 2, FRAME_IS_INLINED = 4, FRAME_IN_KERNEL_HALF = 8 };

/* Returns the flags of enum perf_frame_form. */
uint32_t perf_frame_line_form(const struct perf_frame_line *frame);

/* Returns false if the line is not a frame line. The texts in *out point into `line`. */
bool perf_frame_line_parse(struct text line, struct perf_frame_line *out);

/* True for a frame line that has lost its indentation, for instance in text that was pasted from elsewhere. Other lines
 * can look like an unindented frame line ("add ...", "18 out of order events recorded."), so the address must be
 * followed by a library in parentheses or a symbol with an offset, or have six digits and not be a word. */
bool perf_frame_line_is_bare(struct text line);

struct perf_source_line {
    struct text file; /* empty if unknown */
    uint32_t line;    /* 1-based; 0 if unknown */
    bool is_inlined;  /* "(inlined)" ends the source line, not the frame line */
};

/* Parses a line of -F srcline: "file.c:12", "libc.so[27b25]" or ":0". Returns false if the line is none of these. */
bool perf_source_line_parse(struct text line, struct perf_source_line *out);

#endif
