#include "style.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

static bool is_given(const char *value) { return value && *value; }

bool style_has_colors(int fd) {
    const char *force = getenv("CLICOLOR_FORCE"), *wish = getenv("CLICOLOR"), *terminal = getenv("TERM");
    if (is_given(getenv("NO_COLOR"))) return false;
    if (is_given(force) && strcmp(force, "0") != 0) return true;
    if (wish && strcmp(wish, "0") == 0) return false;
    return isatty(fd) && is_given(terminal) && strcmp(terminal, "dumb") != 0;
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
