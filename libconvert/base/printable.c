#include "printable.h"

#include "utf8.h"

/* Returns whether the sequence is C0, DEL or C1. Terminals obey C1 as well, which is two bytes of UTF-8. */
static bool is_control(struct text sequence) {
    unsigned char first = (unsigned char)sequence.bytes[0];
    if (sequence.bytes_count == 1) return first < 0x20 || first == 0x7f;
    return first == 0xc2 && (unsigned char)sequence.bytes[1] < 0xa0;
}

void printable_copy(char *out, size_t capacity_bytes, struct text text) {
    static const char more[] = "...";
    size_t written = 0;
    size_t room = capacity_bytes - sizeof more;
    while (text.bytes_count) {
        size_t sequence_bytes = utf8_sequence_bytes(text);
        struct text sequence = text_slice(text, 0, sequence_bytes);
        if (!sequence_bytes || is_control(sequence)) sequence = TEXT("?");
        if (written + sequence.bytes_count > room) {
            memcpy(out + written, more, sizeof more);
            return;
        }
        memcpy(out + written, sequence.bytes, sequence.bytes_count);
        written += sequence.bytes_count;
        text = text_from(text, sequence_bytes ? sequence_bytes : 1);
    }
    out[written] = '\0';
}
