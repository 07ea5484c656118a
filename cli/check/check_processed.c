/* The processed format, version 70, which the viewer itself writes and reads. */
#include "check_processed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check_common.h"
#include "check_markers.h"

/* ---- Tables shared by all threads. ---- */

static void check_stacks(struct check *check, const struct node *table, const struct node_path *path);
static void check_frames(struct check *check, const struct node *table, const struct node_path *path);

static const struct rule stack_columns[] = {
    INDEX("frame", TABLE_FRAMES, 0),
    RULE("prefixOffset", TYPE_INTEGER, 0, .range = RANGE_NOT_NEGATIVE),
};
static const struct shape stack_table = SHAPE(stack_columns, .check = check_stacks);

static const struct rule frame_columns[] = {
    RULE("address", TYPE_INTEGER, IS_KEY, .range = RANGE_INT31_OR_NONE),
    RULE("inlineDepth", TYPE_INTEGER, IS_KEY | MAY_BE_EMPTY, .range = RANGE_BYTE),
    INDEX("category", TABLE_CATEGORIES, IS_KEY | IS_NULLABLE),
    RULE("subcategory", TYPE_INTEGER, IS_KEY | IS_NULLABLE, .range = RANGE_NOT_NEGATIVE),
    INDEX("func", TABLE_FUNCS, IS_KEY),
    INDEX("lib", TABLE_LIBS, IS_KEY | HAS_NONE),
    INDEX("nativeSymbol", TABLE_NATIVE_SYMBOLS, IS_KEY | IS_NULLABLE),
    RULE("innerWindowID", TYPE_INTEGER, IS_KEY | IS_NULLABLE, .range = RANGE_NOT_NEGATIVE),
    RULE("line", TYPE_INTEGER, IS_KEY | IS_NULLABLE, .range = RANGE_INT31),
    RULE("column", TYPE_INTEGER, IS_KEY | IS_NULLABLE, .range = RANGE_UINT32),
    INDEX("originalLocation", TABLE_SOURCE_LOCATIONS, IS_KEY | IS_NULLABLE),
};
static const struct shape frame_table = SHAPE(frame_columns, .check = check_frames, .row_noun = "frame");

static const struct rule func_columns[] = {
    INDEX("name", TABLE_STRINGS, IS_KEY),
    RULE("isJS", TYPE_BOOL, IS_KEY),
    RULE("relevantForJS", TYPE_BOOL, IS_KEY),
    INDEX("resource", TABLE_RESOURCES, IS_KEY | HAS_NONE),
    INDEX("source", TABLE_SOURCES, IS_KEY | IS_NULLABLE),
    RULE("lineNumber", TYPE_INTEGER, IS_KEY | IS_NULLABLE, .range = RANGE_INT31),
    RULE("columnNumber", TYPE_INTEGER, IS_KEY | IS_NULLABLE, .range = RANGE_UINT32),
    INDEX("originalLocation", TABLE_SOURCE_LOCATIONS, IS_KEY | IS_NULLABLE),
};
static const struct shape func_table = SHAPE(func_columns, .row_noun = "function");

static const struct rule resource_columns[] = {
    INDEX("name", TABLE_STRINGS, IS_KEY),
    INDEX("host", TABLE_STRINGS, IS_KEY | IS_NULLABLE),
    INDEX("type", TABLE_RESOURCE_TYPES, IS_KEY),
};
static const struct shape resource_table = SHAPE(resource_columns, .row_noun = "resource");

static const struct rule native_symbol_columns[] = {
    INDEX("libIndex", TABLE_LIBS, IS_KEY),
    RULE("address", TYPE_INTEGER, IS_KEY, .range = RANGE_UINT32),
    INDEX("name", TABLE_STRINGS, IS_KEY),
    RULE("functionSize", TYPE_INTEGER, IS_KEY | IS_NULLABLE, .range = RANGE_NOT_NEGATIVE),
};
static const struct shape native_symbol_table = SHAPE(native_symbol_columns, .row_noun = "symbol");

static const struct rule source_columns[] = {
    RULE("id", TYPE_TEXT, IS_KEY | IS_NULLABLE),
    INDEX("filename", TABLE_STRINGS, IS_KEY),
    RULE("startLine", TYPE_INTEGER, 0, .range = RANGE_ONE_BASED),
    RULE("startColumn", TYPE_INTEGER, 0, .range = RANGE_ONE_BASED),
    INDEX("sourceMapURL", TABLE_STRINGS, IS_NULLABLE),
    RULE("content", TYPE_TEXT, IS_NULLABLE),
};
static const struct shape source_table = SHAPE(source_columns, .row_noun = "source");

static const struct rule source_location_columns[] = {
    INDEX("source", TABLE_SOURCES, 0),
    RULE("line", TYPE_INTEGER, 0, .range = RANGE_NOT_NEGATIVE),
    RULE("column", TYPE_INTEGER, 0, .range = RANGE_NOT_NEGATIVE),
};
static const struct shape source_location_table = SHAPE(source_location_columns);

