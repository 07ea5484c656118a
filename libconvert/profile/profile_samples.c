#include "libconvert/base/memory.h"
#include "profile.h"

/* What a frame says of stacks whose innermost frame it is. */
enum frame_kind { FRAME_IS_BUSY, FRAME_IS_IDLE, FRAME_IS_AS_CALLER };

/* Returns the kind of each frame; NULL if memory ran out (latched). There are far fewer frames than stacks, and a byte
 * for each fits into a cache, where rows of frames do not. */
static uint8_t *kinds_of_frames(const struct profile *profile, size_t idle_category) {
    uint32_t count = row_table_count(&profile->frames);
    uint8_t *kinds = memory_allocate(profile->failure, count);
    for (uint32_t i = 0; kinds && i < count; i++) {
        const struct frame *frame = profile_frame_at(profile, (frame_id){i});
        bool is_idle = frame->category == idle_category;
        kinds[i] = frame->inherits_category ? FRAME_IS_AS_CALLER : is_idle ? FRAME_IS_IDLE : FRAME_IS_BUSY;
    }
    return kinds;
}

bool *profile_idle_stacks(const struct profile *profile) {
    const struct categories *categories = &profile->categories;
    size_t idle = 0;
    while (idle < categories->rows.count && !text_equal(categories_at(categories, idle)->name, TEXT("Idle"))) idle++;
    if (idle == categories->rows.count) return NULL;
    uint8_t *kinds = kinds_of_frames(profile, idle);
    uint32_t count = stack_table_count(&profile->stacks);
    bool *are_idle = kinds ? memory_allocate(profile->failure, count * sizeof *are_idle) : NULL;
    for (uint32_t i = 0; are_idle && i < count; i++) {
        const struct stack *stack = profile_stack_at(profile, (stack_id){i});
        enum frame_kind kind = kinds[stack->frame.index];
        are_idle[i] = kind == FRAME_IS_AS_CALLER ? profile_is_idle(are_idle, stack->prefix) : kind == FRAME_IS_IDLE;
    }
    memory_free(kinds);
    return are_idle;
}

static bool are_evenly_spaced(const struct samples *samples, int64_t interval_ns) {
    for (uint32_t i = 1; i < samples_count(samples); i++) {
        int64_t deviation_ns = samples_at(samples, i)->time_ns - samples_at(samples, i - 1)->time_ns - interval_ns;
        if (deviation_ns > interval_ns / 2 || deviation_ns < -interval_ns / 2) return false;
    }
    return true;
}

bool profile_has_running_times(const struct profile *profile) {
    if (profile->meta.has_every_state) return true;
    if (!profile->meta.has_times) return false;
    for (size_t i = 0; i < profile->thread_order.count; i++) {
        const struct thread *thread = profile_ordered_thread(profile, i);
        if (thread->merged_count || thread_is_track(thread)) continue;
        if (!are_evenly_spaced(&thread->samples, profile->meta.interval_ns)) return false;
    }
    return true;
}

void profile_spread_cpu_times(struct profile *profile) {
    bool *idle_stacks = profile_idle_stacks(profile);
    COLUMN_EACH(struct thread, thread, &profile->threads) {
        struct samples all, *samples = &thread->samples;
        uint32_t count = samples_count(samples);
        if (thread_is_track(thread)) continue;
        samples_init(&all, profile->failure);
        for (uint32_t j = 0; j < count && !failure_is_set(profile->failure); j++) {
            const struct sample *sample = samples_at(samples, j);
            struct decimal cpu_ns = profile_weight_decode(profile, sample->weight);
            if (profile_is_idle(idle_stacks, sample->stack)) cpu_ns = (struct decimal){0};
            samples_add(&all, sample->time_ns, sample->stack, sample->weight);
            samples_set_details(&all, cpu_ns.scale || cpu_ns.exponent ? TIME_NONE : cpu_ns.mantissa, TIME_NONE);
        }
        samples_fini(samples);
        *samples = all;
    }
    memory_free(idle_stacks);
}

void profile_give_weights(struct profile *profile) {
    if (profile->meta.weight_type != WEIGHT_ONE) return;
    if (profile_are_weights_cpu(profile)) {
        profile_spread_cpu_times(profile);
        profile->meta.has_cpu_apart = true;
    }
    profile->meta.weight_type = WEIGHT_SAMPLES;
    COLUMN_EACH(struct thread, thread, &profile->threads)
        for (uint32_t j = 0; !thread_is_track(thread) && j < samples_count(&thread->samples); j++)
            samples_at(&thread->samples, j)->weight = 1;
}
