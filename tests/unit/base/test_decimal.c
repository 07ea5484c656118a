#include <stdlib.h>
#include <string.h>

#include "libconvert/base/decimal.h"
#include "tests/support/random_numbers.h"
#include "tests/support/unit_test.h"

static void assert_decimal(struct decimal value, int64_t mantissa, uint32_t scale) {
    assert_true(value.mantissa == mantissa);
    assert_int_equal(value.scale, scale);
    assert_int_equal(value.exponent, 0);
}

static const struct {
    struct text text;
    int64_t mantissa;
    uint32_t scale;
    bool is_rounded;
    uint32_t exponent;
} numbers[] = {
    {TEXT("0"), 0, 0, false, 0},
    {TEXT("7"), 7, 0, false, 0},
    {TEXT("250000"), 250000, 0, false, 0},
    {TEXT("+3"), 3, 0, false, 0},
    {TEXT("-3"), -3, 0, false, 0},
    {TEXT("-0"), 0, 0, false, 0},
    {TEXT("+0.0"), 0, 0, false, 0},
    {TEXT("-0.000"), 0, 0, false, 0},
    {TEXT("0007"), 7, 0, false, 0},
    {TEXT("00"), 0, 0, false, 0},
    {TEXT("0000000000000000000000000000012"), 12, 0, false, 0},
    {TEXT(".5"), 5, 1, false, 0},
    {TEXT("-.5"), -5, 1, false, 0},
    {TEXT("5."), 5, 0, false, 0},
    {TEXT("0."), 0, 0, false, 0},
    {TEXT("0.5"), 5, 1, false, 0},
    {TEXT("1.50"), 15, 1, false, 0},
    {TEXT("-12.3400"), -1234, 2, false, 0},
    {TEXT("10.00"), 10, 0, false, 0},
    {TEXT("100"), 100, 0, false, 0},
    {TEXT("0.001"), 1, 3, false, 0},
    /* The most digits that fit. */
    {TEXT("999999999999999999"), 999999999999999999, 0, false, 0},
    {TEXT("-999999999999999999"), -999999999999999999, 0, false, 0},
    {TEXT("000999999999999999999"), 999999999999999999, 0, false, 0},
    {TEXT("999999999999999999."), 999999999999999999, 0, false, 0},
    {TEXT("0.123456789012345678"), 123456789012345678, 18, false, 0},
    {TEXT("12345678901234567.8"), 123456789012345678, 1, false, 0},
    {TEXT("1.23456789012345678"), 123456789012345678, 17, false, 0},
    /* Further digits are rounded, halves away from zero. */
    {TEXT("0.1234567890123456784"), 123456789012345678, 18, true, 0},
    {TEXT("0.1234567890123456785"), 123456789012345679, 18, true, 0},
    {TEXT("-0.1234567890123456785"), -123456789012345679, 18, true, 0},
    {TEXT("0.12345678901234567849999999"), 123456789012345678, 18, true, 0},
    {TEXT("123456789012345678.4"), 123456789012345678, 0, true, 0},
    {TEXT("123456789012345678.5"), 123456789012345679, 0, true, 0},
    {TEXT("999999999999999999.5"), 1000000000000000000, 0, true, 0},
    {TEXT("-999999999999999999.9"), -1000000000000000000, 0, true, 0},
    {TEXT("9.99999999999999999999"), 10, 0, true, 0},
    {TEXT("0.9999999999999999999"), 1, 0, true, 0},
    {TEXT("0.0000000000000000001"), 0, 0, true, 0},
    {TEXT("0.0000000000000000005"), 1, 18, true, 0},
    {TEXT("-0.0000000000000000004"), 0, 0, true, 0},
    /* Powers of ten. */
    {TEXT("1e+06"), 1000000, 0, false, 0},
    {TEXT("2.5e3"), 2500, 0, false, 0},
    {TEXT("-2.5E-03"), -25, 4, false, 0},
    {TEXT("1e0"), 1, 0, false, 0},
    {TEXT("1e-18"), 1, 18, false, 0},
    {TEXT("1e-19"), 0, 0, true, 0},
    {TEXT("15e-19"), 2, 18, true, 0},
    {TEXT("9e-2147483647"), 0, 0, true, 0},
    {TEXT("0e2147483647"), 0, 0, false, 0},
    {TEXT("1e17"), 100000000000000000, 0, false, 0},
    /* Numbers of more than 18 digits. */
    {TEXT("1e18"), 100000000000000000, 0, false, 1},
    {TEXT("1000000000000000000"), 100000000000000000, 0, false, 1},
    {TEXT("1764100290735854000"), 176410029073585400, 0, false, 1},
    {TEXT("-1764100290735854123"), -176410029073585412, 0, true, 1},
    {TEXT("1764100290735854125.0"), 176410029073585413, 0, true, 1},
    {TEXT("9999999999999999999999"), 100000000000000000, 0, true, 5},
    {TEXT("999999999999999999e18"), 999999999999999999, 0, false, 18},
    {TEXT("100000000000000000000000000000000000"), 100000000000000000, 0, false, 18},
};

