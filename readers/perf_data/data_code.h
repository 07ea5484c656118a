/* The code in a recording: which files are mapped at which addresses of the kernel and of processes, and stacks of such
 * addresses.
 *
 * While records are read, stacks consist of code rows: offsets in files, or addresses. Frames are made at the end, when
 * all build ids and names are known. */
#ifndef GECKO_DATA_CODE_H
#define GECKO_DATA_CODE_H

#include "data_jit.h"
#include "data_kernel.h"
#include "libconvert/base/row_table.h"
#include "readers/code/code_mappings.h"
#include "readers/perf/perf_libraries.h"
#include "readers/perf/perf_record.h"

struct data_mapping {
    int64_t pid; /* PERF_PID_KERNEL: a mapping of the kernel */
    uint64_t start;
    uint64_t size_bytes;
    uint64_t file_offset;
    struct text path;
    struct text build_id; /* hex; empty: unknown */
};

struct data_code {
    struct profile *profile;    /* borrowed */
    const struct data_jit *jit; /* distinguishes code that was generated at one address; NULL: nothing does. Borrowed */
    struct perf_libraries libraries;
    struct strings texts;          /* paths and build ids */
    struct code_mappings mappings; /* their pids are rows of `spaces`, their library ids rows of `files` plus 1 */
    uint64_t mapping_count;
    struct text kernel_symbol; /* the symbol that the kernel's mapping names; empty: none */
    uint64_t kernel_symbol_address;
    uint64_t kernel_start;         /* start of the kernel's mapping; UINT64_MAX: unknown */
    struct row_table file_keys;    /* struct file_key */
    struct column files;           /* struct data_file, one per key */
    struct row_table pids;         /* int64_t */
    struct column pid_spaces;      /* uint32_t, one per pid: its current space */
    struct column spaces;          /* struct data_space; the first is the kernel's */
    struct known_place *places;    /* recent results of data_code_row; NULL before the first call */
    struct known_page *pages;      /* recent pages of processes; NULL before the first one */
    bool has_parts_of_pages;       /* a mapping of a process does not consist of pages */
    struct row_table codes;        /* struct code_row */
    struct stack_table stacks;     /* their frames are code rows; callers come before their callees */
    struct row_table listed_paths; /* string_id: paths that the recording lists with build ids */
    struct column listed_ids;      /* string_id: build ids, one per listed path */
};

/* A file that is mapped somewhere. */
struct data_file {
    struct text path;      /* the name in the profile */
    struct text real_path; /* the path in the recording */
    struct text build_id;  /* hex; empty: the mapping has none */
    uint32_t library;      /* row of data_code.libraries */
    lib_id lib;            /* the library in the profile; none until a frame needs it */
};

void data_code_init(struct data_code *code, struct profile *profile);
void data_code_fini(struct data_code *code);

/* ---- What lies where. ---- */

void data_code_map(struct data_code *code, const struct data_mapping *mapping);

/* Removes the kernel's mappings in a range of addresses. */
void data_code_unmap_kernel(struct data_code *code, uint64_t start, uint64_t size_bytes);

/* Starts a new address space for the process. It has the parent's current mappings, or none if is_new: then records
 * with the process's own mappings follow. */
void data_code_fork(struct data_code *code, int64_t pid, int64_t parent_pid, bool is_new);

/* Sets the build id (hex) of the file with that path, for mappings that have none of their own. */
void data_code_set_build_id(struct data_code *code, struct text path, struct text build_id);

/* Returns what is known about the recorded kernel. The release is left empty. */
struct data_kernel_identity data_code_kernel(struct data_code *code);

/* Returns the mapping of an address of the process, or NULL. */
const struct code_mapping *data_code_find(struct data_code *code, int64_t pid, uint64_t address);

/* Returns the row in code->files of a mapping's file. */
static inline uint32_t data_code_file_of(const struct code_mapping *mapping) {
    return (uint32_t)mapping->library_id - 1;
}

/* Returns the build id of the file (hex); empty if it is unknown. */
struct text data_code_build_id(struct data_code *code, const struct data_file *file);

/* ---- Stacks. ---- */

/* Returns the present address space of the process. Returns ID_NONE if memory ran out (latched). */
uint32_t data_code_space(struct data_code *code, int64_t pid);

/* Returns a number that changes whenever an address in the space, or of the kernel, may get another code row. */
uint64_t data_code_moment(const struct data_code *code, uint32_t space);

/* Returns the code row of an address in the space, or of the kernel. `flags` are of enum perf_place_flag. Returns
 * ID_NONE if memory ran out (latched). */
uint32_t data_code_row(struct data_code *code, uint32_t space, uint64_t address, uint32_t flags);

/* Returns the stack row of a code row that the stack row `caller` called; ID_NONE: nothing did. Returns ID_NONE if
 * memory ran out (latched). */
uint32_t data_code_stack(struct data_code *code, uint32_t caller, uint32_t row);

/* Makes the profile's frames and stacks. Returns an array of stack ids, one per stack row; free it with memory_free.
 * Returns NULL if memory ran out (latched) or there are no stacks. */
stack_id *data_code_finish(struct data_code *code, struct data_names *names);

#endif
