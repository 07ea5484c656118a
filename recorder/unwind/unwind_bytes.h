/* Reads bytes of call frame information within bounds. */
#pragma once

#include <stdbool.h>
#include <stdint.h>
#include <string.h>

/* Bytes at the addresses [at, end) of an object. The first read beyond `end` marks them as bad; later reads return
 * zeros. */
struct bytes {
    uint64_t at;
    uint64_t end;
    uint64_t shift; /* add it to an address to get the byte's place in this process; 0 for objects of this process */
    bool is_bad;
};

static inline bool take_bytes(struct bytes *bytes, void *value, uint32_t count) {
    if (count > bytes->end - bytes->at) {
        bytes->at = bytes->end;
        bytes->is_bad = true;
        return false;
    }
    memcpy(value, (const void *)(uintptr_t)(bytes->at + bytes->shift), count);
    bytes->at += count;
    return true;
}

static inline uint64_t take_unsigned(struct bytes *bytes, uint32_t count) {
    uint64_t value = 0;
    take_bytes(bytes, &value, count);
    return value;
}

static inline int64_t take_signed(struct bytes *bytes, uint32_t count) {
    uint32_t bits = 64 - 8 * count;
    return (int64_t)(take_unsigned(bytes, count) << bits) >> bits;
}

static inline uint8_t take_byte(struct bytes *bytes) { return (uint8_t)take_unsigned(bytes, 1); }

/* Takes an unsigned LEB128 number. Drops bits beyond the 64th. */
static inline uint64_t take_uleb(struct bytes *bytes) {
    uint64_t value = 0;
    for (uint32_t shift = 0;; shift += 7) {
        uint8_t byte = take_byte(bytes);
        if (shift < 64) value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80)) return value;
    }
}

static inline int64_t take_sleb(struct bytes *bytes) {
    uint64_t value = 0;
    uint32_t shift = 0;
    uint8_t byte;
    do {
        byte = take_byte(bytes);
        if (shift < 64) value |= (uint64_t)(byte & 0x7f) << shift;
        shift += 7;
    } while (byte & 0x80);
    if (shift < 64 && (byte & 0x40)) value |= UINT64_MAX << shift;
    return (int64_t)value;
}

static inline struct bytes take_part(struct bytes *bytes, uint64_t count) {
    if (count > bytes->end - bytes->at) {
        bytes->at = bytes->end;
        bytes->is_bad = true;
        return (struct bytes){.is_bad = true};
    }
    struct bytes part = {.at = bytes->at, .end = bytes->at + count, .shift = bytes->shift};
    bytes->at += count;
    return part;
}

/* ---- Encoded pointers (DW_EH_PE_*). ---- */

enum {
    POINTER_ABSOLUTE = 0x00,
    POINTER_ULEB = 0x01,
    POINTER_U2 = 0x02,
    POINTER_U4 = 0x03,
    POINTER_U8 = 0x04,
    POINTER_SLEB = 0x09,
    POINTER_S2 = 0x0a,
    POINTER_S4 = 0x0b,
    POINTER_S8 = 0x0c,
    POINTER_FORMAT_MASK = 0x0f,
    POINTER_FROM_HERE = 0x10,
    POINTER_FROM_HEADER = 0x30,
    POINTER_BASE_MASK = 0xf0,
    POINTER_NONE = 0xff,
};

static inline uint64_t take_pointer_value(struct bytes *bytes, uint8_t encoding) {
    switch (encoding & POINTER_FORMAT_MASK) {
        case POINTER_ABSOLUTE:
        case POINTER_U8:
        case POINTER_S8: return take_unsigned(bytes, 8);
        case POINTER_ULEB: return take_uleb(bytes);
        case POINTER_SLEB: return (uint64_t)take_sleb(bytes);
        case POINTER_U2: return take_unsigned(bytes, 2);
        case POINTER_U4: return take_unsigned(bytes, 4);
        case POINTER_S2: return (uint64_t)take_signed(bytes, 2);
        case POINTER_S4: return (uint64_t)take_signed(bytes, 4);
        default: bytes->is_bad = true; return 0;
    }
}

static inline uint64_t take_pointer(struct bytes *bytes, uint8_t encoding, uint64_t header) {
    uint64_t here = bytes->at, value = take_pointer_value(bytes, encoding);
    switch (encoding & POINTER_BASE_MASK) {
        case 0: return value;
        case POINTER_FROM_HERE: return here + value;
        case POINTER_FROM_HEADER: return header + value;
        default: bytes->is_bad = true; return 0;
    }
}
