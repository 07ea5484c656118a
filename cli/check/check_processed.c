/* The processed format, version 70: what the viewer itself writes and reads. */
#include "check_processed.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "check_common.h"
#include "check_markers.h"

/* ---- Tables that all threads share. ---- */

static void check_stacks(struct check *check, const struct node *table, const struct place *place);
static void check_frames(struct check *check, const struct node *table, const struct place *place);

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

static void check_sample_times(struct check *check, const struct node *table, const struct place *place);
static void check_thread_samples(struct check *check, const struct node *table, const struct place *place);
static void check_allocations(struct check *check, const struct node *table, const struct place *place);
static void check_counter(struct check *check, const struct node *counter, const struct place *place);
static void check_owner(struct check *check, const struct node *owned, const struct place *place);

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

/* ---- Counters, and what recording cost. ---- */

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

static void check_tooltip_row(struct check *check, const struct node *row, const struct place *place) {
    if (node_is_text(check_member(check, row, "type"), TEXT("value"))) check_shape(check, &value_row_shape, row, place);
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

/* ---- Meta, libraries, and the whole. ---- */

static void check_extra_entry(struct check *check, const struct node *entry, const struct place *place) {
    const struct node *format = check_member(check, entry, "format"), *value = check_member(check, entry, "value");
    static const char *const of_the_string_table[] = {"unique-string", "flow-id", "terminating-flow-id"};
    struct place format_place = place_member(place, "format"), value_place = place_member(place, "value");
    check_format(check, entry, place);
    for (size_t i = 0; i < sizeof of_the_string_table / sizeof *of_the_string_table; i++) {
        if (!node_is_text(format, text_of(of_the_string_table[i]))) continue;
        check_error(check, RULE_BROKEN_VALUE, &format_place, "must not be of the string table here");
        return;
    }
    if (value) check_formatted(check, format, value, &value_place);
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

static void check_profile(struct check *check, const struct node *root, const struct place *place);

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

/* ---- What depends on other values. ---- */

static bool is_number(const struct node *node) { return node_is(node, NODE_NUMBER); }

static double number_or(const struct node *node, double otherwise) {
    return is_number(node) ? node->number : otherwise;
}

static bool is_equal_scalar(const struct node *a, const struct node *b) {
    return a->kind == b->kind && (a->kind != NODE_NUMBER || a->number == b->number);
}

struct stack_columns {
    struct column_view frame, offset;               /* of stackTable */
    struct column_view depth, address, lib, symbol; /* of frameTable */
    size_t frame_count;
};

static const struct node *frame_of(const struct stack_columns *columns, size_t stack) {
    const struct node *frame = column_view_at(&columns->frame, stack);
    return node_is_index(frame, columns->frame_count) ? frame : NULL;
}

/* A frame that was inlined is called by the one that it was inlined into. */
static void check_inlined(struct check *check, const struct stack_columns *columns, size_t row, size_t offset,
                          const struct place *place) {
    const struct node *frame = frame_of(columns, row);
    double depth = frame ? number_or(column_view_at(&columns->depth, (size_t)frame->number), 0) : 0;
    struct place chain[3];
    const struct place *at = column_view_place(&columns->frame, row, place, chain);
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
                  "a frame of inlineDepth %g must be called by one of %g with the same address, lib and nativeSymbol",
                  depth, depth - 1);
}

static void check_unique_stacks(struct check *check, const struct stack_columns *columns, const struct place *place) {
    struct row_table seen;
    row_table_init(&seen, 2 * sizeof(uint32_t), check->document->failure);
    for (uint32_t row = 0; row < columns->frame.count && !failure_is_set(check->document->failure); row++) {
        const struct node *frame = column_view_at(&columns->frame, row),
                          *offset = column_view_at(&columns->offset, row);
        if (!node_is_index(frame, UINT32_MAX) || !node_is_index(offset, (uint64_t)row + 1)) continue;
        /* 0 is no caller. */
        uint32_t key[2] = {offset->number > 0 ? row - (uint32_t)offset->number + 1 : 0, (uint32_t)frame->number};
        uint32_t count = row_table_count(&seen);
        struct place chain[3];
        if (row_table_intern(&seen, key) < count)
            check_warning(check, RULE_BROKEN_UNIQUENESS, column_view_place(&columns->frame, row, place, chain),
                          "stack %u is the same as an earlier one", row);
    }
    row_table_fini(&seen);
}

static void check_stacks(struct check *check, const struct node *table, const struct place *place) {
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
        struct place chain[3];
        char shown[NODE_SHOWN_BYTES];
        if (node_is_index(offset, row + 1))
            check_inlined(check, &columns, row, (size_t)offset->number, place);
        else if (node_is_integer(offset) && offset->number > 0)
            check_error(check, RULE_BROKEN_ORDER, column_view_place(&columns.offset, row, place, chain),
                        "%s: the caller must be an earlier row, so at most %zu rows before (0: none)",
                        node_show(offset, shown), row);
    }
    check_unique_stacks(check, &columns, place);
}

