/* The stages of a conversion: open, detect, read, symbolize, finish, emit, describe, write. Each stage does nothing if
 * an earlier one has failed. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "conversion.h"
#include "embed_sources.h"
#include "libconvert/base/cursor.h"
#include "libconvert/base/memory.h"
#include "libconvert/base/processors.h"
#include "libconvert/merge/merge.h"
#include "libconvert/profile/sweep.h"
#include "libconvert/symbols/symbolize.h"
#include "options_check.h"
#include "public_structs.h"
#include "readers/reader.h"
#include "report.h"
#include "result.h"
#include "writer/emitter.h"
#include "writer/sink.h"

_Static_assert(sizeof((struct gecko_convert_result *)0)->message >= sizeof((struct failure *)0)->message,
               "every message fits");

enum { BLOCK_BYTES = 256 * 1024 /* how much of an input in memory, or from a read function, is passed on at a time */ };

/* How much of source files is embedded if the options do not say. */
enum { SOURCE_BYTES_MAX = 8 << 20 };

/* The share of the whole work at which each stage ends, from what the stages cost for a large input. */
static const double SYMBOLIZE_END = 0.60, FINISH_END = 0.70, EMIT_END = 0.90, WRITE_END = 0.999;

/* The share of reading in the time until the symbols are known. */
static const double READ_SHARE = 0.50 / 0.60;

struct conversion {
    const struct gecko_convert_options *options; /* borrowed */
    const struct conversion_ends *ends;          /* borrowed */
    struct gecko_convert_result *result;         /* borrowed */
    struct sink_written written;
    const char *input_path;         /* of the current input; NULL: it is not a file; borrowed */
    const char *input_name;         /* as messages call it; borrowed */
    uint64_t given_bytes;           /* how much of an input in memory or from a read function the reader has got */
    char *read_buffer;              /* owned; the read function fills it. NULL: not needed yet */
    char *kept_end;                 /* where the next bytes of the result's output_data go */
    struct memory_limit own_memory; /* used if the ends have none */
    unsigned job_count;             /* most threads that work at a time */
    struct failure failure;
    struct failure input_failure; /* of the input alone, until reading has ended */
    struct profile profile;
    struct text wrapping;               /* in the profile's texts */
    struct merge merge;                 /* of several inputs; zeroed: there is only one */
    struct gecko_convert_input *inputs; /* owned; one for each of several inputs; without texts */
    struct text *wrappings;             /* owned; one for each of several inputs */
    struct chunk_list output;
    struct chunk_drain drain; /* of the output, if it is written while it is made */
    struct sink *sink;        /* what was drained; NULL: nothing */
    const struct reader *reader;
    const struct emitter *emitter;
    struct progress_root progress_root;
    struct progress progress;
    struct progress input_progress; /* of reading and symbolizing the current input */
};

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- Reading. ---- */

static const struct reader *choose_reader(struct conversion *conversion, struct input *input) {
    const char *from = conversion->options->from;
    return from ? reader_by_name(from) : reader_detect(input, &conversion->failure);
}

static struct debug_folders debug_folders_of(const struct gecko_convert_options *options) {
    return (struct debug_folders){options->debug_dirs, options->debug_dir_count, options->sysroot};
}

static void read_trace(struct conversion *conversion, struct input *input) {
    conversion->reader = choose_reader(conversion, input);
    if (failure_is_set(&conversion->failure)) return;
    struct debug_folders folders = debug_folders_of(conversion->options);
    struct reader_options options = {.weight = conversion->options->weight,
                                     .root = conversion->options->root,
                                     .ignores_code_files = conversion->options->symbols == GECKO_CONVERT_SYMBOLS_NONE,
                                     .debug_folders = &folders,
                                     .job_count = conversion->job_count};
    conversion->reader->run(input, &conversion->profile, &options);
}

/* A single conversion cannot convert several traces, so the message says what can. */
static void advise_batch(struct failure *failure) {
    size_t message_bytes = strlen(failure->message);
    snprintf(failure->message + message_bytes, sizeof failure->message - message_bytes,
             ", or convert them all with --output-dir OUT");
}

