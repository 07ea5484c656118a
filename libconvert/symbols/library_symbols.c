#include "library_symbols.h"

#include <elf.h>
#include <inttypes.h>
#include <stdio.h>

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

/* ---- Return addresses. ---- */

enum { CALL_BYTES_MAX = 7, ARM_INSTRUCTION_BYTES = 4 };

/* Returns whether the bytes end in an instruction that calls: "call offset", or "call" with an operand of one to six
 * bytes. */
static bool ends_in_call_x86_64(const unsigned char *bytes) {
    static const size_t operand_bytes[] = {1, 2, 3, 5, 6};
    enum { CALL_OFFSET = 0xe8, CALL_OFFSET_BYTES = 5, INDIRECT = 0xff, KIND_MASK = 0x38, KIND_CALL = 0x10 };
    const unsigned char *end = bytes + CALL_BYTES_MAX;
    if (end[-CALL_OFFSET_BYTES] == CALL_OFFSET) return true;
    for (size_t i = 0; i < sizeof operand_bytes / sizeof *operand_bytes; i++) {
        const unsigned char *operand = end - operand_bytes[i];
        if (operand[-1] == INDIRECT && (*operand & KIND_MASK) == KIND_CALL) return true;
    }
    return false;
}

static bool ends_in_call_aarch64(const unsigned char *bytes) {
    const unsigned char *at = bytes + CALL_BYTES_MAX - ARM_INSTRUCTION_BYTES;
    uint32_t word = (uint32_t)at[0] | (uint32_t)at[1] << 8 | (uint32_t)at[2] << 16 | (uint32_t)at[3] << 24;
    static const uint32_t BL = 0x94000000, BL_MASK = 0xfc000000, BLR = 0xd63f0000, BLR_MASK = 0xfffff000;
    return (word & BL_MASK) == BL || (word & BLR_MASK) == BLR;
}

enum ending {
    ENDS_IN_CALL,
    ENDS_OTHERWISE, /* the address is not in a call: the next address is not a return address, or no code was there */
    ENDS_IN_BYTE    /* the last byte may be an instruction of its own, such as "ret", that a sample hit */
};

/* Finds out how the code up to the address, including its byte, ends. */
static enum ending find_ending(const struct debug_file *file, uint64_t address) {
    if (address < CALL_BYTES_MAX) return ENDS_IN_BYTE;
    struct text code = debug_file_code(file, address - CALL_BYTES_MAX + 1);
    if (code.bytes_count < CALL_BYTES_MAX) return ENDS_IN_BYTE;
    const unsigned char *bytes = (const unsigned char *)code.bytes;
    switch (debug_file_machine(file)) {
        case EM_X86_64: {
            static const unsigned char single[] = {0xc3, 0xcc, 0xf4, 0x90}; /* ret, int3, hlt, nop */
            if (ends_in_call_x86_64(bytes)) return ENDS_IN_CALL;
            return memchr(single, bytes[CALL_BYTES_MAX - 1], sizeof single) ? ENDS_IN_BYTE : ENDS_OTHERWISE;
        }
        case EM_AARCH64:
            /* No instruction begins at the last byte of another one, so a sample cannot be there. */
            return ends_in_call_aarch64(bytes) ? ENDS_IN_CALL : ENDS_OTHERWISE;
        default: return ENDS_IN_BYTE;
    }
}

/* Returns the address to look up for `address`, which may be a return address minus 1: itself or the next address.
 *
 * Usually the byte before a return address belongs to the call. Two kinds of return addresses in a recording of perf
 * belong to the function that starts there instead. One follows a call in hand-written assembly, where a label without
 * a size is the place to which the call returns. The other was not stored by a call: walks by frame pointers also find
 * pointers to functions. */
static uint64_t return_address_place(const struct symbol_table *table, const struct debug_file *file,
                                     uint64_t address) {
    const struct symbol *next = symbol_table_find(table, address + 1);
    if (!next || next->start != address + 1) return address;
    if (!symbol_table_find(table, address)) return next->start;
    switch (find_ending(file, address)) {
        case ENDS_IN_CALL: return next->has_size ? address : next->start;
        case ENDS_OTHERWISE: return next->start;
        case ENDS_IN_BYTE: break;
    }
    return address;
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
