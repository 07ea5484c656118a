/* One table says what options there are: parsing, checking and --help all go by it. */
#include "options.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "file_identity.h"
#include "libconvert/text.h"
#include "output_name.h"

enum option_kind {
    OPTION_FLAG,   /* takes no value; the target is a bool */
    OPTION_TEXT,   /* the target is a const char * */
    OPTION_EXTRA,  /* the same, but the value may be left out; then it is empty */
    OPTION_NUMBER, /* from 1 on; the target is an unsigned */
    OPTION_LIST,   /* the target is a struct options_list, to which each use adds */
    OPTION_CHOICE, /* one of the choices; the target is an unsigned number, the choice's */
    OPTION_NAME,   /* one of the choices; the target is a const char *, the choice's name */
    OPTION_ACTION  /* takes no value; the target is the action, and the number is what it becomes */
};

/* Names that a value can have, by number; NULL past the last. */
typedef const char *choice_name(size_t number);

struct option {
    const char *name;
    char letter; /* '\0': none */
    enum option_kind kind;
    size_t target; /* offset in struct options */
    unsigned action;
    choice_name *choices;
    const char *value_name; /* as --help has it where there are no choices */
    const char *help;       /* lines of at most 70 columns */
};

static const char *weight_choice_name(size_t number) {
    static const char *const names[] = {
        [GECKO_CONVERT_WEIGHT_SAMPLES] = "samples", [GECKO_CONVERT_WEIGHT_PERIOD] = "period"};
    return number < sizeof names / sizeof *names ? names[number] : NULL;
}

static const char *root_choice_name(size_t number) {
    static const char *const names[] = {[GECKO_CONVERT_ROOT_FRAME] = "frame", [GECKO_CONVERT_ROOT_THREAD] = "thread"};
    return number < sizeof names / sizeof *names ? names[number] : NULL;
}

static const char *symbols_choice_name(size_t number) {
    static const char *const names[] = {[GECKO_CONVERT_SYMBOLS_AUTO] = "auto",
                                        [GECKO_CONVERT_SYMBOLS_NONE] = "none",
                                        [GECKO_CONVERT_SYMBOLS_ALWAYS] = "always"};
    return number < sizeof names / sizeof *names ? names[number] : NULL;
}

static const char *progress_choice_name(size_t number) {
    static const char *const names[] = {
        [PROGRESS_AUTO] = "auto", [PROGRESS_ALWAYS] = "always", [PROGRESS_NEVER] = "never"};
    return number < sizeof names / sizeof *names ? names[number] : NULL;
}

_Static_assert(sizeof(enum gecko_convert_weight) == sizeof(unsigned), "choices are stored as numbers");
_Static_assert(sizeof(enum gecko_convert_root) == sizeof(unsigned), "choices are stored as numbers");
_Static_assert(sizeof(enum gecko_convert_symbols) == sizeof(unsigned), "choices are stored as numbers");
_Static_assert(sizeof(enum progress_choice) == sizeof(unsigned), "choices are stored as numbers");
_Static_assert(sizeof(enum options_action) == sizeof(unsigned), "choices are stored as numbers");

#define TARGET(member) offsetof(struct options, member)

