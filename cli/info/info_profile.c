#include "info_profile.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "libconvert/base/memory.h"
#include "libconvert/profile/time_range.h"
#include "libconvert/profile/weighed_sample.h"

static const double NS_PER_MS = 1e6;

static double ms_of(int64_t ns) { return ns == TIME_NONE ? NAN : (double)ns / NS_PER_MS; }

static double duration_ms(const struct profile *profile) {
    struct time_range range = TIME_RANGE_EMPTY;
    for (size_t i = 0; i < profile->thread_order.count; i++) {
        const struct thread *thread = profile_ordered_thread(profile, i);
        uint32_t sample_count = samples_count(&thread->samples);
        if (sample_count)
            time_range_extend(&range, samples_at(&thread->samples, 0)->time_ns,
                              samples_at(&thread->samples, sample_count - 1)->time_ns);
        for (size_t j = 0; j < thread->markers.count; j++) {
            const struct marker *marker = column_at(&thread->markers, j);
            bool is_end = marker->phase == MARKER_INTERVAL_END;
            time_range_extend(&range, is_end ? marker->end_ns : marker->start_ns, marker->end_ns);
        }
    }
    return range.first_ns > range.last_ns ? 0 : (double)(range.last_ns - range.first_ns) / NS_PER_MS;
}

/* ---- Threads. ---- */

static struct text tid_text(struct info *info, const struct thread *thread) {
    if (thread->tid_text.bytes_count) return info_text(info, thread->tid_text);
    char tid[32];
    snprintf(tid, sizeof tid, "%" PRId64, thread->tid);
    return info_text(info, text_of(tid));
}

static void add_process(struct info *info, const struct process *from) {
    struct info_process *process = info_add_process(info);
    if (!process) return;
    process->pid = info_text(info, from->pid_text);
    process->name = info_text(info, from->name);
}

/* Sums over the samples, for each stack and function. */
struct tallies {
    double *self[INFO_SUM_COUNT]; /* by stack */
    double *waits;                /* weight of idle samples, by function */
    struct weighing weighing;
};

