#include "info_profile.h"

#include <inttypes.h>
#include <math.h>
#include <stdio.h>

#include "libconvert/memory.h"

static const double NS_PER_MS = 1e6;

static double ms_of(int64_t ns) { return ns == TIME_NONE ? NAN : (double)ns / NS_PER_MS; }

static double weight_of(const struct profile *profile, uint32_t encoded) {
    if (profile->meta.weight_type == WEIGHT_ONE) return 1;
    struct decimal weight = profile_weight_decode(profile, encoded);
    double value = (double)weight.mantissa;
    for (uint32_t i = 0; i < weight.scale; i++) value /= 10;
    return profile->meta.weight_type == WEIGHT_TRACING_MS ? value / NS_PER_MS : value;
}

static struct text weight_unit_of(const struct profile_meta *meta) {
    if (meta->weight_unit.bytes_count) return meta->weight_unit;
    if (meta->weight_type == WEIGHT_TRACING_MS) return TEXT("ms");
    return meta->weight_type == WEIGHT_BYTES ? TEXT("bytes") : TEXT("samples");
}

/* ---- Times. ---- */

struct range {
    int64_t first_ns;
    int64_t last_ns;
};

static void extend(struct range *range, int64_t start_ns, int64_t end_ns) {
    if (start_ns < range->first_ns) range->first_ns = start_ns;
    if (end_ns > range->last_ns) range->last_ns = end_ns;
}

