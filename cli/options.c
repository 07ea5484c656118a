#include "options.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "arguments.h"
#include "libconvert/base/text.h"
#include "libconvert/file_identity.h"
#include "libconvert/options_check.h"
#include "output_name.h"
#include "several_inputs.h"

const char *options_weight_name(size_t number) {
    static const char *const names[] = {
        [GECKO_CONVERT_WEIGHT_SAMPLES] = "samples", [GECKO_CONVERT_WEIGHT_PERIOD] = "period"};
    return number < sizeof names / sizeof *names ? names[number] : NULL;
}

const char *options_root_name(size_t number) {
    static const char *const names[] = {[GECKO_CONVERT_ROOT_FRAME] = "frame", [GECKO_CONVERT_ROOT_THREAD] = "thread"};
    return number < sizeof names / sizeof *names ? names[number] : NULL;
}

const char *options_symbols_name(size_t number) {
    static const char *const names[] = {[GECKO_CONVERT_SYMBOLS_AUTO] = "auto",
                                        [GECKO_CONVERT_SYMBOLS_NONE] = "none",
                                        [GECKO_CONVERT_SYMBOLS_ALWAYS] = "always"};
    return number < sizeof names / sizeof *names ? names[number] : NULL;
}

const char *options_samples_name(size_t number) {
    static const char *const names[] = {
        [GECKO_CONVERT_SAMPLES_PERF] = "perf", [GECKO_CONVERT_SAMPLES_RECORDER] = "recorder"};
    return number < sizeof names / sizeof *names ? names[number] : NULL;
}

const char *options_sources_name(size_t number) {
    static const char *const names[] = {[GECKO_CONVERT_SOURCES_NONE] = "none", [GECKO_CONVERT_SOURCES_EMBED] = "embed"};
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
_Static_assert(sizeof(enum gecko_convert_samples) == sizeof(unsigned), "choices are stored as numbers");
_Static_assert(sizeof(enum gecko_convert_sources) == sizeof(unsigned), "choices are stored as numbers");
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
     .help = "write to FILE, or to standard output for -; compressed if FILE ends\n"
             "in .gz (default: the name of INPUT without its suffixes and with\n"
             ".profile.json, in the current folder; standard output if INPUT is -)"},
    {.name = "format",
     .letter = 'f',
     .kind = OPTION_NAME,
     .target = TARGET(convert.format),
     .choices = gecko_convert_output_format,
     .help = "format of the profile (default: processed, which holds more data than\n"
             "gecko)"},
    {OPTION_FROM(TARGET(convert.from)), .help = "format of the trace (default: detected from the content)"},
    {.name = "weight",
     .kind = OPTION_CHOICE,
     .target = TARGET(convert.weight),
     .choices = options_weight_name,
     .help = "weight of a perf sample: one, or its period (default: samples)"},
    {.name = "root",
     .kind = OPTION_CHOICE,
     .target = TARGET(convert.root),
     .choices = options_root_name,
     .help = "what the first frame of a collapsed stack is: a frame, or the name\n"
             "of a thread (default: frame)"},
    {.name = "symbols",
     .kind = OPTION_CHOICE,
     .target = TARGET(convert.symbols),
     .choices = options_symbols_name,
     .help = "look up functions, inlined functions, files and lines in the libraries\n"
             "on this machine: for addresses without a function in the trace or with\n"
             "the same symbol there (auto, the default), for no address (none), or\n"
             "for every address (always)"},
    {.name = "debug-dir",
     .kind = OPTION_LIST,
     .target = TARGET(debug_dirs),
     .value_name = "DIR",
     .help = "also look for libraries and debug information in DIR, by build id and\n"
             "by path; may be given several times"},
    {.name = "sysroot",
     .kind = OPTION_TEXT,
     .target = TARGET(convert.sysroot),
     .value_name = "DIR",
     .help = "look for the files that the trace names below DIR first: the file\n"
             "system of the container or machine that was recorded"},
    {.name = "sources",
     .kind = OPTION_CHOICE,
     .target = TARGET(convert.sources),
     .choices = options_sources_name,
     .help = "put the text of source files into the profile (embed), so that the\n"
             "viewer shows them anywhere, or leave it out (none, the default)"},
    {.name = "source-dir",
     .kind = OPTION_LIST,
     .target = TARGET(source_dirs),
     .value_name = "DIR",
     .help = "also look for source files below DIR, by the end of their path; may be\n"
             "given several times"},
    {.name = "source-map",
     .kind = OPTION_LIST,
     .target = TARGET(source_maps),
     .value_name = "FROM=TO",
     .help = "look for source files of the folder FROM in the folder TO; may be\n"
             "given several times"},
    {.name = "sources-max",
     .kind = OPTION_SIZE,
     .target = TARGET(convert.source_max_bytes),
     .value_name = "SIZE",
     .help = "embed at most this much, files with the most samples first (default:\n"
             "8M)"},
    {.name = "product",
     .kind = OPTION_TEXT,
     .target = TARGET(convert.product),
     .value_name = "NAME",
     .help = "name of what was profiled (default: taken from the trace)"},
    {.name = "align",
     .kind = OPTION_LIST,
     .target = TARGET(alignments),
     .value_name = "FILE=OFFSET",
     .help = "of several INPUTs: FILE begins this long after the others begin: 1.5s,\n"
             "-20ms, 300us, 7ns; or monotonic: the times of FILE are those of\n"
             "CLOCK_MONOTONIC; may be given several times"},
    {.name = "samples",
     .kind = OPTION_CHOICE,
     .target = TARGET(convert.samples),
     .choices = options_samples_name,
     .help = "of several INPUTs: whose samples a thread has if perf and the recorder\n"
             "both sampled it (default: perf)"},
    {.name = "max-memory",
     .kind = OPTION_SIZE,
     .target = TARGET(convert.max_memory_bytes),
     .value_name = "SIZE",
     .help = "fail rather than use more memory than this: bytes, or with K, M, G or\n"
             "T, or unlimited (default: half of the memory of the machine or of its\n"
             "control group); in a batch, only the input that needs more fails"},
    {.name = "strict",
     .kind = OPTION_FLAG,
     .target = TARGET(convert.is_strict),
     .help = "if something would be lost, write nothing and fail"},
    {.name = "report",
     .kind = OPTION_TEXT,
     .target = TARGET(report_path),
     .value_name = "FILE",
     .help = "write a report as JSON to FILE, or to standard output for -: what was\n"
             "read, written and lost; also if the conversion fails"},
    {.name = "output-dir",
     .kind = OPTION_TEXT,
     .target = TARGET(output_dir),
     .value_name = "DIR",
     .help = "convert every trace among INPUTs, and in folders and archives among\n"
             "them, into a profile below DIR"},
    {.name = "output-archive",
     .kind = OPTION_TEXT,
     .target = TARGET(output_archive),
     .value_name = "FILE",
     .help = "like --output-dir, but into an archive: .tar, .tar.gz, .tar.zst,\n"
             ".tar.xz or .zip"},
    {.name = "jobs",
     .letter = 'j',
     .kind = OPTION_NUMBER,
     .target = TARGET(convert.job_count),
     .number_min = 1,
     .number_max = JOBS_MAX,
     .value_name = "N",
     .help = "use N threads; a batch runs N conversions at a time, each with one\n"
             "thread (default: one per processor)"},
    {.name = "if-changed",
     .kind = OPTION_EXTRA,
     .target = TARGET(if_changed),
     .value_name = "MANIFEST",
     .help = "convert only what differs from MANIFEST, the report of an earlier\n"
             "batch (default: the one in DIR)"},
    {.name = "report-junit",
     .kind = OPTION_TEXT,
     .target = TARGET(junit_path),
     .value_name = "FILE",
     .help = "write the outcome for each trace to FILE as JUnit XML"},
    {.name = "progress",
     .kind = OPTION_CHOICE,
     .target = TARGET(progress),
     .choices = progress_choice_name,
     .help = "draw a progress bar on standard error (default: auto, if that is a\n"
             "terminal and the conversion takes long)"},
    {.name = "quiet",
     .letter = 'q',
     .kind = OPTION_FLAG,
     .target = TARGET(is_quiet),
     .help = "print only errors; no progress bar"},
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

