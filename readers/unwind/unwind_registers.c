/* Translates perf's register numbers into DWARF's. perf's are in the kernel's arch/x86/include/uapi/asm/perf_regs.h and
 * arch/arm64/include/uapi/asm/perf_regs.h. */
#include "unwinder.h"

enum { PERF_ABI_64 = 2 };

enum { PLACE_PC = 0xfe, PLACE_NONE = 0xff };

/* DWARF numbers of ax, bx, cx, dx, si, di, bp, sp, ip, flags, cs, ss, ds, es, fs, gs, r8 to r15, in perf's order. */
static const uint8_t x86_64_places[] = {
    0,          3,          2,          1,          4, 5, 6,  7,  PLACE_PC, PLACE_NONE, PLACE_NONE, PLACE_NONE,
    PLACE_NONE, PLACE_NONE, PLACE_NONE, PLACE_NONE, 8, 9, 10, 11, 12,       13,         14,         15};

enum { AARCH64_PC = 32 };

static uint8_t place_of(enum unwinder_machine machine, uint32_t perf_register) {
    if (machine == UNWINDER_X86_64)
        return perf_register < sizeof x86_64_places ? x86_64_places[perf_register] : PLACE_NONE;
    if (perf_register == AARCH64_PC) return PLACE_PC;
    return perf_register < AARCH64_PC ? (uint8_t)perf_register : PLACE_NONE;
}

bool unwind_registers_of_perf(enum unwinder_machine machine, uint64_t abi, uint64_t mask, const uint64_t *values,
                              size_t value_count, struct unwind_registers *registers) {
    uint32_t sp = machine == UNWINDER_X86_64 ? 7 : 31;
    size_t next = 0;
    bool has_pc = false;
    *registers = (struct unwind_registers){0};
    if (abi != PERF_ABI_64) return false;
    uint32_t known = 0;
    for (uint64_t left = mask; left && next < value_count; left &= left - 1) {
        uint64_t value = values[next++];
        uint8_t place = place_of(machine, (uint32_t)__builtin_ctzll(left));
        if (place == PLACE_PC) {
            registers->pc = value;
            has_pc = true;
        } else if (place != PLACE_NONE) {
            registers->values[place] = value;
            known |= UINT32_C(1) << place;
        }
    }
    registers->known = known;
    return has_pc && known >> sp & 1;
}
