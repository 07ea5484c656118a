/* Tests the reader of profiles: what bad documents say, parts in any order, and what is lost. What becomes of good ones
 * is tested with all golden profiles, which are read back. */
#include <stdio.h>
#include <stdlib.h>

#include "readers/filter.h"
#include "readers/reader.h"
#include "tests/support/assert_text.h"
#include "tests/support/marker_value.h"
#include "tests/support/profile_fixture.h"
#include "tests/support/unit_test.h"

#define META                                                                                                           \
    "\"meta\":{\"interval\":1,\"startTime\":5,\"preprocessedProfileVersion\":70,\"categories\":[{\"name\":\"Other\","  \
    "\"color\":\"grey\",\"subcategories\":[\"Other\"]}],\"markerSchema\":[{\"name\":\"T\",\"display\":[],\"fields\":[" \
    "{"                                                                                                                \
    "\"key\":\"n\",\"format\":\"integer\"}]}]}"
#define LIBS  "\"libs\":[]"
#define FUNCS "\"name\":[0],\"isJS\":[false],\"resource\":[-1],\"length\":1"
#define SHARED_OF(funcs, frame_columns, stacks)                             \
    "\"shared\":{\"stringArray\":[\"main\",\"mark\"],\"funcTable\":{" funcs \
    "},"                                                                    \
    "\"frameTable\":{" frame_columns "},\"stackTable\":{" stacks "}}"
#define SHARED_WITH(frame_columns, stacks) SHARED_OF(FUNCS, frame_columns, stacks)
#define FRAMES                             "\"func\":[0],\"category\":[0],\"subcategory\":[0],\"length\":1"
#define STACKS                             "\"frame\":[0],\"prefixOffset\":[0],\"length\":1"
#define SHARED                             SHARED_WITH(FRAMES, STACKS)
#define THREADS_WITH(samples, markers)                                                                 \
    "\"threads\":[{\"name\":\"a\",\"pid\":\"1\",\"tid\":1,\"isMainThread\":true,\"samples\":{" samples \
    "},"                                                                                               \
    "\"markers\":{" markers "}}]"
#define SAMPLES "\"stack\":[0,null],\"timeDeltas\":[0.5,1.0000004],\"weight\":[1,2],\"length\":2"
#define MARKERS                                                                                           \
    "\"data\":[{\"n\":7,\"type\":\"T\",\"other\":[1,2]}],\"name\":[1],\"startTime\":[1],\"endTime\":[2]," \
    "\"phase\":[1],\"category\":[0],\"length\":1"
#define THREADS THREADS_WITH(SAMPLES, MARKERS)

static void read_text(struct text text, size_t window_bytes) {
    struct reader_options options = {0};
    struct input *input = input_from_memory(text, window_bytes, &failure);
    reader_profile.run(input, &profile, &options);
    input_close(input);
}

static void check_whole(void) {
    assert_string_equal(failure.message, "");
    assert_int_equal(profile.threads.count, 1);
    const struct thread *thread = profile_thread_at(&profile, (thread_id){0});
    assert_int_equal(samples_count(&thread->samples), 2);
    assert_int_equal(samples_at(&thread->samples, 0)->time_ns, 500000);
    assert_int_equal(samples_at(&thread->samples, 1)->time_ns, 1500000);
    assert_int_equal(samples_at(&thread->samples, 1)->weight, 2);
    assert_true(stack_is_none(samples_at(&thread->samples, 1)->stack));
    const struct marker *marker = column_at(&thread->markers, 0);
    assert_int_equal(marker->start_ns, 1000000);
    assert_int_equal(marker->end_ns, 2000000);
    assert_int_equal(value_of(&profile, marker, 0).number.mantissa, 7);
    assert_int_equal(ledger_sum(&profile.ledger, LEDGER_VALUES, LEDGER_LOST), 1);
    assert_true(ledger_is_balanced(&profile.ledger));
}

TEST(test_parts_in_order, begin_profile, end_profile) {
    read_text(TEXT("{" META "," LIBS "," SHARED "," THREADS "}"), 0);
    check_whole();
}

TEST(test_parts_in_any_order, begin_profile, end_profile) {
    read_text(TEXT(" {" THREADS "," SHARED "," LIBS "," META "}\n"), 0);
    check_whole();
}

TEST(test_any_window, begin_profile, end_profile) {
    read_text(TEXT("{" META "," LIBS "," THREADS "," SHARED "}"), 3);
    check_whole();
}

TEST(test_probe, begin_profile, end_profile) {
    assert_int_equal(reader_profile.probe(TEXT("{" META), true), PROBE_SURE);
    assert_int_equal(reader_profile.probe(TEXT("\xef\xbb\xbf {" META), true), PROBE_SURE);
    assert_int_equal(reader_profile.probe(TEXT("{\"meta\":{\"interval\":1,\"processType\":0"), true), PROBE_NO);
    assert_int_equal(reader_profile.probe(TEXT("{\"traceEvents\":[{\"meta\":1}]}"), true), PROBE_NO);
    assert_int_equal(reader_profile.probe(TEXT("main;\"meta\" 1"), true), PROBE_NO);
    assert_int_equal(reader_profile.probe(TEXT("{\"meta\":{\"version\":36,\"startTime\":0,\"markerSchema\":["), false),
                     PROBE_SURE);
}

/* ---- The Gecko format. ---- */

#define GECKO_META    "\"meta\":{\"version\":36,\"startTime\":0,\"markerSchema\":[],\"categories\":[]}"
#define GECKO_FRAMES  "{\"schema\":{\"location\":0},\"data\":[[0]]}"
#define GECKO_STACKS  "{\"schema\":{\"prefix\":0,\"frame\":1},\"data\":[[null,0]]}"
#define GECKO_SAMPLES "{\"schema\":{\"stack\":0,\"time\":1},\"data\":[[0,1]]}"
#define GECKO_MARKERS "{\"schema\":{\"name\":0,\"startTime\":1,\"endTime\":2,\"phase\":3,\"category\":4},\"data\":[]}"
#define GECKO_THREAD(frames_, stacks_, samples_, markers_)                                       \
    "{\"name\":\"GeckoMain\",\"pid\":1,\"tid\":1,\"samples\":" samples_ ",\"markers\":" markers_ \
    ",\"stackTable\":" stacks_ ",\"frameTable\":" frames_ ",\"stringTable\":[\"f\"]}"
#define GECKO(threads_) "{" GECKO_META ",\"libs\":[],\"threads\":[" threads_ "],\"processes\":[]}"

