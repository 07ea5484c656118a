#include "document.h"

#include <setjmp.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <yajl/yajl_parse.h>

#include "libconvert/base/id_column.h"
#include "libconvert/base/memory.h"
#include "libconvert/base/printable.h"
#include "libconvert/base/utf8.h"

enum { INTEGER_DIGITS_MAX = 15, NUMBER_BYTES = 64, PATH_BYTES = 512, REPEATED_KEYS_MAX = 5, DEPTH_MAX = 10000 };

/* A list or an object that is still open; `first` is the number of its first node among the pending ones. */
struct level {
    size_t first;
    bool is_object;
};

struct parser {
    struct document *document;
    struct node *waiting; /* owned; the values of all open lists and objects */
    size_t waiting_count;
    size_t waiting_capacity;
    struct level *levels; /* owned */
    size_t level_count;
    size_t level_capacity;
    struct column last_objects; /* uint32_t by key: number of the last object that contained the key */
    uint32_t object_count;
    bool is_skipping;        /* within the value of a member that is not wanted */
    size_t skipped_levels;   /* lists and objects that are open in that value */
    bool has_malformed_text; /* a callback stopped the parsing because of that */
    struct arena yajl_memory;
    jmp_buf no_yajl_memory;
};

/* ---- Building. ---- */

static bool is_good(const struct parser *parser) { return !failure_is_set(parser->document->failure); }

/* Returns the array, enlarged if needed so that it has room for one more element; NULL if memory ran out (latched),
 * and then the old array stays valid. */
static void *with_room(struct parser *parser, void *pointer, size_t count, size_t *capacity, size_t element_bytes) {
    enum { FIRST_CAPACITY = 64 };
    if (count < *capacity) return pointer;
    size_t wanted = *capacity ? *capacity * 2 : FIRST_CAPACITY;
    void *grown = memory_resize(parser->document->failure, pointer, wanted * element_bytes);
    if (grown) *capacity = wanted;
    return grown;
}

/* Whether this value is skipped, or is part of one that is. */
static bool skip_value(struct parser *parser) {
    if (!parser->is_skipping) return false;
    parser->is_skipping = parser->skipped_levels > 0;
    return true;
}

static int add(struct parser *parser, struct node node) {
    if (skip_value(parser)) return 1;
    struct node *waiting =
        with_room(parser, parser->waiting, parser->waiting_count, &parser->waiting_capacity, sizeof *parser->waiting);
    if (!waiting) return 0;
    parser->waiting = waiting;
    waiting[parser->waiting_count++] = node;
    return is_good(parser);
}

static int begin(struct parser *parser, bool is_object) {
    if (parser->is_skipping) {
        parser->skipped_levels++;
        return parser->skipped_levels < DEPTH_MAX;
    }
    if (parser->level_count == DEPTH_MAX) return 0;
    struct level *levels =
        with_room(parser, parser->levels, parser->level_count, &parser->level_capacity, sizeof *parser->levels);
    if (!levels) return 0;
    parser->levels = levels;
    levels[parser->level_count++] = (struct level){parser->waiting_count, is_object};
    return 1;
}

/* Replaces the nodes of the innermost open level by one node that owns a copy of them. */
static int end(struct parser *parser) {
    if (parser->is_skipping) {
        parser->is_skipping = --parser->skipped_levels > 0;
        return 1;
    }
    struct level level = parser->levels[--parser->level_count];
    size_t node_count = parser->waiting_count - level.first;
    struct node *nodes = arena_take_aligned(&parser->document->memory, node_count * sizeof *nodes);
    if (!nodes) return 0;
    if (node_count) memcpy(nodes, parser->waiting + level.first, node_count * sizeof *nodes);
    parser->waiting_count = level.first;
    struct node node = {.kind = level.is_object ? NODE_OBJECT : NODE_LIST,
                        .count = (uint32_t)(level.is_object ? node_count / 2 : node_count),
                        .nodes = nodes};
    return add(parser, node);
}

/* ---- Repeated keys in an object. ---- */

/* Writes the path to the parser's position: "$.threads[3].samples". */
static void write_path(const struct parser *parser, char *path, size_t capacity_bytes) {
    snprintf(path, capacity_bytes, "$");
    for (size_t i = 0; i < parser->level_count; i++) {
        const struct level *level = &parser->levels[i];
        size_t end = i + 1 < parser->level_count ? parser->levels[i + 1].first : parser->waiting_count;
        if (i + 1 == parser->level_count && !level->is_object) return;
        size_t used_bytes = strlen(path);
        if (!level->is_object) {
            snprintf(path + used_bytes, capacity_bytes - used_bytes, "[%zu]", end - level->first);
        } else if (end > level->first) {
            string_id key = {parser->waiting[end - 1].count};
            document_append_key(path, capacity_bytes, strings_text(&parser->document->keys, key));
        }
    }
}

