/* Stacks of a native trace: labels and frames of scripts in, frames of the profile out. */
#include "libconvert/memory.h"
#include "native_trace_internal.h"

/* Composed names need bytes side by side. NULL when memory ran out (latched). */
static char *reserve_scratch(struct native_trace *trace, size_t bytes_count) {
    if (bytes_count <= trace->scratch_bytes) return trace->scratch;
    char *scratch = memory_resize(trace->profile->failure, trace->scratch, bytes_count);
    if (!scratch) return NULL;
    trace->scratch = scratch;
    trace->scratch_bytes = bytes_count;
    return scratch;
}

/* "label text", or either one alone: as Gecko composes them. */
static struct text compose_name(struct native_trace *trace, struct text label, struct text text) {
    if (!text.bytes_count) return label;
    if (!label.bytes_count) return text;
    char *name = reserve_scratch(trace, label.bytes_count + 1 + text.bytes_count);
    if (!name) return (struct text){0};
    memcpy(name, label.bytes, label.bytes_count);
    name[label.bytes_count] = ' ';
    memcpy(name + label.bytes_count + 1, text.bytes, text.bytes_count);
    return (struct text){name, label.bytes_count + 1 + text.bytes_count};
}

static frame_id add_frame(struct profile *profile, const struct func *func, struct category_pair category,
                          uint32_t line, uint32_t column) {
    struct frame frame = {.func = profile_func(profile, func),
                          .address = ADDRESS_NONE,
                          .lib = lib_none(),
                          .native_symbol = native_symbol_none(),
                          .line = line,
                          .column = column,
                          .category = category.category,
                          .subcategory = category.subcategory};
    return profile_frame(profile, &frame);
}

/* A frame whose label is not known still is a frame. */
static frame_id unknown_frame(struct native_trace *trace, struct text text) {
    struct profile *profile = trace->profile;
    struct text name = compose_name(trace, TEXT("(unknown label)"), text);
    struct func func = {.name = profile_string(profile, name), .resource = resource_none(), .source = source_none()};
    return add_frame(profile, &func, (struct category_pair){0, 0}, 0, 0);
}

static frame_id read_label(struct native_trace *trace, struct native_cursor *cursor, bool has_text, bool *is_open) {
    struct profile *profile = trace->profile;
    const struct native_label *label =
        native_definitions_label(&trace->definitions, native_cursor_leb(cursor), is_open);
    struct text text = has_text ? native_cursor_text(cursor) : (struct text){0};
    if (cursor->is_bad || *is_open) return frame_none();
    if (!label) {
        native_ledger_defer(&trace->ledger, NATIVE_LOST_LABEL);
        return unknown_frame(trace, text);
    }
    if (!text.bytes_count) return label->frame;
    struct func func = {.name = profile_string(profile, compose_name(trace, label->name, text)),
                        .resource = resource_none(),
                        .source = label->source,
                        .line = label->line};
    return add_frame(profile, &func, label->category, 0, 0);
}

static frame_id read_script(struct native_trace *trace, struct native_cursor *cursor, bool *is_open) {
    struct profile *profile = trace->profile;
    uint64_t category_id = native_cursor_leb(cursor);
    struct text function = native_cursor_text(cursor), file = native_cursor_text(cursor);
    uint64_t line = native_cursor_leb(cursor), column = native_cursor_leb(cursor);
    if (cursor->is_bad) return frame_none();
    struct category_pair category = native_definitions_category(&trace->definitions, category_id, is_open);
    if (*is_open) return frame_none();
    struct func func = {.name = profile_string(profile, function),
                        .resource = resource_none(),
                        .source = file.bytes_count ? profile_source(profile, file) : source_none(),
                        .flags = FUNC_IS_JS};
    uint32_t known_line = line > INT32_MAX ? 0 : (uint32_t)line;
    uint32_t known_column = column > INT32_MAX || !known_line ? 0 : (uint32_t)column;
    return add_frame(profile, &func, category, known_line, known_column);
}

