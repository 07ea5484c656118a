/* Collapsed ("folded") stacks, root first, as the stackcollapse tools and many profilers write them:
 *
 *     frame;frame;frame COUNT           a sample that weighs COUNT
 *     frame;frame;frame BEFORE AFTER    a difference: a sample that weighs AFTER - BEFORE, and a marker with both
 *
 * The last word of a frame may be a number, so a single line cannot tell the two forms apart. A file is a difference if
 * most stacks in its start end in two numbers. Lines have no times. If it is known how long a stack took, the stacks of
 * a thread follow each other; otherwise samples get times at a fixed interval in the order of the lines. */
#include "collapsed_blocks.h"
#include "collapsed_line.h"
#include "collapsed_stacks.h"
#include "collapsed_threads.h"
#include "collapsed_unit.h"
#include "libconvert/base/cursor.h"
#include "libconvert/base/id_column.h"
#include "readers/filter.h"
#include "readers/input/scan.h"
#include "readers/reader.h"

static const int64_t SAMPLE_INTERVAL_NS = 1000000;

/* ---- The start of the trace. ---- */

/* True if a semicolon separates frames. A semicolon before a blank is punctuation. */
static bool has_separator(struct text stack) {
    for (size_t at = text_find(stack, ';'); at + 1 < stack.bytes_count;) {
        if (!text_is_blank_byte(stack.bytes[at + 1])) return true;
        at += 1 + text_find(text_from(stack, at + 1), ';');
    }
    return false;
}

static bool has_blank(struct text stack) {
    return text_find(stack, ' ') != stack.bytes_count || text_find(stack, '\t') != stack.bytes_count;
}

/* A table of numbers has such first columns: "3", "0.5", "10:00". */
static bool is_number(struct text stack) {
    for (size_t i = 0; i < stack.bytes_count; i++)
        if (cursor_is_word_byte(stack.bytes[i]) && !cursor_is_digit(stack.bytes[i])) return false;
    return cursor_is_digit(stack.bytes[0]);
}

/* "name: 12", "name = 12" and "name, 12" belong to other formats. */
static bool is_key(struct text stack) {
    char last = stack.bytes[stack.bytes_count - 1];
    return last == ':' || last == '=' || last == ',';
}

/* Counts of the lines in the start of a trace. */
struct census {
    size_t folded_count; /* lines with several frames and a count */
    size_t single_count; /* lines with one word and a count */
    size_t code_count;   /* lines among these whose word is a place in code */
    size_t other_count;
};

/* True if a word can hardly be anything but a frame: "app::run", "work+0x10", "main_[j]", "0x401136", "[unknown]". A
 * table of other things has words such as "nr_free_pages" and "http_requests_total{code=\"200\"}". */
static bool is_code(struct text word) {
    static const char *const signs[] = {"::", "+0x", "_[", "()", "[unknown]"};
    if (text_starts_with(word, TEXT("0x"))) return true;
    for (size_t i = 0; i < sizeof signs / sizeof *signs; i++)
        if (text_has(word, text_of(signs[i]))) return true;
    return false;
}

static void count_line(struct census *census, struct text text, enum collapsed_counts counts) {
    struct collapsed_line line;
    enum collapsed_verdict verdict = collapsed_line_parse(text, counts, &line);
    if (verdict == COLLAPSED_BLANK || verdict == COLLAPSED_COMMENT) return;
    if (verdict != COLLAPSED_STACK) verdict = collapsed_line_parse(text, COLLAPSED_ONE_NUMBER, &line);
    bool is_stack = verdict == COLLAPSED_STACK && !is_key(line.stack);
    bool is_folded = (is_stack || verdict == COLLAPSED_GROUPED) &&
                     (has_separator(line.stack) || dialect_has_spaced_frames(line.stack));
    bool is_single = is_stack && !is_folded && !has_blank(line.stack) && !is_number(line.stack);
    census->folded_count += is_folded;
    census->single_count += is_single;
    census->code_count += is_single && is_code(line.stack);
    census->other_count += !is_folded && !is_single;
}

