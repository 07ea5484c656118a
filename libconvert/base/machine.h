/* What the kernel reports about the machine and about the share of it that this process has. Nothing here allocates. */
#pragma once

#include <stdint.h>

/* Returns the memory of the machine in bytes, or the smallest limit of the control groups (version 1 or 2) of this
 * process if that is less. `root` is prepended to the paths of the kernel's files; it is "" outside of tests. */
uint64_t machine_memory_bytes(const char *root);

/* Returns how many processors' time the control groups of this process may use, rounded up; UINT_MAX if that is not
 * limited. `root` is as for machine_memory_bytes. */
unsigned machine_processor_limit(const char *root);

/* Returns the number of processors that the calling thread may use, at least 1: those that its affinity allows, or
 * fewer if the control groups limit the processor time. Thread-safe. */
unsigned machine_processor_count(void);

/* Returns how much private memory that can be written this process has, touched or not, in bytes; 0 if unknown. */
uint64_t machine_data_bytes(void);

/* Returns the resident memory of this process in bytes, without pages of mapped files, which the kernel can drop and
 * read again; 0 if unknown. */
uint64_t machine_resident_bytes(void);
