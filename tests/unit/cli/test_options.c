#include <stdlib.h>
#include <string.h>

#include "cli/command.h"
#include "readers/reader.h"
#include "tests/support/temp_folder.h"
#include "tests/support/unit_test.h"
#include "writer/emitter.h"

enum { ARGUMENTS_MAX = 16 };

static struct options options;
static struct failure failure;

static int begin(void **state) {
    failure_clear(&failure);
    options = (struct options){0};
    return 0;
}

static int end(void **state) {
    options_fini(&options);
    return 0;
}

/* Parses arguments up to a NULL. */
static void parse_all(char *const *arguments) {
    int count = 0;
    while (arguments[count]) count++;
    command_read_options(&command_convert, &options, count, arguments, &failure);
}

#define PARSE(...) parse_all((char *const[]){__VA_ARGS__, NULL})

static void assert_refused(const char *message) {
    assert_int_equal(failure.code, FAILURE_USAGE);
    assert_string_equal(failure.message, message);
}

static void test_defaults(void **state) {
    PARSE("trace.txt");
    assert_int_equal(failure.code, FAILURE_NONE);
    assert_int_equal(options.action, OPTIONS_RUN);
    assert_string_equal(options.convert.input_path, "trace.txt");
    assert_string_equal(options.convert.output_path, "trace.profile.json");
    assert_null(options.convert.from);
    assert_string_equal(options.convert.format, "processed");
    assert_null(options.convert.product);
    assert_null(options.report_path);
    assert_int_equal(options.convert.weight, GECKO_CONVERT_WEIGHT_SAMPLES);
    assert_int_equal(options.convert.root, GECKO_CONVERT_ROOT_AUTO);
    assert_int_equal(options.convert.symbols, GECKO_CONVERT_SYMBOLS_AUTO);
    assert_int_equal(options.convert.debug_dir_count, 0);
    assert_int_equal(options.progress, PROGRESS_AUTO);
    assert_false(options.convert.is_strict);
    assert_false(options.is_quiet);
}

static void test_every_option_with_the_next_argument(void **state) {
    PARSE("--output", "o.json", "--format", "gecko", "--from", "collapsed", "--weight", "period", "--root", "thread",
          "--weight-unit", "us", "--interval", "2.5ms", "--symbols", "always", "--debug-dir", "/", "--sysroot", "/dev",
          "--product", "App", "--strict", "--report", "r.json", "--progress", "never", "--quiet", "in");
    assert_int_equal(failure.code, FAILURE_NONE);
    assert_string_equal(options.convert.input_path, "in");
    assert_string_equal(options.convert.output_path, "o.json");
    assert_string_equal(options.convert.format, "gecko");
    assert_string_equal(options.convert.from, "collapsed");
    assert_string_equal(options.convert.product, "App");
    assert_string_equal(options.report_path, "r.json");
    assert_int_equal(options.convert.weight, GECKO_CONVERT_WEIGHT_PERIOD);
    assert_int_equal(options.convert.root, GECKO_CONVERT_ROOT_THREAD);
    assert_int_equal(options.convert.weight_unit, GECKO_CONVERT_UNIT_US);
    assert_int_equal(options.convert.sample_interval_ns, 2500000);
    assert_int_equal(options.convert.symbols, GECKO_CONVERT_SYMBOLS_ALWAYS);
    assert_int_equal(options.convert.debug_dir_count, 1);
    assert_string_equal(options.convert.debug_dirs[0], "/");
    assert_string_equal(options.convert.sysroot, "/dev");
    assert_int_equal(options.progress, PROGRESS_NEVER);
    assert_true(options.convert.is_strict);
    assert_true(options.is_quiet);
    assert_null(options.default_output_path);
}

