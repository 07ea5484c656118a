#include "perf_maps.h"

#include "libconvert/cursor.h"

struct perf_map {
    uint64_t start;
    uint64_t length;
    uint64_t file_offset;
    uint32_t older; /* the mapping in the block before this one; ID_NONE */
};

/* 2^level bytes of a process. Compared as bytes: no padding. */
struct block_key {
    int64_t pid;
    uint64_t number; /* address >> level */
    uint64_t level;
};

struct map_block {
    struct block_key key;
    uint32_t newest;
};

/* Mappings of one size that do not overlap are at most three in a block: the rest was mapped over. */
enum { BLOCK_MAPS_MAX = 64 };

void perf_maps_init(struct perf_maps *maps, struct failure *failure) {
    index_set_init(&maps->block_index, failure);
    column_init(&maps->blocks, sizeof(struct map_block), failure);
    column_init(&maps->rows, sizeof(struct perf_map), failure);
    maps->levels = 0;
    strings_init(&maps->paths, failure);
    strings_init(&maps->texts, failure);
    column_init(&maps->build_ids, sizeof(struct text), failure);
}

void perf_maps_fini(struct perf_maps *maps) {
    index_set_fini(&maps->block_index);
    column_fini(&maps->blocks);
    column_fini(&maps->rows);
    strings_fini(&maps->paths);
    strings_fini(&maps->texts);
    column_fini(&maps->build_ids);
}

/* ---- The record's text. ---- */

/* "0x12"; perf prints a zero as "0". */
static bool take_hex(struct text *text, uint64_t *out) {
    cursor_take(text, TEXT("0x"));
    return cursor_take_number(text, 16, out);
}

bool perf_map_record_parse(struct text payload, struct perf_map_record *out) {
    static const struct text deleted = TEXT(" (deleted)");
    struct text left = text_trim_start(payload);
    *out = (struct perf_map_record){0};
    if (!cursor_take_id(&left, &out->pid) || !cursor_take(&left, TEXT("/")) || !cursor_take_id(&left, &out->tid))
        return false;
    if (!cursor_take(&left, TEXT(": [")) || !take_hex(&left, &out->start)) return false;
    if (!cursor_take(&left, TEXT("(")) || !take_hex(&left, &out->length)) return false;
    if (!cursor_take(&left, TEXT(") @ ")) || !take_hex(&left, &out->file_offset)) return false;
    size_t close = text_find(left, ']');
    if (close == left.bytes_count) return false;
    struct text origin = text_trim(text_slice(left, 0, close));
    left = text_from(left, close + 1);
    if (!cursor_take(&left, TEXT(": "))) return false;
    out->path = text_trim(text_from(left, text_find(left, ' ')));
    if (text_ends_with(out->path, deleted)) out->path.bytes_count -= deleted.bytes_count;
    if (text_starts_with(origin, TEXT("<")) && text_ends_with(origin, TEXT(">")))
        out->build_id = text_slice(origin, 1, origin.bytes_count - 1);
    return out->path.bytes_count > 0;
}

/* ---- Blocks. ---- */

/* The smallest level whose blocks are as long as the mapping; at 63 there are two blocks in all. */
static unsigned level_of(uint64_t length) {
    unsigned level = length > 1 ? 64 - (unsigned)__builtin_clzll(length - 1) : 0;
    return level < 64 ? level : 63;
}

/* The slot of the block, or the empty one where it would be. */
static struct index_slot *find_block(const struct perf_maps *maps, const struct block_key *key, uint32_t *hash) {
    *hash = index_set_hash(key, sizeof *key);
    struct index_slot *slot = index_set_first(&maps->block_index, *hash);
    for (; !index_slot_is_empty(slot); slot = index_set_next(&maps->block_index, slot)) {
        const struct map_block *block = column_at(&maps->blocks, slot->index);
        if (slot->hash == *hash && memcmp(&block->key, key, sizeof *key) == 0) break;
    }
    return slot;
}

