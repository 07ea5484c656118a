#include "perf_off_cpu.h"

#include "libconvert/base/memory.h"
#include "libconvert/profile/profile_finish.h"
#include "libconvert/profile/weighed_sample.h"

/* ---- What a thread waits in. ---- */

/* What a frame of the kernel tells of waits whose stack it is in. */
struct frame_role {
    bool is_kernel;
    bool is_vague;  /* a frame that it called can tell more */
    string_id leaf; /* the name of the innermost frame; none: the frame tells nothing */
};

/* How the names of functions begin with which the kernel serves system calls. A tail call can leave only the last of
 * them in the stack. */
static const struct text call_starts[] = {
    TEXT("__x64_sys_"),   TEXT("__arm64_sys_"), TEXT("__riscv_sys_"),
    TEXT("__s390x_sys_"), TEXT("__ia32_sys_"),  TEXT("__ia32_compat_sys_"),
    TEXT("__se_sys_"),    TEXT("__do_sys_"),    TEXT("ksys_"),
    TEXT("SyS_"),         TEXT("sys_"),
};

#define PAGE_WAIT TEXT("(waits for a page)")
#define CALL_WAIT TEXT("(waits in a system call)")

/* Other functions that tell what the kernel does for the thread. */
static const struct {
    struct text function;
    struct text leaf;
} entries[] = {
    {TEXT("asm_exc_page_fault"), PAGE_WAIT}, {TEXT("exc_page_fault"), PAGE_WAIT},
    {TEXT("do_page_fault"), PAGE_WAIT},      {TEXT("page_fault"), PAGE_WAIT},
    {TEXT("handle_mm_fault"), PAGE_WAIT},    {TEXT("kernel_wait4"), TEXT("(waits in wait4)")},
    {TEXT("do_syscall_64"), CALL_WAIT},      {TEXT("el0_svc"), CALL_WAIT},
};

static struct text call_of(struct text function) {
    for (size_t i = 0; i < sizeof call_starts / sizeof *call_starts; i++)
        if (text_starts_with(function, call_starts[i])) return text_from(function, call_starts[i].bytes_count);
    return (struct text){0};
}

static string_id leaf_of(struct profile *profile, struct text function) {
    function = text_slice(function, 0, text_find(function, '.'));
    struct text call = call_of(function);
    if (call.bytes_count) return strings_intern_format(&profile->strings, "(waits in %.*s)", TEXT_ARGS(call));
    for (size_t i = 0; i < sizeof entries / sizeof *entries; i++)
        if (text_equal(function, entries[i].function)) return profile_string(profile, entries[i].leaf);
    return string_none();
}

/* Returns the role of each frame of the profile; NULL if memory ran out (latched). */
static struct frame_role *find_roles(struct profile *profile) {
    uint32_t count = row_table_count(&profile->frames);
    struct frame_role *roles = memory_allocate(profile->failure, (count + 1) * sizeof *roles);
    string_id vague = profile_string(profile, CALL_WAIT);
    for (uint32_t i = 0; roles && i < count; i++) {
        const struct frame *frame = profile_frame_at(profile, (frame_id){i});
        struct text category = categories_at(&profile->categories, frame->category)->name;
        roles[i] = (struct frame_role){.is_kernel = text_equal(category, TEXT("Kernel")), .leaf = string_none()};
        struct text function = strings_text(&profile->strings, profile_func_at(profile, frame->func)->name);
        if (!roles[i].is_kernel) continue;
        roles[i].leaf = leaf_of(profile, function);
        roles[i].is_vague = string_is_same(roles[i].leaf, vague);
    }
    return roles;
}

/* ---- States. ---- */

static const struct {
    char letter;
    struct text name;
} states[] = {
    {PERF_STATE_PREEMPTED, TEXT("Runnable (R)")},
    {'S', TEXT("Interruptible (S)")},
    {'D', TEXT("Uninterruptible (D)")},
    {'T', TEXT("Stopped (T)")},
    {'t', TEXT("Traced (t)")},
    {'P', TEXT("Parked (P)")},
    {'I', TEXT("Idle kernel thread (I)")},
};

static struct text name_of_state(char letter) {
    for (size_t i = 0; i < sizeof states / sizeof *states; i++)
        if (states[i].letter == letter) return states[i].name;
    return (struct text){0};
}