/* Room for so many frames, side by side; false when memory ran out (latched). */
static bool reserve_frames(struct native_trace *trace, size_t count) {
    if (count <= trace->frame_capacity) return true;
    size_t capacity = count < 64 ? 64 : count;
    frame_id *frames = memory_resize(trace->profile->failure, trace->frames, capacity * sizeof *frames);
    if (!frames) return false;
    trace->frames = frames;
    trace->frame_capacity = capacity;
    return true;
}

/* A stack on its way. */
struct reading {
    struct native_trace *trace;
    const struct native_place *place;
    struct native_cursor *cursor;
    int64_t ticks;
    bool *is_open;
    struct native_frames frames;
    uint64_t count; /* of all frames */
};

/* A run of addresses, each counted from the one before, modulo 2^64. */
static void read_addresses(struct reading *reading, bool are_returns) {
    struct native_cursor *cursor = reading->cursor;
    struct native_frames *frames = &reading->frames;
    uint64_t count = native_cursor_bounded(cursor, reading->count - frames->count);
    if (!count) native_cursor_spoil(cursor);
    for (; count && !cursor->is_bad && !*reading->is_open; count--) {
        frames->address += (uint64_t)native_cursor_zigzag(cursor);
        struct native_address address = {reading->place->process, reading->place->mappings_id, frames->address,
                                         are_returns};
        if (cursor->is_bad) return;
        reading->trace->frames[frames->count++] =
            native_code_frame(&reading->trace->code, &address, reading->ticks, reading->is_open);
    }
}

/* False where there is no telling: behind a frame of an unknown kind, and at addresses behind such a one. */
static bool read_frames(struct reading *reading) {
    struct native_trace *trace = reading->trace;
    struct native_frames *frames = &reading->frames;
    uint8_t kind = native_cursor_byte(reading->cursor);
    switch (kind) {
        case TRACE_FRAME_LABEL:
        case TRACE_FRAME_LABEL_TEXT:
            trace->frames[frames->count++] =
                read_label(trace, reading->cursor, kind == TRACE_FRAME_LABEL_TEXT, reading->is_open);
            return true;
        case TRACE_FRAME_SCRIPT:
            trace->frames[frames->count++] = read_script(trace, reading->cursor, reading->is_open);
            return true;
        case TRACE_FRAME_RETURNS:
        case TRACE_FRAME_EXACT:
            if (frames->is_address_lost) return false;
            read_addresses(reading, kind == TRACE_FRAME_RETURNS);
            return true;
        default:
            frames->is_address_lost = true;
            return false;
    }
}

struct native_frames native_stack_read_frames(struct native_trace *trace, const struct native_place *place,
                                              int64_t ticks, struct native_cursor *cursor, bool *is_open) {
    struct reading reading = {
        .trace = trace,
        .place = place,
        .cursor = cursor,
        .ticks = ticks,
        .is_open = is_open,
        .frames = {.address = place->address, .is_address_lost = place->is_address_lost},
        .count = native_cursor_leb(cursor),
    };
    struct native_frames *frames = &reading.frames;
    if (cursor->is_bad || !reading.count) return *frames;
    /* A frame takes a byte at least. */
    if (reading.count > native_cursor_left(cursor)) {
        native_cursor_spoil(cursor);
        return *frames;
    }
    if (!reserve_frames(trace, (size_t)reading.count)) return *frames;
    while (frames->count < reading.count && !cursor->is_bad && !*is_open) {
        if (read_frames(&reading)) continue;
        native_ledger_defer(&trace->ledger, NATIVE_LOST_STACK);
        frames->is_lost = true;
        frames->count = 0;
        return *frames;
    }
    return *frames;
}

stack_id native_stack_read(struct native_trace *trace, struct native_place *place, int64_t ticks,
                           struct native_cursor *cursor, bool *is_open) {
    struct native_frames frames = native_stack_read_frames(trace, place, ticks, cursor, is_open);
    if (cursor->is_bad || *is_open) return stack_none();
    native_stack_pass(place, &frames);
    if (frames.count > 1) trace->profile->meta.has_stacks = true;
    return stack_path_add(&place->thread->path, trace->profile, trace->frames, frames.count);
}
