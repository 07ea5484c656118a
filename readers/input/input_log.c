#include <stdlib.h>

#include "foreign.h"
#include "input.h"
#include "input_decoder.h"
#include "libconvert/base/cursor.h"

enum { OUTPUT_BYTES = 64 * 1024, PREFIX_BYTES_MAX = 128, LINES_MIN = 2, ENTITY_BYTES_MAX = 8 };

/* Lines that begin within so many bytes must all have a prefix. */
enum { JUDGED_BYTES = 4096 };

/* ---- What precedes each line. ---- */

/* Takes bytes of a shape: '0' stands for a digit, '_' for a digit or a blank, 'a' for a letter. */
static bool take_shape(struct text *text, const char *shape) {
    size_t count = strlen(shape);
    for (size_t i = 0; i < count; i++) {
        char byte = i < text->bytes_count ? text->bytes[i] : '\0';
        bool is_digit = cursor_is_digit(byte), is_letter = cursor_is_word_byte(byte) && !is_digit && byte != '_';
        bool fits = shape[i] == '0'   ? is_digit
                    : shape[i] == '_' ? is_digit || byte == ' '
                    : shape[i] == 'a' ? is_letter
                                      : byte == shape[i];
        if (!fits) return false;
    }
    *text = text_from(*text, count);
    return true;
}

static bool take_time(struct text *text, bool *has_month) {
    *has_month = take_shape(text, "aaa _0 ");
    if (!*has_month && !take_shape(text, "0000-00-00T")) take_shape(text, "0000-00-00 ");
    if (!take_shape(text, "00:00:00")) return false;
    if (cursor_take(text, TEXT(".")) || cursor_take(text, TEXT(",")))
        *text = text_from(*text, cursor_count_digits(*text));
    if (!cursor_take(text, TEXT("Z")) && !take_shape(text, "+00:00") && !take_shape(text, "-00:00") &&
        !take_shape(text, "+0000"))
        take_shape(text, "-0000");
    return true;
}

/* Takes what is after the time: the machine and the program, as journalctl and syslog write them, "host app[12]:", or
 * the stream, as Kubernetes writes it, "stdout F". */
static void take_origin(struct text *text) {
    struct text rest = *text;
    if (take_shape(text, " stdaaa F") || take_shape(text, " stdaaa P")) return;
    cursor_take(&rest, TEXT(" "));
    text_take_until(&rest, ' ');
    struct text program = text_take_until(&rest, ' ');
    if (text_ends_with(program, TEXT("]:")))
        *text = text_from(*text, (size_t)(program.bytes - text->bytes) + program.bytes_count);
}

/* Takes the name of a container and its bar, as docker compose writes them: "app-1  | ". */
static bool take_container(struct text *text) {
    struct text rest = *text;
    while (rest.bytes_count && (cursor_is_word_byte(rest.bytes[0]) || strchr("-.", rest.bytes[0])))
        rest = text_from(rest, 1);
    struct text bar = text_trim_start(rest);
    if (bar.bytes == rest.bytes || rest.bytes == text->bytes || !cursor_take(&bar, TEXT("|"))) return false;
    *text = bar;
    return true;
}

/* Takes the name of a container, as kubectl writes it: "[pod/app-1/app]". */
static bool take_pod(struct text *text) {
    if (!text_starts_with(*text, TEXT("[pod/"))) return false;
    *text = text_from(*text, text_find(*text, ' '));
    return true;
}

/* Takes what mail programs write before the lines that they quote: ">", "> >". */
static bool take_quote(struct text *text) {
    if (!cursor_take(text, TEXT(">"))) return false;
    while (cursor_take(text, TEXT(">")) || cursor_take(text, TEXT(" >"))) continue;
    cursor_take(text, TEXT(" "));
    return true;
}

/* Takes the number of the line, as cat -n, less -N and grep -n write it. A terminal copies a tab as blanks. If one
 * blank follows, others come before: without them, the number may be part of the line. */
static bool take_number(struct text *text, uint64_t *number) {
    struct text rest = text_trim_start(*text);
    bool is_aligned = rest.bytes_count < text->bytes_count;
    if (!cursor_take_number(&rest, 10, number)) return false;
    bool has_end = !rest.bytes_count || cursor_take(&rest, TEXT("\t")) || cursor_take(&rest, TEXT(":")) ||
                   cursor_take(&rest, TEXT("  ")) || (is_aligned && cursor_take(&rest, TEXT(" ")));
    if (has_end) *text = rest;
    return has_end;
}

