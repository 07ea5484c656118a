#include "perf_tracing.h"

#include <arpa/inet.h>
#include <event-parse.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libconvert/base/cursor.h"
#include "libconvert/base/memory.h"
#include "perf_cursor.h"
#include "perf_print_rule.h"

/* Where the value of a layout's field comes from. */
struct value_source {
    const struct tep_format_field *field;
    struct perf_words *words; /* NULL: the value is what the payload has */
    bool is_text;
    bool is_ip;
    enum perf_function_form function; /* the value is what the kernel has at that address */
};

struct function_key {
    uint64_t address;
    uint64_t form; /* 64 bits: the key is hashed as bytes */
};

struct tracepoint_kind {
    struct tep_event *event;
    struct text rule;             /* how the kernel prints it; in the profile's memory */
    struct perf_layout *layout;   /* in the profile's memory; NULL until it is asked for */
    struct value_source *sources; /* in the profile's memory; one for each field of the layout */
    uint32_t lost_count;          /* number of fields that the layout has no place for */
};

void perf_tracing_init(struct perf_tracing *tracing, struct profile *profile) {
    *tracing = (struct perf_tracing){.profile = profile};
    value_table_init(&tracing->kinds, sizeof(uint64_t), sizeof(struct tracepoint_kind), profile->failure);
    perf_known_words_init(&tracing->known_words, profile->failure);
    value_table_init(&tracing->known_functions, sizeof(struct function_key), sizeof(string_id), profile->failure);
    value_table_init(&tracing->texts, sizeof(uint64_t), sizeof(struct text), profile->failure);
}

void perf_tracing_fini(struct perf_tracing *tracing) {
    tep_free(tracing->formats);
    value_table_fini(&tracing->kinds);
    value_table_fini(&tracing->known_words);
    value_table_fini(&tracing->known_functions);
    value_table_fini(&tracing->texts);
    memory_free(tracing->values);
}

/* ---- Formats. Layout: Linux tools/perf/util/trace-event-info.c. ---- */

static struct text take_sized(struct perf_cursor *cursor) { return perf_cursor_bytes(cursor, perf_cursor_u64(cursor)); }

/* ---- Checking formats. libtraceevent leaks memory if it parses a malformed one. ---- */

static bool take_digits(struct text *line) {
    enum { DIGITS_MAX = 6 };
    size_t count = cursor_count_digits(*line);
    *line = text_from(*line, count);
    return count > 0 && count <= DIGITS_MAX;
}

/* Takes a word. libtraceevent replaces the kernel's macros, such as LOCAL_PR_FMT, by their texts wherever it reads
 * them, and leaks memory if that is not in a print rule. */
static bool take_name(struct text *line) {
    struct text word = cursor_take_word(line);
    return word.bytes_count && !text_ends_with(word, TEXT("_PR_FMT"));
}

/* Takes a field's declaration, such as "__data_loc char[] name", "unsigned long args[6]" or "struct file * file":
 * words, stars and brackets. The last word is the name, after which a size may follow. */
static bool take_declaration(struct text *line) {
    size_t word_count = 0;
    bool has_size = false;
    while (line->bytes_count && line->bytes[0] != ';') {
        if (cursor_take(line, TEXT(" ")) || (word_count && cursor_take(line, TEXT("*")))) continue;
        if (word_count && cursor_take(line, TEXT("["))) {
            if (cursor_take(line, TEXT("]"))) continue;
            if (!take_name(line) || !cursor_take(line, TEXT("]"))) return false;
            has_size = true;
            continue;
        }
        if (has_size || !take_name(line)) return false;
        word_count++;
    }
    return word_count >= 2;
}

static bool is_field_line(struct text line) {
    bool has_place = cursor_take(&line, TEXT("\tfield:")) && take_declaration(&line) &&
                     cursor_take(&line, TEXT(";\toffset:")) && take_digits(&line) &&
                     cursor_take(&line, TEXT(";\tsize:")) && take_digits(&line) && cursor_take(&line, TEXT(";"));
    if (has_place && line.bytes_count)
        has_place = cursor_take(&line, TEXT("\tsigned:")) && take_digits(&line) && cursor_take(&line, TEXT(";"));
    return has_place && !line.bytes_count;
}

/* Returns whether a format has its lines in the required order: its name, its id, "format:", then fields and blank
 * lines. */