TEST(numbers_are_read_exactly) {
    for (size_t i = 0; i < sizeof numbers / sizeof *numbers; i++) {
        struct decimal value = {77, 7, 7};
        bool is_rounded = false;
        if (!decimal_parse(numbers[i].text, &value, &is_rounded)) fail_msg("refused: %s", numbers[i].text.bytes);
        if (value.mantissa != numbers[i].mantissa || value.scale != numbers[i].scale ||
            value.exponent != numbers[i].exponent)
            fail_msg("%s became %lld / 10^%u", numbers[i].text.bytes, (long long)value.mantissa, value.scale);
        if (is_rounded != numbers[i].is_rounded) fail_msg("rounding: %s", numbers[i].text.bytes);
    }
}

TEST(other_texts_are_refused) {
    static const struct text cases[] = {
        {NULL, 0},
        TEXT(""),
        TEXT("+"),
        TEXT("-"),
        TEXT("."),
        TEXT("-."),
        TEXT("+-1"),
        TEXT("--1"),
        TEXT("1-"),
        TEXT("- 1"),
        TEXT(" 1"),
        TEXT("1 "),
        TEXT("1 2"),
        TEXT("1.2.3"),
        TEXT("1..2"),
        TEXT(".."),
        TEXT("1,5"),
        TEXT("1e"),
        TEXT("e5"),
        TEXT(".e5"),
        TEXT("1e+"),
        TEXT("1e+-5"),
        TEXT("1e--5"),
        TEXT("1e5.0"),
        TEXT("1e5e5"),
        TEXT("1e2147483648"),
        TEXT("0x10"),
        TEXT("1_000"),
        TEXT("nan"),
        TEXT("inf"),
        TEXT("a"),
        TEXT("1a"),
        TEXT(".a"),
        TEXT("1.a"),
        TEXT("1.5a"),
        TEXT("1\0"),
        TEXT("1.\0"),
        TEXT("/"),
        TEXT(":"),
        TEXT("1.-5"),
        TEXT("\xd9\xa1"),
        /* Too large. */
        TEXT("1e36"),
        TEXT("-1e36"),
        TEXT("1000000000000000000000000000000000000"),
        TEXT("9999999999999999995e17"),
        TEXT("1e2147483647"),
        /* Something else after the digits that are rounded away. */
        TEXT("0.1234567890123456789x"),
        TEXT("0.1234567890123456789.1"),
        TEXT("123456789012345678.x"),
        TEXT("1234567890123456789x"),
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct decimal value = {77, 7, 7};
        bool is_rounded = false;
        if (decimal_parse(cases[i], &value, &is_rounded))
            fail_msg("taken: %s", cases[i].bytes ? cases[i].bytes : "(nothing)");
        assert_false(is_rounded);
        assert_true(value.mantissa == 77);
    }
}

TEST(the_point_moves) {
    assert_decimal(decimal_shift(decimal_make(15, 1), -6), 15, 7);
    assert_decimal(decimal_shift(decimal_make(15, 1), 1), 15, 0);
    assert_decimal(decimal_shift(decimal_make(-15, 1), 3), -1500, 0);
    assert_decimal(decimal_shift(decimal_make(0, 0), 40), 0, 0);
    struct decimal large = decimal_shift(decimal_make(-1, 0), 20);
    assert_true(large.mantissa == -100000000000000000 && large.scale == 0 && large.exponent == 3);
    assert_decimal(decimal_shift(large, -21), -1, 1);
    assert_true(decimal_to_double(large) == -1e20);
    assert_true(decimal_to_double(decimal_make(-25, 1)) == -2.5);
}

