/* The story of a conversion: open, detect, read, symbolize, finish, emit, describe, write. Each stage does nothing when
 * one before it has failed. */
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "conversion.h"
#include "file_identity.h"
#include "libconvert/sweep.h"
#include "libconvert/symbolize.h"
#include "readers/reader.h"
#include "writer/emitter.h"
#include "writer/sink.h"

_Static_assert((int)GECKO_CONVERT_BAD_INPUT == (int)FAILURE_INPUT, "same numbers");
_Static_assert((int)GECKO_CONVERT_BAD_USAGE == (int)FAILURE_USAGE, "same numbers");
_Static_assert((int)GECKO_CONVERT_IO_FAILED == (int)FAILURE_IO, "same numbers");
_Static_assert((int)GECKO_CONVERT_NO_MEMORY == (int)FAILURE_MEMORY, "same numbers");
_Static_assert((int)GECKO_CONVERT_LOST == (int)FAILURE_STRICT, "same numbers");
_Static_assert((int)GECKO_CONVERT_WEIGHT_PERIOD == (int)WEIGHT_BY_PERIOD, "same numbers");
_Static_assert((int)GECKO_CONVERT_ROOT_THREAD == (int)ROOT_THREAD, "same numbers");
_Static_assert((int)GECKO_CONVERT_SYMBOLS_NONE == (int)SYMBOLS_NONE, "same numbers");
_Static_assert((int)GECKO_CONVERT_SYMBOLS_ALWAYS == (int)SYMBOLS_ALWAYS, "same numbers");
_Static_assert((int)GECKO_CONVERT_LINES == (int)LEDGER_LINES, "same numbers");
_Static_assert((int)GECKO_CONVERT_SAMPLES == (int)LEDGER_SAMPLES, "same numbers");
_Static_assert((int)GECKO_CONVERT_RECORDS == (int)LEDGER_RECORDS, "same numbers");
_Static_assert((int)GECKO_CONVERT_PERIODS == (int)LEDGER_PERIODS, "same numbers");
_Static_assert((int)GECKO_CONVERT_VALUES == (int)LEDGER_VALUES, "same numbers");
_Static_assert((int)GECKO_CONVERT_UNIT_COUNT == (int)LEDGER_UNIT_COUNT, "same numbers");
_Static_assert((int)GECKO_CONVERT_FATE_LOST == (int)LEDGER_LOST, "same numbers");
_Static_assert((int)GECKO_CONVERT_FATE_NOTED == (int)LEDGER_NOTED, "same numbers");
_Static_assert(sizeof((struct gecko_convert_result *)0)->message >= sizeof((struct failure *)0)->message,
               "every message fits");

static const char default_format[] = "processed";

/* Where a stage ends in the whole work, by what the stages cost for a large input. */
static const double READ_END = 0.50, SYMBOLIZE_END = 0.60, FINISH_END = 0.70, EMIT_END = 0.90;

struct conversion {
    const struct gecko_convert_options *options; /* borrowed */
    const struct conversion_ends *ends;          /* borrowed */
    struct gecko_convert_result *result;         /* borrowed */
    struct sink_written written;
    const char *input_name; /* as messages have it */
    struct memory_limit own_memory; /* where the ends bring none */
    struct failure failure;
    struct failure input_failure; /* of the input alone, until it is read */
    struct profile profile;
    struct text wrapping; /* in the profile's texts */
    struct chunk_list output;
    const struct reader *reader;
    const struct emitter *emitter;
    struct progress_root progress_root;
    struct progress progress;
};

static uint64_t now_ns(void) {
    struct timespec now;
    clock_gettime(CLOCK_MONOTONIC, &now);
    return (uint64_t)now.tv_sec * 1000000000u + (uint64_t)now.tv_nsec;
}

/* ---- Options. ---- */

