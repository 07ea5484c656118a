#include "processed_format.h"

#include "common_format.h"
#include "libconvert/profile/profile.h"

/* ---- Tables shared by all threads. ---- */

static const struct member stack_columns[] = {
    INDEX("frame", TABLE_FRAMES, 0, CELL(stack, frame), .slab = SLAB_INT32),
    MEMBER("prefixOffset", TYPE_INTEGER, 0, CELL_AS(DISTANCE, stack, prefix), .range = RANGE_NOT_NEGATIVE,
           .slab = SLAB_INT32, .since = 66),
};
static const struct shape stack_table = SHAPE(stack_columns, .id = SHAPE_STACKS);

static const struct member frame_columns[] = {
    MEMBER("address", TYPE_INTEGER, IS_KEY, CELL(frame, address), .range = RANGE_INT31_OR_NONE, .slab = SLAB_INT32),
    MEMBER("inlineDepth", TYPE_INTEGER, IS_KEY | MAY_BE_EMPTY, CELL(frame, inline_depth), .range = RANGE_BYTE,
           .slab = SLAB_UINT8),
    INDEX("category", TABLE_CATEGORIES, IS_KEY | IS_NULLABLE, CELL_AS(CATEGORY, frame, category)),
    MEMBER("subcategory", TYPE_INTEGER, IS_KEY | IS_NULLABLE, CELL_AS(CATEGORY, frame, subcategory),
           .range = RANGE_NOT_NEGATIVE),
    INDEX("func", TABLE_FUNCS, IS_KEY, CELL(frame, func), .slab = SLAB_INT32),
    INDEX("lib", TABLE_LIBS, IS_KEY | HAS_NONE, CELL(frame, lib), .slab = SLAB_INT32, .since = 70),
    INDEX("nativeSymbol", TABLE_NATIVE_SYMBOLS, IS_KEY | IS_NULLABLE, CELL(frame, native_symbol)),
    MEMBER("innerWindowID", TYPE_INTEGER, IS_KEY | IS_NULLABLE, CONSTANT("null"), .range = RANGE_NOT_NEGATIVE),
    MEMBER("line", TYPE_INTEGER, IS_KEY | IS_NULLABLE, CELL(frame, line), .range = RANGE_INT31),
    MEMBER("column", TYPE_INTEGER, IS_KEY | IS_NULLABLE, CELL(frame, column), .range = RANGE_UINT32),
    INDEX("originalLocation", TABLE_SOURCE_LOCATIONS, IS_KEY | IS_NULLABLE, CONSTANT("null"), .since = 64),
};
static const struct shape frame_table = SHAPE(frame_columns, .id = SHAPE_FRAMES, .row_noun = "frame");

static const struct member func_columns[] = {
    INDEX("name", TABLE_STRINGS, IS_KEY, CELL(func, name)),
    MEMBER("isJS", TYPE_BOOL, IS_KEY, CELL(func, flags)),
    MEMBER("relevantForJS", TYPE_BOOL, IS_KEY, CONSTANT("false")),
    INDEX("resource", TABLE_RESOURCES, IS_KEY | HAS_NONE, CELL(func, resource)),
    INDEX("source", TABLE_SOURCES, IS_KEY | IS_NULLABLE, CELL(func, source), .since = 58),
    MEMBER("lineNumber", TYPE_INTEGER, IS_KEY | IS_NULLABLE, CELL(func, line), .range = RANGE_INT31),
    MEMBER("columnNumber", TYPE_INTEGER, IS_KEY | IS_NULLABLE, CELL(func, column), .range = RANGE_UINT32),
    INDEX("originalLocation", TABLE_SOURCE_LOCATIONS, IS_KEY | IS_NULLABLE, CONSTANT("null"), .since = 64),
};
static const struct shape func_table = SHAPE(func_columns, .row_noun = "function");
_Static_assert(FUNC_IS_JS == 1, "a truth value is the lowest bit");

