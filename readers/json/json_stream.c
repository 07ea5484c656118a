#include "json_stream.h"

#include <endian.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdio.h>

#include "libconvert/base/utf8.h"

/* Within this many bytes of the window's end, values are read the slow way. */
enum { FAST_BYTES = 48, FAST_DIGITS_MAX = 18 };

static const int64_t powers_of_ten[] = {(int64_t)1e0,  (int64_t)1e1,  (int64_t)1e2,  (int64_t)1e3,  (int64_t)1e4,
                                        (int64_t)1e5,  (int64_t)1e6,  (int64_t)1e7,  (int64_t)1e8,  (int64_t)1e9,
                                        (int64_t)1e10, (int64_t)1e11, (int64_t)1e12, (int64_t)1e13, (int64_t)1e14,
                                        (int64_t)1e15, (int64_t)1e16, (int64_t)1e17, (int64_t)1e18};

/* ---- Failures. ---- */

struct position json_stream_position(const struct json_stream *stream) {
    return (struct position){stream->line, stream->window_offset + (uint64_t)(stream->at - stream->window)};
}

static void append_names(const struct json_stream *stream, char *out, size_t capacity_bytes) {
    size_t used = 0;
    out[0] = '\0';
    for (unsigned i = 0; i < stream->name_count && used < capacity_bytes; i++) {
        const struct json_name *name = &stream->names[i];
        used += (size_t)snprintf(out + used, capacity_bytes - used, "%s%s", i ? "." : "", name->name);
        if (name->index >= 0 && used < capacity_bytes)
            used += (size_t)snprintf(out + used, capacity_bytes - used, "[%" PRId64 "]", name->index);
    }
    if (used && used < capacity_bytes) snprintf(out + used, capacity_bytes - used, ": ");
}

void json_stream_fail(struct json_stream *stream, const char *format, ...) {
    char names[160], message[320];
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(message, sizeof message, format, arguments);
    va_end(arguments);
    append_names(stream, names, sizeof names);
    failure_set_at(stream->failure, FAILURE_INPUT, json_stream_position(stream), "%s%s", names, message);
}

void json_push_name(struct json_stream *stream, const char *name, int64_t index) {
    if (stream->name_count < JSON_STREAM_NAMES_MAX)
        stream->names[stream->name_count++] = (struct json_name){name, index};
}

static bool is_good(const struct json_stream *stream) { return !failure_is_set(stream->failure); }

static bool fail_syntax(struct json_stream *stream, const char *what) {
    json_stream_fail(stream, "this is not JSON: %s", what);
    return false;
}

static bool fail_end(struct json_stream *stream) { return fail_syntax(stream, "the text ends too early"); }

/* ---- The window. ---- */

static bool append(struct byte_buffer *buffer, const char *from, const char *end) {
    return byte_buffer_append(buffer, (struct text){from, (size_t)(end - from)});
}

/* Makes more bytes available after those from `keep` on, which stay. Returns false if there are none. */
static bool refill(struct json_stream *stream, const char *keep) {
    size_t kept_bytes = (size_t)(stream->end - keep), at = (size_t)(stream->at - keep);
    if (!stream->input || !is_good(stream)) return false;
    if (stream->record_from && keep > stream->record_from && !append(&stream->record, stream->record_from, keep))
        return false;
    size_t recorded_bytes = stream->record_from > keep ? (size_t)(stream->record_from - keep) : 0;
    input_consume(stream->input, (size_t)(keep - stream->window));
    stream->window_offset += (uint64_t)(keep - stream->window);
    struct text bytes = input_peek(stream->input, kept_bytes * 2 + 1);
    stream->window = bytes.bytes;
    stream->at = bytes.bytes + at;
    stream->end = bytes.bytes + bytes.bytes_count;
    if (stream->record_from) stream->record_from = bytes.bytes + recorded_bytes;
    return bytes.bytes_count > kept_bytes;
}