static void check_options(struct conversion *conversion) {
    const struct gecko_convert_options *options = conversion->options;
    struct failure *failure = &conversion->failure;
    bool has_output = conversion->ends->look || (options->output_path && *options->output_path);
    if (!options->input_path || !*options->input_path || !has_output) {
        failure_set(failure, FAILURE_USAGE, "a conversion needs the names of an input and of an output");
        return;
    }
    if (options->from && !reader_by_name(options->from))
        failure_set(failure, FAILURE_USAGE, "no input format is named '%s'", options->from);
    if ((unsigned)options->weight > GECKO_CONVERT_WEIGHT_PERIOD || (unsigned)options->root > GECKO_CONVERT_ROOT_THREAD)
        failure_set(failure, FAILURE_USAGE, "a weight or a root has a value that is none of its names");
    if ((unsigned)options->symbols > GECKO_CONVERT_SYMBOLS_ALWAYS)
        failure_set(failure, FAILURE_USAGE, "symbols has a value that is none of its names");
    if (conversion->ends->look) return;
    const char *format = options->format ? options->format : default_format;
    conversion->emitter = emitter_by_name(format);
    if (!conversion->emitter) failure_set(failure, FAILURE_USAGE, "no output format is named '%s'", format);
    struct file_identity input = file_identity_of(options->input_path, STDIN_FILENO);
    struct file_identity output = file_identity_of(options->output_path, STDOUT_FILENO);
    if (file_identity_is_same(input, output))
        failure_set(failure, FAILURE_USAGE, "%s is both the input and the output: name another output",
                    conversion->input_name);
}

/* ---- Reading. ---- */

static const struct reader *choose_reader(struct conversion *conversion, struct input *input) {
    const char *from = conversion->options->from;
    return from ? reader_by_name(from) : reader_detect(input, &conversion->failure);
}

static void read_trace(struct conversion *conversion, struct input *input) {
    conversion->reader = choose_reader(conversion, input);
    if (failure_is_set(&conversion->failure)) return;
    struct reader_options options = {.weight = (enum weight_choice)conversion->options->weight,
                                     .root = (enum root_choice)conversion->options->root,
                                     .ignores_code_files = conversion->options->symbols == GECKO_CONVERT_SYMBOLS_NONE};
    conversion->reader->run(input, &conversion->profile, &options);
}

/* What those that read alone cannot do. */
static void advise_batch(struct failure *failure) {
    size_t message_bytes = strlen(failure->message);
    snprintf(failure->message + message_bytes, sizeof failure->message - message_bytes,
             ", or convert them all with --output-dir OUT");
}

/* A reader takes an input that fails for one that ends, so what it makes of that counts for nothing. Inputs name
 * themselves in their messages; readers, most of which do not, give a place or are helped out here. */
static void settle_reading(struct conversion *conversion) {
    struct failure reading = conversion->failure;
    if (failure_is_set(&conversion->input_failure)) {
        conversion->failure = conversion->input_failure;
        if (conversion->failure.is_of_many && !conversion->ends->look) advise_batch(&conversion->failure);
        return;
    }
    if (!failure_is_set(&reading) || reading.has_position || reading.code == FAILURE_MEMORY) return;
    if (text_starts_with(text_of(reading.message), text_of(conversion->input_name))) return;
    failure_clear(&conversion->failure);
    failure_set(&conversion->failure, reading.code, "%s: %s", conversion->input_name, reading.message);
}

static void read_input(struct conversion *conversion) {
    if (failure_is_set(&conversion->failure)) return;
    const struct conversion_ends *ends = conversion->ends;
    struct input *input = ends->open ? ends->open(ends->context, &conversion->input_failure)
                                     : input_open(conversion->options->input_path, &conversion->input_failure);
    if (input) {
        input_watch(input, progress_part(conversion->progress, 0, READ_END));
        read_trace(conversion, input);
        conversion->wrapping = profile_text(&conversion->profile, input_wrapping(input));
        conversion->result->input_bytes = input_offset(input);
        input_close(input);
    }
    if (ends->input_failure) conversion->input_failure = *ends->input_failure;
    if (ends->has_lost_bytes && *ends->has_lost_bytes) {
        failure_clear(&conversion->input_failure);
        failure_set(&conversion->input_failure, FAILURE_IO, "%s: became shorter while it was read",
                    conversion->input_name);
    }
    settle_reading(conversion);
}