/* Decides which failure of reading to report. A reader treats an input that fails like one that ends, so a failure of
 * the input takes precedence over one of the reader. Messages of inputs have the input's name; a reader's message gets
 * it here unless it has a place. */
static void resolve_read_failure(struct conversion *conversion) {
    struct failure reading = conversion->failure;
    if (failure_is_set(&conversion->input_failure)) {
        conversion->failure = conversion->input_failure;
        if (conversion->failure.is_of_many && !conversion->ends->replace_writing) advise_batch(&conversion->failure);
        return;
    }
    if (!failure_is_set(&reading) || reading.has_position || reading.code == FAILURE_MEMORY) return;
    if (text_starts_with(text_of(reading.message), text_of(conversion->input_name))) return;
    failure_clear(&conversion->failure);
    failure_set(&conversion->failure, reading.code, "%s: %s", conversion->input_name, reading.message);
}

/* Returns the next bytes from the caller's read function; empty at the end and after a failure (latched). */
static struct text read_block(struct conversion *conversion) {
    const struct gecko_convert_options *options = conversion->options;
    struct failure *failure = &conversion->input_failure;
    if (!conversion->read_buffer) conversion->read_buffer = memory_allocate(failure, BLOCK_BYTES);
    if (!conversion->read_buffer) return TEXT("");
    ptrdiff_t bytes_count = options->read(options->read_context, conversion->read_buffer, BLOCK_BYTES);
    if (bytes_count >= 0 && bytes_count <= BLOCK_BYTES)
        return (struct text){conversion->read_buffer, (size_t)bytes_count};
    failure_set(failure, FAILURE_IO, "%s: cannot be read: its read function failed", conversion->input_name);
    return TEXT("");
}

/* Returns the next bytes of an input in memory. */
static struct text next_data(const struct conversion *conversion) {
    const struct gecko_convert_options *options = conversion->options;
    size_t start = (size_t)conversion->given_bytes, left_bytes = options->input_data_bytes - start;
    return (struct text){(const char *)options->input_data + start,
                         left_bytes < BLOCK_BYTES ? left_bytes : BLOCK_BYTES};
}

static struct text next_block(void *context) {
    struct conversion *conversion = context;
    struct progress progress = progress_part(conversion->input_progress, 0, READ_SHARE);
    uint64_t total_bytes = conversion->options->input_data_bytes; /* 0: a read function's size is unknown */
    struct text block = conversion->options->read ? read_block(conversion) : next_data(conversion);
    conversion->given_bytes += block.bytes_count;
    progress_tell_source(progress, conversion->given_bytes, total_bytes);
    progress_report(progress, conversion->given_bytes, total_bytes);
    bool is_cancelled = failure_is_set(&conversion->input_failure);
    return is_cancelled ? TEXT("") : block;
}

static struct input *open_blocks(struct conversion *conversion) {
    struct input *input = input_from_blocks(conversion->input_name, next_block, conversion, &conversion->input_failure);
    return input ? input_unwrap(input) : NULL;
}

static struct input *open_input(struct conversion *conversion) {
    const struct conversion_ends *ends = conversion->ends;
    const char *path = conversion->input_path;
    bool is_first = path == conversion->options->input_path;
    struct failure *failure = &conversion->input_failure;
    if (!path) return open_blocks(conversion);
    struct input *input = ends->open && is_first ? ends->open(ends->context, failure) : input_open(path, failure);
    if (input) input_watch(input, progress_part(conversion->input_progress, 0, READ_SHARE));
    return input;
}

