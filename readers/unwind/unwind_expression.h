/* Evaluates DWARF expressions in call frame information. */
#pragma once

#include "recorder/unwind/unwind_cfi.h"

/* Where an expression reads registers and memory. Both functions return false if the value is unknown. */
struct unwind_expression_reads {
    bool (*find_register)(void *context, uint64_t dwarf_register, uint64_t *value);
    bool (*load)(void *context, uint64_t address, uint32_t bytes_count, uint64_t *value); /* 1 to 8 bytes */
    void *context;
    uint64_t slide; /* address in the process minus address in the file */
};

/* Evaluates the expression at `offset` of a rule of the image. If `first` is not NULL, it is the CFA, which is pushed
 * on the empty stack before the evaluation. Returns false if the expression is broken, reads an unknown value, or does
 * not end within a thousand operations. */
bool unwind_expression_evaluate(const struct unwind_image *image, int32_t offset,
                                const struct unwind_expression_reads *reads, const uint64_t *first, uint64_t *value);
