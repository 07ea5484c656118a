#include "script_parser.h"

#include "libconvert/base/byte_buffer.h"
#include "libconvert/base/cursor.h"
#include "libconvert/base/memory.h"
#include "libconvert/base/strings.h"
#include "readers/input/scan.h"
#include "readers/perf/perf_roles.h"
#include "script_fields.h"
#include "script_frame_line.h"
#include "script_lines.h"
#include "script_records.h"
#include "script_wrap.h"

/* Bounds memory. The kernel's own limit (kernel.perf_event_max_stack) is far lower. */
enum { STACK_FRAMES_MAX = 65535 };

/* The sample whose stack is being read. */
struct open_sample {
    bool is_open;
    bool is_rest_read;
    struct perf_record record; /* its lines are missing, its text is `rest` */
    char *rest; /* owned copy of what follows the event; the line itself is gone when the sample is closed */
    size_t rest_capacity;
    uint32_t frame_count;    /* how many were read, cookies included */
    uint64_t too_deep_count; /* frames beyond STACK_FRAMES_MAX */
    uint32_t *lines;         /* owned; numbers of its frame lines and source lines */
    uint32_t line_count;
    size_t line_capacity;
};

struct parser {
    struct perf_sink sink;
    struct perf_tallies *tallies; /* borrowed */
    struct failure *failure;      /* borrowed */
    struct scan scan;
    struct script_event_memo event_memo;
    struct script_lines lines;
    struct open_sample sample;
    struct strings events; /* names of events */
    uint32_t event_count;
    bool are_tracepoints[PERF_EVENTS_MAX + 1]; /* by event */
    struct script_records records;
    bool has_times;
    size_t wrap_columns;             /* see script_wrap_columns */
    struct byte_buffer broken;       /* a line that was broken, as far as it is joined; empty: there is none */
    struct position broken_position; /* where it begins */
    size_t broken_columns;           /* columns of the last part of the line */
    bool is_broken;                  /* its last part has no end: a rest may follow */
    bool has_differences;            /* times are those since the line before: perf script --deltatime */
    int64_t sum_ns;                  /* sum of the differences so far */
    bool has_tab_frames;  /* frame lines begin with a tab, as perf writes them; other lines in a stack are not frames */
    bool has_bare_frames; /* some frame lines have no indentation, so their source lines have none either */
};

static void tally(struct parser *parser, enum perf_tally cause) {
    perf_tally(parser->tallies, cause, 1, parser->scan.position);
}

static void tally_sample(struct parser *parser, enum perf_tally cause, uint64_t count) {
    perf_tally(parser->tallies, cause, count, parser->sample.record.position);
}

static void tally_fields(struct parser *parser, struct text fields) {
    static const enum perf_tally tallies[SCRIPT_FIELD_COUNT] = {
        [SCRIPT_FIELD_DATA] = TALLY_ADDRESS,
        [SCRIPT_FIELD_TARGET] = TALLY_BRANCH_TARGET,
        [SCRIPT_FIELD_REGISTERS] = TALLY_REGISTERS,
        [SCRIPT_FIELD_BRANCHES] = TALLY_BRANCHES,
        [SCRIPT_FIELD_INSTRUCTION] = TALLY_INSTRUCTION,
        [SCRIPT_FIELD_CYCLES] = TALLY_CYCLES,
        [SCRIPT_FIELD_OTHER] = TALLY_FIELD,
    };
    uint32_t kinds = script_fields_kinds(fields);
    for (size_t i = 0; i < SCRIPT_FIELD_COUNT; i++)
        if (kinds >> i & 1) tally_sample(parser, tallies[i], 1);
}

/* ---- Stacks. ---- */

/* Running out of memory is latched. */
static inline void add_number(struct parser *parser, uint32_t number) {
    struct open_sample *sample = &parser->sample;
    if (memory_reserve(parser->failure, &sample->lines, &sample->line_capacity, sample->line_count + 1, sizeof number))
        sample->lines[sample->line_count++] = number;
}

/* Adds the line to the stack. Returns false if it is not a frame line. */
static bool add_frame(struct parser *parser, struct text line) {
    struct open_sample *sample = &parser->sample;
    uint32_t number = script_lines_frame(&parser->lines, line, &sample->record.sample.cookie);
    if (number == ID_NONE) return false;
    if (sample->frame_count < STACK_FRAMES_MAX) {
        sample->frame_count++;
        if (number != SCRIPT_LINE_COOKIE) add_number(parser, number);
    } else {
        sample->too_deep_count++;
    }
    return true;
}

