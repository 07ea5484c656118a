#include "strings.h"

#include <stdarg.h>
#include <stdio.h>

#include "memory.h"
#include "utf8.h"

void strings_init(struct strings *strings, struct failure *failure) {
    arena_init(&strings->bytes, failure);
    column_init(&strings->rows, sizeof(struct text), failure);
    index_set_init(&strings->index, failure);
}

void strings_fini(struct strings *strings) {
    arena_fini(&strings->bytes);
    column_fini(&strings->rows);
    index_set_fini(&strings->index);
}

static string_id intern_repaired(struct strings *strings, struct text text) {
    char *repaired = memory_allocate(strings->rows.failure, utf8_repaired_bytes_max(text.bytes_count));
    if (!repaired) return string_none();
    string_id id = strings_intern(strings, (struct text){repaired, utf8_repair(text, repaired)});
    memory_free(repaired);
    return id;
}

string_id strings_intern(struct strings *strings, struct text text) {
    if (!index_set_reserve(&strings->index)) return string_none();
    uint32_t hash = index_set_hash(text.bytes, text.bytes_count);
    struct index_slot *slot = index_set_first(&strings->index, hash);
    for (; !index_slot_is_empty(slot); slot = index_set_next(&strings->index, slot)) {
        string_id id = {slot->index};
        if (slot->hash == hash && text_equal(strings_text(strings, id), text)) return id;
    }
    /* The table holds only valid texts, so a text that was found needs no check. */
    if (utf8_valid_prefix_bytes(text) != text.bytes_count) return intern_repaired(strings, text);
    string_id id = {strings_count(strings)};
    struct text copy = arena_copy(&strings->bytes, text);
    if (!copy.bytes) return string_none();
    struct text *row = column_push(&strings->rows);
    if (!row) return string_none();
    *row = copy;
    index_set_fill(&strings->index, slot, hash, id.index);
    return id;
}

struct text strings_copy(struct strings *strings, struct text text) {
    string_id id = strings_intern(strings, text);
    return string_is_none(id) ? (struct text){0} : strings_text(strings, id);
}

string_id strings_intern_vformat(struct strings *strings, const char *format, va_list arguments) {
    char composed[1024];
    va_list again;
    va_copy(again, arguments);
    int wanted = vsnprintf(composed, sizeof composed, format, arguments);
    size_t bytes_count = wanted < 0 ? 0 : (size_t)wanted;
    char *longer = bytes_count < sizeof composed ? composed : memory_allocate(strings->rows.failure, bytes_count + 1);
    if (longer && longer != composed) vsnprintf(longer, bytes_count + 1, format, again);
    va_end(again);
    string_id id = longer ? strings_intern(strings, (struct text){longer, bytes_count}) : string_none();
    if (longer != composed) memory_free(longer);
    return id;
}

string_id strings_intern_format(struct strings *strings, const char *format, ...) {
    va_list arguments;
    va_start(arguments, format);
    string_id id = strings_intern_vformat(strings, format, arguments);
    va_end(arguments);
    return id;
}

void strings_compact(struct strings *strings, uint32_t *numbers) {
    uint32_t kept_count = 0;
    for (uint32_t i = 0; i < strings_count(strings); i++) {
        if (numbers[i] == ID_NONE) continue;
        *(struct text *)column_at(&strings->rows, kept_count) = strings_text(strings, (string_id){i});
        numbers[i] = kept_count++;
    }
    strings->rows.count = kept_count;
    index_set_fini(&strings->index);
}
