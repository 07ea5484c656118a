#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "tests/support/chunk_text.h"
#include "tests/support/profile_fixture.h"
#include "tests/support/sanitizers.h"
#include "tests/support/unit_test.h"
#include "writer/emitter.h"
#include "writer/parallel_rows.h"

static int begin(void **state) {
    begin_profile(state);
    profile.meta.product = TEXT("demo");
    profile.meta.start_time_ms = 1700000000123;
    profile.meta.interval_ns = 1000000;
    return 0;
}

/* Returns the finished profile as text, written by several threads. The caller frees it. */
static char *emit_with(unsigned thread_count, struct progress progress) {
    struct chunk_list out;
    chunk_list_init(&out, &failure);
    emitter_processed.emit(&profile, &profile.ledger, &out, &(struct emit_options){.thread_count = thread_count},
                           progress);
    char *text = chunk_text(&out);
    chunk_list_fini(&out);
    return text;
}

static char *emit(struct progress progress) { return emit_with(1, progress); }

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

static void a_small_profile_is_exactly_this(void **state) {
    add_small_thread();
    char *text = finish_and_emit();
    assert_string_equal(
        text,
        "{\"meta\":{\"interval\":1,\"startTime\":1700000000123,\"profilingStartTime\":0,"
        "\"profilingEndTime\":2.500001,\"version\":36,\"preprocessedProfileVersion\":70,"
        "\"processType\":0,\"product\":\"demo\",\"stackwalk\":0,\"symbolicated\":true,\"symbolicationNotSupported\":"
        "true,"
        "\"usesOnlyOneStackType\":true,\"sourceCodeIsNotOnSearchfox\":true,"
        "\"categories\":[{\"name\":\"Other\",\"color\":\"grey\",\"subcategories\":[\"Other\"]}],\"markerSchema\":[]},"
        "\"libs\":[],\"shared\":{"
        "\"stackTable\":{\"frame\":[0,1],\"prefixOffset\":[0,1],\"length\":2},"
        "\"frameTable\":{\"address\":[-1,-1],\"inlineDepth\":[0,0],\"category\":[0,0],\"subcategory\":[0,0],"
        "\"func\":[0,1],\"lib\":[-1,-1],\"nativeSymbol\":[null,null],\"innerWindowID\":[null,null],"
        "\"line\":[null,null],\"column\":[null,null],\"originalLocation\":[null,null],\"length\":2},"
        "\"funcTable\":{\"name\":[0,1],\"isJS\":[false,false],\"relevantForJS\":[false,false],\"resource\":[-1,-1],"
        "\"source\":[null,null],\"lineNumber\":[null,null],\"columnNumber\":[null,null],"
        "\"originalLocation\":[null,null],\"length\":2},"
        "\"resourceTable\":{\"name\":[],\"host\":[],\"type\":[],\"length\":0},"
        "\"nativeSymbols\":{\"libIndex\":[],\"address\":[],\"name\":[],\"functionSize\":[],\"length\":0},"
        "\"sources\":{\"id\":[],\"filename\":[],\"startLine\":[],\"startColumn\":[],\"sourceMapURL\":[],"
        "\"content\":[],\"length\":0},"
        "\"sourceLocationTable\":{\"source\":[],\"line\":[],\"column\":[],\"length\":0},"
        "\"stringArray\":[\"main\",\"work\"]},"
        "\"threads\":[{\"name\":\"demo\",\"isMainThread\":true,\"processType\":\"demo\",\"processName\":\"demo\","
        "\"pid\":\"7\",\"tid\":7,\"processStartupTime\":0,\"processShutdownTime\":null,\"registerTime\":0,"
        "\"unregisterTime\":null,\"pausedRanges\":[],"
        "\"samples\":{\"stack\":[1,null,0],\"timeDeltas\":[0,1.5,0.000001],\"weight\":[1,1,1],\"weightType\":"
        "\"samples\","
        "\"length\":3},"
        "\"markers\":{\"name\":[],\"startTime\":[],\"endTime\":[],\"phase\":[],\"category\":[],\"data\":[],"
        "\"length\":0}}]}");
    free(text);
}

