#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/chunk_text.h"
#include "tests/support/profile_fixture.h"
#include "tests/support/unit_test.h"
#include "writer/emitter.h"

static int begin(void **state) {
    begin_profile(state);
    profile.meta.product = TEXT("demo");
    profile.meta.start_time_ms = 1700000000123;
    profile.meta.interval_ns = 1000000;
    return 0;
}

/* Returns the finished profile as text. The caller frees it. */
static char *emit(struct progress progress) {
    struct chunk_list out;
    chunk_list_init(&out, &failure);
    emitter_processed.emit(&profile, &profile.ledger, &out, &(struct emit_options){0}, progress);
    char *text = chunk_text(&out);
    chunk_list_fini(&out);
    return text;
}

static char *finish_and_emit(void) {
    profile_finish(&profile);
    assert_false(failure_is_set(&failure));
    char *text = emit((struct progress){0});
    assert_false(failure_is_set(&failure));
    return text;
}

static void assert_has(const char *text, const char *part) {
    if (!strstr(text, part)) fail_msg("missing: %s\nin: %s", part, text);
}

static void assert_has_not(const char *text, const char *part) {
    if (strstr(text, part)) fail_msg("unwanted: %s\nin: %s", part, text);
}

static size_t count_of(const char *text, const char *part) {
    size_t count = 0;
    for (const char *at = text; (at = strstr(at, part)); at += strlen(part)) count++;
    return count;
}

/* Returns a frame that is only a name. */
static frame_id label_frame(const char *name) {
    return profile_named_frame(&profile, text_of(name), (struct category_pair){0});
}

static struct thread *add_thread(process_id process, int64_t tid, const char *name) {
    struct thread *thread = profile_thread_at(&profile, profile_add_thread(&profile, process, tid, 0));
    thread->name = text_of(name);
    return thread;
}

static uint32_t weight_of(int64_t mantissa, uint32_t scale) {
    return profile_weight_encode(&profile, decimal_make(mantissa, scale));
}

/* Adds a thread with samples at 5, 6.5 and 6.500001 ms of the trace's clock. The second one has no stack. */
static struct thread *add_small_thread(void) {
    stack_id root = profile_stack(&profile, stack_none(), label_frame("main"));
    stack_id leaf = profile_stack(&profile, root, label_frame("work"));
    struct thread *thread = add_thread(profile_add_process(&profile, 7, 0), 7, "demo");
    thread_add_sample(thread, 5000000, leaf, weight_of(1, 0));
    thread_add_sample(thread, 6500000, stack_none(), weight_of(20, 0));
    thread_add_sample(thread, 6500001, root, weight_of(300, 0));
    return thread;
}

TEST(weights_are_numbers_of_their_type, begin, end_profile) {
    struct thread *thread = add_small_thread();
    thread_add_sample(thread, 7000000, stack_none(), weight_of(25, 1));
    thread_add_sample(thread, 7000000, stack_none(), weight_of(-4, 0));
    thread_add_sample(thread, 7000000, stack_none(), weight_of(3000000000, 0));
    profile_finish(&profile);
    static const struct {
        enum weight_type type;
        const char *written;
    } cases[] = {
        {WEIGHT_ONE, "\"weight\":[1,1,1,1,1,1],\"weightType\":\"samples\","},
        {WEIGHT_SAMPLES, "\"weight\":[1,20,300,2.5,-4,3000000000],\"weightType\":\"samples\","},
        {WEIGHT_BYTES, "\"weight\":[1,20,300,2.5,-4,3000000000],\"weightType\":\"bytes\","},
        {WEIGHT_TRACING_MS,
         "\"weight\":[0.000001,0.00002,0.0003,0.0000025,-0.000004,3000],\"weightType\":\"tracing-ms\","},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        profile.meta.weight_type = cases[i].type;
        char *text = emit((struct progress){0});
        assert_has(text, cases[i].written);
        assert_has_not(text, "threadCPUDelta");
        assert_has_not(text, "sampleUnits");
        free(text);
    }
}

