/* Prints lines to standard error. Errors of writing are ignored: there is nowhere to report them. */
#pragma once

#include "libconvert/report.h"

void console_print(const struct report_text *text);

/* Prints a line that is formatted like printf, without control characters. */
void console_print_line(const char *format, ...) __attribute__((format(printf, 1, 2)));
#define console_print_message(format, ...) console_print_line("gecko-convert: " format, ##__VA_ARGS__)
