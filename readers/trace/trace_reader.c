/* Reads traces of the recorder (docs/trace-format.md).
 *
 * One pass reads the chunks in the order of the file, so a pipe works like a file. Chunks of many threads are mixed;
 * entries go to their threads, and profile_finish sorts the threads. While reading, times are ticks since the start of
 * the trace. At the end, when all calibrations are known, profile_map_times makes them nanoseconds of
 * CLOCK_MONOTONIC. */
#include <stdlib.h>
#include <unistd.h>

#include "libconvert/base/memory.h"
#include "libconvert/profile/launchers.h"
#include "libconvert/profile/profile_finish.h"
#include "readers/filter.h"
#include "trace_fates.h"
#include "trace_reader_internal.h"

static enum probe_score probe(struct text start, bool is_whole) {
    (void)is_whole;
    return text_starts_with(start, (struct text){TRACE_MAGIC, TRACE_MAGIC_BYTES}) ? PROBE_SURE : PROBE_NO;
}

static int64_t epoch_offset_ns(const struct trace_header *header) {
    return (int64_t)header->start_realtime_ns - (int64_t)header->start_monotonic_ns;
}

static void begin(struct trace_reader *trace, const struct input *input, const struct reader_options *options) {
    struct profile *profile = trace->profile;
    const struct trace_header *header = &trace->header;
    trace_clock_init(&trace->clock, header->clock == TRACE_CLOCK_MONOTONIC, header->ticks_per_second,
                     header->start_ticks, header->start_monotonic_ns, profile->failure);
    trace_definitions_init(&trace->definitions, profile, &trace->ledger);
    trace_tasks_init(&trace->tasks, profile);
    trace_counters_init(&trace->counters, profile);
    trace_code_init(&trace->code, profile, &trace->definitions, &trace->clock, epoch_offset_ns(header), input, options);
    column_init(&trace->pauses, sizeof(struct trace_pause), profile->failure);
    column_init(&trace->skipped, sizeof(struct trace_skipped), profile->failure);
    column_init(&trace->set_aside, sizeof(struct trace_blocks), profile->failure);
    column_init(&trace->cells, sizeof(union marker_value), profile->failure);
    trace->scratch.failure = profile->failure;
}

static void end(struct trace_reader *trace) {
    COLUMN_EACH(const struct trace_blocks, blocks, &trace->set_aside) {
        memory_free((char *)(uintptr_t)blocks->bytes.bytes);
        trace_sampled_destroy(blocks->context.sampled);
    }
    trace_code_fini(&trace->code);
    trace_clock_fini(&trace->clock);
    trace_definitions_fini(&trace->definitions);
    trace_tasks_fini(&trace->tasks);
    trace_counters_fini(&trace->counters);
    COLUMNS_FINI(&trace->pauses, &trace->skipped, &trace->set_aside, &trace->cells);
    memory_free(trace->frames);
    byte_buffer_fini(&trace->scratch);
}

static int compare_pauses(const void *left, const void *right) {
    const struct trace_pause *a = left, *b = right;
    return ORDER(a->process, b->process) ?: ORDER(a->ticks, b->ticks);
}

/* Adds ranges from the pauses and resumes of each process, which should alternate. Of several of one kind in a row, the
 * first applies. */
static void add_paused_ranges(struct trace_reader *trace) {
    struct column *pauses = &trace->pauses;
    column_sort(pauses, compare_pauses);
    bool is_paused = false;
    int64_t start_ns = TIME_NONE;
    for (size_t i = 0; i < pauses->count; i++) {
        const struct trace_pause *pause = column_at(pauses, i);
        const struct trace_pause *before = i ? column_at(pauses, i - 1) : NULL;
        const struct trace_pause *after = i + 1 < pauses->count ? column_at(pauses, i + 1) : NULL;
        bool is_first = !before || before->process != pause->process;
        bool is_last = !after || after->process != pause->process;
        process_id process = {pause->process};
        int64_t now_ns = trace_clock_convert(&trace->clock, pause->ticks);
        /* If the first is a resume, the pause began before the trace, or before its oldest chunk. */
        if (is_first) {
            is_paused = pause->is_resume;
            start_ns = TIME_NONE;
        }
        if (pause->is_resume && is_paused) profile_add_paused_range(trace->profile, process, start_ns, now_ns);
        if (!pause->is_resume && !is_paused) start_ns = now_ns;
        is_paused = !pause->is_resume;
        if (is_paused && is_last) profile_add_paused_range(trace->profile, process, start_ns, TIME_NONE);
    }
}

