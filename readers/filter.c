#include "filter.h"

#include <stdio.h>

#include "libconvert/base/cursor.h"
#include "libconvert/base/decimal.h"
#include "libconvert/base/glob.h"

struct filter_term {
    enum gecko_convert_filter_kind kind;
    struct text glob;
    /* An inclusive range of ids, or of times in nanoseconds or billionths of a percent. */
    int64_t first;
    int64_t last;
    bool is_first_percent;
    bool is_last_percent;
    bool is_of_markers;             /* the times are those of the markers that the glob names: filter.ranges */
    enum event_treatment treatment; /* what becomes of events that the glob names */
    bool is_used;                   /* the glob has named an event */
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
    for (enum event_treatment i = EVENT_UNTOLD + 1; i < EVENT_TREATMENT_COUNT; i++)
        if (text_equal(name, text_of(treatment_names[i]))) return i;
    return EVENT_UNTOLD;
}

const char *event_treatment_name(enum event_treatment treatment) { return treatment_names[treatment]; }

/* ---- Values. ---- */

static void add_term(struct filter *filter, const struct filter_term *term) {
    struct filter_term *added = column_push(&filter->terms);
    if (added) *added = *term;
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

/* In recordings of perf, a task that is gone has the ids -1. */
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
        if (term->treatment == EVENT_UNTOLD) continue;
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
        case GECKO_CONVERT_FILTER_TIME:
            return parse_times(filter, value);
        case GECKO_CONVERT_FILTER_PID:
        case GECKO_CONVERT_FILTER_TID:
        case GECKO_CONVERT_FILTER_CPU:
            return parse_ids(filter, kind, value);
        case GECKO_CONVERT_FILTER_COMM:
        case GECKO_CONVERT_FILTER_EXCLUDE_COMM:
            add_term(filter, &(struct filter_term){.kind = kind, .glob = value});
            return true;
        case GECKO_CONVERT_FILTER_EVENT:
            return parse_treatments(filter, value);
    }
    return false;
}

void filter_init(struct filter *filter, const struct gecko_convert_filter *filters, size_t count,
                 struct failure *failure) {
    *filter = (struct filter){.range = TIME_RANGE_EMPTY};
    column_init(&filter->terms, sizeof(struct filter_term), failure);
    column_init(&filter->ranges, sizeof(struct time_range), failure);
    for (size_t i = 0; i < count; i++) {
        if ((unsigned)filters[i].kind >= FILTER_KIND_COUNT || !filters[i].value)
            failure_set(failure, FAILURE_USAGE, "a filter has an unknown kind or no value");
        else if (!parse(filter, filters[i].kind, text_of(filters[i].value)))
            failure_set(failure, FAILURE_USAGE, "--%s: '%s' is not %s", filter_name(filters[i].kind), filters[i].value,
                        kinds[filters[i].kind].form);
    }
}

void filter_fini(struct filter *filter) {
    column_fini(&filter->terms);
    column_fini(&filter->ranges);
}

/* ---- Times of markers. ---- */

bool filter_awaits_markers(const struct filter *filter) {
    for (size_t i = 0; i < filter->terms.count; i++)
        if (((const struct filter_term *)column_at(&filter->terms, i))->is_of_markers) return !filter->ranges.count;
    return false;
}

static bool names_marker(const struct filter *filter, struct text name) {
    for (size_t i = 0; i < filter->terms.count; i++) {
        const struct filter_term *term = column_at(&filter->terms, i);
        if (term->is_of_markers && glob_matches(term->glob, name)) return true;
    }
    return false;
}

static void add_ranges(struct filter *filter, const struct profile *profile, const struct thread *thread) {
    for (size_t i = 0; i < thread->markers.count; i++) {
        const struct marker *marker = column_at(&thread->markers, i);
        if (marker->phase != MARKER_INTERVAL || !names_marker(filter, strings_text(&profile->strings, marker->name)))
            continue;
        struct time_range *added = column_push(&filter->ranges);
        if (added) *added = (struct time_range){marker->start_ns, marker->end_ns};
    }
}

static int compare_ranges(const void *left, const void *right) {
    const struct time_range *a = left, *b = right;
    return (a->first_ns > b->first_ns) - (a->first_ns < b->first_ns);
}

/* Joins the ranges that overlap. */
static void join_ranges(struct column *ranges) {
    uint32_t count = 0;
    column_sort(ranges, compare_ranges);
    for (size_t i = 0; i < ranges->count; i++) {
        const struct time_range range = *(const struct time_range *)column_at(ranges, i);
        struct time_range *last = count ? column_at(ranges, count - 1) : NULL;
        if (last && range.first_ns <= last->last_ns)
            time_range_add(last, range.last_ns);
        else
            *(struct time_range *)column_at(ranges, count++) = range;
    }
    ranges->count = count;
}

