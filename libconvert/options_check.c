#include "options_check.h"

#include <errno.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "file_identity.h"
#include "libconvert/base/cursor.h"
#include "libconvert/base/regular_file.h"
#include "libconvert/base/strings.h"
#include "libconvert/symbols/sysroot.h"
#include "libconvert/tracks/process_labels.h"
#include "readers/filter.h"
#include "readers/input/input_wrapper.h"
#include "readers/reader.h"
#include "report.h"
#include "source_names.h"
#include "source_search.h"
#include "writer/frame_parts.h"

static bool has_name(const char *path) { return path && *path; }

/* Returns the number of the file among the inputs, and adds it if it is new. What is no regular file has its path. */
static string_id number_input(struct strings *inputs, const char *path, struct file_identity identity) {
    if (!identity.is_known) return strings_intern_format(inputs, "path %s", path);
    return strings_intern_format(inputs, "file %ju %ju %.*s", (uintmax_t)identity.device, (uintmax_t)identity.inode,
                                 TEXT_ARGS(identity.name));
}

static void check_input_path(const char *path, const char *output_path, struct strings *inputs,
                             struct failure *failure) {
    if (!path) return;
    struct file_identity input = file_identity_of(path, STDIN_FILENO);
    uint32_t count = strings_count(inputs);
    if (number_input(inputs, path, input).index < count)
        failure_set(failure, FAILURE_USAGE, "%s is named twice", report_path_name(path));
    if (output_path && file_identity_is_same(input, file_identity_of(output_path, STDOUT_FILENO)))
        failure_set(failure, FAILURE_USAGE, "%s is both the input and the output: name another output",
                    report_path_name(path));
}

/* Checks the inputs, also against each other and against the output. */
static void check_inputs(const struct gecko_convert_options *options, bool has_output, struct failure *failure) {
    size_t count = options_input_count(options);
    struct strings inputs;
    strings_init(&inputs, failure);
    for (size_t i = 0; i < count; i++) {
        const char *path = options_input_path(options, i);
        if (count > 1 && !has_name(path))
            failure_set(failure, FAILURE_USAGE, "only files can be converted into one profile");
        if (options->alignments && (unsigned)options->alignments[i].kind > GECKO_CONVERT_ALIGN_MONOTONIC)
            failure_set(failure, FAILURE_USAGE, "an alignment has an unknown value");
        check_input_path(path, has_output ? options->output_path : NULL, &inputs, failure);
    }
    strings_fini(&inputs);
}

void options_check_sources(const struct gecko_convert_options *options, struct failure *failure) {
    if ((unsigned)options->sources > GECKO_CONVERT_SOURCES_EMBED)
        failure_set(failure, FAILURE_USAGE, "sources has an unknown value");
    if (options->sources == GECKO_CONVERT_SOURCES_EMBED && options->symbols == GECKO_CONVERT_SYMBOLS_NONE)
        failure_set(failure, FAILURE_USAGE,
                    "sources cannot be embedded without symbols: no file that the trace names is opened then");
    for (size_t i = 0; i < options->source_map_count; i++)
        if (!source_map_is_valid(options->source_maps[i]))
            failure_set(failure, FAILURE_USAGE, "the source map '%s' is not of the form FROM=TO",
                        options->source_maps[i]);
    for (size_t i = 0; i < options->source_url_count; i++)
        if (!source_url_is_valid(options->source_urls[i]))
            failure_set(
                failure, FAILURE_USAGE,
                "the source URL '%s' is not of the form FOLDER=https://github.com/OWNER/REPOSITORY/tree/REVISION",
                options->source_urls[i]);
}

static void check_perf_maps(const struct gecko_convert_options *options, struct failure *failure) {
    if (options->perf_map_count && options->symbols == GECKO_CONVERT_SYMBOLS_NONE)
        failure_set(failure, FAILURE_USAGE, "perf maps have symbols, and without symbols none is looked up");
    for (size_t i = 0; i < options->perf_map_count; i++) {
        const char *map = options->perf_maps[i], *file = map + strcspn(map, "=");
        int64_t pid;
        if (!*file || !file[1] || !cursor_parse_id(text_slice(text_of(map), 0, (size_t)(file - map)), &pid))
            failure_set(failure, FAILURE_USAGE, "the perf map '%s' is not of the form PID=FILE", map);
        else if (access(file + 1, R_OK) != 0)
            failure_set(failure, FAILURE_USAGE, "the perf map %s cannot be opened: %s", file + 1, strerror(errno));
    }
}

