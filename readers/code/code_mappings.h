/* The mappings of processes: which part of which library is at which address. Mappings have ascending ids, and a later
 * mapping overrides an earlier one. A look-up passes the last id to consider, so it can go back to any time of a
 * recording. */
#ifndef GECKO_CODE_MAPPINGS_H
#define GECKO_CODE_MAPPINGS_H

#include "libconvert/base/column.h"
#include "libconvert/base/ids.h"
#include "libconvert/base/index_set.h"

struct code_mapping {
    int64_t pid; /* pid and process_start_ns identify the process */
    uint64_t process_start_ns;
    uint64_t address;
    uint64_t size_bytes;
    uint64_t offset;     /* offset of `address` from the image's base */
    uint64_t library_id; /* id of the library's definition; 0 if the range is unmapped */
};

/* Declares that a forked child has its parent's mappings, unless it has newer ones of its own. */
struct code_inheritance {
    int64_t pid; /* pid and process_start_ns identify the child */
    uint64_t process_start_ns;
    int64_t parent_pid; /* the parent, which may have inherited mappings itself */
    uint64_t parent_start_ns;
    uint64_t last_id; /* id of the parent's last definition that the child inherits */
};

/* Finds the mapping at an address. Each mapping is kept in blocks of 2^level bytes, the smallest such size that is not
 * below the mapping's length. So a mapping lies in at most two blocks. A look-up therefore probes one block per size in
 * use, however many mappings there are. */
struct code_mappings {
    struct index_set block_index; /* rows of `blocks` */
    struct column blocks;         /* struct block, each with its newest mapping or inheritance */
    struct column rows;           /* struct row: mappings, once for each of their blocks */
    struct column inheritances;   /* struct inheritance_row, one block per process */
    uint64_t levels;              /* bit n is set if there are blocks of 2^n bytes */
    uint64_t *filter;             /* owned; rules out most blocks that are not there. NULL: there are no blocks */
};

void code_mappings_init(struct code_mappings *mappings, struct failure *failure);
void code_mappings_fini(struct code_mappings *mappings);

/* Adds a mapping. `id` is the id of its definition; ids must ascend. A mapping without bytes, or beyond the end of the
 * address space, is ignored. */
void code_mappings_add(struct code_mappings *mappings, uint64_t id, const struct code_mapping *mapping);

/* Adds an inheritance. Ids of mappings and inheritances must ascend together. */
void code_mappings_add_inheritance(struct code_mappings *mappings, uint64_t id,
                                   const struct code_inheritance *inheritance);

/* Returns the mapping that contains the address, considering definitions up to `last_id`. Returns NULL if there is
 * none. A block keeps only its newest 1024 mappings, and the search stops after 64 ancestors. */
const struct code_mapping *code_mappings_find(const struct code_mappings *mappings, int64_t pid,
                                              uint64_t process_start_ns, uint64_t address, uint64_t last_id);

#endif
