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

SCRATCH_DEFINE(bodies, BODY_BYTES_MAX);

struct body {
    unsigned char *bytes; /* NULL: there is no memory */
    uint32_t count;
    bool is_too_long; /* or there is no memory */
};

static struct body body_begin(enum trace_definition_kind kind) {
    struct body body = {.bytes = scratch_take(&bodies), .count = 1};
    body.is_too_long = !body.bytes;
    if (body.bytes) body.bytes[0] = (unsigned char)kind;
    return body;
}

static void body_end(struct body *body) {
    if (body->bytes) scratch_give(&bodies, body->bytes);
}

void definitions_enter_child(void) { scratch_enter_child(&bodies); }

static void body_add_number(struct body *body, uint64_t value) {
    if (body->is_too_long || body->count + LEB128_BYTES_MAX > BODY_BYTES_MAX) {
        body->is_too_long = true;
        return;
    }
    body->count = (uint32_t)(leb128_write(body->bytes + body->count, value) - body->bytes);
}

static void body_add_bytes(struct body *body, const void *bytes, uint32_t bytes_count) {
    if (body->is_too_long || body->count + LEB128_BYTES_MAX + bytes_count > BODY_BYTES_MAX) {
        body->is_too_long = true;
        return;
    }
    body->count = (uint32_t)(leb128_write_bytes(body->bytes + body->count, bytes, bytes_count) - body->bytes);
}

static void body_add_text(struct body *body, const char *text) {
    size_t bytes_count = text ? strnlen(text, GREC_NAME_BYTES_MAX + 1) : 0;
    if (bytes_count > GREC_NAME_BYTES_MAX) {
        bytes_count = GREC_NAME_BYTES_MAX;
        recording_count_loss(LOSS_TEXT, 1);
    }
    body_add_bytes(body, text, (uint32_t)bytes_count);
}

