/* How output looks: colours, and what a terminal's characters can be. */
#ifndef GECKO_STYLE_H
#define GECKO_STYLE_H

#include <stdbool.h>

/* What decides: the environment as it is, and whether the stream is a terminal. Texts are borrowed; NULL: not set. */
struct style_environment {
    const char *no_color;       /* NO_COLOR: any text but an empty one refuses colours */
    const char *clicolor_force; /* CLICOLOR_FORCE: any but "0" and an empty one asks for them, terminal or not */
    const char *clicolor;       /* CLICOLOR: "0" refuses them */
    const char *term;           /* TERM: none or "dumb" has none */
    bool is_terminal;
};

/* The order above is that of precedence. */
bool style_wants_colors(const struct style_environment *environment);

/* The same for an open file, by the environment of the process. Not while another thread changes that. */
bool style_has_colors(int fd);

/* The character set of the user's locale is UTF-8. The program's own locale is left as it is. */
bool style_has_utf8(void);

/* Escape sequences, empty when not wanted. */
struct style {
    const char *bold;
    const char *dim;
    const char *good;    /* green */
    const char *bad;     /* red */
    const char *warning; /* yellow */
    const char *bar;     /* of a chart: blue */
    const char *reset;
};

/* Static. */
const struct style *style_of(bool has_colors);

#endif
