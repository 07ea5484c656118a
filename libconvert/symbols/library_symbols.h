/* What the files of one library say about addresses, from symbol tables, linkage tables and DWARF. Everything runs in
 * the calling process; symbol_worker.h does the same in a child process. */
#pragma once

#include "debug_file_search.h"
#include "function_ranges.h"
#include "symbol_lines.h"
#include "symbol_table.h"

/* How to read an address from a trace. perf prints offsets in the file in call graphs, and addresses in samples
 * without a call graph. If the first segment of a file is not at address 0 (a program that is not PIE), the two
 * differ. */
enum address_terms {
    TERMS_RELATIVE, /* an address relative to the start of the library */
    TERMS_OF_EACH,  /* an offset or an address, whichever is possible; unknown if both are */
    TERMS_OFFSETS,  /* an offset, unless only an address is possible */
    TERMS_ADDRESSES /* an address, unless only an offset is possible */
};

struct library_symbols {
    struct debug_files *files;        /* borrowed */
    const struct symbol_table *table; /* own_table, or borrowed */
    struct symbol_table own_table;
    struct function_ranges ranges;
    struct symbol nameless; /* the function without a symbol that was found last */
    char nameless_name[sizeof "fun_" + 16];
    struct symbol_lines *lines; /* NULL: there is no DWARF that can be read */
    enum address_terms terms;
};

struct symbol_place {
    int32_t address;             /* relative to the start of the library */
    const struct symbol *symbol; /* NULL: none. A function without a symbol is called "fun_" and its relative address */
    size_t call_count;           /* 0: the DWARF has nothing about the address */
    struct symbol_call calls[SYMBOL_CALLS_MAX];
};

enum symbol_outcome {
    SYMBOL_FOUND,     /* a symbol, or calls, or both */
    SYMBOL_PLACED,    /* only the address that a number of perf's means */
    SYMBOL_UNKNOWN,   /* nothing is known about the address */
    SYMBOL_AMBIGUOUS, /* the number could be an offset or an address */
    SYMBOL_KEPT       /* what the trace says counts; never returned by the functions here */
};

/* Reads the tables of the files, which stay open and borrowed until library_symbols_fini; the struct must stay at its
 * address until then. `table` is a symbol table of the same library, which is used instead of reading another one, and
 * stays borrowed; NULL: there is none. Sets TERMS_RELATIVE. A damaged file yields fewer symbols. Returns false if
 * memory ran out (latched). libelf and libdw do not check all of their allocations: if memory runs out there, the
 * process may crash or call exit. */
bool library_symbols_init(struct library_symbols *symbols, struct debug_files *files, const struct symbol_table *table,
                          struct failure *failure);
void library_symbols_fini(struct library_symbols *symbols);

/* Decides how to read the numbers of a trace from perf. All numbers of a library are read in the same way, unless some
 * can only be offsets and others can only be addresses. */
void library_symbols_set_terms(struct library_symbols *symbols, const int32_t *numbers, size_t count);

/* Looks up one address in two steps: its place and symbol, then what the DWARF has about that place. Ascending numbers
 * are fastest. With `prefers_offsets`, an ambiguous number is read as an offset. *place is set only if the outcome is
 * SYMBOL_FOUND, even if there is no symbol; its texts stay valid until the next look-up. If memory runs out, the
 * failure is latched and the outcome is meaningless. */
enum symbol_outcome library_symbols_find_symbol(struct library_symbols *symbols, int32_t number, bool prefers_offsets,
                                                struct symbol_place *place);
enum symbol_outcome library_symbols_find_calls(struct library_symbols *symbols, struct symbol_place *place);

/* Looks up the place, the symbol and the calls of one address. The outcome is SYMBOL_FOUND only if there is a symbol or
 * a call; *place is also set if it is SYMBOL_PLACED. */
enum symbol_outcome library_symbols_find(struct library_symbols *symbols, int32_t number, bool prefers_offsets,
                                         struct symbol_place *place);
