#include "info_document.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/check/check.h"
#include "libconvert/base/memory.h"
#include "libconvert/profile/weighed_sample.h"
#include "readers/json/column_view.h"

/* The document being read, the info being filled, and totals so far. */
struct collector {
    struct info *info;
    const struct document *document;
    const struct node *root;
    bool is_gecko;
    struct strings function_keys; /* of Gecko profiles: locations; each is a function */
    double first_ms, last_ms;     /* of all samples and markers; infinite while there are none */
    /* By row of info->functions, each with weights_capacity rows. */
    struct function_weights *sums[INFO_SUM_COUNT];
    double *waits;
    size_t weights_capacity;
    double cpu_factor;      /* from the profile's unit of processor time to that of the info */
    uint32_t idle_category; /* ID_NONE: there is none */
};

static const struct node *member(const struct collector *collector, const struct node *node, const char *key) {
    return document_member(collector->document, node, text_of(key));
}

static double number_or(const struct node *node, double otherwise) {
    return node_is(node, NODE_NUMBER) ? node->number : otherwise;
}

static struct text text_or_empty(const struct node *node) {
    return node_is(node, NODE_TEXT) ? node_text(node) : (struct text){0};
}

/* Returns the text of a node that is a text or a number. */
static struct text id_text(struct info *info, const struct node *node) {
    char number[32];
    if (!node_is(node, NODE_NUMBER)) return info_text(info, text_or_empty(node));
    snprintf(number, sizeof number, "%.0f", node->number);
    return info_text(info, text_of(number));
}

/* ---- Tables. ---- */

static size_t count_rows(const struct collector *collector, const struct node *table) {
    const struct node *data = member(collector, table, "data"), *length = member(collector, table, "length");
    if (collector->is_gecko) return data ? data->count : 0;
    return length ? (size_t)length->number : 0;
}

static struct column_view column(const struct collector *collector, const struct node *table, const char *name) {
    return column_view_find(collector->document, table, name);
}

static uint32_t index_or_none(const struct node *node) {
    return node_is(node, NODE_NUMBER) && node->number >= 0 ? (uint32_t)node->number : ID_NONE;
}

/* ---- Times. ---- */

static void extend_range(struct collector *collector, double time_ms) {
    if (time_ms < collector->first_ms) collector->first_ms = time_ms;
    if (time_ms > collector->last_ms) collector->last_ms = time_ms;
}

/* `shift_ms` is added to all times: those of a Gecko child process begin at that process's zero. */
static void collect_sample_times(struct collector *collector, const struct node *samples, double shift_ms) {
    struct column_view times = column(collector, samples, "time"), deltas = column(collector, samples, "timeDeltas");
    size_t row_count = count_rows(collector, samples);
    double time_ms = 0;
    for (size_t row = 0; row < row_count; row++) {
        time_ms = times.table ? number_or(column_view_at(&times, row), 0)
                              : time_ms + number_or(column_view_at(&deltas, row), 0);
        extend_range(collector, time_ms + shift_ms);
    }
}

/* Returns the duration of the marker; NAN if it is not an interval. */
static double collect_marker_times(struct collector *collector, const struct node *markers, size_t row,
                                   double shift_ms) {
    enum { IS_INTERVAL = 1 << 1, HAS_START = 1 << 0 | IS_INTERVAL | 1 << 2, HAS_END = IS_INTERVAL | 1 << 3 };
    struct column_view starts = column(collector, markers, "startTime"), ends = column(collector, markers, "endTime");
    struct column_view phases = column(collector, markers, "phase");
    unsigned phase = 1u << (unsigned)number_or(column_view_at(&phases, row), 0);
    double start_ms = number_or(column_view_at(&starts, row), 0), end_ms = number_or(column_view_at(&ends, row), 0);
    if (phase & HAS_START) extend_range(collector, start_ms + shift_ms);
    if (phase & HAS_END) extend_range(collector, end_ms + shift_ms);
    return phase & IS_INTERVAL ? end_ms - start_ms : (double)NAN;
}

