/* The Gecko format, version 36, which Firefox writes. Tables consist of rows, and each thread has its own tables. */
#include "check_gecko.h"

#include <stdlib.h>
#include <string.h>

#include "check_common.h"
#include "check_markers.h"
#include "libconvert/base/id_column.h"

/* ---- Threads. ---- */

static void check_stacks(struct check *check, const struct node *table, const struct node_path *path);
static void check_samples(struct check *check, const struct node *table, const struct node_path *path);
static void check_thread(struct check *check, const struct node *thread, const struct node_path *path);

static const struct rule frame_columns[] = {
    INDEX("location", TABLE_STRINGS, IS_KEY),
    RULE("relevantForJS", TYPE_BOOL, IS_KEY),
    RULE("line", TYPE_INTEGER, IS_KEY | IS_NULLABLE, .range = RANGE_NOT_NEGATIVE),
    RULE("column", TYPE_INTEGER, IS_KEY | IS_OPTIONAL | IS_NULLABLE, .range = RANGE_NOT_NEGATIVE),
    RULE("innerWindowID", TYPE_INTEGER, IS_KEY | IS_OPTIONAL | IS_NULLABLE, .range = RANGE_NOT_NEGATIVE),
    INDEX("implementation", TABLE_STRINGS, IS_KEY | IS_OPTIONAL | IS_NULLABLE),
    INDEX("category", TABLE_CATEGORIES, IS_KEY | IS_NULLABLE),
    RULE("subcategory", TYPE_INTEGER, IS_KEY | IS_NULLABLE, .range = RANGE_NOT_NEGATIVE),
};
static const struct shape frame_table = SHAPE(frame_columns, .check = check_subcategories, .row_noun = "frame");

static const struct rule stack_columns[] = {
    INDEX("prefix", TABLE_STACKS, IS_KEY | IS_NULLABLE),
    INDEX("frame", TABLE_FRAMES, IS_KEY),
};
static const struct shape stack_table = SHAPE(stack_columns, .check = check_stacks, .row_noun = "stack");

static const struct rule sample_columns[] = {
    INDEX("stack", TABLE_STACKS, IS_NULLABLE),
    RULE("time", TYPE_NUMBER, IS_ASCENDING),
    RULE("eventDelay", TYPE_NUMBER, IS_OPTIONAL | IS_NULLABLE),
    RULE("responsiveness", TYPE_NUMBER, IS_OPTIONAL | IS_NULLABLE),
    RULE("threadCPUDelta", TYPE_NUMBER, IS_OPTIONAL | IS_NULLABLE, .range = RANGE_NOT_NEGATIVE),
    RULE("argumentValues", TYPE_NUMBER, IS_OPTIONAL | IS_NULLABLE),
};
static const struct shape sample_table = SHAPE(sample_columns, .check = check_samples);

static const struct rule thread_rules[] = {
    RULE("name", TYPE_TEXT, 0),
    RULE("pid", TYPE_TID, 0),
    RULE("tid", TYPE_TID, 0),
    RULE("processType", TYPE_TEXT, 0),
    RULE("processName", TYPE_TEXT, IS_OPTIONAL),
    RULE("registerTime", TYPE_NUMBER, 0),
    RULE("unregisterTime", TYPE_NUMBER, IS_NULLABLE),
    RULE("isMainThread", TYPE_ANY, IS_UNREAD),
    RULE("showMarkersInTimeline", TYPE_ANY, IS_UNREAD),
    RULE("stringTable", TYPE_LIST, IS_UNIQUE, .table = TABLE_STRINGS, .items = &text_items),
    RULE("frameTable", TYPE_ROWS, 0, .table = TABLE_FRAMES, .shape = &frame_table),
    RULE("stackTable", TYPE_ROWS, 0, .table = TABLE_STACKS, .shape = &stack_table),
    RULE("samples", TYPE_ROWS, 0, .shape = &sample_table),
    RULE("markers", TYPE_ROWS, 0, .shape = &check_gecko_markers),
};
static const struct shape thread_shape = SHAPE(thread_rules, .check = check_thread);
static const struct rule thread_items = ITEMS(TYPE_OBJECT, .shape = &thread_shape);

