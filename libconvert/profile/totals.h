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

/* Adds the weights of a tree's stacks to those of the functions. `self` has the weight of the samples with exactly that
 * stack, by node. `functions` has function_count elements, and every node's function is less than that. Failures
 * (memory) are latched. */
void totals_add(struct function_weights *functions, size_t function_count, const struct call_node *nodes,
                const double *self, size_t node_count, struct failure *failure);
