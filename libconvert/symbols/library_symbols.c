#include "library_symbols.h"

#include <inttypes.h>
#include <stdio.h>

#include "return_address.h"

bool library_symbols_init(struct library_symbols *symbols, struct debug_files *files, const struct symbol_table *table,
                          struct failure *failure) {
    *symbols = (struct library_symbols){.files = files, .table = table ? table : &symbols->own_table};
    if (!table && !symbol_table_init(&symbols->own_table, debug_files_symbols(files), &files->first, failure))
        return false;
    function_ranges_init(&symbols->ranges, &files->first);
    struct debug_file *dwarf = debug_files_dwarf(files);
    struct debug_file *supplement = files->supplement.elf ? &files->supplement : NULL;
    symbols->lines = dwarf ? symbol_lines_create(dwarf, supplement, failure) : NULL;
    if (!failure_is_set(failure)) return true;
    library_symbols_fini(symbols);
    return false;
}

void library_symbols_fini(struct library_symbols *symbols) {
    symbol_lines_destroy(symbols->lines);
    symbol_table_fini(&symbols->own_table);
    function_ranges_fini(&symbols->ranges);
    *symbols = (struct library_symbols){0};
}

/* ---- Numbers of perf's. ---- */

/* What a number can mean in the file. */
struct meanings {
    bool is_offset;
    bool is_address;
    uint64_t at_offset; /* the address of the byte at that offset, if the number is an offset */
};

static struct meanings find_meanings(const struct debug_file *file, int32_t given) {
    struct meanings meanings = {0};
    uint64_t number = (uint64_t)given;
    meanings.is_offset = debug_file_address_of_offset(file, number, &meanings.at_offset);
    meanings.is_address = file->base && debug_file_has_code_at(file, number);
    /* If only one of the two places has code, that one is meant. */
    if (meanings.is_address && meanings.is_offset)
        meanings.is_offset = debug_file_has_code_at(file, meanings.at_offset);
    return meanings;
}

void library_symbols_set_terms(struct library_symbols *symbols, const int32_t *numbers, size_t count) {
    const struct debug_file *file = &symbols->files->first;
    bool has_offsets = false, has_addresses = false;
    if (!file->has_code) return;
    for (size_t i = 0; i < count; i++) {
        struct meanings meanings = find_meanings(file, numbers[i]);
        if (meanings.is_offset && !meanings.is_address) has_offsets = true;
        if (meanings.is_address && !meanings.is_offset) has_addresses = true;
    }
    symbols->terms = TERMS_OF_EACH;
    if (has_offsets != has_addresses) symbols->terms = has_offsets ? TERMS_OFFSETS : TERMS_ADDRESSES;
}

/* ---- Looking up. ---- */

/* Stores the address in the file that the number means. */
static enum symbol_outcome find_address(const struct library_symbols *symbols, int32_t number, bool prefers_offsets,
                                        uint64_t *address) {
    const struct debug_file *file = &symbols->files->first;
    *address = file->base + (uint64_t)number;
    if (symbols->terms == TERMS_RELATIVE) return SYMBOL_FOUND;
    struct meanings meanings = find_meanings(file, number);
    if (!meanings.is_offset && !meanings.is_address) return SYMBOL_UNKNOWN;
    if (meanings.is_offset && meanings.is_address && symbols->terms == TERMS_OF_EACH && !prefers_offsets)
        return SYMBOL_AMBIGUOUS;
    bool is_address = meanings.is_address && (!meanings.is_offset || symbols->terms == TERMS_ADDRESSES);
    *address = is_address ? (uint64_t)number : meanings.at_offset;
    return SYMBOL_FOUND;
}

/* Returns the function at the address. A symbol without a size ends where a function without a symbol starts, and
 * reaches as far as call frame information says that its function does. A function without a symbol is known from call
 * frame information, and gets the name that samply gives it; that where the program starts is _start. */
static const struct symbol *find_symbol(struct library_symbols *symbols, uint64_t address) {
    const struct symbol *symbol = symbol_table_find(symbols->table, address);
    uint64_t start, end, base = symbols->files->first.base;
    if (symbol && symbol->has_size) return symbol;
    if (!function_ranges_find(&symbols->ranges, address, &start, &end)) return symbol;
    if (!symbol) symbol = symbol_table_find(symbols->table, start);
    if (symbol && !symbol->has_size && symbol->start >= start) return symbol;
    snprintf(symbols->nameless_name, sizeof symbols->nameless_name, "fun_%" PRIx64, start - base);
    if (start && start == debug_file_entry(&symbols->files->first))
        snprintf(symbols->nameless_name, sizeof symbols->nameless_name, "_start");
    symbols->nameless = (struct symbol){.start = start, .end = end, .name = symbols->nameless_name, .has_size = true};
    return &symbols->nameless;
}

enum symbol_outcome library_symbols_find_symbol(struct library_symbols *symbols, int32_t number, bool prefers_offsets,
                                                struct symbol_place *place) {
    uint64_t address, base = symbols->files->first.base;
    enum symbol_outcome outcome = find_address(symbols, number, prefers_offsets, &address);
    if (outcome != SYMBOL_FOUND) return outcome;
    if (address < base || address - base > INT32_MAX) return SYMBOL_UNKNOWN;
    if (symbols->terms != TERMS_RELATIVE)
        address = return_address_place(symbols->table, &symbols->files->first, address);
    place->address = (int32_t)(address - base);
    place->symbol = find_symbol(symbols, address);
    place->call_count = 0;
    return SYMBOL_FOUND;
}

enum symbol_outcome library_symbols_find_calls(struct library_symbols *symbols, struct symbol_place *place) {
    uint64_t address = symbols->files->first.base + (uint64_t)place->address;
    if (symbols->lines) place->call_count = symbol_lines_find(symbols->lines, address, place->calls);
    if (place->symbol || place->call_count) return SYMBOL_FOUND;
    return symbols->terms == TERMS_RELATIVE ? SYMBOL_UNKNOWN : SYMBOL_PLACED;
}

enum symbol_outcome library_symbols_find(struct library_symbols *symbols, int32_t number, bool prefers_offsets,
                                         struct symbol_place *place) {
    enum symbol_outcome outcome = library_symbols_find_symbol(symbols, number, prefers_offsets, place);
    return outcome == SYMBOL_FOUND ? library_symbols_find_calls(symbols, place) : outcome;
}