/* ---- Adding samples. ---- */

struct adding {
    struct profile *profile;
    const struct perf_waits *waits;
    uint32_t off_cpu_time; /* the event that tells of waits in place of `waits`; ID_NONE: none does */
    const struct frame_role *roles;
    enum gecko_convert_off_cpu choice;
    int64_t first_ns; /* nothing is known of who ran before */
    int64_t last_ns;
    bool keeps_processors;
    bool has_ends;        /* a thread of which no end is told runs or waits until the recording ends */
    double ns_per_period; /* processor time for each unit of periods, where no thread tells it */
};

/* The samples of a thread, while they are added. */
struct timeline {
    struct samples before; /* those of its processor time */
    struct samples *all;
    int64_t counted_ns;   /* all processor time before is counted */
    double ns_per_period; /* what weights become */
    double passed_ns;     /* weights of samples of processor time, exactly and as they were rounded */
    double weighed_ns;
    bool is_unsampled;  /* it has processor time, but no sample of it */
    int64_t resumed_ns; /* when the last wait ended, if no sample of processor time came since; else TIME_NONE */
    int64_t processor;  /* on which the thread ran before the wait that is added; -1: unknown */
    bool is_past_range; /* a wait after the end of the thread's shown range has been seen */
};

/* Returns what a thread waits in: what the outermost frame of the kernel's part of the stack tells. */
static string_id find_leaf(const struct adding *adding, stack_id stack) {
    string_id leaf = string_none();
    for (; !stack_is_none(stack); stack = profile_stack_at(adding->profile, stack)->prefix) {
        struct frame_role role = adding->roles[profile_stack_at(adding->profile, stack)->frame.index];
        if (!role.is_kernel) break;
        bool tells_more = !string_is_none(role.leaf) && (!role.is_vague || string_is_none(leaf));
        if (tells_more) leaf = role.leaf;
    }
    return string_is_none(leaf) ? profile_string(adding->profile, TEXT("(waits)")) : leaf;
}

/* Returns the stack with what the thread waits in as innermost frame. */
static stack_id stack_of_wait(const struct adding *adding, stack_id stack, char state) {
    struct profile *profile = adding->profile;
    bool is_preempted = state == PERF_STATE_PREEMPTED;
    string_id name = is_preempted ? profile_string(profile, PREEMPTED_FRAME) : find_leaf(adding, stack);
    struct category_pair category =
        categories_intern_code(&profile->categories, is_preempted ? CODE_PREEMPTED : CODE_IDLE, name_of_state(state));
    struct frame frame = frame_of_func(profile_named_func(profile, name), category);
    return profile_stack(profile, stack, profile_frame(profile, &frame));
}

static void add_sample(const struct adding *adding, struct samples *samples, int64_t time_ns, stack_id stack,
                       int64_t weight_ns, int64_t cpu_ns) {
    uint32_t weight = profile_weight_encode(adding->profile, (struct decimal){.mantissa = weight_ns});
    samples_add(samples, time_ns, stack, weight);
    samples_set_details(samples, cpu_ns, TIME_NONE);
}

/* Returns the processor time up to then that no sample has. */
static int64_t count_cpu(const struct adding *adding, struct timeline *timeline, int64_t time_ns) {
    int64_t counted_ns = timeline->counted_ns;
    if (time_ns <= counted_ns) return 0;
    timeline->counted_ns = time_ns;
    return filter_length_ns(adding->waits->filter, counted_ns, time_ns);
}

/* Adds a sample of a thread that ran, but was never found running. */
static void add_unsampled(const struct adding *adding, struct timeline *timeline, int64_t time_ns) {
    struct profile *profile = adding->profile;
    int64_t cpu_ns = timeline->is_unsampled ? count_cpu(adding, timeline, time_ns) : 0;
    if (!cpu_ns) return;
    frame_id frame = profile_named_frame(profile, TEXT("(not sampled)"), (struct category_pair){0});
    add_sample(adding, timeline->all, time_ns, profile_stack(profile, stack_none(), frame), cpu_ns, cpu_ns);
    if (adding->keeps_processors) samples_set_processor(timeline->all, timeline->processor);
}

