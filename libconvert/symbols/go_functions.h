/* The functions of a Go program as its table for tracebacks (.gopclntab) lists them, which even a stripped program has.
 * Tables of Go 1.18 and later are read, for 64-bit processors with little-endian order. */
#pragma once

#include "debug_file.h"

struct go_functions {
    struct text table;  /* belongs to the file */
    uint64_t code;      /* the address that functions are counted from */
    uint64_t names;     /* where the names begin in the table */
    uint64_t functions; /* where the list of functions begins in the table */
    uint32_t count;
};

struct go_function {
    uint64_t start;
    uint64_t end;
    const char *name; /* belongs to the file */
};

/* Returns false if the file has no such table, or if it is not certain where the code is that it lists. */
bool go_functions_find(struct go_functions *functions, const struct debug_file *file);

/* Stores a function. Returns false if its entry is damaged. */
bool go_functions_read(const struct go_functions *functions, uint32_t number, struct go_function *function);
