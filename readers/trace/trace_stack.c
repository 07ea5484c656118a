/* Stacks of recorder traces. Converts labels, script frames and addresses to frames of the profile. */
#include "trace_reader_internal.h"

/* Returns "label text", or the one that is not empty. Gecko composes names in the same way. */
static struct text compose_name(struct trace_reader *trace, struct text label, struct text text) {
    if (!text.bytes_count) return label;
    if (!label.bytes_count) return text;
    trace->scratch.bytes_count = 0;
    bool is_good = byte_buffer_append(&trace->scratch, label) && byte_buffer_append(&trace->scratch, TEXT(" ")) &&
                   byte_buffer_append(&trace->scratch, text);
    return is_good ? byte_buffer_text(&trace->scratch) : (struct text){0};
}

static frame_id add_frame(struct profile *profile, const struct func *func, struct category_pair category,
                          uint32_t line, uint32_t column) {
    struct frame frame = frame_of_func(profile_func(profile, func), category);
    frame.line = line;
    frame.column = column;
    return profile_frame(profile, &frame);
}

/* Returns a frame for a label that is not defined. */
static frame_id unknown_frame(struct trace_reader *trace, struct text text) {
    struct profile *profile = trace->profile;
    struct text name = compose_name(trace, TEXT("(unknown label)"), text);
    return profile_named_frame(profile, name, (struct category_pair){0});
}

static frame_id note_label(struct trace_reader *trace, frame_id frame) {
    trace_code_note_label(&trace->code, frame);
    return frame;
}

static frame_id read_label(struct trace_reader *trace, struct trace_cursor *cursor, bool has_text, bool *is_open) {
    struct profile *profile = trace->profile;
    const struct trace_label *label = trace_definitions_label(&trace->definitions, trace_cursor_leb(cursor), is_open);
    struct text text = has_text ? trace_cursor_text(cursor) : (struct text){0};
    if (cursor->is_bad || *is_open) return frame_none();
    if (!label) {
        trace_ledger_defer(&trace->ledger, TRACE_LOST_LABEL);
        return note_label(trace, unknown_frame(trace, text));
    }
    if (!text.bytes_count) return note_label(trace, label->frame);
    struct func func = {.name = profile_string(profile, compose_name(trace, label->name, text)),
                        .resource = resource_none(),
                        .source = label->source,
                        .line = label->line};
    return note_label(trace, add_frame(profile, &func, label->category, 0, 0));
}

static frame_id read_script(struct trace_reader *trace, struct trace_cursor *cursor, bool *is_open) {
    struct profile *profile = trace->profile;
    uint64_t category_id = trace_cursor_leb(cursor);
    struct text function = trace_cursor_text(cursor), file = trace_cursor_text(cursor);
    uint64_t line = trace_cursor_leb(cursor), column = trace_cursor_leb(cursor);
    if (cursor->is_bad) return frame_none();
    struct category_pair category = trace_definitions_category(&trace->definitions, category_id, is_open);
    if (*is_open) return frame_none();
    struct func func = {.name = profile_string(profile, function),
                        .resource = resource_none(),
                        .source = file.bytes_count ? profile_source(profile, file) : source_none(),
                        .flags = FUNC_IS_JS};
    uint32_t known_line = line > INT32_MAX ? 0 : (uint32_t)line;
    uint32_t known_column = column > INT32_MAX || !known_line ? 0 : (uint32_t)column;
    return note_label(trace, add_frame(profile, &func, category, known_line, known_column));
}

/* A stack that is being read. */
struct reading {
    struct trace_reader *trace;
    const struct trace_chunk_context *context;
    struct trace_cursor *cursor;
    int64_t ticks;
    bool *is_open;
    struct trace_frames frames;
    uint64_t count; /* number of frames in the stack */
};

/* Reads a run of addresses. Each is the difference from the previous one, modulo 2^64. */
static void read_addresses(struct reading *reading, bool are_returns) {
    struct trace_cursor *cursor = reading->cursor;
    struct trace_frames *frames = &reading->frames;
    uint64_t count = trace_cursor_bounded(cursor, reading->count - frames->count);
    if (!count) trace_cursor_spoil(cursor);
    for (; count && !cursor->is_bad && !*reading->is_open; count--) {
        frames->address += (uint64_t)trace_cursor_zigzag(cursor);
        struct trace_address address = {reading->context->process, reading->context->mappings_id, frames->address,
                                        are_returns};
        if (cursor->is_bad) return;
        reading->trace->frames[frames->count++] =
            trace_code_frame(&reading->trace->code, &address, reading->ticks, reading->is_open);
    }
}

/* Reads frames of one kind. Returns false if their kind is unknown, or if they are addresses and an earlier unknown
 * kind may have changed the running address. */
static bool read_frames(struct reading *reading) {
    struct trace_reader *trace = reading->trace;
    struct trace_frames *frames = &reading->frames;
    uint8_t kind = trace_cursor_byte(reading->cursor);
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
        default: frames->is_address_lost = true; return false;
    }
}

struct trace_frames trace_stack_read_frames(struct trace_reader *trace, const struct trace_chunk_context *context,
                                            int64_t ticks, struct trace_cursor *cursor, bool *is_open) {
    struct reading reading = {
        .trace = trace,
        .context = context,
        .cursor = cursor,
        .ticks = ticks,
        .is_open = is_open,
        .frames = {.address = context->address, .is_address_lost = context->is_address_lost},
        .count = trace_cursor_leb(cursor),
    };
    struct trace_frames *frames = &reading.frames;
    if (cursor->is_bad || !reading.count) return *frames;
    /* Each frame takes at least one byte. */
    if (reading.count > trace_cursor_left(cursor)) {
        trace_cursor_spoil(cursor);
        return *frames;
    }
    if (!memory_reserve(trace->profile->failure, &trace->frames, &trace->frame_capacity, (size_t)reading.count,
                        sizeof *trace->frames))
        return *frames;
    while (frames->count < reading.count && !cursor->is_bad && !*is_open) {
        if (read_frames(&reading)) continue;
        trace_ledger_defer(&trace->ledger, TRACE_LOST_STACK);
        frames->is_lost = true;
        frames->count = 0;
        return *frames;
    }
    return *frames;
}

stack_id trace_stack_read(struct trace_reader *trace, struct trace_chunk_context *context, int64_t ticks,
                          struct trace_cursor *cursor, bool *is_open) {
    struct trace_frames frames = trace_stack_read_frames(trace, context, ticks, cursor, is_open);
    if (cursor->is_bad || *is_open) return stack_none();
    trace_stack_pass(context, &frames);
    if (frames.count > 1) trace->profile->meta.has_stacks = true;
    trace_code_inherit(&trace->code, NULL, 0, trace->frames, frames.count);
    return profile_stack_of(trace->profile, trace->frames, frames.count);
}
