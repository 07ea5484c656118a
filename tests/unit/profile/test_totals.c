/* Self and total weights of functions. */
#include <stdlib.h>

#include "libconvert/profile/totals.h"
#include "tests/support/unit_test.h"

#define NO ID_NONE

static void assert_weights(const struct function_weights *weights, double self, double total) {
    if (weights->self != self || weights->total != total)
        fail_msg("%g, %g instead of %g, %g", weights->self, weights->total, self, total);
}

static void add(struct function_weights *weights, size_t function_count, const struct call_node *nodes,
                const double *self, size_t node_count) {
    struct failure failure = {0};
    struct outermost_nodes outermost;
    outermost_nodes_find(&outermost, nodes, node_count, function_count, &failure);
    totals_add(weights, &outermost, self, &failure);
    outermost_nodes_fini(&outermost);
    assert_false(failure_is_set(&failure));
}

TEST(test_recursion_counts_once) {
    /* f > g > f > f (1), f > g (2), g > f (4) */
    static const struct call_node nodes[] = {{NO, 0}, {0, 1}, {1, 0}, {2, 0}, {NO, 1}, {4, 0}};
    static const double self[] = {0, 2, 0, 1, 0, 4};
    struct function_weights weights[2] = {{0}};
    add(weights, 2, nodes, self, 6);
    assert_weights(&weights[0], 5, 7);
    assert_weights(&weights[1], 2, 7);
}

TEST(test_deep_recursion) {
    enum { DEPTH = 300000 };
    struct call_node *nodes = calloc(DEPTH, sizeof *nodes);
    double *self = calloc(DEPTH, sizeof *self);
    assert_true(nodes && self);
    for (uint32_t i = 0; i < DEPTH; i++) nodes[i] = (struct call_node){i ? i - 1 : NO, i % 2};
    self[DEPTH - 1] = 1;
    struct function_weights weights[2] = {{0}};
    add(weights, 2, nodes, self, DEPTH);
    assert_weights(&weights[0], 0, 1);
    assert_weights(&weights[1], 1, 1);
    free(self);
    free(nodes);
}

int main(void) { return unit_tests_run(NULL, NULL); }
