#include "input_loader.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "libconvert/base/cursor.h"
#include "libconvert/base/memory.h"
#include "libconvert/profile/rooted_waits.h"
#include "libconvert/symbols/symbolize.h"
#include "readers/filter.h"
#include "report.h"
#include "writer/emitter.h"

enum { BLOCK_BYTES = 256 * 1024 /* how much of an input in memory, or from a read function, is passed on at a time */ };

/* The share of reading in the time until the symbols are known. */
static const double READ_SHARE = 0.50 / 0.60;

/* ---- Reading. ---- */

static const struct reader *choose_reader(struct input_loader *loader, struct input *input) {
    const char *from = loader->options->from;
    return from ? reader_by_name(from) : reader_detect(input, loader->profile->failure);
}

static struct debug_folders debug_folders_of(const struct gecko_convert_options *options) {
    return (struct debug_folders){
        .paths = options->debug_dirs, .count = options->debug_dir_count, .sysroot = options->sysroot};
}

static void refuse_option(const struct input_loader *loader, const char *name, bool is_useless) {
    if (is_useless)
        failure_set(loader->profile->failure, FAILURE_USAGE, "--%s cannot be applied to this input, read as %s", name,
                    loader->reader->title);
}

static void note_option(const struct input_loader *loader, const char *name, bool is_useless) {
    char cause[256];
    snprintf(cause, sizeof cause, "--%s has no effect on this input, read as %s", name, loader->reader->title);
    ledger_enter(&loader->profile->ledger, LEDGER_VALUES, LEDGER_NOTED, text_of(cause), is_useless, NULL);
}

/* Refuses or notes options that do nothing for an input of this format. Those that are noted suit one of several
 * inputs. What an input without times has in a part of the recording is unknown. */
static void check_options(const struct input_loader *loader, const struct filter *filter) {
    const struct gecko_convert_options *options = loader->options;
    const struct reader *reader = loader->reader;
    bool is_alone = !options->more_input_count;
    for (unsigned kind = 0; kind < FILTER_KIND_COUNT; kind++) {
        bool is_useless = filter_has(filter, kind) && !(reader->filter_kinds >> kind & 1);
        if (is_alone || kind == GECKO_CONVERT_FILTER_TIME)
            refuse_option(loader, filter_name(kind), is_useless);
        else if (kind != GECKO_CONVERT_FILTER_EVENT) /* events are perf's alone */
            note_option(loader, filter_name(kind), is_useless);
    }
    if (!is_alone) return; /* the other options may be for another input */
    refuse_option(loader, "off-cpu", options->off_cpu != GECKO_CONVERT_OFF_CPU_AUTO && !reader->is_of_perf);
    refuse_option(loader, "per-cpu", options->is_per_cpu && !reader->is_of_perf);
    refuse_option(loader, "perf-map", options->perf_map_count && !reader->takes_perf_maps);
    note_option(loader, "weight", options->weight && !reader->is_of_perf);
    bool is_collapsed = reader == &reader_collapsed;
    note_option(loader, "root", options->root && !is_collapsed);
    note_option(loader, "weight-unit", options->weight_unit && !is_collapsed);
    note_option(loader, "interval", options->sample_interval_ns && !is_collapsed);
}

static void read_filtered(struct input_loader *loader, struct input *input, struct profile *profile,
                          struct filter *filter) {
    struct debug_folders folders = debug_folders_of(loader->options);
    struct reader_options options = {.weight = loader->options->weight,
                                     .off_cpu = loader->options->off_cpu,
                                     .keeps_processors = loader->options->is_per_cpu,
                                     .weight_unit = loader->options->weight_unit,
                                     .sample_interval_ns = loader->options->sample_interval_ns,
                                     .root = loader->options->root,
                                     .ignores_code_files = loader->options->symbols == GECKO_CONVERT_SYMBOLS_NONE,
                                     .perf_maps = loader->options->perf_maps,
                                     .perf_map_count = loader->options->perf_map_count,
                                     .debug_folders = &folders,
                                     .filter = filter && filter->kinds ? filter : NULL,
                                     .job_count = loader->job_count};
    loader->reader->run(input, profile, &options);
}

/* Reads the whole trace, to learn the times of the markers that the filter names. */
static void learn_ranges(struct input_loader *loader, struct filter *filter) {
    struct failure *failure = loader->profile->failure;
    struct stat status;
    struct profile whole;
    if (!loader->path || stat(loader->path, &status) != 0 || S_ISFIFO(status.st_mode)) {
        failure_set(failure, FAILURE_USAGE,
                    "--time @MARKER reads the trace twice: it needs a file, not a pipe or a member of an archive");
        return;
    }
    struct input *input = input_open(loader->path, failure);
    if (!input) return;
    profile_init(&whole, failure);
    read_filtered(loader, input, &whole, NULL);
    if (!failure_is_set(failure)) filter_find_ranges(filter, &whole);
    profile_fini(&whole);
    input_close(input);
}

