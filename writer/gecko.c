/* The Gecko format, version 36: what Firefox itself writes. Each process has its threads, each thread its own tables,
 * and the client finds out from texts what functions are. It carries less than the processed format; what is lost is
 * entered in the ledger. */
#include "emitter.h"
#include "gecko_tables.h"
#include "gecko_thread.h"
#include "gecko_weights.h"
#include "json.h"
#include "meta_json.h"

enum { GECKO_PROFILE_VERSION = 36 };

struct emission {
    const struct profile *profile;
    struct gecko_tables tables;
    struct gecko_weights weights;
    struct gecko_thread_writer threads;
    struct json json;
    struct progress progress; /* of the threads */
};

static const struct thread *ordered_thread(const struct profile *profile, size_t place) {
    return profile_thread_at(profile, *(const thread_id *)column_at(&profile->thread_order, place));
}

/* ---- Losses ---- */

static bool is_script(const struct profile *profile, const struct func *func) {
    return gecko_code_place(profile, func).kind == PLACE_SCRIPT;
}

static const struct func *func_at(const struct profile *profile, uint32_t row) {
    return row_table_at(&profile->funcs, row);
}

static const struct frame *frame_at(const struct profile *profile, uint32_t row) {
    return row_table_at(&profile->frames, row);
}

static bool has_inline_depth(const struct profile *profile, uint32_t row) {
    return frame_at(profile, row)->inline_depth > 0;
}

static bool has_address(const struct profile *profile, uint32_t row) {
    return frame_at(profile, row)->address != ADDRESS_NONE;
}

static bool has_native_symbol(const struct profile *profile, uint32_t row) {
    return !native_symbol_is_none(frame_at(profile, row)->native_symbol);
}

static bool has_native_source(const struct profile *profile, uint32_t row) {
    const struct func *func = func_at(profile, row);
    return !source_is_none(func->source) && !is_script(profile, func);
}

static bool has_native_line(const struct profile *profile, uint32_t row) {
    const struct func *func = func_at(profile, row);
    return func->line && !is_script(profile, func);
}

static bool is_script_without_source(const struct profile *profile, uint32_t row) {
    const struct func *func = func_at(profile, row);
    return func->flags & FUNC_IS_JS && !is_script(profile, func);
}

static bool has_script_resource(const struct profile *profile, uint32_t row) {
    const struct func *func = func_at(profile, row);
    return !resource_is_none(func->resource) && is_script(profile, func);
}

static bool is_script_without_line(const struct profile *profile, uint32_t row) {
    const struct func *func = func_at(profile, row);
    return !func->line && is_script(profile, func);
}

static bool has_typed_resource(const struct profile *profile, uint32_t row) {
    const struct func *func = func_at(profile, row);
    if (resource_is_none(func->resource) || is_script(profile, func)) return false;
    return profile_resource_at(profile, func->resource)->type != RESOURCE_LIBRARY;
}

static bool has_lost_name(const struct profile *profile, uint32_t place) {
    const struct thread *thread = ordered_thread(profile, place);
    return thread->is_main && !text_equal(thread->name, profile_process_at(profile, thread->process)->name);
}

static bool has_main_thread_name(const struct profile *profile, uint32_t place) {
    const struct thread *thread = ordered_thread(profile, place);
    return !thread->is_main && text_equal(thread->name, TEXT(GECKO_MAIN_THREAD_NAME));
}

static bool is_first_of_process(const struct profile *profile, uint32_t place) {
    return place == 0 ||
           !process_is_same(ordered_thread(profile, place)->process, ordered_thread(profile, place - 1)->process);
}

static bool starts_process_late(const struct profile *profile, uint32_t place) {
    const struct process *process = profile_process_at(profile, ordered_thread(profile, place)->process);
    return is_first_of_process(profile, place) && process->start_ns != TIME_NONE && process->start_ns != 0;
}

static bool is_there(const struct profile *profile, uint32_t row) {
    (void)profile;
    (void)row;
    return true;
}

/* The one row of the profile's metadata. */

static bool has_importer(const struct profile *profile, uint32_t row) {
    (void)row;
    return profile->meta.imported_from.bytes_count > 0;
}

static bool has_arguments(const struct profile *profile, uint32_t row) {
    (void)row;
    return profile->meta.arguments.bytes_count > 0;
}

static bool has_main_memory(const struct profile *profile, uint32_t row) {
    (void)row;
    return profile->meta.main_memory_bytes > 0;
}

enum row_kind { ROWS_FRAMES, ROWS_FUNCS, ROWS_LIBS, ROWS_THREADS, ROWS_EXTRA, ROWS_META };

static size_t row_count(const struct profile *profile, enum row_kind kind) {
    switch (kind) {
        case ROWS_FRAMES:
            return row_table_count(&profile->frames);
        case ROWS_FUNCS:
            return row_table_count(&profile->funcs);
        case ROWS_LIBS:
            return libs_count(&profile->libs);
        case ROWS_THREADS:
            return profile->thread_order.count;
        case ROWS_EXTRA:
            return profile->meta.extra.count;
        case ROWS_META:
            return 1;
    }
    return 0;
}

