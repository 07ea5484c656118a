/* Copies memory of this process that may be unmapped at any instant: missing memory ends the copy, and never causes a
 * fault. The memory is read from /proc/self/task/TID/mem, because a program that filters system calls must allow
 * reading files, but may be killed for process_vm_readv. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "recorder/state/own_files.h"

struct own_memory {
    struct own_file kept;
    int file;
    bool is_forbidden; /* the kernel refuses to copy any address */
};

/* Call these around copies, in one of the recorder's threads. own_memory_begin returns false, and sets errno, if memory
 * cannot be read. */
bool own_memory_begin(struct own_memory *memory);
void own_memory_end(struct own_memory *memory);

/* Copies bytes from the address on, up to the first page that is not mapped. Returns how many. */
size_t own_memory_copy(struct own_memory *memory, void *to, uint64_t address, size_t bytes_count);
