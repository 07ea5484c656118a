/* The location of a function: the one text from which the client derives, by patterns, the function's name, kind,
 * library or file, line and column (process-profile.ts, extractFuncsAndResourcesFromFrameLocations).
 *
 * There are several ways to write most functions. A form is chosen by reading it back as the client does: the first
 * one counts that the client takes for what is meant. */
#ifndef GECKO_LOCATION_H
#define GECKO_LOCATION_H

#include <stdint.h>

#include "libconvert/failure.h"
#include "libconvert/text.h"

enum code_place_kind {
    PLACE_LABEL,    /* a name alone */
    PLACE_LIBRARY,  /* a name and a library */
    PLACE_SCRIPT,   /* JavaScript: a name, a file, a line, perhaps a column */
    PLACE_MALFORMED /* what no function is meant to be: 0x and no number, a script without a name */
};

/* What a location says. */
struct code_place {
    enum code_place_kind kind;
    struct text name;
    struct text container; /* the library, the file; empty for labels */
    uint32_t line;         /* 1-based; 0 unknown, which the client takes for line 0 */
    uint32_t column;       /* 1-based; 0 unknown */
    bool has_source;       /* a number in brackets follows: the file is a row of the sources table */
};

/* What had to be written otherwise for the client to read the rest. */
enum location_change {
    LOCATION_SPACE_ADDED,   /* to the name, at one end or both */
    LOCATION_LINES_JOINED,  /* the name's line breaks became spaces */
    LOCATION_BRACKETS_BENT, /* the library's round brackets became square ones */
    LOCATION_CHANGE_COUNT
};

struct location {
    struct text text; /* of the writer; valid until it writes the next one */
    bool has_source;  /* "[n]" is to follow, n the row of the file in the process's sources table */
    unsigned changes; /* 1 << enum location_change */
};

struct location_writer {
    struct failure *failure; /* borrowed */
    char *bytes;
    size_t capacity_bytes;
};

void location_writer_init(struct location_writer *writer, struct failure *failure);
void location_writer_fini(struct location_writer *writer);

/* The location of a label, a function in a library or a script. Its text is empty when memory ran out (latched). */
struct location location_write(struct location_writer *writer, const struct code_place *place);

/* What the client makes of a location. Texts lie in the location. */
struct code_place location_read(struct text location);

/* Higher ranks go first in a thread's frame table: a library function whose name stands in an earlier frame as a
 * location of its own loses its library. */
enum { LOCATION_RANK_COUNT = 256 };
uint8_t location_rank(struct text location);

#endif
