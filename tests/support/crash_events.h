/* Records numbered events of several kinds in turn, and logs them in memory shared with other processes, so that the
 * log survives whatever happens to the recording process. Then compares the events in a trace with the log. */
#pragma once

#include "recorder/gecko_recorder.h"
#include "tests/support/crash_trace.h"

enum {
    CRASH_SLOT_COUNT = 12,
    CRASH_EVENT_COUNT_MAX = CRASH_IS_SANITIZED ? 16384 : 65536, /* events of a slot */
    CRASH_SITE_COUNT = 16,  /* call sites of a slot, which come into use one after the other */
    CRASH_SITE_PERIOD = 64, /* events from one call site's first use to the next one's */
};

/* The log of one recorder of events. Only one thread at a time may use a slot. */
struct crash_slot {
    int32_t pid;
    uint32_t begun_count;                    /* events whose recording call began */
    uint64_t before[CRASH_EVENT_COUNT_MAX];  /* the recorder's time before the call */
    uint8_t returned[CRASH_EVENT_COUNT_MAX]; /* number of the trace that has the event; 0 if the call has not returned
                                                or the trace changed */
};

struct crash_log {
    /* Upper limit of the events that children continue because they were forked inside crash_record. Each child
     * continues at most one event. */
    uint32_t continued_count_max;
    /* The low byte is the number of the trace that receives events now. It is 0 if there is none or if it is
     * changing. The higher bytes count the changes. */
    uint32_t trace;
    struct crash_slot slots[CRASH_SLOT_COUNT];
};

/* Opens a trace in the log. All events recorded from this call to crash_log_close are in that trace. */
static inline void crash_log_open(struct crash_log *log, uint8_t trace) {
    __atomic_store_n(&log->trace, ((log->trace >> 8) + 1) << 8 | trace, __ATOMIC_SEQ_CST);
}
static inline void crash_log_close(struct crash_log *log) { crash_log_open(log, 0); }

static struct grec_category crash_category = GREC_CATEGORY("Accidents", GREC_COLOR_RED);
static const struct grec_field crash_fields[] = {GREC_FIELD("slot", NULL, GREC_FORMAT_INTEGER),
                                                 GREC_FIELD("number", NULL, GREC_FORMAT_INTEGER),
                                                 GREC_FIELD("check", NULL, GREC_FORMAT_INTEGER)};
static struct grec_marker_type crash_type = GREC_MARKER_TYPE("Numbered", crash_fields);
static struct grec_marker crash_marker = GREC_MARKER("numbered", &crash_category, &crash_type);
static struct grec_label crash_label = GREC_LABEL_AT("work", &crash_category, "crash_events.h", 1);
static struct grec_marker crash_sites[CRASH_SLOT_COUNT][CRASH_SITE_COUNT];
static struct grec_counter crash_counters[CRASH_SLOT_COUNT];
static char crash_site_names[CRASH_SLOT_COUNT][CRASH_SITE_COUNT][24];
static char crash_counter_names[CRASH_SLOT_COUNT][24];

/* Initialises the event descriptions. Call it once, in the process from which all others are forked. */
static inline void crash_events_init(void) {
    for (unsigned slot = 0; slot < CRASH_SLOT_COUNT; slot++) {
        for (unsigned i = 0; i < CRASH_SITE_COUNT; i++) {
            snprintf(crash_site_names[slot][i], sizeof crash_site_names[slot][i], "site %u of %u", i, slot);
            crash_sites[slot][i] =
                (struct grec_marker)GREC_MARKER(crash_site_names[slot][i], &crash_category, &crash_type);
        }
        snprintf(crash_counter_names[slot], sizeof crash_counter_names[slot], "counter %u", slot);
        crash_counters[slot] = (struct grec_counter)GREC_COUNTER(crash_counter_names[slot], "Accidents", "", NULL,
                                                                 GREC_COUNTER_ACCUMULATED, GREC_GRAPH_RED, 0);
    }
}

