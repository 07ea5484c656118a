/* A progress bar on a terminal: one line that is overwritten, and cleared at the end. It has no colours. */
#pragma once

#include "libconvert/gecko_convert.h"

/* Work that takes less time shows no bar. */
enum { PROGRESS_TTY_DELAY_NS = 500000000 };

struct progress_tty {
    int fd;
    bool is_on;
    uint64_t start_ns;      /* time on CLOCK_MONOTONIC */
    uint64_t first_draw_ns; /* nothing is drawn earlier */
    uint64_t last_draw_ns;
    uint64_t total_bytes; /* size of the source being read; 0: not known */
    unsigned last_percent;
    unsigned line_cells; /* width of the line on the terminal; 0: there is none */
};

/* Initialises a bar on `fd` that appears after `delay_ns`, or never if is_on is false. */
void progress_tty_init(struct progress_tty *bar, int fd, bool is_on, uint64_t delay_ns);

/* Draws the bar: how much is done, or how much has been read while nothing else is known. This is a progress callback,
 * whose context is the bar. Returns true. */
bool progress_tty_draw(void *context, const struct gecko_convert_progress *progress);

/* Draws the bar for work whose total may still grow. */
void progress_tty_draw_bytes(struct progress_tty *bar, uint64_t done_bytes, uint64_t total_bytes);

/* Draws a text in place of a bar, for work that is endless. */
void progress_tty_draw_text(struct progress_tty *bar, const char *text);

/* Clears the bar and starts a new piece of work, from which rates are then computed. The bar is not delayed again. */
void progress_tty_restart(struct progress_tty *bar);

/* Clears the bar, so that other text can use the line. */
void progress_tty_clear(struct progress_tty *bar);
