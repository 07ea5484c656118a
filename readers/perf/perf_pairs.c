#include "perf_pairs.h"

#include "libconvert/base/memory.h"

/* ---- Rules. ---- */

static const struct perf_pair_rule rules[] = {
    {TEXT("syscalls:sys_enter_*"), TEXT("syscalls:sys_exit_*"), TEXT("*"), TEXT("syscalls:*"), LANE_THREAD, true, {0}},
    {TEXT("raw_syscalls:sys_enter"), TEXT("raw_syscalls:sys_exit"), TEXT("system call"), TEXT("raw_syscalls:sys"),
     LANE_THREAD, true, TEXT("id")},
    {TEXT("irq:irq_handler_entry"), TEXT("irq:irq_handler_exit"), TEXT("irq"), TEXT("irq:irq_handler"), LANE_THREAD,
     false, TEXT("irq")},
    {TEXT("irq:softirq_entry"), TEXT("irq:softirq_exit"), TEXT("softirq"), TEXT("irq:softirq"), LANE_THREAD, false,
     TEXT("vec")},
    {TEXT("block:block_rq_issue"),
     TEXT("block:block_rq_complete"),
     TEXT("block request"),
     TEXT("block:block_rq"),
     LANE_REQUEST,
     false,
     {0}},
    {TEXT("workqueue:workqueue_execute_start"), TEXT("workqueue:workqueue_execute_end"), TEXT("work"),
     TEXT("workqueue:workqueue_execute"), LANE_THREAD, false, TEXT("work")},
    {TEXT("lock:contention_begin"), TEXT("lock:contention_end"), TEXT("lock"), TEXT("lock:contention"),
     LANE_THREAD_NESTED, false, TEXT("lock_addr")},
    /* A function that perf probe, or bpftrace, traces at its start and at its return. */
    {TEXT("*"), TEXT("*__return"), TEXT("*"), TEXT("* and its return"), LANE_THREAD_NESTED, false, {0}},
};

/* Matches the name with the pattern, and sets *part to what the "*" stands for. */
static bool match(struct text pattern, struct text name, struct text *part) {
    size_t star = text_find(pattern, '*');
    struct text after = text_from(pattern, star + 1);
    *part = (struct text){0};
    if (star == pattern.bytes_count) return text_equal(pattern, name);
    if (!text_starts_with(name, text_slice(pattern, 0, star)) || name.bytes_count < star + after.bytes_count ||
        !text_ends_with(name, after))
        return false;
    *part = text_slice(name, star, name.bytes_count - after.bytes_count);
    return part->bytes_count > 0;
}

static string_id fill(struct strings *strings, struct text pattern, struct text part) {
    size_t star = text_find(pattern, '*');
    struct text after = text_from(pattern, star + 1);
    if (star == pattern.bytes_count) return strings_intern(strings, pattern);
    return strings_intern_format(strings, "%.*s%.*s%.*s", (int)star, pattern.bytes, TEXT_ARGS(part), TEXT_ARGS(after));
}

struct text perf_pair_fill(const struct perf_pair_rule *rule, struct text pattern, struct text start,
                           struct profile *profile) {
    struct text part;
    match(rule->start, start, &part);
    string_id text = fill(&profile->texts, pattern, part);
    return string_is_none(text) ? (struct text){0} : strings_text(&profile->texts, text);
}

/* ---- Roles of events. ---- */

/* The tracepoints of a recording by their names. */
struct event_names {
    struct strings names;
    struct column events; /* uint32_t: the event, one for each name */
};

static void list_tracepoints(const struct perf_events *events, struct event_names *names) {
    for (uint32_t i = 0; i < events->rows.count; i++) {
        const struct perf_event *event = perf_events_at(events, i);
        if (!event->is_tracepoint || event->treatment == EVENT_DROPPED) continue;
        string_id name = strings_intern(&names->names, perf_event_base_name(event->name));
        uint32_t *added = name.index == names->events.count ? column_push(&names->events) : NULL;
        if (added) *added = i;
    }
}

static uint32_t find_event(struct event_names *names, struct text pattern, struct text part) {
    string_id name = fill(&names->names, pattern, part);
    return name.index < names->events.count ? *(const uint32_t *)column_at(&names->events, name.index) : ID_NONE;
}

/* Returns whether the event ends what the recording has a start of. */
static bool find_role(struct perf_pairs *pairs, struct event_names *names, uint32_t event) {
    const struct perf_event *end = perf_events_at(&pairs->payloads->recording->events, event);
    struct text part;
    if (!end->is_tracepoint || end->treatment == EVENT_DROPPED) return false;
    for (size_t i = 0; i < sizeof rules / sizeof *rules; i++) {
        uint32_t start = match(rules[i].end, perf_event_base_name(end->name), &part)
                             ? find_event(names, rules[i].start, part)
                             : ID_NONE;
        if (start == ID_NONE) continue;
        pairs->roles[event] = (struct perf_pair_role){.rule = &rules[i], .start = start};
        pairs->roles[start] = (struct perf_pair_role){.rule = &rules[i], .start = ID_NONE, .has_end = true};
        return true;
    }
    return false;
}

static bool find_roles(struct perf_pairs *pairs) {
    const struct perf_events *events = &pairs->payloads->recording->events;
    struct event_names names;
    bool is_any = false;
    strings_init(&names.names, events->rows.failure);
    column_init(&names.events, sizeof(uint32_t), events->rows.failure);
    list_tracepoints(events, &names);
    for (uint32_t i = 0; i < events->rows.count; i++) is_any |= find_role(pairs, &names, i);
    strings_fini(&names.names);
    column_fini(&names.events);
    return is_any;
}

/* ---- Lanes. ---- */