/* The client computes running times from the distances between samples if there are no weights. */
TEST(samples_an_interval_apart_need_no_weights, begin, end_profile) {
    thread_id id = profile_add_thread(&profile, profile_add_process(&profile, 5, 0), 5, 0);
    struct thread *thread = profile_thread_at(&profile, id);
    profile.meta.interval_ns = 1000000;
    static const int64_t times_us[] = {0, 900, 2100, 3000};
    for (size_t i = 0; i < 4; i++) thread_add_sample(thread, times_us[i] * 1000, stack_none(), 1);
    profile_finish(&profile);
    char *text = emit((struct progress){0});
    assert_has(text, "\"weight\":null,\"weightType\":\"samples\",\"length\":4}");
    free(text);
    thread_add_sample(thread, 4600000, stack_none(), 1);
    text = emit((struct progress){0});
    assert_has(text, "\"weight\":[1,1,1,1,1],\"weightType\":\"samples\",\"length\":5}");
    free(text);
    profile.meta.has_every_state = true;
    text = emit((struct progress){0});
    assert_has(text, "\"weight\":null,\"weightType\":\"samples\",\"length\":5}");
    free(text);
}

/* An idle thread uses no processor time, whatever the period of its samples. */
TEST(idle_samples_use_no_cpu_time, begin, end_profile) {
    struct thread *thread = add_small_thread();
    struct category_pair idle = categories_intern_code(&profile.categories, CODE_IDLE, TEXT(""));
    struct frame frame = *profile_frame_at(&profile, label_frame("halt"));
    frame.category = idle.category;
    stack_id stack = profile_stack(&profile, stack_none(), profile_frame(&profile, &frame));
    thread_add_sample(thread, 7000000, stack, weight_of(40, 0));
    profile.meta.cpu_delta_unit = CPU_DELTA_NS;
    char *text = finish_and_emit();
    assert_has(text, "\"threadCPUDelta\":[0,20,300,0],\"length\":4}");
    free(text);
}

TEST(weights_tell_the_cpu_time, begin, end_profile) {
    struct thread *thread = add_small_thread();
    thread_add_sample(thread, 7000000, stack_none(), weight_of(25, 1));
    thread_add_sample(thread, 7000000, stack_none(), weight_of(-4, 0));
    profile.meta.cpu_delta_unit = CPU_DELTA_NS;
    char *text = finish_and_emit();
    assert_has(text, "\"sampleUnits\":{\"time\":\"ms\",\"eventDelay\":\"ms\",\"threadCPUDelta\":\"ns\"}");
    assert_has(text,
               "\"weight\":[1,1,1,1,1],\"weightType\":\"samples\",\"threadCPUDelta\":[0,20,300,2.5,0],\"length\":5}");
    free(text);
    profile.meta.cpu_delta_unit = CPU_DELTA_CYCLES;
    text = emit((struct progress){0});
    assert_has(text, "\"threadCPUDelta\":\"variable CPU cycles\"}");
    free(text);
}

