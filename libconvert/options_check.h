/* Checks the options of a conversion. */
#pragma once

#include "libconvert/base/failure.h"
#include "writer/emitter.h"

static inline size_t options_input_count(const struct gecko_convert_options *options) {
    return 1 + options->more_input_count;
}

/* Returns NULL if an input is not a file. */
static inline const char *options_input_path(const struct gecko_convert_options *options, size_t number) {
    return number ? options->more_input_paths[number - 1] : options->input_path;
}

/* Latches FAILURE_USAGE if the options contradict each other or name something that does not exist. has_output: the
 * profile is written; if so, returns the emitter of its format. */
const struct emitter *options_check(const struct gecko_convert_options *options, bool has_output,
                                    struct failure *failure);

/* Returns the emitter of the output's format; NULL if there is none (latched as FAILURE_USAGE). Also latches it if
 * `frames` is not a valid list, or if the format does not support an option. */
const struct emitter *options_check_format(const struct gecko_convert_options *options, struct failure *failure);

/* Returns the most characters of a process's name with its arguments; 0: it is without them. */
unsigned options_process_label_characters(const struct gecko_convert_options *options);

/* Latches FAILURE_USAGE if a folder to search for files does not exist or is not a folder. */
void options_check_folders(const struct gecko_convert_options *options, struct failure *failure);

/* Latches FAILURE_USAGE if source files cannot be embedded, or a map or URL of them is not valid. */
void options_check_sources(const struct gecko_convert_options *options, struct failure *failure);

/* Latches FAILURE_USAGE if a filter is not valid, or is for a single input and there are several. */
void options_check_filters(const struct gecko_convert_options *options, struct failure *failure);
