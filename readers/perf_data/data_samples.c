/* Processes samples: builds the stack of each, and finds the events that it counts for. */
#include "libconvert/base/memory.h"
#include "perf_data_internal.h"
#include "readers/perf/perf_deferred.h"

/* What "perf mem" and options such as --phys-data add to samples, besides the address of the data. */
static const uint64_t MEMORY_FIELDS =
    SAMPLE_WEIGHT | SAMPLE_WEIGHT_STRUCT | SAMPLE_DATA_SOURCE | SAMPLE_TRANSACTION | SAMPLE_PHYSICAL_ADDR;

/* Assumed interval between samples without a time. */
static const int64_t MADE_UP_INTERVAL_NS = 1000000;

/* ---- Stacks, from the innermost frame out. ---- */

enum { CONTEXT_USER = -512 };

/* Markers in a callchain. Each gives the mode of the addresses that follow it (PERF_CONTEXT_…). */
static const struct context {
    int64_t word;
    uint32_t flags;
} contexts[] = {
    {-32, ADDRESS_IS_GUEST | ADDRESS_IS_KERNEL}, /* hypervisor: the kernel's mappings are not its own either */
    {-128, ADDRESS_IS_KERNEL},
    {CONTEXT_USER, 0},
    {-2048, ADDRESS_IS_GUEST}, /* guest */
    {-2176, ADDRESS_IS_GUEST | ADDRESS_IS_KERNEL},
    {-2560, ADDRESS_IS_GUEST},
};

/* A marker followed by a cookie. A later record with the user part of the stack repeats the cookie. */
static const int64_t CONTEXT_DEFERRED = -640;
static const int64_t CONTEXT_LOWEST = -4095;

/* Returns NULL if the word is not a marker. */
static const struct context *find_context(int64_t word) {
    for (size_t i = 0; i < sizeof contexts / sizeof *contexts; i++)
        if (contexts[i].word == word) return &contexts[i];
    return NULL;
}

static uint32_t mode_flags(const struct data_record *record) {
    switch (data_record_mode(record)) {
        case MODE_KERNEL:
            return ADDRESS_IS_KERNEL;
        case MODE_HYPERVISOR:
        case MODE_GUEST_KERNEL:
            return ADDRESS_IS_GUEST | ADDRESS_IS_KERNEL;
        case MODE_GUEST_USER:
            return ADDRESS_IS_GUEST;
        default:
            return 0;
    }
}

static bool has_user_part(struct text chain) {
    for (size_t i = 0; i < chain.bytes_count / 8; i++)
        if ((int64_t)data_word_at(chain, i) == CONTEXT_USER) return true;
    return false;
}

/* Returns whether the sample has a call stack from the processor's record of recent branches. Such a stack covers user
 * code and replaces the user part of the callchain. As in perf, a callchain without that part stays as it is. */
static bool has_branch_calls(const struct data_sample *sample) {
    return sample->attr->branch_type & BRANCH_CALL_STACK && sample->branches.bytes_count &&
           has_user_part(sample->callchain);
}

/* Pushes a callchain, or only what comes before its user part. After that part, the kernel sometimes goes on along the
 * frame pointers of the user code, after a marker of another mode, which is wrong. A word that is neither an address
 * nor a marker makes the rest of the chain garbage. perf then drops the whole chain, but this function keeps the words
 * before the garbage. */
static void push_callchain(struct perf_data *data, const struct data_record *record, struct text chain,
                           bool is_without_user) {
    uint32_t flags = mode_flags(record);
    bool is_exact = true, has_user_code = false;
    size_t count = chain.bytes_count / 8;
    for (size_t i = 0; i < count; i++) {
        uint64_t word = data_word_at(chain, i);
        if ((int64_t)word == CONTEXT_DEFERRED && i + 1 < count) {
            data->cookie = data_word_at(chain, i + 1);
            return;
        }
        if ((int64_t)word < 0 && (int64_t)word >= CONTEXT_LOWEST) {
            const struct context *context = find_context((int64_t)word);
            if (!context) {
                data_tally(data, DATA_BAD_CHAIN, 1, record->offset);
                return;
            }
            if (has_user_code) continue;
            flags = context->flags;
            has_user_code = !flags;
            is_exact = true;
            if (is_without_user && has_user_code) return;
            continue;
        }
        data_stacks_push(&data->stacks, word, flags | (is_exact ? 0 : (uint32_t)ADDRESS_IS_RETURN));
        is_exact = false;
    }
}

/* Pushes a call stack of branches. The newest branch led to the function in which the sample was taken. Each branch is
 * a call within the function that the next branch called. */
