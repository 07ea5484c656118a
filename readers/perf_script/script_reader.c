/* The reader of perf script text. */
#include "readers/code/script_frames.h"
#include "readers/input/foreign.h"
#include "readers/perf/perf_filter.h"
#include "readers/perf/perf_finish.h"
#include "readers/perf/perf_records.h"
#include "readers/perf/perf_sources.h"
#include "readers/perf/perf_stack.h"
#include "script_ahead.h"
#include "script_frame_line.h"
#include "script_parser.h"
#include "script_records.h"

static void read(struct input *input, struct perf_recording *recording, const struct reader_options *options) {
    struct perf_sink sink = perf_records_sink(recording);
    struct failure *failure = recording->profile->failure;
    if (options->job_count > 1 && script_is_worth_thread(input, options->block_bytes))
        script_parse_ahead(input, options->block_bytes, sink, &recording->tallies, failure);
    else
        script_parse(input, sink, &recording->tallies, failure);
}

static void run(struct input *input, struct profile *profile, const struct reader_options *options) {
    struct perf_recording recording;
    struct perf_stack stack;
    perf_recording_init(&recording, profile, options);
    perf_stack_init(&stack, &recording, options);
    read(input, &recording, options);
    if (!failure_is_set(profile->failure)) perf_finish(&recording, options);
    if (!failure_is_set(profile->failure)) perf_sources_unify(profile);
    perf_stack_fini(&stack);
    perf_recording_fini(&recording);
}

/* ---- Recognition. ---- */

/* Counts of the lines in the start of a text. */
struct census {
    size_t good_count;
    size_t other_count;
    size_t call_count; /* lines of perf script --call-trace: "app 1 [000] 1.000001: (/lib/libc.so.6 )      main" */
    bool is_in_sample; /* an event line precedes, and no blank line follows it */
};

/* Scores one line. Prose can look like an event line without a time ("jumps 3 times: …"). Such a line counts only if it
 * has a frame, on it or on the next line, or both ids and a tracepoint. */
static enum probe_score score_line(struct text line, struct census *census, bool *awaits_frame) {
    struct script_event_line event_line;
    bool awaited_frame = *awaits_frame;
    *awaits_frame = false;
    if (!script_event_line_parse(line, &event_line))
        return awaited_frame && script_frame_line_is_any(line) ? PROBE_LIKELY : PROBE_NO;
    struct text rest = event_line.rest;
    bool begins_with_library = text_starts_with(rest, TEXT("(/")) || text_starts_with(rest, TEXT("(["));
    census->call_count += event_line.has_time && !event_line.event.bytes_count && begins_with_library;
    bool is_record = script_record_of(&event_line, line).bytes_count > 0;
    bool has_frame = script_frame_line_is_bare(rest);
    bool has_event = event_line.event.bytes_count > 0;
    *awaits_frame = has_event || event_line.has_time;
    if (event_line.has_time) return is_record || has_event || has_frame ? PROBE_SURE : PROBE_NO;
    bool is_tracepoint =
        event_line.pid != PID_UNKNOWN && text_find(event_line.event, ':') < event_line.event.bytes_count;
    return is_record || has_frame || is_tracepoint ? PROBE_LIKELY : PROBE_NO;
}

/* Returns whether the line speaks neither for nor against the format. What perf prints in a sample besides frames can
 * be much: branches and instructions begin with a tab, and the data of bpf-output is in columns. */
static bool is_neutral(const struct census *census, struct text line) {
    static const struct text starts[] = {TEXT("\t"), TEXT("      BPF "), TEXT("                 ")};
    if (text_starts_with(line, TEXT("#")) || script_is_message(line)) return true;
    if (!census->is_in_sample) return false;
    for (size_t i = 0; i < sizeof starts / sizeof *starts; i++)
        if (text_starts_with(line, starts[i])) return true;
    return script_is_source_code(line);
}

static void count_line(struct census *census, struct text line, bool is_event, bool is_frame) {
    bool is_blank = !text_trim(line).bytes_count;
    bool is_good = is_event || (is_frame && census->is_in_sample);
    census->good_count += is_good;
    census->other_count += !is_good && !is_blank && !is_neutral(census, line);
    census->is_in_sample = is_event || (census->is_in_sample && !is_blank);
}

static enum probe_score probe(struct text start, bool is_whole) {
    if (text_starts_with(start, TEXT("# ========\n# captured on"))) return PROBE_SURE;
    if (foreign_is_json(start)) return PROBE_NO; /* its strings can quote perf script text */
    enum probe_score score = PROBE_NO;
    struct census census = {0};
    bool awaits_frame = false;
    while (start.bytes_count) {
        size_t end = text_find(start, '\n');
        if (end == start.bytes_count && !is_whole) break;
        struct text line = text_slice(start, 0, end);
        if (text_ends_with(line, TEXT("\r"))) line.bytes_count--;
        enum probe_score line_score = score_line(line, &census, &awaits_frame);
        bool is_frame = !awaits_frame && script_frame_line_is_any(line);
        count_line(&census, line, awaits_frame || line_score > PROBE_NO, is_frame);
        if (line_score > score) score = line_score;
        start = text_from(start, end + 1 > start.bytes_count ? end : end + 1);
    }
    /* Programs and prose have single lines that look like events. */
    bool is_prose = census.good_count * 4 < census.good_count + census.other_count;
    bool is_of_calls = census.call_count && census.call_count * 2 >= census.good_count;
    return is_prose || is_of_calls ? PROBE_NO : score;
}

const struct reader reader_perf_script = {
    .name = "perf-script",
    .title = "perf script text",
    .probe = probe,
    .run = run,
    .is_of_perf = true,
    .takes_perf_maps = true,
    .filter_kinds = PERF_FILTER_KINDS,
    .name_func = script_frames_name,
};
