/* The functions of the kernel and its modules. They come from the recording's own copy of the kernel's list of symbols;
 * otherwise from the running kernel's list (/proc/kallsyms) if the recording was made under that kernel, otherwise from
 * perf's copy of the recorded kernel's list, or from an uncompressed kernel and from modules with the recorded build
 * ids. */
#pragma once

#include "code_name.h"
#include "kernel_list.h"
#include "libconvert/base/arena.h"
#include "libconvert/base/row_table.h"
#include "libconvert/symbols/debug_file_search.h"

/* The kernel that the recording was made under. */
struct kernel_identity {
    struct text build_id;          /* hex; empty: unknown */
    struct text release;           /* as uname reports it; empty: unknown */
    struct text reference;         /* the name of a symbol; empty: none */
    uint64_t address;              /* address of the reference symbol during the recording */
    const struct input *recording; /* has a copy of the list of symbols, or not; NULL: has none */
};

/* A module of the kernel. */
struct kernel_module {
    struct text name;     /* "[nf_tables]" */
    struct text path;     /* as recorded */
    struct text build_id; /* hex; empty: unknown */
    uint64_t address;     /* address of its code, during the recording */
};

struct kernel_symbols {
    struct failure *failure;             /* borrowed */
    const struct debug_folders *folders; /* borrowed */
    struct arena texts;
    struct kernel_identity identity; /* the kernel that was loaded. Texts are borrowed */
    struct kernel_list list;         /* the running kernel's, or perf's copy, unless this process keeps its part */
    bool is_copy;                    /* `list` is perf's copy, which may lack modules and what was loaded later */
    struct text code;                /* the part of the list that is searched before `symbols`; empty: none */
    struct column symbols;           /* struct kernel_symbol, by address */
    uint64_t shift;                  /* address in the recording minus address in the list */
    struct column module_symbols;    /* struct kernel_symbol by address, for modules whose files were read */
    struct row_table modules;        /* uint64_t: addresses of modules whose files were looked for */
    uint64_t unread_count; /* kernels and modules whose symbols could not be read, as the process for it failed */
};

void kernel_symbols_init(struct kernel_symbols *kernel, const struct debug_folders *folders, struct failure *failure);
void kernel_symbols_fini(struct kernel_symbols *kernel);

/* Loads the kernel's symbols. Returns false if there are none for that kernel: then kernel_symbols_find finds nothing.
 */
bool kernel_symbols_load(struct kernel_symbols *kernel, const struct kernel_identity *identity);

/* Reads what the running kernel has besides its own code, such as modules. kernel_symbols_find does it for an address
 * that is not in the kernel's own code. */
void kernel_symbols_complete(struct kernel_symbols *kernel);

/* Finds the function at an address of the recording. */
bool kernel_symbols_find(struct kernel_symbols *kernel, uint64_t address, struct code_name *name);

/* Finds the function at an address of the recording in the module. Reads the module's file if the list of symbols does
 * not have the module. */
bool kernel_symbols_find_in_module(struct kernel_symbols *kernel, const struct kernel_module *module, uint64_t address,
                                   struct code_name *name);
