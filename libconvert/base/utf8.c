#include "utf8.h"

size_t utf8_sequence_bytes(struct text text) {
    const unsigned char *b = (const unsigned char *)text.bytes;
    size_t left = text.bytes_count;
    if (b[0] < 0x80) return 1;
    if (b[0] < 0xc2 || b[0] > 0xf4 || left < 2) return 0;
    /* The range of the second byte excludes overlong forms, surrogates and what is above U+10FFFF. */
    unsigned char low = b[0] == 0xe0 ? 0xa0 : b[0] == 0xf0 ? 0x90 : 0x80;
    unsigned char high = b[0] == 0xed ? 0x9f : b[0] == 0xf4 ? 0x8f : 0xbf;
    if (b[1] < low || b[1] > high) return 0;
    size_t bytes_count = b[0] < 0xe0 ? 2 : b[0] < 0xf0 ? 3 : 4;
    if (left < bytes_count) return 0;
    for (size_t i = 2; i < bytes_count; i++)
        if ((b[i] & 0xc0) != 0x80) return 0;
    return bytes_count;
}

size_t utf8_valid_prefix_bytes(struct text text) {
    size_t at = 0;
    while (at < text.bytes_count) {
        uint64_t eight;
        if (text.bytes_count - at >= sizeof eight) {
            memcpy(&eight, text.bytes + at, sizeof eight);
            if (!(eight & 0x8080808080808080u)) {
                at += sizeof eight;
                continue;
            }
        }
        if ((unsigned char)text.bytes[at] < 0x80) {
            at++;
            continue;
        }
        size_t sequence_bytes = utf8_sequence_bytes(text_from(text, at));
        if (!sequence_bytes) break;
        at += sequence_bytes;
    }
    return at;
}

size_t utf8_repair(struct text text, char *out) {
    static const char digits[] = "0123456789abcdef";
    size_t written = 0;
    while (text.bytes_count) {
        size_t valid = utf8_valid_prefix_bytes(text);
        memcpy(out + written, text.bytes, valid);
        written += valid;
        text = text_from(text, valid);
        if (!text.bytes_count) break;
        unsigned char byte = (unsigned char)text.bytes[0];
        const char shown[] = {'\\', 'x', digits[byte >> 4], digits[byte & 15]};
        memcpy(out + written, shown, sizeof shown);
        written += sizeof shown;
        text = text_from(text, 1);
    }
    return written;
}

char *utf8_put(char *out, uint32_t point) {
    if (point < 0x80) {
        *out++ = (char)point;
        return out;
    }
    unsigned tail_count = point < 0x800 ? 1 : point < 0x10000 ? 2 : 3;
    static const unsigned char leads[] = {0, 0xc0, 0xe0, 0xf0};
    *out++ = (char)(leads[tail_count] | point >> (6 * tail_count));
    while (tail_count--) *out++ = (char)(0x80 | (point >> (6 * tail_count) & 0x3f));
    return out;
}
