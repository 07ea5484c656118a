/* Writes the Gecko format, version 36, which Firefox itself writes. Each process has its threads, each thread has its
 * own tables, and the client derives the kind of a function from its text. The format carries less than the processed
 * format; losses are entered in the ledger. */
#include "gecko_process.h"
#include "gecko_tables.h"
#include "gecko_thread.h"
#include "gecko_weights.h"
#include "libconvert/format/gecko_format.h"
#include "writer/counter_json.h"
#include "writer/emitter.h"
#include "writer/json.h"
#include "writer/log_json.h"
#include "writer/losses.h"
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

/* ---- Rows that the format has no place for. ---- */

static void enter_frames(const struct profile *profile, struct ledger *ledger) {
    uint64_t depths = 0, addresses = 0, symbols = 0;
    COLUMN_EACH(const struct frame, frame, &profile->frames.rows) {
        depths += frame->inline_depth > 0;
        addresses += frame->address != ADDRESS_NONE;
        symbols += !native_symbol_is_none(frame->native_symbol);
    }
    losses_enter(ledger, "inline depth of a frame (the frame itself is kept)", depths);
    losses_enter(ledger, "address of a frame", addresses);
    losses_enter(ledger, "native symbol of a frame", symbols);
}

static bool is_library(const struct profile *profile, resource_id id) {
    return profile_resource_at(profile, id)->type == RESOURCE_LIBRARY;
}

static void enter_funcs(const struct profile *profile, struct ledger *ledger) {
    uint64_t sources = 0, lines = 0, flags = 0, script_resources = 0, types = 0, script_lines = 0;
    COLUMN_EACH(const struct func, func, &profile->funcs.rows) {
        bool is_script = gecko_location_parts(profile, func).kind == LOCATION_SCRIPT;
        bool has_resource = !resource_is_none(func->resource);
        script_resources += is_script && has_resource;
        script_lines += is_script && !func->line;
        if (is_script) continue;
        sources += !source_is_none(func->source);
        lines += func->line > 0;
        flags += func->flags & FUNC_IS_JS;
        types += has_resource && !is_library(profile, func->resource);
    }
    losses_enter(ledger, "source file of a native function", sources);
    losses_enter(ledger, "line of a native function", lines);
    losses_enter(ledger, "JavaScript flag of a function without a source file", flags);
    losses_enter(ledger, "resource of a JavaScript function", script_resources);
    losses_enter(ledger, "type of a resource that is not a library", types);
    losses_note(ledger, "JavaScript function without a line (line 0 is written)", script_lines);
    losses_enter(ledger, "path and build id of a library", libs_count(&profile->libs));
    losses_enter(ledger, "text of a source file", losses_count_contents(profile));
}

static void enter_threads(const struct profile *profile, struct ledger *ledger) {
    uint64_t names = 0, starts = 0;
    for (size_t i = 0; i < profile->thread_order.count; i++) {
        const struct thread *thread = profile_ordered_thread(profile, i);
        int64_t start_ns = profile_process_at(profile, thread->process)->start_ns;
        names += !thread->is_main && text_equal(thread->name, TEXT(GECKO_MAIN_THREAD_NAME));
        starts += gecko_is_first_of_process(profile, i) && start_ns != TIME_NONE && start_ns != 0;
    }
    losses_enter(ledger, "name of a thread that would make it a main thread (a space is added)", names);
    losses_enter(ledger, "start time of a process", starts);
}

/* The client identifies the process of a counter, or of an overhead, by its main thread. Only counters that are written
 * have a display to lose. */
static void enter_rows_of_processes(const struct profile *profile, struct ledger *ledger) {
    uint64_t counters = 0, displays = 0, levels = 0, overheads = 0;
    COLUMN_EACH(const struct counter, counter, &profile->counters) {
        bool is_written = gecko_has_main_thread(profile, counter->process);
        counters += !is_written;
        displays += is_written && !counter_json_is_shown_by_default(counter);
        levels += is_written && counter->graph == COUNTER_ACCUMULATED && !counter_json_is_right_by_default(counter);
    }
    for (size_t i = 0; i < profile->overheads.count; i++)
        overheads +=
            !gecko_has_main_thread(profile, ((const struct overhead *)column_at(&profile->overheads, i))->process);
    const struct profile_meta *meta = &profile->meta;
    losses_enter(ledger, "counter of a process without a main thread", counters);
    losses_enter(ledger, "overhead of recording in a process without a main thread", overheads);
    losses_enter(ledger, "graph, unit, color, order or label of a counter", displays);
    losses_note(ledger, "changes of an accumulating counter (its levels are written)", levels);
    losses_enter(ledger, "entry of the information panel (meta.extra)", meta->extra.count);
    losses_enter(ledger, "program that wrote the trace (meta.importedFrom)", meta->imported_from.bytes_count > 0);
    losses_enter(ledger, "command line (meta.arguments)", meta->arguments.bytes_count > 0);
    losses_enter(ledger, "size of the main memory (meta.mainMemory)", meta->main_memory_bytes > 0);
}