static void push_branch_calls(struct perf_data *data, const struct data_sample *sample) {
    enum { BRANCH_WORDS = 3, FROM = 0, TO = 1 };
    data_stacks_push(&data->stacks, data_word_at(sample->branches, TO), 0);
    for (size_t i = 0; i < sample->branches.bytes_count / (8 * BRANCH_WORDS); i++)
        data_stacks_push(&data->stacks, data_word_at(sample->branches, i * BRANCH_WORDS + FROM), 0);
}

/* Pushes the user part of the stack from the copied stack. The callchain of such samples has no user part. */
static void push_copied_stack(struct perf_data *data, const struct data_record *record,
                              const struct data_sample *sample) {
    bool is_cut;
    size_t count = data_unwind_walk(&data->unwind, sample, &is_cut);
    for (size_t i = 0; i < count; i++) {
        const struct unwound_frame *frame = &data->unwind.frames[i];
        data_stacks_push(&data->stacks, frame->address, frame->is_exact ? 0 : (uint32_t)ADDRESS_IS_RETURN);
    }
    if (!is_cut) return;
    data_stacks_push(&data->stacks, 0, ADDRESS_IS_CUT);
    data_tally(data, DATA_CUT_STACK, 1, record->offset);
}

static uint32_t read_stack(struct perf_data *data, const struct data_record *record, const struct data_sample *sample) {
    data_stacks_clear(&data->stacks);
    data->cookie = 0;
    push_callchain(data, record, sample->callchain, has_branch_calls(sample));
    if (has_branch_calls(sample))
        push_branch_calls(data, sample);
    else if (sample->branches.bytes_count)
        data_tally(data, DATA_BRANCHES, 1, record->offset);
    if (sample->attr->sample_type & SAMPLE_STACK_USER) push_copied_stack(data, record, sample);
    data->has_no_kernel = data->cookie && !data->stacks.count;
    if (!data->stacks.count && sample->attr->sample_type & SAMPLE_IP)
        data_stacks_push(&data->stacks, sample->ip, mode_flags(record));
    return data_stacks_row(&data->stacks, sample->pid, sample->tid);
}

/* ---- Occurrences. ---- */

static int64_t time_of(struct perf_data *data, uint64_t time_ns, uint64_t offset) {
    if (time_ns) {
        data->recording.has_times = true;
        return data->last_time_ns;
    }
    data_tally(data, DATA_NO_TIME, 1, offset);
    return data->last_time_ns += MADE_UP_INTERVAL_NS;
}

static void keep_tracepoint(struct perf_data *data, const struct data_sample *sample,
                            const struct perf_occurrence *occurrence) {
    struct data_tracepoint *tracepoint = column_push(&data->tracepoints);
    if (tracepoint)
        *tracepoint =
            (struct data_tracepoint){*occurrence, sample->attr->config, arena_copy(&data->texts, sample->raw)};
}

/* Adds an occurrence of an event to its thread. `stack` is a stack row of data_code, which renumber_stacks replaces at
 * the end. */
static void add_occurrence(struct perf_data *data, const struct data_sample *sample,
                           const struct perf_occurrence *occurrence, uint32_t stack) {
    bool is_tracepoint = perf_events_at(&data->recording.events, occurrence->event)->is_tracepoint;
    bool has_walked_stack = sample->attr->sample_type & SAMPLE_CALLCHAIN;
    if (is_tracepoint && !has_walked_stack) {
        keep_tracepoint(data, sample, occurrence);
        return;
    }
    if (stack == ID_NONE) {
        data_tally(data, DATA_NO_STACK, 1, occurrence->position.offset);
        return;
    }
    bool is_jump = false;
    struct perf_series *series = perf_recording_add_sample(&data->recording, occurrence, (stack_id){stack}, &is_jump);
    if (series && data->cookie &&
        !perf_deferred_add(&data->recording.tasks, occurrence->task, series, data->cookie, data->has_no_kernel,
                           occurrence->position))
        data_tally(data, DATA_NO_USER_STACK, 1, occurrence->position.offset);
    data_tally(data, DATA_JUMP, is_jump, occurrence->position.offset);
    data_tally(data, DATA_TRACEPOINT_FIELDS, is_tracepoint && sample->raw.bytes_count, occurrence->position.offset);
}