static enum probe_score score_census(const struct census *census) {
    size_t good_count = census->folded_count + census->single_count;
    size_t count = good_count + census->other_count;
    if (!good_count || (!census->folded_count && census->other_count)) return PROBE_NO;
    if (!census->folded_count) return census->code_count * 2 >= good_count ? PROBE_MAYBE : PROBE_IF_NAMED;
    if (census->folded_count > 1 && good_count * 20 >= count * 19) return PROBE_SURE;
    if (good_count * 4 >= count * 3) return PROBE_LIKELY;
    return good_count * 4 >= count ? PROBE_MAYBE : PROBE_NO;
}

static enum probe_score probe(struct text start, bool is_whole) {
    start = text_without_mark(start); /* a scan skips the byte order mark, too */
    if (text_find(start, '\0') != start.bytes_count) return PROBE_NO;
    struct census census = {0};
    struct text rest = start, line;
    bool is_austin = collapsed_unit_is_full_austin(start);
    enum collapsed_counts counts = is_austin ? COLLAPSED_AUSTIN_NUMBERS : COLLAPSED_TWO_NUMBERS;
    while (collapsed_line_take(&rest, is_whole, &line)) count_line(&census, line, counts);
    bool has_threads;
    if (!census.folded_count && collapsed_blocks_are_in(start, is_whole, &has_threads)) return PROBE_LIKELY;
    /* The first line is longer than the start: it is a deep stack or a document without line ends. */
    bool is_cut = !is_whole && rest.bytes_count == start.bytes_count;
    if (is_cut && has_separator(start) && text_find(start, '"') == start.bytes_count) return PROBE_MAYBE;
    return score_census(&census);
}

/* ---- The ledger. ---- */

static const struct {
    struct text cause;
    enum gecko_convert_fate fate;
    bool is_sample; /* the line has a stack and a count, usable or not */
} VERDICTS[COLLAPSED_VERDICT_COUNT] = {
    [COLLAPSED_STACK] = {TEXT("stack with its count"), LEDGER_KEPT, true},
    [COLLAPSED_BLANK] = {TEXT("blank line"), LEDGER_KEPT, false},
    [COLLAPSED_COMMENT] = {TEXT("comment"), LEDGER_KEPT, false},
    [COLLAPSED_NO_COUNT] = {TEXT("line without a decimal count at its end"), LEDGER_LOST, false},
    [COLLAPSED_GROUPED] = {TEXT("count with separators between its digits, such as 5,000"), LEDGER_LOST, true},
    [COLLAPSED_NO_STACK] = {TEXT("count without a stack"), LEDGER_LOST, false},
    [COLLAPSED_ONE_COUNT] = {TEXT("stack with one count in a difference of two"), LEDGER_LOST, true},
    [COLLAPSED_OUT_OF_RANGE] = {TEXT(
                                    "stack with a count of 10^36 or more, or a difference that does not fit 18 digits"),
                                LEDGER_LOST, true},
    [COLLAPSED_TOO_LONG] = {TEXT("line longer than 4 MiB"), LEDGER_LOST, false},
    [COLLAPSED_PART] = {TEXT("line of a printed stack"), LEDGER_KEPT, false},
    [COLLAPSED_BETWEEN] = {TEXT("line between printed stacks"), LEDGER_KEPT, false},
    [COLLAPSED_BROKEN] = {TEXT("printed stack without a count, or longer than 4 MiB"), LEDGER_LOST, true},
};
_Static_assert(SCAN_LINE_BYTES_MAX == 4 * 1024 * 1024, "a cause names this limit");

/* Notes on a sample that is kept. The first ones are about its stack. */
enum note {
    NOTE_EMPTY_FRAME = STACK_NOTE_EMPTY_FRAME,
    NOTE_INLINED_ROOT = STACK_NOTE_INLINED_ROOT,
    NOTE_INLINED_DEEP = STACK_NOTE_INLINED_DEEP,
    NOTE_NO_FRAME = 8,
    NOTE_ROUNDED = 16,
    NOTE_MANY_THREADS = 32
};

