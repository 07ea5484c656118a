#include "column.h"

#include <stdlib.h>
#include <string.h>

#include "memory.h"

void column_init(struct column *column, uint32_t element_bytes, struct failure *failure) {
    *column =
        (struct column){.failure = failure, .capacity_limit = COLUMN_CAPACITY_MAX, .element_bytes = element_bytes};
}

/* `start` is the number of the chunk's first element. */
static void set_chunk(struct column *column, size_t start, const void *chunk) {
    column->chunks[column_chunk_of(start)] = (uintptr_t)chunk - start * column->element_bytes;
}

void column_fini(struct column *column) {
    for (size_t i = 0; i < column->capacity; i += column_place_of(i).chunk_elements) memory_free(column_at(column, i));
    memory_free(column->chunks);
    *column = (struct column){0};
}

void columns_fini(struct column *const *columns, size_t count) {
    for (size_t i = 0; i < count; i++) column_fini(columns[i]);
}

/* Chunks before one that was forgotten were forgotten, too. */
void column_forget(struct column *column, size_t end) {
    size_t start = end < column->capacity ? end - column_place_of(end).offset : 0;
    while (start) {
        start -= column_place_of(start - 1).chunk_elements;
        void *chunk = column_at(column, start);
        if (!chunk) return;
        memory_free(chunk);
        set_chunk(column, start, NULL);
    }
}

/* Makes room for one more chunk. The array doubles, so that its length is 0 or a power of two. */
static bool reserve_chunk(struct column *column, size_t chunk_count) {
    if (chunk_count & (chunk_count - 1)) return true;
    size_t limit = chunk_count ? chunk_count * 2 : 1;
    uintptr_t *chunks = memory_resize(column->failure, column->chunks, limit * sizeof *chunks);
    if (chunks) column->chunks = chunks;
    return chunks;
}

bool column_grow(struct column *column) {
    if (column->capacity >= column->capacity_limit) {
        failure_set(column->failure, FAILURE_MEMORY, "more than 2^31 rows in one table: split the input");
        return false;
    }
    size_t start = column->capacity, chunk_elements = column_place_of(start).chunk_elements;
    if (!reserve_chunk(column, column_chunk_of(start))) return false;
    char *chunk = memory_allocate(column->failure, chunk_elements * column->element_bytes);
    if (!chunk) return false;
    set_chunk(column, start, chunk);
    column->capacity += (uint32_t)chunk_elements;
    return true;
}

bool column_push_all(struct column *column, const void *elements, size_t count) {
    for (const char *from = elements; count;) {
        if (column->count == column->capacity && !column_grow(column)) return false;
        struct column_place place = column_place_of(column->count);
        size_t room_count = place.chunk_elements - place.offset;
        size_t run_count = count < room_count ? count : room_count;
        memcpy(column_at(column, column->count), from, run_count * column->element_bytes);
        column->count += (uint32_t)run_count;
        from += run_count * column->element_bytes;
        count -= run_count;
    }
    return true;
}

void column_append(struct column *column, const struct column *other) {
    for (size_t i = 0, run_count; i < other->count; i += run_count) {
        const void *run = column_run(other, i, &run_count);
        if (!column_push_all(column, run, run_count)) return;
    }
}

typedef int comparison(const void *left, const void *right);

struct sorted_row {
    const void *element;
    size_t number; /* makes the order total, so that any sort is stable */
};

static int compare_sorted_rows(const void *left, const void *right, void *argument) {
    const struct sorted_row *a = left, *b = right;
    comparison *const *compare = argument;
    return (*compare)(a->element, b->element) ?: ORDER(a->number, b->number);
}

static bool is_sorted(const struct column *column, comparison *compare) {
    const void *before = NULL;
    for (size_t i = 0, run_count; i < column->count; i += run_count) {
        const char *run = column_run(column, i, &run_count);
        for (size_t j = 0; j < run_count; j++, run += column->element_bytes) {
            if (before && compare(before, run) > 0) return false;
            before = run;
        }
    }
    return true;
}

void column_sort(struct column *column, comparison *compare) {
    if (is_sorted(column, compare)) return;
    size_t element_bytes = column->element_bytes;
    struct sorted_row *rows = memory_allocate(column->failure, column->count * sizeof *rows);
    char *sorted = memory_allocate(column->failure, column->count * element_bytes);
    if (rows && sorted) {
        for (size_t i = 0; i < column->count; i++) rows[i] = (struct sorted_row){column_at(column, i), i};
        qsort_r(rows, column->count, sizeof *rows, compare_sorted_rows, &compare);
        for (size_t i = 0; i < column->count; i++) memcpy(sorted + i * element_bytes, rows[i].element, element_bytes);
        for (size_t i = 0; i < column->count; i++)
            memcpy(column_at(column, i), sorted + i * element_bytes, element_bytes);
    }
    MEMORY_FREE_ALL(rows, sorted);
}

void column_take(struct column *column, struct column *other) {
    struct failure *failure = other->failure;
    if (column->count) {
        column_append(column, other);
        column_fini(other);
    } else {
        other->failure = column->failure;
        column_fini(column);
        *column = *other;
    }
    column_init(other, column->element_bytes, failure);
}
