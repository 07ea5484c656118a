#include "row_table.h"

#include <string.h>

void row_table_init(struct row_table *table, uint32_t row_bytes, struct failure *failure) {
    column_init(&table->rows, row_bytes, failure);
    index_set_init(&table->index, failure);
}

void row_table_fini(struct row_table *table) {
    column_fini(&table->rows);
    index_set_fini(&table->index);
}

void row_table_seal(struct row_table *table) { index_set_fini(&table->index); }

void row_table_clear(struct row_table *table) {
    index_set_fini(&table->index);
    index_set_init(&table->index, table->rows.failure);
    table->rows.count = 0;
}

/* Returns the slot of the row, or the empty slot where it belongs. */
static struct index_slot *find_slot(const struct row_table *table, const void *row, uint32_t hash) {
    size_t row_bytes = table->rows.element_bytes;
    struct index_slot *slot = index_set_first(&table->index, hash);
    for (; !index_slot_is_empty(slot); slot = index_set_next(&table->index, slot))
        if (slot->hash == hash && memcmp(column_at(&table->rows, slot->index), row, row_bytes) == 0) break;
    return slot;
}

uint32_t row_table_find(const struct row_table *table, const void *row) {
    if (!row_table_count(table)) return ID_NONE;
    return find_slot(table, row, index_set_hash(row, table->rows.element_bytes))->index;
}

uint32_t row_table_append(struct row_table *table, const void *row) {
    uint32_t index = row_table_count(table);
    void *added = column_push(&table->rows);
    if (!added) return ID_NONE;
    memcpy(added, row, table->rows.element_bytes);
    return index;
}

uint32_t row_table_intern(struct row_table *table, const void *row) {
    if (!index_set_reserve(&table->index)) return ID_NONE;
    uint32_t hash = index_set_hash(row, table->rows.element_bytes);
    struct index_slot *slot = find_slot(table, row, hash);
    if (!index_slot_is_empty(slot)) return slot->index;
    uint32_t index = row_table_append(table, row);
    if (index != ID_NONE) index_set_fill(&table->index, slot, hash, index);
    return index;
}