/* Newer front-ends drop an address without a library, and the other way round. */
static void check_frame_places(struct check *check, const struct node *table, const struct place *place) {
    struct column_view addresses = check_column(check, table, "address"), libs = check_column(check, table, "lib");
    for (size_t row = 0; row < addresses.count && row < libs.count; row++) {
        const struct node *address = column_view_at(&addresses, row), *lib = column_view_at(&libs, row);
        struct place chain[3];
        if (is_number(address) && is_number(lib) && (address->number == -1) != (lib->number == -1))
            check_warning(check, RULE_BROKEN_CONSISTENCY, column_view_place(&addresses, row, place, chain),
                          "address %.0f with lib %.0f: both must be -1, or none", address->number, lib->number);
    }
}

static void check_frame_symbols(struct check *check, const struct node *table, const struct place *place) {
    const struct node *symbols = check_member(check, check_member(check, check->root, "shared"), "nativeSymbols");
    struct column_view frame_symbols = check_column(check, table, "nativeSymbol");
    struct column_view libs = check_column(check, table, "lib");
    struct column_view symbol_libs = check_column(check, symbols, "libIndex");
    for (size_t row = 0; row < frame_symbols.count && row < libs.count; row++) {
        const struct node *symbol = column_view_at(&frame_symbols, row), *lib = column_view_at(&libs, row);
        if (!node_is_index(symbol, symbol_libs.count)) continue;
        const struct node *symbol_lib = column_view_at(&symbol_libs, (size_t)symbol->number);
        struct place chain[3];
        if (is_number(lib) && is_number(symbol_lib) && lib->number != symbol_lib->number)
            check_warning(check, RULE_BROKEN_CONSISTENCY, column_view_place(&frame_symbols, row, place, chain),
                          "%.0f is a symbol of lib %.0f, the frame is in lib %.0f", symbol->number, symbol_lib->number,
                          lib->number);
    }
}

static void check_frames(struct check *check, const struct node *table, const struct place *place) {
    check_subcategories(check, table, place);
    check_frame_places(check, table, place);
    check_frame_symbols(check, table, place);
}

static void check_sample_times(struct check *check, const struct node *table, const struct place *place) {
    struct column_view times = check_column(check, table, "time"), deltas = check_column(check, table, "timeDeltas");
    if (times.table && deltas.table)
        check_error(check, RULE_BROKEN_CONSISTENCY, place,
                    "has time and timeDeltas, which is not read: it must have one");
    if (!check_member(check, table, "time") && !check_member(check, table, "timeDeltas"))
        check_error(check, RULE_BROKEN_PRESENCE, place, "has neither time nor timeDeltas: it must have one");
    for (size_t row = 1; row < deltas.count; row++) {
        const struct node *delta = column_view_at(&deltas, row);
        struct place chain[3];
        char shown[NODE_SHOWN_BYTES];
        if (is_number(delta) && delta->number < 0)
            check_error(check, RULE_BROKEN_ORDER, column_view_place(&deltas, row, place, chain),
                        "%s: times must not decrease", node_show(delta, shown));
    }
}

static void check_thread_samples(struct check *check, const struct node *table, const struct place *place) {
    check_sample_times(check, table, place);
    const struct node *units = check_member(check, check_member(check, check->root, "meta"), "sampleUnits");
    struct place cpu_place = place_member(place, "threadCPUDelta");
    if (check_member(check, table, "threadCPUDelta") && !node_is(units, NODE_OBJECT))
        check_warning(check, RULE_BROKEN_CONSISTENCY, &cpu_place, "is not read without meta.sampleUnits");
}

static void check_allocations(struct check *check, const struct node *table, const struct place *place) {
    const struct node *length = check_member(check, table, "length");
    if (is_number(length) && length->number == 0)
        check_error(check, RULE_BROKEN_LENGTH, place, "is empty, which blanks the whole profile: leave it out");
    if (!check_member(check, table, "memoryAddress") != !check_member(check, table, "threadId"))
        check_error(check, RULE_BROKEN_CONSISTENCY, place, "memoryAddress and threadId must be there both, or none");
}

static bool has_pid(const struct check *check, const struct node *thread, const struct node *pid) {
    const struct node *thread_pid = check_member(check, thread, "pid");
    return node_is(thread_pid, NODE_TEXT) && node_is_text(pid, node_text(thread_pid));
}

