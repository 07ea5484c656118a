/* Converts a trace in a temporary folder, and holds the resulting profile and status. */
#pragma once

#include "libconvert/gecko_convert.h"
#include "tests/support/temp_folder.h"
#include "tests/support/unit_test.h"

struct conversion {
    struct temp_folder folder;
    char input[PATH_MAX];
    char output[PATH_MAX];
    struct gecko_convert_options options;
    struct gecko_convert_result result;
};

static inline bool conversion_init(struct conversion *conversion) {
    *conversion = (struct conversion){.result.struct_bytes = sizeof conversion->result};
    if (!temp_folder_init(&conversion->folder)) return false;
    snprintf(conversion->input, sizeof conversion->input, "%s", temp_folder_file(&conversion->folder, "trace"));
    snprintf(conversion->output, sizeof conversion->output, "%s", temp_folder_file(&conversion->folder, "out.json"));
    conversion->options.struct_bytes = sizeof conversion->options;
    conversion->options.input_path = conversion->input;
    conversion->options.output_path = conversion->output;
    return true;
}

static inline void conversion_fini(struct conversion *conversion) {
    gecko_convert_result_fini(&conversion->result);
    temp_folder_fini(&conversion->folder);
}

/* Converts a trace in a cmocka test. Replaces the result of the previous conversion. */
static inline enum gecko_convert_status convert_trace(struct conversion *conversion, struct text trace) {
    gecko_convert_result_fini(&conversion->result);
    assert_true(file_write(conversion->input, trace));
    return gecko_convert(&conversion->options, &conversion->result);
}