TEST(metadata_is_written_where_it_is_known, begin, end_profile) {
    add_small_thread();
    struct profile_meta *meta = &profile.meta;
    meta->interval_ns = 250500;
    meta->has_stacks = true;
    meta->imported_from = TEXT("Linux perf");
    meta->arguments = TEXT("perf record \"./demo\"");
    meta->cpu_name = TEXT("CPU");
    meta->os_cpu = TEXT("Linux 6.1");
    meta->platform = TEXT("Linux");
    meta->abi = TEXT("x86_64");
    meta->device = TEXT("host");
    meta->logical_cpu_count = 8;
    meta->physical_cpu_count = 4;
    meta->version = TEXT("1.2.3");
    meta->build_id = TEXT("20261122");
    meta->source_url = TEXT("https://example.org/77");
    meta->configuration = (struct profile_configuration){.is_known = true,
                                                         .capacity_bytes = 1 << 20,
                                                         .duration_s = 30,
                                                         .features = TEXT("stackwalk,cpu"),
                                                         .threads = TEXT("main,,pool,")};
    meta->main_memory_bytes = 17179869184;
    profile_add_extra(&profile, TEXT("First"), TEXT("a"), TEXT("1"));
    profile_add_extra(&profile, TEXT("First"), TEXT("b"), TEXT("two"));
    profile_add_extra(&profile, TEXT("Second"), TEXT("c"), TEXT(""));
    char *text = finish_and_emit();
    assert_has(text, "\"interval\":0.2505,");
    assert_has(text, "\"stackwalk\":1,");
    assert_has(text,
               "\"CPUName\":\"CPU\",\"oscpu\":\"Linux 6.1\",\"platform\":\"Linux\",\"abi\":\"x86_64\","
               "\"device\":\"host\",\"logicalCPUs\":8,\"physicalCPUs\":4,\"configuration\":{"
               "\"threads\":[\"main\",\"pool\"],\"features\":[\"stackwalk\",\"cpu\"],\"capacity\":131072,"
               "\"duration\":30,\"interval\":0.2505,\"activeTabID\":0},");
    assert_has(text, "\"misc\":\"1.2.3\",\"appBuildID\":\"20261122\",\"sourceURL\":\"https://example.org/77\",");
    assert_has(text,
               "\"importedFrom\":\"Linux perf\",\"arguments\":\"perf record \\\"./demo\\\"\","
               "\"mainMemory\":17179869184,\"categories\":");
    assert_has(text,
               "\"extra\":[{\"label\":\"First\",\"entries\":[{\"label\":\"a\",\"format\":\"string\",\"value\":\"1\"},"
               "{\"label\":\"b\",\"format\":\"string\",\"value\":\"two\"}]},"
               "{\"label\":\"Second\",\"entries\":[{\"label\":\"c\",\"format\":\"string\",\"value\":\"\"}]}]");
    free(text);
}

/* Returns how many strips of markers the viewer shows above a track with one marker of that schema. */
static size_t count_strips(const struct marker_schema *schema) {
    struct thread *thread = add_thread(profile_add_process(&profile, 7, 0), 7, "demo");
    struct marker marker = {.name = profile_string(&profile, TEXT("demo marker")), .stack = stack_none()};
    marker.schema = schema ? profile_marker_schema(&profile, schema) : MARKER_SCHEMA_NONE;
    profile_add_marker(&profile, thread, marker, NULL);
    char *text = finish_and_emit();
    size_t strip_count = count_of(text, "\"showMarkersInTimeline\":true");
    free(text);
    return strip_count;
}

TEST(a_marker_of_the_overview_has_a_strip, begin, end_profile) {
    assert_int_equal(count_strips(&(struct marker_schema){.name = TEXT("Shown")}), 1);
}

TEST(a_marker_of_other_places_has_no_strip, begin, end_profile) {
    assert_int_equal(count_strips(&(struct marker_schema){.name = TEXT("Hidden"), .display = MARKER_DISPLAY_CHART}), 0);
}

TEST(a_marker_without_a_schema_has_no_strip, begin, end_profile) { assert_int_equal(count_strips(NULL), 0); }

/* Many small threads must not take a chunk for each of their columns. */
TEST(small_threads_share_chunks, begin, end_profile) {
    process_id process = profile_add_process(&profile, 1, 0);
    stack_id stack = profile_stack(&profile, stack_none(), label_frame("main"));
    for (int i = 0; i < 2000; i++) thread_add_sample(add_thread(process, 1 + i, "thread"), i, stack, weight_of(1, 0));
    profile_finish(&profile);
    struct chunk_list out;
    chunk_list_init(&out, &failure);
    emitter_processed.emit(&profile, &profile.ledger, &out, &(struct emit_options){0}, (struct progress){0});
    uint64_t capacity_bytes = 0;
    for (const struct chunk *chunk = out.first; chunk; chunk = chunk->next) capacity_bytes += chunk->capacity_bytes;
    assert_true(out.total_bytes > 500000);
    assert_true(capacity_bytes < 2 * out.total_bytes);
    chunk_list_fini(&out);
}