/* Things of one lane end in the reverse order of their starts. */
struct lane_key {
    uint64_t sector;
    uint32_t place; /* the thread or the device */
    uint32_t kind;  /* a row of the rules, or an event if they nest */
    int32_t processor;
    uint32_t reserved; /* always 0: the key is hashed as bytes */
};

/* A device and a sector name a request while it is under way. */
static bool find_request(struct perf_pairs *pairs, uint32_t order, struct lane_key *key) {
    union marker_value device;
    int64_t sector;
    enum marker_format format = perf_payloads_find(pairs->payloads, order, TEXT("dev"), &device);
    if (format == MARKER_FORMAT_COUNT || marker_format_kind(format) != VALUE_STRING) return false;
    if (!perf_payloads_number(pairs->payloads, order, TEXT("sector"), &sector)) return false;
    key->sector = (uint64_t)sector;
    key->place = device.string.index;
    return true;
}

/* The idle thread runs on all processors at once. */
static bool find_thread(struct perf_pairs *pairs, uint32_t order, struct lane_key *key) {
    const struct perf_series *series = perf_payloads_series(pairs->payloads, order);
    bool is_idle = profile_thread_at(pairs->payloads->recording->profile, series->thread)->tid == 0;
    int64_t processor = samples_processor(&series->samples, pairs->payloads->places[order].row);
    key->place = series->thread.index;
    key->processor = is_idle ? (int32_t)processor : -1;
    return !is_idle || processor >= 0;
}

/* Returns where the order of the lane's last start is (ID_NONE: it has none); NULL if the payload does not tell the
 * lane, or memory ran out (latched). lanes: those orders, uint32_t by struct lane_key. */
static uint32_t *find_lane(struct perf_pairs *pairs, struct value_table *lanes, uint32_t order) {
    const struct perf_series *series = perf_payloads_series(pairs->payloads, order);
    const struct perf_pair_role *role = &pairs->roles[series->event];
    struct lane_key key = {.kind = (uint32_t)(role->rule - rules)};
    if (role->rule->lane == LANE_THREAD_NESTED)
        key.kind = (uint32_t)(sizeof rules / sizeof *rules) + (role->has_end ? series->event : role->start);
    bool is_found =
        role->rule->lane == LANE_REQUEST ? find_request(pairs, order, &key) : find_thread(pairs, order, &key);
    return is_found ? value_table_intern(lanes, &key, &(uint32_t){ID_NONE}) : NULL;
}

/* Removes the last start of the lane. While a start is in a lane, it has the order of the start before it. */
static uint32_t pop(struct perf_pairs *pairs, uint32_t *top) {
    uint32_t start = *top;
    struct perf_payload *payload = perf_payloads_at(pairs->payloads, start);
    *top = payload->order;
    payload->order = start;
    return start;
}

static void begin(struct perf_pairs *pairs, uint32_t *top, uint32_t order, bool is_nested) {
    if (*top != ID_NONE && !is_nested) pop(pairs, top);
    perf_payloads_at(pairs->payloads, order)->order = *top;
    *top = order;
}

static bool have_same_key(struct perf_pairs *pairs, uint32_t start, uint32_t end, struct text key) {
    int64_t left, right;
    if (!key.bytes_count || !perf_payloads_number(pairs->payloads, start, key, &left)) return true;
    return !perf_payloads_number(pairs->payloads, end, key, &right) || left == right;
}

/* If the last start is of something else, or of a later time, records are missing between the two. */
static void end(struct perf_pairs *pairs, uint32_t *top, uint32_t order, const struct perf_pair_role *role) {
    if (*top == ID_NONE) return;
    uint32_t start = pop(pairs, top);
    if (perf_payloads_series(pairs->payloads, start)->event != role->start) return;
    if (perf_payloads_sample(pairs->payloads, order)->time_ns < perf_payloads_sample(pairs->payloads, start)->time_ns)
        return;
    if (!have_same_key(pairs, start, order, role->rule->key)) return;
    struct perf_payload_place *places = pairs->payloads->places, place = places[start];
    places[start] = places[order];
    places[order] = place;
}

static void match_all(struct perf_pairs *pairs) {
    const struct perf_payloads *payloads = pairs->payloads;
    struct failure *failure = payloads->recording->profile->failure;
    struct value_table lanes;
    value_table_init(&lanes, sizeof(struct lane_key), sizeof(uint32_t), failure);
    for (uint32_t order = 0; order < payloads->recording->tasks.payload_count && !failure_is_set(failure); order++) {
        const struct perf_series *series = perf_payloads_series(payloads, order);
        const struct perf_pair_role *role = series ? &pairs->roles[series->event] : NULL;
        uint32_t *top = role && role->rule ? find_lane(pairs, &lanes, order) : NULL;
        if (top && role->has_end)
            begin(pairs, top, order, role->rule->lane == LANE_THREAD_NESTED);
        else if (top)
            end(pairs, top, order, role);
    }
    for (uint32_t i = 0; i < value_table_count(&lanes); i++)
        for (uint32_t *top = value_table_at(&lanes, i); *top != ID_NONE;) pop(pairs, top);
    value_table_fini(&lanes);
}

/* ---- All. ---- */

void perf_pairs_init(struct perf_pairs *pairs, struct perf_payloads *payloads) {
    struct failure *failure = payloads->recording->profile->failure;
    size_t event_count = payloads->recording->events.rows.count;
    *pairs = (struct perf_pairs){.payloads = payloads};
    pairs->roles = memory_allocate_zeroed(failure, event_count + 1, sizeof *pairs->roles);
    if (!pairs->roles || !payloads->places) return;
    if (find_roles(pairs)) match_all(pairs);
}

void perf_pairs_fini(struct perf_pairs *pairs) { memory_free(pairs->roles); }
