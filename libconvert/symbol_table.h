/* The functions that a library's symbol tables name, and the stubs of its linkage tables, by address. */
#ifndef GECKO_SYMBOL_TABLE_H
#define GECKO_SYMBOL_TABLE_H

#include "arena.h"
#include "debug_data.h"

struct symbol {
    uint64_t start;
    uint64_t end; /* behind its last byte; where the table does not tell, where the next symbol or the section ends */
    const char
        *name; /* as linkers see it; a stub's is the function's with "@plt". It lies in the file or in the table */
};

struct symbol_table {
    struct symbol *rows; /* by start */
    size_t count;
    struct debug_data data;
    struct arena stub_names;
};

/* Reads the table of symbols in `symbols`, or where there is none that of the dynamic linker and what is in
 * ".gnu_debugdata"; the stubs are those of `library`, the same file or the one that `symbols` was cut off. Both stay
 * open as long as the table is used. A damaged file gives fewer symbols; false when memory ran out (latched). */
bool symbol_table_init(struct symbol_table *table, const struct debug_file *symbols, const struct debug_file *library,
                       struct failure *failure);
void symbol_table_fini(struct symbol_table *table);

/* The function at the address; NULL when there is none. Of several names of one place the most public one counts. */
const struct symbol *symbol_table_find(const struct symbol_table *table, uint64_t address);

#endif