/* Returns false at the end of the text. */
static inline bool skip_blanks(struct json_stream *stream) {
    for (;;) {
        for (; stream->at < stream->end; stream->at++) {
            char byte = *stream->at;
            if (byte == '\n')
                stream->line++;
            else if (byte != ' ' && byte != '\t' && byte != '\r')
                return true;
        }
        if (!refill(stream, stream->at)) return false;
    }
}

/* Returns the text from the current position: fewer bytes than wanted only where it ends. */
static struct text peek(struct json_stream *stream, size_t bytes_count) {
    while ((size_t)(stream->end - stream->at) < bytes_count && refill(stream, stream->at)) {
    }
    return (struct text){stream->at, (size_t)(stream->end - stream->at)};
}

/* ---- Initialising and finishing. ---- */

static void skip_byte_order_mark(struct json_stream *stream) {
    static const struct text mark = TEXT("\xef\xbb\xbf");
    if (text_starts_with(peek(stream, mark.bytes_count), mark)) stream->at += mark.bytes_count;
}

static void init_text(struct json_stream *stream, struct text text, struct position position, struct failure *failure) {
    const char *bytes = text.bytes ? text.bytes : "";
    *stream = (struct json_stream){.failure = failure,
                                   .window = bytes,
                                   .at = bytes,
                                   .end = bytes + text.bytes_count,
                                   .window_offset = position.offset,
                                   .line = position.line,
                                   .text.failure = failure,
                                   .key.failure = failure,
                                   .record.failure = failure};
}

void json_stream_init_part(struct json_stream *part, const struct json_stream *whole, struct text text,
                           struct position position) {
    init_text(part, text, position, whole->failure);
    memcpy(part->names, whole->names, sizeof part->names);
    part->name_count = whole->name_count;
}

void json_stream_init(struct json_stream *stream, struct input *input, struct failure *failure) {
    init_text(stream, (struct text){0}, (struct position){1, input_offset(input)}, failure);
    stream->input = input;
    skip_byte_order_mark(stream);
}

void json_stream_fini(struct json_stream *stream) {
    if (stream->input) input_consume(stream->input, (size_t)(stream->at - stream->window));
    byte_buffer_fini(&stream->text);
    byte_buffer_fini(&stream->key);
    byte_buffer_fini(&stream->record);
    *stream = (struct json_stream){.failure = stream->failure};
}

void json_stream_finish(struct json_stream *stream) {
    if (is_good(stream) && skip_blanks(stream)) fail_syntax(stream, "something follows the document");
}

/* ---- Kinds. ---- */

static enum json_kind kind_of(char byte) {
    switch (byte) {
        case 'n': return JSON_NULL;
        case 't':
        case 'f': return JSON_BOOL;
        case '"': return JSON_TEXT;
        case '[': return JSON_LIST;
        case '{': return JSON_OBJECT;
        default: return byte == '-' || cursor_is_digit(byte) ? JSON_NUMBER : JSON_END;
    }
}

enum json_kind json_peek_kind(struct json_stream *stream) {
    if (!is_good(stream)) return JSON_END;
    if (!skip_blanks(stream)) {
        fail_end(stream);
        return JSON_END;
    }
    enum json_kind kind = kind_of(*stream->at);
    if (kind == JSON_END) fail_syntax(stream, "a value is missing here");
    return kind;
}

bool json_starts_with(struct json_stream *stream, struct text start) {
    return json_peek_kind(stream) != JSON_END && text_starts_with(peek(stream, start.bytes_count), start);
}

static bool expect(struct json_stream *stream, enum json_kind wanted) {
    static const char *const nouns[] = {
        "", "null", "true or false", "a number", "a text", "a list", "an object",
    };
    enum json_kind kind = json_peek_kind(stream);
    if (kind == JSON_END || kind == wanted) return kind == wanted;
    json_stream_fail(stream, "there is %s where %s is expected", nouns[kind], nouns[wanted]);
    return false;
}

/* ---- Lists and objects. ---- */

static bool begin(struct json_stream *stream, enum json_kind kind) {
    if (!expect(stream, kind)) return false;
    if (stream->depth == JSON_STREAM_DEPTH_MAX) {
        json_stream_fail(stream, "lists and objects are nested more than %d deep", JSON_STREAM_DEPTH_MAX);
        return false;
    }
    stream->at++;
    stream->depth++;
    stream->is_fresh = true;
    return true;
}

