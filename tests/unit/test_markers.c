#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "libconvert/markers.h"
#include "libconvert/profile.h"
#include "tests/support/assert_text.h"
#include "tests/support/full_tables.h"

static const struct marker_schema period_schema = {
    .name = TEXT("Period"),
    .description = TEXT("A period"),
    .table_label = TEXT("{marker.name} - {marker.data.event}"),
    .fields = {{TEXT("event"), TEXT("Event"), MARKER_UNIQUE_STRING}, {TEXT("period"), TEXT("Period"), MARKER_DECIMAL}},
    .field_count = 2,
};

static const struct marker_schema bare_schema = {.name = TEXT("Bare")};

static struct failure failure;
static struct profile profile;
static struct thread *thread;

static int begin(void **state) {
    (void)state;
    failure_clear(&failure);
    profile_init(&profile, &failure);
    thread = profile_thread_at(&profile, profile_add_thread(&profile, profile_add_process(&profile, 1, 0), 1, 0));
    return 0;
}

static int end(void **state) {
    (void)state;
    profile_fini(&profile);
    return 0;
}

static struct marker marker_at(int64_t start_ns, uint16_t schema) {
    return (struct marker){.start_ns = start_ns,
                           .end_ns = start_ns + 5,
                           .name = {3},
                           .stack = stack_none(),
                           .values_at = 12345, /* the profile's to set */
                           .schema = schema,
                           .phase = MARKER_INTERVAL,
                           .category = 2};
}

static void add_period(int64_t start_ns, uint16_t schema, uint32_t event, int64_t period) {
    const union marker_value values[] = {{.string = {event}}, {.decimal = decimal_make(period, 1)}};
    profile_add_marker(&profile, thread, marker_at(start_ns, schema), values);
}

static const struct marker *row(size_t i) { return column_at(&thread->markers, i); }

static const union marker_value *value(size_t i) { return column_at(&profile.marker_values, i); }

static void formats_have_names(void **state) {
    (void)state;
    assert_string_equal(marker_format_name(MARKER_UNIQUE_STRING), "unique-string");
    assert_string_equal(marker_format_name(MARKER_DECIMAL), "decimal");
    assert_int_equal(MARKER_FORMAT_COUNT, 2);
}

static void phases_are_those_of_the_front_end(void **state) {
    (void)state;
    assert_int_equal(MARKER_INSTANT, 0);
    assert_int_equal(MARKER_INTERVAL, 1);
    assert_int_equal(MARKER_INTERVAL_START, 2);
    assert_int_equal(MARKER_INTERVAL_END, 3);
}

static void a_schema_is_its_name(void **state) {
    (void)state;
    assert_int_equal(profile_marker_schema(&profile, &period_schema), 0);
    assert_int_equal(profile_marker_schema(&profile, &bare_schema), 1);
    struct marker_schema namesake = {.name = text_of("Period"), .description = TEXT("another")};
    assert_int_equal(profile_marker_schema(&profile, &namesake), 0);
    assert_int_equal(profile_marker_schema(&profile, &bare_schema), 1);
    assert_int_equal(profile.marker_schemas.count, 2);
    const struct marker_schema *schema = column_at(&profile.marker_schemas, 0);
    assert_text(schema->description, "A period");
    assert_int_equal(schema->field_count, 2);
    assert_text(schema->fields[1].key, "period");
    assert_int_equal(schema->fields[1].format, MARKER_DECIMAL);
}