/* ---- Functions. ---- */

/* Returns the array with zeroed rows up to the capacity; the array as it is if memory ran out (latched). */
static void *extend(struct collector *collector, void *rows, size_t row_bytes, size_t capacity) {
    size_t old_bytes = collector->weights_capacity * row_bytes, bytes = capacity * row_bytes;
    char *extended = memory_resize(collector->info->failure, rows, bytes);
    if (!extended) return rows;
    memset(extended + old_bytes, 0, bytes - old_bytes);
    return extended;
}

/* Returns false after a failure: then stacks can lack their functions. */
static bool reserve_weights(struct collector *collector) {
    if (failure_is_set(collector->info->failure)) return false;
    size_t wanted = collector->info->functions.count;
    if (wanted <= collector->weights_capacity) return true;
    size_t capacity = wanted + collector->weights_capacity;
    for (enum info_sum sum = 0; sum < INFO_SUM_COUNT; sum++)
        collector->sums[sum] = extend(collector, collector->sums[sum], sizeof *collector->sums[sum], capacity);
    collector->waits = extend(collector, collector->waits, sizeof *collector->waits, capacity);
    if (failure_is_set(collector->info->failure)) return false;
    collector->weights_capacity = capacity;
    return true;
}

static struct info_function *add_function(struct info *info) {
    struct info_function *function = column_push(&info->functions);
    if (function) *function = (struct info_function){0};
    return function;
}

static struct text string_at(const struct node *strings, const struct node *index) {
    uint32_t row = index_or_none(index);
    return row < strings->count ? text_or_empty(&strings->nodes[row]) : (struct text){0};
}

static void collect_processed_functions(struct collector *collector) {
    const struct node *shared = member(collector, collector->root, "shared");
    const struct node *table = member(collector, shared, "funcTable"),
                      *strings = member(collector, shared, "stringArray");
    struct column_view names = column(collector, table, "name"), resources = column(collector, table, "resource");
    struct column_view sources = column(collector, table, "source");
    struct column_view libraries = column(collector, member(collector, shared, "resourceTable"), "name");
    struct column_view files = column(collector, member(collector, shared, "sources"), "filename");
    size_t row_count = count_rows(collector, table);
    for (size_t row = 0; row < row_count; row++) {
        struct info_function *function = add_function(collector->info);
        if (!function) return;
        uint32_t resource = index_or_none(column_view_at(&resources, row)),
                 source = index_or_none(column_view_at(&sources, row));
        function->name = info_text(collector->info, string_at(strings, column_view_at(&names, row)));
        if (resource != ID_NONE)
            function->library = info_text(collector->info, string_at(strings, column_view_at(&libraries, resource)));
        if (source != ID_NONE)
            function->file = info_text(collector->info, string_at(strings, column_view_at(&files, source)));
    }
}

/* Splits "name (in library)" as the front-end does. */
static void split_location(struct info *info, struct info_function *function, struct text location) {
    static const struct text in = TEXT(" (in ");
    const char *found =
        location.bytes_count ? memmem(location.bytes, location.bytes_count, in.bytes, in.bytes_count) : NULL;
    size_t name_bytes = found ? (size_t)(found - location.bytes) : location.bytes_count;
    struct text library = text_from(location, found ? name_bytes + in.bytes_count : name_bytes);
    size_t end = text_find(library, ')');
    bool has_library = end < library.bytes_count;
    function->name = info_text(info, has_library ? text_slice(location, 0, name_bytes) : location);
    if (has_library) function->library = info_text(info, text_slice(library, 0, end));
}

/* Returns the row of the function for the location; ID_NONE when memory ran out. */
static uint32_t function_of_location(struct collector *collector, struct text location) {
    string_id key = strings_intern(&collector->function_keys, location);
    if (string_is_none(key) || key.index < collector->info->functions.count) return key.index;
    struct info_function *function = add_function(collector->info);
    if (!function) return ID_NONE;
    split_location(collector->info, function, location);
    return key.index;
}

