/* A library that the profile names, opened for its symbols, lines and code. Only child processes of the native service
 * use this. */
#pragma once

#include "libconvert/base/arena.h"
#include "libconvert/symbols/library_symbols.h"

struct native_library {
    struct debug_files files;
    struct library_symbols symbols;
};

/* A function at an address, with the source line. Empty texts and 0 are unknown. */
struct native_call {
    struct text function;
    struct text file;
    uint32_t line;
};

struct native_place {
    bool is_found;
    bool has_symbol;
    uint32_t offset_bytes;     /* offset of the address in the symbol's function */
    uint64_t size_bytes;       /* size of that function */
    size_t call_count;         /* at least 1 */
    struct native_call *calls; /* the physical function, then each that is inlined into the one before */
};

/* Returns false if no file of the library is found, or after a failure (memory, latched). */
bool native_library_open(struct native_library *library, const struct lib *lib, const struct debug_folders *folders,
                         struct failure *failure);
void native_library_close(struct native_library *library);

/* Looks up an address relative to the start of the library. Ascending addresses are fastest. Texts are copied into the
 * arena, in whose failure running out of memory is latched. */
struct native_place native_library_find(struct native_library *library, uint32_t address, struct arena *arena);

/* Returns the symbol at the address, or NULL. */
const struct symbol *native_library_symbol(const struct native_library *library, uint32_t address);

/* Returns the code from the address to the end of its segment; empty if the library's own file was not found. */
struct text native_library_code(const struct native_library *library, uint32_t address);
