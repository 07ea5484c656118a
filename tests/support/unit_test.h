/* cmocka, with the headers that it needs, and tests that need no list. Include this in a unit test in place of
 * <cmocka.h>. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* cmocka passes a state to each test, which few tests use. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

enum { UNIT_TESTS_MAX = 128 };
static struct CMUnitTest unit_tests[UNIT_TESTS_MAX];
static size_t unit_test_count;

static inline void unit_tests_add(const char *name, CMUnitTestFunction test, const CMFixtureFunction fixture[2]) {
    if (unit_test_count == UNIT_TESTS_MAX) __builtin_trap();
    unit_tests[unit_test_count++] = (struct CMUnitTest){name, test, fixture[0], fixture[1], NULL};
}

/* Runs all tests of the program in the order of the file. Returns how many failed, for main. The functions set up and
 * tear down the whole; NULL: nothing is to be done. */
static inline int unit_tests_run(CMFixtureFunction set_up, CMFixtureFunction tear_down) {
    return _cmocka_run_group_tests("tests", unit_tests, unit_test_count, set_up, tear_down);
}

/* Begins a test: TEST(name) { … }. With TEST(name, set_up, tear_down), these functions run before and after it. */
#define TEST(name, ...)                                                         \
    static void name(void **state);                                             \
    __attribute__((constructor)) static void unit_tests_add_##name(void) {      \
        unit_tests_add(#name, name, (const CMFixtureFunction[2]){__VA_ARGS__}); \
    }                                                                           \
    static void name(void **state)