static const struct rule shared_rules[] = {
    RULE("stackTable", TYPE_COLUMNS, 0, .table = TABLE_STACKS, .shape = &stack_table),
    RULE("frameTable", TYPE_COLUMNS, 0, .table = TABLE_FRAMES, .shape = &frame_table),
    RULE("funcTable", TYPE_COLUMNS, 0, .table = TABLE_FUNCS, .shape = &func_table),
    RULE("resourceTable", TYPE_COLUMNS, 0, .table = TABLE_RESOURCES, .shape = &resource_table),
    RULE("nativeSymbols", TYPE_COLUMNS, 0, .table = TABLE_NATIVE_SYMBOLS, .shape = &native_symbol_table),
    RULE("sources", TYPE_COLUMNS, 0, .table = TABLE_SOURCES, .shape = &source_table),
    RULE("sourceLocationTable", TYPE_COLUMNS, 0, .table = TABLE_SOURCE_LOCATIONS, .shape = &source_location_table),
    RULE("stringArray", TYPE_LIST, IS_UNIQUE, .table = TABLE_STRINGS, .items = &text_items),
};
static const struct shape shared_shape = SHAPE(shared_rules);

/* ---- Threads. ---- */

static void check_sample_times(struct check *check, const struct node *table, const struct node_path *path);
static void check_thread_samples(struct check *check, const struct node *table, const struct node_path *path);
static void check_allocations(struct check *check, const struct node *table, const struct node_path *path);
static void check_counter(struct check *check, const struct node *counter, const struct node_path *path);
static void check_owner(struct check *check, const struct node *owned, const struct node_path *path);

static const char *const weight_types[] = {"samples", "tracing-ms", "bytes", NULL};
static const char *const allocation_weight_types[] = {"bytes", NULL};

#define TIME_COLUMNS RULE("time", TYPE_NUMBER, IS_OPTIONAL | IS_ASCENDING), RULE("timeDeltas", TYPE_NUMBER, IS_OPTIONAL)

static const struct rule sample_columns[] = {
    INDEX("stack", TABLE_STACKS, IS_NULLABLE),
    TIME_COLUMNS,
    RULE("weight", TYPE_NUMBER, IS_NULLABLE_WHOLE),
    RULE("weightType", TYPE_CHOICE, IS_MEMBER, .choices = weight_types),
    RULE("threadCPUDelta", TYPE_NUMBER, IS_OPTIONAL | IS_NULLABLE, .range = RANGE_NOT_NEGATIVE),
    RULE("eventDelay", TYPE_NUMBER, IS_OPTIONAL | IS_NULLABLE | MAY_BE_EMPTY),
    RULE("responsiveness", TYPE_NUMBER, IS_OPTIONAL | IS_NULLABLE | MAY_BE_EMPTY),
    RULE("argumentValues", TYPE_NUMBER, IS_OPTIONAL | IS_NULLABLE | MAY_BE_EMPTY),
    RULE("threadId", TYPE_TID, IS_OPTIONAL),
};
static const struct shape sample_table = SHAPE(sample_columns, .check = check_thread_samples);

#define ALLOCATION_COLUMNS                                                              \
    RULE("time", TYPE_NUMBER, IS_ASCENDING), RULE("weight", TYPE_NUMBER, 0),            \
        RULE("weightType", TYPE_CHOICE, IS_MEMBER, .choices = allocation_weight_types), \
        INDEX("stack", TABLE_STACKS, IS_NULLABLE)

static const struct rule native_allocation_columns[] = {
    ALLOCATION_COLUMNS,
    RULE("memoryAddress", TYPE_NUMBER, IS_OPTIONAL),
    RULE("threadId", TYPE_NUMBER, IS_OPTIONAL),
    RULE("argumentValues", TYPE_NUMBER, IS_OPTIONAL | IS_NULLABLE),
};
static const struct shape native_allocation_table = SHAPE(native_allocation_columns, .check = check_allocations);

static const struct rule js_allocation_columns[] = {
    ALLOCATION_COLUMNS,
    RULE("className", TYPE_TEXT, 0),
    RULE("typeName", TYPE_TEXT, 0),
    RULE("coarseType", TYPE_TEXT, 0),
    RULE("inNursery", TYPE_BOOL, 0),
};
static const struct shape js_allocation_table = SHAPE(js_allocation_columns, .check = check_allocations);

static const struct rule window_items = ITEMS(TYPE_INTEGER);

