/* Filters of profiles and of recorder traces. They act after everything is read, because the names, processes and times
 * of threads come in any order. */
#include "filter.h"
#include "libconvert/base/memory.h"
#include "libconvert/profile/weighed_sample.h"

static struct time_range range_of_samples(const struct profile *profile) {
    struct time_range range = TIME_RANGE_EMPTY;
    for (uint32_t i = 0; i < profile->threads.count; i++) {
        const struct samples *samples = &profile_thread_at(profile, (thread_id){i})->samples;
        COLUMN_EACH(const struct sample, sample, &samples->rows) time_range_add(&range, sample->time_ns);
    }
    return range;
}

/* ---- Waits that are partly kept. ---- */

/* Returns whether the samples are the start and the end of a wait. Together they weigh the time between them. Profiles
 * have rounded times. */
static bool is_wait(const struct weighing *weighing, const struct sample *start, const struct sample *end) {
    enum { ROUNDED_NS = 1000 };
    if (start->stack.index != end->stack.index || !weighing_is_resting(weighing, start->stack)) return false;
    double weight_ms =
        profile_weight_of(weighing->profile, start->weight) + profile_weight_of(weighing->profile, end->weight);
    double left_ns = weight_ms * 1e6 - ((double)end->time_ns - (double)start->time_ns);
    return left_ns >= -ROUNDED_NS && left_ns <= ROUNDED_NS;
}

static void cut_wait(const struct filter *filter, struct profile *profile, struct sample *start, struct sample *end) {
    int64_t length_ns = filter_length_ns(filter, start->time_ns, end->time_ns);
    filter_cut(filter, &start->time_ns, &end->time_ns);
    start->weight = profile_weight_encode(profile, (struct decimal){.mantissa = length_ns - length_ns / 2});
    end->weight = profile_weight_encode(profile, (struct decimal){.mantissa = length_ns / 2});
}

/* A wait is in each part of the time that it crosses, even if it neither starts nor ends there. */
static void cut_waits(const struct filter *filter, struct profile *profile) {
    struct weighing weighing;
    if (!filter_has(filter, GECKO_CONVERT_FILTER_TIME) || profile->meta.weight_type != WEIGHT_TRACING_MS) return;
    weighing_init(&weighing, profile);
    for (uint32_t i = 0; i < profile->threads.count && weighing.idle_stacks; i++) {
        struct samples *samples = &profile_thread_at(profile, (thread_id){i})->samples;
        for (uint32_t j = 1; j < samples_count(samples); j++) {
            struct sample *start = samples_at(samples, j - 1), *end = samples_at(samples, j);
            if (!is_wait(&weighing, start, end)) continue;
            cut_wait(filter, profile, start, end);
            j++; /* the end of a wait is not the start of another one */
        }
    }
    weighing_fini(&weighing);
}

/* ---- What belongs to threads. ---- */

static bool keeps(struct filter *filter, const struct profile *profile, thread_id thread, int64_t time_ns,
                  enum gecko_convert_unit unit) {
    struct filter_subject subject = filter_subject_of(profile, thread);
    subject.start_ns = subject.end_ns = time_ns;
    unsigned kind = filter_judge(filter, &subject);
    if (kind != FILTER_NONE) filter_count(filter, kind, unit, 1, (struct position){0});
    return kind == FILTER_NONE;
}

static void move_detail(struct column *column, uint32_t from, uint32_t to) {
    if (column->count) *(int64_t *)column_at(column, to) = *(const int64_t *)column_at(column, from);
}

static void filter_samples(struct filter *filter, struct profile *profile, thread_id id) {
    struct samples *samples = &profile_thread_at(profile, id)->samples;
    uint32_t kept_count = 0;
    for (uint32_t i = 0; i < samples_count(samples); i++) {
        const struct sample *sample = samples_at(samples, i);
        if (!keeps(filter, profile, id, sample->time_ns, LEDGER_SAMPLES)) continue;
        *samples_at(samples, kept_count) = *sample;
        if (samples->details) move_detail(&samples->details->cpu_ns, i, kept_count);
        if (samples->details) move_detail(&samples->details->delay_ns, i, kept_count);
        kept_count++;
    }
    samples->rows.count = kept_count;
    if (!samples->details) return;
    if (samples->details->cpu_ns.count) samples->details->cpu_ns.count = kept_count;
    if (samples->details->delay_ns.count) samples->details->delay_ns.count = kept_count;
}

static void filter_markers(struct filter *filter, struct profile *profile, thread_id id) {
    struct column *markers = &profile_thread_at(profile, id)->markers;
    uint32_t kept_count = 0;
    COLUMN_EACH(struct marker, marker, markers) {
        if (!filter_keeps_marker(filter, profile, id, &marker->start_ns, &marker->end_ns)) continue;
        *(struct marker *)column_at(markers, kept_count++) = *marker;
    }
    markers->count = kept_count;
}

static void filter_allocations(struct filter *filter, struct profile *profile, thread_id id) {
    struct column *allocations = &profile_thread_at(profile, id)->allocations;
    uint32_t kept_count = 0;
    COLUMN_EACH(const struct allocation, allocation, allocations)
        if (keeps(filter, profile, id, allocation->time_ns, LEDGER_RECORDS))
            *(struct allocation *)column_at(allocations, kept_count++) = *allocation;
    allocations->count = kept_count;
}

/* ---- What belongs to processes. ---- */

/* Returns, for each process, a thread that the filters of threads keep; none if there is none. If some threads of a
 * process have anything to show, its empty threads are ignored: a recorder's own thread must not keep the counters of
 * its process. Free the array with memory_free. NULL if memory ran out (latched). */