void filter_find_ranges(struct filter *filter, const struct profile *profile) {
    for (size_t i = 0; i < profile->threads.count; i++) add_ranges(filter, profile, column_at(&profile->threads, i));
    join_ranges(&filter->ranges);
    for (size_t i = 0; i < filter->terms.count; i++) {
        const struct filter_term *term = column_at(&filter->terms, i);
        if (!term->is_of_markers || filter->ranges.count) continue;
        failure_set(profile->failure, FAILURE_USAGE,
                    "--time @%.*s: the trace has no marker of that name with a start and an end",
                    (int)term->glob.bytes_count, term->glob.bytes);
    }
}

/* Returns the row of the first range that ends at that time or later. */
static size_t find_range(const struct filter *filter, int64_t time_ns) {
    size_t first = 0, count = filter->ranges.count;
    while (count) {
        const struct time_range *middle = column_at(&filter->ranges, first + count / 2);
        if (middle->last_ns < time_ns) first += count / 2 + 1;
        count = middle->last_ns < time_ns ? count - count / 2 - 1 : count / 2;
    }
    return first;
}

/* Extends the times by the ranges that the interval overlaps. Returns how many do. */
static size_t add_overlaps(const struct filter *filter, const struct filter_subject *subject,
                           struct time_range *times) {
    size_t first = find_range(filter, subject->start_ns), row = first;
    for (; row < filter->ranges.count; row++) {
        const struct time_range *range = column_at(&filter->ranges, row);
        if (range->first_ns > subject->end_ns) break;
        time_range_extend(times, range->first_ns, range->last_ns);
    }
    return row - first;
}

/* ---- Times. ---- */

static int64_t add_to(int64_t origin_ns, int64_t offset_ns) {
    int64_t time_ns;
    return __builtin_add_overflow(origin_ns, offset_ns, &time_ns) ? INT64_MAX : time_ns;
}

/* The time in a term from the first sample, on the trace's clock. */
static int64_t time_at(const struct filter *filter, int64_t first_ns, int64_t value, bool is_percent) {
    if (value == INT64_MIN || value == INT64_MAX) return value;
    if (!is_percent) return add_to(first_ns, value);
    double span_ns = (double)filter->range.last_ns - (double)filter->range.first_ns;
    return add_to(filter->range.first_ns, (int64_t)(span_ns * ((double)value / (double)PERCENT_MAX)));
}

void filter_start(struct filter *filter, int64_t first_ns, struct failure *failure) {
    if (filter->is_started) return;
    filter->is_started = true;
    if (filter->has_percent && filter->range.first_ns > filter->range.last_ns)
        failure_set(failure, FAILURE_USAGE,
                    "--time: percent needs the time of the last sample, which only an uncompressed file of perf.data "
                    "can tell in advance, and this input does not: give seconds");
    for (size_t i = 0; i < filter->terms.count; i++) {
        struct filter_term *term = column_at(&filter->terms, i);
        if (term->kind != GECKO_CONVERT_FILTER_TIME || term->is_of_markers) continue;
        term->first = time_at(filter, first_ns, term->first, term->is_first_percent);
        term->last = time_at(filter, first_ns, term->last, term->is_last_percent);
    }
}

/* ---- Judging. ---- */

enum event_treatment filter_treat(struct filter *filter, const struct text *names, size_t name_count) {
    enum event_treatment treatment = EVENT_UNTOLD;
    for (size_t i = 0; i < filter->terms.count; i++) {
        struct filter_term *term = column_at(&filter->terms, i);
        for (size_t j = 0; j < name_count && term->kind == GECKO_CONVERT_FILTER_EVENT; j++) {
            if (!glob_matches(term->glob, names[j])) continue;
            term->is_used = true;
            treatment = term->treatment;
        }
    }
    return treatment;
}

void filter_note_unused(const struct filter *filter, struct text events, struct ledger *ledger) {
    for (size_t i = 0; i < filter->terms.count; i++) {
        const struct filter_term *term = column_at(&filter->terms, i);
        if (term->kind != GECKO_CONVERT_FILTER_EVENT || term->is_used) continue;
        char cause[1024];
        int wanted = snprintf(cause, sizeof cause, FILTER_UNUSED_CAUSE "%.*s names no event; there are: %.*s",
                              (int)term->glob.bytes_count, term->glob.bytes, (int)events.bytes_count, events.bytes);
        struct text text = {cause, (size_t)wanted < sizeof cause ? (size_t)wanted : sizeof cause - 1};
        ledger_enter(ledger, LEDGER_VALUES, LEDGER_NOTED, text, 1, NULL);
    }
}

