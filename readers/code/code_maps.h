/* What is mapped where in the processes of a recording and in its kernel, as records of mappings say, and the build ids
 * of files. */
#pragma once

#include "code_spaces.h"
#include "libconvert/base/strings.h"
#include "libconvert/base/value_table.h"

enum { PID_KERNEL = -1, KERNEL_SPACE = 0 };

/* A record of a mapping. */
struct code_map_record {
    int64_t pid; /* PID_KERNEL: a mapping of the kernel */
    uint64_t start;
    uint64_t size_bytes;
    uint64_t file_offset; /* the kernel's own mapping has the address of a symbol here */
    struct text path;
    struct text build_id; /* hex; empty: unknown */
};

/* The address space of a process from one fork or execution to the next. A program that is executed keeps the mappings
 * of the previous program. Its own mappings override them, and samples that are taken while the kernel executes the
 * program still have the old addresses. */
struct code_process {
    int64_t pid;
    struct code_space space;
    uint32_t epoch;   /* count of mappings so far */
    uint32_t parent;  /* earlier row of the process that forked it; KERNEL_SPACE: none, or taken */
    uint64_t vdso;    /* address of its vDSO; 0: unknown */
    int64_t begin_ns; /* Unix time when it began; 0: unknown */
};

struct code_maps {
    struct code_spaces spaces;
    struct value_table pid_processes; /* uint32_t for each pid, an int64_t: its current row of `processes` */
    struct recent_process {
        int64_t pid;
        uint32_t *slot;           /* its value in pid_processes; NULL: none was looked up yet */
    } recent[64];                 /* those that were looked up last, by pid modulo their number */
    struct column processes;      /* struct code_process; the first is the kernel */
    uint64_t count;               /* mappings so far */
    uint64_t kernel_start;        /* start of the kernel's own mapping; 0: unknown */
    struct strings texts;         /* paths and build ids */
    struct value_table build_ids; /* string_id for each path, a string_id */
};

/* What recordings call the vDSO, the library that the kernel maps into each process, at another address in each program
 * that is executed. */
static const struct text vdso_name = TEXT("[vdso]");

/* What recordings call the kernel. In the record of its mapping, the name of a symbol follows. */
static const struct text code_kernel_name = TEXT("[kernel.kallsyms]");

void code_maps_init(struct code_maps *maps, struct failure *failure);
void code_maps_fini(struct code_maps *maps);

/* Adds a mapping of the library with that id; 0: nothing is mapped there any more. */
void code_maps_add(struct code_maps *maps, const struct code_map_record *record, uint64_t library_id);

/* Starts a new address space for the process. It has the parent's current mappings, or none if is_described: then the
 * fork was before the recording, and records with the process's own mappings follow. */
void code_maps_fork(struct code_maps *maps, int64_t pid, int64_t parent_pid, bool is_described);

/* Starts a new address space for the process, which has executed a program. */
void code_maps_execute(struct code_maps *maps, int64_t pid);

/* Returns the row of the process whose memory this one has had since its fork, the first time; KERNEL_SPACE: none, or
 * it was taken. A process that has executed a program before the recording shows it by the address of its vDSO, so call
 * this after the mappings of both. */
uint32_t code_maps_take_parent(struct code_maps *maps, uint32_t process);

/* Returns the row of the process that has the pid now. It is added if it is new. Returns ID_NONE if memory ran out
 * (latched). */
uint32_t code_maps_process(struct code_maps *maps, int64_t pid);

static inline struct code_process *code_maps_process_at(const struct code_maps *maps, uint32_t row) {
    return column_at(&maps->processes, row);
}

/* Returns the mapping of an address; NULL if there is none. */
const struct code_mapping *code_maps_find(const struct code_maps *maps, uint32_t process, uint64_t address);

/* Sets the build id (hex) of the file with that path. The first one stays. */
void code_maps_set_build_id(struct code_maps *maps, struct text path, struct text build_id);

/* Returns the build id (hex) of the file; empty if it is unknown. */
struct text code_maps_build_id(struct code_maps *maps, struct text path);
