/* Reads the text of perf script in one pass over its lines. An event line opens a sample, frame lines fill its stack,
 * and a blank line or the next event line closes it. Records are single lines between samples. */
#include "perf_script_internal.h"
#include "perf_sources.h"
#include "readers/perf/perf_script_frames.h"

static const struct ledger_cause causes[TALLY_COUNT] = {
    [TALLY_BLANK] = {LEDGER_LINES, LEDGER_KEPT, TEXT("blank line")},
    [TALLY_HEADER] = {LEDGER_LINES, LEDGER_KEPT, TEXT("header comment")},
    [TALLY_EVENT] = {LEDGER_LINES, LEDGER_KEPT, TEXT("event line")},
    [TALLY_FRAME] = {LEDGER_LINES, LEDGER_KEPT, TEXT("frame line")},
    [TALLY_SOURCE] = {LEDGER_LINES, LEDGER_KEPT, TEXT("source line of a frame")},
    [TALLY_RECORD] = {LEDGER_LINES, LEDGER_KEPT, TEXT("record")},
    [TALLY_MESSAGE] = {LEDGER_LINES, LEDGER_KEPT, TEXT("message of perf")},
    [TALLY_BRANCH_STACK] = {LEDGER_LINES, LEDGER_LOST, TEXT("branch stack")},
    [TALLY_TRACE_ERROR] = {LEDGER_LINES, LEDGER_LOST, TEXT("instruction trace error: samples are missing there")},
    [TALLY_STRAY_FRAME] = {LEDGER_LINES, LEDGER_LOST, TEXT("frame line without an event line before it")},
    [TALLY_NO_FRAME] = {LEDGER_LINES, LEDGER_LOST, TEXT("line in a stack that is no frame")},
    [TALLY_MALFORMED] = {LEDGER_LINES, LEDGER_LOST, TEXT("line that is no event, frame or record")},
    [TALLY_CUT_LINE] = {LEDGER_VALUES, LEDGER_LOST, TEXT("end of a line longer than 4 MiB")},
    [TALLY_NO_STACK] = {LEDGER_SAMPLES, LEDGER_LOST, TEXT("event line without a stack")},
    [TALLY_JUMP] = {LEDGER_SAMPLES, LEDGER_NOTED, TEXT("sample earlier than the one before it in its thread: sorted")},
    [TALLY_NO_TIME] = {LEDGER_SAMPLES, LEDGER_NOTED, TEXT("sample without a time: made up from the order")},
    [TALLY_LOST_BY_PERF] = {LEDGER_SAMPLES, LEDGER_NOTED, TEXT("sample that perf itself lost while recording")},
    [TALLY_NO_USER_STACK] = {LEDGER_SAMPLES, LEDGER_NOTED, TEXT("sample whose deferred user stack never came")},
    [TALLY_UNUSED_USER_STACK] = {LEDGER_RECORDS, LEDGER_LOST, TEXT("deferred user stack that no sample waits for")},
    [TALLY_CPU] = {LEDGER_VALUES, LEDGER_NOTED, TEXT("processor number: profiles have no place for it")},
    [TALLY_SKIPPED_FIELD] = {LEDGER_VALUES, LEDGER_NOTED,
                             TEXT("flags, time of day or virtual processor: profiles have no place for them")},
    [TALLY_NO_PERIOD] = {LEDGER_SAMPLES, LEDGER_NOTED, TEXT("sample that weighs one: the trace tells no periods")},
    [TALLY_FIELD] = {LEDGER_VALUES, LEDGER_LOST, TEXT("field behind the event")},
    [TALLY_TRACEPOINT_FIELDS] = {LEDGER_VALUES, LEDGER_LOST, TEXT("fields of a tracepoint with a stack")},
    [TALLY_DEEP_FRAME] = {LEDGER_VALUES, LEDGER_LOST, TEXT("frame deeper than 65535")},
};

/* ---- Lines. ---- */

/* Messages that tools write to the same stream. The first row that the trimmed line begins with applies. */
static const struct {
    struct text start;
    enum perf_tally tally;
} messages[] = {
    {TEXT("instruction trace error"), TALLY_TRACE_ERROR},
    {TEXT("[ perf record:"), TALLY_MESSAGE},
    {TEXT("Warning:"), TALLY_MESSAGE},
    {TEXT("WARNING:"), TALLY_MESSAGE},
    {TEXT("Couldn't "), TALLY_MESSAGE},
    {TEXT("Failed to open "), TALLY_MESSAGE},
    {TEXT("addr2line:"), TALLY_MESSAGE},
    {TEXT("BFD:"), TALLY_MESSAGE},
};

static bool read_message(struct perf_script *script, struct text trimmed) {
    for (size_t i = 0; i < sizeof messages / sizeof *messages; i++) {
        if (!text_starts_with(trimmed, messages[i].start)) continue;
        perf_tally(script, messages[i].tally, 1);
        return true;
    }
    return false;
}