/* Unless the program has named the profile, names it after the last program that the recorded process has executed. If
 * that one only starts others, and not as a script says, the profile has no name yet. */
static void name_product(struct trace_reader *trace) {
    struct profile_meta *meta = &trace->profile->meta;
    struct text arguments = command_line_arguments(trace->profile, meta->arguments);
    struct text started = text_base_name(arguments_take(&arguments));
    if (!text_equal(meta->product, started)) return;
    const struct trace_process *process =
        trace_tasks_find_process(&trace->tasks, trace->header.creator_pid, UINT64_MAX);
    if (process && process->has_name) meta->product = profile_process_at(trace->profile, process->id)->name;
    if (!program_is_launcher(meta->product)) return;
    /* The arguments of the whole trace have blanks between them. */
    const struct command_line *line = process ? profile_process_at(trace->profile, process->id)->command_line : NULL;
    if (line) {
        arguments = line->arguments;
        arguments_take(&arguments);
    }
    struct text launcher = meta->product;
    meta->product = (struct text){0};
    if (!line && !text_equal(launcher, started)) return;
    meta->product = program_script(launcher, arguments);
    if (!meta->product.bytes_count) meta->product = program_launched(trace->profile, launcher, arguments);
}

static void describe(struct trace_reader *trace) {
    struct profile_meta *meta = &trace->profile->meta;
    const struct trace_header *header = &trace->header;
    trace_definitions_fill_meta(&trace->definitions);
    name_product(trace);
    meta->has_every_state = true;
    meta->is_clock_monotonic = true;
    meta->configuration.is_known = true;
    meta->configuration.capacity_bytes =
        header->limit_bytes ? header->limit_bytes : header->chunk_count * header->chunk_bytes;
    if (header->clock != TRACE_CLOCK_MONOTONIC)
        meta->tick_relation = (struct tick_relation){
            .is_known = true, .base_ticks = header->start_ticks, .base_ns = (int64_t)header->start_monotonic_ns};
    meta->epoch_offset_ns = epoch_offset_ns(header);
}

/* Asks the kernel which processes still record. */
static void write_log(struct trace_reader *trace, const struct input *input) {
    int file = input_reopen(input);
    trace_fates_find(&trace->tasks, &trace->profile->meta, file);
    if (file >= 0) close(file);
    trace_log_write(trace);
}

/* Call it when all times are in nanoseconds. */
static void set_recording_times(struct trace_reader *trace) {
    struct profile *profile = trace->profile;
    struct recording_times *recording = &profile->recording;
    /* If chunks were recycled, nothing is left of the time before the first event. */
    if (!trace->header.recycled_chunk_count) recording->start_ns = trace_clock_convert(&trace->clock, 0);
    COLUMN_EACH(const struct trace_process, row, &trace->tasks.processes) {
        if (row->last_ticks == TIME_NONE) continue;
        recording->program_start_ns =
            time_earlier(recording->program_start_ns, profile_process_at(profile, row->id)->start_ns);
        recording->end_ns = time_later(recording->end_ns, trace_clock_convert(&trace->clock, row->last_ticks));
    }
}

static struct trace_gaps find_gaps(const struct trace_reader *trace) {
    const struct trace_header *header = &trace->header;
    struct trace_gaps gaps = {.has_recycled = header->recycled_chunk_count, .has_lost = header->lost_event_count};
    if (gaps.has_recycled) trace_clock_relative(&trace->clock, header->complete_from_ticks, &gaps.complete_from_ticks);
    return gaps;
}

