/* Runs commands that create files for a test. */
#ifndef GECKO_TEST_SHELL_COMMAND_H
#define GECKO_TEST_SHELL_COMMAND_H

#include "tests/support/temp_folder.h"
#include "tests/support/unit_test.h"

/* Runs the command in the folder. The test fails if the command fails. */
static inline void run_in_folder(const struct temp_folder *folder, const char *format, ...)
    __attribute__((format(printf, 2, 3)));

static inline void run_in_folder(const struct temp_folder *folder, const char *format, ...) {
    char command[4096];
    size_t used = (size_t)snprintf(command, sizeof command, "cd '%s' && ", folder->path);
    va_list arguments;
    va_start(arguments, format);
    vsnprintf(command + used, sizeof command - used, format, arguments);
    va_end(arguments);
    if (system(command) != 0) fail_msg("%s", command);
}

#endif
