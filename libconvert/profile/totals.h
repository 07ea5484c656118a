/* The weights of functions: alone, and including all that they call. */
#pragma once

#include "libconvert/base/column.h"
#include "libconvert/base/ids.h"

/* A stack: the stack of its caller and the innermost function. */
struct call_node {
    uint32_t prefix; /* number of the caller's node, less than its own; ID_NONE: there is no caller */
    uint32_t function;
};

struct function_weights {
    double self;  /* weight of the samples in which the function is innermost */
    double total; /* weight of the samples in which the function occurs anywhere; recursion counts once */
};

/* The nodes with which functions begin: no caller has the same function. */
struct outermost_nodes {
    const struct call_node *nodes; /* borrowed */
    size_t node_count;
    uint32_t *order; /* owned: numbers of nodes, as a depth-first walk finds them */
    size_t count;
};

/* Finds them in a tree. Every node's function is less than function_count. Failures (memory) are latched. */
void outermost_nodes_find(struct outermost_nodes *outermost, const struct call_node *nodes, size_t node_count,
                          size_t function_count, struct failure *failure);
void outermost_nodes_fini(struct outermost_nodes *outermost);

/* Adds the weights of a tree's stacks to those of the functions. `self` has the weight of the samples with exactly that
 * stack, by node. Failures (memory) are latched. */
void totals_add(struct function_weights *functions, const struct outermost_nodes *outermost, const double *self,
                struct failure *failure);