static bool is_well_formed(struct text format) {
    static const struct text heads[] = {TEXT("name: "), TEXT("ID: "), TEXT("format:")};
    for (size_t row = 0; format.bytes_count; row++) {
        size_t end = text_find(format, '\n');
        struct text line = text_slice(format, 0, end);
        format = text_from(format, end + 1);
        if (row < sizeof heads / sizeof *heads) {
            if (!cursor_take(&line, heads[row])) return false;
            if (row == 0 && !take_name(&line)) return false;
            if (row == 1 && !take_digits(&line)) return false;
            if (line.bytes_count) return false;
        } else if (line.bytes_count && !is_field_line(line)) {
            return false;
        }
    }
    return true;
}

/* ---- The section. ---- */

/* Adds what is known of a tracepoint. Of several with one id, the first applies. */
static void add_kind(struct perf_tracing *tracing, struct tep_event *event, struct text rule) {
    uint64_t id = (uint64_t)event->id;
    const struct tracepoint_kind kind = {.event = event, .rule = profile_text(tracing->profile, rule)};
    value_table_intern(&tracing->kinds, &id, &kind);
}

/* Adds the format. libtraceevent does not get its print rule, an expression in C's syntax. */
static void add_format(struct perf_tracing *tracing, struct text system, struct text format) {
    static const char no_rule[] = "\nprint fmt: \"\"\n";
    static const struct text rule_head = TEXT("\nprint fmt:");
    size_t bytes_count = text_find_part(format, rule_head);
    if (bytes_count == format.bytes_count || !is_well_formed(text_slice(format, 0, bytes_count + 1))) return;
    char *text = memory_allocate(tracing->profile->failure, bytes_count + sizeof no_rule + system.bytes_count + 1);
    if (!text) return;
    memcpy(text, format.bytes, bytes_count);
    memcpy(text + bytes_count, no_rule, sizeof no_rule);
    char *system_name = text + bytes_count + sizeof no_rule;
    text_copy(system, system_name, system.bytes_count + 1);
    struct tep_event *event = NULL;
    tep_parse_format(tracing->formats, &event, text, bytes_count + sizeof no_rule - 1, system_name);
    struct text rule_text = text_from(format, bytes_count + rule_head.bytes_count);
    if (event) add_kind(tracing, event, text_trim(text_slice(rule_text, 0, text_find(rule_text, '\n'))));
    memory_free(text);
}

/* Adds constant texts of the kernel, which tracepoints have by their addresses: lines of "0xffffffff8281a2a4 : "Start
 * context switch"". */
static void add_texts(struct perf_tracing *tracing, struct text section) {
    struct text lines = profile_text(tracing->profile, section);
    while (lines.bytes_count) {
        struct text line = text_trim(text_slice(lines, 0, text_find(lines, '\n')));
        uint64_t address;
        lines = text_from(lines, text_find(lines, '\n') + 1);
        if (!cursor_take(&line, TEXT("0x")) || !cursor_take_number(&line, 16, &address)) continue;
        if (!cursor_take(&line, TEXT(" : \"")) || !text_ends_with(line, TEXT("\""))) continue;
        line.bytes_count--;
        value_table_intern(&tracing->texts, &address, &line);
    }
}

bool perf_tracing_read(struct perf_tracing *tracing, struct text section) {
    enum { MAGIC_BYTES = 3 + sizeof "tracing" - 1 };
    struct perf_cursor cursor = perf_cursor_of(section);
    if (!tracing->formats) tracing->formats = tep_alloc();
    if (!tracing->formats) {
        failure_set_memory(tracing->profile->failure);
        return false;
    }
    tep_set_loglevel(TEP_LOG_NONE);
    perf_cursor_bytes(&cursor, MAGIC_BYTES);
    perf_cursor_take_name(&cursor);        /* version */
    perf_cursor_bytes(&cursor, 1 + 1 + 4); /* byte order, size of a long, size of a page */
    perf_cursor_take_name(&cursor);
    take_sized(&cursor); /* header_page */
    perf_cursor_take_name(&cursor);
    take_sized(&cursor); /* header_event */
    for (uint32_t left = perf_cursor_u32(&cursor); left && !cursor.is_bad; left--)
        add_format(tracing, TEXT("ftrace"), take_sized(&cursor));
    for (uint32_t systems = perf_cursor_u32(&cursor); systems && !cursor.is_bad; systems--) {
        struct text system = perf_cursor_take_name(&cursor);
        for (uint32_t left = perf_cursor_u32(&cursor); left && !cursor.is_bad; left--)
            add_format(tracing, system, take_sized(&cursor));
    }
    bool is_good = !cursor.is_bad;
    perf_cursor_bytes(&cursor, perf_cursor_u32(&cursor)); /* kallsyms, which perf leaves empty */
    add_texts(tracing, perf_cursor_bytes(&cursor, perf_cursor_u32(&cursor)));
    return is_good;
}