bool json_begin_list(struct json_stream *stream) { return begin(stream, JSON_LIST); }
bool json_begin_object(struct json_stream *stream) { return begin(stream, JSON_OBJECT); }

/* Goes to the next element. Returns false at the end, which is `closer`, and after a failure. */
static inline bool go_on(struct json_stream *stream, char closer) {
    bool is_first = stream->is_fresh;
    stream->is_fresh = false;
    if (!is_good(stream)) return false;
    if (!is_first && stream->at < stream->end && *stream->at == ',') {
        stream->at++;
        return true;
    }
    if (!skip_blanks(stream)) return fail_end(stream);
    if (*stream->at == closer) {
        stream->at++;
        stream->depth--;
        return false;
    }
    if (is_first) return true;
    if (*stream->at != ',') return fail_syntax(stream, "a comma is missing here");
    stream->at++;
    return true;
}

bool json_find_next(struct json_stream *stream) { return go_on(stream, ']'); }

bool json_next_key(struct json_stream *stream, struct text *key) {
    if (!go_on(stream, '}')) return false;
    if (!skip_blanks(stream)) return fail_end(stream);
    if (*stream->at != '"') return fail_syntax(stream, "a key is missing here");
    if (!json_take_text(stream, key)) return false;
    if (stream->at < stream->end && *stream->at == ':') {
        stream->at++;
        return true;
    }
    /* Looking for the colon may move the window, and the key with it. */
    stream->key.bytes_count = 0;
    if (!byte_buffer_append(&stream->key, *key)) return false;
    *key = byte_buffer_text(&stream->key);
    if (!skip_blanks(stream)) return fail_end(stream);
    if (*stream->at != ':') return fail_syntax(stream, "a colon is missing here");
    stream->at++;
    return true;
}

/* ---- Words. ---- */

static bool take_word(struct json_stream *stream, struct text word) {
    if (!text_starts_with(peek(stream, word.bytes_count), word)) return fail_syntax(stream, "a value is missing here");
    stream->at += word.bytes_count;
    return true;
}

bool json_find_null(struct json_stream *stream) {
    return json_peek_kind(stream) == JSON_NULL && take_word(stream, TEXT("null"));
}

bool json_take_bool(struct json_stream *stream, bool *value) {
    *value = false;
    if (!expect(stream, JSON_BOOL)) return false;
    *value = *stream->at == 't';
    return take_word(stream, *value ? TEXT("true") : TEXT("false"));
}

/* ---- Numbers. ---- */

static bool is_of_number(char byte) {
    return cursor_is_digit(byte) || byte == '-' || byte == '+' || byte == '.' || byte == 'e' || byte == 'E';
}

static inline bool take_byte(struct text *text, char byte) {
    bool is_it = text->bytes_count && *text->bytes == byte;
    *text = text_from(*text, is_it);
    return is_it;
}

static bool is_number(struct text text) {
    take_byte(&text, '-');
    size_t count = cursor_count_digits(text);
    if (!count || (count > 1 && text.bytes[0] == '0')) return false;
    text = text_from(text, count);
    if (take_byte(&text, '.')) {
        count = cursor_count_digits(text);
        if (!count) return false;
        text = text_from(text, count);
    }
    if (!take_byte(&text, 'e') && !take_byte(&text, 'E')) return !text.bytes_count;
    if (!take_byte(&text, '+')) take_byte(&text, '-');
    return text.bytes_count && cursor_count_digits(text) == text.bytes_count;
}

bool json_take_number_text(struct json_stream *stream, struct text *number) {
    *number = TEXT("0");
    if (!expect(stream, JSON_NUMBER)) return false;
    size_t count = 0;
    for (;;) {
        while (stream->at + count < stream->end && is_of_number(stream->at[count])) count++;
        if (stream->at + count < stream->end || !refill(stream, stream->at)) break;
    }
    *number = (struct text){stream->at, count};
    if (!is_number(*number)) return fail_syntax(stream, "this is no number");
    stream->at += count;
    return true;
}