TEST(test_gecko, begin_profile, end_profile) {
    static const struct text document =
        TEXT(GECKO(GECKO_THREAD(GECKO_FRAMES, GECKO_STACKS, GECKO_SAMPLES, GECKO_MARKERS)));
    for (size_t window_bytes = 0; window_bytes < document.bytes_count; window_bytes++) {
        end_profile(state);
        begin_profile(state);
        read_text(document, window_bytes);
        assert_string_equal(failure.message, "");
        const struct thread *thread = profile_thread_at(&profile, (thread_id){0});
        assert_true(thread->is_main);
        assert_int_equal(samples_count(&thread->samples), 1);
        assert_int_equal(samples_at(&thread->samples, 0)->time_ns, 1000000);
        assert_int_equal(samples_at(&thread->samples, 0)->stack.index, 0);
    }
}

/* Where libraries overlap, the first one counts. One without bytes contains no address. */
TEST(test_libraries_that_overlap, begin_profile, end_profile) {
    static const struct text document = TEXT(
        "{" GECKO_META
        ",\"libs\":[{\"path\":\"/none\",\"start\":48,\"end\":16},{\"path\":\"/in\",\"start\":32,"
        "\"end\":48},{\"path\":\"/around\",\"start\":16,\"end\":64,\"offset\":256}],\"threads\":[{\"name\":\"a\","
        "\"pid\":1,\"tid\":1,\"samples\":" GECKO_SAMPLES ",\"markers\":" GECKO_MARKERS ",\"stackTable\":" GECKO_STACKS
        ",\"frameTable\":{\"schema\":{\"location\":0},\"data\":[[0],[1],[2],[3],[4]]},\"stringTable\":[\"0x10\","
        "\"0x20\",\"0x2f\",\"0x3f\",\"0x40\"]}],\"processes\":[]}");
    read_text(document, 0);
    static const int32_t addresses[] = {256, 0, 15, 303, ADDRESS_NONE};
    static const char *const names[] = {"/around", "/in", "/in", "/around"};
    assert_string_equal(failure.message, "");
    for (uint32_t i = 0; i < 5; i++) {
        const struct frame *frame = profile_frame_at(&profile, (frame_id){i});
        assert_int_equal(frame->address, addresses[i]);
        if (i < 4) assert_true(text_equal(libs_at(&profile.libs, frame->lib)->path, text_of(names[i])));
    }
}

struct refusal {
    struct text document;
    const char *message;
};

static void assert_refused(const struct refusal *cases, size_t case_count) {
    for (size_t i = 0; i < case_count; i++) {
        end_profile(NULL);
        begin_profile(NULL);
        read_text(cases[i].document, 0);
        assert_string_equal(failure.message, cases[i].message);
        assert_true(failure.has_position);
    }
}

TEST(test_gecko_refusals, begin_profile, end_profile) {
    static const struct refusal cases[] = {
        {TEXT("{\"meta\":{\"version\":37,\"startTime\":0,\"markerSchema\":[]}}"),
         "meta.version: this profile has version 37, which is newer than 36"},
        {TEXT("{\"meta\":{\"version\":23,\"startTime\":0,\"markerSchema\":[]}}"),
         "meta.version: this profile has version 23, and 24 to 36 are read: open it at https://profiler.firefox.com "
         "and "
         "save it again"},
        {TEXT("{" GECKO_META "}"), "there is no \"libs\""},
        {TEXT("{" GECKO_META ",\"libs\":[{\"start\":1.5}],\"threads\":[]}"), "libs: this is no address"},
        {TEXT(GECKO("{\"name\":\"a\"}")), "threads[0]: there is no \"stringTable\""},
        {TEXT(GECKO(GECKO_THREAD("{\"data\":[]}", GECKO_STACKS, GECKO_SAMPLES, GECKO_MARKERS))),
         "threads[0].frameTable: there is no \"schema\""},
        {TEXT(GECKO(GECKO_THREAD("{\"schema\":{\"location\":0,\"line\":0},\"data\":[]}", GECKO_STACKS, GECKO_SAMPLES,
                                 GECKO_MARKERS))),
         "threads[0].frameTable.schema: two columns have the number 0"},
        {TEXT(GECKO(
             GECKO_THREAD("{\"schema\":{\"location\":32},\"data\":[]}", GECKO_STACKS, GECKO_SAMPLES, GECKO_MARKERS))),
         "threads[0].frameTable.schema: 32 is not between 0 and 31"},
        {TEXT(GECKO(
             GECKO_THREAD("{\"schema\":{\"location\":0},\"data\":[[1]]}", GECKO_STACKS, GECKO_SAMPLES, GECKO_MARKERS))),
         "threads[0].frameTable.data: there is no row 1: the table has 1"},
        {TEXT(GECKO(
             GECKO_THREAD("{\"schema\":{\"location\":0},\"data\":[[]]}", GECKO_STACKS, GECKO_SAMPLES, GECKO_MARKERS))),
         "threads[0].frameTable: frame 0 has no location"},
        {TEXT(GECKO(GECKO_THREAD(GECKO_FRAMES, "{\"schema\":{\"prefix\":0,\"frame\":1},\"data\":[[0,0]]}",
                                 GECKO_SAMPLES, GECKO_MARKERS))),
         "threads[0].stackTable: stack 0 has prefix 0, which is not an earlier row"},
        {TEXT(GECKO(GECKO_THREAD(GECKO_FRAMES, GECKO_STACKS, "{\"schema\":{\"stack\":0,\"time\":1},\"data\":[[1,1]]}",
                                 GECKO_MARKERS))),
         "threads[0].samples.data: there is no row 1: the table has 1"},
        {TEXT(GECKO(GECKO_THREAD(GECKO_FRAMES, GECKO_STACKS, "{\"schema\":{\"stack\":0,\"time\":1},\"data\":[[0]]}",
                                 GECKO_MARKERS))),
         "threads[0].samples: sample 0 has no time"},
        {TEXT(GECKO(GECKO_THREAD(GECKO_FRAMES, GECKO_STACKS, GECKO_SAMPLES,
                                 "{\"schema\":{\"name\":0,\"phase\":1},\"data\":[[0,0]]}"))),
         "threads[0].markers: marker 0 lacks a time that its phase needs"},
    };
    assert_refused(cases, sizeof cases / sizeof *cases);
}

/* ---- Text that is no profile. ---- */