/* Adds an occurrence of each event whose counter has changed since the previous sample. */
static void add_counted(struct perf_data *data, const struct data_sample *sample,
                        const struct perf_occurrence *occurrence, uint32_t stack) {
    for (size_t i = 0; i < data_sample_read_count(sample); i++) {
        struct data_read read = data_sample_read(sample, i);
        const struct data_attr *attr;
        bool has_id = sample->attr->read_format & READ_ID;
        struct perf_occurrence counted = *occurrence;
        counted.period = data_attrs_count(&data->attrs, has_id ? read.id : sample->id, read.value, &attr);
        counted.has_period = true;
        if (attr) counted.event = attr->event;
        if (!attr)
            data_tally(data, DATA_UNKNOWN_EVENT, 1, occurrence->position.offset);
        else if (counted.period)
            add_occurrence(data, sample, &counted, stack);
    }
}

/* Begins to load the kernel's symbols at the first sample of kernel code. */
static void load_kernel_ahead(struct perf_data *data, const struct data_record *record) {
    if (data->kernel.is_begun || !data->has_threads || !data->folders) return;
    if (!(mode_flags(record) & ADDRESS_IS_KERNEL)) return;
    struct data_kernel_identity identity = data_kernel_identify(data);
    data_kernel_ahead_begin(&data->kernel, &identity, data->folders, data->profile->failure->memory);
}

void data_samples_use(struct perf_data *data, const struct data_record *record, uint64_t time_ns) {
    const struct data_attr *attr = data_attrs_of_record(&data->attrs, record->bytes, true);
    struct data_sample sample;
    if (!attr || !data_sample_parse(record, attr, &sample)) {
        data_tally(data, attr ? DATA_BAD_SAMPLE : DATA_UNKNOWN_EVENT, 1, record->offset);
        return;
    }
    struct perf_occurrence occurrence = {
        .task = perf_tasks_find(&data->recording.tasks, 0, sample.pid, sample.tid),
        .event = attr->event,
        .time_ns = time_of(data, time_ns, record->offset),
        .processor = attr->sample_type & SAMPLE_CPU && sample.cpu <= INT32_MAX ? (int32_t)sample.cpu : -1,
        .has_period = attr->sample_type & SAMPLE_PERIOD,
        .period = sample.period,
        .position = data_position(record->offset),
    };
    if (!occurrence.task) return;
    load_kernel_ahead(data, record);
    data_tally(data, DATA_ADDRESS, sample.address || attr->sample_type & MEMORY_FIELDS, record->offset);
    if (attr->sample_type & SAMPLE_CPU) data_tally(data, DATA_CPU, 1, record->offset);
    if (sample.cgroup)
        perf_activity_set_cgroup(&data->recording.activity, occurrence.task, sample.cgroup, occurrence.time_ns);
    if (attr->sample_type & SAMPLE_CALLCHAIN) data->recording.has_stacks = true;
    uint32_t stack = read_stack(data, record, &sample);
    if (attr->sample_type & SAMPLE_READ && (attr->read_format & READ_ID || sample.id))
        add_counted(data, &sample, &occurrence, stack);
    else
        add_occurrence(data, &sample, &occurrence, stack);
}

/* ---- Deferred user stacks. ---- */

/* A user stack belongs to all samples that were taken in the thread's current system call or interrupt. Waiting samples
 * with another cookie are older; their user stack was lost. */
void data_samples_join(struct perf_data *data, const struct data_record *record, int32_t pid, int32_t tid,
                       uint64_t cookie, struct text chain) {
    struct perf_tasks *tasks = &data->recording.tasks;
    struct perf_task *task = perf_tasks_find(tasks, 0, pid, tid);
    if (!task) return;
    data_stacks_clear(&data->stacks);
    push_callchain(data, record, chain, false);
    uint32_t outer = data_stacks_row(&data->stacks, pid, tid);
    bool is_used = false;
    struct perf_deferred *deferred = perf_deferred_take(tasks, task);
    for (struct perf_deferred *next; deferred; deferred = next) {
        next = deferred->next;
        stack_id *stack = perf_deferred_stack(deferred);
        bool is_joined = deferred->cookie == cookie;
        if (is_joined)
            stack->index = data_code_call(&data->code, outer, deferred->is_empty ? ID_NONE : stack->index);
        else
            data_tally(data, DATA_NO_USER_STACK, 1, deferred->position.offset);
        is_used = is_used || is_joined;
        memory_free(deferred);
    }
    data_tally(data, DATA_UNUSED_USER_STACK, !is_used, record->offset);
}

void data_samples_finish(struct perf_data *data) {
    const struct column *rows = &data->recording.tasks.rows;
    for (size_t i = 0; data->recording.tasks.deferred_count && i < rows->count; i++) {
        const struct perf_task *task = column_at(rows, i);
        for (const struct perf_deferred *deferred = task->deferred; deferred; deferred = deferred->next)
            data_tally(data, DATA_NO_USER_STACK, 1, deferred->position.offset);
    }
}
