#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "libconvert/profile/markers.h"
#include "libconvert/profile/profile.h"
#include "tests/support/assert_text.h"
#include "tests/support/profile_fixture.h"
#include "tests/support/unit_test.h"

static const struct marker_field period_fields[] = {
    {.key = TEXT("event"), .label = TEXT("Event"), .format = MARKER_UNIQUE_STRING},
    {.key = TEXT("period"), .label = TEXT("Period"), .format = MARKER_DECIMAL},
};

static const struct marker_schema period_schema = {
    .name = TEXT("Period"),
    .description = TEXT("A period"),
    .table_label = TEXT("{marker.name} - {marker.data.event}"),
    .fields = period_fields,
    .field_count = 2,
};

static const struct marker_schema bare_schema = {.name = TEXT("Bare")};

static struct thread *thread;

static int begin(void **state) {
    begin_profile(state);
    thread = add_only_thread();
    return 0;
}

static struct marker marker_at(int64_t start_ns, uint16_t schema) {
    return (struct marker){.start_ns = start_ns,
                           .end_ns = start_ns + 5,
                           .name = {3},
                           .stack = stack_none(),
                           .slots_at = 12345, /* set by the profile */
                           .schema = schema,
                           .phase = MARKER_INTERVAL,
                           .category = 2};
}

TEST(numbers_are_integers_or_reals, begin, end_profile) {
    union marker_value integer = marker_value_integer(INT64_MIN);
    assert_int_equal(integer.number.mantissa, INT64_MIN);
    assert_int_equal(integer.number.scale, 0);
    union marker_value real = marker_value_real(-0.1);
    assert_int_equal(real.number.scale, MARKER_REAL);
    assert_true(marker_value_real_of(real.number) == -0.1);
    const double others[] = {INFINITY, -INFINITY, NAN};
    for (size_t i = 0; i < sizeof others / sizeof *others; i++) {
        union marker_value other = marker_value_real(others[i]);
        assert_true(marker_value_is_absent(VALUE_NUMBER, &other));
    }
}

TEST(bits_are_those_of_the_integer_part, begin, end_profile) {
    const struct {
        union marker_value value;
        uint64_t bits;
    } cases[] = {
        {marker_value_integer(255), 255},
        {marker_value_integer(-1), UINT64_MAX},
        {{.number = decimal_make(-25, 1)}, UINT64_MAX - 1},
        {{.number = decimal_make(429496729699, 2)}, 4294967296},
        {{.number = {.mantissa = 5, .scale = 1000}}, 0},
        {marker_value_real(2.9), 2},
        {marker_value_real(-2.9), UINT64_MAX - 1},
        {marker_value_real(0x1p63), UINT64_C(1) << 63},
        {marker_value_real(1e300), UINT64_MAX},
        {marker_value_real(-1e300), UINT64_C(1) << 63},
        {marker_value_absent(VALUE_NUMBER), 0},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        assert_true(marker_value_bits(cases[i].value.number) == cases[i].bits);
        assert_int_equal(marker_value_is_wide(MARKER_HEXADECIMAL, cases[i].value.number), cases[i].bits > UINT32_MAX);
    }
}

TEST(a_schema_is_its_name, begin, end_profile) {
    assert_int_equal(profile_marker_schema(&profile, &period_schema), 0);
    assert_int_equal(profile_marker_schema(&profile, &bare_schema), 1);
    struct marker_schema namesake = period_schema;
    namesake.description = TEXT("another");
    assert_int_equal(profile_marker_schema(&profile, &namesake), 0);
    assert_int_equal(profile_marker_schema(&profile, &bare_schema), 1);
    assert_int_equal(profile.marker_schemas.count, 2);
    namesake.field_count = 0;
    assert_int_equal(profile_marker_schema(&profile, &namesake), 2);
    assert_text(((const struct marker_schema *)column_at(&profile.marker_schemas, 2))->name, "Period (variant 2)");
    const struct marker_schema *schema = column_at(&profile.marker_schemas, 0);
    assert_text(schema->description, "A period");
    assert_int_equal(schema->field_count, 2);
    assert_text(schema->fields[1].key, "period");
    assert_int_equal(schema->fields[1].format, MARKER_DECIMAL);
}

static const struct marker_table_column columns[] = {
    {TEXT("Flags"), MARKER_HEXADECIMAL}, {TEXT("At"), MARKER_TIME}, {TEXT("Name"), MARKER_UNIQUE_STRING}};

static const struct marker_field cell_fields[] = {
    {.key = TEXT("list"), .format = MARKER_LIST},
    {.key = TEXT("table"), .format = MARKER_TABLE, .columns = columns, .column_count = 3},
    {.key = TEXT("flags"), .format = MARKER_HEXADECIMAL},
    {.key = TEXT("odd"), .format = MARKER_TABLE},
};

static const struct marker_schema cell_schema = {.name = TEXT("Cells"), .fields = cell_fields, .field_count = 4};

static struct marker_cells table_with(int64_t flags) {
    const union marker_value cells[] = {marker_value_absent(VALUE_NUMBER), {.time_ns = 7}, {.string = {3}},
                                        marker_value_integer(flags),       {.time_ns = 8}, {.string = {4}}};
    return profile_marker_cells(&profile, cells, 6);
}

