/* A table that has a value for each key. Keys are compared as bytes, so they must have no padding. */
#pragma once

#include "row_table.h"

struct value_table {
    struct row_table keys;
    struct column values; /* one for each key, in the same order */
};

void value_table_init(struct value_table *table, uint32_t key_bytes, uint32_t value_bytes, struct failure *failure);
void value_table_fini(struct value_table *table);

/* Returns the number of the key, which is added with a copy of the value `initial` if it is new. Numbers are dense, in
 * the order in which keys were added. Returns ID_NONE if memory ran out (latched). */
uint32_t value_table_number(struct value_table *table, const void *key, const void *initial);

static inline uint32_t value_table_count(const struct value_table *table) { return table->values.count; }

/* Returns the value of the key with that number. The pointer stays valid as long as the table. */
static inline void *value_table_at(const struct value_table *table, uint32_t number) {
    return column_at(&table->values, number);
}

/* Returns the value of the key, which is added as value_table_number does; NULL if memory ran out (latched). */
static inline void *value_table_intern(struct value_table *table, const void *key, const void *initial) {
    uint32_t number = value_table_number(table, key, initial);
    return number == ID_NONE ? NULL : value_table_at(table, number);
}

/* Returns the value of the key; NULL if the table does not have the key. */
static inline void *value_table_find(const struct value_table *table, const void *key) {
    uint32_t number = row_table_find(&table->keys, key);
    return number < table->values.count ? value_table_at(table, number) : NULL;
}