static const struct option table[] = {
    {.name = "output",
     .letter = 'o',
     .kind = OPTION_TEXT,
     .target = TARGET(convert.output_path),
     .value_name = "FILE",
     .help = "write to FILE, or to standard output for -; compressed when FILE\n"
             "ends in .gz (default: in the current folder, the name of INPUT\n"
             "without its suffixes and with .profile.json; standard output when\n"
             "INPUT is -)"},
    {.name = "format",
     .letter = 'f',
     .kind = OPTION_NAME,
     .target = TARGET(convert.format),
     .choices = gecko_convert_output_format,
     .help = "format of the profile (default: processed, which carries more than\n"
             "gecko)"},
    {.name = "from",
     .kind = OPTION_NAME,
     .target = TARGET(convert.from),
     .choices = gecko_convert_input_format,
     .help = "format of the trace (default: found by its content); native is what\n"
             "the recorder writes"},
    {.name = "weight",
     .kind = OPTION_CHOICE,
     .target = TARGET(convert.weight),
     .choices = weight_choice_name,
     .help = "what a sample of perf script counts: one, or its period (default:\n"
             "samples)"},
    {.name = "root",
     .kind = OPTION_CHOICE,
     .target = TARGET(convert.root),
     .choices = root_choice_name,
     .help = "what the first frame of a collapsed stack is: a frame, or the name\n"
             "of a thread (default: frame)"},
    {.name = "symbols",
     .kind = OPTION_CHOICE,
     .target = TARGET(convert.symbols),
     .choices = symbols_choice_name,
     .help = "look up functions, inlined ones, files and lines of addresses in\n"
             "the libraries on this machine: of those without a function in the\n"
             "trace, of none, or of all (default: auto, the first of these)"},
    {.name = "debug-dir",
     .kind = OPTION_LIST,
     .target = TARGET(debug_dirs),
     .value_name = "DIR",
     .help = "look for libraries and debug information in DIR, too: by build id\n"
             "and by path; may be given several times"},
    {.name = "product",
     .kind = OPTION_TEXT,
     .target = TARGET(convert.product),
     .value_name = "NAME",
     .help = "what the profile is of (default: what the trace tells)"},
    {.name = "strict",
     .kind = OPTION_FLAG,
     .target = TARGET(convert.is_strict),
     .help = "when something would be lost, write nothing and fail"},
    {.name = "report",
     .kind = OPTION_TEXT,
     .target = TARGET(report_path),
     .value_name = "FILE",
     .help = "write what was read, written and lost to FILE as JSON, or to\n"
             "standard output for -; also when the conversion fails"},
    {.name = "output-dir",
     .kind = OPTION_TEXT,
     .target = TARGET(output_dir),
     .value_name = "DIR",
     .help = "convert every trace that INPUTs are, or that is in folders and\n"
             "archives among them, into a profile below DIR"},
    {.name = "output-archive",
     .kind = OPTION_TEXT,
     .target = TARGET(output_archive),
     .value_name = "FILE",
     .help = "the same, into an archive: .tar, .tar.gz, .tar.zst, .tar.xz, .zip"},
    {.name = "jobs",
     .letter = 'j',
     .kind = OPTION_NUMBER,
     .target = TARGET(job_count),
     .value_name = "N",
     .help = "so many conversions at a time (default: one per processor)"},
    {.name = "if-changed",
     .kind = OPTION_EXTRA,
     .target = TARGET(if_changed),
     .value_name = "MANIFEST",
     .help = "only what is not as the report of an earlier batch has it (default:\n"
             "the one that is left in DIR)"},
    {.name = "report-junit",
     .kind = OPTION_TEXT,
     .target = TARGET(junit_path),
     .value_name = "FILE",
     .help = "write what became of each trace to FILE as JUnit XML"},
    {.name = "progress",
     .kind = OPTION_CHOICE,
     .target = TARGET(progress),
     .choices = progress_choice_name,
     .help = "draw a progress bar on standard error (default: auto, when that is\n"
             "a terminal and the conversion takes long)"},
    {.name = "quiet",
     .letter = 'q',
     .kind = OPTION_FLAG,
     .target = TARGET(is_quiet),
     .help = "say nothing but errors; no progress bar"},
    {.name = "help",
     .letter = 'h',
     .kind = OPTION_ACTION,
     .target = TARGET(action),
     .action = OPTIONS_SHOW_HELP,
     .help = "show this text"},
    {.name = "version",
     .letter = 'V',
     .kind = OPTION_ACTION,
     .target = TARGET(action),
     .action = OPTIONS_SHOW_VERSION,
     .help = "show the version"},
};

enum { OPTION_COUNT = sizeof table / sizeof *table, OPTION_NAME_BYTES_MAX = 16, NUMBER_MAX = 1024 };

static bool takes_value(const struct option *option) {
    return option->kind != OPTION_FLAG && option->kind != OPTION_ACTION;
}

static bool needs_value(const struct option *option) { return takes_value(option) && option->kind != OPTION_EXTRA; }

