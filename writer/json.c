#include "json.h"

#include <assert.h>
#include <string.h>

#include "libconvert/base/json_put.h"
#include "libconvert/base/utf8.h"

enum {
    /* Text is escaped in slices of this many bytes, which bounds the reservation for the worst case. */
    TEXT_SLICE_BYTES = 1024,
    ESCAPE_BYTES_MAX = 6 /* "\u001f", for one byte */
};

void json_init(struct json *json, struct failure *failure) {
    *json = (struct json){0};
    chunk_list_init(&json->out, failure);
}

void json_init_for(struct json *json, const struct chunk_list *out) {
    json_init(json, out->failure);
    json->out.drain = out->drain;
}

void json_fini(struct json *json) { chunk_list_fini(&json->out); }

static inline char *put(char *out, const char *bytes, size_t bytes_count) {
    memcpy(out, bytes, bytes_count);
    return out + bytes_count;
}

static void write_literal(struct json *json, struct text literal) {
    char *out = json_reserve(json, literal.bytes_count);
    if (out) json_commit(json, put(out, literal.bytes, literal.bytes_count));
}

/* ---- Nesting. ---- */

static void write_bracket(struct json *json, char bracket) {
    char *out = json_reserve(json, 1);
    if (!out) return;
    *out = bracket;
    json_commit(json, out + 1);
}

static void begin_nesting(struct json *json, char opening) {
    assert(json->depth < JSON_DEPTH_MAX);
    write_bracket(json, opening);
    json->depth++;
    json->needs_comma = false;
}

static void end_nesting(struct json *json, char closing) {
    assert(json->depth > 0);
    json->needs_comma = false;
    write_bracket(json, closing);
    json->depth--;
    json->needs_comma = true;
}

void json_object_begin(struct json *json) { begin_nesting(json, '{'); }
void json_object_end(struct json *json) { end_nesting(json, '}'); }
void json_array_begin(struct json *json) { begin_nesting(json, '['); }
void json_array_end(struct json *json) { end_nesting(json, ']'); }

void json_line(struct json *json, bool has_next) {
    struct text end = json->needs_comma && has_next ? TEXT(",\n") : TEXT("\n");
    chunk_list_append(&json->out, end.bytes, end.bytes_count);
    json->needs_comma = json->needs_comma && !has_next;
}

/* ---- Text. ---- */

enum { BYTE_IS_PLAIN = 0, BYTE_IS_NOT_ASCII = 1, BYTE_NEEDS_CODE = 'u' };

/* How a byte of text is written: as itself, as part of a UTF-8 sequence, as \u and its code, or as a backslash and this
 * letter. */
static const unsigned char byte_classes[256] = {
    [0x00 ... 0x07] = BYTE_NEEDS_CODE,
    ['\b'] = 'b',
    ['\t'] = 't',
    ['\n'] = 'n',
    [0x0b] = BYTE_NEEDS_CODE,
    ['\f'] = 'f',
    ['\r'] = 'r',
    [0x0e ... 0x1f] = BYTE_NEEDS_CODE,
    ['"'] = '"',
    ['\\'] = '\\',
    [0x80 ... 0xff] = BYTE_IS_NOT_ASCII,
};

static inline unsigned char byte_class(char byte) { return byte_classes[(unsigned char)byte]; }

static char *put_code_escape(char *out, unsigned char byte) {
    static const char hex_digits[] = "0123456789abcdef";
    out = put(out, "\\u00", 4);
    *out++ = hex_digits[byte >> 4];
    *out++ = hex_digits[byte & 15];
    return out;
}

/* Writes the UTF-8 sequence at the start of the text, or U+FFFD for one malformed byte. Sets *taken_bytes to the length
 * of what it replaces. */
static char *put_sequence(char *out, struct text text, size_t *taken_bytes) {
    size_t sequence_bytes = utf8_sequence_bytes(text);
    *taken_bytes = sequence_bytes ? sequence_bytes : 1;
    return sequence_bytes ? put(out, text.bytes, sequence_bytes) : put(out, "\xef\xbf\xbd", 3);
}

/* Escapes the text from byte *at on, up to byte `end` or, if a sequence crosses it, to that sequence's end. Moves *at
 * there and returns the end of the output. */
static char *put_escaped(char *out, struct text text, size_t *at, size_t end) {
    size_t i = *at;
    while (i < end) {
        size_t run = i;
        while (run < end && byte_class(text.bytes[run]) == BYTE_IS_PLAIN) run++;
        out = put(out, text.bytes + i, run - i);
        i = run;
        if (i == end) break;
        size_t taken_bytes = 1;
        unsigned char class = byte_class(text.bytes[i]);
        if (class == BYTE_IS_NOT_ASCII) {
            out = put_sequence(out, text_from(text, i), &taken_bytes);
        } else if (class == BYTE_NEEDS_CODE) {
            out = put_code_escape(out, (unsigned char)text.bytes[i]);
        } else {
            *out++ = '\\';
            *out++ = (char)class;
        }
        i += taken_bytes;
    }
    *at = i;
    return out;
}

