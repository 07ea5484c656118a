/* Rules that processed and Gecko profiles have in common. */
#ifndef GECKO_CHECK_COMMON_H
#define GECKO_CHECK_COMMON_H

#include "check_rules.h"

/* Members of meta. */
#define COMMON_META_RULES                                                                                            \
    RULE("interval", TYPE_NUMBER, 0, .range = RANGE_POSITIVE), RULE("startTime", TYPE_NUMBER, 0),                    \
        RULE("processType", TYPE_NUMBER, 0), RULE("stackwalk", TYPE_INTEGER, IS_LENIENT, .range = RANGE_FLAG),       \
        RULE("profilingStartTime", TYPE_NUMBER, IS_OPTIONAL), RULE("profilingEndTime", TYPE_NUMBER, IS_OPTIONAL),    \
        RULE("categories", TYPE_LIST, IS_LENIENT | IS_UNIQUE, .table = TABLE_CATEGORIES, .items = &category_items),  \
        RULE("sampleUnits", TYPE_OBJECT, IS_OPTIONAL | IS_NULLABLE, .shape = &sample_units_shape),                   \
        RULE("configuration", TYPE_OBJECT, IS_OPTIONAL | IS_NULLABLE, .shape = &configuration_shape),                \
        RULE("abi", TYPE_TEXT, IS_OPTIONAL | IS_NULLABLE), RULE("misc", TYPE_TEXT, IS_OPTIONAL | IS_NULLABLE),       \
        RULE("oscpu", TYPE_TEXT, IS_OPTIONAL | IS_NULLABLE), RULE("platform", TYPE_TEXT, IS_OPTIONAL | IS_NULLABLE), \
        RULE("toolkit", TYPE_TEXT, IS_OPTIONAL | IS_NULLABLE),                                                       \
        RULE("appBuildID", TYPE_TEXT, IS_OPTIONAL | IS_NULLABLE),                                                    \
        RULE("sourceURL", TYPE_TEXT, IS_OPTIONAL | IS_NULLABLE),                                                     \
        RULE("CPUName", TYPE_TEXT, IS_OPTIONAL | IS_NULLABLE),                                                       \
        RULE("updateChannel", TYPE_TEXT, IS_OPTIONAL | IS_NULLABLE),                                                 \
        RULE("device", TYPE_TEXT, IS_OPTIONAL | IS_NULLABLE), RULE("debug", TYPE_ANY, IS_OPTIONAL),                  \
        RULE("physicalCPUs", TYPE_NUMBER, IS_OPTIONAL | IS_NULLABLE),                                                \
        RULE("logicalCPUs", TYPE_NUMBER, IS_OPTIONAL | IS_NULLABLE),                                                 \
        RULE("startTimeAsClockMonotonicNanosecondsSinceBoot", TYPE_NUMBER, IS_OPTIONAL | IS_NULLABLE),               \
        RULE("startTimeAsMachAbsoluteTimeNanoseconds", TYPE_NUMBER, IS_OPTIONAL | IS_NULLABLE),                      \
        RULE("startTimeAsQueryPerformanceCounterValue", TYPE_NUMBER, IS_OPTIONAL | IS_NULLABLE)

/* Members of a library. */
#define COMMON_LIB_RULES(code_id_flags)                                                                               \
    RULE("arch", TYPE_TEXT, IS_LENIENT), RULE("name", TYPE_TEXT, 0), RULE("path", TYPE_TEXT, 0),                      \
        RULE("debugName", TYPE_TEXT, IS_KEY), RULE("debugPath", TYPE_TEXT, 0), RULE("breakpadId", TYPE_TEXT, IS_KEY), \
        RULE("codeId", TYPE_TEXT, IS_LENIENT | IS_NULLABLE | (code_id_flags))

extern const struct shape sample_units_shape, configuration_shape, extension_table;
extern const struct rule category_items, page_items, paused_range_items, text_items;

/* Check what rules cannot express, for objects that those rules describe. */
void check_meta(struct check *check, const struct node *meta, const struct node_path *path);
void check_lib(struct check *check, const struct node *lib, const struct node_path *path);

/* Checks that the subcategory of each frame belongs to its category. */
void check_subcategories(struct check *check, const struct node *frames, const struct node_path *path);

/* Checks that no two samples of a counter shown as a rate have the same time. */
void check_rates(struct check *check, const struct node *samples, const struct node_path *path);

#endif