enum prefix { PREFIX_NONE, PREFIX_TIME, PREFIX_CONTAINER, PREFIX_NUMBER, PREFIX_QUOTE };

/* Takes what a log has before a line, with the blank after it, and sets *number to the number of a line. */
static enum prefix take_prefix(struct text *line, uint64_t *number) {
    struct text rest = *line = text_without_mark(*line);
    enum prefix prefix = PREFIX_TIME;
    bool has_month, is_bracketed = cursor_take(&rest, TEXT("["));
    if (take_time(&rest, &has_month)) {
        if (is_bracketed && !cursor_take(&rest, TEXT("]"))) return PREFIX_NONE;
        take_origin(&rest);
        /* GitLab: the number and name of the stream, and whether the line goes on. */
        if ((take_shape(&rest, " 00O") || take_shape(&rest, " 00E")) && cursor_take(&rest, TEXT("+"))) {
            *line = rest;
            return prefix;
        }
    } else {
        rest = *line;
        prefix = PREFIX_CONTAINER;
        if (take_number(&rest, number)) {
            *line = rest;
            return PREFIX_NUMBER;
        }
        if (take_quote(line)) return PREFIX_QUOTE;
        if (!take_container(&rest) && !take_pod(&rest)) return PREFIX_NONE;
    }
    if (rest.bytes_count && !cursor_take(&rest, TEXT(" "))) return PREFIX_NONE;
    *line = rest;
    return prefix;
}

/* Returns the kind of prefix that the first whole lines of the text have, at least two. PREFIX_NONE: they have none, or
 * several kinds. Numbers of lines must follow each other. */
static enum prefix common_prefix(struct text start) {
    enum prefix first = PREFIX_NONE;
    size_t line_count = 0;
    uint64_t number = 0, before = 0;
    const char *judged_end = start.bytes + JUDGED_BYTES;
    for (size_t end; (end = text_find(start, '\n')) < start.bytes_count; start = text_from(start, end + 1)) {
        if (line_count >= LINES_MIN && start.bytes >= judged_end) break;
        struct text line = text_slice(start, 0, end);
        if (text_ends_with(line, TEXT("\r"))) line.bytes_count--;
        enum prefix prefix = take_prefix(&line, &number);
        if (!line_count++) first = prefix;
        if (prefix == PREFIX_NONE || prefix != first) return PREFIX_NONE;
        if (prefix == PREFIX_NUMBER && line_count > 1 && number != before + 1) return PREFIX_NONE;
        before = number;
    }
    return line_count >= LINES_MIN ? first : PREFIX_NONE;
}

static bool has_odd_line_ends(struct text start) {
    bool has_lone_end = text_find(start, '\n') == start.bytes_count && text_find(start, '\r') + 1 < start.bytes_count;
    return has_lone_end || text_has(start, TEXT("\r\r\n"));
}

static bool has_escapes(struct text start) {
    for (size_t at; (at = text_find(start, '\x1b')) + 1 < start.bytes_count; start = text_from(start, at + 1))
        if (strchr("[]_P^X(", start.bytes[at + 1])) return true;
    return false;
}

/* Returns whether there are twice as many line feeds as there were, in a text with stacks. */
static bool has_double_spacing(struct text start) {
    enum { RUNS_MIN = 4 };
    size_t run_count = 0, feed_count = 0;
    for (size_t i = 0; i < start.bytes_count; i++) {
        if (start.bytes[i] == '\r') continue;
        feed_count += start.bytes[i] == '\n';
        if (start.bytes[i] == '\n') continue;
        if (feed_count % 2) return false;
        run_count += feed_count > 0;
        feed_count = 0;
    }
    return run_count >= RUNS_MIN && text_has(start, TEXT("\n\t"));
}

/* ---- HTML entities and no-break spaces. ---- */

static const struct text no_break_space = TEXT("\xc2\xa0");

/* Texts in JSON may be parts of pages, and are left alone. */
static bool is_json(struct text start) {
    struct text first = text_trim_start(text_without_mark(start));
    return text_starts_with(first, TEXT("{")) || text_starts_with(first, TEXT("["));
}