static void write_short_text(struct json *json, struct text text) {
    char *out = json_reserve(json, 2 + text.bytes_count * ESCAPE_BYTES_MAX);
    if (!out) return;
    *out++ = '"';
    size_t at = 0;
    out = put_escaped(out, text, &at, text.bytes_count);
    *out++ = '"';
    json_commit(json, out);
}

void json_text(struct json *json, struct text text) {
    if (text.bytes_count <= TEXT_SLICE_BYTES) {
        write_short_text(json, text);
        return;
    }
    write_literal(json, TEXT("\""));
    for (size_t at = 0; at < text.bytes_count;) {
        size_t left = text.bytes_count - at;
        size_t slice_bytes = left < TEXT_SLICE_BYTES ? left : TEXT_SLICE_BYTES;
        char *out = chunk_list_reserve(&json->out, slice_bytes * ESCAPE_BYTES_MAX);
        if (!out) return;
        json_commit(json, put_escaped(out, text, &at, at + slice_bytes));
    }
    chunk_list_append(&json->out, "\"", 1);
}

void json_string(struct json *json, const char *terminated) { json_text(json, text_of(terminated)); }

void json_plain_key(struct json *json, struct text key) {
    char *out = json_reserve(json, key.bytes_count + 3);
    if (!out) return;
    *out++ = '"';
    json_commit(json, put(put(out, key.bytes, key.bytes_count), "\":", 2));
    json->needs_comma = false;
}

void json_key_text(struct json *json, struct text key) {
    json_text(json, key);
    chunk_list_append(&json->out, ":", 1);
    json->needs_comma = false;
}

/* ---- Prepared text. ---- */

/* Returns a copy of what the writer holds, padded to whole blocks, and frees the writer. */
static struct text take_prepared(struct json *json, struct arena *memory) {
    size_t bytes_count = (size_t)json->out.total_bytes;
    char *bytes = arena_take_aligned(memory, bytes_count + JSON_PREPARED_BLOCK_BYTES);
    if (bytes) chunk_list_copy(&json->out, bytes);
    json_fini(json);
    return (struct text){bytes, bytes ? bytes_count : 0};
}

struct text json_prepare_key(struct text key, struct arena *memory) {
    struct json json;
    json_init(&json, memory->failure);
    json.needs_comma = true;
    json_key_text(&json, key);
    return take_prepared(&json, memory);
}

struct text json_prepare_object(struct text key, struct text value, struct arena *memory) {
    struct json json;
    json_init(&json, memory->failure);
    json_object_begin(&json);
    json_key_text(&json, key);
    json_text(&json, value);
    return take_prepared(&json, memory);
}

/* ---- Numbers. ---- */

void json_int(struct json *json, int64_t value) {
    char *out = json_reserve(json, JSON_INT_BYTES_MAX);
    if (out) json_commit(json, json_put_int(out, value));
}

void json_ms(struct json *json, int64_t ns) {
    char *out = json_reserve(json, JSON_MS_BYTES_MAX);
    if (out) json_commit(json, json_put_ms(out, ns));
}

void json_decimal(struct json *json, struct decimal value) {
    if (!value.scale && !value.exponent) {
        json_int(json, value.mantissa);
        return;
    }
    char *out = json_reserve(json, JSON_INT_BYTES_MAX + 2 + (size_t)value.scale + value.exponent);
    if (!out) return;
    if (value.exponent) {
        out = json_put_int(out, value.mantissa);
        memset(out, '0', value.exponent);
        json_commit(json, out + value.exponent);
        return;
    }
    uint64_t magnitude;
    out = json_put_sign(out, value.mantissa, &magnitude);
    unsigned digits = (unsigned)(json_put_digits(out, magnitude) - out);
    /* Zeros up to the point and one digit before it, so that there are digits on both sides of the point. */
    unsigned zeros = digits > value.scale ? 0 : value.scale + 1 - digits;
    memset(out, '0', zeros);
    char *end = json_put_digits(out + zeros, magnitude);
    char *point = end - value.scale;
    memmove(point + 1, point, value.scale);
    *point = '.';
    json_commit(json, end + 1);
}

void json_double(struct json *json, double value) {
    char *out = json_reserve(json, JSON_DOUBLE_BYTES_MAX);
    if (out) json_commit(json, json_put_double(out, value));
}

void json_int_or_null(struct json *json, int64_t value, bool is_known) {
    if (is_known)
        json_int(json, value);
    else
        json_null(json);
}

void json_ms_or_null(struct json *json, int64_t ns, bool is_known) {
    if (is_known)
        json_ms(json, ns);
    else
        json_null(json);
}

void json_bool(struct json *json, bool value) { write_literal(json, value ? TEXT("true") : TEXT("false")); }
void json_null(struct json *json) {
    char *out = json_reserve(json, 4);
    if (out) json_commit(json, json_put_null(out));
}

/* ---- The end. ---- */

struct chunk_list json_take_chunks(struct json *json) {
    assert(json->depth == 0);
    struct chunk_list chunks = json->out;
    json_init(json, chunks.failure);
    return chunks;
}
