/* What the kernel tells of memory. Nothing here allocates. */
#ifndef GECKO_MACHINE_MEMORY_H
#define GECKO_MACHINE_MEMORY_H

#include <stdint.h>

/* The bytes that the machine has, or the smallest limit of the control groups that this process is in (of version 1
 * and 2) where that is less. `root` is the folder that holds the kernel's files, "" but for tests. */
uint64_t machine_memory_bytes(const char *root);

/* What this process has in memory, without pages of mapped files, which the kernel can drop and read again. 0: not
 * known. */
uint64_t machine_resident_bytes(void);

#endif
