/* Writes the Gecko format, version 36, which Firefox itself writes. Each process has its threads, each thread has its
 * own tables, and the client derives the kind of a function from its text. The format carries less than the processed
 * format; losses are entered in the ledger. */
#include "gecko_losses.h"
#include "gecko_process.h"
#include "gecko_tables.h"
#include "gecko_thread.h"
#include "gecko_weights.h"
#include "libconvert/format/gecko_format.h"
#include "writer/emitter.h"
#include "writer/json.h"
#include "writer/log_json.h"
#include "writer/marker_json.h"
#include "writer/meta_json.h"
#include "writer/thread_json.h"

struct emission {
    const struct profile *profile;
    struct gecko_tables tables;
    struct gecko_weights weights;
    struct gecko_thread_writer threads;
    struct json json;
    struct progress progress; /* while writing threads */
};

/* ---- meta. ---- */

/* Writes what every process has. Children have the root's start time; otherwise the client would shift their times. */
static void write_short_meta(struct json *json, const struct profile *profile, const struct process *process) {
    json_key_int(json, "version", GECKO_VERSION);
    meta_json_start(json, &profile->meta);
    thread_json_key_time(json, "shutdownTime", process ? process_shutdown_ns(process) : TIME_NONE);
}

static void write_root_meta(struct emission *emission, const struct process *process) {
    const struct profile *profile = emission->profile;
    const struct profile_meta *meta = &profile->meta;
    struct json *json = &emission->json;
    json_key_object_begin(json, "meta");
    write_short_meta(json, profile, process);
    json_key_ms(json, "interval", meta->interval_ns);
    json_key_int(json, "processType", 0);
    meta_json_clock(json, profile);
    meta_json_range(json, profile);
    meta_json_product_and_machine(json, meta);
    /* Without this, the client sends the names and ids of all libraries to a symbol server when it loads the
     * profile. */
    json_key_bool(json, "presymbolicated", true);
    meta_json_categories(json, &profile->categories);
    marker_json_schemas(json, &profile->marker_schemas, true);
    enum cpu_delta_unit cpu_delta_unit = meta_json_cpu_delta_unit(profile);
    bool has_cpu = emission->threads.has_cpu_deltas || !emission->weights.are_repeated;
    if (profile_are_weights_cpu(profile)) has_cpu = emission->threads.has_cpu_deltas;
    if (has_cpu && cpu_delta_unit != CPU_DELTA_NONE) meta_json_sample_units(json, cpu_delta_unit);
    json_object_end(json);
}

static void write_empty_array(struct json *json, const char *key) {
    json_key_array_begin(json, key);
    json_array_end(json);
}

/* Writes no schemas: the client merges those of all processes by name, and the root has them all. */
static void write_child_meta(struct emission *emission, const struct process *process) {
    struct json *json = &emission->json;
    json_key_object_begin(json, "meta");
    write_short_meta(json, emission->profile, process);
    write_empty_array(json, "markerSchema");
    json_object_end(json);
}

/* ---- Processes. ---- */

/* Writes the threads of one process, from `position` in the thread order on. Returns the position of the next
 * process. */
static size_t write_threads(struct emission *emission, size_t position) {
    const struct profile *profile = emission->profile;
    size_t count = profile->thread_order.count;
    json_key_array_begin(&emission->json, "threads");
    while (position < count && !failure_is_set(profile->failure)) {
        gecko_thread_write(&emission->threads, profile_ordered_thread(profile, position), &emission->json);
        progress_report(emission->progress, ++position, count);
        if (position < count && gecko_is_first_of_process(profile, position)) break;
    }
    json_array_end(&emission->json);
    return position;
}

/* Writes the process whose threads begin at `position`, or one without threads if the profile has none. Returns
 * the position of the next process. */
static size_t write_process_content(struct emission *emission, size_t position) {
    const struct profile *profile = emission->profile;
    bool has_threads = position < profile->thread_order.count;
    process_id process = has_threads ? profile_ordered_thread(profile, position)->process : process_none();
    /* The client looks up only bare addresses in this list and drops libraries that match none. All functions are
     * written by name, so a library here would have no effect. */
    write_empty_array(&emission->json, "libs");
    thread_json_paused_ranges(&emission->json, profile, process);
    if (has_threads) gecko_counters_write(&emission->json, profile, process);
    if (has_threads) gecko_overhead_write(&emission->json, profile, process);
    position = write_threads(emission, position);
    gecko_sources_write(&emission->threads, &emission->json);
    return position;
}

static void write_children(struct emission *emission, size_t position) {
    const struct profile *profile = emission->profile;
    struct json *json = &emission->json;
    json_key_array_begin(json, "processes");
    while (position < profile->thread_order.count && !failure_is_set(profile->failure)) {
        json_object_begin(json);
        write_child_meta(emission, profile_process_at(profile, profile_ordered_thread(profile, position)->process));
        position = write_process_content(emission, position);
        write_empty_array(json, "processes");
        json_object_end(json);
    }
    json_array_end(json);
}

static void write_root(struct emission *emission) {
    const struct profile *profile = emission->profile;
    const struct process *process =
        profile->thread_order.count ? profile_process_at(profile, profile_ordered_thread(profile, 0)->process) : NULL;
    json_object_begin(&emission->json);
    write_root_meta(emission, process);
    /* The client merges the logs of all processes, and this writes them already merged. */
    log_json_write(&emission->json, profile);
    write_children(emission, write_process_content(emission, 0));
    json_object_end(&emission->json);
}

/* ---- The document. ---- */

static void write_document(struct emission *emission, struct ledger *ledger, struct chunk_list *out) {
    const struct profile *profile = emission->profile;
    json_init_for(&emission->json, out);
    gecko_thread_writer_init(&emission->threads, &emission->tables, &emission->weights);
    if (!failure_is_set(profile->failure)) {
        gecko_losses_enter(&emission->tables, &emission->weights, emission->threads.has_cpu_deltas, ledger);
        write_root(emission);
        struct chunk_list document = json_take_chunks(&emission->json);
        chunk_list_splice(out, &document);
    }
    gecko_thread_writer_fini(&emission->threads);
    json_fini(&emission->json);
}

static void emit_gecko(const struct profile *profile, struct ledger *ledger, struct chunk_list *out,
                       const struct emit_options *options, struct progress progress) {
    (void)options; /* one thread writes, because rows refer to numbers that earlier rows have used first */
    struct emission emission = {.profile = profile, .progress = progress_part(progress, 0.1, 1)};
    gecko_weights_init(&emission.weights, profile);
    if (failure_is_set(profile->failure)) return;
    gecko_tables_init(&emission.tables, profile);
    progress_report(progress_part(progress, 0, 0.1), 1, 1);
    if (!failure_is_set(profile->failure)) write_document(&emission, ledger, out);
    gecko_tables_fini(&emission.tables);
}

const struct emitter emitter_gecko = {.name = "gecko",
                                      .title = "Gecko v36",
                                      .suffix = ".profile.json",
                                      .media_type = "application/json",
                                      .has_tracks = true,
                                      .emit = emit_gecko};
