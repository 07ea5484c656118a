#include "weighed_sample.h"

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

static bool is_preempted(const struct profile *profile, stack_id stack) {
    if (stack_is_none(stack)) return false;
    const struct frame *frame = profile_frame_at(profile, profile_stack_at(profile, stack)->frame);
    return text_equal(strings_text(&profile->strings, profile_func_at(profile, frame->func)->name), PREEMPTED_FRAME);
}

struct weighed_sample profile_weigh_sample(const struct profile *profile, const struct samples *samples, uint32_t row,
                                           const bool *idle_stacks) {
    const struct sample *sample = samples_at(samples, row);
    bool is_idle = profile_is_idle(idle_stacks, sample->stack);
    struct weighed_sample weighed = {.weight = profile_weight_of(profile, sample->weight),
                                     .cpu = cpu_of(profile, samples, row, is_idle),
                                     .stack = sample->stack,
                                     .working = sample->stack,
                                     .is_idle = is_idle};
    while (profile_is_idle(idle_stacks, weighed.working) || is_preempted(profile, weighed.working))
        weighed.working = profile_stack_at(profile, weighed.working)->prefix;
    return weighed;
}

struct text profile_cpu_unit(const struct profile *profile) {
    if (profile->meta.cpu_delta_unit == CPU_DELTA_CYCLES) return TEXT("cycles");
    if (profile->meta.cpu_delta_unit == CPU_DELTA_NS) return TEXT("ms");
    for (size_t i = 0; i < profile->thread_order.count; i++)
        if (samples_have_cpu(&profile_ordered_thread(profile, i)->samples)) return TEXT("ms");
    return (struct text){0};
}
