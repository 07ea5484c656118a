#include "xml.h"

#include "libconvert/base/utf8.h"

/* Returns the escape for a byte in an attribute; NULL if the byte needs none. XML cannot represent control characters,
 * so U+FFFD stands for them. */
static const char *escape_of(char byte) {
    switch (byte) {
        case '&': return "&amp;";
        case '<': return "&lt;";
        case '>': return "&gt;";
        case '"': return "&quot;";
        case '\t': return "&#9;";
        case '\n': return "&#10;";
        case '\r': return "&#13;";
        default: return (unsigned char)byte < 0x20 ? "\xef\xbf\xbd" : NULL;
    }
}

/* Returns true for U+FFFE and U+FFFF, which are valid in UTF-8 but not in XML. */
static bool is_no_character(struct text sequence) {
    return text_starts_with(sequence, TEXT("\xef\xbf\xbe")) || text_starts_with(sequence, TEXT("\xef\xbf\xbf"));
}

void xml_append_text(struct chunk_list *out, struct text text) {
    static const char replacement[] = "\xef\xbf\xbd";
    for (struct text rest = text; rest.bytes_count;) {
        size_t sequence_bytes = utf8_sequence_bytes(rest);
        const char *escape = escape_of(rest.bytes[0]);
        if (!sequence_bytes || is_no_character(rest)) escape = replacement;
        if (escape)
            chunk_list_append(out, escape, strlen(escape));
        else
            chunk_list_append(out, rest.bytes, sequence_bytes);
        rest = text_from(rest, sequence_bytes ? sequence_bytes : 1);
    }
}