static void read_input(struct conversion *conversion) {
    if (failure_is_set(&conversion->failure)) return;
    const struct conversion_ends *ends = conversion->ends;
    conversion->progress_root.failure = &conversion->input_failure;
    struct input *input = open_input(conversion);
    if (input) {
        read_trace(conversion, input);
        conversion->wrapping = profile_text(&conversion->profile, input_wrapping(input));
        conversion->result->input_bytes = input_offset(input);
        input_close(input);
    }
    if (ends->input_failure && !failure_is_set(&conversion->input_failure))
        conversion->input_failure = *ends->input_failure;
    if (ends->has_lost_bytes && *ends->has_lost_bytes) {
        failure_clear(&conversion->input_failure);
        failure_set(&conversion->input_failure, FAILURE_IO, "%s: became shorter while it was read",
                    conversion->input_name);
    }
    resolve_read_failure(conversion);
    conversion->progress_root.failure = &conversion->failure;
}

/* ---- What was read. ---- */

static bool has_content(const struct profile *profile) {
    for (size_t i = 0; i < profile->threads.count; i++) {
        const struct thread *thread = column_at(&profile->threads, i);
        if (samples_count(&thread->samples) || thread->markers.count) return true;
    }
    return false;
}

/* Returns the entry of the most important unit that was lost; within the unit, the one with the highest count. Returns
 * NULL if nothing was lost. */
