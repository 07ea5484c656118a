#include "gecko_location.h"

#include <inttypes.h>
#include <stdio.h>

#include "libconvert/base/cursor.h"

/* The client removes this prefix from the names of library functions only. */
#define THUNK_PREFIX "non-virtual thunk to "

#define IN_LIBRARY " (in "

/* ---- Reading: what the client's regular expressions do, each in one pass. ---- */

/* Returns the length of the line break at `at`, which a dot of a regular expression does not match: LF, CR, U+2028 or
 * U+2029. Returns 0 for anything else. */
static size_t line_break_bytes(struct text text, size_t at) {
    struct text rest = text_from(text, at);
    if (rest.bytes[0] == '\n' || rest.bytes[0] == '\r') return 1;
    return text_starts_with(rest, TEXT("\xe2\x80\xa8")) || text_starts_with(rest, TEXT("\xe2\x80\xa9")) ? 3 : 0;
}

static bool has_at(struct text text, size_t at, struct text part) {
    return at <= text.bytes_count && text_starts_with(text_from(text, at), part);
}

/* Returns where the digits at the end of the text start, or the text's length if there are none. */
static size_t find_final_digits(struct text text) {
    size_t at = text.bytes_count;
    while (at && cursor_is_digit(text.bytes[at - 1])) at--;
    return at;
}

/* Cuts the number at the end of the text off, with the byte before it, which must be `before`. Returns false if there
 * is none. A number that does not fit becomes UINT32_MAX. */
static bool cut_final_number(struct text *text, char before, uint32_t *number) {
    size_t digits = find_final_digits(*text);
    if (digits == text->bytes_count || digits == 0 || text->bytes[digits - 1] != before) return false;
    uint64_t value = 0;
    for (size_t i = digits; i < text->bytes_count && value <= UINT32_MAX; i++)
        value = value * 10 + (uint64_t)(text->bytes[i] - '0');
    *number = value > UINT32_MAX ? UINT32_MAX : (uint32_t)value;
    *text = text_slice(*text, 0, digits - 1);
    return true;
}

/* Positions in a location that the patterns depend on; the location's length if there is none. */
struct landmarks {
    size_t first_break;
    size_t break_end; /* end of the last line break; 0 if there is none */
    size_t last_colon;
};

static struct landmarks find_landmarks(struct text location) {
    struct landmarks landmarks = {.first_break = location.bytes_count};
    for (size_t at = 0; at < location.bytes_count; at++) {
        size_t break_bytes = line_break_bytes(location, at);
        if (!break_bytes) continue;
        if (!landmarks.break_end) landmarks.first_break = at;
        landmarks.break_end = at + break_bytes;
    }
    landmarks.last_colon = text_find_last(location, ':');
    return landmarks;
}

static bool set_library(struct location_parts *parts, struct text location, size_t name_end, size_t library_end) {
    struct text name = text_slice(location, 0, name_end);
    if (text_starts_with(name, TEXT(THUNK_PREFIX))) name = text_from(name, sizeof THUNK_PREFIX - 1);
    *parts = (struct location_parts){.kind = LOCATION_LIBRARY, .name = name};
    parts->container = text_slice(location, name_end + sizeof IN_LIBRARY - 1, library_end);
    return true;
}

/* Parses "name (in library)", whose closing parenthesis ends at `end`. */
static bool read_in_library(struct text location, const struct landmarks *landmarks, size_t end,
                            struct location_parts *parts) {
    if (!end || location.bytes[end - 1] != ')') return false;
    size_t last_close = text_find_last(text_slice(location, 0, end - 1), ')');
    bool has_close = last_close != end - 1;
    for (size_t at = end - 1; at-- > 0;) {
        if (has_close && at <= last_close) return false;
        if (at > landmarks->first_break || !has_at(location, at, TEXT(IN_LIBRARY))) continue;
        return set_library(parts, location, at, end - 1);
    }
    return false;
}

