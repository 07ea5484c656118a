#include "return_address.h"

#include <elf.h>

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

uint64_t return_address_place(const struct symbol_table *table, const struct debug_file *file, uint64_t address) {
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
