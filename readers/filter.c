#include "filter.h"

#include <stdio.h>

#include "libconvert/base/cursor.h"
#include "libconvert/base/decimal.h"
#include "libconvert/base/first_row.h"
#include "libconvert/base/glob.h"

struct filter_term {
    enum gecko_convert_filter_kind kind;
    struct text glob;
    /* An inclusive range of ids, or of times in nanoseconds or billionths of a percent. */
    int64_t first;
    int64_t last;
    bool is_first_percent;
    bool is_last_percent;
    bool is_of_markers;             /* the times are those of the markers that the glob names */
    enum event_treatment treatment; /* what becomes of events that the glob matches */
    bool is_used;                   /* the glob has matched an event or a marker */
};

/* A range of time in which everything is kept. */
struct kept_time {
    struct time_range range;
    uint64_t before_ns; /* the sum of the lengths of the ranges before this one */
};

enum { SCALE = 9 /* nanoseconds in a second, billionths of a percent */ };
static const int64_t PERCENT_MAX = INT64_C(100000000000);

static const struct {
    const char *name;
    struct text cause;
    struct text marker_cause;
    const char *form;
} kinds[FILTER_KIND_COUNT] = {
#define KIND(kind, option, form_text) \
    [kind] = {option, TEXT("left out by --" option), TEXT("marker left out by --" option), form_text}
    KIND(GECKO_CONVERT_FILTER_TIME, "time", "A-B, A- or -B in seconds or percent, or @MARKER: 1.5-20, 90%-, @frame"),
    KIND(GECKO_CONVERT_FILTER_PID, "pid", "a list of pids: 12,340"),
    KIND(GECKO_CONVERT_FILTER_TID, "tid", "a list of tids: 12,340"),
    KIND(GECKO_CONVERT_FILTER_COMM, "comm", "a name"),
    KIND(GECKO_CONVERT_FILTER_EXCLUDE_COMM, "exclude-comm", "a name"),
    KIND(GECKO_CONVERT_FILTER_CPU, "cpu", "a list of processors: 0,4-7"),
    KIND(GECKO_CONVERT_FILTER_EVENT, "event",
         "GLOB=samples, tracks, markers, counter or drop, or several of those with commas"),
};

const char *filter_name(unsigned kind) { return kinds[kind].name; }

/* ---- Treatments of events. ---- */

static const char *const treatment_names[EVENT_TREATMENT_COUNT] = {[EVENT_SAMPLES] = "samples",
                                                                   [EVENT_TRACKS] = "tracks",
                                                                   [EVENT_MARKERS] = "markers",
                                                                   [EVENT_COUNTER] = "counter",
                                                                   [EVENT_DROPPED] = "drop"};

static enum event_treatment treatment_of(struct text name) {
    for (enum event_treatment i = EVENT_DEFAULT + 1; i < EVENT_TREATMENT_COUNT; i++)
        if (text_equal(name, text_of(treatment_names[i]))) return i;
    return EVENT_DEFAULT;
}

const char *event_treatment_name(enum event_treatment treatment) { return treatment_names[treatment]; }

/* ---- Values. ---- */

static void add_term(struct filter *filter, const struct filter_term *term) {
    column_add(&filter->terms, term);
    filter->kinds |= 1U << term->kind;
    filter->has_percent |= term->is_first_percent || term->is_last_percent;
}

/* Parses a time: seconds or percent. */
static bool parse_time(struct text text, int64_t *value, bool *is_percent) {
    struct decimal number;
    bool is_rounded = false;
    *is_percent = text_ends_with(text, TEXT("%"));
    if (*is_percent) text.bytes_count--;
    if (!text.bytes_count || !cursor_is_digit(text.bytes[0])) return false;
    if (!decimal_parse(text, &number, &is_rounded) || is_rounded || number.scale > SCALE) return false;
    return decimal_rescale(number, SCALE, value) && (!*is_percent || *value <= PERCENT_MAX);
}

static bool parse_times(struct filter *filter, struct text text) {
    size_t dash = text_find(text, '-');
    struct text first = text_slice(text, 0, dash), last = text_from(text, dash + 1);
    struct filter_term term = {.kind = GECKO_CONVERT_FILTER_TIME, .first = INT64_MIN, .last = INT64_MAX};
    if (cursor_take(&text, TEXT("@"))) {
        term.is_of_markers = true;
        term.glob = text;
        if (text.bytes_count) add_term(filter, &term);
        return text.bytes_count > 0;
    }
    if (dash == text.bytes_count || (!first.bytes_count && !last.bytes_count)) return false;
    if (first.bytes_count && !parse_time(first, &term.first, &term.is_first_percent)) return false;
    if (last.bytes_count && !parse_time(last, &term.last, &term.is_last_percent)) return false;
    if (term.first > term.last && term.is_first_percent == term.is_last_percent) return false;
    add_term(filter, &term);
    return true;
}