/* ---- Processes. ---- */

static void check_gecko_lib(struct check *check, const struct node *lib, const struct node_path *path);
static void check_counter(struct check *check, const struct node *counter, const struct node_path *path);
static void check_process(struct check *check, const struct node *process, const struct node_path *path);
static void check_child(struct check *check, const struct node *process, const struct node_path *path);
static void check_profile(struct check *check, const struct node *root, const struct node_path *path);

static const struct rule lib_rules[] = {
    COMMON_LIB_RULES(IS_OPTIONAL),
    RULE("start", TYPE_INTEGER, 0, .range = RANGE_NOT_NEGATIVE),
    RULE("end", TYPE_INTEGER, 0, .range = RANGE_NOT_NEGATIVE),
    RULE("offset", TYPE_INTEGER, 0, .range = RANGE_NOT_NEGATIVE),
};
static const struct shape lib_shape = SHAPE(lib_rules, .check = check_gecko_lib);
static const struct rule lib_items = ITEMS(TYPE_OBJECT, .shape = &lib_shape);

static const struct rule source_columns[] = {
    RULE("id", TYPE_TEXT, 0),
    RULE("filename", TYPE_TEXT, 0),
    RULE("startLine", TYPE_INTEGER, IS_OPTIONAL, .range = RANGE_ONE_BASED),
    RULE("startColumn", TYPE_INTEGER, IS_OPTIONAL, .range = RANGE_ONE_BASED),
    RULE("sourceMapURL", TYPE_TEXT, IS_OPTIONAL | IS_NULLABLE),
};
static const struct shape source_table = SHAPE(source_columns);

static const struct rule counter_sample_columns[] = {
    RULE("time", TYPE_NUMBER, IS_ASCENDING),
    RULE("count", TYPE_NUMBER, 0),
    RULE("number", TYPE_NUMBER, IS_OPTIONAL),
};
static const struct shape counter_sample_table = SHAPE(counter_sample_columns);

static const struct rule counter_rules[] = {
    RULE("name", TYPE_TEXT, 0),           RULE("category", TYPE_TEXT, 0),
    RULE("description", TYPE_TEXT, 0),    RULE("samples", TYPE_ROWS, 0, .shape = &counter_sample_table),
    RULE("display", TYPE_ANY, IS_UNREAD),
};
static const struct shape counter_shape = SHAPE(counter_rules, .check = check_counter);
static const struct rule counter_items = ITEMS(TYPE_OBJECT, .shape = &counter_shape);

static const struct rule overhead_columns[] = {
    RULE("time", TYPE_NUMBER, 0),     RULE("locking", TYPE_NUMBER, 0), RULE("expiredMarkerCleaning", TYPE_NUMBER, 0),
    RULE("counters", TYPE_NUMBER, 0), RULE("threads", TYPE_NUMBER, 0),
};
static const struct shape overhead_table = SHAPE(overhead_columns);
static const struct rule overhead_rules[] = {RULE("samples", TYPE_ROWS, 0, .shape = &overhead_table)};
static const struct shape overhead_shape = SHAPE(overhead_rules);

static const struct rule schema_items = ITEMS(TYPE_OBJECT, .shape = &check_gecko_schema);

/* Members of both parent and child processes. */
#define PROCESS_RULES                                                                             \
    RULE("libs", TYPE_LIST, 0, .items = &lib_items),                                              \
        RULE("sources", TYPE_ROWS, 0, .table = TABLE_SOURCES, .shape = &source_table),            \
        RULE("threads", TYPE_LIST, 0, .items = &thread_items),                                    \
        RULE("pages", TYPE_LIST, IS_OPTIONAL | IS_NULLABLE | IS_UNIQUE, .items = &page_items),    \
        RULE("pausedRanges", TYPE_LIST, IS_OPTIONAL | IS_NULLABLE, .items = &paused_range_items), \
        RULE("counters", TYPE_LIST, IS_OPTIONAL | IS_NULLABLE, .items = &counter_items),          \
        RULE("profilerOverhead", TYPE_OBJECT, IS_OPTIONAL | IS_NULLABLE, .shape = &overhead_shape)