static void a_marker_owns_a_run_of_values(void **state) {
    (void)state;
    uint16_t bare = profile_marker_schema(&profile, &bare_schema),
             period = profile_marker_schema(&profile, &period_schema);
    add_period(100, period, 8, 25);
    profile_add_marker(&profile, thread, marker_at(90, bare), NULL);
    add_period(110, period, 9, 40);
    assert_int_equal(thread->markers.count, 3);
    assert_int_equal(profile.marker_values.count, 4);

    assert_int_equal(row(0)->start_ns, 100);
    assert_int_equal(row(0)->end_ns, 105);
    assert_int_equal(row(0)->name.index, 3);
    assert_true(stack_is_none(row(0)->stack));
    assert_int_equal(row(0)->schema, period);
    assert_int_equal(row(0)->phase, MARKER_INTERVAL);
    assert_int_equal(row(0)->category, 2);
    assert_int_equal(row(0)->values_at, 0);
    assert_int_equal(value(0)->string.index, 8);
    assert_int_equal(value(1)->decimal.mantissa, 25);
    assert_int_equal(value(1)->decimal.scale, 1);

    assert_int_equal(row(1)->start_ns, 90);
    assert_int_equal(row(1)->schema, bare);

    assert_int_equal(row(2)->values_at, 2);
    assert_int_equal(value(2)->string.index, 9);
    assert_int_equal(value(3)->decimal.mantissa, 4);
    assert_int_equal(value(3)->decimal.scale, 0);
}

static void markers_of_all_threads_share_their_values(void **state) {
    (void)state;
    uint16_t period = profile_marker_schema(&profile, &period_schema);
    add_period(1, period, 1, 1);
    thread = profile_thread_at(&profile, profile_add_thread(&profile, (process_id){0}, 2, 0));
    add_period(2, period, 2, 2);
    assert_int_equal(thread->markers.count, 1);
    assert_int_equal(row(0)->values_at, 2);
    assert_int_equal(value(2)->string.index, 2);
}

static void a_sorted_marker_keeps_its_values(void **state) {
    (void)state;
    uint16_t period = profile_marker_schema(&profile, &period_schema);
    add_period(300, period, 30, 1);
    add_period(100, period, 10, 1);
    add_period(200, period, 20, 1);
    profile_finish(&profile);
    assert_false(failure_is_set(&failure));
    static const uint32_t events[] = {10, 20, 30};
    for (size_t i = 0; i < 3; i++) {
        assert_int_equal(row(i)->start_ns, i * 100);
        assert_int_equal(row(i)->end_ns, i * 100 + 5);
        assert_int_equal(value(row(i)->values_at)->string.index, events[i]);
    }
}

static void memory_running_out_adds_no_marker(void **state) {
    (void)state;
    uint16_t period = profile_marker_schema(&profile, &period_schema);
    add_period(1, period, 1, 1);
    struct column *const tables[] = {&profile.marker_values, &thread->markers};
    for (size_t i = 0; i < sizeof tables / sizeof *tables; i++) {
        struct column before = *tables[i];
        column_make_full(tables[i]);
        add_period(2, period, 2, 2);
        assert_int_equal(failure.code, FAILURE_MEMORY);
        assert_int_equal(thread->markers.count, 1);
        *tables[i] = before;
        failure_clear(&failure);
    }
    struct column schemas = profile.marker_schemas;
    column_make_full(&profile.marker_schemas);
    assert_int_equal(profile_marker_schema(&profile, &bare_schema), 0);
    assert_int_equal(failure.code, FAILURE_MEMORY);
    assert_int_equal(profile_marker_schema(&profile, &period_schema), period);
    profile.marker_schemas = schemas;
}

static void nothing_is_added_behind_a_failure(void **state) {
    (void)state;
    uint16_t period = profile_marker_schema(&profile, &period_schema);
    failure_set(&failure, FAILURE_IO, "before");
    add_period(1, period, 1, 1);
    assert_int_equal(thread->markers.count, 0);
    assert_int_equal(profile.marker_values.count, 0);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(formats_have_names),
        TEST(phases_are_those_of_the_front_end),
        TEST(a_schema_is_its_name),
        TEST(a_marker_owns_a_run_of_values),
        TEST(markers_of_all_threads_share_their_values),
        TEST(a_sorted_marker_keeps_its_values),
        TEST(memory_running_out_adds_no_marker),
        TEST(nothing_is_added_behind_a_failure),
    };
    return cmocka_run_group_tests_name("markers", tests, NULL, NULL);
}