/* ---- Symbols. ---- */

static void symbolize(struct conversion *conversion) {
    if (failure_is_set(&conversion->failure)) return;
    const struct gecko_convert_options *options = conversion->options;
    struct symbolize_options symbolize_options = {.symbols = (enum symbols_choice)options->symbols,
                                                  .folders = {options->debug_dirs, options->debug_dir_count}};
    profile_symbolize(&conversion->profile, &symbolize_options,
                      progress_part(conversion->progress, READ_END, SYMBOLIZE_END));
}

/* ---- Finishing the profile. ---- */

static bool has_content(const struct profile *profile) {
    for (size_t i = 0; i < profile->threads.count; i++) {
        const struct thread *thread = column_at(&profile->threads, i);
        if (samples_count(&thread->samples) || thread->markers.count) return true;
    }
    return false;
}

/* The most telling lost entry, and of those the one with the highest count; NULL when nothing is lost. */
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
    char lost[256] = "";
    if (loss)
        snprintf(lost, sizeof lost, "; lost: %llu %s (%.*s)", (unsigned long long)loss->count,
                 ledger_unit_noun(loss->unit, loss->count), (int)loss->cause.bytes_count, loss->cause.bytes);
    /* Traces that are no text have records instead of lines. */
    enum ledger_unit unit = ledger->read[LEDGER_LINES] ? LEDGER_LINES : LEDGER_RECORDS;
    uint64_t unit_count = ledger->read[unit], sample_count = ledger->read[LEDGER_SAMPLES];
    failure_set(&conversion->failure, FAILURE_INPUT,
                "%s, read as %s, holds no samples and no markers: %llu %s and %llu %s read%s", conversion->input_name,
                conversion->reader->title, (unsigned long long)unit_count, ledger_unit_noun(unit, unit_count),
                (unsigned long long)sample_count, ledger_unit_noun(LEDGER_SAMPLES, sample_count), lost);
}

/* The process that all written threads are of; NULL when there are several. */
static const struct process *only_process(const struct profile *profile) {
    const struct process *only = NULL;
    for (size_t i = 0; i < profile->thread_order.count; i++) {
        const thread_id *id = column_at(&profile->thread_order, i);
        const struct process *process = profile_process_at(profile, profile_thread_at(profile, *id)->process);
        if (only && only != process) return NULL;
        only = process;
    }
    return only;
}

/* What the profile is of: as asked for, as the trace says, the program when there is only one, or what recorded
 * it. Never the name of the input, which would differ between a file and a pipe. */
static struct text product_name(struct conversion *conversion) {
    const struct profile_meta *meta = &conversion->profile.meta;
    if (conversion->options->product && *conversion->options->product)
        return profile_text(&conversion->profile, text_of(conversion->options->product));
    if (meta->product.bytes_count) return meta->product;
    const struct process *process = only_process(&conversion->profile);
    if (process && process->pid > 0 && process->name.bytes_count) return process->name;
    if (meta->imported_from.bytes_count) return meta->imported_from;
    return text_of(conversion->reader->title);
}

static void finish_profile(struct conversion *conversion) {
    if (failure_is_set(&conversion->failure)) return;
    profile_finish(&conversion->profile);
    sweep_profile(&conversion->profile);
    if (failure_is_set(&conversion->failure)) return;
    conversion->profile.meta.product = product_name(conversion);
    progress_report(conversion->progress, (uint64_t)(FINISH_END * 1000), 1000);
}

/* ---- Writing. ---- */

