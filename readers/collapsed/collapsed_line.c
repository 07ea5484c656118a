#include "collapsed_line.h"

#include "libconvert/base/cursor.h"

static struct text take_last_word(struct text *rest) {
    struct text words = text_trim_end(*rest);
    size_t start = words.bytes_count;
    while (start > 0 && !text_is_blank_byte(words.bytes[start - 1])) start--;
    *rest = text_trim_end(text_slice(words, 0, start));
    return text_from(words, start);
}

static struct text without_sign(struct text word) {
    bool has_sign = word.bytes_count && (word.bytes[0] == '-' || word.bytes[0] == '+');
    return text_from(word, has_sign);
}

/* True if the word is shaped like a decimal number of any size, such as -12.5 or 1e+06. */
static bool is_number(struct text word) {
    word = without_sign(word);
    size_t whole_count = cursor_count_digits(word), fraction_count = 0;
    word = text_from(word, whole_count);
    if (cursor_take(&word, TEXT("."))) fraction_count = cursor_count_digits(word);
    word = text_from(word, fraction_count);
    if (!whole_count && !fraction_count) return false;
    if (!cursor_take(&word, TEXT("e")) && !cursor_take(&word, TEXT("E"))) return !word.bytes_count;
    word = without_sign(word);
    return word.bytes_count && cursor_count_digits(word) == word.bytes_count;
}

/* Takes a separator of ASCII, a space within numbers (U+00A0, U+2009, U+202F, or as Latin-1 has it), or an apostrophe
 * (U+2019). */
static bool take_separator(struct text *word) {
    static const struct text separators[] = {TEXT(","),
                                             TEXT("."),
                                             TEXT("'"),
                                             TEXT("\xc2\xa0"),
                                             TEXT("\xe2\x80\x89"),
                                             TEXT("\xe2\x80\xaf"),
                                             TEXT("\xe2\x80\x99"),
                                             TEXT("\xa0")};
    for (size_t i = 0; i < sizeof separators / sizeof *separators; i++)
        if (cursor_take(word, separators[i])) return true;
    return false;
}

/* True for numbers such as 5,000, 1.234.567 and 1'234. */
static bool is_grouped(struct text word) {
    size_t digit_count;
    word = without_sign(word);
    do {
        digit_count = cursor_count_digits(word);
        word = text_from(word, digit_count);
    } while (digit_count && take_separator(&word));
    return digit_count && !word.bytes_count;
}

/* Profilers write their settings as "# interval: 100", which is not a stack although it ends in a number. */
static bool is_comment(struct text text, struct text last_word) {
    if (text.bytes[0] != '#') return false;
    return text.bytes_count == 1 || text_is_blank_byte(text.bytes[1]) || !is_number(last_word);
}

static bool has_frame(struct text stack) {
    for (size_t i = 0; i < stack.bytes_count; i++)
        if (stack.bytes[i] != ';' && !text_is_blank_byte(stack.bytes[i])) return true;
    return false;
}

/* Returns the first of austin's numbers, or the whole word if it is something else. */
static struct text take_austin_time(struct text word, bool *has_others) {
    struct text memory = word, time = text_take_until(&memory, ','), idle = text_take_until(&memory, ',');
    if (!is_number(time) || !is_number(idle) || !is_number(memory)) return word;
    *has_others = !text_equal(idle, TEXT("0")) || !text_equal(memory, TEXT("0"));
    return time;
}

struct text collapsed_line_take_numbers(struct text *stack, bool *has_others) {
    struct text rest = *stack;
    struct text freed = take_last_word(&rest), allocated = take_last_word(&rest), time = take_last_word(&rest);
    if (!is_number(time) || !is_number(allocated) || !is_number(freed)) return (struct text){0};
    *has_others = !text_equal(allocated, TEXT("0")) || !text_equal(freed, TEXT("0"));
    *stack = rest;
    return time;
}

enum collapsed_verdict collapsed_line_parse(struct text text, enum collapsed_counts counts,
                                            struct collapsed_line *line) {
    *line = (struct collapsed_line){.stack = text};
    struct text last = {0};
    if (counts == COLLAPSED_AUSTIN_NUMBERS) last = collapsed_line_take_numbers(&line->stack, &line->has_others);
    if (!last.bytes_count) last = take_last_word(&line->stack);
    if (counts == COLLAPSED_AUSTIN_NUMBERS) last = take_austin_time(last, &line->has_others);
    if (!last.bytes_count) return COLLAPSED_BLANK;
    if (is_comment(text, last)) return COLLAPSED_COMMENT;
    if (!is_number(last)) return is_grouped(last) ? COLLAPSED_GROUPED : COLLAPSED_NO_COUNT;
    if (!has_frame(line->stack)) return COLLAPSED_NO_STACK;
    if (counts == COLLAPSED_TWO_NUMBERS) {
        struct text first = take_last_word(&line->stack);
        if (!is_number(first)) return COLLAPSED_ONE_COUNT;
        if (!has_frame(line->stack)) return COLLAPSED_NO_STACK;
        if (!decimal_parse(first, &line->before, &line->is_rounded)) return COLLAPSED_OUT_OF_RANGE;
    }
    if (!decimal_parse(last, &line->after, &line->is_rounded)) return COLLAPSED_OUT_OF_RANGE;
    if (!decimal_subtract(line->after, line->before, &line->weight)) return COLLAPSED_OUT_OF_RANGE;
    return COLLAPSED_STACK;
}

bool collapsed_line_take(struct text *start, bool is_whole, struct text *line) {
    size_t end = text_find(*start, '\n');
    if (end == start->bytes_count && (!is_whole || end == 0)) return false;
    *line = text_slice(*start, 0, end);
    *start = text_from(*start, end < start->bytes_count ? end + 1 : end);
    if (text_ends_with(*line, TEXT("\r"))) line->bytes_count--;
    return true;
}
