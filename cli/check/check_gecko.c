/* Checks of Gecko profiles. */

#include "check_common.h"
#include "libconvert/base/id_column.h"
#include "libconvert/format/gecko_format.h"

static void check_backtrace_rows(struct check *check, const struct node *table, const struct node_path *path) {
    const struct node *data = check_member(check, table, "data");
    if (node_is(data, NODE_LIST) && data->count > 1)
        check_warning(check, RULE_BROKEN_LENGTH, AT_MEMBER(path, "data"), "has %u rows: only the first one is read",
                      data->count);
}

static void check_stacks(struct check *check, const struct node *table, const struct node_path *path) {
    struct column_view prefixes = check_column(check, table, "prefix");
    for (size_t row = 0; row < prefixes.count; row++) {
        const struct node *prefix = column_view_at(&prefixes, row);
        if (node_is_integer(prefix) && prefix->number >= (double)row && prefix->number < (double)prefixes.count)
            check_error(check, RULE_BROKEN_ORDER, AT_CELL(&prefixes, row, path),
                        "%s: the caller must be an earlier row than %zu", SHOWN(prefix), row);
    }
}

static void check_samples(struct check *check, const struct node *table, const struct node_path *path) {
    const struct node *schema = check_member(check, table, "schema");
    if (!check_member(check, schema, "eventDelay") && !check_member(check, schema, "responsiveness"))
        check_error(check, RULE_BROKEN_PRESENCE, AT_MEMBER(path, "schema"),
                    "must have a column eventDelay or responsiveness, whose values may be null: otherwise the profile "
                    "fails to load");
}

/* Returns true for "0x1f". The front-end takes a location that begins like this for an address. */
static bool is_address(struct text location) {
    return location.bytes_count > 2 && text_has_only(text_from(location, 2), "0123456789abcdefABCDEF");
}

/* Returns the name in "name (in lib)…", which may also be the whole location of another frame; an empty text if the
 * location has another form. */
static struct text name_in_library(struct text location) {
    size_t name_bytes = text_find_part(location, TEXT(" (in "));
    bool is_closed = text_has(text_from(location, name_bytes), TEXT(")"));
    return is_closed ? text_slice(location, 0, name_bytes) : (struct text){0};
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
        const struct node_path *at = AT_CELL(&locations, row, AT_MEMBER(path, "frameTable"));
        if (text_starts_with(text, TEXT("0x")) && !is_address(text))
            check_error(check, RULE_BROKEN_VALUE, at, "%s begins like an address, so it must be one", SHOWN(node));
        /* If a location is only a name, the front-end uses its function for all later locations with that name in a
         * library. */
        struct text name = name_in_library(text);
        if (name.bytes_count && locations_seen(&seen, name, false))
            check_warning(check, RULE_BROKEN_CONSISTENCY, at,
                          "%s loses its library: an earlier frame has only the name", SHOWN(node));
        locations_seen(&seen, text, true);
    }
    locations_fini(&seen);
}

static void check_native_allocations(struct check *check, const struct node *thread, const struct node_path *path) {
    struct column_view data = check_column(check, check_member(check, thread, "markers"), "data");
    const struct node *first = NULL;
    for (size_t row = 0; row < data.count; row++) {
        const struct node *payload = column_view_at(&data, row);
        if (!node_is_text(check_member(check, payload, "type"), TEXT("Native allocation"))) continue;
        if (!first) first = payload;
        if (check_member(check, first, "memoryAddress") && !check_member(check, payload, "memoryAddress"))
            check_error(check, RULE_BROKEN_CONSISTENCY, AT_CELL(&data, row, AT_MEMBER(path, "markers")),
                        "must have a memoryAddress, as the first native allocation does");
    }
}

static void check_thread(struct check *check, const struct node *thread, const struct node_path *path) {
    check_locations(check, thread, path);
    check_native_allocations(check, thread, path);
}

static void check_gecko_lib(struct check *check, const struct node *lib, const struct node_path *path) {
    const struct node *start = check_member(check, lib, "start"), *end = check_member(check, lib, "end");
    check_lib(check, lib, path);
    if (node_is(start, NODE_NUMBER) && node_is(end, NODE_NUMBER) && end->number <= start->number)
        check_error(check, RULE_BROKEN_ORDER, AT_MEMBER(path, "end"), "must be after the start");
}