enum crash_kind {
    CRASH_INSTANT,
    CRASH_SITE, /* an instant as well, from one of several call sites */
    CRASH_INTERVAL,
    CRASH_TEXT,
    CRASH_STACK,
    CRASH_COUNT,
    CRASH_TAGGED,
    CRASH_AGAIN,
    CRASH_KIND_COUNT
};

static inline int64_t crash_check_of(unsigned slot, uint32_t number) {
    return ((int64_t)number + 1) * 2654435761 + (int64_t)slot;
}

static inline enum crash_kind crash_kind_of(uint32_t number) { return (enum crash_kind)(number % CRASH_KIND_COUNT); }

enum { CRASH_TEXT_BYTES = 24 };

/* Writes "slot/number" without padding. Signal-safe. */
static inline void crash_write_text(char text[CRASH_TEXT_BYTES], unsigned slot, uint32_t number) {
    char digits[12];
    unsigned count = 0, at = 0;
    if (slot >= 10) text[at++] = (char)('0' + slot / 10);
    text[at++] = (char)('0' + slot % 10);
    text[at++] = '/';
    do digits[count++] = (char)('0' + number % 10);
    while (number /= 10);
    while (count) text[at++] = digits[--count];
    text[at] = '\0';
}

static inline void crash_record_stack(unsigned slot, uint32_t number, const struct grec_value *values) {
    char text[CRASH_TEXT_BYTES];
    struct grec_marker_options options = {.with_stack = 1};
    crash_write_text(text, slot, number);
    grec_label_place pushed = grec_label_push(&crash_label, text);
    grec_add_marker(&crash_marker, &options, values, 3);
    grec_label_pop(pushed);
}

static inline void crash_record_event(unsigned slot, uint32_t number) {
    struct grec_value values[] = {GREC_INT(slot), GREC_INT(number), GREC_INT(crash_check_of(slot, number))};
    char text[CRASH_TEXT_BYTES];
    switch (crash_kind_of(number)) {
        case CRASH_SITE:
            grec_instant(&crash_sites[slot][number / CRASH_SITE_PERIOD % CRASH_SITE_COUNT], values, 3);
            return;
        case CRASH_INTERVAL: grec_interval(&crash_marker, grec_now(), values, 3); return;
        case CRASH_TEXT:
            crash_write_text(text, slot, number);
            grec_text_marker("text", &crash_category, text);
            return;
        case CRASH_STACK: crash_record_stack(slot, number, values); return;
        case CRASH_COUNT: grec_counter_add(&crash_counters[slot], 1); return;
        case CRASH_TAGGED:
            values[2] = GREC_UINT(crash_check_of(slot, number));
            grec_instant(&crash_marker, values, 3);
            return;
        default: grec_instant(&crash_marker, values, 3); return;
    }
}

/* Records the slot's next event. Returns false if the slot is full. */
static inline bool crash_record(struct crash_log *log, unsigned slot_number) {
    struct crash_slot *slot = &log->slots[slot_number];
    uint32_t number = slot->begun_count;
    if (number == CRASH_EVENT_COUNT_MAX) return false;
    uint32_t trace = __atomic_load_n(&log->trace, __ATOMIC_ACQUIRE);
    slot->before[number] = grec_now();
    __atomic_store_n(&slot->begun_count, number + 1, __ATOMIC_RELEASE);
    crash_record_event(slot_number, number);
    bool is_certain = trace == __atomic_load_n(&log->trace, __ATOMIC_ACQUIRE);
    __atomic_store_n(&slot->returned[number], is_certain ? (uint8_t)trace : 0, __ATOMIC_RELEASE);
    return true;
}

/* ---- The events found in a trace. ---- */

struct crash_tally {
    uint32_t bad_count; /* events in the trace that were never recorded in this form */
    uint32_t continued_count;
    uint64_t counted[CRASH_SLOT_COUNT];
    uint8_t seen[CRASH_SLOT_COUNT][CRASH_EVENT_COUNT_MAX];
};