static void emit(struct conversion *conversion) {
    if (failure_is_set(&conversion->failure)) return;
    if (conversion->ends->look) {
        conversion->ends->look(conversion->ends->look_context, &conversion->profile);
        return;
    }
    conversion->emitter->emit(&conversion->profile, &conversion->profile.ledger, &conversion->output,
                              progress_part(conversion->progress, FINISH_END, EMIT_END));
}

/* After emitting, since an output format loses too. */
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

static void write_output(struct conversion *conversion) {
    if (failure_is_set(&conversion->failure) || conversion->ends->look) return;
    if (!sink_write_batched(&conversion->output, conversion->options->output_path, conversion->ends->batch,
                            &conversion->failure, progress_part(conversion->progress, EMIT_END, 1),
                            &conversion->written))
        return;
    conversion->result->output_bytes = conversion->written.bytes_count;
    progress_report(conversion->progress, 1, 1);
}

/* ---- The result. ---- */

static void count_contents(const struct profile *profile, struct gecko_convert_counts *counts) {
    const struct process *last_process = NULL;
    for (size_t i = 0; i < profile->thread_order.count; i++) {
        const thread_id *id = column_at(&profile->thread_order, i);
        const struct thread *thread = profile_thread_at(profile, *id);
        const struct process *process = profile_process_at(profile, thread->process);
        if (process != last_process) counts->processes++;
        last_process = process;
        counts->threads++;
        counts->samples += samples_count(&thread->samples);
        counts->markers += thread->markers.count;
    }
    counts->stacks = row_table_count(&profile->stacks);
    counts->frames = row_table_count(&profile->frames);
    counts->funcs = row_table_count(&profile->funcs);
    counts->strings = strings_count(&profile->strings);
    counts->libs = libs_count(&profile->libs);
}

/* Copies the text behind *next, terminated, and moves *next on. */
static const char *place_text(char **next, struct text text) {
    char *place = *next;
    if (text.bytes_count) memcpy(place, text.bytes, text.bytes_count);
    place[text.bytes_count] = '\0';
    *next += text.bytes_count + 1;
    return place;
}

static struct gecko_convert_entry result_entry(const struct ledger_entry *entry, char **next) {
    return (struct gecko_convert_entry){
        .unit = (enum gecko_convert_unit)entry->unit,
        .fate = (enum gecko_convert_fate)entry->fate,
        .cause = place_text(next, entry->cause),
        .count = entry->count,
        .has_first = entry->has_first,
        .first_line = entry->has_first ? entry->first.line : 0,
        .first_offset = entry->has_first ? entry->first.offset : 0,
    };
}

/* One block: the entries, then their texts. False when memory ran out. */
static bool copy_ledger(struct conversion *conversion) {
    const struct ledger *ledger = &conversion->profile.ledger;
    struct gecko_convert_result *result = conversion->result;
    size_t entry_count = ledger->entries.count;
    size_t text_bytes = conversion->wrapping.bytes_count + 1;
    for (size_t i = 0; i < entry_count; i++) text_bytes += ledger_at(ledger, i)->cause.bytes_count + 1;
    struct gecko_convert_entry *entries = malloc(entry_count * sizeof *entries + text_bytes);
    if (!entries) return false;
    char *next = (char *)(entries + entry_count);
    for (size_t i = 0; i < entry_count; i++) entries[i] = result_entry(ledger_at(ledger, i), &next);
    result->wrapping = place_text(&next, conversion->wrapping);
    result->entries = entries;
    result->entry_count = entry_count;
    result->owned = entries;
    return true;
}

/* Before the output is written: when there is no memory for the result, there is no output either. A result
 * without its ledger would say that nothing was lost, so running out of memory here replaces an earlier failure. */
