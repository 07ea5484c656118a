/* An open-addressing hash that holds only row numbers; the rows live in the caller's columns.
 * A slot keeps 32 bits of the row's hash beside the number, so that growing touches no row and a probe
 * compares rows only when those bits agree. Grown at a load of 3/4.
 *
 * The hash is XXH3 with a secret that each process draws at random. Rows come from foreign files: with a hash that
 * is known beforehand, a file could hold names that all fall into one slot, and each look-up would walk them all.
 * Nothing that is written may depend on a hash; order comes from row numbers. */
#ifndef GECKO_INDEX_SET_H
#define GECKO_INDEX_SET_H

#include <stddef.h>
#include <stdint.h>

#define XXH_INLINE_ALL
#include <xxhash.h>

#include "failure.h"

struct index_slot {
    uint32_t index; /* ID_NONE-valued (UINT32_MAX) when empty */
    uint32_t hash;
};

struct index_set {
    struct failure *failure; /* borrowed */
    struct index_slot *slots;
    size_t mask; /* slot count - 1 */
    size_t count;
    size_t limit; /* count at which to grow */
};

void index_set_init(struct index_set *set, struct failure *failure);
void index_set_fini(struct index_set *set);

/* Makes room for one more row; false when memory ran out (latched). */
bool index_set_grow(struct index_set *set);

enum { INDEX_SET_SECRET_BYTES = 192 };

/* Drawn when the program or the library is loaded, and constant from then on. */
extern uint8_t index_set_secret[INDEX_SET_SECRET_BYTES];

static inline uint32_t index_set_hash(const void *bytes, size_t bytes_count) {
    return (uint32_t)XXH3_64bits_withSecret(bytes, bytes_count, index_set_secret, INDEX_SET_SECRET_BYTES);
}

/* A hash that stands for the bytes themselves: whoever does not know the secret cannot make two texts that share one. */
static inline XXH128_hash_t index_set_identity(const void *bytes, size_t bytes_count) {
    return XXH3_128bits_withSecret(bytes, bytes_count, index_set_secret, INDEX_SET_SECRET_BYTES);
}

/* Walking the slots of a hash: start, test the slot, go on while it is taken by another row. */
static inline struct index_slot *index_set_first(const struct index_set *set, uint32_t hash) {
    return &set->slots[hash & set->mask];
}

static inline struct index_slot *index_set_next(const struct index_set *set, const struct index_slot *slot) {
    return &set->slots[((size_t)(slot - set->slots) + 1) & set->mask];
}

static inline bool index_slot_is_empty(const struct index_slot *slot) { return slot->index == UINT32_MAX; }

/* True when there is room to insert; call before walking with the aim to insert. */
static inline bool index_set_reserve(struct index_set *set) { return set->count < set->limit || index_set_grow(set); }

static inline void index_set_fill(struct index_set *set, struct index_slot *empty, uint32_t hash, uint32_t index) {
    *empty = (struct index_slot){.index = index, .hash = hash};
    set->count++;
}

#endif
