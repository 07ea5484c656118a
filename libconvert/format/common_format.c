#include "common_format.h"

#include "libconvert/profile/profile.h"

/* ---- Meta. ---- */

const struct member text_items = ITEMS(TYPE_TEXT);

static const char *const category_colors[] = {"transparent", "purple",   "green", "orange",  "yellow",
                                              "lightblue",   "blue",     "brown", "magenta", "red",
                                              "lightred",    "darkgrey", "grey",  NULL};

static const struct member category_members[] = {
    MEMBER("name", TYPE_TEXT, IS_KEY, CELL(category, name)),
    MEMBER("color", TYPE_CHOICE, IS_LENIENT, CODE, .choices = category_colors),
    MEMBER("subcategories", TYPE_LIST, IS_NOT_EMPTY, CODE, .items = &text_items),
};
const struct shape category_shape = SHAPE(category_members, .id = SHAPE_CATEGORY);

static const char *const time_units[] = {"ms", "bytes", NULL};
static const char *const delay_units[] = {"ms", NULL};
static const char *const cpu_units[] = {"ns", "\xc2\xb5s", "variable CPU cycles", NULL};

static const struct member sample_units_members[] = {
    MEMBER("time", TYPE_CHOICE, 0, CODE, .choices = time_units),
    MEMBER("eventDelay", TYPE_CHOICE, 0, CODE, .choices = delay_units),
    MEMBER("threadCPUDelta", TYPE_CHOICE, 0, CODE, .choices = cpu_units),
};
static const struct shape sample_units_shape = SHAPE(sample_units_members);

static const struct member configuration_members[] = {
    MEMBER("threads", TYPE_LIST, 0, CODE, .items = &text_items),
    MEMBER("features", TYPE_LIST, 0, CODE, .items = &text_items),
    MEMBER("capacity", TYPE_NUMBER, 0, CODE),
};
static const struct shape configuration_shape = SHAPE(configuration_members);

static const struct member extension_columns[] = {
    MEMBER("baseURL", TYPE_ANY, 0),
    MEMBER("id", TYPE_ANY, 0),
    MEMBER("name", TYPE_ANY, 0),
};
const struct shape extension_table = SHAPE(extension_columns);

static const struct member meta_members[] = {
    MEMBER("interval", TYPE_NUMBER, 0, CODE, .range = RANGE_POSITIVE),
    MEMBER("startTime", TYPE_NUMBER, 0, CODE),
    MEMBER("processType", TYPE_NUMBER, 0, CODE),
    MEMBER("profilingStartTime", TYPE_NUMBER, IS_OPTIONAL, CODE),
    MEMBER("profilingEndTime", TYPE_NUMBER, IS_OPTIONAL, CODE),
    MEMBER("categories", TYPE_LIST, IS_LENIENT | IS_UNIQUE, CODE, .table = TABLE_CATEGORIES, .shape = &category_shape),
    MEMBER("sampleUnits", TYPE_OBJECT, MAY_LACK, CODE, .shape = &sample_units_shape),
    MEMBER("configuration", TYPE_OBJECT, MAY_LACK, CODE, .shape = &configuration_shape),
    MEMBER("misc", TYPE_TEXT, MAY_LACK, CELL(profile_meta, version)),
    MEMBER("appBuildID", TYPE_TEXT, MAY_LACK, CELL(profile_meta, build_id)),
    MEMBER("sourceURL", TYPE_TEXT, MAY_LACK, CELL(profile_meta, source_url)),
    MEMBER("stackwalk", TYPE_INTEGER, IS_LENIENT, CELL(profile_meta, has_stacks), .range = RANGE_FLAG),
    MEMBER("CPUName", TYPE_TEXT, MAY_LACK, CELL(profile_meta, cpu_name)),
    MEMBER("oscpu", TYPE_TEXT, MAY_LACK, CELL(profile_meta, os_cpu)),
    MEMBER("platform", TYPE_TEXT, MAY_LACK, CELL(profile_meta, platform)),
    MEMBER("abi", TYPE_TEXT, MAY_LACK, CELL(profile_meta, abi)),
    MEMBER("device", TYPE_TEXT, MAY_LACK, CELL(profile_meta, device)),
    MEMBER("logicalCPUs", TYPE_NUMBER, MAY_LACK, CELL(profile_meta, logical_cpu_count)),
    MEMBER("physicalCPUs", TYPE_NUMBER, MAY_LACK, CELL(profile_meta, physical_cpu_count)),
    MEMBER("toolkit", TYPE_TEXT, MAY_LACK),
    MEMBER("updateChannel", TYPE_TEXT, MAY_LACK),
    MEMBER("debug", TYPE_ANY, IS_OPTIONAL),
    MEMBER("startTimeAsClockMonotonicNanosecondsSinceBoot", TYPE_NUMBER, MAY_LACK, CODE),
    MEMBER("startTimeAsMachAbsoluteTimeNanoseconds", TYPE_NUMBER, MAY_LACK),
    MEMBER("startTimeAsQueryPerformanceCounterValue", TYPE_NUMBER, MAY_LACK),
};
const struct shape common_meta_shape = SHAPE(meta_members);

/* ---- Libraries, pages and paused ranges. ---- */

