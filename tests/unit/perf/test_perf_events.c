/* Tests events: names and modifiers, units, and which event makes the samples. */
#include "readers/perf/perf_events.h"
#include "tests/support/profile_text.h"
#include "tests/support/unit_test.h"

struct events_test {
    struct failure failure;
    struct perf_events events;
};

static struct events_test fixture;

static int set_up(void **state) {
    fixture = (struct events_test){0};
    perf_events_init(&fixture.events, NULL, &fixture.failure);
    *state = &fixture;
    return 0;
}

static int tear_down(void **state) {
    bool is_good = !failure_is_set(&fixture.failure);
    perf_events_fini(&fixture.events);
    return is_good ? 0 : -1;
}

/* Returns the event of that name, which is added if it is new. */
static struct perf_event *event_of(const char *name) {
    for (uint32_t i = 0; i < fixture.events.rows.count; i++) {
        struct perf_event *event = perf_events_at(&fixture.events, i);
        if (text_equal(event->name, text_of(name))) return event;
    }
    const struct perf_event_description description = {.is_tracepoint = perf_role_is_tracepoint(text_of(name))};
    uint32_t row =
        perf_events_add(&fixture.events, text_of(name), &description, (struct position){.line = 7, .offset = 70});
    assert_int_not_equal(row, ID_NONE);
    return perf_events_at(&fixture.events, row);
}

static uint32_t choose(void) {
    perf_events_treat(&fixture.events);
    return fixture.events.main;
}

static void assert_chosen(const char *name) {
    uint32_t row = choose();
    assert_int_not_equal(row, ID_NONE);
    struct text chosen = perf_events_at(&fixture.events, row)->name;
    if (!text_equal(chosen, text_of(name)))
        fail_msg("%.*s was chosen, not %s", (int)chosen.bytes_count, chosen.bytes, name);
}

TEST(test_modifiers) {
    static const char *const names[][2] = {
        {"cycles", "cycles"},
        {"cycles:P", "cycles"},
        {"cpu-clock:ppp", "cpu-clock"},
        {"cycles:ukhpPGHSDIWebRX", "cycles"},
        {"cycles:q", "cycles:q"}, /* perf has no such modifier */
        {"cycles:", "cycles:"},
        {"sched:sched_switch", "sched:sched_switch"},
        {"sched:sched_switch:u", "sched:sched_switch"},
        {"cpu/event=0x3c,umask=0x0/upp", "cpu/event=0x3c,umask=0x0/upp"},
        {"cpu/event=0x3c,name=a:b/:u", "cpu/event=0x3c,name=a:b/"},
        {"page-faults/call-graph=fp,period=1/", "page-faults"},
        {"cycles/freq=99/u", "cycles"},
        {"[unknown]", "[unknown]"},
        {"", ""},
    };
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) {
        struct text got = perf_event_base_name(text_of(names[i][0]));
        if (!text_equal(got, text_of(names[i][1])))
            fail_msg("%s: \"%.*s\"", names[i][0], (int)got.bytes_count, got.bytes);
    }
}

TEST(test_units_and_tracepoints, set_up, tear_down) {
    static const struct {
        const char *name;
        enum perf_event_unit unit;
        bool is_tracepoint;
    } events[] = {
        {"cpu-clock", PERF_EVENT_CLOCK_NS, false},
        {"cpu-clock:ppp", PERF_EVENT_CLOCK_NS, false},
        {"task-clock:u", PERF_EVENT_CLOCK_NS, false},
        {"cycles", PERF_EVENT_CYCLES, false},
        {"cycles:P", PERF_EVENT_CYCLES, false},
        {"cpu-cycles:u", PERF_EVENT_CYCLES, false},
        {"cpu_core/cycles/:u", PERF_EVENT_CYCLES, false},
        {"cpu_atom/cycles/P", PERF_EVENT_CYCLES, false},
        {"cpu/cycles/", PERF_EVENT_CYCLES, false},
        {"cpu/", PERF_EVENT_OTHER, false},
        {"instructions", PERF_EVENT_OTHER, false},
        {"cycles:q", PERF_EVENT_OTHER, true},
        {"sched:sched_switch", PERF_EVENT_OTHER, true},
        {"probe_libc:malloc:u", PERF_EVENT_OTHER, true},
        {"cpu/event=0x3c,name=a:b/", PERF_EVENT_OTHER, false},
        {"mem:0x401000:rw", PERF_EVENT_OTHER, false},
        {"mem:0x401000/4:x:u", PERF_EVENT_OTHER, false},
        {"[unknown]", PERF_EVENT_OTHER, false},
        {"", PERF_EVENT_OTHER, false},
    };
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) {
        const struct perf_event *event = event_of(events[i].name);
        if (event->unit != events[i].unit) fail_msg("%s: unit %d", events[i].name, (int)event->unit);
        if (event->is_tracepoint != events[i].is_tracepoint)
            fail_msg("%s: is_tracepoint %d", events[i].name, event->is_tracepoint);
    }
}

