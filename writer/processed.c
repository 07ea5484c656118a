/* The processed format, version 70: what the front-end keeps in memory, as JSON. All threads share one set of tables;
 * a table is an object of columns. Each column is a fragment of its own, so that one pass over the rows fills all
 * columns of a table, and the finished ones are spliced behind each other. */
#include "emitter.h"
#include "json.h"
#include "meta_json.h"

enum { GECKO_PROFILE_VERSION = 36, PROCESSED_PROFILE_VERSION = 70, TABLE_COLUMNS_MAX = 11 };

struct emission {
    const struct profile *profile;
    struct json json; /* the document */
    struct progress progress;
    uint64_t done_rows; /* samples, stacks, frames, strings, markers */
    uint64_t total_rows;
};

static void report_rows(struct emission *emission, uint64_t rows) {
    emission->done_rows += rows;
    progress_report(emission->progress, emission->done_rows, emission->total_rows);
}

/* ---- Tables ---- */

struct table {
    const char *const *names;
    size_t column_count;
    struct json columns[TABLE_COLUMNS_MAX];
};

static void column_begin(struct json *column, struct failure *failure) {
    json_init(column, failure);
    json_array_begin(column);
}

static void column_end(struct json *column, const char *name, struct json *into) {
    json_array_end(column);
    json_key(into, name);
    json_splice(into, column);
}

static void table_begin(struct table *table, const char *const names[], size_t column_count, struct failure *failure) {
    table->names = names;
    table->column_count = column_count;
    for (size_t i = 0; i < column_count; i++) column_begin(&table->columns[i], failure);
}

/* Writes the table as the value of `key`. */
static void table_end(struct table *table, const char *key, size_t row_count, struct json *into) {
    json_key(into, key);
    json_object_begin(into);
    for (size_t i = 0; i < table->column_count; i++) column_end(&table->columns[i], table->names[i], into);
    json_key_int(into, "length", (int64_t)row_count);
    json_object_end(into);
}

static inline void write_index_or_null(struct json *json, uint32_t index) {
    if (index == ID_NONE)
        json_null(json);
    else
        json_int(json, index);
}

static inline void write_index_or_minus_one(struct json *json, uint32_t index) {
    json_int(json, index == ID_NONE ? -1 : (int64_t)index);
}

/* Lines and columns count from 1; 0 is an unknown one. */
static inline void write_place(struct json *json, uint32_t line_or_column) {
    if (line_or_column)
        json_int(json, line_or_column);
    else
        json_null(json);
}

/* ---- meta ---- */

static void write_marker_schema(struct json *json, const struct marker_schema *schema) {
    json_object_begin(json);
    meta_json_schema_head(json, schema);
    meta_json_text_if_known(json, "description", schema->description);
    json_key(json, "fields");
    json_array_begin(json);
    meta_json_schema_fields(json, schema);
    json_array_end(json);
    json_object_end(json);
}

static void write_marker_schemas(struct json *json, const struct column *schemas) {
    json_key(json, "markerSchema");
    json_array_begin(json);
    for (size_t i = 0; i < schemas->count; i++) write_marker_schema(json, column_at(schemas, i));
    json_array_end(json);
}

static const struct extra_entry *extra_at(const struct column *extra, size_t i) { return column_at(extra, i); }

/* Writes the run of entries of one section that starts at row `from`; returns the row behind it. */
static size_t write_extra_section(struct json *json, const struct column *extra, size_t from) {
    struct text section = extra_at(extra, from)->section;
    json_object_begin(json);
    json_key_value_text(json, "label", section);
    json_key(json, "entries");
    json_array_begin(json);
    size_t i = from;
    for (; i < extra->count && text_equal(extra_at(extra, i)->section, section); i++) {
        json_object_begin(json);
        json_key_value_text(json, "label", extra_at(extra, i)->label);
        json_key_string(json, "format", "string");
        json_key_value_text(json, "value", extra_at(extra, i)->value);
        json_object_end(json);
    }
    json_array_end(json);
    json_object_end(json);
    return i;
}

static void write_extra(struct json *json, const struct column *extra) {
    if (!extra->count) return;
    json_key(json, "extra");
    json_array_begin(json);
    for (size_t i = 0; i < extra->count;) i = write_extra_section(json, extra, i);
    json_array_end(json);
}

