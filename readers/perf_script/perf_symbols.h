/* What a frame line of perf script means: name, kind of code, library, script position. Each distinct line is parsed
 * once. A line is recognised by a 128-bit hash (index_set_identity), so a known line costs one hash and one look-up. */
#ifndef GECKO_PERF_SYMBOLS_H
#define GECKO_PERF_SYMBOLS_H

#include "perf_frame_line.h"
#include "perf_maps.h"
#include "readers/perf/perf_libraries.h"

/* The part of a symbol that nearly every frame line needs. struct perf_symbol has the rest, under the same row number.
 */
struct perf_symbol_memo {
    frame_id exact;  /* frame for an exact address, if it depends on nothing else; none until first used */
    frame_id caller; /* frame for a return address, if it depends on nothing else; none until first used */
    uint32_t flags;  /* enum perf_symbol_flags */
};

struct perf_symbol {
    uint64_t address;      /* as printed; 0 if there is none */
    uint64_t start;        /* start of the symbol; absolute or relative like the address */
    uint32_t name_row;     /* row of perf_symbols.of_names; undefined for a cookie, which has no name */
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
    PERF_SYMBOL_IS_COOKIE = 16,  /* the address is the cookie */
    PERF_SYMBOL_IS_UNKNOWN = 32, /* named by its address */
    PERF_SYMBOL_HAS_INLINED_NAME = 64,
    PERF_SYMBOL_IS_ABSOLUTE = 128, /* the place in the file depends on the mappings of the process */
    PERF_SYMBOL_IS_NOWHERE = 256   /* perf found neither a symbol nor a library */
};

struct perf_known_line {
    struct index_identity hash;
    uint32_t row;
};

/* A name within its library, and what all symbols with it share. */
struct perf_name {
    uint32_t library; /* row of perf_symbols.libraries */
    func_id func;     /* none if there is no name: each address is a function then */
    frame_id nowhere; /* frame of all callers with PERF_SYMBOL_IS_NOWHERE; none until there is one */
    struct category_pair category;
    uint16_t flags;                 /* enum perf_symbol_flags */
    native_symbol_id native_symbol; /* native symbol of the last frame with the name; none until there is one */
    lib_id lib;                     /* library of the native symbol, whose start is the next member */
    uint32_t start;
};

/* Rows by the numbers of a lexer (perf_lexer.h). */
struct perf_numbered {
    uint32_t *rows; /* owned; ID_NONE: not known yet */
    uint32_t count;
};

struct perf_symbols {
    struct profile *profile;   /* borrowed */
    struct index_set lines;    /* index of known_lines */
    struct column known_lines; /* struct perf_known_line: frame lines that were not lexed */
    struct column memos;       /* struct perf_symbol_memo */
    struct column rows;        /* struct perf_symbol */
    struct row_table names;    /* struct name_key: names within their libraries */
    struct column of_names;    /* struct perf_name, one for each name */
    struct perf_libraries libraries;
    struct perf_numbered lines_numbered; /* the symbols of lines */
    struct perf_numbered names_numbered; /* the rows of names */
};

void perf_symbols_init(struct perf_symbols *symbols, struct profile *profile);
void perf_symbols_fini(struct perf_symbols *symbols);

/* Returns the row of the symbol on the frame line; ID_NONE if it is not a frame line or memory ran out (latched). */
uint32_t perf_symbols_of_line(struct perf_symbols *symbols, struct text line);

/* Returns the row of the symbol on the frame line with that number (perf_lexer.h); ID_NONE until perf_symbols_learn. */
static inline uint32_t perf_symbols_of_number(const struct perf_symbols *symbols, uint32_t number) {
    return number < symbols->lines_numbered.count ? symbols->lines_numbered.rows[number] : ID_NONE;
}

/* Adds the symbol of the frame line with that number. Returns its row; ID_NONE if memory ran out (latched). Lines with
 * the same name_number have the same name, library and form; ID_NONE: unknown. */
uint32_t perf_symbols_learn(struct perf_symbols *symbols, uint32_t number, uint32_t name_number,
                            const struct perf_frame_line *frame);

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

static inline struct perf_library *perf_symbols_library(const struct perf_symbols *symbols, uint32_t row) {
    return perf_libraries_at(&symbols->libraries, row);
}

#endif
