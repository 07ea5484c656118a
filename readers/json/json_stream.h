/* Reads JSON value by value, in one pass and in little memory: the caller asks for what it expects next. Numbers are
 * exact. What JSON.parse refuses is refused here, and so is text that is not UTF-8.
 *
 * The first failure is latched with its place. After it, json_next and json_next_key return false, and values are 0 or
 * empty. */
#pragma once

#include "libconvert/base/byte_buffer.h"
#include "libconvert/base/cursor.h"
#include "libconvert/base/decimal.h"
#include "libconvert/base/failure.h"
#include "readers/input/input.h"

enum { JSON_STREAM_DEPTH_MAX = 10000, JSON_STREAM_NAMES_MAX = 12 };

enum json_kind { JSON_END, JSON_NULL, JSON_BOOL, JSON_NUMBER, JSON_TEXT, JSON_LIST, JSON_OBJECT };

/* A part of the name of what is read, for messages: "threads[3]". */
struct json_name {
    const char *name;
    int64_t index; /* negative: none */
};

struct json_stream {
    struct failure *failure; /* borrowed */
    struct input *input;     /* borrowed; NULL: the window has all of the text */
    const char *window;
    const char *at;
    const char *end;
    uint64_t window_offset;  /* where the window begins in the input */
    uint64_t line;           /* from 1 */
    uint32_t depth;          /* how many lists and objects are open */
    bool is_fresh;           /* nothing of the innermost list or object was read yet */
    struct byte_buffer text; /* a text without its escapes */
    struct byte_buffer key;
    struct byte_buffer record;
    const char *record_from; /* what comes from here on is recorded, and not yet copied; NULL: nothing is recorded */
    struct json_name names[JSON_STREAM_NAMES_MAX];
    unsigned name_count;
};

/* Reads the input from its current position. The input is borrowed. A byte order mark is skipped. */
void json_stream_init(struct json_stream *stream, struct input *input, struct failure *failure);

/* Reads a value of the whole document again. `text` is that value, which json_skip_recording has returned, and is
 * borrowed; `position` is where it began. */
void json_stream_init_part(struct json_stream *part, const struct json_stream *whole, struct text text,
                           struct position position);
void json_stream_fini(struct json_stream *stream);

/* Latches a failure unless nothing but blanks follows. */
void json_stream_finish(struct json_stream *stream);

struct position json_stream_position(const struct json_stream *stream);

/* Latches a failure at the current position; the message begins with the names that were pushed. */
void json_stream_fail(struct json_stream *stream, const char *format, ...) __attribute__((format(printf, 2, 3)));

/* Names what is read from now on. `name` is borrowed. index: negative for none. */
void json_push_name(struct json_stream *stream, const char *name, int64_t index);
static inline void json_pop_name(struct json_stream *stream) {
    if (stream->name_count) stream->name_count--;
}

/* Returns the kind of the next value without reading it; JSON_END at the end and after a failure. */
enum json_kind json_peek_kind(struct json_stream *stream);

/* Returns whether the next value begins with exactly these bytes. */
bool json_starts_with(struct json_stream *stream, struct text start);

/* Begin a list or an object. Return false if the next value is something else (a failure). Then call json_next or
 * json_next_key until it returns false, and read or skip one value after each call that returns true. */
bool json_begin_list(struct json_stream *stream);
bool json_begin_object(struct json_stream *stream);

/* Loops over the elements of the list that is the next value. If that is something else (a failure), there are none. */
#define JSON_EACH(stream) for (json_begin_list(stream); json_next(stream);)

/* Does the same, and null has no elements either. */
#define JSON_EACH_UNLESS_NULL(stream) \
    for (bool is_list = !json_take_null(stream) && json_begin_list(stream); is_list && json_next(stream);)

bool json_find_next(struct json_stream *stream); /* as json_next, which is faster */
static inline bool json_next(struct json_stream *stream) {
    bool has_comma = stream->at < stream->end && *stream->at == ',';
    if (!has_comma || stream->is_fresh || failure_is_set(stream->failure)) return json_find_next(stream);
    stream->at++;
    return true;
}
bool json_next_key(struct json_stream *stream, struct text *key); /* valid until the next call */

/* Reads null if that is the next value. */
bool json_find_null(struct json_stream *stream); /* as json_take_null, which is faster */
static inline bool json_take_null(struct json_stream *stream) {
    bool is_digit = stream->at < stream->end && cursor_is_digit(*stream->at);
    return !is_digit && json_find_null(stream);
}

/* The following latch a failure and return false if the next value is of another kind or out of range. */
bool json_take_bool(struct json_stream *stream, bool *value);
bool json_take_text(struct json_stream *stream, struct text *text);          /* valid until the next call */
bool json_take_number_text(struct json_stream *stream, struct text *number); /* valid until the next call */
bool json_take_int(struct json_stream *stream, int64_t *value);              /* no fraction */
bool json_take_decimal(struct json_stream *stream, struct decimal *value, bool *is_rounded);

/* Reads a number times 10^digits. *rest is what is cut off, between -1 and 1. */
bool json_take_scaled(struct json_stream *stream, unsigned digits, int64_t *value, double *rest);

/* Reads this number and those after it in a list, times 10^digits, as long as each is one without a rest, from 0 on and
 * below `end`. Returns how many; 0 means no failure: read the value in another way, or tell what is wrong with it. */
enum { JSON_RUN_MAX = 256 };
size_t json_take_run(struct json_stream *stream, unsigned digits, int64_t end, int64_t values[JSON_RUN_MAX]);

/* Skips the next value. */
void json_skip(struct json_stream *stream);

/* Skips the next value. Returns how many values it has, not counting null: the elements of a list, or 1. */
uint64_t json_skip_counting(struct json_stream *stream);

/* Skips the next value and returns its text, which is valid until the next call of this function. In a part, it is a
 * piece of the part's text. */
struct text json_skip_recording(struct json_stream *stream);
