/* Tests both output formats with a profile that has something of everything. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libconvert/profile/sweep.h"
#include "tests/support/chunk_text.h"
#include "tests/support/full_profile.h"
#include "tests/support/profile_fixture.h"
#include "tests/support/unit_test.h"
#include "writer/emitter.h"

static char *document;

static int begin(void **state) {
    begin_profile(state);
    build_full_profile(&profile);
    return 0;
}

static int end(void **state) {
    free(document);
    document = NULL;
    return end_profile(state);
}

static void emit(const struct emitter *emitter) {
    struct chunk_list out;
    chunk_list_init(&out, &failure);
    emitter->emit(&profile, &profile.ledger, &out, &(struct emit_options){0}, (struct progress){0});
    document = chunk_text(&out);
    chunk_list_fini(&out);
    assert_string_equal(failure.message, "");
    assert_true(ledger_is_balanced(&profile.ledger));
}

static void finish_and_emit(const struct emitter *emitter) {
    profile_finish(&profile);
    emit(emitter);
}

static void assert_has(const char *part) {
    if (!strstr(document, part)) fail_msg("missing: %s\nin: %s", part, document);
}

static void assert_has_not(const char *part) {
    if (strstr(document, part)) fail_msg("unwanted: %s\nin: %s", part, document);
}

/* The ledger as lines "fate count cause". */
static void assert_ledger(const char *expected) {
    char text[2048];
    size_t bytes_count = 0;
    for (size_t i = 0; i < profile.ledger.entries.count; i++) {
        const struct ledger_entry *entry = ledger_at(&profile.ledger, i);
        assert_int_equal(entry->unit, LEDGER_VALUES);
        bytes_count += (size_t)snprintf(text + bytes_count, sizeof text - bytes_count, "%s %d %.*s\n",
                                        gecko_convert_fate_name(entry->fate), (int)entry->count,
                                        (int)entry->cause.bytes_count, entry->cause.bytes);
    }
    assert_string_equal(text, expected);
}

/* ---- Processed. ---- */

static const char processed_schemas[] =
    "\"markerSchema\":[{\"name\":\"Full\",\"display\":[\"marker-chart\",\"marker-table\",\"timeline-memory\"],"
    "\"chartLabel\":\"{marker.data.unique}\",\"tooltipLabel\":\"{marker.name}: {marker.data.integer}\","
    "\"tableLabel\":\"{marker.data.url} {marker.data.bytes}\",\"description\":\"All formats.\","
    "\"fields\":[{\"key\":\"url\",\"label\":\"Address\",\"format\":\"url\"},{\"key\":\"file\",\"label\":\"File\","
    "\"format\":\"file-path\"},{\"key\":\"clean\",\"label\":\"Clean\",\"format\":\"sanitized-string\"},{\"key\":"
    "\"color\","
    "\"label\":\"Color\",\"format\":\"string\",\"hidden\":true},{\"key\":\"unique\",\"label\":\"Unique\","
    "\"format\":\"unique-string\"},{\"key\":\"flow\",\"label\":\"Flow\",\"format\":\"flow-id\"},{\"key\":\"end\","
    "\"label\":\"Flow's end\",\"format\":\"terminating-flow-id\"},{\"key\":\"duration\",\"label\":\"Duration\","
    "\"format\":\"duration\"},{\"key\":\"time\",\"label\":\"Time\",\"format\":\"time\"},{\"key\":\"seconds\","
    "\"label\":\"Seconds\",\"format\":\"seconds\"},{\"key\":\"milliseconds\",\"label\":\"Milliseconds\","
    "\"format\":\"milliseconds\"},{\"key\":\"microseconds\",\"label\":\"Microseconds\",\"format\":\"microseconds\"},"
    "{\"key\":\"nanoseconds\",\"label\":\"Nanoseconds\",\"format\":\"nanoseconds\"},{\"key\":\"bytes\",\"label\":"
    "\"Bytes\","
    "\"format\":\"bytes\"},{\"key\":\"percentage\",\"label\":\"Percentage\",\"format\":\"percentage\"},{\"key\":"
    "\"integer\","
    "\"label\":\"Integer\",\"format\":\"integer\"},{\"key\":\"decimal\",\"format\":\"decimal\"},{\"key\":\"flags\","
    "\"label\":\"Flags\",\"format\":\"hexadecimal\"},{\"key\":\"address\",\"label\":\"Wide "
    "address\",\"format\":\"string\"},"
    "{\"key\":\"pid\",\"label\":\"Process\",\"format\":\"pid\"},{\"key\":\"tid\",\"label\":\"Thread\",\"format\":"
    "\"tid\"},"
    "{\"key\":\"list\",\"label\":\"List\",\"format\":\"list\"},{\"key\":\"table\",\"label\":\"Table\","
    "\"format\":{\"type\":\"table\",\"columns\":[{\"type\":\"string\",\"label\":\"Name\"},{\"type\":\"bytes\","
    "\"label\":\"Size\"},{\"type\":\"duration\"},{\"type\":\"time\",\"label\":\"At\"},{\"type\":\"string\",\"label\":"
    "\"Flags\"},"
    "{\"type\":\"tid\",\"label\":\"Thread\"}]}},{\"key\":\"type_\",\"label\":\"A key that is "
    "taken\",\"format\":\"string\"}],"
    "\"graphs\":[{\"key\":\"bytes\",\"type\":\"bar\",\"color\":\"red\"},{\"key\":\"duration\",\"type\":\"line\","
    "\"color\":\"teal\"},{\"key\":\"decimal\",\"type\":\"line-filled\",\"color\":\"ink\"}],\"colorField\":\"color\","
    "\"isStackBased\":true}]";