/* Parses "name (in library) (file:line)". */
static bool read_in_library_at_line(struct text location, const struct landmarks *landmarks,
                                    struct location_parts *parts) {
    size_t end = location.bytes_count;
    if (!end || location.bytes[end - 1] != ')' || landmarks->last_colon == end) return false;
    size_t close = end;
    for (size_t at = end; at-- > 0;) {
        if (location.bytes[at] == ')') close = at;
        if (at > landmarks->first_break || !has_at(location, at, TEXT(IN_LIBRARY))) continue;
        bool has_line = has_at(location, close, TEXT(") (")) && landmarks->last_colon >= close + 3;
        if (has_line && landmarks->break_end <= close) return set_library(parts, location, at, close);
    }
    return false;
}

/* Parses "name (in library) + 12". */
static bool read_in_library_at_offset(struct text location, const struct landmarks *landmarks,
                                      struct location_parts *parts) {
    size_t digits = find_final_digits(location);
    struct text head = text_slice(location, 0, digits);
    if (digits == location.bytes_count || !text_ends_with(head, TEXT(") + "))) return false;
    return read_in_library(location, landmarks, digits - 3, parts);
}

/* Returns the last file of a chain. JavaScript files are sometimes chained with " -> ". */
static struct text last_of_chain(struct text file) {
    static const struct text arrow = TEXT(" -> ");
    for (size_t at = file.bytes_count; at-- > 0;)
        if (has_at(file, at, arrow)) return text_from(file, at + arrow.bytes_count);
    return file;
}

/* Sets file, line and column from "file:line[:column]". Two numbers are line and column only if a file is left before
 * them. */
static bool read_script_location(struct text text, struct location_parts *parts) {
    uint32_t last, before_last;
    if (!cut_final_number(&text, ':', &last) || !text.bytes_count) return false;
    parts->line = last;
    parts->column = 0;
    struct text shorter = text;
    if (cut_final_number(&shorter, ':', &before_last) && shorter.bytes_count) {
        parts->line = before_last;
        parts->column = last;
        text = shorter;
    }
    parts->container = last_of_chain(text);
    return true;
}

static bool cut_source_number(struct text *location, uint32_t *number) {
    if (!text_ends_with(*location, TEXT("]"))) return false;
    struct text head = text_slice(*location, 0, location->bytes_count - 1);
    if (!cut_final_number(&head, '[', number)) return false;
    *location = head;
    return true;
}

/* Parses "name (file:line:column" without the closing parenthesis. */
static bool read_named_script(struct text text, struct location_parts *parts) {
    struct text before_number = text;
    uint32_t number;
    if (!cut_final_number(&before_number, ':', &number)) return false;
    for (size_t at = before_number.bytes_count; at-- > 0;) {
        if (!has_at(text, at, TEXT(" (")) || at + 2 >= before_number.bytes_count) continue;
        parts->name = text_slice(text, 0, at);
        return read_script_location(text_from(text, at + 2), parts);
    }
    return false;
}

static bool read_script(struct text location, const struct landmarks *landmarks, struct location_parts *parts) {
    if (landmarks->break_end) return false;
    *parts = (struct location_parts){.kind = LOCATION_SCRIPT};
    parts->has_source = cut_source_number(&location, &parts->source);
    bool has_bracket = text_ends_with(location, TEXT(")"));
    if (has_bracket && !read_named_script(text_slice(location, 0, location.bytes_count - 1), parts)) return false;
    if (!has_bracket && !read_script_location(location, parts)) return false;
    /* The client makes up a name from the file. */
    if (!parts->name.bytes_count) parts->kind = LOCATION_MALFORMED;
    return true;
}

/* An address without libraries to look it up in is a label to the client. The client also treats other text after "0x"
 * as an address and fails to make a number of it. */
static struct location_parts read_address(struct text location) {
    struct location_parts parts = {.kind = location.bytes_count > 2 ? LOCATION_LABEL : LOCATION_MALFORMED,
                                   .name = location};
    for (size_t at = 2; at < location.bytes_count; at++)
        if (cursor_digit_value(location.bytes[at]) < 0) parts.kind = LOCATION_MALFORMED;
    return parts;
}

