/* Makes the profile of a recording with the command that writes or shows profiles. */
#include <stdlib.h>

#include "record.h"

/* Aligns all traces by their times: they belong to one recording, and their clock is the kernel's monotonic one. */
static void align_traces(struct options *options, struct failure *failure) {
    struct gecko_convert_alignment *alignments = calloc(options->inputs.count, sizeof *alignments);
    options->convert.alignments = options->parsed_alignments = alignments;
    if (!alignments) failure_set_memory(failure);
    for (size_t i = 0; i < options->inputs.count && alignments; i++) alignments[i].kind = GECKO_CONVERT_ALIGN_MONOTONIC;
}

/* Adds the kept maps to those that the user names, which come first. */
static void add_maps(struct record *record, struct options *options) {
    const struct options_list *named = &record->options->perf_maps;
    const char **all = calloc(named->count + record->maps.count + 1, sizeof *all);
    options->perf_maps = (struct options_list){all, 0};
    if (!all) failure_set_memory(&record->failure);
    for (size_t i = 0; i < named->count && all; i++) all[options->perf_maps.count++] = named->values[i];
    for (size_t i = 0; i < record->maps.count && all; i++) all[options->perf_maps.count++] = record->maps.values[i];
    options->convert.perf_maps = all;
    options->convert.perf_map_count = options->perf_maps.count;
}

/* Makes the recording and the traces the inputs of the command that shows or writes the profile. */
static void prepare_profile(struct record *record, const struct command *next, struct options *options) {
    size_t trace_count = record->traces.count;
    *options = *record->options;
    add_maps(record, options);
    options->inputs = (struct options_list){0};
    options->inputs.values =
        failure_check_memory(&record->failure, calloc(trace_count + 1, sizeof *options->inputs.values));
    if (!options->inputs.values) return;
    if (record->is_by_kernel) options->inputs.values[options->inputs.count++] = record->trace_path;
    for (size_t i = 0; i < trace_count; i++) options->inputs.values[options->inputs.count++] = record->traces.paths[i];
    if (!options->inputs.count) {
        failure_set(
            &record->failure, FAILURE_INPUT,
            "nothing was recorded: the recorder cannot be preloaded into programs that are linked statically or "
            "have more rights than this one");
        return;
    }
    if (!record->options->trace_path) options->convert.input_name = "the recording";
    if ((unsigned)options->convert.sources == SOURCES_OF_NEXT_COMMAND)
        options->convert.sources = next->defaults.convert.sources;
    next->complete(options, &record->failure);
    align_traces(options, &record->failure);
}

static void free_options(struct options *options) {
    free(options->inputs.values);
    free(options->perf_maps.values);
    free(options->parsed_alignments);
}

int record_profile_make(struct record *record, const struct command *next) {
    struct options options;
    prepare_profile(record, next, &options);
    int exit_code =
        failure_is_set(&record->failure) ? command_refuse(&command_record, &record->failure) : next->run(&options);
    record_file_rescue(record, exit_code);
    free_options(&options);
    return exit_code;
}

void record_profile_check(struct record *record, const struct command *next) {
    struct options options;
    record->is_by_kernel = true;
    prepare_profile(record, next, &options);
    if (!failure_is_set(&record->failure) && next->check) next->check(&options, &record->failure);
    record->is_by_kernel = false;
    free_options(&options);
}