TEST(test_refusals, begin_profile, end_profile) {
    static const struct refusal cases[] = {
        {TEXT(""), "this is not JSON: the text ends too early"},
        {TEXT("[]"), "there is a list where an object is expected"},
        {TEXT("{\"meta\":{\"preprocessedProfileVersion\":76}}"),
         "meta.preprocessedProfileVersion: this profile has version 76, which is newer than 75"},
        {TEXT("{\"meta\":{}}"), "meta: there is no \"preprocessedProfileVersion\""},
        {TEXT("{\"meta\":{\"preprocessedProfileVersion\":46}}"),
         "meta.preprocessedProfileVersion: this profile has version 46, and 47 to 75 are read: open it at "
         "https://profiler.firefox.com and save it again"},
        {TEXT("{\"meta\":{\"interval\":1"), "meta: this is not JSON: the text ends too early"},
        {TEXT("{\"meta\":{\"interval\":NaN}}"), "meta.interval: this is not JSON: a value is missing here"},
        {TEXT("{\"meta\":{\"interval\":01}}"), "meta.interval: this is not JSON: this is no number"},
        {TEXT("{\"meta\":{\"product\":\"\xff\"}}"), "meta.product: this is not JSON: a text is not UTF-8"},
        {TEXT("{\"meta\":{\"product\":\"a\nb\"}}"), "meta.product: this is not JSON: a control character in a text"},
        {TEXT("{\"meta\":{\"interval\":-1}}"), "meta.interval: the interval is negative"},
        {TEXT("{\"meta\":{\"interval\":1,\"interval\":2}}"), "meta: the key \"interval\" is there twice"},
        {TEXT("{" META "," LIBS "," SHARED ",\"threads\":[{\"name\":\"a\",\"name\":\"b\"}]}"),
         "threads[0]: the key \"name\" is there twice"},
        {TEXT("{" META "," LIBS "," SHARED "," THREADS "} x"), "this is not JSON: something follows the document"},
        {TEXT("{" META "," LIBS "," SHARED "}"), "there is no \"threads\""},
        {TEXT("{" META "," META "}"), "the key \"meta\" is there twice"},
        {TEXT("{" META "," LIBS "," SHARED_WITH("\"func\":[3],\"category\":[0],\"length\":1", STACKS) "," THREADS "}"),
         "shared.frameTable.func: there is no row 3: the table has 1"},
        {TEXT("{" META "," LIBS "," SHARED_WITH("\"func\":[0],\"category\":[7],\"length\":1", STACKS) "," THREADS "}"),
         "shared: there is no category 7"},
        {TEXT("{" META "," LIBS "," SHARED_WITH("\"func\":[0],\"category\":[0],\"length\":2", STACKS) "," THREADS "}"),
         "shared.frameTable.category: the column has 1 rows, and the table 2"},
        {TEXT("{" META "," LIBS
              "," SHARED_WITH(FRAMES, "\"frame\":[0,0],\"prefixOffset\":[0,2],\"length\":2") "," THREADS "}"),
         "shared.stackTable.prefixOffset: 2 is not between 0 and 1"},
        {TEXT("{\"meta\":{\"interval\":1,\"startTime\":5,\"preprocessedProfileVersion\":65,\"categories\":[{"
              "\"name\":\"Other\",\"color\":\"grey\",\"subcategories\":[\"Other\"]}],\"markerSchema\":[]}," LIBS
              "," SHARED_WITH(FRAMES, "\"frame\":[0],\"prefix\":[0],\"length\":1") "," THREADS "}"),
         "shared.stackTable: stack 0 has prefix 0, which is not an earlier row"},
        {TEXT("{" META "," LIBS "," SHARED
              "," THREADS_WITH("\"stack\":[1],\"timeDeltas\":[0],\"length\":1", MARKERS) "}"),
         "threads[0].samples.stack: there is no row 1: the table has 1"},
        {TEXT("{" META "," LIBS "," SHARED
              "," THREADS_WITH("\"stack\":[-1],\"timeDeltas\":[0],\"length\":1", MARKERS) "}"),
         "threads[0].samples.stack: there is null or -1 where the number of a row is expected"},
        {TEXT("{" META "," LIBS "," SHARED
              "," THREADS_WITH("\"length\":1,\"stack\":[0],\"timeDeltas\":[0],\"length\":1", MARKERS) "}"),
         "threads[0].samples: the key \"length\" is there twice"},
        {TEXT("{" META "," LIBS "," SHARED
              "," THREADS_WITH("\"stack\":[0],\"timeDeltas\":[\"0\"],\"length\":1", MARKERS) "}"),
         "threads[0].samples.timeDeltas: there is a text where a number is expected"},
        {TEXT("{" META "," LIBS "," SHARED
              "," THREADS_WITH("\"stack\":[0],\"timeDeltas\":[1e40],\"length\":1", MARKERS) "}"),
         "threads[0].samples.timeDeltas: the number is too large"},
        {TEXT("{" META "," LIBS "," SHARED
              "," THREADS_WITH("\"stack\":[0],\"timeDeltas\":[null],\"length\":1", MARKERS) "}"),
         "threads[0].samples.timeDeltas: the first time is null"},
        {TEXT("{" META "," LIBS "," SHARED "," THREADS_WITH(
             SAMPLES,
             "\"name\":[1],\"phase\":[1],\"startTime\":[1],\"category\":[0],\"data\":[null],\"length\":1") "}"),
         "threads[0].markers: marker 0 lacks a time that its phase needs"},
        {TEXT("{" META "," LIBS "," SHARED "," THREADS_WITH(
             SAMPLES, "\"name\":[1],\"phase\":[4],\"startTime\":[1],\"category\":[0],\"length\":1") "}"),
         "threads[0].markers.phase: 4 is not between 0 and 3"},
    };
    assert_refused(cases, sizeof cases / sizeof *cases);
}

/* Before version 62 counters have no display, before 66 stacks have prefixes, and before 70 resources have libraries.
 */
