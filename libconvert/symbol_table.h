/* The functions that a file's symbol table names, by address. */
#ifndef GECKO_SYMBOL_TABLE_H
#define GECKO_SYMBOL_TABLE_H

#include "debug_file.h"
#include "failure.h"

struct symbol {
    uint64_t start;
    uint64_t end; /* behind its last byte; where the table does not tell, where the next symbol or the section ends */
    const char *name; /* as linkers see it; lies in the file */
};

struct symbol_table {
    struct symbol *rows; /* by start */
    size_t count;
};

/* Reads the table of symbols, or where there is none that of the dynamic linker. The file stays open as long as the
 * table is used. A damaged file gives fewer symbols; false when memory ran out (latched). */
bool symbol_table_init(struct symbol_table *table, const struct debug_file *file, struct failure *failure);
void symbol_table_fini(struct symbol_table *table);

/* The function at the address; NULL when there is none. Of several names of one place the most public one counts. */
const struct symbol *symbol_table_find(const struct symbol_table *table, uint64_t address);

#endif
