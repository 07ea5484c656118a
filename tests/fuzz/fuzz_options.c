/* Reads any bytes as a command line of NUL-terminated arguments. */
#include <stdlib.h>
#include <string.h>

#include "checked_conversion.h"
#include "cli/command.h"

enum { ARGUMENTS_MAX = 64 };

/* Checks what must hold for options that were accepted. */
static void check_options(const struct options *options) {
    if (options->action != OPTIONS_RUN) return;
    FUZZ_CHECK(options->inputs.count, "no input");
    if (options->lists_events) {
        FUZZ_CHECK(!options->convert.output_path, "%s", options->convert.output_path);
        return;
    }
    if (options_are_batch(options)) {
        FUZZ_CHECK(!options->convert.output_path, "%s", options->convert.output_path);
        return;
    }
    FUZZ_CHECK(options->inputs.count == 1 + options->convert.more_input_count, "%zu inputs", options->inputs.count);
    FUZZ_CHECK(options->convert.input_path && options->convert.output_path, "no path");
    FUZZ_CHECK(options->convert.weight <= GECKO_CONVERT_WEIGHT_PERIOD, "%u", options->convert.weight);
    FUZZ_CHECK(options->convert.debug_dir_count == options->debug_dirs.count, "%zu", options->debug_dirs.count);
}

static void check_options_failure(const struct failure *failure) {
    FUZZ_CHECK(failure->code == FAILURE_USAGE || failure->code == FAILURE_MEMORY, "%d: %s", (int)failure->code,
               failure->message);
    size_t bytes_count = strnlen(failure->message, sizeof failure->message);
    FUZZ_CHECK(bytes_count > 0 && bytes_count < sizeof failure->message, "%zu bytes", bytes_count);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t bytes_count) {
    char *copy = malloc(bytes_count + 1), *arguments[ARGUMENTS_MAX];
    if (!copy) abort();
    if (bytes_count) memcpy(copy, bytes, bytes_count);
    copy[bytes_count] = '\0';
    int argument_count = 0;
    for (size_t at = 0; at < bytes_count && argument_count < ARGUMENTS_MAX; at += strlen(copy + at) + 1)
        arguments[argument_count++] = copy + at;
    struct options options;
    struct failure failure = {0};
    command_read_options(&command_convert, &options, argument_count, arguments, &failure);
    if (failure_is_set(&failure))
        check_options_failure(&failure);
    else
        check_options(&options);
    options_fini(&options);
    free(copy);
    return 0;
}
