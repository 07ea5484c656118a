#include "trace_cursor.h"

/* Traces are little-endian, as are all machines that the recorder supports, so numbers are copied without swapping
 * bytes. */
_Static_assert(__BYTE_ORDER__ == __ORDER_LITTLE_ENDIAN__, "numbers are read without swapping bytes");

enum { LEB_BITS = 7, LEB_LAST_SHIFT = 63 };

uint64_t trace_cursor_long_leb(struct trace_cursor *cursor) {
    const unsigned char *next = cursor->next, *end = cursor->end;
    uint64_t value = 0;
    for (unsigned shift = 0; shift <= LEB_LAST_SHIFT && next < end; shift += LEB_BITS) {
        uint64_t byte = *next++;
        value |= (byte & 0x7f) << shift;
        if (byte >= 0x80) continue;
        /* The tenth byte has only one bit of a 64-bit number. */
        if (shift == LEB_LAST_SHIFT && byte > 1) break;
        cursor->next = next;
        return value;
    }
    trace_cursor_spoil(cursor);
    return 0;
}

double trace_cursor_real(struct trace_cursor *cursor) {
    double value = 0;
    struct text bytes = trace_cursor_bytes(cursor, sizeof value);
    if (bytes.bytes_count) memcpy(&value, bytes.bytes, sizeof value);
    return value;
}