struct location_parts location_read(struct text location) {
    if (text_starts_with(location, TEXT("0x"))) return read_address(location);
    struct landmarks landmarks = find_landmarks(location);
    struct location_parts parts;
    if (read_in_library_at_offset(location, &landmarks, &parts)) return parts;
    if (read_in_library_at_line(location, &landmarks, &parts)) return parts;
    if (read_in_library(location, &landmarks, location.bytes_count, &parts)) return parts;
    if (read_script(location, &landmarks, &parts)) return parts;
    return (struct location_parts){.kind = LOCATION_LABEL, .name = location};
}

/* The location of a library function has one " (in " more than the function's name. */
uint8_t location_rank(struct text location) {
    unsigned rank = 0;
    for (size_t at = 0; at < location.bytes_count && rank < LOCATION_RANK_COUNT - 1; at++)
        if (has_at(location, at, TEXT(IN_LIBRARY))) rank++;
    return (uint8_t)rank;
}

/* ---- Writing. ---- */

/* One form of a location: before, name, what the kind adds after the name, after. */
struct form {
    struct text before;
    struct text after;
    bool adds_space;    /* to the name that the client reads */
    bool has_source;    /* the file is in the sources table; its name in the text is only shown */
    bool rewrites_file; /* the file's name is changed so that no part of it can be misread */
};

static const struct form label_forms[] = {
    {.adds_space = false},
    {.after = TEXT(" "), .adds_space = true},
    {.before = TEXT(" "), .adds_space = true},
    {.before = TEXT(" "), .after = TEXT(" "), .adds_space = true},
};

static const struct form library_forms[] = {
    {.after = TEXT(")")},
    {.after = TEXT(") + 0")},
    {.before = {THUNK_PREFIX, sizeof THUNK_PREFIX - 1}, .after = TEXT(")")},
    {.before = {THUNK_PREFIX, sizeof THUNK_PREFIX - 1}, .after = TEXT(") + 0")},
};

static const struct form script_forms[] = {
    {.after = TEXT(")")},
    {.after = TEXT(")"), .has_source = true},
    {.after = TEXT(")"), .has_source = true, .rewrites_file = true},
    {.before = TEXT(" "), .after = TEXT(")"), .adds_space = true},
    {.before = TEXT(" "), .after = TEXT(")"), .adds_space = true, .has_source = true},
    {.before = TEXT(" "), .after = TEXT(")"), .adds_space = true, .has_source = true, .rewrites_file = true},
};

/* The last form of each kind reads back correctly for any name. */
static const struct {
    const struct form *forms;
    size_t count;
} kinds[] = {
    [LOCATION_LABEL] = {label_forms, sizeof label_forms / sizeof *label_forms},
    [LOCATION_LIBRARY] = {library_forms, sizeof library_forms / sizeof *library_forms},
    [LOCATION_SCRIPT] = {script_forms, sizeof script_forms / sizeof *script_forms},
};

/* Most bytes that a form adds to name and container: fixed text, two numbers, the source's number. */
enum { FORM_BYTES_MAX = 80 };

static char *put(char *out, struct text text) {
    if (text.bytes_count) memcpy(out, text.bytes, text.bytes_count);
    return out + text.bytes_count;
}

static char *put_number(char *out, uint32_t number) {
    char digits[sizeof "4294967295"];
    return put(out, (struct text){digits, (size_t)snprintf(digits, sizeof digits, "%" PRIu32, number)});
}

static bool has_line_break(struct text text) {
    for (size_t at = 0; at < text.bytes_count; at++)
        if (line_break_bytes(text, at)) return true;
    return false;
}

/* Appends the text to *out with each line break replaced by a space. */
static struct text join_lines(char **out, struct text text) {
    char *start = *out;
    for (size_t at = 0; at < text.bytes_count;) {
        size_t break_bytes = line_break_bytes(text, at);
        *(*out)++ = break_bytes ? ' ' : text.bytes[at];
        at += break_bytes ? break_bytes : 1;
    }
    return (struct text){start, (size_t)(*out - start)};
}