/* ---- Weights and CPU times that the format has no place for. ---- */

static uint64_t count_track_weights(const struct profile *profile) {
    uint64_t count = 0;
    for (size_t i = 0; i < profile->thread_order.count; i++) {
        const struct thread *thread = profile_ordered_thread(profile, i);
        uint32_t sample_count = thread_is_track(thread) ? samples_count(&thread->samples) : 0;
        for (uint32_t row = 0; row < sample_count; row++) count += samples_at(&thread->samples, row)->weight != 1;
    }
    return count;
}

/* Returns how many samples have a separate CPU time that is not written because samples are repeated. */
static uint64_t count_lost_cpu(const struct profile *profile, const struct gecko_weights *weights) {
    uint64_t count = 0;
    for (size_t i = 0; i < profile->thread_order.count; i++) {
        const struct thread *thread = profile_ordered_thread(profile, i);
        const struct samples *samples = &thread->samples;
        if (!samples_have_cpu(samples) || gecko_weights_leave_cpu(weights, thread)) continue;
        for (uint32_t row = 0; row < samples_count(samples); row++) count += samples_cpu_ns(samples, row) != TIME_NONE;
    }
    return count;
}

/* Enters all losses of the profile. `has_cpu_deltas` says whether samples have their CPU time. */
static void enter_losses(const struct gecko_tables *tables, const struct gecko_weights *weights, bool has_cpu_deltas,
                         struct ledger *ledger) {
    static const char *const change_causes[LOCATION_CHANGE_COUNT] = {
        [LOCATION_SPACE_ADDED] = "function name that the client would take for more (a space is added)",
        [LOCATION_LINES_JOINED] = "line break in a function name (a space is written)",
        [LOCATION_BRACKETS_REPLACED] = "round brackets in a library's name (square ones are written)",
    };
    const struct profile *profile = tables->profile;
    enter_frames(profile, ledger);
    enter_funcs(profile, ledger);
    enter_threads(profile, ledger);
    enter_rows_of_processes(profile, ledger);
    for (size_t i = 0; i < LOCATION_CHANGE_COUNT; i++) losses_enter(ledger, change_causes[i], tables->changes[i]);
    losses_enter(ledger, "function that differs from another one only in what is lost", tables->merged_func_count);
    gecko_weights_enter(weights, ledger);
    losses_enter(ledger, "weight of a sample in a track of an event", count_track_weights(profile));
    bool has_lost_weights = profile_are_weights_cpu(profile) && !has_cpu_deltas;
    losses_enter(ledger, "CPU time of a sample (samples are repeated, or weights are differences)",
                 has_lost_weights ? weights->sample_count : count_lost_cpu(profile, weights));
}

/* ---- meta. ---- */

/* Writes the members that every process has. Children have the root's start time; otherwise the client would shift
 * their times. */
static void write_short_meta(struct json *json, const struct profile *profile, const struct process *process) {
    json_key_int(json, "version", GECKO_VERSION);
    meta_json_start(json, &profile->meta);
    thread_json_key_time(json, "shutdownTime", process ? process_shutdown_ns(process) : TIME_NONE);
}

static bool has_cpu_times(const struct emission *emission) {
    const struct profile *profile = emission->profile;
    if (profile_are_weights_cpu(profile)) return emission->threads.has_cpu_deltas;
    bool has_any = !emission->weights.are_repeated;
    for (size_t i = 0; i < profile->thread_order.count && !has_any; i++)
        has_any = gecko_weights_leave_cpu(&emission->weights, profile_ordered_thread(profile, i));
    return has_any;
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
    if (has_cpu_times(emission) && cpu_delta_unit != CPU_DELTA_NONE) meta_json_sample_units(json, cpu_delta_unit);
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
        enter_losses(&emission->tables, &emission->weights, emission->threads.has_cpu_deltas, ledger);
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
