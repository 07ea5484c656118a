/* What the rows of a profile's tables refer to: rows of other tables, by their numbers. */
#pragma once

#include "profile.h"

/* The tables that refer to each other. Those from ROWS_RESOURCES to ROWS_FRAMES are row tables; each refers only to
 * those before it. */
enum row_kind {
    ROWS_STRINGS,
    ROWS_LIBS,
    ROWS_RESOURCES,
    ROWS_SOURCES,
    ROWS_NATIVE_SYMBOLS,
    ROWS_FUNCS,
    ROWS_FRAMES,
    ROWS_STACKS,
    ROW_KIND_COUNT
};

/* One of the ids in a row. */
struct row_reference {
    enum row_kind to;
    uint32_t offset; /* bytes before the id in the row */
};

struct row_references {
    const struct row_reference *rows;
    size_t count;
};

/* Returns the ids that rows of that row table have. */
struct row_references row_references_of(enum row_kind kind);

/* Returns the row table of that kind. */
struct row_table *profile_rows(struct profile *profile, enum row_kind kind);

static inline uint32_t row_reference_at(const void *row, struct row_reference reference) {
    return *(const uint32_t *)((const char *)row + reference.offset);
}

/* Replaces the ids in a row of that row table, except ID_NONE, by numbers[kind][id]. */
void row_renumber(enum row_kind kind, void *row, uint32_t *const numbers[ROW_KIND_COUNT]);