/* A long wait also has a sample at its end, so that the front-end, which draws between samples, sees when it ended.
 * cpu_ns: processor time before the wait that no sample has; TIME_NONE: unknown. */
static void add_wait(const struct adding *adding, struct samples *samples, stack_id stack, int64_t start_ns,
                     int64_t end_ns, int64_t cpu_ns) {
    int64_t weight_ns = filter_length_ns(adding->waits->filter, start_ns, end_ns), last_weight_ns = 0;
    if (weight_ns >= adding->profile->meta.interval_ns) last_weight_ns = weight_ns / 2;
    add_sample(adding, samples, start_ns, stack, weight_ns - last_weight_ns, cpu_ns);
    if (last_weight_ns) add_sample(adding, samples, end_ns, stack, last_weight_ns, cpu_ns == TIME_NONE ? cpu_ns : 0);
}

/* Returns the weight of the next sample of processor time. Damaged periods can be of any size. */
static int64_t weigh(struct timeline *timeline, double period) {
    timeline->passed_ns += period * timeline->ns_per_period;
    double left_ns = timeline->passed_ns - timeline->weighed_ns + 0.5;
    int64_t weight_ns = 1;
    if (left_ns >= 1) weight_ns = left_ns < (double)PERF_TIME_MAX_NS ? (int64_t)left_ns : PERF_TIME_MAX_NS;
    timeline->weighed_ns += (double)weight_ns;
    return weight_ns;
}

/* Adds a sample where the thread begins or stops running, with the stack of its nearest sample, which is at `near_ns`,
 * and half of that one's weight. Returns the other half. The front-end draws a sample half-way to its neighbours: the
 * work between it and a wait would have the colour of waiting. */
static int64_t add_edge(const struct adding *adding, struct timeline *timeline, int64_t time_ns, int64_t near_ns,
                        stack_id stack, int64_t weight_ns, int64_t processor) {
    int64_t start_ns = time_ns < near_ns ? time_ns : near_ns, end_ns = time_ns < near_ns ? near_ns : time_ns;
    bool is_kept = filter_length_ns(adding->waits->filter, start_ns, end_ns) == end_ns - start_ns;
    if (!is_kept || start_ns == end_ns || weight_ns < 2) return weight_ns;
    add_sample(adding, timeline->all, time_ns, stack, weight_ns / 2, count_cpu(adding, timeline, time_ns));
    samples_set_processor(timeline->all, processor);
    return weight_ns - weight_ns / 2;
}

/* Adds a sample where the thread stops running, if it was sampled since it began to run. */
static void add_stop(const struct adding *adding, struct timeline *timeline, int64_t time_ns) {
    uint32_t count = samples_count(timeline->all);
    if (!count || timeline->resumed_ns != TIME_NONE) return;
    struct sample *last = samples_at(timeline->all, count - 1);
    int64_t weight_ns = profile_weight_decode(adding->profile, last->weight).mantissa;
    weight_ns = add_edge(adding, timeline, time_ns, last->time_ns, last->stack, weight_ns,
                         samples_processor(timeline->all, count - 1));
    last->weight = profile_weight_encode(adding->profile, (struct decimal){.mantissa = weight_ns});
}

/* Adds the samples of processor time up to then, from that row on. Returns the row of the next one. */
static uint32_t add_running(const struct adding *adding, struct timeline *timeline, uint32_t row, int64_t until_ns) {
    for (; row < samples_count(&timeline->before); row++) {
        const struct sample *sample = samples_at(&timeline->before, row);
        if (sample->time_ns > until_ns) break;
        int64_t processor = samples_processor(&timeline->before, row), resumed_ns = timeline->resumed_ns;
        int64_t weight_ns = weigh(timeline, decimal_to_double(profile_weight_decode(adding->profile, sample->weight)));
        bool is_late = sample->time_ns >= resumed_ns; /* others came during the wait, although the thread ran */
        if (resumed_ns != TIME_NONE && is_late)
            weight_ns = add_edge(adding, timeline, resumed_ns, sample->time_ns, sample->stack, weight_ns, processor);
        if (is_late) timeline->resumed_ns = TIME_NONE;
        int64_t cpu_ns = count_cpu(adding, timeline, sample->time_ns);
        add_sample(adding, timeline->all, sample->time_ns, sample->stack, weight_ns, cpu_ns);
        samples_set_processor(timeline->all, processor);
    }
    return row;
}

