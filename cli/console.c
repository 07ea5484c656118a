#include "console.h"

#include <errno.h>
#include <unistd.h>

void console_write(const char *bytes, size_t bytes_count) {
    for (size_t at = 0; at < bytes_count;) {
        ssize_t written = write(STDERR_FILENO, bytes + at, bytes_count - at);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return;
        at += (size_t)written;
    }
}

void console_print(const struct report_text *text) { console_write(text->bytes, text->bytes_count); }

void console_print_message(const char *message) {
    struct report_text text;
    report_message(message, &text);
    console_print(&text);
}
