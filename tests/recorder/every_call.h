/* Makes every call and uses every macro of the recorder, in the common subset of C11 and C++11. headers.sh compiles
 * this file as both languages and looks for the names below in the profile. With GREC_DISABLE the same calls must do
 * nothing. */
#pragma once

#include <gecko_recorder.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

static int failure_count;

#define EXPECT_ALWAYS(condition)                                            \
    do {                                                                    \
        if (!(condition)) {                                                 \
            fprintf(stderr, "%s:%d: %s\n", __FILE__, __LINE__, #condition); \
            failure_count++;                                                \
        }                                                                   \
    } while (0)

/* Conditions that hold only if the recorder is compiled in. */
#ifdef GREC_DISABLE
#define EXPECT(condition) ((void)(condition))
#else
#define EXPECT(condition) EXPECT_ALWAYS(condition)
#endif

/* ---- Descriptions. ---- */

static struct grec_category outer_category = GREC_CATEGORY("outer category", GREC_COLOR_BLUE);
static struct grec_category inner_category = GREC_SUBCATEGORY("inner category", &outer_category);

static const struct grec_column columns[] = {
    GREC_COLUMN("first column", GREC_FORMAT_STRING),
    GREC_COLUMN("second column", GREC_FORMAT_INTEGER),
};

/* One field of each format, in the order of enum grec_format. */
static const struct grec_field all_fields[] = {
    GREC_FIELD("string", "a string", GREC_FORMAT_STRING),
    GREC_FIELD("url", NULL, GREC_FORMAT_URL),
    GREC_FIELD("path", NULL, GREC_FORMAT_FILE_PATH),
    GREC_FIELD("sanitized", NULL, GREC_FORMAT_SANITIZED_STRING),
    GREC_FIELD("unique", NULL, GREC_FORMAT_UNIQUE_STRING),
    GREC_FIELD("flow", NULL, GREC_FORMAT_FLOW_ID),
    GREC_FIELD("terminating", NULL, GREC_FORMAT_TERMINATING_FLOW_ID),
    GREC_FIELD("duration", NULL, GREC_FORMAT_DURATION),
    GREC_FIELD("time", NULL, GREC_FORMAT_TIME),
    GREC_FIELD("seconds", NULL, GREC_FORMAT_SECONDS),
    GREC_FIELD("milliseconds", NULL, GREC_FORMAT_MILLISECONDS),
    GREC_FIELD("microseconds", NULL, GREC_FORMAT_MICROSECONDS),
    GREC_FIELD("nanoseconds", NULL, GREC_FORMAT_NANOSECONDS),
    GREC_FIELD("bytes", NULL, GREC_FORMAT_BYTES),
    GREC_FIELD("percentage", NULL, GREC_FORMAT_PERCENTAGE),
    GREC_FIELD("integer", NULL, GREC_FORMAT_INTEGER),
    GREC_FIELD("decimal", NULL, GREC_FORMAT_DECIMAL),
    GREC_FIELD("hexadecimal", NULL, GREC_FORMAT_HEXADECIMAL),
    GREC_FIELD("pid", NULL, GREC_FORMAT_PID),
    GREC_FIELD("tid", NULL, GREC_FORMAT_TID),
    GREC_FIELD("list", NULL, GREC_FORMAT_LIST),
    GREC_FIELD_OF_TABLE("table", NULL, columns),
};
static struct grec_marker_type all_type = GREC_MARKER_TYPE("all formats", all_fields);

static const struct grec_field short_fields[] = {
    GREC_FIELD("number", "a number", GREC_FORMAT_INTEGER),
    GREC_FIELD("text", "a text", GREC_FORMAT_STRING),
};
static struct grec_marker_type short_type =
    GREC_MARKER_TYPE_SHOWN("short type", short_fields, "chart {marker.data.number}", "tooltip", "table",
                           GREC_DISPLAY_CHART | GREC_DISPLAY_TABLE | GREC_DISPLAY_OVERVIEW | GREC_DISPLAY_MEMORY |
                               GREC_DISPLAY_IPC | GREC_DISPLAY_FILEIO | GREC_DISPLAY_STACK_CHART);

static struct grec_marker instant_marker = GREC_MARKER("instant function", &inner_category, &short_type);
static struct grec_marker interval_marker = GREC_MARKER("interval function", &outer_category, &short_type);
static struct grec_marker halves_marker = GREC_MARKER("two halves", GREC_OTHER, &short_type);
static struct grec_marker all_marker = GREC_MARKER("all values", &outer_category, &all_type);
static struct grec_marker added_marker = GREC_MARKER("added with options", &outer_category, NULL);

static struct grec_label explicit_label = GREC_LABEL_AT("explicit label", &inner_category, "file.src", 12);
static struct grec_label script_label = GREC_LABEL_AT("script", &outer_category, NULL, 0);

static struct grec_counter accumulated_counter = GREC_COUNTER("accumulated counter", "Memory", "in every call", "bytes",
                                                              GREC_COUNTER_ACCUMULATED, GREC_GRAPH_ORANGE, 0);
static struct grec_counter rate_counter =
    GREC_COUNTER("rate counter", "Bandwidth", "in every call", "bytes", GREC_COUNTER_RATE, GREC_GRAPH_BLUE, 0);
static struct grec_counter sampled_counter =
    GREC_COUNTER("sampled counter", "Requests", NULL, NULL, GREC_COUNTER_RATE, GREC_GRAPH_GREEN, GREC_COUNTER_SAMPLED);

static struct grec_string fixed_string = GREC_STRING_OF("a fixed string");

/* ---- Calls. ---- */

static void add_values(void) {
    static const char *const texts[] = {"first text", "second text"};
    const struct grec_value cells[] = {GREC_TEXT("upper cell"), GREC_INT(1), GREC_TEXT("lower cell"), GREC_NONE()};
    const struct grec_value values[] = {
        GREC_TEXT("terminated text"),
        GREC_TEXT("https://example.org/"),
        GREC_TEXT("/tmp/file"),
        GREC_TEXT_OF("sanitized text, cut", 14),
        GREC_STRING(&fixed_string),
        GREC_FLOW(0x1234),
        GREC_FLOW(0x5678),
        GREC_INT(-1500),
        GREC_TIME(grec_now()),
        GREC_REAL(1.5),
        GREC_REAL(2.5),
        GREC_INT(3),
        GREC_INT(4),
        GREC_UINT(1048576),
        GREC_REAL(0.5),
        GREC_INT(-42),
        GREC_REAL(0.125),
        GREC_UINT(255),
        GREC_INT(1),
        GREC_INT(2),
        GREC_LIST(texts, 2),
        GREC_TABLE(cells, 4),
    };
    grec_instant(&all_marker, values, sizeof values / sizeof values[0]);
}

static void add_markers(void) {
    const struct grec_value values[] = {GREC_INT(1), GREC_TEXT("one")};
    struct grec_marker_options options;
    struct grec_backtrace backtrace;
    struct grec_network_request request;
    grec_time start = grec_now();
    EXPECT(start != 0);
    GREC_INSTANT("instant macro", &inner_category);
    GREC_INSTANT_WITH("instant macro with values", &inner_category, &short_type, GREC_INT(7), GREC_TEXT("seven"));
    GREC_INTERVAL("interval macro", &outer_category, start);
    GREC_INTERVAL_WITH("interval macro with values", &outer_category, &short_type, start, GREC_INT(8));
    grec_instant(&instant_marker, values, 2);
    grec_interval(&interval_marker, start, values, 2);
    grec_interval_start(&halves_marker, values, 1);
    grec_interval_end(&halves_marker, values, 2);
    grec_take_backtrace(&backtrace);
    memset(&options, 0, sizeof options);
    options.phase = GREC_PHASE_INTERVAL;
    options.start = grec_time_from_clock_ns(1);
    options.end = start;
    options.thread = grec_thread_self();
    options.backtrace = &backtrace;
    EXPECT(options.thread.uid != 0 && options.thread.tid != 0);
    grec_add_marker(&added_marker, &options, NULL, 0);
    grec_add_named_marker("added by name", &outer_category, &short_type, NULL, values, 2);
    grec_text_marker("text marker", &inner_category, "the text of it");
    grec_log(GREC_LOG_WARNING, "module", "the message of a log marker");
    memset(&request, 0, sizeof request);
    request.url = "https://example.org/";
    request.start = start;
    grec_network(&outer_category, &request);
}

static void push_labels(void) {
    grec_label_place pushed;
    GREC_LABEL("label macro", &outer_category);
    GREC_LABEL_TEXT("label macro with text", &inner_category, "dynamic text");
    GREC_INTERVAL_SCOPE("interval scope", &outer_category);
    pushed = grec_label_push(&explicit_label, NULL);
    EXPECT(pushed != 0);
    grec_sample();
    grec_label_pop(pushed);
    pushed = grec_script_push(&script_label, "script_function", "script.file", 3, 4);
    grec_script_line(pushed, 5, 6);
    grec_sample();
    add_markers();
    add_values();
    grec_label_pop(pushed);
}

static void count(void) {
    grec_counter_add(&accumulated_counter, 4096);
    grec_counter_set(&accumulated_counter, 1024);
    grec_counter_add(&rate_counter, 10);
    grec_counter_add(&sampled_counter, 3);
    grec_sample();
    grec_counter_add(&rate_counter, 20);
    grec_counter_add(&sampled_counter, 2);
    grec_sample();
}

/* Records two allocations. The second one is always recorded, since it is much larger than the mean distance between
 * recorded allocations. */
static void allocate(void) {
    static char memory[2];
    grec_memory_allocated(memory, 1);
    grec_memory_allocated(memory + 1, (size_t)1 << 28);
    grec_memory_freed(memory + 1, (size_t)1 << 28);
}

/* Gives the sampler its hints, and uses enough processor time to be sampled for certain. */
static void work(void) {
    clock_t start;
    grec_thread_sleep();
    grec_thread_wake();
    grec_event_loop_idle();
    grec_event_loop_busy();
    start = clock();
    while (clock() - start < CLOCKS_PER_SEC / 5) continue;
    grec_event_loop_idle();
    /* On a busy machine, one call may give up before the sampler has made its rounds. */
    while (grec_is_recording() && grec_wait_for_sampling() != GREC_OK) continue;
    EXPECT(grec_thread_is_recorded(grec_thread_self()));
    EXPECT(grec_sample_thread(grec_main_thread()) == GREC_OK);
}

/* Makes all calls while no recording runs. They are allowed and must do nothing. */
static void call_without_recording(void) {
    struct grec_backtrace backtrace;
    EXPECT_ALWAYS(!grec_is_recording());
    EXPECT_ALWAYS(grec_now() == 0);
    EXPECT_ALWAYS(grec_label_push(&explicit_label, NULL) == 0);
    EXPECT_ALWAYS(grec_thread_self().uid == 0);
    grec_label_pop(0);
    grec_script_line(0, 1, 1);
    grec_take_backtrace(&backtrace);
    GREC_INSTANT("without recording", &outer_category);
    grec_counter_add(&rate_counter, 1000);
    grec_thread_sleep();
    grec_thread_wake();
    grec_event_loop_busy();
    grec_event_loop_idle();
    grec_memory_allocated(&backtrace, sizeof backtrace);
    grec_memory_freed(&backtrace, sizeof backtrace);
    grec_pause();
    grec_resume();
    grec_stop();
    grec_set_fact(GREC_FACT_VERSION, "1.2.3");
    grec_set_fact(GREC_FACT_BUILD_ID, "20261122");
    grec_set_fact(GREC_FACT_SOURCE_URL, "https://example.org/source");
    EXPECT_ALWAYS(grec_save("nothing.trace") == GREC_ERROR_STATE);
    EXPECT_ALWAYS(grec_join("/nonexistent/every_call.trace") != GREC_OK);
}

static void refuse_options(void) {
    struct grec_options options;
    int error;
    memset(&options, 0, sizeof options);
    options.chunk_bytes = 5000;
    EXPECT(grec_start(&options) == GREC_ERROR_OPTIONS);
    memset(&options, 0, sizeof options);
    options.interval_us = 99;
    EXPECT(grec_start(&options) == GREC_ERROR_OPTIONS);
    memset(&options, 0, sizeof options);
    options.path = "/nonexistent/folder/every_call.trace";
    EXPECT(grec_start(&options) == GREC_ERROR_STORAGE);
    for (error = -1; error <= GREC_ERROR_COUNT; error++) EXPECT_ALWAYS(grec_error_text((enum grec_error)error) != NULL);
    EXPECT_ALWAYS(!grec_is_recording());
}

/* The flags that record less, one after the other. */
static void start_with_less(void) {
    static const unsigned flags[] = {GREC_NO_STACKS, GREC_NO_PROCESS_CPU, GREC_NO_MEMORY};
    struct grec_options options;
    size_t i;
    for (i = 0; i < sizeof flags / sizeof flags[0]; i++) {
        memset(&options, 0, sizeof options);
        options.storage = GREC_STORAGE_MEMORY;
        options.flags = flags[i] | GREC_SAMPLER;
        EXPECT(grec_start(&options) == GREC_OK);
        grec_stop();
    }
}

static void start(const char *path) {
    struct grec_options options;
    memset(&options, 0, sizeof options);
    options.path = path;
    options.product = "every call";
    options.flags =
        GREC_NO_CHILDREN | GREC_NO_ARGUMENTS | GREC_HELPER | GREC_SAMPLER | GREC_ALL_THREADS | GREC_NO_POWER;
    options.interval_us = 1000;
    EXPECT(grec_start(&options) == GREC_OK);
    EXPECT(grec_is_recording());
}

static void check_status(const char *path) {
    struct grec_status status;
    char location[GREC_LOCATION_BYTES];
    EXPECT(grec_location(location) == GREC_OK && strstr(location, path) != NULL);
    EXPECT(grec_join(location) == GREC_ERROR_STATE);
    grec_pause_sampling();
    grec_resume_sampling();
    grec_control(GREC_PAUSE, GREC_GROUP);
    grec_control(GREC_RESUME, GREC_PROCESS);
    grec_pause();
    grec_get_status(&status);
    EXPECT(status.is_recording && status.is_paused);
    EXPECT(!grec_is_recording());
    GREC_INSTANT("while paused", &outer_category);
    grec_resume();
    grec_get_status(&status);
    EXPECT(status.is_recording && !status.is_paused);
    EXPECT(!strcmp(status.path, path));
    EXPECT(status.size_bytes > 0);
    EXPECT(status.events_lost == 0 && status.texts_cut == 0 && status.definitions_lost == 0);
    EXPECT(status.values_mismatched == 0 && status.stop_errno == 0);
}

/* Saves a recording in memory to `saved_path`. */
static void save_from_memory(const char *saved_path) {
    struct grec_options options;
    memset(&options, 0, sizeof options);
    options.storage = GREC_STORAGE_MEMORY;
    EXPECT(grec_start(&options) == GREC_OK);
    GREC_INSTANT("kept in memory", &outer_category);
    EXPECT(grec_save(saved_path) == GREC_OK);
    grec_stop();
}

static void record_everything(const char *path) {
    grec_thread_register("first name");
    {
        GREC_THREAD_SCOPE("scoped name");
        push_labels();
        count();
        allocate();
        work();
    }
    grec_thread_register("last name");
    GREC_INSTANT("after the scope", GREC_OTHER);
    check_status(path);
    grec_thread_unregister();
}

/* Makes the calls that only one of the languages has. Each source file defines it. */
static void record_in_this_language(void);

int main(int argument_count, char **arguments) {
    if (argument_count != 3) return 2;
    call_without_recording();
    refuse_options();
    start_with_less();
    start(arguments[1]);
    record_in_this_language();
    record_everything(arguments[1]);
    grec_stop();
    save_from_memory(arguments[2]);
    return failure_count ? 1 : 0;
}