static void count_samples(struct info *info, const struct profile *profile, const struct samples *samples,
                          const struct tallies *tallies) {
    for (uint32_t i = 0; i < samples_count(samples); i++) {
        struct weighed_sample sample = weighing_weigh(&tallies->weighing, samples, i);
        info_count_sample(info, sample.weight, sample.cpu, !stack_is_none(sample.stack));
        if (stack_is_none(sample.stack)) continue;
        tallies->self[INFO_WEIGHT][sample.stack.index] += sample.weight;
        if (sample.is_idle) {
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
                       const struct tallies *tallies) {
    struct info_thread *thread = info_add_thread(info);
    if (!thread) return;
    thread->tid = tid_text(info, from);
    thread->name = info_text(info, from->is_main ? profile_process_at(profile, from->process)->title : from->name);
    thread->is_main = from->is_main;
    thread->start_ms = ms_of(from->start_ns);
    thread->end_ms = ms_of(from->end_ns);
    thread->allocation_count = from->allocations.count;
    info->allocation_count += from->allocations.count;
    count_samples(info, profile, &from->samples, tallies);
    for (size_t i = 0; i < from->markers.count; i++) {
        const struct marker *marker = column_at(&from->markers, i);
        bool is_interval = marker->phase == MARKER_INTERVAL;
        info_count_marker(info, strings_text(&profile->strings, marker->name),
                          is_interval ? (double)(marker->end_ns - marker->start_ns) / NS_PER_MS : (double)NAN);
    }
    for (size_t i = 0; i < from->allocations.count; i++) {
        const struct allocation *allocation = column_at(&from->allocations, i);
        if (allocation->bytes <= 0 || stack_is_none(allocation->stack)) continue;
        tallies->self[INFO_ALLOCATED][allocation->stack.index] += (double)allocation->bytes;
        info->allocated += (double)allocation->bytes;
    }
}

static void add_threads(struct info *info, const struct profile *profile, const struct tallies *tallies) {
    process_id last = process_none();
    for (size_t i = 0; i < profile->thread_order.count && !failure_is_set(info->failure); i++) {
        const struct thread *thread = profile_ordered_thread(profile, i);
        if (!process_is_same(thread->process, last)) add_process(info, profile_process_at(profile, thread->process));
        last = thread->process;
        if (!failure_is_set(info->failure) && !thread_is_track(thread)) add_thread(info, profile, thread, tallies);
    }
}

/* ---- Functions. ---- */

static void add_functions(struct info *info, const struct profile *profile, const double *waits) {
    for (uint32_t i = 0; i < row_table_count(&profile->funcs); i++) {
        const struct func *func = profile_func_at(profile, (func_id){i});
        struct info_function *function = column_push(&info->functions);
        if (!function) return;
        *function = (struct info_function){.wait = waits[i]};
        function->name = info_text(info, strings_text(&profile->strings, func->name));
        if (!resource_is_none(func->resource))
            function->library =
                info_text(info, strings_text(&profile->strings, profile_resource_at(profile, func->resource)->name));
        if (!source_is_none(func->source))
            function->file =
                info_text(info, strings_text(&profile->strings, profile_source_at(profile, func->source)->filename));
    }
}

static void weigh(struct info *info, const struct profile *profile, struct call_node *nodes,
                  const struct tallies *tallies) {
    uint32_t stack_count = stack_table_count(&profile->stacks), func_count = row_table_count(&profile->funcs);
    for (uint32_t i = 0; i < stack_count; i++) {
        const struct stack *stack = profile_stack_at(profile, (stack_id){i});
        nodes[i] = (struct call_node){stack->prefix.index, profile_frame_at(profile, stack->frame)->func.index};
    }
    add_functions(info, profile, tallies->waits);
    for (enum info_sum sum = 0; sum < INFO_SUM_COUNT && !failure_is_set(info->failure); sum++) {
        struct function_weights *weights = memory_allocate_zeroed(info->failure, func_count, sizeof *weights);
        if (weights) totals_add(weights, func_count, nodes, tallies->self[sum], stack_count, info->failure);
        for (uint32_t i = 0; weights && i < func_count; i++)
            ((struct info_function *)column_at(&info->functions, i))->sums[sum] = weights[i];
        memory_free(weights);
    }
}

static void add_threads_and_functions(struct info *info, const struct profile *profile) {
    size_t stack_count = stack_table_count(&profile->stacks);
    struct failure *failure = info->failure;
    struct call_node *nodes = memory_allocate(failure, stack_count * sizeof *nodes);
    struct tallies tallies = {
        .waits = memory_allocate_zeroed(failure, row_table_count(&profile->funcs), sizeof *tallies.waits)};
    weighing_init(&tallies.weighing, profile);
    info->cpu_unit = profile_cpu_unit(profile);
    for (enum info_sum sum = 0; sum < INFO_SUM_COUNT; sum++)
        tallies.self[sum] = memory_allocate_zeroed(failure, stack_count, sizeof *tallies.self[sum]);
    if (!failure_is_set(failure)) {
        add_threads(info, profile, &tallies);
        weigh(info, profile, nodes, &tallies);
    }
    weighing_fini(&tallies.weighing);
    memory_free(tallies.waits);
    for (enum info_sum sum = 0; sum < INFO_SUM_COUNT; sum++) memory_free(tallies.self[sum]);
    memory_free(nodes);
}

/* ---- Counters, facts, and the whole profile. ---- */

static void add_counters(struct info *info, const struct profile *profile) {
    for (size_t i = 0; i < profile->counters.count; i++) {
        const struct counter *from = column_at(&profile->counters, i);
        struct info_counter *counter = info_add_counter(info);
        if (!counter) return;
        counter->pid = info_text(info, profile_process_at(profile, from->process)->pid_text);
        counter->name = info_text(info, counter_visible_name(from));
        counter->category = info_text(info, from->category);
        counter->unit = info_text(info, from->unit);
        counter->is_rate = from->graph == COUNTER_RATE;
        for (size_t j = 0; j < from->samples.count; j++) {
            const struct counter_sample *sample = column_at(&from->samples, j);
            info_count_change(counter, ms_of(sample->time_ns), (double)sample->change);
        }
    }
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
        if (known[i].value.bytes_count) info_add_fact(info, origin, text_of(known[i].label), known[i].value);
    for (size_t i = 0; i < meta->read_extra_count; i++) {
        const struct extra_entry *entry = column_at(&meta->extra, i);
        if (meta->was_profile || !text_equal(entry->section, TEXT(LEDGER_SECTION)))
            info_add_fact(info, entry->section, entry->label, entry->value);
    }
}

void info_fill_from_profile(struct info *info, const struct profile *profile) {
    const struct profile_meta *meta = &profile->meta;
    info->product = info_text(info, meta->product);
    info->weight_unit = info_text(info, profile_weight_unit(meta));
    info->interval_ms = ms_of(meta->interval_ns);
    info->duration_ms = duration_ms(profile);
    info->start_time_ms = meta->start_time_ms;
    info->has_times = meta->has_times;
    info->stack_count = stack_table_count(&profile->stacks);
    info->frame_count = row_table_count(&profile->frames);
    info->lib_count = libs_count(&profile->libs);
    add_threads_and_functions(info, profile);
    add_counters(info, profile);
    add_facts(info, meta);
    info_finish(info);
}
