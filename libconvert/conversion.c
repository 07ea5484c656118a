/* The stages of a conversion: open, detect, read, symbolize, finish, emit, describe, write. Each stage does nothing if
 * an earlier one has failed. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "conversion.h"
#include "embed_sources.h"
#include "fit_size.h"
#include "input_loader.h"
#include "libconvert/base/machine.h"
#include "libconvert/base/memory.h"
#include "libconvert/base/monotonic_clock.h"
#include "libconvert/merge/merge.h"
#include "libconvert/profile/drawn_waits.h"
#include "libconvert/profile/stack_rebuild.h"
#include "libconvert/profile/sweep.h"
#include "libconvert/source_names.h"
#include "libconvert/tracks/crowds.h"
#include "libconvert/tracks/process_labels.h"
#include "libconvert/tracks/processor_tracks.h"
#include "libconvert/tracks/task_markers.h"
#include "options_check.h"
#include "parallel_loader.h"
#include "product_name.h"
#include "readers/filter.h"
#include "report.h"
#include "result.h"
#include "writer/emitter.h"
#include "writer/frame_parts.h"
#include "writer/sink.h"

_Static_assert(sizeof((struct gecko_convert_result *)0)->message >= sizeof((struct failure *)0)->message,
               "every message fits");

/* How much of source files is embedded if the options do not say. */
enum { SOURCE_BYTES_MAX = 8 << 20 };

/* The share of the whole work at which each stage ends, from what the stages cost for a large input. */
static const double SYMBOLIZE_END = 0.60, FINISH_END = 0.70, EMIT_END = 0.90, WRITE_END = 0.999;

struct conversion {
    const struct gecko_convert_options *options; /* borrowed */
    const struct conversion_ends *ends;          /* borrowed */
    struct gecko_convert_result *result;         /* borrowed */
    struct sink_written written;
    char *kept_end;                 /* where the next bytes of the result's output_data go */
    struct memory_limit own_memory; /* used if the ends have none */
    unsigned job_count;             /* most threads that work at a time */
    struct failure failure;
    struct profile profile;
    struct input_loader *loaders; /* owned; one for each input */
    size_t loader_count;
    struct merge merge; /* the merge of several inputs; zeroed: there is only one */
    struct chunk_list output;
    struct chunk_drain drain; /* drains the output if it is written while it is made */
    struct sink *sink;        /* gets the output; NULL: not opened yet */
    const struct emitter *emitter;
    struct progress_root progress_root;
    struct progress progress;
};

/* ---- What was read. ---- */

static bool has_content(const struct profile *profile) {
    for (size_t i = 0; i < profile->threads.count; i++)
        if (thread_has_content(column_at(&profile->threads, i))) return true;
    COLUMN_EACH(const struct counter, counter, &profile->counters)
        if (counter->samples.count) return true;
    return false;
}

/* Returns the entry of the most important unit that was lost; within the unit, the one with the highest count. Returns
 * NULL if nothing was lost. */
static const struct ledger_entry *largest_loss(const struct ledger *ledger) {
    const struct ledger_entry *largest = NULL;
    COLUMN_EACH(const struct ledger_entry, entry, &ledger->entries) {
        if (entry->fate != LEDGER_LOST) continue;
        unsigned rank = ledger_unit_rank(entry->unit);
        unsigned largest_rank = largest ? ledger_unit_rank(largest->unit) : UINT_MAX;
        if (rank < largest_rank || (rank == largest_rank && entry->count > largest->count)) largest = entry;
    }
    return largest;
}

