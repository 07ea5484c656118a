#include "column.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"

void column_init(struct column *column, uint32_t element_bytes, struct failure *failure) {
    *column =
        (struct column){.failure = failure, .element_bytes = element_bytes, .chunk_limit = COLUMN_CHUNKS_MAX};
}

void column_fini(struct column *column) {
    for (unsigned i = 0; i < column->chunk_count; i++) memory_free(column->chunks[i]);
    memory_free(column->chunks);
    *column = (struct column){0};
}

bool column_grow(struct column *column) {
    if (column->chunk_count == column->chunk_limit) {
        failure_set(column->failure, FAILURE_MEMORY, "more than 2^31 rows in one table: split the input");
        return false;
    }
    uint32_t elements = (uint32_t)1 << (COLUMN_FIRST_CHUNK_LOG2 + column->chunk_count);
    char **chunks = memory_resize(column->failure, column->chunks, (column->chunk_count + 1u) * sizeof *chunks);
    if (!chunks) return false;
    column->chunks = chunks;
    char *chunk = memory_allocate(column->failure, (size_t)elements * column->element_bytes);
    if (!chunk) return false;
    chunks[column->chunk_count++] = chunk;
    column->capacity += elements;
    return true;
}

typedef int comparison(const void *left, const void *right);

struct place {
    const void *element;
    size_t number; /* makes the order total, so any sort is stable */
};

struct order {
    comparison *compare;
};

static int compare_places(const void *left, const void *right, void *argument) {
    const struct place *a = left, *b = right;
    const struct order *order = argument;
    int result = order->compare(a->element, b->element);
    if (result) return result;
    return a->number < b->number ? -1 : 1;
}

static bool is_sorted(const struct column *column, comparison *compare) {
    for (size_t i = 1; i < column->count; i++)
        if (compare(column_at(column, i - 1), column_at(column, i)) > 0) return false;
    return true;
}

void column_sort(struct column *column, comparison *compare) {
    if (is_sorted(column, compare)) return;
    size_t element_bytes = column->element_bytes;
    struct place *places = memory_allocate(column->failure, column->count * sizeof *places);
    char *sorted = memory_allocate(column->failure, column->count * element_bytes);
    if (places && sorted) {
        for (size_t i = 0; i < column->count; i++) places[i] = (struct place){column_at(column, i), i};
        struct order order = {compare};
        qsort_r(places, column->count, sizeof *places, compare_places, &order);
        for (size_t i = 0; i < column->count; i++) memcpy(sorted + i * element_bytes, places[i].element, element_bytes);
        for (size_t i = 0; i < column->count; i++)
            memcpy(column_at(column, i), sorted + i * element_bytes, element_bytes);
    }
    memory_free(places);
    memory_free(sorted);
}