TEST(test_older_version, begin_profile, end_profile) {
    read_text(
        TEXT("{\"meta\":{\"interval\":1,\"startTime\":5,\"preprocessedProfileVersion\":60,\"categories\":[{"
             "\"name\":\"Other\",\"color\":\"grey\",\"subcategories\":[\"Other\"]}],\"markerSchema\":[]},"
             "\"libs\":[{\"name\":\"a.so\",\"path\":\"/a.so\",\"debugName\":\"a.so\",\"breakpadId\":\"1\"}],"
             "\"shared\":{\"stringArray\":[\"main\",\"a.so\"],\"frameTable\":{\"func\":[0,0],"
             "\"address\":[7,-1],\"category\":[0,null],\"length\":2},\"funcTable\":{\"name\":[0],\"isJS\":[false],"
             "\"resource\":[0],\"length\":1},\"resourceTable\":{\"name\":[1],\"lib\":[0],\"type\":[1],"
             "\"length\":1},\"stackTable\":{\"frame\":[1,0],\"prefix\":[null,0],\"length\":2}},"
             "\"counters\":[{\"name\":\"malloc\",\"category\":\"Memory\",\"pid\":\"1\",\"samples\":{"
             "\"time\":[1,2],\"count\":[5,6],\"length\":2}}]," THREADS_WITH("\"stack\":[1],\"time\":[2],\"length\":1",
                                                                            "\"name\":[],\"length\":0") "}"),
        0);
    assert_string_equal(failure.message, "");
    const struct sample *sample = samples_at(&profile_thread_at(&profile, (thread_id){0})->samples, 0);
    const struct stack *stack = profile_stack_at(&profile, sample->stack);
    const struct frame *frame = profile_frame_at(&profile, stack->frame);
    assert_int_equal(sample->time_ns, 2000000);
    assert_int_equal(frame->address, 7);
    assert_int_equal(frame->lib.index, 0);
    const struct frame *caller = profile_frame_at(&profile, profile_stack_at(&profile, stack->prefix)->frame);
    assert_true(lib_is_none(caller->lib));
    const struct counter *counter = column_at(&profile.counters, 0);
    assert_int_equal(counter->graph, COUNTER_ACCUMULATED);
    assert_int_equal(counter->color, GRAPH_ORANGE);
    assert_int_equal(((const struct counter_sample *)column_at(&counter->samples, 0))->change, 0);
    assert_int_equal(((const struct counter_sample *)column_at(&counter->samples, 1))->change, 6);
    assert_int_equal(ledger_sum(&profile.ledger, LEDGER_VALUES, LEDGER_LOST), 0);
}

static void read_filtered(enum gecko_convert_filter_kind kind, const char *value) {
    const struct gecko_convert_filter given = {.kind = kind, .value = value};
    struct filter filter;
    struct input *input = input_from_memory(TEXT("{" META "," LIBS "," SHARED "," THREADS "}"), 0, &failure);
    filter_init(&filter, &given, 1, &failure);
    reader_profile.run(input, &profile, &(struct reader_options){.filter = &filter});
    filter_fini(&filter);
    input_close(input);
    assert_string_equal(failure.message, "");
    assert_true(ledger_is_balanced(&profile.ledger));
}

TEST(test_filter_of_times, begin_profile, end_profile) {
    read_filtered(GECKO_CONVERT_FILTER_TIME, "0.0008-");
    const struct thread *thread = profile_thread_at(&profile, (thread_id){0});
    assert_int_equal(samples_count(&thread->samples), 1);
    assert_int_equal(samples_at(&thread->samples, 0)->weight, 2);
    assert_int_equal(ledger_sum(&profile.ledger, LEDGER_SAMPLES, LEDGER_FILTERED), 1);
    /* The marker from 1 to 2 ms begins where the given time begins: 0.8 ms after the first sample. */
    assert_int_equal(((const struct marker *)column_at(&thread->markers, 0))->start_ns, 1300000);
}

TEST(test_filter_of_processes, begin_profile, end_profile) {
    read_filtered(GECKO_CONVERT_FILTER_PID, "2");
    const struct thread *thread = profile_thread_at(&profile, (thread_id){0});
    assert_int_equal(samples_count(&thread->samples), 0);
    assert_int_equal(thread->markers.count, 0);
    assert_int_equal(ledger_sum(&profile.ledger, LEDGER_SAMPLES, LEDGER_FILTERED), 2);
}

/* Reads a profile of one frame, and returns how many values are lost. */
static uint64_t count_lost(const char *meta, const char *frame_columns, const char *shared) {
    static const char version[] = "\"meta\":{\"interval\":1,\"startTime\":5,\"preprocessedProfileVersion\":70,";
    static char text[2048];
    int count = snprintf(text, sizeof text,
                         "{%s%s\"categories\":[{\"name\":\"Other\",\"color\":\"grey\",\"subcategories\":[\"Other\"]}]},"
                         "\"libs\":[{\"name\":\"x.so\",\"debugName\":\"x.so\",\"path\":\"/x.so\","
                         "\"debugPath\":\"/x.so\",\"arch\":\"\",\"breakpadId\":\"\",\"codeId\":null}],"
                         "\"shared\":{%s\"stringArray\":[\"main\",\"mark\"],"
                         "\"funcTable\":{" FUNCS
                         "},"
                         "\"frameTable\":{\"func\":[0],\"category\":[0],\"subcategory\":[0],%s\"length\":1},"
                         "\"stackTable\":{" STACKS "}}," THREADS_WITH(SAMPLES, "\"length\":0") "}",
                         version, meta, shared, frame_columns);
    assert_in_range(count, 1, sizeof text - 1);
    read_text((struct text){text, (size_t)count}, 0);
    assert_string_equal(failure.message, "");
    return ledger_sum(&profile.ledger, LEDGER_VALUES, LEDGER_LOST);
}

static void expect_address(int32_t address) {
    stack_id stack = samples_at(&profile_thread_at(&profile, (thread_id){0})->samples, 0)->stack;
    const struct frame *frame = profile_frame_at(&profile, profile_stack_at(&profile, stack)->frame);
    assert_int_equal(frame->address, address);
    assert_int_equal(lib_is_none(frame->lib), address == ADDRESS_NONE);
}

TEST(test_subcategory_that_is_not_there, begin_profile, end_profile) {
    read_text(TEXT("{" META "," LIBS "," SHARED_WITH("\"func\":[0],\"category\":[0],\"subcategory\":[7],\"length\":1",
                                                     STACKS) "," THREADS "}"),
              0);
    assert_string_equal(failure.message, "");
    uint64_t count = 0;
    COLUMN_EACH(const struct ledger_entry, entry, &profile.ledger.entries)
        if (entry->fate == LEDGER_LOST && text_has(entry->cause, TEXT("subcategory"))) count += entry->count;
    assert_int_equal(count, 1);
}

TEST(test_whole_address, begin_profile, end_profile) {
    assert_int_equal(count_lost("", "\"address\":[16],\"lib\":[0],", ""), 0);
    expect_address(16);
}

TEST(test_address_without_library, begin_profile, end_profile) {
    assert_int_equal(count_lost("", "\"address\":[16],\"lib\":[null],", ""), 1);
    expect_address(ADDRESS_NONE);
}

TEST(test_library_without_address, begin_profile, end_profile) {
    assert_int_equal(count_lost("", "\"address\":[-1],\"lib\":[0],", ""), 1);
    expect_address(ADDRESS_NONE);
}

TEST(test_symbol_of_another_library, begin_profile, end_profile) {
    static const char symbols[] = "\"nativeSymbols\":{\"libIndex\":[0],\"address\":[16],\"name\":[0],\"length\":1},";
    assert_int_equal(count_lost("", "\"nativeSymbol\":[0],", symbols), 1);
}

/* ---- Columns. ---- */

