/* The functions of the recorded system's kernel and vDSO. Symbols are read at the first look-up that needs them, or
 * ahead of it in a thread: the running kernel prints its list slowly. */
#pragma once

#include <pthread.h>

#include "kernel_symbols.h"
#include "libconvert/symbols/symbol_table.h"

struct system_code {
    struct failure *failure;             /* borrowed */
    const struct debug_folders *folders; /* where to look for files; NULL: open none. Borrowed */
    struct kernel_identity identity;     /* what is known of the kernel so far. Texts are borrowed */
    struct kernel_symbols kernel;
    struct kernel_identity kernel_identity; /* what `kernel` was loaded for */
    struct failure kernel_failure;          /* failure of the thread, then of everything that uses the kernel */
    bool is_begun;                          /* system_code_begin was called */
    bool is_loaded;
    bool is_loading;    /* the thread `loading` was started, and not joined yet */
    bool is_completing; /* so was `completing`, which joins `loading` */
    pthread_t loading, completing;
    bool has_looked_for_vdso;
    struct text vdso; /* its bytes; empty: not loaded */
    char *vdso_copy;  /* owns the bytes if they are perf's copy; else NULL */
    struct debug_file vdso_file;
    struct symbol_table vdso_symbols;
};

void system_code_init(struct system_code *system, const struct debug_folders *folders, struct failure *failure);
void system_code_fini(struct system_code *system);

/* Starts to load the kernel's symbols. Without a build id, later records may say more about the kernel, and nothing is
 * loaded ahead. */
void system_code_begin(struct system_code *system);

/* Starts to load what is besides the kernel's own code, if system_code_begin has started and this was not called. */
void system_code_complete(struct system_code *system);

/* Finds the kernel's function at an address of the recording. */
bool system_code_find_kernel(struct system_code *system, uint64_t address, struct code_name *name);

/* Finds the function at an address of the recording in the module of the kernel. */
bool system_code_find_in_module(struct system_code *system, const struct kernel_module *module, uint64_t address,
                                struct code_name *name);

/* Returns the bytes of the vDSO with that build id (hex): the running kernel's, otherwise perf's copy. Without a build
 * id, it is the running kernel's if that has the recorded release. An empty text if none is found, or neither is known
 * yet. Only the first call that knows one looks for it: all processes have the same. */
struct text system_code_vdso(struct system_code *system, struct text build_id);

/* Finds the function at an offset in that vDSO. The start in `name` is also an offset. */
bool system_code_find_in_vdso(struct system_code *system, struct text build_id, uint64_t offset,
                              struct code_name *name);