static void set_arguments(struct trace_reader *trace) {
    const struct column *all = &trace->definitions.rows_of[TRACE_DEFINE_ARGUMENTS];
    COLUMN_EACH(const struct trace_arguments, arguments, all)
        trace_tasks_set_arguments(&trace->tasks, arguments->pid, arguments->process_start_ns, arguments->text);
}

/* With a filter, the ledger counts samples of the profile. Some entries are several. */
static void apply_filter(struct trace_reader *trace) {
    struct ledger_tally *tallies = trace->ledger.tallies;
    filter_profile(trace->filter, trace->profile);
    tallies[TRACE_SAMPLE].count += tallies[TRACE_THREAD_SAMPLE].count + tallies[TRACE_THREAD_SAME].count;
    tallies[TRACE_THREAD_SAMPLE].count = tallies[TRACE_THREAD_SAME].count = 0;
    tallies[TRACE_SAMPLE].count -= filter_left_out(trace->filter, LEDGER_SAMPLES);
    tallies[TRACE_ALLOCATION].count -= filter_left_out(trace->filter, LEDGER_RECORDS);
}

/* Stacks that a filter leaves out are counted, so nothing is known of the others then. */
static void note_cut_stacks(const struct trace_reader *trace) {
    struct cut_stacks sum = trace->cut_stacks;
    sum.weight = (double)sum.sample_count;
    sum.cut_weight = (double)sum.cut_count;
    if (trace->filter || !cut_stacks_are_many(&sum)) return;
    trace->profile->cut_stack_share = sum.cut_weight / sum.weight;
    ledger_enter(&trace->profile->ledger, LEDGER_SAMPLES, LEDGER_NOTED, TEXT(CUT_STACKS_OF_TRACE), sum.cut_count, NULL);
}

static int64_t convert_time(void *clock, int64_t ticks) { return trace_clock_convert(clock, ticks); }

static void finish(struct trace_reader *trace, const struct input *input) {
    struct profile *profile = trace->profile;
    if (!trace->code.is_ready) trace_clock_finish(&trace->clock);
    trace_code_enter_notes(&trace->code);
    const struct trace_gaps gaps = find_gaps(trace);
    trace_counters_finish(&trace->counters, &trace->tasks, &gaps);
    set_arguments(trace);
    trace_tasks_finish(&trace->tasks);
    describe(trace);
    write_log(trace, input);
    if (failure_is_set(profile->failure)) return;
    profile_map_times(profile, convert_time, &trace->clock);
    add_paused_ranges(trace);
    trace_tasks_end(&trace->tasks, &trace->clock);
    set_recording_times(trace);
    if (trace->filter) apply_filter(trace);
    trace_ledger_enter(&trace->ledger, profile);
    note_cut_stacks(trace);
    if (profile->meta.configuration.interval_ns) profile->meta.interval_ns = profile_estimate_interval_ns(profile);
}

static void run(struct input *input, struct profile *profile, const struct reader_options *options) {
    struct trace_reader *trace = failure_check_memory(profile->failure, calloc(1, sizeof *trace));
    if (!trace) return;
    trace->profile = profile;
    trace->filter = options->filter;
    if (trace_chunks_read_header(trace, input)) {
        begin(trace, input, options);
        trace_chunks_read(trace, input);
        if (!failure_is_set(profile->failure)) trace_blocks_read_set_aside(trace);
        if (!failure_is_set(profile->failure)) finish(trace, input);
        end(trace);
    }
    free(trace);
}

const struct reader reader_trace = {
    .name = "recorder",
    .alias = "native",
    .title = "recorder trace",
    .takes_perf_maps = true,
    .filter_kinds = FILTER_KINDS_OF_TASKS | 1U << GECKO_CONVERT_FILTER_TIME,
    .probe = probe,
    .run = run,
};
