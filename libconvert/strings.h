/* The string table: each distinct text once, as valid UTF-8. Invalid bytes become U+FFFD on the way in, so
 * that two texts that would be written alike are one string. */
#ifndef GECKO_STRINGS_H
#define GECKO_STRINGS_H

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

/* Id of the text, added when it is new; none when memory ran out (latched). */
string_id strings_intern(struct strings *strings, struct text text);

/* printf into the table, for short composed names (at most 4095 bytes, the rest is cut). */
string_id strings_intern_format(struct strings *strings, const char *format, ...) __attribute__((format(printf, 2, 3)));
string_id strings_intern_vformat(struct strings *strings, const char *format, va_list arguments)
    __attribute__((format(printf, 2, 0)));

/* The table's own copy of the text, valid as long as the table; empty when memory ran out (latched). */
struct text strings_copy(struct strings *strings, struct text text);

static inline struct text strings_text(const struct strings *strings, string_id id) {
    return *(const struct text *)column_at(&strings->rows, id.index);
}

static inline uint32_t strings_count(const struct strings *strings) { return (uint32_t)strings->rows.count; }

#endif
