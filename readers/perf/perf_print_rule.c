#include "perf_print_rule.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "libconvert/base/cursor.h"

/* Returns how many bytes the text in quotes at the start takes, with both quotes. */
static size_t quoted_bytes(struct text rule) {
    size_t i = 1;
    while (i < rule.bytes_count && rule.bytes[i] != '"') i += rule.bytes[i] == '\\' ? 2 : 1;
    return i < rule.bytes_count ? i + 1 : rule.bytes_count;
}

/* ---- Arguments and conversions. ---- */

/* Returns where the byte is outside of quotes, parentheses and braces; the size of the text if it is nowhere. */
static size_t find_outside(struct text text, char wanted) {
    size_t depth = 0;
    for (size_t i = 0, bytes_count; i < text.bytes_count; i += bytes_count) {
        char byte = text.bytes[i];
        if (byte == wanted && !depth) return i;
        bytes_count = byte == '"' ? quoted_bytes(text_from(text, i)) : 1;
        depth += byte == '(' || byte == '{';
        depth -= depth && (byte == ')' || byte == '}');
    }
    return text.bytes_count;
}

/* Takes what precedes the separator, and the separator. */
static struct text take_until(struct text *text, char separator) {
    size_t end = find_outside(*text, separator);
    struct text taken = text_trim(text_slice(*text, 0, end));
    *text = text_from(*text, end + 1);
    return taken;
}

static bool mentions(struct text argument, const char *field) {
    static const struct text record = TEXT("REC->");
    while (text_has(argument, record)) {
        argument = text_from(argument, text_find_part(argument, record) + record.bytes_count);
        struct text left = argument;
        if (cursor_take(&left, text_of(field)) && (!left.bytes_count || !cursor_is_word_byte(left.bytes[0])))
            return true;
    }
    return false;
}

/* An argument, and the conversion of the format that prints it. */
struct argument {
    struct text before; /* what the format has between the last conversion and this one */
    char letter;        /* 'x' for "%08lx"; 0: there is none */
    struct text text;
};

struct arguments {
    struct text format;
    struct text left;
};

static struct arguments arguments_of(struct text rule) {
    struct text format = take_until(&rule, ',');
    return (struct arguments){text_starts_with(format, TEXT("\"")) ? format : (struct text){0}, rule};
}

/* A width "*" is an argument of its own. */
static bool take_argument(struct arguments *arguments, struct argument *argument) {
    static const char modifiers[] = "#-+ .*0123456789hlLqzjt";
    struct text format = arguments->format;
    *argument = (struct argument){0};
    for (size_t i = 0; i < format.bytes_count && !argument->letter; i++) {
        size_t start = i;
        if (format.bytes[i] != '%') continue;
        for (i++; i < format.bytes_count && memchr(modifiers, format.bytes[i], sizeof modifiers - 1); i++)
            if (format.bytes[i] == '*') take_until(&arguments->left, ',');
        if (i == format.bytes_count || format.bytes[i] == '%') continue;
        argument->before = text_slice(format, 0, start);
        argument->letter = format.bytes[i];
        arguments->format = text_from(format, i + 1);
    }
    argument->text = take_until(&arguments->left, ',');
    return argument->letter && argument->text.bytes_count;
}

/* Returns the letter of the conversion that prints the field; 0: there is none. *after: what follows it. */
static char find_conversion(struct text rule, const char *field, struct text *after) {
    struct arguments arguments = arguments_of(rule);
    struct argument argument;
    while (take_argument(&arguments, &argument)) {
        *after = arguments.format;
        if (mentions(argument.text, field)) return argument.letter;
    }
    return 0;
}

enum marker_format perf_print_rule_format(struct text rule, const char *field) {
    struct text after = {0};
    char letter = find_conversion(rule, field, &after);
    if (!letter) return MARKER_INTEGER;
    if (strchr("xXp", letter)) return MARKER_HEXADECIMAL;
    if (text_starts_with(after, TEXT(" [ns]"))) return MARKER_NANOSECONDS;
    return text_starts_with(after, TEXT("B")) ? MARKER_BYTES : MARKER_INTEGER;
}

