/* What DWARF says of an address: the function, those inlined into it there, and the line of each. Sole user of libdw's
 * reading of DWARF.
 *
 * Units are read one after the other as addresses ask for them, so ascending addresses cost one reading of each. Memory
 * is bounded: what libdw has gathered is thrown away every now and then. Whatever is wrong with the DWARF, the worst
 * answer is that nothing is known. */
#ifndef GECKO_SYMBOL_LINES_H
#define GECKO_SYMBOL_LINES_H

#include "debug_file.h"
#include "failure.h"

struct symbol_lines;

/* A function that is running at an address, or inlined there. Texts are terminated, NULL where not known, and stand
 * until the next look-up. */
struct symbol_call {
    const char *name;          /* as linkers see it, or as its source has it */
    const char *file;          /* of the line that runs */
    const char *folder;        /* what a relative file is relative to */
    uint32_t line;             /* that runs, 1-based; 0 unknown */
    uint32_t column;           /* 1-based; 0 unknown */
    uint32_t declaration_line; /* where the function is, in the same file; 0 unknown, or in another file */
};

enum { SYMBOL_CALLS_MAX = 256 };

/* Returns NULL when the file has no DWARF that can be read, or when memory ran out (latched). When memory runs out inside
 * libdw, the process may end by child_leave or crash. `supplement` is what the file's debug information shares with that
 * of other files; NULL: nothing. Both files must stay open until symbol_lines_destroy. */
struct symbol_lines *symbol_lines_create(const struct debug_file *file, const struct debug_file *supplement,
                                         struct failure *failure);
void symbol_lines_destroy(struct symbol_lines *lines);

/* The calls at the address, the physical function first, then those inlined into the one before; returns how many. 0:
 * nothing is known, or memory ran out (latched). The first one may have no name, only a line. */
size_t symbol_lines_find(struct symbol_lines *lines, uint64_t address, struct symbol_call calls[SYMBOL_CALLS_MAX]);

#endif
