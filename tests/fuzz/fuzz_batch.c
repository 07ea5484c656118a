/* Reads any bytes as an input of a batch: detects the format, and reads the members of archives and of nested
 * archives. */
#include <stdlib.h>

#include "batch_report.h"
#include "checked_conversion.h"
#include "cli/batch/manifest.h"
#include "libconvert/base/memory.h"
#include "source_file.h"

static void check_entries(struct batch_source *source) {
    struct batch_entry *entry;
    for (size_t i = 0; (entry = batch_entry_at(source, i)); i++) {
        enum batch_status status = atomic_load(&entry->status);
        FUZZ_CHECK(status <= BATCH_FAILED, "%d", (int)status);
        const char *output = batch_entry_output(entry);
        FUZZ_CHECK(status != BATCH_PENDING || output, "a trace without an output");
        FUZZ_CHECK(!i == !entry->member, "member %zu", i);
        struct batch_error error;
        if (status == BATCH_FAILED)
            FUZZ_CHECK(batch_entry_error(entry, &error) && error.message[0] && error.code, "no reason");
        /* Skips members without an output path: nothing may be written outside the output folder. */
        if (!output) continue;
        struct text rest = text_of(output);
        FUZZ_CHECK(rest.bytes_count && !text_starts_with(rest, TEXT("/")), "%s", output);
        while (rest.bytes_count) {
            size_t slash = text_find(rest, '/');
            FUZZ_CHECK(!text_equal(text_slice(rest, 0, slash), TEXT("..")), "%s", output);
            rest = text_from(rest, slash + 1);
        }
    }
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t bytes_count) {
    static const struct options options = {.output_archive = "out.tar"};
    static const atomic_bool is_stopping;
    struct batch_plan plan;
    struct memory_limit memory;
    memory_limit_init(&memory, 0);
    source_file_fill((struct text){(const char *)bytes, bytes_count});
    batch_plan_init(&plan, &options, "", &is_stopping, &memory);
    struct batch_source *source = batch_plan_add_source(&plan, source_file_path, "in");
    FUZZ_CHECK(source, "no memory");
    batch_plan_identify(&plan);
    check_entries(source);
    batch_report_check(&plan);
    batch_plan_fini(&plan);
    return 0;
}