static void body_add_process(struct body *body) {
    const struct process_state *process = process_self();
    body_add_number(body, process->pid);
    body_add_number(body, process->start_ns);
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

static uint64_t order(struct position position) { return position.id; }

/* The hint only moves forward. A position that does not fit its bits is not stored: walks are longer then. */
static void raise_hint(struct position position) {
    if (order(position) >> HINT_ID_BITS || position.chunk >> (64 - HINT_ID_BITS - HINT_OFFSET_BITS)) return;
    uint64_t *hint = &recording_pool.header->definition_hint;
    uint64_t old = __atomic_load_n(hint, __ATOMIC_RELAXED);
    while (order(unpack(old)) < order(position) &&
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
        if (seen == hash) return slot;
        if (seen) continue;
        if (__atomic_compare_exchange_n(&slot->hash, &seen, hash, false, __ATOMIC_ACQ_REL, __ATOMIC_ACQUIRE))
            return slot;
        if (seen == hash) return slot;
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

/* A failure is cached too, so that it costs no second search. */
static uint32_t finish(struct body *body, uint64_t *cache) {
    uint32_t id = intern(body);
    body_end(body);
    if (!id) recording_count_loss(LOSS_DEFINITION, 1);
    __atomic_store_n(cache, (uint64_t)recording_generation << 32 | id, __ATOMIC_RELEASE);
    return id;
}

/* Appends a body that no other one equals, or that must not be merged with one that does. */
static uint32_t finish_unshared(struct body *body) {
    uint32_t id = body->is_too_long ? 0 : append(body, hash_bytes(body->bytes, body->count));
    body_end(body);
    if (!id) recording_count_loss(LOSS_DEFINITION, 1);
    return id;
}

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
    struct body body = body_begin(TRACE_DEFINE_CATEGORY);
    body_add_text(&body, category->name);
    body_add_number(&body, category->color);
    body_add_number(&body, top_id);
    return finish(&body, &category->cache_);
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
    body_add_text(body, type->name);
    body_add_text(body, type->description);
    body_add_text(body, type->chart_label);
    body_add_text(body, type->tooltip_label);
    body_add_text(body, type->table_label);
    body_add_text(body, type->color_field);
    body_add_number(body, type->display);
    body_add_number(body, type->is_stack_based ? TRACE_TYPE_IS_STACK_BASED : 0);
    uint32_t field_count = field_count_of(type);
    body_add_number(body, field_count);
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
    return finish(&body, &type->cache_);
}

uint32_t definition_of_marker(struct grec_marker *marker) {
    uint32_t id;
    if (find_cached(&marker->cache_, &id)) return id;
    uint32_t category_id = definition_of_category(marker->category);
    uint32_t type_id = definition_of_marker_type(marker->type);
    struct body body = body_begin(TRACE_DEFINE_MARKER);
    body_add_text(&body, marker->name);
    body_add_number(&body, category_id);
    body_add_number(&body, type_id);
    return finish(&body, &marker->cache_);
}

uint32_t definition_of_label(struct grec_label *label) {
    uint32_t id;
    if (!label) return 0;
    if (find_cached(&label->cache_, &id)) return id;
    uint32_t category_id = definition_of_category(label->category);
    struct body body = body_begin(TRACE_DEFINE_LABEL);
    body_add_text(&body, label->name);
    body_add_number(&body, category_id);
    body_add_text(&body, label->file);
    body_add_number(&body, label->line);
    return finish(&body, &label->cache_);
}

uint32_t definition_of_counter(struct grec_counter *counter) {
    uint32_t id;
    if (find_cached(&counter->cache_, &id)) return id;
    struct body body = body_begin(TRACE_DEFINE_COUNTER);
    body_add_text(&body, counter->name);
    body_add_text(&body, counter->category);
    body_add_text(&body, counter->description);
    body_add_text(&body, counter->label);
    body_add_text(&body, counter->unit);
    body_add_number(&body, counter->graph);
    body_add_number(&body, counter->color);
    body_add_number(&body, leb128_zigzag(counter->sort_weight));
    return finish(&body, &counter->cache_);
}

uint32_t definition_of_string(struct grec_string *string) {
    uint32_t id;
    if (!string) return 0;
    if (find_cached(&string->cache_, &id)) return id;
    struct body body = body_begin(TRACE_DEFINE_STRING);
    body_add_text(&body, string->text);
    return finish(&body, &string->cache_);
}

uint32_t definition_of_library(const char *path, const unsigned char *build_id, uint32_t build_id_bytes) {
    uint64_t cache = 0;
    struct body body = body_begin(TRACE_DEFINE_LIBRARY);
    body_add_text(&body, path);
    body_add_bytes(&body, build_id, build_id_bytes);
    return finish(&body, &cache);
}

void definition_add_symbol(uint32_t library_id, uint64_t offset, uint64_t size_bytes, const char *name) {
    uint64_t cache = 0;
    struct body body = body_begin(TRACE_DEFINE_SYMBOL);
    body_add_number(&body, library_id);
    body_add_number(&body, offset);
    body_add_number(&body, size_bytes);
    body_add_text(&body, name);
    finish(&body, &cache);
}

/* A library may be mapped again at its address after another one was there. That is a new definition, since the
 * last one for an address counts. So mappings are not interned. */
uint32_t definition_of_mapping(uint64_t address, uint64_t size_bytes, uint64_t offset, uint32_t library_id) {
    struct body body = body_begin(TRACE_DEFINE_MAPPING);
    body_add_process(&body);
    body_add_number(&body, address);
    body_add_number(&body, size_bytes);
    body_add_number(&body, offset);
    body_add_number(&body, library_id);
    return finish_unshared(&body);
}

uint32_t definition_of_inheritance(uint32_t parent_pid, uint64_t parent_start_ns, uint32_t last_mapping_id) {
    uint64_t cache = 0;
    struct body body = body_begin(TRACE_DEFINE_INHERITANCE);
    body_add_process(&body);
    body_add_number(&body, parent_pid);
    body_add_number(&body, parent_start_ns);
    body_add_number(&body, last_mapping_id);
    return finish(&body, &cache);
}

/* Definitions of the process may come before its first event. */
static bool has_thread(void) { return thread_record_self || thread_registry_claim(); }

void definition_add_arguments(const char *bytes, size_t bytes_count) {
    if (!bytes_count || !has_thread()) return;
    if (bytes_count > DEFINITION_ARGUMENTS_BYTES_MAX) {
        bytes_count = DEFINITION_ARGUMENTS_BYTES_MAX;
        recording_count_loss(LOSS_TEXT, 1);
    }
    struct body body = body_begin(TRACE_DEFINE_ARGUMENTS);
    body_add_process(&body);
    body_add_bytes(&body, bytes, (uint32_t)bytes_count);
    finish_unshared(&body);
}

void definition_add_meta(const char *key, const char *value) {
    if (!value || !*value || !has_thread()) return;
    struct body body = body_begin(TRACE_DEFINE_META);
    body_add_text(&body, key);
    body_add_text(&body, value);
    intern(&body);
    body_end(&body);
}
