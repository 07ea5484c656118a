/* A conversion in a folder of its own: a trace in, a profile and what became of it out. */
#ifndef GECKO_TESTS_CONVERSION_H
#define GECKO_TESTS_CONVERSION_H

#include "cli/gecko_convert.h"
#include "tests/support/temp_folder.h"

struct conversion {
    struct temp_folder folder;
    char input[PATH_MAX];
    char output[PATH_MAX];
    struct gecko_convert_options options;
    struct gecko_convert_result result;
};

static inline bool conversion_init(struct conversion *conversion) {
    *conversion = (struct conversion){0};
    if (!temp_folder_init(&conversion->folder)) return false;
    snprintf(conversion->input, sizeof conversion->input, "%s", temp_folder_file(&conversion->folder, "trace"));
    snprintf(conversion->output, sizeof conversion->output, "%s", temp_folder_file(&conversion->folder, "out.json"));
    conversion->options.input_path = conversion->input;
    conversion->options.output_path = conversion->output;
    return true;
}

static inline void conversion_fini(struct conversion *conversion) {
    gecko_convert_result_fini(&conversion->result);
    temp_folder_fini(&conversion->folder);
}

/* Another one, of that trace. For a cmocka test. */
static inline enum gecko_convert_status conversion_run(struct conversion *conversion, struct text trace) {
    gecko_convert_result_fini(&conversion->result);
    assert_true(file_write(conversion->input, trace));
    return gecko_convert(&conversion->options, &conversion->result);
}

#endif
