/* Symbols that are embedded in a recording: functions by their places in the files that the recording names. */
#pragma once

#include "code_name.h"
#include "code_spaces.h"
#include "libconvert/base/strings.h"
#include "libconvert/base/value_table.h"

struct embedded_symbols {
    struct strings texts; /* paths and names */
    struct column rows;   /* struct embedded_symbol, the first mapped_count sorted */
    uint32_t mapped_count;
    struct code_spaces spaces; /* libraries are rows, plus 1 */
    struct value_table files;  /* struct code_space by string_id, the path: which function each place belongs to */
};

void embedded_symbols_init(struct embedded_symbols *symbols, struct failure *failure);
void embedded_symbols_fini(struct embedded_symbols *symbols);

/* Adds a function of the file with that path. `start` is an offset in the file, or an address, whichever the file is
 * looked up by later. The name may be mangled. */
void embedded_symbols_add(struct embedded_symbols *symbols, struct text path, uint64_t start, uint64_t size_bytes,
                          struct text name);

/* Finds the function at that place of the file. Of functions that overlap, the one that starts last is found; of those
 * that start together, the shortest. */
bool embedded_symbols_find(struct embedded_symbols *symbols, struct text path, uint64_t place, struct code_name *name);
