#include "definitions.h"

#include <string.h>

#include "recorder/pool/chunk_pool.h"
#include "recorder/state/hash.h"
#include "recorder/state/leb128.h"
#include "recorder/state/process.h"
#include "recorder/state/recording_state.h"
#include "recorder/state/scratch.h"
#include "thread_registry.h"

/* ---- Composing a body. ---- */

enum { BODY_BYTES_MAX = 4096 };

_Static_assert((int)BODY_BYTES_MAX <= (int)SCRATCH_BYTES, "a body fits");

struct body {
    unsigned char *bytes; /* NULL: there is no memory */
    uint32_t count;
    bool is_too_long; /* or there is no memory */
};

static struct body body_begin(enum trace_definition_kind kind) {
    struct body body = {.bytes = scratch_take(), .count = 1};
    body.is_too_long = !body.bytes;
    if (body.bytes) body.bytes[0] = (unsigned char)kind;
    return body;
}

/* Returns where to add a number and that many bytes. NULL: the body is too long, now and later. */
static unsigned char *body_room(struct body *body, uint32_t bytes_count) {
    body->is_too_long |= body->count + LEB128_BYTES_MAX + bytes_count > BODY_BYTES_MAX;
    return body->is_too_long ? NULL : body->bytes + body->count;
}

static void body_add_number(struct body *body, uint64_t value) {
    unsigned char *at = body_room(body, 0);
    if (at) body->count = (uint32_t)(leb128_write(at, value) - body->bytes);
}

static void body_add_bytes(struct body *body, const void *bytes, uint32_t bytes_count) {
    unsigned char *at = body_room(body, bytes_count);
    if (at) body->count = (uint32_t)(leb128_write_bytes(at, bytes, bytes_count) - body->bytes);
}

static void body_add_text(struct body *body, const char *text) {
    size_t bytes_count = text ? strnlen(text, GREC_NAME_BYTES_MAX + 1) : 0;
    if (bytes_count > GREC_NAME_BYTES_MAX) {
        bytes_count = GREC_NAME_BYTES_MAX;
        recording_count_loss(LOSS_TEXT, 1);
    }
    body_add_bytes(body, text, (uint32_t)bytes_count);
}

/* A part is a number (GREC_UINT), a text (GREC_TEXT), or bytes (GREC_TEXT_OF). */
static void body_add_parts(struct body *body, const struct grec_value *parts, size_t count) {
    for (size_t i = 0; i < count; i++) {
        if (parts[i].kind == GREC_VALUE_UNSIGNED)
            body_add_number(body, parts[i].as.number);
        else if (parts[i].count == GREC_TEXT_TERMINATED)
            body_add_text(body, parts[i].as.pointer);
        else
            body_add_bytes(body, parts[i].as.pointer, parts[i].count);
    }
}

/* ---- The log. ---- */

enum { DEFINITION_HEAD_BYTES = 8, ALIGNMENT = 4 };

/* A position in the log, and the id of the definition that starts there. The hint is a position in one word. */
struct position {
    uint64_t chunk;
    uint32_t offset;
    uint64_t id;
};

/* The largest offset is that of the chunk's end. */
enum { HINT_ID_BITS = 24, HINT_OFFSET_BITS = 19 };
_Static_assert(TRACE_CHUNK_BYTES_MAX / ALIGNMENT < 1 << HINT_OFFSET_BITS, "every offset fits");

static uint64_t pack(struct position position) {
    return position.chunk << (HINT_ID_BITS + HINT_OFFSET_BITS) |
           (uint64_t)(position.offset / ALIGNMENT) << HINT_ID_BITS | position.id;
}

static struct position unpack(uint64_t hint) {
    if (!hint) return (struct position){0, TRACE_CHUNK_HEADER_BYTES, 1};
    return (struct position){.chunk = hint >> (HINT_ID_BITS + HINT_OFFSET_BITS),
                             .offset = (uint32_t)(hint >> HINT_ID_BITS & ((1u << HINT_OFFSET_BITS) - 1)) * ALIGNMENT,
                             .id = hint & ((1u << HINT_ID_BITS) - 1)};
}

/* The hint only moves forward. A position that does not fit its bits is not stored: walks are longer then. */
static void raise_hint(struct position position) {
    if (position.id >> HINT_ID_BITS || position.chunk >> (64 - HINT_ID_BITS - HINT_OFFSET_BITS)) return;
    uint64_t *hint = &recording_pool.header->definition_hint;
    uint64_t old = __atomic_load_n(hint, __ATOMIC_RELAXED);
    while (unpack(old).id < position.id &&
           !__atomic_compare_exchange_n(hint, &old, pack(position), true, __ATOMIC_RELEASE, __ATOMIC_RELAXED)) {
    }
}

