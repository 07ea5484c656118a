#include "native_cursor.h"

/* Traces are little-endian, as are all machines that the recorder runs on; here their numbers are taken as they lie. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers are read without being turned round");

enum { LEB_BITS = 7, LEB_LAST_SHIFT = 63 };

uint64_t native_cursor_long_leb(struct native_cursor *cursor) {
    uint64_t value = 0;
    for (unsigned shift = 0; shift <= LEB_LAST_SHIFT && cursor->next < cursor->end; shift += LEB_BITS) {
        uint64_t byte = *cursor->next++;
        /* Of the tenth byte one bit is left. */
        if (shift == LEB_LAST_SHIFT && byte > 1) break;
        value |= (byte & 0x7f) << shift;
        if (byte < 0x80) return value;
    }
    native_cursor_spoil(cursor);
    return 0;
}

double native_cursor_real(struct native_cursor *cursor) {
    double value = 0;
    struct text bytes = native_cursor_bytes(cursor, sizeof value);
    if (bytes.bytes_count) memcpy(&value, bytes.bytes, sizeof value);
    return value;
}