static void check_content(struct conversion *conversion) {
    if (failure_is_set(&conversion->failure) || has_content(&conversion->profile)) return;
    const struct ledger *ledger = &conversion->profile.ledger;
    const struct ledger_entry *loss = largest_loss(ledger);
    const struct input_loader *first = &conversion->loaders[0];
    bool is_one = conversion->loader_count == 1;
    char lost[256] = "";
    if (loss)
        snprintf(lost, sizeof lost, "; lost: %llu %s (%.*s)", (unsigned long long)loss->count,
                 ledger_unit_noun(loss->unit, loss->count), TEXT_ARGS(loss->cause));
    uint64_t filtered_count = ledger_sum(ledger, LEDGER_SAMPLES, LEDGER_FILTERED);
    size_t used = strlen(lost);
    if (conversion->ends->is_empty) *conversion->ends->is_empty = !loss || filtered_count;
    if (filtered_count)
        snprintf(lost + used, sizeof lost - used, "; %llu of the samples left out by filters",
                 (unsigned long long)filtered_count);
    /* A trace that is not text has records instead of lines. */
    enum gecko_convert_unit unit = ledger->read[LEDGER_LINES] ? LEDGER_LINES : LEDGER_RECORDS;
    uint64_t unit_count = ledger->read[unit], sample_count = ledger->read[LEDGER_SAMPLES];
    failure_set(&conversion->failure, FAILURE_INPUT, "%s%s%s%s no samples and no markers%s: %llu %s and %llu %s read%s",
                first->name, is_one ? ", read as " : " and the other inputs", is_one ? first->reader->title : "",
                is_one ? ", holds" : " hold", filtered_count ? " that filters keep" : "",
                (unsigned long long)unit_count, ledger_unit_noun(unit, unit_count), (unsigned long long)sample_count,
                ledger_unit_noun(LEDGER_SAMPLES, sample_count), lost);
}

/* ---- Finishing the profile. ---- */

/* Returns whether the output, or the visitor in its place, knows tracks. */
static bool knows_tracks(const struct conversion *conversion) {
    return conversion->ends->replace_writing || conversion->emitter->has_tracks;
}

/* Returns whether there are filters other than those of events. */
static bool filters_tasks(const struct gecko_convert_options *options) {
    for (size_t i = 0; i < options->filter_count; i++)
        if (options->filters[i].kind != GECKO_CONVERT_FILTER_EVENT) return true;
    return false;
}

/* Adds arguments to the names of processes, and to each process markers of the processes that it started. An input that
 * is a profile already has them. */
static void show_processes(const struct conversion *conversion, struct profile *profile) {
    struct task_markers markers;
    if (profile->meta.was_profile) return;
    profile_label_processes(profile, options_process_label_characters(conversion->options));
    task_markers_init(&markers, profile);
    task_markers_add_children(&markers, filters_tasks(conversion->options));
}

/* Notes that shared tracks stay: a profile does not record which thread a sample of such a track belongs to. */
static void note_shared_tracks(struct profile *profile) {
    ledger_enter(&profile->ledger, LEDGER_RECORDS, LEDGER_NOTED,
                 TEXT(SHARED_TRACKS_CAUSE "which its recording alone can divide"), task_markers_count_members(profile),
                 NULL);
}

/* Joins threads into tracks. Visitors, and formats without tracks, get the threads of the inputs. An input that is a
 * profile keeps its tracks. */
static void arrange_tracks(const struct conversion *conversion, struct profile *profile) {
    const char *wanted = conversion->options->merge_threads;
    bool has_visitor = conversion->ends->replace_writing, was_profile = profile->meta.was_profile;
    if (!knows_tracks(conversion)) return;
    if (has_visitor && was_profile) task_markers_drop_members(profile);
    show_processes(conversion, profile);
    if (conversion->options->is_per_cpu && !has_visitor) profile_add_processors(profile);
    bool is_unwanted = wanted && strcmp(wanted, "no") == 0;
    if (is_unwanted && was_profile && !has_visitor) note_shared_tracks(profile);
    if (has_visitor || is_unwanted || (!wanted && was_profile)) return;
    profile_merge_crowds(profile, wanted ? text_of(wanted) : (struct text){0});
}

/* Makes the profile one that the viewer can subtract from another: it ignores processor times, and multiplies all
 * weights by intervals, as if they were numbers of samples. */
