/* Tables that cannot grow: how a module behaves when memory runs out, without an allocator of the test's own, so
 * that sanitizers can look on. */
#ifndef GECKO_TEST_FULL_TABLES_H
#define GECKO_TEST_FULL_TABLES_H

#include "libconvert/column.h"
#include "libconvert/index_set.h"

/* More bytes than any machine has, and fewer than an object may have: malloc returns NULL. */
#define BYTES_BEYOND_MEMORY ((size_t)PTRDIFF_MAX / 2)

/* Else the address sanitizer ends the program where malloc returns NULL. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
__attribute__((visibility("default"))) const char *__asan_default_options(void) {
    return "allocator_may_return_null=1";
}

/* The next push fails, as in a column of 2^31 rows. Elements stay as they are; keep a copy of the struct to undo. */
static inline void column_make_full(struct column *column) {
    column->capacity = column->count;
    column->chunk_limit = column->chunk_count;
}

/* The next index_set_reserve fails. Slots must not be looked at before the struct is put back from a copy. */
static inline void index_set_make_full(struct index_set *set) {
    if (!set->slots && !index_set_grow(set)) return;
    set->limit = set->count;
    set->mask = BYTES_BEYOND_MEMORY / sizeof(struct index_slot) / 2;
}

#endif
