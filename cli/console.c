#include "console.h"

#include <errno.h>
#include <unistd.h>

void console_print(const struct report_text *text) {
    for (size_t at = 0; at < text->bytes_count;) {
        ssize_t written = write(STDERR_FILENO, text->bytes + at, text->bytes_count - at);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return;
        at += (size_t)written;
    }
}

void console_print_message(const char *message) {
    struct report_text text;
    report_message(message, &text);
    console_print(&text);
}