/* Returns a number of any length, up to the largest that a double holds exactly. */
static int64_t mixed_integer(uint32_t i) { return -(INT64_C(1) << i % 54); }

/* Appends what the payload of marker number i should be. */
static void expect_payload(FILE *out, uint32_t i) {
    fprintf(out, "%s{\"type\":\"a \\\"type\\\"\"", i ? "," : "");
    fprintf(out, ",\"a \\\"key\\\" that is longer than a block\":%" PRId64, mixed_integer(i));
    if (i % 3) fprintf(out, ",\"real\":%" PRIu32 ".5", i);
    if (i % 5) fprintf(out, ",\"text\":\"%.*s\"", (int)(i % 50), "..................................................");
    if (i % 7) fprintf(out, ",\"span\":0.00000%" PRIu32, i % 7);
    fprintf(out, ",\"last\":%" PRIu32 "}", i);
}

static void add_mixed_marker(struct thread *thread, uint16_t schema, uint32_t i) {
    static const char dots[] = "..................................................";
    union marker_value values[] = {
        marker_value_integer(mixed_integer(i)),
        i % 3 ? marker_value_real(i + 0.5) : marker_value_absent(VALUE_NUMBER),
        i % 5 ? (union marker_value){.text = {dots, i % 50}} : marker_value_absent(VALUE_TEXT),
        {.duration_ns = i % 7 ? i % 7 : TIME_NONE},
        marker_value_integer(i),
    };
    struct marker marker = {
        .name = profile_string(&profile, TEXT("mixed")), .start_ns = i, .end_ns = i, .stack = stack_none()};
    marker.schema = schema;
    profile_add_marker(&profile, thread, marker, values);
}

/* Payloads end up in many chunks, at any byte of which one may be full. */
TEST(payloads_are_whole_across_chunks, begin, end_profile) {
    enum { MARKER_COUNT = 20000 };
    static const struct marker_field fields[] = {
        {.key = TEXT("a \"key\" that is longer than a block"), .format = MARKER_INTEGER},
        {.key = TEXT("real"), .format = MARKER_DECIMAL},
        {.key = TEXT("text"), .format = MARKER_STRING},
        {.key = TEXT("span"), .format = MARKER_DURATION},
        {.key = TEXT("last"), .format = MARKER_BYTES},
    };
    struct marker_schema schema = {
        .name = TEXT("a \"type\""), .fields = fields, .field_count = sizeof fields / sizeof *fields};
    uint16_t row = profile_marker_schema(&profile, &schema);
    struct thread *thread = add_thread(profile_add_process(&profile, 1, 0), 1, "main");
    char *expected = NULL;
    size_t expected_bytes = 0;
    FILE *out = open_memstream(&expected, &expected_bytes);
    assert_non_null(out);
    fputs("\"data\":[", out);
    for (uint32_t i = 0; i < MARKER_COUNT; i++) {
        add_mixed_marker(thread, row, i);
        expect_payload(out, i);
    }
    fputs("],\"length\":20000}", out);
    fclose(out);
    char *text = finish_and_emit();
    const char *found = strstr(text, "\"data\":[");
    assert_non_null(found);
    assert_int_equal(strncmp(found, expected, expected_bytes), 0);
    free(text);
    free(expected);
}

/* ---- Which threads are visible. ---- */

/* Adds a thread to the process 7, with samples each of which took the CPU time, and with markers. */
static void add_visible(const char *name, int64_t cpu_ns, uint32_t marker_count, bool is_routine) {
    enum { SAMPLE_COUNT = 10 };
    process_id process = {0};
    if (!profile.processes.count) process = profile_add_process(&profile, 7, 0);
    struct thread *thread = add_thread(process, 7 + (int64_t)profile.threads.count, name);
    stack_id stack = profile_stack(&profile, stack_none(), label_frame("run"));
    for (uint32_t i = 0; i < SAMPLE_COUNT; i++) {
        thread_add_sample(thread, i * 1000000, stack, 1);
        samples_set_details(&thread->samples, cpu_ns, TIME_NONE);
    }
    struct marker marker = {.name = profile_string(&profile, TEXT("work")),
                            .stack = stack_none(),
                            .schema = MARKER_SCHEMA_NONE,
                            .is_routine = is_routine};
    for (uint32_t i = 0; i < marker_count; i++) profile_add_marker(&profile, thread, marker, NULL);
}

