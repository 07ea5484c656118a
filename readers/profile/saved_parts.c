/* Objects whose members refer to each other. */
#include "saved_reader.h"

enum { PARTS_MAX = 16 };

/* A part that came before one that it refers to. */
struct early_part {
    struct text text; /* in `memory` */
    struct position position;
};

struct parts {
    const struct saved_part *parts;
    size_t count;
    saved_part_reader *others;
    void *context;
    unsigned seen; /* bits by number */
    unsigned done;
    struct arena memory;
    struct early_part early[PARTS_MAX];
};

static void read_part(struct saved_reader *reader, struct parts *parts, size_t number) {
    const struct saved_part *part = &parts->parts[number];
    json_push_name(reader->json, part->key.bytes, -1);
    part->read(reader, parts->context);
    json_pop_name(reader->json);
    parts->done |= 1u << number;
}

static void keep_part(struct saved_reader *reader, struct parts *parts, size_t number) {
    json_peek_kind(reader->json);
    struct position position = json_stream_position(reader->json);
    struct text text = json_skip_recording(reader->json);
    parts->early[number] = (struct early_part){arena_copy(&parts->memory, text), position};
}

static void read_early_part(struct saved_reader *reader, struct parts *parts, size_t number) {
    struct json_stream *whole = reader->json, json;
    struct early_part part = parts->early[number];
    json_stream_init_part(&json, whole, part.text, part.position);
    reader->json = &json;
    read_part(reader, parts, number);
    reader->json = whole;
    json_stream_fini(&json);
}

/* Returns whether the part refers to none that may come later. The version is known once "meta" was read, which all
 * others need. */
static bool is_ready(const struct saved_reader *reader, const struct parts *parts, size_t number) {
    for (size_t i = 0; i < parts->count; i++) {
        bool is_awaited = (parts->parts[number].needs & ~parts->done) >> i & 1;
        if (is_awaited && reader->version >= parts->parts[i].since) return false;
    }
    return true;
}

static bool read_member(struct saved_reader *reader, struct text key, void *context) {
    struct parts *parts = context;
    for (size_t i = 0; i < parts->count; i++) {
        const struct saved_part *part = &parts->parts[i];
        if (!text_equal(key, part->key)) continue;
        if (parts->seen >> i & 1) json_stream_fail(reader->json, "the key \"%s\" is there twice", part->key.bytes);
        parts->seen |= 1u << i;
        if (is_ready(reader, parts, i))
            read_part(reader, parts, i);
        else
            keep_part(reader, parts, i);
        return true;
    }
    return parts->others && parts->others(reader, key, parts->context);
}

void saved_read_parts(struct saved_reader *reader, const struct saved_part *part_list, size_t part_count,
                      saved_part_reader *others, void *context) {
    struct parts parts = {.parts = part_list, .count = part_count, .others = others, .context = context};
    arena_init(&parts.memory, reader->profile->failure);
    saved_read_object(reader, read_member, &parts);
    for (size_t i = 0; i < part_count && saved_is_good(reader); i++)
        if (part_list[i].is_required && !(parts.seen >> i & 1))
            json_stream_fail(reader->json, "there is no \"%s\"", part_list[i].key.bytes);
    for (size_t i = 0; i < part_count && saved_is_good(reader); i++)
        if (parts.early[i].text.bytes) read_early_part(reader, &parts, i);
    arena_fini(&parts.memory);
}
