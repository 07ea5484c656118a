#include "arguments.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "libconvert/base/cursor.h"
#include "libconvert/base/decimal.h"

enum { NAME_BYTES_MAX = 16 };

static bool takes_value(const struct option *option) {
    return option->kind != OPTION_FLAG && option->kind != OPTION_ACTION;
}

static bool needs_value(const struct option *option) { return takes_value(option) && option->kind != OPTION_EXTRA; }

/* ---- Reading arguments. ---- */

struct argument_reader {
    const struct option_table *table;
    unsigned command;
    command_namer *name_command;
    char *values; /* the struct that contains the targets */
    struct failure *failure;
    char *const *next;
    char *const *end;
    bool only_operands; /* "--" was read */
    bool has_action;    /* an option of kind OPTION_ACTION was read */
};

/* Returns the number of the choice. If no choice has that name, returns the number of choices, for which choices() is
 * NULL. */
static size_t find_choice(choice_name *choices, const char *value) {
    size_t number = 0;
    while (choices(number) && strcmp(choices(number), value) != 0) number++;
    return number;
}

static void set_bad_choice(struct failure *failure, const struct option *option, const char *value) {
    char allowed[256] = "";
    size_t used = 0;
    for (size_t i = 0; option->choices(i) && used < sizeof allowed; i++)
        used += (size_t)snprintf(allowed + used, sizeof allowed - used, "%s%s", i ? ", " : "", option->choices(i));
    failure_set(failure, FAILURE_USAGE, "--%s: '%s' is not one of: %s", option->name, value, allowed);
}

static void add_to_list(struct options_list *list, const char *value, struct failure *failure) {
    const char **values = failure_check_memory(failure, realloc(list->values, (list->count + 1) * sizeof *values));
    if (!values) return;
    values[list->count++] = value;
    list->values = values;
}

/* Adds the parts between commas. Changes the command line, which belongs to the program. */
static void add_parts(struct options_list *list, const char *value, struct failure *failure) {
    char *rest = (char *)(uintptr_t)value;
    for (const char *part; (part = strsep(&rest, ","));) add_to_list(list, part, failure);
}

static void store_number(unsigned *target, const struct option *option, const char *value, struct failure *failure) {
    uint64_t number;
    if (!cursor_parse_number(text_of(value), 10, &number) || number < option->number_min || number > option->number_max)
        failure_set(failure, FAILURE_USAGE, "--%s: '%s' is not a number from %u to %u", option->name, value,
                    option->number_min, option->number_max);
    else
        *target = (unsigned)number;
}

/* Parses "512M" with units that are powers of 1024. The size must be at least one byte. */
static bool parse_size(const char *value, uint64_t *bytes) {
    static const char units[] = "KMGT";
    if (strcmp(value, "unlimited") == 0) {
        *bytes = UINT64_MAX;
        return true;
    }
    struct text rest = text_of(value);
    if (!cursor_take_number(&rest, 10, bytes)) return false;
    const char *unit = rest.bytes_count == 1 ? strchr(units, toupper((unsigned char)*rest.bytes)) : NULL;
    for (const char *step = units; unit && step <= unit; step++)
        if (__builtin_mul_overflow(*bytes, 1024, bytes)) return false;
    return *bytes && (unit || !rest.bytes_count);
}

bool arguments_parse_time(struct text text, int64_t *time_ns) {
    static const struct {
        struct text name;
        uint32_t digits; /* a nanosecond is 10^-digits of the unit */
    } units[] = {{TEXT("ns"), 0}, {TEXT("us"), 3}, {TEXT("ms"), 6}, {TEXT("s"), 9}};
    for (size_t i = 0; i < sizeof units / sizeof *units; i++) {
        if (!text_ends_with(text, units[i].name)) continue;
        struct decimal number;
        bool is_rounded = false;
        struct text digits = text_slice(text, 0, text.bytes_count - units[i].name.bytes_count);
        return decimal_parse(digits, &number, &is_rounded) && !is_rounded && number.scale <= units[i].digits &&
               decimal_rescale(number, units[i].digits, time_ns);
    }
    return false;
}

static void store_time(int64_t *target, const struct option *option, const char *value, struct failure *failure) {
    if (arguments_parse_time(text_of(value), target) && *target > 0) return;
    failure_set(failure, FAILURE_USAGE, "--%s: '%s' is not a time above 0 such as 10ms, 1.5s, 300us or 50ns",
                option->name, value);
}

static void store_size(uint64_t *target, const struct option *option, const char *value, struct failure *failure) {
    if (!parse_size(value, target))
        failure_set(failure, FAILURE_USAGE, "--%s: '%s' is neither a size such as 512M or 4G nor unlimited",
                    option->name, value);
}