static const struct member resource_columns[] = {
    INDEX("name", TABLE_STRINGS, IS_KEY, CELL(resource, name)),
    INDEX("host", TABLE_STRINGS, IS_KEY | IS_NULLABLE, CONSTANT("null")),
    INDEX("type", TABLE_RESOURCE_TYPES, IS_KEY, CELL(resource, type)),
};
static const struct shape resource_table = SHAPE(resource_columns, .row_noun = "resource");

static const struct member native_symbol_columns[] = {
    INDEX("libIndex", TABLE_LIBS, IS_KEY, CELL(native_symbol, lib)),
    MEMBER("address", TYPE_INTEGER, IS_KEY, CELL(native_symbol, address), .range = RANGE_UINT32),
    INDEX("name", TABLE_STRINGS, IS_KEY, CELL(native_symbol, name)),
    MEMBER("functionSize", TYPE_INTEGER, IS_KEY | IS_NULLABLE, CONSTANT("null"), .range = RANGE_NOT_NEGATIVE),
};
static const struct shape native_symbol_table = SHAPE(native_symbol_columns, .row_noun = "symbol");

static const struct member source_columns[] = {
    MEMBER("id", TYPE_TEXT, IS_KEY | IS_NULLABLE, CONSTANT("null"), .since = 61),
    INDEX("filename", TABLE_STRINGS, IS_KEY, CELL(source, filename)),
    MEMBER("startLine", TYPE_INTEGER, 0, CONSTANT("1"), .range = RANGE_ONE_BASED, .since = 61),
    MEMBER("startColumn", TYPE_INTEGER, 0, CONSTANT("1"), .range = RANGE_ONE_BASED, .since = 61),
    INDEX("sourceMapURL", TABLE_STRINGS, IS_NULLABLE, CONSTANT("null"), .since = 61),
    MEMBER("content", TYPE_TEXT, IS_NULLABLE, CODE, .part = PART_SOURCE_CONTENT, .since = 64),
};
static const struct shape source_table = SHAPE(source_columns, .row_noun = "source");

/* It has no rows in our profiles, but newer clients fail if it is missing. */
static const struct member source_location_columns[] = {
    INDEX("source", TABLE_SOURCES, 0, CONSTANT("0")),
    MEMBER("line", TYPE_INTEGER, 0, CONSTANT("0"), .range = RANGE_NOT_NEGATIVE),
    MEMBER("column", TYPE_INTEGER, 0, CONSTANT("0"), .range = RANGE_NOT_NEGATIVE),
};
static const struct shape source_location_table = SHAPE(source_location_columns);

static const struct member shared_members[] = {
    MEMBER("stackTable", TYPE_COLUMNS, 0, CODE, .table = TABLE_STACKS, .shape = &stack_table, .since = 60),
    MEMBER("frameTable", TYPE_COLUMNS, 0, CODE, .table = TABLE_FRAMES, .shape = &frame_table, .since = 60),
    MEMBER("funcTable", TYPE_COLUMNS, 0, CODE, .table = TABLE_FUNCS, .shape = &func_table, .since = 60),
    MEMBER("resourceTable", TYPE_COLUMNS, 0, CODE, .table = TABLE_RESOURCES, .shape = &resource_table, .since = 60),
    MEMBER("nativeSymbols", TYPE_COLUMNS, 0, CODE, .table = TABLE_NATIVE_SYMBOLS, .shape = &native_symbol_table,
           .since = 60),
    MEMBER("sources", TYPE_COLUMNS, 0, CODE, .table = TABLE_SOURCES, .shape = &source_table, .since = 58),
    MEMBER("sourceLocationTable", TYPE_COLUMNS, 0, CODE, .table = TABLE_SOURCE_LOCATIONS,
           .shape = &source_location_table, .since = 64),
    MEMBER("stringArray", TYPE_LIST, IS_UNIQUE, CODE, .table = TABLE_STRINGS, .items = &text_items, .since = 56),
};
const struct shape processed_shared = SHAPE(shared_members);

/* ---- Threads. ---- */

static const char *const weight_types[] = {"samples", "tracing-ms", "bytes", NULL};
static const char *const allocation_weight_types[] = {"bytes", NULL};

