/* A program whose functions take times that its arguments set, in rounds of all of them:
 *
 *     work ROUNDS PARSE SORT HASH RENDER WRITE */
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

enum { FUNCTION_COUNT = 5, STEPS_PER_UNIT = 1000 };

static volatile uint64_t result;

/* Each function has its own loop, because the compiler would make one of equal ones. */
#define FUNCTION(name, factor)                                                                 \
    __attribute__((noinline)) static void name(uint64_t unit_count) {                          \
        uint64_t value = result;                                                               \
        for (uint64_t i = 0; i < unit_count * STEPS_PER_UNIT; i++) value = value * factor + i; \
        result = value;                                                                        \
    }

FUNCTION(parse, 6364136223846793005u)
FUNCTION(sort, 2862933555777941757u)
FUNCTION(hash, 3202034522624059733u)
FUNCTION(render, 3935559000370003845u)
FUNCTION(write_out, 4768777513237032717u)

int main(int argument_count, char **arguments) {
    static void (*const functions[FUNCTION_COUNT])(uint64_t) = {parse, sort, hash, render, write_out};
    if (argument_count != 2 + FUNCTION_COUNT) {
        fprintf(stderr, "usage: work ROUNDS PARSE SORT HASH RENDER WRITE\n");
        return 2;
    }
    for (long round = strtol(arguments[1], NULL, 10); round > 0; round--)
        for (int i = 0; i < FUNCTION_COUNT; i++) functions[i]((uint64_t)strtol(arguments[2 + i], NULL, 10));
    return 0;
}
