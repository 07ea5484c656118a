#include "perf_switches.h"

#include "libconvert/base/cursor.h"
#include "perf_cursor.h"
#include "perf_tracing.h"

/* What a payload of the tracepoint sched:sched_switch tells. */
struct perf_sched_switch {
    int64_t from_tid;
    int64_t to_tid;
    char state; /* state of the thread that leaves, as ps shows it: 'S', 'D', 'R'…; 0: unknown */
};

/* ---- Printed payloads. ---- */

static const struct text ARROW = TEXT(" ==> ");

/* Returns the offset of the last occurrence of the word. Names of threads, which may have anything in them, come before
 * what is searched. Returns the size of the text if there is none. */
static size_t find_last(struct text text, struct text word) {
    for (size_t i = text.bytes_count; i-- > 0;)
        if (text_starts_with(text_from(text, i), word)) return i;
    return text.bytes_count;
}

static bool take_field(struct text text, struct text key, struct text *value) {
    size_t at = find_last(text, key);
    *value = text_from(text, at + key.bytes_count);
    *value = text_slice(*value, 0, text_find(*value, ' '));
    return at < text.bytes_count;
}

/* "prev_comm=app prev_pid=7 prev_prio=120 prev_state=S", and the same of the next thread. */
static bool parse_fields(struct text from, struct text to, struct perf_sched_switch *out) {
    struct text from_tid, state, to_tid;
    if (!take_field(from, TEXT("prev_pid="), &from_tid) || !take_field(from, TEXT("prev_state="), &state)) return false;
    if (!take_field(to, TEXT("next_pid="), &to_tid) || !state.bytes_count) return false;
    out->state = state.bytes[0];
    return cursor_parse_id(from_tid, &out->from_tid) && cursor_parse_id(to_tid, &out->to_tid);
}

/* "app:7 [120]" */
static bool parse_thread(struct text text, int64_t *tid) {
    size_t bracket = text_find_last(text, '[');
    struct text name = text_trim_end(text_slice(text, 0, bracket));
    return bracket < text.bytes_count && cursor_parse_id(text_from(name, text_find_last(name, ':') + 1), tid);
}

/* "app:7 [120] S", as libtraceevent's plugin prints it, and the same of the next thread without a state. */
static bool parse_threads(struct text from, struct text to, struct perf_sched_switch *out) {
    size_t blank = text_find_last(from, ' ');
    struct text state = text_from(from, blank + 1);
    if (!state.bytes_count) return false;
    out->state = state.bytes[0];
    return parse_thread(text_slice(from, 0, blank), &out->from_tid) && parse_thread(to, &out->to_tid);
}

/* Parses a payload that perf script has printed. Returns false if it is none of this tracepoint. */
static bool perf_sched_switch_parse(struct text payload, struct perf_sched_switch *out) {
    payload = text_trim(payload);
    size_t arrow = find_last(payload, ARROW);
    if (arrow == payload.bytes_count) return false;
    struct text from = text_slice(payload, 0, arrow), to = text_from(payload, arrow + ARROW.bytes_count);
    return parse_fields(from, to, out) || parse_threads(from, to, out);
}

/* ---- Payloads as bytes. ---- */

enum field { FROM_TID, STATE, TO_TID, FIELD_COUNT };

/* Where Linux has each field since 2.6.31, on machines with 64 bits. */
static const struct {
    const char *name;
    struct perf_tracing_place place;
} fields[FIELD_COUNT] = {
    [FROM_TID] = {"prev_pid", {24, 4}},
    [STATE] = {"prev_state", {32, 8}},
    [TO_TID] = {"next_pid", {56, 4}},
};

static bool read_number(struct text payload, struct perf_tracing_place place, uint64_t *value) {
    struct text bytes = text_slice(payload, place.offset, (size_t)place.offset + place.size_bytes);
    if (bytes.bytes_count != place.size_bytes || (place.size_bytes != 4 && place.size_bytes != 8)) return false;
    *value = place.size_bytes == 4 ? perf_load_u32(bytes.bytes) : perf_load_u64(bytes.bytes);
    return true;
}

/* The lowest bit of the state decides, which is the first letter that perf script prints. Without one, the thread could
 * go on. */
static char letter_of(uint64_t state) {
    static const char letters[] = "SDTtXZPI";
    unsigned bit = state & 0xff ? (unsigned)__builtin_ctzll(state) : 8;
    return bit < 8 ? letters[bit] : 'R';
}

