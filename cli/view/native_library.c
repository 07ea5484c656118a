#include "native_library.h"

#include <errno.h>
#include <limits.h>

#include "libconvert/base/path.h"
#include "libconvert/symbols/symbol_names.h"

bool native_library_open(struct native_library *library, const struct lib *lib, const struct debug_folders *folders,
                         struct failure *failure) {
    if (debug_files_open(&library->files, lib, folders, failure) != DEBUG_FILE_FOUND) return false;
    if (library_symbols_init(&library->symbols, &library->files, NULL, failure)) return true;
    debug_files_close(&library->files);
    return false;
}

void native_library_close(struct native_library *library) {
    library_symbols_fini(&library->symbols);
    debug_files_close(&library->files);
}

static struct text copy_name(const char *name, struct arena *arena) {
    char bytes[SYMBOL_NAME_BYTES_MAX];
    errno = 0;
    struct text demangled = symbol_name_demangle(text_of(name), true, bytes);
    if (errno == ENOMEM) failure_set_memory(arena->failure);
    return arena_copy(arena, demangled);
}

static struct native_call copy_call(const struct symbol_call *call, struct arena *arena) {
    struct native_call copy = {.line = call->line};
    char bytes[PATH_MAX], normal_bytes[PATH_MAX];
    if (call->name && *call->name) copy.function = copy_name(call->name, arena);
    if (call->file) copy.file = arena_copy(arena, path_normalize(symbol_call_path(call, bytes), normal_bytes));
    return copy;
}

struct native_place native_library_find(struct native_library *library, uint32_t address, struct arena *arena) {
    struct native_place found = {0};
    struct symbol_place place;
    if (address > INT32_MAX || library_symbols_find(&library->symbols, (int32_t)address, false, &place) != SYMBOL_FOUND)
        return found;
    found.call_count = place.call_count ? place.call_count : 1;
    found.calls = arena_take_aligned(arena, found.call_count * sizeof *found.calls);
    if (!found.calls) return found;
    for (size_t i = 0; i < place.call_count; i++) found.calls[i] = copy_call(&place.calls[i], arena);
    if (place.symbol) {
        uint64_t start = place.symbol->start - library->files.first.base;
        found.has_symbol = start <= address;
        found.offset_bytes = found.has_symbol ? (uint32_t)(address - start) : 0;
        found.size_bytes = place.symbol->end - place.symbol->start;
        if (!found.calls[0].function.bytes_count) found.calls[0].function = copy_name(place.symbol->name, arena);
    }
    found.is_found = found.calls[0].function.bytes_count > 0;
    return found;
}

const struct symbol *native_library_symbol(const struct native_library *library, uint32_t address) {
    return symbol_table_find(library->symbols.table, library->files.first.base + address);
}

struct text native_library_code(const struct native_library *library, uint32_t address) {
    return debug_file_code(&library->files.first, library->files.first.base + address);
}
