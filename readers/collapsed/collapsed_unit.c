#include "collapsed_unit.h"

#include "collapsed_dialect.h"
#include "libconvert/base/cursor.h"

static const struct {
    int ns_digits; /* the unit is 10^ns_digits nanoseconds; -1: it is no time */
    enum weight_type weight_type;
} UNITS[] = {
    [GECKO_CONVERT_UNIT_SAMPLES] = {-1, WEIGHT_SAMPLES}, [GECKO_CONVERT_UNIT_NS] = {0, WEIGHT_TRACING_MS},
    [GECKO_CONVERT_UNIT_US] = {3, WEIGHT_TRACING_MS},    [GECKO_CONVERT_UNIT_MS] = {6, WEIGHT_TRACING_MS},
    [GECKO_CONVERT_UNIT_BYTES] = {-1, WEIGHT_BYTES},
};

/* austin writes lines such as "# mode: wall" before its stacks. */
static const struct {
    struct text mode;
    enum collapsed_counts counts;
    enum gecko_convert_weight_unit weight_unit;
} AUSTIN_MODES[] = {
    {TEXT("wall"), COLLAPSED_ONE_NUMBER, GECKO_CONVERT_UNIT_US},
    {TEXT("cpu"), COLLAPSED_ONE_NUMBER, GECKO_CONVERT_UNIT_US},
    {TEXT("memory"), COLLAPSED_ONE_NUMBER, GECKO_CONVERT_UNIT_BYTES},
    {TEXT("full"), COLLAPSED_AUSTIN_NUMBERS, GECKO_CONVERT_UNIT_US},
};

/* Sets what the header of austin says. Returns false if there is none. */
static bool read_austin_header(struct text start, struct collapsed_unit *unit) {
    struct text text;
    if (!text_starts_with(start, TEXT("# austin: "))) return false;
    while (collapsed_line_take(&start, true, &text) && cursor_take(&text, TEXT("# "))) {
        uint64_t interval_us;
        bool has_interval = cursor_take(&text, TEXT("interval: ")) && cursor_parse_number(text, 10, &interval_us);
        if (has_interval && interval_us < UINT32_MAX) unit->interval_ns = (int64_t)interval_us * 1000;
        if (!cursor_take(&text, TEXT("mode: "))) continue;
        for (size_t i = 0; i < sizeof AUSTIN_MODES / sizeof *AUSTIN_MODES; i++) {
            if (!text_equal(text, AUSTIN_MODES[i].mode)) continue;
            unit->counts = AUSTIN_MODES[i].counts;
            unit->weight_unit = AUSTIN_MODES[i].weight_unit;
        }
    }
    return true;
}

/* Sets what lines of austin 1 with all numbers (-f) say, which have no header. */
static bool read_old_austin(struct text start, struct collapsed_unit *unit) {
    struct text stack = text_slice(start, 0, text_find(start, '\n'));
    bool has_others;
    if (!collapsed_line_take_numbers(&stack, &has_others).bytes_count || !dialect_is_old_austin(stack)) return false;
    unit->counts = COLLAPSED_AUSTIN_NUMBERS;
    unit->weight_unit = GECKO_CONVERT_UNIT_US;
    return true;
}

/* bcc's tools write "Tracing off-CPU time (us) of all threads by kernel stack... Hit Ctrl-C to end." */
static bool is_time_of_bcc(struct text start) {
    struct text line = text_slice(start, 0, text_find(start, '\n'));
    return text_starts_with(line, TEXT("Tracing ")) && text_has(line, TEXT(" time (us) "));
}

/* A file is a difference if most stacks in its start end in two numbers. */
static bool is_difference(struct text start, bool is_whole) {
    size_t two_count = 0, one_count = 0;
    struct text text;
    struct collapsed_line line;
    while (collapsed_line_take(&start, is_whole, &text)) {
        bool has_two = collapsed_line_parse(text, COLLAPSED_TWO_NUMBERS, &line) == COLLAPSED_STACK;
        two_count += has_two;
        one_count += !has_two && collapsed_line_parse(text, COLLAPSED_ONE_NUMBER, &line) == COLLAPSED_STACK;
    }
    return two_count > one_count;
}

bool collapsed_unit_is_full_austin(struct text start) {
    struct collapsed_unit unit = {0};
    return (read_austin_header(start, &unit) || read_old_austin(start, &unit)) &&
           unit.counts == COLLAPSED_AUSTIN_NUMBERS;
}

struct collapsed_unit collapsed_unit_of(struct text start, bool is_whole, const struct reader_options *options) {
    struct collapsed_unit unit = {.weight_unit = GECKO_CONVERT_UNIT_SAMPLES};
    bool is_austin = read_austin_header(start, &unit) || read_old_austin(start, &unit);
    if (!is_austin && is_difference(start, is_whole)) unit.counts = COLLAPSED_TWO_NUMBERS;
    if (is_time_of_bcc(start)) unit.weight_unit = GECKO_CONVERT_UNIT_US;
    if (options->weight_unit != GECKO_CONVERT_UNIT_AUTO) unit.weight_unit = options->weight_unit;
    if (options->sample_interval_ns) unit.interval_ns = options->sample_interval_ns;
    return unit;
}

struct decimal collapsed_unit_weight(const struct collapsed_unit *unit, struct decimal weight) {
    int digits = UNITS[unit->weight_unit].ns_digits;
    return digits > 0 ? decimal_shift(weight, digits) : weight;
}

bool collapsed_unit_has_times(const struct collapsed_unit *unit) {
    if (unit->counts == COLLAPSED_TWO_NUMBERS) return false;
    bool counts_samples = unit->weight_unit == GECKO_CONVERT_UNIT_SAMPLES;
    return UNITS[unit->weight_unit].ns_digits >= 0 || (counts_samples && unit->interval_ns);
}

int64_t collapsed_unit_duration_ns(const struct collapsed_unit *unit, struct decimal weight) {
    static const double longest_ns = 1e17; /* three years */
    bool is_time = UNITS[unit->weight_unit].ns_digits >= 0;
    double duration_ns = decimal_to_double(weight) * (is_time ? 1 : (double)unit->interval_ns);
    if (!(duration_ns > 0)) return 0;
    return duration_ns < longest_ns ? (int64_t)duration_ns : (int64_t)longest_ns;
}

enum weight_type collapsed_unit_weight_type(const struct collapsed_unit *unit) {
    return UNITS[unit->weight_unit].weight_type;
}
