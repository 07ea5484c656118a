#include "perf_events.h"

#include <stdio.h>

#include "libconvert/base/byte_buffer.h"
#include "libconvert/base/memory.h"

void perf_events_init(struct perf_events *events, struct filter *filter, struct failure *failure) {
    *events = (struct perf_events){.filter = filter, .main = ID_NONE, .off_cpu_time = ID_NONE};
    strings_init(&events->names, failure);
    column_init(&events->rows, sizeof(struct perf_event), failure);
}

void perf_events_fini(struct perf_events *events) {
    COLUMN_EACH(struct perf_event, perf_event, &events->rows) column_fini(&perf_event->last_times_ns);
    strings_fini(&events->names);
    column_fini(&events->rows);
}

static enum event_treatment choice_of(struct perf_events *events, struct text name) {
    const struct text names[] = {name, perf_event_base_name(name), perf_role_plain_name(name)};
    return events->filter ? filter_treat(events->filter, names, sizeof names / sizeof *names) : EVENT_DEFAULT;
}

/* Returns whether the name says what the event is. A user can give it any other one: perf record -e
 * cpu-clock/name=work/. */
static bool is_telling(struct text name) {
    return perf_role_unit(name) != PERF_EVENT_OTHER || perf_role_is_occurrence(name) || perf_role_is_off_cpu_time(name);
}

static void set_name(struct perf_events *events, struct perf_event *event, struct text name) {
    if (name.bytes_count) event->name = strings_copy(&events->names, name);
    if (is_telling(event->name) || !is_telling(event->told_name)) event->told_name = event->name;
    struct text told = event->told_name;
    event->choice = choice_of(events, event->name);
    event->unit = perf_role_unit(told);
    event->measure = strings_intern(&events->names, perf_role_measure(told));
    event->is_switch = perf_role_is_switch(told);
    event->counts_switches = perf_role_counts_switches(told);
    event->is_off_cpu_time = !event->is_tracepoint && perf_role_is_off_cpu_time(told);
    event->keeps_addresses = !event->is_tracepoint && perf_role_has_address(told);
    event->is_occurrence = event->is_tracepoint || perf_role_is_occurrence(told);
    event->has_payloads = event->is_tracepoint || text_equal(perf_event_base_name(told), TEXT("bpf-output"));
}

uint32_t perf_events_add(struct perf_events *events, struct text name, const struct perf_event_description *description,
                         struct position position) {
    uint32_t row = (uint32_t)events->rows.count;
    struct perf_event *event = column_push(&events->rows);
    if (!event) return ID_NONE;
    *event = (struct perf_event){.measure = strings_intern(&events->names, TEXT("")),
                                 .is_tracepoint = description->is_tracepoint,
                                 .is_occurrence = description->is_tracepoint,
                                 .is_name_made_up = description->is_name_made_up,
                                 .tracepoint_id = description->tracepoint_id,
                                 .has_payloads = description->is_tracepoint,
                                 .frequency_hz = description->frequency_hz,
                                 .period_min = UINT64_MAX,
                                 .first = position};
    column_init(&event->last_times_ns, sizeof(int64_t), events->rows.failure);
    set_name(events, event, name);
    return row;
}

void perf_events_set_name(struct perf_events *events, uint32_t row, struct text name) {
    struct perf_event *event = perf_events_at(events, row);
    event->is_name_made_up = false;
    set_name(events, event, name);
}

/* ---- Whether periods are the times between samples. ---- */

enum { PROCESSORS_MAX = 65536 };

/* The times between two ticks of a kernel: at 1000, 300, 250 and 100 Hz. */
static const uint64_t ticks_ns[PERF_TICK_LENGTHS] = {1000000, 3333333, 4000000, 10000000};

static bool is_multiple_of(uint64_t gap_ns, uint64_t tick_ns) {
    enum { DEVIATIONS_PER_TICK = 16 };
    uint64_t deviation_ns = tick_ns / DEVIATIONS_PER_TICK;
    return (gap_ns + deviation_ns) % tick_ns <= 2 * deviation_ns && gap_ns > deviation_ns;
}