static struct text replace_brackets(char **out, struct text text) {
    char *start = *out;
    for (size_t at = 0; at < text.bytes_count; at++) {
        char byte = text.bytes[at];
        *(*out)++ = byte == '(' ? '[' : byte == ')' ? ']' : byte;
    }
    return (struct text){start, (size_t)(*out - start)};
}

static bool can_be_library(struct text name) {
    if (text_find(name, ')') < name.bytes_count) return false;
    return location_rank(name) == 0 && !text_starts_with(name, TEXT("(in "));
}

/* Appends the file name without line breaks and parentheses. A space follows it, so that a number at its end is not
 * read as the line. */
static char *put_rewritten_file(char *out, struct text file) {
    char *start = out;
    struct text joined = join_lines(&out, file);
    out = start;
    replace_brackets(&out, joined);
    *out++ = ' ';
    return out;
}

static char *put_form(char *out, const struct form *form, const struct location_parts *parts) {
    out = put(put(out, form->before), parts->name);
    if (parts->kind == LOCATION_LIBRARY) out = put(put(out, TEXT(IN_LIBRARY)), parts->container);
    if (parts->kind == LOCATION_SCRIPT) {
        out = put(out, TEXT(" ("));
        out = form->rewrites_file ? put_rewritten_file(out, parts->container) : put(out, parts->container);
        out = put_number(put(out, TEXT(":")), parts->line);
        if (parts->column) out = put_number(put(out, TEXT(":")), parts->column);
    }
    return put(out, form->after);
}

/* Returns the name that the client should read. The spaces that a form adds become part of it. */
static struct text expected_name(const struct form *form, const struct location_parts *parts, struct text written) {
    if (!form->adds_space) return parts->name;
    if (parts->kind == LOCATION_LABEL) return written;
    return text_slice(written, 0, form->before.bytes_count + parts->name.bytes_count);
}

static bool reads_right(const struct form *form, const struct location_parts *parts, struct text written,
                        struct text text) {
    struct location_parts read = location_read(text);
    if (read.kind != parts->kind || read.has_source != form->has_source) return false;
    if (read.line != parts->line || read.column != parts->column) return false;
    if (!form->has_source && !text_equal(read.container, parts->container)) return false;
    return text_equal(read.name, expected_name(form, parts, written));
}

static struct location write_first_right(char *out, const struct location_parts *parts, unsigned changes) {
    struct location location = {0};
    for (size_t i = 0; i < kinds[parts->kind].count; i++) {
        const struct form *form = &kinds[parts->kind].forms[i];
        char *end = put_form(out, form, parts);
        struct text written = {out, (size_t)(end - out)};
        struct text text = written;
        if (form->has_source) text.bytes_count = (size_t)(put(end, TEXT("[0]")) - out);
        location = (struct location){written, form->has_source, changes};
        if (form->adds_space) location.changes |= 1u << LOCATION_SPACE_ADDED;
        if (reads_right(form, parts, written, text)) break;
    }
    return location;
}

struct location location_write(struct byte_buffer *buffer, const struct location_parts *parts) {
    struct location_parts wanted = *parts;
    size_t form_bytes = wanted.name.bytes_count + wanted.container.bytes_count + FORM_BYTES_MAX;
    if (!memory_reserve(buffer->failure, &buffer->bytes, &buffer->capacity_bytes, 2 * form_bytes, 1))
        return (struct location){0};
    char *out = buffer->bytes;
    unsigned changes = 0;
    if (wanted.kind != LOCATION_LABEL && has_line_break(wanted.name)) {
        wanted.name = join_lines(&out, wanted.name);
        changes |= 1u << LOCATION_LINES_JOINED;
    }
    if (wanted.kind == LOCATION_LIBRARY && !can_be_library(wanted.container)) {
        wanted.container = replace_brackets(&out, wanted.container);
        changes |= 1u << LOCATION_BRACKETS_REPLACED;
    }
    return write_first_right(out, &wanted, changes);
}
