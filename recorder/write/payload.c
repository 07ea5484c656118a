#include "payload.h"

#include <string.h>

#include "definitions.h"
#include "recorder/state/recording_state.h"
#include "writer.h"

_Static_assert((int)GREC_VALUE_NONE == (int)TRACE_WIRE_ABSENT && (int)GREC_VALUE_INTEGER == (int)TRACE_WIRE_INTEGER &&
                   (int)GREC_VALUE_UNSIGNED == (int)TRACE_WIRE_UNSIGNED &&
                   (int)GREC_VALUE_REAL == (int)TRACE_WIRE_REAL && (int)GREC_VALUE_TEXT == (int)TRACE_WIRE_TEXT &&
                   (int)GREC_VALUE_STRING == (int)TRACE_WIRE_STRING && (int)GREC_VALUE_TIME == (int)TRACE_WIRE_TIME &&
                   (int)GREC_VALUE_LIST == (int)TRACE_WIRE_TEXTS && (int)GREC_VALUE_TABLE == (int)TRACE_WIRE_TABLE,
               "a value's kind is its wire type");
_Static_assert((int)GREC_FORMAT_TABLE == (int)TRACE_FIELD_TABLE && (int)GREC_FORMAT_TIME == (int)TRACE_FIELD_TIME &&
                   (int)GREC_FORMAT_HEXADECIMAL == (int)TRACE_FIELD_HEXADECIMAL,
               "formats are the trace's");
_Static_assert((int)GREC_COLOR_DARKGREY == (int)TRACE_COLOR_DARKGREY &&
                   (int)GREC_GRAPH_YELLOW == (int)TRACE_GRAPH_YELLOW,
               "colours are the trace's");

enum { TAG_BYTES = 1 };

static uint32_t text_bytes_max(void) {
    uint32_t quarter = recording_pool.chunk_bytes / 4;
    return quarter < GREC_TEXT_BYTES_MAX ? quarter : GREC_TEXT_BYTES_MAX;
}

/* Returns the length of a text after cutting. */
static uint32_t text_bytes_of(const struct grec_value *value) {
    uint32_t bytes_max = text_bytes_max();
    if (!value->as.pointer) return 0;
    if (value->count != GREC_TEXT_TERMINATED) return value->count < bytes_max ? value->count : bytes_max;
    return (uint32_t)strnlen(value->as.pointer, bytes_max);
}

/* Lists and tables count with the maximum: they are rare, and are cut if they do not fit. */
static uint32_t bytes_max_of(const struct grec_value *value) {
    switch (value->kind) {
        case GREC_VALUE_TEXT: return TAG_BYTES + LEB128_BYTES_MAX + text_bytes_of(value);
        case GREC_VALUE_LIST:
        case GREC_VALUE_TABLE: return text_bytes_max();
        default: return TAG_BYTES + LEB128_BYTES_MAX;
    }
}

struct payload payload_measure(const struct grec_marker_type *type, const struct grec_value *values, size_t count) {
    size_t field_count = type && type->name && type->fields ? type->field_count : 0;
    if (field_count > GREC_FIELD_COUNT_MAX) field_count = GREC_FIELD_COUNT_MAX;
    struct payload payload = {.values = values};
    if (!values) count = 0;
    if (__builtin_expect(count > field_count, 0)) {
        recording_count_loss(LOSS_VALUE, count - field_count);
        count = field_count;
    }
    payload.count = (uint32_t)count;
    uint32_t room = recording_block_bytes_max() / 2;
    for (uint32_t i = 0; i < payload.count; i++) payload.bytes_max += bytes_max_of(&values[i]);
    if (payload.bytes_max > room) payload.bytes_max = room;
    return payload;
}

/* Returns the kind that is written: NULL pointers and unknown times are absent. */
static uint32_t written_kind(const struct grec_value *value) {
    bool points = value->kind >= GREC_VALUE_TEXT && value->kind != GREC_VALUE_TIME;
    if (value->kind > GREC_VALUE_TABLE || (points && !value->as.pointer)) return GREC_VALUE_NONE;
    if (value->kind == GREC_VALUE_TIME && !value->as.number) return GREC_VALUE_NONE;
    return value->kind;
}