static void prepare_comparison(struct profile *profile) {
    static const int64_t common_interval_ns = 1000000;
    profile_draw_waits(profile);
    if (!text_equal(profile_weight_unit(&profile->meta), TEXT("samples")))
        profile->meta.interval_ns = common_interval_ns;
}

/* Completes a profile whose input has been read. */
static void finish_content(const struct conversion *conversion, struct profile *profile, const struct reader *reader) {
    const struct gecko_convert_options *options = conversion->options;
    profile_drop_trampolines(profile);
    if (options->folds_recursion) profile_fold_recursion(profile);
    arrange_tracks(conversion, profile);
    profile_finish(profile);
    if (conversion->ends->is_compared) prepare_comparison(profile);
    profile_name_sources(profile, &(struct source_urls){options->source_urls, options->source_url_count});
    sweep_profile(profile);
    if (!failure_is_set(profile->failure))
        profile->meta.product = profile_product_name(profile, options->product, reader->title);
}

/* ---- Several inputs. ---- */

/* Returns the last part of the path, or the whole path if another input has the same last part. The first input may
 * have a name of its own. */
static struct text short_name(const struct gecko_convert_options *options, size_t number) {
    if (number == 0 && options->input_name) return text_of(options->input_name);
    struct text path = text_of(report_path_name(options_input_path(options, number))), name = text_base_name(path);
    for (size_t i = 0; i < options_input_count(options); i++)
        if (i != number && text_equal(text_base_name(text_of(options_input_path(options, i))), name)) return path;
    return name;
}

/* Describes what was read of one of several inputs. */
static void describe_part(struct conversion *conversion, size_t number) {
    const struct gecko_convert_options *options = conversion->options;
    const struct input_loader *loader = &conversion->loaders[number];
    struct merge_input *part = &conversion->merge.inputs[number];
    part->name = short_name(options, number);
    part->is_recorder = loader->reader == &reader_trace;
    if (options->alignments) part->alignment = options->alignments[number];
}

/* The function of a `loaded`: adds the next input to the merge. */
static void take_part(void *context, size_t number) {
    struct conversion *conversion = context;
    struct input_loader *loader = &conversion->loaders[number];
    if (conversion->merge.runs && !loader->profile->meta.is_as_written) {
        finish_content(conversion, loader->profile, loader->reader);
        input_loader_reread(loader);
    }
    if (!failure_is_set(loader->profile->failure)) merge_take_tables(&conversion->merge, &conversion->profile);
}

/* Cuts what was merged to the given times, since each input begins at another time. Runs have no common timeline. */
static void cut_times(struct conversion *conversion) {
    const struct gecko_convert_options *options = conversion->options;
    struct filter filter;
    filter_init(&filter, options->filters, options->filter_count, &conversion->failure);
    filter_select(&filter, FILTER_KINDS_OF_TIMES);
    filter.follows_reading = true;
    if (filter.kinds && conversion->merge.runs)
        failure_set(&conversion->failure, FAILURE_USAGE, "--time: runs are merged whole");
    if (filter_awaits_markers(&filter)) filter_find_ranges(&filter, &conversion->profile);
    if (filter.kinds && !failure_is_set(&conversion->failure)) filter_profile(&filter, &conversion->profile);
    filter_fini(&filter);
}

static void read_parts(struct conversion *conversion) {
    struct failure *failure = &conversion->failure;
    struct merge *merge = &conversion->merge;
    for (size_t i = 0; i < conversion->loader_count; i++) conversion->loaders[i].profile = &merge->inputs[i].profile;
    merge->samples = conversion->options->samples;
    merge->runs = conversion->ends->runs;
    parallel_loader_run(conversion->loaders, conversion->loader_count, conversion->job_count,
                        (struct loaded){take_part, conversion}, progress_part(conversion->progress, 0, SYMBOLIZE_END),
                        failure);
    if (failure_is_set(failure)) return;
    for (size_t i = 0; i < conversion->loader_count; i++) describe_part(conversion, i);
    merge_run(merge, &conversion->profile);
    if (!failure_is_set(failure)) cut_times(conversion);
    check_content(conversion);
}

