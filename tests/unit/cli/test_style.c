/* When output has colours. */
#include <stdlib.h>

#include "cli/style.h"
#include "tests/support/unit_test.h"

TEST(test_colors) {
    static const struct {
        struct style_environment environment;
        bool expected;
    } cases[] = {
        {{.term = "xterm", .is_terminal = true}, true},
        {{.term = "xterm", .is_terminal = false}, false},
        {{.term = "dumb", .is_terminal = true}, false},
        {{.term = "", .is_terminal = true}, false},
        {{.term = NULL, .is_terminal = true}, false},
        {{.no_color = "1", .term = "xterm", .is_terminal = true}, false},
        {{.no_color = "0", .term = "xterm", .is_terminal = true}, false},
        {{.no_color = "", .term = "xterm", .is_terminal = true}, true},
        {{.clicolor = "0", .term = "xterm", .is_terminal = true}, false},
        {{.clicolor = "1", .term = "xterm", .is_terminal = true}, true},
        {{.clicolor = "1", .term = "xterm", .is_terminal = false}, false},
        {{.clicolor_force = "1", .is_terminal = false}, true},
        {{.clicolor_force = "1", .clicolor = "0", .term = "dumb", .is_terminal = false}, true},
        {{.clicolor_force = "0", .is_terminal = false}, false},
        {{.clicolor_force = "", .is_terminal = false}, false},
        {{.clicolor_force = "0", .term = "xterm", .is_terminal = true}, true},
        {{.clicolor_force = "1", .no_color = "1", .term = "xterm", .is_terminal = true}, false},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        if (style_wants_colors(&cases[i].environment) != cases[i].expected) fail_msg("case %zu", i);
}

TEST(test_sequences) {
    const struct style *plain = style_of(false), *colored = style_of(true);
    assert_string_equal(plain->bad, "");
    assert_string_equal(plain->reset, "");
    assert_string_equal(colored->bad, "\033[31m");
    assert_string_equal(colored->reset, "\033[0m");
}

TEST(test_character_set) {
    setenv("LC_ALL", "C", 1);
    assert_false(style_has_utf8());
    setenv("LC_ALL", "C.UTF-8", 1);
    assert_true(style_has_utf8());
    setenv("LC_ALL", "no_SUCH.utf8@locale", 1);
    assert_true(style_has_utf8());
    setenv("LC_ALL", "", 1);
    setenv("LC_CTYPE", "de_DE.ISO-8859-1", 1);
    setenv("LANG", "de_DE.UTF-8", 1);
    assert_false(style_has_utf8());
    unsetenv("LC_CTYPE");
    assert_true(style_has_utf8());
    unsetenv("LANG");
    assert_false(style_has_utf8());
}

int main(void) { return unit_tests_run(NULL, NULL); }