/* In recordings of perf, a task that has ended has the ids -1. */
static bool take_id(struct text *text, enum gecko_convert_filter_kind kind, int64_t *id) {
    uint64_t number;
    *id = -1;
    if (kind != GECKO_CONVERT_FILTER_CPU && cursor_take(text, TEXT("-1"))) return true;
    if (!cursor_take_number(text, 10, &number) || number > INT32_MAX) return false;
    *id = (int64_t)number;
    return true;
}

static bool parse_ids(struct filter *filter, enum gecko_convert_filter_kind kind, struct text text) {
    for (;;) {
        struct filter_term term = {.kind = kind};
        if (!take_id(&text, kind, &term.first)) return false;
        term.last = term.first;
        if (cursor_take(&text, TEXT("-")) && !take_id(&text, kind, &term.last)) return false;
        if (term.first > term.last) return false;
        add_term(filter, &term);
        if (!text.bytes_count) return true;
        if (!cursor_take(&text, TEXT(","))) return false;
    }
}

/* Takes "GLOB=TREATMENT". Names of events can have commas and equals signs ("cpu/event=0x3c,umask=0x1/"), so the glob
 * ends where a treatment follows, and after that a comma or nothing. */
static bool take_treatment(struct text *text, struct filter_term *term) {
    for (size_t at = 0; at < text->bytes_count; at++) {
        at += text_find(text_from(*text, at), '=');
        struct text rest = text_from(*text, at + 1);
        size_t word_bytes = text_find(rest, ',');
        term->treatment = treatment_of(text_slice(rest, 0, word_bytes));
        if (term->treatment == EVENT_DEFAULT) continue;
        term->glob = text_slice(*text, 0, at);
        *text = text_from(rest, word_bytes);
        return term->glob.bytes_count > 0;
    }
    return false;
}

static bool parse_treatments(struct filter *filter, struct text text) {
    for (;;) {
        struct filter_term term = {.kind = GECKO_CONVERT_FILTER_EVENT};
        if (!take_treatment(&text, &term)) return false;
        add_term(filter, &term);
        if (!text.bytes_count) return true;
        text = text_from(text, 1);
    }
}

static bool parse(struct filter *filter, enum gecko_convert_filter_kind kind, struct text value) {
    if (!value.bytes_count) return false;
    switch (kind) {
        case GECKO_CONVERT_FILTER_TIME: return parse_times(filter, value);
        case GECKO_CONVERT_FILTER_PID:
        case GECKO_CONVERT_FILTER_TID:
        case GECKO_CONVERT_FILTER_CPU: return parse_ids(filter, kind, value);
        case GECKO_CONVERT_FILTER_COMM:
        case GECKO_CONVERT_FILTER_EXCLUDE_COMM:
            add_term(filter, &(struct filter_term){.kind = kind, .glob = value});
            return true;
        case GECKO_CONVERT_FILTER_EVENT: return parse_treatments(filter, value);
    }
    return false;
}

void filter_init(struct filter *filter, const struct gecko_convert_filter *filters, size_t count,
                 struct failure *failure) {
    *filter = (struct filter){.range = TIME_RANGE_EMPTY};
    column_init(&filter->terms, sizeof(struct filter_term), failure);
    column_init(&filter->times, sizeof(struct kept_time), failure);
    for (size_t i = 0; i < count; i++) {
        if ((unsigned)filters[i].kind >= FILTER_KIND_COUNT || !filters[i].value)
            failure_set(failure, FAILURE_USAGE, "a filter has an unknown kind or no value");
        else if (!parse(filter, filters[i].kind, text_of(filters[i].value)))
            failure_set(failure, FAILURE_USAGE, "--%s: '%s' is not %s", filter_name(filters[i].kind), filters[i].value,
                        kinds[filters[i].kind].form);
    }
}

void filter_select(struct filter *filter, unsigned wanted) {
    uint32_t kept_count = 0;
    COLUMN_EACH(const struct filter_term, term, &filter->terms)
        if (wanted >> term->kind & 1) *(struct filter_term *)column_at(&filter->terms, kept_count++) = *term;
    filter->terms.count = kept_count;
    filter->kinds &= wanted;
}

