/* Names of code that is in no file on the disk: the kernel's, the vDSO's, and code that processes generated. */
#ifndef GECKO_DATA_NAMES_H
#define GECKO_DATA_NAMES_H

#include <stdint.h>

#include "libconvert/base/text.h"

struct data_name {
    struct text name;   /* borrowed from the source of names */
    uint64_t start;     /* start of the function, at most 1 above the looked-up address; has the same base as that */
    struct text module; /* kernel module; empty: the kernel itself */
    struct text file;   /* the perf map or jitdump that names generated code; empty: other code */
};

struct data_kernel_module;

struct data_names {
    void *context;
    /* Finds the kernel's function at an absolute address. */
    bool (*find_kernel)(void *context, uint64_t address, struct data_name *name);
    /* Finds the function at an absolute address in the module of the kernel. */
    bool (*find_in_module)(void *context, const struct data_kernel_module *module, uint64_t address,
                           struct data_name *name);
    /* Finds the function at an offset in the vDSO with that build id (hex; empty: unknown). */
    bool (*find_vdso)(void *context, struct text build_id, uint64_t offset, struct data_name *name);
    /* Finds the function at an address of code that the process generated: see data_jit_find. */
    bool (*find_generated)(void *context, int64_t pid, uint64_t address, uint64_t code_number, struct data_name *name);
};

#endif