static const struct property {
    const char *cause;
    enum row_kind rows;
    bool (*has)(const struct profile *profile, uint32_t row);
    bool is_noted; /* nothing is lost, but it is worth saying */
} properties[] = {
    {"inline depth of a frame (the frame itself is kept)", ROWS_FRAMES, has_inline_depth, false},
    {"address of a frame", ROWS_FRAMES, has_address, false},
    {"native symbol of a frame", ROWS_FRAMES, has_native_symbol, false},
    {"source file of a native function", ROWS_FUNCS, has_native_source, false},
    {"line of a native function", ROWS_FUNCS, has_native_line, false},
    {"JavaScript flag of a function without a source file", ROWS_FUNCS, is_script_without_source, false},
    {"resource of a JavaScript function", ROWS_FUNCS, has_script_resource, false},
    {"type of a resource that is no library", ROWS_FUNCS, has_typed_resource, false},
    {"JavaScript function without a line (line 0 is written)", ROWS_FUNCS, is_script_without_line, true},
    {"path and build id of a library", ROWS_LIBS, is_there, false},
    {"name of a main thread that is not its process's", ROWS_THREADS, has_lost_name, false},
    {"name of a thread that would make it a main thread (a space is added)", ROWS_THREADS, has_main_thread_name, false},
    {"start time of a process", ROWS_THREADS, starts_process_late, false},
    {"entry of the information panel (meta.extra)", ROWS_EXTRA, is_there, false},
    {"program that wrote the trace (meta.importedFrom)", ROWS_META, has_importer, false},
    {"command line (meta.arguments)", ROWS_META, has_arguments, false},
    {"size of the main memory (meta.mainMemory)", ROWS_META, has_main_memory, false},
};

static void enter_lost(struct ledger *ledger, const char *cause, uint64_t count) {
    ledger_read(ledger, LEDGER_VALUES, count);
    ledger_enter(ledger, LEDGER_VALUES, LEDGER_LOST, text_of(cause), count, NULL);
}

static void enter_property(const struct profile *profile, const struct property *property, struct ledger *ledger) {
    uint64_t count = 0;
    size_t rows = row_count(profile, property->rows);
    for (uint32_t row = 0; row < rows; row++) count += property->has(profile, row);
    if (property->is_noted)
        ledger_enter(ledger, LEDGER_VALUES, LEDGER_NOTED, text_of(property->cause), count, NULL);
    else
        enter_lost(ledger, property->cause, count);
}

static void enter_losses(const struct emission *emission, struct ledger *ledger) {
    static const char *const change_causes[LOCATION_CHANGE_COUNT] = {
        [LOCATION_SPACE_ADDED] = "function name that the client would take for more (a space is added)",
        [LOCATION_LINES_JOINED] = "line break in a function name (a space is written)",
        [LOCATION_BRACKETS_BENT] = "round brackets in a library's name (square ones are written)",
    };
    for (size_t i = 0; i < sizeof properties / sizeof *properties; i++)
        enter_property(emission->profile, &properties[i], ledger);
    for (size_t i = 0; i < LOCATION_CHANGE_COUNT; i++)
        enter_lost(ledger, change_causes[i], emission->tables.changes[i]);
    enter_lost(ledger, "function that differs from another one only in what is lost",
               emission->tables.merged_func_count);
    gecko_weights_enter(&emission->weights, ledger);
    if (emission->profile->meta.cpu_delta_unit != CPU_DELTA_NONE && !emission->threads.has_cpu_deltas)
        enter_lost(ledger, "CPU time of a sample (samples are repeated, or weights are differences)",
                   emission->weights.sample_count);
}

/* ---- meta ---- */

static void write_schema_fields(struct json *json, const struct marker_schema *schema) {
    json_key(json, "data");
    json_array_begin(json);
    meta_json_schema_fields(json, schema);
    /* A field without a key is one of the schema, not of its markers: the client makes it the description. */
    if (schema->description.bytes_count) {
        json_object_begin(json);
        json_key_string(json, "label", "Description");
        json_key_value_text(json, "value", schema->description);
        json_object_end(json);
    }
    json_array_end(json);
}

static void write_marker_schema(struct json *json, const struct marker_schema *schema) {
    json_object_begin(json);
    meta_json_schema_head(json, schema);
    write_schema_fields(json, schema);
    json_object_end(json);
}

/* What every process has. Children have the root's zero, or the client would move their times. */
static void write_short_meta(struct json *json, const struct profile *profile, const struct process *process) {
    json_key_int(json, "version", GECKO_PROFILE_VERSION);
    json_key_int(json, "startTime", profile->meta.start_time_ms);
    json_key(json, "shutdownTime");
    if (process && process->end_ns != TIME_NONE)
        json_ms(json, process->end_ns);
    else
        json_null(json);
}

