/* The functions of a library as its call frame information (.eh_frame) lists them, which even a stripped file has. They
 * have no names. */
#pragma once

#include "debug_file.h"
#include "recorder/unwind/unwind_cfi.h"

struct function_ranges {
    const struct debug_file *file; /* borrowed */
    bool is_read;
    struct unwind_image image;
    struct unwind_index index;
};

/* Reads nothing yet. The file must stay open until function_ranges_fini, and the struct must stay at its address. */
void function_ranges_init(struct function_ranges *ranges, const struct debug_file *file);
void function_ranges_fini(struct function_ranges *ranges);

/* Stores the addresses at which the function at the address starts and ends. Returns false if no function is known
 * there. The first call reads the list of functions. For x86-64 and aarch64; other files have no functions. */
bool function_ranges_find(struct function_ranges *ranges, uint64_t address, uint64_t *start, uint64_t *end);