static const struct thread *ordered_thread(const struct profile *profile, size_t place) {
    return profile_thread_at(profile, *(const thread_id *)column_at(&profile->thread_order, place));
}

/* The category in which the front-end counts a sample as inactive; the number of categories when there is none. */
static size_t find_idle_category(const struct categories *categories) {
    size_t i = 0;
    while (i < categories->rows.count && !text_equal(categories_at(categories, i)->name, TEXT("Idle"))) i++;
    return i;
}

static bool is_idle(const struct profile *profile, stack_id stack, size_t idle_category) {
    if (stack_is_none(stack)) return false;
    frame_id innermost = profile_stack_at(profile, stack)->frame;
    return profile_frame_at(profile, innermost)->category == idle_category;
}

static uint64_t count_active_samples(const struct profile *profile, const struct samples *samples,
                                     size_t idle_category) {
    uint64_t active_count = 0;
    for (size_t i = 0, run_count; i < samples->stack.count; i += run_count) {
        const stack_id *run = column_run(&samples->stack, i, &run_count);
        for (size_t j = 0; j < run_count; j++) {
            active_count += !is_idle(profile, run[j], idle_category);
        }
    }
    return active_count;
}

/* The viewer opens on the thread that did most. */
static void write_selected_threads(struct json *json, const struct profile *profile) {
    if (!profile->thread_order.count) return;
    size_t idle_category = find_idle_category(&profile->categories), busiest = 0;
    uint64_t most = 0;
    for (size_t i = 0; i < profile->thread_order.count; i++) {
        uint64_t count = count_active_samples(profile, &ordered_thread(profile, i)->samples, idle_category);
        if (count <= most) continue;
        most = count;
        busiest = i;
    }
    json_key(json, "initialSelectedThreads");
    json_array_begin(json);
    json_int(json, (int64_t)busiest);
    json_array_end(json);
}

/* Native code alone needs no choice between kinds of stacks. */
static bool has_scripts(const struct profile *profile) {
    for (uint32_t i = 0; i < row_table_count(&profile->funcs); i++)
        if (profile_func_at(profile, (func_id){i})->flags & FUNC_IS_JS) return true;
    return false;
}

/* Symbols can be asked for again only where a library can be told by its build id. */
static bool has_build_ids(const struct profile *profile) {
    for (uint32_t i = 0; i < libs_count(&profile->libs); i++)
        if (libs_at(&profile->libs, (lib_id){i})->code_id.bytes_count) return true;
    return false;
}

static void write_meta(struct json *json, const struct profile *profile) {
    const struct profile_meta *meta = &profile->meta;
    json_key(json, "meta");
    json_object_begin(json);
    json_key_ms(json, "interval", meta->interval_ns);
    json_key_int(json, "startTime", meta->start_time_ms);
    json_key_int(json, "version", GECKO_PROFILE_VERSION);
    json_key_int(json, "preprocessedProfileVersion", PROCESSED_PROFILE_VERSION);
    json_key_int(json, "processType", 0);
    meta_json_product_and_machine(json, meta);
    /* Otherwise the viewer sends the names and ids of all libraries to a symbol server on load. */
    json_key_bool(json, "symbolicated", true);
    if (!has_build_ids(profile)) json_key_bool(json, "symbolicationNotSupported", true);
    json_key_bool(json, "usesOnlyOneStackType", !has_scripts(profile));
    json_key_bool(json, "sourceCodeIsNotOnSearchfox", true);
    meta_json_text_if_known(json, "importedFrom", meta->imported_from);
    meta_json_text_if_known(json, "arguments", meta->arguments);
    if (meta->main_memory_bytes) json_key_int(json, "mainMemory", (int64_t)meta->main_memory_bytes);
    meta_json_categories(json, &profile->categories);
    write_marker_schemas(json, &profile->marker_schemas);
    if (meta->cpu_delta_unit != CPU_DELTA_NONE) meta_json_sample_units(json, meta->cpu_delta_unit);
    write_extra(json, &meta->extra);
    write_selected_threads(json, profile);
    json_object_end(json);
}

/* ---- libs ---- */

