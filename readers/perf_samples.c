/* Samples of perf script: an event line and the stack behind it. */
#include "libconvert/cursor.h"
#include "libconvert/memory.h"
#include "perf_script_internal.h"

/* Between samples whose lines tell no time. */
static const int64_t MADE_UP_INTERVAL_NS = 1000000;

/* ---- Opening. ---- */

static void copy_rest(struct perf_script *script, struct text rest) {
    struct open_sample *sample = &script->sample;
    sample->rest_bytes_count = 0;
    if (rest.bytes_count > sample->rest_capacity) {
        char *bytes = memory_resize(script->profile->failure, sample->rest, rest.bytes_count);
        if (!bytes) return;
        sample->rest = bytes;
        sample->rest_capacity = rest.bytes_count;
    }
    if (rest.bytes_count) memcpy(sample->rest, rest.bytes, rest.bytes_count);
    sample->rest_bytes_count = rest.bytes_count;
}

/* "DEFERRED CALLCHAIN [cookie: b00000006]". */
static bool parse_deferred_stack(struct text rest, uint64_t *cookie) {
    static const struct text start = TEXT("DEFERRED CALLCHAIN [cookie: ");
    if (!text_starts_with(rest, start) || !text_ends_with(rest, TEXT("]"))) return false;
    struct perf_frame_line frame;
    if (!perf_frame_line_parse(text_slice(rest, start.bytes_count, rest.bytes_count - 1), &frame) || !frame.has_address)
        return false;
    *cookie = frame.address;
    return true;
}

static int64_t time_of(struct perf_script *script, const struct perf_event_line *line) {
    if (line->has_time) {
        script->has_times = true;
        script->last_time_ns = line->time_ns;
    } else if (__builtin_add_overflow(script->last_time_ns, MADE_UP_INTERVAL_NS, &script->last_time_ns)) {
        script->last_time_ns = INT64_MAX;
    }
    return script->last_time_ns;
}

void perf_samples_open(struct perf_script *script, const struct perf_event_line *line) {
    perf_samples_close(script);
    struct open_sample *sample = &script->sample;
    sample->task = perf_tasks_find(&script->tasks, line->machine, line->pid, line->tid);
    if (!sample->task) return;
    sample->is_open = true;
    sample->time_ns = time_of(script, line);
    sample->position = script->scan.position;
    sample->is_deferred_stack = parse_deferred_stack(line->rest, &sample->deferred_cookie);
    perf_tasks_rename(&script->tasks, sample->task, line->comm, sample->time_ns);
    if (sample->is_deferred_stack) return;

    sample->event = perf_events_intern(&script->events, line->event, script->scan.position);
    sample->has_period = line->has_period;
    sample->period = line->has_period ? line->period : 0;
    copy_rest(script, line->rest);
    if (!line->has_time) perf_tally(script, TALLY_NO_TIME, 1);
    if (line->cpu >= 0) perf_tally(script, TALLY_CPU, 1);
    if (line->has_skipped_field) perf_tally(script, TALLY_SKIPPED_FIELD, 1);
}

/* ---- Deferred user stacks. ---- */

/* Samples that wait, of all tasks: a bound on memory where the user stacks never come. */
enum { DEFERRED_SAMPLES_MAX = 1 << 20 };

static void defer(struct perf_script *script, struct perf_series *series, uint64_t cookie, const frame_id *frames,
                  uint32_t count) {
    if (script->deferred_count == DEFERRED_SAMPLES_MAX) {
        perf_tally_at(script, TALLY_NO_USER_STACK, 1, script->sample.position);
        return;
    }
    struct deferred_sample *deferred =
        memory_allocate(script->profile->failure, sizeof *deferred + count * sizeof *frames);
    if (!deferred) return;
    struct perf_task *task = script->sample.task;
    *deferred = (struct deferred_sample){
        .next = task->deferred,
        .cookie = cookie,
        .series = series,
        .position = script->sample.position,
        .sample = samples_count(&series->samples) - 1,
        .frame_count = count,
    };
    if (count) memcpy(deferred->frames, frames, count * sizeof *frames);
    task->deferred = deferred;
    script->deferred_count++;
}

/* Puts the user's frames below the kernel's. */
static void join(struct perf_script *script, const struct deferred_sample *deferred, const frame_id *user_frames,
                 uint32_t user_count) {
    uint32_t count = user_count + deferred->frame_count;
    frame_id *frames = memory_allocate(script->profile->failure, count * sizeof *frames);
    if (!frames) return;
    if (user_count) memcpy(frames, user_frames, user_count * sizeof *frames);
    if (deferred->frame_count) memcpy(frames + user_count, deferred->frames, deferred->frame_count * sizeof *frames);
    stack_id *stack = column_at(&deferred->series->samples.stack, deferred->sample);
    *stack = stack_path_add(&script->sample.task->path, script->profile, frames, count);
    memory_free(frames);
}

