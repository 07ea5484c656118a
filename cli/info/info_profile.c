#include "info_profile.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>
#include <stdlib.h>

#include "libconvert/base/id_column.h"
#include "libconvert/base/memory.h"
#include "libconvert/profile/time_range.h"
#include "libconvert/profile/weighed_sample.h"

static const double NS_PER_MS = 1e6;

static double ms_of(int64_t ns) { return ns == TIME_NONE ? NAN : (double)ns / NS_PER_MS; }

/* ---- Threads. ---- */

static struct text tid_text(struct info *info, const struct thread *thread) {
    if (thread->tid_text.bytes_count) return info_text(info, thread->tid_text);
    char tid[32];
    snprintf(tid, sizeof tid, "%" PRId64, thread->tid);
    return info_text(info, text_of(tid));
}

static void add_process(struct info *info, const struct process *from) {
    column_add(&info->processes,
               &(struct info_process){.pid = info_text(info, from->pid_text), .name = info_text(info, from->name)});
}

/* Counts a sample of the thread, with the processor time since the previous sample. */
static void count_sample(struct info *info, struct info_thread *thread, struct info_process *process, double weight,
                         double cpu, bool has_stack) {
    thread->sample_count++;
    process->sample_count++;
    info->sample_count++;
    if (!has_stack) info->stackless_count++;
    thread->weight += weight;
    process->weight += weight;
    info->weight += fabs(weight);
    thread->cpu += cpu;
    process->cpu += cpu;
    info->thread_cpu += cpu;
}

enum { PREFETCH_SAMPLES = 16 };

/* Sums over the samples, for each stack and function, and the durations of markers. */
struct tallies {
    double *self[INFO_SUM_COUNT]; /* by stack */
    double *waits;                /* weight of idle samples, by function */
    struct weighing weighing;
    struct column durations;       /* struct duration */
    struct column markers_by_name; /* struct info_marker *, by string id of the name; NULL: no marker has that name */
};

struct duration {
    double ms;
    uint32_t marker; /* number of a row */
};

/* Returns NULL if memory ran out (latched). */
static struct info_marker *marker_of(struct info *info, struct tallies *tallies, struct text name) {
    string_id id = strings_intern(&info->texts, name);
    struct info_marker **marker = string_is_none(id) ? NULL : id_column_at(&tallies->markers_by_name, id.index);
    if (!marker || *marker) return marker ? *marker : NULL;
    uint32_t row = (uint32_t)info->markers.count;
    *marker = column_push(&info->markers);
    if (*marker)
        **marker =
            (struct info_marker){.row = row, .name = strings_text(&info->texts, id), .median_ms = NAN, .p95_ms = NAN};
    return *marker;
}

/* Counts a marker of the last thread. The duration is NAN for markers that are not intervals. */
static void count_marker(struct info *info, struct tallies *tallies, struct text name, double duration_ms) {
    struct info_marker *marker = marker_of(info, tallies, name);
    struct info_thread *thread = column_at(&info->threads, info->threads.count - 1);
    if (!marker) return;
    marker->count++;
    thread->marker_count++;
    info->marker_count++;
    if (isnan(duration_ms) || !column_add(&tallies->durations, &(struct duration){duration_ms, marker->row})) return;
    marker->duration_count++;
}

/* The sums by stack are larger than caches, and the stacks of samples in no order. */
static void prefetch_tallies(const struct tallies *tallies, const struct samples *samples, uint32_t row) {
    if (row >= samples_count(samples)) return;
    uint32_t stack = samples_at(samples, row)->stack.index;
    if (stack == ID_NONE) return;
    __builtin_prefetch(&tallies->self[INFO_WEIGHT][stack], 1);
    __builtin_prefetch(&tallies->self[INFO_CPU][stack], 1);
}

/* Counts samples of the last thread. */
static void count_samples(struct info *info, const struct profile *profile, const struct samples *samples,
                          struct tallies *tallies) {
    struct info_thread *thread = column_at(&info->threads, info->threads.count - 1);
    struct info_process *process = column_at(&info->processes, thread->process);
    weighing_enter(&tallies->weighing, samples);
    for (uint32_t i = 0; i < samples_count(samples); i++) {
        prefetch_tallies(tallies, samples, i + PREFETCH_SAMPLES);
        struct weighed_sample sample = weighing_weigh(&tallies->weighing, samples, i);
        count_sample(info, thread, process, sample.weight, sample.cpu, !stack_is_none(sample.stack));
        if (stack_is_none(sample.stack)) continue;
        tallies->self[INFO_WEIGHT][sample.stack.index] += sample.weight;
        if (sample.working.index != sample.stack.index) {
            const struct stack *stack = profile_stack_at(profile, sample.stack);
            tallies->waits[profile_frame_at(profile, stack->frame)->func.index] += sample.weight;
            info->wait += fabs(sample.weight);
        }
        if (stack_is_none(sample.working)) continue;
        tallies->self[INFO_CPU][sample.working.index] += sample.cpu;
        info->cpu += sample.cpu;
    }
}