/* Gives the last frame its source line, which other fields may follow. Returns false if there is no frame, or the line
 * is not a source line. A frame that is too deep for the stack needs none. */
static bool add_source(struct parser *parser, struct text whole_line) {
    struct open_sample *sample = &parser->sample;
    struct text line = script_fields_cut(text_trim_end(whole_line));
    uint32_t number = sample->line_count ? script_lines_source(&parser->lines, line) : ID_NONE;
    if (number == ID_NONE) return false;
    /* Usually a frame has one source line. */
    if (!sample->too_deep_count && sample->line_count < 2 * STACK_FRAMES_MAX) add_number(parser, number);
    tally_fields(parser, text_from(whole_line, line.bytes_count));
    return true;
}

/* ---- The event line's end. ---- */

static struct text event_name(const struct parser *parser) {
    return strings_text(&parser->events, (string_id){parser->sample.record.sample.event});
}

/* Cuts the fields off the end of a tracepoint's payload: first the only frame of a recording without -g. */
static void cut_payload(struct parser *parser) {
    struct open_sample *sample = &parser->sample;
    struct perf_record *record = &sample->record;
    if (record->type != PERF_SAMPLE || !parser->are_tracepoints[record->sample.event]) return;
    if (!sample->frame_count) record->text = script_fields_cut_frame(record->text);
    record->sample.has_address = script_fields_cut_address(&record->text, &record->sample.address);
}

/* Counts what follows the event on its line and is not the payload of a tracepoint. Adds the only frame of a recording
 * without -g, which is there. */
static void read_rest(struct parser *parser) {
    struct open_sample *sample = &parser->sample;
    struct text rest = sample->record.text;
    if (sample->is_rest_read || sample->record.type != PERF_SAMPLE) return;
    if (parser->are_tracepoints[sample->record.sample.event]) return;
    sample->is_rest_read = true;
    if (!rest.bytes_count) return;
    struct text frame = sample->frame_count ? (struct text){0} : script_fields_frame(rest);
    bool is_frame = frame.bytes_count && add_frame(parser, frame);
    size_t start = is_frame ? (size_t)(frame.bytes - rest.bytes) : rest.bytes_count;
    struct text before = text_slice(rest, 0, start);
    bool has_name = false;
    if (perf_role_has_address(event_name(parser)))
        sample->record.sample.has_address =
            script_fields_take_address(&before, &sample->record.sample.address, &has_name);
    tally_sample(parser, TALLY_DATA_NAME, has_name);
    tally_fields(parser, before);
    tally_fields(parser, text_from(rest, start + frame.bytes_count));
}

/* ---- Samples. ---- */

/* Emits the open sample, if any. */
static void close_sample(struct parser *parser) {
    struct open_sample *sample = &parser->sample;
    struct perf_record *record = &sample->record;
    if (!sample->is_open) return;
    sample->is_open = false;
    bool has_stack = sample->frame_count && !sample->is_rest_read;
    read_rest(parser);
    cut_payload(parser);
    record->sample.has_stack = has_stack;
    tally_sample(parser, TALLY_DEEP_FRAME, sample->too_deep_count);
    record->sample.lines = sample->lines;
    record->sample.line_count = sample->line_count;
    perf_emit(parser->sink, record);
}

/* Ends the open sample at a blank line. perf prints one after each stack, even if the stack has no line: then the
 * sample is of unknown code. */
static void end_stack(struct parser *parser) {
    const struct open_sample *sample = &parser->sample;
    const struct perf_record *record = &sample->record;
    bool is_empty = sample->is_open && record->type == PERF_SAMPLE && !sample->frame_count && !sample->is_rest_read &&
                    !parser->are_tracepoints[record->sample.event];
    if (is_empty && !perf_role_is_occurrence(event_name(parser)) && !script_fields_frame(record->text).bytes_count)
        add_frame(parser, TEXT("\t[unknown]"));
    close_sample(parser);
}

/* Parses "DEFERRED CALLCHAIN [cookie: b00000006]". */
static bool parse_deferred_stack(struct text rest, uint64_t *cookie) {
    static const struct text start = TEXT("DEFERRED CALLCHAIN [cookie: ");
    if (!text_starts_with(rest, start) || !text_ends_with(rest, TEXT("]"))) return false;
    struct perf_frame_line frame;
    if (!script_frame_line_parse(text_slice(rest, start.bytes_count, rest.bytes_count - 1), &frame) ||
        !frame.has_address)
        return false;
    *cookie = frame.address;
    return true;
}

