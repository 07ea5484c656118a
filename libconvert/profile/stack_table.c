#include "stack_table.h"

#include <string.h>

#include "libconvert/base/index_set.h"
#include "libconvert/base/memory.h"

enum { FIRST_SLOT_COUNT = 64 };

struct stack_slot {
    stack_id prefix;
    frame_id frame;
    stack_id stack; /* none: the slot is empty */
};

void stack_table_init(struct stack_table *table, struct failure *failure) {
    *table = (struct stack_table){0};
    column_init(&table->rows, sizeof(struct stack), failure);
}

void stack_table_fini(struct stack_table *table) {
    memory_free(table->slots);
    column_fini(&table->rows);
    *table = (struct stack_table){0};
}

void stack_table_seal(struct stack_table *table) {
    memory_free(table->slots);
    table->slots = NULL;
    table->mask = table->limit = 0;
}

void stack_table_clear(struct stack_table *table) {
    stack_table_seal(table);
    table->rows.count = 0;
    table->used_slot_count = 0;
}

/* A foreign file decides the order of the ids, so the hash needs a secret (see index_set.h). */
static size_t hash_of(stack_id prefix, frame_id frame) {
    uint64_t secret[2];
    memcpy(secret, index_set_secret, sizeof secret);
    uint64_t key = (uint64_t)prefix.index << 32 | frame.index;
    __uint128_t product = (__uint128_t)(key ^ secret[0]) * (secret[1] | 1);
    return (size_t)(product >> 64) ^ (size_t)product;
}

static struct stack_slot *find_slot(const struct stack_table *table, stack_id prefix, frame_id frame) {
    size_t at = hash_of(prefix, frame) & table->mask;
    for (;; at = (at + 1) & table->mask) {
        struct stack_slot *slot = &table->slots[at];
        bool is_found = stack_is_same(slot->prefix, prefix) && frame_is_same(slot->frame, frame);
        if (is_found || stack_is_none(slot->stack)) return slot;
    }
}

/* Fills the slots of a table that was sealed: with roots, and with children that are not the first. */
static void find_rows_again(struct stack_table *table) {
    for (uint32_t i = 0; i < table->rows.count; i++) {
        const struct stack *row = column_at(&table->rows, i);
        const struct stack *parent = stack_is_none(row->prefix) ? NULL : column_at(&table->rows, row->prefix.index);
        if (parent && parent->first_child.index == i) continue;
        *find_slot(table, row->prefix, row->frame) = (struct stack_slot){row->prefix, row->frame, {i}};
    }
}

/* Moves the slots in their order. Each goes to its old place or to that place in the new half, so memory is written
 * from start to end twice and not at random. */
static bool grow(struct stack_table *table) {
    size_t old_count = table->slots ? table->mask + 1 : 0;
    size_t slot_count = FIRST_SLOT_COUNT;
    while (slot_count / 4 * 3 <= table->used_slot_count) slot_count *= 2;
    struct stack_slot *old_slots = table->slots;
    struct stack_slot *slots = memory_allocate(table->rows.failure, slot_count * sizeof *slots);
    if (!slots) return false;
    memset(slots, 0xff, slot_count * sizeof *slots);
    table->slots = slots;
    table->mask = slot_count - 1;
    table->limit = slot_count / 4 * 3;
    for (size_t i = 0; i < old_count; i++) {
        const struct stack_slot *slot = &old_slots[i];
        if (!stack_is_none(slot->stack)) *find_slot(table, slot->prefix, slot->frame) = *slot;
    }
    if (!old_slots) find_rows_again(table);
    memory_free(old_slots);
    return true;
}

static stack_id add(struct stack_table *table, stack_id prefix, frame_id frame) {
    stack_id id = {table->rows.count};
    struct stack *row = column_push(&table->rows);
    if (!row) return stack_none();
    *row = (struct stack){.prefix = prefix, .frame = frame, .first_child = stack_none(), .last_child = stack_none()};
    return id;
}

stack_id stack_table_append(struct stack_table *table, stack_id prefix, frame_id frame) {
    table->used_slot_count++;
    return add(table, prefix, frame);
}

/* Looks up a root, or a stack that is not its caller's first child, and adds it if it is new. */
static stack_id intern_slot(struct stack_table *table, stack_id prefix, frame_id frame) {
    if (table->used_slot_count >= table->limit && !grow(table)) return stack_none();
    struct stack_slot *slot = find_slot(table, prefix, frame);
    if (!stack_is_none(slot->stack)) return slot->stack;
    stack_id id = add(table, prefix, frame);
    if (stack_is_none(id)) return id;
    *slot = (struct stack_slot){prefix, frame, id};
    table->used_slot_count++;
    return id;
}

static bool is_child(const struct stack_table *table, stack_id child, frame_id frame) {
    return frame_is_same(((const struct stack *)column_at(&table->rows, child.index))->frame, frame);
}

stack_id stack_table_intern(struct stack_table *table, stack_id prefix, frame_id frame) {
    if (stack_is_none(prefix)) return intern_slot(table, prefix, frame);
    struct stack *parent = column_at(&table->rows, prefix.index);
    if (stack_is_none(parent->first_child)) return parent->last_child = parent->first_child = add(table, prefix, frame);
    if (is_child(table, parent->last_child, frame)) return parent->last_child;
    bool is_first = is_child(table, parent->first_child, frame);
    stack_id id = is_first ? parent->first_child : intern_slot(table, prefix, frame);
    if (!stack_is_none(id)) parent->last_child = id;
    return id;
}

/* The rows are compacted in place: callers come before their callees, so a row is read before it is written over. */
stack_id *stack_table_renumber(struct stack_table *table, const frame_id *frames) {
    uint32_t count = table->rows.count;
    stack_id *ids = memory_allocate(table->rows.failure, count * sizeof *ids);
    if (!ids) return NULL;
    stack_table_clear(table);
    for (uint32_t i = 0; i < count; i++) {
        const struct stack row = *(const struct stack *)column_at(&table->rows, i);
        stack_id prefix = stack_is_none(row.prefix) ? row.prefix : ids[row.prefix.index];
        ids[i] = stack_table_intern(table, prefix, frames[row.frame.index]);
        if (stack_is_none(ids[i])) break;
    }
    return ids;
}
