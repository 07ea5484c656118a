/* Writes the processed format, version 70: what the front-end keeps in memory, as JSON. All threads share one set of
 * tables. */
#include "libconvert/base/memory.h"
#include "libconvert/format/gecko_format.h"
#include "libconvert/format/processed_format.h"
#include "processed_writer.h"
#include "writer/cells.h"
#include "writer/emitter.h"
#include "writer/log_json.h"
#include "writer/marker_json.h"
#include "writer/meta_json.h"

/* ---- meta. ---- */

static const struct extra_entry *extra_at(const struct column *extra, size_t i) { return column_at(extra, i); }

/* Writes the entries of one section, which begin at row `from`. Returns the row after them. */
static size_t write_extra_section(struct json *json, const struct column *extra, size_t from) {
    struct text section = extra_at(extra, from)->section;
    json_object_begin(json);
    json_key_value_text(json, "label", section);
    json_key_array_begin(json, "entries");
    size_t i = from;
    for (; i < extra->count && text_equal(extra_at(extra, i)->section, section); i++) {
        json_object_begin(json);
        members_write(json, &processed_extra_entry_shape, extra_at(extra, i));
        json_object_end(json);
    }
    json_array_end(json);
    json_object_end(json);
    return i;
}

static void write_extra(struct json *json, const struct column *extra) {
    if (!extra->count) return;
    json_key_array_begin(json, "extra");
    for (size_t i = 0; i < extra->count;) i = write_extra_section(json, extra, i);
    json_array_end(json);
}

/* A profile without scripts has only one kind of stack, so the viewer need not offer a choice. */
static bool has_scripts(const struct profile *profile) {
    for (uint32_t i = 0; i < row_table_count(&profile->funcs); i++)
        if (profile_func_at(profile, (func_id){i})->flags & FUNC_IS_JS) return true;
    return false;
}

/* The viewer can look symbols up again only for libraries with a build id. */
static bool has_build_ids(const struct profile *profile) {
    for (uint32_t i = 0; i < libs_count(&profile->libs); i++)
        if (libs_at(&profile->libs, (lib_id){i})->code_id.bytes_count) return true;
    return false;
}

static void write_meta(struct processed_writer *writer) {
    const struct profile *profile = writer->profile;
    const struct profile_meta *meta = &profile->meta;
    struct json *json = &writer->json;
    json_key_object_begin(json, "meta");
    json_key_ms(json, "interval", meta->interval_ns);
    meta_json_start(json, meta);
    meta_json_clock(json, profile);
    meta_json_range(json, profile);
    json_key_int(json, "version", GECKO_VERSION);
    json_key_int(json, "preprocessedProfileVersion", PROCESSED_VERSION);
    json_key_int(json, "processType", 0);
    meta_json_product_and_machine(json, meta);
    /* Without this, the viewer sends the names and ids of all libraries to a symbol server when it loads the
     * profile. */
    json_key_bool(json, "symbolicated", true);
    if (!has_build_ids(profile)) json_key_bool(json, "symbolicationNotSupported", true);
    json_key_bool(json, "usesOnlyOneStackType", !has_scripts(profile));
    json_key_bool(json, "sourceCodeIsNotOnSearchfox", true);
    meta_json_text_if_known(json, "importedFrom", meta->imported_from);
    meta_json_text_if_known(json, "arguments", meta->arguments);
    if (meta->main_memory_bytes) json_key_int(json, "mainMemory", (int64_t)meta->main_memory_bytes);
    meta_json_categories(json, &profile->categories);
    marker_json_schemas(json, &profile->marker_schemas, false);
    enum cpu_delta_unit cpu_delta_unit = meta_json_cpu_delta_unit(profile);
    if (cpu_delta_unit != CPU_DELTA_NONE) meta_json_sample_units(json, cpu_delta_unit);
    if (meta->keeps_thread_order) json_key_bool(json, "keepProfileThreadOrder", true);
    processed_visible_threads_write(writer);
    write_extra(json, &meta->extra);
    json_object_end(json);
}