/* ---- The time in which a thread is shown. ---- */

/* The part of the time from a thread's start to its end that the profile shows. The thread ran whenever it did not
 * wait. */
struct shown_range {
    int64_t start_ns;
    int64_t end_ns;
    /* Of waits whose ends are guessed: the part in which the thread did not run. They end at the latest when it was
       seen again, so they are too long. */
    double guess_part;
};

/* Returns TIME_NONE if no time of the thread is known. */
static int64_t first_event_of(const struct samples *samples, const struct perf_wait *first_wait) {
    int64_t time_ns = first_wait->start_ns == TIME_NONE ? first_wait->end_ns : first_wait->start_ns;
    return time_earlier(time_ns, samples_count(samples) ? samples_at(samples, 0)->time_ns : TIME_NONE);
}

static int64_t last_event_of(const struct samples *samples, const struct perf_wait *last_wait) {
    uint32_t count = samples_count(samples);
    return time_later(last_wait->end_ns, count ? samples_at(samples, count - 1)->time_ns : TIME_NONE);
}

/* Without records of threads that begin to run, nothing is known of a thread before and after it was seen. */
static struct shown_range find_shown_range(const struct adding *adding, const struct thread *thread,
                                           const struct perf_task *task) {
    const struct perf_waits *waits = adding->waits;
    const struct perf_wait *first = perf_waits_at(waits, task->first_wait);
    const struct perf_wait *last = perf_waits_at(waits, task->last_wait);
    struct shown_range shown = {thread->start_ns, thread->end_ns, 1};
    if (shown.start_ns == TIME_NONE && !waits->has_ends) shown.start_ns = first_event_of(&thread->samples, first);
    shown.start_ns = time_later(shown.start_ns, adding->first_ns);
    if (shown.end_ns == TIME_NONE) {
        bool is_known = adding->has_ends || last->end_ns == TIME_NONE;
        shown.end_ns = is_known ? adding->last_ns : last_event_of(&thread->samples, last);
    }
    if (shown.start_ns == TIME_NONE) shown.start_ns = shown.end_ns; /* no record has a time after 0 */
    filter_cut(waits->filter, &shown.start_ns, &shown.end_ns);
    return shown;
}

/* Finds the part of a wait that is in the thread's shown range, from the first to the last time that filters keep.
 * Returns false if there is none. */
static bool find_part(const struct adding *adding, const struct perf_wait *wait, const struct shown_range *shown,
                      int64_t *start_ns, int64_t *end_ns) {
    bool has_start = wait->start_ns != TIME_NONE && wait->start_ns > shown->start_ns;
    bool has_end = wait->end_ns != TIME_NONE && wait->end_ns < shown->end_ns;
    *start_ns = has_start ? wait->start_ns : shown->start_ns;
    *end_ns = has_end ? wait->end_ns : shown->end_ns;
    if (*start_ns >= *end_ns || perf_wait_is_end(wait)) return false;
    if (wait->is_guessed) *end_ns = *start_ns + (int64_t)((double)(*end_ns - *start_ns) * shown->guess_part);
    filter_cut(adding->waits->filter, start_ns, end_ns);
    return *start_ns < *end_ns;
}

static double sum_of_periods(const struct profile *profile, const struct samples *samples) {
    double sum = 0;
    COLUMN_EACH(const struct sample, sample, &samples->rows)
        sum += decimal_to_double(profile_weight_decode(profile, sample->weight));
    return sum;
}

/* Adds up the times of a thread's waits: those whose ends are known, and those whose ends are guessed. Returns false if
 * filters left some out. */
static bool sum_waits(const struct adding *adding, const struct perf_task *task, const struct shown_range *shown,
                      int64_t sums_ns[2]) {
    bool is_whole = true;
    for (uint32_t row = task->first_wait; row != ID_NONE; row = perf_waits_at(adding->waits, row)->next) {
        const struct perf_wait *wait = perf_waits_at(adding->waits, row);
        int64_t start_ns, end_ns;
        is_whole = is_whole && !wait->is_left_out;
        if (find_part(adding, wait, shown, &start_ns, &end_ns))
            sums_ns[wait->is_guessed] += filter_length_ns(adding->waits->filter, start_ns, end_ns);
    }
    return is_whole;
}

