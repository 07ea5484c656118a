#include "value_table.h"

void value_table_init(struct value_table *table, uint32_t key_bytes, uint32_t value_bytes, struct failure *failure) {
    row_table_init(&table->keys, key_bytes, failure);
    column_init(&table->values, value_bytes, failure);
}

void value_table_fini(struct value_table *table) {
    row_table_fini(&table->keys);
    column_fini(&table->values);
}

/* If memory ran out for a value, its key stays. Keys after that one have no values, and are never returned. */
uint32_t value_table_number(struct value_table *table, const void *key, const void *initial) {
    uint32_t number = row_table_intern(&table->keys, key);
    if (number < table->values.count) return number;
    bool is_added = number == table->values.count && column_push_all(&table->values, initial, 1);
    return is_added ? number : ID_NONE;
}