/* Returns the time of the event's last sample on that processor, and sets it to this one's. */
static int64_t exchange_last_time_ns(struct perf_event *event, int32_t processor, int64_t time_ns) {
    while (event->last_times_ns.count <= (size_t)processor)
        if (!column_add(&event->last_times_ns, &(int64_t){TIME_NONE})) return TIME_NONE;
    int64_t *last_ns = column_at(&event->last_times_ns, (size_t)processor), before_ns = *last_ns;
    *last_ns = time_ns;
    return before_ns;
}

void perf_event_count_gap(struct perf_event *event, int32_t processor, int64_t before_ns, int64_t time_ns,
                          uint64_t period) {
    enum { FITTING_PERIODS_MAX = 2, SLOWEST_TIMER_NS = 12000000 };
    if (event->unit != PERF_EVENT_CLOCK_NS || processor >= PROCESSORS_MAX) return;
    if (processor >= 0) before_ns = exchange_last_time_ns(event, processor, time_ns);
    if (before_ns == TIME_NONE || time_ns <= before_ns) return;
    uint64_t gap_ns = (uint64_t)time_ns - (uint64_t)before_ns;
    bool is_fitting = gap_ns / FITTING_PERIODS_MAX <= period;
    /* A kernel without precise timers samples at its ticks, at least every 10 ms. A longer gap is one in the work. */
    if (!is_fitting && gap_ns > SLOWEST_TIMER_NS) return;
    event->gap_count++;
    event->fitting_gap_count += is_fitting;
    /* A kernel whose ticks are as frequent as samples were asked for misses none. */
    for (size_t i = 0; !is_fitting && i < PERF_TICK_LENGTHS; i++)
        event->tick_gap_counts[i] += ticks_ns[i] / FITTING_PERIODS_MAX > period && is_multiple_of(gap_ns, ticks_ns[i]);
}

static bool are_mostly_ticks(const struct perf_event *event) {
    for (size_t i = 0; i < PERF_TICK_LENGTHS; i++)
        if (event->tick_gap_counts[i] > event->gap_count / 2) return true;
    return false;
}

/* Even in a program that mostly waits, some samples are only one period apart. But a thread that is interrupted many
 * times in each period has none of these. A few samples prove nothing. */
bool perf_event_period_fits(const struct perf_event *event) {
    enum { GAPS_MIN = 8, GAPS_PER_FITTING_GAP_MAX = 20 };
    return event->gap_count < GAPS_MIN || event->fitting_gap_count > event->gap_count / GAPS_PER_FITTING_GAP_MAX ||
           !are_mostly_ticks(event);
}

/* ---- What becomes of events. ---- */

/* What an event is. The first kinds are the best for the profile's samples. */
enum kind { KIND_TIME, KIND_COUNTED, KIND_OCCURRENCE, KIND_TRACEPOINT };

/* What becomes of an event that does not make the profile's samples. */
static const enum event_treatment usual_treatments[] = {[KIND_TIME] = EVENT_TRACKS,
                                                        [KIND_COUNTED] = EVENT_TRACKS,
                                                        [KIND_OCCURRENCE] = EVENT_MARKERS,
                                                        [KIND_TRACEPOINT] = EVENT_MARKERS};

static enum kind kind_of(const struct perf_event *event) {
    if (event->unit != PERF_EVENT_OTHER) return KIND_TIME;
    if (!event->is_occurrence) return KIND_COUNTED;
    return event->is_tracepoint ? KIND_TRACEPOINT : KIND_OCCURRENCE;
}

/* Readers may know the events in another order, so of events with as many samples, a clock is better, and then the one
 * whose name is first, as that of a system call's start. */
static bool is_better(const struct perf_event *event, const struct perf_event *than, const uint64_t *sample_counts) {
    uint64_t count = sample_counts[event->measure.index], than_count = sample_counts[than->measure.index];
    if (kind_of(event) != kind_of(than)) return kind_of(event) < kind_of(than);
    if (count != than_count) return count > than_count;
    if (string_is_same(event->measure, than->measure)) return event->sample_count > than->sample_count;
    if (event->unit != than->unit) return event->unit == PERF_EVENT_CLOCK_NS;
    return text_compare(event->name, than->name) < 0;
}

