#include "collapsed_losses.h"

#include "writer/frame_parts.h"

/* ---- Frames. ---- */

/* Frames that only markers have are lost with them, so they are not counted here. */
static void enter_frames(const struct frame_texts *texts, struct ledger *ledger) {
    const struct profile *profile = texts->profile;
    uint64_t marks[FRAME_MARK_COUNT] = {0}, addresses = 0, nameless = 0, lines = 0, subcategories = 0;
    for (uint32_t i = 0; i < row_table_count(&profile->frames); i++) {
        const struct frame *frame = row_table_at(&profile->frames, i);
        const struct func_texts *func = &texts->funcs[frame->func.index];
        enum frame_mark mark = frame_texts_mark(texts, frame);
        if (!func->is_known) continue;
        marks[mark]++;
        subcategories += mark != MARK_INLINED && mark != MARK_OTHER && frame->subcategory;
        nameless += func->is_nameless;
        addresses += !func->is_nameless && frame->address != ADDRESS_NONE;
        lines += frame->line > 0;
    }
    const struct {
        unsigned part; /* enum frame_part: with it, the property is written; 0: it never is */
        const char *cause;
        uint64_t count;
    } losses[] = {
        {0, "address of a function with a name", addresses},
        {FRAME_PART_ADDRESSES, "address of a function without a name", nameless},
        {0, "line of a frame", lines},
        {FRAME_PART_INLINE, "inline depth of a frame (the frame itself is kept)", marks[MARK_INLINED]},
        {FRAME_PART_KERNEL, "mark of a frame in the kernel", marks[MARK_KERNEL]},
        {FRAME_PART_JIT, "mark of a frame in generated code or a script", marks[MARK_GENERATED]},
        {0, "category of a frame", marks[MARK_OTHER] + subcategories},
    };
    for (size_t i = 0; i < sizeof losses / sizeof *losses; i++)
        if (!(losses[i].part & texts->parts)) losses_enter_values(ledger, losses[i].cause, losses[i].count);
}

/* ---- Functions and files. ---- */

static const struct func *func_at(const struct profile *profile, uint32_t row) {
    return row_table_at(&profile->funcs, row);
}

static bool has_resource(const struct profile *profile, uint32_t row) {
    return !resource_is_none(func_at(profile, row)->resource);
}

static bool has_source(const struct profile *profile, uint32_t row) {
    return !source_is_none(func_at(profile, row)->source);
}

static bool has_content(const struct profile *profile, uint32_t row) {
    return ((const struct text *)column_at(&profile->source_contents, row))->bytes;
}

/* ---- Threads and processes. ---- */

static bool has_name(const struct profile *profile, uint32_t position) {
    return !profile_ordered_thread(profile, position)->is_made_up;
}

static bool has_pid(const struct profile *profile, uint32_t position) {
    const struct thread *thread = profile_ordered_thread(profile, position);
    return !thread->is_made_up && profile_process_at(profile, thread->process)->pid != PID_UNKNOWN;
}

static bool has_thread_times(const struct profile *profile, uint32_t position) {
    const struct thread *thread = profile_ordered_thread(profile, position);
    return thread->start_ns != TIME_NONE || thread->end_ns != TIME_NONE;
}

static bool has_process_times(const struct profile *profile, uint32_t row) {
    const struct process *process = profile_process_at(profile, (process_id){row});
    return process->start_ns != TIME_NONE || process->end_ns != TIME_NONE;
}

/* ---- The recording. ---- */

static bool has_description(const struct profile *profile, uint32_t row) {
    const struct profile_meta *meta = &profile->meta;
    (void)row;
    return meta->arguments.bytes_count || meta->cpu_name.bytes_count || meta->os_cpu.bytes_count ||
           meta->platform.bytes_count || meta->main_memory_bytes || meta->start_time_ms;
}

static bool has_unit(const struct profile *profile, uint32_t row) {
    (void)row;
    return profile->meta.weight_type > WEIGHT_SAMPLES || profile->meta.weight_unit.bytes_count;
}

/* The other entries are about this conversion. */
static bool is_about_recording(const struct profile *profile, uint32_t row) {
    const struct extra_entry *entry = column_at(&profile->meta.extra, row);
    return !text_equal(entry->section, TEXT(LEDGER_SECTION));
}