static uint32_t block_bytes(uint32_t body_bytes) {
    return DEFINITION_HEAD_BYTES + (body_bytes + ALIGNMENT - 1) / ALIGNMENT * ALIGNMENT;
}

static uint32_t *word_at(struct position position) {
    return (uint32_t *)((unsigned char *)pool_chunk(&recording_pool, position.chunk) + position.offset);
}

/* Moves to the chunk in which the log continues, and adds one if there is none. Returns false if there is no room. */
static bool go_to_next_chunk(struct position *position) {
    struct trace_chunk_header *chunk = pool_chunk(&recording_pool, position->chunk);
    uint32_t next = __atomic_load_n(&chunk->next_chunk, __ATOMIC_ACQUIRE);
    if (!next) {
        const struct process_state *process = process_self();
        struct trace_chunk_header *added = pool_take_pinned(&recording_pool, process->pid, position->id);
        if (!added) return false;
        uint32_t number = (uint32_t)pool_chunk_number(&recording_pool, added) + 1;
        if (__atomic_compare_exchange_n(&chunk->next_chunk, &next, number, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            next = number;
        else
            pool_return_pinned(&recording_pool, added);
    }
    position->chunk = next - 1;
    position->offset = TRACE_CHUNK_HEADER_BYTES;
    return true;
}

/* Claims a position for a body of body_bytes bytes. Returns false if there is no room. */
static bool claim(uint32_t body_bytes, struct position *claimed) {
    struct position position = unpack(__atomic_load_n(&recording_pool.header->definition_hint, __ATOMIC_ACQUIRE));
    for (;;) {
        bool has_word = position.offset + DEFINITION_HEAD_BYTES <= recording_pool.chunk_bytes;
        uint32_t word = has_word ? __atomic_load_n(word_at(position), __ATOMIC_ACQUIRE) : TRACE_DEFINITION_CHUNK_END;
        if (word == 0) {
            bool fits = position.offset + block_bytes(body_bytes) <= recording_pool.chunk_bytes;
            uint32_t taken = fits ? body_bytes : TRACE_DEFINITION_CHUNK_END;
            bool is_ours =
                __atomic_compare_exchange_n(word_at(position), &word, taken, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
            if (is_ours && fits) {
                *claimed = position;
                return true;
            }
            if (is_ours) word = taken;
        }
        if (word == TRACE_DEFINITION_CHUNK_END) {
            if (!go_to_next_chunk(&position)) return false;
            continue;
        }
        position.offset += block_bytes(word & ~TRACE_DEFINITION_PUBLISHED);
        position.id++;
    }
}

static uint32_t append(const struct body *body, uint64_t hash) {
    struct position position;
    if (!claim(body->count, &position)) return 0;
    uint32_t *word = word_at(position);
    word[1] = (uint32_t)(hash + position.id);
    memcpy(word + 2, body->bytes, body->count);
    __atomic_store_n(word, body->count | TRACE_DEFINITION_PUBLISHED, __ATOMIC_RELEASE);
    position.offset += block_bytes(body->count);
    position.id++;
    raise_hint(position);
    return (uint32_t)(position.id - 1);
}

/* ---- Equal definitions have one id: programs that join a recording define many things again. ---- */

enum { PROBE_COUNT = 16 };

/* Finds the slot with that hash, or claims an empty one for it. Returns NULL if neither is near. */
static struct pool_definition_slot *find_slot(uint64_t hash) {
    uint64_t count = recording_pool.shared->definition_slot_count;
    for (uint64_t i = 0; i < PROBE_COUNT && i < count; i++) {
        struct pool_definition_slot *slot = &recording_pool.definitions[(hash + i) % count];
        uint64_t seen = __atomic_load_n(&slot->hash, __ATOMIC_ACQUIRE);
        bool is_ours =
            !seen && __atomic_compare_exchange_n(&slot->hash, &seen, hash, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE);
        if (is_ours || seen == hash) return slot;
    }
    return NULL;
}

/* If several threads intern the same body at once, each of them appends it, which does no harm. */
static uint32_t intern(const struct body *body) {
    uint32_t bytes_max = recording_pool.chunk_bytes / 2;
    if (body->is_too_long || body->count > bytes_max) return 0;
    uint64_t hash = hash_bytes(body->bytes, body->count);
    struct pool_definition_slot *slot = find_slot(hash ? hash : 1);
    uint64_t id = slot ? __atomic_load_n(&slot->id, __ATOMIC_ACQUIRE) : 0;
    if (id) return (uint32_t)id;
    id = append(body, hash);
    if (slot && id) __atomic_store_n(&slot->id, id, __ATOMIC_RELEASE);
    return (uint32_t)id;
}

/* ---- Descriptions. ---- */

bool definition_is_known(uint64_t cache) { return cache >> 32 == recording_generation; }

static bool find_cached(const uint64_t *cache, uint32_t *id) {
    uint64_t value = __atomic_load_n(cache, __ATOMIC_ACQUIRE);
    *id = (uint32_t)value;
    return definition_is_known(value);
}

/* Releases the body of a definition that has this id. 0: the definition is lost. */
static uint32_t finish(struct body *body, uint32_t id) {
    scratch_give(body->bytes);
    if (!id) recording_count_loss(LOSS_DEFINITION, 1);
    return id;
}

uint32_t definition_of_parts(enum trace_definition_kind kind, const struct grec_value *parts, size_t count) {
    struct body body = body_begin(kind);
    body_add_parts(&body, parts, count);
    return finish(&body, intern(&body));
}

uint32_t definition_add(enum trace_definition_kind kind, const struct grec_value *parts, size_t count) {
    struct body body = body_begin(kind);
    body_add_parts(&body, parts, count);
    return finish(&body, body.is_too_long ? 0 : append(&body, hash_bytes(body.bytes, body.count)));
}

/* A failure is cached too, so that it costs no second search. */
static uint32_t keep_id(uint64_t *cache, uint32_t id) {
    __atomic_store_n(cache, (uint64_t)recording_generation << 32 | id, __ATOMIC_RELEASE);
    return id;
}

static uint32_t define(enum trace_definition_kind kind, const struct grec_value *parts, size_t count, uint64_t *cache) {
    return keep_id(cache, definition_of_parts(kind, parts, count));
}

#define PART_COUNT(parts) (sizeof(parts) / sizeof *(parts))

enum { CATEGORY_CLIMB_MAX = 8 };

/* Categories have two levels. A category below the second one belongs to the topmost. */
static struct grec_category *top_of(struct grec_category *category) {
    struct grec_category *top = category->parent;
    for (int i = 0; top && top->parent && i < CATEGORY_CLIMB_MAX; i++) top = top->parent;
    return top && !top->parent ? top : NULL;
}

uint32_t definition_of_category(struct grec_category *category) {
    uint32_t id;
    if (!category) return 0;
    if (find_cached(&category->cache_, &id)) return id;
    struct grec_category *top = top_of(category);
    uint32_t top_id = top ? definition_of_category(top) : 0;
    const struct grec_value parts[] = {GREC_TEXT(category->name), GREC_UINT(category->color), GREC_UINT(top_id)};
    return define(TRACE_DEFINE_CATEGORY, parts, PART_COUNT(parts), &category->cache_);
}

static void add_field(struct body *body, const struct grec_field *field) {
    uint32_t format = field->format < TRACE_FIELD_FORMAT_COUNT ? field->format : TRACE_FIELD_STRING;
    body_add_text(body, field->key);
    body_add_text(body, field->label ? field->label : field->key);
    body_add_number(body, format);
    body_add_number(body, field->flags);
    size_t column_count = format == TRACE_FIELD_TABLE && field->columns ? field->column_count : 0;
    body_add_number(body, column_count);
    for (size_t i = 0; i < column_count && !body->is_too_long; i++) {
        body_add_text(body, field->columns[i].label);
        body_add_number(body, field->columns[i].format);
    }
}

static uint32_t field_count_of(const struct grec_marker_type *type) {
    if (!type->fields) return 0;
    return type->field_count < GREC_FIELD_COUNT_MAX ? (uint32_t)type->field_count : GREC_FIELD_COUNT_MAX;
}

static void add_type(struct body *body, const struct grec_marker_type *type) {
    uint32_t field_count = field_count_of(type);
    const struct grec_value parts[] = {
        GREC_TEXT(type->name),        GREC_TEXT(type->description),
        GREC_TEXT(type->chart_label), GREC_TEXT(type->tooltip_label),
        GREC_TEXT(type->table_label), GREC_TEXT(type->color_field),
        GREC_UINT(type->display),     GREC_UINT(type->is_stack_based ? TRACE_TYPE_IS_STACK_BASED : 0),
        GREC_UINT(field_count)};
    body_add_parts(body, parts, PART_COUNT(parts));
    for (uint32_t i = 0; i < field_count; i++) add_field(body, &type->fields[i]);
    size_t graph_count = type->graphs ? type->graph_count : 0;
    body_add_number(body, graph_count);
    for (size_t i = 0; i < graph_count && !body->is_too_long; i++) {
        body_add_text(body, type->graphs[i].key);
        body_add_number(body, type->graphs[i].type);
        body_add_number(body, type->graphs[i].color);
    }
}

static void fill_wires(struct grec_marker_type *type) {
    for (uint32_t i = 0; i < field_count_of(type); i++) {
        uint32_t format = type->fields[i].format;
        uint8_t wire = trace_field_wire[format < TRACE_FIELD_FORMAT_COUNT ? format : TRACE_FIELD_STRING];
        __atomic_store_n(&type->wires_[i], wire, __ATOMIC_RELAXED);
    }
}

static uint32_t definition_of_marker_type(struct grec_marker_type *type) {
    uint32_t id;
    if (!type || !type->name) return 0;
    if (find_cached(&type->cache_, &id)) return id;
    fill_wires(type);
    struct body body = body_begin(TRACE_DEFINE_MARKER_TYPE);
    add_type(&body, type);
    return keep_id(&type->cache_, finish(&body, intern(&body)));
}

uint32_t definition_of_marker(struct grec_marker *marker) {
    uint32_t id;
    if (find_cached(&marker->cache_, &id)) return id;
    uint32_t category_id = definition_of_category(marker->category);
    uint32_t type_id = definition_of_marker_type(marker->type);
    const struct grec_value parts[] = {GREC_TEXT(marker->name), GREC_UINT(category_id), GREC_UINT(type_id)};
    return define(TRACE_DEFINE_MARKER, parts, PART_COUNT(parts), &marker->cache_);
}

uint32_t definition_of_label(struct grec_label *label) {
    uint32_t id;
    if (!label) return 0;
    if (find_cached(&label->cache_, &id)) return id;
    uint32_t category_id = definition_of_category(label->category);
    const struct grec_value parts[] = {GREC_TEXT(label->name), GREC_UINT(category_id), GREC_TEXT(label->file),
                                       GREC_UINT(label->line)};
    return define(TRACE_DEFINE_LABEL, parts, PART_COUNT(parts), &label->cache_);
}

uint32_t definition_of_counter(struct grec_counter *counter) {
    uint32_t id;
    if (find_cached(&counter->cache_, &id)) return id;
    const struct grec_value parts[] = {GREC_TEXT(counter->name),        GREC_TEXT(counter->category),
                                       GREC_TEXT(counter->description), GREC_TEXT(counter->label),
                                       GREC_TEXT(counter->unit),        GREC_UINT(counter->graph),
                                       GREC_UINT(counter->color),       GREC_UINT(leb128_zigzag(counter->sort_weight))};
    return define(TRACE_DEFINE_COUNTER, parts, PART_COUNT(parts), &counter->cache_);
}

uint32_t definition_of_string(struct grec_string *string) {
    uint32_t id;
    if (!string) return 0;
    if (find_cached(&string->cache_, &id)) return id;
    const struct grec_value text = GREC_TEXT(string->text);
    return define(TRACE_DEFINE_STRING, &text, 1, &string->cache_);
}

/* Definitions of the process may come before its first event. */
static bool has_thread(void) { return thread_record_self || thread_registry_claim(); }

void definition_add_arguments(const char *bytes, size_t bytes_count) {
    const struct process_state *process = process_self();
    if (!bytes_count || !has_thread()) return;
    if (bytes_count > DEFINITION_ARGUMENTS_BYTES_MAX) {
        bytes_count = DEFINITION_ARGUMENTS_BYTES_MAX;
        recording_count_loss(LOSS_TEXT, 1);
    }
    const struct grec_value parts[] = {GREC_UINT(process->pid), GREC_UINT(process->start_ns),
                                       GREC_TEXT_OF(bytes, bytes_count)};
    definition_add(TRACE_DEFINE_ARGUMENTS, parts, PART_COUNT(parts));
}

void definition_add_meta(const char *key, const char *value) {
    const struct grec_value parts[] = {GREC_TEXT(key), GREC_TEXT(value)};
    if (value && *value && has_thread()) definition_of_parts(TRACE_DEFINE_META, parts, PART_COUNT(parts));
}