static bool read_event_line(struct perf_script *script, struct text line) {
    struct perf_event_line event_line;
    if (!perf_event_line_parse_again(&script->event_memo, line, &event_line)) return false;
    struct text record = perf_record_of(&event_line, line);
    /* If lines have times, a line that looks like an event without a time is something else. */
    if (event_line.event.bytes_count && !record.bytes_count && !event_line.has_time && script->recording.has_times)
        return false;
    if (record.bytes_count) {
        perf_samples_close(script);
        perf_tally(script, TALLY_RECORD, 1);
        if (!event_line.has_time) event_line.time_ns = script->last_time_ns;
        perf_records_read(script, &event_line, record);
    } else {
        perf_tally(script, TALLY_EVENT, 1);
        perf_samples_open(script, &event_line);
    }
    return true;
}

/* Recognises "0x401000/0x402000/P/-/-/1/CALL/-": two addresses and flags. */
static bool is_branch_stack(struct text trimmed) {
    size_t blank = text_find(trimmed, ' ');
    struct text token = text_slice(trimmed, 0, blank);
    size_t slash = text_find(token, '/');
    return text_starts_with(token, TEXT("0x")) && text_starts_with(text_from(token, slash), TEXT("/0x"));
}

/* perf indents a source line by two blanks. It pads the addresses of frames to more. */
static bool is_at_source_column(struct text line) {
    return text_starts_with(line, TEXT("  ")) && !text_is_blank_byte(text_from(line, 2).bytes[0]);
}

/* Reads a line of an open sample that is not an event line. */
static void read_stack_line(struct perf_script *script, struct text line, struct text trimmed) {
    struct perf_source_line source;
    bool may_be_source = script->stack.count && is_at_source_column(line);
    if (may_be_source && perf_source_line_parse(line, &source) && perf_stack_add_source(&script->stack, &source))
        perf_tally(script, TALLY_SOURCE, 1);
    else if (!script->has_tab_frames && perf_stack_add_line(&script->stack, line))
        perf_tally(script, TALLY_FRAME, 1);
    else if (is_branch_stack(trimmed))
        perf_tally(script, TALLY_BRANCH_STACK, 1);
    else if (perf_source_line_parse(line, &source) && perf_stack_add_source(&script->stack, &source))
        perf_tally(script, TALLY_SOURCE, 1);
    else if (!read_message(script, trimmed))
        perf_tally(script, TALLY_NO_FRAME, 1);
}

/* True if a line that is not an event line belongs to the open sample. */
static bool belongs_to_stack(struct perf_script *script, struct text line) {
    struct perf_source_line source;
    if (text_is_blank_byte(line.bytes[0])) return true;
    if (script->has_tab_frames) return false;
    if (!perf_frame_line_is_bare(line))
        return script->has_bare_frames && script->stack.count && perf_source_line_parse(line, &source);
    script->has_bare_frames = true;
    return true;
}

/* A comment is "#" alone or "# …". An event line can begin with '#' too, since a comm can. */
static bool is_comment(struct text line) {
    return line.bytes[0] == '#' && (line.bytes_count == 1 || text_is_blank_byte(line.bytes[1]));
}

static bool is_frame_line(struct text line) {
    struct perf_frame_line frame;
    bool is_indented = line.bytes_count && text_is_blank_byte(line.bytes[0]);
    return is_indented ? perf_frame_line_parse(line, &frame) : perf_frame_line_is_bare(line);
}

static void read_line(struct perf_script *script, struct text line) {
    bool is_open = script->sample.is_open;
    /* Frame lines are by far the most common, so they are tried first. perf begins them, and no other line, with a
     * tab. */
    if (is_open && line.bytes_count && line.bytes[0] == '\t' && perf_stack_add_line(&script->stack, line)) {
        script->has_tab_frames = true;
        perf_tally(script, TALLY_FRAME, 1);
        return;
    }
    struct text trimmed = text_trim(line);
    if (!trimmed.bytes_count) {
        perf_samples_close(script);
        perf_tally(script, TALLY_BLANK, 1);
        return;
    }
    if (is_comment(line)) {
        perf_header_read_line(&script->recording.header, script->profile, line);
        script->stack.callers_are_adjusted = script->recording.header.has_dwarf_stacks;
        perf_tally(script, TALLY_HEADER, 1);
        return;
    }
    if (read_event_line(script, line)) return;
    if (is_open && belongs_to_stack(script, line))
        read_stack_line(script, line, trimmed);
    else if (read_message(script, trimmed))
        return;
    else
        perf_tally(script, is_frame_line(line) ? TALLY_STRAY_FRAME : TALLY_MALFORMED, 1);
}

/* ---- The end. ---- */

/* Notes the samples of an event without periods, when the user asked for periods as weights. */
static void note_missing_periods(struct perf_script *script, uint32_t chosen) {
    const struct perf_event *event = perf_events_at(&script->recording.events, chosen);
    if (!event->has_period) perf_tally_at(script, TALLY_NO_PERIOD, event->sample_count, event->first);
}