static const char processed_markers[] =
    "\"markers\":{\"name\":[5,6],\"startTime\":[1,2],\"endTime\":[3,null],\"phase\":[1,0],\"category\":[0,0],"
    "\"data\":[{\"type\":\"Full\",\"url\":\"https://example.org/?q=1\",\"file\":\"/home/me/"
    "file.c\",\"clean\":\"clean\","
    "\"color\":\"magenta\",\"unique\":1,\"flow\":2,\"end\":3,\"duration\":1.234567,\"time\":3.5,\"seconds\":5000,"
    "\"milliseconds\":5,\"microseconds\":2.5,\"nanoseconds\":7,\"bytes\":9007199254740992,\"percentage\":0.1,"
    "\"integer\":-12,\"decimal\":12.345,\"flags\":255,\"address\":\"0xffffffff83000000\",\"pid\":\"100\",\"tid\":101,"
    "\"list\":[\"one\",null,\"\"],\"table\":[[\"first row\",4096,1.5,2.000001,\"0x7ffff7dd5000\",101],[null,null,"
    "null,null,\"0xff\",null]],\"type_\":\"taken\",\"cause\":{\"stack\":0}},{\"type\":\"Full\"}],\"length\":2}";

static const char processed_bare_markers[] =
    "\"markers\":{\"name\":[7,8],\"startTime\":[2.5,2.5],\"endTime\":[null,null],\"phase\":[0,0],\"category\":[0,0],"
    "\"data\":[null,{\"type\":\"NoPayloadUserData\",\"cause\":{\"stack\":0}}],\"length\":2}";

