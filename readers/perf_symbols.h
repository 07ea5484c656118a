/* What a frame line of perf script says, read once for each distinct line: name, kind of code, library, script
 * position. A line is recognised by 128 bits of hash (index_set_identity), so a known one costs a hash and a look-up. */
#ifndef GECKO_PERF_SYMBOLS_H
#define GECKO_PERF_SYMBOLS_H

#include "libconvert/profile.h"
#include "perf_frame_line.h"
#include "perf_maps.h"

/* What a library name tells of the code in it. */
struct perf_library {
    struct text path;      /* empty: unknown */
    struct text base_name; /* "[unknown]" for the unknown one */
    resource_id resource;
    enum code_kind kind;
    bool is_file;         /* can be a lib of the profile: not anonymous memory, not a JIT's map */
    bool is_kernel_image; /* vmlinux under its many names, not a module */
    bool is_guest;
};

struct perf_symbol {
    uint64_t address; /* as printed; 0 without one */
    uint64_t start;   /* of the symbol, in the same terms as the address */
    string_id name;
    uint32_t library; /* row of perf_symbols.libraries */
    func_id func;     /* of this name in this library, without a source line */
    source_id source; /* of a script; none */
    uint32_t line;    /* where a script's function starts */
    uint32_t column;
    uint32_t inlined_name; /* symbol that is inlined into this one by its very name (Java's "A->B"); ID_NONE */
    frame_id exact;        /* the frame that this is in the usual case; none until asked for */
    frame_id caller;       /* the same for a return address */
    struct category_pair category;
    uint8_t flags; /* enum perf_symbol_flags */
};

enum perf_symbol_flags {
    PERF_SYMBOL_HAS_ADDRESS = 1,
    PERF_SYMBOL_HAS_START = 2,
    PERF_SYMBOL_IS_INLINED = 4,
    PERF_SYMBOL_IS_KERNEL = 8,
    PERF_SYMBOL_IS_COOKIE = 16, /* its address is the cookie */
    PERF_SYMBOL_IS_JS = 32,
    PERF_SYMBOL_IS_UNKNOWN = 64 /* named after its address */
};

struct perf_symbols {
    struct profile *profile; /* borrowed */
    struct index_set lines;  /* of line_keys */
    struct column line_keys; /* struct line_key */
    struct column rows;      /* struct perf_symbol */
    struct strings library_names;
    struct column libraries; /* struct perf_library, one for each library name */
};

void perf_symbols_init(struct perf_symbols *symbols, struct profile *profile);
void perf_symbols_fini(struct perf_symbols *symbols);

/* Row of the symbol that the frame line names; ID_NONE when it is no frame line, or memory ran out (latched). */
uint32_t perf_symbols_of_line(struct perf_symbols *symbols, struct text line);

static inline struct perf_symbol *perf_symbols_at(const struct perf_symbols *symbols, uint32_t row) {
    return column_at(&symbols->rows, row);
}

static inline const struct perf_library *perf_symbols_library(const struct perf_symbols *symbols, uint32_t row) {
    return column_at(&symbols->libraries, row);
}

#endif