enum perf_function_form perf_print_rule_function(struct text rule, const char *field) {
    struct text after = {0};
    char letter = find_conversion(rule, field, &after);
    if (letter == 's') return FUNCTION_TEXT;
    if (letter != 'p' || !after.bytes_count) return FUNCTION_NONE;
    if (strchr("FS", after.bytes[0])) return FUNCTION_WITH_OFFSET;
    return strchr("fs", after.bytes[0]) ? FUNCTION_ALONE : FUNCTION_NONE;
}

bool perf_print_rule_is_ip(struct text rule, const char *field) {
    struct text after = {0};
    if (find_conversion(rule, field, &after) != 'p') return false;
    return text_starts_with(after, TEXT("I4")) || text_starts_with(after, TEXT("I6"));
}

/* ---- Expressions. ---- */

enum { DEPTH_MAX = 64, WORDS_BYTES_MAX = 512, RULE_BYTES_MAX = 16384 };

/* Evaluates expressions in which the field is the only variable. */
struct evaluation {
    const char *field;
    uint64_t value; /* value of the field */
    unsigned depth;
    bool is_bad; /* the expression is malformed, or depends on more than the field */
    char words[WORDS_BYTES_MAX];
    size_t words_bytes;
};

static uint64_t fail(struct evaluation *evaluation) {
    evaluation->is_bad = true;
    return 0;
}

static bool take_sign(struct text *text, struct text sign) {
    *text = text_trim_start(*text);
    return cursor_take(text, sign);
}

static uint64_t evaluate(struct evaluation *evaluation, struct text *text, unsigned precedence_min);

static bool take_octal(struct text *text, uint64_t *number) {
    *number = 0;
    for (; text->bytes_count && cursor_is_digit(text->bytes[0]); *text = text_from(*text, 1)) {
        if (text->bytes[0] > '7' || *number >> 61) return false;
        *number = *number << 3 | (uint64_t)(text->bytes[0] - '0');
    }
    return true;
}

static uint64_t take_constant(struct evaluation *evaluation, struct text *text) {
    uint64_t number;
    unsigned base = cursor_take(text, TEXT("0x")) ? 16 : 10;
    bool is_octal = base == 10 && text_starts_with(*text, TEXT("0"));
    if (is_octal ? !take_octal(text, &number) : !cursor_take_number(text, base, &number)) return fail(evaluation);
    while (text->bytes_count && memchr("uUlL", text->bytes[0], 4)) *text = text_from(*text, 1);
    return number;
}

/* Returns the number as one of the type: "short unsigned int", "u16", "__s32", "uint8_t". The first part that the type
 * has tells the size. Types of other names have 64 bits. */
static uint64_t cast(uint64_t number, struct text type) {
    static const struct {
        struct text part;
        unsigned bits;
    } sizes[] = {
        {TEXT("*"), 64},   {TEXT("ptr"), 64}, {TEXT("long"), 64},     {TEXT("short"), 16},
        {TEXT("char"), 8}, {TEXT("64"), 64},  {TEXT("32"), 32},       {TEXT("16"), 16},
        {TEXT("8"), 8},    {TEXT("int"), 32}, {TEXT("unsigned"), 32},
    };
    bool is_unsigned =
        text_has(type, TEXT("unsigned")) || text_starts_with(type, TEXT("u")) || text_starts_with(type, TEXT("__u"));
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        if (!text_has(type, sizes[i].part)) continue;
        unsigned unused_bits = 64 - sizes[i].bits;
        number <<= unused_bits;
        return is_unsigned ? number >> unused_bits : (uint64_t)((int64_t)number >> unused_bits);
    }
    return number;
}

