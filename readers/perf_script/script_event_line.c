#include "script_event_line.h"

#include "libconvert/base/cursor.h"
#include "libconvert/base/index_set.h"
#include "readers/perf/perf_record.h"
#include "readers/perf/perf_roles.h"

static bool is_end_or_blank(struct text text, size_t at) {
    return at >= text.bytes_count || text_is_blank_byte(text.bytes[at]);
}

/* Removes the last token of *text and returns it. */
static struct text take_last_token(struct text *text) {
    *text = text_trim_end(*text);
    size_t start = text->bytes_count;
    while (start > 0 && !text_is_blank_byte(text->bytes[start - 1])) start--;
    struct text token = text_from(*text, start);
    text->bytes_count = start;
    return token;
}

/* Parses "123/456" or "456". */
static bool parse_pid_tid(struct text token, struct script_event_line *out) {
    size_t slash = text_find(token, '/');
    if (slash == token.bytes_count) {
        out->pid = PID_UNKNOWN;
        return cursor_parse_id(token, &out->tid);
    }
    return cursor_parse_id(text_slice(token, 0, slash), &out->pid) &&
           cursor_parse_id(text_from(token, slash + 1), &out->tid);
}

/* Parses "[003]". perf prints "[-01]" when the record has no processor number; that becomes -1. */
static bool parse_cpu(struct text token, int32_t *out) {
    int64_t cpu;
    if (token.bytes_count < 3 || token.bytes_count > 9 || token.bytes[0] != '[' || !text_ends_with(token, TEXT("]")))
        return false;
    if (!cursor_parse_id(text_slice(token, 1, token.bytes_count - 1), &cpu) || cpu < -1) return false;
    *out = (int32_t)cpu;
    return true;
}

/* Parses the number of the processor as perf script -L prints it, without brackets, and takes it off *start: it has
 * four columns where a tid has at least six, and ids precede it. */
static bool parse_latency_cpu(struct text *start, struct text token, int32_t *out) {
    enum { COLUMNS = 4, TID_COLUMNS = 5 };
    struct script_event_line ids;
    int64_t cpu;
    struct text left = text_trim_end(*start);
    size_t columns = start->bytes_count - left.bytes_count + token.bytes_count;
    struct text task = take_last_token(&left);
    if (!cursor_parse_id(token, &cpu) || cpu < 0 || !parse_pid_tid(task, &ids) || !text_trim(left).bytes_count)
        return false;
    /* "100/100  " is padded on its right. */
    size_t slash = text_find(task, '/'), tid_columns = task.bytes_count - slash;
    size_t padding = slash < task.bytes_count && tid_columns <= TID_COLUMNS ? TID_COLUMNS + 1 - tid_columns : 0;
    if (columns != COLUMNS + padding) return false;
    *out = (int32_t)cpu;
    return true;
}

/* Recognises the flags of -F misc: letters such as U, K, H, G, M, E, S, Sp. */
static bool is_misc(struct text token) {
    if (!token.bytes_count || token.bytes_count > 6) return false;
    for (size_t i = 0; i < token.bytes_count; i++) {
        char byte = token.bytes[i];
        if (!((byte >= 'A' && byte <= 'Z') || byte == 'p')) return false;
    }
    return token.bytes[0] != 'p';
}

/* Recognises the time of day that -F tod prints, "10:00:00.123456", or "disabled". A date may precede the time. */
static bool is_time_of_day(struct text token) {
    if (text_equal(token, TEXT("disabled"))) return true;
    return token.bytes_count >= 8 && cursor_is_digit(token.bytes[0]) && token.bytes[2] == ':' && token.bytes[5] == ':';
}

static bool is_date(struct text token) {
    return token.bytes_count == 10 && cursor_is_digit(token.bytes[0]) && token.bytes[4] == '-' && token.bytes[7] == '-';
}

/* Takes a label and the number after it, as in "VCPU:001" or "VM: 5000", off the start of *text. */
static bool take_labelled(struct text *text, struct text label, uint64_t *number) {
    if (!text_starts_with(*text, label)) return false;
    struct text left = text_from(*text, label.bytes_count);
    if (!cursor_parse_number(cursor_take_token(&left), 10, number)) return false;
    *text = text_trim_start(left);
    return true;
}

/* Takes the fields of -F machine_pid,vcpu, "VM: 5000 VCPU:001 ", off the start of the comm. */
static struct text take_machine(struct text comm, struct script_event_line *out) {
    uint64_t number;
    if (take_labelled(&comm, TEXT("VM:"), &number) && number <= UINT32_MAX) out->machine = (uint32_t)number;
    if (take_labelled(&comm, TEXT("VCPU:"), &number)) out->has_skipped_field = true;
    return comm;
}

/* A comm in the kernel has at most 15 bytes. For kernel workers, /proc shows up to 63. */
enum { COMM_BYTES_MAX = 64 };

