/* Writes collapsed ("folded") stacks, the text from which flame graphs are made: "thread;frame;frame WEIGHT". Samples
 * with the same line are added up. The format has no times, so it carries far less than the others; losses are entered
 * in the ledger. */
#include "frame_texts.h"
#include "line_tree.h"
#include "writer/emitter.h"
#include "writer/frame_parts.h"
#include "writer/losses.h"

/* The row of a stack of the profile below a root. During the search for it, `row` is the callee from which the search
 * came. */
struct known_row {
    uint32_t root; /* the index of the root's row */
    stack_id row;
};

struct collapsed {
    const struct profile *profile;
    struct frame_texts texts;
    struct line_tree tree;
    struct known_row *known_rows; /* owned; one for each stack of the profile */
    uint64_t sample_count;
    uint64_t large_count; /* samples whose weight was not added, because the sum is too large */
};

static const uint32_t NO_ROOT = ID_NONE - 1;

static void begin(struct collapsed *collapsed, unsigned parts) {
    const struct profile *profile = collapsed->profile;
    uint32_t stack_count = stack_table_count(&profile->stacks);
    frame_texts_init(&collapsed->texts, profile, parts);
    line_tree_init(&collapsed->tree, &collapsed->texts.texts, profile->failure);
    collapsed->known_rows = memory_allocate(profile->failure, stack_count * sizeof *collapsed->known_rows);
    if (failure_is_set(profile->failure)) return;
    for (uint32_t i = 0; i < stack_count; i++) collapsed->known_rows[i].root = NO_ROOT;
}

static void end(struct collapsed *collapsed) {
    memory_free(collapsed->known_rows);
    line_tree_fini(&collapsed->tree);
    frame_texts_fini(&collapsed->texts);
}

/* Returns the row of the stack below the root, which may be none. Goes up to a caller whose row is known, and back. */
static stack_id find_row(struct collapsed *collapsed, stack_id root, stack_id stack) {
    struct known_row *known = collapsed->known_rows;
    const struct profile *profile = collapsed->profile;
    stack_id callee = stack_none();
    while (!stack_is_none(stack) && known[stack.index].root != root.index) {
        known[stack.index].row = callee;
        callee = stack;
        stack = profile_stack_at(profile, stack)->prefix;
    }
    stack_id row = stack_is_none(stack) ? root : known[stack.index].row;
    while (!stack_is_none(callee)) {
        stack_id next = known[callee.index].row;
        string_id text = frame_texts_of_frame(&collapsed->texts, profile_stack_at(profile, callee)->frame);
        if (string_is_none(text)) return stack_none();
        row = line_tree_row(&collapsed->tree, row, text);
        known[callee.index] = (struct known_row){root.index, row};
        callee = next;
    }
    return row;
}

static void add_samples(struct collapsed *collapsed, const struct thread *thread) {
    const struct profile *profile = collapsed->profile;
    struct line_tree *tree = &collapsed->tree;
    const struct decimal one = {.mantissa = 1};
    bool is_weighed = profile->meta.weight_type != WEIGHT_ONE;
    bool has_root = collapsed->texts.parts & FRAME_PART_COMM && !thread->is_made_up;
    stack_id root = stack_none();
    uint32_t count = samples_count(&thread->samples);
    if (has_root && count) root = line_tree_row(tree, root, frame_texts_of_thread(&collapsed->texts, thread));
    for (uint32_t i = 0; i < count && !failure_is_set(profile->failure); i++) {
        const struct sample *sample = samples_at(&thread->samples, i);
        stack_id row = find_row(collapsed, root, sample->stack);
        if (stack_is_none(row)) row = line_tree_row(tree, row, frame_texts_of_nothing(&collapsed->texts));
        struct decimal weight = is_weighed ? profile_weight_decode(profile, sample->weight) : one;
        bool is_added = line_tree_add(tree, row, weight);
        collapsed->large_count += !is_added;
    }
    collapsed->sample_count += count;
}