/* Takes a number, the field, an expression in parentheses, or one with a cast or a sign before it. */
static uint64_t take_operand(struct evaluation *evaluation, struct text *text) {
    if (evaluation->depth >= DEPTH_MAX) return fail(evaluation);
    evaluation->depth++;
    uint64_t number = 0;
    if (take_sign(text, TEXT("~"))) {
        number = ~take_operand(evaluation, text);
    } else if (take_sign(text, TEXT("-"))) {
        number = -take_operand(evaluation, text);
    } else if (take_sign(text, TEXT("!"))) {
        number = !take_operand(evaluation, text);
    } else if (take_sign(text, TEXT("REC->"))) {
        if (!text_equal(cursor_take_word(text), text_of(evaluation->field))) fail(evaluation);
        number = evaluation->value;
    } else if (take_sign(text, TEXT("("))) {
        *text = text_trim_start(*text);
        bool is_cast = text->bytes_count && cursor_is_word_byte(text->bytes[0]) && !cursor_is_digit(text->bytes[0]) &&
                       !text_starts_with(*text, TEXT("REC->"));
        size_t end = text_find(*text, ')');
        struct text type = text_trim_end(text_slice(*text, 0, end));
        if (is_cast)
            *text = text_from(*text, end);
        else
            number = evaluate(evaluation, text, 0);
        if (!take_sign(text, TEXT(")"))) fail(evaluation);
        if (is_cast) number = cast(take_operand(evaluation, text), type);
    } else {
        number = take_constant(evaluation, text);
    }
    evaluation->depth--;
    return number;
}

enum operation { OR, XOR, AND, EQUAL, UNEQUAL, SHIFT_LEFT, SHIFT_RIGHT, LESS, MORE, PLUS, MINUS, OPERATION_COUNT };

/* If one sign begins another one, the longer one is first. */
static const struct {
    struct text sign;
    unsigned precedence;
} operations[OPERATION_COUNT] = {
    [OR] = {TEXT("|"), 1},           [XOR] = {TEXT("^"), 2},      [AND] = {TEXT("&"), 3},
    [EQUAL] = {TEXT("=="), 4},       [UNEQUAL] = {TEXT("!="), 4}, [SHIFT_LEFT] = {TEXT("<<"), 6},
    [SHIFT_RIGHT] = {TEXT(">>"), 6}, [LESS] = {TEXT("<"), 5},     [MORE] = {TEXT(">"), 5},
    [PLUS] = {TEXT("+"), 7},         [MINUS] = {TEXT("-"), 7},
};

/* Numbers are compared as signed ones, which may be error codes. */
static uint64_t operate(struct evaluation *evaluation, enum operation operation, uint64_t left, uint64_t right) {
    bool is_shift = operation == SHIFT_LEFT || operation == SHIFT_RIGHT;
    if (is_shift && right > 63) return fail(evaluation);
    switch (operation) {
        case OR: return left | right;
        case XOR: return left ^ right;
        case AND: return left & right;
        case EQUAL: return left == right;
        case UNEQUAL: return left != right;
        case SHIFT_LEFT: return left << right;
        case SHIFT_RIGHT: return left >> right;
        case LESS: return (int64_t)left < (int64_t)right;
        case MORE: return (int64_t)left > (int64_t)right;
        case PLUS: return left + right;
        default: return left - right;
    }
}

static uint64_t evaluate(struct evaluation *evaluation, struct text *text, unsigned precedence_min) {
    uint64_t left = take_operand(evaluation, text);
    for (size_t i = 0; i < OPERATION_COUNT && !evaluation->is_bad;) {
        bool is_next = operations[i].precedence > precedence_min && take_sign(text, operations[i].sign);
        if (is_next)
            left = operate(evaluation, (enum operation)i, left, evaluate(evaluation, text, operations[i].precedence));
        i = is_next ? 0 : i + 1;
    }
    return left;
}

/* Returns the value of the whole text. */
static uint64_t evaluate_all(struct evaluation *evaluation, struct text text) {
    uint64_t number = evaluate(evaluation, &text, 0);
    return text_trim(text).bytes_count ? fail(evaluation) : number;
}

