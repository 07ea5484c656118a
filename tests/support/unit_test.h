/* cmocka, with the headers that it needs. Include this in a unit test in place of <cmocka.h>. */
#ifndef GECKO_UNIT_TEST_H
#define GECKO_UNIT_TEST_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* cmocka passes a state to each test, which few tests use. */
#pragma GCC diagnostic ignored "-Wunused-parameter"

#endif
