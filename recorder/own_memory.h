/* Memory of this process that may vanish at any instant, copied: what is not there is an answer, and never a fault. It
 * is read through the kernel's file of it (the calling thread's, since the process's goes with its first thread), with
 * no system call that a program would not have to allow for any file: process_vm_readv may end one that confines
 * itself. */
#ifndef GREC_OWN_MEMORY_H
#define GREC_OWN_MEMORY_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct own_memory {
    int file;
    bool is_forbidden; /* a copy was refused, whatever the address */
};

/* False: it cannot be read here, and errno tells why. */
bool own_memory_open(struct own_memory *memory);
void own_memory_close(struct own_memory *memory);

/* Copies bytes from the address on, up to the first page that is not there; returns how many. */
size_t own_memory_copy(struct own_memory *memory, void *to, uint64_t address, size_t bytes_count);

#endif