static const char processed_counters[] =
    "\"counters\":[{\"name\":\"malloc\",\"category\":\"Memory\",\"description\":\"Heap\",\"pid\":\"100\","
    "\"mainThreadIndex\":0,\"samples\":{\"timeDeltas\":[1,1,1,1],\"count\":[0,1000,-150,0],\"number\":[0,2,2,0],"
    "\"length\":4},\"display\":{\"graphType\":\"line-accumulated\",\"unit\":\"bytes\",\"color\":\"orange\","
    "\"markerSchemaLocation\":\"timeline-memory\",\"sortWeight\":20,\"label\":\"Memory\","
    "\"tooltipRows\":[{\"type\":\"value\",\"source\":\"accumulated\",\"format\":{\"unit\":\"bytes\"},"
    "\"label\":\"Memory at this time\"},{\"type\":\"value\",\"source\":\"count-range\",\"format\":{\"unit\":\"bytes\"},"
    "\"label\":\"Memory range in graph\"},{\"type\":\"value\",\"source\":\"sample-number\","
    "\"format\":{\"unit\":\"number\"},\"label\":\"Allocations and deallocations since the previous sample\"}]}},"
    "{\"name\":\"Process CPU\",\"category\":\"CPU\",\"description\":\"Process CPU utilization\",\"pid\":\"100\","
    "\"mainThreadIndex\":0,\"samples\":{\"timeDeltas\":[0,1,1],\"count\":[0,400000,900000],\"length\":3},"
    "\"display\":{\"graphType\":\"line-rate\",\"unit\":\"percent\",\"color\":\"grey\",\"markerSchemaLocation\":null,"
    "\"sortWeight\":40,\"label\":\"Process CPU\",\"tooltipRows\":[{\"type\":\"value\",\"source\":\"cpu-ratio\","
    "\"format\":{\"unit\":\"percent\"},\"label\":\"CPU\"}]}},{\"name\":\"queue\",\"category\":\"app\","
    "\"description\":\"Jobs that wait\",\"pid\":\"200\",\"mainThreadIndex\":2,\"samples\":{\"timeDeltas\":[-1,1,4],"
    "\"count\":[0,7,0],\"length\":3},\"display\":{\"graphType\":\"line-accumulated\",\"unit\":\"\",\"color\":"
    "\"purple\","
    "\"markerSchemaLocation\":null,\"sortWeight\":-3,\"label\":\"Queue\",\"tooltipRows\":[{\"type\":\"value\","
    "\"source\":\"accumulated\",\"format\":{\"unit\":\"number\"},\"label\":\"Queue\"},{\"type\":\"value\","
    "\"source\":\"count-range\",\"format\":{\"unit\":\"number\"},\"label\":\"Range in "
    "graph\"}]}},{\"name\":\"queue\",\"category\":\"app\","
    "\"description\":\"Jobs that wait\",\"pid\":\"300\",\"mainThreadIndex\":3,\"samples\":{\"timeDeltas\":[-1,1,4],"
    "\"count\":[0,7,0],\"length\":3},\"display\":{\"graphType\":\"line-accumulated\",\"unit\":\"\",\"color\":"
    "\"purple\","
    "\"markerSchemaLocation\":null,\"sortWeight\":-3,\"label\":\"Queue\",\"tooltipRows\":[{\"type\":\"value\","
    "\"source\":\"accumulated\",\"format\":{\"unit\":\"number\"},\"label\":\"Queue\"},{\"type\":\"value\","
    "\"source\":\"count-range\",\"format\":{\"unit\":\"number\"},\"label\":\"Range in graph\"}]}}]";

static const char logs[] =
    "\"profilingLog\":{\"100\":{\"chunksRecycled\":-4,\"features\":\"cpu,\\\"stacks\\\"\",\"note\":\"\",\"lines\":[[-0."
    "5,"
    "\"before\"],[3,\"later\"]]},\"400\":{\"lines\":[[null,\"at no time\"]]},\"trace\":{\"chunks\":9007199254740993}},"
    "\"profileGatheringLog\":{\"trace\":{\"blocksSkipped\":0}}";

static const char paused[] =
    "\"pausedRanges\":[{\"startTime\":null,\"endTime\":0.25,\"reason\":\"profiler-paused\"},"
    "{\"startTime\":1.25,\"endTime\":1.75,\"reason\":\"profiler-paused\"}]";

TEST(the_processed_format_has_all, begin, end) {
    finish_and_emit(&emitter_processed);
    assert_has("\"startTimeAsClockMonotonicNanosecondsSinceBoot\":5000000000,");
    assert_has(processed_schemas);
    assert_has(processed_markers);
    assert_has(processed_bare_markers);
    assert_has(processed_counters);
    assert_has(logs);
    const char *first = strstr(document, paused);
    assert_non_null(first);
    assert_non_null(strstr(first + 1, paused));
    assert_has("\"pausedRanges\":[{\"startTime\":2,\"endTime\":null,\"reason\":\"profiler-paused\"}]");
    assert_ledger("noted 1 counter without values\nlost 1 counter of a process without threads\n");
}

/* ---- Gecko. ---- */

