#include "gecko_format.h"

#include "common_format.h"
#include "libconvert/profile/profile.h"
#include "processed_format.h"

/* ---- Threads. ---- */

static const struct member frame_columns[] = {
    /* The reader makes a function of the string. */
    INDEX("location", TABLE_STRINGS, IS_KEY, CELL(frame, func)),
    MEMBER("relevantForJS", TYPE_BOOL, IS_KEY, CODE),
    INDEX("category", TABLE_CATEGORIES, IS_KEY | IS_NULLABLE, CELL_AS(CATEGORY, frame, category)),
    MEMBER("subcategory", TYPE_INTEGER, IS_KEY | IS_NULLABLE, CELL_AS(CATEGORY, frame, subcategory),
           .range = RANGE_NOT_NEGATIVE),
    MEMBER("line", TYPE_INTEGER, IS_KEY | IS_NULLABLE, CELL(frame, line), .range = RANGE_NOT_NEGATIVE),
    MEMBER("column", TYPE_INTEGER, IS_KEY | MAY_LACK, CELL(frame, column), .range = RANGE_NOT_NEGATIVE),
    /* No row has a value for it, but the client reads it of every frame, so the column must exist. */
    MEMBER("innerWindowID", TYPE_INTEGER, IS_KEY | MAY_LACK, CODE, .range = RANGE_NOT_NEGATIVE),
    INDEX("implementation", TABLE_STRINGS, IS_KEY | MAY_LACK),
};
const struct shape gecko_frame_table = SHAPE(frame_columns, .id = SHAPE_FRAMES, .row_noun = "frame");

static const struct member stack_columns[] = {
    INDEX("prefix", TABLE_STACKS, IS_KEY | IS_NULLABLE, CELL(stack, prefix)),
    INDEX("frame", TABLE_FRAMES, IS_KEY, CELL(stack, frame)),
};
const struct shape gecko_stack_table = SHAPE(stack_columns, .id = SHAPE_STACKS, .row_noun = "stack");

/* The client requires a column of event delays, even without values. */
static const struct member sample_columns[] = {
    INDEX("stack", TABLE_STACKS, IS_NULLABLE, CELL(sample, stack)),
    MEMBER("time", TYPE_NUMBER, IS_ASCENDING, CELL_AS(MS, sample, time_ns)),
    MEMBER("threadCPUDelta", TYPE_NUMBER, MAY_LACK, CODE, .range = RANGE_NOT_NEGATIVE),
    MEMBER("eventDelay", TYPE_NUMBER, MAY_LACK, CODE),
    MEMBER("responsiveness", TYPE_NUMBER, MAY_LACK),
    MEMBER("argumentValues", TYPE_NUMBER, MAY_LACK),
};
const struct shape gecko_sample_table = SHAPE(sample_columns, .id = SHAPE_SAMPLES);

static const struct member backtrace_columns[] = {
    INDEX("stack", TABLE_STACKS, IS_NULLABLE, CELL(sample, stack)),
    MEMBER("time", TYPE_NUMBER, 0, CELL_AS(MS, sample, time_ns)),
    MEMBER("eventDelay", TYPE_ANY, IS_OPTIONAL),
    MEMBER("responsiveness", TYPE_ANY, IS_OPTIONAL),
};
const struct shape gecko_backtrace_table = SHAPE(backtrace_columns, .id = SHAPE_BACKTRACE);
static const struct member backtrace_members[] = {
    MEMBER("samples", TYPE_ROWS, 0, CODE, .shape = &gecko_backtrace_table),
};
const struct shape gecko_backtrace_shape = SHAPE(backtrace_members);

static const struct member thread_members[] = {
    MEMBER("name", TYPE_TEXT, 0, CODE),
    MEMBER("pid", TYPE_TID, 0, CODE),
    MEMBER("tid", TYPE_TID, 0, CODE),
    MEMBER("processType", TYPE_TEXT, 0, CODE),
    MEMBER("processName", TYPE_TEXT, IS_OPTIONAL, CODE),
    MEMBER("registerTime", TYPE_NUMBER, 0, CODE),
    MEMBER("unregisterTime", TYPE_NUMBER, IS_NULLABLE, CODE),
    MEMBER("isMainThread", TYPE_ANY, IS_UNREAD),
    MEMBER("showMarkersInTimeline", TYPE_ANY, IS_UNREAD),
    MEMBER("stringTable", TYPE_LIST, IS_UNIQUE, CODE, .table = TABLE_STRINGS, .items = &text_items),
    MEMBER("frameTable", TYPE_ROWS, 0, CODE, .table = TABLE_FRAMES, .shape = &gecko_frame_table),
    MEMBER("stackTable", TYPE_ROWS, 0, CODE, .table = TABLE_STACKS, .shape = &gecko_stack_table),
    MEMBER("samples", TYPE_ROWS, 0, CODE, .shape = &gecko_sample_table),
    MEMBER("markers", TYPE_ROWS, 0, CODE, .shape = &common_marker_table),
};
static const struct shape thread_shape = SHAPE(thread_members, .id = SHAPE_THREAD);

/* ---- Processes. ---- */

static const struct member lib_members[] = {
    MEMBER("codeId", TYPE_TEXT, IS_LENIENT | MAY_LACK, CELL(lib, code_id)),
    MEMBER("start", TYPE_INTEGER, 0, .range = RANGE_NOT_NEGATIVE),
    MEMBER("end", TYPE_INTEGER, 0, .range = RANGE_NOT_NEGATIVE),
    MEMBER("offset", TYPE_INTEGER, 0, .range = RANGE_NOT_NEGATIVE),
};
const struct shape gecko_lib_shape = SHAPE(lib_members, .base = &common_lib_shape, .id = SHAPE_LIB);

