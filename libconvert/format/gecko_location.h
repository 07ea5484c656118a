/* The location of a function: one text from which the client derives, by patterns, the function's name, kind, library
 * or file, line and column (process-profile.ts, extractFuncsAndResourcesFromFrameLocations).
 *
 * Most functions can be written in several forms. The first form that reads back, by the client's rules, as what was
 * meant is used. */
#pragma once

#include <stdint.h>

#include "libconvert/base/byte_buffer.h"

enum location_kind {
    LOCATION_LABEL,    /* only a name */
    LOCATION_LIBRARY,  /* a name and a library */
    LOCATION_SCRIPT,   /* JavaScript: a name, a file, a line and possibly a column */
    LOCATION_MALFORMED /* text that no function should become: "0x" without a number, a script without a name */
};

/* The parts of a location. */
struct location_parts {
    enum location_kind kind;
    struct text name;
    struct text container; /* the library or file; empty for labels */
    uint32_t line;         /* 1-based; 0 if unknown, which the client shows as line 0 */
    uint32_t column;       /* 1-based; 0 if unknown */
    bool has_source;       /* the number of the file in the sources table follows in brackets */
    uint32_t source;       /* the number in brackets; set by location_read */
};

/* Changes that make the client read the rest of a location correctly. */
enum location_change {
    LOCATION_SPACE_ADDED,       /* a space was added to the name, at one end or both */
    LOCATION_LINES_JOINED,      /* the name's line breaks became spaces */
    LOCATION_BRACKETS_REPLACED, /* the library's parentheses became square brackets */
    LOCATION_CHANGE_COUNT
};

struct location {
    struct text text; /* valid until the next location is written into its buffer */
    bool has_source;  /* "[n]" must follow, where n is the row of the file in the process's sources table */
    unsigned changes; /* bits 1 << enum location_change */
};

/* Returns the location of a label, a function in a library or a script. The buffer, whose bytes are lost, holds its
 * text, which is empty if memory ran out (latched). */
struct location location_write(struct byte_buffer *buffer, const struct location_parts *parts);

/* Parses a location as the client does. The texts point into the location. */
struct location_parts location_read(struct text location);

/* Frames with a higher rank must precede others in a thread's frame table. If the name of a library function is the
 * whole location of an earlier frame, the client drops the function's library. */
enum { LOCATION_RANK_COUNT = 256 };
uint8_t location_rank(struct text location);
