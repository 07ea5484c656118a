/* The functions in a library's symbol tables, and the stubs in its linkage tables, by address. */
#pragma once

#include "debug_data.h"
#include "libconvert/base/arena.h"

struct symbol {
    uint64_t start;
    uint64_t end; /* address after its last byte; if the table has no size, where the next symbol begins or the section
                     ends, and at most 4096 bytes further if the table has only exported symbols */
    const char *name; /* as linkers see it, "function@plt" of a stub; belongs to the file or the table */
    bool has_size;
    bool is_weak;
    uint8_t rank;    /* private; if several symbols have the same start, one with the lowest rank is preferred */
    uint32_t choice; /* private: 1 + the place of the preferred symbol among those with this start, in the first of
                        them; 0: not chosen yet */
};

struct symbol_table {
    struct symbol *rows; /* sorted by start; several may have the same one */
    size_t count;
    uint64_t
        *reach; /* private: a binary tree of the greatest ends of rows; node i has the nodes 2 i and 2 i + 1 below */
    size_t leaf_count; /* private: a power of two; the leaf of row i is the node leaf_count + i */
    struct debug_data data;
    struct arena stub_names;
};

/* Reads the symbol table of `symbols`; if it has none, the table of the dynamic linker, ".gnu_debugdata" and the list
 * of a Go program. The stubs are those of `library`, which is the same file or the one from which `symbols` was split
 * off. Both must stay open as long as the table is used. A damaged file yields fewer symbols. Returns false if memory
 * ran out (latched). */
bool symbol_table_init(struct symbol_table *table, const struct debug_file *symbols, const struct debug_file *library,
                       struct failure *failure);
void symbol_table_fini(struct symbol_table *table);

/* Returns the innermost function at the address, or NULL if there is none. If several symbols have its start, the one
 * counts that a programmer would write: "malloc", not "__libc_malloc", and "free", not "cfree@GLIBC_2.2.5".
 * Thread-safe. */
const struct symbol *symbol_table_find(const struct symbol_table *table, uint64_t address);

/* Returns the symbols that begin at the address, and stores their number. Thread-safe. */
const struct symbol *symbol_table_aliases(const struct symbol_table *table, uint64_t start, size_t *count);