/* ---- Schemas. ---- */

/* libtraceevent takes arrays of all types of one byte for texts: u8 and unsigned char, too. */
static bool is_text(const struct tep_format_field *field) {
    bool is_char = strstr(field->type, "char") && !strstr(field->type, "unsigned");
    return field->flags & TEP_FIELD_IS_STRING && is_char;
}

/* The kernel's own encoding of the numbers of a device; programs have another one. */
static bool is_device(const struct tep_format_field *field) {
    return field->size == 4 && !(field->flags & TEP_FIELD_IS_ARRAY) && text_equal(text_of(field->type), TEXT("dev_t"));
}

static bool is_number(const struct tep_format_field *field) {
    return !is_device(field) && !(field->flags & (TEP_FIELD_IS_STRING | TEP_FIELD_IS_ARRAY | TEP_FIELD_IS_DYNAMIC)) &&
           (field->size == 1 || field->size == 2 || field->size == 4 || field->size == 8);
}

/* Signed numbers are none in hexadecimal, since they may be error codes. */
static enum marker_format format_of(const struct tep_format_field *field, struct text rule) {
    if (!is_number(field)) return MARKER_UNIQUE_STRING;
    if (field->flags & TEP_FIELD_IS_POINTER) return MARKER_HEXADECIMAL;
    enum marker_format format = perf_print_rule_format(rule, field->name);
    bool is_signed = field->flags & TEP_FIELD_IS_SIGNED;
    return format == MARKER_HEXADECIMAL && is_signed ? MARKER_INTEGER : format;
}

static void add_field(struct profile *profile, struct tracepoint_kind *kind, struct text key, enum marker_format format,
                      struct value_source source) {
    if (kind->layout->field_count == PERF_FIELDS_MAX || perf_layout_row(kind->layout, key) != ID_NONE) {
        kind->lost_count++;
        return;
    }
    kind->sources[kind->layout->field_count] = source;
    perf_layout_add(kind->layout, profile, key, format);
}

/* A number that stands for words is shown as them, or has a field of its own beside theirs. */
static void add_fields(struct perf_tracing *tracing, struct tracepoint_kind *kind,
                       const struct tep_format_field *field) {
    struct profile *profile = tracing->profile;
    struct text key = {0}, name = text_of(field->name);
    struct value_source source = {.field = field, .is_text = is_text(field)};
    source.is_ip = !is_number(field) && perf_print_rule_is_ip(kind->rule, field->name);
    struct perf_words *words = is_number(field) ? perf_words_create(profile, kind->rule, field->name, &key) : NULL;
    if (is_number(field)) source.function = perf_print_rule_function(kind->rule, field->name);
    bool is_found = source.function == FUNCTION_TEXT ? field->flags & TEP_FIELD_IS_POINTER : !!tracing->functions.find;
    if (!is_found) source.function = FUNCTION_NONE;
    enum marker_format format = source.function ? MARKER_UNIQUE_STRING : format_of(field, kind->rule);
    if (!words || key.bytes_count) add_field(profile, kind, name, format, source);
    if (!words) return;
    source.words = words;
    source.function = FUNCTION_NONE;
    if (text_equal(key, name)) key = profile_text_format(profile, "%.*s in words", TEXT_ARGS(name));
    add_field(profile, kind, key.bytes_count ? key : name, MARKER_UNIQUE_STRING, source);
}

static void make_layout(struct perf_tracing *tracing, struct tracepoint_kind *kind) {
    struct profile *profile = tracing->profile;
    struct text name = profile_text_format(profile, "%s:%s", kind->event->system, kind->event->name);
    kind->sources = profile_allocate(profile, PERF_FIELDS_MAX * sizeof *kind->sources);
    kind->layout = kind->sources ? perf_layout_create(profile, name, PERF_FIELDS_MAX) : NULL;
    const struct tep_format_field *field = kind->event->format.fields;
    for (; kind->layout && field; field = field->next) {
        if (text_equal(text_of(field->name), TEXT("__syscall_nr"))) continue; /* the event's name tells the call */
        if (kind->layout->field_count < PERF_FIELDS_MAX)
            add_fields(tracing, kind, field);
        else
            kind->lost_count++;
    }
}