/* ---- Words. ---- */

static void append(struct evaluation *evaluation, struct text words) {
    if (words.bytes_count > sizeof evaluation->words - evaluation->words_bytes) {
        fail(evaluation);
        return;
    }
    if (words.bytes_count) memcpy(evaluation->words + evaluation->words_bytes, words.bytes, words.bytes_count);
    evaluation->words_bytes += words.bytes_count;
}

static void append_hex(struct evaluation *evaluation, uint64_t value) {
    char digits[24];
    int count = snprintf(digits, sizeof digits, "0x%" PRIx64, value);
    append(evaluation, (struct text){digits, (size_t)count});
}

static struct text unquote(struct evaluation *evaluation, struct text quoted) {
    if (quoted.bytes_count < 2 || quoted.bytes[0] != '"' || quoted_bytes(quoted) != quoted.bytes_count) {
        fail(evaluation);
        return (struct text){0};
    }
    return text_slice(quoted, 1, quoted.bytes_count - 1);
}

/* Takes "{ 1, "TIMER" }". All rows are evaluated, so an expression is malformed for all values or for none. */
static bool take_row(struct evaluation *evaluation, struct text *rows, uint64_t *number, struct text *word) {
    struct text row = take_until(rows, ',');
    if (!row.bytes_count || evaluation->is_bad) return false;
    if (!cursor_take(&row, TEXT("{")) || !text_ends_with(row, TEXT("}"))) return fail(evaluation);
    row.bytes_count--;
    *number = evaluate_all(evaluation, take_until(&row, ','));
    if (text_equal(text_trim(row), TEXT("((void *)0)"))) return false; /* ends the table */
    *word = unquote(evaluation, text_trim(row));
    return !evaluation->is_bad;
}

/* The word of a row whose number is 0 stands for no flags. */
static void append_flags(struct evaluation *evaluation, struct text rows) {
    uint64_t left = evaluate_all(evaluation, take_until(&rows, ',')), number;
    struct text delimiter = unquote(evaluation, take_until(&rows, ',')), word;
    bool is_first = true, is_zero = !left;
    while (take_row(evaluation, &rows, &number, &word)) {
        bool is_set = number ? (left & number) == number : is_zero && is_first;
        if (!is_set) continue;
        if (!is_first) append(evaluation, delimiter);
        append(evaluation, word);
        is_first = false;
        left &= ~number;
    }
    if (!left) return;
    if (!is_first) append(evaluation, delimiter);
    append_hex(evaluation, left);
}

static void append_symbol(struct evaluation *evaluation, struct text rows) {
    uint64_t value = evaluate_all(evaluation, take_until(&rows, ',')), number;
    struct text word;
    bool is_known = false;
    while (take_row(evaluation, &rows, &number, &word)) {
        if (number == value && !is_known) append(evaluation, word);
        is_known |= number == value;
    }
    if (!is_known) append_hex(evaluation, value);
}

static void append_words(struct evaluation *evaluation, struct text text);

static void append_choice(struct evaluation *evaluation, struct text condition, struct text choices) {
    size_t words_bytes = evaluation->words_bytes;
    bool is_true = evaluate_all(evaluation, condition) != 0;
    struct text chosen = take_until(&choices, ':'), other = choices;
    append_words(evaluation, is_true ? other : chosen);
    evaluation->words_bytes = words_bytes;
    append_words(evaluation, is_true ? chosen : other);
}

/* Appends the words of "CONDITION ? A : B", of a text in quotes, or of one of the kernel's functions. */
static void append_words(struct evaluation *evaluation, struct text text) {
    text = text_trim(text);
    if (evaluation->depth >= DEPTH_MAX) fail(evaluation);
    if (evaluation->is_bad) return;
    evaluation->depth++;
    size_t question = find_outside(text, '?');
    bool is_call = text_ends_with(text, TEXT(")"));
    struct text inside = text_slice(text, 0, text.bytes_count - is_call);
    if (question < text.bytes_count)
        append_choice(evaluation, text_slice(text, 0, question), text_from(text, question + 1));
    else if (is_call && cursor_take(&inside, TEXT("__print_flags(")))
        append_flags(evaluation, inside);
    else if (is_call && cursor_take(&inside, TEXT("__print_symbolic(")))
        append_symbol(evaluation, inside);
    else
        append(evaluation, unquote(evaluation, text));
    evaluation->depth--;
}