/* ---- Stacks. ---- */

struct stacks {
    struct call_node *nodes;      /* owned */
    double *self[INFO_SUM_COUNT]; /* owned */
    bool *is_idle;                /* owned */
    size_t count;
};

static bool stacks_init(struct collector *collector, struct stacks *stacks, size_t count) {
    struct failure *failure = collector->info->failure;
    *stacks = (struct stacks){.nodes = memory_allocate_zeroed(failure, count + 1, sizeof *stacks->nodes),
                              .is_idle = memory_allocate_zeroed(failure, count + 1, sizeof *stacks->is_idle),
                              .count = count};
    for (enum info_sum sum = 0; sum < INFO_SUM_COUNT; sum++)
        stacks->self[sum] = memory_allocate_zeroed(failure, count + 1, sizeof *stacks->self[sum]);
    return !failure_is_set(failure);
}

static void stacks_fini(struct stacks *stacks) {
    memory_free(stacks->nodes);
    memory_free(stacks->is_idle);
    for (enum info_sum sum = 0; sum < INFO_SUM_COUNT; sum++) memory_free(stacks->self[sum]);
}

/* Adds the weights of the stacks to their functions. */
static void weigh(struct collector *collector, const struct stacks *stacks) {
    if (failure_is_set(collector->info->failure) || !reserve_weights(collector)) return;
    for (enum info_sum sum = 0; sum < INFO_SUM_COUNT; sum++)
        totals_add(collector->sums[sum], collector->weights_capacity, stacks->nodes, stacks->self[sum], stacks->count,
                   collector->info->failure);
}

/* Finds out whether a stack is idle, after its caller. A frame without a category has that of its caller. */
static void find_idle(const struct collector *collector, struct stacks *stacks, uint32_t row,
                      const struct node *category) {
    uint32_t caller = stacks->nodes[row].prefix;
    if (node_is(category, NODE_NUMBER))
        stacks->is_idle[row] = category->number == collector->idle_category;
    else
        stacks->is_idle[row] = caller < row && stacks->is_idle[caller];
}

static void fill_processed_stacks(struct collector *collector, struct stacks *stacks) {
    const struct node *shared = member(collector, collector->root, "shared");
    struct column_view frames = column(collector, member(collector, shared, "stackTable"), "frame");
    struct column_view offsets = column(collector, member(collector, shared, "stackTable"), "prefixOffset");
    struct column_view functions = column(collector, member(collector, shared, "frameTable"), "func");
    struct column_view categories = column(collector, member(collector, shared, "frameTable"), "category");
    for (uint32_t row = 0; row < stacks->count; row++) {
        uint32_t offset = index_or_none(column_view_at(&offsets, row)),
                 frame = index_or_none(column_view_at(&frames, row));
        stacks->nodes[row] =
            (struct call_node){offset ? row - offset : ID_NONE, index_or_none(column_view_at(&functions, frame))};
        find_idle(collector, stacks, row, column_view_at(&categories, frame));
    }
}

static void fill_gecko_stacks(struct collector *collector, const struct node *thread, struct stacks *stacks) {
    const struct node *strings = member(collector, thread, "stringTable");
    struct column_view locations = column(collector, member(collector, thread, "frameTable"), "location");
    struct column_view categories = column(collector, member(collector, thread, "frameTable"), "category");
    struct column_view frames = column(collector, member(collector, thread, "stackTable"), "frame");
    struct column_view prefixes = column(collector, member(collector, thread, "stackTable"), "prefix");
    for (size_t row = 0; row < stacks->count && !failure_is_set(collector->info->failure); row++) {
        uint32_t frame = index_or_none(column_view_at(&frames, row));
        const struct node *location = column_view_at(&locations, frame);
        stacks->nodes[row] = (struct call_node){index_or_none(column_view_at(&prefixes, row)),
                                                function_of_location(collector, string_at(strings, location))};
        find_idle(collector, stacks, (uint32_t)row, column_view_at(&categories, frame));
    }
}