/* The task's waiting samples, in the order of their arrival. */
static struct deferred_sample *take_deferred(struct perf_task *task) {
    struct deferred_sample *first = NULL;
    while (task->deferred) {
        struct deferred_sample *deferred = task->deferred;
        task->deferred = deferred->next;
        deferred->next = first;
        first = deferred;
    }
    return first;
}

/* The user stack belongs to all samples that the task took on this way through the kernel. Those with another cookie
 * are from an earlier one, whose user stack was lost. */
static void join_deferred(struct perf_script *script, const frame_id *user_frames, uint32_t user_count) {
    uint32_t joined_count = 0;
    for (struct deferred_sample *deferred = take_deferred(script->sample.task), *next; deferred; deferred = next) {
        next = deferred->next;
        script->deferred_count--;
        if (deferred->cookie == script->sample.deferred_cookie) {
            join(script, deferred, user_frames, user_count);
            joined_count++;
        } else {
            perf_tally_at(script, TALLY_NO_USER_STACK, 1, deferred->position);
        }
        memory_free(deferred);
    }
    if (!joined_count) perf_tally_at(script, TALLY_UNUSED_USER_STACK, 1, script->sample.position);
}

/* ---- Closing. ---- */

static void count_period(struct perf_event *event, const struct open_sample *sample) {
    event->sample_count++;
    if (!sample->has_period) return;
    event->has_period = true;
    event->period_sum += sample->period;
    if (sample->period < event->period_min) event->period_min = sample->period;
    if (sample->period > event->period_max) event->period_max = sample->period;
}

static uint32_t encode_period(struct perf_script *script) {
    const struct open_sample *sample = &script->sample;
    if (!sample->has_period) return 1;
    int64_t period = sample->period > INT64_MAX ? INT64_MAX : (int64_t)sample->period;
    return profile_weight_encode(script->profile, (struct decimal){.mantissa = period});
}

static void add_sample(struct perf_script *script, const frame_id *frames, uint32_t count, uint64_t cookie) {
    struct open_sample *sample = &script->sample;
    struct perf_task *task = sample->task;
    struct perf_series *series = perf_tasks_series(&script->tasks, task, sample->event);
    if (!series) return;
    stack_id stack = stack_path_add(&task->path, script->profile, frames, count);
    samples_add(&series->samples, sample->time_ns, stack, encode_period(script));
    count_period(perf_events_at(&script->events, sample->event), sample);
    if (task->last_time_ns != TIME_NONE && sample->time_ns < task->last_time_ns)
        perf_tally_at(script, TALLY_JUMP, 1, sample->position);
    task->last_time_ns = sample->time_ns;
    task->has_samples = true;
    if (cookie) defer(script, series, cookie, frames, count);
}

static const struct marker_field tracepoint_fields[] = {
    {.key = TEXT("fields"), .label = TEXT("Fields"), .format = MARKER_UNIQUE_STRING},
};

static const struct marker_schema tracepoint_schema = {
    .name = TEXT("Tracepoint"),
    .description = TEXT("A kernel tracepoint that was hit, without a stack."),
    .table_label = TEXT("{marker.data.fields}"),
    .fields = tracepoint_fields,
    .field_count = sizeof tracepoint_fields / sizeof *tracepoint_fields,
};

static void add_tracepoint(struct perf_script *script, struct text fields) {
    struct profile *profile = script->profile;
    const struct open_sample *sample = &script->sample;
    if (script->tracepoint_schema == UINT16_MAX)
        script->tracepoint_schema = profile_marker_schema(profile, &tracepoint_schema);
    union marker_value value = {.string = profile_string(profile, fields)};
    struct marker marker = {
        .start_ns = sample->time_ns,
        .end_ns = sample->time_ns,
        .name = profile_marker_name(profile, perf_events_at(&script->events, sample->event)->name,
                                    script->tracepoint_schema),
        .stack = stack_none(),
        .schema = script->tracepoint_schema,
        .phase = MARKER_INSTANT,
        .category = categories_intern_code(&profile->categories, CODE_KERNEL, TEXT("")).category,
    };
    profile_add_marker(profile, profile_thread_at(profile, sample->task->thread), marker, &value);
    ledger_read(&profile->ledger, LEDGER_RECORDS, 1);
    ledger_enter(&profile->ledger, LEDGER_RECORDS, LEDGER_KEPT, TEXT("tracepoint without a stack: a marker"), 1,
                 &sample->position);
}

