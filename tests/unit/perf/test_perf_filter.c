/* Tests filters through the readers of perf script text and perf.data: what is kept, what the ledger says of the rest,
 * and what filters cannot be applied to. */
#include <stdio.h>
#include <stdlib.h>

#include "readers/filter.h"
#include "readers/reader.h"
#include "tests/support/assert_text.h"
#include "tests/support/marker_text.h"
#include "tests/support/perf_data_builder.h"
#include "tests/support/profile_text.h"
#include "tests/support/reading.h"
#include "tests/support/unit_test.h"

enum { FILTERS_MAX = 4 };

static enum gecko_convert_off_cpu off_cpu = GECKO_CONVERT_OFF_CPU_NO;

/* Reads the trace with filters; the first one without a value ends their list. */
static void read_trace(const struct reader *reader, struct text trace, const struct gecko_convert_filter *filters) {
    struct filter filter;
    size_t count = 0;
    while (count < FILTERS_MAX && filters[count].value) count++;
    begin_reading();
    filter_init(&filter, filters, count, &reading.failure);
    struct input *input = input_from_memory(trace, 0, &reading.failure);
    assert_non_null(input);
    reader->run(input, &reading.profile,
                &(struct reader_options){
                    .filter = &filter, .off_cpu = off_cpu, .keeps_processors = true, .ignores_code_files = true});
    profile_finish(&reading.profile);
    input_close(input);
    filter_fini(&filter);
    if (!failure_is_set(&reading.failure)) assert_true(ledger_is_balanced(&reading.profile.ledger));
}

/* Appends the entries that say what filters did. */
static void add_filtered(struct profile_text *out, const struct ledger *ledger) {
    for (size_t i = 0; i < ledger->entries.count; i++) {
        const struct ledger_entry *entry = ledger_at(ledger, i);
        char line[128];
        bool is_unused = text_starts_with(entry->cause, TEXT(FILTER_UNUSED_CAUSE));
        if (entry->fate != LEDGER_FILTERED && !text_starts_with(entry->cause, TEXT("marker left")) && !is_unused)
            continue;
        snprintf(line, sizeof line, "%s %s %llu %.*s\n", gecko_convert_unit_name(entry->unit),
                 gecko_convert_fate_name(entry->fate), (unsigned long long)entry->count, (int)entry->cause.bytes_count,
                 entry->cause.bytes);
        profile_text_add(out, text_of(line));
    }
}

static void assert_kept(const struct reader *reader, struct text trace, const struct gecko_convert_filter *filters,
                        const char *expected) {
    read_trace(reader, trace, filters);
    if (failure_is_set(&reading.failure)) fail_msg("%s", reading.failure.message);
    struct profile_text *got = profile_samples_text(&reading.profile);
    add_filtered(got, &reading.profile.ledger);
    assert_printed(got, expected);
}

static void assert_refused(const struct reader *reader, struct text trace, const struct gecko_convert_filter *filters,
                           const char *message) {
    read_trace(reader, trace, filters);
    assert_int_equal(reading.failure.code, FAILURE_USAGE);
    assert_string_equal(reading.failure.message, message);
}

/* ---- Text. ---- */

static const char text[] =
    "app 5/5 [000] 10.000000: 100 cpu-clock: \n\t10 a (/x)\n\n"
    "app 5/6 [001] 10.500000: 100 cpu-clock: \n\t10 b (/x)\n\n"
    "worker 5/6 [000] 11.000000: 100 cpu-clock: \n\t10 c (/x)\n\n"
    "web 7/7 [003] 12.000000: 100 cpu-clock: \n\t10 d (/x)\n\n";