static void assert_visible(const char *expected) {
    char *text = finish_and_emit(), *at = strstr(text, "\"initialVisibleThreads\":[");
    if (at) {
        at = strchr(at, '[') + 1;
        *strchr(at, ']') = '\0';
    }
    assert_string_equal(at ? at : "none", expected);
    free(text);
}

/* Here, and without markers, the front-end chooses the same threads itself. */
TEST(the_front_end_chooses_active_threads, begin, end_profile) {
    add_visible("busy", 1000000, 0, false);
    add_visible("working", 50000, 3, false);
    add_visible("sleeping", 49999, 0, false);
    assert_visible("none");
}

TEST(threads_with_markers_are_visible, begin, end_profile) {
    add_visible("busy", 1000000, 0, false);
    add_visible("sleeping", 0, 0, false);
    add_visible("reporting", 49999, 1, false);
    add_visible("renamed", 0, 5, true);
    add_visible("AudioThread", 1, 0, false);
    add_visible("MediaSleep", 0, 0, false);
    add_visible("working", 50000, 0, false);
    assert_visible("0,2,4,6");
}

/* Fifteen are those that the front-end would show, and fifteen have the most markers. */
TEST(a_bounded_number_of_threads_is_visible, begin, end_profile) {
    char names[60][16];
    for (uint32_t i = 0; i < 20; i++) {
        snprintf(names[i], sizeof names[i], "busy %u", i);
        add_visible(names[i], 1000000 + i, 0, false);
    }
    for (uint32_t i = 20; i < 60; i++) {
        snprintf(names[i], sizeof names[i], "reporting %u", i);
        add_visible(names[i], 0, 1 + i % 20, false);
    }
    assert_visible("5,6,7,8,9,10,11,12,13,14,15,16,17,18,19,32,33,34,35,36,37,38,39,53,54,55,56,57,58,59");
}

/* The front-end would show only the first one, which has 85 % of the time. */
TEST(threads_that_have_most_of_the_time_together_are_visible, begin, end_profile) {
    static const int64_t cpu_ns[] = {850000, 42000, 42000, 42000, 24000};
    for (int i = 0; i < 5; i++) add_visible("thread", cpu_ns[i], 0, false);
    assert_visible("0,1,2,3");
}

/* They have 15 % of the time together, but less than one each. */
TEST(threads_with_next_to_no_time_are_not_visible, begin, end_profile) {
    add_visible("busy", 850000, 0, false);
    for (int i = 0; i < 16; i++) add_visible("thread", 9400, 0, false);
    assert_visible("none");
}

/* The front-end would show only the first one, which has 92 % of the time. */
TEST(shared_tracks_with_most_of_the_time_are_visible, begin, end_profile) {
    add_visible("requests", 920000, 0, false);
    add_visible("requests too", 20000, 0, false);
    add_visible("main", 35000, 0, false);
    add_visible("late", 25000, 0, false);
    ((struct thread *)column_at(&profile.threads, 0))->merged_count = 99;
    assert_visible("0,2");
}

TEST(no_more_shared_tracks_than_needed_are_visible, begin, end_profile) {
    static const int64_t cpu_ns[] = {1200000, 62000, 24000, 20000};
    for (int i = 0; i < 4; i++) add_visible("requests", cpu_ns[i], 0, false);
    ((struct thread *)column_at(&profile.threads, 1))->merged_count = 99;
    assert_visible("0,1");
}

