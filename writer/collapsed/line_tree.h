/* Collapsed stacks with their weights: a tree of the texts of frames, whose rows become lines in the order of their
 * bytes. */
#pragma once

#include "libconvert/base/decimal.h"
#include "libconvert/base/progress.h"
#include "libconvert/base/strings.h"
#include "libconvert/profile/stack_table.h"
#include "writer/chunk_list.h"

struct line_tree {
    const struct strings *texts; /* borrowed; without semicolons */
    struct stack_table rows;     /* the frame of a row is the number of its text */
    struct column weights;       /* struct line_weight; the rows after the last one have none */
    uint64_t rounded_count;      /* how often a digit of a fraction was rounded away */
};

void line_tree_init(struct line_tree *tree, const struct strings *texts, struct failure *failure);
void line_tree_fini(struct line_tree *tree);

/* Returns the row that extends `caller` (none: a root) by a frame with that text; none if memory ran out (latched). */
static inline stack_id line_tree_row(struct line_tree *tree, stack_id caller, string_id text) {
    return stack_table_intern(&tree->rows, caller, (frame_id){text.index});
}

/* Makes the row a line, and adds to its weight. Returns false if the sum is too large, and then adds nothing. Running
 * out of memory is latched. */
bool line_tree_add(struct line_tree *tree, stack_id row, struct decimal weight);

/* Appends the lines, "frame;frame;frame WEIGHT", sorted by their stacks as bytes. If a weight is negative, all lines
 * are differences: "frame;frame BEFORE AFTER", one of which is 0, because tools that draw flame graphs accept no
 * signs. */
void line_tree_write(const struct line_tree *tree, struct chunk_list *out, struct progress progress);