static void add_thread(struct info *info, const struct profile *profile, const struct thread *from,
                       struct tallies *tallies) {
    const struct text name = from->is_main ? profile_process_at(profile, from->process)->title : from->name;
    struct info_thread *thread = column_push(&info->threads);
    if (!thread) return;
    *thread = (struct info_thread){.process = info->processes.count - 1,
                                   .tid = tid_text(info, from),
                                   .name = info_text(info, name),
                                   .is_main = from->is_main,
                                   .start_ms = ms_of(from->start_ns),
                                   .end_ms = ms_of(from->end_ns),
                                   .allocation_count = from->allocations.count};
    ((struct info_process *)column_at(&info->processes, thread->process))->thread_count++;
    info->allocation_count += from->allocations.count;
    count_samples(info, profile, &from->samples, tallies);
    COLUMN_EACH(const struct marker, marker, &from->markers) {
        bool is_interval = marker->phase == MARKER_INTERVAL;
        count_marker(info, tallies, strings_text(&profile->strings, marker->name),
                     is_interval ? (double)(marker->end_ns - marker->start_ns) / NS_PER_MS : (double)NAN);
    }
    COLUMN_EACH(const struct allocation, allocation, &from->allocations) {
        if (allocation->bytes <= 0) continue;
        bool has_stack = !stack_is_none(allocation->stack);
        double *sum = has_stack ? &tallies->self[INFO_ALLOCATED][allocation->stack.index] : &info->stackless_bytes;
        *sum += (double)allocation->bytes;
        info->allocated += (double)allocation->bytes;
    }
}

static void add_threads(struct info *info, const struct profile *profile, struct tallies *tallies) {
    process_id last = process_none();
    for (size_t i = 0; i < profile->thread_order.count && !failure_is_set(info->failure); i++) {
        const struct thread *thread = profile_ordered_thread(profile, i);
        if (!process_is_same(thread->process, last)) add_process(info, profile_process_at(profile, thread->process));
        last = thread->process;
        if (!failure_is_set(info->failure) && !thread_is_track(thread)) add_thread(info, profile, thread, tallies);
    }
}

/* ---- Durations. ---- */

static int compare_numbers(const void *a, const void *b) { return ORDER(*(const double *)a, *(const double *)b); }

/* Returns the value at or below which that many percent of the sorted values are. */
static double percentile(const double *values, uint64_t count, unsigned percent) {
    return values[(count * percent + 99) / 100 - 1];
}

static struct info_marker *marker_at(struct info *info, size_t row) { return column_at(&info->markers, row); }

/* Takes the durations of the marker from the start of the array. */
static void summarize(struct info_marker *marker, double *durations_ms) {
    uint64_t count = marker->duration_count;
    if (!count) return;
    qsort(durations_ms, count, sizeof *durations_ms, compare_numbers);
    for (uint64_t i = 0; i < count; i++) marker->sum_ms += durations_ms[i];
    marker->median_ms = percentile(durations_ms, count, 50);
    marker->p95_ms = percentile(durations_ms, count, 95);
}

static void summarize_durations(struct info *info, const struct column *durations) {
    size_t marker_count = info->markers.count;
    double *grouped = memory_allocate(info->failure, (durations->count + 1) * sizeof *grouped);
    double **next = memory_allocate(info->failure, (marker_count + 1) * sizeof *next);
    if (grouped && next) {
        next[0] = grouped;
        for (size_t i = 0; i < marker_count; i++) next[i + 1] = next[i] + marker_at(info, i)->duration_count;
        COLUMN_EACH(const struct duration, duration, durations) *next[duration->marker]++ = duration->ms;
        for (size_t i = 0; i < marker_count; i++)
            summarize(marker_at(info, i), next[i] - marker_at(info, i)->duration_count);
    }
    MEMORY_FREE_ALL(next, grouped);
}

/* ---- Functions. ---- */

static void name_function(struct info *info, const struct profile *profile, uint32_t row) {
    const struct func *func = profile_func_at(profile, (func_id){row});
    struct info_function *function = column_at(&info->functions, row);
    function->name = info_text(info, strings_text(&profile->strings, func->name));
    if (!resource_is_none(func->resource))
        function->library =
            info_text(info, strings_text(&profile->strings, profile_resource_at(profile, func->resource)->name));
    if (!source_is_none(func->source))
        function->file =
            info_text(info, strings_text(&profile->strings, profile_source_at(profile, func->source)->filename));
}

