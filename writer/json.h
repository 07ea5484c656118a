/* JSON text, exact and without locale. The only file that writes punctuation: commas and nesting are kept here,
 * so emitters say only what there is.
 *
 * A writer holds one value under construction. A complete value of another writer can be spliced in where a value
 * is due: its chunks are moved. Failures (memory) are latched in the list's failure. */
#ifndef GECKO_JSON_H
#define GECKO_JSON_H

#include "chunk_list.h"
#include "libconvert/decimal.h"
#include "libconvert/text.h"

enum { JSON_DEPTH_MAX = 60 };

struct json {
    struct chunk_list out;
    uint32_t depth;
    bool needs_comma; /* a value stands before the place where the next goes */
};

void json_init(struct json *json, struct failure *failure);
void json_fini(struct json *json);

void json_object_begin(struct json *json);
void json_object_end(struct json *json);
void json_array_begin(struct json *json);
void json_array_end(struct json *json);

/* Ends a line: the next value, or the end of the array, begins another one. Where a value is next, it stands behind its
 * comma. */
void json_line(struct json *json, bool has_next);

/* The key of the next value. */
void json_key_text(struct json *json, struct text key);  /* any text */
void json_plain_key(struct json *json, struct text key); /* ASCII that needs no escape */
static inline void json_key(struct json *json, const char *plain) { json_plain_key(json, text_of(plain)); }

/* Values. Invalid UTF-8 becomes U+FFFD. */
void json_text(struct json *json, struct text text);
void json_string(struct json *json, const char *terminated);
void json_int(struct json *json, int64_t value);
void json_bool(struct json *json, bool value);
void json_null(struct json *json);
void json_decimal(struct json *json, struct decimal value); /* any scale */

/* In as few digits as read back as the same double (one more for some powers of two); null where it is not finite. */
void json_double(struct json *json, double value);

/* Nanoseconds as milliseconds, exactly: at most six digits after the point, no trailing zeros, no exponent. */
void json_ms(struct json *json, int64_t ns);

/* null where it is not known. */
void json_int_or_null(struct json *json, int64_t value, bool is_known);
void json_ms_or_null(struct json *json, int64_t ns, bool is_known);

/* Key and value together: inline, so that the length of a key that is a literal is known. */
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

/* A count beyond INT64_MAX is that. */
static inline void json_key_count(struct json *json, const char *key, uint64_t count) {
    json_key_int(json, key, count > INT64_MAX ? INT64_MAX : (int64_t)count);
}

static inline void json_key_bool(struct json *json, const char *key, bool value) {
    json_key(json, key);
    json_bool(json, value);
}

static inline void json_key_null(struct json *json, const char *key) {
    json_key(json, key);
    json_null(json);
}

/* null where there is no text, or an empty one. */
static inline void json_key_string_or_null(struct json *json, const char *key, const char *value) {
    json_key(json, key);
    if (value && *value)
        json_string(json, value);
    else
        json_null(json);
}

static inline void json_key_ms(struct json *json, const char *key, int64_t ns) {
    json_key(json, key);
    json_ms(json, ns);
}

/* Moves the complete value of `fragment` into place; `fragment` is empty after. */
void json_splice(struct json *json, struct json *fragment);

/* The finished document as chunks, owned by the caller. */
struct chunk_list json_take_chunks(struct json *json);

#endif
