/* The symbols that a stripped library keeps for its own backtraces, those that the dynamic linker does not need: a
 * small ELF file, compressed with xz, in the section ".gnu_debugdata". */
#pragma once

#include "debug_file.h"
#include "libconvert/base/failure.h"

struct debug_data {
    struct Elf *elf; /* NULL: there is none, or it cannot be read */
    char *bytes;
};

/* The most bytes that are unpacked, far more than the largest libraries have. Anything larger counts as damaged. */
enum { DEBUG_DATA_BYTES_MAX = 64 << 20 };

/* Running out of memory is latched, and leaves nothing to be closed. */
void debug_data_open(struct debug_data *data, const struct debug_file *file, struct failure *failure);
void debug_data_close(struct debug_data *data);
