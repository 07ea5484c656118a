#include <stdlib.h>
#include <string.h>

#include "libconvert/profile/ledger.h"
#include "tests/support/assert_text.h"
#include "tests/support/full_tables.h"
#include "tests/support/unit_test.h"

static struct failure failure;
static struct ledger ledger;

static int begin(void **state) {
    failure_clear(&failure);
    ledger_init(&ledger, &failure);
    return 0;
}

static int end(void **state) {
    ledger_fini(&ledger);
    return 0;
}

static const struct position line_7 = {.line = 7, .offset = 120}, line_9 = {.line = 9, .offset = 180};

static void units_and_fates_have_names(void **state) {
    static const char *const units[] = {"lines", "samples", "records", "periods", "values"};
    assert_int_equal(sizeof units / sizeof *units, LEDGER_UNIT_COUNT);
    for (unsigned i = 0; i < LEDGER_UNIT_COUNT; i++)
        assert_string_equal(gecko_convert_unit_name((enum gecko_convert_unit)i), units[i]);
    assert_string_equal(gecko_convert_unit_name(LEDGER_PERIODS), "periods");
    assert_string_equal(gecko_convert_fate_name(LEDGER_KEPT), "kept");
    assert_string_equal(gecko_convert_fate_name(LEDGER_LOST), "lost");
    assert_string_equal(gecko_convert_fate_name(LEDGER_NOTED), "noted");
    assert_string_equal(gecko_convert_fate_name(LEDGER_FILTERED), "filtered");
}

static void a_new_ledger_is_balanced(void **state) {
    assert_true(ledger_is_balanced(&ledger));
    assert_false(ledger_has_losses(&ledger));
    assert_int_equal(ledger.entries.count, 0);
    assert_int_equal(ledger_sum(&ledger, LEDGER_LINES, LEDGER_KEPT), 0);
}

static void an_entry_keeps_what_was_entered(void **state) {
    char cause[] = "sample of event cycles";
    ledger_enter(&ledger, LEDGER_SAMPLES, LEDGER_LOST, text_of(cause), 3, &line_7);
    memset(cause, 'x', sizeof cause - 1);
    ledger_enter(&ledger, LEDGER_LINES, LEDGER_KEPT, TEXT("line"), 5, NULL);
    assert_int_equal(ledger.entries.count, 2);
    const struct ledger_entry *entry = ledger_at(&ledger, 0);
    assert_int_equal(entry->unit, LEDGER_SAMPLES);
    assert_int_equal(entry->fate, LEDGER_LOST);
    assert_text(entry->cause, "sample of event cycles");
    assert_int_equal(entry->count, 3);
    assert_true(entry->has_first);
    assert_int_equal(entry->first.line, 7);
    assert_int_equal(entry->first.offset, 120);
    entry = ledger_at(&ledger, 1);
    assert_text(entry->cause, "line");
    assert_int_equal(entry->count, 5);
    assert_false(entry->has_first);
}

static void entries_of_one_cause_are_summed(void **state) {
    ledger_enter(&ledger, LEDGER_LINES, LEDGER_LOST, TEXT("no number"), 2, &line_7);
    ledger_enter(&ledger, LEDGER_LINES, LEDGER_LOST, TEXT("no number"), 40, &line_9);
    ledger_enter(&ledger, LEDGER_LINES, LEDGER_LOST, TEXT("no number"), 1, NULL);
    assert_int_equal(ledger.entries.count, 1);
    assert_int_equal(ledger_at(&ledger, 0)->count, 43);
    assert_int_equal(ledger_at(&ledger, 0)->first.line, 7);
    assert_int_equal(ledger_sum(&ledger, LEDGER_LINES, LEDGER_LOST), 43);
}