static void close_without_stack(struct perf_script *script, struct text rest) {
    bool is_tracepoint = perf_events_at(&script->events, script->sample.event)->is_tracepoint;
    if (is_tracepoint)
        add_tracepoint(script, rest);
    else
        perf_tally_at(script, TALLY_NO_STACK, 1, script->sample.position);
}

enum { ADDRESS_DIGITS_MIN = 4 };

static bool is_address(struct text token, size_t digits_min) {
    uint64_t address;
    return token.bytes_count >= digits_min && cursor_parse_number(token, 16, &address);
}

/* Another address before the frame's own, of -F addr: "7ffd0 401195 leaf+0xc (/usr/bin/app)". */
static bool has_address_before_frame(struct text rest) {
    cursor_take_token(&rest);
    struct text second = cursor_take_token(&rest), third = cursor_take_token(&rest);
    return is_address(second, ADDRESS_DIGITS_MIN) && third.bytes_count && third.bytes[0] != '(';
}

/* Recorded without -g, the one frame stands on the event line. Other fields may stand before it (a control group, a
 * data address) and behind it (branches, "0x12/0x34/P/-/-/1"; instructions, "insn: 83 c3"). */
static struct text frame_on_event_line(struct text rest) {
    struct text frame = rest, behind = rest;
    for (struct text token = cursor_take_token(&behind); token.bytes_count && token.bytes[0] != '[';
         token = cursor_take_token(&behind)) {
        if (is_address(token, 1) && !has_address_before_frame(frame)) break;
        frame = text_trim_start(behind);
    }
    static const struct text behind_frame[] = {TEXT(") 0x"), TEXT(") insn:"), TEXT(") ilen:")};
    for (size_t i = 0; frame.bytes_count && i < sizeof behind_frame / sizeof *behind_frame; i++) {
        const char *field = memmem(frame.bytes, frame.bytes_count, behind_frame[i].bytes, behind_frame[i].bytes_count);
        if (field) frame = text_slice(frame, 0, (size_t)(field - frame.bytes) + 1);
    }
    return frame;
}

/* Whose mappings hold for the task: a guest's are not known. */
static int64_t pid_of_maps(const struct perf_task *task) { return task->machine ? PID_UNKNOWN : task->pid; }

void perf_samples_close(struct perf_script *script) {
    struct open_sample *sample = &script->sample;
    if (!sample->is_open) return;
    sample->is_open = false;
    perf_tally_at(script, TALLY_DEEP_FRAME, perf_stack_take_too_deep(&script->stack), sample->position);
    const frame_id *frames;
    uint64_t cookie;
    if (sample->is_deferred_stack) {
        uint32_t count = perf_stack_take(&script->stack, pid_of_maps(sample->task), &frames, &cookie);
        join_deferred(script, frames, count);
        return;
    }
    if (sample->event == ID_NONE) return;
    struct text rest = {sample->rest, sample->rest_bytes_count};
    if (!perf_events_at(&script->events, sample->event)->is_tracepoint) {
        struct text frame = script->stack.count ? (struct text){0} : frame_on_event_line(rest);
        bool is_frame = frame.bytes_count && perf_stack_add_line(&script->stack, frame);
        if (rest.bytes_count > (is_frame ? frame.bytes_count : 0))
            perf_tally_at(script, TALLY_FIELD, 1, sample->position);
    } else if (script->stack.count && rest.bytes_count) {
        perf_tally_at(script, TALLY_TRACEPOINT_FIELDS, 1, sample->position);
    }
    if (!script->stack.count) {
        close_without_stack(script, rest);
        return;
    }
    uint32_t count = perf_stack_take(&script->stack, pid_of_maps(sample->task), &frames, &cookie);
    add_sample(script, frames, count, cookie);
}

void perf_samples_finish(struct perf_script *script) {
    perf_samples_close(script);
    for (size_t i = 0; script->deferred_count && i < script->tasks.rows.count; i++) {
        const struct perf_task *task = column_at(&script->tasks.rows, i);
        for (const struct deferred_sample *deferred = task->deferred; deferred; deferred = deferred->next)
            perf_tally_at(script, TALLY_NO_USER_STACK, 1, deferred->position);
    }
}

void perf_samples_fini(struct perf_script *script) {
    for (size_t i = 0; i < script->tasks.rows.count; i++) {
        struct perf_task *task = column_at(&script->tasks.rows, i);
        while (task->deferred) {
            struct deferred_sample *deferred = task->deferred;
            task->deferred = deferred->next;
            memory_free(deferred);
        }
    }
    memory_free(script->sample.rest);
}