static void describe(struct conversion *conversion) {
    struct gecko_convert_result *result = conversion->result;
    const struct ledger *ledger = &conversion->profile.ledger;
    if (conversion->reader) {
        result->input_format = conversion->reader->name;
        result->input_title = conversion->reader->title;
    }
    if (conversion->emitter) {
        result->output_format = conversion->emitter->name;
        result->output_title = conversion->emitter->title;
    }
    count_contents(&conversion->profile, &result->counts);
    for (enum ledger_unit unit = 0; unit < LEDGER_UNIT_COUNT; unit++)
        result->sums[unit] = (struct gecko_convert_unit_sums){ledger->read[unit], ledger_sum(ledger, unit, LEDGER_KEPT),
                                                              ledger_sum(ledger, unit, LEDGER_LOST)};
    result->is_balanced = ledger_is_balanced(ledger);
    if (copy_ledger(conversion)) return;
    failure_clear(&conversion->failure);
    failure_set_memory(&conversion->failure);
}

static void conclude(struct conversion *conversion, uint64_t start_ns) {
    const struct failure *failure = &conversion->failure;
    struct gecko_convert_result *result = conversion->result;
    result->status = (enum gecko_convert_status)failure->code;
    memcpy(result->message, failure->message, sizeof failure->message);
    result->has_error_place = failure->has_position;
    result->error_line = failure->position.line;
    result->error_offset = failure->position.offset;
    result->duration_ns = now_ns() - start_ns;
}

enum gecko_convert_status conversion_run(const struct gecko_convert_options *options,
                                         const struct conversion_ends *ends, struct gecko_convert_result *result,
                                         struct sink_written *written) {
    uint64_t start_ns = now_ns();
    *result = (struct gecko_convert_result){
        .input_format = "", .input_title = "", .wrapping = "", .output_format = "", .output_title = ""};
    struct conversion conversion = {.options = options, .ends = ends, .result = result};
    bool is_standard_input = options->input_path && strcmp(options->input_path, "-") == 0;
    conversion.input_name = is_standard_input ? "standard input" : options->input_path;
    if (ends->input_name) conversion.input_name = ends->input_name;
    if (!ends->memory) memory_limit_init(&conversion.own_memory, options->max_memory_bytes);
    conversion.failure.memory = conversion.input_failure.memory = ends->memory ? ends->memory : &conversion.own_memory;
    conversion.progress_root = (struct progress_root){
        .callback = options->progress, .source_callback = ends->source_progress, .context = options->progress_context};
    /* Whoever looks at the profile does not wait for more. */
    conversion.progress = progress_part(progress_whole(&conversion.progress_root), 0, ends->look ? 1 / FINISH_END : 1);
    profile_init(&conversion.profile, &conversion.failure);
    chunk_list_init(&conversion.output, &conversion.failure);

    check_options(&conversion);
    read_input(&conversion);
    check_content(&conversion);
    symbolize(&conversion);
    finish_profile(&conversion);
    emit(&conversion);
    check_strict(&conversion);
    describe(&conversion);
    write_output(&conversion);
    conclude(&conversion, start_ns);

    chunk_list_fini(&conversion.output);
    profile_fini(&conversion.profile);
    if (written) *written = conversion.written;
    return result->status;
}

enum gecko_convert_status gecko_convert(const struct gecko_convert_options *options,
                                        struct gecko_convert_result *result) {
    static const struct conversion_ends paths = {0};
    return conversion_run(options, &paths, result, NULL);
}

void gecko_convert_result_fini(struct gecko_convert_result *result) {
    free(result->owned);
    result->owned = NULL;
    result->entries = NULL;
    result->entry_count = 0;
    result->wrapping = "";
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

const char *gecko_convert_unit_name(enum gecko_convert_unit unit) { return ledger_unit_name((enum ledger_unit)unit); }
const char *gecko_convert_fate_name(enum gecko_convert_fate fate) { return ledger_fate_name((enum ledger_fate)fate); }
const char *gecko_convert_version(void) { return GECKO_CONVERT_VERSION; }
