/* Runs commands that create files for a test. */
#pragma once

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

/* Returns the hexadecimal number that a command has written into the file. It must be more than 0. */
static inline uint64_t read_address(const struct temp_folder *folder, const char *name) {
    char *text = file_read(temp_folder_file(folder, name), NULL);
    assert_non_null(text);
    uint64_t address = strtoull(text, NULL, 16);
    free(text);
    assert_true(address > 0);
    return address;
}
