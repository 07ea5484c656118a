#include "options.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arguments.h"
#include "file_identity.h"
#include "libconvert/text.h"
#include "output_name.h"

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

enum { JOBS_MAX = 1024 };

#define TARGET(member) offsetof(struct options, member)

static const struct option options_known[] = {
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
    {.name = "max-memory",
     .kind = OPTION_SIZE,
     .target = TARGET(convert.max_memory_bytes),
     .value_name = "SIZE",
     .help = "fail rather than take more memory than this: bytes, or with K, M, G\n"
             "or T, or unlimited (default: half of what the machine has, or its\n"
             "control group); in a batch only the input that needs more fails"},
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
     .number_min = 1,
     .number_max = JOBS_MAX,
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

static const struct option_table table = {.options = options_known,
                                          .option_count = sizeof options_known / sizeof *options_known,
                                          .operands = TARGET(inputs),
                                          .operand_name = "the input"};

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
    arguments_read(&table, options, argument_count, arguments, failure);
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
    arguments_print_help(&table, stream);
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
        "  4  memory ran out, or more than --max-memory was needed\n"
        "  5  --strict, and something would be lost\n"
        "Unless the code is 0, OUTPUT is not written and an old file of that name stays.\n"
        "(When only the report cannot be written, the code is 3 or 4 and OUTPUT is good.)\n"
        "In a batch each input has its own profile, and one that fails does not stop the\n"
        "rest.\n",
        stream);
}