static inline void crash_tally_event(struct crash_tally *tally, const struct crash_log *log, int64_t pid,
                                     int64_t slot_number, int64_t number) {
    bool is_known = slot_number >= 0 && slot_number < CRASH_SLOT_COUNT && number >= 0 &&
                    number < log->slots[slot_number].begun_count;
    if (is_known && pid != log->slots[slot_number].pid && tally->continued_count < log->continued_count_max)
        tally->continued_count++;
    else if (!is_known || pid != log->slots[slot_number].pid || tally->seen[slot_number][number] == UINT8_MAX)
        tally->bad_count++;
    else
        tally->seen[slot_number][number]++;
}

/* Checks the stack of a marker. If a recording begins between the push of a label and the marker, the marker has no
 * label. The stack ends with the event's own frame; in a signal handler, the frames of the interrupted code are
 * below it. */
static inline bool crash_has_stack(const struct crash_log *log, const struct profile *profile,
                                   const struct marker *marker, unsigned slot, uint32_t number) {
    char expected[48];
    if (crash_kind_of(number) != CRASH_STACK) return stack_is_none(marker->stack);
    if (stack_is_none(marker->stack)) return !log->slots[slot].returned[number];
    const struct stack *stack = profile_stack_at(profile, marker->stack);
    snprintf(expected, sizeof expected, "work %u/%u", slot, number);
    return text_equal(frame_func_name(profile, stack->frame), text_of(expected));
}

static inline void crash_tally_marker(struct crash_tally *tally, const struct crash_log *log,
                                      const struct profile *profile, int64_t pid, const struct marker *marker) {
    if (marker->schema == MARKER_SCHEMA_NONE) return;
    const struct marker_schema *schema = column_at(&profile->marker_schemas, marker->schema);
    int64_t slot, number;
    if (text_equal(schema->name, TEXT("Numbered"))) {
        slot = crash_marker_integer(profile, marker, 0);
        number = crash_marker_integer(profile, marker, 1);
        bool is_exact = slot >= 0 && slot < CRASH_SLOT_COUNT && number >= 0 && number < CRASH_EVENT_COUNT_MAX &&
                        crash_marker_integer(profile, marker, 2) == crash_check_of((unsigned)slot, (uint32_t)number) &&
                        crash_has_stack(log, profile, marker, (unsigned)slot, (uint32_t)number);
        if (!is_exact) slot = -1;
    } else if (text_equal(schema->name, TEXT("Text"))) {
        char text[32] = "";
        int end = 0;
        struct text value = crash_marker_text(profile, marker, 0);
        unsigned slot_read = 0, number_read = 0;
        if (value.bytes_count < sizeof text) memcpy(text, value.bytes, value.bytes_count);
        bool is_exact = sscanf(text, "%u/%u%n", &slot_read, &number_read, &end) == 2 && !text[end];
        slot = is_exact && crash_kind_of(number_read) == CRASH_TEXT ? (int64_t)slot_read : -1;
        number = (int64_t)number_read;
    } else {
        return;
    }
    crash_tally_event(tally, log, pid, slot, number);
}

static inline void crash_tally_counters(struct crash_tally *tally, const struct crash_log *log,
                                        const struct profile *profile) {
    for (size_t i = 0; i < profile->counters.count; i++) {
        const struct counter *counter = column_at(&profile->counters, i);
        for (unsigned slot = 0; slot < CRASH_SLOT_COUNT; slot++) {
            if (!text_equal(counter->name, text_of(crash_counter_names[slot]))) continue;
            int64_t pid = profile_process_at(profile, counter->process)->pid;
            if (pid != log->slots[slot].pid && log->continued_count_max) continue;
            for (size_t j = 0; j < counter->samples.count; j++)
                tally->counted[slot] +=
                    (uint64_t)((const struct counter_sample *)column_at(&counter->samples, j))->change;
        }
    }
}

