#include "options.h"

#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "libconvert/file_identity.h"
#include "libconvert/report.h"

/* ---- Names of choices, in the order of their enumerations. ---- */

/* Defines a choice_name. */
#define CHOICES(function, type, ...)                                                   \
    _Static_assert(sizeof(type) == sizeof(unsigned), "choices are stored as numbers"); \
    static const char *function(size_t number) {                                       \
        static const char *const names[] = {__VA_ARGS__};                              \
        return number < sizeof names / sizeof *names ? names[number] : NULL;           \
    }

CHOICES(weight_name, enum gecko_convert_weight, "samples", "period")
CHOICES(off_cpu_name, enum gecko_convert_off_cpu, "auto", "no", "only")
CHOICES(root_name, enum gecko_convert_root, "auto", "thread", "frame")
CHOICES(weight_unit_name, enum gecko_convert_weight_unit, "auto", "samples", "ns", "us", "ms", "bytes")
CHOICES(symbols_name, enum gecko_convert_symbols, "auto", "none", "always")
CHOICES(samples_name, enum gecko_convert_samples, "auto", "perf", "recorder")
CHOICES(debuginfod_name, enum gecko_convert_debuginfod, "auto", "no")
CHOICES(sources_name, enum gecko_convert_sources, "none", "embed")
CHOICES(call_graph_name, unsigned, "dwarf", "fp", "lbr", "no")
CHOICES(match_name, unsigned, "name", "position", "pid")
CHOICES(layout_name, unsigned, "after", "over")
CHOICES(measure_name, enum measure_choice, "auto", "samples", "cpu")
CHOICES(recorder_name, enum recorder_choice, "auto", "kernel", "recorder")
CHOICES(progress_name, enum progress_choice, "auto", "always", "never")

_Static_assert(sizeof(enum options_action) == sizeof(unsigned), "choices are stored as numbers");

/* ---- The table. ---- */

enum { JOBS_MAX = 1024, PORT_MAX = 65535, IDLE_S_MAX = 365 * 24 * 3600, TOP_COUNT_MAX = 1000000, EVERY_COMMAND = -1 };

enum { FREQUENCY_HZ_MAX = 1000000, ITERATIONS_MAX = 1000 };

#define OPTION(option_name, option_commands, option_kind, member)                          \
    .name = (option_name), .commands = (unsigned)(option_commands), .kind = (option_kind), \
    .target = offsetof(struct options, member)

/* `record` has --pid and --event for what it records. */
#define FILTER(option_name, more_commands, kind) \
    OPTION(option_name, CONVERT | INFO | VIEW | DIFF | MERGE | (more_commands), OPTION_LIST, filter_values[kind])