static const struct {
    enum note note;
    struct text cause;
} NOTES[] = {
    {NOTE_EMPTY_FRAME, TEXT("empty frames left out of a stack")},
    {NOTE_INLINED_ROOT, TEXT("frame marked as inlined without a caller")},
    {NOTE_INLINED_DEEP, TEXT("more than 255 frames inlined into each other")},
    {NOTE_NO_FRAME, TEXT("thread without a stack")},
    {NOTE_ROUNDED, TEXT("count rounded to 18 digits")},
    {NOTE_MANY_THREADS, TEXT("thread beyond the first 65536, kept as a frame")},
};
enum { NOTE_COUNT = sizeof NOTES / sizeof *NOTES };
_Static_assert(COLLAPSED_THREAD_COUNT_MAX == 65536, "a cause names this limit");

struct collapsed {
    struct profile *profile; /* borrowed */
    enum gecko_convert_root root;
    struct collapsed_unit unit;
    struct filter *filter; /* borrowed; NULL: everything is kept */
    uint64_t filtered_count;
    bool has_other_weight; /* some weight is not 1 */
    bool has_large_sum;    /* a sum overflowed */
    uint64_t sample_count;
    struct decimal before_sum;
    struct decimal after_sum;
    uint16_t difference_schema;
    string_id difference_name;
    struct collapsed_stacks stacks;
    struct collapsed_threads threads;
    struct collapsed_blocks blocks; /* used only if stacks are printed with one frame a line */
    bool is_printed;
    struct column next_times; /* int64_t for each thread, in nanoseconds; used only if times are known */
    uint64_t others_count;    /* lines of austin that have other numbers besides their time */
    struct ledger_tally verdicts[COLLAPSED_VERDICT_COUNT];
    struct ledger_tally notes[NOTE_COUNT];
};

/* ---- Samples. ---- */

static const struct marker_field DIFFERENCE_FIELDS[] = {
    {.key = TEXT("before"), .label = TEXT("Before"), .format = MARKER_DECIMAL},
    {.key = TEXT("after"), .label = TEXT("After"), .format = MARKER_DECIMAL},
};

static const struct marker_schema DIFFERENCE_SCHEMA = {
    .name = TEXT("CollapsedDifference"),
    .description = TEXT("The two counts of a stack in a difference of two profiles."),
    .table_label = TEXT("{marker.data.before} → {marker.data.after}"),
    .fields = DIFFERENCE_FIELDS,
    .field_count = sizeof DIFFERENCE_FIELDS / sizeof *DIFFERENCE_FIELDS,
};

static void sum_up(struct collapsed *reader, struct decimal *sum, struct decimal value) {
    if (!decimal_add(*sum, value, sum)) reader->has_large_sum = true;
}

static void add_difference(struct collapsed *reader, struct thread *thread, const struct collapsed_line *line,
                           int64_t time_ns, stack_id stack) {
    struct marker marker = {.start_ns = time_ns,
                            .end_ns = time_ns,
                            .name = reader->difference_name,
                            .stack = stack,
                            .schema = reader->difference_schema,
                            .phase = MARKER_INSTANT};
    union marker_value values[] = {{.number = line->before}, {.number = line->after}};
    profile_add_marker(reader->profile, thread, marker, values);
    sum_up(reader, &reader->before_sum, line->before);
    sum_up(reader, &reader->after_sum, line->after);
}

static bool is_difference(const struct collapsed *reader) { return reader->unit.counts == COLLAPSED_TWO_NUMBERS; }

/* Returns when the stack was taken. If it is known how long stacks took, those of a thread follow each other; otherwise
 * only the order of all lines is known. */
static int64_t take_time(struct collapsed *reader, thread_id thread, struct decimal weight) {
    static const int64_t end_ns = INT64_MAX / 4;
    if (!collapsed_unit_has_times(&reader->unit)) return (int64_t)reader->sample_count * SAMPLE_INTERVAL_NS;
    int64_t *next_ns = id_column_at(&reader->next_times, thread.index);
    if (!next_ns) return 0;
    int64_t time_ns = *next_ns;
    *next_ns += collapsed_unit_duration_ns(&reader->unit, weight);
    if (*next_ns > end_ns) *next_ns = end_ns;
    int64_t *recording_end_ns = &reader->profile->recording.end_ns;
    if (*next_ns > *recording_end_ns) *recording_end_ns = *next_ns;
    return time_ns;
}