static void store(struct argument_reader *reader, const struct option *option, const char *value) {
    void *target = reader->values + option->target;
    if (needs_value(option) && !*value) {
        failure_set(reader->failure, FAILURE_USAGE, "--%s: the value is empty", option->name);
        return;
    }
    if (option->alias[0] && strcmp(value, option->alias[0]) == 0) value = option->alias[1];
    size_t choice = option->choices ? find_choice(option->choices, value) : 0;
    const char *chosen = option->choices ? option->choices(choice) : NULL;
    if (option->choices && !chosen) {
        set_bad_choice(reader->failure, option, value);
        return;
    }
    switch (option->kind) {
        case OPTION_FLAG: *(bool *)target = true; break;
        case OPTION_TEXT:
        case OPTION_EXTRA: *(const char **)target = value; break;
        case OPTION_NUMBER: store_number(target, option, value, reader->failure); break;
        case OPTION_SIZE: store_size(target, option, value, reader->failure); break;
        case OPTION_TIME: store_time(target, option, value, reader->failure); break;
        case OPTION_LIST: (option->has_commas ? add_parts : add_to_list)(target, value, reader->failure); break;
        case OPTION_NAME: *(const char **)target = chosen; break;
        case OPTION_CHOICE: *(unsigned *)target = (unsigned)choice; break;
        case OPTION_ACTION:
            *(unsigned *)target = option->action;
            reader->has_action = true;
            break;
    }
}

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

/* Returns how many letters must be changed, inserted or removed to turn one name into the other. */
static size_t edit_distance(struct text a, const char *b) {
    size_t distances[NAME_BYTES_MAX + 1]; /* from the part of a read so far to each prefix of b */
    size_t b_count = strlen(b);
    for (size_t j = 0; j <= b_count; j++) distances[j] = j;
    for (size_t i = 0; i < a.bytes_count; i++) {
        size_t diagonal = distances[0];
        distances[0] = i + 1;
        for (size_t j = 0; j < b_count; j++) {
            size_t changed = diagonal + (a.bytes[i] != b[j]);
            diagonal = distances[j + 1];
            distances[j + 1] = smaller(changed, 1 + smaller(diagonal, distances[j]));
        }
    }
    return distances[b_count];
}

/* Returns the option of the command that follows `option`; the first one for NULL, and NULL after the last. */
static const struct option *next_option(const struct option_table *table, unsigned command,
                                        const struct option *option) {
    const struct option *end = table->options + table->option_count;
    for (option = option ? option + 1 : table->options; option < end; option++)
        if (option->commands & command) return option;
    return NULL;
}

enum { DISTANCE_MAX = 2 };

size_t arguments_name_distance(struct text name, const char *known) {
    if (name.bytes_count > NAME_BYTES_MAX || strlen(known) > NAME_BYTES_MAX) return SIZE_MAX;
    bool is_start = name.bytes_count >= DISTANCE_MAX && text_starts_with(text_of(known), name);
    size_t distance = is_start ? 1 : edit_distance(name, known);
    return distance > DISTANCE_MAX || distance >= strlen(known) ? SIZE_MAX : distance;
}

/* Returns the option that was probably meant; NULL if no name is similar. */
static const struct option *nearest_option(const struct argument_reader *reader, struct text name) {
    const struct option *nearest = NULL;
    size_t least = SIZE_MAX;
    for (const struct option *option = NULL; (option = next_option(reader->table, reader->command, option));) {
        size_t distance = arguments_name_distance(name, option->name);
        if (distance >= least) continue;
        least = distance;
        nearest = option;
    }
    return nearest;
}

static bool is_called(const struct option *option, struct text name, char letter) {
    return letter ? option->letter == letter : text_equal(text_of(option->name), name);
}

/* Returns the option with the name, or with the letter if that is not 0; NULL if there is none. */
static const struct option *find_option(const struct argument_reader *reader, struct text name, char letter) {
    const struct option *option = NULL;
    while ((option = next_option(reader->table, reader->command, option)))
        if (is_called(option, name, letter)) break;
    return option;
}

/* Returns whether the argument can only be an option of the command, or the "--" that ends options. */
static bool is_option(const struct argument_reader *reader, const char *argument) {
    struct text word = text_of(argument);
    if (text_equal(word, TEXT("--"))) return true;
    if (text_starts_with(word, TEXT("--"))) return find_option(reader, text_slice(word, 2, text_find(word, '=')), 0);
    return word.bytes_count == 2 && *argument == '-' && find_option(reader, (struct text){0}, argument[1]);
}

static void store_next(struct argument_reader *reader, const struct option *option) {
    if (reader->next == reader->end)
        failure_set(reader->failure, FAILURE_USAGE, "--%s needs a value", option->name);
    else if (is_option(reader, *reader->next))
        failure_set(reader->failure, FAILURE_USAGE, "--%s needs a value before %s; if that is the value, write --%s=%s",
                    option->name, *reader->next, option->name, *reader->next);
    else
        store(reader, option, *reader->next++);
}

static unsigned commands_with(const struct option_table *table, struct text name, char letter) {
    unsigned commands = 0;
    for (size_t i = 0; i < table->option_count; i++)
        if (is_called(&table->options[i], name, letter)) commands |= table->options[i].commands;
    return commands;
}

