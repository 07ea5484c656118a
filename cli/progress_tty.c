#include "progress_tty.h"

#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

enum { BAR_CELLS = 40, LINE_BYTES = 64, PERCENT_NONE = 1000 };

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* A bar that cannot be drawn is no reason to stop converting. */
static void write_line(int fd, const char *bytes, size_t bytes_count) {
    ssize_t written = write(fd, bytes, bytes_count);
    (void)written;
}

void progress_tty_init(struct progress_tty *bar, int fd, bool is_on, uint64_t delay_ns) {
    *bar = (struct progress_tty){
        .fd = fd, .is_on = is_on, .first_draw_ns = is_on ? now_ns() + delay_ns : 0, .last_percent = PERCENT_NONE};
}

void progress_tty_draw(void *context, unsigned permille) {
    struct progress_tty *bar = context;
    unsigned percent = permille / 10;
    if (!bar->is_on || percent == bar->last_percent || now_ns() < bar->first_draw_ns) return;
    bar->last_percent = percent;
    bar->is_drawn = true;
    char cells[BAR_CELLS];
    size_t full = (size_t)percent * BAR_CELLS / 100;
    memset(cells, '#', full);
    memset(cells + full, '.', BAR_CELLS - full);
    char line[LINE_BYTES];
    int bytes_count = snprintf(line, sizeof line, "\r[%.*s] %3u %%", BAR_CELLS, cells, percent);
    write_line(bar->fd, line, (size_t)bytes_count);
}

void progress_tty_clear(struct progress_tty *bar) {
    if (!bar->is_drawn) return;
    bar->is_drawn = false;
    char line[LINE_BYTES];
    int bytes_count = snprintf(line, sizeof line, "\r%*s\r", (int)sizeof "[] 100 %" - 1 + BAR_CELLS, "");
    write_line(bar->fd, line, (size_t)bytes_count);
}
