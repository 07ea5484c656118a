/* What a frame line of perf script means: name, kind of code, library, script position. */
#pragma once

#include "perf_record.h"
#include "readers/code/code_libraries.h"

/* The part of a symbol that nearly every frame line needs. struct perf_symbol has the rest, under the same row number.
 */
struct perf_symbol_memo {
    frame_id exact;        /* frame for an exact address, if it depends on nothing else; none until first used */
    frame_id caller;       /* frame for a return address, if it depends on nothing else; none until first used */
    uint32_t flags;        /* enum perf_symbol_flags */
    uint32_t change_count; /* perf_stack.change_count when the frames were made */
};

struct perf_symbol {
    uint64_t address;      /* as printed; 0 if there is none */
    uint64_t start;        /* start of the symbol; absolute or relative like the address */
    uint32_t name_row;     /* row of perf_symbols.of_names */
    func_id func;          /* ask perf_symbols_func; none: it is named by its address, and nobody has asked yet */
    uint32_t inlined_name; /* symbol that this one's name says is inlined into it (Java's "A->B"); ID_NONE if there is
                              none */
    uint16_t flags;        /* enum perf_symbol_flags */
};

enum perf_symbol_flags {
    PERF_SYMBOL_HAS_ADDRESS = 1,
    PERF_SYMBOL_HAS_START = 2,
    PERF_SYMBOL_IS_INLINED = 4,
    PERF_SYMBOL_IS_KERNEL = 8,
    PERF_SYMBOL_IS_UNKNOWN = 16, /* named by its address */
    PERF_SYMBOL_HAS_INLINED_NAME = 32,
    PERF_SYMBOL_IS_ABSOLUTE = 64, /* the place in the file depends on the mappings of the process */
    PERF_SYMBOL_IS_NOWHERE = 128, /* perf found neither a symbol nor a library */
    PERF_SYMBOL_IN_KERNEL_HALF = 256
};

/* A name within its library, and what all symbols with it share. */
struct perf_name {
    uint32_t library; /* row of perf_symbols.libraries */
    func_id func;     /* none if there is no name: each address is a function then */
    frame_id nowhere; /* frame of all callers with PERF_SYMBOL_IS_NOWHERE; none until there is one */
    struct category_pair category;
    uint16_t flags; /* enum perf_symbol_flags */
};

struct perf_symbols {
    struct profile *profile; /* borrowed */
    struct column memos;     /* struct perf_symbol_memo */
    struct column rows;      /* struct perf_symbol */
    struct row_table names;  /* struct name_key: names within their libraries */
    struct column of_names;  /* struct perf_name, one for each name */
    struct code_libraries libraries;
};

void perf_symbols_init(struct perf_symbols *symbols, struct profile *profile);
void perf_symbols_fini(struct perf_symbols *symbols);

/* Adds the symbol of a frame line, which is not a cookie. Returns its row; ID_NONE if memory ran out (latched). */
uint32_t perf_symbols_add(struct perf_symbols *symbols, const struct perf_frame_line *frame);

static inline struct perf_symbol *perf_symbols_at(const struct perf_symbols *symbols, uint32_t row) {
    return column_at(&symbols->rows, row);
}

static inline struct perf_symbol_memo *perf_symbols_memo(const struct perf_symbols *symbols, uint32_t row) {
    return column_at(&symbols->memos, row);
}

/* Returns the symbol's function, which has its name and library but no source line. Most addresses without a name are
 * callers in no library, which need no functions of their own. So these are added when somebody asks. */
func_id perf_symbols_func(struct perf_symbols *symbols, struct perf_symbol *symbol);

static inline struct perf_name *perf_symbols_name(const struct perf_symbols *symbols,
                                                  const struct perf_symbol *symbol) {
    return column_at(&symbols->of_names, symbol->name_row);
}

static inline struct code_library *perf_symbols_library(const struct perf_symbols *symbols, uint32_t row) {
    return code_libraries_at(&symbols->libraries, row);
}
