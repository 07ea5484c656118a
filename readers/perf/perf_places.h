/* The code in a recording: which files are mapped at which addresses of the kernel and of processes, and stacks of such
 * addresses.
 *
 * While records are read, stacks consist of code rows: offsets in files, or addresses. Frames are made at the end, when
 * all build ids and names are known. */
#pragma once

#include "libconvert/base/row_table.h"
#include "perf_record.h"
#include "readers/code/code_libraries.h"
#include "readers/code/code_maps.h"
#include "readers/code/embedded_symbols.h"
#include "readers/code/jit_code.h"
#include "readers/code/system_code.h"

struct perf_places {
    struct profile *profile; /* borrowed */
    struct system_code system;
    struct jit jit;
    struct embedded_symbols embedded_symbols;
    int64_t now_ns; /* time of the record that is read now */
    struct code_libraries libraries;
    uint32_t unknown_library;   /* row of `libraries` */
    frame_id unknown_caller;    /* frame of all callers outside of files that have no name; none: there is none yet */
    struct code_maps maps;      /* library ids are rows of `files` plus 1 */
    struct row_table file_keys; /* struct file_key */
    struct column files;        /* struct perf_file, one per key */
    struct known_place *places; /* recent code rows of addresses; NULL before the first one */
    uint32_t *stack_rows;       /* owned; the code rows of a stack */
    size_t stack_capacity;
    struct row_table codes;    /* struct code_row */
    struct stack_table stacks; /* their frames are code rows; callers come before their callees */
};

/* A file that is mapped somewhere. */
struct perf_file {
    struct text path;      /* the name in the profile */
    struct text real_path; /* the path in the recording */
    struct text build_id;  /* hex; empty: the mapping has none */
    uint32_t library;      /* row of perf_places.libraries */
    lib_id lib;            /* the library in the profile; none until a frame needs it */
};

void perf_places_init(struct perf_places *code, struct profile *profile, const struct debug_folders *folders,
                      const struct jit_policy *policy);
void perf_places_fini(struct perf_places *code);

/* ---- What lies where. ---- */

/* Declares that the records that follow are of that time, or later. */
void perf_places_advance(struct perf_places *code, int64_t time_ns);

void perf_places_map(struct perf_places *code, const struct code_map_record *mapping);

/* Removes the kernel's mappings in a range of addresses. */
void perf_places_unmap_kernel(struct perf_places *code, uint64_t start, uint64_t size_bytes);

/* Begins to load the kernel's symbols. */
void perf_places_begin_kernel(struct perf_places *code);

/* Starts a new address space for the process, which the parent has forked at that time. If the record is synthesized,
 * the process was there before. */
void perf_places_fork(struct perf_places *code, int64_t pid, int64_t parent_pid, bool is_synthesized, int64_t time_ns);

/* Tells that the process executed a program at that time. */
void perf_places_execute(struct perf_places *code, int64_t pid, int64_t time_ns);

/* Finds the kernel's function at an address. Call it after perf_places_finish, when all is known of the kernel. */
bool perf_places_find_kernel(struct perf_places *code, uint64_t address, struct code_name *name);

/* Returns the mapping of an address of the process, or NULL. */
const struct code_mapping *perf_places_find(struct perf_places *code, int64_t pid, uint64_t address);

/* Returns the code that the process has generated at the address by now; NULL if none is known. `number` is set to its
 * number, for jit_code_at. If the times of the recording are not those of jitdumps, that is the last such code. */
const struct jit_code *perf_places_generated(struct perf_places *code, int64_t pid, uint64_t address, uint64_t *number);

/* Returns the row in code->files of a mapping's file. */
static inline uint32_t perf_places_file_of(const struct code_mapping *mapping) {
    return (uint32_t)mapping->library_id - 1;
}

/* Returns the build id of the file (hex); empty if it is unknown. */
struct text perf_places_build_id(struct perf_places *code, const struct perf_file *file);

/* ---- Stacks. ---- */

/* Returns the stack row of a stack of the process, which has these addresses, innermost first. Returns ID_NONE if it is
 * empty or memory ran out (latched). */
uint32_t perf_places_stack(struct perf_places *code, int64_t pid, const struct perf_place *places, size_t count);

/* Makes the profile's frames and stacks. Returns an array of stack ids, one per stack row; free it with memory_free.
 * Returns NULL if memory ran out (latched) or there are no stacks. */
stack_id *perf_places_finish(struct perf_places *code);