/* Reads digits, if the window certainly has all of the number. Returns where they end; NULL if there are none or too
 * many. */
static inline const char *read_digits(const char *at, int64_t *value, size_t digits_max) {
    const char *first = at;
    for (; cursor_is_digit(*at); at++) {
        if ((size_t)(at - first) == digits_max) return NULL;
        *value = *value * 10 + (*at - '0');
    }
    return at == first ? NULL : at;
}

static inline bool ends_number(char byte) { return byte == ',' || byte == ']' || byte == '}'; }

/* Reads a number of few digits that is followed by a comma or the end of its list. Returns false if it is not that. */
static inline bool take_fast(struct json_stream *stream, unsigned digits, int64_t *value) {
    const char *at = stream->at;
    if (stream->end - at < FAST_BYTES) return false;
    bool is_negative = *at == '-';
    at += is_negative;
    int64_t number = 0;
    bool has_zero = *at == '0';
    const char *end = read_digits(at, &number, FAST_DIGITS_MAX - digits);
    if (!end || (has_zero && end - at > 1)) return false;
    unsigned missing = digits;
    if (*end == '.') {
        const char *fraction = end + 1;
        end = read_digits(fraction, &number, digits);
        if (!end) return false;
        missing -= (unsigned)(end - fraction);
    }
    if (!ends_number(*end)) return false;
    number *= powers_of_ten[missing];
    *value = is_negative ? -number : number;
    stream->at = end;
    return true;
}

/* ---- Runs of numbers. ---- */

static const uint64_t EACH_BYTE = 0x0101010101010101;

/* Returns eight bytes, of which the first one is the lowest. */
static inline uint64_t load_eight(const char *at) {
    uint64_t word;
    memcpy(&word, at, sizeof word);
    return le64toh(word);
}

/* Finds the bytes that are no digits, many at a time. So reading a number need not wait until the end of the one before
 * it is known, and no branch depends on how long a number is. */
struct others {
    const char *block;
    const char *next; /* the block after it */
    const char *end;  /* where the window ends */
    uint64_t bits;    /* set for the bytes of the block that are still to be returned */
};

enum { BLOCK_BYTES = 64 };

/* Sets a bit for each byte of the block that is no digit. What follows one that is not ASCII may be wrong. */
static inline uint64_t find_others(const char *block) {
    uint64_t bits = 0;
    for (size_t i = 0; i < BLOCK_BYTES; i += sizeof bits) {
        uint64_t word = load_eight(block + i);
        uint64_t are_above = word + EACH_BYTE * (0x7f - '9'), are_not_below = (word | EACH_BYTE << 7) - EACH_BYTE * '0';
        uint64_t others = (word | are_above | ~are_not_below) >> 7 & EACH_BYTE;
        bits |= others * 0x0102040810204080 >> 56 << i; /* the lowest bit of each byte is moved to the highest byte */
    }
    return bits;
}

/* Returns the next byte that is no digit; NULL if the window does not certainly have it and eight more. */
static inline const char *next_other(struct others *others) {
    while (!others->bits) {
        if (others->end - others->next < BLOCK_BYTES + 8) return NULL;
        others->block = others->next;
        others->bits = find_others(others->block);
        others->next += BLOCK_BYTES;
    }
    unsigned bit = (unsigned)__builtin_ctzll(others->bits);
    others->bits &= others->bits - 1;
    return others->block + bit;
}

/* Returns the value of 1 to 8 digits. */
static inline int64_t value_of_eight(const char *at, size_t count) {
    uint64_t word = load_eight(at) << (64 - 8 * count) & EACH_BYTE * 0xf; /* the first ones become zeros */
    word = word * (1 + (10 << 8)) >> 8 & 0x00ff00ff00ff00ff;              /* four numbers of two digits */
    word = word * (1 + (100 << 16)) >> 16 & 0x0000ffff0000ffff;
    return (int64_t)(word * (1 + (UINT64_C(10000) << 32)) >> 32);
}

