/* Runs the instructions that an entry of call frame information has for a function, to find which rule holds at an
 * address. */
#pragma once

#include <stdint.h>

#include "unwind_bytes.h"
#include "unwind_rule.h"

/* All pointers and bytes are borrowed while the program runs. */
struct unwind_program {
    const struct unwind_image *image;
    uint64_t start; /* start of the function */
    uint64_t code_factor;
    int64_t data_factor;
    uint8_t pointer_encoding;
    struct bytes initial; /* instructions shared by several functions */
    struct bytes own;     /* instructions of this function */
};

/* Finds the rule at an address of the function. After an unknown instruction, nothing is known about the rest of the
 * function. */
void unwind_program_find(const struct unwind_program *program, uint64_t address, struct unwind_rule *rule);