static const struct option known_options[] = {
    {OPTION("compare", VIEW, OPTION_FLAG, compares),
     .help = "compare the INPUTs, recordings or finished profiles: the busiest\n"
             "thread of the first with its like in the others"},
    {OPTION("pid", RECORD, OPTION_LIST, recorded_pids), .has_commas = true, .letter = 'p', .value_name = "PID",
     .help = "record this process, which runs already, and what it starts; several\n"
             "with commas, or given several times"},
    {OPTION("all", RECORD, OPTION_FLAG, is_system_wide), .letter = 'a', .help = "record all that runs on the machine"},
    {OPTION("duration", RECORD, OPTION_TEXT, duration), .letter = 'd', .value_name = "SECONDS",
     .help = "record this long; a command that still runs is then ended (SIGTERM)"},
    {OPTION("frequency", RECORD, OPTION_NUMBER, frequency_hz), .letter = 'F', .number_min = 1,
     .number_max = FREQUENCY_HZ_MAX, .value_name = "HZ",
     .help = "take this many samples in a second of running (default: 1000)"},
    {OPTION("event", RECORD, OPTION_LIST, recorded_events), .has_commas = true, .letter = 'e', .value_name = "EVENT",
     .help = "sample at this event, by perf's name for it: cycles, cpu-clock:u,\n"
             "page-faults, L1-dcache-load-misses, r01c2, sched:sched_switch; several\n"
             "with commas, or given several times (default: cycles, or cpu-clock\n"
             "without them); EVENT=WHAT also says what becomes of it: samples,\n"
             "tracks, markers, counter or drop"},
    {OPTION("call-graph", RECORD, OPTION_CHOICE, call_graph), .choices = call_graph_name,
     .help = "find callers from copies of stacks, for any program (dwarf, the\n"
             "default), from frame pointers (fp), which is cheaper, from the\n"
             "processor's record of the last branches (lbr), or not at all (no)"},
    {OPTION("stack-size", RECORD, OPTION_SIZE, stack_bytes), .value_name = "SIZE",
     .help = "copy at most this much of a stack, up to 65528 (default: that, or\n"
             "less, but at least 16K, if the kernel's memory for records is small\n"
             "for it)"},
    {OPTION("with", RECORD, OPTION_CHOICE, recorder_choice), .choices = recorder_name,
     .help = "sample a command by the kernel, or by the recorder's library, which is\n"
             "preloaded and needs no rights (default: auto, the recorder if the\n"
             "kernel refuses)"},
    {OPTION("iterations", RECORD, OPTION_NUMBER, iteration_count), .number_min = 1, .number_max = ITERATIONS_MAX,
     .value_name = "N", .help = "run the command N times, one after the other, for one profile"},
    {OPTION("output", RECORD, OPTION_TEXT, convert.output_path), .letter = 'o', .value_name = "FILE",
     .help = "write the profile to FILE, or to standard output for -, and open no\n"
             "viewer; compressed if FILE ends in .gz"},
    {OPTION("trace", RECORD, OPTION_TEXT, trace_path), .value_name = "FILE",
     .help = "also keep the recording, as a perf.data stream that perf script and\n"
             "perf report read with -i"},
    {OPTION("viewer", VIEW | RECORD, OPTION_TEXT, viewer), .value_name = "DIR|URL",
     .help = "a built front-end to serve, which needs no network, or the address of\n"
             "one (default: https://profiler.firefox.com)"},
    {OPTION("port", VIEW | RECORD, OPTION_NUMBER, port), .number_min = 1, .number_max = PORT_MAX, .value_name = "N",
     .help = "listen on this port of 127.0.0.1 (default: any free one)"},
    {OPTION("no-open", VIEW | RECORD, OPTION_FLAG, opens_nothing),
     .help = "do not open a browser; the address is printed anyway"},
    {OPTION("idle-exit", VIEW | RECORD, OPTION_NUMBER, idle_s), .number_min = 1, .number_max = IDLE_S_MAX,
     .value_name = "SECONDS", .help = "exit when there has been no request for this long"},
    {OPTION("match", MERGE, OPTION_CHOICE, match), .choices = match_name,
     .help = "which processes and threads of the runs are the same: those with one\n"
             "name (the default), those that come at the same place, or those with\n"
             "one pid or tid"},
    {OPTION("layout", MERGE, OPTION_CHOICE, layout), .choices = layout_name,
     .help = "each run begins when the one before has ended (after, the default), or\n"
             "all begin at the same time (over)"},
    {OPTION("output", DIFF, OPTION_TEXT, convert.output_path), .letter = 'o', .value_name = "FILE",
     .help = "also write the difference to FILE: a profile in which stacks that\n"
             "became lighter have negative weights; or, if FILE ends in .folded,\n"
             "collapsed stacks with two counts, as difffolded.pl writes them"},
    {OPTION("per", DIFF, OPTION_TEXT, per), .value_name = "UNIT",
     .help = "compare shares of all samples (share, the default), amounts per run\n"
             "(run), per second (second), or per occurrence of the marker UNIT"},
    {OPTION("measure", DIFF, OPTION_CHOICE, measure), .choices = measure_name,
     .help = "what is compared: samples, or processor time (default: auto, processor\n"
             "time if all runs know it and threads wait in some samples)"},
    {OPTION("ignore", DIFF, OPTION_TEXT, ignored), .value_name = "LIST",
     .help = "match functions although these differ, with commas: templates (their\n"
             "arguments), clones (.part.0, .constprop…), paths (folders of source\n"
             "files), versions (of symbols and libraries), or all"},
    {OPTION("all", DIFF, OPTION_FLAG, shows_all), .help = "also list changes that do not stand out of the noise"},
    {OPTION("fail-if", DIFF, OPTION_LIST, limits), .value_name = "EXPRESSION",
     .help = "exit with code 6 if the change is surely above a limit, such as\n"
             "'total(parse_*) > +5%'; may be given several times"},
    {OPTION("budget", DIFF, OPTION_LIST, budgets), .value_name = "FILE",
     .help = "read such expressions from FILE, one a line; lines that begin with #\n"
             "are comments; may be given several times"},
    {OPTION("allow-missing", DIFF, OPTION_FLAG, allows_missing),
     .help = "an expression that matches nothing is no error"},
    {OPTION("junit", DIFF, OPTION_TEXT, junit_path), .value_name = "FILE",
     .help = "write the outcome of each expression to FILE as JUnit XML"},
    {OPTION("markdown", DIFF, OPTION_FLAG, wants_markdown), .help = "print Markdown, for a comment on a pull request"},
    {OPTION("json", DIFF, OPTION_FLAG, wants_json), .help = "print JSON: see docs/comparing.md"},
    {OPTION("top", DIFF, OPTION_NUMBER, top_count), .number_max = TOP_COUNT_MAX, .value_name = "N",
     .help = "show at most N rows of each list, except as JSON (default: 20)"},
    {OPTION("json", CHECK | INFO, OPTION_FLAG, wants_json), .help = "print JSON: see docs/info.md"},
    {OPTION("top", INFO, OPTION_NUMBER, top_count), .number_max = TOP_COUNT_MAX, .value_name = "N",
     .help = "show at most N rows of each list (default: 10)"},
    {OPTION("together", INFO, OPTION_FLAG, is_together),
     .help = "show all files, which must be traces, as the one profile that\n"
             "converting them together makes, with --align and --samples"},
    {OPTION("output", MERGE_MANIFESTS, OPTION_TEXT, convert.output_path), .letter = 'o', .value_name = "FILE",
     .help = "write the report to FILE (default: standard output)"},
    {OPTION("output", MERGE, OPTION_TEXT, convert.output_path), .letter = 'o', .value_name = "FILE",
     .help = "write to FILE, or to standard output for -; compressed if FILE ends\n"
             "in .gz"},
    {OPTION("output", CONVERT, OPTION_TEXT, convert.output_path), .letter = 'o', .value_name = "FILE",
     .help = "write to FILE, or to standard output for -; compressed if FILE ends\n"
             "in .gz (default: the name of INPUT without its suffixes and with\n"
             ".profile.json, in the current folder; standard output if INPUT is -)"},
    {OPTION("format", CONVERT | RECORD | MERGE, OPTION_NAME, convert.format), .letter = 'f',
     .choices = gecko_convert_output_format, .json_key = "format",
     .help = "format of the profile (default: by the end of --output, .folded for\n"
             "collapsed and .jslb for jslb; otherwise processed)"},
    {OPTION("max-size", CONVERT | RECORD | MERGE, OPTION_SIZE, convert.max_output_bytes), .value_name = "SIZE",
     .json_key = "max_size",
     .help = "write at most this many bytes, or with K, M or G: add up samples that\n"
             "are close to each other, join threads with little in them, and leave\n"
             "out markers of frequent types, until the file is small enough"},
    {OPTION("split", CONVERT, OPTION_TEXT, split), .value_name = "process|time=LENGTH",
     .help = "write a profile of each process, NAME-PID.profile.json, or of each\n"
             "part of the time, such as time=30s: NAME-1.profile.json and so on"},
    {OPTION("from", CONVERT | INFO | VIEW | DIFF | MERGE, OPTION_NAME, convert.from),
     .choices = gecko_convert_input_format, .alias = {"native", "recorder"}, .json_key = "from",
     .help = "format of the trace (default: detected from the content)"},
    {OPTION("weight", CONVERTING, OPTION_CHOICE, convert.weight), .choices = weight_name, .json_key = "weight",
     .help = "weight of a perf sample: one, or its period (default: samples)"},
    {OPTION("off-cpu", CONVERT | INFO | VIEW | RECORD | DIFF | MERGE, OPTION_CHOICE, convert.off_cpu),
     .choices = off_cpu_name, .json_key = "off_cpu",
     .help = "samples of the time in which threads did not run: if a perf recording\n"
             "tells it (auto, the default), no, or only these"},
    {OPTION("per-cpu", CONVERT | VIEW | RECORD, OPTION_FLAG, convert.is_per_cpu), .json_key = "per_cpu",
     .help = "also show what ran on each processor, as perf recordings tell it"},
    {OPTION("root", CONVERT | VIEW | DIFF | MERGE, OPTION_CHOICE, convert.root), .choices = root_name,
     .json_key = "root",
     .help = "what the first frame of a collapsed stack is: a thread, a frame, or\n"
             "a thread where the profiler that wrote the file marks one (auto, the\n"
             "default)"},
    {OPTION("weight-unit", CONVERT | VIEW | DIFF | MERGE, OPTION_CHOICE, convert.weight_unit),
     .choices = weight_unit_name, .json_key = "weight_unit",
     .help = "what the counts of collapsed stacks count (default: auto, which is\n"
             "samples unless austin's header says something else)"},
    {OPTION("interval", CONVERT | VIEW | DIFF | MERGE, OPTION_TIME, convert.sample_interval_ns), .value_name = "TIME",
     .json_key = "interval_ns",
     .help = "of collapsed stacks: the time between two samples of a thread, such\n"
             "as 10ms (default: unknown)"},
    {OPTION("symbols", CONVERTING, OPTION_CHOICE, convert.symbols), .choices = symbols_name, .json_key = "symbols",
     .help = "look up functions, inlined functions, files and lines in the libraries\n"
             "on this machine: for addresses without a function in the trace or with\n"
             "the same symbol there (auto, the default), for no address (none), or\n"
             "for every address (always)"},
    {OPTION("debug-dir", CONVERTING, OPTION_LIST, debug_dirs), .value_name = "DIR", .json_key = "debug_dirs",
     .help = "also look for libraries and debug information in DIR, by build id and\n"
             "by path; may be given several times"},
    {OPTION("sysroot", CONVERTING, OPTION_TEXT, convert.sysroot), .value_name = "DIR", .json_key = "sysroot",
     .help = "look for the files that the trace names below DIR first: the file\n"
             "system of the container or machine that was recorded"},
    {OPTION("perf-map", CONVERTING, OPTION_LIST, perf_maps), .value_name = "PID=FILE", .json_key = "perf_maps",
     .help = "the process PID of the trace generated code that FILE names, as a perf\n"
             "map does; may be given several times"},
    {OPTION("debuginfod", CONVERTING, OPTION_CHOICE, convert.debuginfod), .choices = debuginfod_name,
     .json_key = "debuginfod",
     .help = "fetch debug information and source files that are not here from the\n"
             "servers in DEBUGINFOD_URLS, if that is set (auto, the default), or not"},
    {OPTION("sources", CONVERT | VIEW | RECORD, OPTION_CHOICE, convert.sources), .choices = sources_name,
     .json_key = "sources",
     .help = "put the text of source files into the profile (embed), so that the\n"
             "viewer shows them anywhere, or leave it out (default: none; for view:\n"
             "embed)"},
    {OPTION("source-dir", CONVERT | VIEW | RECORD, OPTION_LIST, source_dirs), .value_name = "DIR",
     .json_key = "source_dirs",
     .help = "also look for source files below DIR, by the end of their path; may be\n"
             "given several times"},
    {OPTION("source-map", CONVERT | VIEW | RECORD, OPTION_LIST, source_maps), .value_name = "FROM=TO",
     .json_key = "source_maps",
     .help = "look for source files of the folder FROM in the folder TO; may be\n"
             "given several times"},
    {OPTION("source-url", CONVERT | VIEW | RECORD, OPTION_LIST, source_urls), .value_name = "DIR=URL",
     .json_key = "source_urls",
     .help = "the viewer finds source files below DIR on the web, at URL:\n"
             "https://github.com/OWNER/REPOSITORY/tree/REVISION; may be given\n"
             "several times"},
    {OPTION("sources-max", CONVERT | VIEW | RECORD, OPTION_SIZE, convert.source_max_bytes), .value_name = "SIZE",
     .json_key = "source_max_bytes",
     .help = "embed at most this much, files with the most samples first (default:\n"
             "8M)"},
    {OPTION("fold-recursion", CONVERTING, OPTION_FLAG, convert.folds_recursion), .json_key = "fold_recursion",
     .help = "make one frame of a function that is repeated in a row"},
    {OPTION("merge-threads", CONVERT | VIEW | RECORD, OPTION_TEXT, convert.merge_threads), .value_name = "no|GLOB",
     .json_key = "merge_threads",
     .help = "give every thread a track (no), or make one track of all threads, and\n"
             "of all processes, with such names that follow each other (default: of\n"
             "those of one name if there are more than 30)"},
    {OPTION("process-args", CONVERT | VIEW | RECORD | MERGE, OPTION_TEXT, convert.process_args), .value_name = "N",
     .json_key = "process_args",
     .help = "name processes after their arguments, cut to N characters, where a\n"
             "trace tells them: 'cc1 parse.c'; 0 leaves out command lines, which\n"
             "may hold secrets (default: 40)"},
    {OPTION("frames", CONVERT | RECORD | MERGE, OPTION_TEXT, convert.frames), .value_name = "LIST",
     .json_key = "frames",
     .help = "what collapsed stacks tell besides functions, with commas: comm, pid,\n"
             "tid (the first frame), kernel, jit, inline (suffixes of frames),\n"
             "addresses (of functions without a name), or none (default: comm)"},
    {OPTION("product", CONVERT | VIEW | RECORD | MERGE, OPTION_TEXT, convert.product), .value_name = "NAME",
     .json_key = "product", .help = "name of what was profiled (default: taken from the trace)"},
    {FILTER("time", RECORD, GECKO_CONVERT_FILTER_TIME), .value_name = "A-B|A-|-B|@MARKER", .json_key = "time",
     .help = "convert only this part of the recording: seconds after its first\n"
             "sample (1.5-20), percent of it (90%-), or the time of all markers of\n"
             "that name (@futex); may be given several times, like the next options"},
    {FILTER("pid", 0, GECKO_CONVERT_FILTER_PID), .value_name = "LIST", .json_key = "pid",
     .help = "convert only these processes of the recording: 12,340-350; -1 are\n"
             "those that had ended"},
    {FILTER("tid", RECORD, GECKO_CONVERT_FILTER_TID), .value_name = "LIST", .json_key = "tid",
     .help = "convert only these threads of the recording: 12,340-350"},
    {FILTER("comm", RECORD, GECKO_CONVERT_FILTER_COMM), .value_name = "GLOB", .json_key = "comm",
     .help = "convert only threads of the recording with such names: * is any\n"
             "text, and ? is any byte"},
    {FILTER("exclude-comm", RECORD, GECKO_CONVERT_FILTER_EXCLUDE_COMM), .value_name = "GLOB",
     .json_key = "exclude_comm", .help = "leave out threads of the recording with such names"},
    {FILTER("cpu", RECORD, GECKO_CONVERT_FILTER_CPU), .value_name = "LIST", .json_key = "cpu",
     .help = "convert only samples on these processors: 0,4-7"},
    {FILTER("event", 0, GECKO_CONVERT_FILTER_EVENT), .value_name = "GLOB=WHAT", .json_key = "event",
     .help = "what becomes of such events of a perf recording: samples, tracks,\n"
             "markers, counter or drop; with commas, or given several times: the\n"
             "last one that names an event decides; --event list shows the events"},
    {OPTION("align", CONVERT | VIEW | INFO, OPTION_LIST, alignments), .value_name = "FILE=OFFSET",
     .help = "of several INPUTs: FILE begins this long after the others begin: 1.5s,\n"
             "-20ms, 300us, 7ns; or monotonic: the times of FILE are those of\n"
             "CLOCK_MONOTONIC; may be given several times"},
    {OPTION("samples", CONVERT | VIEW | INFO, OPTION_CHOICE, convert.samples), .choices = samples_name,
     .help = "of several INPUTs: whose samples a thread has if perf and the recorder\n"
             "both sampled it (default: auto, perf's unless many of its stacks end\n"
             "early)"},
    {OPTION("max-memory", EVERY_COMMAND, OPTION_SIZE, convert.max_memory_bytes), .value_name = "SIZE",
     .help = "fail rather than use more memory than this: bytes, or with K, M, G or\n"
             "T, or unlimited (default: half of the memory of the machine or of its\n"
             "control group); of many files, only the one that needs more fails"},
    {OPTION("strict", CONVERT | RECORD | MERGE, OPTION_FLAG, convert.is_strict), .json_key = "strict",
     .help = "if something would be lost, write nothing and fail"},
    {OPTION("report", CONVERT | RECORD | MERGE, OPTION_TEXT, report_path), .value_name = "FILE",
     .help = "write a report as JSON to FILE, or to standard output for -: what was\n"
             "read, written and lost; also if the conversion fails"},
    {OPTION("output-dir", CONVERT, OPTION_TEXT, output_dir), .value_name = "DIR",
     .help = "convert every trace among INPUTs, and in folders and archives among\n"
             "them, into a profile below DIR"},
    {OPTION("output-archive", CONVERT, OPTION_TEXT, output_archive), .value_name = "FILE",
     .help = "like --output-dir, but into an archive: .tar, .tar.gz, .tar.zst,\n"
             ".tar.xz or .zip"},
    {OPTION("compress", CONVERT, OPTION_FLAG, compresses), .json_key = "compress",
     .help = "compress profiles whose names are not given: NAME.profile.json.gz"},
    {OPTION("jobs", CONVERT | RECORD | DIFF | MERGE, OPTION_NUMBER, convert.job_count), .letter = 'j', .number_min = 1,
     .number_max = JOBS_MAX, .value_name = "N",
     .help = "use N threads; a batch runs N conversions at a time, each with one\n"
             "thread (default: one per processor)"},
    {OPTION("if-changed", CONVERT, OPTION_EXTRA, if_changed), .value_name = "MANIFEST",
     .help = "convert only what differs from MANIFEST, the report of an earlier\n"
             "batch (default: the one in DIR)"},
    {OPTION("shard", CONVERT, OPTION_TEXT, shard), .value_name = "K/N",
     .help = "convert only the K-th of N parts of INPUTs, which N calls convert\n"
             "together; auto: as the variables of Slurm, GitLab and others tell;\n"
             "auto/N: they tell only K"},
    {OPTION("report-junit", CONVERT, OPTION_TEXT, junit_path), .value_name = "FILE",
     .help = "write the outcome for each trace to FILE as JUnit XML"},
    {OPTION("progress", CONVERT | RECORD | MERGE, OPTION_CHOICE, progress), .choices = progress_name,
     .help = "draw a progress bar on standard error (default: auto, if that is a\n"
             "terminal and the conversion takes long)"},
    {OPTION("quiet", CONVERTING | MERGE_MANIFESTS, OPTION_FLAG, is_quiet), .letter = 'q',
     .help = "print only errors; no progress bar"},
    {OPTION("help", EVERY_COMMAND, OPTION_ACTION, action), .letter = 'h', .action = OPTIONS_SHOW_HELP,
     .help = "show this text"},
    {OPTION("version", CONVERT, OPTION_ACTION, action), .letter = 'V', .action = OPTIONS_SHOW_VERSION,
     .help = "show the version"},
};

