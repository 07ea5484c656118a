#include "console.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <unistd.h>

void console_print(const struct report_text *text) {
    for (size_t at = 0; at < text->bytes_count;) {
        ssize_t written = write(STDERR_FILENO, text->bytes + at, text->bytes_count - at);
        if (written < 0 && errno == EINTR) continue;
        if (written <= 0) return;
        at += (size_t)written;
    }
}

void console_print_line(const char *format, ...) {
    char line[REPORT_TEXT_BYTES];
    struct report_text text = {.bytes_count = 0};
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(line, sizeof line, format, arguments);
    va_end(arguments);
    report_append(&text, "%s", line);
    report_end_line(&text, 0);
    console_print(&text);
}
