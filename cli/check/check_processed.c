/* Checks of processed profiles. */
#include <string.h>

#include "check_common.h"
#include "check_markers.h"
#include "libconvert/base/memory.h"
#include "libconvert/format/processed_format.h"

static void check_tooltip_row(struct check *check, const struct node *row, const struct node_path *path) {
    if (node_is_text(check_member(check, row, "type"), TEXT("value")))
        check_shape(check, &processed_value_row_shape, row, path);
}

static void check_extra_entry(struct check *check, const struct node *entry, const struct node_path *path) {
    const struct node *format = check_member(check, entry, "format"), *value = check_member(check, entry, "value");
    enum marker_format known = check_format_of(format);
    check_format(check, entry, path);
    if (known < MARKER_FORMAT_COUNT && marker_format_kind(known) == VALUE_STRING)
        check_error(check, RULE_BROKEN_VALUE, AT_MEMBER(path, "format"), "must not refer to the string table here");
    else if (value)
        check_formatted(check, format, value, AT_MEMBER(path, "value"));
}

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
    uint32_t *addressed; /* owned; by stack, see note_addressed_caller; ID_NONE: none */
};

static const struct node *frame_of(const struct stack_columns *columns, size_t stack) {
    const struct node *frame = column_view_at(&columns->frame, stack);
    return node_is_index(frame, columns->frame_count) ? frame : NULL;
}

/* Returns whether a frame of that depth can be inlined into the innermost frame of the stack. */
static bool is_inline_parent(const struct stack_columns *columns, uint32_t stack, const struct node *inlined,
                             double depth) {
    const struct node *frame = stack == ID_NONE ? NULL : frame_of(columns, stack);
    if (!frame) return false;
    size_t a = (size_t)inlined->number, b = (size_t)frame->number;
    return is_equal_scalar(column_view_at(&columns->address, a), column_view_at(&columns->address, b)) &&
           is_equal_scalar(column_view_at(&columns->lib, a), column_view_at(&columns->lib, b)) &&
           is_equal_scalar(column_view_at(&columns->symbol, a), column_view_at(&columns->symbol, b)) &&
           number_or(column_view_at(&columns->depth, b), -1) == depth - 1;
}

/* Notes which caller of the stack, or the stack itself, is the innermost one that has an address. */
static void note_addressed_caller(struct stack_columns *columns, uint32_t row, size_t offset) {
    const struct node *frame = frame_of(columns, row);
    bool has_address = frame && number_or(column_view_at(&columns->address, (size_t)frame->number), -1) != -1;
    columns->addressed[row] = has_address ? row : offset ? columns->addressed[row - offset] : ID_NONE;
}

/* Checks that the caller of an inlined frame is the frame into which it was inlined. Labels, which have no address, may
 * be between the two. */