static void unit_fate_and_cause_tell_entries_apart(void **state) {
    ledger_enter(&ledger, LEDGER_LINES, LEDGER_LOST, TEXT("x"), 1, NULL);
    ledger_enter(&ledger, LEDGER_LINES, LEDGER_KEPT, TEXT("x"), 10, NULL);
    ledger_enter(&ledger, LEDGER_LINES, LEDGER_NOTED, TEXT("x"), 100, NULL);
    ledger_enter(&ledger, LEDGER_SAMPLES, LEDGER_LOST, TEXT("x"), 1000, NULL);
    ledger_enter(&ledger, LEDGER_LINES, LEDGER_LOST, TEXT("xy"), 10000, NULL);
    ledger_enter(&ledger, LEDGER_LINES, LEDGER_LOST, TEXT(""), 100000, NULL);
    assert_int_equal(ledger.entries.count, 6);
    assert_int_equal(ledger_sum(&ledger, LEDGER_LINES, LEDGER_LOST), 110001);
    assert_int_equal(ledger_sum(&ledger, LEDGER_LINES, LEDGER_KEPT), 10);
    assert_int_equal(ledger_sum(&ledger, LEDGER_LINES, LEDGER_NOTED), 100);
    assert_int_equal(ledger_sum(&ledger, LEDGER_SAMPLES, LEDGER_LOST), 1000);
    assert_int_equal(ledger_sum(&ledger, LEDGER_SAMPLES, LEDGER_KEPT), 0);
    assert_text(ledger_at(&ledger, 5)->cause, "");
    assert_false(failure_is_set(&failure));
}

static void a_count_of_nothing_enters_nothing(void **state) {
    ledger_enter(&ledger, LEDGER_LINES, LEDGER_LOST, TEXT("x"), 0, &line_7);
    assert_int_equal(ledger.entries.count, 0);
    ledger_enter(&ledger, LEDGER_LINES, LEDGER_LOST, TEXT("x"), 1, &line_9);
    ledger_enter(&ledger, LEDGER_LINES, LEDGER_LOST, TEXT("x"), 0, &line_7);
    assert_int_equal(ledger.entries.count, 1);
    assert_int_equal(ledger_at(&ledger, 0)->count, 1);
    assert_int_equal(ledger_at(&ledger, 0)->first.line, 9);
}

static void what_was_read_balances_what_became_of_it(void **state) {
    for (unsigned i = 0; i < LEDGER_UNIT_COUNT; i++) {
        enum gecko_convert_unit unit = (enum gecko_convert_unit)i;
        ledger_read(&ledger, unit, 4);
        assert_false(ledger_is_balanced(&ledger));
        ledger_read(&ledger, unit, 7);
        ledger_enter(&ledger, unit, LEDGER_KEPT, TEXT("good"), 7, NULL);
        assert_false(ledger_is_balanced(&ledger));
        ledger_enter(&ledger, unit, LEDGER_NOTED, TEXT("odd"), 3, NULL);
        assert_false(ledger_is_balanced(&ledger));
        ledger_enter(&ledger, unit, LEDGER_LOST, TEXT("bad"), 2, NULL);
        assert_false(ledger_is_balanced(&ledger));
        ledger_enter(&ledger, unit, LEDGER_LOST, TEXT("worse"), 1, NULL);
        assert_false(ledger_is_balanced(&ledger));
        ledger_enter(&ledger, unit, LEDGER_FILTERED, TEXT("other"), 1, NULL);
        assert_true(ledger_is_balanced(&ledger));
        assert_int_equal(ledger.read[unit], 11);
    }
    ledger_enter(&ledger, LEDGER_VALUES, LEDGER_KEPT, TEXT("good"), 1, NULL);
    assert_false(ledger_is_balanced(&ledger)); /* more than was read */
}