/* ---- Threads. ---- */

static bool runs(const struct collector *collector, const struct stacks *stacks, uint32_t stack) {
    const struct info_function *function = column_at(&collector->info->functions, stacks->nodes[stack].function);
    return !stacks->is_idle[stack] && !text_equal(function->name, PREEMPTED_FRAME);
}

/* What a thread used before it stopped belongs to the functions in which it did. */
static void count_cpu(struct collector *collector, struct stacks *stacks, uint32_t stack, double cpu) {
    while (stack < stacks->count && !runs(collector, stacks, stack)) stack = stacks->nodes[stack].prefix;
    if (stack >= stacks->count) return;
    stacks->self[INFO_CPU][stack] += cpu;
    collector->info->cpu += cpu;
}

static void count_samples(struct collector *collector, const struct node *samples, struct stacks *stacks) {
    struct column_view stack_column = column(collector, samples, "stack"),
                       weights = column(collector, samples, "weight");
    struct column_view deltas = column(collector, samples, "threadCPUDelta");
    size_t row_count = count_rows(collector, samples);
    if (failure_is_set(collector->info->failure) || !reserve_weights(collector)) return;
    for (size_t row = 0; row < row_count; row++) {
        uint32_t stack = index_or_none(column_view_at(&stack_column, row));
        /* The front-end ignores a weight column in a Gecko profile, and the processor time of a first sample. */
        double weight = collector->is_gecko ? 1 : number_or(column_view_at(&weights, row), 1);
        double cpu = row ? number_or(column_view_at(&deltas, row), 0) * collector->cpu_factor : 0;
        info_count_sample(collector->info, weight, cpu, stack != ID_NONE);
        if (stack >= stacks->count) continue;
        stacks->self[INFO_WEIGHT][stack] += weight;
        if (stacks->is_idle[stack]) {
            collector->waits[stacks->nodes[stack].function] += weight;
            collector->info->wait += fabs(weight);
        }
        count_cpu(collector, stacks, stack, cpu);
    }
}

static void count_markers(struct collector *collector, const struct node *markers, const struct node *strings,
                          double shift_ms) {
    struct column_view names = column(collector, markers, "name");
    size_t row_count = count_rows(collector, markers);
    for (size_t row = 0; row < row_count && !failure_is_set(collector->info->failure); row++) {
        double duration_ms = collect_marker_times(collector, markers, row, shift_ms);
        info_count_marker(collector->info, string_at(strings, column_view_at(&names, row)), duration_ms);
    }
}

static void count_allocations(struct collector *collector, const struct node *allocations, struct info_thread *thread,
                              struct stacks *stacks) {
    struct column_view stack_column = column(collector, allocations, "stack"),
                       bytes = column(collector, allocations, "weight");
    size_t row_count = count_rows(collector, allocations);
    thread->allocation_count += row_count;
    collector->info->allocation_count += row_count;
    for (size_t row = 0; row < row_count; row++) {
        uint32_t stack = index_or_none(column_view_at(&stack_column, row));
        double allocated = number_or(column_view_at(&bytes, row), 0);
        if (stack >= stacks->count || !(allocated > 0)) continue;
        stacks->self[INFO_ALLOCATED][stack] += allocated;
        collector->info->allocated += allocated;
    }
}

/* The converter's tracks of events have a tid such as "12 cache-misses". Their weights have another unit. */
static bool is_track(const struct node *thread_tid) {
    struct text tid = text_or_empty(thread_tid);
    return text_find(tid, ' ') < tid.bytes_count;
}