/* A counter or an overhead belongs to a process, and to its main thread. */
static void check_owner(struct check *check, const struct node *owned, const struct place *place) {
    const struct node *pid = check_member(check, owned, "pid"), *index = check_member(check, owned, "mainThreadIndex");
    const struct node *threads = check_member(check, check->root, "threads");
    struct place pid_place = place_member(place, "pid"), index_place = place_member(place, "mainThreadIndex");
    char shown[NODE_SHOWN_BYTES];
    if (!node_is(pid, NODE_TEXT) || !node_is(threads, NODE_LIST)) return;
    bool is_found = false;
    for (size_t i = 0; i < threads->count && !is_found; i++) is_found = has_pid(check, &threads->nodes[i], pid);
    if (!is_found)
        check_warning(check, RULE_BROKEN_CONSISTENCY, &pid_place, "%s must be the pid of a thread",
                      node_show(pid, shown));
    else if (node_is_index(index, threads->count) && !has_pid(check, &threads->nodes[(size_t)index->number], pid))
        check_warning(check, RULE_BROKEN_CONSISTENCY, &index_place, "must be a thread with the pid %s",
                      node_show(pid, shown));
}

static void check_counter(struct check *check, const struct node *counter, const struct place *place) {
    const struct node *samples = check_member(check, counter, "samples");
    const struct node *graph = check_member(check, check_member(check, counter, "display"), "graphType");
    const struct node *length = check_member(check, samples, "length");
    struct place samples_place = place_member(place, "samples");
    check_owner(check, counter, place);
    if (is_number(length) && length->number == 0)
        check_warning(check, RULE_BROKEN_LENGTH, &samples_place, "is empty: leave the counter out");
    if (node_is_text(graph, TEXT("line-rate"))) check_rates(check, samples, &samples_place);
}

/* Of two main threads of a process the first one vanishes from the timeline. */
static void check_main_threads(struct check *check, const struct node *threads, const struct place *place) {
    struct strings pids;
    strings_init(&pids, check->document->failure);
    for (size_t i = 0; i < threads->count; i++) {
        const struct node *pid = check_member(check, &threads->nodes[i], "pid");
        struct place element = place_element(place, i);
        struct place main_place = place_member(&element, "isMainThread");
        char shown[NODE_SHOWN_BYTES];
        if (!node_is(check_member(check, &threads->nodes[i], "isMainThread"), NODE_TRUE) || !node_is(pid, NODE_TEXT))
            continue;
        uint32_t count = strings_count(&pids);
        if (strings_intern(&pids, node_text(pid)).index < count)
            check_warning(check, RULE_BROKEN_UNIQUENESS, &main_place, "the process %s must have one main thread only",
                          node_show(pid, shown));
    }
    strings_fini(&pids);
}

static bool has_rows(const struct check *check, const struct node *thread, const char *table) {
    const struct node *length = check_member(check, check_member(check, thread, table), "length");
    return is_number(length) && length->number > 0;
}

static void check_content(struct check *check, const struct node *threads, const struct place *place) {
    if (check_member(check, check_member(check, check->root, "meta"), "profilingStartTime")) return;
    static const char *const tables[] = {"samples", "markers", "jsAllocations", "nativeAllocations"};
    for (size_t i = 0; i < threads->count; i++)
        for (size_t j = 0; j < sizeof tables / sizeof *tables; j++)
            if (has_rows(check, &threads->nodes[i], tables[j])) return;
    check_error(check, RULE_BROKEN_LENGTH, place, "no thread has a sample or a marker: there is nothing to show");
}

/* The front-end puts what has no category into the grey one. */
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

static void check_default_category(struct check *check, const struct node *threads, const struct place *place) {
    const struct node *categories = check_member(check, check_member(check, check->root, "meta"), "categories");
    struct place meta_place = place_member(place, "meta");
    struct place categories_place = place_member(&meta_place, "categories");
    for (size_t i = 0; node_is(categories, NODE_LIST) && i < categories->count; i++)
        if (node_is_text(check_member(check, &categories->nodes[i], "color"), TEXT("grey"))) return;
    if (node_is(categories, NODE_LIST) && needs_default_category(check, threads))
        check_error(check, RULE_BROKEN_CONSISTENCY, &categories_place,
                    "none is grey, and there are samples without a stack, or roots without a category: one must be");
}

static void check_profile(struct check *check, const struct node *root, const struct place *place) {
    const struct node *threads = check_member(check, root, "threads");
    struct place threads_place = place_member(place, "threads");
    if (!node_is(threads, NODE_LIST) || !threads->count) return;
    check_main_threads(check, threads, &threads_place);
    check_content(check, threads, &threads_place);
    check_default_category(check, threads, place);
}
