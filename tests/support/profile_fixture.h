/* A profile for each test of a program, and its failure. */
#pragma once

#include "libconvert/profile/profile.h"
#include "unit_test.h"

static struct failure failure;
static struct profile profile;

/* Creates an empty profile. Call it at the start of each test's set-up. */
static inline int begin_profile(void **state) {
    failure_clear(&failure);
    profile_init(&profile, &failure);
    return 0;
}

static inline int end_profile(void **state) {
    profile_fini(&profile);
    return 0;
}

/* Finishes the profile, which must not fail. */
static inline void finish_profile(void) {
    profile_finish(&profile);
    assert_string_equal(failure.message, "");
}

/* Adds a thread in a process of its own. Both have the id 1. */
static inline struct thread *add_only_thread(void) {
    return profile_thread_at(&profile, profile_add_thread(&profile, profile_add_process(&profile, 1, 0), 1, 0));
}
