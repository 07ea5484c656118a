/* The stubs of a library's linkage tables (".plt" and its like): pieces of code, without symbols of their own, that
 * jump to functions of other libraries through slots which the dynamic linker fills. x86-64 and aarch64. */
#ifndef GECKO_SYMBOL_STUBS_H
#define GECKO_SYMBOL_STUBS_H

#include "column.h"
#include "debug_file.h"

struct symbol_stub {
    uint64_t start;
    uint64_t end;     /* behind its last byte */
    const char *name; /* of the function that it jumps to; lies in the file. NULL: the one that `target` chooses */
    uint64_t target;  /* where the name is NULL: a function of this library that decides when the program starts */
};

/* Adds the stubs of which the file tells where they jump to, by start. A damaged file gives fewer; failures (memory)
 * are latched. */
void symbol_stubs_read(struct column *stubs, const struct debug_file *library);

#endif