static bool is_within(const struct filter_term *term, int64_t value) {
    return value >= term->first && value <= term->last;
}

/* Before the first sample, it is only certain that the time is before any that was given. */
static bool matches(const struct filter *filter, const struct filter_term *term, const struct filter_subject *subject) {
    switch (term->kind) {
        case GECKO_CONVERT_FILTER_TIME:
            if (term->is_of_markers) return add_overlaps(filter, subject, &(struct time_range){0}) > 0;
            if (!filter->is_started) return term->first == INT64_MIN;
            return subject->end_ns >= term->first && subject->start_ns <= term->last;
        case GECKO_CONVERT_FILTER_PID:
            return is_within(term, subject->pid);
        case GECKO_CONVERT_FILTER_TID:
            return is_within(term, subject->tid);
        case GECKO_CONVERT_FILTER_CPU:
            return is_within(term, subject->processor);
        case GECKO_CONVERT_FILTER_COMM:
        case GECKO_CONVERT_FILTER_EXCLUDE_COMM:
            return glob_matches(term->glob, subject->comm);
        case GECKO_CONVERT_FILTER_EVENT:
            return true;
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
    for (size_t i = 0; i < filter->terms.count; i++) {
        const struct filter_term *term = column_at(&filter->terms, i);
        if (matches(filter, term, subject)) matching |= 1U << term->kind;
    }
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

/* Cuts the interval to the times that it overlaps. Returns how many do. */
static size_t cut_interval(const struct filter *filter, struct filter_subject *subject) {
    struct time_range times = TIME_RANGE_EMPTY;
    size_t count = 0;
    if (!filter->is_started || !filter_has(filter, GECKO_CONVERT_FILTER_TIME)) return 1;
    for (size_t i = 0; i < filter->terms.count; i++) {
        const struct filter_term *term = column_at(&filter->terms, i);
        if (term->kind != GECKO_CONVERT_FILTER_TIME || !matches(filter, term, subject)) continue;
        if (term->is_of_markers) {
            count += add_overlaps(filter, subject, &times);
        } else {
            time_range_extend(&times, term->first, term->last);
            count++;
        }
    }
    if (subject->start_ns < times.first_ns) subject->start_ns = times.first_ns;
    if (subject->end_ns > times.last_ns) subject->end_ns = times.last_ns;
    return count;
}

bool filter_cut(const struct filter *filter, int64_t *start_ns, int64_t *end_ns) {
    struct filter_subject subject = {.start_ns = *start_ns, .end_ns = *end_ns};
    size_t count = cut_interval(filter, &subject);
    *start_ns = count ? subject.start_ns : *end_ns;
    *end_ns = count ? subject.end_ns : *end_ns;
    return count <= 1;
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
    cut_interval(filter, &subject);
    *start_ns = subject.start_ns;
    *end_ns = subject.end_ns;
    return true;
}

void filter_forget_ends(const struct filter *filter, struct profile *profile) {
    int64_t last_ns = INT64_MIN;
    if (!filter_has(filter, GECKO_CONVERT_FILTER_TIME)) return;
    for (size_t i = 0; i < filter->terms.count; i++) {
        const struct filter_term *term = column_at(&filter->terms, i);
        bool is_range = term->kind == GECKO_CONVERT_FILTER_TIME && !term->is_of_markers;
        if (is_range && term->last > last_ns) last_ns = term->last;
    }
    const struct column *ranges = &filter->ranges;
    const struct time_range *last = ranges->count ? column_at(ranges, ranges->count - 1) : NULL;
    if (last && last->last_ns > last_ns) last_ns = last->last_ns;
    for (size_t i = 0; i < profile->threads.count; i++) {
        struct thread *thread = column_at(&profile->threads, i);
        if (thread->end_ns > last_ns) thread->end_ns = TIME_NONE;
    }
    for (size_t i = 0; i < profile->processes.count; i++) {
        struct process *process = column_at(&profile->processes, i);
        if (process->end_ns > last_ns) process->end_ns = TIME_NONE;
    }
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
            ledger_read(ledger, unit, tally->count);
            ledger_enter(ledger, unit, LEDGER_FILTERED, kinds[kind].cause, tally->count, &tally->first);
        }
    for (unsigned kind = 0; kind < FILTER_KIND_COUNT; kind++)
        ledger_enter(ledger, LEDGER_VALUES, LEDGER_NOTED, kinds[kind].marker_cause, filter->marker_counts[kind], NULL);
}