static const char gecko_schemas[] =
    "\"markerSchema\":[{\"name\":\"Full\",\"display\":[\"marker-chart\",\"marker-table\",\"timeline-memory\"],"
    "\"chartLabel\":\"{marker.data.unique}\",\"tooltipLabel\":\"{marker.name}: {marker.data.integer}\","
    "\"tableLabel\":\"{marker.data.url} {marker.data.bytes}\",\"data\":[{\"key\":\"url\",\"label\":\"Address\","
    "\"format\":\"url\"},{\"key\":\"file\",\"label\":\"File\",\"format\":\"file-path\"},{\"key\":\"clean\",\"label\":"
    "\"Clean\","
    "\"format\":\"sanitized-string\"},{\"key\":\"color\",\"label\":\"Color\",\"format\":\"string\",\"hidden\":true},"
    "{\"key\":\"unique\",\"label\":\"Unique\",\"format\":\"unique-string\"},{\"key\":\"flow\",\"label\":\"Flow\","
    "\"format\":\"flow-id\"},{\"key\":\"end\",\"label\":\"Flow's end\",\"format\":\"terminating-flow-id\"},"
    "{\"key\":\"duration\",\"label\":\"Duration\",\"format\":\"duration\"},{\"key\":\"time\",\"label\":\"Time\","
    "\"format\":\"time\"},{\"key\":\"seconds\",\"label\":\"Seconds\",\"format\":\"seconds\"},{\"key\":\"milliseconds\","
    "\"label\":\"Milliseconds\",\"format\":\"milliseconds\"},{\"key\":\"microseconds\",\"label\":\"Microseconds\","
    "\"format\":\"microseconds\"},{\"key\":\"nanoseconds\",\"label\":\"Nanoseconds\",\"format\":\"nanoseconds\"},"
    "{\"key\":\"bytes\",\"label\":\"Bytes\",\"format\":\"bytes\"},{\"key\":\"percentage\",\"label\":\"Percentage\","
    "\"format\":\"percentage\"},{\"key\":\"integer\",\"label\":\"Integer\",\"format\":\"integer\"},{\"key\":"
    "\"decimal\","
    "\"format\":\"decimal\"},{\"key\":\"flags\",\"label\":\"Flags\",\"format\":\"hexadecimal\"},{\"key\":\"address\","
    "\"label\":\"Wide address\",\"format\":\"string\"},{\"key\":\"pid\",\"label\":\"Process\",\"format\":\"pid\"},"
    "{\"key\":\"tid\",\"label\":\"Thread\",\"format\":\"tid\"},{\"key\":\"list\",\"label\":\"List\",\"format\":"
    "\"list\"},"
    "{\"key\":\"table\",\"label\":\"Table\",\"format\":{\"type\":\"table\",\"columns\":[{\"type\":\"string\",\"label\":"
    "\"Name\"},"
    "{\"type\":\"bytes\",\"label\":\"Size\"},{\"type\":\"duration\"},{\"type\":\"time\",\"label\":\"At\"},{\"type\":"
    "\"string\","
    "\"label\":\"Flags\"},{\"type\":\"tid\",\"label\":\"Thread\"}]}},{\"key\":\"type_\",\"label\":\"A key that is "
    "taken\","
    "\"format\":\"string\"},{\"label\":\"Description\",\"value\":\"All formats.\"}],\"graphs\":[{\"key\":\"bytes\","
    "\"type\":\"bar\",\"color\":\"red\"},{\"key\":\"duration\",\"type\":\"line\",\"color\":\"teal\"},{\"key\":"
    "\"decimal\","
    "\"type\":\"line-filled\",\"color\":\"ink\"}],\"colorField\":\"color\",\"isStackBased\":true}]";

static const char gecko_counters[] =
    "\"pausedRanges\":[{\"startTime\":null,\"endTime\":0.25,\"reason\":\"profiler-paused\"},{\"startTime\":1.25,"
    "\"endTime\":1.75,\"reason\":\"profiler-paused\"}],\"counters\":[{\"name\":\"malloc\",\"category\":\"Memory\","
    "\"description\":\"Heap\",\"samples\":{\"schema\":{\"time\":0,\"count\":1,\"number\":2},\"data\":[[1,0,0],[2,1000,"
    "2],"
    "[3,-150,2],[4,0,0]]}},{\"name\":\"Process CPU\",\"category\":\"CPU\",\"description\":\"Process CPU utilization\","
    "\"samples\":{\"schema\":{\"time\":0,\"count\":1},\"data\":[[0,0],[1,400000],[2,900000]]}}]";