/* Returns the value of 1 to 18 digits. */
static inline int64_t value_of_digits(const char *at, size_t count) {
    int64_t value = 0;
    for (; count > 8; at += 8, count -= 8) value = value * powers_of_ten[8] + value_of_eight(at, 8);
    return value * powers_of_ten[count] + value_of_eight(at, count);
}

size_t json_take_run(struct json_stream *stream, unsigned digits, int64_t end, int64_t values[JSON_RUN_MAX]) {
    struct others others = {.next = stream->at, .end = stream->end};
    const char *at = stream->at, *after;
    size_t count = 0;
    if (!end || at == stream->end || !cursor_is_digit(*at)) return 0;
    while (count < JSON_RUN_MAX && (after = next_other(&others))) {
        size_t digit_count = (size_t)(after - at), fraction_count = 0;
        bool has_digits = digit_count && digit_count <= FAST_DIGITS_MAX - digits;
        if (!has_digits || (*at == '0' && digit_count > 1)) break;
        int64_t value = value_of_digits(at, digit_count);
        if (*after == '.') {
            at = after + 1;
            after = next_other(&others);
            fraction_count = after ? (size_t)(after - at) : 0;
            if (!fraction_count || fraction_count > digits) break;
            value = value * powers_of_ten[fraction_count] + value_of_digits(at, fraction_count);
        }
        value *= powers_of_ten[digits - fraction_count];
        if (value >= end || (*after != ',' && *after != ']')) break;
        values[count++] = value;
        stream->at = after;
        if (*after == ']') break;
        at = after + 1;
    }
    return count;
}

/* ---- Single numbers. ---- */

bool json_take_decimal(struct json_stream *stream, struct decimal *value, bool *is_rounded) {
    struct text number;
    *value = (struct decimal){0};
    *is_rounded = false;
    if (is_good(stream) && stream->at < stream->end && take_fast(stream, 0, &value->mantissa)) return true;
    if (!json_take_number_text(stream, &number)) return false;
    if (decimal_parse(number, value, is_rounded)) return true;
    json_stream_fail(stream, "the number is too large");
    return false;
}

/* Stores the value times 10^digits, and what is cut off. Returns false if it does not fit. */
static bool scale(struct decimal number, unsigned digits, int64_t *value, double *rest) {
    struct decimal scaled = decimal_shift(number, (int)digits);
    *rest = 0;
    if (!scaled.scale) return decimal_rescale(scaled, 0, value);
    if (scaled.scale > FAST_DIGITS_MAX) {
        *value = 0;
        *rest = decimal_to_double(scaled);
        return true;
    }
    int64_t divisor = powers_of_ten[scaled.scale];
    *value = scaled.mantissa / divisor;
    *rest = (double)(scaled.mantissa % divisor) / (double)divisor;
    return true;
}

/* Stores the number times 10^digits if that is an integer of 64 bits: nanoseconds since the epoch have 19 digits, and a
 * decimal has 18. Returns false if it is none, or is written with an exponent. */
static bool take_exact(struct text number, unsigned digits, int64_t *value) {
    bool is_negative = cursor_take(&number, TEXT("-"));
    size_t point = text_find(number, '.');
    struct text fraction = text_from(number, point + 1);
    uint64_t whole, part = 0;
    int64_t scaled;
    if (!cursor_parse_number(text_slice(number, 0, point), 10, &whole) || fraction.bytes_count > digits) return false;
    if (fraction.bytes_count && !cursor_parse_number(fraction, 10, &part)) return false;
    if (__builtin_mul_overflow(whole, powers_of_ten[digits], &scaled)) return false;
    if (__builtin_add_overflow(scaled, (int64_t)part * powers_of_ten[digits - fraction.bytes_count], &scaled))
        return false;
    *value = is_negative ? -scaled : scaled;
    return true;
}