static const struct rule thread_rules[] = {
    RULE("name", TYPE_TEXT, 0),
    RULE("pid", TYPE_TEXT, IS_KEY),
    RULE("tid", TYPE_TID, IS_KEY | IS_LENIENT),
    RULE("isMainThread", TYPE_BOOL, 0),
    RULE("processType", TYPE_TEXT, IS_LENIENT),
    RULE("processName", TYPE_TEXT, IS_OPTIONAL),
    RULE("eTLD+1", TYPE_TEXT, IS_OPTIONAL),
    RULE("registerTime", TYPE_NUMBER, 0),
    RULE("unregisterTime", TYPE_NUMBER, IS_NULLABLE),
    RULE("processStartupTime", TYPE_NUMBER, 0),
    RULE("processShutdownTime", TYPE_NUMBER, IS_NULLABLE),
    RULE("pausedRanges", TYPE_LIST, 0, .items = &paused_range_items),
    RULE("showMarkersInTimeline", TYPE_BOOL, IS_OPTIONAL),
    RULE("isPrivateBrowsing", TYPE_BOOL, IS_OPTIONAL),
    RULE("isJsTracer", TYPE_BOOL, IS_OPTIONAL),
    RULE("usedInnerWindowIDs", TYPE_LIST, IS_OPTIONAL | IS_NULLABLE, .items = &window_items),
    RULE("samples", TYPE_COLUMNS, 0, .shape = &sample_table),
    RULE("jsAllocations", TYPE_COLUMNS, IS_OPTIONAL | IS_NULLABLE, .shape = &js_allocation_table),
    RULE("nativeAllocations", TYPE_COLUMNS, IS_OPTIONAL | IS_NULLABLE, .shape = &native_allocation_table),
    RULE("markers", TYPE_COLUMNS, 0, .shape = &check_processed_markers),
};
static const struct shape thread_shape = SHAPE(thread_rules);

/* ---- Counters and overhead. ---- */

static const char *const graph_types[] = {"line-accumulated", "line-rate", NULL};
static const char *const row_types[] = {"value", "separator", NULL};
static const char *const row_sources[] = {"count",          "rate",
                                          "cpu-ratio",      "accumulated",
                                          "count-range",    "selection-total",
                                          "selection-rate", "committed-range-total",
                                          "sample-number",  NULL};
static const char *const row_units[] = {"bytes", "bytes-per-second", "percent", "number", NULL};
static const char *const row_emissions[] = {"per-byte", "per-watthour", NULL};
static const char *const row_scales[] = {"power", "energy", NULL};

static const struct rule row_format_rules[] = {
    RULE("unit", TYPE_CHOICE, 0, .choices = row_units),
    RULE("co2", TYPE_CHOICE, IS_OPTIONAL, .choices = row_emissions),
    RULE("scale", TYPE_CHOICE, IS_OPTIONAL, .choices = row_scales),
};
static const struct shape row_format_shape = SHAPE(row_format_rules);

static const struct rule value_row_rules[] = {
    RULE("source", TYPE_CHOICE, 0, .choices = row_sources),
    RULE("label", TYPE_TEXT, 0),
    RULE("format", TYPE_OBJECT, 0, .shape = &row_format_shape),
};
static const struct shape value_row_shape = SHAPE(value_row_rules);

static void check_tooltip_row(struct check *check, const struct node *row, const struct node_path *path) {
    if (node_is_text(check_member(check, row, "type"), TEXT("value"))) check_shape(check, &value_row_shape, row, path);
}
static const struct rule tooltip_row_rules[] = {RULE("type", TYPE_CHOICE, 0, .choices = row_types)};
static const struct shape tooltip_row_shape = SHAPE(tooltip_row_rules, .check = check_tooltip_row);
static const struct rule tooltip_row_items = ITEMS(TYPE_OBJECT, .shape = &tooltip_row_shape);

static const struct rule display_rules[] = {
    RULE("graphType", TYPE_CHOICE, 0, .choices = graph_types),
    RULE("unit", TYPE_TEXT, 0),
    RULE("color", TYPE_CHOICE, 0, .choices = graph_colors),
    RULE("markerSchemaLocation", TYPE_CHOICE, IS_NULLABLE, .choices = marker_locations),
    RULE("sortWeight", TYPE_NUMBER, 0),
    RULE("label", TYPE_TEXT, 0),
    RULE("tooltipRows", TYPE_LIST, 0, .items = &tooltip_row_items),
};
static const struct shape display_shape = SHAPE(display_rules);

static const struct rule counter_sample_columns[] = {
    TIME_COLUMNS,
    RULE("count", TYPE_NUMBER, 0),
    RULE("number", TYPE_NUMBER, IS_OPTIONAL),
};
static const struct shape counter_sample_table = SHAPE(counter_sample_columns, .check = check_sample_times);

static const struct rule counter_rules[] = {
    RULE("name", TYPE_TEXT, 0),
    RULE("category", TYPE_TEXT, 0),
    RULE("description", TYPE_TEXT, 0),
    RULE("pid", TYPE_TEXT, 0),
    INDEX("mainThreadIndex", TABLE_THREADS, 0),
    RULE("samples", TYPE_COLUMNS, 0, .shape = &counter_sample_table),
    RULE("display", TYPE_OBJECT, 0, .shape = &display_shape),
};
static const struct shape counter_shape = SHAPE(counter_rules, .check = check_counter);
static const struct rule counter_items = ITEMS(TYPE_OBJECT, .shape = &counter_shape);