static void write_libs(struct json *json, const struct profile *profile) {
    json_key(json, "libs");
    json_array_begin(json);
    for (uint32_t i = 0; i < libs_count(&profile->libs); i++) {
        const struct lib *lib = libs_at(&profile->libs, (lib_id){i});
        json_object_begin(json);
        json_key_string(json, "arch", ""); /* the trace does not tell it */
        json_key_value_text(json, "name", lib->name);
        json_key_value_text(json, "path", lib->path);
        json_key_value_text(json, "debugName", lib->debug_name);
        json_key_value_text(json, "debugPath", lib->path);
        json_key_value_text(json, "breakpadId", lib->breakpad_id);
        json_key(json, "codeId");
        if (lib->code_id.bytes_count)
            json_text(json, lib->code_id);
        else
            json_null(json);
        json_object_end(json);
    }
    json_array_end(json);
}

/* ---- shared ---- */

enum stack_column { STACK_FRAME, STACK_PREFIX_OFFSET, STACK_COLUMN_COUNT };

static const char *const stack_columns[STACK_COLUMN_COUNT] = {
    [STACK_FRAME] = "frame",
    [STACK_PREFIX_OFFSET] = "prefixOffset",
};

static void write_stack_table(struct emission *emission) {
    const struct column *stacks = &emission->profile->stacks.rows;
    struct table table;
    table_begin(&table, stack_columns, STACK_COLUMN_COUNT, emission->profile->failure);
    for (size_t i = 0, run_count; i < stacks->count; i += run_count) {
        const struct stack *run = column_run(stacks, i, &run_count);
        for (size_t j = 0; j < run_count; j++) {
            json_int(&table.columns[STACK_FRAME], run[j].frame.index);
            /* How far back the caller's stack stands; 0 for a root. */
            bool is_root = stack_is_none(run[j].prefix);
            json_int(&table.columns[STACK_PREFIX_OFFSET], is_root ? 0 : (int64_t)(i + j - run[j].prefix.index));
        }
    }
    table_end(&table, "stackTable", stacks->count, &emission->json);
    report_rows(emission, stacks->count);
}

enum frame_column {
    FRAME_ADDRESS,
    FRAME_INLINE_DEPTH,
    FRAME_CATEGORY,
    FRAME_SUBCATEGORY,
    FRAME_FUNC,
    FRAME_LIB,
    FRAME_NATIVE_SYMBOL,
    FRAME_INNER_WINDOW_ID,
    FRAME_LINE,
    FRAME_COLUMN,
    FRAME_ORIGINAL_LOCATION,
    FRAME_COLUMN_COUNT
};
_Static_assert((int)FRAME_COLUMN_COUNT <= (int)TABLE_COLUMNS_MAX, "the widest table must fit");

static const char *const frame_columns[FRAME_COLUMN_COUNT] = {
    [FRAME_ADDRESS] = "address",
    [FRAME_INLINE_DEPTH] = "inlineDepth",
    [FRAME_CATEGORY] = "category",
    [FRAME_SUBCATEGORY] = "subcategory",
    [FRAME_FUNC] = "func",
    [FRAME_LIB] = "lib",
    [FRAME_NATIVE_SYMBOL] = "nativeSymbol",
    [FRAME_INNER_WINDOW_ID] = "innerWindowID",
    [FRAME_LINE] = "line",
    [FRAME_COLUMN] = "column",
    [FRAME_ORIGINAL_LOCATION] = "originalLocation",
};

static void write_frame(struct json columns[], const struct frame *frame) {
    json_int(&columns[FRAME_ADDRESS], frame->address);
    json_int(&columns[FRAME_INLINE_DEPTH], frame->inline_depth);
    json_int(&columns[FRAME_CATEGORY], frame->category);
    json_int(&columns[FRAME_SUBCATEGORY], frame->subcategory);
    json_int(&columns[FRAME_FUNC], frame->func.index);
    write_index_or_minus_one(&columns[FRAME_LIB], frame->lib.index);
    write_index_or_null(&columns[FRAME_NATIVE_SYMBOL], frame->native_symbol.index);
    json_null(&columns[FRAME_INNER_WINDOW_ID]);
    write_place(&columns[FRAME_LINE], frame->line);
    write_place(&columns[FRAME_COLUMN], frame->column);
    json_null(&columns[FRAME_ORIGINAL_LOCATION]);
}

static void write_frame_table(struct emission *emission) {
    const struct column *frames = &emission->profile->frames.rows;
    struct table table;
    table_begin(&table, frame_columns, FRAME_COLUMN_COUNT, emission->profile->failure);
    for (size_t i = 0; i < frames->count; i++) write_frame(table.columns, column_at(frames, i));
    table_end(&table, "frameTable", frames->count, &emission->json);
    report_rows(emission, frames->count);
}