/* ---- Reading arguments. ---- */

struct argument_reader {
    struct options *options;
    struct failure *failure;
    char *const *next;
    char *const *end;
    bool only_operands; /* "--" was seen */
};

/* The number of the choice, or its place in the list when there is none of that name: a NULL. */
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
    failure_set(failure, FAILURE_USAGE, "--%s: '%s' is none of: %s", option->name, value, allowed);
}

static void add_to_list(struct options_list *list, const char *value, struct failure *failure) {
    const char **values = realloc(list->values, (list->count + 1) * sizeof *values);
    if (!values) {
        failure_set_memory(failure);
        return;
    }
    values[list->count++] = value;
    list->values = values;
}

static void store_number(unsigned *target, const struct option *option, const char *value, struct failure *failure) {
    unsigned number = 0;
    for (const char *digit = value; *digit >= '0' && *digit <= '9' && number <= NUMBER_MAX; digit++)
        number = number * 10 + (unsigned)(*digit - '0');
    if (value[strspn(value, "0123456789")] || !number || number > NUMBER_MAX)
        failure_set(failure, FAILURE_USAGE, "--%s: '%s' is no number from 1 to %d", option->name, value, NUMBER_MAX);
    else
        *target = number;
}

static void store(struct argument_reader *reader, const struct option *option, const char *value) {
    void *target = (char *)reader->options + option->target;
    if (needs_value(option) && !*value) {
        failure_set(reader->failure, FAILURE_USAGE, "--%s: the value is empty", option->name);
        return;
    }
    size_t choice = option->choices ? find_choice(option->choices, value) : 0;
    if (option->choices && !option->choices(choice)) {
        set_bad_choice(reader->failure, option, value);
        return;
    }
    switch (option->kind) {
        case OPTION_FLAG:
            *(bool *)target = true;
            break;
        case OPTION_TEXT:
        case OPTION_EXTRA:
            *(const char **)target = value;
            break;
        case OPTION_NUMBER:
            store_number(target, option, value, reader->failure);
            break;
        case OPTION_LIST:
            add_to_list(target, value, reader->failure);
            break;
        case OPTION_NAME:
            *(const char **)target = option->choices(choice);
            break;
        case OPTION_CHOICE:
            *(unsigned *)target = (unsigned)choice;
            break;
        case OPTION_ACTION:
            *(unsigned *)target = option->action;
            break;
    }
}

static void store_next(struct argument_reader *reader, const struct option *option) {
    if (reader->next == reader->end) {
        failure_set(reader->failure, FAILURE_USAGE, "--%s needs a value", option->name);
        return;
    }
    store(reader, option, *reader->next++);
}

static size_t smaller(size_t a, size_t b) { return a < b ? a : b; }