/* Decodes a payload by the format of the tracepoint with that id or, if that is unknown, as Linux lays it out. Returns
 * false if it is too short, or lacks a field. */
static bool perf_sched_switch_decode(struct perf_tracing *tracing, uint64_t id, struct text payload,
                                     struct perf_sched_switch *out) {
    uint64_t values[FIELD_COUNT];
    for (size_t i = 0; i < FIELD_COUNT; i++) {
        struct perf_tracing_place place = fields[i].place;
        if (perf_tracing_knows(tracing, id) && !perf_tracing_find(tracing, id, fields[i].name, &place)) return false;
        if (!read_number(payload, place, &values[i])) return false;
    }
    *out = (struct perf_sched_switch){
        .from_tid = (int32_t)values[FROM_TID], .to_tid = (int32_t)values[TO_TID], .state = letter_of(values[STATE])};
    return true;
}

/* ---- Records. ---- */

/* Returns whether the thread stopped at the occurrence. The kernel copies the stack between a switch and its record,
 * which takes long on a busy machine. The next record is that of the switch all the same, unless it was lost. */
static bool is_at_stop(const struct perf_recording *recording, const struct perf_task *task,
                       const struct perf_event *event, int64_t occurrence_ns, int64_t stop_ns) {
    if (stop_ns - occurrence_ns <= PERF_SWITCH_NS_MAX) return stop_ns >= occurrence_ns;
    bool is_of_switch = event->is_switch || event->counts_switches;
    return is_of_switch && task->last_switch_ns <= occurrence_ns && recording->last_loss_ns <= occurrence_ns;
}

/* Returns a wait with the stack of the task's last sample, if something occurred there as the thread stopped. */
static struct perf_wait wait_at_occurrence(const struct perf_recording *recording, const struct perf_task *task,
                                           const struct perf_record *record) {
    int64_t time_ns = record->time_ns;
    struct perf_wait wait = perf_wait_since(time_ns, record->running.processor);
    struct perf_series *series = task->last_series;
    const struct perf_event *event = series ? perf_events_at(&recording->events, series->event) : NULL;
    if (!event || !event->is_occurrence) return wait;
    uint32_t last = samples_count(&series->samples) - 1;
    if (!is_at_stop(recording, task, event, samples_at(&series->samples, last)->time_ns, time_ns)) return wait;
    wait.series = series;
    wait.sample = last;
    return wait;
}

void perf_switches_use_record(struct perf_recording *recording, struct perf_task *task,
                              const struct perf_record *record) {
    struct perf_waits *waits = &recording->waits;
    if (record->time_ns == TIME_NONE) return;
    waits->has_records = waits->has_ends = true;
    waits->are_of_processors |= record->running.is_of_processor;
    struct perf_wait wait = wait_at_occurrence(recording, task, record);
    task->last_switch_ns = record->time_ns;
    if (!record->running.is_out) {
        perf_waits_end(waits, task, record->time_ns, record->position);
        return;
    }
    wait.state = record->running.is_preempted ? PERF_STATE_PREEMPTED : PERF_STATE_UNKNOWN;
    perf_waits_begin(waits, task, &wait, record->position);
}

/* ---- Samples. ---- */

/* A thread that has ended has no tid when it stops for good. The payload still tells it. */
static bool decode(struct perf_recording *recording, const struct perf_event *event, const struct perf_record *record,
                   struct perf_sched_switch *out) {
    bool is_good = record->sample.is_raw
                       ? perf_sched_switch_decode(&recording->tracing, event->tracepoint_id, record->text, out)
                       : perf_sched_switch_parse(record->text, out);
    return is_good && (record->tid < 0 || out->from_tid == record->tid);
}

/* Names of events may come after samples, and readers name tracepoints by their ids until then. A payload that is laid
 * out like that of sched_switch, and has the thread's tid in its place, tells as much. */
static bool is_switch(struct perf_recording *recording, struct perf_event *event, const struct perf_record *record) {
    if (!event) return false;
    bool is_nameless = event->is_tracepoint && event->is_name_made_up;
    if (event->is_switch || !is_nameless) return event->is_switch;
    struct perf_sched_switch payload;
    event->is_switch = record->tid >= 0 && decode(recording, event, record, &payload);
    return event->is_switch;
}

/* Returns the processor on which the switches follow each other; negative: it is unknown. A guest's records tell the
 * machine's processor, on which the machine and other guests run in between. */