/* Returns what is known about the tracepoint; NULL if nothing is. */
static struct tracepoint_kind *find_kind(const struct perf_tracing *tracing, uint64_t id) {
    return value_table_find(&tracing->kinds, &id);
}

struct perf_layout *perf_tracing_layout(struct perf_tracing *tracing, uint64_t id) {
    struct tracepoint_kind *kind = find_kind(tracing, id);
    if (kind && !kind->layout) make_layout(tracing, kind);
    return kind ? kind->layout : NULL;
}

bool perf_tracing_knows(struct perf_tracing *tracing, uint64_t id) { return find_kind(tracing, id); }

bool perf_tracing_find(struct perf_tracing *tracing, uint64_t id, const char *name, struct perf_tracing_place *place) {
    const struct tep_format_field *field = tep_find_field(find_kind(tracing, id)->event, name);
    if (!field || field->offset < 0 || field->size < 0) return false;
    *place = (struct perf_tracing_place){(uint32_t)field->offset, (uint32_t)field->size};
    return true;
}

/* ---- Values. ---- */

static uint64_t load_number(struct text bytes) {
    uint64_t value = 0;
    for (size_t i = bytes.bytes_count; i-- > 0;) value = value << 8 | (unsigned char)bytes.bytes[i];
    return value;
}

static union marker_value number_value(const struct tep_format_field *field, struct text bytes) {
    uint64_t value = load_number(bytes);
    unsigned unused_bits = 64 - 8 * (unsigned)bytes.bytes_count;
    if (field->flags & TEP_FIELD_IS_SIGNED) return marker_value_integer((int64_t)(value << unused_bits) >> unused_bits);
    /* An unsigned number that is too large is one that the kernel has made of a negative one: ULONG_MAX is -1. */
    return marker_value_integer((int64_t)value);
}

/* Sets *bytes to those at the offset, which are none if not all of them are in the payload. Returns false then. */
static bool take_bytes(struct text payload, size_t offset, size_t bytes_count, struct text *bytes) {
    bool is_inside = offset <= payload.bytes_count && bytes_count <= payload.bytes_count - offset;
    *bytes = is_inside ? text_slice(payload, offset, offset + bytes_count) : (struct text){0};
    return is_inside;
}

/* Finds a field's bytes. A dynamic field contains the offset and the size of its bytes in the payload. The offset of a
 * relative dynamic field counts from the field's end. Returns false, and no bytes, if they are not in the payload. */
static bool find_bytes(const struct tep_format_field *field, struct text payload, struct text *bytes) {
    size_t offset = (size_t)field->offset, size_bytes = (size_t)field->size;
    *bytes = (struct text){0};
    if (field->offset < 0 || field->size < 0 || !take_bytes(payload, offset, size_bytes, bytes)) return false;
    if (!(field->flags & TEP_FIELD_IS_DYNAMIC) || size_bytes != 4) return true;
    uint32_t place = perf_load_u32(bytes->bytes);
    size_t from = (place & 0xffff) + (field->flags & TEP_FIELD_IS_RELATIVE ? offset + size_bytes : 0);
    return take_bytes(payload, from, place >> 16, bytes);
}

/* Returns an array other than a text: the elements in hexadecimal, or the digits of its bytes. */
static union marker_value array_value(struct profile *profile, const struct tep_format_field *field,
                                      struct text bytes) {
    enum { SHOWN_BYTES_MAX = 64, DIGITS_MAX = 20 };
    char digits[SHOWN_BYTES_MAX * DIGITS_MAX] = "";
    size_t element_bytes = field->elementsize == 4 || field->elementsize == 8 ? (size_t)field->elementsize : 1;
    size_t used = 0;
    for (size_t i = 0; i + element_bytes <= bytes.bytes_count && i < SHOWN_BYTES_MAX; i += element_bytes) {
        uint64_t number = load_number(text_slice(bytes, i, i + element_bytes));
        const char *form = element_bytes == 1 ? "%02" PRIx64 : i ? ", %" PRIx64 : "%" PRIx64;
        used += (size_t)snprintf(digits + used, sizeof digits - used, form, number);
    }
    return (union marker_value){.string = profile_string(profile, (struct text){digits, used})};
}

