/* cmocka, with the headers that it needs. Include this in a unit test in place of <cmocka.h>. */
#pragma once

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

/* cmocka passes a state to each test, which few tests use. */
#pragma GCC diagnostic ignored "-Wunused-parameter"