static void test_every_option_with_equals(void **state) {
    PARSE("--output=a=b", "--format=processed", "--from=perf-script", "--weight=samples", "--root=frame",
          "--product=-x-", "--report=r", "--progress=always", "in");
    assert_int_equal(failure.code, FAILURE_NONE);
    assert_string_equal(options.convert.output_path, "a=b");
    assert_string_equal(options.convert.format, "processed");
    assert_string_equal(options.convert.from, "perf-script");
    assert_string_equal(options.convert.product, "-x-");
    assert_int_equal(options.progress, PROGRESS_ALWAYS);
}

static void test_former_name_of_traces(void **state) {
    PARSE("--from=native", "in");
    assert_int_equal(failure.code, FAILURE_NONE);
    assert_string_equal(options.convert.from, "recorder");
}

static void test_letters(void **state) {
    PARSE("-qfgecko", "in", "-qo", "out");
    assert_int_equal(failure.code, FAILURE_NONE);
    assert_true(options.is_quiet);
    assert_string_equal(options.convert.format, "gecko");
    assert_string_equal(options.convert.output_path, "out");
}

static void test_the_last_one_counts(void **state) {
    PARSE("-o", "a", "in", "-o", "b", "--weight=period", "--weight=samples");
    assert_string_equal(options.convert.output_path, "b");
    assert_int_equal(options.convert.weight, GECKO_CONVERT_WEIGHT_SAMPLES);
}

static void test_debug_dirs_add_up(void **state) {
    PARSE("--debug-dir", "/", "in", "--debug-dir=/dev", "--symbols=none", "--debug-dir", "/");
    assert_int_equal(failure.code, FAILURE_NONE);
    assert_int_equal(options.convert.symbols, GECKO_CONVERT_SYMBOLS_NONE);
    assert_int_equal(options.convert.debug_dir_count, 3);
    assert_string_equal(options.convert.debug_dirs[0], "/");
    assert_string_equal(options.convert.debug_dirs[1], "/dev");
    assert_string_equal(options.convert.debug_dirs[2], "/");
}

static void test_sources(void **state) {
    PARSE("in", "--sources", "embed", "--source-dir=/", "--source-dir=/dev", "--source-map", "/x=/y",
          "--sources-max=2K");
    assert_int_equal(failure.code, FAILURE_NONE);
    assert_int_equal(options.convert.sources, GECKO_CONVERT_SOURCES_EMBED);
    assert_int_equal(options.convert.source_dir_count, 2);
    assert_string_equal(options.convert.source_dirs[1], "/dev");
    assert_int_equal(options.convert.source_map_count, 1);
    assert_string_equal(options.convert.source_maps[0], "/x=/y");
    assert_int_equal(options.convert.source_max_bytes, 2048);
}

static void test_filters(void **state) {
    PARSE("in", "--pid=1", "--time", "-5", "--cpu", "0", "--pid", "2,3", "--exclude-comm=*", "--comm", "a", "--tid",
          "4", "--event", "a=drop", "--event=list");
    assert_true(options.lists_events);
    static const struct gecko_convert_filter expected[] = {
        {GECKO_CONVERT_FILTER_TIME, "-5"}, {GECKO_CONVERT_FILTER_PID, "1"},
        {GECKO_CONVERT_FILTER_PID, "2,3"}, {GECKO_CONVERT_FILTER_TID, "4"},
        {GECKO_CONVERT_FILTER_COMM, "a"},  {GECKO_CONVERT_FILTER_EXCLUDE_COMM, "*"},
        {GECKO_CONVERT_FILTER_CPU, "0"},   {GECKO_CONVERT_FILTER_EVENT, "a=drop"},
    };
    assert_int_equal(failure.code, FAILURE_NONE);
    assert_int_equal(options.convert.filter_count, sizeof expected / sizeof *expected);
    for (size_t i = 0; i < options.convert.filter_count; i++) {
        assert_int_equal(options.convert.filters[i].kind, expected[i].kind);
        assert_string_equal(options.convert.filters[i].value, expected[i].value);
    }
}