/* Counts what the filter leaves out. */
static bool is_left_out(struct collapsed *reader, struct collapsed_owner owner, struct position position) {
    if (!reader->filter || thread_is_none(owner.thread)) return false;
    struct filter_subject subject = filter_subject_of(reader->profile, owner.thread);
    if (!owner.has_tid) subject.tid = PID_UNKNOWN;
    unsigned kind = filter_judge(reader->filter, &subject);
    if (kind == FILTER_NONE) return false;
    filter_count(reader->filter, kind, LEDGER_SAMPLES, 1, position);
    reader->filtered_count++;
    return true;
}

static void add_sample(struct collapsed *reader, const struct collapsed_line *line, struct position position) {
    struct profile *profile = reader->profile;
    unsigned notes = line->is_rounded ? NOTE_ROUNDED : 0;
    struct text text = line->stack;
    struct collapsed_owner owner = {.thread = {0}};
    if (reader->root == GECKO_CONVERT_ROOT_THREAD) owner = collapsed_threads_take(&reader->threads, &text);
    if (owner.is_beyond) notes |= NOTE_MANY_THREADS;
    if (is_left_out(reader, owner, position)) return;
    stack_id stack = collapsed_stacks_intern(&reader->stacks, text, &notes);
    struct decimal weight = collapsed_unit_weight(&reader->unit, line->weight);
    uint32_t encoded_weight = profile_weight_encode(profile, weight);
    if (failure_is_set(profile->failure)) return;
    if (stack_is_none(stack)) notes |= NOTE_NO_FRAME;
    bool has_caller = !stack_is_none(stack) && !stack_is_none(profile_stack_at(profile, stack)->prefix);
    if (has_caller) profile->meta.has_stacks = true;

    struct thread *thread = profile_thread_at(profile, owner.thread);
    int64_t time_ns = take_time(reader, owner.thread, weight);
    reader->sample_count++;
    reader->others_count += line->has_others;
    thread_add_sample(thread, time_ns, stack, encoded_weight);
    if (encoded_weight != 1) reader->has_other_weight = true;
    if (is_difference(reader)) add_difference(reader, thread, line, time_ns, stack);
    for (size_t i = 0; i < NOTE_COUNT; i++)
        if (notes & NOTES[i].note) ledger_tally_add(&reader->notes[i], 1, position);
}

/* ---- The whole file. ---- */

/* Returns the start of the trace, by which the format is judged. It has at least one whole line if the trace has
 * one. */
static struct text peek_start(struct input *input, bool *is_whole) {
    for (size_t want_bytes = PROBE_BYTES;; want_bytes *= 2) {
        struct text start = input_peek(input, want_bytes);
        *is_whole = start.bytes_count < want_bytes;
        start = text_slice(start, 0, want_bytes);
        bool is_enough = *is_whole || want_bytes > SCAN_LINE_BYTES_MAX || text_find(start, '\n') < start.bytes_count;
        if (is_enough) return text_without_mark(start);
    }
}

static void begin(struct collapsed *reader, struct input *input, const struct reader_options *options) {
    struct profile *profile = reader->profile;
    bool is_whole;
    struct text start = peek_start(input, &is_whole);
    reader->unit = collapsed_unit_of(start, is_whole, options);
    if (is_difference(reader)) {
        reader->difference_schema = profile_marker_schema(profile, &DIFFERENCE_SCHEMA);
        reader->difference_name = profile_string(profile, TEXT("Difference"));
    }
    struct dialect_choice choice = dialect_choose(start, is_whole, reader->unit.counts);
    if (choice.dialect->weight_unit && !options->weight_unit) reader->unit.weight_unit = choice.dialect->weight_unit;
    collapsed_blocks_init(&reader->blocks, profile->failure);
    bool has_threads;
    reader->is_printed = collapsed_blocks_are_in(start, is_whole, &has_threads);
    if (reader->is_printed) choice.has_threads = has_threads;
    collapsed_stacks_init(&reader->stacks, profile, choice.dialect);
    collapsed_threads_init(&reader->threads, profile, choice.dialect);
    column_init(&reader->next_times, sizeof(int64_t), profile->failure);
    if (collapsed_unit_has_times(&reader->unit)) profile->recording.start_ns = profile->recording.end_ns = 0;
    if (reader->root == GECKO_CONVERT_ROOT_AUTO)
        reader->root = choice.has_threads ? GECKO_CONVERT_ROOT_THREAD : GECKO_CONVERT_ROOT_FRAME;
    if (reader->root == GECKO_CONVERT_ROOT_FRAME) collapsed_threads_add_whole(&reader->threads);
    if (reader->filter && reader->root == GECKO_CONVERT_ROOT_FRAME)
        failure_set(profile->failure, FAILURE_USAGE,
                    "filters cannot be applied to collapsed stacks without threads: --root thread says that the first "
                    "frames are threads");
}

