/* Address spaces: which part of which library is at which address. A later mapping replaces what it covers of earlier
 * ones.
 *
 * A space is a search tree of the addresses at which another mapping begins. Trees share their nodes, so a copy of a
 * space costs nothing until one of both changes, and then as much as the path to what changes. */
#pragma once

#include "libconvert/base/column.h"
#include "libconvert/base/ids.h"

struct code_mapping {
    uint64_t address;
    uint64_t size_bytes;
    uint64_t offset;     /* offset of `address` from the image's base */
    uint64_t library_id; /* what the owner of the space calls the library; 0 if the range is unmapped */
};

/* Returns whether the mapping has bytes, all of them in the address space. */
static inline bool code_mapping_is_possible(const struct code_mapping *mapping) {
    uint64_t last;
    return mapping->size_bytes && !__builtin_add_overflow(mapping->address, mapping->size_bytes - 1, &last);
}

struct code_spaces {
    struct column mappings; /* struct code_mapping */
    struct column nodes;    /* struct node */
    uint32_t frozen_count;  /* the first nodes, which may not change any more, because copies of spaces share them */
};

/* A space as it is now. It changes when something is mapped; zero is a space without mappings. */
struct code_space {
    uint32_t root; /* row of its root in code_spaces.nodes, plus 1; 0: none */
};

void code_spaces_init(struct code_spaces *spaces, struct failure *failure);
void code_spaces_fini(struct code_spaces *spaces);

/* Adds a mapping to the space. One that is not possible is ignored. Running out of memory is latched. */
void code_space_map(struct code_spaces *spaces, struct code_space *space, const struct code_mapping *mapping);

/* Returns a copy of the space. What is mapped in one of both later is not in the other. */
struct code_space code_space_copy(struct code_spaces *spaces, struct code_space space);

/* Returns the mapping that contains the address; NULL if there is none. It stays valid as long as the spaces. */
const struct code_mapping *code_space_find(const struct code_spaces *spaces, struct code_space space, uint64_t address);

/* ---- History. ---- */

/* A space at all times of a recording. Zero is one that never had a mapping. Times are any numbers that do not
 * descend, such as the numbers of definitions. */
struct code_history {
    struct column versions; /* struct version, by time */
    struct code_space now;
};

void code_history_init(struct code_history *history, struct failure *failure);
void code_history_fini(struct code_history *history);

/* Adds a mapping, which is there from that time on, until a later one replaces it. */
void code_history_map(struct code_spaces *spaces, struct code_history *history, uint64_t time,
                      const struct code_mapping *mapping);

/* Makes the space, from that time on, a copy of what the parent's was at `parent_time`. */
void code_history_inherit(struct code_spaces *spaces, struct code_history *history, uint64_t time,
                          const struct code_history *parent, uint64_t parent_time);

/* Returns the mapping that contains the address at that time; NULL if there is none. */
const struct code_mapping *code_history_find(const struct code_spaces *spaces, const struct code_history *history,
                                             uint64_t time, uint64_t address);