bool json_take_scaled(struct json_stream *stream, unsigned digits, int64_t *value, double *rest) {
    *rest = 0;
    if (is_good(stream) && stream->at < stream->end && take_fast(stream, digits, value)) return true;
    struct text text;
    struct decimal number;
    bool is_rounded = false;
    *value = 0;
    if (!json_take_number_text(stream, &text)) return false;
    if (take_exact(text, digits, value)) return true;
    if (decimal_parse(text, &number, &is_rounded) && scale(number, digits, value, rest)) return true;
    json_stream_fail(stream, "the number is too large");
    return false;
}

bool json_take_int(struct json_stream *stream, int64_t *value) {
    double rest;
    if (!json_take_scaled(stream, 0, value, &rest)) return false;
    if (rest == 0) return true;
    json_stream_fail(stream, "there is a fraction where an integer is expected");
    return false;
}

/* ---- Texts. ---- */

static const char simple_escapes[] = "\"\"\\\\//b\bf\fn\nr\rt\t";

static bool take_hex(const char *digits, uint32_t *value) {
    *value = 0;
    for (unsigned i = 0; i < 4; i++) {
        int digit = cursor_digit_value(digits[i]);
        if (digit < 0) return false;
        *value = *value << 4 | (uint32_t)digit;
    }
    return true;
}

/* Reads \uXXXX, which begins at the current position, or a pair of them. A surrogate without its partner becomes
 * U+FFFD. */
static bool take_code(struct json_stream *stream) {
    enum { ESCAPE_BYTES = 6 };
    uint32_t code, low;
    if (peek(stream, 2 * ESCAPE_BYTES).bytes_count < ESCAPE_BYTES) return fail_end(stream);
    if (!take_hex(stream->at + 2, &code)) return fail_syntax(stream, "this is no escape");
    stream->at += ESCAPE_BYTES;
    bool has_partner = code >= 0xd800 && code < 0xdc00 && stream->end - stream->at >= ESCAPE_BYTES &&
                       stream->at[0] == '\\' && stream->at[1] == 'u' && take_hex(stream->at + 2, &low) &&
                       low >= 0xdc00 && low < 0xe000;
    if (has_partner) {
        code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
        stream->at += ESCAPE_BYTES;
    } else if (code >= 0xd800 && code < 0xe000) {
        code = 0xfffd;
    }
    char utf8[4];
    return byte_buffer_append(&stream->text, (struct text){utf8, (size_t)(utf8_put(utf8, code) - utf8)});
}

static bool take_escape(struct json_stream *stream) {
    if (peek(stream, 2).bytes_count < 2) return fail_end(stream);
    if (stream->at[1] == 'u') return take_code(stream);
    for (size_t i = 0; i + 1 < sizeof simple_escapes; i += 2) {
        if (simple_escapes[i] != stream->at[1]) continue;
        stream->at += 2;
        return byte_buffer_append(&stream->text, (struct text){&simple_escapes[i + 1], 1});
    }
    return fail_syntax(stream, "this is no escape");
}

/* Returns how many bytes from `from` on stand for themselves: up to a quotation mark, a backslash or a control
 * character. */
static inline size_t count_plain(const char *from, const char *end, unsigned char *all_bits) {
    const char *at = from;
    for (; at < end; at++) {
        unsigned char byte = (unsigned char)*at;
        if (byte == '"' || byte == '\\' || byte < 0x20) break;
        *all_bits |= byte;
    }
    return (size_t)(at - from);
}

/* Reads the rest of a text that has escapes. */
static bool take_escaped(struct json_stream *stream, struct text *text, unsigned char all_bits) {
    for (;;) {
        size_t count = count_plain(stream->at, stream->end, &all_bits);
        if (!byte_buffer_append(&stream->text, (struct text){stream->at, count})) return false;
        stream->at += count;
        if (stream->at == stream->end) {
            if (!refill(stream, stream->at)) return fail_end(stream);
        } else if (*stream->at == '"') {
            break;
        } else if (*stream->at != '\\') {
            return fail_syntax(stream, "a control character in a text");
        } else if (!take_escape(stream)) {
            return false;
        }
    }
    stream->at++;
    *text = byte_buffer_text(&stream->text);
    if (!(all_bits & 0x80) || utf8_valid_prefix_bytes(*text) == text->bytes_count) return true;
    return fail_syntax(stream, "a text is not UTF-8");
}