static const struct member sample_columns[] = {
    INDEX("stack", TABLE_STACKS, IS_NULLABLE, CELL(sample, stack)),
    MEMBER("time", TYPE_NUMBER, IS_OPTIONAL | IS_ASCENDING),
    MEMBER("timeDeltas", TYPE_NUMBER, IS_OPTIONAL, CELL_AS(MS_DELTA, sample, time_ns), .slab = SLAB_FLOAT64,
           .since = 50),
    MEMBER("weight", TYPE_NUMBER, IS_NULLABLE_WHOLE, CODE, .part = PART_WEIGHT),
    MEMBER("weightType", TYPE_CHOICE, IS_MEMBER, CODE, .part = PART_WEIGHT_TYPE, .choices = weight_types),
    /* Their rows are in columns of struct sample_details. */
    MEMBER("threadCPUDelta", TYPE_NUMBER, MAY_LACK, .cell = CELL_LONG, .part = PART_CPU_DELTA,
           .range = RANGE_NOT_NEGATIVE),
    MEMBER("eventDelay", TYPE_NUMBER, MAY_LACK | MAY_BE_EMPTY, .cell = CELL_MS, .part = PART_DELAY),
    MEMBER("responsiveness", TYPE_NUMBER, MAY_LACK | MAY_BE_EMPTY),
    MEMBER("argumentValues", TYPE_NUMBER, MAY_LACK | MAY_BE_EMPTY),
    MEMBER("threadId", TYPE_TID, IS_OPTIONAL),
};
const struct shape processed_sample_table = SHAPE(sample_columns, .id = SHAPE_SAMPLES);

static const struct member native_allocation_columns[] = {
    MEMBER("time", TYPE_NUMBER, IS_ASCENDING, CELL_AS(MS, allocation, time_ns), .slab = SLAB_FLOAT64),
    MEMBER("weight", TYPE_NUMBER, 0, CELL(allocation, bytes)),
    INDEX("stack", TABLE_STACKS, IS_NULLABLE, CELL(allocation, stack)),
    MEMBER("memoryAddress", TYPE_NUMBER, IS_OPTIONAL, CELL_AS(ADDRESS, allocation, address)),
    MEMBER("threadId", TYPE_NUMBER, IS_OPTIONAL, CODE, .part = PART_ALLOCATION_THREAD),
    MEMBER("argumentValues", TYPE_NUMBER, MAY_LACK),
    MEMBER("weightType", TYPE_CHOICE, IS_MEMBER, CODE, .part = PART_WEIGHT_TYPE, .choices = allocation_weight_types),
};
const struct shape processed_native_allocation_table = SHAPE(native_allocation_columns, .id = SHAPE_ALLOCATIONS);

static const struct member js_allocation_columns[] = {
    MEMBER("time", TYPE_NUMBER, IS_ASCENDING),
    MEMBER("weight", TYPE_NUMBER, 0),
    INDEX("stack", TABLE_STACKS, IS_NULLABLE),
    MEMBER("className", TYPE_TEXT, 0),
    MEMBER("typeName", TYPE_TEXT, 0),
    MEMBER("coarseType", TYPE_TEXT, 0),
    MEMBER("inNursery", TYPE_BOOL, 0),
    MEMBER("weightType", TYPE_CHOICE, IS_MEMBER, .choices = allocation_weight_types),
};
static const struct shape js_allocation_table = SHAPE(js_allocation_columns, .id = SHAPE_ALLOCATIONS);

static const struct member marker_columns[] = {MEMBER("threadId", TYPE_TID, MAY_LACK)};
const struct shape processed_marker_table = SHAPE(marker_columns, .base = &common_marker_table, .id = SHAPE_MARKERS);

static const struct member cause_members[] = {
    INDEX("stack", TABLE_STACKS, IS_NULLABLE, CODE),
    MEMBER("time", TYPE_NUMBER, IS_OPTIONAL, CODE),
    MEMBER("tid", TYPE_TID, IS_OPTIONAL, CODE),
};
const struct shape processed_cause_shape = SHAPE(cause_members);