/* Returns how long the thread ran; 0 if that is unknown. If guesses leave less time than its samples stand for, they
 * become shorter. */
static double find_processor_ns(const struct adding *adding, const struct perf_task *task, double sampled_ns,
                                struct shown_range *shown) {
    int64_t sums_ns[2] = {0};
    bool is_whole = sum_waits(adding, task, shown, sums_ns);
    int64_t shown_ns = filter_length_ns(adding->waits->filter, shown->start_ns, shown->end_ns);
    double left_ns = (double)(shown_ns - sums_ns[false]), guessed_ns = (double)sums_ns[true];
    if (guessed_ns > 0 && left_ns - guessed_ns < sampled_ns) {
        shown->guess_part = sampled_ns < left_ns ? (left_ns - sampled_ns) / guessed_ns : 0;
        guessed_ns *= shown->guess_part;
    }
    return is_whole && left_ns > guessed_ns ? left_ns - guessed_ns : 0;
}

/* ---- Threads. ---- */

/* Turns periods into times. */
static void weigh_samples(const struct adding *adding, struct samples *samples) {
    struct profile *profile = adding->profile;
    struct timeline timeline = {.ns_per_period = adding->ns_per_period};
    COLUMN_EACH(struct sample, sample, &samples->rows) {
        int64_t weight_ns = weigh(&timeline, decimal_to_double(profile_weight_decode(profile, sample->weight)));
        sample->weight = profile_weight_encode(profile, (struct decimal){.mantissa = weight_ns});
    }
}

/* Sets on which processor the thread ran before the wait. After the end of its shown range, the first wait counts. */
static void see_processor(struct timeline *timeline, const struct perf_wait *wait, const struct shown_range *shown) {
    bool is_before = wait->end_ns != TIME_NONE && wait->end_ns <= shown->start_ns;
    if (!timeline->is_past_range) timeline->processor = is_before ? -1 : wait->processor;
    timeline->is_past_range |= wait->start_ns != TIME_NONE && wait->start_ns >= shown->end_ns;
}

static void add_waits(const struct adding *adding, struct thread *thread, const struct perf_task *task) {
    struct shown_range shown = find_shown_range(adding, thread, task);
    double period = sum_of_periods(adding->profile, &thread->samples);
    double processor_ns = find_processor_ns(adding, task, period * adding->ns_per_period, &shown);
    struct timeline timeline = {
        .before = thread->samples,
        .all = &thread->samples,
        .counted_ns = shown.start_ns,
        .ns_per_period = period > 0 && processor_ns > 0 ? processor_ns / period : adding->ns_per_period,
        .is_unsampled = period <= 0 && processor_ns > 0 && adding->choice != GECKO_CONVERT_OFF_CPU_ONLY,
        .resumed_ns = TIME_NONE,
    };
    uint32_t at = 0;
    samples_init(timeline.all, adding->profile->failure);
    if (adding->choice == GECKO_CONVERT_OFF_CPU_ONLY) at = samples_count(&timeline.before);
    for (uint32_t row = task->first_wait; row != ID_NONE; row = perf_waits_at(adding->waits, row)->next) {
        const struct perf_wait *wait = perf_waits_at(adding->waits, row);
        int64_t start_ns, end_ns;
        see_processor(&timeline, wait, &shown);
        if (!find_part(adding, wait, &shown, &start_ns, &end_ns)) continue;
        at = add_running(adding, &timeline, at, start_ns);
        if (!wait->is_left_out) {
            bool is_unseen = wait->start_ns == TIME_NONE && thread->start_ns < adding->first_ns;
            stack_id stack = stack_of_wait(adding, wait->stack, is_unseen ? PERF_STATE_UNKNOWN : wait->state);
            add_unsampled(adding, &timeline, start_ns);
            add_stop(adding, &timeline, start_ns);
            add_wait(adding, timeline.all, stack, start_ns, end_ns, count_cpu(adding, &timeline, start_ns));
        }
        timeline.counted_ns = timeline.resumed_ns = end_ns;
        timeline.processor = -1;
    }
    add_running(adding, &timeline, at, INT64_MAX);
    add_unsampled(adding, &timeline, shown.end_ns);
    add_stop(adding, &timeline, shown.end_ns);
    samples_fini(&timeline.before);
}