static void collect_thread(struct collector *collector, const struct node *from, const struct node *strings,
                           double shift_ms, struct stacks *stacks) {
    if (is_track(member(collector, from, "tid"))) return;
    struct info_thread *thread = info_add_thread(collector->info);
    if (!thread) return;
    const struct node *samples = member(collector, from, "samples");
    thread->tid = id_text(collector->info, member(collector, from, "tid"));
    thread->name = info_text(collector->info, text_or_empty(member(collector, from, "name")));
    thread->is_main = collector->is_gecko ? text_equal(thread->name, TEXT("GeckoMain"))
                                          : node_is(member(collector, from, "isMainThread"), NODE_TRUE);
    thread->start_ms = number_or(member(collector, from, "registerTime"), NAN) + shift_ms;
    thread->end_ms = number_or(member(collector, from, "unregisterTime"), NAN) + shift_ms;
    if (!collector->is_gecko) {
        count_allocations(collector, member(collector, from, "nativeAllocations"), thread, stacks);
        count_allocations(collector, member(collector, from, "jsAllocations"), thread, stacks);
    }
    count_samples(collector, samples, stacks);
    collect_sample_times(collector, samples, shift_ms);
    count_markers(collector, member(collector, from, "markers"), strings, shift_ms);
}

/* Starts a new process if the pid differs from that of the previous thread. */
static void collect_process(struct collector *collector, const struct node *thread, const struct node *thread_before) {
    struct info *info = collector->info;
    struct text pid = id_text(info, member(collector, thread, "pid"));
    if (thread_before && text_equal(pid, id_text(info, member(collector, thread_before, "pid")))) return;
    struct info_process *process = info_add_process(info);
    if (!process) return;
    process->pid = pid;
    process->name = info_text(info, text_or_empty(member(collector, thread, "processName")));
}

static void collect_processed_threads(struct collector *collector) {
    const struct node *threads = member(collector, collector->root, "threads");
    const struct node *shared = member(collector, collector->root, "shared");
    struct stacks stacks;
    if (stacks_init(collector, &stacks, count_rows(collector, member(collector, shared, "stackTable")))) {
        fill_processed_stacks(collector, &stacks);
        for (size_t i = 0; i < threads->count && !failure_is_set(collector->info->failure); i++) {
            collect_process(collector, &threads->nodes[i], i ? &threads->nodes[i - 1] : NULL);
            if (failure_is_set(collector->info->failure)) break;
            collect_thread(collector, &threads->nodes[i], member(collector, shared, "stringArray"), 0, &stacks);
        }
        weigh(collector, &stacks);
    }
    stacks_fini(&stacks);
}

static void collect_gecko_threads(struct collector *collector, const struct node *process, double shift_ms) {
    const struct node *threads = member(collector, process, "threads");
    for (size_t i = 0; i < threads->count && !failure_is_set(collector->info->failure); i++) {
        const struct node *thread = &threads->nodes[i];
        struct stacks stacks;
        collect_process(collector, thread, i ? &threads->nodes[i - 1] : NULL);
        size_t stack_count = count_rows(collector, member(collector, thread, "stackTable"));
        collector->info->stack_count += stack_count;
        collector->info->frame_count += count_rows(collector, member(collector, thread, "frameTable"));
        if (stacks_init(collector, &stacks, stack_count) && !failure_is_set(collector->info->failure)) {
            fill_gecko_stacks(collector, thread, &stacks);
            collect_thread(collector, thread, member(collector, thread, "stringTable"), shift_ms, &stacks);
            weigh(collector, &stacks);
        }
        stacks_fini(&stacks);
    }
}

/* ---- Counters. ---- */

/* Returns the pid of the counter's process. In Gecko profiles, the process's main thread has it. */
static struct text counter_pid(struct collector *collector, const struct node *counter, const struct node *process) {
    const struct node *threads = member(collector, process, "threads");
    if (!collector->is_gecko) return id_text(collector->info, member(collector, counter, "pid"));
    for (size_t i = 0; i < threads->count; i++)
        if (node_is_text(member(collector, &threads->nodes[i], "name"), TEXT("GeckoMain")))
            return id_text(collector->info, member(collector, &threads->nodes[i], "pid"));
    return (struct text){0};
}