/* Numbers in any form, between which any separators stand. Columns of plain ones are read many at a time. */
static const struct {
    const char *text;
    int64_t ns;
    const char *separator;
} times[] = {
    {"0", 0, ","},
    {"7", 7000000, ","},
    {"0.000001", 1, ","},
    {"12345678", 12345678000000, ","},
    {"123456789.123456", 123456789123456, ","},
    {"1.5", 1500000, ","},
    {"1e1", 10000000, ","},
    {"-1.25", -1250000, ","},
    {"1234567890123", 1234567890123000000, ","},
    {"-1234567890123", -1234567890123000000, " ,"},
    {"16.000000", 16000000, ",\n  "},
    {"-0", 0, ","},
    {"9.0000000", 9000000, ","},
};

static void check_column(size_t count, size_t start, size_t window_bytes) {
    enum { TIMES = sizeof times / sizeof *times };
    char *stacks = NULL, *deltas = NULL, *document = NULL;
    size_t stacks_bytes, deltas_bytes;
    FILE *stack_list = open_memstream(&stacks, &stacks_bytes), *delta_list = open_memstream(&deltas, &deltas_bytes);
    for (size_t i = 0; i < count; i++) {
        size_t row = (start + i) % TIMES;
        fprintf(stack_list, "%s0", i ? "," : "");
        fprintf(delta_list, "%s%s", i ? times[(row + TIMES - 1) % TIMES].separator : "", times[row].text);
    }
    fclose(stack_list);
    fclose(delta_list);
    static const char form[] = "{" META "," LIBS "," SHARED "," THREADS_WITH(
        "\"stack\":[%s],\"timeDeltas\":[%s],\"length\":%zu", "\"length\":0") "}";
    int bytes_count = asprintf(&document, form, stacks, deltas, count);
    read_text((struct text){document, (size_t)bytes_count}, window_bytes);
    assert_string_equal(failure.message, "");
    const struct samples *samples = &profile_thread_at(&profile, (thread_id){0})->samples;
    assert_int_equal(samples_count(samples), count);
    int64_t time_ns = 0;
    for (size_t i = 0; i < count; i++) {
        time_ns += times[(start + i) % TIMES].ns;
        assert_int_equal(samples_at(samples, (uint32_t)i)->time_ns, time_ns);
    }
    free(document);
    free(deltas);
    free(stacks);
}

TEST(test_columns_of_any_length) {
    static const size_t counts[] = {1, 2, 15, 64, 255, 256, 257, 513}, windows_bytes[] = {0, 72, 137, 4096};
    for (size_t i = 0; i < sizeof counts / sizeof *counts; i++)
        for (size_t start = 0; start < sizeof times / sizeof *times; start++)
            for (size_t k = 0; k < sizeof windows_bytes / sizeof *windows_bytes; k++) {
                begin_profile(NULL);
                check_column(counts[i], start, windows_bytes[k]);
                end_profile(NULL);
            }
}

/* The viewer makes null of the first time of a thread without samples, if the thread is of a child process. */
TEST(test_no_first_time, begin_profile, end_profile) {
    read_text(TEXT("{" META "," LIBS "," SHARED
                   "," THREADS_WITH("\"stack\":[],\"timeDeltas\":[null],\"length\":0", MARKERS) "}"),
              0);
    assert_string_equal(failure.message, "");
    assert_int_equal(samples_count(&profile_thread_at(&profile, (thread_id){0})->samples), 0);
}

/* Vernier writes null for a column without values, and the viewer reads it. */
TEST(test_column_of_null, begin_profile, end_profile) {
    assert_int_equal(count_lost("", "\"line\":null,\"column\":null,", ""), 0);
    expect_address(ADDRESS_NONE);
}

/* Times, callers and stacks that are null would make another picture, and the viewer fails on them. */
TEST(test_column_that_is_not_null, begin_profile, end_profile) {
    static const struct refusal cases[] = {
        {TEXT("{" META "," LIBS "," SHARED
              "," THREADS_WITH("\"stack\":[0],\"timeDeltas\":null,\"length\":1", MARKERS) "}"),
         "threads[0].samples.timeDeltas: there is null where a list is expected"},
        {TEXT("{" META "," LIBS "," SHARED
              "," THREADS_WITH("\"stack\":null,\"timeDeltas\":[1],\"length\":1", MARKERS) "}"),
         "threads[0].samples.stack: there is null where a list is expected"},
        {TEXT("{" META "," LIBS "," SHARED_WITH(FRAMES, "\"frame\":[0],\"prefixOffset\":null,\"length\":1") "," THREADS
                                                                                                            "}"),
         "shared.stackTable.prefixOffset: there is null where a list is expected"},
        {TEXT("{" META "," LIBS
              "," SHARED_WITH(FRAMES, "\"frame\":[0,0],\"prefixOffset\":[0,null],\"length\":2") "," THREADS "}"),
         "shared.stackTable.prefixOffset: there is null where a number is expected"},
        {TEXT("{" META "," LIBS
              "," SHARED_WITH(FRAMES, "\"frame\":[0,null],\"prefixOffset\":[0,0],\"length\":2") "," THREADS "}"),
         "shared.stackTable.frame: there is null or -1 where the number of a row is expected"},
        {TEXT("{" META "," LIBS "," SHARED_WITH(FRAMES, "\"frame\":[0],\"prefixOffset\":[0],\"length\":-1") "," THREADS
                                                                                                            "}"),
         "shared.stackTable.frame: the column has 1 rows, and the table -1"},
    };
    assert_refused(cases, sizeof cases / sizeof *cases);
}

