/* The monotonic clock. */
#pragma once

#include <stdint.h>
#include <time.h>

/* Returns the time in nanoseconds since some moment before the program began. */
static inline uint64_t monotonic_now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}