static void read_trace(struct input_loader *loader, struct input *input) {
    struct failure *failure = loader->profile->failure;
    struct filter filter;
    loader->reader = choose_reader(loader, input);
    if (failure_is_set(failure)) return;
    filter_init(&filter, loader->options->filters, loader->options->filter_count, failure);
    check_options(loader, &filter);
    if (loader->options->more_input_count)
        filter_select(&filter, loader->reader->filter_kinds & ~(unsigned)FILTER_KINDS_OF_TIMES);
    if (!failure_is_set(failure) && filter_awaits_markers(&filter)) learn_ranges(loader, &filter);
    if (!failure_is_set(failure)) read_filtered(loader, input, loader->profile, &filter);
    filter_fini(&filter);
}

/* Decides which failure of reading to report. A reader treats an input that fails like one that ends, so a failure of
 * the input takes precedence over one of the reader. Messages of inputs have the input's name; a reader's message gets
 * it here. If there is only one input, whoever prints the place of a failure adds the name. */
static void resolve_failure(const struct input_loader *loader) {
    struct failure *failure = loader->profile->failure;
    bool is_alone = !loader->options->more_input_count;
    struct report_text place = {.bytes_count = 0};
    if (failure_is_set(&loader->input_failure)) {
        *failure = loader->input_failure;
        return;
    }
    if (!failure_is_set(failure) || (failure->has_position && is_alone) || failure->code == FAILURE_MEMORY) return;
    if (text_starts_with(text_of(failure->message), text_of(loader->name))) return;
    struct failure nameless = *failure;
    if (failure->has_position)
        report_append_place(&place, loader->name, nameless.position.line, nameless.position.offset);
    else
        report_append(&place, "%s: ", loader->name);
    failure_clear(failure);
    failure_set(failure, nameless.code, "%s%s", place.bytes, nameless.message);
}

/* Returns the next bytes from the caller's read function; empty at the end and after a failure (latched). */
static struct text read_block(struct input_loader *loader) {
    const struct gecko_convert_options *options = loader->options;
    struct failure *failure = &loader->input_failure;
    if (!loader->read_buffer) loader->read_buffer = memory_allocate(failure, BLOCK_BYTES);
    if (!loader->read_buffer) return TEXT("");
    ptrdiff_t bytes_count = options->read(options->read_context, loader->read_buffer, BLOCK_BYTES);
    if (bytes_count >= 0 && bytes_count <= BLOCK_BYTES) return (struct text){loader->read_buffer, (size_t)bytes_count};
    failure_set(failure, FAILURE_IO, "%s: cannot be read: its read function failed", loader->name);
    return TEXT("");
}

/* Returns the next bytes of an input in memory. */
static struct text next_data(const struct input_loader *loader) {
    const struct gecko_convert_options *options = loader->options;
    size_t start = (size_t)loader->given_bytes, left_bytes = options->input_data_bytes - start;
    return (struct text){(const char *)options->input_data + start,
                         left_bytes < BLOCK_BYTES ? left_bytes : BLOCK_BYTES};
}

static struct text next_block(void *context) {
    struct input_loader *loader = context;
    struct progress progress = progress_part(loader->progress, 0, READ_SHARE);
    uint64_t total_bytes = loader->options->input_data_bytes; /* 0: a read function's size is unknown */
    struct text block = loader->options->read ? read_block(loader) : next_data(loader);
    loader->given_bytes += block.bytes_count;
    progress_tell_source(progress, loader->given_bytes, total_bytes);
    progress_report(progress, loader->given_bytes, total_bytes);
    bool is_cancelled = failure_is_set(&loader->input_failure);
    return is_cancelled ? TEXT("") : block;
}

static struct input *open_blocks(struct input_loader *loader) {
    struct input *input = input_from_blocks(loader->name, next_block, loader, &loader->input_failure);
    return input ? input_unwrap(input) : NULL;
}

static struct input *open_input(struct input_loader *loader) {
    const struct given_input *given = loader->given;
    const char *path = loader->path;
    bool is_first = path == loader->options->input_path;
    struct failure *failure = &loader->input_failure;
    if (!path) return open_blocks(loader);
    struct input *input = given->open && is_first ? given->open(given->context, failure) : input_open(path, failure);
    if (input) input_watch(input, progress_part(loader->progress, 0, READ_SHARE));
    return input;
}

/* ---- When it was recorded. ---- */

/* Returns when the file was last written, in milliseconds since the epoch, but no later than SOURCE_DATE_EPOCH, with
 * which builds become reproducible; 0: it is no file. */
static int64_t written_ms(const char *path) {
    const char *limit = getenv("SOURCE_DATE_EPOCH");
    struct stat status;
    uint64_t limit_s;
    if (!path || stat(path, &status) != 0 || !S_ISREG(status.st_mode)) return 0;
    if (status.st_mtim.tv_sec < 0 || status.st_mtim.tv_sec >= INT64_MAX / 1000) return 0;
    if (limit && cursor_parse_number(text_of(limit), 10, &limit_s) && (uint64_t)status.st_mtim.tv_sec >= limit_s)
        return (int64_t)limit_s * 1000;
    return (int64_t)status.st_mtim.tv_sec * 1000 + status.st_mtim.tv_nsec / 1000000;
}