static const struct rule child_meta_rules[] = {
    RULE("startTime", TYPE_NUMBER, 0),
    RULE("shutdownTime", TYPE_NUMBER, IS_OPTIONAL | IS_NULLABLE),
    RULE("markerSchema", TYPE_LIST, 0, .items = &schema_items),
};
static const struct shape child_meta_shape = SHAPE(child_meta_rules);
static const struct rule child_rules[] = {
    RULE("meta", TYPE_OBJECT, 0, .shape = &child_meta_shape),
    PROCESS_RULES,
    RULE("processes", TYPE_LIST, IS_OPTIONAL | IS_NULLABLE),
};
static const struct shape child_shape = SHAPE(child_rules, .check = check_child);
static const struct rule child_items = ITEMS(TYPE_OBJECT, .shape = &child_shape);

static const struct rule meta_rules[] = {
    COMMON_META_RULES,
    RULE("version", TYPE_NUMBER, 0),
    RULE("product", TYPE_TEXT, IS_OPTIONAL),
    RULE("presymbolicated", TYPE_BOOL, IS_OPTIONAL),
    RULE("shutdownTime", TYPE_NUMBER, IS_OPTIONAL | IS_NULLABLE),
    RULE("markerSchema", TYPE_LIST, 0, .items = &schema_items),
    RULE("extensions", TYPE_ROWS, IS_OPTIONAL | IS_NULLABLE, .shape = &extension_table),
    RULE("importedFrom", TYPE_ANY, IS_UNREAD),
    RULE("symbolicated", TYPE_ANY, IS_UNREAD),
    RULE("symbolicationNotSupported", TYPE_ANY, IS_UNREAD),
    RULE("usesOnlyOneStackType", TYPE_ANY, IS_UNREAD),
    RULE("sourceCodeIsNotOnSearchfox", TYPE_ANY, IS_UNREAD),
    RULE("keepProfileThreadOrder", TYPE_ANY, IS_UNREAD),
    RULE("extra", TYPE_ANY, IS_UNREAD),
    RULE("initialVisibleThreads", TYPE_ANY, IS_UNREAD),
    RULE("initialSelectedThreads", TYPE_ANY, IS_UNREAD),
    RULE("arguments", TYPE_ANY, IS_UNREAD),
    RULE("mainMemory", TYPE_ANY, IS_UNREAD),
    RULE("fileName", TYPE_ANY, IS_UNREAD),
    RULE("fileSize", TYPE_ANY, IS_UNREAD),
    RULE("endTime", TYPE_ANY, IS_UNREAD),
    RULE("gramsOfCO2ePerKWh", TYPE_ANY, IS_UNREAD),
};
static const struct shape meta_shape = SHAPE(meta_rules, .check = check_meta);

static const struct rule profile_rules[] = {
    RULE("meta", TYPE_OBJECT, 0, .shape = &meta_shape),
    PROCESS_RULES,
    RULE("processes", TYPE_LIST, 0, .items = &child_items),
};
const struct shape check_gecko_profile = SHAPE(profile_rules, .check = check_profile);

/* ---- Rules that involve several values. ---- */

static void check_stacks(struct check *check, const struct node *table, const struct node_path *path) {
    struct column_view prefixes = check_column(check, table, "prefix");
    for (size_t row = 0; row < prefixes.count; row++) {
        const struct node *prefix = column_view_at(&prefixes, row);
        struct node_path chain[3];
        char shown[NODE_SHOWN_BYTES];
        if (node_is_integer(prefix) && prefix->number >= (double)row && prefix->number < (double)prefixes.count)
            check_error(check, RULE_BROKEN_ORDER, column_view_path(&prefixes, row, path, chain),
                        "%s: the caller must be an earlier row than %zu", node_show(prefix, shown), row);
    }
}

