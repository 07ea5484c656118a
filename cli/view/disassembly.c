#include "disassembly.h"

#include <elf.h>

#include "view_libraries.h"

struct processor {
    unsigned machine;
    cs_arch architecture;
    cs_mode mode;
    struct disassembly_names names;
};

static const struct processor processors[] = {
    {EM_X86_64, CS_ARCH_X86, CS_MODE_64, {"x86_64", "Intel"}},
    {EM_386, CS_ARCH_X86, CS_MODE_32, {"x86", "Intel"}},
    {EM_AARCH64, CS_ARCH_ARM64, CS_MODE_ARM, {"aarch64", "ARM"}},
    {EM_ARM, CS_ARCH_ARM, CS_MODE_ARM, {"arm", "ARM"}},
};

static const struct processor *find_processor(unsigned machine) {
    for (size_t i = 0; i < sizeof processors / sizeof *processors; i++)
        if (processors[i].machine == machine) return &processors[i];
    return NULL;
}

const struct disassembly_names *disassembly_names_of(unsigned machine) {
    const struct processor *processor = find_processor(machine);
    return processor ? &processor->names : NULL;
}

/* Returns the target of a direct jump or call, whose last operand is a number; 0 for any other instruction. */
static uint64_t find_target(csh handle, const struct processor *processor, const cs_insn *instruction) {
    if (!view_libraries.cs_insn_group(handle, instruction, CS_GRP_JUMP) &&
        !view_libraries.cs_insn_group(handle, instruction, CS_GRP_CALL))
        return 0;
    const cs_detail *detail = instruction->detail;
    if (processor->architecture == CS_ARCH_X86) {
        const cs_x86 *x86 = &detail->x86;
        const cs_x86_op *last = x86->op_count ? &x86->operands[x86->op_count - 1] : NULL;
        return last && last->type == X86_OP_IMM ? (uint64_t)last->imm : 0;
    }
    if (processor->architecture == CS_ARCH_ARM64) {
        const cs_arm64 *arm64 = &detail->arm64;
        const cs_arm64_op *last = arm64->op_count ? &arm64->operands[arm64->op_count - 1] : NULL;
        return last && last->type == ARM64_OP_IMM ? (uint64_t)last->imm : 0;
    }
    return 0;
}

bool disassembly_run(unsigned machine, struct text code, uint64_t address, disassembly_take *take, void *context) {
    const struct processor *processor = find_processor(machine);
    csh handle;
    if (!processor || view_libraries.cs_open(processor->architecture, processor->mode, &handle) != CS_ERR_OK)
        return false;
    view_libraries.cs_option(handle, CS_OPT_DETAIL, CS_OPT_ON);
    view_libraries.cs_option(handle, CS_OPT_SKIPDATA, CS_OPT_ON);
    cs_insn *instruction = view_libraries.cs_malloc(handle);
    const uint8_t *bytes = (const uint8_t *)code.bytes;
    size_t left_bytes = code.bytes_count;
    while (instruction && view_libraries.cs_disasm_iter(handle, &bytes, &left_bytes, &address, instruction)) {
        bool is_data = instruction->id == 0; /* has no details */
        struct disassembly_instruction given = {
            .address = instruction->address,
            .target = is_data ? 0 : find_target(handle, processor, instruction),
            .mnemonic = instruction->mnemonic,
            .operands = instruction->op_str,
        };
        take(context, &given);
    }
    bool is_good = instruction != NULL;
    if (instruction) view_libraries.cs_free(instruction, 1);
    view_libraries.cs_close(&handle);
    return is_good;
}
