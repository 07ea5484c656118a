/* Memory of this process that may vanish at any instant, copied: what is not there is an answer, and never a fault. It
 * is read through the kernel's file of it (the calling thread's, since the process's goes with its first thread), with
 * no system call that a program would not have to allow for any file: process_vm_readv may end one that confines
 * itself. */
#ifndef GREC_OWN_MEMORY_H
#define GREC_OWN_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "own_files.h"

struct own_memory {
    struct own_file kept;
    int file;
    bool is_forbidden; /* a copy was refused, whatever the address */
};

/* Before copies, in a thread of the recorder's: false if it cannot be read here, and errno tells why. */
bool own_memory_begin(struct own_memory *memory);
void own_memory_end(struct own_memory *memory);

/* The thread that had the file open has ended, or is not this process's. */
void own_memory_forget(struct own_memory *memory);

/* Copies bytes from the address on, up to the first page that is not there; returns how many. */
size_t own_memory_copy(struct own_memory *memory, void *to, uint64_t address, size_t bytes_count);

#endif
