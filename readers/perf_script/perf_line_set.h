/* The numbers of frame lines, found by a hash that replaces the line's text.
 *
 * A slot holds all that a look-up needs, so it takes one access to memory. When the hashes were in a table of their
 * own, to which the slots referred, a fifth of the samples in perf_lexer_run waited for them. */
#ifndef GECKO_PERF_LINE_SET_H
#define GECKO_PERF_LINE_SET_H

#include "libconvert/base/index_set.h"

/* 96 bits of index_set_identity, so a file cannot be made to hold two lines that share them. */
struct perf_line_slot {
    uint64_t high;
    uint32_t low;
    uint32_t number; /* ID_NONE: the slot is empty */
};

struct perf_line_set {
    struct failure *failure; /* borrowed */
    struct perf_line_slot *slots;
    size_t mask;    /* the number of slots, less 1 */
    uint32_t count; /* of lines, which are numbered from 0 in order of their first appearance */
    size_t limit;   /* the count at which the set grows */
};

void perf_line_set_init(struct perf_line_set *set, struct failure *failure);
void perf_line_set_fini(struct perf_line_set *set);

/* Makes room for one more line. Returns false if memory ran out (latched). */
bool perf_line_set_grow(struct perf_line_set *set);

static inline bool perf_line_set_reserve(struct perf_line_set *set) {
    return set->count < set->limit || perf_line_set_grow(set);
}

/* Begins to fetch the slot in which a line with that hash probably is. There must be slots. */
static inline void perf_line_set_prefetch(const struct perf_line_set *set, XXH128_hash_t hash) {
    __builtin_prefetch(&set->slots[hash.low64 & set->mask]);
}

/* Returns the line's slot, or the empty one in which it would be. There must be slots. */
static inline struct perf_line_slot *perf_line_set_find(const struct perf_line_set *set, XXH128_hash_t hash) {
    for (size_t at = hash.low64 & set->mask;; at = (at + 1) & set->mask) {
        struct perf_line_slot *slot = &set->slots[at];
        bool is_found = slot->high == hash.high64 && slot->low == (uint32_t)hash.low64;
        if (is_found || slot->number == UINT32_MAX) return slot;
    }
}

/* Numbers the line whose slot is empty. Returns its number. */
static inline uint32_t perf_line_set_fill(struct perf_line_set *set, struct perf_line_slot *empty, XXH128_hash_t hash) {
    *empty = (struct perf_line_slot){hash.high64, (uint32_t)hash.low64, set->count};
    return set->count++;
}

#endif