/* perf writes its file until the recording ends, and the time of day into it only if it was asked to (-k). Without
 * times it is unknown how long that took. */
static void date_by_file(const struct input_loader *loader) {
    struct profile_meta *meta = &loader->profile->meta;
    bool is_part = loader->given->open && !loader->given->opens_file;
    if (loader->reader != &reader_perf_data || is_part || !meta->has_times) return;
    if (meta->captured_at_ms || meta->epoch_offset_ns) return;
    meta->captured_at_ms = written_ms(loader->path);
    if (meta->captured_at_ms)
        profile_add_extra(loader->profile, TEXT("Conversion"), TEXT("Start of the recording"),
                          TEXT("estimated from the time of the file"));
}

static void read_and_close(struct input_loader *loader, struct input *input) {
    read_trace(loader, input);
    date_by_file(loader);
    loader->wrapping = profile_text(loader->profile, input_wrapping(input));
    loader->bytes_count = input_offset(input);
    input_close(input);
}

void input_loader_read(struct input_loader *loader) {
    const struct given_input *given = loader->given;
    struct failure *failure = loader->profile->failure, *input_failure = &loader->input_failure;
    if (failure_is_set(failure)) return;
    input_failure->memory = failure->memory;
    loader->progress.root->failure = input_failure;
    struct input *input = open_input(loader);
    if (input) read_and_close(loader, input);
    memory_free(loader->read_buffer);
    if (given->failure && !failure_is_set(input_failure)) *input_failure = *given->failure;
    if (given->has_lost_bytes && *given->has_lost_bytes) {
        failure_clear(input_failure);
        failure_set(input_failure, FAILURE_IO, "%s: became shorter while it was read", loader->name);
    }
    resolve_failure(loader);
    loader->progress.root->failure = failure;
}

/* ---- Symbols. ---- */

void input_loader_symbolize(struct input_loader *loader) {
    if (failure_is_set(loader->profile->failure)) return;
    const struct gecko_convert_options *options = loader->options;
    struct symbolize_options symbolize_options = {.symbols = options->symbols,
                                                  .folders = debug_folders_of(options),
                                                  .asks_servers = options->debuginfod != GECKO_CONVERT_DEBUGINFOD_NO,
                                                  .job_count = loader->job_count,
                                                  .name_func = loader->reader->name_func};
    profile_symbolize(loader->profile, &symbolize_options, progress_part(loader->progress, READ_SHARE, 1));
    profile_root_waits(loader->profile);
}

/* The text of a profile while it is read. */
struct profile_text {
    struct chunk_list chunks;
    bool is_begun; /* the first chunk has been read */
};

/* An input_next_block. Frees the chunk that was read before. */
static struct text next_chunk(void *context) {
    struct profile_text *text = context;
    if (text->is_begun && text->chunks.first) chunk_list_drop_first(&text->chunks);
    text->is_begun = true;
    const struct chunk *chunk = text->chunks.first;
    return chunk ? (struct text){chunk->bytes, chunk->used_bytes} : (struct text){0};
}

/* Copies the facts about the recording that a written profile cannot hold. */
static void keep_facts(struct profile *profile, const struct profile *recording) {
    ledger_fini(&profile->ledger);
    ledger_init(&profile->ledger, profile->failure);
    ledger_add(&profile->ledger, &recording->ledger);
    for (size_t i = 0; i < recording->events.count; i++) {
        struct profile_event *event = column_push(&profile->events);
        if (!event) return;
        *event = *(const struct profile_event *)column_at(&recording->events, i);
        event->name = profile_text(profile, event->name);
    }
    for (size_t i = 0; i < recording->lib_troubles.count; i++) {
        struct lib_trouble *trouble = column_push(&profile->lib_troubles);
        if (!trouble) return;
        *trouble = *(const struct lib_trouble *)column_at(&recording->lib_troubles, i);
        trouble->path = profile_text(profile, trouble->path);
        trouble->code_id = profile_text(profile, trouble->code_id);
    }
}

void input_loader_reread(struct input_loader *loader) {
    struct profile *recording = loader->profile, profile;
    struct failure *failure = recording->failure;
    struct profile_text text = {.is_begun = false};
    chunk_list_init(&text.chunks, failure);
    profile_init(&profile, failure);
    emitter_processed.emit(recording, &recording->ledger, &text.chunks, &(struct emit_options){0},
                           (struct progress){0});
    struct input *input = failure_is_set(failure) ? NULL : input_from_blocks(loader->name, next_chunk, &text, failure);
    if (input) reader_profile.run(input, &profile, &(struct reader_options){0});
    input_close(input);
    profile.meta.is_as_written = true;
    keep_facts(&profile, recording);
    loader->wrapping = profile_text(&profile, loader->wrapping);
    profile_fini(recording);
    *recording = profile;
    chunk_list_fini(&text.chunks);
}