/* Neither may such a column be empty, missing or shorter than the table. */
TEST(test_column_that_is_needed, begin_profile, end_profile) {
#define THREADS_OF(samples_, markers_) "{" META "," LIBS "," SHARED "," THREADS_WITH(samples_, markers_) "}"
#define STACKS_OF(stacks_)             "{" META "," LIBS "," SHARED_WITH(FRAMES, stacks_) "," THREADS "}"
#define FUNCS_OF(funcs_)               "{" META "," LIBS "," SHARED_OF(funcs_, FRAMES, STACKS) "," THREADS "}"
#define NAMED_MARKERS(count_, rest_)                                                                       \
    "\"name\":[0,0],\"startTime\":[1,2],\"endTime\":[null,null],\"phase\":[0,0],\"category\":[0,0]," rest_ \
    "\"length\":" count_
    static const struct refusal cases[] = {
        {TEXT(THREADS_OF("\"stack\":[0],\"timeDeltas\":[],\"length\":1", MARKERS)),
         "threads[0].samples: sample 0 has no time"},
        {TEXT(THREADS_OF("\"stack\":[0],\"length\":1", MARKERS)), "threads[0].samples: sample 0 has no time"},
        {TEXT(THREADS_OF("\"stack\":[0],\"time\":[null],\"length\":1", MARKERS)),
         "threads[0].samples: sample 0 has no time"},
        {TEXT(THREADS_OF("\"stack\":[0,0],\"time\":[1],\"length\":2", MARKERS)),
         "threads[0].samples.time: the column has 1 rows, and the table 2"},
        {TEXT(THREADS_OF("\"stack\":[],\"timeDeltas\":[1],\"length\":1", MARKERS)),
         "threads[0].samples.stack: the column has 0 rows, and the table 1"},
        {TEXT(THREADS_OF("\"timeDeltas\":[1],\"length\":1", MARKERS)),
         "threads[0].samples.stack: the column has 0 rows, and the table 1"},
        {TEXT(THREADS_OF("\"stack\":[0],\"timeDeltas\":[1],\"length\":1", NAMED_MARKERS("2", "\"data\":[null],"))),
         "threads[0].markers.data: the column has 1 rows, and the table 2"},
        {TEXT(THREADS_OF("\"stack\":[0],\"timeDeltas\":[1],\"length\":1", NAMED_MARKERS("2", ""))),
         "threads[0].markers.data: the column has 0 rows, and the table 2"},
        {TEXT(FUNCS_OF("\"name\":[0],\"resource\":[-1],\"length\":1")),
         "shared.funcTable.isJS: the column has 0 rows, and the table 1"},
        {TEXT(STACKS_OF("\"frame\":[0],\"prefixOffset\":[],\"length\":1")),
         "shared.stackTable.prefixOffset: the column has 0 rows, and the table 1"},
        {TEXT(STACKS_OF("\"frame\":[0],\"length\":1")),
         "shared.stackTable.prefixOffset: the column has 0 rows, and the table 1"},
        {TEXT(STACKS_OF("\"prefixOffset\":[0],\"length\":1")),
         "shared.stackTable.frame: the column has 0 rows, and the table 1"},
    };
    assert_refused(cases, sizeof cases / sizeof *cases);
}

/* Colours that the viewer has no name or no swatch for. */
TEST(test_colors, begin_profile, end_profile) {
    static const enum category_color expected[] = {COLOR_GREY, COLOR_DARKGREY, COLOR_GREEN, COLOR_GREY};
    read_text(TEXT("{\"meta\":{\"version\":36,\"startTime\":0,\"markerSchema\":[],\"categories\":["
                   "{\"name\":\"a\",\"color\":\"gray\"},{\"name\":\"b\",\"color\":\"darkgray\"},"
                   "{\"name\":\"c\",\"color\":\"lightgreen\"},{\"name\":\"d\",\"color\":\"pink\"}]},\"libs\":[],"
                   "\"threads\":[],\"processes\":[]}"),
              0);
    assert_string_equal(failure.message, "");
    assert_int_equal(profile.categories.rows.count, 1 + sizeof expected / sizeof *expected);
    for (uint32_t i = 0; i < sizeof expected / sizeof *expected; i++) {
        const struct category *category = column_at(&profile.categories.rows, 1 + i);
        assert_int_equal(category->color, expected[i]);
    }
    assert_int_equal(ledger_sum(&profile.ledger, LEDGER_VALUES, LEDGER_LOST), 1);
}

/* Firefox describes no types for which the front-end has code. Truth values are numbers. */
TEST(test_types_of_the_front_end, begin_profile, end_profile) {
#define COLUMNS "{\"schema\":{\"name\":0,\"startTime\":1,\"endTime\":2,\"phase\":3,\"data\":4},\"data\":["
#define REQUEST                                                                                            \
    "[0,1,2,1,{\"type\":\"Network\",\"id\":7,\"URI\":\"https://a/\",\"pri\":0,\"status\":\"STATUS_STOP\"," \
    "\"startTime\":1,\"endTime\":2.5,\"responseEnd\":2.25,\"isHttpToHttpsRedirect\":true,\"count\":5120}],"
#define MESSAGE                                                                                               \
    "[0,1,null,0,{\"type\":\"IPC\",\"startTime\":1,\"endTime\":1,\"otherPid\":2,\"messageSeqno\":3,\"side\":" \
    "\"child\","                                                                                              \
    "\"messageType\":\"M\",\"direction\":\"sending\",\"phase\":\"endpoint\",\"sync\":false,\"threadId\":4}],"
#define SCREENSHOT                                                                                   \
    "[0,1,null,0,{\"type\":\"CompositorScreenshot\",\"url\":0,\"windowID\":\"w\",\"windowWidth\":8," \
    "\"windowHeight\":6}]]}"
    static const char text[] =
        GECKO(GECKO_THREAD(GECKO_FRAMES, GECKO_STACKS, GECKO_SAMPLES, COLUMNS REQUEST MESSAGE SCREENSHOT));
    read_text(TEXT(text), 0);
    assert_string_equal(failure.message, "");
    assert_int_equal(ledger_sum(&profile.ledger, LEDGER_VALUES, LEDGER_LOST), 0);
    const struct column *markers = &profile_thread_at(&profile, (thread_id){0})->markers;
    const struct {
        const char *type;
        uint32_t field;
        int64_t number;
    } expected[] = {{"Network", 5, 1}, {"IPC", 8, 0}, {"CompositorScreenshot", 3, 6}};
    for (uint32_t i = 0; i < 3; i++) {
        const struct marker *marker = column_at(markers, i);
        const struct marker_schema *schema = column_at(&profile.marker_schemas, marker->schema);
        assert_true(text_equal(schema->name, text_of(expected[i].type)));
        assert_int_equal(value_of(&profile, marker, expected[i].field).number.mantissa, expected[i].number);
    }
    assert_int_equal(value_of(&profile, column_at(markers, 0), 29).time_ns, 2250000);
    assert_true(text_equal(value_of(&profile, column_at(markers, 1), 2).text, TEXT("2")));
}