/* How many letters are to be changed, added or left out to make one name of the other. */
static size_t edit_distance(struct text a, const char *b) {
    size_t distances[OPTION_NAME_BYTES_MAX + 1]; /* of the part of a so far to each start of b */
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

/* The option that was probably meant; NULL when none is near. */
static const struct option *nearest_option(struct text name) {
    enum { DISTANCE_MAX = 2 };
    if (name.bytes_count > OPTION_NAME_BYTES_MAX) return NULL;
    const struct option *nearest = NULL;
    size_t least = DISTANCE_MAX + 1;
    for (size_t i = 0; i < OPTION_COUNT; i++) {
        bool is_start = name.bytes_count >= DISTANCE_MAX && text_starts_with(text_of(table[i].name), name);
        size_t distance = is_start ? 1 : edit_distance(name, table[i].name);
        if (distance >= least || distance >= strlen(table[i].name)) continue;
        least = distance;
        nearest = &table[i];
    }
    return nearest;
}

static const struct option *find_option(struct text name) {
    for (size_t i = 0; i < OPTION_COUNT; i++)
        if (text_equal(text_of(table[i].name), name)) return &table[i];
    return NULL;
}

static const struct option *find_letter(char letter) {
    for (size_t i = 0; i < OPTION_COUNT; i++)
        if (letter && table[i].letter == letter) return &table[i];
    return NULL;
}

static void read_long(struct argument_reader *reader, const char *argument) {
    struct text body = text_of(argument);
    size_t equals = text_find(body, '=');
    struct text name = text_slice(body, 0, equals);
    bool has_value = equals < body.bytes_count;
    const struct option *option = find_option(name);
    if (!option) {
        const struct option *nearest = nearest_option(name);
        failure_set(reader->failure, FAILURE_USAGE, "unknown option '--%.*s'%s%s%s", (int)name.bytes_count, name.bytes,
                    nearest ? "; did you mean '--" : "", nearest ? nearest->name : "", nearest ? "'?" : "");
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

/* Letters side by side: "-qo FILE", "-qoFILE". */
static void read_letters(struct argument_reader *reader, const char *letters) {
    for (; *letters && !failure_is_set(reader->failure); letters++) {
        const struct option *option = find_letter(*letters);
        if (!option) {
            failure_set(reader->failure, FAILURE_USAGE, "unknown option '-%c'", *letters);
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
    if (*argument)
        add_to_list(&reader->options->inputs, argument, reader->failure);
    else
        failure_set(reader->failure, FAILURE_USAGE, "the name of the input is empty");
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

/* ---- The output's name. ---- */

static void choose_output(struct options *options, struct failure *failure) {
    if (options->convert.output_path) return;
    if (strcmp(options->convert.input_path, "-") == 0) {
        options->convert.output_path = "-";
        return;
    }
    struct text name = output_name_stem(text_base_name(text_of(options->convert.input_path)));
    static const char suffix[] = OUTPUT_NAME_SUFFIX;
    char *path = malloc(name.bytes_count + sizeof suffix);
    if (!path) {
        failure_set_memory(failure);
        return;
    }
    memcpy(path, name.bytes, name.bytes_count);
    memcpy(path + name.bytes_count, suffix, sizeof suffix);
    options->default_output_path = path;
    options->convert.output_path = path;
}

/* ---- What must hold among the options. ---- */

static void check_report(const struct options *options, struct failure *failure) {
    if (!options->report_path) return;
    const char *input_path = options->convert.input_path, *output_path = options->convert.output_path;
    struct file_identity report = file_identity_of(options->report_path, STDOUT_FILENO);
    bool is_output = strcmp(options->report_path, output_path) == 0 ||
                     file_identity_is_same(report, file_identity_of(output_path, STDOUT_FILENO));
    if (is_output)
        failure_set(failure, FAILURE_USAGE, "the report and the profile cannot both go to %s",
                    strcmp(output_path, "-") == 0 ? "standard output" : output_path);
    if (file_identity_is_same(report, file_identity_of(input_path, STDIN_FILENO)))
        failure_set(failure, FAILURE_USAGE, "%s is both the input and the report: name another report",
                    strcmp(input_path, "-") == 0 ? "standard input" : input_path);
}

/* Of a conversion that is no batch. */
static void check_single(const struct options *options, struct failure *failure) {
    const struct options_list *inputs = &options->inputs;
    if (inputs->count > 1)
        failure_set(failure, FAILURE_USAGE, "two inputs, '%s' and '%s': --output-dir DIR converts several",
                    inputs->values[0], inputs->values[1]);
    const char *option = options->junit_path ? "report-junit" : options->if_changed ? "if-changed" : NULL;
    if (options->job_count) option = "jobs";
    if (option)
        failure_set(failure, FAILURE_USAGE, "--%s is for batches: it needs --output-dir or --output-archive", option);
}

static bool is_one_file(const char *path, const char *other_path) {
    if (!path || !other_path) return false;
    return strcmp(path, other_path) == 0 ||
           file_identity_is_same(file_identity_of(path, STDOUT_FILENO), file_identity_of(other_path, STDOUT_FILENO));
}

static void check_batch(const struct options *options, struct failure *failure) {
    if (options->convert.output_path)
        failure_set(failure, FAILURE_USAGE, "--output is for a single input: a batch has --output-dir DIR alone");
    if (options->if_changed && !*options->if_changed && !options->output_dir)
        failure_set(failure, FAILURE_USAGE,
                    "--if-changed needs the report of the batch before, --if-changed=FILE: there is no --output-dir to "
                    "find it in");
    const char *written[] = {options->output_archive, options->report_path, options->junit_path};
    enum { WRITTEN_COUNT = sizeof written / sizeof *written };
    for (size_t i = 0; i < WRITTEN_COUNT; i++)
        for (size_t j = i + 1; j < WRITTEN_COUNT; j++)
            if (is_one_file(written[i], written[j]))
                failure_set(failure, FAILURE_USAGE, "%s would be written twice: name another file", written[i]);
    for (size_t i = 0; i < options->inputs.count; i++) {
        const char *input = options->inputs.values[i];
        if (strcmp(input, "-") == 0)
            failure_set(failure, FAILURE_USAGE,
                        "standard input has no name that its profile could have in a batch: "
                        "convert it alone, with --output FILE");
        for (size_t j = 0; j < WRITTEN_COUNT; j++)
            if (is_one_file(input, written[j]))
                failure_set(failure, FAILURE_USAGE, "%s is an input and would be written: name another file", input);
    }
}

void options_init(struct options *options, int argument_count, char *const *arguments, struct failure *failure) {
    *options = (struct options){.action = OPTIONS_CONVERT};
    struct argument_reader reader = {.options = options, .failure = failure};
    reader.next = arguments;
    reader.end = arguments + argument_count;
    while (reader.next != reader.end && !failure_is_set(failure) && options->action == OPTIONS_CONVERT)
        read_argument(&reader, *reader.next++);
    options->convert.debug_dirs = options->debug_dirs.values;
    options->convert.debug_dir_count = options->debug_dirs.count;
    if (failure_is_set(failure) || options->action != OPTIONS_CONVERT) return;
    if (!options->inputs.count) {
        failure_set(failure, FAILURE_USAGE, "no input: name a file, or - for standard input");
        return;
    }
    if (options_are_batch(options)) {
        check_batch(options, failure);
        return;
    }
    check_single(options, failure);
    if (failure_is_set(failure)) return;
    options->convert.input_path = options->inputs.values[0];
    choose_output(options, failure);
    if (!failure_is_set(failure)) check_report(options, failure);
}

void options_fini(struct options *options) {
    free(options->default_output_path);
    free(options->debug_dirs.values);
    free(options->inputs.values);
    *options = (struct options){0};
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

void options_print_help(FILE *stream) {
    fputs(
        "usage: gecko-convert [options] INPUT [-o OUTPUT]\n"
        "       gecko-convert [options] INPUT... --output-dir DIR\n"
        "       gecko-convert info FILE...      what is in traces and profiles\n"
        "       gecko-convert check PROFILE...  what the viewer would not like\n"
        "\n"
        "Converts a trace into a profile for the Firefox Profiler. INPUT is a trace of\n"
        "the recorder, the text of perf script or a file of collapsed stacks, plain,\n"
        "compressed (gzip, xz, zstd, bzip2, lz4) or alone in an archive (tar, zip, 7z);\n"
        "- is standard input.\n"
        "\n"
        "Options, of which the last one of a name counts:\n",
        stream);
    for (size_t i = 0; i < OPTION_COUNT; i++) print_option(stream, &table[i]);
    fputs(
        "\n"
        "A value follows its option or an equals sign: --format gecko, --format=gecko.\n"
        "Behind -- everything is the name of an input.\n"
        "\n"
        "Exit codes:\n"
        "  0  good\n"
        "  1  the input is no good; of a batch, one or more of them\n"
        "  2  the command line is no good\n"
        "  3  reading or writing failed: disk, permission, pipe\n"
        "  4  memory ran out\n"
        "  5  --strict, and something would be lost\n"
        "Unless the code is 0, OUTPUT is not written and an old file of that name stays.\n"
        "(When only the report cannot be written, the code is 3 or 4 and OUTPUT is good.)\n"
        "In a batch each input has its own profile, and one that fails does not stop the\n"
        "rest.\n",
        stream);
}