const struct option_table options_table = {.options = known_options,
                                           .option_count = sizeof known_options / sizeof *known_options,
                                           .operands = offsetof(struct options, inputs),
                                           .ended_by_operand = RECORD};

/* ---- Reading. ---- */

static void collect_filters(struct options *options, struct failure *failure) {
    enum { KIND_COUNT = sizeof options->filter_values / sizeof *options->filter_values };
    size_t count = 0;
    for (unsigned kind = 0; kind < KIND_COUNT; kind++) count += options->filter_values[kind].count;
    const struct options_list *recorded = &options->recorded_events;
    count += recorded->count;
    if (!count) return;
    options->filters = failure_check_memory(failure, calloc(count, sizeof *options->filters));
    if (!options->filters) return;
    for (unsigned kind = 0; kind < KIND_COUNT; kind++)
        for (size_t i = 0; i < options->filter_values[kind].count; i++) {
            const char *value = options->filter_values[kind].values[i];
            bool is_list = kind == GECKO_CONVERT_FILTER_EVENT && strcmp(value, "list") == 0;
            options->lists_events |= is_list;
            if (!is_list)
                options->filters[options->convert.filter_count++] = (struct gecko_convert_filter){kind, value};
        }
    for (size_t i = 0; i < recorded->count; i++)
        if (strchr(recorded->values[i], '='))
            options->filters[options->convert.filter_count++] =
                (struct gecko_convert_filter){GECKO_CONVERT_FILTER_EVENT, recorded->values[i]};
    options->convert.filters = options->filters;
}

