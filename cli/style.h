/* The look of output on terminals: colours and characters. */
#pragma once

#include <stdbool.h>

/* Returns true if output to the file should have colours: not if NO_COLOR is not empty; otherwise if CLICOLOR_FORCE is
 * neither empty nor "0"; otherwise if CLICOLOR is not "0" and the file is a terminal that can show them. Do not call it
 * while another thread changes the environment. */
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