/* ---- All inputs. ---- */

static void read_one(struct conversion *conversion) {
    struct input_loader *loader = conversion->loaders;
    loader->profile = &conversion->profile;
    loader->job_count = conversion->job_count;
    loader->progress = progress_part(conversion->progress, 0, SYMBOLIZE_END);
    input_loader_read(loader);
    check_content(conversion);
    input_loader_symbolize(loader);
}

/* Allocates the loaders. Running out of memory is latched. */
static void begin_loaders(struct conversion *conversion) {
    const struct gecko_convert_options *options = conversion->options;
    struct failure *failure = &conversion->failure;
    size_t count = options_input_count(options);
    conversion->loaders = memory_allocate_zeroed(failure, count, sizeof *conversion->loaders);
    if (!conversion->loaders) return;
    conversion->loader_count = count;
    for (size_t i = 0; i < count; i++) {
        const char *path = options_input_path(options, i);
        conversion->loaders[i] = (struct input_loader){.options = options,
                                                       .given = &conversion->ends->input,
                                                       .path = path,
                                                       .name = i ? report_path_name(path) : report_input_name(options)};
    }
    if (count > 1) merge_init(&conversion->merge, count, failure);
}

static void read_inputs(struct conversion *conversion) {
    if (failure_is_set(&conversion->failure)) return;
    begin_loaders(conversion);
    if (failure_is_set(&conversion->failure)) return;
    if (conversion->loader_count > 1)
        read_parts(conversion);
    else
        read_one(conversion);
}

/* ---- The whole profile. ---- */

static void embed_sources(struct conversion *conversion) {
    const struct gecko_convert_options *options = conversion->options;
    if (options->sources != GECKO_CONVERT_SOURCES_EMBED || conversion->ends->replace_writing) return;
    struct source_search search = {options->source_maps, options->source_map_count, options->source_dirs,
                                   options->source_dir_count, options->sysroot};
    struct debug_server server;
    bool has_server =
        options->debuginfod != GECKO_CONVERT_DEBUGINFOD_NO && debug_server_open(&server, &conversion->failure);
    profile_embed_sources(&conversion->profile, &search, has_server ? &server : NULL,
                          options->source_max_bytes ? options->source_max_bytes : SOURCE_BYTES_MAX);
    if (has_server) debug_server_close(&server);
}

static void finish_profile(struct conversion *conversion) {
    if (failure_is_set(&conversion->failure)) return;
    finish_content(conversion, &conversion->profile, conversion->loaders[0].reader);
    embed_sources(conversion);
    if (failure_is_set(&conversion->failure)) return;
    progress_report(conversion->progress, (uint64_t)(FINISH_END * 1000), 1000);
}

/* ---- Writing. ---- */

/* Writes the chunks to the file, and opens it before the first of them. */
static void write_chunks_to_file(struct conversion *conversion, struct chunk_list *chunks, struct progress progress) {
    if (!conversion->sink)
        conversion->sink = sink_open(conversion->options->output_path, conversion->ends->batch, conversion->job_count,
                                     &conversion->failure);
    sink_put(conversion->sink, chunks, progress);
}

/* The function of a chunk_drain. */
static void write_part(void *context, struct chunk_list *chunks) {
    write_chunks_to_file(context, chunks, (struct progress){0});
}

/* Output that stays hidden until it is complete can be written before it is known whether the conversion succeeds. */
static void drain_output(struct conversion *conversion) {
    const struct gecko_convert_options *options = conversion->options;
    if (options->keeps_output || options->write || !sink_hides_output(options->output_path)) return;
    conversion->drain = (struct chunk_drain){write_part, conversion};
    conversion->output.drain = &conversion->drain;
}

static struct emit_options emit_options_of(const struct conversion *conversion) {
    struct emit_options options = {0};
    frame_parts_parse(conversion->options->frames, &options.frame_parts);
    return options;
}