enum func_column {
    FUNC_NAME,
    FUNC_JS,
    FUNC_RELEVANT_FOR_JS,
    FUNC_RESOURCE,
    FUNC_SOURCE,
    FUNC_LINE_NUMBER,
    FUNC_COLUMN_NUMBER,
    FUNC_ORIGINAL_LOCATION,
    FUNC_COLUMN_COUNT
};

static const char *const func_columns[FUNC_COLUMN_COUNT] = {
    [FUNC_NAME] = "name",
    [FUNC_JS] = "isJS",
    [FUNC_RELEVANT_FOR_JS] = "relevantForJS",
    [FUNC_RESOURCE] = "resource",
    [FUNC_SOURCE] = "source",
    [FUNC_LINE_NUMBER] = "lineNumber",
    [FUNC_COLUMN_NUMBER] = "columnNumber",
    [FUNC_ORIGINAL_LOCATION] = "originalLocation",
};

static void write_func(struct json columns[], const struct func *func) {
    json_int(&columns[FUNC_NAME], func->name.index);
    json_bool(&columns[FUNC_JS], func->flags & FUNC_IS_JS);
    json_bool(&columns[FUNC_RELEVANT_FOR_JS], false);
    write_index_or_minus_one(&columns[FUNC_RESOURCE], func->resource.index);
    write_index_or_null(&columns[FUNC_SOURCE], func->source.index);
    write_place(&columns[FUNC_LINE_NUMBER], func->line);
    write_place(&columns[FUNC_COLUMN_NUMBER], func->column);
    json_null(&columns[FUNC_ORIGINAL_LOCATION]);
}

static void write_func_table(struct emission *emission) {
    const struct column *funcs = &emission->profile->funcs.rows;
    struct table table;
    table_begin(&table, func_columns, FUNC_COLUMN_COUNT, emission->profile->failure);
    for (size_t i = 0; i < funcs->count; i++) write_func(table.columns, column_at(funcs, i));
    table_end(&table, "funcTable", funcs->count, &emission->json);
}

enum resource_column { RESOURCE_NAME, RESOURCE_HOST, RESOURCE_TYPE, RESOURCE_COLUMN_COUNT };

static const char *const resource_columns[RESOURCE_COLUMN_COUNT] = {
    [RESOURCE_NAME] = "name",
    [RESOURCE_HOST] = "host",
    [RESOURCE_TYPE] = "type",
};

static void write_resource_table(struct emission *emission) {
    const struct column *resources = &emission->profile->resources.rows;
    struct table table;
    table_begin(&table, resource_columns, RESOURCE_COLUMN_COUNT, emission->profile->failure);
    for (size_t i = 0; i < resources->count; i++) {
        const struct resource *resource = column_at(resources, i);
        json_int(&table.columns[RESOURCE_NAME], resource->name.index);
        json_null(&table.columns[RESOURCE_HOST]);
        json_int(&table.columns[RESOURCE_TYPE], resource->type);
    }
    table_end(&table, "resourceTable", resources->count, &emission->json);
}

enum native_symbol_column { SYMBOL_LIB_INDEX, SYMBOL_ADDRESS, SYMBOL_NAME, SYMBOL_FUNCTION_SIZE, SYMBOL_COLUMN_COUNT };

static const char *const native_symbol_columns[SYMBOL_COLUMN_COUNT] = {
    [SYMBOL_LIB_INDEX] = "libIndex",
    [SYMBOL_ADDRESS] = "address",
    [SYMBOL_NAME] = "name",
    [SYMBOL_FUNCTION_SIZE] = "functionSize",
};

static void write_native_symbols(struct emission *emission) {
    const struct column *symbols = &emission->profile->native_symbols.rows;
    struct table table;
    table_begin(&table, native_symbol_columns, SYMBOL_COLUMN_COUNT, emission->profile->failure);
    for (size_t i = 0; i < symbols->count; i++) {
        const struct native_symbol *symbol = column_at(symbols, i);
        json_int(&table.columns[SYMBOL_LIB_INDEX], symbol->lib.index);
        json_int(&table.columns[SYMBOL_ADDRESS], symbol->address);
        json_int(&table.columns[SYMBOL_NAME], symbol->name.index);
        json_null(&table.columns[SYMBOL_FUNCTION_SIZE]);
    }
    table_end(&table, "nativeSymbols", symbols->count, &emission->json);
}