/* ---- Waits of which an event tells. ---- */

/* The recording does not tell when the waits of a sum were. */
static int64_t time_of_sum(const struct thread *thread, int64_t last_ns) {
    return thread->end_ns == TIME_NONE ? last_ns : thread->end_ns;
}

static void add_told_wait(const struct adding *adding, struct thread *thread, const struct sample *told) {
    struct profile *profile = adding->profile;
    stack_id stack = stack_of_wait(adding, told->stack, PERF_STATE_UNKNOWN);
    int64_t weight_ns = profile_weight_decode(profile, told->weight).mantissa;
    if (told->time_ns == TIME_NONE) {
        add_sample(adding, &thread->samples, time_of_sum(thread, adding->last_ns), stack, weight_ns, TIME_NONE);
        return;
    }
    int64_t start_ns = told->time_ns, end_ns = told->time_ns + weight_ns;
    filter_cut(adding->waits->filter, &start_ns, &end_ns);
    if (start_ns < end_ns) add_wait(adding, &thread->samples, stack, start_ns, end_ns, TIME_NONE);
}

static void add_told_waits(const struct adding *adding, const struct perf_tasks *tasks) {
    COLUMN_EACH(const struct perf_series, series, &tasks->series) {
        if (series->event != adding->off_cpu_time) continue;
        struct thread *thread = profile_thread_at(adding->profile, series->thread);
        COLUMN_EACH(const struct sample, sample, &series->samples.rows) add_told_wait(adding, thread, sample);
        samples_sort(&thread->samples, adding->profile->failure);
    }
}

/* What is known of all threads that waited and were sampled. */
struct sums {
    double processor_ns;
    double period;
};

static struct sums sum_threads(const struct adding *adding, const struct perf_tasks *tasks) {
    struct sums sums = {0};
    COLUMN_EACH(const struct perf_task, task, &tasks->rows) {
        struct thread *thread = profile_thread_at(adding->profile, task->thread);
        samples_sort(&thread->samples, adding->profile->failure);
        if (task->first_wait == ID_NONE || !samples_count(&thread->samples)) continue;
        struct shown_range shown = find_shown_range(adding, thread, task);
        double period = sum_of_periods(adding->profile, &thread->samples);
        double processor_ns = find_processor_ns(adding, task, period * adding->ns_per_period, &shown);
        sums.processor_ns += processor_ns;
        if (processor_ns > 0) sums.period += period;
    }
    return sums;
}

/* Returns whether threads seem to have run for much longer than their samples tell. With -F, perf records sched_switch
 * at that frequency, which leaves out most switches. */
static bool ran_too_long(const struct adding *adding, struct sums sums) {
    const int excess_percent_max = 50, excess_intervals_max = 20;
    double sampled_ns = sums.period * adding->ns_per_period, excess_ns = sums.processor_ns - sampled_ns;
    return !adding->waits->has_records && excess_ns * 100 > sampled_ns * excess_percent_max &&
           excess_ns > (double)adding->profile->meta.interval_ns * excess_intervals_max;
}

static void add_all(const struct adding *adding, const struct perf_tasks *tasks) {
    for (size_t i = 0; i < tasks->rows.count && !failure_is_set(adding->profile->failure); i++) {
        const struct perf_task *task = column_at(&tasks->rows, i);
        struct thread *thread = profile_thread_at(adding->profile, task->thread);
        if (task->first_wait != ID_NONE) {
            add_waits(adding, thread, task);
        } else if (adding->choice == GECKO_CONVERT_OFF_CPU_ONLY) {
            samples_fini(&thread->samples);
            samples_init(&thread->samples, adding->profile->failure);
        } else {
            weigh_samples(adding, &thread->samples);
        }
    }
    if (adding->off_cpu_time != ID_NONE) add_told_waits(adding, tasks);
}

/* ---- The recording. ---- */

static bool misses_switches(const struct perf_waits *waits) {
    return waits->rows.count && waits->misses_switches && !waits->has_records;
}