static void note_repeated(struct parser *parser) {
    struct document *document = parser->document;
    if (document->repeated_keys.count >= REPEATED_KEYS_MAX) return;
    char path[PATH_BYTES];
    write_path(parser, path, sizeof path);
    struct text *repeated = column_push(&document->repeated_keys);
    if (repeated) *repeated = arena_copy(&document->memory, text_of(path));
}

/* Finds keys that occur more than once in the innermost object. Call it while the object is still open, so that the
 * path to its last key can be written. */
static void find_repeated(struct parser *parser) {
    if (parser->is_skipping) return;
    struct level level = parser->levels[parser->level_count - 1];
    size_t end = parser->waiting_count;
    parser->object_count++;
    for (size_t i = level.first; i < end; i += 2) {
        uint32_t *last_object = column_at(&parser->last_objects, parser->waiting[i].count);
        if (*last_object == parser->object_count) {
            parser->waiting_count = i + 1;
            note_repeated(parser);
            parser->waiting_count = end;
        }
        *last_object = parser->object_count;
    }
}

/* ---- Callbacks of yajl; returning 0 stops the parsing. ---- */

static int on_null(void *context) { return add(context, (struct node){.kind = NODE_NULL}); }
static int on_bool(void *context, int value) {
    return add(context, (struct node){.kind = value ? NODE_TRUE : NODE_FALSE});
}

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
static bool parse_real(struct parser *parser, const char *bytes, size_t bytes_count, double *number) {
    char local[NUMBER_BYTES];
    char *copy = bytes_count < sizeof local ? local : arena_take_bytes(&parser->document->memory, bytes_count + 1);
    if (!copy) return false;
    memcpy(copy, bytes, bytes_count);
    copy[bytes_count] = '\0';
    *number = strtod(copy, NULL);
    return true;
}

static int on_number(void *context, const char *bytes, size_t bytes_count) {
    if (skip_value(context)) return 1;
    struct node node = {.kind = NODE_NUMBER};
    if (!parse_short_integer(bytes, bytes_count, &node.number) &&
        !parse_real(context, bytes, bytes_count, &node.number))
        return 0;
    return add(context, node);
}

/* yajl accepts some sequences that are not UTF-8, such as encoded surrogates. The viewer refuses them. */
static bool is_utf8(struct parser *parser, struct text text) {
    parser->has_malformed_text = utf8_valid_prefix_bytes(text) < text.bytes_count;
    return !parser->has_malformed_text;
}

static int on_text(void *context, const unsigned char *bytes, size_t bytes_count) {
    struct parser *parser = context;
    struct text text = {(const char *)bytes, bytes_count};
    if (!is_utf8(parser, text)) return 0;
    if (skip_value(parser)) return 1;
    struct text copy = arena_copy(&parser->document->memory, text);
    return add(parser, (struct node){.kind = NODE_TEXT, .count = (uint32_t)copy.bytes_count, .bytes = copy.bytes});
}

static int on_key(void *context, const unsigned char *bytes, size_t bytes_count) {
    struct parser *parser = context;
    struct text text = {(const char *)bytes, bytes_count};
    if (!is_utf8(parser, text)) return 0;
    if (parser->is_skipping) return 1;
    document_wants_member *wants_member = parser->document->wants_member;
    if (wants_member && !wants_member((unsigned)parser->level_count, text)) {
        parser->is_skipping = true;
        return 1;
    }
    string_id key = strings_intern(&parser->document->keys, text);
    if (string_is_none(key)) return 0;
    if (!id_column_at(&parser->last_objects, key.index)) return 0;
    return add(parser, (struct node){.kind = NODE_KEY, .count = key.index});
}

static int on_object_begin(void *context) { return begin(context, true); }
static int on_list_begin(void *context) { return begin(context, false); }
static int on_list_end(void *context) { return end(context); }
static int on_object_end(void *context) {
    find_repeated(context);
    return end(context);
}

/* ---- Memory for yajl. yajl does not check whether an allocation failed, so a failed one leaves it by longjmp. It
 * needs little memory: its state, and room for the longest text. All of that is in an arena, so leaving yajl leaks
 * nothing. ---- */

struct yajl_block {
    size_t bytes_count;
    _Alignas(max_align_t) char bytes[];
};

static void *yajl_take(void *context, size_t bytes_count) {
    struct parser *parser = context;
    struct yajl_block *block = arena_take_aligned(&parser->yajl_memory, sizeof *block + bytes_count);
    if (!block) longjmp(parser->no_yajl_memory, 1);
    block->bytes_count = bytes_count;
    return block->bytes;
}

static void *yajl_take_more(void *context, void *old_bytes, size_t bytes_count) {
    char *bytes = yajl_take(context, bytes_count);
    if (!old_bytes) return bytes;
    const struct yajl_block *old = (const struct yajl_block *)((char *)old_bytes - offsetof(struct yajl_block, bytes));
    memcpy(bytes, old_bytes, old->bytes_count < bytes_count ? old->bytes_count : bytes_count);
    return bytes;
}

static void yajl_give(void *context, void *bytes) {
    (void)context;
    (void)bytes;
}

/* ---- Reading. ---- */