bool json_take_text(struct json_stream *stream, struct text *text) {
    *text = TEXT("");
    if (!expect(stream, JSON_TEXT)) return false;
    size_t count = 0;
    unsigned char all_bits = 0;
    for (;;) {
        count += count_plain(stream->at + 1 + count, stream->end, &all_bits);
        if (stream->at + 1 + count < stream->end) break;
        if (!refill(stream, stream->at)) return fail_end(stream);
    }
    if (stream->at[1 + count] != '"') {
        stream->at++;
        stream->text.bytes_count = 0;
        return take_escaped(stream, text, all_bits);
    }
    *text = (struct text){stream->at + 1, count};
    size_t valid_bytes = all_bits & 0x80 ? utf8_valid_prefix_bytes(*text) : count;
    if (valid_bytes < count) {
        stream->at += 1 + valid_bytes;
        return fail_syntax(stream, "a text is not UTF-8");
    }
    stream->at += count + 2;
    return true;
}

/* ---- Skipping. ---- */

/* Skips a value, or enters a list or an object. */
static enum json_kind skip_or_enter(struct json_stream *stream) {
    enum { DIGITS = FAST_DIGITS_MAX / 2 }; /* on each side of the point */
    struct text text;
    int64_t number;
    bool value;
    enum json_kind kind = json_peek_kind(stream);
    switch (kind) {
        case JSON_NULL: json_take_null(stream); break;
        case JSON_BOOL: json_take_bool(stream, &value); break;
        case JSON_NUMBER:
            if (!take_fast(stream, DIGITS, &number)) json_take_number_text(stream, &text);
            break;
        case JSON_TEXT: json_take_text(stream, &text); break;
        case JSON_LIST:
        case JSON_OBJECT: begin(stream, kind); break;
        case JSON_END: break;
    }
    return kind;
}

void json_skip(struct json_stream *stream) {
    enum { BITS = 8 };
    uint8_t are_objects[JSON_STREAM_DEPTH_MAX / BITS + 1];
    uint32_t level_count = 0;
    struct text key;
    do {
        enum json_kind kind = skip_or_enter(stream);
        if (!is_good(stream)) return;
        if (kind == JSON_LIST || kind == JSON_OBJECT) {
            uint8_t bit = (uint8_t)(1u << level_count % BITS), *bits = &are_objects[level_count / BITS];
            *bits = (uint8_t)(kind == JSON_OBJECT ? (level_count % BITS ? *bits : 0) | bit
                                                  : (level_count % BITS ? *bits : 0) & ~bit);
            level_count++;
        }
        while (level_count) {
            bool is_object = are_objects[(level_count - 1) / BITS] >> (level_count - 1) % BITS & 1;
            if (is_object ? json_next_key(stream, &key) : json_next(stream)) break;
            if (!is_good(stream)) return;
            level_count--;
        }
    } while (level_count);
}

uint64_t json_skip_counting(struct json_stream *stream) {
    uint64_t count = 0;
    enum json_kind kind = json_peek_kind(stream);
    if (kind != JSON_LIST) {
        json_skip(stream);
        return kind != JSON_NULL && is_good(stream);
    }
    JSON_EACH(stream) {
        count += json_peek_kind(stream) != JSON_NULL;
        json_skip(stream);
    }
    return count;
}

/* Returns the text of the next value, which is in the window as a whole. */
static struct text skip_in_window(struct json_stream *stream) {
    json_peek_kind(stream);
    const char *start = stream->at;
    json_skip(stream);
    return (struct text){start, (size_t)(stream->at - start)};
}

struct text json_skip_recording(struct json_stream *stream) {
    if (!stream->input) return skip_in_window(stream);
    json_peek_kind(stream);
    stream->record.bytes_count = 0;
    stream->record_from = stream->at;
    json_skip(stream);
    if (stream->at > stream->record_from) append(&stream->record, stream->record_from, stream->at);
    stream->record_from = NULL;
    return byte_buffer_text(&stream->record);
}
