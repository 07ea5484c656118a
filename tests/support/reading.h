/* What a reader has made of the last input that the test gave it. */
#pragma once

#include "libconvert/profile/profile.h"
#include "tests/support/unit_test.h"

static struct reading {
    struct failure failure;
    struct profile profile;
} reading;

/* Frees the last reading. The tear-down of the whole program. */
static inline int end_reading(void **state) {
    profile_fini(&reading.profile);
    return 0;
}

/* Begins the next reading, and frees the one before. */
static inline void begin_reading(void) {
    profile_fini(&reading.profile);
    failure_clear(&reading.failure);
    profile_init(&reading.profile, &reading.failure);
}