static int32_t processor_of(const struct perf_record *record) {
    return record->machine ? -1 : record->sample.processor;
}

int64_t perf_switches_tid(struct perf_recording *recording, struct perf_event *event,
                          const struct perf_record *record) {
    struct perf_sched_switch payload;
    bool is_told = is_switch(recording, event, record) && decode(recording, event, record, &payload);
    return is_told ? payload.from_tid : perf_waits_running(&recording->waits, processor_of(record));
}

/* If another thread was told to run on the processor than the one that leaves it, switches in between are lost. */
static void link(struct perf_recording *recording, const struct perf_record *record, struct perf_sched_switch payload) {
    const struct perf_running to = {payload.to_tid, record->time_ns};
    struct perf_running before = perf_waits_link(&recording->waits, processor_of(record), payload.from_tid, to);
    if (before.tid == payload.from_tid || before.tid == PID_UNKNOWN) return;
    struct perf_task *from = NULL, *lost = NULL;
    if (perf_activity_has_switches(payload.from_tid))
        from = perf_tasks_known(&recording->tasks, record->machine, payload.from_tid);
    if (perf_activity_has_switches(before.tid)) lost = perf_tasks_known(&recording->tasks, record->machine, before.tid);
    if (from) perf_waits_miss_start(&recording->waits, from, before.since_ns, record->time_ns);
    if (lost) perf_waits_miss_stop(&recording->waits, lost, before);
}

/* The next thread on the processor runs. A recording of some threads does not show when others make room for one of
 * them, the idle one above all. */
static void end_next(struct perf_recording *recording, const struct perf_record *record,
                     struct perf_sched_switch payload) {
    struct perf_waits *waits = &recording->waits;
    int64_t tid = payload.to_tid;
    waits->has_ends |= payload.from_tid == 0;
    link(recording, record, payload);
    if (!perf_activity_has_switches(tid)) return;
    struct perf_task *next = perf_tasks_known(&recording->tasks, record->machine, tid);
    if (next)
        perf_waits_end(waits, next, record->time_ns, record->position);
    else
        perf_waits_end_unseen(waits, record->machine, tid, record->time_ns);
}

/* Returns the task that stops; NULL: none does of which anything is known. */
static struct perf_task *find_stopped(const struct perf_recording *recording, const struct perf_occurrence *occurrence,
                                      const struct perf_record *record, const struct perf_sched_switch *payload) {
    int64_t tid = payload && record->tid < 0 ? payload->from_tid : record->tid;
    if (!perf_activity_has_switches(tid)) return NULL;
    return record->tid < 0 ? perf_tasks_known(&recording->tasks, record->machine, tid) : occurrence->task;
}

struct perf_task *perf_switches_begin(struct perf_recording *recording, const struct perf_occurrence *occurrence,
                                      const struct perf_record *record, struct perf_wait *wait) {
    struct perf_sched_switch payload;
    if (record->time_ns == TIME_NONE) return NULL;
    if (!is_switch(recording, occurrence->event, record)) {
        if (perf_waits_are_told(&recording->waits))
            perf_waits_see_running(&recording->waits, occurrence->task, processor_of(record), record->time_ns);
        return NULL;
    }
    *wait = perf_wait_since(record->time_ns, processor_of(record));
    bool is_good = decode(recording, occurrence->event, record, &payload);
    bool has_payload = record->text.bytes_count, has_period = occurrence->has_period && occurrence->period > 1;
    perf_tally(&recording->tallies, TALLY_BAD_SWITCH, has_payload && !is_good, record->position);
    if (is_good) end_next(recording, record, payload);
    if (is_good) wait->state = payload.state;
    recording->waits.misses_switches |= has_payload && has_period;
    /* simpleperf prints no payload. Its periods are the times until threads run again. */
    bool is_length = !has_payload && has_period && occurrence->period < (uint64_t)PERF_TIME_MAX_NS;
    if (is_length) wait->end_ns = record->time_ns + (int64_t)occurrence->period;
    recording->waits.has_ends |= is_length;
    return find_stopped(recording, occurrence, record, is_good ? &payload : NULL);
}

void perf_switches_finish(struct perf_recording *recording, struct perf_task *task, struct perf_wait *wait,
                          struct perf_series *series, struct position position) {
    wait->series = series;
    if (series) wait->sample = samples_count(&series->samples) - 1;
    perf_waits_begin(&recording->waits, task, wait, position);
}