static const struct rule overhead_columns[] = {
    RULE("time", TYPE_NUMBER, 0),    RULE("counters", TYPE_NUMBER, 0), RULE("expiredMarkerCleaning", TYPE_NUMBER, 0),
    RULE("locking", TYPE_NUMBER, 0), RULE("threads", TYPE_NUMBER, 0),
};
static const struct shape overhead_table = SHAPE(overhead_columns);

static const struct rule overhead_rules[] = {
    RULE("pid", TYPE_TEXT, 0),
    INDEX("mainThreadIndex", TABLE_THREADS, 0),
    RULE("samples", TYPE_COLUMNS, 0, .shape = &overhead_table),
};
static const struct shape overhead_shape = SHAPE(overhead_rules, .check = check_owner);
static const struct rule overhead_items = ITEMS(TYPE_OBJECT, .shape = &overhead_shape);

/* ---- Meta, libraries, and the whole profile. ---- */

static void check_extra_entry(struct check *check, const struct node *entry, const struct node_path *path) {
    const struct node *format = check_member(check, entry, "format"), *value = check_member(check, entry, "value");
    static const char *const of_the_string_table[] = {"unique-string", "flow-id", "terminating-flow-id"};
    struct node_path format_path = node_path_member(path, "format"), value_path = node_path_member(path, "value");
    check_format(check, entry, path);
    for (size_t i = 0; i < sizeof of_the_string_table / sizeof *of_the_string_table; i++) {
        if (!node_is_text(format, text_of(of_the_string_table[i]))) continue;
        check_error(check, RULE_BROKEN_VALUE, &format_path, "must not refer to the string table here");
        return;
    }
    if (value) check_formatted(check, format, value, &value_path);
}
static const struct rule extra_entry_rules[] = {RULE("label", TYPE_TEXT, 0), RULE("value", TYPE_ANY, 0)};
static const struct shape extra_entry_shape = SHAPE(extra_entry_rules, .check = check_extra_entry);
static const struct rule extra_entry_items = ITEMS(TYPE_OBJECT, .shape = &extra_entry_shape);
static const struct rule extra_rules[] = {
    RULE("label", TYPE_TEXT, 0),
    RULE("entries", TYPE_LIST, 0, .items = &extra_entry_items),
};
static const struct shape extra_shape = SHAPE(extra_rules);
static const struct rule extra_items = ITEMS(TYPE_OBJECT, .shape = &extra_shape);

static const struct rule schema_items = ITEMS(TYPE_OBJECT, .shape = &check_processed_schema);
static const struct rule thread_index_items = ITEMS(TYPE_INDEX, .table = TABLE_THREADS);

static const struct rule meta_rules[] = {
    COMMON_META_RULES,
    RULE("version", TYPE_NUMBER, 0),
    RULE("product", TYPE_TEXT, 0),
    RULE("markerSchema", TYPE_LIST, 0, .items = &schema_items),
    RULE("arguments", TYPE_TEXT, IS_OPTIONAL | IS_NULLABLE),
    RULE("importedFrom", TYPE_TEXT, IS_OPTIONAL | IS_NULLABLE),
    RULE("fileName", TYPE_TEXT, IS_OPTIONAL | IS_NULLABLE),
    RULE("fileSize", TYPE_NUMBER, IS_OPTIONAL | IS_NULLABLE),
    RULE("endTime", TYPE_NUMBER, IS_OPTIONAL | IS_NULLABLE),
    RULE("mainMemory", TYPE_NUMBER, IS_OPTIONAL | IS_NULLABLE),
    RULE("gramsOfCO2ePerKWh", TYPE_NUMBER, IS_OPTIONAL | IS_NULLABLE),
    RULE("symbolicated", TYPE_BOOL, IS_OPTIONAL | IS_NULLABLE),
    RULE("symbolicationNotSupported", TYPE_BOOL, IS_OPTIONAL | IS_NULLABLE),
    RULE("usesOnlyOneStackType", TYPE_BOOL, IS_OPTIONAL | IS_NULLABLE),
    RULE("sourceCodeIsNotOnSearchfox", TYPE_BOOL, IS_OPTIONAL | IS_NULLABLE),
    RULE("keepProfileThreadOrder", TYPE_BOOL, IS_OPTIONAL | IS_NULLABLE),
    RULE("initialVisibleThreads", TYPE_LIST, IS_OPTIONAL | IS_NULLABLE | IS_NOT_EMPTY, .items = &thread_index_items),
    RULE("initialSelectedThreads", TYPE_LIST, IS_OPTIONAL | IS_NULLABLE | IS_NOT_EMPTY, .items = &thread_index_items),
    RULE("extensions", TYPE_COLUMNS, IS_OPTIONAL | IS_NULLABLE, .shape = &extension_table),
    RULE("extra", TYPE_LIST, IS_OPTIONAL | IS_NULLABLE, .items = &extra_items),
};
static const struct shape meta_shape = SHAPE(meta_rules, .check = check_meta);

static const struct rule lib_rules[] = {COMMON_LIB_RULES(0)};
static const struct shape lib_shape = SHAPE(lib_rules, .check = check_lib);
static const struct rule lib_items = ITEMS(TYPE_OBJECT, .shape = &lib_shape);
static const struct rule thread_items = ITEMS(TYPE_OBJECT, .shape = &thread_shape);