static void name_functions(struct info *info, const struct profile *profile) {
    for (enum info_order order = INFO_FUNCTIONS_BY_SELF; order <= INFO_WAITS; order++)
        for (size_t i = 0; i < info->lists[order].count; i++) name_function(info, profile, info->lists[order].rows[i]);
}

static void weigh(struct info *info, const struct profile *profile, struct call_node *nodes,
                  const struct tallies *tallies) {
    if (!info->top_count) return;
    uint32_t stack_count = stack_table_count(&profile->stacks), func_count = row_table_count(&profile->funcs);
    for (uint32_t i = 0; i < stack_count; i++) {
        const struct stack *stack = profile_stack_at(profile, (stack_id){i});
        nodes[i] = (struct call_node){stack->prefix.index, profile_frame_at(profile, stack->frame)->func.index};
    }
    for (uint32_t i = 0; i < func_count; i++)
        column_add(&info->functions, &(struct info_function){.wait = tallies->waits[i]});
    struct outermost_nodes outermost;
    outermost_nodes_find(&outermost, nodes, stack_count, func_count, info->failure);
    for (enum info_sum sum = 0; sum < INFO_SUM_COUNT && !failure_is_set(info->failure); sum++) {
        struct function_weights *weights = memory_allocate_zeroed(info->failure, func_count, sizeof *weights);
        if (weights) totals_add(weights, &outermost, tallies->self[sum], info->failure);
        for (uint32_t i = 0; weights && i < func_count; i++)
            ((struct info_function *)column_at(&info->functions, i))->sums[sum] = weights[i];
        memory_free(weights);
    }
    outermost_nodes_fini(&outermost);
}

static void add_threads_and_functions(struct info *info, const struct profile *profile) {
    size_t stack_count = stack_table_count(&profile->stacks);
    struct failure *failure = info->failure;
    struct call_node *nodes = memory_allocate(failure, stack_count * sizeof *nodes);
    struct tallies tallies = {
        .waits = memory_allocate_zeroed(failure, row_table_count(&profile->funcs), sizeof *tallies.waits)};
    weighing_init(&tallies.weighing, profile);
    column_init(&tallies.durations, sizeof(struct duration), failure);
    column_init(&tallies.markers_by_name, sizeof(struct info_marker *), failure);
    info->cpu_unit = profile_cpu_unit(profile);
    for (enum info_sum sum = 0; sum < INFO_SUM_COUNT; sum++)
        tallies.self[sum] = memory_allocate_zeroed(failure, stack_count, sizeof *tallies.self[sum]);
    if (!failure_is_set(failure)) {
        add_threads(info, profile, &tallies);
        summarize_durations(info, &tallies.durations);
        weigh(info, profile, nodes, &tallies);
        info_rank(info);
        name_functions(info, profile);
    }
    weighing_fini(&tallies.weighing);
    COLUMNS_FINI(&tallies.markers_by_name, &tallies.durations);
    memory_free(tallies.waits);
    for (enum info_sum sum = 0; sum < INFO_SUM_COUNT; sum++) memory_free(tallies.self[sum]);
    memory_free(nodes);
}

/* ---- Counters, facts, and the whole profile. ---- */

/* Counts a sample of the counter. Call this in the order of time. */
static void count_change(struct info_counter *counter, double time_ms, double change) {
    static const double MS_PER_S = 1000;
    bool is_first = !counter->sample_count++;
    double elapsed_ms = time_ms - counter->last_ms;
    counter->change += change;
    counter->last_ms = time_ms;
    if (!is_first) counter->level += change;
    if (counter->is_rate && (is_first || !(elapsed_ms > 0))) return;
    double shown = counter->is_rate ? change / elapsed_ms * MS_PER_S : counter->level;
    if (shown < counter->lowest) counter->lowest = shown;
    if (shown > counter->highest) counter->highest = shown;
}

static void add_counters(struct info *info, const struct profile *profile) {
    COLUMN_EACH(const struct counter, from, &profile->counters) {
        struct info_counter *counter = column_push(&info->counters);
        if (!counter) return;
        *counter = (struct info_counter){.pid = info_text(info, profile_process_at(profile, from->process)->pid_text),
                                         .name = info_text(info, counter_visible_name(from)),
                                         .category = info_text(info, from->category),
                                         .unit = info_text(info, from->unit),
                                         .is_rate = from->graph == COUNTER_RATE,
                                         .lowest = INFINITY,
                                         .highest = -INFINITY};
        COLUMN_EACH(const struct counter_sample, sample, &from->samples)
            count_change(counter, ms_of(sample->time_ns), (double)sample->change);
    }
}

/* ---- The levels of counters of several processes together. ---- */

struct level_part {
    const struct counter *counter;
    struct info_counter *info;
};

/* Orders counters by name and unit. */
static int compare_parts(const void *left, const void *right) {
    const struct level_part *a = left, *b = right;
    return text_compare(a->info->name, b->info->name) ?: text_compare(a->info->unit, b->info->unit);
}