void options_read(struct options *options, enum command_bit command, command_namer *name_command, int argument_count,
                  char *const *arguments, struct failure *failure) {
    struct gecko_convert_options *convert = &options->convert;
    convert->struct_bytes = sizeof *convert;
    arguments_read(&options_table, command, name_command, options, argument_count, arguments, failure);
    convert->debug_dirs = options->debug_dirs.values;
    convert->debug_dir_count = options->debug_dirs.count;
    convert->source_dirs = options->source_dirs.values;
    convert->source_dir_count = options->source_dirs.count;
    convert->source_maps = options->source_maps.values;
    convert->source_map_count = options->source_maps.count;
    convert->source_urls = options->source_urls.values;
    convert->source_url_count = options->source_urls.count;
    convert->perf_maps = options->perf_maps.values;
    convert->perf_map_count = options->perf_maps.count;
    collect_filters(options, failure);
    if (options->lists_events && command != CONVERT)
        failure_set(failure, FAILURE_USAGE, "--event list is an option of its own: gecko-convert --event list FILE");
    if (options->action == OPTIONS_RUN && !options->inputs.count && command != RECORD)
        failure_set(failure, FAILURE_USAGE, "no input: name a file, or - for standard input");
}

void options_keep_input(const struct options *options, const char *path, struct failure *failure) {
    const char *written[] = {options->convert.output_path, options->output_archive, options->report_path,
                             options->junit_path, options->trace_path};
    struct file_identity input = file_identity_of(path, STDIN_FILENO);
    for (size_t i = 0; i < sizeof written / sizeof *written; i++)
        if (written[i] && file_identity_is_same(input, file_identity_of(written[i], STDOUT_FILENO)))
            failure_set(failure, FAILURE_USAGE, "%s is an input and would be overwritten: name another file",
                        report_path_name(path));
}

void options_fini(struct options *options) {
    arguments_fini(&options_table, options);
    free(options->default_output_path);
    free(options->filters);
    free(options->parsed_alignments);
    *options = (struct options){0};
}