/* Returns the event of that name, which it emits if it is new; ID_NONE if memory ran out (latched). */
static uint32_t event_of(struct parser *parser, const struct script_event_line *line) {
    string_id id = strings_intern(&parser->events, line->event);
    if (string_is_none(id)) return ID_NONE;
    uint32_t row = id.index < PERF_EVENTS_MAX ? id.index : PERF_EVENTS_MAX;
    if (row < parser->event_count) return row;
    struct text stored = row < PERF_EVENTS_MAX ? strings_text(&parser->events, id) : TEXT("beyond the first 4096");
    parser->event_count = row + 1;
    parser->are_tracepoints[row] = script_fields_are_payload(stored, line->has_period, line->rest);
    const struct perf_record record = {.type = PERF_EVENT,
                                       .time_ns = TIME_NONE,
                                       .position = parser->scan.position,
                                       .name = stored,
                                       .event = {.event = row, .is_tracepoint = parser->are_tracepoints[row]}};
    perf_emit(parser->sink, &record);
    return row;
}

static struct text copy_rest(struct parser *parser, struct text rest) {
    struct open_sample *sample = &parser->sample;
    if (!rest.bytes_count) return rest;
    if (!memory_reserve(parser->failure, &sample->rest, &sample->rest_capacity, rest.bytes_count, 1))
        return (struct text){0};
    memcpy(sample->rest, rest.bytes, rest.bytes_count);
    return (struct text){sample->rest, rest.bytes_count};
}

/* Returns whether the comm is what perf prints for a thread without a name: ":4711". */
static bool is_placeholder(struct text comm, int64_t tid) {
    int64_t number;
    return cursor_take(&comm, TEXT(":")) && cursor_parse_id(comm, &number) && number == tid;
}

static struct perf_record record_of(const struct parser *parser, const struct script_event_line *line,
                                    enum perf_record_type type) {
    return (struct perf_record){.type = type,
                                .machine = line->machine,
                                .pid = line->pid,
                                .tid = line->tid,
                                .time_ns = line->has_time ? line->time_ns : TIME_NONE,
                                .position = parser->scan.position};
}

/* Emits the name that the task of the line has at that time. */
static void emit_name(const struct parser *parser, const struct script_event_line *line) {
    if (!line->comm.bytes_count || is_placeholder(line->comm, line->tid)) return;
    struct perf_record record = record_of(parser, line, PERF_NAME);
    record.name = line->comm;
    perf_emit(parser->sink, &record);
}

/* Opens the sample, or the deferred user stack, of an event line. */
static void open_sample(struct parser *parser, const struct script_event_line *line) {
    struct open_sample *sample = &parser->sample;
    close_sample(parser);
    sample->is_open = true;
    sample->is_rest_read = false;
    sample->frame_count = sample->line_count = 0;
    sample->too_deep_count = 0;
    sample->record = record_of(parser, line, PERF_SAMPLE);
    emit_name(parser, line);
    parser->has_times |= line->has_time;
    if (parse_deferred_stack(line->rest, &sample->record.sample.cookie)) {
        sample->record.type = PERF_USER_STACK;
        return;
    }
    sample->record.sample.event = event_of(parser, line);
    sample->record.sample.processor = line->cpu;
    sample->record.sample.has_period = line->has_period;
    sample->record.sample.period = line->has_period ? line->period : 0;
    sample->record.text = copy_rest(parser, line->rest);
    sample->is_open = sample->record.sample.event != ID_NONE;
    if (line->has_skipped_field) tally(parser, TALLY_SKIPPED_FIELD);
}

/* ---- Lines. ---- */

