#include <stdlib.h>
#include <string.h>

#include "libconvert/profile/profile.h"
#include "tests/support/chunk_text.h"
#include "tests/support/counter_samples.h"
#include "tests/support/unit_test.h"
#include "writer/counter_json.h"

static struct failure failure;

static struct counter memory(void) {
    return (struct counter){.name = TEXT("malloc"),
                            .category = TEXT("Memory"),
                            .description = TEXT("Heap"),
                            .label = TEXT("Memory"),
                            .unit = TEXT("bytes"),
                            .graph = COUNTER_ACCUMULATED,
                            .color = GRAPH_ORANGE,
                            .sort_weight = 20};
}

static struct counter cpu(void) {
    return (struct counter){.name = TEXT("processCPU"),
                            .category = TEXT("CPU"),
                            .label = TEXT("Process CPU"),
                            .unit = TEXT("percent"),
                            .graph = COUNTER_RATE,
                            .color = GRAPH_GREY,
                            .sort_weight = 40};
}

static struct counter plain(void) {
    return (struct counter){
        .name = TEXT("jobs"), .category = TEXT("app"), .graph = COUNTER_RATE, .color = GRAPH_GREY, .sort_weight = 50};
}

typedef void write(struct json *json, const struct counter *counter);

static char *written(write *write_part, const struct counter *counter) {
    struct json json;
    failure_clear(&failure);
    json_init(&json, &failure);
    json_object_begin(&json);
    write_part(&json, counter);
    json_object_end(&json);
    struct chunk_list chunks = json_take_chunks(&json);
    char *text = chunk_text(&chunks);
    chunk_list_fini(&chunks);
    assert_false(failure_is_set(&failure));
    return text;
}

static void assert_rows(const struct counter *counter, const char *const *parts) {
    char *text = written(counter_json_display, counter);
    for (const char *at = text; *parts; parts++) {
        at = strstr(at, *parts);
        if (!at) fail_msg("no %s, or not in that place, in %s", *parts, text);
    }
    free(text);
}

#define ASSERT_ROWS(counter, ...) assert_rows(counter, (const char *const[]){__VA_ARGS__, NULL})

TEST(tooltips_are_of_graph_and_unit) {
    struct counter counter = memory();
    ASSERT_ROWS(&counter, "\"markerSchemaLocation\":\"timeline-memory\"", "\"source\":\"accumulated\"",
                "\"unit\":\"bytes\"", "\"Memory at this time\"", "\"source\":\"count-range\"");
    counter.category = TEXT("cache");
    counter.label = (struct text){0};
    ASSERT_ROWS(&counter, "\"markerSchemaLocation\":null", "\"source\":\"accumulated\"", "\"unit\":\"bytes\"",
                "\"label\":\"malloc\"");
    counter.unit = TEXT("objects");
    ASSERT_ROWS(&counter, "\"source\":\"accumulated\"", "\"unit\":\"number\"");
    counter.graph = COUNTER_RATE;
    counter.unit = TEXT("bytes");
    ASSERT_ROWS(&counter, "\"source\":\"rate\"", "{\"unit\":\"bytes-per-second\"}", "{\"type\":\"separator\"}",
                "\"selection-total\"");
    counter.category = TEXT("Bandwidth");
    ASSERT_ROWS(&counter, "{\"unit\":\"bytes-per-second\",\"co2\":\"per-byte\"}", "{\"type\":\"separator\"}");
    counter.unit = TEXT("pWh");
    ASSERT_ROWS(&counter, "{\"unit\":\"number\",\"co2\":\"per-watthour\",\"scale\":\"power\"}",
                "{\"unit\":\"number\",\"co2\":\"per-watthour\",\"scale\":\"energy\"}");
    counter = cpu();
    ASSERT_ROWS(&counter, "\"source\":\"cpu-ratio\"", "{\"unit\":\"percent\"}", "\"label\":\"CPU\"");
}

/* The size of a process is measured now and then: nothing shows how many allocations changed it. */
TEST(only_numbers_of_operations_are_shown) {
    struct counter counter = memory();
    column_init(&counter.samples, sizeof(struct counter_sample), &failure);
    counter_add_sample(&counter, 1, 4096, 1);
    char *text = written(counter_json_display, &counter);
    assert_null(strstr(text, "sample-number"));
    free(text);
    counter_add_sample(&counter, 2, 4096, 3);
    ASSERT_ROWS(&counter, "\"source\":\"sample-number\"", "\"unit\":\"number\"");
    column_fini(&counter.samples);
}

TEST(the_client_knows_some_counters) {
    struct counter counter = memory();
    assert_true(counter_json_is_shown_by_default(&counter));
    counter = cpu();
    assert_true(counter_json_is_shown_by_default(&counter));
    counter.name = TEXT("threadCPU"); /* a counter with another name is another counter */
    assert_false(counter_json_is_shown_by_default(&counter));
    counter = plain();
    assert_true(counter_json_is_shown_by_default(&counter));
    counter.category = TEXT("power");
    counter.unit = TEXT("pWh");
    counter.sort_weight = 30;
    assert_true(counter_json_is_shown_by_default(&counter));
    counter.category = TEXT("Bandwidth");
    counter.unit = TEXT("bytes");
    counter.color = GRAPH_BLUE;
    counter.sort_weight = 10;
    counter.label = TEXT("Bandwidth");
    assert_true(counter_json_is_shown_by_default(&counter));
}

TEST(the_client_gets_names_right) {
    struct counter counter = memory();
    counter.label = TEXT("Memory (resident)");
    counter.sort_weight = 21;
    assert_true(counter_json_is_right_by_default(&counter));
    counter.label = TEXT("Pixels");
    assert_false(counter_json_is_right_by_default(&counter));
    char *text = written(counter_json_plain_identity, &counter);
    assert_string_equal(text, "{\"name\":\"Pixels\",\"category\":\"Counters\",\"description\":\"Heap\"}");
    free(text);
    counter = plain();
    assert_true(counter_json_is_right_by_default(&counter));
    counter.graph = COUNTER_ACCUMULATED;
    assert_false(counter_json_is_right_by_default(&counter));
    text = written(counter_json_plain_identity, &counter);
    assert_non_null(strstr(text, "\"name\":\"jobs\",\"category\":\"app\""));
    free(text);
}

TEST(any_difference_counts) {
    struct counter counter = memory();
    counter.graph = COUNTER_RATE;
    assert_false(counter_json_is_shown_by_default(&counter));
    counter = memory();
    counter.unit = TEXT("objects");
    assert_false(counter_json_is_shown_by_default(&counter));
    counter = memory();
    counter.color = GRAPH_RED;
    assert_false(counter_json_is_shown_by_default(&counter));
    counter = memory();
    counter.sort_weight = 21;
    assert_false(counter_json_is_shown_by_default(&counter));
    counter = memory();
    counter.label = (struct text){0}; /* uses its name, which differs from the client's label */
    assert_false(counter_json_is_shown_by_default(&counter));
}

int main(void) { return unit_tests_run(NULL, NULL); }
