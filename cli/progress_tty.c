#include "progress_tty.h"

#include <inttypes.h>
#include <string.h>
#include <sys/ioctl.h>
#include <unistd.h>

#include "libconvert/base/monotonic_clock.h"
#include "libconvert/report.h"

enum { BAR_CELLS = 20, PERCENT_NONE = 1000, LINE_CELLS_MAX = 79, NS_PER_S = 1000000000, REDRAW_NS = NS_PER_S / 2 };

/* Ignores errors: a bar that cannot be drawn is no reason to stop converting. */
static void write_line(int fd, const char *bytes, size_t bytes_count) {
    ssize_t written = write(fd, bytes, bytes_count);
    (void)written;
}

void progress_tty_init(struct progress_tty *bar, int fd, bool is_on, uint64_t delay_ns) {
    uint64_t start_ns = is_on ? monotonic_now_ns() : 0;
    *bar = (struct progress_tty){.fd = fd,
                                 .is_on = is_on,
                                 .start_ns = start_ns,
                                 .first_draw_ns = start_ns + delay_ns,
                                 .last_percent = PERCENT_NONE};
}

/* Returns how many cells a line may have. A line longer than the terminal is wide would wrap, and could not be
 * overwritten. */
static size_t cells_of(int fd) {
    struct winsize size;
    bool is_known = ioctl(fd, TIOCGWINSZ, &size) == 0 && size.ws_col > 1;
    return is_known && size.ws_col <= LINE_CELLS_MAX ? size.ws_col - 1u : LINE_CELLS_MAX;
}

static void append_seconds(struct report_text *text, uint64_t seconds) {
    if (seconds >= 3600)
        report_append(text, "%" PRIu64 " h %02" PRIu64 " min", seconds / 3600, seconds / 60 % 60);
    else if (seconds >= 60)
        report_append(text, "%" PRIu64 " min %02" PRIu64 " s", seconds / 60, seconds % 60);
    else
        report_append(text, "%" PRIu64 " s", seconds);
}

/* Appends ", 340 MB/s". */
static void append_speed(struct report_text *text, uint64_t bytes_count, uint64_t elapsed_ns) {
    if (!elapsed_ns) return;
    report_append(text, ", ");
    report_append_bytes(text, (uint64_t)((double)bytes_count * NS_PER_S / (double)elapsed_ns));
    report_append(text, "/s");
}

/* Appends "120 MB of 1.2 GB, 340 MB/s, 3 s left". */
static void append_rate(struct report_text *text, double done, uint64_t total_bytes, uint64_t elapsed_ns) {
    double seconds = (double)elapsed_ns / NS_PER_S;
    report_append(text, "  ");
    report_append_bytes(text, (uint64_t)(done * (double)total_bytes));
    report_append(text, " of ");
    report_append_bytes(text, total_bytes);
    if (done <= 0 || seconds <= 0) return;
    append_speed(text, (uint64_t)(done * (double)total_bytes), elapsed_ns);
    report_append(text, ", ");
    append_seconds(text, (uint64_t)(seconds / done - seconds + 0.5));
    report_append(text, " left");
}

/* Overwrites the previous line completely. */
static void show(struct progress_tty *bar, const struct report_text *line, uint64_t now) {
    bar->last_draw_ns = now;
    struct report_text text = {.bytes_count = 0};
    size_t line_cells = line->bytes_count, cells_there = cells_of(bar->fd);
    if (line_cells > cells_there) line_cells = cells_there;
    report_append(&text, "\r%.*s", (int)line_cells, line->bytes);
    if (line_cells < bar->line_cells) report_append(&text, "%*s", (int)(bar->line_cells - line_cells), "");
    bar->line_cells = (unsigned)line_cells;
    write_line(bar->fd, text.bytes, text.bytes_count);
}

static void draw(struct progress_tty *bar, double done) {
    uint64_t now = bar->is_on ? monotonic_now_ns() : 0;
    unsigned percent = (unsigned)(done * 100 + 1e-9); /* in floating point, 0.57 * 100 is less than 57 */
    bool is_due = percent != bar->last_percent || now >= bar->last_draw_ns + REDRAW_NS;
    if (!bar->is_on || !is_due || now < bar->first_draw_ns) return;
    bar->last_percent = percent;
    char cells[BAR_CELLS];
    size_t full = (size_t)percent * BAR_CELLS / 100;
    memset(cells, '#', full);
    memset(cells + full, '.', BAR_CELLS - full);
    struct report_text line = {.bytes_count = 0};
    report_append(&line, "[%.*s] %3u %%", BAR_CELLS, cells, percent);
    if (bar->total_bytes) append_rate(&line, done, bar->total_bytes, now - bar->start_ns);
    show(bar, &line, now);
}

/* Draws "read 120 MB, 34 MB/s". */
static void draw_read(struct progress_tty *bar, uint64_t read_bytes) {
    uint64_t now = bar->is_on ? monotonic_now_ns() : 0;
    bool is_due = now >= bar->first_draw_ns && now >= bar->last_draw_ns + REDRAW_NS;
    if (!bar->is_on || !is_due) return;
    bar->last_percent = PERCENT_NONE;
    struct report_text line = {.bytes_count = 0};
    report_append(&line, "read ");
    report_append_bytes(&line, read_bytes);
    append_speed(&line, read_bytes, now - bar->start_ns);
    show(bar, &line, now);
}

bool progress_tty_draw(void *context, const struct gecko_convert_progress *progress) {
    struct progress_tty *bar = context;
    bar->total_bytes = progress->total_bytes;
    if (progress->total_bytes || progress->permille)
        draw(bar, progress->permille / 1000.0);
    else
        draw_read(bar, progress->read_bytes);
    return true;
}

void progress_tty_draw_bytes(struct progress_tty *bar, uint64_t done_bytes, uint64_t total_bytes) {
    bar->total_bytes = total_bytes;
    if (done_bytes > total_bytes) done_bytes = total_bytes;
    draw(bar, total_bytes ? (double)done_bytes / (double)total_bytes : 0);
}

void progress_tty_draw_text(struct progress_tty *bar, const char *text) {
    uint64_t now = bar->is_on ? monotonic_now_ns() : 0;
    if (!bar->is_on || now < bar->first_draw_ns || now < bar->last_draw_ns + REDRAW_NS) return;
    bar->last_percent = PERCENT_NONE;
    struct report_text line = {.bytes_count = 0};
    report_append(&line, "%s", text);
    show(bar, &line, now);
}

void progress_tty_restart(struct progress_tty *bar) {
    progress_tty_clear(bar);
    bar->total_bytes = 0;
    bar->last_percent = PERCENT_NONE;
    if (bar->is_on) bar->start_ns = monotonic_now_ns();
}

void progress_tty_clear(struct progress_tty *bar) {
    if (!bar->line_cells) return;
    struct report_text text = {.bytes_count = 0};
    report_append(&text, "\r%*s\r", (int)bar->line_cells, "");
    bar->line_cells = 0;
    write_line(bar->fd, text.bytes, text.bytes_count);
}
