/* An open-addressing hash table that holds only row numbers; the rows live in the caller's columns. A slot keeps 32
 * bits of the row's hash beside the number, so that growing touches no row and a probe compares rows only if those bits
 * agree. The load is at most 3/4.
 *
 * The hash is XXH3 with a secret that each process draws at random. Rows come from files that may be hostile: with a
 * known hash, a file could hold names that all fall into one slot, and every look-up would walk them all. No output may
 * depend on a hash; order comes from row numbers. */
#pragma once

#include <stddef.h>
#include <stdint.h>

#include "failure.h"

struct index_slot {
    uint32_t index; /* UINT32_MAX (ID_NONE) if the slot is empty */
    uint32_t hash;
};

struct index_set {
    struct failure *failure; /* borrowed */
    struct index_slot *slots;
    size_t mask; /* the number of slots, less 1 */
    size_t count;
    size_t limit; /* the count at which the set grows */
};

void index_set_init(struct index_set *set, struct failure *failure);
void index_set_fini(struct index_set *set);

/* Makes room for one more row. Returns false if memory ran out (latched). */
bool index_set_grow(struct index_set *set);

enum { INDEX_SET_SECRET_BYTES = 192 };

/* Drawn when the program or the library is loaded, and constant afterwards. */
extern uint8_t index_set_secret[INDEX_SET_SECRET_BYTES];

/* The functions that hash are not inline. Half of all files include this header, and if each had to include xxhash.h
 * too, `make lint` would take almost twice as long. */
uint32_t index_set_hash(const void *bytes, size_t bytes_count);

/* A hash that can replace the bytes: without knowing the secret, nobody can make two texts that share one. */
struct index_identity {
    uint64_t low, high;
};

struct index_identity index_set_identity(const void *bytes, size_t bytes_count);

static inline bool index_identity_equal(struct index_identity a, struct index_identity b) {
    return a.low == b.low && a.high == b.high;
}

/* The slots that may hold a row with this hash: begin with the first, and go to the next while the slot holds another
 * row. */
static inline struct index_slot *index_set_first(const struct index_set *set, uint32_t hash) {
    return &set->slots[hash & set->mask];
}

static inline struct index_slot *index_set_next(const struct index_set *set, const struct index_slot *slot) {
    return &set->slots[((size_t)(slot - set->slots) + 1) & set->mask];
}

static inline bool index_slot_is_empty(const struct index_slot *slot) { return slot->index == UINT32_MAX; }

/* Returns whether there is room to insert a row; memory may run out (latched). Call it before looking for the slot. */
static inline bool index_set_reserve(struct index_set *set) { return set->count < set->limit || index_set_grow(set); }

static inline void index_set_fill(struct index_set *set, struct index_slot *empty, uint32_t hash, uint32_t index) {
    *empty = (struct index_slot){.index = index, .hash = hash};
    set->count++;
}