static void test_double_dash_ends_options(void **state) {
    PARSE("-o", "out", "--", "--strict");
    assert_int_equal(failure.code, FAILURE_NONE);
    assert_string_equal(options.convert.input_path, "--strict");
    assert_false(options.convert.is_strict);
}

static void test_help_and_version_end_the_reading(void **state) {
    PARSE("--help", "--nonsense");
    assert_int_equal(failure.code, FAILURE_NONE);
    assert_int_equal(options.action, OPTIONS_SHOW_HELP);
    PARSE("a", "b", "-V");
    assert_int_equal(options.action, OPTIONS_SHOW_VERSION);
    options_fini(&options);
    PARSE("-hV");
    assert_int_equal(failure.code, FAILURE_NONE);
    PARSE("-V", "-?");
    assert_int_equal(options.action, OPTIONS_SHOW_VERSION);
}

static void test_batches(void **state) {
    PARSE("b", "a", "--output-dir", "out", "--jobs", "3", "--if-changed", "c", "--report-junit=j.xml");
    assert_int_equal(failure.code, FAILURE_NONE);
    assert_true(options_are_batch(&options));
    assert_int_equal(options.inputs.count, 3);
    assert_string_equal(options.inputs.values[0], "b");
    assert_string_equal(options.inputs.values[2], "c");
    assert_string_equal(options.output_dir, "out");
    assert_int_equal(options.convert.job_count, 3);
    assert_string_equal(options.if_changed, "");
    assert_string_equal(options.junit_path, "j.xml");
    options_fini(&options);
    PARSE("a", "--output-archive=out.zip", "-j1024", "--if-changed=m.json");
    assert_int_equal(failure.code, FAILURE_NONE);
    assert_true(options_are_batch(&options));
    assert_string_equal(options.output_archive, "out.zip");
    assert_string_equal(options.if_changed, "m.json");
    assert_int_equal(options.convert.job_count, 1024);
}

