#include "gecko_location.h"

#include "libconvert/cursor.h"
#include "libconvert/memory.h"

/* The client takes this off the names of library functions, and off no others. */
#define THUNK_PREFIX "non-virtual thunk to "

#define IN_LIBRARY " (in "

/* ---- Reading, as the client's regular expressions do, each in one pass. ---- */

/* Bytes of the line break at `at`, which a dot does not match: LF, CR, U+2028 or U+2029; 0 for anything else. */
static size_t line_break_bytes(struct text text, size_t at) {
    struct text rest = text_from(text, at);
    if (rest.bytes[0] == '\n' || rest.bytes[0] == '\r') return 1;
    return text_starts_with(rest, TEXT("\xe2\x80\xa8")) || text_starts_with(rest, TEXT("\xe2\x80\xa9")) ? 3 : 0;
}

static bool has_at(struct text text, size_t at, struct text part) {
    return at <= text.bytes_count && text_starts_with(text_from(text, at), part);
}

static bool is_hex_digit(char byte) {
    return cursor_is_digit(byte) || (byte >= 'a' && byte <= 'f') || (byte >= 'A' && byte <= 'F');
}

/* Where the digits start that the text ends with; its length when there are none. */
static size_t find_final_digits(struct text text) {
    size_t at = text.bytes_count;
    while (at && cursor_is_digit(text.bytes[at - 1])) at--;
    return at;
}

/* The number at the end of the text, cut off with the byte before it; false when there is none. A number that does
 * not fit becomes the largest. */
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