/* ---- The name of the output. ---- */

static void choose_output(struct options *options, struct failure *failure) {
    if (options->convert.output_path) return;
    if (strcmp(options->convert.input_path, "-") == 0) {
        options->convert.output_path = "-";
        return;
    }
    struct text input = text_of(options->convert.input_path);
    while (text_ends_with(input, TEXT("/"))) input.bytes_count--;
    options->default_output_path = output_name_of(text_base_name(input), options->convert.format);
    options->convert.output_path = options->default_output_path;
    if (!options->default_output_path) failure_set_memory(failure);
}

/* ---- Rules across options. ---- */

static void check_report(const struct options *options, struct failure *failure) {
    if (!options->report_path) return;
    const char *output_path = options->convert.output_path;
    struct file_identity report = file_identity_of(options->report_path, STDOUT_FILENO);
    bool is_output = strcmp(options->report_path, output_path) == 0 ||
                     file_identity_is_same(report, file_identity_of(output_path, STDOUT_FILENO));
    if (is_output)
        failure_set(failure, FAILURE_USAGE, "the report and the profile cannot both go to %s",
                    strcmp(output_path, "-") == 0 ? "standard output" : output_path);
    for (size_t i = 0; i < options->inputs.count; i++) {
        const char *input_path = options->inputs.values[i];
        if (file_identity_is_same(report, file_identity_of(input_path, STDIN_FILENO)))
            failure_set(failure, FAILURE_USAGE, "%s is both the input and the report: name another report",
                        strcmp(input_path, "-") == 0 ? "standard input" : input_path);
    }
}