/* Returns an IP address as programs write it. Any other number of bytes is none. */
static union marker_value ip_value(struct profile *profile, const struct tep_format_field *field, struct text bytes) {
    enum { IPV4_BYTES = 4, IPV6_BYTES = 16 };
    char address[INET6_ADDRSTRLEN];
    if (bytes.bytes_count != IPV4_BYTES && bytes.bytes_count != IPV6_BYTES) return array_value(profile, field, bytes);
    int family = bytes.bytes_count == IPV4_BYTES ? AF_INET : AF_INET6;
    const char *shown = inet_ntop(family, bytes.bytes, address, sizeof address);
    return (union marker_value){.string = profile_string(profile, text_of(shown))};
}

static union marker_value device_value(struct profile *profile, struct text bytes) {
    enum { MINOR_BITS = 20 };
    uint32_t device = perf_load_u32(bytes.bytes);
    return (union marker_value){.string = strings_intern_format(&profile->strings, "%" PRIu32 ",%" PRIu32,
                                                                device >> MINOR_BITS,
                                                                device & ((UINT32_C(1) << MINOR_BITS) - 1))};
}

/* Each address in a function makes another text of its name. The kernel has no longer names (KSYM_NAME_LEN). */
enum { FUNCTION_NAME_BYTES_MAX = 512 };

static string_id name_function(struct perf_tracing *tracing, const struct function_key *key) {
    struct strings *strings = &tracing->profile->strings;
    struct text name;
    uint64_t offset;
    const struct text *text = key->form == FUNCTION_TEXT ? value_table_find(&tracing->texts, &key->address) : NULL;
    if (text) return profile_string(tracing->profile, *text);
    if (key->form == FUNCTION_TEXT ||
        !tracing->functions.find(tracing->functions.context, key->address, &name, &offset))
        return strings_intern_format(strings, "0x%" PRIx64, key->address);
    name = text_slice(name, 0, FUNCTION_NAME_BYTES_MAX);
    if (key->form == FUNCTION_ALONE) return profile_string(tracing->profile, name);
    return strings_intern_format(strings, "%.*s+0x%" PRIx64, TEXT_ARGS(name), offset);
}

/* Returns the function or the text at the address, or the address in hexadecimal. */
static union marker_value function_value(struct perf_tracing *tracing, uint64_t address, enum perf_function_form form) {
    const struct function_key key = {address, form};
    string_id *known = value_table_intern(&tracing->known_functions, &key, &(string_id){ID_NONE});
    if (known && string_is_none(*known)) *known = name_function(tracing, &key);
    return (union marker_value){.string = known ? *known : string_none()};
}

static union marker_value value_of(struct perf_tracing *tracing, const struct value_source *source, struct text payload,
                                   uint64_t *lost_count) {
    struct profile *profile = tracing->profile;
    const struct tep_format_field *field = source->field;
    struct text bytes;
    if (!find_bytes(field, payload, &bytes)) ++*lost_count;
    if (!bytes.bytes_count)
        return marker_value_absent(is_number(field) && !source->words && !source->function ? VALUE_NUMBER
                                                                                           : VALUE_STRING);
    if (source->is_text)
        return (union marker_value){.string = profile_string(profile, text_slice(bytes, 0, text_find(bytes, '\0')))};
    if (source->is_ip) return ip_value(profile, field, bytes);
    if (source->words)
        return (union marker_value){.string = perf_words_of(source->words, &tracing->known_words, profile,
                                                            (uint64_t)number_value(field, bytes).number.mantissa)};
    if (source->function) return function_value(tracing, load_number(bytes), source->function);
    if (is_number(field)) return number_value(field, bytes);
    return is_device(field) ? device_value(profile, bytes) : array_value(profile, field, bytes);
}

struct perf_layout *perf_tracing_decode(struct perf_tracing *tracing, uint64_t id, struct text payload,
                                        const union marker_value **values, uint64_t *lost_count) {
    const struct perf_layout *layout = perf_tracing_layout(tracing, id);
    if (!layout) return NULL;
    const struct tracepoint_kind *kind = find_kind(tracing, id);
    if (!tracing->values)
        tracing->values = memory_allocate(tracing->profile->failure, PERF_FIELDS_MAX * sizeof *tracing->values);
    if (!tracing->values) return NULL;
    *lost_count = kind->lost_count;
    for (uint32_t i = 0; i < layout->field_count; i++)
        tracing->values[i] = value_of(tracing, &kind->sources[i], payload, lost_count);
    *values = tracing->values;
    return kind->layout;
}

union marker_value perf_tracing_value(struct perf_tracing *tracing, uint64_t id, struct text payload, uint32_t row) {
    uint64_t lost_count = 0;
    return value_of(tracing, &find_kind(tracing, id)->sources[row], payload, &lost_count);
}