static void check_samples(struct check *check, const struct node *table, const struct node_path *path) {
    struct node_path schema_path = node_path_member(path, "schema");
    const struct node *schema = check_member(check, table, "schema");
    if (!check_member(check, schema, "eventDelay") && !check_member(check, schema, "responsiveness"))
        check_error(check, RULE_BROKEN_PRESENCE, &schema_path,
                    "must have a column eventDelay or responsiveness, whose values may be null: otherwise the profile "
                    "fails to load");
}

/* Returns true for "0x1f". The front-end takes a location that begins like this for an address. */
static bool is_address(struct text location) {
    for (size_t i = 2; i < location.bytes_count; i++)
        if (!strchr("0123456789abcdefABCDEF", location.bytes[i])) return false;
    return location.bytes_count > 2;
}

/* Returns the name in "name (in lib)…", which may also be the whole location of another frame; an empty text if the
 * location has another form. */
static struct text name_in_library(struct text location) {
    static const struct text in = TEXT(" (in ");
    const char *found =
        location.bytes_count ? memmem(location.bytes, location.bytes_count, in.bytes, in.bytes_count) : NULL;
    if (!found || !memchr(found, ')', (size_t)(location.bytes + location.bytes_count - found))) return (struct text){0};
    return text_slice(location, 0, (size_t)(found - location.bytes));
}

/* Texts, and whether each of them has been seen as a location. */
struct locations {
    struct strings texts;
    struct column is_location; /* bool */
};

static void locations_init(struct locations *locations, struct failure *failure) {
    strings_init(&locations->texts, failure);
    column_init(&locations->is_location, sizeof(bool), failure);
}

static void locations_fini(struct locations *locations) {
    strings_fini(&locations->texts);
    column_fini(&locations->is_location);
}

/* Returns whether the text was seen as a location before. If is_one, it counts as seen from now on. */
static bool locations_seen(struct locations *locations, struct text text, bool is_one) {
    string_id id = strings_intern(&locations->texts, text);
    if (string_is_none(id)) return false;
    bool *is_location = id_column_at(&locations->is_location, id.index);
    if (!is_location) return false;
    bool has_been = *is_location;
    *is_location |= is_one;
    return has_been;
}

static void check_locations(struct check *check, const struct node *thread, const struct node_path *path) {
    const struct node *frames = check_member(check, thread, "frameTable");
    const struct node *texts = check_member(check, thread, "stringTable");
    struct node_path frames_path = node_path_member(path, "frameTable");
    struct column_view locations = check_column(check, frames, "location");
    struct locations seen;
    if (!node_is(texts, NODE_LIST)) return;
    locations_init(&seen, check->document->failure);
    for (size_t row = 0; row < locations.count && !failure_is_set(check->document->failure); row++) {
        const struct node *location = column_view_at(&locations, row);
        const struct node *node =
            node_is_index(location, texts->count) ? &texts->nodes[(size_t)location->number] : NULL;
        if (!node_is(node, NODE_TEXT)) continue;
        struct text text = node_text(node);
        struct node_path chain[3];
        char shown[NODE_SHOWN_BYTES];
        const struct node_path *at = column_view_path(&locations, row, &frames_path, chain);
        if (text_starts_with(text, TEXT("0x")) && !is_address(text))
            check_error(check, RULE_BROKEN_VALUE, at, "%s begins like an address, so it must be one",
                        node_show(node, shown));
        /* If a location is only a name, the front-end uses its function for all later locations with that name in a
         * library. */
        struct text name = name_in_library(text);
        if (name.bytes_count && locations_seen(&seen, name, false))
            check_warning(check, RULE_BROKEN_CONSISTENCY, at,
                          "%s loses its library: an earlier frame has only the name", node_show(node, shown));
        locations_seen(&seen, text, true);
    }
    locations_fini(&seen);
}