static const struct member source_columns[] = {
    MEMBER("id", TYPE_TEXT, 0, CODE, .since = 34),
    MEMBER("filename", TYPE_TEXT, 0, CODE),
    MEMBER("startLine", TYPE_INTEGER, IS_OPTIONAL, CODE, .range = RANGE_ONE_BASED, .since = 34),
    MEMBER("startColumn", TYPE_INTEGER, IS_OPTIONAL, CODE, .range = RANGE_ONE_BASED, .since = 34),
    MEMBER("sourceMapURL", TYPE_TEXT, MAY_LACK, CODE, .since = 34),
};
const struct shape gecko_source_table = SHAPE(source_columns);

static const struct member counter_sample_columns[] = {
    MEMBER("time", TYPE_NUMBER, IS_ASCENDING, CELL_AS(MS, counter_sample, time_ns)),
    MEMBER("count", TYPE_NUMBER, 0, CELL(counter_sample, change)),
    MEMBER("number", TYPE_NUMBER, IS_OPTIONAL, CELL(counter_sample, number)),
};
const struct shape gecko_counter_sample_table = SHAPE(counter_sample_columns);

static const struct member counter_members[] = {
    MEMBER("name", TYPE_TEXT, 0, CODE),
    MEMBER("category", TYPE_TEXT, 0, CODE),
    MEMBER("description", TYPE_TEXT, 0, CODE),
    MEMBER("samples", TYPE_ROWS, 0, CODE, .shape = &gecko_counter_sample_table),
    MEMBER("display", TYPE_ANY, IS_UNREAD),
};
static const struct shape counter_shape = SHAPE(counter_members, .id = SHAPE_COUNTER);

/* Times are in microseconds here, unlike elsewhere in the format. */
static const struct member overhead_columns[] = {
    MEMBER("time", TYPE_NUMBER, 0, CELL_AS(US, overhead, time_ns)),
    MEMBER("locking", TYPE_NUMBER, 0, CELL_AS(US, overhead, locking_ns)),
    MEMBER("expiredMarkerCleaning", TYPE_NUMBER, 0, CONSTANT("0")),
    MEMBER("counters", TYPE_NUMBER, 0, CELL_AS(US, overhead, counters_ns)),
    MEMBER("threads", TYPE_NUMBER, 0, CELL_AS(US, overhead, threads_ns)),
};
const struct shape gecko_overhead_table = SHAPE(overhead_columns);
static const struct member overhead_members[] = {
    MEMBER("samples", TYPE_ROWS, 0, CODE, .shape = &gecko_overhead_table),
};
static const struct shape overhead_shape = SHAPE(overhead_members);

static const struct member schema_members[] = {
    MEMBER("data", TYPE_LIST, IS_UNIQUE, CODE, .shape = &field_shape),
};
static const struct shape schema_shape = SHAPE(schema_members, .base = &common_schema_shape, .id = SHAPE_SCHEMA);

/* Members of both parent and child processes. */
static const struct member process_members[] = {
    MEMBER("libs", TYPE_LIST, 0, CODE, .shape = &gecko_lib_shape),
    MEMBER("sources", TYPE_ROWS, 0, CODE, .table = TABLE_SOURCES, .shape = &gecko_source_table, .since = 32),
    MEMBER("threads", TYPE_LIST, 0, CODE, .shape = &thread_shape),
    MEMBER("pages", TYPE_LIST, MAY_LACK | IS_UNIQUE, .shape = &page_shape),
    MEMBER("pausedRanges", TYPE_LIST, MAY_LACK, CODE, .shape = &paused_range_shape),
    MEMBER("counters", TYPE_LIST, MAY_LACK, CODE, .shape = &counter_shape),
    MEMBER("profilerOverhead", TYPE_OBJECT, MAY_LACK, CODE, .shape = &overhead_shape),
};
static const struct shape process_shape = SHAPE(process_members);

static const struct member child_meta_members[] = {
    MEMBER("startTime", TYPE_NUMBER, 0, CODE),
    MEMBER("shutdownTime", TYPE_NUMBER, MAY_LACK, CODE),
    MEMBER("markerSchema", TYPE_LIST, 0, CODE, .shape = &schema_shape),
};
static const struct shape child_meta_shape = SHAPE(child_meta_members);
static const struct member child_members[] = {
    MEMBER("meta", TYPE_OBJECT, 0, CODE, .shape = &child_meta_shape),
    MEMBER("processes", TYPE_LIST, MAY_LACK, CODE),
};
static const struct shape child_shape = SHAPE(child_members, .base = &process_shape, .id = SHAPE_CHILD_PROCESS);

static const struct member meta_members[] = {
    MEMBER("version", TYPE_NUMBER, 0, CODE),
    MEMBER("product", TYPE_TEXT, IS_OPTIONAL, CODE),
    MEMBER("presymbolicated", TYPE_BOOL, IS_OPTIONAL, CODE),
    MEMBER("shutdownTime", TYPE_NUMBER, MAY_LACK, CODE),
    MEMBER("markerSchema", TYPE_LIST, 0, CODE, .shape = &schema_shape),
    MEMBER("extensions", TYPE_ROWS, MAY_LACK, .shape = &extension_table),
};
const struct shape gecko_meta =
    SHAPE(meta_members, .base = &common_meta_shape, .other = &processed_meta, .id = SHAPE_META);

static const struct member profile_members[] = {
    MEMBER("meta", TYPE_OBJECT, 0, CODE, .shape = &gecko_meta),
    MEMBER("processes", TYPE_LIST, 0, CODE, .shape = &child_shape),
};
const struct shape gecko_profile = SHAPE(profile_members, .base = &process_shape, .id = SHAPE_PROFILE);
