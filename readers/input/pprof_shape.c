#include "pprof_shape.h"

#include <stdint.h>

/* https://github.com/google/pprof/blob/main/proto/profile.proto */
enum { FIELD_SAMPLE_TYPE = 1, FIELD_PERIOD_TYPE = 11, FIELD_MAX = 15, WIRE_VARINT = 0, WIRE_BYTES = 2, FIELDS_MIN = 3 };

/* The fields that are messages, texts or packed numbers; the others are numbers. */
static bool is_message(uint64_t field) { return field <= 6 || field == 11; }

static bool take_varint(struct text *text, uint64_t *out) {
    enum { BITS = 7, BYTES_MAX = 10 };
    *out = 0;
    for (unsigned i = 0; i < BYTES_MAX && i < text->bytes_count; i++) {
        unsigned char byte = (unsigned char)text->bytes[i];
        *out |= (uint64_t)(byte & 0x7f) << (BITS * i);
        if (byte & 0x80) continue;
        *text = text_from(*text, i + 1);
        return true;
    }
    return false;
}

/* Returns whether a message holds only numbers in its fields 1 and 2, as the types of values do. */
static bool is_value_type(struct text message) {
    uint64_t key, value;
    while (message.bytes_count) {
        if (!take_varint(&message, &key) || (key != (1 << 3 | WIRE_VARINT) && key != (2 << 3 | WIRE_VARINT)))
            return false;
        if (!take_varint(&message, &value)) return false;
    }
    return true;
}

bool pprof_shape_is_quipper(struct text start) {
    static const char keys[] = {1 << 3 | WIRE_BYTES, 1 << 3 | WIRE_BYTES, 1 << 3 | WIRE_VARINT, 2 << 3 | WIRE_VARINT};
    uint64_t key, value;
    for (size_t i = 0; i < sizeof keys; i++)
        if (!take_varint(&start, &key) || key != (uint64_t)keys[i] || !take_varint(&start, &value)) return false;
    return true;
}

bool pprof_shape_is_perfetto(struct text start) {
    enum { FIELD_PROCESS_TREE = 2 };
    uint64_t key, value, field_max = 0;
    if (!take_varint(&start, &key) || key != (1 << 3 | WIRE_BYTES) || !take_varint(&start, &value)) return false;
    struct text packet = text_slice(start, 0, value < start.bytes_count ? (size_t)value : start.bytes_count);
    bool is_cut = packet.bytes_count < value;
    while (take_varint(&packet, &key) && take_varint(&packet, &value)) {
        uint64_t field = key >> 3, wire = key & 7;
        if (!field || (wire != WIRE_VARINT && wire != WIRE_BYTES)) return false;
        if (wire == WIRE_BYTES)
            packet = text_from(packet, value < packet.bytes_count ? (size_t)value : packet.bytes_count);
        if (field > field_max) field_max = field;
    }
    return is_cut || field_max > FIELD_PROCESS_TREE;
}

bool pprof_shape_recognises(struct text start) {
    unsigned type_count = 0, field_count = 0;
    uint64_t key, value;
    for (; start.bytes_count; field_count++) {
        if (!take_varint(&start, &key)) break;
        uint64_t field = key >> 3, wire = key & 7;
        if (!field || field > FIELD_MAX || (wire != WIRE_BYTES && wire != WIRE_VARINT)) return false;
        if (wire == WIRE_VARINT && is_message(field)) return false;
        if (!take_varint(&start, &value)) break;
        if (wire == WIRE_VARINT) continue;
        struct text message = text_slice(start, 0, value < start.bytes_count ? (size_t)value : start.bytes_count);
        bool is_type = field == FIELD_SAMPLE_TYPE || field == FIELD_PERIOD_TYPE;
        bool is_whole = message.bytes_count == value;
        if (is_type && is_whole && !is_value_type(message)) return false;
        type_count += is_type && is_whole;
        start = text_from(start, message.bytes_count);
    }
    return type_count > 0 && field_count >= FIELDS_MIN;
}