static void add_threads(struct collapsed *collapsed, struct progress progress) {
    const struct profile *profile = collapsed->profile;
    size_t count = profile->thread_order.count;
    for (size_t i = 0; i < count && !failure_is_set(profile->failure); i++) {
        const struct thread *thread = profile_ordered_thread(profile, i);
        if (!thread_is_track(thread)) add_samples(collapsed, thread);
        progress_report(progress, i + 1, count);
    }
    if (!collapsed->sample_count)
        failure_set(profile->failure, FAILURE_INPUT,
                    "there are no samples to make collapsed stacks of: use --format processed");
}

/* ---- What the format cannot represent. ---- */

/* Returns the count, or 0 if the texts have the part (enum frame_part) that would show it. */
static uint64_t lost_unless(const struct frame_texts *texts, unsigned part, uint64_t count) {
    return texts->parts & part ? 0 : count;
}

/* Frames that only markers have are lost with them, so they are not counted here. */
static void enter_frames(const struct frame_texts *texts, struct ledger *ledger) {
    const struct profile *profile = texts->profile;
    uint64_t marks[FRAME_MARK_COUNT] = {0}, addresses = 0, nameless = 0, lines = 0, categories = 0;
    COLUMN_EACH(const struct frame, frame, &profile->frames.rows) {
        const struct func_texts *func = &texts->funcs[frame->func.index];
        enum frame_mark mark = frame_texts_mark(texts, frame);
        if (!func->is_known) continue;
        marks[mark]++;
        if (mark == MARK_IDLE || mark == MARK_IDLE_KERNEL || mark == MARK_OTHER)
            categories++;
        else
            categories += mark != MARK_INLINED && frame->subcategory;
        nameless += func->is_nameless;
        addresses += !func->is_nameless && frame->address != ADDRESS_NONE;
        lines += frame->line > 0;
    }
    losses_enter(ledger, "address of a function with a name", addresses);
    losses_enter(ledger, "address of a function without a name", lost_unless(texts, FRAME_PART_ADDRESSES, nameless));
    losses_enter(ledger, "line of a frame", lines);
    losses_enter(ledger, "inline depth of a frame (the frame itself is kept)",
                 lost_unless(texts, FRAME_PART_INLINE, marks[MARK_INLINED]));
    losses_enter(ledger, "mark of a frame in the kernel",
                 lost_unless(texts, FRAME_PART_KERNEL, marks[MARK_KERNEL] + marks[MARK_IDLE_KERNEL]));
    losses_enter(ledger, "mark of a frame in generated code or a script",
                 lost_unless(texts, FRAME_PART_JIT, marks[MARK_GENERATED]));
    losses_enter(ledger, "category of a frame", categories);
}

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
    losses_enter(ledger, "sample in a track of another event (--event EVENT=samples writes those)", track_samples);
    losses_enter(ledger, "time of a sample", times);
    losses_enter(ledger, "CPU time of a sample", cpu_times);
    losses_enter(ledger, "delay of events at a sample", delays);
    losses_enter(ledger, "marker", markers);
    losses_enter(ledger, "allocation of memory", allocations);
}

static bool has_description(const struct profile_meta *meta) {
    return meta->arguments.bytes_count || meta->cpu_name.bytes_count || meta->os_cpu.bytes_count ||
           meta->platform.bytes_count || meta->main_memory_bytes || meta->start_time_ms;
}

