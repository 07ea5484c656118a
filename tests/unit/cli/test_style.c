/* When output has colours. */
#include <fcntl.h>
#include <stdlib.h>
#include <unistd.h>

#include "cli/style.h"
#include "tests/support/unit_test.h"

static void set(const char *name, const char *value) {
    if (value)
        setenv(name, value, 1);
    else
        unsetenv(name);
}

TEST(test_colors) {
    static const struct {
        const char *no_color, *force, *wish, *term;
        bool is_terminal, expected;
    } cases[] = {
        {.term = "xterm", .is_terminal = true, .expected = true},
        {.term = "xterm"},
        {.term = "dumb", .is_terminal = true},
        {.term = "", .is_terminal = true},
        {.term = NULL, .is_terminal = true},
        {.no_color = "1", .term = "xterm", .is_terminal = true},
        {.no_color = "0", .term = "xterm", .is_terminal = true},
        {.no_color = "", .term = "xterm", .is_terminal = true, .expected = true},
        {.wish = "0", .term = "xterm", .is_terminal = true},
        {.wish = "1", .term = "xterm", .is_terminal = true, .expected = true},
        {.wish = "1", .term = "xterm"},
        {.force = "1", .expected = true},
        {.force = "1", .wish = "0", .term = "dumb", .expected = true},
        {.force = "0"},
        {.force = ""},
        {.force = "0", .term = "xterm", .is_terminal = true, .expected = true},
        {.force = "1", .no_color = "1", .term = "xterm", .is_terminal = true},
    };
    int terminal = posix_openpt(O_RDWR | O_NOCTTY), file = open("/dev/null", O_WRONLY);
    assert_true(terminal >= 0 && file >= 0);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        set("NO_COLOR", cases[i].no_color);
        set("CLICOLOR_FORCE", cases[i].force);
        set("CLICOLOR", cases[i].wish);
        set("TERM", cases[i].term);
        if (style_has_colors(cases[i].is_terminal ? terminal : file) != cases[i].expected) fail_msg("case %zu", i);
    }
    close(terminal);
    close(file);
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