static inline void crash_tally_add(struct crash_tally *tally, const struct crash_log *log,
                                   const struct profile *profile) {
    for (size_t i = 0; i < profile->threads.count; i++) {
        const struct thread *thread = profile_thread_at(profile, (thread_id){(uint32_t)i});
        int64_t pid = profile_process_at(profile, thread->process)->pid;
        for (size_t j = 0; j < thread->markers.count; j++)
            crash_tally_marker(tally, log, profile, pid, column_at(&thread->markers, j));
    }
    crash_tally_counters(tally, log, profile);
}

/* Writes to `fault` which events are missing from the trace of that number, or are in it too often. An empty text
 * means that all is right. Events whose calls began before `complete_from` may be missing; if it is not 0, counters
 * are not compared. */
static inline void crash_tally_compare(const struct crash_tally *tally, const struct crash_log *log, uint8_t trace,
                                       uint64_t complete_from, char *fault, size_t fault_bytes) {
    *fault = '\0';
    if (tally->bad_count) snprintf(fault, fault_bytes, "%u events that nobody recorded so", tally->bad_count);
    for (unsigned i = 0; i < CRASH_SLOT_COUNT && !*fault; i++) {
        const struct crash_slot *slot = &log->slots[i];
        uint64_t count_min = 0, count_max = 0;
        for (uint32_t number = 0; number < slot->begun_count && !*fault; number++) {
            bool must_be = slot->returned[number] == trace && slot->before[number] >= complete_from;
            if (crash_kind_of(number) == CRASH_COUNT) {
                count_min += must_be;
                count_max++;
            } else if (tally->seen[i][number] > 1 || (must_be && !tally->seen[i][number])) {
                snprintf(fault, fault_bytes, "event %u of slot %u is there %u times; %u begun", number, i,
                         tally->seen[i][number], slot->begun_count);
            }
        }
        bool is_sum_right = tally->counted[i] >= count_min && tally->counted[i] <= count_max;
        if (!*fault && !complete_from && !is_sum_right)
            snprintf(fault, fault_bytes, "counter of slot %u is %llu, not %llu to %llu", i,
                     (unsigned long long)tally->counted[i], (unsigned long long)count_min,
                     (unsigned long long)count_max);
    }
}

/* Compares the trace in a file with the events logged for it. Returns false if the file does not exist. Otherwise
 * `fault` describes the first fault, or is empty if the trace is right. */
static inline bool crash_check_file(const char *path, const struct crash_log *log, uint8_t trace_number,
                                    bool may_be_recycled, char *fault, size_t fault_bytes) {
    static struct crash_tally tally;
    struct crash_trace trace;
    *fault = '\0';
    if (!crash_trace_read(&trace, path)) return false;
    char *why = crash_trace_fault(&trace);
    if (why) {
        snprintf(fault, fault_bytes, "%s", why);
    } else {
        uint64_t complete_from = crash_trace_header(&trace)->complete_from_ticks;
        memset(&tally, 0, sizeof tally);
        crash_tally_add(&tally, log, &trace.profile);
        if (complete_from && !may_be_recycled) snprintf(fault, fault_bytes, "chunks were recycled");
        if (!*fault) crash_tally_compare(&tally, log, trace_number, complete_from, fault, fault_bytes);
    }
    free(why);
    crash_trace_fini(&trace);
    return true;
}

/* Checks the traces `folder/1.trace`, `folder/2.trace`… up to the first number without a file. Returns their count. */
static inline unsigned crash_check_folder(const char *folder, const struct crash_log *log, bool may_be_recycled,
                                          char *fault, size_t fault_bytes) {
    enum { PATH_BYTES = 4096 };
    char path[PATH_BYTES];
    *fault = '\0';
    for (unsigned i = 1; i <= UINT8_MAX; i++) {
        snprintf(path, sizeof path, "%s/%u.trace", folder, i);
        if (!crash_check_file(path, log, (uint8_t)i, may_be_recycled, fault, fault_bytes)) return i - 1;
        if (*fault) return i;
    }
    return UINT8_MAX;
}