static void check_native_allocations(struct check *check, const struct node *thread, const struct node_path *path) {
    struct column_view data = check_column(check, check_member(check, thread, "markers"), "data");
    struct node_path markers_path = node_path_member(path, "markers");
    const struct node *first = NULL;
    for (size_t row = 0; row < data.count; row++) {
        const struct node *payload = column_view_at(&data, row);
        struct node_path chain[3];
        if (!node_is_text(check_member(check, payload, "type"), TEXT("Native allocation"))) continue;
        if (!first) first = payload;
        if (check_member(check, first, "memoryAddress") && !check_member(check, payload, "memoryAddress"))
            check_error(check, RULE_BROKEN_CONSISTENCY, column_view_path(&data, row, &markers_path, chain),
                        "must have a memoryAddress, as the first native allocation does");
    }
}

static void check_thread(struct check *check, const struct node *thread, const struct node_path *path) {
    check_locations(check, thread, path);
    check_native_allocations(check, thread, path);
}

static void check_gecko_lib(struct check *check, const struct node *lib, const struct node_path *path) {
    const struct node *start = check_member(check, lib, "start"), *end = check_member(check, lib, "end");
    struct node_path end_path = node_path_member(path, "end");
    check_lib(check, lib, path);
    if (node_is(start, NODE_NUMBER) && node_is(end, NODE_NUMBER) && end->number <= start->number)
        check_error(check, RULE_BROKEN_ORDER, &end_path, "must be after the start");
}

static void check_counter(struct check *check, const struct node *counter, const struct node_path *path) {
    const struct node *samples = check_member(check, counter, "samples");
    const struct node *data = check_member(check, samples, "data");
    struct node_path samples_path = node_path_member(path, "samples");
    if (node_is(data, NODE_LIST) && !data->count)
        check_warning(check, RULE_BROKEN_LENGTH, &samples_path, "is empty: the counter is dropped");
    if (!node_is_text(check_member(check, counter, "category"), TEXT("Memory")))
        check_rates(check, samples, &samples_path);
}

/* The front-end searches libraries by bisection, so they must be sorted by address. */
static void check_lib_order(struct check *check, const struct node *libs, const struct node_path *path) {
    for (size_t i = 1; node_is(libs, NODE_LIST) && i < libs->count; i++) {
        const struct node *start = check_member(check, &libs->nodes[i], "start");
        const struct node *end_before = check_member(check, &libs->nodes[i - 1], "end");
        struct node_path element = node_path_element(path, i);
        struct node_path start_path = node_path_member(&element, "start");
        if (node_is(start, NODE_NUMBER) && node_is(end_before, NODE_NUMBER) && start->number < end_before->number)
            check_error(check, RULE_BROKEN_ORDER, &start_path,
                        "is before the end of the previous library: libraries must be sorted and must not overlap");
    }
}

static size_t count_main_threads(const struct check *check, const struct node *process) {
    const struct node *threads = check_member(check, process, "threads");
    size_t count = 0;
    for (size_t i = 0; node_is(threads, NODE_LIST) && i < threads->count; i++)
        count += node_is_text(check_member(check, &threads->nodes[i], "name"), TEXT("GeckoMain"));
    return count;
}

static void check_process(struct check *check, const struct node *process, const struct node_path *path) {
    const struct node *counters = check_member(check, process, "counters");
    struct node_path libs_path = node_path_member(path, "libs"), counters_path = node_path_member(path, "counters");
    check_lib_order(check, check_member(check, process, "libs"), &libs_path);
    bool has_threads = node_is(check_member(check, process, "threads"), NODE_LIST);
    if (node_is(counters, NODE_LIST) && counters->count && has_threads && !count_main_threads(check, process))
        check_error(check, RULE_BROKEN_CONSISTENCY, &counters_path,
                    "are dropped: their process must have a thread named GeckoMain");
}