TEST(test_kinds) {
    static const struct {
        struct gecko_convert_filter filters[FILTERS_MAX];
        const char *expected;
    } rows[] = {
        {{{GECKO_CONVERT_FILTER_PID, "7"}},
         "7/7 web 0 100 d\nsamples filtered 3 left out by --pid\nperiods filtered 300 left out by --pid\n"
         "values noted 1 marker left out by --pid\n"},
        {{{GECKO_CONVERT_FILTER_PID, "7"}, {GECKO_CONVERT_FILTER_PID, "1-5,9"}},
         "5/5 app 0 100 a\n5/6 worker 500000000 100 b\n5/6 worker 1000000000 100 c\n7/7 web 2000000000 100 d\n"},
        {{{GECKO_CONVERT_FILTER_TID, "6"}},
         "5/6 worker 0 100 b\n5/6 worker 500000000 100 c\nsamples filtered 2 left out by --tid\n"
         "periods filtered 200 left out by --tid\n"},
        {{{GECKO_CONVERT_FILTER_CPU, "1,3-4"}},
         "5/6 worker 0 100 b\n7/7 web 1500000000 100 d\nsamples filtered 2 left out by --cpu\n"
         "periods filtered 200 left out by --cpu\nvalues noted 1 marker left out by --cpu\n"},
        /* The name is that of the time: a thread that is renamed later is kept until then. */
        {{{GECKO_CONVERT_FILTER_COMM, "a?p"}},
         "5/5 app 0 100 a\n5/6 worker 500000000 100 b\nsamples filtered 2 left out by --comm\n"
         "periods filtered 200 left out by --comm\n"},
        {{{GECKO_CONVERT_FILTER_COMM, "w*"}, {GECKO_CONVERT_FILTER_EXCLUDE_COMM, "*b"}},
         "5/6 worker 0 100 c\nsamples filtered 2 left out by --comm\nsamples filtered 1 left out by --exclude-comm\n"
         "periods filtered 200 left out by --comm\nperiods filtered 100 left out by --exclude-comm\n"
         "values noted 1 marker left out by --comm\n"},
        {{{GECKO_CONVERT_FILTER_COMM, "*p*k*r"}, {GECKO_CONVERT_FILTER_COMM, "wo*k*r"}},
         "5/6 worker 0 100 c\nsamples filtered 3 left out by --comm\nperiods filtered 300 left out by --comm\n"
         "values noted 1 marker left out by --comm\n"},
        {{{GECKO_CONVERT_FILTER_TIME, "0.5-1"}},
         "5/6 worker 0 100 b\n5/6 worker 500000000 100 c\nsamples filtered 2 left out by --time\n"
         "periods filtered 200 left out by --time\n"},
        {{{GECKO_CONVERT_FILTER_TIME, "-0.499999999"}, {GECKO_CONVERT_FILTER_TIME, "1.000000001-"}},
         "5/5 app 0 100 a\n7/7 web 2000000000 100 d\nsamples filtered 2 left out by --time\n"
         "periods filtered 200 left out by --time\nvalues noted 1 marker left out by --time\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_kept(&reader_perf_script, text_of(text), rows[i].filters, rows[i].expected);
}

/* Of a wait that reaches into the range, what is within is kept. */
TEST(test_markers) {
    static const char trace[] =
        "app 5/5 [000] 10.000000: 100 cpu-clock: \n\t10 a (/x)\n\n"
        "app 5/5 [000] 10.100000: PERF_RECORD_SWITCH OUT        \n"
        "app 5/5 [000] 10.200000: PERF_RECORD_SWITCH IN         \n"
        "app 5/5 [000] 10.300000: PERF_RECORD_SWITCH OUT        \n"
        "app 5/5 [000] 10.600000: PERF_RECORD_SWITCH IN         \n"
        "app 5/5 [000] 10.700000: 100 cpu-clock: \n\t10 b (/x)\n\n";
    const struct gecko_convert_filter filters[FILTERS_MAX] = {{GECKO_CONVERT_FILTER_TIME, "0.5-"}};
    read_trace(&reader_perf_script, text_of(trace), filters);
    assert_int_equal(reading.failure.code, FAILURE_NONE);
    struct profile_text *got = profile_samples_text(&reading.profile),
                        *markers = profile_markers_text(&reading.profile);
    add_filtered(got, &reading.profile.ledger);
    assert_string_equal(got->bytes,
                        "5/5 app 200000000 100 b\nsamples filtered 1 left out by --time\n"
                        "periods filtered 100 left out by --time\nvalues noted 1 marker left out by --time\n");
    assert_string_equal(markers->bytes, "5/5 interval 0..100000000 Kernel Off CPU Off CPU{reason='waiting'}\n");
    free(got);
    free(markers);
}

/* Of what a thread did, the part in the given times counts, whatever was between them. */
TEST(test_waits_over_several_times) {
    static const char trace[] =
        "app 5/5 [000] 10.000000: 1000000 cpu-clock: \n\t10 a (/x)\n\n"
        "app 5/5 [000] 10.001000: PERF_RECORD_SWITCH OUT        \n"
        "app 5/5 [000] 10.007000: PERF_RECORD_SWITCH IN         \n"
        "app 5/5 [000] 10.007000: 1000000 cpu-clock: \n\t10 b (/x)\n\n"
        "app 5/5 [000] 10.007200: PERF_RECORD_SWITCH OUT        \n"
        "app 5/5 [000] 10.008000: PERF_RECORD_SWITCH IN         \n"
        "app 5/5 [000] 10.010000: 1000000 cpu-clock: \n\t10 c (/x)\n\n";
    const struct gecko_convert_filter filters[FILTERS_MAX] = {{GECKO_CONVERT_FILTER_TIME, "-0.002"},
                                                              {GECKO_CONVERT_FILTER_TIME, "0.004-0.005"},
                                                              {GECKO_CONVERT_FILTER_TIME, "0.0045-0.005"},
                                                              {GECKO_CONVERT_FILTER_TIME, "0.009-"}};
    off_cpu = GECKO_CONVERT_OFF_CPU_AUTO;
    assert_kept(&reader_perf_script, text_of(trace), filters,
                "5/5 app 0 500000 a\n5/5 app 1000000 500000 a\n"
                "5/5 app 1000000 1000000 (waits)\n5/5 app 5000000 1000000 (waits)\n"
                "5/5 app 10000000 1000000 c\nsamples filtered 1 left out by --time\n"
                "periods filtered 1000000 left out by --time\nvalues noted 1 marker left out by --time\n");
    off_cpu = GECKO_CONVERT_OFF_CPU_NO;
}

/* Of an event that is left out, samples without a stack are left out too, and no marker is made. */
TEST(test_events) {
    static const char trace[] =
        "app 5/5 10.000000: 100 cycles:u: \n\t10 a (/x)\n\n"
        "app 5/5 10.100000: 100 cycles:u: \n\t10 b (/x)\n\n"
        "app 5/5 10.200000: 7 cpu/event=0x3c,umask=0x1/pp: \n\t10 c (/x)\n\n"
        "app 5/5 10.300000: 7 cpu/event=0x3c,umask=0x1/pp: \n"
        "app 5/5 10.400000: 1 page-faults: \n\t10 d (/x)\n\n"
        "app 5/5 10.500000: 1 page-faults: \n"
        "app 5/5 10.600000: probe:x: (10) y=1\n\n";
    static const struct {
        struct gecko_convert_filter filters[FILTERS_MAX];
        const char *expected;
        const char *markers;
    } rows[] = {
        {{{GECKO_CONVERT_FILTER_EVENT, "page*=drop,probe:*=drop,cpu*=drop"}},
         "5/5 app 0 100 a\n5/5 app 100000000 100 b\n"
         "samples filtered 2 event cpu/event=0x3c,umask=0x1/pp\n"
         "periods filtered 14 event cpu/event=0x3c,umask=0x1/pp\n"
         "samples filtered 2 event page-faults\nperiods filtered 2 event page-faults\n"
         "records filtered 1 event probe:x without a stack\n",
         ""},
        /* The last one counts. Names of events can have what separates filters. */
        {{{GECKO_CONVERT_FILTER_EVENT, "*=drop,cycles=samples"},
          {GECKO_CONVERT_FILTER_EVENT, "cpu/event=0x3c,umask=0x1/pp=markers,none=drop"}},
         "5/5 app 0 100 a\n5/5 app 100000000 100 b\n"
         "samples filtered 2 event page-faults\nperiods filtered 2 event page-faults\n"
         "records filtered 1 event probe:x without a stack\n"
         "values noted 1 --event: none matches no event; the recording has: cycles:u, cpu/event=0x3c,umask=0x1/pp, "
         "page-faults, "
         "probe:x\n",
         "5/5 instant 200000000 User cpu/event=0x3c,umask=0x1/pp cpu/event=0x3c,umask=0x1/pp{count=7} <c>\n"
         "5/5 instant 300000000 Kernel cpu/event=0x3c,umask=0x1/pp cpu/event=0x3c,umask=0x1/pp{count=7}\n"},
        /* Another event makes the samples: the one that was named, or else the next best one. */
        {{{GECKO_CONVERT_FILTER_EVENT, "page-fau?ts=samples,cpu*=drop,*probe*=drop,cycles:u=drop"}},
         "5/5 app 0 1 d\n"
         "samples filtered 2 event cycles:u\nperiods filtered 200 event cycles:u\n"
         "samples filtered 2 event cpu/event=0x3c,umask=0x1/pp\n"
         "periods filtered 14 event cpu/event=0x3c,umask=0x1/pp\n"
         "records filtered 1 event probe:x without a stack\n",
         "5/5 instant 100000000 Kernel page-faults page-faults{count=1}\n"},
        {{{GECKO_CONVERT_FILTER_EVENT, "cycles=drop"}, {GECKO_CONVERT_FILTER_EVENT, "p*=drop"}},
         "5/5 app 0 7 c\n"
         "samples filtered 2 event cycles:u\nperiods filtered 200 event cycles:u\n"
         "samples filtered 2 event page-faults\nperiods filtered 2 event page-faults\n"
         "records filtered 1 event probe:x without a stack\n",
         ""},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++) {
        assert_kept(&reader_perf_script, text_of(trace), rows[i].filters, rows[i].expected);
        read_trace(&reader_perf_script, text_of(trace), rows[i].filters);
        assert_printed(profile_markers_text(&reading.profile), rows[i].markers);
    }
}

/* A counter has the periods of all samples of a process, with and without stacks. */
TEST(test_counter) {
    static const char trace[] =
        "app 5/5 10.000000: 100 cycles: \n\t10 a (/x)\n\n"
        "app 5/5 10.001000: 100 cycles: \n\t10 a (/x)\n\n"
        "app 5/5 10.001100: 30 cache-misses: \n\t10 b (/x)\n\n"
        "app 5/6 10.001200: 12 cache-misses: \n"
        "app 5/5 10.002000: 100 cycles: \n\t10 a (/x)\n\n"
        "web 7/7 10.002500: 9223372036854775807 cache-misses: \n"
        "web 7/7 10.002500: 18446744073709551615 cache-misses: \n";
    const struct gecko_convert_filter filters[FILTERS_MAX] = {{GECKO_CONVERT_FILTER_EVENT, "cache-misses=counter"}};
    static const int64_t expected[] = {42, INT64_MAX};
    read_trace(&reader_perf_script, text_of(trace), filters);
    assert_int_equal(reading.failure.code, FAILURE_NONE);
    assert_int_equal(ledger_sum(&reading.profile.ledger, LEDGER_SAMPLES, LEDGER_KEPT), 7);
    assert_false(ledger_has_losses(&reading.profile.ledger));
    assert_int_equal(reading.profile.counters.count, 2);
    for (size_t i = 0; i < reading.profile.counters.count; i++) {
        const struct counter *counter = column_at(&reading.profile.counters, i);
        int64_t sum = 0;
        for (size_t j = 0; j < counter->samples.count; j++)
            sum += ((const struct counter_sample *)column_at(&counter->samples, j))->change;
        assert_true(text_equal(counter->name, TEXT("cache-misses")));
        assert_true(sum == expected[i]);
    }
}

/* Samples with a payload or an address are no markers if their event is a counter. */
TEST(test_counter_of_payloads) {
    static const char trace[] =
        "app 5/5 10.000000: 100 cycles: \n\t10 a (/x)\n\n"
        "app 5/5 10.001000: 1 block:block_touch_buffer: 254,0 sector=7\n\t10 b (/x)\n\n"
        "app 5/5 10.001100: 1 page-faults: 7f0000001000\n\t10 b (/x)\n\n";
    const struct gecko_convert_filter filters[FILTERS_MAX] = {
        {GECKO_CONVERT_FILTER_EVENT, "block:*=counter,page-faults=counter"}};
    read_trace(&reader_perf_script, text_of(trace), filters);
    assert_int_equal(reading.failure.code, FAILURE_NONE);
    assert_false(ledger_has_losses(&reading.profile.ledger));
    assert_int_equal(reading.profile.counters.count, 2);
    COLUMN_EACH(const struct thread, thread, &reading.profile.threads) assert_int_equal(thread->markers.count, 0);
}

/* No guess decides what is kept. */
TEST(test_what_text_does_not_tell) {
    static const char no_pid[] = "app 5 10.000000: 100 cpu-clock: \n\t10 a (/x)\n\n";
    static const char no_time[] = "app 5/5 [000] cpu-clock: \n\t10 a (/x)\n\n";
    const struct gecko_convert_filter pid[FILTERS_MAX] = {{GECKO_CONVERT_FILTER_PID, "5"}};
    const struct gecko_convert_filter cpu[FILTERS_MAX] = {{GECKO_CONVERT_FILTER_CPU, "0"}};
    const struct gecko_convert_filter time[FILTERS_MAX] = {{GECKO_CONVERT_FILTER_TIME, "1-"}};
    const struct gecko_convert_filter percent[FILTERS_MAX] = {{GECKO_CONVERT_FILTER_TIME, "1%-"}};
    assert_refused(&reader_perf_script, text_of(no_pid), pid,
                   "--pid cannot be applied: this sample has no pid; print it with perf script -F +pid");
    assert_refused(&reader_perf_script, text_of(no_pid), cpu,
                   "--cpu cannot be applied: this sample has no processor; record with perf record -a or "
                   "--sample-cpu, and print it with perf script -F +cpu");
    assert_refused(&reader_perf_script, text_of(no_time), time,
                   "--time cannot be applied: this sample has no time; print it with perf script -F +time");
    assert_refused(&reader_perf_script, text_of(text), percent,
                   "--time: percent needs the time of the last sample, which only an uncompressed perf.data file "
                   "has at its start, and this input does not: give seconds");
}

/* ---- perf.data. ---- */

static struct perf_data_builder builder;

static void add_sample(uint32_t pid, uint64_t time_ns, uint64_t address) {
    const uint64_t chain[] = {(uint64_t)-512, address};
    builder_sample(&builder, pid, pid, time_ns, chain, 2);
}

/* Returns a recording whose header tells when the first and the last sample were taken. */
static struct text recording(uint64_t first_ns, uint64_t last_ns) {
    enum { SAMPLE_TIMES = 21 };
    builder_begin(&builder);
    builder_comm(&builder, 5, 5, "app", 0);
    builder_comm(&builder, 7, 7, "web", 0);
    builder_mmap(&builder, 5, 0x400000, 0x10000, 0x1000, "/opt/app", 0);
    builder_mmap(&builder, 7, 0x400000, 0x10000, 0x1000, "/opt/web", 0);
    for (uint64_t i = 0; i <= 10; i++) add_sample(i % 2 ? 5 : 7, 1000 + i * 100, 0x400010 + i);
    struct text records = builder_finish(&builder);
    builder_set_u64(&builder, 72, 1 << SAMPLE_TIMES);
    builder_u64(&builder, records.bytes_count + 16);
    builder_u64(&builder, 16);
    builder_u64(&builder, first_ns);
    builder_u64(&builder, last_ns);
    return (struct text){builder.bytes, builder.bytes_count};
}

TEST(test_recording) {
    static const struct {
        struct gecko_convert_filter filters[FILTERS_MAX];
        const char *expected;
    } rows[] = {
        /* The profile begins at 35 %, 50 ns before the first sample that is kept. */
        {{{GECKO_CONVERT_FILTER_TIME, "35%-50%"}},
         "5/5 app 150 1000000 0x1015\n7/7 web 50 1000000 0x1014\n"
         "samples filtered 9 left out by --time\nperiods filtered 9000000 left out by --time\n"},
        {{{GECKO_CONVERT_FILTER_TIME, "-10%"},
          {GECKO_CONVERT_FILTER_TIME, "0.0000009-"},
          {GECKO_CONVERT_FILTER_PID, "7"}},
         "7/7 web 0 1000000 0x1010\n7/7 web 1000 1000000 0x101a\n"
         "samples filtered 7 left out by --time\nsamples filtered 2 left out by --pid\n"
         "periods filtered 7000000 left out by --time\nperiods filtered 2000000 left out by --pid\n"},
    };
    for (size_t i = 0; i < sizeof rows / sizeof *rows; i++)
        assert_kept(&reader_perf_data, recording(1000, 2000), rows[i].filters, rows[i].expected);
}

/* A range that is damaged is no range. */
TEST(test_recording_without_range) {
    const struct gecko_convert_filter percent[FILTERS_MAX] = {{GECKO_CONVERT_FILTER_TIME, "1%-"}};
    const uint64_t ranges[][2] = {{0, 0}, {2000, 1000}, {1, UINT64_MAX}};
    for (size_t i = 0; i < sizeof ranges / sizeof *ranges; i++)
        assert_refused(&reader_perf_data, recording(ranges[i][0], ranges[i][1]), percent,
                       "--time: percent needs the time of the last sample, which only an uncompressed perf.data file "
                       "has at its start, and this input does not: give seconds");
}

/* Markers that overlap, that one has in another one, and that are apart; instants and other names do not count. */
TEST(test_times_of_markers) {
    static const struct {
        const char *name;
        int64_t start_ns, end_ns;
        enum marker_phase phase;
    } markers[] = {{"frame", 50, 60, MARKER_INTERVAL}, {"frame", 10, 30, MARKER_INTERVAL},
                   {"frame", 20, 35, MARKER_INTERVAL}, {"frame", 12, 15, MARKER_INTERVAL},
                   {"frame", 80, 80, MARKER_INSTANT},  {"other", 90, 99, MARKER_INTERVAL}};
    static const int64_t kept_ns[] = {10, 16, 35, 50, 60}, dropped_ns[] = {9, 36, 49, 61, 80, 90, 99, INT64_MAX};
    struct failure failure = {0};
    struct profile profile;
    struct filter filter;
    profile_init(&profile, &failure);
    filter_init(&filter, &(struct gecko_convert_filter){GECKO_CONVERT_FILTER_TIME, "@fr*"}, 1, &failure);
    thread_id id = profile_add_thread(&profile, profile_add_process(&profile, 1, 0), 1, 0);
    for (size_t i = 0; i < sizeof markers / sizeof *markers; i++) {
        struct marker marker = {.start_ns = markers[i].start_ns,
                                .end_ns = markers[i].end_ns,
                                .name = profile_string(&profile, text_of(markers[i].name)),
                                .stack = stack_none(),
                                .schema = MARKER_SCHEMA_NONE,
                                .phase = markers[i].phase};
        profile_add_marker(&profile, profile_thread_at(&profile, id), marker, NULL);
    }
    assert_true(filter_awaits_markers(&filter));
    filter_find_ranges(&filter, &profile);
    assert_false(failure_is_set(&failure));
    assert_false(filter_awaits_markers(&filter));
    filter_start(&filter, 7, &failure);
    for (size_t i = 0; i < sizeof kept_ns / sizeof *kept_ns; i++)
        assert_int_equal(filter_judge(&filter, &(struct filter_subject){.start_ns = kept_ns[i], .end_ns = kept_ns[i]}),
                         FILTER_NONE);
    for (size_t i = 0; i < sizeof dropped_ns / sizeof *dropped_ns; i++)
        assert_int_equal(
            filter_judge(&filter, &(struct filter_subject){.start_ns = dropped_ns[i], .end_ns = dropped_ns[i]}),
            GECKO_CONVERT_FILTER_TIME);
    int64_t start_ns = 0, end_ns = 20;
    filter_cut(&filter, &start_ns, &end_ns);
    assert_true(start_ns == 10 && end_ns == 20);
    start_ns = 33, end_ns = 70;
    filter_cut(&filter, &start_ns, &end_ns);
    assert_true(start_ns == 33 && end_ns == 60);
    assert_int_equal(filter_length_ns(&filter, 33, 60), 12);
    assert_int_equal(filter_length_ns(&filter, 0, 99), 35);
    assert_int_equal(filter_length_ns(&filter, 36, 49), 0);
    filter_fini(&filter);
    profile_fini(&profile);
}

/* Adds a process with a counter and two threads. Returns the first one. */
static struct thread *add_process_with_counter(struct profile *profile, int64_t pid) {
    process_id process = profile_add_process(profile, pid, 0);
    thread_id first = profile_add_thread(profile, process, pid, 0);
    thread_id second = profile_add_thread(profile, process, pid + 1, 0);
    const struct counter memory = {.process = process, .name = TEXT("memory"), .graph = COUNTER_ACCUMULATED};
    struct counter_sample *sample = column_push(&profile_add_counter(profile, &memory)->samples);
    *sample = (struct counter_sample){.time_ns = 5, .change = 1};
    profile_thread_at(profile, first)->name = TEXT("app");
    profile_thread_at(profile, second)->name = TEXT("sampler");
    return profile_thread_at(profile, first);
}

/* Appends the processors of the samples of thread 8, which is never sampled, between those times. */
static void add_processors(char *got, const char *times) {
    static const char trace[] =
        "late 9/9 [000] 1.000: 1000000 cpu-clock: \n\t10 f (app)\n\n"
        "app 7/7 [000] 1.001: PERF_RECORD_FORK(7:8):(7:7)\n"
        "app 7/8 [003] 1.002: PERF_RECORD_SWITCH OUT\n"
        "app 7/8 [005] 1.003: PERF_RECORD_SWITCH IN\n"
        "app 7/8 [005] 1.006: PERF_RECORD_SWITCH OUT\n"
        "app 7/8 [006] 1.007: PERF_RECORD_SWITCH IN\n"
        "app 7/8 [006] 1.008: PERF_RECORD_SWITCH OUT\n"
        "app 7/8 [007] 1.009: PERF_RECORD_SWITCH IN\n"
        "late 9/9 [000] 1.020: 1000000 cpu-clock: \n\t10 f (app)\n\n";
    read_trace(&reader_perf_script, text_of(trace),
               (const struct gecko_convert_filter[]){{GECKO_CONVERT_FILTER_TIME, times}, {0}});
    for (size_t i = 0; i < reading.profile.thread_order.count; i++) {
        const struct thread *thread = profile_ordered_thread(&reading.profile, i);
        for (uint32_t row = 0; thread->tid == 8 && row < samples_count(&thread->samples); row++) {
            int64_t processor = samples_processor(&thread->samples, row);
            sprintf(got + strlen(got), "%d ", processor < 0 ? -1 : (int)processor);
        }
    }
}

/* A part of the recording has the processors on which threads ran then, not before or later. */
TEST(test_processors_of_times) {
    static const struct {
        const char *times, *processors;
    } cases[] = {
        {"0-0.005", "3 -1 -1 5 "},
        {"0.0035-0.005", "5 "},
        {"0.0065-0.0075", "-1 6 "},
        {"0.010-0.015", "-1 "},
    };
    off_cpu = GECKO_CONVERT_OFF_CPU_AUTO;
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        char got[128] = "";
        add_processors(got, cases[i].times);
        assert_string_equal(got, cases[i].processors);
    }
    off_cpu = GECKO_CONVERT_OFF_CPU_NO;
}

enum { SHORT_THREADS = 3000, FIRST_SHORT_TID = 1000, LINES_BYTES = 512 };

/* Process 10 with two threads that are kept: one is there all the time, and one ends in the middle. The last thread of
 * process 7 is left out. Many threads that are left out live one after the other, and wait. The tid of the first of
 * them is that of a process later. */
static struct text make_short_threads(char *trace, size_t trace_bytes) {
    size_t used = (size_t)snprintf(trace, trace_bytes,
                                   "keep 7/7 [000] 1.000000: 100 cpu-clock: \n\t10 a (/x)\n\n"
                                   "x 7/7 [000] 1.000001: PERF_RECORD_FORK(7:8):(7:7)\n"
                                   "keep 7/7 [000] 1.000002: PERF_RECORD_EXIT(7:7):(7:7)\n"
                                   "x 7/8 [000] 1.000100: PERF_RECORD_EXIT(7:8):(7:7)\n");
    for (int i = 0; i < SHORT_THREADS; i++) {
        int tid = FIRST_SHORT_TID + i, us = 200 + 10 * i;
        const char *comm = i == SHORT_THREADS / 2 ? "keep" : "short";
        used +=
            (size_t)snprintf(trace + used, trace_bytes - used,
                             "keep 10/10 [000] 1.%06d: PERF_RECORD_FORK(10:%d):(10:10)\n"
                             "%s 10/%d [000] 1.%06d: 100 cpu-clock: \n\t10 b (/x)\n\n"
                             "%s 10/%d [000] 1.%06d: PERF_RECORD_SWITCH OUT\n"
                             "%s 10/%d [000] 1.%06d: PERF_RECORD_SWITCH IN\n"
                             "%s 10/%d [000] 1.%06d: PERF_RECORD_EXIT(10:%d):(10:10)\n",
                             us, tid, comm, tid, us + 1, comm, tid, us + 3, comm, tid, us + 5, comm, tid, us + 7, tid);
    }
    used += (size_t)snprintf(trace + used, trace_bytes - used,
                             "keep 10/10 [000] 1.900000: PERF_RECORD_FORK(%d:%d):(10:10)\n"
                             "keep %d/%d [000] 1.900001: 100 cpu-clock: \n\t10 c (/x)\n\n"
                             "keep 10/10 [000] 1.900002: 100 cpu-clock: \n\t10 a (/x)\n\n",
                             FIRST_SHORT_TID, FIRST_SHORT_TID, FIRST_SHORT_TID, FIRST_SHORT_TID);
    return (struct text){trace, used};
}

/* Memory follows what is kept: threads of which nothing is kept share few rows. */
TEST(test_short_threads_that_are_left_out) {
    enum { ROWS_MAX = SHORT_THREADS / 2, TRACE_BYTES = SHORT_THREADS * LINES_BYTES };
    static const struct {
        enum gecko_convert_off_cpu off_cpu;
        const char *expected;
    } cases[] = {
        {GECKO_CONVERT_OFF_CPU_NO,
         "7/7 keep 0 100 a\n10/10 keep 900002000 100 a\n10/2500 keep 15201000 100 b\n1000/1000 keep 900001000 100 c\n"},
        {GECKO_CONVERT_OFF_CPU_AUTO,
         "7/7 keep 0 100 a\n10/10 keep 900002000 100 a\n10/2500 keep 15201000 2500 b\n10/2500 keep 15203000 2500 b\n"
         "10/2500 keep 15203000 1000 (waits)\n10/2500 keep 15205000 1000 (waits)\n1000/1000 keep 900001000 100 c\n"},
    };
    const struct gecko_convert_filter filters[FILTERS_MAX] = {{GECKO_CONVERT_FILTER_COMM, "keep"}};
    char *trace = malloc(TRACE_BYTES);
    struct text whole = make_short_threads(trace, TRACE_BYTES);
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        off_cpu = cases[i].off_cpu;
        read_trace(&reader_perf_script, whole, filters);
        assert_int_equal(reading.failure.code, FAILURE_NONE);
        assert_in_range(reading.profile.threads.count, 5, ROWS_MAX);
        assert_int_equal(profile_ordered_thread(&reading.profile, 0)->tid, 7);
        const struct thread *first = profile_ordered_thread(&reading.profile, 0);
        assert_int_equal(profile_process_at(&reading.profile, first->process)->end_ns, 100000);
        assert_printed(profile_samples_text(&reading.profile), cases[i].expected);
    }
    off_cpu = GECKO_CONVERT_OFF_CPU_NO;
    free(trace);
}

