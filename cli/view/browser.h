/* The user's browser. */
#pragma once

#include <stdbool.h>
#include <sys/types.h>

enum { BROWSER_NAME_BYTES = 64 };

struct browser {
    pid_t pid;                     /* the program that was started */
    char name[BROWSER_NAME_BYTES]; /* the program's name for messages, cut if it does not fit */
};

/* Starts the first command of the variable BROWSER that can be started, or xdg-open if the variable is not set. The
 * variable holds commands separated by colons. "%s" in a command stands for the address; without it, the address is the
 * last argument. The program is a child of the caller. It has its own session, so Ctrl-C does not reach it, and
 * default signal handling. Returns false with errno set if nothing can be started. */
bool browser_open(struct browser *browser, const char *address);
