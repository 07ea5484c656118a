#include "totals.h"

#include "libconvert/base/memory.h"

/* A tree with the links that a depth-first walk needs, in one block. */
struct tree {
    const struct call_node *nodes;
    double *weights;        /* weights of the node and all nodes below it */
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
        if (prefix != ID_NONE) tree->weights[prefix] += tree->weights[i];
    }
}

static void enter(struct tree *tree, struct function_weights *functions, uint32_t node) {
    uint32_t function = tree->nodes[node].function;
    if (tree->depths[function]++ == 0) functions[function].total += tree->weights[node];
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

static void walk(struct tree *tree, struct function_weights *functions, size_t node_count) {
    uint32_t node = tree->first_child[node_count];
    while (node != ID_NONE) {
        enter(tree, functions, node);
        uint32_t child = tree->first_child[node];
        node = child != ID_NONE ? child : leave(tree, node);
    }
}

static bool are_zero(const double *numbers, size_t count) {
    for (size_t i = 0; i < count; i++)
        if (numbers[i] != 0) return false;
    return true;
}

void totals_add(struct function_weights *functions, size_t function_count, const struct call_node *nodes,
                const double *self, size_t node_count, struct failure *failure) {
    struct tree tree = {.nodes = nodes};
    if (are_zero(self, node_count)) return;
    tree.weights = memory_allocate_zeroed(failure, node_count + 1, sizeof *tree.weights);
    tree.first_child = memory_allocate_zeroed(failure, node_count + 1, sizeof *tree.first_child);
    tree.next_sibling = memory_allocate_zeroed(failure, node_count + 1, sizeof *tree.next_sibling);
    tree.depths = memory_allocate_zeroed(failure, function_count + 1, sizeof *tree.depths);
    if (!failure_is_set(failure)) {
        for (size_t i = 0; i < node_count; i++) {
            tree.weights[i] = self[i];
            functions[nodes[i].function].self += self[i];
        }
        link_children(&tree, node_count);
        walk(&tree, functions, node_count);
    }
    MEMORY_FREE_ALL(tree.depths, tree.next_sibling, tree.first_child, tree.weights);
}
