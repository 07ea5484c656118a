#include "script_fields.h"

#include "libconvert/base/cursor.h"
#include "readers/perf/perf_roles.h"
#include "script_frame_line.h"

/* A word of a text, with what is around it. */
struct word {
    struct text text;
    struct text after; /* from the word's end on */
    size_t gap_bytes;  /* number of spaces before it; SIZE_MAX for the first word */
};

/* Takes the next word off the start of *text. Returns false at the end. */
static bool take_word(struct text *text, struct word *word, bool is_first) {
    size_t gap_bytes = 0;
    while (gap_bytes < text->bytes_count && text->bytes[gap_bytes] == ' ') gap_bytes++;
    word->gap_bytes = is_first ? SIZE_MAX : gap_bytes;
    word->text = cursor_take_token(text);
    word->after = *text;
    return word->text.bytes_count > 0;
}

static bool is_hex(struct text text) {
    uint64_t number;
    return cursor_parse_number(text, 16, &number);
}

/* Recognises an address or another number. perf pads them to 16 columns, and words of other fields, symbols too, follow
 * a single space. */
static bool is_number(const struct word *word) {
    enum { PADDING_BYTES_MIN = 2, DIGITS_MAX = 16 };
    bool is_padded = word->gap_bytes >= PADDING_BYTES_MIN || word->text.bytes_count >= DIGITS_MAX;
    return is_padded && is_hex(word->text);
}

/* ---- Fields after a frame. ---- */

/* Recognises "FROM/TO/P/-/-/1": a branch, its prediction, and whether it began or aborted a transaction. */
static bool is_branch(struct text word) {
    for (size_t i = 1; i + 6 < word.bytes_count; i++) {
        const char *part = word.bytes + i;
        if (part[0] != '/' || !memchr("PMN-", part[1], 4)) continue;
        if (part[2] == 'N') part++;
        if (part[2] == '/' && part[4] == '/' && memchr("X-", part[3], 2) && memchr("A-", part[5], 2)) return true;
    }
    return false;
}

/* Recognises "SP:0x7fff30d09168". */
static bool is_register(struct text word) {
    enum { NAME_BYTES_MAX = 8 };
    size_t colon = text_find(word, ':');
    return colon > 0 && colon <= NAME_BYTES_MAX && text_starts_with(text_from(word, colon), TEXT(":0x"));
}

/* Recognises "4K", "1G" or "N/A". */
static bool is_page_size(struct text word) {
    if (text_equal(word, TEXT("N/A"))) return true;
    uint64_t number;
    return cursor_take_number(&word, 10, &number) && word.bytes_count == 1 && memchr("BKMG", word.bytes[0], 4);
}

/* Recognises the sizes of the pages of the data and of the code. */
static bool are_page_sizes(struct text text) {
    if (!is_page_size(cursor_take_token(&text))) return false;
    struct text second = cursor_take_token(&text);
    return !second.bytes_count || (is_page_size(second) && !cursor_take_token(&text).bytes_count);
}

/* Returns the kind of field that begins with the word; SCRIPT_FIELD_NONE if none of those that follow a frame does. */
static enum script_field field_of(const struct word *word) {
    static const struct {
        struct text start;
        enum script_field field;
    } labels[] = {
        {TEXT("=>"), SCRIPT_FIELD_TARGET},         {TEXT("ABI:"), SCRIPT_FIELD_REGISTERS},
        {TEXT("insn:"), SCRIPT_FIELD_INSTRUCTION}, {TEXT("ilen:"), SCRIPT_FIELD_INSTRUCTION},
        {TEXT("IPC:"), SCRIPT_FIELD_CYCLES},
    };
    for (size_t i = 0; i < sizeof labels / sizeof *labels; i++)
        if (text_starts_with(word->text, labels[i].start)) return labels[i].field;
    if (is_register(word->text)) return SCRIPT_FIELD_REGISTERS;
    if (is_branch(word->text)) return SCRIPT_FIELD_BRANCHES;
    struct text sizes = {word->text.bytes, word->text.bytes_count + word->after.bytes_count};
    return are_page_sizes(sizes) ? SCRIPT_FIELD_DATA : SCRIPT_FIELD_NONE;
}

static bool begins_field(const struct word *word) { return field_of(word) != SCRIPT_FIELD_NONE; }

bool script_fields_are(struct text line) {
    struct word word, second;
    if (!take_word(&line, &word, true)) return false;
    if (begins_field(&word)) return true;
    return is_number(&word) && (!take_word(&line, &second, false) || begins_field(&second));
}