TEST(test_choice, set_up, tear_down) {
    assert_int_equal(choose(), ID_NONE);
    event_of("page-faults");
    assert_int_equal(choose(), ID_NONE); /* no event has a stack */
    event_of("sched:sched_switch")->sample_count = 1000;
    assert_chosen("sched:sched_switch"); /* no other kind of event has a stack */
    event_of("sched:sched_wakeup")->sample_count = 1001;
    assert_chosen("sched:sched_wakeup");
    event_of("page-faults")->sample_count = 5;
    assert_chosen("page-faults");
    event_of("instructions")->sample_count = 4;
    assert_chosen("instructions"); /* it is counted, not an occurrence */
    event_of("cycles:u")->sample_count = 2;
    assert_chosen("cycles:u");
    event_of("cpu-clock")->sample_count = 2;
    assert_chosen("cpu-clock"); /* the clock wins among equal ones */
    event_of("cycles:k")->sample_count = 1;
    assert_chosen("cycles:u"); /* together they have more samples */
}

static void assert_treatment(const char *name, enum event_treatment treatment) {
    enum event_treatment got = event_of(name)->treatment;
    if (got != treatment) fail_msg("%s: treatment %d", name, (int)got);
}

TEST(test_treatments, set_up, tear_down) {
    static const struct {
        const char *name;
        enum event_treatment treatment;
    } events[] = {
        {"cpu_core/cycles/P", EVENT_SAMPLES},
        {"cpu_atom/cycles/P", EVENT_SAMPLES},
        {"cycles:u", EVENT_SAMPLES},
        {"cpu-cycles", EVENT_SAMPLES},
        {"cpu-clock", EVENT_TRACKS},
        {"cache-misses:u", EVENT_TRACKS},
        {"page-faults:u", EVENT_MARKERS},
        {"faults", EVENT_MARKERS},
        {"cs", EVENT_MARKERS},
        {"bpf-output", EVENT_MARKERS},
        {"mem:0x4010:rw", EVENT_MARKERS},
        {"probe_app:main", EVENT_MARKERS},
        {"sched:sched_switch", EVENT_MARKERS},
    };
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) event_of(events[i].name)->sample_count = 1;
    perf_events_treat(&fixture.events);
    for (size_t i = 0; i < sizeof events / sizeof *events; i++) assert_treatment(events[i].name, events[i].treatment);
}

/* The profile's samples are those of both events. */
static bool overlap(const char *name, const char *other) {
    perf_events_fini(&fixture.events);
    perf_events_init(&fixture.events, NULL, &fixture.failure);
    event_of(name)->sample_count = 1;
    event_of(other)->sample_count = 1;
    perf_events_treat(&fixture.events);
    assert_treatment(name, EVENT_SAMPLES);
    assert_treatment(other, EVENT_SAMPLES);
    return perf_events_overlap(&fixture.events);
}

TEST(test_overlaps, set_up, tear_down) {
    assert_false(overlap("cycles:u", "cycles:k"));
    assert_false(overlap("cpu_core/cycles/P", "cpu_atom/cycles/P"));
    assert_false(overlap("cpu_core/cycles/u", "cpu_core/cycles/k"));
    assert_true(overlap("cycles:u", "cycles"));
    assert_true(overlap("cycles", "cycles:ppp"));
    assert_true(overlap("cpu-clock", "task-clock"));
    assert_true(overlap("cpu/cycles/", "cpu_atom/cycles/k"));
}

