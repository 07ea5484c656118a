/* Any bytes as an input of a batch: what it is, or the members of the archive that it is, and of those in it. */
#include <stdlib.h>

#include "cli/batch/manifest.h"
#include "conversion.h"
#include "libconvert/memory.h"
#include "source_file.h"
#include "tests/support/chunk_text.h"
#include "tests/support/json_check.h"

static void check_entries(struct batch_source *source) {
    struct batch_entry *entry;
    for (size_t i = 0; (entry = batch_entry_known_at(source, i)); i++) {
        enum batch_status status = atomic_load(&entry->status);
        FUZZ_CHECK(status < BATCH_STATUS_COUNT, "%d", (int)status);
        FUZZ_CHECK(status != BATCH_PENDING || entry->output, "a trace without an output");
        FUZZ_CHECK(!i == !entry->member, "member %zu", i);
        if (status == BATCH_FAILED) FUZZ_CHECK(entry->result.message[0] && manifest_error_code(entry), "no reason");
        /* Nothing is written outside of the output folder. */
        if (!entry->output) continue;
        struct text rest = text_of(entry->output);
        FUZZ_CHECK(rest.bytes_count && !text_starts_with(rest, TEXT("/")), "%s", entry->output);
        while (rest.bytes_count) {
            size_t slash = text_find(rest, '/');
            FUZZ_CHECK(!text_equal(text_slice(rest, 0, slash), TEXT("..")), "%s", entry->output);
            rest = text_from(rest, slash + 1);
        }
    }
}

static void check_report(struct batch_plan *plan) {
    struct failure failure = {0};
    struct chunk_list out;
    size_t bad_at;
    chunk_list_init(&out, &failure);
    manifest_write(plan, &(struct batch_outcome){0}, 1, &out);
    if (!failure_is_set(&failure)) {
        struct text report = {chunk_text(&out), out.total_bytes};
        bool is_json = json_is_well_formed(report, &bad_at);
        FUZZ_CHECK(is_json, "byte %zu: %.*s", bad_at, 80, report.bytes + bad_at);
        free((char *)(uintptr_t)report.bytes);
    }
    chunk_list_fini(&out);
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
    batch_plan_look(&plan);
    check_entries(source);
    check_report(&plan);
    batch_plan_fini(&plan);
    return 0;
}
