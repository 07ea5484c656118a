/* What lies where in the processes of a native trace. Mappings come and go: each holds from its definition on, and a
 * look-up says up to which definition it wants to know. */
#ifndef GECKO_NATIVE_MAPPINGS_H
#define GECKO_NATIVE_MAPPINGS_H

#include "libconvert/column.h"
#include "libconvert/ids.h"
#include "libconvert/index_set.h"

struct native_mapping {
    int64_t pid; /* with the start: the process, one life of its pid */
    uint64_t process_start_ns;
    uint64_t address;
    uint64_t size_bytes;
    uint64_t offset;     /* of `address` from the image's base */
    uint64_t library_id; /* of its definition; 0: nothing is mapped there any more */
};

/* What a forked child has of its parent, where no mapping of its own tells better. */
struct native_inheritance {
    int64_t pid; /* with the start: the child */
    uint64_t process_start_ns;
    int64_t parent_pid; /* the same of the parent, which may have it of its own parent */
    uint64_t parent_start_ns;
    uint64_t last_id; /* up to that definition */
};

/* A mapping is no longer than a block of 2^level bytes, so it lies in at most two blocks of that size. It is found
 * through them: a look-up costs a probe for each size in use, however many mappings there are. */
struct native_mappings {
    struct index_set block_index; /* of blocks */
    struct column blocks;         /* struct block: the newest mapping, or inheritance, in each */
    struct column rows;           /* struct row: mappings, once for each of their blocks */
    struct column inheritances;   /* struct inheritance_row: each in a block of its process */
    uint64_t levels;              /* bit n: there are blocks of 2^n bytes */
};

void native_mappings_init(struct native_mappings *mappings, struct failure *failure);
void native_mappings_fini(struct native_mappings *mappings);

/* Adds the mapping of that definition, whose id is above those before. One without bytes, or that goes beyond the end
 * of all addresses, is left out. */
void native_mappings_add(struct native_mappings *mappings, uint64_t id, const struct native_mapping *mapping);

/* The same of an inheritance. */
void native_mappings_add_inheritance(struct native_mappings *mappings, uint64_t id,
                                     const struct native_inheritance *inheritance);

/* The mapping that the address is in, knowing the definitions up to `last_id`; NULL where there is none. Behind the
 * 1024 newest mappings of a place the older ones are forgotten, and ancestors behind the 64 nearest ones. */
const struct native_mapping *native_mappings_find(const struct native_mappings *mappings, int64_t pid,
                                                  uint64_t process_start_ns, uint64_t address, uint64_t last_id);

#endif
