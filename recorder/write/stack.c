#include "stack.h"

#include <string.h>

#include "definitions.h"
#include "recorder/state/leb128.h"
#include "recorder/state/recording_state.h"
#include "recorder/trace_format.h"

enum {
    FRAME_TEXT_BYTES_MAX = GREC_NAME_BYTES_MAX,
    FRAME_COUNT_BYTES = LEB128_PADDED_BYTES,
};

static uint32_t text_bytes(const char *text) { return text ? (uint32_t)strnlen(text, FRAME_TEXT_BYTES_MAX) : 0; }

/* Returns the most bytes that a frame can take: its kind, id, text and source. */
static uint32_t frame_bytes_max(const struct label_view *frame) {
    uint32_t bytes = 1 + LEB128_BYTES_MAX;
    if (frame->text || frame->file) bytes += LEB128_BYTES_MAX + text_bytes(frame->text);
    if (frame->file) bytes += 3 * LEB128_BYTES_MAX + text_bytes(frame->file);
    return bytes;
}

static void write_text(struct room *room, const char *text) {
    uint32_t bytes_count = text_bytes(text);
    if (bytes_count == FRAME_TEXT_BYTES_MAX && text[bytes_count]) recording_count_loss(LOSS_TEXT, 1);
    room->at = leb128_write_bytes(room->at, text ? text : "", bytes_count);
}

static void write_script(struct room *room, const struct label_view *frame) {
    *room->at++ = TRACE_FRAME_SCRIPT;
    room->at = leb128_write(room->at, frame->label ? definition_of_category(frame->label->category) : 0);
    write_text(room, frame->text);
    write_text(room, frame->file);
    room->at = leb128_write(room->at, frame->line);
    room->at = leb128_write(room->at, frame->column);
}

bool stack_write_frame(struct room *room, const struct label_view *frame) {
    if ((size_t)(room->end - room->at) < frame_bytes_max(frame)) return false;
    if (frame->file) {
        write_script(room, frame);
        return true;
    }
    *room->at++ = frame->text ? TRACE_FRAME_LABEL_TEXT : TRACE_FRAME_LABEL;
    room->at = leb128_write(room->at, definition_of_label(frame->label));
    if (frame->text) write_text(room, frame->text);
    return true;
}

void stack_write(struct room *room, const struct grec_label_stack *labels, struct stack_part part) {
    uint8_t places[GREC_LABEL_DEPTH_MAX];
    uint32_t count = labels_find(labels, part, NULL, places), written_count = 0;
    unsigned char *count_at = room->at;
    room->at += FRAME_COUNT_BYTES;
    for (; written_count < count; written_count++) {
        const struct label_view frame = labels_view(labels, places[written_count]);
        if (stack_write_frame(room, &frame)) continue;
        recording_count_loss(LOSS_TEXT, 1);
        break;
    }
    leb128_write_padded(count_at, written_count);
}