static bool has_no_break_spaces(struct text start) { return text_has(start, no_break_space) && !is_json(start); }

/* Takes an entity, "&lt;", off the start of the text, or what could be the start of one. Returns whether it is whole.
 */
static bool take_entity(struct text *text, struct text *entity) {
    size_t bytes_count = 1;
    while (bytes_count < text->bytes_count && bytes_count < ENTITY_BYTES_MAX - 1 &&
           (text->bytes[bytes_count] == '#' || cursor_is_word_byte(text->bytes[bytes_count])))
        bytes_count++;
    *entity = text_slice(*text, 0, bytes_count + 1);
    *text = text_from(*text, bytes_count);
    return bytes_count > 2 && cursor_take(text, TEXT(";"));
}

/* Returns the character that the entity stands for, '\0' if it is none of ASCII. */
static char entity_character(struct text entity) {
    static const struct {
        struct text entity;
        char character;
    } entities[] = {{TEXT("&lt;"), '<'},   {TEXT("&gt;"), '>'},    {TEXT("&amp;"), '&'},
                    {TEXT("&quot;"), '"'}, {TEXT("&apos;"), '\''}, {TEXT("&nbsp;"), ' '}};
    for (size_t i = 0; i < sizeof entities / sizeof *entities; i++)
        if (text_equal(entity, entities[i].entity)) return entities[i].character;
    if (text_equal(entity, no_break_space)) return ' ';
    uint64_t number;
    if (!cursor_take(&entity, TEXT("&#"))) return '\0';
    bool is_hex = cursor_take(&entity, TEXT("x"));
    return cursor_take_number(&entity, is_hex ? 16 : 10, &number) && number >= ' ' && number < 0x7f ? (char)number
                                                                                                    : '\0';
}

/* Returns whether the text was escaped as for a page: each ampersand of the start begins an entity. */
static bool has_entities(struct text start) {
    bool has_one = false;
    struct text entity;
    if (is_json(start)) return false;
    for (size_t at; (at = text_find(start, '&')) < start.bytes_count;) {
        start = text_from(start, at);
        if (!take_entity(&start, &entity)) return has_one && !start.bytes_count;
        char character = entity_character(entity);
        has_one |= character && strchr("<>&", character);
    }
    return has_one;
}

bool input_log_recognises(struct text start) {
    if (foreign_is_binary(start)) return false;
    return has_escapes(start) || has_odd_line_ends(start) || has_double_spacing(start) ||
           common_prefix(start) != PREFIX_NONE || has_entities(start) || has_no_break_spaces(start);
}

/* ---- Decoding. ---- */

struct log {
    struct input_decoder decoder;
    enum prefix prefix; /* what is taken off each line that has it */
    bool has_entities;
    bool has_no_break_spaces;
    bool has_double_spacing;
    bool is_second_feed;           /* the next line feed would be the second one of a pair */
    char entity[ENTITY_BYTES_MAX]; /* its start, the rest of which is not there yet */
    size_t entity_bytes;
    enum { LOG_TEXT, LOG_ESCAPE, LOG_CONTROL, LOG_STRING } state;
    bool has_return; /* a carriage return, after which a line feed may come */
    bool is_inside;  /* the position is in a line whose prefix has been taken */
    char start[PREFIX_BYTES_MAX];
    size_t start_bytes; /* bytes at the start of the line, whose prefix has not been taken */
    char *out;
    char output[OUTPUT_BYTES + PREFIX_BYTES_MAX];
};

static void put_start(struct log *log) {
    struct text line = {log->start, log->start_bytes};
    uint64_t number;
    bool has_end = text_ends_with(line, TEXT("\n"));
    struct text rest = text_slice(line, 0, line.bytes_count - has_end);
    if (take_prefix(&rest, &number) == log->prefix) line = (struct text){rest.bytes, rest.bytes_count + has_end};
    memcpy(log->out, line.bytes, line.bytes_count);
    log->out += line.bytes_count;
    log->start_bytes = 0;
}

static void put(struct log *log, char byte) {
    if (log->prefix == PREFIX_NONE || log->is_inside) {
        *log->out++ = byte;
    } else {
        log->start[log->start_bytes++] = byte;
        if (byte != '\n' && log->start_bytes < PREFIX_BYTES_MAX) return;
        put_start(log);
    }
    log->is_inside = byte != '\n';
}

