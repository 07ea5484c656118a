/* The symbols that a stripped library keeps for its own backtraces: a small ELF file, compressed with xz, in its
 * section
 * ".gnu_debugdata". They are those that its dynamic linker does not need. */
#ifndef GECKO_DEBUG_DATA_H
#define GECKO_DEBUG_DATA_H

#include "debug_file.h"
#include "failure.h"

struct debug_data {
    struct Elf *elf; /* NULL: there is none, or none that can be read */
    char *bytes;
};

/* At most so many bytes are unpacked: far more than the largest libraries have. What is larger counts as damaged. */
enum { DEBUG_DATA_BYTES_MAX = 64 << 20 };

/* Failures (memory) are latched, and leave nothing to be closed. */
void debug_data_open(struct debug_data *data, const struct debug_file *file, struct failure *failure);
void debug_data_close(struct debug_data *data);

#endif