enum source_column {
    SOURCE_ID,
    SOURCE_FILENAME,
    SOURCE_START_LINE,
    SOURCE_START_COLUMN,
    SOURCE_MAP_URL,
    SOURCE_CONTENT,
    SOURCE_COLUMN_COUNT
};

static const char *const source_columns[SOURCE_COLUMN_COUNT] = {
    [SOURCE_ID] = "id",
    [SOURCE_FILENAME] = "filename",
    [SOURCE_START_LINE] = "startLine",
    [SOURCE_START_COLUMN] = "startColumn",
    [SOURCE_MAP_URL] = "sourceMapURL",
    [SOURCE_CONTENT] = "content",
};

static void write_sources(struct emission *emission) {
    const struct column *sources = &emission->profile->sources.rows;
    struct table table;
    table_begin(&table, source_columns, SOURCE_COLUMN_COUNT, emission->profile->failure);
    for (size_t i = 0; i < sources->count; i++) {
        const struct source *source = column_at(sources, i);
        json_null(&table.columns[SOURCE_ID]);
        json_int(&table.columns[SOURCE_FILENAME], source->filename.index);
        json_int(&table.columns[SOURCE_START_LINE], 1);
        json_int(&table.columns[SOURCE_START_COLUMN], 1);
        json_null(&table.columns[SOURCE_MAP_URL]);
        json_null(&table.columns[SOURCE_CONTENT]);
    }
    table_end(&table, "sources", sources->count, &emission->json);
}

/* Empty, but newer clients fail when it is not there. */
static void write_source_locations(struct emission *emission) {
    static const char *const names[] = {"source", "line", "column"};
    struct table table;
    table_begin(&table, names, sizeof names / sizeof *names, emission->profile->failure);
    table_end(&table, "sourceLocationTable", 0, &emission->json);
}

static void write_string_array(struct emission *emission) {
    const struct column *strings = &emission->profile->strings.rows;
    struct json *json = &emission->json;
    json_key(json, "stringArray");
    json_array_begin(json);
    for (size_t i = 0, run_count; i < strings->count; i += run_count) {
        const struct text *run = column_run(strings, i, &run_count);
        for (size_t j = 0; j < run_count; j++) json_text(json, run[j]);
    }
    json_array_end(json);
    report_rows(emission, strings->count);
}

static void write_shared(struct emission *emission) {
    json_key(&emission->json, "shared");
    json_object_begin(&emission->json);
    write_stack_table(emission);
    write_frame_table(emission);
    write_func_table(emission);
    write_resource_table(emission);
    write_native_symbols(emission);
    write_sources(emission);
    write_source_locations(emission);
    write_string_array(emission);
    json_object_end(&emission->json);
}

/* ---- Samples. Hot: a trace has millions, so each loop is over a run of neighbours in memory and calls one writer
 * of numbers, which reserves once for comma and digits. ---- */

static void write_sample_stacks(struct json *column, const struct samples *samples) {
    for (size_t i = 0, run_count; i < samples->stack.count; i += run_count) {
        const stack_id *run = column_run(&samples->stack, i, &run_count);
        for (size_t j = 0; j < run_count; j++) write_index_or_null(column, run[j].index);
    }
}

/* Deltas instead of times: the same instants in fewer digits. The first one is since the profile's zero. */
static void write_sample_time_deltas(struct json *column, const struct samples *samples) {
    int64_t before_ns = 0;
    for (size_t i = 0, run_count; i < samples->time_ns.count; i += run_count) {
        const int64_t *run = column_run(&samples->time_ns, i, &run_count);
        for (size_t j = 0; j < run_count; j++) {
            json_ms(column, run[j] - before_ns);
            before_ns = run[j];
        }
    }
}

static void write_sample_weights(struct json *column, const struct profile *profile, const struct samples *samples) {
    for (size_t i = 0, run_count; i < samples->weight.count; i += run_count) {
        const uint32_t *run = column_run(&samples->weight, i, &run_count);
        for (size_t j = 0; j < run_count; j++) json_decimal(column, profile_weight_decode(profile, run[j]));
    }
}

enum { MS_DIGITS_OF_NS = 6 };