static struct map_block *intern_block(struct perf_maps *maps, const struct block_key *key) {
    if (!index_set_reserve(&maps->block_index)) return NULL;
    uint32_t hash;
    struct index_slot *slot = find_block(maps, key, &hash);
    if (!index_slot_is_empty(slot)) return column_at(&maps->blocks, slot->index);
    uint32_t index = (uint32_t)maps->blocks.count;
    struct map_block *block = column_push(&maps->blocks);
    if (!block) return NULL;
    *block = (struct map_block){*key, ID_NONE};
    index_set_fill(&maps->block_index, slot, hash, index);
    return block;
}

static void add_to_block(struct perf_maps *maps, const struct block_key *key, const struct perf_map_record *record) {
    struct map_block *block = intern_block(maps, key);
    if (!block) return;
    uint32_t index = (uint32_t)maps->rows.count;
    struct perf_map *row = column_push(&maps->rows);
    if (!row) return;
    /* The kernel's text is mapped at the address that the record calls its offset. */
    uint64_t file_offset = record->pid == PERF_PID_KERNEL ? 0 : record->file_offset;
    *row = (struct perf_map){record->start, record->length, file_offset, block->newest};
    block->newest = index;
    maps->levels |= UINT64_C(1) << key->level;
}

static void add_build_id(struct perf_maps *maps, struct text path, struct text build_id) {
    if (perf_maps_build_id(maps, path).bytes_count) return;
    string_id id = strings_intern(&maps->paths, path);
    if (id.index < maps->build_ids.count)
        *(struct text *)column_at(&maps->build_ids, id.index) = strings_copy(&maps->texts, build_id);
}

void perf_maps_add(struct perf_maps *maps, const struct perf_map_record *record) {
    if (record->build_id.bytes_count) add_build_id(maps, record->path, record->build_id);
    uint64_t last;
    if (!record->length || __builtin_add_overflow(record->start, record->length - 1, &last)) return;
    unsigned level = level_of(record->length);
    struct block_key key = {record->pid, record->start >> level, level};
    add_to_block(maps, &key, record);
    if (last >> level != key.number) {
        key.number = last >> level;
        add_to_block(maps, &key, record);
    }
}

/* The newest mapping of the block that has the address; ID_NONE when there is none. */
static uint32_t find_in_block(const struct perf_maps *maps, const struct block_key *key, uint64_t address) {
    uint32_t hash;
    const struct index_slot *slot = find_block(maps, key, &hash);
    if (index_slot_is_empty(slot)) return ID_NONE;
    uint32_t row = ((const struct map_block *)column_at(&maps->blocks, slot->index))->newest;
    for (unsigned tried = 0; row != ID_NONE && tried < BLOCK_MAPS_MAX; tried++) {
        const struct perf_map *map = column_at(&maps->rows, row);
        if (address >= map->start && address - map->start < map->length) return row;
        row = map->older;
    }
    return ID_NONE;
}

bool perf_maps_relative_address(const struct perf_maps *maps, int64_t pid, uint64_t address, uint64_t *relative) {
    uint32_t newest = ID_NONE;
    for (uint64_t levels = maps->levels; levels; levels &= levels - 1) {
        unsigned level = (unsigned)__builtin_ctzll(levels);
        struct block_key key = {pid, address >> level, level};
        uint32_t row = find_in_block(maps, &key, address);
        if (row != ID_NONE && (newest == ID_NONE || row > newest)) newest = row;
    }
    if (newest == ID_NONE) return false;
    const struct perf_map *map = column_at(&maps->rows, newest);
    *relative = address - map->start + map->file_offset;
    return true;
}

struct text perf_maps_build_id(struct perf_maps *maps, struct text path) {
    string_id id = strings_intern(&maps->paths, path);
    if (string_is_none(id)) return (struct text){0};
    if (id.index < maps->build_ids.count) return *(const struct text *)column_at(&maps->build_ids, id.index);
    struct text *added = column_push(&maps->build_ids);
    if (added) *added = (struct text){0};
    return (struct text){0};
}