/* ---- All. ---- */

enum { PARTS_MAX = 4, EVALUATIONS_MAX = 65536 };

struct perf_words {
    const char *field;
    struct text parts[PARTS_MAX]; /* arguments that follow each other: "%s%s" */
    size_t part_count;
    uint32_t evaluation_count;
};

struct words_key {
    uint64_t value;
    uint64_t words; /* the address of the struct perf_words */
};

void perf_known_words_init(struct value_table *known, struct failure *failure) {
    value_table_init(known, sizeof(struct words_key), sizeof(string_id), failure);
}

static void evaluate_parts(const struct perf_words *words, struct evaluation *evaluation, uint64_t value) {
    *evaluation = (struct evaluation){.field = words->field, .value = value};
    for (size_t i = 0; i < words->part_count; i++) append_words(evaluation, words->parts[i]);
}

/* Returns the word before the "=" that ends the text. */
static struct text key_before(struct text text) {
    size_t end = text.bytes_count - text_ends_with(text, TEXT("=")), start = end;
    while (start && cursor_is_word_byte(text.bytes[start - 1])) start--;
    return text_slice(text, start, end);
}

/* Returns false if there are more parts than PARTS_MAX: the field is shown as its number then. */
static bool find_parts(struct perf_words *words, struct text rule, struct text *key, bool *is_number) {
    struct arguments arguments = arguments_of(rule);
    struct argument argument;
    for (bool is_open = false; take_argument(&arguments, &argument);) {
        bool is_of_field = mentions(argument.text, words->field), is_words = argument.letter == 's';
        *is_number |= is_of_field && !is_words;
        bool is_next = is_of_field && is_words && (!words->part_count || (is_open && !argument.before.bytes_count));
        is_open = is_next;
        if (!is_next) continue;
        if (words->part_count == PARTS_MAX) return false;
        if (!words->part_count) *key = key_before(argument.before);
        words->parts[words->part_count++] = argument.text;
    }
    return true;
}

struct perf_words *perf_words_create(struct profile *profile, struct text rule, const char *field, struct text *key) {
    struct evaluation evaluation;
    struct perf_words found = {.field = field};
    bool is_number = false;
    if (rule.bytes_count > RULE_BYTES_MAX) return NULL;
    if (!find_parts(&found, rule, key, &is_number)) return NULL;
    if (!is_number) *key = (struct text){0};
    evaluate_parts(&found, &evaluation, 0);
    if (evaluation.is_bad || !found.part_count || (is_number && !key->bytes_count)) return NULL;
    struct perf_words *words = profile_allocate(profile, sizeof *words);
    if (!words) return NULL;
    *words = found;
    return words;
}

static string_id hex_string(struct profile *profile, uint64_t value) {
    return strings_intern_format(&profile->strings, "0x%" PRIx64, value);
}

string_id perf_words_of(struct perf_words *words, struct value_table *known, struct profile *profile, uint64_t value) {
    const struct words_key key = {value, (uint64_t)(uintptr_t)words};
    const string_id *found = value_table_find(known, &key);
    if (found) return *found;
    /* Values of a field that stands for words are few. */
    if (words->evaluation_count == EVALUATIONS_MAX) return hex_string(profile, value);
    words->evaluation_count++;
    struct evaluation evaluation;
    evaluate_parts(words, &evaluation, value);
    string_id string = evaluation.is_bad
                           ? hex_string(profile, value)
                           : profile_string(profile, (struct text){evaluation.words, evaluation.words_bytes});
    value_table_intern(known, &key, &string);
    return string;
}
