#include "style.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_given(const char *value) { return value && *value; }

bool style_wants_colors(const struct style_environment *environment) {
    if (is_given(environment->no_color)) return false;
    if (is_given(environment->clicolor_force) && strcmp(environment->clicolor_force, "0") != 0) return true;
    if (environment->clicolor && strcmp(environment->clicolor, "0") == 0) return false;
    return environment->is_terminal && is_given(environment->term) && strcmp(environment->term, "dumb") != 0;
}

bool style_has_colors(int fd) {
    struct style_environment environment = {
        .no_color = getenv("NO_COLOR"),
        .clicolor_force = getenv("CLICOLOR_FORCE"),
        .clicolor = getenv("CLICOLOR"),
        .term = getenv("TERM"),
        .is_terminal = isatty(fd),
    };
    return style_wants_colors(&environment);
}

bool style_has_utf8(void) {
    static const char *const names[] = {"LC_ALL", "LC_CTYPE", "LANG"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        const char *locale = getenv(names[i]);
        if (is_given(locale)) return strcasestr(locale, "UTF-8") || strcasestr(locale, "UTF8");
    }
    return false;
}

const struct style *style_of(bool has_colors) {
    static const struct style plain = {"", "", "", "", "", "", ""};
    static const struct style colored = {"\033[1m",  "\033[2m",  "\033[32m", "\033[31m",
                                         "\033[33m", "\033[34m", "\033[0m"};
    return has_colors ? &colored : &plain;
}
