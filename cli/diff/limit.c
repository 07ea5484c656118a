#include "limit.h"

#include "cli/arguments.h"
#include "libconvert/base/decimal.h"

static const double NS_PER_MS = 1e6;

/* The kinds of limits that a subject can have, as bits 1 << enum limit_unit. */
enum { PLAIN = 1 << LIMIT_PLAIN, PERCENT = 1 << LIMIT_PERCENT, MS = 1 << LIMIT_MS };

static const struct subject {
    struct text name;
    unsigned units;
    bool has_percent_of_all; /* "5%" is a share of all samples */
} subjects[] = {
    [LIMIT_SELF] = {TEXT("self"), PLAIN | PERCENT | MS, true},
    [LIMIT_TOTAL] = {TEXT("total"), PLAIN | PERCENT | MS, true},
    [LIMIT_COUNT] = {TEXT("count"), PLAIN | PERCENT, false},
    [LIMIT_MEDIAN] = {TEXT("median"), PERCENT | MS, false},
    [LIMIT_P95] = {TEXT("p95"), PERCENT | MS, false},
    [LIMIT_COUNTER] = {TEXT("counter"), PLAIN | PERCENT, false},
    [LIMIT_DURATION] = {TEXT("duration"), PERCENT | MS, false},
};
enum { SUBJECT_COUNT = sizeof subjects / sizeof *subjects };

static void refuse(struct failure *failure, struct text source, const char *why) {
    failure_set(failure, FAILURE_USAGE,
                "'%.*s': %s; an expression is self(GLOB), total(GLOB), count(MARKER), median(MARKER), p95(MARKER), "
                "counter(NAME) or duration, then > and a limit such as +5%%, +10ms or 12%%",
                TEXT_ARGS(source), why);
}

/* Parses what is before the ">". */
static bool parse_subject(struct text text, struct limit *limit) {
    size_t open = text_find(text, '(');
    struct text name = text_trim(text_slice(text, 0, open)), arguments = text_from(text, open);
    unsigned subject = 0;
    while (subject < SUBJECT_COUNT && !text_equal(name, subjects[subject].name)) subject++;
    if (subject == SUBJECT_COUNT) return false;
    limit->subject = subject;
    if (subject == LIMIT_DURATION) return !arguments.bytes_count;
    if (arguments.bytes_count < 2 || !text_ends_with(arguments, TEXT(")"))) return false;
    limit->pattern = text_slice(arguments, 1, arguments.bytes_count - 1);
    return limit->pattern.bytes_count > 0;
}

/* Parses what is after the ">". */
static bool parse_value(struct text text, struct limit *limit) {
    struct decimal number;
    bool is_rounded = false, has_plus = text_starts_with(text, TEXT("+"));
    int64_t time_ns;
    limit->is_change = has_plus || text_starts_with(text, TEXT("-"));
    if (has_plus) text = text_from(text, 1);
    if (has_plus && (text_starts_with(text, TEXT("+")) || text_starts_with(text, TEXT("-")))) return false;
    if (arguments_parse_time(text, &time_ns)) {
        limit->unit = LIMIT_MS;
        limit->value = (double)time_ns / NS_PER_MS;
        return true;
    }
    bool is_percent = text_ends_with(text, TEXT("%"));
    if (is_percent) text = text_trim_end(text_slice(text, 0, text.bytes_count - 1));
    limit->unit = is_percent ? LIMIT_PERCENT : LIMIT_PLAIN;
    if (!decimal_parse(text, &number, &is_rounded)) return false;
    limit->value = decimal_to_double(number);
    return true;
}

struct limit limit_parse(struct text text, struct failure *failure) {
    struct limit limit = {.source = text};
    size_t than = text_find_last(text, '>');
    if (than == text.bytes_count) {
        refuse(failure, text, "there is no > in it");
    } else if (!parse_subject(text_trim(text_slice(text, 0, than)), &limit)) {
        refuse(failure, text, "what is compared is not known");
    } else if (!parse_value(text_trim(text_from(text, than + 1)), &limit)) {
        refuse(failure, text, "the limit is not a number");
    } else {
        const struct subject *subject = &subjects[limit.subject];
        bool has_unit = subject->units >> limit.unit & 1;
        bool is_share = limit.unit == LIMIT_PERCENT && !limit.is_change;
        if (!has_unit || (is_share && !subject->has_percent_of_all))
            refuse(failure, text, "the limit has another unit than what is compared");
    }
    return limit;
}
