/* The instructions that an entry of call frame information has for a function: run, they say which rule holds where. */
#ifndef GREC_UNWIND_PROGRAM_H
#define GREC_UNWIND_PROGRAM_H

#include <stdint.h>

#include "unwind_bytes.h"
#include "unwind_cfi.h"

struct unwind_program {
    uint64_t start; /* the function */
    uint64_t end;
    uint64_t code_factor;
    int64_t data_factor;
    uint8_t pointer_encoding;
    uint64_t header;      /* what pointers may count from */
    struct bytes initial; /* common to functions */
    struct bytes own;
};

/* From this address on the rule holds, which is gone when the call returns. */
typedef void unwind_rule_visit(void *context, uint64_t address, const struct unwind_rule *rule);

/* Visits the function's rules in the order of their addresses, from its start on. Behind an instruction that is not
 * known nothing is. */
void unwind_program_run(const struct unwind_program *program, unwind_rule_visit *visit, void *context);

#endif
