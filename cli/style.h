/* The look of output on terminals: colours and characters. */
#pragma once

#include <stdbool.h>

/* What decides about colours: environment variables, and whether the stream is a terminal. Strings are borrowed; NULL:
 * not set. */
struct style_environment {
    const char *no_color;       /* NO_COLOR: if not empty, no colours */
    const char *clicolor_force; /* CLICOLOR_FORCE: if neither empty nor "0", colours even without a terminal */
    const char *clicolor;       /* CLICOLOR: if "0", no colours */
    const char *term;           /* TERM: if not set or "dumb", no colours */
    bool is_terminal;
};

/* Returns true if output should have colours. Members that come first in the struct take precedence. */
bool style_wants_colors(const struct style_environment *environment);

/* Returns true if output to the file should have colours, from the environment of the process. Do not call it while
 * another thread changes the environment. */
bool style_has_colors(int fd);

/* Returns true if the character set of the user's locale is UTF-8, as its name in the environment says. The locale need
 * not be on this machine. */
bool style_has_utf8(void);

/* Escape sequences; empty without colours. */
struct style {
    const char *bold;
    const char *dim;
    const char *good;    /* green */
    const char *bad;     /* red */
    const char *warning; /* yellow */
    const char *bar;     /* blue, for charts */
    const char *reset;
};

/* Returns a static style. */
const struct style *style_of(bool has_colors);
