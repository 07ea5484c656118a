#include "totals.h"

#include "libconvert/base/memory.h"

/* The links that a depth-first walk needs. */
struct tree {
    const struct call_node *nodes;
    uint32_t *first_child;  /* by node; the last element is the first root */
    uint32_t *next_sibling; /* by node */
    uint32_t *depths;       /* by function: how often it occurs on the way from the root */
};

static void link_children(struct tree *tree, size_t node_count) {
    for (size_t i = 0; i <= node_count; i++) tree->first_child[i] = ID_NONE;
    for (size_t i = node_count; i-- > 0;) {
        uint32_t prefix = tree->nodes[i].prefix;
        uint32_t *first = &tree->first_child[prefix == ID_NONE ? node_count : prefix];
        tree->next_sibling[i] = *first;
        *first = (uint32_t)i;
    }
}

/* Returns the next node in depth-first order after `node`, whose children are done, and leaves the node and all callers
 * that are done as well. */
static uint32_t leave(struct tree *tree, uint32_t node) {
    while (node != ID_NONE) {
        tree->depths[tree->nodes[node].function]--;
        if (tree->next_sibling[node] != ID_NONE) return tree->next_sibling[node];
        node = tree->nodes[node].prefix;
    }
    return ID_NONE;
}

static void walk(struct tree *tree, struct outermost_nodes *outermost) {
    uint32_t node = tree->first_child[outermost->node_count];
    while (node != ID_NONE) {
        if (tree->depths[tree->nodes[node].function]++ == 0) outermost->order[outermost->count++] = node;
        uint32_t child = tree->first_child[node];
        node = child != ID_NONE ? child : leave(tree, node);
    }
}

void outermost_nodes_find(struct outermost_nodes *outermost, const struct call_node *nodes, size_t node_count,
                          size_t function_count, struct failure *failure) {
    struct tree tree = {.nodes = nodes};
    *outermost = (struct outermost_nodes){.nodes = nodes, .node_count = node_count};
    outermost->order = memory_allocate(failure, node_count * sizeof *outermost->order);
    tree.first_child = memory_allocate(failure, (node_count + 1) * sizeof *tree.first_child);
    tree.next_sibling = memory_allocate(failure, node_count * sizeof *tree.next_sibling);
    tree.depths = memory_allocate_zeroed(failure, function_count, sizeof *tree.depths);
    if (!failure_is_set(failure)) {
        link_children(&tree, node_count);
        walk(&tree, outermost);
    }
    MEMORY_FREE_ALL(tree.depths, tree.next_sibling, tree.first_child);
}

void outermost_nodes_fini(struct outermost_nodes *outermost) { memory_free(outermost->order); }

static bool are_zero(const double *numbers, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (numbers[i] != 0) return false;
    return true;
}

void totals_add(struct function_weights *functions, const struct outermost_nodes *outermost, const double *self,
                struct failure *failure) {
    const struct call_node *nodes = outermost->nodes;
    if (failure_is_set(failure) || are_zero(self, outermost->node_count)) return;
    double *weights = memory_allocate(failure, outermost->node_count * sizeof *weights); /* with all nodes below */
    if (!weights) return;
    for (size_t i = 0; i < outermost->node_count; i++) {
        weights[i] = self[i];
        functions[nodes[i].function].self += self[i];
    }
    for (size_t i = outermost->node_count; i-- > 0;)
        if (nodes[i].prefix != ID_NONE) weights[nodes[i].prefix] += weights[i];
    for (size_t i = 0; i < outermost->count; i++)
        functions[nodes[outermost->order[i]].function].total += weights[outermost->order[i]];
    memory_free(weights);
}