static double duration_ms(const struct profile *profile) {
    struct range range = {INT64_MAX, INT64_MIN};
    for (size_t i = 0; i < profile->thread_order.count; i++) {
        const struct thread *thread = profile_ordered_thread(profile, i);
        uint32_t sample_count = samples_count(&thread->samples);
        const struct column *times_ns = &thread->samples.time_ns;
        if (sample_count)
            extend(&range, *(const int64_t *)column_at(times_ns, 0),
                   *(const int64_t *)column_at(times_ns, sample_count - 1));
        for (size_t j = 0; j < thread->markers.count; j++) {
            const struct marker *marker = column_at(&thread->markers, j);
            bool is_end = marker->phase == MARKER_INTERVAL_END;
            extend(&range, is_end ? marker->end_ns : marker->start_ns, marker->end_ns);
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

static void count_samples(struct info *info, const struct profile *profile, const struct samples *samples,
                          double *self) {
    for (uint32_t i = 0; i < samples_count(samples); i++) {
        stack_id stack = *(const stack_id *)column_at(&samples->stack, i);
        double weight = weight_of(profile, *(const uint32_t *)column_at(&samples->weight, i));
        info_count_sample(info, weight, !stack_is_none(stack));
        if (!stack_is_none(stack)) self[stack.index] += weight;
    }
}

static void add_thread(struct info *info, const struct profile *profile, const struct thread *from, double *self) {
    struct info_thread *thread = info_add_thread(info);
    if (!thread) return;
    thread->tid = tid_text(info, from);
    thread->name = info_text(info, from->name);
    thread->is_main = from->is_main;
    thread->start_ms = ms_of(from->start_ns);
    thread->end_ms = ms_of(from->end_ns);
    thread->allocation_count = from->allocations.count;
    info->allocation_count += from->allocations.count;
    count_samples(info, profile, &from->samples, self);
    for (size_t i = 0; i < from->markers.count; i++) {
        const struct marker *marker = column_at(&from->markers, i);
        info_count_marker(info, strings_text(&profile->strings, marker->name));
    }
}

static void add_threads(struct info *info, const struct profile *profile, double *self) {
    process_id last = process_none();
    for (size_t i = 0; i < profile->thread_order.count && !failure_is_set(info->failure); i++) {
        const struct thread *thread = profile_ordered_thread(profile, i);
        if (!process_is_same(thread->process, last)) add_process(info, profile_process_at(profile, thread->process));
        last = thread->process;
        if (!failure_is_set(info->failure)) add_thread(info, profile, thread, self);
    }
}

/* ---- Functions. ---- */

static void add_functions(struct info *info, const struct profile *profile, const struct function_weights *weights) {
    for (uint32_t i = 0; i < row_table_count(&profile->funcs); i++) {
        const struct func *func = profile_func_at(profile, (func_id){i});
        struct info_function *function = column_push(&info->functions);
        if (!function) return;
        *function = (struct info_function){.weights = weights[i]};
        function->name = info_text(info, strings_text(&profile->strings, func->name));
        if (!resource_is_none(func->resource))
            function->library =
                info_text(info, strings_text(&profile->strings, profile_resource_at(profile, func->resource)->name));
        if (!source_is_none(func->source))
            function->file =
                info_text(info, strings_text(&profile->strings, profile_source_at(profile, func->source)->filename));
    }
}

static void weigh(struct info *info, const struct profile *profile, struct call_node *nodes, const double *self,
                  struct function_weights *weights) {
    uint32_t stack_count = row_table_count(&profile->stacks);
    for (uint32_t i = 0; i < stack_count; i++) {
        const struct stack *stack = profile_stack_at(profile, (stack_id){i});
        nodes[i] = (struct call_node){stack->prefix.index, profile_frame_at(profile, stack->frame)->func.index};
    }
    totals_add(weights, row_table_count(&profile->funcs), nodes, self, stack_count, info->failure);
    if (!failure_is_set(info->failure)) add_functions(info, profile, weights);
}

static void add_threads_and_functions(struct info *info, const struct profile *profile) {
    size_t stack_count = row_table_count(&profile->stacks);
    double *self = memory_allocate_zeroed(info->failure, stack_count, sizeof *self);
    struct call_node *nodes = memory_allocate(info->failure, stack_count * sizeof *nodes);
    struct function_weights *weights =
        memory_allocate_zeroed(info->failure, row_table_count(&profile->funcs), sizeof *weights);
    if (self && nodes && weights) {
        add_threads(info, profile, self);
        weigh(info, profile, nodes, self, weights);
    }
    memory_free(weights);
    memory_free(nodes);
    memory_free(self);
}

/* ---- The rest. ---- */

static void add_counters(struct info *info, const struct profile *profile) {
    for (size_t i = 0; i < profile->counters.count; i++) {
        const struct counter *from = column_at(&profile->counters, i);
        struct info_counter *counter = info_add_counter(info);
        if (!counter) return;
        counter->pid = info_text(info, profile_process_at(profile, from->process)->pid_text);
        counter->name = info_text(info, from->name);
        counter->category = info_text(info, from->category);
        counter->unit = info_text(info, from->unit);
        counter->sample_count = from->samples.count;
        for (size_t j = 0; j < from->samples.count; j++)
            counter->change += (double)((const struct counter_sample *)column_at(&from->samples, j))->change;
    }
}

/* What the ledger says has its own place. */
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
    for (size_t i = 0; i < meta->extra.count; i++) {
        const struct extra_entry *entry = column_at(&meta->extra, i);
        if (!text_equal(entry->section, TEXT("Conversion")))
            info_add_fact(info, entry->section, entry->label, entry->value);
    }
}

void info_take_profile(struct info *info, const struct profile *profile) {
    const struct profile_meta *meta = &profile->meta;
    info->product = info_text(info, meta->product);
    info->weight_unit = info_text(info, weight_unit_of(meta));
    info->interval_ms = ms_of(meta->interval_ns);
    info->duration_ms = duration_ms(profile);
    info->start_time_ms = meta->start_time_ms;
    info->has_times = meta->has_times;
    info->stack_count = row_table_count(&profile->stacks);
    info->frame_count = row_table_count(&profile->frames);
    info->lib_count = libs_count(&profile->libs);
    add_threads_and_functions(info, profile);
    add_counters(info, profile);
    add_facts(info, meta);
}
