#include "code_mappings.h"

#include <string.h>

#include "libconvert/base/memory.h"

/* A mapping in one of its blocks. */
struct row {
    uint64_t id;
    struct code_mapping mapping;
    uint32_t older; /* row of the previous mapping in the block; ID_NONE for the first */
};

struct inheritance_row {
    uint64_t id;
    struct code_inheritance inheritance;
    uint32_t older; /* row of the process's previous inheritance; ID_NONE for the first */
};

/* Identifies a block of 2^level bytes in a process. Keys are compared bytewise, so the struct must have no padding. */
struct block_key {
    int64_t pid;
    uint64_t process_start_ns;
    uint64_t number; /* address >> level */
    uint64_t level;
};

struct block {
    struct block_key key;
    uint32_t newest;
};

enum { BLOCK_STEPS_MAX = 1024, ANCESTORS_MAX = 64 };

/* Level of the blocks for inheritances. No mapping has this level. */
static const uint64_t INHERITANCE_LEVEL = 64;

void code_mappings_init(struct code_mappings *mappings, struct failure *failure) {
    index_set_init(&mappings->block_index, failure);
    column_init(&mappings->blocks, sizeof(struct block), failure);
    column_init(&mappings->rows, sizeof(struct row), failure);
    column_init(&mappings->inheritances, sizeof(struct inheritance_row), failure);
    mappings->levels = 0;
    mappings->filter = NULL;
}

void code_mappings_fini(struct code_mappings *mappings) {
    index_set_fini(&mappings->block_index);
    column_fini(&mappings->blocks);
    column_fini(&mappings->rows);
    column_fini(&mappings->inheritances);
    memory_free(mappings->filter);
    mappings->filter = NULL;
}

/* Returns the lowest level whose blocks are at least as long as the mapping. At level 63 there are only two blocks. */
static unsigned level_of(uint64_t size_bytes) {
    unsigned level = size_bytes > 1 ? 64 - (unsigned)__builtin_clzll(size_bytes - 1) : 0;
    return level < 64 ? level : 63;
}

/* Most blocks that are looked for are not there, as each level is tried. A block has one bit of the filter, which it
 * may share with others. */
enum { FILTER_BITS_LOG2 = 18 };

static uint64_t bit_of(const struct block_key *key) {
    uint64_t process = (uint64_t)key->pid * UINT64_C(0x9e3779b97f4a7c15) ^ key->process_start_ns;
    uint64_t place = key->number << 6 ^ key->level;
    return (process ^ place) * UINT64_C(0xd6e8feb86659fd93) >> (64 - FILTER_BITS_LOG2);
}

static bool may_have(const struct code_mappings *mappings, const struct block_key *key) {
    uint64_t bit = bit_of(key);
    return mappings->filter && mappings->filter[bit / 64] >> bit % 64 & 1;
}

/* Returns false if memory ran out (latched). */
static bool add_to_filter(struct code_mappings *mappings, const struct block_key *key) {
    enum { WORD_COUNT = 1 << (FILTER_BITS_LOG2 - 6) };
    uint64_t bit = bit_of(key);
    if (!mappings->filter)
        mappings->filter = memory_allocate_zeroed(mappings->rows.failure, WORD_COUNT, sizeof *mappings->filter);
    if (mappings->filter) mappings->filter[bit / 64] |= UINT64_C(1) << bit % 64;
    return mappings->filter;
}

/* Returns the slot of the block, or the empty slot where it belongs. */
static struct index_slot *find_block(const struct code_mappings *mappings, const struct block_key *key,
                                     uint32_t *hash) {
    *hash = index_set_hash(key, sizeof *key);
    struct index_slot *slot = index_set_first(&mappings->block_index, *hash);
    for (; !index_slot_is_empty(slot); slot = index_set_next(&mappings->block_index, slot)) {
        const struct block *block = column_at(&mappings->blocks, slot->index);
        if (slot->hash == *hash && memcmp(&block->key, key, sizeof *key) == 0) break;
    }
    return slot;
}

static struct block *intern_block(struct code_mappings *mappings, const struct block_key *key) {
    if (!index_set_reserve(&mappings->block_index) || !add_to_filter(mappings, key)) return NULL;
    uint32_t hash;
    struct index_slot *slot = find_block(mappings, key, &hash);
    if (!index_slot_is_empty(slot)) return column_at(&mappings->blocks, slot->index);
    uint32_t index = (uint32_t)mappings->blocks.count;
    struct block *block = column_push(&mappings->blocks);
    if (!block) return NULL;
    *block = (struct block){*key, ID_NONE};
    index_set_fill(&mappings->block_index, slot, hash, index);
    return block;
}