static void tallies_are_entered_with_their_first_place(void **state) {
    static const struct ledger_cause causes[] = {
        {LEDGER_LINES, LEDGER_KEPT, TEXT("good")},
        {LEDGER_LINES, LEDGER_LOST, TEXT("bad")},
        {LEDGER_LINES, LEDGER_NOTED, TEXT("odd")},
        {LEDGER_SAMPLES, LEDGER_LOST, TEXT("never")},
    };
    struct ledger_tally tallies[4] = {0};
    ledger_tally_add(&tallies[0], 5, line_9);
    ledger_tally_add(&tallies[0], 2, line_7);
    ledger_tally_add(&tallies[1], 1, line_9);
    ledger_tally_add(&tallies[2], 3, line_9);
    ledger_tally_add(&tallies[3], 0, line_7);
    ledger_enter_tallies(&ledger, causes, tallies, 4);
    assert_int_equal(ledger.entries.count, 3);
    assert_int_equal(ledger_at(&ledger, 0)->count, 7);
    assert_int_equal(ledger_at(&ledger, 0)->first.line, 7);
    assert_int_equal(ledger_at(&ledger, 1)->first.line, 9);
    assert_int_equal(ledger.read[LEDGER_LINES], 8);
    assert_true(ledger_is_balanced(&ledger));
}

static void only_losses_are_losses(void **state) {
    ledger_enter(&ledger, LEDGER_LINES, LEDGER_KEPT, TEXT("good"), 1, NULL);
    ledger_enter(&ledger, LEDGER_LINES, LEDGER_NOTED, TEXT("odd"), 1, NULL);
    assert_false(ledger_has_losses(&ledger));
    ledger_enter(&ledger, LEDGER_VALUES, LEDGER_LOST, TEXT("bad"), 1, NULL);
    assert_true(ledger_has_losses(&ledger));
}

static void counts_have_64_bits(void **state) {
    ledger_read(&ledger, LEDGER_PERIODS, UINT64_MAX);
    ledger_enter(&ledger, LEDGER_PERIODS, LEDGER_KEPT, TEXT("good"), UINT64_MAX - 1, NULL);
    ledger_enter(&ledger, LEDGER_PERIODS, LEDGER_LOST, TEXT("bad"), 1, NULL);
    assert_true(ledger_sum(&ledger, LEDGER_PERIODS, LEDGER_KEPT) == UINT64_MAX - 1);
    assert_true(ledger_is_balanced(&ledger));
}

static void memory_running_out_enters_nothing(void **state) {
    ledger_enter(&ledger, LEDGER_LINES, LEDGER_LOST, TEXT("before"), 1, NULL);
    struct column entries = ledger.entries;
    column_make_full(&ledger.entries);
    ledger_enter(&ledger, LEDGER_LINES, LEDGER_LOST, TEXT("new"), 1, NULL);
    assert_int_equal(failure.code, FAILURE_MEMORY);
    assert_int_equal(ledger.entries.count, 1);
    ledger_enter(&ledger, LEDGER_LINES, LEDGER_LOST, TEXT("before"), 1, NULL);
    assert_int_equal(ledger_at(&ledger, 0)->count, 2);
    ledger.entries = entries;

    failure_clear(&failure);
    ledger_enter(&ledger, LEDGER_LINES, LEDGER_LOST, (struct text){"x", BYTES_BEYOND_MEMORY}, 1, NULL);
    assert_int_equal(failure.code, FAILURE_MEMORY);
    assert_int_equal(ledger.entries.count, 1);
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, begin, end)

int main(void) {
    const struct CMUnitTest tests[] = {
        TEST(units_and_fates_have_names),
        TEST(a_new_ledger_is_balanced),
        TEST(an_entry_keeps_what_was_entered),
        TEST(entries_of_one_cause_are_summed),
        TEST(unit_fate_and_cause_tell_entries_apart),
        TEST(a_count_of_nothing_enters_nothing),
        TEST(what_was_read_balances_what_became_of_it),
        TEST(tallies_are_entered_with_their_first_place),
        TEST(only_losses_are_losses),
        TEST(counts_have_64_bits),
        TEST(memory_running_out_enters_nothing),
    };
    return cmocka_run_group_tests_name("ledger", tests, NULL, NULL);
}
