#include "document.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "json_stream.h"
#include "libconvert/base/id_column.h"
#include "libconvert/base/memory.h"
#include "libconvert/base/printable.h"

enum { INTEGER_DIGITS_MAX = 15, NUMBER_BYTES = 64, PATH_BYTES = 512, REPEATED_KEYS_MAX = 5 };

/* A list or an object that is still open; `first` is the number of its first node among the pending ones. */
struct level {
    size_t first;
    bool is_object;
};

struct builder {
    struct document *document;
    struct json_stream json;
    struct node *waiting; /* owned; the values of all open lists and objects */
    size_t waiting_count;
    size_t waiting_capacity;
    struct level *levels; /* owned */
    size_t level_count;
    size_t level_capacity;
    struct column last_objects; /* uint32_t by key: number of the last object that contained the key */
    uint32_t object_count;
};

/* ---- Building. ---- */

static bool is_good(const struct builder *builder) { return !failure_is_set(builder->document->failure); }

static void add(struct builder *builder, struct node node) {
    if (memory_reserve(builder->document->failure, &builder->waiting, &builder->waiting_capacity,
                       builder->waiting_count + 1, sizeof node))
        builder->waiting[builder->waiting_count++] = node;
}

static void begin(struct builder *builder, bool is_object) {
    bool has_begun = is_object ? json_begin_object(&builder->json) : json_begin_list(&builder->json);
    const struct level level = {builder->waiting_count, is_object};
    if (has_begun && memory_reserve(builder->document->failure, &builder->levels, &builder->level_capacity,
                                    builder->level_count + 1, sizeof level))
        builder->levels[builder->level_count++] = level;
}

/* The values of the innermost list or object become its nodes. */
static void end(struct builder *builder) {
    struct level level = builder->levels[--builder->level_count];
    size_t node_count = builder->waiting_count - level.first;
    struct node *nodes = arena_take_aligned(&builder->document->memory, node_count * sizeof *nodes);
    if (!nodes) return;
    if (node_count) memcpy(nodes, builder->waiting + level.first, node_count * sizeof *nodes);
    builder->waiting_count = level.first;
    add(builder, (struct node){.kind = level.is_object ? NODE_OBJECT : NODE_LIST,
                               .count = (uint32_t)(level.is_object ? node_count / 2 : node_count),
                               .nodes = nodes});
}

/* ---- Repeated keys in an object. ---- */

/* Writes the path to the builder's position: "$.threads[3].samples". */
static void write_path(const struct builder *builder, char *path, size_t capacity_bytes) {
    snprintf(path, capacity_bytes, "$");
    for (size_t i = 0; i < builder->level_count; i++) {
        const struct level *level = &builder->levels[i];
        size_t end = i + 1 < builder->level_count ? builder->levels[i + 1].first : builder->waiting_count;
        if (i + 1 == builder->level_count && !level->is_object) return;
        size_t used_bytes = strlen(path);
        if (!level->is_object) {
            snprintf(path + used_bytes, capacity_bytes - used_bytes, "[%zu]", end - level->first);
        } else if (end > level->first) {
            string_id key = {builder->waiting[end - 1].count};
            document_append_key(path, capacity_bytes, strings_text(&builder->document->keys, key));
        }
    }
}

static void note_repeated(struct builder *builder) {
    struct document *document = builder->document;
    if (document->repeated_keys.count >= REPEATED_KEYS_MAX) return;
    char path[PATH_BYTES];
    write_path(builder, path, sizeof path);
    struct text *repeated = column_push(&document->repeated_keys);
    if (repeated) *repeated = arena_copy(&document->memory, text_of(path));
}

/* Finds keys that occur more than once in the innermost object. Call it while the object is still open, so that the
 * path to its last key can be written. */
static void find_repeated(struct builder *builder) {
    struct level level = builder->levels[builder->level_count - 1];
    size_t end = builder->waiting_count;
    builder->object_count++;
    for (size_t i = level.first; i < end; i += 2) {
        uint32_t *last_object = column_at(&builder->last_objects, builder->waiting[i].count);
        if (*last_object == builder->object_count) {
            builder->waiting_count = i + 1;
            note_repeated(builder);
            builder->waiting_count = end;
        }
        *last_object = builder->object_count;
    }
}

/* ---- Values. ---- */

static bool parse_short_integer(const char *bytes, size_t bytes_count, double *number) {
    size_t at = bytes[0] == '-';
    if (bytes_count - at > INTEGER_DIGITS_MAX) return false;
    int64_t value = 0;
    for (; at < bytes_count; at++) {
        if (bytes[at] < '0' || bytes[at] > '9') return false;
        value = value * 10 + (bytes[at] - '0');
    }
    if (bytes[0] == '-' && value == 0) return false; /* -0 as a double keeps its sign */
    *number = (double)(bytes[0] == '-' ? -value : value);
    return true;
}

/* Uses strtod, which needs the "C" locale that the program never changes: a decimal point is ".". */
static bool parse_real(struct builder *builder, const char *bytes, size_t bytes_count, double *number) {
    char local[NUMBER_BYTES];
    char *copy = bytes_count < sizeof local ? local : arena_take_bytes(&builder->document->memory, bytes_count + 1);
    if (!copy) return false;
    memcpy(copy, bytes, bytes_count);
    copy[bytes_count] = '\0';
    *number = strtod(copy, NULL);
    return true;
}