/* Without a display, the front-end decides by the category: only memory is a level. */
static bool is_rate(const struct collector *collector, const struct info_counter *counter, const struct node *display) {
    const struct node *graph = member(collector, display, "graphType");
    return graph ? node_is_text(graph, TEXT("line-rate")) : !text_equal(counter->category, TEXT("Memory"));
}

static void count_changes(const struct collector *collector, struct info_counter *counter, const struct node *samples) {
    struct column_view changes = column(collector, samples, "count"), times = column(collector, samples, "time");
    struct column_view deltas = column(collector, samples, "timeDeltas");
    size_t row_count = count_rows(collector, samples);
    double time_ms = 0;
    for (size_t row = 0; row < row_count; row++) {
        time_ms = times.table ? number_or(column_view_at(&times, row), 0)
                              : time_ms + number_or(column_view_at(&deltas, row), 0);
        info_count_change(counter, time_ms, number_or(column_view_at(&changes, row), 0));
    }
}

static void collect_counters(struct collector *collector, const struct node *process) {
    const struct node *counters = member(collector, process, "counters");
    for (size_t i = 0; node_is(counters, NODE_LIST) && i < counters->count; i++) {
        const struct node *from = &counters->nodes[i], *samples = member(collector, from, "samples"),
                          *display = member(collector, from, "display");
        struct info_counter *counter = info_add_counter(collector->info);
        if (!counter) return;
        counter->pid = counter_pid(collector, from, process);
        counter->name = info_text(collector->info, text_or_empty(member(collector, from, "name")));
        counter->category = info_text(collector->info, text_or_empty(member(collector, from, "category")));
        counter->unit = info_text(collector->info, text_or_empty(member(collector, display, "unit")));
        counter->is_rate = is_rate(collector, counter, display);
        count_changes(collector, counter, samples);
    }
}

/* ---- Meta. ---- */

static void collect_extra(struct collector *collector, const struct node *extra) {
    for (size_t i = 0; node_is(extra, NODE_LIST) && i < extra->count; i++) {
        const struct node *entries = member(collector, &extra->nodes[i], "entries");
        struct text section = text_or_empty(member(collector, &extra->nodes[i], "label"));
        for (size_t j = 0; j < entries->count; j++)
            info_add_fact(collector->info, section, text_or_empty(member(collector, &entries->nodes[j], "label")),
                          id_text(collector->info, member(collector, &entries->nodes[j], "value")));
    }
}

static void collect_meta(struct collector *collector, const struct node *meta) {
    static const struct {
        const char *key;
        const char *label;
    } known[] = {{"importedFrom", "made by"}, {"arguments", "arguments"}, {"CPUName", "processor"},
                 {"oscpu", "system"},         {"platform", "platform"},   {"device", "device"}};
    struct info *info = collector->info;
    info->product = info_text(info, text_or_empty(member(collector, meta, "product")));
    info->interval_ms = number_or(member(collector, meta, "interval"), NAN);
    const struct node *start = member(collector, meta, "startTime");
    if (node_is(start, NODE_NUMBER) && fabs(start->number) < 1e18) info->start_time_ms = (int64_t)start->number;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct text value = text_or_empty(member(collector, meta, known[i].key));
        if (value.bytes_count) info_add_fact(info, TEXT("recording"), text_of(known[i].label), value);
    }
    collect_extra(collector, member(collector, meta, "extra"));
}

static void collect_cpu_unit(struct collector *collector, const struct node *meta) {
    const struct node *unit = member(collector, member(collector, meta, "sampleUnits"), "threadCPUDelta");
    if (!unit) return;
    bool is_ns = node_is_text(unit, TEXT("ns")), is_time = !node_is_text(unit, TEXT("variable CPU cycles"));
    collector->cpu_factor = is_ns ? 1e-6 : is_time ? 1e-3 : 1;
    collector->info->cpu_unit = is_time ? TEXT("ms") : TEXT("cycles");
}