static const struct ledger_entry *largest_loss(const struct ledger *ledger) {
    const struct ledger_entry *largest = NULL;
    for (size_t i = 0; i < ledger->entries.count; i++) {
        const struct ledger_entry *entry = ledger_at(ledger, i);
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
    if (conversion->ends->is_empty) *conversion->ends->is_empty = !loss;
    bool is_one = !conversion->options->more_input_count;
    char lost[256] = "";
    if (loss)
        snprintf(lost, sizeof lost, "; lost: %llu %s (%.*s)", (unsigned long long)loss->count,
                 ledger_unit_noun(loss->unit, loss->count), (int)loss->cause.bytes_count, loss->cause.bytes);
    /* A trace that is not text has records instead of lines. */
    enum gecko_convert_unit unit = ledger->read[LEDGER_LINES] ? LEDGER_LINES : LEDGER_RECORDS;
    uint64_t unit_count = ledger->read[unit], sample_count = ledger->read[LEDGER_SAMPLES];
    failure_set(&conversion->failure, FAILURE_INPUT, "%s%s%s%s no samples and no markers: %llu %s and %llu %s read%s",
                conversion->input_name, is_one ? ", read as " : " and the other inputs",
                is_one ? conversion->reader->title : "", is_one ? ", holds" : " hold", (unsigned long long)unit_count,
                ledger_unit_noun(unit, unit_count), (unsigned long long)sample_count,
                ledger_unit_noun(LEDGER_SAMPLES, sample_count), lost);
}

/* ---- Symbols. ---- */

static void symbolize(struct conversion *conversion) {
    if (failure_is_set(&conversion->failure)) return;
    const struct gecko_convert_options *options = conversion->options;
    struct symbolize_options symbolize_options = {.symbols = options->symbols,
                                                  .folders = debug_folders_of(options),
                                                  .job_count = conversion->job_count,
                                                  .name_func = conversion->reader->name_func};
    profile_symbolize(&conversion->profile, &symbolize_options,
                      progress_part(conversion->input_progress, READ_SHARE, 1));
}

/* ---- Several inputs. ---- */

static void select_input(struct conversion *conversion, size_t number) {
    const struct gecko_convert_options *options = conversion->options;
    size_t count = options_input_count(options);
    conversion->input_path = options_input_path(options, number);
    conversion->input_name = count > 1 ? report_path_name(conversion->input_path) : report_input_name(options);
    conversion->input_progress = progress_part(progress_part(conversion->progress, 0, SYMBOLIZE_END),
                                               (double)number / (double)count, (double)(number + 1) / (double)count);
}

/* Returns the last part of the path, or the whole path if another input has the same last part. */
static struct text short_name(const struct gecko_convert_options *options, size_t number) {
    struct text path = text_of(report_path_name(options_input_path(options, number))), name = text_base_name(path);
    for (size_t i = 0; i < options_input_count(options); i++)
        if (i != number && text_equal(text_base_name(text_of(options_input_path(options, i))), name)) return path;
    return name;
}

static void swap_profiles(struct profile *a, struct profile *b) {
    struct profile first = *a;
    *a = *b;
    *b = first;
}

/* Reads and symbolizes one of several inputs. */
static void read_part(struct conversion *conversion, size_t number) {
    const struct gecko_convert_options *options = conversion->options;
    struct merge_input *part = &conversion->merge.inputs[number];
    struct gecko_convert_input *input = &conversion->inputs[number];
    select_input(conversion, number);
    swap_profiles(&conversion->profile, &part->profile);
    read_input(conversion);
    symbolize(conversion);
    swap_profiles(&conversion->profile, &part->profile);
    part->name = short_name(options, number);
    part->is_recorder = conversion->reader == reader_by_name("native");
    if (options->alignments) part->alignment = options->alignments[number];
    conversion->wrappings[number] = conversion->wrapping;
    if (conversion->reader) {
        input->format = conversion->reader->name;
        input->title = conversion->reader->title;
    }
    input->bytes = conversion->result->input_bytes;
}

/* The members of the result and of the conversion that describe one input describe the first. */
static void describe_first(struct conversion *conversion) {
    const struct gecko_convert_input *first = &conversion->inputs[0];
    conversion->reader = reader_by_name(first->format);
    conversion->wrapping = conversion->wrappings[0];
    conversion->result->input_bytes = first->bytes;
    for (size_t i = 0; i < conversion->merge.input_count; i++) {
        conversion->inputs[i].timeline = conversion->merge.inputs[i].timeline;
        conversion->inputs[i].offset_ns = conversion->merge.inputs[i].offset_ns;
    }
}

static void read_parts(struct conversion *conversion) {
    size_t count = options_input_count(conversion->options);
    struct failure *failure = &conversion->failure;
    conversion->inputs = memory_allocate_zeroed(failure, count, sizeof *conversion->inputs);
    conversion->wrappings = memory_allocate_zeroed(failure, count, sizeof *conversion->wrappings);
    if (failure_is_set(failure)) return;
    merge_init(&conversion->merge, count, failure);
    for (size_t i = 0; i < count; i++)
        conversion->inputs[i] = (struct gecko_convert_input){
            .name = report_path_name(options_input_path(conversion->options, i)), .format = "", .title = ""};
    conversion->merge.samples = conversion->options->samples;
    for (size_t i = 0; i < count && !failure_is_set(failure); i++) read_part(conversion, i);
    if (failure_is_set(failure)) return;
    merge_run(&conversion->merge, &conversion->profile);
    select_input(conversion, 0);
    describe_first(conversion);
    check_content(conversion);
}

/* ---- All inputs. ---- */

static void read_inputs(struct conversion *conversion) {
    if (failure_is_set(&conversion->failure)) return;
    if (conversion->options->more_input_count) {
        read_parts(conversion);
        return;
    }
    select_input(conversion, 0);
    read_input(conversion);
    check_content(conversion);
    symbolize(conversion);
}

/* ---- Finishing the profile. ---- */

/* Returns whether the process has a pid and a name of its own: threads without names are called "thread 12". */
static bool is_program(const struct process *process) {
    static const struct text nameless = TEXT("thread ");
    if (process->pid <= 0 || !process->name.bytes_count) return false;
    return !text_starts_with(process->name, nameless) ||
           !cursor_is_digit(process->name.bytes[process->name.bytes_count - 1]);
}

/* Returns the process that has the most samples. NULL if none is a program. */
static const struct process *busiest_process(const struct profile *profile) {
    struct column counts;
    const struct process *busiest = NULL;
    uint64_t most = 0;
    column_init(&counts, sizeof(uint64_t), profile->failure);
    for (size_t i = 0; i < profile->processes.count; i++) {
        uint64_t *count = column_push(&counts);
        if (!count) break;
        *count = 0;
    }
    for (size_t i = 0; i < profile->thread_order.count && counts.count == profile->processes.count; i++) {
        const thread_id *id = column_at(&profile->thread_order, i);
        const struct thread *thread = profile_thread_at(profile, *id);
        const struct process *process = profile_process_at(profile, thread->process);
        uint64_t *count = column_at(&counts, thread->process.index);
        *count += 1 + samples_count(&thread->samples); /* some traces have no samples */
        if (!is_program(process) || *count <= most) continue;
        most = *count;
        busiest = process;
    }
    column_fini(&counts);
    return busiest;
}

/* Returns what was profiled: the name in the options; that in the trace; the program with the most samples; or the
 * program that recorded. The name of the input is not used: the same trace would have another name in a pipe. */
static struct text product_name(struct conversion *conversion) {
    const struct profile_meta *meta = &conversion->profile.meta;
    if (conversion->options->product && *conversion->options->product)
        return profile_text(&conversion->profile, text_of(conversion->options->product));
    if (meta->product.bytes_count) return meta->product;
    const struct process *process = busiest_process(&conversion->profile);
    if (process) return process->name;
    if (meta->imported_from.bytes_count) return meta->imported_from;
    return text_of(conversion->reader->title);
}

static void embed_sources(struct conversion *conversion) {
    const struct gecko_convert_options *options = conversion->options;
    if (options->sources != GECKO_CONVERT_SOURCES_EMBED || conversion->ends->replace_writing) return;
    struct source_search search = {options->source_maps, options->source_map_count, options->source_dirs,
                                   options->source_dir_count, options->sysroot};
    profile_embed_sources(&conversion->profile, &search,
                          options->source_max_bytes ? options->source_max_bytes : SOURCE_BYTES_MAX);
}

static void finish_profile(struct conversion *conversion) {
    if (failure_is_set(&conversion->failure)) return;
    profile_finish(&conversion->profile);
    sweep_profile(&conversion->profile);
    embed_sources(conversion);
    if (failure_is_set(&conversion->failure)) return;
    conversion->profile.meta.product = product_name(conversion);
    progress_report(conversion->progress, (uint64_t)(FINISH_END * 1000), 1000);
}

/* ---- Writing. ---- */

/* A drain. */
static void write_part(void *context, struct chunk_list *chunks) {
    struct conversion *conversion = context;
    if (!conversion->sink)
        conversion->sink = sink_open(conversion->options->output_path, conversion->ends->batch, conversion->job_count,
                                     &conversion->failure);
    if (conversion->sink)
        sink_put(conversion->sink, chunks, (struct progress){0});
    else
        chunk_list_fini(chunks);
}

/* Output that stays hidden until it is complete can be written before it is known whether the conversion succeeds. */
static void drain_output(struct conversion *conversion) {
    const struct gecko_convert_options *options = conversion->options;
    if (options->keeps_output || options->write || !sink_hides_output(options->output_path)) return;
    conversion->drain = (struct chunk_drain){write_part, conversion};
    conversion->output.drain = &conversion->drain;
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
    conversion->emitter->emit(&conversion->profile, &conversion->profile.ledger, &conversion->output,
                              conversion->job_count, progress_part(conversion->progress, FINISH_END, EMIT_END));
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
    struct progress progress = progress_part(conversion->progress, EMIT_END, WRITE_END);
    if (!conversion->sink) {
        sink_write_batched(&conversion->output, conversion->options->output_path, conversion->ends->batch,
                           conversion->job_count, &conversion->failure, progress, &conversion->written);
        return;
    }
    sink_put(conversion->sink, &conversion->output, progress);
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
    char *kept = malloc((size_t)conversion->output.total_bytes + 1);
    if (!kept) {
        failure_set_memory(&conversion->failure);
        return;
    }
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
    if (conversion->reader) {
        result->input_format = conversion->reader->name;
        result->input_title = conversion->reader->title;
    }
    if (conversion->emitter) {
        result->output_format = conversion->emitter->name;
        result->output_title = conversion->emitter->title;
    }
    const struct result_sources sources = {&conversion->profile, conversion->wrapping, &conversion->merge,
                                           conversion->inputs, conversion->wrappings};
    if (result_fill(result, &sources)) return;
    failure_clear(&conversion->failure);
    failure_set_memory(&conversion->failure);
}

static void conclude(struct conversion *conversion, uint64_t start_ns) {
    const struct failure *failure = &conversion->failure;
    struct gecko_convert_result *result = conversion->result;
    result->status = failure->code;
    memcpy(result->message, failure->message, sizeof failure->message);
    result->has_error_place = failure->has_position;
    result->error_line = failure->position.line;
    result->error_offset = failure->position.offset;
    result->duration_ns = now_ns() - start_ns;
}

static const struct gecko_convert_result empty_result = {.struct_bytes = sizeof empty_result,
                                                         .input_format = "",
                                                         .input_title = "",
                                                         .wrapping = "",
                                                         .output_format = "",
                                                         .output_title = ""};

enum gecko_convert_status conversion_run(const struct gecko_convert_options *options,
                                         const struct conversion_ends *ends, struct gecko_convert_result *result,
                                         struct sink_written *written) {
    uint64_t start_ns = now_ns();
    *result = empty_result;
    struct conversion conversion = {.options = options,
                                    .ends = ends,
                                    .result = result,
                                    .input_name = report_input_name(options),
                                    .job_count = options->job_count ? options->job_count : processors_available()};
    if (!ends->memory) memory_limit_init(&conversion.own_memory, options->max_memory_bytes);
    conversion.failure.memory = conversion.input_failure.memory = ends->memory ? ends->memory : &conversion.own_memory;
    conversion.progress_root =
        (struct progress_root){.callback = options->progress, .context = options->progress_context};
    /* If the profile is only looked at, finishing it is the end of the work. */
    conversion.progress =
        progress_part(progress_whole(&conversion.progress_root), 0, ends->replace_writing ? 1 / FINISH_END : 1);
    profile_init(&conversion.profile, &conversion.failure);
    chunk_list_init(&conversion.output, &conversion.failure);

    conversion.emitter = options_check(options, !ends->replace_writing, &conversion.failure);
    read_inputs(&conversion);
    finish_profile(&conversion);
    emit(&conversion);
    check_strict(&conversion);
    describe(&conversion);
    write_output(&conversion);
    close_sink(&conversion);
    conclude(&conversion, start_ns);

    chunk_list_fini(&conversion.output);
    profile_fini(&conversion.profile);
    merge_fini(&conversion.merge);
    memory_free(conversion.inputs);
    memory_free(conversion.wrappings);
    memory_free(conversion.read_buffer);
    if (written) *written = conversion.written;
    return result->status;
}

enum gecko_convert_status gecko_convert(const struct gecko_convert_options *options,
                                        struct gecko_convert_result *result) {
    static const struct conversion_ends no_others = {0};
    struct gecko_convert_options known_options;
    struct gecko_convert_result known_result = empty_result;
    if (!public_result_give(result, &empty_result)) return GECKO_CONVERT_BAD_USAGE;
    if (public_options_take(&known_options, options)) {
        conversion_run(&known_options, &no_others, &known_result, NULL);
    } else {
        known_result.status = GECKO_CONVERT_BAD_USAGE;
        snprintf(known_result.message, sizeof known_result.message,
                 "struct_bytes of the options is wrong, or they set a member that version %s of the library lacks",
                 GECKO_CONVERT_VERSION);
    }
    public_result_give(result, &known_result);
    return known_result.status;
}

/* ---- Names. ---- */

const char *gecko_convert_input_format(size_t number) {
    for (size_t i = 0; i < number; i++)
        if (!readers[i]) return NULL;
    return readers[number] ? readers[number]->name : NULL;
}

const char *gecko_convert_output_format(size_t number) {
    for (size_t i = 0; i < number; i++)
        if (!emitters[i]) return NULL;
    return emitters[number] ? emitters[number]->name : NULL;
}

const char *gecko_convert_version(void) { return GECKO_CONVERT_VERSION; }