/* Appends the changes of the level. The level returns to 0 when the process ends. */
static void add_changes(struct counter *sum, const struct profile *profile, const struct counter *counter) {
    int64_t end_ns = profile_process_at(profile, counter->process)->end_ns;
    struct counter_sample end = {.time_ns = end_ns};
    for (size_t i = 1; i < counter->samples.count; i++) {
        const struct counter_sample *sample = column_at(&counter->samples, i);
        column_add(&sum->samples, sample);
        end.change = (int64_t)((uint64_t)end.change - (uint64_t)sample->change);
        if (sample->time_ns > end.time_ns) end.time_ns = sample->time_ns;
    }
    if (end_ns != TIME_NONE) column_add(&sum->samples, &end);
}

static double highest_level(struct counter *sum) {
    double level = 0, highest = 0;
    counter_order(sum);
    for (size_t i = 0; i < sum->samples.count; i++) {
        level += (double)((const struct counter_sample *)column_at(&sum->samples, i))->change;
        highest = fmax(highest, level);
    }
    return highest;
}

static double highest_together(struct info *info, const struct profile *profile, const struct level_part *parts,
                               size_t count) {
    struct counter sum = {0};
    if (count == 1) return isfinite(parts->info->highest) ? parts->info->highest : 0;
    column_init(&sum.samples, sizeof(struct counter_sample), info->failure);
    for (size_t i = 0; i < count; i++) add_changes(&sum, profile, parts[i].counter);
    double highest = highest_level(&sum);
    column_fini(&sum.samples);
    return highest;
}

static void add_levels(struct info *info, const struct profile *profile) {
    size_t part_count = 0, end;
    struct level_part *parts = memory_allocate(info->failure, info->counters.count * sizeof *parts);
    if (!parts) return;
    for (size_t i = 0; i < info->counters.count; i++) {
        struct info_counter *counter = column_at(&info->counters, i);
        if (!counter->is_rate) parts[part_count++] = (struct level_part){column_at(&profile->counters, i), counter};
    }
    memory_sort(info->failure, parts, part_count, sizeof *parts, compare_parts);
    for (size_t first = 0; first < part_count; first = end) {
        const struct info_counter *same = parts[first].info;
        for (end = first + 1; end < part_count; end++)
            if (!text_equal(parts[end].info->name, same->name) || !text_equal(parts[end].info->unit, same->unit)) break;
        parts[first].info->highest_together = highest_together(info, profile, &parts[first], end - first);
    }
    memory_free(parts);
}

static void add_fact(struct info *info, struct text section, struct text label, struct text value) {
    column_add(&info->facts,
               &(struct info_fact){info_text(info, section), info_text(info, label), info_text(info, value)});
}

/* Leaves out what the ledger reports, which is shown separately. */
static void add_facts(struct info *info, const struct profile_meta *meta) {
    struct text origin = TEXT("recording");
    const struct {
        const char *label;
        struct text value;
    } known[] = {
        {"made by", meta->imported_from}, {"arguments", meta->arguments}, {"processor", meta->cpu_name},
        {"system", meta->os_cpu},         {"platform", meta->platform},   {"device", meta->device},
    };
    for (size_t i = 0; i < sizeof known / sizeof *known; i++)
        if (known[i].value.bytes_count) add_fact(info, origin, text_of(known[i].label), known[i].value);
    for (size_t i = 0; i < meta->read_extra_count; i++) {
        const struct extra_entry *entry = column_at(&meta->extra, i);
        if (meta->was_profile || !text_equal(entry->section, TEXT(LEDGER_SECTION)))
            add_fact(info, entry->section, entry->label, entry->value);
    }
}

void info_fill_from_profile(void *context, const struct profile *profile) {
    struct info *info = context;
    const struct profile_meta *meta = &profile->meta;
    info->product = info_text(info, meta->product);
    info->weight_unit = info_text(info, profile_weight_unit(meta));
    bool is_of_several = profile_extra(profile, TEXT(RUNS_SECTION), TEXT(INTERVALS_LABEL)).bytes_count;
    info->interval_ms = is_of_several ? 0 : ms_of(meta->interval_ns);
    info->duration_ms = ms_of(profile_shown_end(profile) - profile->start_ns);
    info->start_time_ms = meta->start_time_ms;
    info->has_times = meta->has_times;
    info->stack_count = stack_table_count(&profile->stacks);
    info->frame_count = row_table_count(&profile->frames);
    info->function_count = row_table_count(&profile->funcs);
    info->lib_count = libs_count(&profile->libs);
    add_threads_and_functions(info, profile);
    add_counters(info, profile);
    add_levels(info, profile);
    add_facts(info, meta);
}
