/* Functions that a recording itself names, by their places in the files that it names. */
#pragma once

#include "code_name.h"
#include "code_spaces.h"
#include "libconvert/base/strings.h"
#include "libconvert/base/value_table.h"

struct told_functions {
    struct strings texts; /* paths and names */
    struct column rows;   /* struct told_function, the first mapped_count sorted */
    uint32_t mapped_count;
    struct code_spaces spaces; /* libraries are rows, plus 1 */
    struct value_table files;  /* struct code_space by string_id, the path: which function each place belongs to */
};

void told_functions_init(struct told_functions *told, struct failure *failure);
void told_functions_fini(struct told_functions *told);

/* Adds a function of the file with that path. `start` is an offset in the file, or an address, whichever the file is
 * looked up by later. The name may be mangled. */
void told_functions_add(struct told_functions *told, struct text path, uint64_t start, uint64_t size_bytes,
                        struct text name);

/* Finds the function at that place of the file. Of functions that overlap, the one that starts last is found; of those
 * that start together, the shortest. */
bool told_functions_find(struct told_functions *told, struct text path, uint64_t place, struct code_name *name);
