/* A progress bar on a terminal: one line that is drawn over, and gone at the end. No colours. */
#ifndef GECKO_PROGRESS_TTY_H
#define GECKO_PROGRESS_TTY_H

#include <stdbool.h>
#include <stdint.h>

struct progress_tty {
    int fd;
    bool is_on;
    bool is_drawn;
    uint64_t first_draw_ns; /* monotonic clock; nothing is drawn before */
    unsigned last_percent;
};

/* A bar on `fd` that appears `delay_ns` from now; never unless is_on. */
void progress_tty_init(struct progress_tty *bar, int fd, bool is_on, uint64_t delay_ns);

/* Draws; the context is the bar. A progress callback. */
void progress_tty_draw(void *context, unsigned permille);

/* Takes the bar off the line, so that other text can stand there. */
void progress_tty_clear(struct progress_tty *bar);

#endif