static void check_counter(struct check *check, const struct node *counter, const struct node_path *path) {
    const struct node *samples = check_member(check, counter, "samples");
    const struct node *data = check_member(check, samples, "data");
    if (node_is(data, NODE_LIST) && !data->count)
        check_warning(check, RULE_BROKEN_LENGTH, AT_MEMBER(path, "samples"), "is empty: the counter is dropped");
    if (!node_is_text(check_member(check, counter, "category"), TEXT("Memory")))
        check_rates(check, samples, AT_MEMBER(path, "samples"));
}

/* The front-end searches libraries by bisection, so they must be sorted by address. */
static void check_lib_order(struct check *check, const struct node *libs, const struct node_path *path) {
    for (size_t i = 1; node_is(libs, NODE_LIST) && i < libs->count; i++) {
        const struct node *start = check_member(check, &libs->nodes[i], "start");
        const struct node *end_before = check_member(check, &libs->nodes[i - 1], "end");
        if (node_is(start, NODE_NUMBER) && node_is(end_before, NODE_NUMBER) && start->number < end_before->number)
            check_error(check, RULE_BROKEN_ORDER, AT_MEMBER(AT_ELEMENT(path, i), "start"),
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
    check_lib_order(check, check_member(check, process, "libs"), AT_MEMBER(path, "libs"));
    bool has_threads = node_is(check_member(check, process, "threads"), NODE_LIST);
    if (node_is(counters, NODE_LIST) && counters->count && has_threads && !count_main_threads(check, process))
        check_error(check, RULE_BROKEN_CONSISTENCY, AT_MEMBER(path, "counters"),
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
    check_process(check, process, path);
    if (version && (!node_is(version, NODE_NUMBER) || version->number != GECKO_VERSION))
        check_error(check, RULE_BROKEN_VERSION, AT_MEMBER(AT_MEMBER(path, "meta"), "version"),
                    "must be %d, as in the parent process", GECKO_VERSION);
    if (categories && !is_same_node(check->document, categories, check_member(check, parent_meta, "categories"), 0))
        check_error(check, RULE_BROKEN_CONSISTENCY, AT_MEMBER(AT_MEMBER(path, "meta"), "categories"),
                    "differ from those of the parent process, which apply to all processes");
    if (node_is(children, NODE_LIST) && children->count)
        check_error(check, RULE_BROKEN_CONSISTENCY, AT_MEMBER(path, "processes"),
                    "are dropped: only the parent process may have any");
}

/* If a process has two main threads, the first one is missing from the timeline. */
static void check_main_threads(struct check *check, const struct node *process, const struct node_path *path) {
    if (count_main_threads(check, process) > 1)
        check_warning(check, RULE_BROKEN_UNIQUENESS, AT_MEMBER(path, "threads"),
                      "more than one thread is named GeckoMain");
}

static void check_profile(struct check *check, const struct node *root, const struct node_path *path) {
    const struct node *processes = check_member(check, root, "processes"),
                      *threads = check_member(check, root, "threads");
    bool has_threads = node_is(threads, NODE_LIST) && threads->count;
    check_process(check, root, path);
    check_main_threads(check, root, path);
    for (size_t i = 0; node_is(processes, NODE_LIST) && i < processes->count; i++) {
        const struct node *child_threads = check_member(check, &processes->nodes[i], "threads");
        has_threads |= node_is(child_threads, NODE_LIST) && child_threads->count;
        check_main_threads(check, &processes->nodes[i], AT_ELEMENT(AT_MEMBER(path, "processes"), i));
    }
    if (!has_threads) check_error(check, RULE_BROKEN_LENGTH, AT_MEMBER(path, "threads"), "no process has a thread");
}

shape_check *const check_gecko_shapes[SHAPE_COUNT] = {
    [SHAPE_LIB] = check_gecko_lib,       [SHAPE_STACKS] = check_stacks,
    [SHAPE_SAMPLES] = check_samples,     [SHAPE_BACKTRACE] = check_backtrace_rows,
    [SHAPE_THREAD] = check_thread,       [SHAPE_COUNTER] = check_counter,
    [SHAPE_CHILD_PROCESS] = check_child, [SHAPE_PROFILE] = check_profile,
};