static bool tells_waits(const struct perf_events *events, const struct perf_event *event) {
    return events->off_cpu_time != ID_NONE && perf_events_at(events, events->off_cpu_time) == event;
}

/* Returns whether the event can make the profile's samples. If the options name events that do, only those can. The
 * time in which threads waited says nothing of where they ran. */
static bool is_eligible(const struct perf_events *events, const struct perf_event *event, bool is_any_chosen) {
    enum event_treatment wanted = is_any_chosen ? EVENT_SAMPLES : EVENT_DEFAULT;
    if (event->is_off_cpu_time && (!is_any_chosen || tells_waits(events, event))) return false;
    if (events->has_waits && event->is_switch && event->choice != EVENT_SAMPLES) return false;
    return event->sample_count && event->choice == wanted;
}

static void choose_main(struct perf_events *events) {
    uint64_t *sample_counts =
        memory_allocate_zeroed(events->rows.failure, strings_count(&events->names) + 1, sizeof *sample_counts);
    if (!sample_counts) return;
    bool is_any_chosen = false;
    COLUMN_EACH(const struct perf_event, event, &events->rows) {
        sample_counts[event->measure.index] += event->sample_count;
        is_any_chosen |= event->sample_count && event->choice == EVENT_SAMPLES;
    }
    for (uint32_t i = 0; i < events->rows.count; i++) {
        const struct perf_event *event = perf_events_at(events, i);
        if (!is_eligible(events, event, is_any_chosen)) continue;
        if (events->main == ID_NONE || is_better(event, perf_events_at(events, events->main), sample_counts))
            events->main = i;
    }
    memory_free(sample_counts);
}

static enum event_treatment treatment_of(const struct perf_events *events, const struct perf_event *event) {
    if (event->choice != EVENT_DEFAULT) return event->choice;
    if (tells_waits(events, event)) return EVENT_SAMPLES;
    if (events->has_waits && event->is_switch) return EVENT_MARKERS; /* its lengths are samples of waits */
    bool is_main =
        events->main != ID_NONE && string_is_same(event->measure, perf_events_at(events, events->main)->measure);
    return is_main ? EVENT_SAMPLES : usual_treatments[kind_of(event)];
}

static void count_bare_as_samples(struct perf_event *event) {
    event->sample_count += event->bare.count;
    event->period_sum += event->bare_period_sum;
    event->bare.count = event->bare_period_sum = 0;
}

/* Events of one measure share a track, unless they measure the same twice. */
static void name_tracks(struct perf_events *events) {
    size_t name_count = strings_count(&events->names) + 1;
    uint32_t *scopes = memory_allocate_zeroed(events->rows.failure, name_count, sizeof *scopes);
    bool *overlap = memory_allocate_zeroed(events->rows.failure, name_count, sizeof *overlap);
    for (uint32_t i = 0; scopes && overlap && i < events->rows.count; i++) {
        const struct perf_event *event = perf_events_at(events, i);
        uint32_t scope = event->treatment == EVENT_TRACKS ? perf_role_scope(event->name) : 0;
        overlap[event->measure.index] |= (scopes[event->measure.index] & scope) != 0;
        scopes[event->measure.index] |= scope;
    }
    for (uint32_t i = 0; scopes && overlap && i < events->rows.count; i++) {
        struct perf_event *event = perf_events_at(events, i);
        event->track = overlap[event->measure.index] ? strings_intern(&events->names, event->name) : event->measure;
    }
    MEMORY_FREE_ALL(overlap, scopes);
}

void perf_events_treat(struct perf_events *events) {
    if (failure_is_set(events->rows.failure)) return;
    choose_main(events);
    COLUMN_EACH(struct perf_event, event, &events->rows) {
        event->treatment = treatment_of(events, event);
        bool is_dropped = event->treatment == EVENT_DROPPED && !event->is_tracepoint;
        if (is_dropped || event->treatment == EVENT_COUNTER) count_bare_as_samples(event);
    }
    name_tracks(events);
}