/* Categories consist of lists and objects of texts. Deeper nesting counts as different. */
enum { COMPARED_DEPTH_MAX = 8 };

static bool is_same_node(const struct document *document, const struct node *a, const struct node *b, unsigned depth);

static bool is_same_object(const struct document *document, const struct node *a, const struct node *b,
                           unsigned depth) {
    for (size_t i = 0; i < a->count; i++) {
        struct text key;
        const struct node *value = document_member_at(document, a, i, &key);
        if (!is_same_node(document, value, document_member(document, b, key), depth)) return false;
    }
    return true;
}

static bool is_same_node(const struct document *document, const struct node *a, const struct node *b, unsigned depth) {
    if (!b || a->kind != b->kind || depth == COMPARED_DEPTH_MAX) return false;
    if (a->kind < NODE_NUMBER) return true;
    if (a->kind == NODE_NUMBER) return a->number == b->number;
    if (a->count != b->count) return false;
    if (a->kind == NODE_TEXT) return text_equal(node_text(a), node_text(b));
    if (a->kind == NODE_OBJECT) return is_same_object(document, a, b, depth + 1);
    for (size_t i = 0; i < a->count; i++)
        if (!is_same_node(document, &a->nodes[i], &b->nodes[i], depth + 1)) return false;
    return true;
}

static void check_child(struct check *check, const struct node *process, const struct node_path *path) {
    const struct node *meta = check_member(check, process, "meta"),
                      *parent_meta = check_member(check, check->root, "meta");
    const struct node *version = check_member(check, meta, "version"),
                      *categories = check_member(check, meta, "categories");
    const struct node *children = check_member(check, process, "processes");
    struct node_path meta_path = node_path_member(path, "meta"), children_path = node_path_member(path, "processes");
    struct node_path version_path = node_path_member(&meta_path, "version");
    struct node_path categories_path = node_path_member(&meta_path, "categories");
    check_process(check, process, path);
    if (version && (!node_is(version, NODE_NUMBER) || version->number != GECKO_VERSION))
        check_error(check, RULE_BROKEN_VERSION, &version_path, "must be %d, as in the parent process", GECKO_VERSION);
    if (categories && !is_same_node(check->document, categories, check_member(check, parent_meta, "categories"), 0))
        check_error(check, RULE_BROKEN_CONSISTENCY, &categories_path,
                    "differ from those of the parent process, which apply to all processes");
    if (node_is(children, NODE_LIST) && children->count)
        check_error(check, RULE_BROKEN_CONSISTENCY, &children_path,
                    "are dropped: only the parent process may have any");
}

/* If a process has two main threads, the first one is missing from the timeline. */
static void check_main_threads(struct check *check, const struct node *process, const struct node_path *path) {
    struct node_path threads_path = node_path_member(path, "threads");
    if (count_main_threads(check, process) > 1)
        check_warning(check, RULE_BROKEN_UNIQUENESS, &threads_path, "more than one thread is named GeckoMain");
}

static void check_profile(struct check *check, const struct node *root, const struct node_path *path) {
    const struct node *processes = check_member(check, root, "processes"),
                      *threads = check_member(check, root, "threads");
    struct node_path processes_path = node_path_member(path, "processes"),
                     threads_path = node_path_member(path, "threads");
    bool has_threads = node_is(threads, NODE_LIST) && threads->count;
    check_process(check, root, path);
    check_main_threads(check, root, path);
    for (size_t i = 0; node_is(processes, NODE_LIST) && i < processes->count; i++) {
        const struct node *child_threads = check_member(check, &processes->nodes[i], "threads");
        struct node_path child_path = node_path_element(&processes_path, i);
        has_threads |= node_is(child_threads, NODE_LIST) && child_threads->count;
        check_main_threads(check, &processes->nodes[i], &child_path);
    }
    if (!has_threads) check_error(check, RULE_BROKEN_LENGTH, &threads_path, "no process has a thread");
}