/* Messages that tools write to the same stream. The first row that the trimmed line begins with applies. */
static const struct message {
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

static const struct message *find_message(struct text trimmed) {
    for (size_t i = 0; i < sizeof messages / sizeof *messages; i++)
        if (text_starts_with(trimmed, messages[i].start)) return &messages[i];
    return NULL;
}

bool script_is_message(struct text line) { return find_message(text_trim(line)); }

static bool read_message(struct parser *parser, struct text trimmed) {
    const struct message *message = find_message(trimmed);
    if (message) tally(parser, message->tally);
    return message;
}

/* Returns whether times in the start of the text are those since the line before. perf sorts what it prints, so the
 * times of any other text that begins at 0 grow, except where another text follows. */
static bool has_differences(struct text start) {
    enum { LINES_PER_STEP_BACK_MAX = 8, STEPS_BACK_MIN = 2 };
    size_t line_count = 0, step_back_count = 0;
    int64_t before_ns = 0;
    for (size_t end; start.bytes_count && (end = text_find(start, '\n')) < start.bytes_count;
         start = text_from(start, end + 1)) {
        struct script_event_line line;
        if (!script_event_line_parse(text_slice(start, 0, end), &line) || !line.has_time) continue;
        if (line_count++ == 0 && line.time_ns != 0) return false;
        step_back_count += line.time_ns != 0 && line.time_ns < before_ns;
        before_ns = line.time_ns;
    }
    return step_back_count >= STEPS_BACK_MIN && step_back_count * LINES_PER_STEP_BACK_MAX >= line_count;
}

static void add_difference(struct parser *parser, struct script_event_line *line) {
    if (!parser->has_differences || !line->has_time || line->time_ns == TIME_NONE) return;
    if (line->time_ns <= PERF_TIME_MAX_NS - parser->sum_ns) parser->sum_ns += line->time_ns;
    line->time_ns = parser->sum_ns;
    tally(parser, TALLY_DIFFERENCE);
}

static bool read_event_line(struct parser *parser, struct text line) {
    struct script_event_line event_line;
    bool is_bare = script_record_is_bare(line);
    if (is_bare)
        event_line = (struct script_event_line){.pid = PID_UNKNOWN, .tid = PID_UNKNOWN, .cpu = -1, .rest = line};
    else if (!script_event_line_parse_again(&parser->event_memo, line, &event_line))
        return false;
    add_difference(parser, &event_line);
    struct text record = script_record_of(&event_line, line);
    /* If lines have times, a line that looks like an event without a time is something else. */
    if (event_line.event.bytes_count && !record.bytes_count && !event_line.has_time && parser->has_times) return false;
    if (record.bytes_count) {
        close_sample(parser);
        tally(parser, TALLY_RECORD);
        if (text_starts_with(record, TEXT("PERF_RECORD_SWITCH"))) emit_name(parser, &event_line);
        script_records_read(&parser->records, &event_line, record, parser->scan.position);
    } else {
        tally(parser, TALLY_EVENT);
        open_sample(parser, &event_line);
    }
    return true;
}

/* perf indents a source line by two blanks. It pads the addresses of frames to more. */
static bool is_at_source_column(struct text line) {
    return text_starts_with(line, TEXT("  ")) && !text_is_blank_byte(text_from(line, 2).bytes[0]);
}

/* Reads a line of an open sample that is not an event line. */
static void read_stack_line(struct parser *parser, struct text line, struct text trimmed) {
    if (!parser->sample.frame_count && is_at_source_column(line)) read_rest(parser);
    if (is_at_source_column(line) && add_source(parser, line))
        tally(parser, TALLY_SOURCE);
    else if (!parser->has_tab_frames && add_frame(parser, line))
        tally(parser, TALLY_FRAME);
    else if (script_fields_are(trimmed))
        tally(parser,
              script_fields_kinds(trimmed) >> SCRIPT_FIELD_BRANCHES & 1 ? TALLY_BRANCH_STACK : TALLY_FIELD_LINE);
    else if (add_source(parser, line))
        tally(parser, TALLY_SOURCE);
    else if (!read_message(parser, trimmed))
        tally(parser, TALLY_NO_FRAME);
}

/* True if a line that is not an event line belongs to the open sample. */
static bool belongs_to_stack(struct parser *parser, struct text line) {
    struct perf_source_line source;
    if (text_is_blank_byte(line.bytes[0]) || script_fields_are(line)) return true;
    if (parser->has_tab_frames) return false;
    if (!script_frame_line_is_bare(line))
        return parser->has_bare_frames && parser->sample.line_count && script_source_line_parse(line, &source);
    parser->has_bare_frames = true;
    return true;
}

/* A comment is "#" alone or "# …". An event line can begin with '#' too, since a comm can. */
static bool is_comment(struct text line) {
    return line.bytes[0] == '#' && (line.bytes_count == 1 || text_is_blank_byte(line.bytes[1]));
}

bool script_is_source_code(struct text line) {
    return line.bytes_count > 1 && line.bytes[0] == '|' && cursor_is_digit(line.bytes[1]);
}

/* Emits the property on a line that begins with '#', unless it is not "key : value". */
static void read_comment(struct parser *parser, struct text line) {
    struct text text = text_trim(text_from(line, 1));
    const char *separator = memmem(text.bytes, text.bytes_count, ": ", 2);
    tally(parser, TALLY_HEADER);
    if (!separator) return;
    size_t colon = (size_t)(separator - text.bytes);
    const struct perf_record record = {.type = PERF_HEADER,
                                       .time_ns = TIME_NONE,
                                       .name = text_trim(text_slice(text, 0, colon)),
                                       .text = text_trim(text_from(text, colon + 1))};
    perf_emit(parser->sink, &record);
}

/* Reads a line that does not begin with a tab, or is not of a stack. */
__attribute__((noinline)) static void read_other_line(struct parser *parser, struct text line) {
    bool is_open = parser->sample.is_open;
    struct text trimmed = text_trim(line);
    if (!is_open && script_records_read_more(&parser->records, trimmed)) {
        tally(parser, TALLY_RECORD);
    } else if (!trimmed.bytes_count) {
        end_stack(parser);
        tally(parser, TALLY_BLANK);
    } else if (is_comment(line)) {
        read_comment(parser, line);
    } else if (script_is_source_code(line)) {
        tally(parser, TALLY_FIELD_LINE);
    } else if (read_event_line(parser, line)) {
        return;
    } else if (is_open && belongs_to_stack(parser, line)) {
        read_stack_line(parser, line, trimmed);
    } else if (!read_message(parser, trimmed)) {
        tally(parser, script_frame_line_is_any(line) ? TALLY_STRAY_FRAME : TALLY_MALFORMED);
    }
}

/* Frame lines are by far the most common, so they are tried first. perf begins them, and no other line, with a tab. */
static void read_line(struct parser *parser, struct text line) {
    if (parser->sample.is_open && line.bytes_count && line.bytes[0] == '\t' && add_frame(parser, line)) {
        parser->has_tab_frames = true;
        tally(parser, TALLY_FRAME);
    } else {
        read_other_line(parser, line);
    }
}

/* Reads the line that was broken, if there is one. Its position is where it begins. */
static void end_broken_line(struct parser *parser) {
    struct position position = parser->scan.position;
    parser->scan.position = parser->broken_position;
    if (parser->broken.bytes_count) read_line(parser, byte_buffer_text(&parser->broken));
    parser->broken.bytes_count = 0;
    parser->scan.position = position;
}

/* Reads a line of a text with broken lines: joins it with the line before it, or keeps it if its rest may follow. */
static void read_broken_line(struct parser *parser, struct text line) {
    bool has_room = parser->broken.bytes_count + line.bytes_count < SCAN_LINE_BYTES_MAX;
    bool is_rest = parser->is_broken && has_room && script_wrap_is_rest(line);
    parser->is_broken = script_wrap_is_broken(line, is_rest);
    if (is_rest && parser->broken_columns < parser->wrap_columns) {
        line = text_trim(line);
        byte_buffer_append(&parser->broken, TEXT(" "));
    }
    if (is_rest) {
        tally(parser, TALLY_BROKEN_LINE);
    } else {
        end_broken_line(parser);
        parser->broken_position = parser->scan.position;
    }
    parser->broken_columns = script_wrap_width(line);
    if (is_rest || parser->is_broken)
        byte_buffer_append(&parser->broken, line);
    else
        read_line(parser, line);
}

void script_parse(struct input *input, struct perf_sink sink, struct perf_tallies *tallies, struct failure *failure) {
    struct parser parser = {.sink = sink, .tallies = tallies, .failure = failure};
    struct text line;
    enum { START_BYTES = 64 * 1024 };
    struct text start = text_slice(input_peek(input, START_BYTES), 0, START_BYTES);
    parser.has_differences = has_differences(start);
    parser.wrap_columns = script_wrap_columns(start);
    parser.broken.failure = failure;
    scan_init(&parser.scan, input);
    script_lines_init(&parser.lines, sink, failure);
    strings_init(&parser.events, failure);
    parser.records.sink = sink;
    parser.records.tallies = tallies;
    strings_init(&parser.records.losses, failure);
    while (!failure_is_set(failure) && scan_line(&parser.scan, &line)) {
        if (parser.wrap_columns)
            read_broken_line(&parser, line);
        else
            read_line(&parser, line);
    }
    if (!failure_is_set(failure)) {
        end_broken_line(&parser);
        close_sample(&parser);
        script_records_end(&parser.records);
    }
    perf_tally(tallies, TALLY_CUT_LINE, parser.scan.cut_line_count, parser.scan.first_cut);
    script_lines_fini(&parser.lines);
    strings_fini(&parser.events);
    byte_buffer_fini(&parser.broken);
    strings_fini(&parser.records.losses);
    MEMORY_FREE_ALL(parser.sample.rest, parser.sample.lines);
}