/* `dashes` are those before the name. `letter` is 0 if the option was given by its name. */
static void set_unknown(const struct argument_reader *reader, const char *dashes, struct text name, char letter) {
    char others[256] = "";
    size_t used = 0;
    unsigned commands = commands_with(reader->table, name, letter);
    for (unsigned bit = 1; bit && bit <= commands && used < sizeof others; bit <<= 1)
        if (commands & bit)
            used += (size_t)snprintf(others + used, sizeof others - used, "%s%s",
                                     used ? ", " : ", which is for: ", reader->name_command(bit));
    const struct option *nearest = letter || used ? NULL : nearest_option(reader, name);
    failure_set(reader->failure, FAILURE_USAGE, "unknown option '%s%.*s'%s%s%s%s", dashes, TEXT_ARGS(name), others,
                nearest ? "; did you mean '--" : "", nearest ? nearest->name : "", nearest ? "'?" : "");
}

static void read_long(struct argument_reader *reader, const char *argument) {
    struct text body = text_of(argument);
    size_t equals = text_find(body, '=');
    struct text name = text_slice(body, 0, equals);
    bool has_value = equals < body.bytes_count;
    const struct option *option = find_option(reader, name, 0);
    if (!option) {
        set_unknown(reader, "--", name, 0);
    } else if (has_value && !takes_value(option)) {
        failure_set(reader->failure, FAILURE_USAGE, "--%s takes no value", option->name);
    } else if (needs_value(option) && !has_value) {
        store_next(reader, option);
    } else if (has_value && !*(argument + equals + 1)) {
        failure_set(reader->failure, FAILURE_USAGE, "--%s: the value is empty", option->name);
    } else {
        store(reader, option, has_value ? argument + equals + 1 : "");
    }
}

/* Reads options given as letters in one argument: "-qo FILE", "-qoFILE". */
static void read_letters(struct argument_reader *reader, const char *letters) {
    for (; *letters && !failure_is_set(reader->failure) && !reader->has_action; letters++) {
        const struct option *option = find_option(reader, (struct text){0}, *letters);
        if (!option) {
            set_unknown(reader, "-", (struct text){letters, 1}, *letters);
        } else if (!takes_value(option)) {
            store(reader, option, "");
        } else if (letters[1]) {
            store(reader, option, letters + 1);
            return;
        } else {
            store_next(reader, option);
        }
    }
}

static void read_operand(struct argument_reader *reader, const char *argument) {
    bool is_command_line = reader->table->ended_by_operand & reader->command;
    reader->only_operands |= is_command_line;
    if (*argument || is_command_line)
        add_to_list((struct options_list *)(reader->values + reader->table->operands), argument, reader->failure);
    else
        failure_set(reader->failure, FAILURE_USAGE, "the name of an input is empty");
}

static void read_argument(struct argument_reader *reader, const char *argument) {
    if (reader->only_operands || argument[0] != '-' || strcmp(argument, "-") == 0)
        read_operand(reader, argument);
    else if (strcmp(argument, "--") == 0)
        reader->only_operands = true;
    else if (argument[1] == '-')
        read_long(reader, argument + 2);
    else
        read_letters(reader, argument + 1);
}

void arguments_read(const struct option_table *table, unsigned command, command_namer *name_command, void *values,
                    int argument_count, char *const *arguments, struct failure *failure) {
    struct argument_reader reader = {.table = table,
                                     .command = command,
                                     .name_command = name_command,
                                     .values = values,
                                     .failure = failure,
                                     .next = arguments,
                                     .end = arguments + argument_count};
    while (reader.next != reader.end && !failure_is_set(failure) && !reader.has_action)
        read_argument(&reader, *reader.next++);
}

void arguments_fini(const struct option_table *table, void *values) {
    struct options_list *operands = (struct options_list *)((char *)values + table->operands);
    free(operands->values);
    for (size_t i = 0; i < table->option_count; i++) {
        const struct option *option = &table->options[i];
        struct options_list *list = (struct options_list *)((char *)values + option->target);
        if (option->kind != OPTION_LIST) continue;
        free(list->values);
        list->values = NULL; /* options of several commands may have one list */
    }
}

/* ---- Help. ---- */

enum { HELP_TEXT_AT = 10 };

static void print_lines(FILE *stream, const char *lines) {
    for (struct text rest = text_of(lines); rest.bytes_count;) {
        size_t end = text_find(rest, '\n');
        fprintf(stream, "%*s%.*s\n", HELP_TEXT_AT, "", (int)end, rest.bytes);
        rest = text_from(rest, end + 1);
    }
}

static void print_option(FILE *stream, const struct option *option) {
    if (option->letter)
        fprintf(stream, "  -%c, --%s", option->letter, option->name);
    else
        fprintf(stream, "      --%s", option->name);
    if (option->value_name) fprintf(stream, needs_value(option) ? " %s" : "[=%s]", option->value_name);
    for (size_t i = 0; option->choices && option->choices(i); i++)
        fprintf(stream, "%s%s", i ? "|" : " ", option->choices(i));
    fputc('\n', stream);
    print_lines(stream, option->help);
}

void arguments_print_help(const struct option_table *table, unsigned command, FILE *stream) {
    for (const struct option *option = NULL; (option = next_option(table, command, option));)
        print_option(stream, option);
}