/* Waits need an end: the recording tells when threads run again, or has samples of threads that run. */
static bool tells_waits(const struct perf_recording *recording) {
    const struct perf_waits *waits = &recording->waits;
    if (!waits->rows.count || misses_switches(waits)) return false;
    return waits->has_ends || perf_events_have_counted(&recording->events);
}

/* Returns the event that tells of waits, if the options leave that to it. */
static uint32_t find_off_cpu_time(const struct perf_events *events) {
    for (uint32_t i = 0; i < events->rows.count; i++) {
        const struct perf_event *event = perf_events_at(events, i);
        bool is_left = event->choice == EVENT_DEFAULT || event->choice == EVENT_SAMPLES;
        if (event->is_off_cpu_time && event->has_period && is_left) return i;
    }
    return ID_NONE;
}

static void fail_without_waits(const struct perf_recording *recording) {
    failure_set(recording->profile->failure, FAILURE_USAGE,
                "--off-cpu only: the recording does not tell when threads did not run; record with perf record "
                "--switch-events, with --off-cpu, or with -a -e sched:sched_switch and without -F");
}

static void note_missing(const struct perf_recording *recording) {
    ledger_enter(&recording->profile->ledger, LEDGER_RECORDS, LEDGER_NOTED,
                 TEXT("time in which a thread did not run: left out, as the recording lacks others (record "
                      "sched_switch without -F)"),
                 recording->waits.rows.count, NULL);
}

bool perf_off_cpu_begin(struct perf_recording *recording, enum gecko_convert_off_cpu choice) {
    struct perf_events *events = &recording->events;
    bool is_of_processors = recording->filter && filter_has(recording->filter, GECKO_CONVERT_FILTER_CPU);
    if (choice == GECKO_CONVERT_OFF_CPU_ONLY && is_of_processors)
        failure_set(recording->profile->failure, FAILURE_USAGE,
                    "--off-cpu only and --cpu exclude each other: a thread that does not run is on no processor");
    bool is_wanted = choice != GECKO_CONVERT_OFF_CPU_NO && !is_of_processors;
    perf_waits_judge_ends(&recording->waits);
    if (is_wanted && misses_switches(&recording->waits)) note_missing(recording);
    if (is_wanted && !tells_waits(recording)) events->off_cpu_time = find_off_cpu_time(events);
    events->has_waits = is_wanted && (tells_waits(recording) || events->off_cpu_time != ID_NONE);
    events->are_waits_alone = choice == GECKO_CONVERT_OFF_CPU_ONLY;
    if (events->are_waits_alone && !events->has_waits) fail_without_waits(recording);
    return events->has_waits;
}

static double sum_of_event(const struct perf_event *event) {
    return event->has_period ? (double)event->period_sum : (double)event->sample_count;
}

/* Returns the processor time that a unit of the main event's period stands for, as far as events tell. Events that
 * measure the same as it does tell of the same time again. */
static double ns_per_period_of(const struct perf_events *events, int64_t interval_ns) {
    if (events->main == ID_NONE) return 1;
    const struct perf_event *main = perf_events_at(events, events->main);
    bool is_clock = main->unit == PERF_EVENT_CLOCK_NS && main->has_period && perf_event_period_fits(main);
    double ns = is_clock ? sum_of_event(main) : (double)interval_ns * (double)main->sample_count, sum = 0;
    COLUMN_EACH(const struct perf_event, event, &events->rows) {
        bool is_same = string_is_same(event->measure, main->measure) && event->treatment == EVENT_SAMPLES;
        if (is_same && perf_role_scope(event->name) & perf_role_scope(main->name)) sum += sum_of_event(event);
    }
    return sum > 0 ? ns / sum : 1;
}

static void note_guesses(const struct perf_recording *recording) {
    uint64_t count = 0;
    for (uint32_t i = 0; i < recording->waits.rows.count; i++) count += perf_waits_at(&recording->waits, i)->is_guessed;
    ledger_enter(&recording->profile->ledger, LEDGER_RECORDS, LEDGER_NOTED,
                 TEXT("time in which a thread did not run whose end is estimated: the recording does not tell when it "
                      "ran again (record with --switch-events)"),
                 count, NULL);
    if (recording->header.is_of_some_processors)
        ledger_enter(&recording->profile->ledger, LEDGER_RECORDS, LEDGER_NOTED,
                     TEXT("time in which a thread did not run on the recorded processors: it may have run on another "
                          "one (record with -a)"),
                     recording->waits.rows.count, NULL);
}

