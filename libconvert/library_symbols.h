/* What the files of one library say of addresses: symbol tables, linkage tables and DWARF. Everything happens in the
 * calling process; symbol_worker.h does the same in a child process. */
#ifndef GECKO_LIBRARY_SYMBOLS_H
#define GECKO_LIBRARY_SYMBOLS_H

#include "debug_file_search.h"
#include "symbol_lines.h"
#include "symbol_table.h"

/* How the number of an address is read. perf prints offsets in the file in call graphs and addresses in samples without
 * a call graph. In a file whose first segment is not at address 0 ("not PIE") the two differ. */
enum address_terms {
    TERMS_RELATIVE, /* an address relative to the start of the library */
    TERMS_OF_EACH,  /* an offset or an address, whichever is possible; unknown if both are */
    TERMS_OFFSETS,  /* an offset, unless only an address is possible */
    TERMS_ADDRESSES /* an address, unless only an offset is possible */
};

struct library_symbols {
    const struct debug_files *files; /* borrowed */
    struct symbol_table table;
    struct symbol_lines *lines; /* NULL: no DWARF that can be read */
    enum address_terms terms;
};

struct symbol_place {
    int32_t address;             /* relative to the start of the library */
    const struct symbol *symbol; /* NULL: none */
    size_t call_count;           /* 0: the DWARF says nothing */
    struct symbol_call calls[SYMBOL_CALLS_MAX];
};

enum symbol_outcome {
    SYMBOL_FOUND,    /* a symbol, or calls, or both */
    SYMBOL_UNKNOWN,  /* nothing is known of the address */
    SYMBOL_AMBIGUOUS /* the number could be an offset or an address */
};

/* Reads the tables of the files, which stay open and borrowed until library_symbols_fini. Sets TERMS_RELATIVE. A damaged
 * file yields fewer symbols. Returns false when memory ran out (latched). libelf and libdw have allocations that they do
 * not check: when memory runs out there, the process may crash or call exit. */
bool library_symbols_init(struct library_symbols *symbols, const struct debug_files *files, struct failure *failure);
void library_symbols_fini(struct library_symbols *symbols);

/* For numbers from a trace of perf's: decides how to read them. All numbers of a library are read alike, unless some can
 * only be offsets and others can only be addresses. */
void library_symbols_set_terms(struct library_symbols *symbols, const int32_t *numbers, size_t count);

/* Looks up one address. Ascending numbers are fastest. With `prefers_offsets`, an ambiguous number is read as an offset.
 * *place is set only if the outcome is SYMBOL_FOUND; its texts stay valid until the next call. If memory runs out, the
 * failure is latched and the outcome is meaningless. */
enum symbol_outcome library_symbols_find(struct library_symbols *symbols, int32_t number, bool prefers_offsets,
                                         struct symbol_place *place);

#endif
