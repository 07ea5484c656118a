/* The stacks of a profile: a tree in which each row names the stack of its caller and its innermost frame.
 *
 * About half of all stacks are their caller's first child, and the same child is often asked for again. Each row
 * therefore knows its first child and the child that was last asked for, which are usually close by. The hash has only
 * roots and children that are not the first; its slots hold the whole key. */
#pragma once

#include "frames.h"
#include "libconvert/base/column.h"

struct stack_table {
    struct column rows;       /* struct stack */
    struct stack_slot *slots; /* owned */
    size_t mask;              /* the number of slots, less 1 */
    size_t used_slot_count;   /* number of used slots; in a sealed table, how many are filled when it is used again */
    size_t limit;             /* the count of used slots at which the hash grows */
};

void stack_table_init(struct stack_table *table, struct failure *failure);
void stack_table_fini(struct stack_table *table);

/* Frees the memory that finding stacks takes, until the next stack is added. Call it when none is expected soon. */
void stack_table_seal(struct stack_table *table);

/* Removes all stacks. Their rows can still be read until others take their places. */
void stack_table_clear(struct stack_table *table);

/* Returns the stack that extends `prefix` (none: a root) by `frame`, which is added if it is new; none if memory ran
 * out (latched). */
stack_id stack_table_intern(struct stack_table *table, stack_id prefix, frame_id frame);

/* Adds a stack that a sealed or cleared table does not have, without looking it up. Returns none if memory ran out
 * (latched). */
stack_id stack_table_append(struct stack_table *table, stack_id prefix, frame_id frame);

/* Replaces the frame of each stack by frames[its number], which may make stacks equal. Returns an array with the new id
 * of each stack, by its old number; free it with memory_free. Returns NULL if memory ran out (latched). */
stack_id *stack_table_renumber(struct stack_table *table, const frame_id *frames);

static inline const struct stack *stack_table_at(const struct stack_table *table, uint32_t row) {
    return column_at(&table->rows, row);
}

static inline uint32_t stack_table_count(const struct stack_table *table) { return table->rows.count; }
