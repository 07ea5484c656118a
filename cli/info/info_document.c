#include "info_document.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <string.h>

#include "cli/check/check.h"
#include "libconvert/memory.h"

/* What is taken from, and how far along. */
struct taking {
    struct info *info;
    const struct document *document;
    const struct node *root;
    bool is_gecko;
    struct strings function_keys;     /* of Gecko profiles: locations, each a function */
    double first_ms, last_ms;         /* of all samples and markers; infinite before there is one */
    struct function_weights *weights; /* for each of the info's functions */
    size_t weights_capacity;
};

static const struct node *member(const struct taking *taking, const struct node *node, const char *key) {
    return document_member(taking->document, node, text_of(key));
}

static double number_or(const struct node *node, double otherwise) {
    return node_is(node, NODE_NUMBER) ? node->number : otherwise;
}

static struct text text_or_empty(const struct node *node) {
    return node_is(node, NODE_TEXT) ? node_text(node) : (struct text){0};
}

/* A text, or a number as one. */
static struct text id_text(struct info *info, const struct node *node) {
    char number[32];
    if (!node_is(node, NODE_NUMBER)) return info_text(info, text_or_empty(node));
    snprintf(number, sizeof number, "%.0f", node->number);
    return info_text(info, text_of(number));
}

/* ---- Tables: columns of processed profiles, rows of Gecko ones. ---- */

/* A column; the table may have no such one, whose values are null. */
struct values {
    const struct node *list;
    size_t number; /* in rows */
    bool is_of_rows;
};

static size_t count_rows(const struct taking *taking, const struct node *table) {
    const struct node *data = member(taking, table, "data"), *length = member(taking, table, "length");
    if (taking->is_gecko) return data ? data->count : 0;
    return length ? (size_t)length->number : 0;
}

static struct values column(const struct taking *taking, const struct node *table, const char *name) {
    const struct node *number = member(taking, member(taking, table, "schema"), name);
    if (!taking->is_gecko) {
        const struct node *list = member(taking, table, name);
        return (struct values){.list = node_is(list, NODE_LIST) ? list : NULL};
    }
    if (!number) return (struct values){0};
    return (struct values){member(taking, table, "data"), (size_t)number->number, true};
}

static const struct node *value_at(const struct values *values, size_t row) {
    static const struct node null = {.kind = NODE_NULL};
    if (!values->list || row >= values->list->count) return &null;
    const struct node *node = &values->list->nodes[row];
    if (!values->is_of_rows) return node;
    return values->number < node->count ? &node->nodes[values->number] : &null;
}

static uint32_t index_or_none(const struct node *node) {
    return node_is(node, NODE_NUMBER) && node->number >= 0 ? (uint32_t)node->number : ID_NONE;
}

/* ---- Times. ---- */

static void extend_range(struct taking *taking, double time_ms) {
    if (time_ms < taking->first_ms) taking->first_ms = time_ms;
    if (time_ms > taking->last_ms) taking->last_ms = time_ms;
}

/* `shift_ms`: times of a Gecko child process begin at its own zero. */
static void take_sample_times(struct taking *taking, const struct node *samples, double shift_ms) {
    struct values times = column(taking, samples, "time"), deltas = column(taking, samples, "timeDeltas");
    size_t row_count = count_rows(taking, samples);
    double time_ms = 0;
    for (size_t row = 0; row < row_count; row++) {
        time_ms = times.list ? number_or(value_at(&times, row), 0) : time_ms + number_or(value_at(&deltas, row), 0);
        extend_range(taking, time_ms + shift_ms);
    }
}

static void take_marker_times(struct taking *taking, const struct node *markers, size_t row, double shift_ms) {
    enum { HAS_START = 1 << 0 | 1 << 1 | 1 << 2, HAS_END = 1 << 1 | 1 << 3 };
    struct values starts = column(taking, markers, "startTime"), ends = column(taking, markers, "endTime");
    struct values phases = column(taking, markers, "phase");
    unsigned phase = 1u << (unsigned)number_or(value_at(&phases, row), 0);
    if (phase & HAS_START) extend_range(taking, number_or(value_at(&starts, row), 0) + shift_ms);
    if (phase & HAS_END) extend_range(taking, number_or(value_at(&ends, row), 0) + shift_ms);
}