static void check_profile(struct check *check, const struct node *root, const struct node_path *path);

static const struct rule profile_rules[] = {
    RULE("meta", TYPE_OBJECT, 0, .shape = &meta_shape),
    RULE("libs", TYPE_LIST, IS_UNIQUE, .table = TABLE_LIBS, .items = &lib_items),
    RULE("shared", TYPE_OBJECT, 0, .shape = &shared_shape),
    RULE("threads", TYPE_LIST, IS_NOT_EMPTY | IS_UNIQUE, .table = TABLE_THREADS, .items = &thread_items),
    RULE("pages", TYPE_LIST, IS_OPTIONAL | IS_NULLABLE | IS_UNIQUE, .items = &page_items),
    RULE("counters", TYPE_LIST, IS_OPTIONAL | IS_NULLABLE, .items = &counter_items),
    RULE("profilerOverhead", TYPE_LIST, IS_OPTIONAL | IS_NULLABLE, .items = &overhead_items),
    RULE("profilingLog", TYPE_OBJECT, IS_OPTIONAL | IS_NULLABLE),
    RULE("profileGatheringLog", TYPE_OBJECT, IS_OPTIONAL | IS_NULLABLE),
};
const struct shape check_processed_profile = SHAPE(profile_rules, .check = check_profile);

/* ---- Rules that involve several values. ---- */

static bool is_number(const struct node *node) { return node_is(node, NODE_NUMBER); }

static double number_or(const struct node *node, double otherwise) {
    return is_number(node) ? node->number : otherwise;
}

static bool is_equal_scalar(const struct node *a, const struct node *b) {
    return a->kind == b->kind && (a->kind != NODE_NUMBER || a->number == b->number);
}

struct stack_columns {
    struct column_view frame, offset;               /* columns of stackTable */
    struct column_view depth, address, lib, symbol; /* columns of frameTable */
    size_t frame_count;
};

static const struct node *frame_of(const struct stack_columns *columns, size_t stack) {
    const struct node *frame = column_view_at(&columns->frame, stack);
    return node_is_index(frame, columns->frame_count) ? frame : NULL;
}

/* Checks that the caller of an inlined frame is the frame into which it was inlined. */
static void check_inlined(struct check *check, const struct stack_columns *columns, size_t row, size_t offset,
                          const struct node_path *path) {
    const struct node *frame = frame_of(columns, row);
    double depth = frame ? number_or(column_view_at(&columns->depth, (size_t)frame->number), 0) : 0;
    struct node_path chain[3];
    const struct node_path *at = column_view_path(&columns->frame, row, path, chain);
    if (depth == 0) return;
    if (!offset) {
        check_warning(check, RULE_BROKEN_CONSISTENCY, at, "a root must not be an inlined frame (inlineDepth %g)",
                      depth);
        return;
    }
    const struct node *caller = frame_of(columns, row - offset);
    if (!caller) return;
    size_t a = (size_t)frame->number, b = (size_t)caller->number;
    bool is_same_place = is_equal_scalar(column_view_at(&columns->address, a), column_view_at(&columns->address, b)) &&
                         is_equal_scalar(column_view_at(&columns->lib, a), column_view_at(&columns->lib, b)) &&
                         is_equal_scalar(column_view_at(&columns->symbol, a), column_view_at(&columns->symbol, b));
    if (number_or(column_view_at(&columns->depth, b), -1) == depth - 1 && is_same_place) return;
    check_warning(check, RULE_BROKEN_CONSISTENCY, at,
                  "a frame with inlineDepth %g must be called by one with inlineDepth %g and the same address, lib and "
                  "nativeSymbol",
                  depth, depth - 1);
}

static void check_unique_stacks(struct check *check, const struct stack_columns *columns,
                                const struct node_path *path) {
    struct row_table seen;
    row_table_init(&seen, 2 * sizeof(uint32_t), check->document->failure);
    for (uint32_t row = 0; row < columns->frame.count && !failure_is_set(check->document->failure); row++) {
        const struct node *frame = column_view_at(&columns->frame, row),
                          *offset = column_view_at(&columns->offset, row);
        if (!node_is_index(frame, UINT32_MAX) || !node_is_index(offset, (uint64_t)row + 1)) continue;
        /* 0: the stack has no caller */
        uint32_t key[2] = {offset->number > 0 ? row - (uint32_t)offset->number + 1 : 0, (uint32_t)frame->number};
        uint32_t count = row_table_count(&seen);
        struct node_path chain[3];
        if (row_table_intern(&seen, key) < count)
            check_warning(check, RULE_BROKEN_UNIQUENESS, column_view_path(&columns->frame, row, path, chain),
                          "stack %u is the same as an earlier one", row);
    }
    row_table_fini(&seen);
}

