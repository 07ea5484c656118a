#include "column.h"

#include <stdlib.h>

void column_init(struct column *column, size_t element_bytes, struct failure *failure) {
    *column = (struct column){.failure = failure, .element_bytes = element_bytes};
}

void column_fini(struct column *column) {
    for (unsigned i = 0; i < column->chunk_count; i++) free(column->chunks[i]);
    *column = (struct column){0};
}

bool column_grow(struct column *column) {
    size_t elements = (size_t)1 << (COLUMN_FIRST_CHUNK_LOG2 + column->chunk_count);
    if (column->chunk_count == COLUMN_CHUNKS_MAX - 1) {
        failure_set(column->failure, FAILURE_MEMORY, "more than 2^31 rows in one table: split the input");
        return false;
    }
    size_t chunk_bytes;
    char *chunk = __builtin_mul_overflow(elements, column->element_bytes, &chunk_bytes) ? NULL : malloc(chunk_bytes);
    if (!chunk) {
        failure_set_memory(column->failure);
        return false;
    }
    column->chunks[column->chunk_count++] = chunk;
    column->capacity += elements;
    return true;
}