static void fit_size(struct conversion *conversion) {
    const struct gecko_convert_options *options = conversion->options;
    if (failure_is_set(&conversion->failure) || !options->max_output_bytes || !conversion->emitter) return;
    struct emit_options emit_options = emit_options_of(conversion);
    const struct fit_size fit = {.emitter = conversion->emitter,
                                 .options = &emit_options,
                                 .thread_count = conversion->job_count,
                                 .path = options->output_path,
                                 .max_bytes = options->max_output_bytes};
    profile_fit_size(&conversion->profile, &fit);
}

static void emit(struct conversion *conversion) {
    if (failure_is_set(&conversion->failure)) return;
    if (conversion->ends->replace_writing) {
        conversion->ends->replace_writing(conversion->ends->visitor_context, &conversion->profile);
        return;
    }
    if (conversion->ends->before_writing)
        conversion->ends->before_writing(conversion->ends->visitor_context, &conversion->profile);
    drain_output(conversion);
    struct emit_options options = emit_options_of(conversion);
    conversion->emitter->emit(&conversion->profile, &conversion->profile.ledger, &conversion->output, &options,
                              progress_part(conversion->progress, FINISH_END, EMIT_END));
}

/* Emitting comes first, since the output format may lose something as well. */
static void check_strict(struct conversion *conversion) {
    const struct ledger *ledger = &conversion->profile.ledger;
    if (failure_is_set(&conversion->failure) || !conversion->options->is_strict || !ledger_has_losses(ledger)) return;
    const struct ledger_entry *loss = largest_loss(ledger);
    static const char format[] = "%llu %s would be lost (%.*s): nothing was written, since the conversion is strict";
    unsigned long long count = loss->count;
    const char *unit = ledger_unit_noun(loss->unit, loss->count);
    int cause_bytes = (int)loss->cause.bytes_count;
    if (loss->has_first)
        failure_set_at(&conversion->failure, FAILURE_STRICT, loss->first, format, count, unit, cause_bytes,
                       loss->cause.bytes);
    else
        failure_set(&conversion->failure, FAILURE_STRICT, format, count, unit, cause_bytes, loss->cause.bytes);
}

/* Completes a file that was begun early. After a failure, no file is left. */
static void close_sink(struct conversion *conversion) {
    if (conversion->sink) sink_close(conversion->sink, &conversion->written);
    conversion->sink = NULL;
}

static void write_file(struct conversion *conversion) {
    write_chunks_to_file(conversion, &conversion->output, progress_part(conversion->progress, EMIT_END, WRITE_END));
    close_sink(conversion);
}

/* Passes the chunks to the write function and frees them. */
static void write_chunks(struct conversion *conversion, gecko_convert_write_callback *write, void *context) {
    struct chunk_list *output = &conversion->output;
    struct failure *failure = &conversion->failure;
    struct progress progress = progress_part(conversion->progress, EMIT_END, WRITE_END);
    uint64_t total_bytes = output->total_bytes;
    for (const struct chunk *chunk; (chunk = output->first) && !failure_is_set(failure);) {
        if (chunk->used_bytes && !write(context, chunk->bytes, chunk->used_bytes))
            failure_set(failure, FAILURE_IO, "cannot write the output: its write function failed");
        chunk_list_drop_first(output);
        progress_report(progress, total_bytes - output->total_bytes, total_bytes);
    }
    conversion->written.bytes_count = total_bytes;
}

/* A write function. */
static bool keep_bytes(void *context, const void *bytes, size_t bytes_count) {
    struct conversion *conversion = context;
    memcpy(conversion->kept_end, bytes, bytes_count);
    conversion->kept_end += bytes_count;
    return true;
}

static void keep_output(struct conversion *conversion) {
    char *kept = failure_check_memory(&conversion->failure, malloc((size_t)conversion->output.total_bytes + 1));
    if (!kept) return;
    conversion->kept_end = kept;
    write_chunks(conversion, keep_bytes, conversion);
    *conversion->kept_end = '\0';
    if (failure_is_set(&conversion->failure))
        free(kept);
    else
        conversion->result->output_data = kept;
}