static void check_stacks(struct check *check, const struct node *table, const struct node_path *path) {
    const struct node *frames = check_member(check, check_member(check, check->root, "shared"), "frameTable");
    struct stack_columns columns = {
        .frame = check_column(check, table, "frame"),
        .offset = check_column(check, table, "prefixOffset"),
        .depth = check_column(check, frames, "inlineDepth"),
        .address = check_column(check, frames, "address"),
        .lib = check_column(check, frames, "lib"),
        .symbol = check_column(check, frames, "nativeSymbol"),
    };
    const struct column_view *const of_frames[] = {&columns.depth, &columns.address, &columns.lib, &columns.symbol};
    columns.frame_count = SIZE_MAX;
    for (size_t i = 0; i < sizeof of_frames / sizeof *of_frames; i++)
        if (of_frames[i]->count < columns.frame_count) columns.frame_count = of_frames[i]->count;
    if (columns.frame.count > columns.offset.count) columns.frame.count = columns.offset.count;
    for (size_t row = 0; row < columns.frame.count && !failure_is_set(check->document->failure); row++) {
        const struct node *offset = column_view_at(&columns.offset, row);
        struct node_path chain[3];
        char shown[NODE_SHOWN_BYTES];
        if (node_is_index(offset, row + 1))
            check_inlined(check, &columns, row, (size_t)offset->number, path);
        else if (node_is_integer(offset) && offset->number > 0)
            check_error(check, RULE_BROKEN_ORDER, column_view_path(&columns.offset, row, path, chain),
                        "%s: the caller must be an earlier row, so this must be at most %zu (0: no caller)",
                        node_show(offset, shown), row);
    }
    check_unique_stacks(check, &columns, path);
}

/* Checks that a frame has an address if and only if it has a library. Newer front-ends drop one without the other. */
static void check_frame_places(struct check *check, const struct node *table, const struct node_path *path) {
    struct column_view addresses = check_column(check, table, "address"), libs = check_column(check, table, "lib");
    for (size_t row = 0; row < addresses.count && row < libs.count; row++) {
        const struct node *address = column_view_at(&addresses, row), *lib = column_view_at(&libs, row);
        struct node_path chain[3];
        if (is_number(address) && is_number(lib) && (address->number == -1) != (lib->number == -1))
            check_warning(check, RULE_BROKEN_CONSISTENCY, column_view_path(&addresses, row, path, chain),
                          "address %.0f with lib %.0f: both must be -1, or neither", address->number, lib->number);
    }
}

static void check_frame_symbols(struct check *check, const struct node *table, const struct node_path *path) {
    const struct node *symbols = check_member(check, check_member(check, check->root, "shared"), "nativeSymbols");
    struct column_view frame_symbols = check_column(check, table, "nativeSymbol");
    struct column_view libs = check_column(check, table, "lib");
    struct column_view symbol_libs = check_column(check, symbols, "libIndex");
    for (size_t row = 0; row < frame_symbols.count && row < libs.count; row++) {
        const struct node *symbol = column_view_at(&frame_symbols, row), *lib = column_view_at(&libs, row);
        if (!node_is_index(symbol, symbol_libs.count)) continue;
        const struct node *symbol_lib = column_view_at(&symbol_libs, (size_t)symbol->number);
        struct node_path chain[3];
        if (is_number(lib) && is_number(symbol_lib) && lib->number != symbol_lib->number)
            check_warning(check, RULE_BROKEN_CONSISTENCY, column_view_path(&frame_symbols, row, path, chain),
                          "%.0f is a symbol of lib %.0f, but the frame is in lib %.0f", symbol->number,
                          symbol_lib->number, lib->number);
    }
}

static void check_frames(struct check *check, const struct node *table, const struct node_path *path) {
    check_subcategories(check, table, path);
    check_frame_places(check, table, path);
    check_frame_symbols(check, table, path);
}

static void check_sample_times(struct check *check, const struct node *table, const struct node_path *path) {
    struct column_view times = check_column(check, table, "time"), deltas = check_column(check, table, "timeDeltas");
    if (times.table && deltas.table)
        check_error(check, RULE_BROKEN_CONSISTENCY, path,
                    "has both time and timeDeltas, which is not read: it must have only one");
    if (!check_member(check, table, "time") && !check_member(check, table, "timeDeltas"))
        check_error(check, RULE_BROKEN_PRESENCE, path, "has neither time nor timeDeltas: it must have one of them");
    for (size_t row = 1; row < deltas.count; row++) {
        const struct node *delta = column_view_at(&deltas, row);
        struct node_path chain[3];
        char shown[NODE_SHOWN_BYTES];
        if (is_number(delta) && delta->number < 0)
            check_error(check, RULE_BROKEN_ORDER, column_view_path(&deltas, row, path, chain),
                        "%s: times must not decrease", node_show(delta, shown));
    }
}

static void check_thread_samples(struct check *check, const struct node *table, const struct node_path *path) {
    check_sample_times(check, table, path);
    const struct node *units = check_member(check, check_member(check, check->root, "meta"), "sampleUnits");
    struct node_path cpu_path = node_path_member(path, "threadCPUDelta");
    if (check_member(check, table, "threadCPUDelta") && !node_is(units, NODE_OBJECT))
        check_warning(check, RULE_BROKEN_CONSISTENCY, &cpu_path, "is not read without meta.sampleUnits");
}

