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

static bool are_evenly_spaced(const struct samples *samples, int64_t interval_ns) {
    for (uint32_t i = 1; i < samples_count(samples); i++) {
        int64_t deviation_ns = samples_at(samples, i)->time_ns - samples_at(samples, i - 1)->time_ns - interval_ns;
        if (deviation_ns > interval_ns / 2 || deviation_ns < -interval_ns / 2) return false;
    }
    return true;
}

bool profile_is_evenly_sampled(const struct profile *profile) {
    if (!profile->meta.has_times) return false;
    for (size_t i = 0; i < profile->thread_order.count; i++)
        if (!are_evenly_spaced(&profile_ordered_thread(profile, i)->samples, profile->meta.interval_ns)) return false;
    return true;
}