/* Returns false if the option is not valid. */
static bool parse_process_args(const char *process_args, uint64_t *character_count_max) {
    *character_count_max = PROCESS_LABEL_CHARACTERS;
    return !process_args || (cursor_parse_number(text_of(process_args), 10, character_count_max) &&
                             *character_count_max <= PROCESS_LABEL_CHARACTERS_MAX);
}

unsigned options_process_label_characters(const struct gecko_convert_options *options) {
    uint64_t count;
    return parse_process_args(options->process_args, &count) ? (unsigned)count : 0;
}

static void check_choices(const struct gecko_convert_options *options, struct failure *failure) {
    if (options->from && !reader_by_name(options->from))
        failure_set(failure, FAILURE_USAGE, "no input format is named '%s'", options->from);
    if ((unsigned)options->weight > GECKO_CONVERT_WEIGHT_PERIOD || (unsigned)options->root > GECKO_CONVERT_ROOT_FRAME)
        failure_set(failure, FAILURE_USAGE, "weight or root has an unknown value");
    if ((unsigned)options->weight_unit > GECKO_CONVERT_UNIT_BYTES || options->sample_interval_ns < 0)
        failure_set(failure, FAILURE_USAGE, "weight_unit has an unknown value, or sample_interval_ns is negative");
    if ((unsigned)options->off_cpu > GECKO_CONVERT_OFF_CPU_ONLY)
        failure_set(failure, FAILURE_USAGE, "off_cpu has an unknown value");
    if (options->is_per_cpu && options->off_cpu == GECKO_CONVERT_OFF_CPU_ONLY)
        failure_set(failure, FAILURE_USAGE,
                    "--per-cpu and --off-cpu only exclude each other: a thread that does not run is on no processor");
    if ((unsigned)options->symbols > GECKO_CONVERT_SYMBOLS_ALWAYS)
        failure_set(failure, FAILURE_USAGE, "symbols has an unknown value");
    if ((unsigned)options->debuginfod > GECKO_CONVERT_DEBUGINFOD_NO)
        failure_set(failure, FAILURE_USAGE, "debuginfod has an unknown value");
    if ((unsigned)options->samples > GECKO_CONVERT_SAMPLES_RECORDER)
        failure_set(failure, FAILURE_USAGE, "samples has an unknown value");
    uint64_t count;
    if (!parse_process_args(options->process_args, &count))
        failure_set(failure, FAILURE_USAGE, "--process-args: '%s' is not a number of characters from 0 to %d",
                    options->process_args, PROCESS_LABEL_CHARACTERS_MAX);
}

/* Returns whether the file is an archive or compressed. */
static bool is_packed(const char *path) {
    char start[INPUT_WRAPPER_BINARY_BYTES];
    const struct input_wrapper *wrapper = input_wrapper_of_binary(regular_file_start(path, start, sizeof start));
    return wrapper && wrapper->open != input_utf16_open && wrapper->open != input_json_slabs_open;
}

/* `kind` is what messages call the folder. */
static void check_folder(const char *kind, const char *path, struct failure *failure) {
    struct stat status;
    if (stat(path, &status) != 0)
        failure_set(failure, FAILURE_USAGE, "the %s %s cannot be opened: %s", kind, path, strerror(errno));
    else if (!S_ISDIR(status.st_mode) && is_packed(path))
        failure_set(failure, FAILURE_USAGE,
                    "the %s %s is an archive: unpack it into a folder, as one of 'perf archive' by "
                    "'mkdir debug && tar -xf %s -C debug', and name that folder",
                    kind, path, path);
    else if (!S_ISDIR(status.st_mode))
        failure_set(failure, FAILURE_USAGE, "the %s %s is not a folder", kind, path);
}