static void check_allocations(struct check *check, const struct node *table, const struct node_path *path) {
    const struct node *length = check_member(check, table, "length");
    if (is_number(length) && length->number == 0)
        check_error(check, RULE_BROKEN_LENGTH, path, "is empty, which blanks the whole profile: leave it out");
    if (!check_member(check, table, "memoryAddress") != !check_member(check, table, "threadId"))
        check_error(check, RULE_BROKEN_CONSISTENCY, path,
                    "memoryAddress and threadId must both be present, or neither");
}

static bool has_pid(const struct check *check, const struct node *thread, const struct node *pid) {
    const struct node *thread_pid = check_member(check, thread, "pid");
    return node_is(thread_pid, NODE_TEXT) && node_is_text(pid, node_text(thread_pid));
}

/* Checks that the owner of a counter or of overhead data is a process and its main thread. */
static void check_owner(struct check *check, const struct node *owned, const struct node_path *path) {
    const struct node *pid = check_member(check, owned, "pid"), *index = check_member(check, owned, "mainThreadIndex");
    const struct node *threads = check_member(check, check->root, "threads");
    struct node_path pid_path = node_path_member(path, "pid"), index_path = node_path_member(path, "mainThreadIndex");
    char shown[NODE_SHOWN_BYTES];
    if (!node_is(pid, NODE_TEXT) || !node_is(threads, NODE_LIST)) return;
    bool is_found = false;
    for (size_t i = 0; i < threads->count && !is_found; i++) is_found = has_pid(check, &threads->nodes[i], pid);
    if (!is_found)
        check_warning(check, RULE_BROKEN_CONSISTENCY, &pid_path, "%s must be the pid of a thread",
                      node_show(pid, shown));
    else if (node_is_index(index, threads->count) && !has_pid(check, &threads->nodes[(size_t)index->number], pid))
        check_warning(check, RULE_BROKEN_CONSISTENCY, &index_path, "must be the index of a thread with the pid %s",
                      node_show(pid, shown));
}

static void check_counter(struct check *check, const struct node *counter, const struct node_path *path) {
    const struct node *samples = check_member(check, counter, "samples");
    const struct node *graph = check_member(check, check_member(check, counter, "display"), "graphType");
    const struct node *length = check_member(check, samples, "length");
    struct node_path samples_path = node_path_member(path, "samples");
    check_owner(check, counter, path);
    if (is_number(length) && length->number == 0)
        check_warning(check, RULE_BROKEN_LENGTH, &samples_path, "is empty: leave the counter out");
    if (node_is_text(graph, TEXT("line-rate"))) check_rates(check, samples, &samples_path);
}

/* If a process has two main threads, the first one is missing from the timeline. */
static void check_main_threads(struct check *check, const struct node *threads, const struct node_path *path) {
    struct strings pids;
    strings_init(&pids, check->document->failure);
    for (size_t i = 0; i < threads->count; i++) {
        const struct node *pid = check_member(check, &threads->nodes[i], "pid");
        struct node_path element = node_path_element(path, i);
        struct node_path main_path = node_path_member(&element, "isMainThread");
        char shown[NODE_SHOWN_BYTES];
        if (!node_is(check_member(check, &threads->nodes[i], "isMainThread"), NODE_TRUE) || !node_is(pid, NODE_TEXT))
            continue;
        uint32_t count = strings_count(&pids);
        if (strings_intern(&pids, node_text(pid)).index < count)
            check_warning(check, RULE_BROKEN_UNIQUENESS, &main_path, "the process %s must have only one main thread",
                          node_show(pid, shown));
    }
    strings_fini(&pids);
}

static bool has_rows(const struct check *check, const struct node *thread, const char *table) {
    const struct node *length = check_member(check, check_member(check, thread, table), "length");
    return is_number(length) && length->number > 0;
}

static void check_content(struct check *check, const struct node *threads, const struct node_path *path) {
    if (check_member(check, check_member(check, check->root, "meta"), "profilingStartTime")) return;
    static const char *const tables[] = {"samples", "markers", "jsAllocations", "nativeAllocations"};
    for (size_t i = 0; i < threads->count; i++)
        for (size_t j = 0; j < sizeof tables / sizeof *tables; j++)
            if (has_rows(check, &threads->nodes[i], tables[j])) return;
    check_error(check, RULE_BROKEN_LENGTH, path, "no thread has a sample or a marker: there is nothing to show");
}

