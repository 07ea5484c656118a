#include <stdlib.h>

#include "libconvert/base/first_row.h"
#include "tests/support/unit_test.h"

/* Tries every position of the first row, for every count of rows. */
static void the_first_row_is_found(void **state) {
    for (size_t count = 0; count < 20; count++)
        for (size_t first = 0; first <= count; first++) assert_int_equal(FIRST_ROW(row, count, row >= first), first);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test(the_first_row_is_found),
    };
    return cmocka_run_group_tests_name("first_row", tests, NULL, NULL);
}
