/* Checks the report of a batch that a fuzz target has filled. */
#pragma once

#include <stdlib.h>

#include "checked_conversion.h"
#include "cli/batch/manifest.h"
#include "tests/support/json_check.h"
#include "tests/support/temp_folder.h"

/* Writes the report of the plan to a file. It must be well-formed JSON whatever the input was. */
static inline void batch_report_check(struct batch_plan *plan) {
    struct temp_folder folder;
    struct failure failure = {0};
    struct sink_written written;
    size_t bytes_count, bad_at;
    FUZZ_CHECK(temp_folder_init(&folder), "no folder");
    const char *path = temp_folder_file(&folder, "report.json");
    struct sink *sink = sink_open(path, NULL, 1, &failure);
    FUZZ_CHECK(sink, "%s", failure.message);
    manifest_write(plan, &(struct batch_outcome){0}, sink, &failure);
    if (sink_close(sink, &written)) {
        char *bytes = file_read(path, &bytes_count);
        FUZZ_CHECK(bytes, "no report");
        bool is_json = json_is_well_formed((struct text){bytes, bytes_count}, &bad_at);
        FUZZ_CHECK(is_json, "byte %zu: %.*s", bad_at, 80, bytes + bad_at);
        free(bytes);
    }
    temp_folder_fini(&folder);
}
