/* Prints lines to standard error. Errors of writing are ignored: there is nowhere to report them. */
#ifndef GECKO_CONSOLE_H
#define GECKO_CONSOLE_H

#include "libconvert/report.h"

void console_print(const struct report_text *text);

/* Print a line that is formatted like printf, without control characters; the second function begins it with
 * "gecko-convert: ". */
void console_print_line(const char *format, ...) __attribute__((format(printf, 1, 2)));
void console_print_message(const char *format, ...) __attribute__((format(printf, 1, 2)));

#endif
