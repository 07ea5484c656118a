/* Reads any bytes as the report of an earlier batch, which determines what the next batch skips, and as the manifest of
 * a shard. */
#include <stdlib.h>
#include <string.h>

#include "batch_report.h"
#include "checked_conversion.h"
#include "cli/batch/manifest.h"
#include "cli/batch/manifest_file.h"
#include "cli/batch/manifest_records.h"
#include "libconvert/base/memory.h"
#include "source_file.h"

/* The sources named in the seeds. */
static const struct {
    const char *path;
    bool is_named;
    struct input_digest digest;
    uint64_t stamp;
} sources[] = {
    {"a.txt", true, {11, 1}, 0x101},
    {"b.tar", false, {22, 2}, 0x102},
    {"d/c.folded", false, {33, 3}, 0},
};
enum { SOURCE_COUNT = sizeof sources / sizeof *sources };

static const struct options *batch_options(void) {
    static const struct options options = {.output_archive = "out.tar"};
    return &options;
}

/* Corrects the digest of the options. Otherwise every report would belong to a batch with other options. */
static void repair_digest(char *bytes, size_t bytes_count) {
    static const char key[] = "\"options_xxh3\":\"";
    struct failure failure = {0};
    char digits[17];
    manifest_format_xxh3(digits, manifest_options_xxh3(batch_options(), &failure));
    char *found = memmem(bytes, bytes_count, key, sizeof key - 1);
    if (!found) return;
    char *value = found + sizeof key - 1;
    if (bytes_count - (size_t)(value - bytes) >= 16) memcpy(value, digits, 16);
}

static void check_entries(struct batch_source *source) {
    struct batch_entry *entry;
    for (size_t i = 0; (entry = batch_entry_at(source, i)); i++) {
        enum batch_status status = atomic_load(&entry->status);
        FUZZ_CHECK(status != BATCH_PENDING && status != BATCH_CONVERTED && status <= BATCH_FAILED, "%d", (int)status);
        FUZZ_CHECK(status != BATCH_UNCHANGED || batch_entry_output(entry), "unchanged, without an output");
        FUZZ_CHECK(!i == !entry->member, "member %zu", i);
    }
}

/* Reuses results of sources that are in the report, as a batch does. */
static void reuse(struct batch_plan *plan) {
    for (size_t i = 0; i < SOURCE_COUNT; i++) {
        struct batch_source *source = batch_plan_add_source(plan, sources[i].path, sources[i].path);
        FUZZ_CHECK(source, "no memory");
        source->is_named = sources[i].is_named;
        source->stamp = sources[i].stamp;
        struct input_digest digest = sources[i].digest;
        manifest_records_know(plan, source, &digest);
        batch_entry_set_digest(&source->own, digest);
        source->is_done = manifest_records_reuse(plan, source);
        if (source->is_done) check_entries(source);
        atomic_store(&source->is_known, true);
    }
}

static void use(const struct manifest_records *records) {
    static const atomic_bool is_stopping;
    struct batch_plan plan;
    struct memory_limit memory;
    memory_limit_init(&memory, 0);
    batch_plan_init(&plan, batch_options(), "", &is_stopping, &memory);
    plan.records = records;
    manifest_records_output_count(records);
    reuse(&plan);
    batch_report_check(&plan);
    batch_plan_fini(&plan);
}

/* Merging shards relies on what is checked here. */
static void read_as_shard(void) {
    struct failure failure = {0};
    struct arena memory;
    struct manifest_file manifest;
    arena_init(&memory, &failure);
    manifest_file_init(&manifest, source_file_path, &memory);
    manifest_file_read(&manifest);
    size_t file_count = 0;
    bool is_shard = !failure_is_set(&failure) && !manifest_file_shard_error(&manifest);
    for (size_t i = 0; is_shard && i < manifest.records.count; i++) {
        file_count += !manifest_record_at(&manifest, i)->member.bytes_count;
        FUZZ_CHECK(file_count, "a member without an archive");
    }
    FUZZ_CHECK(!is_shard || file_count == manifest.shard.positions.count, "%zu files", file_count);
    manifest_file_fini(&manifest);
    arena_fini(&memory);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t bytes_count) {
    char *copy = malloc(bytes_count ? bytes_count : 1);
    if (!copy) abort();
    memcpy(copy, bytes, bytes_count);
    repair_digest(copy, bytes_count);
    source_file_fill((struct text){copy, bytes_count});
    struct failure failure = {0};
    struct manifest_records *records = manifest_records_create(source_file_path, &failure);
    FUZZ_CHECK(records, "%s", failure.message);
    const char *reason = manifest_records_read(records, batch_options());
    FUZZ_CHECK(!reason || *reason, "no reason");
    if (!reason) use(records);
    manifest_records_destroy(records);
    read_as_shard();
    free(copy);
    return 0;
}
