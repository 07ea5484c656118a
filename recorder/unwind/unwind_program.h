/* Runs the instructions that an entry of call frame information has for a function, to find which rule holds at which
 * address. */
#pragma once

#include <stdint.h>

#include "unwind_bytes.h"
#include "unwind_rule.h"

/* All pointers and bytes are borrowed while the program runs. */
struct unwind_program {
    const struct unwind_image *image;
    uint64_t start; /* start of the function */
    uint64_t end;
    uint64_t code_factor;
    int64_t data_factor;
    uint8_t pointer_encoding;
    struct bytes initial; /* instructions shared by several functions */
    struct bytes own;     /* instructions of this function */
};

/* Receives a rule and the first address at which it holds. The rule is borrowed during the call. Returns false to
 * stop. */
typedef bool unwind_rule_visit(void *context, uint64_t address, const struct unwind_rule *rule);

/* Visits the function's rules in ascending order of their addresses, from its start on. After an unknown instruction,
 * nothing is known about the rest of the function. */
void unwind_program_run(const struct unwind_program *program, unwind_rule_visit *visit, void *context);