static void weights_are_numbers_of_their_type(void **state) {
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
static void samples_an_interval_apart_need_no_weights(void **state) {
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
static void idle_samples_use_no_cpu_time(void **state) {
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

static void weights_tell_the_cpu_time(void **state) {
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

static void metadata_is_written_where_it_is_known(void **state) {
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

/* Adds a machine code function with a function inlined into it, both in a library with a build id, and a JS
 * function. */
static stack_id add_rich_stack(void) {
    struct category_pair kernel = categories_intern(&profile.categories, TEXT("Kernel"), COLOR_ORANGE, TEXT("vmlinux"));
    struct category_pair user = categories_intern(&profile.categories, TEXT("User"), COLOR_YELLOW, TEXT(""));
    lib_id lib =
        libs_intern(&profile.libs, TEXT("/usr/lib/libdemo.so"), TEXT("0102030405060708090a0b0c0d0e0f1011121314"));
    libs_intern(&profile.libs, TEXT("/opt/bare"), TEXT(""));
    string_id outer_name = profile_string(&profile, TEXT("outer"));
    resource_id resource = profile_resource(&profile, profile_string(&profile, TEXT("libdemo.so")), RESOURCE_LIBRARY);
    source_id source = profile_source(&profile, TEXT("/src/demo.c"));
    native_symbol_id symbol = profile_native_symbol(&profile, lib, 0x1000, outer_name);
    struct func outer_func = {.name = outer_name, .resource = resource, .source = source, .line = 10, .column = 2};
    struct func inlined_func = {.name = profile_string(&profile, TEXT("inlined \xc3\xa4\n")),
                                .resource = resource,
                                .source = source_none(),
                                .flags = 0};
    struct func js_func = {.name = profile_string(&profile, TEXT("onClick")),
                           .resource = resource_none(),
                           .source = profile_source(&profile, TEXT("app.js")),
                           .line = 3,
                           .flags = FUNC_IS_JS};
    struct frame outer = {.func = profile_func(&profile, &outer_func),
                          .address = 0x1010,
                          .lib = lib,
                          .native_symbol = symbol,
                          .line = 12,
                          .column = 5,
                          .category = kernel.category,
                          .subcategory = kernel.subcategory};
    struct frame inlined = outer;
    inlined.func = profile_func(&profile, &inlined_func);
    inlined.line = 0;
    inlined.column = 0;
    inlined.inline_depth = 1;
    struct frame js = frame_of_func(profile_func(&profile, &js_func), user);
    js.line = 4;
    stack_id js_stack = profile_stack(&profile, stack_none(), profile_frame(&profile, &js));
    stack_id outer_stack = profile_stack(&profile, js_stack, profile_frame(&profile, &outer));
    return profile_stack(&profile, outer_stack, profile_frame(&profile, &inlined));
}

static uint16_t add_demo_schema(void) {
    static const struct marker_field fields[] = {
        {.key = TEXT("what"), .label = TEXT("What"), .format = MARKER_UNIQUE_STRING},
        {.key = TEXT("amount"), .label = TEXT("Amount"), .format = MARKER_DECIMAL},
    };
    struct marker_schema schema = {
        .name = TEXT("DemoMarker"),
        .description = TEXT("What a demo marks."),
        .table_label = TEXT("{marker.name}: {marker.data.what}"),
        .fields = fields,
        .field_count = 2,
    };
    return profile_marker_schema(&profile, &schema);
}

static void add_markers(struct thread *thread, stack_id stack) {
    uint16_t schema = add_demo_schema();
    string_id name = profile_string(&profile, TEXT("demo marker"));
    string_id what = profile_string(&profile, TEXT("thing"));
    const union marker_value values[2] = {{.string = what}, {.number = decimal_make(-125, 2)}};
    const union marker_value nothing[2] = {{.string = string_none()}, {.number = decimal_make(7, 0)}};
    struct marker marker = {.name = name, .stack = stack_none(), .schema = schema, .category = 1};
    marker.start_ns = marker.end_ns = 101000000;
    profile_add_marker(&profile, thread, marker, nothing);
    marker.phase = MARKER_INTERVAL;
    marker.stack = stack;
    marker.end_ns = 103500000;
    profile_add_marker(&profile, thread, marker, values);
    marker.stack = stack_none();
    marker.phase = MARKER_INTERVAL_START;
    marker.start_ns = marker.end_ns = 104000000;
    profile_add_marker(&profile, thread, marker, values);
    marker.phase = MARKER_INTERVAL_END;
    marker.start_ns = marker.end_ns = 105000000;
    profile_add_marker(&profile, thread, marker, values);
}

/* Adds two processes. The second thread of the first has most samples; the other process has only markers. */
static void add_rich_profile(void) {
    stack_id stack = add_rich_stack();
    process_id first = profile_add_process(&profile, 100, 0);
    process_id second = profile_add_process(&profile, 200, 1);
    struct process *ended = profile_process_at(&profile, second);
    ended->start_ns = 101500000;
    ended->end_ns = 120000000;
    struct thread *main_thread = add_thread(first, 100, "main \"quoted\"");
    struct thread *worker = add_thread(first, 101, "worker");
    struct thread *other = profile_thread_at(&profile, profile_add_thread(&profile, second, 200, 1));
    other->name = TEXT("other");
    other->start_ns = 102000000;
    other->end_ns = 119000000;
    thread_add_sample(main_thread, 100000000, stack, weight_of(1500000, 0));
    thread_add_sample(worker, 102000000, stack_none(), weight_of(1, 0));
    thread_add_sample(worker, 100500000, stack, weight_of(1, 1));
    add_markers(other, stack);
    profile.meta.weight_type = WEIGHT_TRACING_MS;
    profile.meta.cpu_delta_unit = CPU_DELTA_NS;
    profile_add_extra(&profile, TEXT("Trace"), TEXT("Command"), TEXT("./demo"));
}

static void the_tables_have_all_columns(void **state) {
    add_rich_profile();
    char *text = finish_and_emit();
    assert_has(text,
               "\"libs\":[{\"arch\":\"\",\"name\":\"libdemo.so\",\"path\":\"/usr/lib/libdemo.so\","
               "\"debugName\":\"libdemo.so\",\"debugPath\":\"/usr/lib/libdemo.so\","
               "\"breakpadId\":\"0403020106050807090A0B0C0D0E0F100\","
               "\"codeId\":\"0102030405060708090a0b0c0d0e0f1011121314\"},"
               "{\"arch\":\"\",\"name\":\"bare\",\"path\":\"/opt/bare\",\"debugName\":\"bare\","
               "\"debugPath\":\"/opt/bare\",\"breakpadId\":\"\",\"codeId\":null}]");
    assert_has(text, "\"stackTable\":{\"frame\":[0,1,2],\"prefixOffset\":[0,1,1],\"length\":3}");
    assert_has(text,
               "\"frameTable\":{\"address\":[-1,4112,4112],\"inlineDepth\":[0,0,1],\"category\":[2,1,1],"
               "\"subcategory\":[0,1,1],\"func\":[2,0,1],\"lib\":[-1,0,0],\"nativeSymbol\":[null,0,0],"
               "\"innerWindowID\":[null,null,null],\"line\":[4,12,null],\"column\":[null,5,null],"
               "\"originalLocation\":[null,null,null],\"length\":3}");
    assert_has(text,
               "\"funcTable\":{\"name\":[0,3,4],\"isJS\":[false,false,true],\"relevantForJS\":[false,false,false],"
               "\"resource\":[0,0,-1],\"source\":[0,null,1],\"lineNumber\":[10,null,3],\"columnNumber\":[2,null,null],"
               "\"originalLocation\":[null,null,null],\"length\":3}");
    assert_has(text, "\"resourceTable\":{\"name\":[1],\"host\":[null],\"type\":[1],\"length\":1}");
    assert_has(
        text,
        "\"nativeSymbols\":{\"libIndex\":[0],\"address\":[4096],\"name\":[0],\"functionSize\":[null],\"length\":1}");
    assert_has(text,
               "\"sources\":{\"id\":[null,null],\"filename\":[2,5],\"startLine\":[1,1],\"startColumn\":[1,1],"
               "\"sourceMapURL\":[null,null],\"content\":[null,null],\"length\":2}");
    assert_has(
        text,
        "\"stringArray\":[\"outer\",\"libdemo.so\",\"/src/demo.c\",\"inlined \xc3\xa4\\n\",\"onClick\",\"app.js\","
        "\"demo marker\",\"thing\"]");
    assert_has(text,
               "\"categories\":[{\"name\":\"Other\",\"color\":\"grey\",\"subcategories\":[\"Other\"]},"
               "{\"name\":\"Kernel\",\"color\":\"orange\",\"subcategories\":[\"Other\",\"vmlinux\"]},"
               "{\"name\":\"User\",\"color\":\"yellow\",\"subcategories\":[\"Other\"]}]");
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

static void a_marker_of_the_overview_has_a_strip(void **state) {
    assert_int_equal(count_strips(&(struct marker_schema){.name = TEXT("Shown")}), 1);
}

static void a_marker_of_other_places_has_no_strip(void **state) {
    assert_int_equal(count_strips(&(struct marker_schema){.name = TEXT("Hidden"), .display = MARKER_DISPLAY_CHART}), 0);
}

static void a_marker_without_a_schema_has_no_strip(void **state) { assert_int_equal(count_strips(NULL), 0); }

static void threads_stand_in_order_with_their_processes(void **state) {
    add_rich_profile();
    char *text = finish_and_emit();
    /* The viewer selects the thread with the most processor time, among those that it does not hide. */
    assert_null(strstr(text, "initialSelectedThreads"));
    assert_has(
        text,
        "\"threads\":[{\"name\":\"main \\\"quoted\\\"\",\"isMainThread\":true,\"processType\":\"main \\\"quoted\\\"\","
        "\"processName\":\"main \\\"quoted\\\"\",\"pid\":\"100\",\"tid\":100,");
    assert_has(text,
               "{\"name\":\"worker\",\"isMainThread\":false,\"processType\":\"main \\\"quoted\\\"\","
               "\"processName\":\"main \\\"quoted\\\"\",\"pid\":\"100\",\"tid\":101,\"processStartupTime\":0,"
               "\"processShutdownTime\":null,\"registerTime\":0,\"unregisterTime\":null,\"pausedRanges\":[],"
               "\"samples\":{\"stack\":[2,null],\"timeDeltas\":[0.5,1.5],\"weight\":[0.0000001,0.000001],"
               "\"weightType\":\"tracing-ms\",\"threadCPUDelta\":[0,1],\"length\":2}");
    assert_has(text,
               "{\"name\":\"other\",\"isMainThread\":true,\"processType\":\"other\",\"processName\":\"other\","
               "\"pid\":\"200.2\",\"tid\":\"200.2\",\"processStartupTime\":1.5,\"processShutdownTime\":20,"
               "\"registerTime\":2,\"unregisterTime\":19,\"pausedRanges\":[],\"showMarkersInTimeline\":true,"
               "\"samples\":{\"stack\":[],\"timeDeltas\":[],\"weight\":[],\"weightType\":\"tracing-ms\","
               "\"length\":0}");
    assert_int_equal(count_of(text, "\"isMainThread\":"), 3);
    free(text);
}

static void markers_have_payloads_and_a_schema(void **state) {
    add_rich_profile();
    char *text = finish_and_emit();
    assert_has(text,
               "\"markerSchema\":[{\"name\":\"DemoMarker\","
               "\"display\":[\"marker-chart\",\"marker-table\",\"timeline-overview\"],"
               "\"tableLabel\":\"{marker.name}: {marker.data.what}\",\"description\":\"What a demo marks.\","
               "\"fields\":[{\"key\":\"what\",\"label\":\"What\",\"format\":\"unique-string\"},"
               "{\"key\":\"amount\",\"label\":\"Amount\",\"format\":\"decimal\"}]}]");
    assert_has(text,
               "\"markers\":{\"name\":[6,6,6,6],\"startTime\":[1,1,4,null],\"endTime\":[null,3.5,null,5],"
               "\"phase\":[0,1,2,3],\"category\":[1,1,1,1],"
               "\"data\":[{\"type\":\"DemoMarker\",\"amount\":7},"
               "{\"type\":\"DemoMarker\",\"what\":7,\"amount\":-1.25,\"cause\":{\"stack\":2}},"
               "{\"type\":\"DemoMarker\",\"what\":7,\"amount\":-1.25},"
               "{\"type\":\"DemoMarker\",\"what\":7,\"amount\":-1.25}],\"length\":4}");
    free(text);
}

/* The samples take more than one run of a column and more than one chunk of text. */
static void many_samples_keep_their_order(void **state) {
    enum { COUNT = 100000 };
    stack_id stacks[2];
    stacks[0] = profile_stack(&profile, stack_none(), label_frame("main"));
    stacks[1] = profile_stack(&profile, stacks[0], label_frame("work"));
    struct thread *thread = add_thread(profile_add_process(&profile, 7, 0), 7, "demo");
    for (int i = 0; i < COUNT; i++)
        thread_add_sample(thread, (int64_t)i * 1000001, stacks[i % 2], weight_of(i % 10, 0));
    profile.meta.weight_type = WEIGHT_SAMPLES;
    char *text = finish_and_emit();
    const char *at = strstr(text, "\"samples\":{\"stack\":[");
    assert_non_null(at);
    at += strlen("\"samples\":{\"stack\":[");
    for (int i = 0; i < COUNT; i++, at += 2) assert_int_equal(at[0], '0' + i % 2);
    assert_memory_equal(at - 1, "],\"timeDeltas\":[0,", 18);
    at += 17;
    for (int i = 1; i < COUNT; i++, at += 9) assert_memory_equal(at, "1.000001", 8);
    assert_memory_equal(at - 1, "],\"weight\":[", 12);
    at += 11;
    for (int i = 0; i < COUNT; i++, at += 2) assert_int_equal(at[0], '0' + i % 10);
    assert_memory_equal(at - 1, "],\"weightType\":\"samples\",\"length\":100000}", 41);
    free(text);
}

/* Many small threads must not take a chunk for each of their columns. */
static void small_threads_share_chunks(void **state) {
    process_id process = profile_add_process(&profile, 1, 0);
    stack_id stack = profile_stack(&profile, stack_none(), label_frame("main"));
    for (int i = 0; i < 2000; i++) thread_add_sample(add_thread(process, 1 + i, "thread"), i, stack, weight_of(1, 0));
    profile_finish(&profile);
    struct chunk_list out;
    chunk_list_init(&out, &failure);
    emitter_processed.emit(&profile, &profile.ledger, &out, &(struct emit_options){.thread_count = 1},
                           (struct progress){0});
    uint64_t capacity_bytes = 0;
    for (const struct chunk *chunk = out.first; chunk; chunk = chunk->next) capacity_bytes += chunk->capacity_bytes;
    assert_true(out.total_bytes > 500000);
    assert_true(capacity_bytes < 2 * out.total_bytes);
    chunk_list_fini(&out);
}

/* Returns a number of any length. */
static int64_t mixed_integer(uint32_t i) { return INT64_MIN / (INT64_C(1) << i % 63); }

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
static void payloads_are_whole_across_chunks(void **state) {
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

/* Adds a thread that has rows of every kind. */
static void add_busy_thread(process_id process, int64_t tid, uint32_t row_count, const stack_id stacks[2]) {
    struct thread *thread = add_thread(process, tid, "busy");
    for (uint32_t i = 0; i < row_count; i++) {
        thread_add_sample(thread, tid + i * INT64_C(999), stacks[i % 2], weight_of(i % 10, i % 2));
        samples_set_details(&thread->samples, i % 3 ? i : TIME_NONE, i % 5 ? i : TIME_NONE);
        struct marker marker = {.name = profile_string(&profile, TEXT("tick")),
                                .start_ns = i * INT64_C(1001),
                                .stack = i % 7 ? stack_none() : stacks[0],
                                .schema = MARKER_SCHEMA_NONE};
        profile_add_marker(&profile, thread, marker, NULL);
    }
}

/* Threads of all sizes follow one another, and every shared table is long. */
static void any_number_of_threads_writes_the_same(void **state) {
    /* Enough rows for several threads to write each table. The thread sanitizer makes them slow. */
    enum {
        CYCLE_COUNT = HAS_THREAD_SANITIZER ? 2 : 3,
        SMALL_COUNT = 100,
        LARGE_ROWS = HAS_THREAD_SANITIZER ? PARALLEL_ROWS_MIN + 2000 : 70000,
        STACK_COUNT = HAS_THREAD_SANITIZER ? PARALLEL_ROWS_MIN + 1000 : 60000
    };
    stack_id stacks[2] = {stack_none(), stack_none()};
    for (uint32_t i = 0; i < STACK_COUNT; i++) {
        char name[32];
        snprintf(name, sizeof name, "function %" PRIu32, i);
        struct text kept = profile_text(&profile, text_of(name));
        frame_id frame = profile_named_frame(&profile, kept, (struct category_pair){0});
        stacks[i % 2] = profile_stack(&profile, i % 10 ? stacks[(i + 1) % 2] : stack_none(), frame);
    }
    for (int64_t cycle = 0; cycle < CYCLE_COUNT; cycle++) {
        process_id process = profile_add_process(&profile, 1 + cycle, 0);
        for (int64_t i = 0; i < SMALL_COUNT; i++)
            add_busy_thread(process, 1000 * cycle + i, (uint32_t)(i % 17) * 5, stacks);
        add_busy_thread(process, 1000 * cycle + 999, LARGE_ROWS, stacks);
    }
    profile.meta.weight_type = WEIGHT_SAMPLES;
    char *expected = finish_and_emit();
    static const unsigned thread_counts[] = {2, 3, 8};
    for (size_t i = HAS_THREAD_SANITIZER; i < sizeof thread_counts / sizeof *thread_counts; i++) {
        char *text = emit_with(thread_counts[i], (struct progress){0});
        assert_false(failure_is_set(&failure));
        assert_string_equal(text, expected);
        free(text);
    }
    free(expected);
}

static void the_same_profile_is_the_same_text(void **state) {
    add_rich_profile();
    char *first = finish_and_emit();
    char *second = emit((struct progress){0});
    assert_string_equal(first, second);
    free(first);
    free(second);
}

static void nothing_is_lost_in_this_format(void **state) {
    add_rich_profile();
    free(finish_and_emit());
    assert_int_equal(profile.ledger.entries.count, 0);
}

static bool note_progress(void *context, const struct gecko_convert_progress *progress) {
    *(unsigned *)context = progress->permille;
    return true;
}

static void progress_reaches_the_end(void **state) {
    add_rich_profile();
    profile_finish(&profile);
    unsigned permille = 0;
    struct progress_root root = {.callback = note_progress, .context = &permille};
    free(emit(progress_whole(&root)));
    assert_int_equal(permille, 1000);
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
static void the_front_end_chooses_active_threads(void **state) {
    add_visible("busy", 1000000, 0, false);
    add_visible("working", 50000, 3, false);
    add_visible("sleeping", 49999, 0, false);
    assert_visible("none");
}

static void threads_with_markers_are_visible(void **state) {
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
static void a_bounded_number_of_threads_is_visible(void **state) {
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

/* The front-end would show only the first one, which has 92 % of the time. */
static void shared_tracks_with_most_of_the_time_are_visible(void **state) {
    add_visible("requests", 920000, 0, false);
    add_visible("requests too", 20000, 0, false);
    add_visible("main", 35000, 0, false);
    add_visible("late", 25000, 0, false);
    ((struct thread *)column_at(&profile.threads, 0))->merged_count = 99;
    assert_visible("0,2");
}

static void no_more_shared_tracks_than_needed_are_visible(void **state) {
    for (int i = 0; i < 3; i++) add_visible("requests", i ? 60000 : 1200000, 0, false);
    ((struct thread *)column_at(&profile.threads, 1))->merged_count = 99;
    assert_visible("0,1");
}

/* Without CPU times, samples that are not idle count. If the weights are CPU time, they do. */
static void activity_is_what_the_front_end_adds_up(void **state) {
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

static void a_failed_conversion_emits_nothing(void **state) {
    add_rich_profile();
    profile_finish(&profile);
    failure_set_memory(&failure);
    char *text = emit((struct progress){0});
    assert_string_equal(text, "");
    free(text);
}

static void emitters_are_found_by_name(void **state) {
    assert_ptr_equal(emitter_by_name("processed"), &emitter_processed);
    assert_string_equal(emitter_processed.title, "processed v70");
    assert_ptr_equal(emitter_by_name(NULL), &emitter_processed);
    assert_null(emitter_by_name("process"));
    assert_null(emitter_by_name(""));
    for (size_t i = 0; emitters[i]; i++) assert_ptr_equal(emitter_by_name(emitters[i]->name), emitters[i]);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(a_small_profile_is_exactly_this, begin, end_profile),
        cmocka_unit_test_setup_teardown(weights_are_numbers_of_their_type, begin, end_profile),
        cmocka_unit_test_setup_teardown(weights_tell_the_cpu_time, begin, end_profile),
        cmocka_unit_test_setup_teardown(samples_an_interval_apart_need_no_weights, begin, end_profile),
        cmocka_unit_test_setup_teardown(idle_samples_use_no_cpu_time, begin, end_profile),
        cmocka_unit_test_setup_teardown(metadata_is_written_where_it_is_known, begin, end_profile),
        cmocka_unit_test_setup_teardown(the_tables_have_all_columns, begin, end_profile),
        cmocka_unit_test_setup_teardown(threads_stand_in_order_with_their_processes, begin, end_profile),
        cmocka_unit_test_setup_teardown(a_marker_of_the_overview_has_a_strip, begin, end_profile),
        cmocka_unit_test_setup_teardown(a_marker_of_other_places_has_no_strip, begin, end_profile),
        cmocka_unit_test_setup_teardown(a_marker_without_a_schema_has_no_strip, begin, end_profile),
        cmocka_unit_test_setup_teardown(markers_have_payloads_and_a_schema, begin, end_profile),
        cmocka_unit_test_setup_teardown(payloads_are_whole_across_chunks, begin, end_profile),
        cmocka_unit_test_setup_teardown(many_samples_keep_their_order, begin, end_profile),
        cmocka_unit_test_setup_teardown(small_threads_share_chunks, begin, end_profile),
        cmocka_unit_test_setup_teardown(any_number_of_threads_writes_the_same, begin, end_profile),
        cmocka_unit_test_setup_teardown(the_same_profile_is_the_same_text, begin, end_profile),
        cmocka_unit_test_setup_teardown(nothing_is_lost_in_this_format, begin, end_profile),
        cmocka_unit_test_setup_teardown(progress_reaches_the_end, begin, end_profile),
        cmocka_unit_test_setup_teardown(the_front_end_chooses_active_threads, begin, end_profile),
        cmocka_unit_test_setup_teardown(threads_with_markers_are_visible, begin, end_profile),
        cmocka_unit_test_setup_teardown(shared_tracks_with_most_of_the_time_are_visible, begin, end_profile),
        cmocka_unit_test_setup_teardown(no_more_shared_tracks_than_needed_are_visible, begin, end_profile),
        cmocka_unit_test_setup_teardown(a_bounded_number_of_threads_is_visible, begin, end_profile),
        cmocka_unit_test_setup_teardown(activity_is_what_the_front_end_adds_up, begin, end_profile),
        cmocka_unit_test_setup_teardown(a_failed_conversion_emits_nothing, begin, end_profile),
        cmocka_unit_test(emitters_are_found_by_name),
    };
    return cmocka_run_group_tests(tests, NULL, NULL);
}
