#include "scan.h"

/* Longest line that is not cut, with CR LF. */
enum { LINE_AND_END_BYTES_MAX = SCAN_LINE_BYTES_MAX + 2 };

void scan_init(struct scan *scan, struct input *input) {
    static const char nothing[] = "";
    *scan = (struct scan){.input = input,
                          .next = nothing,
                          .window_start = nothing,
                          .window_end = nothing,
                          .next_offset = input_offset(input)};
}

static size_t left_bytes(const struct scan *scan) { return (size_t)(scan->window_end - scan->next); }

/* Makes more bytes available after those that are left. Returns false if there are none. */
static bool widen(struct scan *scan) {
    size_t had_bytes = left_bytes(scan);
    /* Doubling makes the work linear in the length of a line. */
    size_t want_bytes = had_bytes ? had_bytes * 2 : 1;
    if (want_bytes > LINE_AND_END_BYTES_MAX && had_bytes < LINE_AND_END_BYTES_MAX) want_bytes = LINE_AND_END_BYTES_MAX;
    input_consume(scan->input, (size_t)(scan->next - scan->window_start));
    struct text window = input_peek(scan->input, want_bytes);
    scan->window_start = window.bytes;
    scan->next = window.bytes;
    scan->window_end = window.bytes + window.bytes_count;
    return window.bytes_count > had_bytes;
}

static void advance(struct scan *scan, size_t bytes_count) {
    scan->next += bytes_count;
    scan->next_offset += bytes_count;
}

/* Skips the rest of a cut line without buffering it. */
static void skip_cut_rest(struct scan *scan) {
    do {
        struct text left = {scan->next, left_bytes(scan)};
        size_t line_bytes = text_find(left, '\n');
        bool has_end = line_bytes < left.bytes_count;
        advance(scan, has_end ? line_bytes + 1 : line_bytes);
        scan->is_inside_cut = !has_end;
    } while (scan->is_inside_cut && widen(scan));
    scan->is_inside_cut = false;
}

static struct text cut(struct scan *scan, struct text line) {
    if (!scan->cut_line_count++) scan->first_cut = scan->position;
    return text_slice(line, 0, SCAN_LINE_BYTES_MAX);
}

static void begin_line(struct scan *scan) {
    scan->position.line++;
    scan->position.offset = scan->next_offset;
}

static bool next_line(struct scan *scan, struct text *line) {
    if (scan->is_inside_cut) skip_cut_rest(scan);
    size_t searched_bytes = 0;
    for (;;) {
        struct text left = {scan->next, left_bytes(scan)};
        struct text fresh = text_from(left, searched_bytes);
        size_t line_bytes = searched_bytes + text_find(fresh, '\n');
        if (line_bytes < left.bytes_count) {
            begin_line(scan);
            advance(scan, line_bytes + 1);
            if (line_bytes && left.bytes[line_bytes - 1] == '\r') line_bytes--;
            *line = text_slice(left, 0, line_bytes);
            if (line_bytes > SCAN_LINE_BYTES_MAX) *line = cut(scan, *line);
            return true;
        }
        if (left.bytes_count >= LINE_AND_END_BYTES_MAX) {
            begin_line(scan);
            *line = cut(scan, left);
            advance(scan, left.bytes_count);
            scan->is_inside_cut = true;
            return true;
        }
        searched_bytes = left.bytes_count;
        if (!widen(scan)) break;
    }
    struct text last = {scan->next, left_bytes(scan)};
    if (!last.bytes_count) return false;
    begin_line(scan);
    advance(scan, last.bytes_count);
    if (text_ends_with(last, TEXT("\r"))) last.bytes_count--;
    *line = last.bytes_count > SCAN_LINE_BYTES_MAX ? cut(scan, last) : last;
    return true;
}

bool scan_line(struct scan *scan, struct text *line) {
    if (!next_line(scan, line)) return false;
    if (scan->position.line == 1) *line = text_without_mark(*line);
    return true;
}
