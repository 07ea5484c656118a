#include "row_references.h"

#define REFERENCE(row, member, kind) \
    { .to = (kind), .offset = offsetof(struct row, member) }

static const struct row_reference of_resource[] = {REFERENCE(resource, name, ROWS_STRINGS)};
static const struct row_reference of_source[] = {REFERENCE(source, filename, ROWS_STRINGS)};
static const struct row_reference of_native_symbol[] = {REFERENCE(native_symbol, lib, ROWS_LIBS),
                                                        REFERENCE(native_symbol, name, ROWS_STRINGS)};
static const struct row_reference of_func[] = {REFERENCE(func, name, ROWS_STRINGS),
                                               REFERENCE(func, resource, ROWS_RESOURCES),
                                               REFERENCE(func, source, ROWS_SOURCES)};
static const struct row_reference of_frame[] = {REFERENCE(frame, func, ROWS_FUNCS), REFERENCE(frame, lib, ROWS_LIBS),
                                                REFERENCE(frame, native_symbol, ROWS_NATIVE_SYMBOLS)};

#define KIND(table, references)                                                                      \
    {                                                                                                \
        offsetof(struct profile, table), { (references), sizeof(references) / sizeof *(references) } \
    }

static const struct {
    size_t table_offset; /* in a profile */
    struct row_references references;
} kinds[ROW_KIND_COUNT] = {
    [ROWS_RESOURCES] = KIND(resources, of_resource),
    [ROWS_SOURCES] = KIND(sources, of_source),
    [ROWS_NATIVE_SYMBOLS] = KIND(native_symbols, of_native_symbol),
    [ROWS_FUNCS] = KIND(funcs, of_func),
    [ROWS_FRAMES] = KIND(frames, of_frame),
};

struct row_references row_references_of(enum row_kind kind) {
    return kinds[kind].references;
}

struct row_table *profile_rows(struct profile *profile, enum row_kind kind) {
    return (struct row_table *)((char *)profile + kinds[kind].table_offset);
}

void row_renumber(enum row_kind kind, void *row, uint32_t *const numbers[ROW_KIND_COUNT]) {
    struct row_references references = kinds[kind].references;
    for (size_t i = 0; i < references.count; i++) {
        uint32_t *id = (uint32_t *)((char *)row + references.rows[i].offset);
        if (*id != ID_NONE) *id = numbers[references.rows[i].to][*id];
    }
}