static void find_idle_category(struct collector *collector, const struct node *meta) {
    const struct node *categories = member(collector, meta, "categories");
    for (uint32_t i = 0; node_is(categories, NODE_LIST) && i < categories->count; i++)
        if (node_is_text(member(collector, &categories->nodes[i], "name"), TEXT("Idle"))) collector->idle_category = i;
}

/* Returns the weight type of the first thread that has weights, such as "tracing-ms". All threads of a profile but
 * tracks use the same type. */
static struct text weight_unit(const struct collector *collector) {
    const struct node *threads = member(collector, collector->root, "threads");
    for (size_t i = 0; !collector->is_gecko && i < threads->count; i++) {
        const struct node *samples = member(collector, &threads->nodes[i], "samples");
        const struct node *type = member(collector, samples, "weightType");
        bool has_weights = node_is(member(collector, samples, "weight"), NODE_LIST);
        if (!has_weights || is_track(member(collector, &threads->nodes[i], "tid"))) continue;
        return node_is_text(type, TEXT("tracing-ms")) ? TEXT("ms") : text_or_empty(type);
    }
    return TEXT("samples");
}

/* ---- The whole profile. ---- */

static void collect_processed(struct collector *collector) {
    const struct node *shared = member(collector, collector->root, "shared");
    collector->info->stack_count = count_rows(collector, member(collector, shared, "stackTable"));
    collector->info->frame_count = count_rows(collector, member(collector, shared, "frameTable"));
    collector->info->lib_count = member(collector, collector->root, "libs")->count;
    collect_processed_functions(collector);
    collect_processed_threads(collector);
    collect_counters(collector, collector->root);
}

static void collect_gecko_process(struct collector *collector, const struct node *process, double shift_ms) {
    collector->info->lib_count += member(collector, process, "libs")->count;
    collect_gecko_threads(collector, process, shift_ms);
    collect_counters(collector, process);
}

static void collect_gecko(struct collector *collector) {
    const struct node *processes = member(collector, collector->root, "processes");
    const struct node *start = member(collector, member(collector, collector->root, "meta"), "startTime");
    collect_gecko_process(collector, collector->root, 0);
    for (size_t i = 0; i < processes->count; i++) {
        const struct node *child_start =
            member(collector, member(collector, &processes->nodes[i], "meta"), "startTime");
        collect_gecko_process(collector, &processes->nodes[i], number_or(child_start, 0) - number_or(start, 0));
    }
}

void info_fill_from_document(struct info *info, const struct document *document) {
    struct collector collector = {.info = info,
                                  .document = document,
                                  .root = profile_root(document),
                                  .is_gecko = profile_identify(document).kind == PROFILE_GECKO,
                                  .first_ms = INFINITY,
                                  .last_ms = -INFINITY,
                                  .idle_category = ID_NONE};
    strings_init(&collector.function_keys, info->failure);
    const struct node *meta = member(&collector, collector.root, "meta");
    collect_meta(&collector, meta);
    collect_cpu_unit(&collector, meta);
    find_idle_category(&collector, meta);
    info->weight_unit = info_text(info, weight_unit(&collector));
    if (collector.is_gecko)
        collect_gecko(&collector);
    else
        collect_processed(&collector);
    for (size_t i = 0; i < info->functions.count && i < collector.weights_capacity; i++) {
        struct info_function *function = column_at(&info->functions, i);
        for (enum info_sum sum = 0; sum < INFO_SUM_COUNT; sum++) function->sums[sum] = collector.sums[sum][i];
        function->wait = collector.waits[i];
    }
    info->duration_ms = collector.last_ms >= collector.first_ms ? collector.last_ms - collector.first_ms : 0;
    for (enum info_sum sum = 0; sum < INFO_SUM_COUNT; sum++) memory_free(collector.sums[sum]);
    memory_free(collector.waits);
    strings_fini(&collector.function_keys);
    info_finish(info);
}
