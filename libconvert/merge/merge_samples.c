/* Decides whose samples a thread has that perf and the recorder both sampled: they would count twice. */
#include "libconvert/base/first_row.h"
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

/* When an input recorded a thread, of which it has samples. */
struct stretch {
    uint32_t thread; /* in the whole profile */
    struct time_range range;
    const struct profile *profile; /* borrowed: the input's */
    process_id process;            /* there */
};

static const struct stretch *stretch_at(const struct column *stretches, size_t number) {
    return column_at(stretches, number);
}

static int compare_stretches(const void *a, const void *b) { return ORDER_BY(struct stretch, thread, a, b); }

/* Returns when the input was recorded. Tasks whose start is known have existed in that time. */
static struct time_range recorded_range(const struct profile *profile) {
    struct time_range range = profile_events(profile);
    const struct recording_times *recording = &profile->recording;
    COLUMN_EACH(const struct thread, thread, &profile->threads) {
        if (thread->start_ns != TIME_NONE) time_range_add(&range, thread->start_ns);
        if (thread->end_ns != TIME_NONE) time_range_add(&range, thread->end_ns);
    }
    if (recording->start_ns != TIME_NONE) time_range_add(&range, recording->start_ns);
    if (recording->end_ns != TIME_NONE) time_range_add(&range, recording->end_ns);
    return range;
}

/* Adds a stretch for each sampled thread: the time of the recording in which it lived, and an interval on both sides.
 * For the recorder, a thread ends when it executes a program that does not record. */
static void add_stretches(struct column *stretches, const struct profile *profile, const thread_id *threads) {
    struct time_range all = recorded_range(profile);
    for (uint32_t i = 0; i < profile->threads.count; i++) {
        const struct thread *thread = profile_thread_at(profile, (thread_id){i});
        struct time_range range = {time_later(all.first_ns, thread->start_ns),
                                   time_earlier(all.last_ns, thread->end_ns)};
        range.first_ns = merge_difference(range.first_ns, profile->meta.interval_ns);
        range.last_ns = merge_sum(range.last_ns, profile->meta.interval_ns);
        const struct stretch stretch = {threads[i].index, range, profile, thread->process};
        if (samples_count(&thread->samples)) column_add(stretches, &stretch);
    }
}

static const struct paused_range *pause_at(const struct stretch *stretch, size_t row) {
    return column_at(&stretch->profile->paused_ranges, row);
}

static bool ends_after(const struct paused_range *pause, int64_t time_ns) {
    return pause->end_ns == TIME_NONE || pause->end_ns > time_ns;
}

/* While the recording of the process is paused, it has no samples that others would repeat. */
static bool is_paused(const struct stretch *stretch, int64_t time_ns) {
    size_t count, first = profile_rows_of_process(&stretch->profile->paused_ranges, stretch->process, &count);
    size_t next = first + FIRST_ROW(i, count, ends_after(pause_at(stretch, first + i), time_ns));
    return next < first + count && pause_at(stretch, next)->start_ns < time_ns;
}

/* `first` is the first stretch of that thread, if it has any. */
static bool is_within(const struct column *stretches, size_t first, uint32_t thread, int64_t time_ns) {
    for (size_t i = first; i < stretches->count; i++) {
        const struct stretch *stretch = stretch_at(stretches, i);
        if (stretch->thread != thread) return false;
        bool is_inside = time_ns >= stretch->range.first_ns && time_ns <= stretch->range.last_ns;
        if (is_inside && !is_paused(stretch, time_ns)) return true;
    }
    return false;
}

/* Drops the samples of threads that another input recorded at that time. */
static void drop_samples(struct merge_input *input, const thread_id *threads, const struct column *stretches) {
    struct profile *profile = &input->profile;
    struct ledger *ledger = &profile->ledger;
    struct text cause = input->is_recorder ? TEXT("sample of the recorder in a thread that perf sampled")
                                           : TEXT("sample of perf in a thread that the recorder sampled");
    uint64_t count = 0, periods = 0;
    for (uint32_t i = 0; i < profile->threads.count; i++) {
        struct samples kept, *samples = &profile_thread_at(profile, (thread_id){i})->samples;
        uint32_t thread = threads[i].index;
        size_t first = FIRST_ROW(j, stretches->count, stretch_at(stretches, j)->thread >= thread);
        if (first == stretches->count || stretch_at(stretches, first)->thread != thread) continue;
        samples_init(&kept, profile->failure);
        for (uint32_t row = 0; row < samples_count(samples) && !failure_is_set(profile->failure); row++) {
            const struct sample *sample = samples_at(samples, row);
            bool is_dropped = is_within(stretches, first, thread, sample->time_ns);
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
    ledger_take_kept(ledger, LEDGER_SAMPLES, LEDGER_LOST, cause, count);
    if (ledger->read[LEDGER_PERIODS]) ledger_take_kept(ledger, LEDGER_PERIODS, LEDGER_LOST, cause, periods);
}

void merge_choose_samples(struct merge *merge, const struct merge_tasks *tasks) {
    struct column stretches;
    bool keeps_recorder = prefers_recorder(merge);
    column_init(&stretches, sizeof(struct stretch), merge->failure);
    for (size_t i = 0; i < merge->input_count; i++)
        if (merge->inputs[i].is_recorder == keeps_recorder)
            add_stretches(&stretches, &merge->inputs[i].profile, tasks->threads + tasks->first_threads[i]);
    column_sort(&stretches, compare_stretches);
    for (size_t i = 0; i < merge->input_count && !failure_is_set(merge->failure); i++)
        if (merge->inputs[i].is_recorder != keeps_recorder)
            drop_samples(&merge->inputs[i], tasks->threads + tasks->first_threads[i], &stretches);
    column_fini(&stretches);
}
