#include "weighed_sample.h"

#include <math.h>

#include "libconvert/base/memory.h"

static const double NS_PER_MS = 1e6;

static double cpu_of(const struct profile *profile, const struct samples *samples, uint32_t row, bool is_idle) {
    enum cpu_delta_unit unit = profile->meta.cpu_delta_unit;
    if (row == 0) return 0;
    if (!profile_are_weights_cpu(profile)) {
        int64_t cpu = samples_cpu_ns(samples, row);
        double known = cpu == TIME_NONE ? 0 : (double)cpu;
        return unit == CPU_DELTA_CYCLES ? known : known / NS_PER_MS;
    }
    struct decimal delta = profile_weight_decode(profile, samples_at(samples, row)->weight);
    if (is_idle || delta.mantissa <= 0) return 0;
    double value = decimal_to_double(delta);
    return unit == CPU_DELTA_NS ? value / NS_PER_MS : value;
}

static bool is_preempting(const struct profile *profile, func_id func) {
    return text_equal(strings_text(&profile->strings, profile_func_at(profile, func)->name), PREEMPTED_FRAME);
}

void weighing_init(struct weighing *weighing, const struct profile *profile) {
    struct text meaning = profile_extra(profile, TEXT(WEIGHT_SECTION), TEXT(WEIGHT_LABEL));
    *weighing = (struct weighing){.profile = profile, .idle_stacks = profile_idle_stacks(profile)};
    weighing->has_times = profile->meta.weight_type == WEIGHT_TRACING_MS &&
                          profile->meta.cpu_delta_unit == CPU_DELTA_NONE && text_equal(meaning, TEXT(WEIGHT_IS_TIME));
    for (uint32_t i = 0; i < row_table_count(&profile->funcs) && !weighing->has_preempted; i++)
        weighing->has_preempted = is_preempting(profile, (func_id){i});
}

void weighing_fini(struct weighing *weighing) { memory_free(weighing->idle_stacks); }

static int64_t weight_ns_at(const struct profile *profile, const struct samples *samples, uint32_t row) {
    return profile_weight_decode(profile, samples_at(samples, row)->weight).mantissa;
}

/* Returns whether each sample weighs the same, or as much as several that were joined. */
static bool are_weights_intervals(const struct profile *profile, const struct samples *samples) {
    uint32_t count = samples_count(samples);
    int64_t least_ns = INT64_MAX;
    for (uint32_t i = 0; i < count; i++) {
        int64_t weight_ns = weight_ns_at(profile, samples, i);
        if (weight_ns < least_ns) least_ns = weight_ns;
    }
    bool are_intervals = count > 1 && least_ns > 0;
    for (uint32_t i = 0; i < count && are_intervals; i++)
        are_intervals = weight_ns_at(profile, samples, i) % least_ns == 0;
    return are_intervals;
}

bool weighing_is_resting(const struct weighing *weighing, stack_id stack) {
    const struct profile *profile = weighing->profile;
    if (stack_is_none(stack)) return false;
    if (profile_is_idle(weighing->idle_stacks, stack)) return true;
    if (!weighing->has_preempted) return false;
    return is_preempting(profile, profile_frame_at(profile, profile_stack_at(profile, stack)->frame)->func);
}

/* Returns whether the weights of the samples in which the thread ran are its processor time. */
static bool are_weights_cpu(const struct weighing *weighing, const struct samples *samples) {
    static const double TOLERANCE = 1e-3;
    double weight_ns = 0, cpu_ns = 0;
    for (uint32_t i = 0; i < samples_count(samples); i++) {
        int64_t known_ns = samples_cpu_ns(samples, i);
        if (known_ns != TIME_NONE) cpu_ns += (double)known_ns;
        if (weighing_is_resting(weighing, samples_at(samples, i)->stack)) continue;
        weight_ns += (double)weight_ns_at(weighing->profile, samples, i);
    }
    return fabs(weight_ns - cpu_ns) <= cpu_ns * TOLERANCE;
}

void weighing_enter(struct weighing *weighing, const struct samples *samples) {
    bool are_times = weighing->has_times && samples_have_cpu(samples) &&
                     (are_weights_cpu(weighing, samples) || !are_weights_intervals(weighing->profile, samples));
    weighing->timed = are_times ? samples : NULL;
}

struct weighed_sample weighing_weigh(const struct weighing *weighing, const struct samples *samples, uint32_t row) {
    const struct profile *profile = weighing->profile;
    const struct sample *sample = samples_at(samples, row);
    double weight = profile_weight_of(profile, sample->weight);
    double cpu = cpu_of(profile, samples, row, profile_is_idle(weighing->idle_stacks, sample->stack));
    stack_id working = sample->stack;
    while (weighing_is_resting(weighing, working)) working = profile_stack_at(profile, working)->prefix;
    double timed_cpu = working.index == sample->stack.index ? weight : 0;
    return (struct weighed_sample){.weight = weight,
                                   .cpu_since_last = cpu,
                                   .cpu = samples == weighing->timed ? timed_cpu : cpu,
                                   .stack = sample->stack,
                                   .working = working};
}

struct text profile_cpu_unit(const struct profile *profile) {
    if (profile->meta.cpu_delta_unit == CPU_DELTA_CYCLES) return TEXT("cycles");
    if (profile->meta.cpu_delta_unit == CPU_DELTA_NS) return TEXT("ms");
    for (size_t i = 0; i < profile->thread_order.count; i++)
        if (samples_have_cpu(&profile_ordered_thread(profile, i)->samples)) return TEXT("ms");
    return (struct text){0};
}