TEST(test_ledger, set_up, tear_down) {
    struct profile profile;
    profile_init(&profile, &fixture.failure);
    struct perf_event *cycles = event_of("cycles"), *faults = event_of("page-faults"), *nameless = event_of("");
    cycles->sample_count = 10;
    cycles->period_sum = 1000;
    cycles->first = (struct position){3, 30};
    faults->sample_count = 4;
    nameless->sample_count = 2;
    event_of("never");
    perf_events_treat(&fixture.events);
    perf_events_enter(&fixture.events, &profile);
    const struct ledger *ledger = &profile.ledger;
    assert_int_equal(ledger->entries.count, 4);
    assert_int_equal(ledger->read[LEDGER_SAMPLES], 16);
    assert_int_equal(ledger->read[LEDGER_PERIODS], 1000);
    assert_true(ledger_is_balanced(ledger));
    const struct ledger_entry *kept = find_entry(ledger, LEDGER_SAMPLES, LEDGER_KEPT, "event cycles");
    assert_non_null(kept);
    assert_int_equal(kept->count, 10);
    assert_int_equal(kept->first.line, 3);
    assert_int_equal(count_of(ledger, LEDGER_PERIODS, LEDGER_KEPT, "event cycles"), 1000);
    assert_int_equal(count_of(ledger, LEDGER_SAMPLES, LEDGER_KEPT, "event page-faults"), 4);
    assert_int_equal(count_of(ledger, LEDGER_SAMPLES, LEDGER_KEPT, "event without a name"), 2);
    profile_fini(&profile);
}

/* Readers know them in another order. */
TEST(test_tracepoints_with_as_many_samples, set_up, tear_down) {
    event_of("syscalls:sys_exit_read")->sample_count = 2;
    event_of("syscalls:sys_enter_read")->sample_count = 2;
    event_of("syscalls:sys_exit_write")->sample_count = 2;
    assert_chosen("syscalls:sys_enter_read");
}

TEST(test_a_long_name, set_up, tear_down) {
    struct profile profile;
    profile_init(&profile, &fixture.failure);
    static char name[1000];
    memset(name, 'n', sizeof name - 1);
    event_of(name)->sample_count = 1;
    perf_events_enter(&fixture.events, &profile);
    assert_true(ledger_is_balanced(&profile.ledger));
    assert_int_equal(ledger_at(&profile.ledger, 0)->cause.bytes_count, 255);
    profile_fini(&profile);
}

/* What an event with a name of its own is, its description tells. */
TEST(test_own_names, set_up, tear_down) {
    static const struct {
        const char *described, *name;
        enum perf_event_unit unit;
        bool is_occurrence, has_payloads, is_off_cpu_time;
    } rows[] = {
        {"cpu-clock", "work", PERF_EVENT_CLOCK_NS, false, false, false},
        {"cycles", "work", PERF_EVENT_CYCLES, false, false, false},
        {"page-faults", "work", PERF_EVENT_OTHER, true, false, false},
        {"bpf-output", "work", PERF_EVENT_OTHER, true, true, false},
        {"bpf-output", "offcpu-time", PERF_EVENT_OTHER, false, false, true},
        {"cycles", "cpu-clock:u", PERF_EVENT_CLOCK_NS, false, false, false},
        {"instructions", "work", PERF_EVENT_OTHER, false, false, false},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        const struct perf_event_description description = {.is_name_made_up = true};
        uint32_t row =
            perf_events_add(&fixture.events, text_of(rows[i].described), &description, (struct position){.offset = 70});
        perf_events_set_name(&fixture.events, row, text_of(rows[i].name));
        const struct perf_event *event = perf_events_at(&fixture.events, row);
        assert_true(text_equal(event->name, text_of(rows[i].name)));
        assert_int_equal(event->unit, rows[i].unit);
        assert_int_equal(event->is_occurrence, rows[i].is_occurrence);
        assert_int_equal(event->has_payloads, rows[i].has_payloads);
        assert_int_equal(event->is_off_cpu_time, rows[i].is_off_cpu_time);
    }
}

int main(void) { return unit_tests_run(NULL, NULL); }
