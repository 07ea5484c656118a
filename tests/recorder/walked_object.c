/* A library that tests/unit/recorder/test_stack_walk.c loads at run time, so that a stack has frames in an object
 * that was not loaded at the program's start. */
#include <stddef.h>
#include <stdlib.h>

struct walked_call {
    int (*compare)(const void *, const void *);
    int values[16];
    int depth;
};

__attribute__((noinline)) int walked_call(struct walked_call *call, int depth) {
    volatile int padding[24] = {depth};
    if (depth > 0) return walked_call(call, depth - 1) + padding[0];
    qsort(call->values, sizeof call->values / sizeof call->values[0], sizeof call->values[0], call->compare);
    return padding[0] + call->values[0];
}