/* Other programs have types of these names, too. Their fields are kept, beside those that the front-end needs. */
TEST(test_fields_of_types_of_the_front_end, begin_profile, end_profile) {
    read_text(
        TEXT("{\"meta\":{\"interval\":1,\"startTime\":5,\"preprocessedProfileVersion\":70,\"categories\":[{\"name\":"
             "\"Other\",\"color\":\"grey\",\"subcategories\":[\"Other\"]}],\"markerSchema\":[{\"name\":\"Network\","
             "\"display\":[],\"fields\":[{\"key\":\"host\",\"label\":\"Host\",\"format\":\"string\"},"
             "{\"key\":\"count\",\"label\":\"Bytes\",\"format\":\"integer\"}]}]}," LIBS "," SHARED
             "," THREADS_WITH(SAMPLES,
                              "\"name\":[0],\"startTime\":[1],\"endTime\":[2],\"phase\":[1],\"category\":[0],"
                              "\"data\":[{\"type\":\"Network\",\"host\":\"a\",\"count\":77}],\"length\":1") "}"),
        0);
    assert_string_equal(failure.message, "");
    assert_int_equal(ledger_sum(&profile.ledger, LEDGER_VALUES, LEDGER_LOST), 0);
    const struct marker *marker = column_at(&profile_thread_at(&profile, (thread_id){0})->markers, 0);
    const struct marker_schema *schema = column_at(&profile.marker_schemas, marker->schema);
    assert_int_equal(schema->field_count, 31);
    assert_int_equal(schema->fields[1].format, MARKER_BYTES);
    assert_true(text_equal(schema->fields[1].label, TEXT("Bytes")));
    assert_true(text_equal(value_of(&profile, marker, 0).text, TEXT("a")));
    assert_int_equal(value_of(&profile, marker, 1).number.mantissa, 77);
}

/* Nanoseconds since the epoch have 19 digits. */
TEST(test_times_since_the_epoch, begin_profile, end_profile) {
    static const char text[] = "{" META "," LIBS "," SHARED "," THREADS_WITH(
        "\"stack\":[0],\"timeDeltas\":[1658840265246.673318],\"length\":1", MARKERS) "}";
    read_text(TEXT(text), 0);
    assert_string_equal(failure.message, "");
    const struct thread *thread = profile_thread_at(&profile, (thread_id){0});
    assert_int_equal(samples_at(&thread->samples, 0)->time_ns, 1658840265246673318);
}

/* Such a number is no integer as it is written. */
TEST(test_times_with_exponents, begin_profile, end_profile) {
    static const char text[] =
        "{" META "," LIBS "," SHARED "," THREADS_WITH("\"stack\":[0],\"timeDeltas\":[1.5e3],\"length\":1", MARKERS) "}";
    read_text(TEXT(text), 0);
    assert_string_equal(failure.message, "");
    const struct thread *thread = profile_thread_at(&profile, (thread_id){0});
    assert_int_equal(samples_at(&thread->samples, 0)->time_ns, 1500000000);
}

TEST(test_overhead_without_time, begin_profile, end_profile) {
    static const char text[] = "{" META "," LIBS "," SHARED "," THREADS_WITH(SAMPLES, "\"length\":0") ",\"profilerOverhead\":[{\"pid\":\"1\","
        "\"samples\":{\"time\":[1,null,3],\"locking\":[1,2,3],\"expiredMarkerCleaning\":[0,0,0],\"counters\":[0,0,0],"
        "\"threads\":[4,5,6],\"length\":3}}]}";
    read_text(TEXT(text), 0);
    assert_string_equal(failure.message, "");
    assert_int_equal(profile.overheads.count, 2);
    const struct overhead *last = column_at(&profile.overheads, 1);
    assert_int_equal(last->time_ns, 3000000);
    assert_int_equal(last->threads_ns, 6000);
    assert_int_equal(ledger_sum(&profile.ledger, LEDGER_VALUES, LEDGER_LOST), 1);
}

#define FLAGGED(frame_flags_, func_flags_)                                                                             \
    "{\"meta\":{\"interval\":1,\"startTime\":5,\"preprocessedProfileVersion\":75,\"categories\":[{\"name\":\"Other\"," \
    "\"color\":\"grey\",\"subcategories\":[\"Other\"]}],\"markerSchema\":[]}," LIBS                                    \
    ",\"shared\":{\"stringArray\":[\"main\"],\"funcTable\":{\"name\":[0]," func_flags_                                 \
    "\"length\":1},\"frameTable\":{\"func\":[0],\"line\":[3]," frame_flags_ "\"length\":1},\"stackTable\":{" STACKS    \
    "}}," THREADS_WITH("\"stack\":[0],\"timeDeltas\":[0],\"length\":1", "\"length\":0") "}"

TEST(test_flags, begin_profile, end_profile) {
    read_text(TEXT(FLAGGED("\"flags\":[16],", "\"flags\":[2],")), 0);
    assert_string_equal(failure.message, "");
    assert_int_equal(profile_frame_at(&profile, (frame_id){0})->line, 3);
    assert_int_equal(ledger_sum(&profile.ledger, LEDGER_VALUES, LEDGER_LOST), 1);
    assert_text(ledger_at(&profile.ledger, 0)->cause, "value without a place here: shared.funcTable.relevantForJS");
}

TEST(test_missing_flags, begin_profile, end_profile) {
    static const struct refusal cases[] = {
        {TEXT(FLAGGED("", "\"flags\":[0],")), "shared.frameTable.flags: the column has 0 rows, and the table 1"},
        {TEXT(FLAGGED("\"flags\":[16],", "\"flags\":[0,0],")),
         "shared.funcTable.flags: the column has 2 rows, and the table 1"},
    };
    assert_refused(cases, sizeof cases / sizeof *cases);
}

/* ---- Processor times. ---- */

/* The viewer, too, has no use for processor times without a unit. */
TEST(test_cpu_without_unit, begin_profile, end_profile) {
    read_text(
        TEXT("{" META "," LIBS "," SHARED "," THREADS_WITH(SAMPLES ",\"threadCPUDelta\":[null,5]", "\"length\":0") "}"),
        0);
    assert_string_equal(failure.message, "");
    assert_false(samples_have_cpu(&profile_thread_at(&profile, (thread_id){0})->samples));
    assert_int_equal(ledger_sum(&profile.ledger, LEDGER_VALUES, LEDGER_LOST), 1);
    assert_text(ledger_at(&profile.ledger, 0)->cause, "value without a place here: threads.samples.threadCPUDelta");
}

/* ---- Null in place of a number. ---- */

TEST(test_numbers_that_are_none, begin_profile, end_profile) {
    read_text(TEXT("{" META "," LIBS "," SHARED "," THREADS_WITH(
                  "\"stack\":[0,null],\"timeDeltas\":[1,1],\"weight\":[null,2],\"length\":2", "\"length\":0")  //
                   ",\"counters\":[{\"name\":\"malloc\",\"category\":\"Memory\",\"description\":\"\",\"pid\":\"1\","
                   "\"mainThreadIndex\":0,\"samples\":{\"time\":[1,2],\"count\":[null,7],\"length\":2}}]}"),
              0);
    assert_string_equal(failure.message, "");
    const struct samples *samples = &profile_thread_at(&profile, (thread_id){0})->samples;
    assert_int_equal(samples_at(samples, 0)->weight, 0);
    assert_int_equal(samples_at(samples, 1)->weight, 2);
    const struct counter *counter = column_at(&profile.counters, 0);
    assert_int_equal(((const struct counter_sample *)column_at(&counter->samples, 0))->change, 0);
    assert_int_equal(ledger_sum(&profile.ledger, LEDGER_VALUES, LEDGER_LOST), 2);
    assert_text(ledger_at(&profile.ledger, 0)->cause, "value without a place here: threads.samples.weight");
    assert_text(ledger_at(&profile.ledger, 1)->cause, "value without a place here: counters.samples.count");
}