static enum collapsed_verdict read_line(struct collapsed *reader, struct text text, struct collapsed_line *line) {
    static const enum collapsed_verdict verdicts[] = {
        [BLOCK_NONE] = COLLAPSED_BETWEEN, [BLOCK_PART] = COLLAPSED_PART, [BLOCK_BROKEN] = COLLAPSED_BROKEN};
    if (!reader->is_printed) return collapsed_line_parse(text, reader->unit.counts, line);
    enum block_line kind = collapsed_blocks_take(&reader->blocks, text, &text);
    if (kind == BLOCK_END) return collapsed_line_parse(text, COLLAPSED_ONE_NUMBER, line);
    /* A map of bpftrace that has no stacks. */
    bool is_other_map = kind == BLOCK_NONE && text_starts_with(text, TEXT("@"));
    return is_other_map ? COLLAPSED_NO_STACK : verdicts[kind];
}

static void read_lines(struct collapsed *reader, struct input *input) {
    struct scan scan;
    scan_init(&scan, input);
    while (!failure_is_set(reader->profile->failure)) {
        uint64_t cut_count = scan.cut_line_count;
        struct text text;
        if (!scan_line(&scan, &text)) return;
        struct collapsed_line line;
        bool is_cut = scan.cut_line_count > cut_count;
        enum collapsed_verdict verdict = is_cut ? COLLAPSED_TOO_LONG : read_line(reader, text, &line);
        ledger_tally_add(&reader->verdicts[verdict], 1, scan.position);
        if (verdict == COLLAPSED_STACK) add_sample(reader, &line, scan.position);
    }
}

static void enter_ledger(const struct collapsed *reader) {
    struct ledger *ledger = &reader->profile->ledger;
    for (size_t i = 0; i < COLLAPSED_VERDICT_COUNT; i++) {
        const struct ledger_tally *lines = &reader->verdicts[i];
        ledger_account(ledger, LEDGER_LINES, VERDICTS[i].fate, VERDICTS[i].cause, lines->count, &lines->first);
        if (!VERDICTS[i].is_sample) continue;
        uint64_t count = i == COLLAPSED_STACK ? lines->count - reader->filtered_count : lines->count;
        ledger_account(ledger, LEDGER_SAMPLES, VERDICTS[i].fate, VERDICTS[i].cause, count, &lines->first);
    }
    if (collapsed_blocks_are_broken(&reader->blocks)) {
        ledger_account(ledger, LEDGER_SAMPLES, LEDGER_LOST, TEXT("printed stack that is cut off"), 1, NULL);
    }
    ledger_account(ledger, LEDGER_VALUES, LEDGER_LOST, TEXT("idle state and change of memory of a stack"),
                   reader->others_count, NULL);
    for (size_t i = 0; i < NOTE_COUNT; i++)
        ledger_enter(ledger, LEDGER_SAMPLES, LEDGER_NOTED, NOTES[i].cause, reader->notes[i].count,
                     &reader->notes[i].first);
}