/* The server, its main thread and one of three clients have 95 % of the time. */
TEST(equal_threads_beside_shared_tracks_are_visible_together, begin, end_profile) {
    static const int64_t cpu_ns[] = {866000, 56000, 28000, 26000, 24000};
    for (int i = 0; i < 5; i++) add_visible("thread", cpu_ns[i], 0, false);
    ((struct thread *)column_at(&profile.threads, 0))->merged_count = 99;
    assert_visible("0,1,2,3,4");
}

/* Its marker chart tells when each of them ran. */
TEST(the_parent_of_processes_that_share_a_track_is_visible, begin, end_profile) {
    for (int i = 0; i < 3; i++) add_visible("thread", i == 2 ? 1200000 : 1000, 0, false);
    process_id child = profile_add_process(&profile, 8, 0);
    struct thread *track = column_at(&profile.threads, 2);
    track->process = child;
    track->merged_count = profile_process_at(&profile, child)->merged_count = 99;
    profile_process_at(&profile, child)->parent = (process_id){0};
    assert_visible("0,2");
}

/* A build has a shell for each compiler, and all of them share a track, too. */
TEST(a_parent_that_shares_a_track_is_not_visible, begin, end_profile) {
    for (int i = 0; i < 2; i++) add_visible("thread", i ? 1200000 : 1000, 0, false);
    process_id child = profile_add_process(&profile, 8, 0);
    struct thread *parent = column_at(&profile.threads, 0), *track = column_at(&profile.threads, 1);
    track->process = child;
    track->merged_count = profile_process_at(&profile, child)->merged_count = 99;
    profile_process_at(&profile, child)->parent = (process_id){0};
    parent->merged_count = 99;
    assert_visible("1");
}

/* Without CPU times, samples that are not idle count. If the weights are CPU time, they do. */
TEST(activity_is_what_the_front_end_adds_up, begin, end_profile) {
    struct category_pair idle = categories_intern_code(&profile.categories, CODE_IDLE, TEXT(""));
    stack_id waiting = profile_stack(&profile, stack_none(), profile_named_frame(&profile, TEXT("wait"), idle));
    process_id process = profile_add_process(&profile, 7, 0);
    add_visible("busy", TIME_NONE, 0, false);
    struct marker marker = {
        .name = profile_string(&profile, TEXT("work")), .stack = stack_none(), .schema = MARKER_SCHEMA_NONE};
    struct thread *sleeping = add_thread(process, 20, "sleeping");
    for (uint32_t i = 0; i < 100; i++) thread_add_sample(sleeping, i * 1000, waiting, 1);
    profile_add_marker(&profile, sleeping, marker, NULL);
    assert_visible("0,1");
    profile.meta.cpu_delta_unit = CPU_DELTA_NS;
    profile.meta.weight_type = WEIGHT_TRACING_MS;
    char *text = emit((struct progress){0});
    assert_has(text, "\"initialVisibleThreads\":[0,1]");
    free(text);
    for (uint32_t i = 0; i < 100; i++) samples_at(&sleeping->samples, i)->stack = stack_none();
    text = emit((struct progress){0});
    assert_has_not(text, "initialVisibleThreads");
    free(text);
}

/* The front-end knows the processor time of all samples but the first. */
TEST(first_samples_are_activity, begin, end_profile) {
    process_id process = profile_add_process(&profile, 7, 0);
    struct thread *busy = add_thread(process, 20, "busy");
    for (uint32_t i = 0; i < 40; i++) thread_add_sample(busy, i * 1000, stack_none(), 1);
    struct thread *brief = add_thread(process, 21, "brief");
    for (uint32_t i = 0; i < 2; i++) thread_add_sample(brief, i * 1000, stack_none(), 1);
    thread_add_sample(add_thread(process, 22, "once"), 0, stack_none(), 1);
    profile.meta.cpu_delta_unit = CPU_DELTA_NS;
    profile.meta.weight_type = WEIGHT_TRACING_MS;
    assert_visible("0,1");
}

int main(void) { return unit_tests_run(NULL, NULL); }
