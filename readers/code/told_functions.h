/* Functions that a recording itself names, by their places in the files that it names. */
#pragma once

#include "code_name.h"
#include "libconvert/base/strings.h"

struct told_functions {
    struct strings texts; /* paths and names */
    struct column rows;   /* struct told_function, sorted if there are pieces */
    struct column pieces; /* struct told_piece: which function each place belongs to; none until a place is looked up */
};

void told_functions_init(struct told_functions *told, struct failure *failure);
void told_functions_fini(struct told_functions *told);

/* Adds a function of the file with that path. `start` is an offset in the file, or an address, whichever the file is
 * looked up by later. The name may be mangled. */
void told_functions_add(struct told_functions *told, struct text path, uint64_t start, uint64_t size_bytes,
                        struct text name);

/* Finds the function at that place of the file. Of functions that overlap, the one that starts last counts; of those
 * that start together, the shortest. */
bool told_functions_find(struct told_functions *told, struct text path, uint64_t place, struct code_name *name);