static void test_refusals(void **state) {
    static const struct {
        char *arguments[ARGUMENTS_MAX];
        const char *message;
    } cases[] = {
        {{NULL}, "no input: name a file, or - for standard input"},
        {{"-q", NULL}, "no input: name a file, or - for standard input"},
        {{"", NULL}, "the name of an input is empty"},
        {{"a", "b", NULL},
         "two inputs, 'a' and 'b': --output FILE makes one profile of them, and --output-dir DIR one of each"},
        {{"a", "b", "-oc", "--align", "d=1s", NULL}, "--align d=1s: no input is named 'd'"},
        {{"a", "b", "-oc", "--align", "b=soon", NULL},
         "--align b=soon: FILE=OFFSET is needed, and the offset is a time such as 1.5s, -20ms or 300us, or monotonic"},
        {{"a", "b", "-oc", "--align", "b", NULL},
         "--align b: FILE=OFFSET is needed, and the offset is a time such as 1.5s, -20ms or 300us, or monotonic"},
        {{"a", "b", "-oc", "--align", "b=0.5ns", NULL},
         "--align b=0.5ns: FILE=OFFSET is needed, and the offset is a time such as 1.5s, -20ms or 300us, or monotonic"},
        {{"a", "--output-dir=d", "--align", "a=1s", NULL},
         "--align is for a single profile: a batch makes one of each input"},
        {{"a", "--compress", "-o", "b.gz", NULL},
         "--compress is for profiles whose names are not given: --output FILE.gz is compressed by its name"},
        {{"-", "--compress", NULL},
         "--compress is for profiles whose names are not given: --output FILE.gz is compressed by its name"},
        {{"a", "--if-changed", NULL}, "--if-changed is for batches: it needs --output-dir or --output-archive"},
        {{"a", "--report-junit=j", NULL}, "--report-junit is for batches: it needs --output-dir or --output-archive"},
        {{"a", "--jobs=0", NULL}, "--jobs: '0' is not a number from 1 to 1024"},
        {{"a", "--jobs=1025", NULL}, "--jobs: '1025' is not a number from 1 to 1024"},
        {{"a", "--jobs=99999999999999999999", NULL}, "--jobs: '99999999999999999999' is not a number from 1 to 1024"},
        {{"a", "--jobs=2x", NULL}, "--jobs: '2x' is not a number from 1 to 1024"},
        {{"a", "--jobs=-1", NULL}, "--jobs: '-1' is not a number from 1 to 1024"},
        {{"a", "--if-changed=", NULL}, "--if-changed: the value is empty"},
        {{"a", "--output-dir=o", "-o", "p", NULL},
         "--output is for a single profile: a batch needs --output-dir DIR instead"},
        {{"a", "--output-archive=o.zip", "--if-changed", NULL},
         "--if-changed without --output-dir needs the report of the previous batch: --if-changed=FILE"},
        {{"a", "-", "--output-dir=o", NULL},
         "a batch cannot name the profile of standard input: convert it alone, with --output FILE"},
        {{"a", "--output-dir=o", "--report=r", "--report-junit=r", NULL},
         "r would be written twice: name another file"},
        {{"a", "b.zip", "--output-archive=b.zip", NULL},
         "b.zip is an input and would be overwritten: name another file"},
        {{"--formt=x", NULL}, "unknown option '--formt'; did you mean '--format'?"},
        {{"--prod", NULL}, "unknown option '--prod'; did you mean '--product'?"},
        {{"--reprot", NULL}, "unknown option '--reprot'; did you mean '--report'?"},
        {{"--x", NULL}, "unknown option '--x'"},
        {{"--=", NULL}, "unknown option '--'"},
        {{"--a-very-long-option-that-is-none", NULL}, "unknown option '--a-very-long-option-that-is-none'"},
        {{"-qx", NULL}, "unknown option '-x'"},
        {{"in", "--output", NULL}, "--output needs a value"},
        {{"in", "-qo", NULL}, "--output needs a value"},
        {{"in", "--output=", NULL}, "--output: the value is empty"},
        {{"in", "-o", "", NULL}, "--output: the value is empty"},
        {{"in", "--product", "", NULL}, "--product: the value is empty"},
        {{"in", "--strict=yes", NULL}, "--strict takes no value"},
        {{"in", "--help=", NULL}, "--help takes no value"},
        {{"in", "--format", "xml", NULL}, "--format: 'xml' is not one of: processed, gecko, collapsed, jslb"},
        {{"in", "-fxml", NULL}, "--format: 'xml' is not one of: processed, gecko, collapsed, jslb"},
        {{"in", "--from=perf", NULL},
         "--from: 'perf' is not one of: perf-data, perf-script, collapsed, recorder, profile"},
        {{"in", "--weight=periods", NULL}, "--weight: 'periods' is not one of: samples, period"},
        {{"in", "--root=x", NULL}, "--root: 'x' is not one of: auto, thread, frame"},
        {{"in", "--symbols=x", NULL}, "--symbols: 'x' is not one of: auto, none, always"},
        {{"in", "--sources=x", NULL}, "--sources: 'x' is not one of: none, embed"},
        {{"in", "--source-dir=d", NULL},
         "--source-dir is for source files that are embedded: it needs --sources embed"},
        {{"in", "--source-map=a=b", "--sources=none", NULL},
         "--source-map is for source files that are embedded: it needs --sources embed"},
        {{"in", "--sources=embed", "--symbols=none", NULL},
         "--sources embed opens files that the trace names, and --symbols none forbids that"},
        {{"in", "--debug-dir=", NULL}, "--debug-dir: the value is empty"},
        {{"in", "--debug-dir", NULL}, "--debug-dir needs a value"},
        {{"in", "--progress=yes", NULL}, "--progress: 'yes' is not one of: auto, always, never"},
        {{"-", "--report", "-", NULL}, "the report and the profile cannot both go to standard output"},
        {{"in", "-o", "x", "--report=x", NULL}, "the report and the profile cannot both go to x"},
        {{"in", "-o", "./x", "--report=x", NULL}, "the report and the profile cannot both go to ./x"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        failure_clear(&failure);
        parse_all(cases[i].arguments);
        assert_refused(cases[i].message);
        options_fini(&options);
    }
}

static void test_several_inputs(void **state) {
    PARSE("a", "b=c", "d", "-o", "out", "--align", "b=c=-1.5ms", "--align=d=monotonic", "--samples", "recorder");
    assert_int_equal(failure.code, FAILURE_NONE);
    assert_string_equal(options.convert.input_path, "a");
    assert_int_equal(options.convert.more_input_count, 2);
    assert_string_equal(options.convert.more_input_paths[0], "b=c");
    assert_string_equal(options.convert.more_input_paths[1], "d");
    assert_int_equal(options.convert.alignments[0].kind, GECKO_CONVERT_ALIGN_BY_CLOCK);
    assert_int_equal(options.convert.alignments[1].kind, GECKO_CONVERT_ALIGN_BY_OFFSET);
    assert_int_equal(options.convert.alignments[1].offset_ns, -1500000);
    assert_int_equal(options.convert.alignments[2].kind, GECKO_CONVERT_ALIGN_MONOTONIC);
    assert_int_equal(options.convert.samples, GECKO_CONVERT_SAMPLES_RECORDER);
}

static void test_default_outputs(void **state) {
    static const char *const cases[][2] = {
        {"-", "-"},
        {"a.txt", "a.profile.json"},
        {"/some/where/a.txt.gz", "a.profile.json"},
        {"a.tar.zst", "a.profile.json"},
        {"a.perf.txt", "a.perf.profile.json"},
        {"a.folded", "a.profile.json"},
        {"a.b", "a.b.profile.json"},
        {"a", "a.profile.json"},
        {".txt", ".txt.profile.json"},
        {".gz", ".gz.profile.json"},
        {"out.stacks.tgz", "out.profile.json"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        PARSE((char *)(uintptr_t)cases[i][0]);
        assert_string_equal(options.convert.output_path, cases[i][1]);
        options_fini(&options);
    }
}

static void test_the_report_is_not_written_over_the_input(void **state) {
    struct temp_folder folder;
    assert_true(temp_folder_init(&folder));
    char input[PATH_MAX], link_name[PATH_MAX], message[2 * PATH_MAX];
    snprintf(input, sizeof input, "%s", temp_folder_file(&folder, "in"));
    snprintf(link_name, sizeof link_name, "%s", temp_folder_file(&folder, "link"));
    assert_true(file_write(input, TEXT("a 1\n")));
    assert_int_equal(symlink(input, link_name), 0);
    PARSE(input, "--report", link_name);
    snprintf(message, sizeof message, "%s is both the input and the report: name another report", input);
    assert_refused(message);
    temp_folder_fini(&folder);
}

/* The names that the options accept are those in the registries of readers and emitters. */
static void test_formats_are_those_of_the_registries(void **state) {
    size_t count = 0;
    for (; readers[count]; count++) assert_string_equal(gecko_convert_input_format(count), readers[count]->name);
    assert_null(gecko_convert_input_format(count));
    assert_null(gecko_convert_input_format(SIZE_MAX));
    for (count = 0; emitters[count]; count++)
        assert_string_equal(gecko_convert_output_format(count), emitters[count]->name);
    assert_null(gecko_convert_output_format(count));
    assert_null(gecko_convert_output_format(SIZE_MAX));
}

static void test_no_command_has_two_options_of_one_name(void **state) {
    const struct option *all = options_table.options;
    for (size_t i = 0; i < options_table.option_count; i++)
        for (size_t j = 0; j < i; j++)
            if (all[i].commands & all[j].commands) {
                assert_string_not_equal(all[i].name, all[j].name);
                assert_true(!all[i].letter || all[i].letter != all[j].letter);
            }
}

static void test_help_names_every_option_in_80_columns(void **state) {
    char *help = NULL;
    size_t help_bytes = 0;
    FILE *stream = open_memstream(&help, &help_bytes);
    arguments_print_help(&options_table, CONVERT | CHECK | INFO | VIEW, stream);
    fclose(stream);
    static const char *const names[] = {"--output FILE",
                                        "--format processed|gecko|collapsed",
                                        "--from perf-data|perf-script|collapsed|recorder|profile",
                                        "--weight samples|period",
                                        "--root auto|thread|frame",
                                        "--weight-unit auto|samples|ns|us|ms|bytes",
                                        "--interval TIME",
                                        "--symbols auto|none|always",
                                        "--debug-dir DIR",
                                        "--sysroot DIR",
                                        "--debuginfod auto|no",
                                        "--sources none|embed",
                                        "--source-dir DIR",
                                        "--source-map FROM=TO",
                                        "--sources-max SIZE",
                                        "--product NAME",
                                        "--time A-B|A-|-B",
                                        "--pid LIST",
                                        "--tid LIST",
                                        "--comm GLOB",
                                        "--exclude-comm GLOB",
                                        "--cpu LIST",
                                        "--event GLOB=WHAT",
                                        "--align FILE=OFFSET",
                                        "--samples auto|perf|recorder",
                                        "--strict",
                                        "--report FILE",
                                        "--progress auto|always|never",
                                        "-q, --quiet",
                                        "-h, --help",
                                        "-V, --version",
                                        "--compress",
                                        "--json",
                                        "--top N",
                                        "--together",
                                        "--compare",
                                        "--source-url DIR=URL",
                                        "--perf-map PID=FILE",
                                        "--viewer DIR|URL",
                                        "--port N",
                                        "--no-open",
                                        "--idle-exit SECONDS"};
    for (size_t i = 0; i < sizeof names / sizeof *names; i++) assert_non_null(strstr(help, names[i]));
    for (struct text rest = {help, help_bytes}; rest.bytes_count;) {
        size_t line_bytes = text_find(rest, '\n');
        assert_in_range(line_bytes, 0, 80);
        rest = text_from(rest, line_bytes + 1);
    }
    free(help);
}

int main(void) {
    const struct CMUnitTest tests[] = {
        cmocka_unit_test_setup_teardown(test_defaults, begin, end),
        cmocka_unit_test_setup_teardown(test_every_option_with_the_next_argument, begin, end),
        cmocka_unit_test_setup_teardown(test_every_option_with_equals, begin, end),
        cmocka_unit_test_setup_teardown(test_former_name_of_traces, begin, end),
        cmocka_unit_test_setup_teardown(test_letters, begin, end),
        cmocka_unit_test_setup_teardown(test_the_last_one_counts, begin, end),
        cmocka_unit_test_setup_teardown(test_debug_dirs_add_up, begin, end),
        cmocka_unit_test_setup_teardown(test_filters, begin, end),
        cmocka_unit_test_setup_teardown(test_sources, begin, end),
        cmocka_unit_test_setup_teardown(test_double_dash_ends_options, begin, end),
        cmocka_unit_test_setup_teardown(test_batches, begin, end),
        cmocka_unit_test_setup_teardown(test_help_and_version_end_the_reading, begin, end),
        cmocka_unit_test_setup_teardown(test_refusals, begin, end),
        cmocka_unit_test_setup_teardown(test_several_inputs, begin, end),
        cmocka_unit_test_setup_teardown(test_default_outputs, begin, end),
        cmocka_unit_test_setup_teardown(test_the_report_is_not_written_over_the_input, begin, end),
        cmocka_unit_test_setup_teardown(test_formats_are_those_of_the_registries, begin, end),
        cmocka_unit_test_setup_teardown(test_no_command_has_two_options_of_one_name, begin, end),
        cmocka_unit_test_setup_teardown(test_help_names_every_option_in_80_columns, begin, end),
    };
    return cmocka_run_group_tests_name("options", tests, NULL, NULL);
}
