#include "perf_filter.h"

/* Fails if a filter looks at what the sample does not tell: no guess may decide what is kept. */
static void check_told(struct perf_recording *recording, const struct perf_occurrence *occurrence,
                       const struct perf_record *record) {
    const struct {
        enum gecko_convert_filter_kind kind;
        bool is_told;
        const char *advice;
    } rows[] = {
        {GECKO_CONVERT_FILTER_TIME, record->time_ns != TIME_NONE, "time; print it with perf script -F +time"},
        {GECKO_CONVERT_FILTER_PID, occurrence->task->pid != PID_UNKNOWN, "pid; print it with perf script -F +pid"},
        {GECKO_CONVERT_FILTER_CPU, occurrence->processor >= 0,
         "processor; record with perf record -a or --sample-cpu, and print it with perf script -F +cpu"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        if (!rows[i].is_told && filter_has(recording->filter, rows[i].kind))
            failure_set_at(recording->profile->failure, FAILURE_USAGE, record->position,
                           "--%s cannot be applied: this sample has no %s", filter_name(rows[i].kind), rows[i].advice);
}

static unsigned judge(const struct perf_recording *recording, const struct perf_task *task, int32_t processor,
                      int64_t start_ns, int64_t end_ns) {
    struct filter_subject subject = filter_subject_of(recording->profile, task->thread);
    subject.processor = processor;
    subject.start_ns = start_ns;
    subject.end_ns = end_ns;
    return filter_judge(recording->filter, &subject);
}

/* A thread that waits is on no processor, and a sum of waits is of no time. */
static unsigned judge_wait(const struct perf_recording *recording, const struct perf_occurrence *occurrence,
                           int64_t end_ns) {
    if (filter_has(recording->filter, GECKO_CONVERT_FILTER_CPU)) return GECKO_CONVERT_FILTER_CPU;
    bool is_sum = occurrence->time_ns == TIME_NONE;
    if (is_sum && filter_has(recording->filter, GECKO_CONVERT_FILTER_TIME)) return GECKO_CONVERT_FILTER_TIME;
    return judge(recording, occurrence->task, -1, occurrence->time_ns, is_sum ? TIME_NONE : end_ns);
}

static unsigned judge_sample(struct perf_recording *recording, const struct perf_occurrence *occurrence,
                             const struct perf_record *record) {
    bool is_of_wait = occurrence->event && occurrence->event->is_off_cpu_time;
    int64_t first_ns = is_of_wait ? record->time_ns : occurrence->time_ns;
    if (!is_of_wait) check_told(recording, occurrence, record);
    if (first_ns != TIME_NONE) filter_start(recording->filter, first_ns, recording->profile->failure);
    if (is_of_wait) return judge_wait(recording, occurrence, record->time_ns);
    return judge(recording, occurrence->task, occurrence->processor, occurrence->time_ns, occurrence->time_ns);
}

bool perf_filter_drops(struct perf_recording *recording, const struct perf_occurrence *occurrence,
                       const struct perf_record *record) {
    struct filter *filter = recording->filter;
    struct failure *failure = recording->profile->failure;
    unsigned kind = judge_sample(recording, occurrence, record);
    if (failure_is_set(failure) || kind == FILTER_NONE) return failure_is_set(failure);
    occurrence->task->has_samples = true;
    if (!occurrence->event) return true;
    bool is_sample = record->sample.has_stack || !occurrence->event->is_tracepoint;
    filter_count(filter, kind, is_sample ? LEDGER_SAMPLES : LEDGER_RECORDS, 1, occurrence->position);
    if (occurrence->has_period) filter_count(filter, kind, LEDGER_PERIODS, occurrence->period, occurrence->position);
    return true;
}

bool perf_filter_drops_user_stack(struct perf_recording *recording, const struct perf_task *task,
                                  const struct perf_record *record) {
    unsigned kind = task->deferred || record->time_ns == TIME_NONE
                        ? FILTER_NONE
                        : judge(recording, task, -1, record->time_ns, record->time_ns);
    if (kind == FILTER_NONE) return false;
    filter_count(recording->filter, kind, LEDGER_RECORDS, 1, record->position);
    return true;
}