static void enter_others(const struct frame_texts *texts, struct ledger *ledger) {
    const struct profile *profile = texts->profile;
    const struct profile_meta *meta = &profile->meta;
    uint64_t resources = 0, sources = 0, names = 0, pids = 0, thread_times = 0, process_times = 0, extras = 0;
    COLUMN_EACH(const struct func, func, &profile->funcs.rows) {
        resources += !resource_is_none(func->resource);
        sources += !source_is_none(func->source);
    }
    for (size_t i = 0; i < profile->thread_order.count; i++) {
        const struct thread *thread = profile_ordered_thread(profile, i);
        names += !thread->is_made_up;
        pids += !thread->is_made_up && profile_process_at(profile, thread->process)->pid != PID_UNKNOWN;
        thread_times += thread->start_ns != TIME_NONE || thread->end_ns != TIME_NONE;
    }
    COLUMN_EACH(const struct process, process, &profile->processes)
        process_times += process->start_ns != TIME_NONE || process->end_ns != TIME_NONE;
    /* Entries of the ledger are about this conversion, not about the recording. */
    COLUMN_EACH(const struct extra_entry, extra_entry, &meta->extra)
        extras += !text_equal(extra_entry->section, TEXT(LEDGER_SECTION));
    losses_enter(ledger, "library of a function", resources);
    losses_enter(ledger, "source file of a function", sources);
    losses_enter(ledger, "path and build id of a library", libs_count(&profile->libs));
    losses_enter(ledger, "text of a source file", losses_count_contents(profile));
    losses_enter(ledger, "name of a thread", lost_unless(texts, FRAME_PART_COMM, names));
    losses_enter(ledger, "process of a thread", lost_unless(texts, FRAME_PART_PID, pids));
    losses_enter(ledger, "tid of a thread", lost_unless(texts, FRAME_PART_TID, names));
    losses_enter(ledger, "start or end of a thread", thread_times);
    losses_enter(ledger, "start or end of a process", process_times);
    losses_enter(ledger, "counter", profile->counters.count);
    losses_enter(ledger, "pause of the recording", profile->paused_ranges.count);
    losses_enter(ledger, "overhead of recording", profile->overheads.count);
    losses_enter(ledger, "line of the recorder's log", profile->profiling_log.count);
    losses_enter(ledger, "entry of the information panel", extras);
    losses_enter(ledger, "description of the machine and the recording", has_description(meta));
    losses_note(ledger, "unit of the weights", meta->weight_type > WEIGHT_SAMPLES || meta->weight_unit.bytes_count);
}

/* Enters all losses of the profile whose frames have these texts. */
static void enter_losses(const struct frame_texts *texts, struct ledger *ledger) {
    static const char *const change_causes[NAME_CHANGE_COUNT] = {
        [CHANGE_SEPARATOR] = "semicolon in a name (a colon is written)",
        [CHANGE_CONTROL] = "control character in a name (a blank is written)",
        [CHANGE_NUMBER] = "blank before a number at the end of a name (an underscore is written)",
        [CHANGE_COMMENT] = "name that would begin a comment (an underscore is written for its #)",
        [CHANGE_THREAD_BLANK] = "blank in the name of a thread (an underscore is written)",
    };
    enter_rows_of_threads(texts->profile, ledger);
    enter_frames(texts, ledger);
    enter_others(texts, ledger);
    for (size_t i = 0; i < NAME_CHANGE_COUNT; i++) losses_enter(ledger, change_causes[i], texts->changes[i]);
}

/* ---- The whole. ---- */

static void emit_collapsed(const struct profile *profile, struct ledger *ledger, struct chunk_list *out,
                           const struct emit_options *options, struct progress progress) {
    struct collapsed collapsed = {.profile = profile};
    begin(&collapsed, options->frame_parts);
    if (!failure_is_set(profile->failure)) add_threads(&collapsed, progress_part(progress, 0, 0.5));
    if (!failure_is_set(profile->failure)) line_tree_write(&collapsed.tree, out, progress_part(progress, 0.5, 1));
    if (!failure_is_set(profile->failure)) enter_losses(&collapsed.texts, ledger);
    losses_enter(ledger, "weight of a sample (the sum of its stack is too large)", collapsed.large_count);
    ledger_enter(ledger, LEDGER_VALUES, LEDGER_NOTED, TEXT("weight of a sample (the sum is rounded to 18 digits)"),
                 collapsed.tree.rounded_count, NULL);
    end(&collapsed);
}

const struct emitter emitter_collapsed = {.name = "collapsed",
                                          .title = "collapsed stacks",
                                          .suffix = ".folded",
                                          .media_type = "text/plain",
                                          .has_frame_parts = true,
                                          .emit = emit_collapsed};
