#include "library_symbols.h"

bool library_symbols_init(struct library_symbols *symbols, const struct debug_files *files, struct failure *failure) {
    *symbols = (struct library_symbols){.files = files};
    if (!symbol_table_init(&symbols->table, debug_files_symbols(files), &files->first, failure)) return false;
    const struct debug_file *dwarf = debug_files_dwarf(files);
    const struct debug_file *supplement = files->supplement.elf ? &files->supplement : NULL;
    symbols->lines = dwarf ? symbol_lines_create(dwarf, supplement, failure) : NULL;
    if (!failure_is_set(failure)) return true;
    library_symbols_fini(symbols);
    return false;
}

void library_symbols_fini(struct library_symbols *symbols) {
    symbol_lines_destroy(symbols->lines);
    symbol_table_fini(&symbols->table);
    *symbols = (struct library_symbols){0};
}

/* ---- Numbers of perf's. ---- */

/* What a number may be in the file. */
struct meanings {
    bool is_offset;
    bool is_address;
    uint64_t at_offset; /* the address at the offset, if the number is one */
};

static struct meanings find_meanings(const struct debug_file *file, int32_t given) {
    struct meanings meanings = {0};
    uint64_t number = (uint64_t)given;
    meanings.is_offset = debug_file_address_of_offset(file, number, &meanings.at_offset);
    meanings.is_address = file->base && debug_file_has_code_at(file, number);
    /* If only one of the two places has code, that is the one. */
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

/* Sets *address to the address in the file that the number stands for. */
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

enum symbol_outcome library_symbols_find(struct library_symbols *symbols, int32_t number, bool prefers_offsets,
                                         struct symbol_place *place) {
    uint64_t address, base = symbols->files->first.base;
    enum symbol_outcome outcome = find_address(symbols, number, prefers_offsets, &address);
    if (outcome != SYMBOL_FOUND) return outcome;
    if (address < base || address - base > INT32_MAX) return SYMBOL_UNKNOWN;
    place->address = (int32_t)(address - base);
    place->symbol = symbol_table_find(&symbols->table, address);
    place->call_count = symbols->lines ? symbol_lines_find(symbols->lines, address, place->calls) : 0;
    return place->symbol || place->call_count ? SYMBOL_FOUND : SYMBOL_UNKNOWN;
}