static void check_sources(const struct options *options, struct failure *failure) {
    const struct gecko_convert_options *convert = &options->convert;
    const char *option = convert->source_max_bytes ? "sources-max" : NULL;
    if (convert->source_map_count) option = "source-map";
    if (convert->source_dir_count) option = "source-dir";
    if (option && convert->sources == GECKO_CONVERT_SOURCES_NONE)
        failure_set(failure, FAILURE_USAGE, "--%s is for source files that are embedded: it needs --sources embed",
                    option);
    if (convert->sources == GECKO_CONVERT_SOURCES_EMBED && convert->symbols == GECKO_CONVERT_SYMBOLS_NONE)
        failure_set(failure, FAILURE_USAGE,
                    "--sources embed opens files that the trace names, and --symbols none forbids that");
}

/* Checks options for a single conversion. */
static void check_single(const struct options *options, struct failure *failure) {
    const struct options_list *inputs = &options->inputs;
    if (inputs->count > 1 && !options->convert.output_path)
        failure_set(failure, FAILURE_USAGE,
                    "two inputs, '%s' and '%s': --output FILE makes one profile of them, and --output-dir DIR one of "
                    "each",
                    inputs->values[0], inputs->values[1]);
    const char *option = options->junit_path ? "report-junit" : options->if_changed ? "if-changed" : NULL;
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
        failure_set(failure, FAILURE_USAGE, "--output is for a single profile: a batch needs --output-dir DIR instead");
    if (options->alignments.count)
        failure_set(failure, FAILURE_USAGE, "--align is for a single profile: a batch makes one of each input");
    if (options->if_changed && !*options->if_changed && !options->output_dir)
        failure_set(failure, FAILURE_USAGE,
                    "--if-changed without --output-dir needs the report of the previous batch: --if-changed=FILE");
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
                        "a batch cannot name the profile of standard input: convert it alone, with --output FILE");
        for (size_t j = 0; j < WRITTEN_COUNT; j++)
            if (is_one_file(input, written[j]))
                failure_set(failure, FAILURE_USAGE, "%s is an input and would be overwritten: name another file",
                            input);
    }
}

void options_init(struct options *options, int argument_count, char *const *arguments, struct failure *failure) {
    *options = (struct options){.action = OPTIONS_CONVERT, .convert.struct_bytes = sizeof options->convert};
    arguments_read(&table, options, argument_count, arguments, failure);
    options->convert.debug_dirs = options->debug_dirs.values;
    options->convert.debug_dir_count = options->debug_dirs.count;
    options->convert.source_dirs = options->source_dirs.values;
    options->convert.source_dir_count = options->source_dirs.count;
    options->convert.source_maps = options->source_maps.values;
    options->convert.source_map_count = options->source_maps.count;
    if (failure_is_set(failure) || options->action != OPTIONS_CONVERT) return;
    check_sources(options, failure);
    options_check_folders(&options->convert, failure);
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
    options->parsed_alignments =
        several_inputs_take(&options->convert, &options->inputs, &options->alignments, failure);
    choose_output(options, failure);
    if (!failure_is_set(failure)) check_report(options, failure);
}

void options_fini(struct options *options) {
    free(options->default_output_path);
    free(options->debug_dirs.values);
    free(options->source_dirs.values);
    free(options->source_maps.values);
    free(options->inputs.values);
    free(options->alignments.values);
    free(options->parsed_alignments);
    *options = (struct options){0};
}

/* ---- Help. ---- */

void options_print_help(FILE *stream) {
    fputs(
        "usage: gecko-convert [options] INPUT [-o OUTPUT]\n"
        "       gecko-convert [options] INPUT... -o OUTPUT       (into one profile)\n"
        "       gecko-convert [options] INPUT... --output-dir DIR\n"
        "       gecko-convert info FILE...      show what traces and profiles contain\n"
        "       gecko-convert check PROFILE...  find what the viewer does not accept\n"
        "       gecko-convert view INPUT        open it in the viewer, from this machine\n"
        "\n"
        "Converts a trace into a profile for the Firefox Profiler. INPUT is a recorder\n"
        "trace, a perf.data file, perf script text or a file of collapsed stacks. It may\n"
        "be plain, compressed (gzip, xz, zstd, bzip2, lz4), or the only file in an\n"
        "archive (tar, zip, 7z). - is standard input.\n"
        "\n"
        "Options (if one is repeated, the last one counts):\n",
        stream);
    arguments_print_help(&table, stream);
    fputs(
        "\n"
        "A value is the next argument or follows an equals sign: --format gecko,\n"
        "--format=gecko. Everything after -- is the name of an input.\n"
        "\n"
        "Exit codes:\n"
        "  0  success\n"
        "  1  the input is not valid; in a batch, one or more inputs are not\n"
        "  2  the command line is wrong\n"
        "  3  reading or writing failed: disk, permission, pipe\n"
        "  4  memory ran out, or more than --max-memory was needed\n"
        "  5  --strict was given, and something would have been lost\n"
        "If the code is not 0, OUTPUT is not written, and an existing file is kept.\n"
        "(If only the report cannot be written, the code is 3 or 4, and OUTPUT is good.)\n"
        "In a batch, each input has its own profile, and one that fails does not stop the\n"
        "others.\n",
        stream);
}
