/* Prints lines to standard error. Errors of writing are ignored: there is nowhere to report them. */
#ifndef GECKO_CONSOLE_H
#define GECKO_CONSOLE_H

#include "libconvert/report.h"

void console_write(const char *bytes, size_t bytes_count);
void console_print(const struct report_text *text);

/* Prints "gecko-convert: MESSAGE". */
void console_print_message(const char *message);

#endif