/* Returns true if something has no category: the front-end shows that in the grey one. */
static bool needs_default_category(const struct check *check, const struct node *threads) {
    const struct node *shared = check_member(check, check->root, "shared");
    struct column_view frames = check_column(check, check_member(check, shared, "stackTable"), "frame");
    struct column_view offsets = check_column(check, check_member(check, shared, "stackTable"), "prefixOffset");
    struct column_view categories = check_column(check, check_member(check, shared, "frameTable"), "category");
    for (size_t row = 0; row < frames.count && row < offsets.count; row++) {
        const struct node *frame = column_view_at(&frames, row);
        if (number_or(column_view_at(&offsets, row), 1) == 0 && node_is_index(frame, categories.count) &&
            node_is(column_view_at(&categories, (size_t)frame->number), NODE_NULL))
            return true;
    }
    for (size_t i = 0; i < threads->count; i++) {
        struct column_view stacks = check_column(check, check_member(check, &threads->nodes[i], "samples"), "stack");
        for (size_t row = 0; row < stacks.count; row++)
            if (node_is(column_view_at(&stacks, row), NODE_NULL)) return true;
    }
    return false;
}

static void check_default_category(struct check *check, const struct node *threads, const struct node_path *path) {
    const struct node *categories = check_member(check, check_member(check, check->root, "meta"), "categories");
    struct node_path meta_path = node_path_member(path, "meta");
    struct node_path categories_path = node_path_member(&meta_path, "categories");
    for (size_t i = 0; node_is(categories, NODE_LIST) && i < categories->count; i++)
        if (node_is_text(check_member(check, &categories->nodes[i], "color"), TEXT("grey"))) return;
    if (node_is(categories, NODE_LIST) && needs_default_category(check, threads))
        check_error(
            check, RULE_BROKEN_CONSISTENCY, &categories_path,
            "no category is grey, but there are samples without a stack or roots without a category: one must be grey");
}

/* ---- The selected threads. ---- */

static double cpu_time_of(const struct check *check, const struct node *thread) {
    struct column_view deltas = check_column(check, check_member(check, thread, "samples"), "threadCPUDelta");
    double sum = 0;
    for (size_t row = 0; row < deltas.count; row++) sum += number_or(column_view_at(&deltas, row), 0);
    return sum;
}

/* Without a list of visible threads, the front-end hides those that have used less than so much of the time of the
 * busiest thread (IDLE_THRESHOLD_FRACTION in src/profile-logic/tracks.ts). */
static const double HIDDEN_SHARE = 0.05;

static bool is_hidden_as_idle(const struct check *check, const struct node *threads, size_t thread) {
    double most = 0;
    for (size_t i = 0; i < threads->count; i++) {
        double cpu_time = cpu_time_of(check, &threads->nodes[i]);
        if (cpu_time > most) most = cpu_time;
    }
    return cpu_time_of(check, &threads->nodes[thread]) < HIDDEN_SHARE * most;
}

static bool is_same_process(const struct check *check, const struct node *a, const struct node *b) {
    const struct node *pid = check_member(check, a, "pid");
    return node_is(pid, NODE_TEXT) && has_pid(check, b, pid);
}

/* A main thread is visible if any thread of its process is. */
static bool is_listed(const struct check *check, const struct node *threads, const struct node *visible,
                      size_t thread) {
    const struct node *wanted = &threads->nodes[thread];
    bool is_main = node_is(check_member(check, wanted, "isMainThread"), NODE_TRUE);
    for (size_t i = 0; i < visible->count; i++) {
        const struct node *index = &visible->nodes[i];
        if (!node_is_index(index, threads->count)) continue;
        const struct node *listed = &threads->nodes[(size_t)index->number];
        if (listed == wanted || (is_main && is_same_process(check, wanted, listed))) return true;
    }
    return false;
}

static void check_selection(struct check *check, const struct node *threads, const struct node_path *path) {
    const struct node *meta = check_member(check, check->root, "meta");
    const struct node *selected = check_member(check, meta, "initialSelectedThreads");
    const struct node *visible = check_member(check, meta, "initialVisibleThreads");
    bool has_list = node_is(visible, NODE_LIST) && visible->count;
    struct node_path meta_path = node_path_member(path, "meta");
    struct node_path selected_path = node_path_member(&meta_path, "initialSelectedThreads");
    for (size_t i = 0; node_is(selected, NODE_LIST) && i < selected->count; i++) {
        struct node_path at = node_path_element(&selected_path, i);
        if (!node_is_index(&selected->nodes[i], threads->count)) continue;
        size_t thread = (size_t)selected->nodes[i].number;
        if (has_list && !is_listed(check, threads, visible, thread))
            check_warning(check, RULE_BROKEN_CONSISTENCY, &at, "thread %zu is hidden: initialVisibleThreads lacks it",
                          thread);
        else if (!has_list && is_hidden_as_idle(check, threads, thread))
            check_warning(check, RULE_BROKEN_CONSISTENCY, &at,
                          "thread %zu is hidden: it has used less than 5 %% of the busiest thread's processor time",
                          thread);
    }
}

static void check_profile(struct check *check, const struct node *root, const struct node_path *path) {
    const struct node *threads = check_member(check, root, "threads");
    struct node_path threads_path = node_path_member(path, "threads");
    if (!node_is(threads, NODE_LIST) || !threads->count) return;
    check_main_threads(check, threads, &threads_path);
    check_content(check, threads, &threads_path);
    check_default_category(check, threads, path);
    check_selection(check, threads, path);
}