/* Parses what precedes the time: comm, ids and optional fields. */
static bool parse_start(struct text start, struct script_event_line *out) {
    struct text token = take_last_token(&start);
    out->has_skipped_field = is_time_of_day(token);
    if (is_time_of_day(token)) {
        token = take_last_token(&start);
        if (is_date(token)) token = take_last_token(&start);
    }
    if (is_misc(token)) {
        out->has_skipped_field = true;
        token = take_last_token(&start);
    }
    out->cpu = -1;
    if (parse_cpu(token, &out->cpu) || parse_latency_cpu(&start, token, &out->cpu)) token = take_last_token(&start);
    if (!parse_pid_tid(token, out)) return false;
    out->machine = 0;
    out->comm = take_machine(text_trim(start), out);
    return out->comm.bytes_count <= COMM_BYTES_MAX;
}

static bool is_event_token(struct text token) {
    return token.bytes_count > 1 && token.bytes[token.bytes_count - 1] == ':';
}

/* Parses an optional period and the event, a token that ends with a colon. out->rest becomes what follows them. */
static bool parse_event(struct text rest, struct script_event_line *out) {
    struct text left = rest, token = cursor_take_token(&left);
    struct text behind_period = left;
    struct text second = cursor_take_token(&behind_period);
    out->has_period = false;
    if (is_event_token(second) && cursor_parse_number(token, 10, &out->period)) {
        out->has_period = true;
        token = second;
        left = behind_period;
    }
    if (is_event_token(token)) {
        out->event = text_slice(token, 0, token.bytes_count - 1);
        out->rest = text_trim(left);
        return true;
    }
    out->event = (struct text){0};
    out->rest = text_trim(rest);
    return false;
}

enum { SECONDS_DIGITS_MAX = 11, NS_DIGITS = 9 };

/* perf gives sums of waits, which are of no moment, such times so that they come last. `rest` follows the time. */
static bool is_time_of_sum(int64_t seconds, struct text rest) {
    static const int64_t FIRST_SECONDS = 18446744069;
    struct script_event_line line;
    return seconds >= FIRST_SECONDS && parse_event(rest, &line) && perf_role_is_off_cpu_time(line.event);
}

/* Parses the time that ends at `colon`: a blank, digits, a point, digits. Sets *start to its first digit. The time is
 * TIME_NONE if it is that of a sum of waits. */
static bool parse_time_before(struct text line, size_t colon, size_t *start, int64_t *time_ns) {
    size_t point = colon;
    while (point > 0 && cursor_is_digit(line.bytes[point - 1])) point--;
    size_t fraction_digits = colon - point;
    if (!fraction_digits || fraction_digits > NS_DIGITS || !point || line.bytes[point - 1] != '.') return false;
    size_t first = --point;
    while (first > 0 && cursor_is_digit(line.bytes[first - 1])) first--;
    if (first == point || point - first > SECONDS_DIGITS_MAX || first == 0 ||
        !text_is_blank_byte(line.bytes[first - 1]))
        return false;
    int64_t seconds = 0, fraction = 0;
    for (size_t i = first; i < point; i++) seconds = seconds * 10 + (line.bytes[i] - '0');
    for (size_t i = 0; i < NS_DIGITS; i++)
        fraction = fraction * 10 + (i < fraction_digits ? line.bytes[point + 1 + i] - '0' : 0);
    static const int64_t NS_PER_SECOND = 1000000000;
    *start = first;
    bool is_late = seconds >= PERF_TIME_MAX_NS / NS_PER_SECOND;
    if (is_late && !is_time_of_sum(seconds, text_from(line, colon + 1))) return false;
    *time_ns = is_late ? TIME_NONE : seconds * NS_PER_SECOND + fraction;
    return true;
}

/* Ids and time are expected within this many bytes of a line, which bounds the search for them. The fields before them,
 * at their widest, take less. */
enum { EVENT_START_BYTES_MAX = 256 };

/* Finds the first time that has ids before it. Sets *rest to what follows its colon. */
static bool parse_with_time(struct text line, struct script_event_line *out, struct text *rest) {
    for (size_t colon = text_find(line, ':'); colon < line.bytes_count && colon < EVENT_START_BYTES_MAX;) {
        size_t start;
        if (is_end_or_blank(line, colon + 1) && parse_time_before(line, colon, &start, &out->time_ns) &&
            parse_start(text_slice(line, 0, start), out)) {
            out->has_time = true;
            *rest = text_from(line, colon + 1);
            return true;
        }
        colon += 1 + text_find(text_from(line, colon + 1), ':');
    }
    return false;
}

/* Some lines that are not samples have such a text in place of the event. */
static bool is_named_record(struct text rest) {
    return text_starts_with(rest, TEXT("PERF_RECORD_")) || text_starts_with(rest, TEXT("DEFERRED CALLCHAIN "));
}

