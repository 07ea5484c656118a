/* Turns machine code into text, with capstone. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "libconvert/base/text.h"

enum { DISASSEMBLY_TEXT_BYTES = 256 };

struct disassembly_instruction {
    uint64_t address;
    uint64_t target; /* where a direct jump or call goes; 0: it is neither */
    const char *mnemonic;
    const char *operands;
};

typedef void disassembly_take(void *context, const struct disassembly_instruction *instruction);

struct disassembly_names {
    const char *processor;
    const char *syntax;
};

/* Returns NULL if code of that processor (EM_X86_64 and so on) cannot be disassembled. */
const struct disassembly_names *disassembly_names_of(unsigned machine);

/* Disassembles the bytes, the first of which is at the address, and passes each instruction to the function. Bytes that
 * are not an instruction are passed as ".byte". Returns false if the processor is unknown or memory ran out. */
bool disassembly_run(unsigned machine, struct text code, uint64_t address, disassembly_take *take, void *context);
