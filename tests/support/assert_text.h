/* Compares texts in a cmocka test. */
#pragma once

#include "libconvert/base/text.h"
#include "tests/support/profile_text.h"
#include "tests/support/unit_test.h"

/* Fails if the text differs from `expected`, a string literal that may contain NUL bytes. */
#define assert_text(actual, expected)                                                                     \
    do {                                                                                                  \
        struct text actual_text_ = (actual), expected_text_ = TEXT(expected);                             \
        if (!text_equal(actual_text_, expected_text_))                                                    \
            fail_msg("\"%.*s\" (%zu bytes), wanted \"%s\" (%zu bytes)", (int)actual_text_.bytes_count,    \
                     actual_text_.bytes, actual_text_.bytes_count, expected, expected_text_.bytes_count); \
    } while (0)

/* Checks the text against `expected`, and frees it. */
static inline void assert_printed(struct profile_text *actual, const char *expected) {
    if (strcmp(actual->bytes, expected) != 0) fail_msg("got:\n%s\nwanted:\n%s", actual->bytes, expected);
    free(actual);
}