static const struct member lib_members[] = {
    MEMBER("arch", TYPE_TEXT, IS_LENIENT, CELL(lib, arch)),
    MEMBER("name", TYPE_TEXT, 0, CELL(lib, name)),
    MEMBER("path", TYPE_TEXT, 0, CELL(lib, path)),
    MEMBER("debugName", TYPE_TEXT, IS_KEY, CELL(lib, debug_name)),
    MEMBER("debugPath", TYPE_TEXT, 0, CELL(lib, debug_path)),
    MEMBER("breakpadId", TYPE_TEXT, IS_KEY, CELL(lib, breakpad_id)),
};
const struct shape common_lib_shape = SHAPE(lib_members);

static const struct member page_members[] = {
    MEMBER("tabID", TYPE_NUMBER, 0),
    MEMBER("innerWindowID", TYPE_NUMBER, IS_KEY),
    MEMBER("url", TYPE_TEXT, 0),
    MEMBER("embedderInnerWindowID", TYPE_NUMBER, 0),
};
const struct shape page_shape = SHAPE(page_members);

static const char *const pause_reasons[] = {"profiler-paused", "collecting", NULL};
static const struct member paused_range_members[] = {
    MEMBER("startTime", TYPE_NUMBER, IS_NULLABLE, CELL_AS(MS, paused_range, start_ns)),
    MEMBER("endTime", TYPE_NUMBER, IS_NULLABLE, CELL_AS(MS, paused_range, end_ns)),
    MEMBER("reason", TYPE_CHOICE, 0, CONSTANT("\"profiler-paused\""), .choices = pause_reasons),
};
const struct shape paused_range_shape = SHAPE(paused_range_members, .id = SHAPE_PAUSED_RANGE);

/* ---- Schemas of markers. ---- */

const char *const counter_graph_names[] = {"line-accumulated", "line-rate", NULL};
const char *const marker_locations[MARKER_LOCATION_COUNT + 1] = {
    "marker-chart", "marker-table",    "timeline-overview", "timeline-memory",
    "timeline-ipc", "timeline-fileio", "stack-chart",       "timeline-network"};
static const char *const marker_graph_names[] = {"bar", "line", "line-filled", NULL};

static const struct member static_field_members[] = {
    MEMBER("label", TYPE_ANY, 0, CODE),
    MEMBER("value", TYPE_TEXT, 0, CODE),
};
const struct shape static_field_shape = SHAPE(static_field_members);

static const struct member field_members[] = {
    MEMBER("key", TYPE_TEXT, IS_OPTIONAL | IS_KEY | IS_APART, CELL(marker_field, key)),
    MEMBER("label", TYPE_TEXT, IS_OPTIONAL | IS_APART, CELL(marker_field, label)),
    MEMBER("hidden", TYPE_BOOL, MAY_LACK | IS_APART, CELL(marker_field, is_hidden)),
};
const struct shape field_shape = SHAPE(field_members, .id = SHAPE_FIELD);

static const struct member graph_members[] = {
    MEMBER("key", TYPE_TEXT, 0, CELL(marker_graph, key)),
    MEMBER("type", TYPE_CHOICE, 0, CELL_AS(CHOICE, marker_graph, type), .choices = marker_graph_names),
    MEMBER("color", TYPE_CHOICE, IS_OPTIONAL, CELL_AS(CHOICE, marker_graph, color), .choices = graph_color_names),
};
const struct shape graph_shape = SHAPE(graph_members);
static const struct member location_items = ITEMS(TYPE_CHOICE, .choices = marker_locations);

static const struct member schema_members[] = {
    MEMBER("name", TYPE_TEXT, IS_APART, CELL(marker_schema, name)),
    MEMBER("display", TYPE_LIST, 0, CODE, .items = &location_items),
    MEMBER("chartLabel", TYPE_TEXT, MAY_LACK, CELL(marker_schema, chart_label)),
    MEMBER("tooltipLabel", TYPE_TEXT, MAY_LACK, CELL(marker_schema, tooltip_label)),
    MEMBER("tableLabel", TYPE_TEXT, MAY_LACK, CELL(marker_schema, table_label)),
    MEMBER("description", TYPE_TEXT, MAY_LACK | IS_APART, CELL(marker_schema, description)),
    MEMBER("colorField", TYPE_TEXT, MAY_LACK | IS_APART, CELL(marker_schema, color_field)),
    MEMBER("isStackBased", TYPE_BOOL, MAY_LACK | IS_APART, CELL(marker_schema, is_stack_based)),
    MEMBER("graphs", TYPE_LIST, MAY_LACK, CODE, .shape = &graph_shape),
};
const struct shape common_schema_shape = SHAPE(schema_members);

/* ---- Markers. ---- */

static const struct member payload_members[] = {MEMBER("type", TYPE_ANY, IS_OPTIONAL, CODE)};
static const struct shape payload_shape = SHAPE(payload_members);

static const struct member marker_columns[] = {
    INDEX("name", TABLE_STRINGS, 0, CELL(marker, name)),
    MEMBER("startTime", TYPE_NUMBER, IS_NULLABLE, .cell = CELL_MARKER_START, .slab = SLAB_FLOAT64),
    MEMBER("endTime", TYPE_NUMBER, IS_NULLABLE, .cell = CELL_MARKER_END, .slab = SLAB_FLOAT64),
    MEMBER("phase", TYPE_ANY, 0, .cell = CELL_MARKER_PHASE), /* it is checked together with the times */
    INDEX("category", TABLE_CATEGORIES, 0, CELL(marker, category)),
    MEMBER("data", TYPE_OBJECT, IS_NULLABLE, CODE, .part = PART_PAYLOAD, .shape = &payload_shape),
};
const struct shape common_marker_table = SHAPE(marker_columns, .id = SHAPE_MARKERS);
