#include "script_wrap.h"

#include "script_event_line.h"
#include "script_frame_line.h"

size_t script_wrap_width(struct text line) {
    enum { TAB_COLUMNS = 8 };
    size_t width = 0;
    for (size_t i = 0; i < line.bytes_count; i++) {
        bool is_first_byte = ((unsigned char)line.bytes[i] & 0xc0) != 0x80;
        width += line.bytes[i] == '\t' ? TAB_COLUMNS - width % TAB_COLUMNS : is_first_byte;
    }
    return width;
}

/* perf ends each frame with its library, in parentheses. */
static bool is_open(struct text line) { return !text_ends_with(text_trim_end(line), TEXT(")")); }

static bool is_open_frame(struct text line) {
    struct perf_frame_line frame;
    return line.bytes_count && text_is_blank_byte(line.bytes[0]) && is_open(line) &&
           script_frame_line_parse(line, &frame) && frame.has_address;
}

/* perf indents its frames. */
bool script_wrap_is_rest(struct text line) {
    struct perf_frame_line frame;
    struct script_event_line event;
    struct perf_source_line source;
    if (!text_trim(line).bytes_count || line.bytes[0] == '#') return false;
    bool is_frame = text_is_blank_byte(line.bytes[0]) && script_frame_line_parse(line, &frame);
    return !is_frame && !script_source_line_parse(line, &source) && !script_event_line_parse(line, &event);
}

bool script_wrap_is_broken(struct text line, bool is_rest) { return is_rest ? is_open(line) : is_open_frame(line); }

/* If any frame has neither a library nor a rest, the text has no libraries. A terminal does not copy a blank at the end
 * of a line. */
size_t script_wrap_columns(struct text start) {
    size_t width_max = 0, broken_width_min = SIZE_MAX, width = 0;
    bool is_broken = false, has_libraries = true;
    for (size_t end; has_libraries && (end = text_find(start, '\n')) < start.bytes_count;
         start = text_from(start, end + 1)) {
        struct text line = text_slice(start, 0, end);
        if (text_ends_with(line, TEXT("\r"))) line.bytes_count--;
        bool continues = is_broken && script_wrap_is_rest(line);
        if (continues && width < broken_width_min) broken_width_min = width;
        has_libraries = continues || !is_broken;
        is_broken = script_wrap_is_broken(line, continues);
        width = script_wrap_width(line);
        if (width > width_max) width_max = width;
    }
    if (!has_libraries || broken_width_min == SIZE_MAX) return 0;
    return broken_width_min + 1 >= width_max ? width_max : SIZE_MAX;
}
