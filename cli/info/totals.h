/* What functions weigh: alone, and with all that they call. */
#ifndef GECKO_TOTALS_H
#define GECKO_TOTALS_H

#include "libconvert/column.h"
#include "libconvert/ids.h"

/* A stack: its caller's, and its innermost function. */
struct call_node {
    uint32_t prefix; /* a smaller number than its own; ID_NONE: a root */
    uint32_t function;
};

struct function_weights {
    double self;  /* of samples in which it is the innermost */
    double total; /* of samples in which it is anywhere; recursion counts once */
};

/* Adds the weights of a tree to those of its functions. `self` are the weights of the samples with that very stack;
 * `functions` has room for all that the nodes name. Failures (memory) are latched. */
void totals_add(struct function_weights *functions, size_t function_count, const struct call_node *nodes,
                const double *self, size_t node_count, struct failure *failure);

#endif