/* ---- Threads of several processes with one tid. ---- */

#define THREAD(pid_, tid_, name_, members_)                                                                      \
    "{\"name\":\"" name_ "\",\"pid\":\"" pid_ "\",\"tid\":" tid_ ",\"isMainThread\":false,\"samples\":{" SAMPLES \
    "},\"markers\":{\"length\":0}" members_ "}"

static int64_t pid_of(thread_id thread) {
    return profile_process_at(&profile, profile_thread_at(&profile, thread)->process)->pid;
}

TEST(test_tids_are_of_their_process, begin_profile, end_profile) {
    read_text(TEXT("{" META "," LIBS "," SHARED ",\"threads\":[" THREAD("1", "7", "a", "") "," THREAD(
                  "2", "7", "b", "") "," THREAD("2", "8", "c",
                                                ",\"nativeAllocations\":{\"time\":[1],\"weight\":[5],\"weightType\":"
                                                "\"bytes\",\"stack\":[0],\"memoryAddress\":[16],\"threadId\":[7],"
                                                "\"length\":1}") "]}"),
              0);
    assert_string_equal(failure.message, "");
    const struct thread *thread = profile_thread_at(&profile, (thread_id){2});
    assert_int_equal(thread->allocations.count, 1);
    assert_int_equal(((const struct allocation *)column_at(&thread->allocations, 0))->thread.index, 1);
}

TEST(test_tracks_are_of_their_process, begin_profile, end_profile) {
    read_text(TEXT("{" META "," LIBS "," SHARED ",\"threads\":[" THREAD("1", "7", "worker", "") "," THREAD(
                  "2", "\"7 cache-misses\"", "worker \xc2\xb7 cache-misses", "") "]}"),
              0);
    assert_string_equal(failure.message, "");
    assert_int_equal(profile.tracks.count, 1);
    assert_int_equal(pid_of(((const struct event_track *)column_at(&profile.tracks, 0))->owner), 2);
}

static void assert_log(const struct column *log, size_t row, int64_t pid, const char *key) {
    const struct log_line *line = column_at(log, row);
    assert_int_equal(profile_process_at(&profile, line->process)->pid, pid);
    assert_true(text_equal(line->key, text_of(key)));
}

/* The threads of such a process are in tracks of others. The order of the longer log stays. */
TEST(test_logs_of_processes_without_threads, begin_profile, end_profile) {
    read_text(TEXT("{" META "," LIBS "," SHARED ",\"threads\":[" THREAD(
                  "1", "7", "a", "") "],\"profilingLog\":{\"3\":{\"x\":5}},\"profileGatheringLog\":{\"1\":{\"y\":1},"
                                     "\"2\":{\"y\":2},\"3\":{\"y\":3}}}"),
              0);
    finish_profile();
    assert_string_equal(failure.message, "");
    assert_int_equal(ledger_sum(&profile.ledger, LEDGER_VALUES, LEDGER_LOST), 0);
    assert_int_equal(profile.thread_order.count, 1);
    assert_int_equal(profile.profiling_log.count, 1);
    assert_log(&profile.profiling_log, 0, 3, "x");
    assert_int_equal(profile.gathering_log.count, 3);
    for (int i = 0; i < 3; i++) assert_log(&profile.gathering_log, (size_t)i, i + 1, "y");
}

/* samply writes all of them. */
TEST(test_values_that_say_nothing, begin_profile, end_profile) {
    assert_int_equal(count_lost("\"debug\":false,\"extensions\":{\"baseURL\":[],\"id\":[],\"name\":[],\"length\":0},",
                                "\"innerWindowID\":[0],", ""),
                     0);
}

TEST(test_values_that_are_lost, begin_profile, end_profile) {
    assert_int_equal(count_lost("\"debug\":true,\"extensions\":{\"baseURL\":[\"a\",\"b\"],\"id\":[\"c\",\"d\"]},",
                                "\"innerWindowID\":[9],", ""),
                     4);
}

/* Each marker has room for all fields of its type, and each row of a table for all columns. */
TEST(test_fields_and_columns_beyond_the_limits, begin_profile, end_profile) {
    enum { GIVEN_COUNT = 300, FIELD_COUNT_MAX = 128, COLUMN_COUNT_MAX = 64 };
    static char document[64 * 1024];
    FILE *file = fmemopen(document, sizeof document, "w");
    fputs(
        "{\"meta\":{\"interval\":1,\"startTime\":5,\"preprocessedProfileVersion\":70,\"categories\":[{\"name\":"
        "\"Other\",\"color\":\"grey\",\"subcategories\":[\"Other\"]}],\"markerSchema\":[{\"name\":\"T\",\"display\":[],"
        "\"fields\":[{\"key\":\"t\",\"format\":{\"type\":\"table\","
        "\"columns\":[",
        file);
    for (int i = 0; i < GIVEN_COUNT; i++) fprintf(file, "%s{\"label\":\"%d\"}", i ? "," : "", i);
    fputs("]}}", file);
    for (int i = 1; i < GIVEN_COUNT; i++) fprintf(file, ",{\"key\":\"%d\",\"format\":\"string\"}", i);
    fputs("]}]}," LIBS "," SHARED "," THREADS "}", file);
    fclose(file);
    read_text(text_of(document), 0);
    assert_string_equal(failure.message, "");
    const struct marker_schema *schema = column_at(&profile.marker_schemas, 0);
    assert_int_equal(schema->field_count, FIELD_COUNT_MAX);
    assert_int_equal(schema->fields[0].column_count, COLUMN_COUNT_MAX);
    /* The marker has two values without a field. */
    assert_int_equal(ledger_sum(&profile.ledger, LEDGER_VALUES, LEDGER_LOST),
                     2 + GIVEN_COUNT - FIELD_COUNT_MAX + GIVEN_COUNT - COLUMN_COUNT_MAX);
}

TEST(test_deep_nesting, begin_profile, end_profile) {
    enum { LEVELS = 20000 };
    static char text[LEVELS + 64];
    int start = snprintf(text, sizeof text, "{\"other\":");
    memset(text + start, '[', LEVELS);
    read_text((struct text){text, (size_t)start + LEVELS}, 0);
    assert_string_equal(failure.message, "lists and objects are nested more than 10000 deep");
}

int main(void) { return unit_tests_run(NULL, NULL); }