void filter_fini(struct filter *filter) { COLUMNS_FINI(&filter->terms, &filter->times); }

/* ---- Times that are kept. ---- */

bool filter_awaits_markers(const struct filter *filter) {
    COLUMN_EACH(const struct filter_term, filter_term, &filter->terms)
        if (filter_term->is_of_markers) return !filter->times.count;
    return false;
}

static bool names_marker(struct filter *filter, struct text name) {
    bool is_named = false;
    COLUMN_EACH(struct filter_term, term, &filter->terms)
        if (term->is_of_markers && glob_matches(term->glob, name)) is_named = term->is_used = true;
    return is_named;
}

static void add_time(struct filter *filter, int64_t first_ns, int64_t last_ns) {
    struct kept_time *added = first_ns <= last_ns ? column_push(&filter->times) : NULL;
    if (added) *added = (struct kept_time){{first_ns, last_ns}, 0};
}

static void add_markers(struct filter *filter, const struct profile *profile, const struct thread *thread) {
    COLUMN_EACH(const struct marker, marker, &thread->markers)
        if (marker->phase == MARKER_INTERVAL && names_marker(filter, strings_text(&profile->strings, marker->name)))
            add_time(filter, marker->start_ns, marker->end_ns);
}

static int compare_times(const void *a, const void *b) { return ORDER_BY(struct kept_time, range.first_ns, a, b); }

/* Returns a length that wraps around if the time has no start or no end. Only differences of sums of lengths are used,
 * and those are right. */
static uint64_t length_of(const struct kept_time *time) {
    return (uint64_t)time->range.last_ns - (uint64_t)time->range.first_ns;
}

/* Joins the times that overlap. */
static void join_times(struct column *times) {
    uint32_t count = 0;
    uint64_t sum_ns = 0;
    column_sort(times, compare_times);
    for (size_t i = 0; i < times->count; i++) {
        const struct kept_time time = *(const struct kept_time *)column_at(times, i);
        struct kept_time *last = count ? column_at(times, count - 1) : NULL;
        if (last && time.range.first_ns <= last->range.last_ns)
            time_range_add(&last->range, time.range.last_ns);
        else
            *(struct kept_time *)column_at(times, count++) = time;
    }
    times->count = count;
    for (size_t i = 0; i < count; i++) {
        struct kept_time *time = column_at(times, i);
        time->before_ns = sum_ns;
        sum_ns += length_of(time);
    }
}

void filter_find_ranges(struct filter *filter, const struct profile *profile) {
    for (size_t i = 0; i < profile->threads.count; i++) add_markers(filter, profile, column_at(&profile->threads, i));
    join_times(&filter->times);
    COLUMN_EACH(const struct filter_term, term, &filter->terms) {
        if (!term->is_of_markers || term->is_used) continue;
        failure_set(profile->failure, FAILURE_USAGE,
                    "--time @%.*s: the trace has no marker of that name with a start and an end",
                    TEXT_ARGS(term->glob));
    }
}

/* Returns the row of the first time that ends then or later. */
static size_t find_time(const struct filter *filter, int64_t time_ns) {
    return FIRST_ROW(i, filter->times.count,
                     ((const struct kept_time *)column_at(&filter->times, i))->range.last_ns >= time_ns);
}

/* The first and the last of the times that an interval overlaps. */
struct overlap {
    const struct kept_time *first; /* NULL: there is none */
    const struct kept_time *last;
};

static struct overlap find_overlap(const struct filter *filter, int64_t start_ns, int64_t end_ns) {
    size_t first = find_time(filter, start_ns), last = find_time(filter, end_ns);
    const struct kept_time *at_end = last < filter->times.count ? column_at(&filter->times, last) : NULL;
    size_t end = last + (at_end && at_end->range.first_ns <= end_ns);
    if (first >= end) return (struct overlap){0};
    return (struct overlap){column_at(&filter->times, first), column_at(&filter->times, end - 1)};
}

/* ---- Times from the first sample. ---- */

static int64_t add_to(int64_t origin_ns, int64_t offset_ns) {
    int64_t time_ns;
    return __builtin_add_overflow(origin_ns, offset_ns, &time_ns) ? INT64_MAX : time_ns;
}