uint32_t script_fields_kinds(struct text text) {
    struct word word;
    enum script_field kind = SCRIPT_FIELD_OTHER;
    uint32_t kinds = 0;
    for (bool is_first = true; take_word(&text, &word, is_first); is_first = false) {
        enum script_field field = field_of(&word);
        bool is_target = kind == SCRIPT_FIELD_TARGET; /* its address, symbol and library follow */
        if (field != SCRIPT_FIELD_NONE)
            kind = field;
        else if (!is_target && (is_number(&word) || word.text.bytes[0] == '|'))
            kind = SCRIPT_FIELD_DATA;
        else if (!is_target && word.text.bytes[0] == '/')
            kind = SCRIPT_FIELD_OTHER;
        kinds |= UINT32_C(1) << kind;
    }
    return kinds;
}

struct text script_fields_cut(struct text text) {
    struct text left = text;
    struct word word;
    for (bool is_first = true; take_word(&left, &word, is_first); is_first = false)
        if (!is_first && (begins_field(&word) || is_number(&word)))
            return text_trim_end(text_slice(text, 0, (size_t)(word.text.bytes - text.bytes)));
    return text;
}

/* ---- The frame. ---- */

/* Returns the length of the group in parentheses at the start of the text if a blank or the end follows it, otherwise
 * 0. Also returns 0 once *budget_bytes, which counts the bytes that were looked at, is used up. */
static size_t group_bytes(struct text text, size_t *budget_bytes) {
    size_t depth = 0;
    if (!text.bytes_count || text.bytes[0] != '(') return 0;
    for (size_t i = 0; i < text.bytes_count && *budget_bytes; i++, --*budget_bytes) {
        depth += text.bytes[i] == '(';
        if (text.bytes[i] != ')' || --depth > 0) continue;
        return i + 1 == text.bytes_count || text_is_blank_byte(text.bytes[i + 1]) ? i + 1 : 0;
    }
    return 0;
}

/* Returns the frame at the start of the text: it ends with its library. If no library is printed, it ends where another
 * field begins. A group among template arguments is a type, not a library: "run<int (int) const>". */
static struct text frame_at_start(struct text text) {
    enum { LOOKS_PER_BYTE = 64 }; /* a hostile line must not take time quadratic in its length */
    size_t budget_bytes = LOOKS_PER_BYTE * text.bytes_count, seen_bytes = 0;
    int64_t open_count = 0; /* template arguments that are open after seen_bytes */
    struct text left = text;
    struct word word;
    for (bool is_first = true; take_word(&left, &word, is_first); is_first = false) {
        size_t start = (size_t)(word.text.bytes - text.bytes);
        size_t bytes_count = group_bytes(text_from(text, start), &budget_bytes);
        if (!bytes_count) continue;
        for (; seen_bytes < start; seen_bytes++)
            open_count += (text.bytes[seen_bytes] == '<') - (text.bytes[seen_bytes] == '>');
        if (open_count <= 0) return text_slice(text, 0, start + bytes_count);
    }
    return script_fields_cut(text);
}

/* Recognises an address in text whose padding is lost: it follows another number, and a symbol follows it. */
static bool is_unpadded_address(const struct word *word) {
    enum { DIGITS_MIN = 4 };
    struct word next;
    struct text left = word->after;
    if (word->text.bytes_count < DIGITS_MIN || !is_hex(word->text) || !take_word(&left, &next, false)) return false;
    return next.text.bytes[0] != '(' && !is_number(&next) && !begins_field(&next);
}

enum numbers { NUMBERS_ALONE, NUMBERS_OF_FRAME, NUMBERS_OF_DATA };

/* Takes the other numbers of a run that begins with *word. The last one is the address, and is *word then, if a symbol
 * or a library follows it. If nothing does, perf has printed the address in 17 columns, and other numbers in 16;
 * without such columns *word stays. A data source follows its number. */
static enum numbers take_numbers(struct text *left, struct word *word) {
    enum { ADDRESS_COLUMNS = 17 };
    struct word last = *word, next;
    struct text after = *left;
    bool has_address = false, is_start = word->gap_bytes == SIZE_MAX;
    while (take_word(&after, &next, false) && (is_number(&next) || (is_start && is_unpadded_address(&next)))) {
        if (!has_address && next.gap_bytes + next.text.bytes_count == ADDRESS_COLUMNS) {
            has_address = true;
            *word = next;
        }
        last = next;
        *left = after;
    }
    if (!next.text.bytes_count || begins_field(&next)) return NUMBERS_ALONE;
    if (next.text.bytes[0] == '|') return NUMBERS_OF_DATA;
    *word = last;
    return NUMBERS_OF_FRAME;
}

/* An address of data can have a symbol and a library, too, like a frame. So the last candidate is the frame if only
 * numbers, a data source and a control group separate it from the one before. */
