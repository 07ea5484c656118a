#include "profile.h"

size_t profile_idle_category(const struct profile *profile) {
    const struct categories *categories = &profile->categories;
    size_t i = 0;
    while (i < categories->rows.count && !text_equal(categories_at(categories, i)->name, TEXT("Idle"))) i++;
    return i;
}

bool profile_is_idle(const struct profile *profile, stack_id stack, size_t idle_category) {
    if (idle_category >= profile->categories.rows.count) return false;
    for (; !stack_is_none(stack); stack = profile_stack_at(profile, stack)->prefix) {
        const struct frame *frame = profile_frame_at(profile, profile_stack_at(profile, stack)->frame);
        if (!frame->inherits_category) return frame->category == idle_category;
    }
    return false;
}

static bool are_evenly_spaced(const struct column *time_ns, int64_t interval_ns) {
    int64_t before_ns = 0;
    for (size_t i = 0, run_count; i < time_ns->count; i += run_count) {
        const int64_t *run = column_run(time_ns, i, &run_count);
        for (size_t j = 0; j < run_count; j++) {
            int64_t deviation_ns = run[j] - before_ns - interval_ns;
            bool is_even = deviation_ns <= interval_ns / 2 && deviation_ns >= -interval_ns / 2;
            if (i + j && !is_even) return false;
            before_ns = run[j];
        }
    }
    return true;
}

bool profile_is_evenly_sampled(const struct profile *profile) {
    if (!profile->meta.has_times) return false;
    for (size_t i = 0; i < profile->thread_order.count; i++)
        if (!are_evenly_spaced(&profile_ordered_thread(profile, i)->samples.time_ns, profile->meta.interval_ns))
            return false;
    return true;
}