bool payload_needs_tags(const struct payload *payload, const struct grec_marker_type *type) {
    for (uint32_t i = 0; i < payload->count; i++)
        if (written_kind(&payload->values[i]) != __atomic_load_n(&type->wires_[i], __ATOMIC_RELAXED)) return true;
    return false;
}

static size_t left(const struct room *room) { return (size_t)(room->end - room->at); }

/* Writes as much of the text as there is room for, after its length. */
static void write_text(struct room *room, const char *bytes, uint32_t bytes_count, bool is_cut) {
    if (left(room) < LEB128_PADDED_BYTES) return;
    size_t room_bytes = left(room) - LEB128_PADDED_BYTES;
    if (bytes_count > room_bytes) {
        bytes_count = (uint32_t)room_bytes;
        is_cut = true;
    }
    if (is_cut) recording_count_loss(LOSS_TEXT, 1);
    room->at = leb128_write_bytes(room->at, bytes, bytes_count);
}

static bool is_text_cut(const struct grec_value *value, uint32_t bytes_count) {
    if (value->count != GREC_TEXT_TERMINATED) return value->count > bytes_count;
    return bytes_count == text_bytes_max() && ((const char *)value->as.pointer)[bytes_count];
}

static void write_text_value(struct room *room, const struct grec_value *value) {
    uint32_t bytes_count = text_bytes_of(value);
    write_text(room, value->as.pointer, bytes_count, is_text_cut(value, bytes_count));
}

static void write_value(struct room *room, const struct grec_value *value, uint64_t now_ticks);

/* Writes a list or table, after the count of items that fit. */
static void write_list(struct room *room, const struct grec_value *list, uint64_t now_ticks) {
    const char *const *texts = list->kind == GREC_VALUE_LIST ? list->as.pointer : NULL;
    const struct grec_value *values = list->kind == GREC_VALUE_TABLE ? list->as.pointer : NULL;
    /* What an item takes at least, without the bytes of its text. */
    enum { ITEM_BYTES = TAG_BYTES + LEB128_BYTES_MAX };
    uint32_t written_count = 0;
    unsigned char *count_at = room->at;
    room->at += LEB128_PADDED_BYTES;
    for (; written_count < list->count && left(room) >= ITEM_BYTES; written_count++) {
        if (values) {
            write_value(room, &values[written_count], now_ticks);
            continue;
        }
        struct grec_value text = GREC_TEXT(texts[written_count]);
        write_text_value(room, &text);
    }
    if (written_count < list->count) recording_count_loss(LOSS_TEXT, 1);
    leb128_write_padded(count_at, written_count);
}

/* At least TAG_BYTES + LEB128_BYTES_MAX bytes must be left. */
static void write_untagged(struct room *room, const struct grec_value *value, uint32_t kind, uint64_t now_ticks) {
    switch (kind) {
        case GREC_VALUE_INTEGER:
        case GREC_VALUE_UNSIGNED:
        case GREC_VALUE_REAL: room->at = payload_write_number(room->at, value); return;
        case GREC_VALUE_TEXT: write_text_value(room, value); return;
        case GREC_VALUE_STRING:
            room->at = leb128_write(room->at, definition_of_string((struct grec_string *)(uintptr_t)value->as.pointer));
            return;
        case GREC_VALUE_TIME:
            room->at = leb128_write(room->at, leb128_zigzag((int64_t)(now_ticks - value->as.number)));
            return;
        case GREC_VALUE_LIST:
        case GREC_VALUE_TABLE: write_list(room, value, now_ticks); return;
        default: return;
    }
}

static void write_value(struct room *room, const struct grec_value *value, uint64_t now_ticks) {
    uint32_t kind = written_kind(value);
    if (kind == GREC_VALUE_LIST || kind == GREC_VALUE_TABLE) kind = GREC_VALUE_NONE;
    *room->at++ = (unsigned char)kind;
    write_untagged(room, value, kind, now_ticks);
}

void payload_write(struct room *room, const struct payload *payload, bool is_tagged, uint64_t now_ticks) {
    for (uint32_t i = 0; i < payload->count; i++) {
        uint32_t kind = written_kind(&payload->values[i]);
        if (left(room) < TAG_BYTES + LEB128_BYTES_MAX) {
            recording_count_loss(LOSS_TEXT, 1);
            return;
        }
        if (is_tagged) *room->at++ = (unsigned char)kind;
        write_untagged(room, &payload->values[i], kind, now_ticks);
    }
}