/* Puts the bytes of what could be an entity, or the character that it stands for. */
static void put_entity(struct log *log) {
    char character = entity_character((struct text){log->entity, log->entity_bytes});
    if (character) put(log, character);
    for (size_t i = 0; i < log->entity_bytes && !character; i++) put(log, log->entity[i]);
    log->entity_bytes = 0;
}

/* Puts a byte that may be in an entity or a no-break space, or the second line feed of a pair. */
static void put_escaped(struct log *log, char byte) {
    bool is_start = (byte == '&' && log->has_entities) || (byte == no_break_space.bytes[0] && log->has_no_break_spaces);
    bool is_dropped = byte == '\n' && log->has_double_spacing && log->is_second_feed;
    log->is_second_feed = byte == '\n' && !log->is_second_feed;
    if (log->entity_bytes && (is_start || byte == '\n')) put_entity(log);
    if (is_dropped) return;
    if (!log->entity_bytes && !is_start) {
        put(log, byte);
        return;
    }
    log->entity[log->entity_bytes++] = byte;
    bool is_no_break_space =
        log->entity[0] == no_break_space.bytes[0] && log->entity_bytes == no_break_space.bytes_count;
    if (byte == ';' || is_no_break_space || log->entity_bytes == ENTITY_BYTES_MAX) put_entity(log);
}

/* Puts a byte that is in no escape sequence. Carriage returns end a line, whether or not a line feed follows. */
static void put_text(struct log *log, char byte) {
    if (byte == '\r') {
        log->has_return = true;
        return;
    }
    if (log->has_return && byte != '\n') put_escaped(log, '\n');
    log->has_return = false;
    put_escaped(log, byte);
}

/* Takes a byte, which may be of an escape sequence (ECMA-48). A line feed is in none, so a sequence that was cut ends
 * there. */
static void take_byte(struct log *log, char byte) {
    bool is_final = byte >= '@' && byte <= '~', is_intermediate = byte >= ' ' && byte <= '/';
    if (byte == '\n') log->state = LOG_TEXT;
    switch (log->state) {
        case LOG_TEXT:
            if (byte == '\x1b')
                log->state = LOG_ESCAPE;
            else
                put_text(log, byte);
            break;
        case LOG_ESCAPE:
            log->state = byte == '['                ? LOG_CONTROL
                         : memchr("]_P^X", byte, 5) ? LOG_STRING
                         : is_intermediate          ? LOG_ESCAPE
                                                    : LOG_TEXT;
            break;
        case LOG_CONTROL:
            if (is_final) log->state = LOG_TEXT;
            break;
        case LOG_STRING: log->state = byte == '\a' ? LOG_TEXT : byte == '\x1b' ? LOG_ESCAPE : LOG_STRING; break;
    }
}

static void decode(struct input_decoder *decoder, struct text *decoded) {
    struct log *log = (struct log *)decoder;
    log->out = log->output;
    if (!decoder->left.bytes_count && decoder->has_source_ended) {
        if (log->has_return) put_escaped(log, '\n');
        put_entity(log);
        put_start(log);
        decoder->has_ended = true;
    }
    size_t taken_bytes = 0;
    /* A byte puts at most the start of a line, or an entity and a line feed before itself. */
    while (taken_bytes < decoder->left.bytes_count && log->out + ENTITY_BYTES_MAX + 2 < log->output + OUTPUT_BYTES)
        take_byte(log, decoder->left.bytes[taken_bytes++]);
    decoder->left = text_from(decoder->left, taken_bytes);
    *decoded = (struct text){log->output, (size_t)(log->out - log->output)};
    decoder->output_bytes += decoded->bytes_count;
}

bool input_log_open(struct input_source *source, const struct input_wrapper *wrapper, struct input *below) {
    struct log *log = failure_check_memory(input_failure(below), calloc(1, sizeof *log));
    if (!log) return false;
    struct text start = text_slice(input_peek(below, INPUT_WRAPPER_START_BYTES), 0, INPUT_WRAPPER_START_BYTES);
    log->prefix = common_prefix(start);
    log->has_entities = has_entities(start);
    log->has_no_break_spaces = has_no_break_spaces(start);
    log->has_double_spacing = has_double_spacing(start);
    input_decoder_open(&log->decoder, source, wrapper, below, decode, free);
    return true;
}