void perf_off_cpu_place_sums(struct perf_recording *recording) {
    COLUMN_EACH(const struct perf_series, series, &recording->tasks.series) {
        const struct thread *thread = profile_thread_at(recording->profile, series->thread);
        if (!perf_events_at(&recording->events, series->event)->is_off_cpu_time) continue;
        for (uint32_t row = 0; row < samples_count(&series->samples); row++) {
            int64_t *time_ns = &samples_at(&series->samples, row)->time_ns;
            if (*time_ns == TIME_NONE) *time_ns = time_of_sum(thread, recording->last_time_ns);
        }
    }
}

/* Returns whether a clock found no thread running for so long before the first event that events were not recorded
 * then: perf record --delay records only tasks at first. Some kernels' clocks tick every 10 ms, whatever their interval
 * is. gecko-convert record has no such option, and describes processes that may wait for long. */
static bool is_delayed(const struct perf_recording *recording) {
    const int64_t intervals_max = 20, gap_ns_max = 20000000;
    const struct perf_events *events = &recording->events;
    if (recording->header.is_own || events->main == ID_NONE || recording->first_event_ns == TIME_NONE) return false;
    bool is_clock = perf_events_at(events, events->main)->unit == PERF_EVENT_CLOCK_NS;
    int64_t gap_ns = recording->first_event_ns - recording->first_time_ns;
    int64_t interval_ns = recording->profile->meta.interval_ns;
    return is_clock && interval_ns > 0 && gap_ns > gap_ns_max && gap_ns / intervals_max > interval_ns;
}

/* perf records the tasks of a whole machine before it begins to record events, and then something happens at once. Some
 * processes may wait or run for long before their first event. */
static int64_t find_first_ns(const struct perf_recording *recording) {
    int64_t first_ns = recording->first_time_ns, first_event_ns = recording->first_event_ns;
    bool begins_with_events = recording->is_of_processors || is_delayed(recording);
    return begins_with_events ? time_later(first_ns, first_event_ns) : first_ns;
}

/* Returns whether the recording tells when threads end. perf records no last switch of a thread if it records some
 * processes. Text without records of tasks then does not tell whether a thread that runs has ended. */
static bool tells_ends(const struct perf_recording *recording) {
    const struct perf_waits *waits = &recording->waits;
    bool is_of_some = waits->has_records && !waits->are_of_processors;
    return waits->has_ends && (!is_of_some || recording->tasks.has_records);
}

bool perf_off_cpu_add(struct perf_recording *recording, enum gecko_convert_off_cpu choice) {
    struct profile *profile = recording->profile;
    struct profile_meta *meta = &profile->meta;
    int64_t interval_ns = meta->interval_ns;
    if (!meta->interval_ns) meta->interval_ns = profile_estimate_interval_ns(profile);
    struct frame_role *roles = find_roles(profile);
    const struct adding adding = {
        .profile = profile,
        .waits = &recording->waits,
        .off_cpu_time = recording->events.off_cpu_time,
        .roles = roles,
        .choice = choice,
        .first_ns = find_first_ns(recording),
        .last_ns = recording->last_time_ns,
        .keeps_processors = recording->keeps_processors,
        .has_ends = tells_ends(recording),
        .ns_per_period = ns_per_period_of(&recording->events, meta->interval_ns),
    };
    struct sums sums = sum_threads(&adding, &recording->tasks);
    meta->has_waits = roles && !ran_too_long(&adding, sums);
    if (meta->has_waits) {
        add_all(&adding, &recording->tasks);
        note_guesses(recording);
        meta->weight_type = WEIGHT_TRACING_MS;
    } else {
        if (choice == GECKO_CONVERT_OFF_CPU_ONLY) fail_without_waits(recording);
        note_missing(recording);
        meta->interval_ns = interval_ns;
    }
    memory_free(roles);
    return meta->has_waits;
}