static void add_number(struct builder *builder) {
    struct node node = {.kind = NODE_NUMBER};
    struct text number;
    if (!json_take_number_text(&builder->json, &number)) return;
    if (!parse_short_integer(number.bytes, number.bytes_count, &node.number) &&
        !parse_real(builder, number.bytes, number.bytes_count, &node.number))
        return;
    add(builder, node);
}

static void add_text(struct builder *builder) {
    struct text text;
    if (!json_take_text(&builder->json, &text)) return;
    struct text copy = arena_copy(&builder->document->memory, text);
    add(builder, (struct node){.kind = NODE_TEXT, .count = (uint32_t)copy.bytes_count, .bytes = copy.bytes});
}

static void add_bool(struct builder *builder) {
    bool value;
    if (json_take_bool(&builder->json, &value)) add(builder, (struct node){.kind = value ? NODE_TRUE : NODE_FALSE});
}

/* ---- Reading. ---- */

/* Adds a value, or begins a list or an object. */
static void read_value(struct builder *builder) {
    switch (json_peek_kind(&builder->json)) {
        case JSON_BOOL: add_bool(builder); break;
        case JSON_NUMBER: add_number(builder); break;
        case JSON_TEXT: add_text(builder); break;
        case JSON_LIST: begin(builder, false); break;
        case JSON_OBJECT: begin(builder, true); break;
        case JSON_NULL:
        case JSON_END:
            if (json_take_null(&builder->json)) add(builder, (struct node){.kind = NODE_NULL});
            break;
    }
}

static void add_key(struct builder *builder, struct text key) {
    string_id id = strings_intern(&builder->document->keys, key);
    if (string_is_none(id) || !id_column_at(&builder->last_objects, id.index)) return;
    add(builder, (struct node){.kind = NODE_KEY, .count = id.index});
}

/* Goes to the next value of the innermost list or object. Returns false at its end and after a failure. */
static bool go_on(struct builder *builder) {
    document_wants_member *wants_member = builder->document->wants_member;
    struct text key;
    if (!builder->levels[builder->level_count - 1].is_object) return json_next(&builder->json);
    while (json_next_key(&builder->json, &key)) {
        if (!wants_member || wants_member((unsigned)builder->level_count, key)) {
            add_key(builder, key);
            return is_good(builder);
        }
        json_skip(&builder->json);
    }
    if (is_good(builder)) find_repeated(builder);
    return false;
}

static void build(struct builder *builder) {
    read_value(builder);
    while (builder->level_count && is_good(builder)) {
        if (go_on(builder))
            read_value(builder);
        else if (is_good(builder))
            end(builder);
    }
    json_stream_finish(&builder->json);
}

void document_read(struct document *document, struct input *input) {
    static const struct text byte_order_mark = TEXT("\xef\xbb\xbf");
    if (failure_is_set(document->failure)) return;
    struct builder builder = {.document = document};
    column_init(&builder.last_objects, sizeof(uint32_t), document->failure);
    document->has_byte_order_mark = text_starts_with(input_peek(input, byte_order_mark.bytes_count), byte_order_mark);
    json_stream_init(&builder.json, input, document->failure);
    build(&builder);
    document->bytes_count = json_stream_position(&builder.json).offset;
    if (is_good(&builder)) document->root = builder.waiting[0];
    json_stream_fini(&builder.json);
    column_fini(&builder.last_objects);
    MEMORY_FREE_ALL(builder.levels, builder.waiting);
}

void document_init(struct document *document, struct failure *failure) {
    *document = (struct document){.failure = failure};
    arena_init(&document->memory, failure);
    strings_init(&document->keys, failure);
    column_init(&document->repeated_keys, sizeof(struct text), failure);
}

void document_fini(struct document *document) {
    column_fini(&document->repeated_keys);
    strings_fini(&document->keys);
    arena_fini(&document->memory);
}

/* ---- Access. ---- */

const struct node *document_member(const struct document *document, const struct node *node, struct text key) {
    if (!node_is(node, NODE_OBJECT)) return NULL;
    for (size_t i = node->count; i-- > 0;) {
        struct text other;
        const struct node *value = document_member_at(document, node, i, &other);
        if (text_equal(other, key)) return value;
    }
    return NULL;
}

bool node_is_integer(const struct node *node) {
    static const double EXACT_MAX = 9007199254740992.0;
    if (!node_is(node, NODE_NUMBER) || !(node->number >= -EXACT_MAX && node->number <= EXACT_MAX)) return false;
    return (double)(int64_t)node->number == node->number;
}

static bool is_plain_name(struct text key) {
    for (size_t i = 0; i < key.bytes_count; i++) {
        char byte = key.bytes[i];
        bool is_letter = (byte >= 'a' && byte <= 'z') || (byte >= 'A' && byte <= 'Z') || byte == '_' || byte == '$';
        if (!is_letter && (i == 0 || byte < '0' || byte > '9')) return false;
    }
    return key.bytes_count > 0;
}

void document_append_key(char *path, size_t capacity_bytes, struct text key) {
    enum { KEY_BYTES = 80 };
    char shown[KEY_BYTES];
    printable_copy(shown, sizeof shown, key);
    size_t used_bytes = strlen(path);
    snprintf(path + used_bytes, capacity_bytes - used_bytes, is_plain_name(key) ? ".%s" : "[\"%s\"]", shown);
}