static void check_inlined(struct check *check, const struct stack_columns *columns, size_t row, size_t offset,
                          const struct node_path *path) {
    const struct node *frame = frame_of(columns, row);
    double depth = frame ? number_or(column_view_at(&columns->depth, (size_t)frame->number), 0) : 0;
    if (depth == 0) return;
    const struct node_path *at = AT_CELL(&columns->frame, row, path);
    if (!offset) {
        check_warning(check, RULE_BROKEN_CONSISTENCY, at, "a root must not be an inlined frame (inlineDepth %g)",
                      depth);
        return;
    }
    uint32_t caller = (uint32_t)(row - offset);
    if (!frame_of(columns, caller) || is_inline_parent(columns, caller, frame, depth) ||
        is_inline_parent(columns, columns->addressed[caller], frame, depth))
        return;
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
        if (row_table_intern(&seen, key) < count)
            check_warning(check, RULE_BROKEN_UNIQUENESS, AT_CELL(&columns->frame, row, path),
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
    columns.addressed = memory_allocate(check->document->failure, columns.frame.count * sizeof *columns.addressed);
    for (size_t row = 0; row < columns.frame.count && !failure_is_set(check->document->failure); row++) {
        const struct node *offset = column_view_at(&columns.offset, row);
        bool is_good = node_is_index(offset, row + 1);
        note_addressed_caller(&columns, (uint32_t)row, is_good ? (size_t)offset->number : 0);
        if (is_good)
            check_inlined(check, &columns, row, (size_t)offset->number, path);
        else if (node_is_integer(offset) && offset->number > 0)
            check_error(check, RULE_BROKEN_ORDER, AT_CELL(&columns.offset, row, path),
                        "%s: the caller must be an earlier row, so this must be at most %zu (0: no caller)",
                        SHOWN(offset), row);
    }
    memory_free(columns.addressed);
    check_unique_stacks(check, &columns, path);
}

/* Checks that a frame has an address if and only if it has a library. Newer front-ends drop one without the other. */
static void check_frame_places(struct check *check, const struct node *table, const struct node_path *path) {
    struct column_view addresses = check_column(check, table, "address"), libs = check_column(check, table, "lib");
    for (size_t row = 0; row < addresses.count && row < libs.count; row++) {
        const struct node *address = column_view_at(&addresses, row), *lib = column_view_at(&libs, row);
        if (is_number(address) && is_number(lib) && (address->number == -1) != (lib->number == -1))
            check_warning(check, RULE_BROKEN_CONSISTENCY, AT_CELL(&addresses, row, path),
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
        if (is_number(lib) && is_number(symbol_lib) && lib->number != symbol_lib->number)
            check_warning(check, RULE_BROKEN_CONSISTENCY, AT_CELL(&frame_symbols, row, path),
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
        if (is_number(delta) && delta->number < 0)
            check_error(check, RULE_BROKEN_ORDER, AT_CELL(&deltas, row, path), "%s: times must not decrease",
                        SHOWN(delta));
    }
}

static void check_thread_samples(struct check *check, const struct node *table, const struct node_path *path) {
    check_sample_times(check, table, path);
    const struct node *units = check_member(check, check_member(check, check->root, "meta"), "sampleUnits");
    if (check_member(check, table, "threadCPUDelta") && !node_is(units, NODE_OBJECT))
        check_warning(check, RULE_BROKEN_CONSISTENCY, AT_MEMBER(path, "threadCPUDelta"),
                      "is not read without meta.sampleUnits");
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
    if (!node_is(pid, NODE_TEXT) || !node_is(threads, NODE_LIST)) return;
    bool is_found = false;
    for (size_t i = 0; i < threads->count && !is_found; i++) is_found = has_pid(check, &threads->nodes[i], pid);
    if (!is_found)
        check_warning(check, RULE_BROKEN_CONSISTENCY, AT_MEMBER(path, "pid"), "%s must be the pid of a thread",
                      SHOWN(pid));
    else if (node_is_index(index, threads->count) && !has_pid(check, &threads->nodes[(size_t)index->number], pid))
        check_warning(check, RULE_BROKEN_CONSISTENCY, AT_MEMBER(path, "mainThreadIndex"),
                      "must be the index of a thread with the pid %s", SHOWN(pid));
}

static void check_counter(struct check *check, const struct node *counter, const struct node_path *path) {
    const struct node *samples = check_member(check, counter, "samples");
    const struct node *graph = check_member(check, check_member(check, counter, "display"), "graphType");
    const struct node *length = check_member(check, samples, "length");
    check_owner(check, counter, path);
    if (is_number(length) && length->number == 0)
        check_warning(check, RULE_BROKEN_LENGTH, AT_MEMBER(path, "samples"), "is empty: leave the counter out");
    if (node_is_text(graph, TEXT("line-rate"))) check_rates(check, samples, AT_MEMBER(path, "samples"));
}

/* If a process has two main threads, the first one is missing from the timeline. */
static void check_main_threads(struct check *check, const struct node *threads, const struct node_path *path) {
    struct strings pids;
    strings_init(&pids, check->document->failure);
    for (size_t i = 0; i < threads->count; i++) {
        const struct node *pid = check_member(check, &threads->nodes[i], "pid");
        if (!node_is(check_member(check, &threads->nodes[i], "isMainThread"), NODE_TRUE) || !node_is(pid, NODE_TEXT))
            continue;
        uint32_t count = strings_count(&pids);
        if (strings_intern(&pids, node_text(pid)).index < count)
            check_warning(check, RULE_BROKEN_UNIQUENESS, AT_MEMBER(AT_ELEMENT(path, i), "isMainThread"),
                          "the process %s must have only one main thread", SHOWN(pid));
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

/* Returns true if a root or a sample has no category: the front-end shows it in the grey one. */
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
    for (size_t i = 0; node_is(categories, NODE_LIST) && i < categories->count; i++)
        if (node_is_text(check_member(check, &categories->nodes[i], "color"), TEXT("grey"))) return;
    if (node_is(categories, NODE_LIST) && needs_default_category(check, threads))
        check_error(
            check, RULE_BROKEN_CONSISTENCY, AT_MEMBER(AT_MEMBER(path, "meta"), "categories"),
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

static double busiest_cpu_time(const struct check *check, const struct node *threads) {
    double most = 0;
    for (size_t i = 0; i < threads->count; i++) {
        double cpu_time = cpu_time_of(check, &threads->nodes[i]);
        if (cpu_time > most) most = cpu_time;
    }
    return most;
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
    double hidden_below = has_list ? 0 : HIDDEN_SHARE * busiest_cpu_time(check, threads);
    for (size_t i = 0; node_is(selected, NODE_LIST) && i < selected->count; i++) {
        struct node_path at = node_path_element(AT_MEMBER(AT_MEMBER(path, "meta"), "initialSelectedThreads"), i);
        if (!node_is_index(&selected->nodes[i], threads->count)) continue;
        size_t thread = (size_t)selected->nodes[i].number;
        if (has_list && !is_listed(check, threads, visible, thread))
            check_warning(check, RULE_BROKEN_CONSISTENCY, &at, "thread %zu is hidden: initialVisibleThreads lacks it",
                          thread);
        else if (!has_list && cpu_time_of(check, &threads->nodes[thread]) < hidden_below)
            check_warning(check, RULE_BROKEN_CONSISTENCY, &at,
                          "thread %zu is hidden: it has used less than 5 %% of the busiest thread's processor time",
                          thread);
    }
}

static void check_profile(struct check *check, const struct node *root, const struct node_path *path) {
    const struct node *threads = check_member(check, root, "threads");
    if (!node_is(threads, NODE_LIST) || !threads->count) return;
    check_main_threads(check, threads, AT_MEMBER(path, "threads"));
    check_content(check, threads, AT_MEMBER(path, "threads"));
    check_default_category(check, threads, path);
    check_selection(check, threads, path);
}

/* ---- All. ---- */

shape_check *const check_processed_shapes[SHAPE_COUNT] = {
    [SHAPE_STACKS] = check_stacks,           [SHAPE_FRAMES] = check_frames,
    [SHAPE_SAMPLES] = check_thread_samples,  [SHAPE_ALLOCATIONS] = check_allocations,
    [SHAPE_COUNTER] = check_counter,         [SHAPE_COUNTER_SAMPLES] = check_sample_times,
    [SHAPE_TOOLTIP_ROW] = check_tooltip_row, [SHAPE_OVERHEAD] = check_owner,
    [SHAPE_EXTRA_ENTRY] = check_extra_entry, [SHAPE_PROFILE] = check_profile,
};
