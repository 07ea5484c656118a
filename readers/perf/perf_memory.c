#include "perf_memory.h"

#include "libconvert/base/memory.h"

/* The kinds of memory that are resident. The kernel's others are swapped out. */
enum memory_kind { KIND_FILE, KIND_ANONYMOUS, KIND_SHARED, KIND_COUNT };

/* Linux include/linux/mm_types_task.h, and the names that perf script prints. */
static const struct {
    int64_t number;
    struct text name;
} kinds[KIND_COUNT] = {
    [KIND_FILE] = {0, TEXT("MM_FILEPAGES")},
    [KIND_ANONYMOUS] = {1, TEXT("MM_ANONPAGES")},
    [KIND_SHARED] = {3, TEXT("MM_SHMEMPAGES")},
};

/* Memory of a process. One that executes another program gets new memory. */
struct space {
    process_id process; /* none until a thread reports its own memory */
    int64_t sizes_bytes[KIND_COUNT];
};

struct process_memory {
    struct counter *counter; /* NULL until there is a sample */
    uint32_t space;          /* what it uses */
    int64_t size_bytes;      /* as of the counter's last sample */
};

struct memory_counting {
    struct perf_payloads *payloads;
    struct value_table spaces;        /* struct space by int64_t: mm_id, a hash of the memory's address in the kernel */
    struct process_memory *processes; /* one for each process of the profile */
};

/* What one hit reports. */
struct change {
    int64_t id;
    bool is_own; /* the memory of the thread that was hit */
    enum memory_kind kind;
    int64_t size_bytes;
};

static bool is_rss_stat(const struct perf_event *event) {
    return event->treatment != EVENT_DROPPED && event->is_tracepoint &&
           text_equal(perf_event_base_name(event->name), TEXT("kmem:rss_stat"));
}

static bool is_kind(struct profile *profile, enum marker_format format, const union marker_value *value,
                    enum memory_kind kind) {
    if (marker_format_kind(format) == VALUE_NUMBER) return value->number.mantissa == kinds[kind].number;
    return marker_format_kind(format) == VALUE_STRING &&
           text_equal(strings_text(&profile->strings, value->string), kinds[kind].name);
}

static bool find_change(struct perf_payloads *payloads, uint32_t order, struct change *change) {
    struct profile *profile = payloads->recording->profile;
    union marker_value member;
    int64_t is_own;
    enum marker_format format = perf_payloads_find(payloads, order, TEXT("member"), &member);
    if (format == MARKER_FORMAT_COUNT || !perf_payloads_number(payloads, order, TEXT("mm_id"), &change->id) ||
        !perf_payloads_number(payloads, order, TEXT("curr"), &is_own) ||
        !perf_payloads_number(payloads, order, TEXT("size"), &change->size_bytes))
        return false;
    change->is_own = is_own;
    for (change->kind = 0; change->kind < KIND_COUNT; change->kind++)
        if (is_kind(profile, format, &member, change->kind)) return true;
    return false;
}

/* Returns the row of the space; ID_NONE if memory ran out (latched). */
static uint32_t find_space(struct memory_counting *counting, int64_t id) {
    return value_table_number(&counting->spaces, &id, &(struct space){.process = process_none()});
}

/* Another process may change memory, so the first one that tells of its own has it: a child of vfork comes later. */
static void find_owner(struct memory_counting *counting, uint32_t order, const struct change *change) {
    const struct perf_payloads *payloads = counting->payloads;
    thread_id thread = perf_payloads_series(payloads, order)->thread;
    uint32_t row = change->is_own ? find_space(counting, change->id) : ID_NONE;
    if (row == ID_NONE) return;
    struct space *space = value_table_at(&counting->spaces, row);
    if (process_is_none(space->process))
        space->process = profile_thread_at(payloads->recording->profile, thread)->process;
}

static struct counter *add_counter(struct profile *profile, process_id process) {
    const struct counter counter = {
        .process = process,
        .name = TEXT("resident set"),
        .category = TEXT("Memory"),
        .description = TEXT("Memory of the process that is resident, as far as kmem:rss_stat told it"),
        .label = TEXT("Memory (resident)"),
        .unit = TEXT("bytes"),
        .graph = COUNTER_ACCUMULATED,
        .color = GRAPH_ORANGE,
        .has_each_change = true,
        .sort_weight = 20,
    };
    return profile_add_counter(profile, &counter);
}

/* While a process executes a program, it has the old memory and the new one; only one of them counts. */
static void count(struct memory_counting *counting, uint32_t order, const struct change *change) {
    struct profile *profile = counting->payloads->recording->profile;
    uint32_t row = find_space(counting, change->id);
    if (row == ID_NONE) return;
    struct space *space = value_table_at(&counting->spaces, row);
    space->sizes_bytes[change->kind] = change->size_bytes;
    if (process_is_none(space->process)) return;
    struct process_memory *process = &counting->processes[space->process.index];
    if (change->is_own) process->space = row;
    if (process->space != row) return;
    if (!process->counter) process->counter = add_counter(profile, space->process);
    struct counter_sample *sample = process->counter ? column_push(&process->counter->samples) : NULL;
    if (!sample) return;
    uint64_t size_bytes = 0;
    for (size_t i = 0; i < KIND_COUNT; i++) size_bytes += (uint64_t)space->sizes_bytes[i];
    *sample = (struct counter_sample){.time_ns = perf_payloads_sample(counting->payloads, order)->time_ns,
                                      .change = (int64_t)(size_bytes - (uint64_t)process->size_bytes)};
    process->size_bytes = (int64_t)size_bytes;
}

static void for_each_change(struct memory_counting *counting,
                            void (*use)(struct memory_counting *, uint32_t, const struct change *)) {
    struct perf_payloads *payloads = counting->payloads;
    for (uint32_t order = 0; order < payloads->recording->tasks.payload_count; order++) {
        const struct perf_series *series = perf_payloads_series(payloads, order);
        struct change change;
        if (series && is_rss_stat(perf_events_at(&payloads->recording->events, series->event)) &&
            find_change(payloads, order, &change))
            use(counting, order, &change);
    }
}

static bool has_rss_stat(const struct perf_events *events) {
    for (uint32_t i = 0; i < events->rows.count; i++)
        if (is_rss_stat(perf_events_at(events, i))) return true;
    return false;
}

void perf_memory_count(struct perf_payloads *payloads) {
    struct profile *profile = payloads->recording->profile;
    struct memory_counting counting = {.payloads = payloads};
    if (failure_is_set(profile->failure) || !has_rss_stat(&payloads->recording->events)) return;
    counting.processes =
        memory_allocate_zeroed(profile->failure, profile->processes.count + 1, sizeof *counting.processes);
    if (!counting.processes) return;
    for (size_t i = 0; i < profile->processes.count; i++) counting.processes[i].space = ID_NONE;
    value_table_init(&counting.spaces, sizeof(int64_t), sizeof(struct space), profile->failure);
    for_each_change(&counting, find_owner);
    for_each_change(&counting, count);
    value_table_fini(&counting.spaces);
    memory_free(counting.processes);
}