/* ---- libs. ---- */

static void write_libs(struct json *json, const struct profile *profile) {
    json_key_array_begin(json, "libs");
    for (uint32_t i = 0; i < libs_count(&profile->libs); i++) {
        json_object_begin(json);
        members_write(json, &processed_lib_shape, libs_at(&profile->libs, (lib_id){i}));
        json_object_end(json);
    }
    json_array_end(json);
}

/* ---- The document. ---- */

static uint64_t count_thread_rows(const struct profile *profile, size_t i) {
    const struct thread *thread = profile_ordered_thread(profile, i);
    return samples_count(&thread->samples) + (uint64_t)thread->markers.count + thread->allocations.count;
}

static uint64_t count_rows(const struct profile *profile) {
    uint64_t rows = strings_count(&profile->strings) + profile->frames.rows.count + profile->stacks.rows.count;
    for (size_t i = 0; i < profile->thread_order.count; i++) rows += count_thread_rows(profile, i);
    return rows;
}

static void write_threads(struct processed_writer *writer) {
    const struct profile *profile = writer->profile;
    json_key_array_begin(&writer->json, "threads");
    for (size_t i = 0; i < profile->thread_order.count && !failure_is_set(profile->failure); i++)
        processed_thread_write(writer, profile_ordered_thread(profile, i));
    json_array_end(&writer->json);
}

/* The format carries everything in a profile, so nothing is entered in the ledger. Writes the document into `json`. */
static void write_document(struct json *json, struct slabs *slabs, const struct profile *profile,
                           struct progress progress) {
    bool *idle_stacks = profile_idle_stacks(profile);
    struct marker_json markers;
    marker_json_init(&markers, profile, processed_marker_format);
    struct processed_writer writer = {
        .profile = profile,
        .json = *json,
        .slabs = slabs,
        .has_weights = profile->meta.weight_type != WEIGHT_ONE || !profile_has_running_times(profile),
        .idle_stacks = idle_stacks,
        .markers = &markers,
        .progress = progress,
        .total_rows = count_rows(profile)};
    json_object_begin(&writer.json);
    write_meta(&writer);
    write_libs(&writer.json, profile);
    processed_shared_write(&writer);
    write_threads(&writer);
    processed_counters_write(&writer);
    processed_overheads_write(&writer);
    log_json_write(&writer.json, profile);
    json_object_end(&writer.json);
    marker_json_fini(&markers);
    memory_free(idle_stacks);
    *json = writer.json;
}

static void emit_processed(const struct profile *profile, struct ledger *ledger, struct chunk_list *out,
                           const struct emit_options *options, struct progress progress) {
    struct json json;
    (void)ledger;
    (void)options;
    json_init_for(&json, out);
    write_document(&json, NULL, profile, progress);
    struct chunk_list document = json_take_chunks(&json);
    chunk_list_splice(out, &document);
}

static void emit_jslb(const struct profile *profile, struct ledger *ledger, struct chunk_list *out,
                      const struct emit_options *options, struct progress progress) {
    struct json json;
    struct slabs slabs;
    (void)ledger;
    (void)options;
    slabs_init(&slabs, profile->failure);
    json_init(&json, profile->failure);
    write_document(&json, &slabs, profile, progress);
    struct chunk_list document = json_take_chunks(&json);
    slabs_add_json(&slabs, &document);
    slabs_write(&slabs, out);
    slabs_fini(&slabs);
}

const struct emitter emitter_processed = {.name = "processed",
                                          .title = "processed v70",
                                          .suffix = ".profile.json",
                                          .media_type = "application/json",
                                          .has_weights = true,
                                          .has_tracks = true,
                                          .emit = emit_processed};

const struct emitter emitter_jslb = {.name = "jslb",
                                     .title = "processed v70 in JsonSlabs",
                                     .suffix = ".jslb",
                                     .media_type = "application/octet-stream",
                                     .has_weights = true,
                                     .has_tracks = true,
                                     .emit = emit_jslb};