/* A thread whose parent has no name is named by what comes later. */
TEST(test_nameless_parents) {
    static const char trace[] =
        "x 7/7 [000] 1.000000: PERF_RECORD_FORK(7:8):(9:9)\n"
        "keep 7/8 [000] 1.000001: 100 cpu-clock: \n\t10 a (/x)\n\n";
    const struct gecko_convert_filter filters[FILTERS_MAX] = {{GECKO_CONVERT_FILTER_COMM, "keep"}};
    read_trace(&reader_perf_script, TEXT(trace), filters);
    assert_printed(profile_samples_text(&reading.profile), "7/8 keep 0 100 a\n");
}

/* Threads that show nothing keep a process's counters only if all of its threads are such. */
TEST(test_counters_of_processes) {
    const struct gecko_convert_filter given = {GECKO_CONVERT_FILTER_EXCLUDE_COMM, "app"};
    struct failure failure = {0};
    struct profile profile;
    struct filter filter;
    profile_init(&profile, &failure);
    filter_init(&filter, &given, 1, &failure);
    thread_add_sample(add_process_with_counter(&profile, 10), 5, stack_none(), 1);
    add_process_with_counter(&profile, 20);
    filter_profile(&filter, &profile);
    assert_false(failure_is_set(&failure));
    assert_int_equal(profile.counters.count, 1);
    process_id kept = ((const struct counter *)column_at(&profile.counters, 0))->process;
    assert_int_equal(profile_process_at(&profile, kept)->pid, 20);
    filter_fini(&filter);
    profile_fini(&profile);
}

int main(void) { return unit_tests_run(NULL, end_reading); }