bool perf_events_have_counted(const struct perf_events *events) {
    COLUMN_EACH(const struct perf_event, event, &events->rows)
        if (event->sample_count && !event->is_occurrence) return true;
    return false;
}

static bool makes_samples(const struct perf_event *event) {
    return event->sample_count && event->treatment == EVENT_SAMPLES;
}

bool perf_events_overlap(const struct perf_events *events) {
    uint32_t scope = 0;
    COLUMN_EACH(const struct perf_event, event, &events->rows) {
        if (!makes_samples(event)) continue;
        bool is_other = !string_is_same(event->measure, perf_events_at(events, events->main)->measure);
        if (is_other || scope & perf_role_scope(event->name)) return true;
        scope |= perf_role_scope(event->name);
    }
    return false;
}

struct text perf_events_names(const struct perf_events *events, enum event_treatment treatment,
                              struct profile *profile) {
    struct byte_buffer names = {.failure = profile->failure};
    COLUMN_EACH(const struct perf_event, event, &events->rows) {
        bool is_wanted = treatment == EVENT_DEFAULT || (event->sample_count && event->treatment == treatment);
        if (!is_wanted || !event->name.bytes_count) continue;
        if (names.bytes_count) byte_buffer_append(&names, TEXT(", "));
        byte_buffer_append(&names, event->name);
    }
    struct text joined = names.bytes_count ? profile_text(profile, byte_buffer_text(&names)) : (struct text){0};
    byte_buffer_fini(&names);
    return joined;
}

/* ---- What became of events. ---- */

static const struct text nameless = TEXT("without a name");

/* Enters samples of the event, in that unit, and their periods under "event NAME". */
static void enter_part(const struct perf_event *event, const char *part, enum gecko_convert_fate fate,
                       enum gecko_convert_unit unit, struct ledger_tally samples, uint64_t period_sum,
                       struct ledger *ledger) {
    struct text name = event->name.bytes_count ? event->name : nameless;
    char cause[256];
    int wanted = snprintf(cause, sizeof cause, "event %.*s%s", TEXT_ARGS(name), part);
    struct text text = {cause, (size_t)wanted < sizeof cause ? (size_t)wanted : sizeof cause - 1};
    ledger_account(ledger, unit, fate, text, samples.count, &samples.first);
    ledger_account(ledger, LEDGER_PERIODS, fate, text, period_sum, &samples.first);
}

static void enter(const struct perf_events *events, const struct perf_event *event, struct ledger *ledger) {
    bool is_of_running = makes_samples(event) && !tells_waits(events, event);
    bool is_dropped = event->treatment == EVENT_DROPPED, is_left_out = events->are_waits_alone && is_of_running;
    struct ledger_tally samples = {event->sample_count, true, event->first};
    enter_part(event, "", is_dropped || is_left_out ? LEDGER_FILTERED : LEDGER_KEPT, LEDGER_SAMPLES, samples,
               event->period_sum, ledger);
    if (is_dropped || perf_event_marks(event, true))
        enter_part(event, " without a stack", is_dropped ? LEDGER_FILTERED : LEDGER_KEPT, LEDGER_RECORDS, event->bare,
                   event->bare_period_sum, ledger);
}

static void list_in(struct profile *profile, const struct perf_event *event) {
    struct profile_event *listed = column_push(&profile->events);
    if (listed)
        *listed =
            (struct profile_event){profile_text(profile, event->name.bytes_count ? event->name : nameless),
                                   event_treatment_name(event->treatment), event->sample_count + event->bare.count};
}

void perf_events_enter(const struct perf_events *events, struct profile *profile) {
    COLUMN_EACH(const struct perf_event, event, &events->rows) {
        enter(events, event, &profile->ledger);
        list_in(profile, event);
    }
    if (events->filter)
        filter_note_unused(events->filter, perf_events_names(events, EVENT_DEFAULT, profile), &profile->ledger);
}