/* Fails because the input has no stack. Names the first line that should have been one. */
static void fail_without_stacks(const struct collapsed *reader) {
    struct failure *failure = reader->profile->failure;
    const struct ledger_tally *first = NULL;
    struct text cause = {0};
    for (size_t i = 0; i < COLLAPSED_VERDICT_COUNT; i++) {
        const struct ledger_tally *lines = &reader->verdicts[i];
        if (VERDICTS[i].fate != LEDGER_LOST || !lines->count) continue;
        if (first && first->first.line < lines->first.line) continue;
        first = lines;
        cause = VERDICTS[i].cause;
    }
    if (first)
        failure_set_at(failure, FAILURE_INPUT, first->first,
                       "no line is a collapsed stack (\"frame;frame COUNT\"); here is a %.*s", TEXT_ARGS(cause));
    failure_set(failure, FAILURE_INPUT,
                "there are no collapsed stacks in the input: it is empty or holds only comments");
}

static void add_sum(struct collapsed *reader, struct text label, struct decimal sum) {
    char digits[DECIMAL_TEXT_BYTES];
    decimal_print(sum, digits);
    struct text value = reader->has_large_sum ? TEXT("too large") : text_of(digits);
    profile_add_extra(reader->profile, TEXT("Difference"), label, value);
}

/* The viewer shows only the call tree of a comparison, because its other tabs have no place for negative weights. So
 * the markers get a process of their own. */
static void move_counts(struct profile *profile) {
    uint32_t process_count = profile->processes.count, thread_count = profile->threads.count;
    process_id process = profile_add_process(profile, 0, 1);
    thread_id counts = profile_add_thread(profile, process, 0, 1);
    if (failure_is_set(profile->failure)) return;
    profile_process_at(profile, process)->name = profile_thread_at(profile, counts)->name = TEXT("before and after");
    for (uint32_t i = 0; i < process_count; i++)
        profile_process_at(profile, (process_id){i})->type = TEXT("comparison");
    for (uint32_t i = 0; i < thread_count; i++)
        column_take(&profile_thread_at(profile, counts)->markers, &profile_thread_at(profile, (thread_id){i})->markers);
}

static void describe_difference(struct collapsed *reader) {
    struct decimal change = {0};
    if (!decimal_subtract(reader->after_sum, reader->before_sum, &change)) reader->has_large_sum = true;
    add_sum(reader, TEXT("Total before"), reader->before_sum);
    add_sum(reader, TEXT("Total after"), reader->after_sum);
    add_sum(reader, TEXT("Total change"), change);
    move_counts(reader->profile);
}

static void finish(struct collapsed *reader) {
    struct profile_meta *meta = &reader->profile->meta;
    meta->imported_from = TEXT("collapsed stacks");
    meta->has_times = collapsed_unit_has_times(&reader->unit);
    meta->interval_ns = reader->unit.interval_ns;
    if (!meta->interval_ns && !meta->has_times) meta->interval_ns = SAMPLE_INTERVAL_NS;
    meta->weight_type = collapsed_unit_weight_type(&reader->unit);
    if (meta->weight_type == WEIGHT_SAMPLES && !reader->has_other_weight) meta->weight_type = WEIGHT_ONE;
    enter_ledger(reader);
    if (is_difference(reader)) describe_difference(reader);
    if (reader->filter) filter_enter(reader->filter, &reader->profile->ledger);
    if (!reader->sample_count && !reader->filtered_count) fail_without_stacks(reader);
}

static void end(struct collapsed *reader) {
    collapsed_stacks_fini(&reader->stacks);
    collapsed_threads_fini(&reader->threads);
    collapsed_blocks_fini(&reader->blocks);
    column_fini(&reader->next_times);
}

static void run(struct input *input, struct profile *profile, const struct reader_options *options) {
    struct collapsed reader = {.profile = profile, .root = options->root, .filter = options->filter};
    begin(&reader, input, options);
    read_lines(&reader, input);
    if (!failure_is_set(profile->failure)) finish(&reader);
    end(&reader);
}

const struct reader reader_collapsed = {
    .name = "collapsed",
    .title = "collapsed stacks",
    .suffixes = (const char *const[]){".folded", ".collapsed", NULL},
    .doubt = "a list of words with numbers, and no line has two frames with a ';' between them",
    .probe = probe,
    .filter_kinds = FILTER_KINDS_OF_TASKS,
    .run = run,
};