static const char gecko_markers[] =
    "\"markers\":{\"schema\":{\"name\":0,\"startTime\":1,\"endTime\":2,\"phase\":3,\"category\":4,\"data\":5},\"data\":"
    "[[0,"
    "2,null,0,0,{\"type\":\"Full\"}],[1,1,3,1,0,{\"type\":\"Full\",\"url\":\"https://example.org/?q=1\","
    "\"file\":\"/home/me/file.c\",\"clean\":\"clean\",\"color\":\"magenta\",\"unique\":2,\"flow\":3,\"end\":4,"
    "\"duration\":1.234567,\"time\":3.5,\"seconds\":5000,\"milliseconds\":5,\"microseconds\":2.5,\"nanoseconds\":7,"
    "\"bytes\":9007199254740992,\"percentage\":0.1,\"integer\":-12,\"decimal\":12.345,\"flags\":255,"
    "\"address\":\"0xffffffff83000000\",\"pid\":\"100\",\"tid\":101,\"list\":[\"one\",null,\"\"],\"table\":[[\"first "
    "row\","
    "4096,1.5,2.000001,\"0x7ffff7dd5000\",101],[null,null,null,null,\"0xff\",null]],\"type_\":\"taken\","
    "\"stack\":{\"tid\":100,\"samples\":{\"schema\":{\"stack\":0,\"time\":1},\"data\":[[0,1]]}}}]]";

static const char gecko_child_counters[] =
    "\"pausedRanges\":[],\"counters\":[{\"name\":\"Queue\",\"category\":\"app\",\"description\":\"Jobs that wait\","
    "\"samples\":{\"schema\":{\"time\":0,\"count\":1},\"data\":[[-1,0],[0,7],[1,7],[2,7],[3,7],[4,7]]}}]";

TEST(the_gecko_format_has_what_it_can, begin, end) {
    finish_and_emit(&emitter_gecko);
    assert_has("\"startTimeAsClockMonotonicNanosecondsSinceBoot\":5000000000,");
    assert_has(gecko_schemas);
    assert_has(gecko_markers);
    assert_has("\"stringTable\":[\"none\",\"all\",\"unique\",\"1f\",\"2f\",\"run\"]");
    assert_has(
        "\"data\":[[0,2.5,null,0,0],[1,2.5,null,0,0,{\"type\":\"NoPayloadUserData\",\"stack\":{\"tid\":101,"
        "\"samples\":{\"schema\":{\"stack\":0,\"time\":1},\"data\":[[0,2.5]]}}}]]");
    assert_has(gecko_counters);
    assert_has(gecko_child_counters);
    assert_has(logs);
    assert_has(
        "\"pausedRanges\":[{\"startTime\":2,\"endTime\":null,\"reason\":\"profiler-paused\"}],\"threads\":[{\"name\":"
        "\"helper\"");
    assert_has_not("\"display\":{");
    assert_ledger(
        "noted 1 counter without values\n"
        "lost 1 counter of a process without threads\n"
        "lost 1 counter of a process without a main thread\n"
        "lost 1 graph, unit, color, order or label of a counter\n"
        "noted 1 changes of an accumulating counter (its levels are written)\n"
        "lost 3 entry of the information panel (meta.extra)\n");
}

/* ---- Both. ---- */

TEST(sweeping_changes_nothing_that_is_written, begin, end) {
    const struct emitter *const both[] = {&emitter_processed, &emitter_gecko};
    for (size_t i = 0; i < 2; i++) {
        finish_and_emit(both[i]);
        char *unswept = document;
        document = NULL;
        end(NULL);
        begin(NULL);
        profile_finish(&profile);
        sweep_profile(&profile);
        emit(both[i]);
        assert_string_equal(document, unswept);
        free(unswept);
        end(NULL);
        begin(NULL);
    }
}

TEST(another_clock_is_not_told, begin, end) {
    profile.meta.is_clock_monotonic = false;
    finish_and_emit(&emitter_processed);
    assert_has_not("SinceBoot");
}

int main(void) { return unit_tests_run(NULL, NULL); }
