/* Decides whose samples a thread has that perf and the recorder both sampled: they would count twice. */
#include <string.h>

#include "libconvert/base/memory.h"
#include "libconvert/profile/cut_stacks.h"
#include "merge_steps.h"

static bool has_cut_stacks(const struct merge_input *input) {
    const struct ledger *ledger = &input->profile.ledger;
    for (size_t i = 0; i < ledger->entries.count; i++)
        if (text_starts_with(ledger_at(ledger, i)->cause, TEXT(CUT_STACKS_CAUSE))) return true;
    return false;
}

/* perf's stacks also have the kernel, but without frame pointers they lack callers, which the recorder's have. */
static bool prefers_recorder(const struct merge *merge) {
    if (merge->samples != GECKO_CONVERT_SAMPLES_AUTO) return merge->samples == GECKO_CONVERT_SAMPLES_RECORDER;
    for (size_t i = 0; i < merge->input_count; i++)
        if (!merge->inputs[i].is_recorder && has_cut_stacks(&merge->inputs[i])) return true;
    return false;
}

static uint64_t period_of(const struct profile *profile, const struct sample *sample) {
    struct decimal weight = profile_weight_decode(profile, sample->weight);
    int64_t period;
    bool is_period = decimal_rescale(weight, weight.scale, &period) && !weight.scale && period > 0;
    return is_period ? (uint64_t)period : 0;
}

/* Returns when the input was recorded, from an interval before its first event. Tasks whose start is known have existed
 * in that time. */
static struct time_range recorded_range(const struct profile *profile) {
    struct time_range range = profile_events(profile);
    const struct recording_times *recording = &profile->recording;
    COLUMN_EACH(const struct thread, thread, &profile->threads) {
        if (thread->start_ns != TIME_NONE) time_range_add(&range, thread->start_ns);
        if (thread->end_ns != TIME_NONE) time_range_add(&range, thread->end_ns);
    }
    if (recording->start_ns != TIME_NONE) time_range_add(&range, recording->start_ns);
    if (recording->end_ns != TIME_NONE) time_range_add(&range, recording->end_ns);
    if (time_range_is_empty(&range)) return range;
    return (struct time_range){merge_difference(range.first_ns, profile->meta.interval_ns),
                               merge_sum(range.last_ns, profile->meta.interval_ns)};
}

/* Drops the samples within the range in threads that another input sampled then. */
static void drop_samples(struct merge_input *input, const thread_id *threads, const bool *are_sampled,
                         struct time_range range) {
    struct profile *profile = &input->profile;
    struct ledger *ledger = &profile->ledger;
    struct text cause = input->is_recorder ? TEXT("sample of the recorder in a thread that perf sampled")
                                           : TEXT("sample of perf in a thread that the recorder sampled");
    uint64_t count = 0, periods = 0;
    for (uint32_t i = 0; i < profile->threads.count; i++) {
        struct samples kept, *samples = &profile_thread_at(profile, (thread_id){i})->samples;
        if (!are_sampled[threads[i].index]) continue;
        samples_init(&kept, profile->failure);
        for (uint32_t row = 0; row < samples_count(samples) && !failure_is_set(profile->failure); row++) {
            const struct sample *sample = samples_at(samples, row);
            bool is_dropped = sample->time_ns >= range.first_ns && sample->time_ns <= range.last_ns;
            count += is_dropped;
            if (is_dropped) periods += period_of(profile, sample);
            if (is_dropped) continue;
            samples_add(&kept, sample->time_ns, sample->stack, sample->weight);
            samples_set_details(&kept, samples_cpu_ns(samples, row), samples_delay_ns(samples, row));
            samples_set_processor(&kept, samples_processor(samples, row));
        }
        samples_fini(samples);
        *samples = kept;
    }
    ledger_lose_kept(ledger, LEDGER_SAMPLES, cause, count);
    if (ledger->read[LEDGER_PERIODS]) ledger_lose_kept(ledger, LEDGER_PERIODS, cause, periods);
}

void merge_choose_samples(struct merge *merge, const struct merge_tasks *tasks, const struct profile *whole) {
    bool *are_sampled = memory_allocate(merge->failure, (whole->threads.count + 1) * sizeof *are_sampled);
    bool keeps_recorder = prefers_recorder(merge);
    for (size_t i = 0; are_sampled && i < merge->input_count; i++) {
        const struct merge_input *keeper = &merge->inputs[i];
        if (keeper->is_recorder != keeps_recorder) continue;
        memset(are_sampled, 0, whole->threads.count * sizeof *are_sampled);
        for (uint32_t j = 0; j < keeper->profile.threads.count; j++)
            if (samples_count(&profile_thread_at(&keeper->profile, (thread_id){j})->samples))
                are_sampled[tasks->threads[tasks->first_threads[i] + j].index] = true;
        struct time_range range = recorded_range(&keeper->profile);
        for (size_t j = 0; j < merge->input_count; j++)
            if (merge->inputs[j].is_recorder != keeps_recorder)
                drop_samples(&merge->inputs[j], tasks->threads + tasks->first_threads[j], are_sampled, range);
    }
    memory_free(are_sampled);
}