static void write_root_meta(struct emission *emission, const struct process *process) {
    const struct profile *profile = emission->profile;
    const struct profile_meta *meta = &profile->meta;
    struct json *json = &emission->json;
    json_key(json, "meta");
    json_object_begin(json);
    write_short_meta(json, profile, process);
    json_key_ms(json, "interval", meta->interval_ns);
    json_key_int(json, "processType", 0);
    meta_json_product_and_machine(json, meta);
    /* Otherwise the client sends the names and ids of all libraries to a symbol server on load. */
    json_key_bool(json, "presymbolicated", true);
    meta_json_categories(json, &profile->categories);
    json_key(json, "markerSchema");
    json_array_begin(json);
    for (size_t i = 0; i < profile->marker_schemas.count; i++)
        write_marker_schema(json, column_at(&profile->marker_schemas, i));
    json_array_end(json);
    if (emission->threads.has_cpu_deltas) meta_json_sample_units(json, meta->cpu_delta_unit);
    json_object_end(json);
}

/* The client merges the schemas of all processes by name, and the root has them all. */
static void write_child_meta(struct emission *emission, const struct process *process) {
    struct json *json = &emission->json;
    json_key(json, "meta");
    json_object_begin(json);
    write_short_meta(json, emission->profile, process);
    json_key(json, "markerSchema");
    json_array_begin(json);
    json_array_end(json);
    json_object_end(json);
}

/* ---- Processes ---- */

static void write_empty_array(struct json *json, const char *key) {
    json_key(json, key);
    json_array_begin(json);
    json_array_end(json);
}

/* Writes the threads of one process, from that place in the order on; returns the place behind them. */
static size_t write_threads(struct emission *emission, size_t place) {
    const struct profile *profile = emission->profile;
    size_t count = profile->thread_order.count;
    json_key(&emission->json, "threads");
    json_array_begin(&emission->json);
    while (place < count && !failure_is_set(profile->failure)) {
        gecko_thread_write(&emission->threads, ordered_thread(profile, place), &emission->json);
        progress_report(emission->progress, ++place, count);
        if (place < count && is_first_of_process(profile, (uint32_t)place)) break;
    }
    json_array_end(&emission->json);
    return place;
}

static size_t write_process_content(struct emission *emission, size_t place) {
    /* The client looks up only bare addresses in this list, and what it finds none in does not appear in the loaded
     * profile. All functions are written by name, so a library here would do nothing. */
    write_empty_array(&emission->json, "libs");
    write_empty_array(&emission->json, "pausedRanges");
    place = write_threads(emission, place);
    gecko_sources_write(&emission->threads, &emission->json);
    return place;
}

static void write_children(struct emission *emission, size_t place) {
    const struct profile *profile = emission->profile;
    struct json *json = &emission->json;
    json_key(json, "processes");
    json_array_begin(json);
    while (place < profile->thread_order.count && !failure_is_set(profile->failure)) {
        json_object_begin(json);
        write_child_meta(emission, profile_process_at(profile, ordered_thread(profile, place)->process));
        place = write_process_content(emission, place);
        write_empty_array(json, "processes");
        json_object_end(json);
    }
    json_array_end(json);
}

static void write_root(struct emission *emission) {
    const struct profile *profile = emission->profile;
    const struct process *process =
        profile->thread_order.count ? profile_process_at(profile, ordered_thread(profile, 0)->process) : NULL;
    json_object_begin(&emission->json);
    write_root_meta(emission, process);
    write_children(emission, write_process_content(emission, 0));
    json_object_end(&emission->json);
}

/* ---- The document ---- */

static void write_document(struct emission *emission, struct ledger *ledger, struct chunk_list *out) {
    const struct profile *profile = emission->profile;
    json_init(&emission->json, profile->failure);
    gecko_thread_writer_init(&emission->threads, &emission->tables, &emission->weights);
    if (!failure_is_set(profile->failure)) {
        enter_losses(emission, ledger);
        write_root(emission);
        struct chunk_list document = json_take_chunks(&emission->json);
        chunk_list_splice(out, &document);
    }
    gecko_thread_writer_fini(&emission->threads);
    json_fini(&emission->json);
}

static void emit_gecko(const struct profile *profile, struct ledger *ledger, struct chunk_list *out,
                       struct progress progress) {
    struct emission emission = {.profile = profile, .progress = progress_part(progress, 0.1, 1)};
    gecko_weights_init(&emission.weights, profile);
    if (failure_is_set(profile->failure)) return;
    gecko_tables_init(&emission.tables, profile);
    progress_report(progress_part(progress, 0, 0.1), 1, 1);
    if (!failure_is_set(profile->failure)) write_document(&emission, ledger, out);
    gecko_tables_fini(&emission.tables);
}

const struct emitter emitter_gecko = {.name = "gecko", .title = "Gecko v36", .emit = emit_gecko};
