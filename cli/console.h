/* Lines on standard error. There is nowhere to tell when that is gone. */
#ifndef GECKO_CONSOLE_H
#define GECKO_CONSOLE_H

#include "report.h"

void console_write(const char *bytes, size_t bytes_count);
void console_print(const struct report_text *text);

/* "gecko-convert: MESSAGE" */
void console_print_message(const char *message);

#endif