static thread_id *kept_threads(const struct filter *filter, const struct profile *profile) {
    thread_id *kept = memory_allocate(profile->failure, profile->processes.count * sizeof *kept);
    bool *are_shown = memory_allocate_zeroed(profile->failure, profile->processes.count, sizeof *are_shown);
    for (size_t i = 0; kept && i < profile->processes.count; i++) kept[i] = thread_none();
    for (uint32_t i = 0; are_shown && i < profile->threads.count; i++) {
        const struct thread *thread = profile_thread_at(profile, (thread_id){i});
        are_shown[thread->process.index] |= thread_has_content(thread);
    }
    for (uint32_t i = 0; kept && are_shown && i < profile->threads.count; i++) {
        const struct thread *thread = profile_thread_at(profile, (thread_id){i});
        struct filter_subject subject = filter_subject_of(profile, (thread_id){i});
        subject.start_ns = INT64_MIN;
        subject.end_ns = INT64_MAX;
        bool counts = thread_has_content(thread) == are_shown[thread->process.index];
        if (counts && filter_judge(filter, &subject) == FILTER_NONE) kept[thread->process.index] = (thread_id){i};
    }
    memory_free(are_shown);
    return kept;
}

/* The first sample that is kept of an accumulated counter gets the changes of those before it, too. */
static void filter_counter(struct filter *filter, const struct profile *profile, struct counter *counter,
                           thread_id thread) {
    uint32_t kept_count = 0;
    int64_t sum = 0;
    for (uint32_t i = 0; i < counter->samples.count; i++) {
        struct counter_sample sample = *(const struct counter_sample *)column_at(&counter->samples, i);
        int64_t start_ns = sample.time_ns, end_ns = sample.time_ns;
        struct filter_subject subject = filter_subject_of(profile, thread);
        subject.start_ns = start_ns;
        subject.end_ns = end_ns;
        if (filter_judge(filter, &subject) != FILTER_NONE) {
            if (__builtin_add_overflow(sum, sample.change, &sum)) sum = 0;
            continue;
        }
        bool continues = counter->graph == COUNTER_ACCUMULATED && !kept_count;
        if (continues && __builtin_add_overflow(sample.change, sum, &sample.change)) sample.change = 0;
        *(struct counter_sample *)column_at(&counter->samples, kept_count++) = sample;
    }
    counter->samples.count = kept_count;
}

static void filter_counters(struct filter *filter, struct profile *profile, const thread_id *kept) {
    uint32_t kept_count = 0;
    COLUMN_EACH(struct counter, counter, &profile->counters) {
        thread_id thread = kept[counter->process.index];
        if (!thread_is_none(thread)) filter_counter(filter, profile, counter, thread);
        if (thread_is_none(thread) || !counter->samples.count)
            column_fini(&counter->samples);
        else
            *(struct counter *)column_at(&profile->counters, kept_count++) = *counter;
    }
    profile->counters.count = kept_count;
}

static void filter_overheads(const struct filter *filter, struct profile *profile, const thread_id *kept) {
    uint32_t kept_count = 0;
    COLUMN_EACH(const struct overhead, overhead, &profile->overheads) {
        thread_id thread = kept[overhead->process.index];
        if (thread_is_none(thread)) continue;
        struct filter_subject subject = filter_subject_of(profile, thread);
        subject.start_ns = subject.end_ns = overhead->time_ns;
        if (filter_judge(filter, &subject) == FILTER_NONE)
            *(struct overhead *)column_at(&profile->overheads, kept_count++) = *overhead;
    }
    profile->overheads.count = kept_count;
}

/* After filtering, a process without content must not be shown as one whose content was lost. */
static void forget_empty_processes(struct profile *profile) {
    for (size_t i = 0; i < profile->processes.count; i++)
        ((struct process *)column_at(&profile->processes, i))->has_lost_content = false;
}

/* Besides the samples that were read, there are some where threads begin and stop waiting. */
static void account_for_waits(struct profile *profile) {
    uint64_t count = 0, known_count = ledger_sum(&profile->ledger, LEDGER_SAMPLES, LEDGER_KEPT);
    COLUMN_EACH(const struct thread, thread, &profile->threads) count += samples_count(&thread->samples);
    if (count > known_count)
        ledger_account(&profile->ledger, LEDGER_SAMPLES, LEDGER_KEPT,
                       TEXT("sample where a thread begins or stops waiting"), count - known_count, NULL);
}

void filter_profile(struct filter *filter, struct profile *profile) {
    const struct time_range events = profile_events(profile);
    filter->range = range_of_samples(profile);
    if (time_range_is_empty(&filter->range)) filter->range = events;
    if (!time_range_is_empty(&filter->range)) filter_start(filter, filter->range.first_ns, profile->failure);
    thread_id *kept = failure_is_set(profile->failure) ? NULL : kept_threads(filter, profile);
    if (!kept) return;
    if (filter->follows_reading) account_for_waits(profile);
    cut_waits(filter, profile);
    filter_counters(filter, profile, kept);
    filter_overheads(filter, profile, kept);
    for (uint32_t i = 0; i < profile->threads.count; i++) {
        filter_samples(filter, profile, (thread_id){i});
        filter_markers(filter, profile, (thread_id){i});
        filter_allocations(filter, profile, (thread_id){i});
    }
    forget_empty_processes(profile);
    filter_cut_recording(filter, profile, events.last_ns);
    filter_enter(filter, &profile->ledger);
    memory_free(kept);
}