/* Converts a time of a term, which counts from the first sample, to the trace's clock. */
static int64_t time_at(const struct filter *filter, int64_t first_ns, int64_t value, bool is_percent) {
    if (value == INT64_MIN || value == INT64_MAX) return value;
    if (!is_percent) return add_to(first_ns, value);
    double span_ns = (double)filter->range.last_ns - (double)filter->range.first_ns;
    return add_to(filter->range.first_ns, (int64_t)(span_ns * ((double)value / (double)PERCENT_MAX)));
}

void filter_start(struct filter *filter, int64_t first_ns, struct failure *failure) {
    if (filter->is_started) return;
    filter->is_started = true;
    if (filter->has_percent && filter->range.first_ns > filter->range.last_ns) {
        failure_set(failure, FAILURE_USAGE,
                    "--time: percent needs the time of the last sample, which only an uncompressed perf.data file "
                    "has at its start, and this input does not: give seconds");
        return;
    }
    COLUMN_EACH(const struct filter_term, term, &filter->terms) {
        if (term->kind != GECKO_CONVERT_FILTER_TIME || term->is_of_markers) continue;
        add_time(filter, time_at(filter, first_ns, term->first, term->is_first_percent),
                 time_at(filter, first_ns, term->last, term->is_last_percent));
    }
    join_times(&filter->times);
}

/* ---- Judging. ---- */

enum event_treatment filter_treat(struct filter *filter, const struct text *names, size_t name_count) {
    enum event_treatment treatment = EVENT_DEFAULT;
    COLUMN_EACH(struct filter_term, term, &filter->terms) {
        for (size_t j = 0; j < name_count && term->kind == GECKO_CONVERT_FILTER_EVENT; j++) {
            if (!glob_matches(term->glob, names[j])) continue;
            term->is_used = true;
            treatment = term->treatment;
        }
    }
    return treatment;
}

void filter_note_unused(const struct filter *filter, struct text events, struct ledger *ledger) {
    COLUMN_EACH(const struct filter_term, term, &filter->terms) {
        if (term->kind != GECKO_CONVERT_FILTER_EVENT || term->is_used) continue;
        char cause[1024];
        int wanted = snprintf(cause, sizeof cause, FILTER_UNUSED_CAUSE "%.*s matches no event; the recording has: %.*s",
                              TEXT_ARGS(term->glob), TEXT_ARGS(events));
        struct text text = {cause, (size_t)wanted < sizeof cause ? (size_t)wanted : sizeof cause - 1};
        ledger_enter(ledger, LEDGER_VALUES, LEDGER_NOTED, text, 1, NULL);
    }
}

static bool is_within(const struct filter_term *term, int64_t value) {
    return value >= term->first && value <= term->last;
}

/* Before the first sample, only filters without a start are known to include the time. */
static bool matches(const struct filter *filter, const struct filter_term *term, const struct filter_subject *subject) {
    switch (term->kind) {
        case GECKO_CONVERT_FILTER_TIME:
            if (find_overlap(filter, subject->start_ns, subject->end_ns).first) return true;
            return !filter->is_started && !term->is_of_markers && term->first == INT64_MIN;
        case GECKO_CONVERT_FILTER_PID: return is_within(term, subject->pid);
        case GECKO_CONVERT_FILTER_TID: return is_within(term, subject->tid);
        case GECKO_CONVERT_FILTER_CPU: return is_within(term, subject->processor);
        case GECKO_CONVERT_FILTER_COMM:
        case GECKO_CONVERT_FILTER_EXCLUDE_COMM: return glob_matches(term->glob, subject->comm);
        case GECKO_CONVERT_FILTER_EVENT: return true;
    }
    return false;
}

struct filter_subject filter_subject_of(const struct profile *profile, thread_id id) {
    const struct thread *thread = profile_thread_at(profile, id);
    bool has_process = !process_is_none(thread->process);
    return (struct filter_subject){.pid = has_process ? profile_process_at(profile, thread->process)->pid : PID_UNKNOWN,
                                   .tid = thread->tid,
                                   .comm = thread->name,
                                   .processor = -1};
}

/* Returns a bit for each kind of filter that leaves the subject out. */
static unsigned kinds_against(const struct filter *filter, const struct filter_subject *subject) {
    unsigned matching = 0;
    COLUMN_EACH(const struct filter_term, term, &filter->terms)
        if (matches(filter, term, subject)) matching |= 1U << term->kind;
    return (filter->kinds & ~matching) ^ (filter->kinds & 1U << GECKO_CONVERT_FILTER_EXCLUDE_COMM);
}

unsigned filter_judge(const struct filter *filter, const struct filter_subject *subject) {
    unsigned against = kinds_against(filter, subject);
    return against ? (unsigned)__builtin_ctz(against) : FILTER_NONE;
}