/* Positions of a location that its patterns are about; its length where there is none. */
struct landmarks {
    size_t first_break;
    size_t break_end; /* behind the last line break; 0 without one */
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

static bool set_library(struct code_place *place, struct text location, size_t name_end, size_t library_end) {
    struct text name = text_slice(location, 0, name_end);
    if (text_starts_with(name, TEXT(THUNK_PREFIX))) name = text_from(name, sizeof THUNK_PREFIX - 1);
    *place = (struct code_place){.kind = PLACE_LIBRARY, .name = name};
    place->container = text_slice(location, name_end + sizeof IN_LIBRARY - 1, library_end);
    return true;
}

/* name (in library), which ends at `end`, behind its bracket. */
static bool read_in_library(struct text location, const struct landmarks *landmarks, size_t end,
                            struct code_place *place) {
    if (!end || location.bytes[end - 1] != ')') return false;
    size_t last_close = text_find_last(text_slice(location, 0, end - 1), ')');
    bool has_close = last_close != end - 1;
    for (size_t at = end - 1; at-- > 0;) {
        if (has_close && at <= last_close) return false;
        if (at > landmarks->first_break || !has_at(location, at, TEXT(IN_LIBRARY))) continue;
        return set_library(place, location, at, end - 1);
    }
    return false;
}

/* name (in library) (file:line) */
static bool read_in_library_at_line(struct text location, const struct landmarks *landmarks, struct code_place *place) {
    size_t end = location.bytes_count;
    if (!end || location.bytes[end - 1] != ')' || landmarks->last_colon == end) return false;
    size_t close = end;
    for (size_t at = end; at-- > 0;) {
        if (location.bytes[at] == ')') close = at;
        if (at > landmarks->first_break || !has_at(location, at, TEXT(IN_LIBRARY))) continue;
        bool has_line = has_at(location, close, TEXT(") (")) && landmarks->last_colon >= close + 3;
        if (has_line && landmarks->break_end <= close) return set_library(place, location, at, close);
    }
    return false;
}

/* name (in library) + 12 */
static bool read_in_library_at_offset(struct text location, const struct landmarks *landmarks,
                                      struct code_place *place) {
    size_t digits = find_final_digits(location);
    struct text head = text_slice(location, 0, digits);
    if (digits == location.bytes_count || !text_ends_with(head, TEXT(") + "))) return false;
    return read_in_library(location, landmarks, digits - 3, place);
}

/* JavaScript files are sometimes chained: the last one is meant. */
static struct text last_of_chain(struct text file) {
    static const struct text arrow = TEXT(" -> ");
    for (size_t at = file.bytes_count; at-- > 0;)
        if (has_at(file, at, arrow)) return text_from(file, at + arrow.bytes_count);
    return file;
}

/* Sets file, line and column from file:line[:column]; of two numbers both count if a file is left before them. */
static bool read_script_place(struct text text, struct code_place *place) {
    uint32_t last, before_last;
    if (!cut_final_number(&text, ':', &last) || !text.bytes_count) return false;
    place->line = last;
    place->column = 0;
    struct text shorter = text;
    if (cut_final_number(&shorter, ':', &before_last) && shorter.bytes_count) {
        place->line = before_last;
        place->column = last;
        text = shorter;
    }
    place->container = last_of_chain(text);
    return true;
}

static bool cut_source_number(struct text *location) {
    if (!text_ends_with(*location, TEXT("]"))) return false;
    struct text head = text_slice(*location, 0, location->bytes_count - 1);
    uint32_t number;
    if (!cut_final_number(&head, '[', &number)) return false;
    *location = head;
    return true;
}

/* name (file:line:column), without the bracket at the end. */
static bool read_named_script(struct text text, struct code_place *place) {
    struct text before_number = text;
    uint32_t number;
    if (!cut_final_number(&before_number, ':', &number)) return false;
    for (size_t at = before_number.bytes_count; at-- > 0;) {
        if (!has_at(text, at, TEXT(" (")) || at + 2 >= before_number.bytes_count) continue;
        place->name = text_slice(text, 0, at);
        return read_script_place(text_from(text, at + 2), place);
    }
    return false;
}

static bool read_script(struct text location, const struct landmarks *landmarks, struct code_place *place) {
    if (landmarks->break_end) return false;
    *place = (struct code_place){.kind = PLACE_SCRIPT};
    place->has_source = cut_source_number(&location);
    bool has_bracket = text_ends_with(location, TEXT(")"));
    if (has_bracket && !read_named_script(text_slice(location, 0, location.bytes_count - 1), place)) return false;
    if (!has_bracket && !read_script_place(location, place)) return false;
    /* The client gives it a name made from the file. */
    if (!place->name.bytes_count) place->kind = PLACE_MALFORMED;
    return true;
}

/* Without libraries to look it up in, an address is a label to the client. So is any text that starts like one, but
 * that is an accident of the client's: it tries to make a number of it. */
static struct code_place read_address(struct text location) {
    struct code_place place = {.kind = location.bytes_count > 2 ? PLACE_LABEL : PLACE_MALFORMED, .name = location};
    for (size_t at = 2; at < location.bytes_count; at++)
        if (!is_hex_digit(location.bytes[at])) place.kind = PLACE_MALFORMED;
    return place;
}

struct code_place location_read(struct text location) {
    if (text_starts_with(location, TEXT("0x"))) return read_address(location);
    struct landmarks landmarks = find_landmarks(location);
    struct code_place place;
    if (read_in_library_at_offset(location, &landmarks, &place)) return place;
    if (read_in_library_at_line(location, &landmarks, &place)) return place;
    if (read_in_library(location, &landmarks, location.bytes_count, &place)) return place;
    if (read_script(location, &landmarks, &place)) return place;
    return (struct code_place){.kind = PLACE_LABEL, .name = location};
}

/* One more " (in " stands in a library function's location than in its name. */
uint8_t location_rank(struct text location) {
    unsigned rank = 0;
    for (size_t at = 0; at < location.bytes_count && rank < LOCATION_RANK_COUNT - 1; at++)
        if (has_at(location, at, TEXT(IN_LIBRARY))) rank++;
    return (uint8_t)rank;
}

/* ---- Writing. ---- */

/* One way to write a function: before, name, what its kind has behind the name, after. */
struct form {
    struct text before;
    struct text after;
    bool adds_space;   /* to the name that the client reads */
    bool has_source;   /* the file's name is in the sources table, and in the text for show */
    bool bends_script; /* the file is written so that nothing in it can be mistaken */
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
    {.after = TEXT(")"), .has_source = true, .bends_script = true},
    {.before = TEXT(" "), .after = TEXT(")"), .adds_space = true},
    {.before = TEXT(" "), .after = TEXT(")"), .adds_space = true, .has_source = true},
    {.before = TEXT(" "), .after = TEXT(")"), .adds_space = true, .has_source = true, .bends_script = true},
};

/* The last form of each kind reads right whatever the name. */
static const struct {
    const struct form *forms;
    size_t count;
} kinds[] = {
    [PLACE_LABEL] = {label_forms, sizeof label_forms / sizeof *label_forms},
    [PLACE_LIBRARY] = {library_forms, sizeof library_forms / sizeof *library_forms},
    [PLACE_SCRIPT] = {script_forms, sizeof script_forms / sizeof *script_forms},
};

/* The most that a form adds to name and container: the words around them, two numbers, the source's number. */
enum { FORM_BYTES_MAX = 80 };

void location_writer_init(struct location_writer *writer, struct failure *failure) {
    *writer = (struct location_writer){.failure = failure};
}

void location_writer_fini(struct location_writer *writer) {
    memory_free(writer->bytes);
    *writer = (struct location_writer){0};
}

static bool reserve(struct location_writer *writer, size_t bytes_count) {
    if (bytes_count <= writer->capacity_bytes) return true;
    char *bytes = memory_allocate(writer->failure, bytes_count);
    if (!bytes) return false;
    memory_free(writer->bytes);
    writer->bytes = bytes;
    writer->capacity_bytes = bytes_count;
    return true;
}

static char *put(char *out, struct text text) {
    if (text.bytes_count) memcpy(out, text.bytes, text.bytes_count);
    return out + text.bytes_count;
}

static char *put_number(char *out, uint32_t number) {
    char digits[10];
    size_t at = sizeof digits;
    do digits[--at] = (char)('0' + number % 10);
    while (number /= 10);
    return put(out, (struct text){digits + at, sizeof digits - at});
}

static bool has_line_break(struct text text) {
    for (size_t at = 0; at < text.bytes_count; at++)
        if (line_break_bytes(text, at)) return true;
    return false;
}

/* Copies to *out, with a space for each line break. */
static struct text join_lines(char **out, struct text text) {
    char *start = *out;
    for (size_t at = 0; at < text.bytes_count;) {
        size_t break_bytes = line_break_bytes(text, at);
        *(*out)++ = break_bytes ? ' ' : text.bytes[at];
        at += break_bytes ? break_bytes : 1;
    }
    return (struct text){start, (size_t)(*out - start)};
}

static struct text bend_brackets(char **out, struct text text) {
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

/* Without line breaks or brackets, and, lest a number at its end be taken for the line, with a space behind it. */
static char *put_bent_script(char *out, struct text file) {
    char *start = out;
    struct text joined = join_lines(&out, file);
    out = start;
    bend_brackets(&out, joined);
    *out++ = ' ';
    return out;
}

static char *put_form(char *out, const struct form *form, const struct code_place *place) {
    out = put(put(out, form->before), place->name);
    if (place->kind == PLACE_LIBRARY) out = put(put(out, TEXT(IN_LIBRARY)), place->container);
    if (place->kind == PLACE_SCRIPT) {
        out = put(out, TEXT(" ("));
        out = form->bends_script ? put_bent_script(out, place->container) : put(out, place->container);
        out = put_number(put(out, TEXT(":")), place->line);
        if (place->column) out = put_number(put(out, TEXT(":")), place->column);
    }
    return put(out, form->after);
}

/* The name that the client is to read: with a form's spaces it is part of the text. */
static struct text expected_name(const struct form *form, const struct code_place *place, struct text written) {
    if (!form->adds_space) return place->name;
    if (place->kind == PLACE_LABEL) return written;
    return text_slice(written, 0, form->before.bytes_count + place->name.bytes_count);
}

static bool reads_right(const struct form *form, const struct code_place *place, struct text written,
                        struct text text) {
    struct code_place read = location_read(text);
    if (read.kind != place->kind || read.has_source != form->has_source) return false;
    if (read.line != place->line || read.column != place->column) return false;
    if (!form->has_source && !text_equal(read.container, place->container)) return false;
    return text_equal(read.name, expected_name(form, place, written));
}

static struct location write_first_right(char *out, const struct code_place *place, unsigned changes) {
    struct location location = {0};
    for (size_t i = 0; i < kinds[place->kind].count; i++) {
        const struct form *form = &kinds[place->kind].forms[i];
        char *end = put_form(out, form, place);
        struct text written = {out, (size_t)(end - out)};
        struct text text = written;
        if (form->has_source) text.bytes_count = (size_t)(put(end, TEXT("[0]")) - out);
        location = (struct location){written, form->has_source, changes};
        if (form->adds_space) location.changes |= 1u << LOCATION_SPACE_ADDED;
        if (reads_right(form, place, written, text)) break;
    }
    return location;
}

struct location location_write(struct location_writer *writer, const struct code_place *place) {
    struct code_place wanted = *place;
    size_t form_bytes = wanted.name.bytes_count + wanted.container.bytes_count + FORM_BYTES_MAX;
    if (!reserve(writer, 2 * form_bytes)) return (struct location){0};
    char *out = writer->bytes;
    unsigned changes = 0;
    if (wanted.kind != PLACE_LABEL && has_line_break(wanted.name)) {
        wanted.name = join_lines(&out, wanted.name);
        changes |= 1u << LOCATION_LINES_JOINED;
    }
    if (wanted.kind == PLACE_LIBRARY && !can_be_library(wanted.container)) {
        wanted.container = bend_brackets(&out, wanted.container);
        changes |= 1u << LOCATION_BRACKETS_BENT;
    }
    return write_first_right(out, &wanted, changes);
}
