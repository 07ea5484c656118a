/* Makes tables that cannot grow, to test how a module behaves when memory runs out. No special allocator is needed,
 * so the tests can run under sanitizers. */
#ifndef GECKO_TEST_FULL_TABLES_H
#define GECKO_TEST_FULL_TABLES_H

#include "libconvert/base/column.h"
#include "libconvert/base/index_set.h"

/* A size that malloc refuses on any machine, although an object may have it. */
#define BYTES_BEYOND_MEMORY ((size_t)PTRDIFF_MAX / 2)

/* Options for the address sanitizer. By default it ends the program when malloc would return NULL. */
__attribute__((visibility("default"))) const char *__asan_default_options(void);
__attribute__((visibility("default"))) const char *__asan_default_options(void) {
    return "allocator_may_return_null=1";
}

/* Makes the next push fail, as if the column had 2^31 rows. The elements stay unchanged. To undo this, restore a
 * copy of the struct. */
static inline void column_make_full(struct column *column) {
    column->capacity = column->capacity_limit = column->count;
}

/* Makes the next index_set_reserve fail. Do not look at the slots before the struct is restored from a copy. */
static inline void index_set_make_full(struct index_set *set) {
    if (!set->slots && !index_set_grow(set)) return;
    set->limit = set->count;
    set->mask = BYTES_BEYOND_MEMORY / sizeof(struct index_slot) / 2;
}

#endif
