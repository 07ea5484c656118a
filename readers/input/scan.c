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
__attribute__((noinline)) static void skip_cut_rest(struct scan *scan) {
    do {
        struct text left = {scan->next, left_bytes(scan)};
        size_t line_bytes = text_find(left, '\n');
        bool has_end = line_bytes < left.bytes_count;
        advance(scan, has_end ? line_bytes + 1 : line_bytes);
        scan->is_inside_cut = !has_end;
    } while (scan->is_inside_cut && widen(scan));
    scan->is_inside_cut = false;
}

__attribute__((noinline)) static struct text cut(struct scan *scan, struct text line) {
    if (!scan->cut_line_count++) scan->first_cut = scan->position;
    return text_slice(line, 0, SCAN_LINE_BYTES_MAX);
}

static void begin_line(struct scan *scan) {
    scan->position.line++;
    scan->position.offset = scan->next_offset;
}

/* Makes more bytes available up to the end of the line, which is not in those that are there. Returns NULL if it is the
 * last line, or too long. */
__attribute__((noinline)) static const char *widen_to_end(struct scan *scan) {
    const char *end = NULL;
    for (size_t had_bytes; !end && (had_bytes = left_bytes(scan)) < LINE_AND_END_BYTES_MAX && widen(scan);)
        end = memchr(scan->next + had_bytes, '\n', left_bytes(scan) - had_bytes);
    return end;
}

static bool next_line(struct scan *scan, struct text *line) {
    if (scan->is_inside_cut) skip_cut_rest(scan);
    const char *end = left_bytes(scan) ? memchr(scan->next, '\n', left_bytes(scan)) : NULL;
    if (!end) end = widen_to_end(scan);
    if (!left_bytes(scan)) return false;
    if (!end) scan->is_inside_cut = left_bytes(scan) >= LINE_AND_END_BYTES_MAX;
    *line = (struct text){scan->next, end ? (size_t)(end - scan->next) : left_bytes(scan)};
    begin_line(scan);
    advance(scan, line->bytes_count + (end != NULL));
    if (line->bytes_count && line->bytes[line->bytes_count - 1] == '\r') line->bytes_count--;
    if (line->bytes_count > SCAN_LINE_BYTES_MAX) *line = cut(scan, *line);
    return true;
}

bool scan_line(struct scan *scan, struct text *line) {
    if (!next_line(scan, line)) return false;
    if (scan->position.line == 1) *line = text_without_mark(*line);
    return true;
}
