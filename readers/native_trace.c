/* Traces of the recorder: docs/trace-format.md.
 *
 * One pass over the chunks in the order of the file, so that a pipe is read like a file. Chunks of many threads lie
 * mixed; each goes to its thread, and profile_finish puts threads in order. While reading, times are ticks since the
 * start of the trace; at the end, when all calibrations are known, they become nanoseconds of CLOCK_MONOTONIC. */
#include <stdlib.h>

#include "libconvert/memory.h"
#include "native_times.h"
#include "native_trace_internal.h"

static enum probe_score probe(struct text start, bool is_whole) {
    (void)is_whole;
    return text_starts_with(start, (struct text){TRACE_MAGIC, TRACE_MAGIC_BYTES}) ? PROBE_SURE : PROBE_NO;
}

static int64_t epoch_offset_ns(const struct trace_header *header) {
    return (int64_t)header->start_realtime_ns - (int64_t)header->start_monotonic_ns;
}

static void begin(struct native_trace *trace, const struct reader_options *options) {
    struct profile *profile = trace->profile;
    const struct trace_header *header = &trace->header;
    native_clock_init(&trace->clock, header->clock == TRACE_CLOCK_MONOTONIC, header->ticks_per_second,
                      header->start_ticks, header->start_monotonic_ns, profile->failure);
    native_definitions_init(&trace->definitions, profile, &trace->ledger);
    native_tasks_init(&trace->tasks, profile);
    native_counters_init(&trace->counters, profile);
    native_code_init(&trace->code, profile, &trace->definitions, &trace->clock, options);
    native_jit_set_epoch(&trace->code.jit, epoch_offset_ns(header));
    column_init(&trace->pauses, sizeof(struct native_pause), profile->failure);
    column_init(&trace->set_aside, sizeof(struct native_blocks), profile->failure);
    column_init(&trace->cells, sizeof(union marker_value), profile->failure);
}

static void end(struct native_trace *trace) {
    for (size_t i = 0; i < trace->set_aside.count; i++) {
        const struct native_blocks *blocks = column_at(&trace->set_aside, i);
        memory_free((char *)(uintptr_t)blocks->bytes.bytes);
        native_sampled_destroy(blocks->place.sampled);
    }
    native_code_fini(&trace->code);
    native_clock_fini(&trace->clock);
    native_definitions_fini(&trace->definitions);
    native_tasks_fini(&trace->tasks);
    native_counters_fini(&trace->counters);
    column_fini(&trace->pauses);
    column_fini(&trace->set_aside);
    column_fini(&trace->cells);
    memory_free(trace->frames);
    memory_free(trace->scratch);
}

static int compare_pauses(const void *left, const void *right) {
    const struct native_pause *a = left, *b = right;
    if (a->process != b->process) return a->process < b->process ? -1 : 1;
    return (a->ticks > b->ticks) - (a->ticks < b->ticks);
}

/* Pauses and resumes of a process alternate; of several of a kind in a row the first counts. */
static void add_paused_ranges(struct native_trace *trace) {
    struct column *pauses = &trace->pauses;
    column_sort(pauses, compare_pauses);
    bool is_paused = false;
    int64_t start_ticks = TIME_NONE;
    for (size_t i = 0; i < pauses->count; i++) {
        const struct native_pause *pause = column_at(pauses, i);
        const struct native_pause *before = i ? column_at(pauses, i - 1) : NULL;
        const struct native_pause *after = i + 1 < pauses->count ? column_at(pauses, i + 1) : NULL;
        bool is_first = !before || before->process != pause->process;
        bool is_last = !after || after->process != pause->process;
        process_id process = {pause->process};
        /* What resumes first of all was paused before the trace, or before what is left of it. */
        if (is_first) {
            is_paused = pause->is_resume;
            start_ticks = TIME_NONE;
        }
        if (pause->is_resume && is_paused) profile_add_paused_range(trace->profile, process, start_ticks, pause->ticks);
        if (!pause->is_resume && !is_paused) start_ticks = pause->ticks;
        is_paused = !pause->is_resume;
        if (is_paused && is_last) profile_add_paused_range(trace->profile, process, start_ticks, TIME_NONE);
    }
}

static void describe(struct native_trace *trace) {
    struct profile_meta *meta = &trace->profile->meta;
    const struct trace_header *header = &trace->header;
    native_definitions_fill_meta(&trace->definitions);
    meta->is_clock_monotonic = true;
    meta->epoch_offset_ns = epoch_offset_ns(header);
}

static void finish(struct native_trace *trace) {
    struct profile *profile = trace->profile;
    if (!trace->code.jit.is_ready) native_clock_settle(&trace->clock);
    native_counters_settle(&trace->counters, !trace->header.recycled_chunk_count);
    native_tasks_settle(&trace->tasks);
    add_paused_ranges(trace);
    describe(trace);
    native_log_write(trace);
    if (!failure_is_set(profile->failure)) native_times_convert(profile, &trace->clock);
}

static void run(struct input *input, struct profile *profile, const struct reader_options *options) {
    struct native_trace *trace = calloc(1, sizeof *trace);
    if (!trace) {
        failure_set_memory(profile->failure);
        return;
    }
    trace->profile = profile;
    if (native_chunks_read_header(trace, input)) {
        begin(trace, options);
        native_jit_trust_owner(&trace->code.jit, input);
        native_chunks_read(trace, input);
        if (!failure_is_set(profile->failure)) native_events_read_set_aside(trace);
        if (!failure_is_set(profile->failure)) finish(trace);
        end(trace);
    }
    free(trace);
}

const struct reader reader_native_trace = {
    .name = "native",
    .title = "recorder trace",
    .probe = probe,
    .run = run,
};
