#include "marker_label.h"

static bool is_word(struct text text) {
    static const char word_bytes[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_";
    return text.bytes_count && text_has_only(text, word_bytes);
}

/* Skips a text in single quotes; *rest is what follows. */
static bool skip_quoted(struct text text, struct text *rest) {
    text = text_trim_start(text);
    if (!text_starts_with(text, TEXT("'"))) return false;
    size_t end = text_find(text_from(text, 1), '\'');
    if (end + 1 >= text.bytes_count) return false;
    *rest = text_trim(text_from(text, end + 2));
    return true;
}

/* Returns true for what labels may have in braces: "marker.name", "marker.data.KEY", "marker.data.KEY ? 'a' : 'b'". */
static bool is_label_part(struct text part) {
    static const struct text data = TEXT("marker.data.");
    static const struct text others[] = {TEXT("marker.name"), TEXT("marker.start"), TEXT("marker.end"),
                                         TEXT("marker.duration"), TEXT("marker.category")};
    size_t question = text_find(part, '?');
    struct text value = text_trim(text_slice(part, 0, question));
    bool is_data = text_starts_with(value, data) && is_word(text_from(value, data.bytes_count));
    if (question < part.bytes_count) {
        struct text rest;
        return is_data && skip_quoted(text_from(part, question + 1), &rest) && text_starts_with(rest, TEXT(":")) &&
               skip_quoted(text_from(rest, 1), &rest) && rest.bytes_count == 0;
    }
    if (TEXT_IS_IN(value, others)) return true;
    return text_starts_with(value, data) &&
           text_find(text_from(value, data.bytes_count), '.') == value.bytes_count - data.bytes_count;
}

bool marker_label_find_fault(struct text *label, struct text *part) {
    for (;;) {
        struct text rest = text_from(*label, text_find(*label, '{'));
        size_t end = text_find(rest, '}');
        if (end == rest.bytes_count) return false;
        *part = text_slice(rest, 1, end);
        *label = text_from(rest, end + 1);
        if (!is_label_part(*part)) return true;
    }
}