static void write_sample_weights_as_ms(struct json *column, const struct profile *profile,
                                       const struct samples *samples) {
    for (size_t i = 0, run_count; i < samples->weight.count; i += run_count) {
        const uint32_t *run = column_run(&samples->weight, i, &run_count);
        for (size_t j = 0; j < run_count; j++) {
            struct decimal ns = profile_weight_decode(profile, run[j]);
            if (ns.scale == 0)
                json_ms(column, ns.mantissa);
            else
                json_decimal(column, decimal_make(ns.mantissa, ns.scale + MS_DIGITS_OF_NS));
        }
    }
}

/* CPU time since the sample before: none is known before the first one, and the viewer takes no negative ones. */
static void write_sample_cpu_deltas(struct json *column, const struct profile *profile, const struct samples *samples) {
    for (size_t i = 0, run_count; i < samples->weight.count; i += run_count) {
        const uint32_t *run = column_run(&samples->weight, i, &run_count);
        for (size_t j = 0; j < run_count; j++) {
            struct decimal delta = profile_weight_decode(profile, run[j]);
            bool is_known = i + j > 0 && delta.mantissa > 0;
            json_decimal(column, is_known ? delta : (struct decimal){0});
        }
    }
}

static const char *weight_type_name(enum weight_type type) {
    static const char *const names[] = {
        [WEIGHT_ONE] = "samples",
        [WEIGHT_SAMPLES] = "samples",
        [WEIGHT_TRACING_MS] = "tracing-ms",
        [WEIGHT_BYTES] = "bytes",
    };
    return names[type];
}

static void write_samples(struct emission *emission, const struct samples *samples) {
    const struct profile *profile = emission->profile;
    const struct profile_meta *meta = &profile->meta;
    struct json *json = &emission->json;
    struct json column;
    json_key(json, "samples");
    json_object_begin(json);
    column_begin(&column, profile->failure);
    write_sample_stacks(&column, samples);
    column_end(&column, "stack", json);
    column_begin(&column, profile->failure);
    write_sample_time_deltas(&column, samples);
    column_end(&column, "timeDeltas", json);
    if (meta->weight_type == WEIGHT_ONE) {
        json_key_null(json, "weight");
    } else {
        column_begin(&column, profile->failure);
        if (meta->weight_type == WEIGHT_TRACING_MS)
            write_sample_weights_as_ms(&column, profile, samples);
        else
            write_sample_weights(&column, profile, samples);
        column_end(&column, "weight", json);
    }
    json_key_string(json, "weightType", weight_type_name(meta->weight_type));
    /* profiler-cli 0.10.0 spins forever over the column of a thread without samples. */
    if (meta->cpu_delta_unit != CPU_DELTA_NONE && samples_count(samples)) {
        column_begin(&column, profile->failure);
        write_sample_cpu_deltas(&column, profile, samples);
        column_end(&column, "threadCPUDelta", json);
    }
    json_key_int(json, "length", samples_count(samples));
    json_object_end(json);
    report_rows(emission, samples_count(samples));
}

/* ---- Markers ---- */

enum marker_column {
    MARKER_NAME,
    MARKER_START_TIME,
    MARKER_END_TIME,
    MARKER_PHASE,
    MARKER_CATEGORY,
    MARKER_DATA,
    MARKER_COLUMN_COUNT
};

static const char *const marker_columns[MARKER_COLUMN_COUNT] = {
    [MARKER_NAME] = "name",   [MARKER_START_TIME] = "startTime", [MARKER_END_TIME] = "endTime",
    [MARKER_PHASE] = "phase", [MARKER_CATEGORY] = "category",    [MARKER_DATA] = "data",
};

static void write_ms_or_null(struct json *json, int64_t ns, bool is_used) {
    if (is_used)
        json_ms(json, ns);
    else
        json_null(json);
}

static void write_marker_value(struct json *json, enum marker_format format, const union marker_value *value) {
    if (format == MARKER_DECIMAL)
        json_decimal(json, value->decimal);
    else
        write_index_or_null(json, value->string.index);
}

static void write_payload(struct json *json, const struct profile *profile, const struct marker *marker) {
    const struct marker_schema *schema = column_at(&profile->marker_schemas, marker->schema);
    json_object_begin(json);
    json_key_value_text(json, "type", schema->name);
    for (uint32_t i = 0; i < schema->field_count; i++) {
        json_key_text(json, schema->fields[i].key);
        write_marker_value(json, schema->fields[i].format, column_at(&profile->marker_values, marker->values_at + i));
    }
    if (!stack_is_none(marker->stack)) {
        json_key(json, "cause");
        json_object_begin(json);
        json_key_int(json, "stack", marker->stack.index);
        json_object_end(json);
    }
    json_object_end(json);
}