void options_check_folders(const struct gecko_convert_options *options, struct failure *failure) {
    for (size_t i = 0; i < options->debug_dir_count; i++) check_folder("debug folder", options->debug_dirs[i], failure);
    for (size_t i = 0; i < options->source_dir_count; i++)
        check_folder("source folder", options->source_dirs[i], failure);
    if (!options->sysroot) return;
    char real_path[PATH_MAX];
    check_folder("sysroot", options->sysroot, failure);
    /* The system call filters of old container runtimes refuse unknown calls with EPERM. */
    if (sysroot_open(options->sysroot, "/", real_path) < 0 && (errno == ENOSYS || errno == EPERM))
        failure_set(failure, FAILURE_USAGE, "a sysroot needs the system call openat2, which Linux has since 5.6");
}

void options_check_filters(const struct gecko_convert_options *options, struct failure *failure) {
    struct filter filter;
    filter_init(&filter, options->filters, options->filter_count, failure);
    filter_fini(&filter);
}

/* Refuses names that promise a picture, a document, a table or another profiler's format. */
static void refuse_other_format(struct text path, struct failure *failure) {
    static const char *const others[] = {".svg", ".html",  ".htm", ".png",      ".pdf",
                                         ".csv", ".pprof", ".pb",  ".perf.data"};
    struct text name = path;
    if (text_ends_with(name, TEXT(".gz"))) name.bytes_count -= strlen(".gz");
    for (size_t i = 0; i < sizeof others / sizeof *others; i++)
        if (text_ends_with(name, text_of(others[i])))
            failure_set(failure, FAILURE_USAGE,
                        "%.*s: no %s files are written; name it .json, .json.gz or .jslb for the Firefox Profiler, or "
                        ".folded for flamegraph.pl, which draws SVGs of it; --format writes a format whatever the name",
                        TEXT_ARGS(path), others[i]);
}

const struct emitter *options_check_format(const struct gecko_convert_options *options, struct failure *failure) {
    struct text path = options->output_path ? text_of(options->output_path) : TEXT("");
    const struct emitter *emitter = options->format ? emitter_by_name(options->format) : emitter_by_path(path);
    unsigned parts;
    if (!options->format) refuse_other_format(path, failure);
    if (!emitter)
        failure_set(failure, FAILURE_USAGE, "no output format is named '%s'", options->format);
    else if (options->frames && !emitter->has_frame_parts)
        failure_set(failure, FAILURE_USAGE,
                    "--frames is for collapsed stacks: the format must be collapsed, or the output's name end in %s",
                    emitter_collapsed.suffix);
    else if (options->is_per_cpu && !emitter->has_tracks)
        failure_set(failure, FAILURE_USAGE, "the format %s has no tracks, so it cannot show processors", emitter->name);
    else if (options->max_output_bytes && !emitter->has_weights)
        failure_set(failure, FAILURE_USAGE,
                    "--max-size is for the formats processed and jslb: samples in %s have no weights", emitter->name);
    if (!frame_parts_parse(options->frames, &parts))
        failure_set(failure, FAILURE_USAGE, "--frames: '%s' is not a comma-separated list of " FRAME_PARTS_NAMES,
                    options->frames);
    return emitter;
}

const struct emitter *options_check(const struct gecko_convert_options *options, bool has_output,
                                    struct failure *failure) {
    if (has_name(options->input_path) + !!options->input_data + !!options->read != 1)
        failure_set(failure, FAILURE_USAGE, "exactly one input must be given: input_path, input_data or read");
    if (has_output && has_name(options->output_path) + !!options->write + options->keeps_output != 1)
        failure_set(failure, FAILURE_USAGE, "exactly one output must be given: output_path, write or keeps_output");
    check_choices(options, failure);
    check_inputs(options, has_output, failure);
    options_check_sources(options, failure);
    check_perf_maps(options, failure);
    options_check_folders(options, failure);
    options_check_filters(options, failure);
    if (!has_output) return NULL;
    return options_check_format(options, failure);
}