/* ---- What samples have. ---- */

static uint64_t count_known(const struct samples *samples, int64_t (*value_of)(const struct samples *, uint32_t)) {
    uint64_t count = 0;
    if (!samples->details) return 0;
    for (uint32_t row = 0; row < samples_count(samples); row++) count += value_of(samples, row) != TIME_NONE;
    return count;
}

static void enter_rows_of_threads(const struct profile *profile, struct ledger *ledger) {
    uint64_t times = 0, cpu_times = 0, delays = 0, markers = 0, allocations = 0, track_samples = 0;
    for (size_t i = 0; i < profile->thread_order.count; i++) {
        const struct thread *thread = profile_ordered_thread(profile, i);
        if (thread_is_track(thread)) track_samples += samples_count(&thread->samples);
        if (thread_is_track(thread)) continue;
        times += profile->meta.has_times ? samples_count(&thread->samples) : 0;
        cpu_times += count_known(&thread->samples, samples_cpu_ns);
        delays += count_known(&thread->samples, samples_delay_ns);
        markers += thread->markers.count;
        allocations += thread->allocations.count;
    }
    losses_enter_values(ledger, "sample in a track of another event (--event EVENT=samples writes those)",
                        track_samples);
    losses_enter_values(ledger, "time of a sample", times);
    losses_enter_values(ledger, "CPU time of a sample", cpu_times);
    losses_enter_values(ledger, "delay of events at a sample", delays);
    losses_enter_values(ledger, "marker", markers);
    losses_enter_values(ledger, "allocation of memory", allocations);
}

/* ---- The whole. ---- */

static const struct {
    unsigned part; /* enum frame_part: with it, the property is written; 0: it never is */
    struct loss loss;
} LOSSES[] = {
    {0, {"library of a function", ROWS_FUNCS, has_resource, false}},
    {0, {"source file of a function", ROWS_FUNCS, has_source, false}},
    {0, {"path and build id of a library", ROWS_LIBS, loss_of_row, false}},
    {0, {"text of a source file", ROWS_SOURCE_CONTENTS, has_content, false}},
    {FRAME_PART_COMM, {"name of a thread", ROWS_THREADS, has_name, false}},
    {FRAME_PART_PID, {"process of a thread", ROWS_THREADS, has_pid, false}},
    {FRAME_PART_TID, {"tid of a thread", ROWS_THREADS, has_name, false}},
    {0, {"start or end of a thread", ROWS_THREADS, has_thread_times, false}},
    {0, {"start or end of a process", ROWS_PROCESSES, has_process_times, false}},
    {0, {"counter", ROWS_COUNTERS, loss_of_row, false}},
    {0, {"pause of the recording", ROWS_PAUSED_RANGES, loss_of_row, false}},
    {0, {"overhead of recording", ROWS_OVERHEADS, loss_of_row, false}},
    {0, {"line of the recorder's log", ROWS_LOGS, loss_of_row, false}},
    {0, {"entry of the information panel", ROWS_EXTRA, is_about_recording, false}},
    {0, {"description of the machine and the recording", ROWS_META, has_description, false}},
    {0, {"unit of the weights", ROWS_META, has_unit, true}},
};

void collapsed_losses_enter(const struct frame_texts *texts, struct ledger *ledger) {
    static const char *const change_causes[NAME_CHANGE_COUNT] = {
        [CHANGE_SEPARATOR] = "semicolon in a name (a colon is written)",
        [CHANGE_CONTROL] = "control character in a name (a blank is written)",
        [CHANGE_NUMBER] = "blank before a number at the end of a name (an underscore is written)",
        [CHANGE_COMMENT] = "name that would begin a comment (an underscore is written for its #)",
        [CHANGE_THREAD_BLANK] = "blank in the name of a thread (an underscore is written)",
    };
    enter_rows_of_threads(texts->profile, ledger);
    enter_frames(texts, ledger);
    for (size_t i = 0; i < sizeof LOSSES / sizeof *LOSSES; i++)
        if (!(LOSSES[i].part & texts->parts)) losses_enter(texts->profile, &LOSSES[i].loss, 1, ledger);
    for (size_t i = 0; i < NAME_CHANGE_COUNT; i++) losses_enter_values(ledger, change_causes[i], texts->changes[i]);
}
