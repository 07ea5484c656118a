/* The string table: each distinct text once, as valid UTF-8. Invalid bytes are written as "\xff" before the look-up,
 * so texts that would be written alike are one string. */
#pragma once

#include <stdarg.h>

#include "arena.h"
#include "column.h"
#include "ids.h"
#include "index_set.h"

struct strings {
    struct arena bytes;
    struct column rows; /* struct text, in `bytes` */
    struct index_set index;
};

void strings_init(struct strings *strings, struct failure *failure);
void strings_fini(struct strings *strings);

/* Returns the id of the text, which is added if it is new; none if memory ran out (latched). */
string_id strings_intern(struct strings *strings, struct text text);

/* Formats a text as printf does, and returns its id; none if memory ran out (latched). */
string_id strings_intern_format(struct strings *strings, const char *format, ...) __attribute__((format(printf, 2, 3)));
string_id strings_intern_vformat(struct strings *strings, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));

/* Returns the table's own copy of the text, which is valid as long as the table; empty if memory ran out (latched). */
struct text strings_copy(struct strings *strings, struct text text);

/* Removes the rows whose number is ID_NONE, and stores the new numbers of the others, which keep their order. Frees the
 * index, so nothing may be interned from now on. */
void strings_compact(struct strings *strings, uint32_t *numbers);

static inline struct text strings_text(const struct strings *strings, string_id id) {
    return *(const struct text *)column_at(&strings->rows, id.index);
}

static inline uint32_t strings_count(const struct strings *strings) { return (uint32_t)strings->rows.count; }