struct text script_fields_frame(struct text rest) {
    enum { CANDIDATES_MAX = 8 }; /* perf prints at most two */
    struct text frame = {0}, left = rest;
    struct word word;
    unsigned candidate_count = 0;
    bool has_symbol = false, follows_path = false;
    for (bool is_first = true; take_word(&left, &word, is_first) && !begins_field(&word); is_first = false) {
        bool is_address = is_number(&word) || (follows_path && is_hex(word.text));
        follows_path = word.text.bytes[0] == '/';
        if (has_symbol && !is_address && !follows_path) break;
        if (!is_address) continue;
        enum numbers numbers = take_numbers(&left, &word);
        struct text start = text_from(rest, (size_t)(word.text.bytes - rest.bytes));
        has_symbol = numbers == NUMBERS_OF_FRAME;
        if (numbers == NUMBERS_ALONE && !frame.bytes_count) frame = word.text;
        if (!has_symbol) continue;
        if (candidate_count++ == CANDIDATES_MAX) break;
        frame = frame_at_start(start);
        left = text_from(start, frame.bytes_count);
    }
    return frame;
}

/* Returns whether a frame ends there, with its library or an offset. */
static bool ends_frame(struct text text) {
    text = text_trim_end(text);
    struct text offset = text_from(text, text_find_last(text, '+') + 1);
    uint64_t number;
    return text_ends_with(text, TEXT(")")) ||
           (cursor_take(&offset, TEXT("0x")) && cursor_parse_number(offset, 16, &number));
}

struct text script_fields_cut_frame(struct text payload) {
    enum { CANDIDATES_MAX = 64 }; /* payloads have few addresses that are padded like a frame's */
    struct text left = payload;
    struct perf_frame_line frame;
    struct word word;
    unsigned candidate_count = 0;
    if (!ends_frame(payload)) return payload;
    for (bool is_first = true; take_word(&left, &word, is_first); is_first = false) {
        size_t start = (size_t)(word.text.bytes - payload.bytes);
        if (!is_number(&word)) continue;
        if (candidate_count++ == CANDIDATES_MAX) break;
        if (!script_frame_line_parse(text_from(payload, start), &frame)) continue;
        if (frame.has_offset || text_ends_with(payload, TEXT(")"))) return text_trim_end(text_slice(payload, 0, start));
    }
    return payload;
}

/* ---- Addresses of data. ---- */

bool script_fields_take_address(struct text *text, uint64_t *address, bool *has_name) {
    struct text left = *text, word = cursor_take_token(&left);
    if (!cursor_parse_number(word, 16, address) || text_starts_with(text_trim_start(left), TEXT("|"))) return false;
    struct text taken = text_trim_end(frame_at_start(*text));
    *has_name = taken.bytes_count > word.bytes_count;
    *text = text_trim_start(text_from(*text, taken.bytes_count));
    return true;
}

/* An address that takes all of its columns looks like a word of the payload. */
bool script_fields_cut_address(struct text *payload, uint64_t *address) {
    enum { COLUMNS = 16 };
    if (payload->bytes_count < COLUMNS) return false;
    struct text column = text_from(*payload, payload->bytes_count - COLUMNS);
    struct text word = text_trim_start(column);
    if (!text_starts_with(column, TEXT("  ")) || !cursor_parse_number(word, 16, address)) return false;
    *payload = text_trim_end(text_slice(*payload, 0, payload->bytes_count - COLUMNS));
    return true;
}

/* ---- Tracepoints. ---- */

bool script_fields_are_payload(struct text event, bool has_period, struct text rest) {
    struct text left = rest, first = cursor_take_token(&left);
    /* System calls without arguments print nothing, so the frame of a recording without -g may be all that follows. */
    if (text_starts_with(event, TEXT("syscalls:sys_enter_"))) return true;
    if (is_hex(first) && script_frame_line_is_bare(script_fields_frame(rest))) return false;
    if (perf_role_is_tracepoint(event)) return rest.bytes_count || !has_period;
    /* perf makes these of a processor's trace: "cbr:  cbr: 41 freq: 4100 MHz (114%)". */
    static const struct text of_traces[] = {TEXT("cbr"),  TEXT("psb"),     TEXT("mwait"), TEXT("pwre"), TEXT("exstop"),
                                            TEXT("pwrx"), TEXT("ptwrite"), TEXT("evt"),   TEXT("iflag")};
    if (!has_period && rest.bytes_count && TEXT_IS_IN(event, of_traces)) return true;
    /* An old kernel's: "kfree: call_site=ffffffff81092295 ptr=(nil)". */
    bool is_bare_name =
        event.bytes_count && text_find(event, ':') == event.bytes_count && text_find(event, '/') == event.bytes_count;
    return is_bare_name && !has_period && text_find(rest, '=') < rest.bytes_count && !is_hex(first) &&
           first.bytes[0] != '/' && !text_equal(first, TEXT("=>"));
}
