/* The code in a recording: which files are mapped at which addresses of the kernel and of processes, and stacks of such
 * addresses.
 *
 * While records are read, stacks consist of code rows: offsets in files, or addresses. Frames are made at the end, when
 * all build ids and names are known. */
#ifndef GECKO_DATA_CODE_H
#define GECKO_DATA_CODE_H

#include "libconvert/base/row_table.h"
#include "readers/code/code_libraries.h"
#include "readers/code/code_maps.h"
#include "readers/code/jit_code.h"
#include "readers/code/system_code.h"
#include "readers/perf/perf_record.h"

struct data_code {
    struct profile *profile; /* borrowed */
    struct system_code system;
    struct jit jit;
    int64_t now_ns; /* time of the record that is read now */
    struct code_libraries libraries;
    struct code_maps maps;      /* library ids are rows of `files` plus 1 */
    struct row_table file_keys; /* struct file_key */
    struct column files;        /* struct data_file, one per key */
    struct known_place *places; /* recent results of data_code_row; NULL before the first call */
    struct row_table codes;     /* struct code_row */
    struct stack_table stacks;  /* their frames are code rows; callers come before their callees */
};

/* A file that is mapped somewhere. */
struct data_file {
    struct text path;      /* the name in the profile */
    struct text real_path; /* the path in the recording */
    struct text build_id;  /* hex; empty: the mapping has none */
    uint32_t library;      /* row of data_code.libraries */
    lib_id lib;            /* the library in the profile; none until a frame needs it */
};

void data_code_init(struct data_code *code, struct profile *profile, const struct debug_folders *folders,
                    const struct jit_policy *policy);
void data_code_fini(struct data_code *code);

/* ---- What lies where. ---- */

/* Declares that the records that follow are of that time, or later. */
void data_code_advance(struct data_code *code, int64_t time_ns);

void data_code_map(struct data_code *code, const struct code_map_record *mapping);

/* Removes the kernel's mappings in a range of addresses. */
void data_code_unmap_kernel(struct data_code *code, uint64_t start, uint64_t size_bytes);

/* Begins to load the kernel's symbols. */
void data_code_begin_kernel(struct data_code *code);

/* Returns the mapping of an address of the process, or NULL. */
const struct code_mapping *data_code_find(struct data_code *code, int64_t pid, uint64_t address);

/* Returns the row in code->files of a mapping's file. */
static inline uint32_t data_code_file_of(const struct code_mapping *mapping) {
    return (uint32_t)mapping->library_id - 1;
}

/* Returns the build id of the file (hex); empty if it is unknown. */
struct text data_code_build_id(struct data_code *code, const struct data_file *file);

/* ---- Stacks. ---- */

/* Returns a number that changes whenever an address of the process (a row of code->maps), or of the kernel, may get
 * another code row. */
uint64_t data_code_moment(const struct data_code *code, uint32_t process);

/* Returns the code row of an address of the process, or of the kernel. `flags` are of enum perf_place_flag. Returns
 * ID_NONE if memory ran out (latched). */
uint32_t data_code_row(struct data_code *code, uint32_t process, uint64_t address, uint32_t flags);

/* Returns the stack row of a code row that the stack row `caller` called; ID_NONE: nothing did. Returns ID_NONE if
 * memory ran out (latched). */
uint32_t data_code_stack(struct data_code *code, uint32_t caller, uint32_t row);

/* Makes the profile's frames and stacks. Returns an array of stack ids, one per stack row; free it with memory_free.
 * Returns NULL if memory ran out (latched) or there are no stacks. */
stack_id *data_code_finish(struct data_code *code);

#endif