static void end_reading(struct perf_script *script) {
    perf_samples_finish(script);
    perf_tally_at(script, TALLY_CUT_LINE, script->scan.cut_line_count, script->scan.first_cut);
    /* Without -F dso, all libraries are the unknown one. */
    script->recording.has_libraries = script->stack.symbols.libraries.rows.count > 1;
}

static void finish(struct perf_script *script, const struct reader_options *options) {
    uint32_t chosen = perf_events_choose(&script->recording.events);
    if (options->weight == GECKO_CONVERT_WEIGHT_PERIOD && chosen != ID_NONE) note_missing_periods(script, chosen);
    ledger_enter_tallies(&script->profile->ledger, causes, script->tallies, TALLY_COUNT);
    script->recording.has_stacks = script->tallies[TALLY_FRAME].count > 0;
    perf_activity_finish(&script->recording.activity, &script->recording.tasks, script->last_time_ns);
    perf_recording_finish(&script->recording, chosen, options->weight);
    perf_sources_unify(script->profile);
}

/* Reads the next sample if it is lexed. */
static bool read_lexed(struct perf_script *script) {
    struct text text = scan_ahead(&script->scan);
    const struct perf_lexed_sample *lexed = text.bytes_count ? perf_ahead_sample_at(script->ahead, text.bytes) : NULL;
    if (lexed) perf_samples_read_lexed(script, lexed);
    return lexed;
}

static void read_lines(struct perf_script *script) {
    struct text line;
    const struct failure *failure = script->profile->failure;
    /* After an allocation has failed, a table can lack rows that another table refers to, so no further line may be
     * read. */
    while (!failure_is_set(failure)) {
        if (read_lexed(script)) continue;
        if (!scan_line(&script->scan, &line)) return;
        read_line(script, line);
    }
}

static void run(struct input *input, struct profile *profile, const struct reader_options *options) {
    struct perf_script script = {.profile = profile};
    script.ahead = perf_ahead_create(input, options->job_count, options->block_bytes, profile->failure);
    if (!script.ahead) return;
    scan_init(&script.scan, perf_ahead_input(script.ahead));
    perf_stack_init(&script.stack, profile);
    perf_nodes_init(&script.nodes, profile->failure);
    perf_recording_init(&script.recording, profile);
    strings_init(&script.record_names, profile->failure);
    read_lines(&script);
    if (!failure_is_set(profile->failure)) end_reading(&script);
    /* What lines mean is freed before finishing needs memory of its own: a quarter of the peak. */
    perf_nodes_fini(&script.nodes);
    stack_path_fini(&script.path);
    perf_stack_fini(&script.stack);
    perf_ahead_destroy(script.ahead);
    if (!failure_is_set(profile->failure)) finish(&script, options);
    perf_samples_fini(&script);
    strings_fini(&script.record_names);
    perf_recording_fini(&script.recording);
}

/* ---- Recognition. ---- */

/* Scores one line. Prose can look like an event line without a time ("jumps 3 times: …"). Such a line counts only if it
 * has a frame, on it or on the next line, or both ids and a tracepoint. */
static enum probe_score score_line(struct text line, bool *awaits_frame) {
    struct perf_event_line event_line;
    struct perf_frame_line frame;
    bool awaited_frame = *awaits_frame;
    *awaits_frame = false;
    if (!perf_event_line_parse(line, &event_line))
        return awaited_frame && is_frame_line(line) ? PROBE_LIKELY : PROBE_NO;
    bool is_record = perf_record_of(&event_line, line).bytes_count > 0;
    bool has_frame = perf_frame_line_parse(event_line.rest, &frame);
    bool has_event = event_line.event.bytes_count > 0;
    *awaits_frame = has_event || event_line.has_time;
    if (event_line.has_time) return is_record || has_event || has_frame ? PROBE_SURE : PROBE_NO;
    bool is_tracepoint =
        event_line.pid != PID_UNKNOWN && text_find(event_line.event, ':') < event_line.event.bytes_count;
    return is_record || has_frame || is_tracepoint ? PROBE_LIKELY : PROBE_NO;
}

static enum probe_score probe(struct text start, bool is_whole) {
    if (text_starts_with(start, TEXT("# ========\n# captured on"))) return PROBE_SURE;
    if (text_starts_with(text_trim_start(start), TEXT("{")))
        return PROBE_NO; /* a JSON string can quote perf script text */
    enum probe_score score = PROBE_NO;
    bool awaits_frame = false;
    while (start.bytes_count && score < PROBE_SURE) {
        size_t end = text_find(start, '\n');
        if (end == start.bytes_count && !is_whole) break;
        struct text line = text_slice(start, 0, end);
        if (text_ends_with(line, TEXT("\r"))) line.bytes_count--;
        enum probe_score line_score = score_line(line, &awaits_frame);
        if (line_score > score) score = line_score;
        start = text_from(start, end + 1 > start.bytes_count ? end : end + 1);
    }
    return score;
}

const struct reader reader_perf_script = {
    .name = "perf-script",
    .title = "perf script text",
    .probe = probe,
    .run = run,
    .name_func = perf_script_frames_name,
};