static uint64_t count_line_ends(struct text text) {
    uint64_t count = 0;
    for (size_t at = text_find(text, '\n'); at < text.bytes_count; at = text_find(text, '\n')) {
        count++;
        text = text_from(text, at + 1);
    }
    return count;
}

/* Latches the failure with yajl's message, without its "parse error: " and line ends. */
static void fail(struct parser *parser, yajl_handle yajl, struct position position) {
    struct failure *failure = parser->document->failure;
    if (failure_is_set(failure)) return; /* memory ran out in a callback */
    if (parser->level_count == DEPTH_MAX || parser->skipped_levels == DEPTH_MAX) {
        failure_set_at(failure, FAILURE_INPUT, position, "lists and objects are nested more than %d deep", DEPTH_MAX);
        return;
    }
    if (parser->has_malformed_text) {
        failure_set_at(failure, FAILURE_INPUT, position, "this is not JSON: a string is not UTF-8");
        return;
    }
    struct text reason = text_of((const char *)yajl_get_error(yajl, 0, NULL, 0));
    reason = text_slice(reason, 0, text_find(reason, '\n'));
    reason = text_trim(text_from(reason, text_find(reason, ':') + 1));
    failure_set_at(failure, FAILURE_INPUT, position, "this is not JSON: %.*s", (int)reason.bytes_count, reason.bytes);
}

static void skip_byte_order_mark(struct document *document, struct input *input) {
    static const struct text mark = TEXT("\xef\xbb\xbf");
    document->has_byte_order_mark = text_starts_with(input_peek(input, mark.bytes_count), mark);
    if (document->has_byte_order_mark) input_consume(input, mark.bytes_count);
}

/* Returns the position of the first byte that yajl accepts as white space although JSON does not; the length if there
 * is none. */
static size_t find_false_blank(struct text text) {
    size_t vertical_tab = text_find(text, '\v');
    return text_find(text_slice(text, 0, vertical_tab), '\f');
}

/* Ends the text. If an unterminated string follows the document, yajl does not notice it; a quotation mark ends such a
 * string, and then yajl does. */
static bool ends_well(const struct parser *parser, yajl_handle yajl) {
    bool is_complete = parser->level_count == 0 && parser->waiting_count == 1;
    if (is_complete && yajl_parse(yajl, (const unsigned char *)"\"", 1) != yajl_status_ok) return false;
    return yajl_complete_parse(yajl) == yajl_status_ok;
}

static void feed(struct parser *parser, yajl_handle yajl, struct input *input) {
    struct position position = {.line = 1, .offset = input_offset(input)};
    for (;;) {
        struct text bytes = input_peek(input, 1);
        if (failure_is_set(parser->document->failure)) return;
        if (!bytes.bytes_count) break;
        size_t good_bytes = find_false_blank(bytes);
        if (yajl_parse(yajl, (const unsigned char *)bytes.bytes, good_bytes) != yajl_status_ok) {
            size_t consumed_bytes = yajl_get_bytes_consumed(yajl);
            position.line += count_line_ends(text_slice(bytes, 0, consumed_bytes));
            position.offset += consumed_bytes;
            fail(parser, yajl, position);
            return;
        }
        position.line += count_line_ends(text_slice(bytes, 0, good_bytes));
        position.offset += good_bytes;
        if (good_bytes < bytes.bytes_count) {
            failure_set_at(parser->document->failure, FAILURE_INPUT, position,
                           "this is not JSON: a control character, 0x%02x", (unsigned)bytes.bytes[good_bytes]);
            return;
        }
        input_consume(input, bytes.bytes_count);
    }
    if (!ends_well(parser, yajl)) fail(parser, yajl, position);
    parser->document->bytes_count = input_offset(input);
}

void document_read(struct document *document, struct input *input) {
    static const yajl_callbacks callbacks = {
        .yajl_null = on_null,
        .yajl_boolean = on_bool,
        .yajl_number = on_number,
        .yajl_string = on_text,
        .yajl_start_map = on_object_begin,
        .yajl_map_key = on_key,
        .yajl_end_map = on_object_end,
        .yajl_start_array = on_list_begin,
        .yajl_end_array = on_list_end,
    };
    if (failure_is_set(document->failure)) return;
    struct parser parser = {.document = document};
    column_init(&parser.last_objects, sizeof(uint32_t), document->failure);
    arena_init(&parser.yajl_memory, document->failure);
    yajl_alloc_funcs memory = {yajl_take, yajl_take_more, yajl_give, &parser};
    document->wrapping = arena_copy(&document->memory, input_wrapping(input));
    if (setjmp(parser.no_yajl_memory) == 0) {
        skip_byte_order_mark(document, input);
        feed(&parser, yajl_alloc(&callbacks, &memory, &parser), input);
    }
    if (!failure_is_set(document->failure) && parser.waiting_count) document->root = parser.waiting[0];
    arena_fini(&parser.yajl_memory);
    column_fini(&parser.last_objects);
    memory_free(parser.levels);
    memory_free(parser.waiting);
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