static const struct member window_items = ITEMS(TYPE_INTEGER);

static const struct member thread_members[] = {
    MEMBER("name", TYPE_TEXT, 0, CODE),
    MEMBER("pid", TYPE_TEXT, IS_KEY, CODE),
    MEMBER("tid", TYPE_TID, IS_KEY | IS_LENIENT, CODE),
    MEMBER("isMainThread", TYPE_BOOL, 0, CODE),
    MEMBER("processType", TYPE_TEXT, IS_LENIENT, CODE),
    MEMBER("processName", TYPE_TEXT, IS_OPTIONAL, CODE),
    MEMBER("eTLD+1", TYPE_TEXT, IS_OPTIONAL),
    MEMBER("registerTime", TYPE_NUMBER, 0, CODE),
    MEMBER("unregisterTime", TYPE_NUMBER, IS_NULLABLE, CODE),
    MEMBER("processStartupTime", TYPE_NUMBER, 0, CODE),
    MEMBER("processShutdownTime", TYPE_NUMBER, IS_NULLABLE, CODE),
    MEMBER("pausedRanges", TYPE_LIST, 0, CODE, .shape = &paused_range_shape),
    MEMBER("showMarkersInTimeline", TYPE_BOOL, IS_OPTIONAL, CODE),
    MEMBER("isPrivateBrowsing", TYPE_BOOL, IS_OPTIONAL),
    MEMBER("isJsTracer", TYPE_BOOL, IS_OPTIONAL),
    MEMBER("usedInnerWindowIDs", TYPE_LIST, MAY_LACK, .items = &window_items, .since = 59),
    MEMBER("samples", TYPE_COLUMNS, 0, CODE, .shape = &processed_sample_table),
    MEMBER("jsAllocations", TYPE_COLUMNS, MAY_LACK, .shape = &js_allocation_table),
    MEMBER("nativeAllocations", TYPE_COLUMNS, MAY_LACK, CODE, .shape = &processed_native_allocation_table),
    MEMBER("markers", TYPE_COLUMNS, 0, CODE, .shape = &processed_marker_table),
};
const struct shape processed_thread_shape = SHAPE(thread_members);

/* ---- Counters and overhead. ---- */

static const char *const row_types[] = {"value", "separator", NULL};
static const char *const row_sources[] = {"count",          "rate",
                                          "cpu-ratio",      "accumulated",
                                          "count-range",    "selection-total",
                                          "selection-rate", "committed-range-total",
                                          "sample-number",  NULL};
static const char *const row_units[] = {"bytes", "bytes-per-second", "percent", "number", NULL};
static const char *const row_emissions[] = {"per-byte", "per-watthour", NULL};
static const char *const row_scales[] = {"power", "energy", NULL};

static const struct member row_format_members[] = {
    MEMBER("unit", TYPE_CHOICE, 0, CODE, .choices = row_units),
    MEMBER("co2", TYPE_CHOICE, IS_OPTIONAL, CODE, .choices = row_emissions),
    MEMBER("scale", TYPE_CHOICE, IS_OPTIONAL, CODE, .choices = row_scales),
};
static const struct shape row_format_shape = SHAPE(row_format_members);

static const struct member value_row_members[] = {
    MEMBER("source", TYPE_CHOICE, 0, CODE, .choices = row_sources),
    MEMBER("label", TYPE_TEXT, 0, CODE),
    MEMBER("format", TYPE_OBJECT, 0, CODE, .shape = &row_format_shape),
};
const struct shape processed_value_row_shape = SHAPE(value_row_members);

static const struct member tooltip_row_members[] = {MEMBER("type", TYPE_CHOICE, 0, CODE, .choices = row_types)};
static const struct shape tooltip_row_shape = SHAPE(tooltip_row_members, .id = SHAPE_TOOLTIP_ROW);

