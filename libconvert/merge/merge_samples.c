/* Decides whose samples a thread has that perf and the recorder both sampled: they would count twice. */
#include "libconvert/base/memory.h"
#include "libconvert/profile/cut_stacks.h"
#include "merge_steps.h"

/* The kinds of inputs from which a thread of the whole profile has samples. */
enum { FROM_PERF = 1, FROM_RECORDER = 2 };

static uint8_t kind_of(const struct merge_input *input) { return input->is_recorder ? FROM_RECORDER : FROM_PERF; }

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

static uint64_t sum_of_periods(const struct profile *profile, const struct samples *samples) {
    uint64_t sum = 0;
    for (uint32_t i = 0; i < samples_count(samples); i++) {
        struct decimal weight = profile_weight_decode(profile, samples_at(samples, i)->weight);
        int64_t period;
        if (decimal_rescale(weight, weight.scale, &period) && !weight.scale && period > 0) sum += (uint64_t)period;
    }
    return sum;
}

/* Drops the samples of threads that both kinds of inputs sampled. */
static void drop_samples(struct merge_input *input, const thread_id *threads, const uint8_t *sampled_by) {
    struct profile *profile = &input->profile;
    struct ledger *ledger = &profile->ledger;
    struct text cause = input->is_recorder ? TEXT("sample of the recorder in a thread that perf sampled")
                                           : TEXT("sample of perf in a thread that the recorder sampled");
    uint64_t count = 0, periods = 0;
    for (uint32_t i = 0; i < profile->threads.count; i++) {
        struct samples *samples = &profile_thread_at(profile, (thread_id){i})->samples;
        if (sampled_by[threads[i].index] != (FROM_PERF | FROM_RECORDER)) continue;
        count += samples_count(samples);
        periods += sum_of_periods(profile, samples);
        samples_fini(samples);
        samples_init(samples, profile->failure);
    }
    ledger_lose_kept(ledger, LEDGER_SAMPLES, cause, count);
    if (ledger->read[LEDGER_PERIODS]) ledger_lose_kept(ledger, LEDGER_PERIODS, cause, periods);
}

void merge_choose_samples(struct merge *merge, const struct merge_tasks *tasks, const struct profile *whole) {
    uint8_t *sampled_by = memory_allocate_zeroed(merge->failure, whole->threads.count + 1, sizeof *sampled_by);
    bool drops_perf = prefers_recorder(merge);
    for (size_t i = 0; sampled_by && i < merge->input_count; i++) {
        const struct merge_input *input = &merge->inputs[i];
        const thread_id *threads = tasks->threads + tasks->first_threads[i];
        for (uint32_t j = 0; j < input->profile.threads.count; j++)
            if (samples_count(&profile_thread_at(&input->profile, (thread_id){j})->samples))
                sampled_by[threads[j].index] |= kind_of(input);
    }
    for (size_t i = 0; sampled_by && i < merge->input_count; i++)
        if (merge->inputs[i].is_recorder != drops_perf)
            drop_samples(&merge->inputs[i], tasks->threads + tasks->first_threads[i], sampled_by);
    memory_free(sampled_by);
}
