/* Writes JSON text, exactly and independently of the locale. No other file writes punctuation: the writer adds commas
 * and tracks nesting. Loops over millions of rows use json_put.h too.
 *
 * A writer holds one value under construction. A complete value of another writer can be spliced in wherever a value is
 * due; its chunks are moved. Failures (memory) are latched in the list's failure. */
#pragma once

#include "chunk_list.h"
#include "libconvert/base/arena.h"
#include "libconvert/base/decimal.h"
#include "libconvert/base/text.h"

enum { JSON_DEPTH_MAX = 60 };

struct json {
    struct chunk_list out;
    uint32_t depth;
    bool needs_comma; /* the next value follows another one */
};

void json_init(struct json *json, struct failure *failure);
/* Initialises a document that will be spliced into `out`, and that passes chunks to the drain of `out`, if any. */
void json_init_for(struct json *json, const struct chunk_list *out);
void json_fini(struct json *json);

void json_object_begin(struct json *json);
void json_object_end(struct json *json);
void json_array_begin(struct json *json);
void json_array_end(struct json *json);

/* Ends a line: the next value, or the end of the array, begins a new one. If a value follows (has_next), its comma ends
 * this line. */
void json_line(struct json *json, bool has_next);

/* Writes the key of the next value. */
void json_key_text(struct json *json, struct text key);  /* any text */
void json_plain_key(struct json *json, struct text key); /* ASCII that needs no escape */
static inline void json_key(struct json *json, const char *plain) { json_plain_key(json, text_of(plain)); }

/* ---- Values that callers format in place: see json_put.h. ---- */

/* Writes the comma that the next value may need, and returns room for values or a key of at most bytes_max bytes; NULL
 * if memory ran out (latched). Write them there, then commit their end. */
static inline char *json_reserve(struct json *json, size_t bytes_max) {
    char *out = chunk_list_reserve(&json->out, 1 + bytes_max);
    if (!out) return NULL;
    *out = ',';
    out += json->needs_comma;
    json->needs_comma = true;
    return out;
}

static inline void json_commit(struct json *json, const char *end) {
    const struct chunk *last = json->out.last;
    chunk_list_commit(&json->out, (size_t)(end - (last->bytes + last->used_bytes)));
}

/* Commits a key. Write its value next. */
static inline void json_key_commit(struct json *json, const char *end) {
    json_commit(json, end);
    json->needs_comma = false;
}

/* Returns room after the committed text, without a comma; NULL if memory ran out (latched). */
static inline char *json_reserve_here(struct json *json, size_t bytes_max) {
    return chunk_list_reserve(&json->out, bytes_max);
}

/* Returns room after text that ends at `end` and is not committed; NULL if memory ran out (latched). */
static inline char *json_reserve_more(struct json *json, char *end, size_t bytes_max) {
    const struct chunk *last = json->out.last;
    if ((size_t)(last->bytes + last->capacity_bytes - end) >= bytes_max) return end;
    json_commit(json, end);
    return json_reserve_here(json, bytes_max);
}

/* Return text for json_put_prepared: `,"key":` and `{"key":"value"`. It lives as long as the arena. */
struct text json_prepare_key(struct text key, struct arena *memory);
struct text json_prepare_object(struct text key, struct text value, struct arena *memory);

/* Write a value. Invalid UTF-8 becomes U+FFFD. */
void json_text(struct json *json, struct text text);
void json_string(struct json *json, const char *terminated);
void json_int(struct json *json, int64_t value);
void json_bool(struct json *json, bool value);
void json_null(struct json *json);
void json_decimal(struct json *json, struct decimal value); /* any scale */

/* See json_put_double. */
void json_double(struct json *json, double value);

/* Writes nanoseconds as exact milliseconds: at most six digits after the point, no trailing zeros, no exponent. */
void json_ms(struct json *json, int64_t ns);

/* Writes the value, or null if it is not known. */
void json_int_or_null(struct json *json, int64_t value, bool is_known);
void json_ms_or_null(struct json *json, int64_t ns, bool is_known);

/* Write a key and its value. Inline, so that the compiler knows the length of a literal key. */
static inline void json_key_object_begin(struct json *json, const char *key) {
    json_key(json, key);
    json_object_begin(json);
}

static inline void json_key_array_begin(struct json *json, const char *key) {
    json_key(json, key);
    json_array_begin(json);
}

static inline void json_key_string(struct json *json, const char *key, const char *value) {
    json_key(json, key);
    json_string(json, value);
}

static inline void json_key_value_text(struct json *json, const char *key, struct text value) {
    json_key(json, key);
    json_text(json, value);
}

static inline void json_key_int(struct json *json, const char *key, int64_t value) {
    json_key(json, key);
    json_int(json, value);
}

/* A count above INT64_MAX becomes INT64_MAX. */
static inline void json_key_count(struct json *json, const char *key, uint64_t count) {
    json_key_int(json, key, count > INT64_MAX ? INT64_MAX : (int64_t)count);
}

/* Writes null if the value is not finite. */
static inline void json_key_double(struct json *json, const char *key, double value) {
    json_key(json, key);
    json_double(json, value);
}

static inline void json_key_bool(struct json *json, const char *key, bool value) {
    json_key(json, key);
    json_bool(json, value);
}

static inline void json_key_null(struct json *json, const char *key) {
    json_key(json, key);
    json_null(json);
}

/* Begins the object, or writes null if there is none. Returns whether there is one. */
static inline bool json_key_object_or_null(struct json *json, const char *key, bool is_there) {
    json_key(json, key);
    (is_there ? json_object_begin : json_null)(json);
    return is_there;
}

/* Writes null if there is no text or it is empty. */
static inline void json_string_or_null(struct json *json, const char *value) {
    if (value && *value)
        json_string(json, value);
    else
        json_null(json);
}

static inline void json_key_string_or_null(struct json *json, const char *key, const char *value) {
    json_key(json, key);
    json_string_or_null(json, value);
}

static inline void json_key_text_or_null(struct json *json, const char *key, struct text value) {
    json_key(json, key);
    if (value.bytes_count)
        json_text(json, value);
    else
        json_null(json);
}

static inline void json_key_ms(struct json *json, const char *key, int64_t ns) {
    json_key(json, key);
    json_ms(json, ns);
}

/* Returns the finished document as chunks. The caller owns them. */
struct chunk_list json_take_chunks(struct json *json);