static void write_output(struct conversion *conversion) {
    const struct gecko_convert_options *options = conversion->options;
    if (failure_is_set(&conversion->failure) || conversion->ends->replace_writing) return;
    if (options->keeps_output)
        keep_output(conversion);
    else if (options->write)
        write_chunks(conversion, options->write, options->write_context);
    else
        write_file(conversion);
    if (failure_is_set(&conversion->failure)) return;
    conversion->result->output_bytes = conversion->written.bytes_count;
    /* It is too late to cancel. */
    conversion->progress_root.failure = NULL;
    progress_report(conversion->progress, 1, 1);
}

/* ---- The result. ---- */

/* Runs before the output is written: if there is no memory for the result, there is no output either. A result without
 * its ledger would claim that nothing was lost, so running out of memory replaces an earlier failure. */
static void describe(struct conversion *conversion) {
    struct gecko_convert_result *result = conversion->result;
    if (conversion->emitter) {
        result->output_format = conversion->emitter->name;
        result->output_title = conversion->emitter->title;
    }
    const struct result_sources sources = {&conversion->profile, conversion->loaders, conversion->loader_count,
                                           &conversion->merge,
                                           conversion->options->symbols != GECKO_CONVERT_SYMBOLS_NONE};
    if (result_fill(result, &sources)) return;
    failure_clear(&conversion->failure);
    failure_set_memory(&conversion->failure);
}

/* A single conversion cannot convert several traces, so the message says what can. */
static void advise_batch(struct failure *failure) {
    size_t message_bytes = strlen(failure->message);
    snprintf(failure->message + message_bytes, sizeof failure->message - message_bytes,
             ", or convert them all with --output-dir OUT");
}

static void conclude(struct conversion *conversion, uint64_t start_ns) {
    struct failure *failure = &conversion->failure;
    if (failure->is_of_many && !conversion->ends->replace_writing) advise_batch(failure);
    report_give_failure(conversion->result, failure);
    conversion->result->duration_ns = monotonic_now_ns() - start_ns;
}

const struct gecko_convert_result conversion_no_result = {.struct_bytes = sizeof conversion_no_result,
                                                          .input_format = "",
                                                          .input_title = "",
                                                          .wrapping = "",
                                                          .output_format = "",
                                                          .output_title = "",
                                                          .weight_unit = ""};

enum gecko_convert_status conversion_run(const struct gecko_convert_options *options,
                                         const struct conversion_ends *ends, struct gecko_convert_result *result,
                                         struct sink_written *written) {
    uint64_t start_ns = monotonic_now_ns();
    *result = conversion_no_result;
    struct conversion conversion = {.options = options,
                                    .ends = ends,
                                    .result = result,
                                    .job_count = options->job_count ? options->job_count : machine_processor_count()};
    if (!ends->memory) memory_limit_init(&conversion.own_memory, options->max_memory_bytes);
    conversion.failure.memory = ends->memory ? ends->memory : &conversion.own_memory;
    conversion.progress_root = (struct progress_root){
        .callback = options->progress, .context = options->progress_context, .failure = &conversion.failure};
    /* If the profile is only looked at, finishing it is the end of the work. */
    conversion.progress =
        progress_part(progress_whole(&conversion.progress_root), 0, ends->replace_writing ? 1 / FINISH_END : 1);
    profile_init(&conversion.profile, &conversion.failure);
    chunk_list_init(&conversion.output, &conversion.failure);

    conversion.emitter = options_check(options, !ends->replace_writing, &conversion.failure);
    read_inputs(&conversion);
    finish_profile(&conversion);
    fit_size(&conversion);
    emit(&conversion);
    check_strict(&conversion);
    describe(&conversion);
    write_output(&conversion);
    close_sink(&conversion);
    conclude(&conversion, start_ns);

    chunk_list_fini(&conversion.output);
    profile_fini(&conversion.profile);
    merge_fini(&conversion.merge);
    memory_free(conversion.loaders);
    if (written) *written = conversion.written;
    return result->status;
}