/* ---- Functions. ---- */

static bool reserve_weights(struct taking *taking) {
    size_t wanted = taking->info->functions.count;
    if (wanted <= taking->weights_capacity) return true;
    size_t capacity = wanted + taking->weights_capacity;
    struct function_weights *weights =
        memory_resize(taking->info->failure, taking->weights, capacity * sizeof *weights);
    if (!weights) return false;
    for (size_t i = taking->weights_capacity; i < capacity; i++) weights[i] = (struct function_weights){0};
    taking->weights = weights;
    taking->weights_capacity = capacity;
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

static void take_processed_functions(struct taking *taking) {
    const struct node *shared = member(taking, taking->root, "shared");
    const struct node *table = member(taking, shared, "funcTable"), *strings = member(taking, shared, "stringArray");
    struct values names = column(taking, table, "name"), resources = column(taking, table, "resource");
    struct values sources = column(taking, table, "source");
    struct values libraries = column(taking, member(taking, shared, "resourceTable"), "name");
    struct values files = column(taking, member(taking, shared, "sources"), "filename");
    size_t row_count = count_rows(taking, table);
    for (size_t row = 0; row < row_count; row++) {
        struct info_function *function = add_function(taking->info);
        if (!function) return;
        uint32_t resource = index_or_none(value_at(&resources, row)), source = index_or_none(value_at(&sources, row));
        function->name = info_text(taking->info, string_at(strings, value_at(&names, row)));
        if (resource != ID_NONE)
            function->library = info_text(taking->info, string_at(strings, value_at(&libraries, resource)));
        if (source != ID_NONE) function->file = info_text(taking->info, string_at(strings, value_at(&files, source)));
    }
}

/* "name (in library)": the client's own way to tell the two. */
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

/* Number of the function that the location is; ID_NONE when memory ran out. */
static uint32_t function_of_location(struct taking *taking, struct text location) {
    string_id key = strings_intern(&taking->function_keys, location);
    if (string_is_none(key) || key.index < taking->info->functions.count) return key.index;
    struct info_function *function = add_function(taking->info);
    if (!function) return ID_NONE;
    split_location(taking->info, function, location);
    return key.index;
}

/* ---- Stacks. ---- */

struct stacks {
    struct call_node *nodes; /* owned */
    double *self;            /* owned */
    size_t count;
};

static bool stacks_init(struct taking *taking, struct stacks *stacks, size_t count) {
    struct failure *failure = taking->info->failure;
    *stacks = (struct stacks){memory_allocate_zeroed(failure, count + 1, sizeof *stacks->nodes),
                              memory_allocate_zeroed(failure, count + 1, sizeof *stacks->self), count};
    return stacks->nodes && stacks->self;
}

static void stacks_fini(struct stacks *stacks) {
    memory_free(stacks->nodes);
    memory_free(stacks->self);
}

/* Adds what the stacks weigh to their functions. */
static void weigh(struct taking *taking, const struct stacks *stacks) {
    if (failure_is_set(taking->info->failure) || !reserve_weights(taking)) return;
    totals_add(taking->weights, taking->weights_capacity, stacks->nodes, stacks->self, stacks->count,
               taking->info->failure);
}

static void fill_processed_stacks(struct taking *taking, struct stacks *stacks) {
    const struct node *shared = member(taking, taking->root, "shared");
    struct values frames = column(taking, member(taking, shared, "stackTable"), "frame");
    struct values offsets = column(taking, member(taking, shared, "stackTable"), "prefixOffset");
    struct values functions = column(taking, member(taking, shared, "frameTable"), "func");
    for (uint32_t row = 0; row < stacks->count; row++) {
        uint32_t offset = index_or_none(value_at(&offsets, row)), frame = index_or_none(value_at(&frames, row));
        stacks->nodes[row] =
            (struct call_node){offset ? row - offset : ID_NONE, index_or_none(value_at(&functions, frame))};
    }
}

static void fill_gecko_stacks(struct taking *taking, const struct node *thread, struct stacks *stacks) {
    const struct node *strings = member(taking, thread, "stringTable");
    struct values locations = column(taking, member(taking, thread, "frameTable"), "location");
    struct values frames = column(taking, member(taking, thread, "stackTable"), "frame");
    struct values prefixes = column(taking, member(taking, thread, "stackTable"), "prefix");
    for (size_t row = 0; row < stacks->count && !failure_is_set(taking->info->failure); row++) {
        const struct node *location = value_at(&locations, index_or_none(value_at(&frames, row)));
        stacks->nodes[row] = (struct call_node){index_or_none(value_at(&prefixes, row)),
                                                function_of_location(taking, string_at(strings, location))};
    }
}

/* ---- Threads. ---- */

static void count_samples(struct taking *taking, const struct node *samples, struct stacks *stacks) {
    struct values stack_column = column(taking, samples, "stack"), weights = column(taking, samples, "weight");
    size_t row_count = count_rows(taking, samples);
    for (size_t row = 0; row < row_count; row++) {
        uint32_t stack = index_or_none(value_at(&stack_column, row));
        /* A Gecko profile has no weights: a column of that name is not read. */
        double weight = taking->is_gecko ? 1 : number_or(value_at(&weights, row), 1);
        info_count_sample(taking->info, weight, stack != ID_NONE);
        if (stack < stacks->count) stacks->self[stack] += weight;
    }
}

static void count_markers(struct taking *taking, const struct node *markers, const struct node *strings,
                          double shift_ms) {
    struct values names = column(taking, markers, "name");
    size_t row_count = count_rows(taking, markers);
    for (size_t row = 0; row < row_count && !failure_is_set(taking->info->failure); row++) {
        info_count_marker(taking->info, string_at(strings, value_at(&names, row)));
        take_marker_times(taking, markers, row, shift_ms);
    }
}

static void take_thread(struct taking *taking, const struct node *from, const struct node *strings, double shift_ms,
                        struct stacks *stacks) {
    struct info_thread *thread = info_add_thread(taking->info);
    if (!thread) return;
    const struct node *samples = member(taking, from, "samples");
    thread->tid = id_text(taking->info, member(taking, from, "tid"));
    thread->name = info_text(taking->info, text_or_empty(member(taking, from, "name")));
    thread->is_main = taking->is_gecko ? text_equal(thread->name, TEXT("GeckoMain"))
                                       : node_is(member(taking, from, "isMainThread"), NODE_TRUE);
    thread->start_ms = number_or(member(taking, from, "registerTime"), NAN) + shift_ms;
    thread->end_ms = number_or(member(taking, from, "unregisterTime"), NAN) + shift_ms;
    if (!taking->is_gecko) {
        thread->allocation_count = count_rows(taking, member(taking, from, "nativeAllocations")) +
                                   count_rows(taking, member(taking, from, "jsAllocations"));
        taking->info->allocation_count += thread->allocation_count;
    }
    count_samples(taking, samples, stacks);
    take_sample_times(taking, samples, shift_ms);
    count_markers(taking, member(taking, from, "markers"), strings, shift_ms);
}

/* A process begins where the pid differs from that of the thread before. */
static void take_process(struct taking *taking, const struct node *thread, const struct node *thread_before) {
    struct info *info = taking->info;
    struct text pid = id_text(info, member(taking, thread, "pid"));
    if (thread_before && text_equal(pid, id_text(info, member(taking, thread_before, "pid")))) return;
    struct info_process *process = info_add_process(info);
    if (!process) return;
    process->pid = pid;
    process->name = info_text(info, text_or_empty(member(taking, thread, "processName")));
}

static void take_processed_threads(struct taking *taking) {
    const struct node *threads = member(taking, taking->root, "threads");
    const struct node *shared = member(taking, taking->root, "shared");
    struct stacks stacks;
    if (stacks_init(taking, &stacks, count_rows(taking, member(taking, shared, "stackTable")))) {
        fill_processed_stacks(taking, &stacks);
        for (size_t i = 0; i < threads->count && !failure_is_set(taking->info->failure); i++) {
            take_process(taking, &threads->nodes[i], i ? &threads->nodes[i - 1] : NULL);
            if (failure_is_set(taking->info->failure)) break;
            take_thread(taking, &threads->nodes[i], member(taking, shared, "stringArray"), 0, &stacks);
        }
        weigh(taking, &stacks);
    }
    stacks_fini(&stacks);
}

static void take_gecko_threads(struct taking *taking, const struct node *process, double shift_ms) {
    const struct node *threads = member(taking, process, "threads");
    for (size_t i = 0; i < threads->count && !failure_is_set(taking->info->failure); i++) {
        const struct node *thread = &threads->nodes[i];
        struct stacks stacks;
        take_process(taking, thread, i ? &threads->nodes[i - 1] : NULL);
        size_t stack_count = count_rows(taking, member(taking, thread, "stackTable"));
        taking->info->stack_count += stack_count;
        taking->info->frame_count += count_rows(taking, member(taking, thread, "frameTable"));
        if (stacks_init(taking, &stacks, stack_count) && !failure_is_set(taking->info->failure)) {
            fill_gecko_stacks(taking, thread, &stacks);
            take_thread(taking, thread, member(taking, thread, "stringTable"), shift_ms, &stacks);
            weigh(taking, &stacks);
        }
        stacks_fini(&stacks);
    }
}

/* ---- Counters. ---- */

/* Of the process; in Gecko profiles its main thread has the pid. */
static struct text counter_pid(struct taking *taking, const struct node *counter, const struct node *process) {
    const struct node *threads = member(taking, process, "threads");
    if (!taking->is_gecko) return id_text(taking->info, member(taking, counter, "pid"));
    for (size_t i = 0; i < threads->count; i++)
        if (node_is_text(member(taking, &threads->nodes[i], "name"), TEXT("GeckoMain")))
            return id_text(taking->info, member(taking, &threads->nodes[i], "pid"));
    return (struct text){0};
}

static void take_counters(struct taking *taking, const struct node *process) {
    const struct node *counters = member(taking, process, "counters");
    for (size_t i = 0; node_is(counters, NODE_LIST) && i < counters->count; i++) {
        const struct node *from = &counters->nodes[i], *samples = member(taking, from, "samples");
        struct info_counter *counter = info_add_counter(taking->info);
        if (!counter) return;
        struct values changes = column(taking, samples, "count");
        counter->pid = counter_pid(taking, from, process);
        counter->name = info_text(taking->info, text_or_empty(member(taking, from, "name")));
        counter->category = info_text(taking->info, text_or_empty(member(taking, from, "category")));
        counter->unit = info_text(taking->info, text_or_empty(member(taking, member(taking, from, "display"), "unit")));
        counter->sample_count = count_rows(taking, samples);
        for (size_t row = 0; row < counter->sample_count; row++)
            counter->change += number_or(value_at(&changes, row), 0);
    }
}

/* ---- Meta. ---- */

static void take_extra(struct taking *taking, const struct node *extra) {
    for (size_t i = 0; node_is(extra, NODE_LIST) && i < extra->count; i++) {
        const struct node *entries = member(taking, &extra->nodes[i], "entries");
        struct text section = text_or_empty(member(taking, &extra->nodes[i], "label"));
        for (size_t j = 0; j < entries->count; j++)
            info_add_fact(taking->info, section, text_or_empty(member(taking, &entries->nodes[j], "label")),
                          id_text(taking->info, member(taking, &entries->nodes[j], "value")));
    }
}

static void take_meta(struct taking *taking, const struct node *meta) {
    static const struct {
        const char *key;
        const char *label;
    } known[] = {{"importedFrom", "made by"}, {"arguments", "arguments"}, {"CPUName", "processor"},
                 {"oscpu", "system"},         {"platform", "platform"},   {"device", "device"}};
    struct info *info = taking->info;
    info->product = info_text(info, text_or_empty(member(taking, meta, "product")));
    info->interval_ms = number_or(member(taking, meta, "interval"), NAN);
    const struct node *start = member(taking, meta, "startTime");
    if (node_is(start, NODE_NUMBER) && fabs(start->number) < 1e18) info->start_time_ms = (int64_t)start->number;
    for (size_t i = 0; i < sizeof known / sizeof *known; i++) {
        struct text value = text_or_empty(member(taking, meta, known[i].key));
        if (value.bytes_count) info_add_fact(info, TEXT("recording"), text_of(known[i].label), value);
    }
    take_extra(taking, member(taking, meta, "extra"));
}

/* "tracing-ms" of the first thread with weights: those of one profile are of one kind. */
static struct text weight_unit(const struct taking *taking) {
    const struct node *threads = member(taking, taking->root, "threads");
    for (size_t i = 0; !taking->is_gecko && i < threads->count; i++) {
        const struct node *samples = member(taking, &threads->nodes[i], "samples");
        const struct node *type = member(taking, samples, "weightType");
        if (!node_is(member(taking, samples, "weight"), NODE_LIST)) continue;
        return node_is_text(type, TEXT("tracing-ms")) ? TEXT("ms") : text_or_empty(type);
    }
    return TEXT("samples");
}

/* ---- All together. ---- */

static void take_processed(struct taking *taking) {
    const struct node *shared = member(taking, taking->root, "shared");
    taking->info->stack_count = count_rows(taking, member(taking, shared, "stackTable"));
    taking->info->frame_count = count_rows(taking, member(taking, shared, "frameTable"));
    taking->info->lib_count = member(taking, taking->root, "libs")->count;
    take_processed_functions(taking);
    take_processed_threads(taking);
    take_counters(taking, taking->root);
}

static void take_gecko_process(struct taking *taking, const struct node *process, double shift_ms) {
    taking->info->lib_count += member(taking, process, "libs")->count;
    take_gecko_threads(taking, process, shift_ms);
    take_counters(taking, process);
}

static void take_gecko(struct taking *taking) {
    const struct node *processes = member(taking, taking->root, "processes");
    const struct node *start = member(taking, member(taking, taking->root, "meta"), "startTime");
    take_gecko_process(taking, taking->root, 0);
    for (size_t i = 0; i < processes->count; i++) {
        const struct node *child_start = member(taking, member(taking, &processes->nodes[i], "meta"), "startTime");
        take_gecko_process(taking, &processes->nodes[i], number_or(child_start, 0) - number_or(start, 0));
    }
}

void info_take_document(struct info *info, const struct document *document) {
    struct taking taking = {.info = info,
                            .document = document,
                            .root = profile_root(document),
                            .is_gecko = profile_identify(document).kind == PROFILE_GECKO,
                            .first_ms = INFINITY,
                            .last_ms = -INFINITY};
    strings_init(&taking.function_keys, info->failure);
    take_meta(&taking, member(&taking, taking.root, "meta"));
    info->weight_unit = info_text(info, weight_unit(&taking));
    if (taking.is_gecko)
        take_gecko(&taking);
    else
        take_processed(&taking);
    for (size_t i = 0; i < info->functions.count && i < taking.weights_capacity; i++)
        ((struct info_function *)column_at(&info->functions, i))->weights = taking.weights[i];
    info->duration_ms = taking.last_ms >= taking.first_ms ? taking.last_ms - taking.first_ms : 0;
    memory_free(taking.weights);
    strings_fini(&taking.function_keys);
}
