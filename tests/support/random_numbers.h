/* Pseudo-random numbers that are the same in every run (splitmix64). */
#pragma once

#include <stdint.h>

struct random_numbers {
    uint64_t state; /* initially the seed */
};

static inline uint64_t random_next(struct random_numbers *numbers) {
    uint64_t mixed = numbers->state += 0x9e3779b97f4a7c15u;
    mixed = (mixed ^ mixed >> 30) * 0xbf58476d1ce4e5b9u;
    mixed = (mixed ^ mixed >> 27) * 0x94d049bb133111ebu;
    return mixed ^ mixed >> 31;
}

/* Returns a random number from 0 to limit - 1. */
static inline uint32_t random_below(struct random_numbers *numbers, uint32_t limit) {
    return (uint32_t)(random_next(numbers) % limit);
}