TEST(a_sum_that_does_not_fit_is_refused) {
    static const struct {
        struct decimal a, b;
    } sums[] = {
        {{INT64_MAX, 0, 0}, {1, 0, 0}},
        {{INT64_MIN, 0, 0}, {-1, 0, 0}},
        {{INT64_MAX / 2 + 1, 5, 0}, {INT64_MAX / 2 + 1, 5, 0}},
        {{999999999999999999, 0, 0}, {123456789012345678, 18, 0}}, /* too far apart */
        {{1, 18, 0}, {10, 0, 0}},
    };
    for (size_t i = 0; i < sizeof sums / sizeof *sums; i++) {
        struct decimal sum = {77, 7, 0};
        assert_false(decimal_add(sums[i].a, sums[i].b, &sum));
        assert_false(decimal_add(sums[i].b, sums[i].a, &sum));
        assert_true(sum.mantissa == 77);
    }
    struct decimal difference;
    assert_false(decimal_subtract(decimal_make(INT64_MIN, 0), decimal_make(1, 0), &difference));
    assert_false(decimal_subtract(decimal_make(0, 0), decimal_make(INT64_MIN, 0), &difference));
    assert_false(decimal_subtract(decimal_make(INT64_MAX, 0), decimal_make(-1, 0), &difference));
}

TEST(a_value_is_scaled_up) {
    int64_t scaled = 77;
    assert_true(decimal_rescale(decimal_make(15, 1), 1, &scaled));
    assert_int_equal(scaled, 15);
    assert_true(decimal_rescale(decimal_make(15, 1), 6, &scaled));
    assert_int_equal(scaled, 1500000);
    assert_true(decimal_rescale(decimal_make(-2, 0), 18, &scaled));
    assert_true(scaled == -2000000000000000000);
    assert_true(decimal_rescale(decimal_make(9, 0), 18, &scaled));
    assert_true(scaled == 9000000000000000000);
    assert_true(decimal_rescale(decimal_make(0, 0), 18, &scaled));
    assert_int_equal(scaled, 0);
    assert_false(decimal_rescale((struct decimal){.mantissa = 1, .exponent = 19}, 0, &scaled));
    assert_false(decimal_rescale(decimal_make(10, 0), 18, &scaled));
    assert_false(decimal_rescale(decimal_make(-10, 0), 18, &scaled));
    assert_false(decimal_rescale(decimal_make(INT64_MAX, 0), 1, &scaled));
    assert_false(decimal_rescale(decimal_make(INT64_MIN, 3), 4, &scaled));
    assert_int_equal(scaled, 0);
}

TEST(sums_of_thousandths_are_as_of_integers) {
    struct random_numbers random = {6};
    for (unsigned i = 0; i < 20000; i++) {
        int64_t a = (int64_t)random_below(&random, 2000000) - 1000000,
                b = (int64_t)random_below(&random, 2000000) - 1000000;
        struct decimal sum, difference, back;
        assert_true(decimal_add(decimal_make(a, 3), decimal_make(b, 3), &sum));
        assert_true(decimal_subtract(decimal_make(a, 3), decimal_make(b, 3), &difference));
        struct decimal expected_sum = decimal_make(a + b, 3), expected_difference = decimal_make(a - b, 3);
        assert_memory_equal(&sum, &expected_sum, sizeof sum);
        assert_memory_equal(&difference, &expected_difference, sizeof difference);
        int64_t thousandths;
        assert_true(decimal_rescale(sum, 3, &thousandths));
        assert_int_equal(thousandths, a + b);
        assert_true(decimal_subtract(sum, decimal_make(b, 3), &back));
        assert_true(back.scale == 0 || back.mantissa % 10 != 0);
        assert_true(decimal_rescale(back, 3, &thousandths));
        assert_int_equal(thousandths, a);
    }
}

int main(void) { return unit_tests_run(NULL, NULL); }