static const struct member display_members[] = {
    MEMBER("graphType", TYPE_CHOICE, 0, CELL_AS(CHOICE, counter, graph), .choices = counter_graph_names),
    MEMBER("unit", TYPE_TEXT, 0, CELL(counter, unit)),
    MEMBER("color", TYPE_CHOICE, 0, CELL_AS(CHOICE, counter, color), .choices = graph_color_names),
    MEMBER("markerSchemaLocation", TYPE_CHOICE, IS_NULLABLE, CODE, .choices = marker_locations),
    MEMBER("sortWeight", TYPE_NUMBER, 0, CODE),
    MEMBER("label", TYPE_TEXT, IS_APART, CELL(counter, label)),
    MEMBER("tooltipRows", TYPE_LIST, 0, CODE, .shape = &tooltip_row_shape, .since = 63),
};
const struct shape processed_display_shape = SHAPE(display_members);

static const struct member counter_sample_columns[] = {
    MEMBER("time", TYPE_NUMBER, IS_OPTIONAL | IS_ASCENDING),
    MEMBER("timeDeltas", TYPE_NUMBER, IS_OPTIONAL, CELL_AS(MS_DELTA, counter_sample, time_ns), .slab = SLAB_FLOAT64,
           .since = 50),
    MEMBER("count", TYPE_NUMBER, 0, CELL(counter_sample, change)),
    MEMBER("number", TYPE_NUMBER, IS_OPTIONAL, CELL(counter_sample, number), .part = PART_COUNTER_NUMBER),
};
const struct shape processed_counter_sample_table = SHAPE(counter_sample_columns, .id = SHAPE_COUNTER_SAMPLES);

static const struct member counter_members[] = {
    MEMBER("name", TYPE_TEXT, IS_APART, CELL(counter, name)),
    MEMBER("category", TYPE_TEXT, IS_APART, CELL(counter, category)),
    MEMBER("description", TYPE_TEXT, IS_APART, CELL(counter, description)),
    MEMBER("pid", TYPE_TEXT, 0, CODE),
    INDEX("mainThreadIndex", TABLE_THREADS, 0, CODE),
    MEMBER("samples", TYPE_COLUMNS, 0, CODE, .shape = &processed_counter_sample_table),
    MEMBER("display", TYPE_OBJECT, 0, CODE, .shape = &processed_display_shape, .since = 62),
};
const struct shape processed_counter_shape = SHAPE(counter_members, .id = SHAPE_COUNTER);

static const struct member overhead_columns[] = {
    MEMBER("time", TYPE_NUMBER, 0, CELL_AS(MS, overhead, time_ns)),
    MEMBER("locking", TYPE_NUMBER, 0, CELL_AS(US, overhead, locking_ns)),
    MEMBER("expiredMarkerCleaning", TYPE_NUMBER, 0, CONSTANT("0")),
    MEMBER("counters", TYPE_NUMBER, 0, CELL_AS(US, overhead, counters_ns)),
    MEMBER("threads", TYPE_NUMBER, 0, CELL_AS(US, overhead, threads_ns)),
};
const struct shape processed_overhead_table = SHAPE(overhead_columns);

static const struct member overhead_members[] = {
    MEMBER("pid", TYPE_TEXT, 0, CODE),
    INDEX("mainThreadIndex", TABLE_THREADS, 0, CODE),
    MEMBER("samples", TYPE_COLUMNS, 0, CODE, .shape = &processed_overhead_table),
};
static const struct shape overhead_shape = SHAPE(overhead_members, .id = SHAPE_OVERHEAD);

/* ---- Meta, libraries, and the whole profile. ---- */

static const struct member extra_entry_members[] = {
    MEMBER("label", TYPE_TEXT, 0, CELL(extra_entry, label)),
    MEMBER("format", TYPE_ANY, IS_OPTIONAL, CONSTANT("\"string\"")), /* it is checked together with the value */
    MEMBER("value", TYPE_ANY, 0, CELL(extra_entry, value)),
};
const struct shape processed_extra_entry_shape = SHAPE(extra_entry_members, .id = SHAPE_EXTRA_ENTRY);

static const struct member extra_members[] = {
    MEMBER("label", TYPE_TEXT, 0, CODE),
    MEMBER("entries", TYPE_LIST, 0, CODE, .shape = &processed_extra_entry_shape),
};
static const struct shape extra_shape = SHAPE(extra_members);

