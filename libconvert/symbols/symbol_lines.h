/* What DWARF says about an address: the function, those inlined into it there, and the line of each.
 *
 * Units are read when an address needs them, so with ascending addresses each is read once. Memory is bounded, since
 * libdw is started again after a fixed number of units. However damaged the DWARF is, at worst nothing is known about
 * an address. */
#pragma once

#include <limits.h>

#include "debug_file.h"
#include "libconvert/base/failure.h"

struct symbol_lines;

/* A function that runs at an address, or is inlined there. Texts are NUL-terminated, or NULL if unknown, and valid
 * until the next look-up. */
struct symbol_call {
    const char *name;          /* as linkers see it, or as in the source */
    const char *file;          /* file of the function, if that is known, and of the line that runs */
    const char *folder;        /* the folder that a relative file belongs to */
    uint32_t line;             /* the line that runs, from 1; 0: unknown */
    uint32_t column;           /* from 1; 0: unknown */
    uint32_t declaration_line; /* where the function begins; 0: unknown. If it is known, `file` is its file */
};

/* Returns the path of the call's file, which must be known. A path relative to the call's folder is joined with it if
 * the result fits. The text lies in `bytes` or in the call. */
struct text symbol_call_path(const struct symbol_call *call, char bytes[PATH_MAX]);

enum { SYMBOL_CALLS_MAX = 256 };

/* Returns NULL if the file has no DWARF that can be read, or if memory ran out (latched). If memory runs out inside
 * libdw, the process may end by child_leave or crash. `supplement` holds what the file's debug information shares with
 * that of other files; it may be NULL. Both files must stay open until symbol_lines_destroy. */
struct symbol_lines *symbol_lines_create(struct debug_file *file, struct debug_file *supplement,
                                         struct failure *failure);
void symbol_lines_destroy(struct symbol_lines *lines);

/* Stores the calls at the address: the physical function first, then each function that is inlined into the previous
 * one, up to the first that has no name. Returns their number; 0 if nothing is known or memory ran out (latched). The
 * first one may have a line but no name. */
size_t symbol_lines_find(struct symbol_lines *lines, uint64_t address, struct symbol_call calls[SYMBOL_CALLS_MAX]);

enum symbol_lack {
    SYMBOL_LACKS_UNITS = 1, /* units in files (-gsplit-dwarf) that were not found: only their lines are known */
    SYMBOL_LACKS_DEPTH = 2, /* functions or calls are nested more deeply than is read */
};

/* Returns what the units lack in which addresses were looked up: bits of enum symbol_lack. */
unsigned symbol_lines_lacks(const struct symbol_lines *lines);