bool filter_keeps_thread(const struct filter *filter, const struct profile *profile, thread_id thread,
                         int64_t time_ns) {
    struct filter_subject subject = filter_subject_of(profile, thread);
    subject.start_ns = subject.end_ns = time_ns;
    return !(kinds_against(filter, &subject) & ~(1U << GECKO_CONVERT_FILTER_TIME));
}

static bool keeps_all_times(const struct filter *filter) {
    return !filter || !filter->is_started || !filter_has(filter, GECKO_CONVERT_FILTER_TIME);
}

void filter_cut(const struct filter *filter, int64_t *start_ns, int64_t *end_ns) {
    if (keeps_all_times(filter)) return;
    struct overlap overlap = find_overlap(filter, *start_ns, *end_ns);
    if (!overlap.first) {
        *start_ns = *end_ns;
        return;
    }
    if (*start_ns < overlap.first->range.first_ns) *start_ns = overlap.first->range.first_ns;
    if (*end_ns > overlap.last->range.last_ns) *end_ns = overlap.last->range.last_ns;
}

int64_t filter_length_ns(const struct filter *filter, int64_t start_ns, int64_t end_ns) {
    if (keeps_all_times(filter)) return end_ns - start_ns;
    struct overlap overlap = find_overlap(filter, start_ns, end_ns);
    if (!overlap.first) return 0;
    uint64_t length_ns = overlap.last->before_ns + length_of(overlap.last) - overlap.first->before_ns;
    int64_t first_ns = overlap.first->range.first_ns, last_ns = overlap.last->range.last_ns;
    if (start_ns > first_ns) length_ns -= (uint64_t)start_ns - (uint64_t)first_ns;
    if (end_ns < last_ns) length_ns -= (uint64_t)last_ns - (uint64_t)end_ns;
    return (int64_t)length_ns;
}

bool filter_keeps_marker(struct filter *filter, const struct profile *profile, thread_id thread, int64_t *start_ns,
                         int64_t *end_ns) {
    if (!filter) return true;
    struct filter_subject subject = filter_subject_of(profile, thread);
    subject.start_ns = *start_ns;
    subject.end_ns = *end_ns;
    unsigned kind = filter_judge(filter, &subject);
    if (kind != FILTER_NONE) {
        filter->marker_counts[kind]++;
        return false;
    }
    filter_cut(filter, start_ns, end_ns);
    return true;
}

void filter_cut_recording(const struct filter *filter, struct profile *profile, int64_t end_ns) {
    struct recording_times *recording = &profile->recording;
    if (!filter->times.count) return;
    int64_t first_ns = ((const struct kept_time *)column_at(&filter->times, 0))->range.first_ns;
    int64_t last_ns = ((const struct kept_time *)column_at(&filter->times, filter->times.count - 1))->range.last_ns;
    if (recording->end_ns != TIME_NONE) end_ns = recording->end_ns;
    if (recording->start_ns < first_ns) recording->start_ns = first_ns;
    if (end_ns > last_ns) recording->end_ns = last_ns;
    COLUMN_EACH(struct thread, thread, &profile->threads)
        if (thread->end_ns > last_ns) thread->end_ns = TIME_NONE;
    COLUMN_EACH(struct process, process, &profile->processes)
        if (process->end_ns > last_ns) process->end_ns = TIME_NONE;
}

uint64_t filter_left_out(const struct filter *filter, enum gecko_convert_unit unit) {
    uint64_t count = 0;
    for (unsigned kind = 0; kind < FILTER_KIND_COUNT; kind++) count += filter->tallies[kind][unit].count;
    return count;
}

void filter_enter(const struct filter *filter, struct ledger *ledger) {
    for (enum gecko_convert_unit unit = 0; unit < LEDGER_UNIT_COUNT; unit++)
        for (unsigned kind = 0; kind < FILTER_KIND_COUNT; kind++) {
            const struct ledger_tally *tally = &filter->tallies[kind][unit];
            if (filter->follows_reading)
                ledger_take_kept(ledger, unit, LEDGER_FILTERED, kinds[kind].cause, tally->count);
            else
                ledger_account(ledger, unit, LEDGER_FILTERED, kinds[kind].cause, tally->count, &tally->first);
        }
    for (unsigned kind = 0; kind < FILTER_KIND_COUNT; kind++)
        ledger_enter(ledger, LEDGER_VALUES, LEDGER_NOTED, kinds[kind].marker_cause, filter->marker_counts[kind], NULL);
}