static const struct member schema_members[] = {
    MEMBER("fields", TYPE_LIST, IS_UNIQUE, CODE, .shape = &field_shape, .since = 55),
};
static const struct shape schema_shape = SHAPE(schema_members, .base = &common_schema_shape, .id = SHAPE_SCHEMA);
static const struct member thread_index_items = ITEMS(TYPE_INDEX, .table = TABLE_THREADS);

static const struct member meta_members[] = {
    MEMBER("version", TYPE_NUMBER, 0, CODE),
    MEMBER("product", TYPE_TEXT, 0, CODE),
    MEMBER("markerSchema", TYPE_LIST, 0, CODE, .shape = &schema_shape),
    MEMBER("importedFrom", TYPE_TEXT, MAY_LACK, CODE),
    MEMBER("arguments", TYPE_TEXT, MAY_LACK, CODE),
    MEMBER("fileName", TYPE_TEXT, MAY_LACK),
    MEMBER("fileSize", TYPE_NUMBER, MAY_LACK),
    MEMBER("endTime", TYPE_NUMBER, MAY_LACK),
    MEMBER("mainMemory", TYPE_NUMBER, MAY_LACK, CODE),
    MEMBER("gramsOfCO2ePerKWh", TYPE_NUMBER, MAY_LACK),
    MEMBER("symbolicated", TYPE_BOOL, MAY_LACK, CODE),
    MEMBER("symbolicationNotSupported", TYPE_BOOL, MAY_LACK, CODE),
    MEMBER("usesOnlyOneStackType", TYPE_BOOL, MAY_LACK, CODE),
    MEMBER("sourceCodeIsNotOnSearchfox", TYPE_BOOL, MAY_LACK, CODE),
    MEMBER("keepProfileThreadOrder", TYPE_BOOL, MAY_LACK, CODE),
    MEMBER("initialVisibleThreads", TYPE_LIST, MAY_LACK | IS_NOT_EMPTY, CODE, .items = &thread_index_items),
    MEMBER("initialSelectedThreads", TYPE_LIST, MAY_LACK | IS_NOT_EMPTY, .items = &thread_index_items),
    MEMBER("extensions", TYPE_COLUMNS, MAY_LACK, .shape = &extension_table),
    MEMBER("extra", TYPE_LIST, MAY_LACK, CODE, .shape = &extra_shape),
};
const struct shape processed_meta = SHAPE(meta_members, .base = &common_meta_shape, .id = SHAPE_META);

static const struct member lib_members[] = {
    MEMBER("codeId", TYPE_TEXT, IS_LENIENT | IS_NULLABLE, CELL(lib, code_id)),
};
const struct shape processed_lib_shape = SHAPE(lib_members, .base = &common_lib_shape, .id = SHAPE_LIB);

static const struct member profile_members[] = {
    MEMBER("meta", TYPE_OBJECT, 0, CODE, .shape = &processed_meta),
    MEMBER("libs", TYPE_LIST, IS_UNIQUE, CODE, .table = TABLE_LIBS, .shape = &processed_lib_shape),
    MEMBER("shared", TYPE_OBJECT, 0, CODE, .shape = &processed_shared, .since = 56),
    MEMBER("threads", TYPE_LIST, IS_NOT_EMPTY | IS_UNIQUE, CODE, .table = TABLE_THREADS,
           .shape = &processed_thread_shape),
    MEMBER("pages", TYPE_LIST, MAY_LACK | IS_UNIQUE, .shape = &page_shape),
    MEMBER("counters", TYPE_LIST, MAY_LACK, CODE, .shape = &processed_counter_shape),
    MEMBER("profilerOverhead", TYPE_LIST, MAY_LACK, CODE, .shape = &overhead_shape),
    MEMBER("profilingLog", TYPE_OBJECT, MAY_LACK, CODE),
    MEMBER("profileGatheringLog", TYPE_OBJECT, MAY_LACK, CODE),
};
const struct shape processed_profile = SHAPE(profile_members, .id = SHAPE_PROFILE);