static void write_marker(struct json columns[], const struct profile *profile, const struct marker *marker) {
    json_int(&columns[MARKER_NAME], marker->name.index);
    write_ms_or_null(&columns[MARKER_START_TIME], marker->start_ns, marker->phase != MARKER_INTERVAL_END);
    bool has_end = marker->phase == MARKER_INTERVAL || marker->phase == MARKER_INTERVAL_END;
    write_ms_or_null(&columns[MARKER_END_TIME], marker->end_ns, has_end);
    json_int(&columns[MARKER_PHASE], marker->phase);
    json_int(&columns[MARKER_CATEGORY], marker->category);
    write_payload(&columns[MARKER_DATA], profile, marker);
}

static void write_markers(struct emission *emission, const struct column *markers) {
    struct table table;
    table_begin(&table, marker_columns, MARKER_COLUMN_COUNT, emission->profile->failure);
    for (size_t i = 0; i < markers->count; i++) write_marker(table.columns, emission->profile, column_at(markers, i));
    table_end(&table, "markers", markers->count, &emission->json);
    report_rows(emission, markers->count);
}

/* ---- Threads ---- */

/* Of what began before the trace, the start is the trace's. */
static void write_key_start(struct json *json, const char *key, int64_t start_ns) {
    json_key_ms(json, key, start_ns == TIME_NONE ? 0 : start_ns);
}

static void write_key_end(struct json *json, const char *key, int64_t end_ns) {
    json_key(json, key);
    write_ms_or_null(json, end_ns, end_ns != TIME_NONE);
}

static void write_thread(struct emission *emission, const struct thread *thread) {
    const struct process *process = profile_process_at(emission->profile, thread->process);
    struct json *json = &emission->json;
    json_object_begin(json);
    json_key_value_text(json, "name", thread->name);
    json_key_bool(json, "isMainThread", thread->is_main);
    json_key_string(json, "processType", "default");
    json_key_value_text(json, "processName", process->name);
    json_key_value_text(json, "pid", process->pid_text);
    json_key(json, "tid");
    if (thread->tid_text.bytes_count)
        json_text(json, thread->tid_text);
    else
        json_int(json, thread->tid);
    write_key_start(json, "processStartupTime", process->start_ns);
    write_key_end(json, "processShutdownTime", process->end_ns);
    write_key_start(json, "registerTime", thread->start_ns);
    write_key_end(json, "unregisterTime", thread->end_ns);
    json_key(json, "pausedRanges");
    json_array_begin(json);
    json_array_end(json);
    json_key_bool(json, "showMarkersInTimeline", true);
    write_samples(emission, &thread->samples);
    write_markers(emission, &thread->markers);
    json_object_end(json);
}

static void write_threads(struct emission *emission) {
    const struct profile *profile = emission->profile;
    json_key(&emission->json, "threads");
    json_array_begin(&emission->json);
    for (size_t i = 0; i < profile->thread_order.count && !failure_is_set(profile->failure); i++)
        write_thread(emission, ordered_thread(profile, i));
    json_array_end(&emission->json);
}

static uint64_t count_rows(const struct profile *profile) {
    uint64_t rows = strings_count(&profile->strings) + profile->frames.rows.count + profile->stacks.rows.count;
    for (size_t i = 0; i < profile->thread_order.count; i++) {
        const struct thread *thread = ordered_thread(profile, i);
        rows += samples_count(&thread->samples) + thread->markers.count;
    }
    return rows;
}

/* The format carries all that a profile has, so nothing is entered in the ledger. */
static void emit_processed(const struct profile *profile, struct ledger *ledger, struct chunk_list *out,
                           struct progress progress) {
    (void)ledger;
    struct emission emission = {.profile = profile, .progress = progress, .total_rows = count_rows(profile)};
    json_init(&emission.json, profile->failure);
    json_object_begin(&emission.json);
    write_meta(&emission.json, profile);
    write_libs(&emission.json, profile);
    write_shared(&emission);
    write_threads(&emission);
    json_object_end(&emission.json);
    struct chunk_list document = json_take_chunks(&emission.json);
    chunk_list_splice(out, &document);
}

const struct emitter emitter_processed = {.name = "processed", .title = "processed v70", .emit = emit_processed};