static void add_cells(uint16_t schema, int64_t flags_in_table, int64_t flags) {
    const union marker_value list[] = {{.text = TEXT("one")}, marker_value_absent(VALUE_TEXT)};
    const union marker_value values[] = {{.cells = profile_marker_cells(&profile, list, 2)},
                                         {.cells = table_with(flags_in_table)},
                                         marker_value_integer(flags),
                                         {.cells = profile_marker_cells(&profile, list, 1)}};
    profile_add_marker(&profile, thread, marker_at(1, schema), values);
}

static bool is_wide(uint16_t schema, size_t field) {
    return ((const struct marker_schema *)column_at(&profile.marker_schemas, schema))->fields[field].has_wide_values;
}

TEST(wide_values_are_noted, begin, end_profile) {
    uint16_t schema = profile_marker_schema(&profile, &cell_schema);
    add_cells(schema, UINT32_MAX, UINT32_MAX);
    for (size_t i = 0; i < 4; i++) assert_false(is_wide(schema, i));
    add_cells(schema, UINT32_MAX, -1);
    assert_true(is_wide(schema, 2));
    assert_false(is_wide(schema, 1));
    add_cells(schema, INT64_C(1) << 32, 0);
    assert_true(is_wide(schema, 1));
    assert_true(is_wide(schema, 2));
    assert_false(cell_fields[1].has_wide_values); /* the reader's own fields are not changed */
}

TEST(integers_are_wide_beyond_doubles, begin, end_profile) {
    static const struct marker_field field = {.key = TEXT("count"), .format = MARKER_INTEGER};
    static const struct marker_schema schema = {.name = TEXT("Count"), .fields = &field, .field_count = 1};
    static const int64_t EXACT_MAX = INT64_C(1) << 53;
    uint16_t row = profile_marker_schema(&profile, &schema);
    const union marker_value values[] = {marker_value_integer(EXACT_MAX), marker_value_integer(-EXACT_MAX),
                                         marker_value_real(0x1p60), marker_value_absent(VALUE_NUMBER),
                                         marker_value_integer(-EXACT_MAX - 1)};
    for (size_t i = 0; i < sizeof values / sizeof *values; i++) {
        assert_false(is_wide(row, 0));
        profile_add_marker(&profile, thread, marker_at(1, row), &values[i]);
    }
    assert_true(is_wide(row, 0));
}

TEST(what_the_client_knows_otherwise_gets_another_name, begin, end_profile) {
    static const struct marker_field fields[] = {
        {.key = TEXT("type")},   {.key = TEXT("cause")},   {.key = TEXT("stack")},  {.key = TEXT("types")},
        {.key = TEXT("stack_")}, {.key = TEXT("stack__")}, {.key = TEXT("cause__")}};
    static const struct marker_schema schema = {.name = TEXT("Network"), .fields = fields, .field_count = 7};
    uint16_t id = profile_marker_schema(&profile, &schema);
    assert_int_equal(profile_marker_schema(&profile, &schema), id);
    const struct marker_schema *copy = column_at(&profile.marker_schemas, id);
    assert_text(copy->name, "Network_");
    assert_text(copy->fields[0].key, "type_");
    assert_text(copy->fields[1].key, "cause_");
    assert_text(copy->fields[2].key, "stack___");
    assert_text(copy->fields[3].key, "types");
    assert_text(copy->fields[4].key, "stack_");
    assert_text(copy->fields[6].key, "cause__");
}

TEST(schemas_are_as_many_as_have_numbers, begin, end_profile) {
    struct marker_schema schema = {.name = TEXT("")};
    for (uint32_t i = 0; i < MARKER_SCHEMA_NONE; i++) {
        /* The texts differ in length, so comparing them is fast. */
        static char letters[MARKER_SCHEMA_NONE];
        schema.name = (struct text){letters, i};
        *(struct marker_schema *)column_push(&profile.marker_schemas) = schema;
    }
    schema.name = TEXT("one more");
    assert_int_equal(profile_marker_schema(&profile, &schema), MARKER_SCHEMA_NONE);
    assert_false(failure_is_set(&failure));
}

TEST(labels_that_cannot_be_shown_are_left_out, begin, end_profile) {
    struct marker_schema schema = {.name = TEXT("Labels"),
                                   .chart_label = TEXT("{marker.foo}"),
                                   .tooltip_label = TEXT("{marker.name}: {marker.data.a.b}"),
                                   .table_label = TEXT("{ marker.data.a ? 'yes' : 'no' } in {marker.duration}")};
    const struct marker_schema *added = column_at(&profile.marker_schemas, profile_marker_schema(&profile, &schema));
    assert_text(added->chart_label, "");
    assert_text(added->tooltip_label, "");
    assert_text(added->table_label, "{ marker.data.a ? 'yes' : 'no' } in {marker.duration}");
    assert_int_equal(ledger_sum(&profile.ledger, LEDGER_VALUES, LEDGER_NOTED), 2);
}

int main(void) { return unit_tests_run(NULL, NULL); }
