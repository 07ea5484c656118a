/* Tests the table of options as a whole. What becomes of arguments is tested through the program: tests/cli. */
#include <stdlib.h>

#include "cli/command.h"
#include "tests/support/unit_test.h"

TEST(test_no_command_has_two_options_of_one_name) {
    const struct option *all = options_table.options;
    for (size_t i = 0; i < options_table.option_count; i++)
        for (size_t j = 0; j < i; j++)
            if (all[i].commands & all[j].commands) {
                assert_string_not_equal(all[i].name, all[j].name);
                assert_true(!all[i].letter || all[i].letter != all[j].letter);
            }
}

int main(void) { return unit_tests_run(NULL, NULL); }
