/* The stubs in a library's linkage tables (".plt" and others): pieces of code without symbols that jump to functions of
 * other libraries, through slots which the dynamic linker fills. For x86-64 and aarch64. */
#pragma once

#include "debug_file.h"
#include "libconvert/base/column.h"

struct symbol_stub {
    uint64_t start;
    uint64_t end;     /* the address after its last byte */
    const char *name; /* the function that the stub jumps to; borrowed from the file. NULL: `target` selects it */
    uint64_t target;  /* if the name is NULL: an ifunc of this library, which selects the function at start-up */
};

/* Adds the stubs whose destination the file gives, sorted by start. A damaged file yields fewer. Running out of memory
 * is latched. */
void symbol_stubs_read(struct column *stubs, const struct debug_file *library);