/* Recognises a time, "7782.043107:". A line that has one but could not be parsed lacks something else. */
static bool is_time(struct text token) {
    return token.bytes_count > 3 && cursor_is_digit(token.bytes[0]) && text_ends_with(token, TEXT(":")) &&
           text_find(token, '.') < token.bytes_count;
}

/* Parses a line without a time: the first ids that have a comm before them and an event or a record after them. */
static bool parse_without_time(struct text line, struct script_event_line *out) {
    struct text left = line;
    for (struct text token = cursor_take_token(&left); token.bytes_count; token = cursor_take_token(&left)) {
        size_t start = (size_t)(token.bytes - line.bytes);
        if (start == 0) continue;
        if (start > EVENT_START_BYTES_MAX || is_time(token)) break;
        struct script_event_line ids;
        if (!parse_pid_tid(token, &ids)) continue;
        struct text rest = left;
        int32_t cpu;
        for (struct text next = rest, field = cursor_take_token(&next);
             parse_cpu(field, &cpu) || is_misc(field) || is_date(field) || is_time_of_day(field);
             field = cursor_take_token(&next))
            rest = next;
        if (!parse_event(rest, out) && !is_named_record(out->rest)) continue;
        /* No event name begins with a digit, so this is a time that could not be parsed. */
        if (out->event.bytes_count && cursor_is_digit(out->event.bytes[0])) continue;
        out->has_time = false;
        out->time_ns = 0;
        return parse_start(text_slice(line, 0, (size_t)(rest.bytes - line.bytes)), out);
    }
    return false;
}

bool script_event_line_parse(struct text line, struct script_event_line *out) {
    struct text rest;
    line = text_trim(line);
    if (!parse_with_time(line, out, &rest)) return parse_without_time(line, out);
    parse_event(rest, out);
    return true;
}

/* ---- Again. ---- */

static bool part_is(const struct script_event_part *part, struct text text) {
    return part->bytes_count && text_equal((struct text){part->bytes, part->bytes_count}, text);
}

/* Returns the same place in `into` as `text` has in the part. */
static struct text moved(const struct script_event_part *part, struct text text, struct text into) {
    return text.bytes_count ? (struct text){into.bytes + (text.bytes - part->bytes), text.bytes_count} : text;
}

/* Copies the text into the part and returns the copy; an empty text if the part is too small. */
static struct text fill_part(struct script_event_part *part, struct text text) {
    part->bytes_count = 0;
    if (!text.bytes_count || text.bytes_count > sizeof part->bytes) return (struct text){0};
    memcpy(part->bytes, text.bytes, text.bytes_count);
    return (struct text){part->bytes, text.bytes_count};
}

/* Parses what precedes the time into the start's fields of *out. */
static bool parse_start_again(struct script_event_memo *memo, struct text start, struct script_event_line *out) {
    enum { START_COUNT = sizeof memo->starts / sizeof *memo->starts };
    struct script_event_part *part = &memo->starts[index_set_hash(start.bytes, start.bytes_count) % START_COUNT];
    if (!part_is(part, start)) {
        struct text copy = fill_part(part, start);
        if (!copy.bytes_count) return parse_start(start, out);
        if (!parse_start(copy, &part->line)) return false;
        part->bytes_count = (uint32_t)copy.bytes_count;
    }
    *out = part->line;
    out->comm = moved(part, part->line.comm, start);
    return true;
}

/* Parses what follows the time into the fields of *out for the period, the event and the rest. */
static void parse_event_again(struct script_event_memo *memo, struct text rest, struct script_event_line *out) {
    struct script_event_part *part = &memo->rest;
    if (!part_is(part, rest)) {
        struct text copy = fill_part(part, rest);
        if (!copy.bytes_count) {
            parse_event(rest, out);
            return;
        }
        parse_event(copy, &part->line);
        part->bytes_count = (uint32_t)copy.bytes_count;
    }
    out->has_period = part->line.has_period;
    out->period = part->line.period;
    out->event = moved(part, part->line.event, rest);
    out->rest = moved(part, part->line.rest, rest);
}

bool script_event_line_parse_again(struct script_event_memo *memo, struct text line, struct script_event_line *out) {
    size_t start, colon = text_find(line, ':');
    int64_t time_ns;
    /* Any other line, such as one with a colon in its comm, is parsed from the start. */
    bool has_time = colon < line.bytes_count && colon < EVENT_START_BYTES_MAX && is_end_or_blank(line, colon + 1) &&
                    parse_time_before(line, colon, &start, &time_ns);
    if (!has_time || !parse_start_again(memo, text_slice(line, 0, start), out))
        return script_event_line_parse(line, out);
    out->has_time = true;
    out->time_ns = time_ns;
    parse_event_again(memo, text_from(line, colon + 1), out);
    return true;
}
