/* A progress bar on a terminal: one line that is drawn over, and gone at the end. No colours. */
#ifndef GECKO_PROGRESS_TTY_H
#define GECKO_PROGRESS_TTY_H

#include <stdbool.h>
#include <stdint.h>

/* Whoever waits for less than that sees nothing. */
enum { PROGRESS_TTY_DELAY_NS = 500000000 };

struct progress_tty {
    int fd;
    bool is_on;
    uint64_t start_ns;      /* monotonic clock */
    uint64_t first_draw_ns; /* nothing is drawn before */
    uint64_t last_draw_ns;
    uint64_t total_bytes; /* of what is being read; 0: not known */
    unsigned last_percent;
    unsigned line_cells; /* of the line that stands there; 0: none */
};

/* A bar on `fd` that appears `delay_ns` from now; never unless is_on. */
void progress_tty_init(struct progress_tty *bar, int fd, bool is_on, uint64_t delay_ns);

/* Draws; the context is the bar. A progress callback. */
void progress_tty_draw(void *context, unsigned permille);

/* The same, of work whose total is known meanwhile. */
void progress_tty_draw_bytes(struct progress_tty *bar, uint64_t done_bytes, uint64_t total_bytes);

/* How much of its source work has read: of how much, for the rate of what is drawn later; where nobody knows that, of a
 * pipe, it is all there is to draw. The context is the bar. A progress_source_callback. */
void progress_tty_draw_source(void *context, uint64_t done_bytes, uint64_t total_bytes);

/* Takes the bar off, and begins other work: the rate is that of what comes. There is no second delay. */
void progress_tty_restart(struct progress_tty *bar);

/* Takes the bar off the line, so that other text can stand there. */
void progress_tty_clear(struct progress_tty *bar);

#endif
