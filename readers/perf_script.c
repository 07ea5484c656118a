/* Text of perf script, in one pass over the lines: an event line opens a sample, frame lines fill its stack, a blank
 * line or the next event line closes it. Records stand alone between them. */
#include "perf_script_internal.h"

static const struct {
    enum ledger_unit unit;
    enum ledger_fate fate;
    struct text cause;
} tally_table[TALLY_COUNT] = {
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

static void enter_tallies(struct perf_script *script) {
    struct ledger *ledger = &script->profile->ledger;
    for (size_t i = 0; i < TALLY_COUNT; i++) {
        const struct tally *tally = &script->tallies[i];
        if (tally_table[i].fate != LEDGER_NOTED) ledger_read(ledger, tally_table[i].unit, tally->count);
        ledger_enter(ledger, tally_table[i].unit, tally_table[i].fate, tally_table[i].cause, tally->count,
                     &tally->first);
    }
}

/* ---- Lines. ---- */

/* What tools write on the same stream. The first row that the trimmed line begins with counts. */
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
    if (!perf_event_line_parse(line, &event_line)) return false;
    struct text record = perf_record_of(&event_line, line);
    /* Where lines tell times, one that seems to be an event without a time is something else. */
    if (event_line.event.bytes_count && !record.bytes_count && !event_line.has_time && script->has_times) return false;
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

/* "0x401000/0x402000/P/-/-/1/CALL/-": two addresses and flags. */
static bool is_branch_stack(struct text trimmed) {
    size_t blank = text_find(trimmed, ' ');
    struct text token = text_slice(trimmed, 0, blank);
    size_t slash = text_find(token, '/');
    return text_starts_with(token, TEXT("0x")) && text_starts_with(text_from(token, slash), TEXT("/0x"));
}

/* perf indents a source line by two blanks, and pads the addresses of frames to more. */
static bool is_at_source_column(struct text line) {
    return text_starts_with(line, TEXT("  ")) && !text_is_blank_byte(text_from(line, 2).bytes[0]);
}

/* A line of an open sample that is no event line. */
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

/* Of a line of an open sample that is no event line. */
static bool belongs_to_stack(struct perf_script *script, struct text line) {
    struct perf_source_line source;
    if (text_is_blank_byte(line.bytes[0])) return true;
    if (script->has_tab_frames) return false;
    if (!perf_frame_line_is_bare(line))
        return script->has_bare_frames && script->stack.count && perf_source_line_parse(line, &source);
    script->has_bare_frames = true;
    return true;
}

/* A comm may begin with '#' too. */
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
    /* The usual line first: perf begins a frame line, and nothing else, with a tab. */
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
        perf_header_read_line(&script->header, script->profile, line);
        script->stack.callers_are_adjusted = script->header.has_dwarf_stacks;
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

static int64_t interval_ns(const struct perf_script *script, const struct perf_event *event) {
    bool is_even = event->has_period && event->period_min == event->period_max;
    if (event->unit == PERF_EVENT_CLOCK_NS && is_even && event->period_min > 1 && event->period_min <= INT32_MAX)
        return (int64_t)event->period_min;
    return script->header.frequency_hz > 0 ? (int64_t)(1e9 / script->header.frequency_hz) : 0;
}

static void set_weights(struct perf_script *script, const struct perf_event *event, enum weight_choice choice) {
    struct profile_meta *meta = &script->profile->meta;
    if (!event->has_period) return;
    meta->cpu_delta_unit = event->unit == PERF_EVENT_CLOCK_NS ? CPU_DELTA_NS
                           : event->unit == PERF_EVENT_CYCLES ? CPU_DELTA_CYCLES
                                                              : CPU_DELTA_NONE;
    if (choice != WEIGHT_BY_PERIOD) return;
    meta->weight_type = event->unit == PERF_EVENT_CLOCK_NS ? WEIGHT_TRACING_MS : WEIGHT_SAMPLES;
    meta->weight_unit = profile_text(script->profile, perf_event_base_name(event->name));
}

/* Periods were asked for as weights. */
static void note_missing_periods(struct perf_script *script, uint32_t chosen) {
    const struct perf_event *event = perf_events_at(&script->events, chosen);
    if (!event->has_period) perf_tally_at(script, TALLY_NO_PERIOD, event->sample_count, event->first);
}

static void finish(struct perf_script *script, const struct reader_options *options) {
    struct profile *profile = script->profile;
    perf_samples_finish(script);
    if (script->scan.cut_line_count)
        script->tallies[TALLY_CUT_LINE] = (struct tally){script->scan.cut_line_count, script->scan.first_cut};
    uint32_t chosen = perf_events_choose(&script->events);
    if (options->weight == WEIGHT_BY_PERIOD && chosen != ID_NONE) note_missing_periods(script, chosen);
    enter_tallies(script);
    perf_events_enter(&script->events, chosen, profile);
    perf_tasks_finish(&script->tasks, chosen);
    profile->meta.imported_from = profile_text(profile, TEXT("Linux perf"));
    profile->meta.has_file_offsets = true;
    profile->meta.has_stacks = script->tallies[TALLY_FRAME].count > 0;
    profile->meta.has_times = script->has_times;
    if (chosen == ID_NONE) return;
    const struct perf_event *event = perf_events_at(&script->events, chosen);
    profile->meta.interval_ns = interval_ns(script, event);
    set_weights(script, event, options->weight);
    if (event->name.bytes_count) profile_add_extra(profile, TEXT("perf"), TEXT("sampled event"), event->name);
    if (profile->meta.weight_type != WEIGHT_ONE)
        profile_add_extra(
            profile, TEXT("perf"), TEXT("weight of a sample"),
            event->unit == PERF_EVENT_CLOCK_NS
                ? TEXT("its period, in milliseconds of the clock")
                : profile_text_format(profile, "its period, in %.*s", (int)profile->meta.weight_unit.bytes_count,
                                      profile->meta.weight_unit.bytes));
}

static void read_lines(struct perf_script *script) {
    struct text line;
    const struct failure *failure = script->profile->failure;
    /* Out of memory, a table can lack what another one refers to: no line is read on top of that. */
    while (!failure_is_set(failure) && scan_line(&script->scan, &line)) read_line(script, line);
}

static void run(struct input *input, struct profile *profile, const struct reader_options *options) {
    struct perf_script script = {.profile = profile, .tracepoint_schema = UINT16_MAX};
    scan_init(&script.scan, input);
    perf_stack_init(&script.stack, profile);
    perf_tasks_init(&script.tasks, profile);
    perf_events_init(&script.events, profile->failure);
    strings_init(&script.record_names, profile->failure);
    read_lines(&script);
    if (!failure_is_set(profile->failure)) finish(&script, options);
    perf_samples_fini(&script);
    strings_fini(&script.record_names);
    perf_events_fini(&script.events);
    perf_tasks_fini(&script.tasks);
    perf_stack_fini(&script.stack);
}

/* ---- Recognition. ---- */

/* What one line tells. An event line without a time could be prose ("jumps 3 times: …"), so it counts only with a
 * frame, on it or on the next line, or with all of its ids and a tracepoint. */
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
    if (text_starts_with(text_trim_start(start), TEXT("{"))) return PROBE_NO; /* JSON can quote anything */
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
};