static void add_to_block(struct code_mappings *mappings, const struct block_key *key, uint64_t id,
                         const struct code_mapping *mapping) {
    struct block *block = intern_block(mappings, key);
    if (!block) return;
    uint32_t index = (uint32_t)mappings->rows.count;
    struct row *row = column_push(&mappings->rows);
    if (!row) return;
    *row = (struct row){id, *mapping, block->newest};
    block->newest = index;
    mappings->levels |= UINT64_C(1) << key->level;
}

void code_mappings_add(struct code_mappings *mappings, uint64_t id, const struct code_mapping *mapping) {
    uint64_t last;
    if (!mapping->size_bytes || __builtin_add_overflow(mapping->address, mapping->size_bytes - 1, &last)) return;
    unsigned level = level_of(mapping->size_bytes);
    struct block_key key = {mapping->pid, mapping->process_start_ns, mapping->address >> level, level};
    add_to_block(mappings, &key, id, mapping);
    if (last >> level == key.number) return;
    key.number = last >> level;
    add_to_block(mappings, &key, id, mapping);
}

void code_mappings_add_inheritance(struct code_mappings *mappings, uint64_t id,
                                   const struct code_inheritance *inheritance) {
    struct block_key key = {inheritance->pid, inheritance->process_start_ns, 0, INHERITANCE_LEVEL};
    struct block *block = intern_block(mappings, &key);
    if (!block) return;
    uint32_t index = (uint32_t)mappings->inheritances.count;
    struct inheritance_row *row = column_push(&mappings->inheritances);
    if (!row) return;
    *row = (struct inheritance_row){id, *inheritance, block->newest};
    block->newest = index;
}

/* Returns the process's newest inheritance up to `last_id`, or NULL. */
static const struct code_inheritance *find_inheritance(const struct code_mappings *mappings, int64_t pid,
                                                       uint64_t process_start_ns, uint64_t last_id) {
    uint32_t hash;
    if (!mappings->inheritances.count) return NULL;
    struct block_key key = {pid, process_start_ns, 0, INHERITANCE_LEVEL};
    if (!may_have(mappings, &key)) return NULL;
    const struct index_slot *slot = find_block(mappings, &key, &hash);
    if (index_slot_is_empty(slot)) return NULL;
    uint32_t at = ((const struct block *)column_at(&mappings->blocks, slot->index))->newest;
    for (unsigned steps = 0; at != ID_NONE && steps < BLOCK_STEPS_MAX; steps++) {
        const struct inheritance_row *row = column_at(&mappings->inheritances, at);
        if (row->id <= last_id) return &row->inheritance;
        at = row->older;
    }
    return NULL;
}

/* Returns the block's newest mapping with an id up to `last_id` that contains the address, or NULL. */
static const struct row *find_in_block(const struct code_mappings *mappings, const struct block_key *key,
                                       uint64_t address, uint64_t last_id) {
    uint32_t hash;
    const struct index_slot *slot = find_block(mappings, key, &hash);
    if (index_slot_is_empty(slot)) return NULL;
    uint32_t at = ((const struct block *)column_at(&mappings->blocks, slot->index))->newest;
    for (unsigned steps = 0; at != ID_NONE && steps < BLOCK_STEPS_MAX; steps++) {
        const struct row *row = column_at(&mappings->rows, at);
        bool is_inside = address >= row->mapping.address && address - row->mapping.address < row->mapping.size_bytes;
        if (row->id <= last_id && is_inside) return row;
        at = row->older;
    }
    return NULL;
}

/* Returns the newest of the process's own mappings that contains the address, or NULL if it never had one. */
static const struct row *find_own(const struct code_mappings *mappings, int64_t pid, uint64_t process_start_ns,
                                  uint64_t address, uint64_t last_id) {
    const struct row *newest = NULL;
    for (uint64_t levels = mappings->levels; levels; levels &= levels - 1) {
        unsigned level = (unsigned)__builtin_ctzll(levels);
        struct block_key key = {pid, process_start_ns, address >> level, level};
        if (!may_have(mappings, &key)) continue;
        const struct row *row = find_in_block(mappings, &key, address, last_id);
        if (row && (!newest || row->id > newest->id)) newest = row;
    }
    return newest;
}

const struct code_mapping *code_mappings_find(const struct code_mappings *mappings, int64_t pid,
                                              uint64_t process_start_ns, uint64_t address, uint64_t last_id) {
    for (unsigned ancestor = 0; ancestor <= ANCESTORS_MAX; ancestor++) {
        const struct row *own = find_own(mappings, pid, process_start_ns, address, last_id);
        if (own) return own->mapping.library_id ? &own->mapping : NULL;
        const struct code_inheritance *inherited = find_inheritance(mappings, pid, process_start_ns, last_id);
        if (!inherited) return NULL;
        pid = inherited->parent_pid;
        process_start_ns = inherited->parent_start_ns;
        last_id = inherited->last_id;
    }
    return NULL;
}
