/* Reads profiles that the front-end opens: those written here, and those of other programs. */
#include "saved_reader.h"

#include "libconvert/base/cursor.h"
#include "libconvert/base/memory.h"
#include "libconvert/format/processed_format.h"
#include "readers/filter.h"

/* ---- The parts of the document. ---- */

static void read_meta(struct saved_reader *reader, void *context) {
    (void)context;
    saved_meta_read(reader, &processed_meta);
    if (!reader->version) json_stream_fail(reader->json, "there is no \"preprocessedProfileVersion\"");
}

enum { NEEDS_NOTHING, NEEDS_META = 1, NEEDS_LIBS = 2, NEEDS_SHARED = 4, NEEDS_THREADS = 8, NEEDS_GATHERING = 64 };

static const struct saved_part PARTS[] = {
    {TEXT("meta"), read_meta, NEEDS_NOTHING, true, 0},
    {TEXT("libs"), saved_libs_read, NEEDS_META, true, 0},
    {TEXT("shared"), saved_shared_read, NEEDS_META | NEEDS_LIBS, false, STRINGS_ARE_SHARED},
    {TEXT("threads"), saved_threads_read, NEEDS_META | NEEDS_LIBS | NEEDS_SHARED, true, 0},
    {TEXT("counters"), saved_counters_read, NEEDS_THREADS, false, 0},
    {TEXT("profilerOverhead"), saved_overheads_read, NEEDS_THREADS, false, 0},
    {TEXT("profileGatheringLog"), saved_gathering_log_read, NEEDS_THREADS, false, 0},
    /* The other log may have more processes, whose order stays. */
    {TEXT("profilingLog"), saved_profiling_log_read, NEEDS_THREADS | NEEDS_GATHERING, false, 0},
};

static void read_document(struct saved_reader *reader) {
    if (reader->is_gecko)
        saved_gecko_read(reader);
    else
        saved_read_parts(reader, PARTS, sizeof PARTS / sizeof *PARTS, NULL, NULL);
    json_stream_finish(reader->json);
}

/* ---- Recognising profiles. ---- */

static bool begins_as_processed(struct text start) {
    return text_has(start, TEXT("\"meta\"")) && text_has(start, TEXT("\"preprocessedProfileVersion\""));
}

/* Firefox and this program write these members near the beginning. */
static bool begins_as_gecko(struct text start) {
    return text_has(start, TEXT("\"meta\"")) && text_has(start, TEXT("\"version\"")) &&
           text_has(start, TEXT("\"startTime\"")) &&
           (text_has(start, TEXT("\"markerSchema\"")) || text_has(start, TEXT("\"stackwalk\"")));
}

/* ---- The end. ---- */

/* A profile without weights is one whose times between samples say how long something ran. */
static void settle_weights(struct saved_reader *reader) {
    struct profile_meta *meta = &reader->profile->meta;
    bool has_times = !reader->has_weights || (reader->has_null_weights && !reader->has_other_weights);
    if (has_times) meta->weight_type = WEIGHT_ONE;
    meta->has_every_state = has_times;
}

/* The format has no name for what weights count, but the information panel does. */
static void settle_unit(struct saved_reader *reader) {
    struct profile_meta *meta = &reader->profile->meta;
    struct text told = profile_extra(reader->profile, TEXT(WEIGHT_SECTION), TEXT(WEIGHT_LABEL));
    if (meta->weight_type == WEIGHT_SAMPLES && cursor_take(&told, TEXT(WEIGHT_PERIOD_IN))) meta->weight_unit = told;
}

/* Zero is the profile's zero again, whatever its first event is. */
static void settle_times(struct saved_reader *reader) {
    struct profile *profile = reader->profile;
    profile->recording.program_start_ns = 0;
    if (profile->meta.epoch_offset_ns) profile->meta.epoch_offset_ns -= reader->origin_ns;
    profile_shift_times(profile, reader->origin_ns);
}

/* Made-up times are whole milliseconds. Importers of the front-end keep the times of the trace, but write neither a
 * range nor a date. */
static bool has_fractions(const struct profile *profile) {
    enum { NS_PER_MS = 1000000 };
    for (uint32_t i = 0; i < profile->threads.count; i++)
        COLUMN_EACH(const struct sample, sample, &profile_thread_at(profile, (thread_id){i})->samples.rows)
            if (sample->time_ns % NS_PER_MS) return true;
    return false;
}

/* Times that were made up choose nothing: a part of them would be an arbitrary part of the samples. */
static void check_times(const struct profile *profile, const struct filter *filter) {
    if (!profile->meta.has_times && filter && filter_has(filter, GECKO_CONVERT_FILTER_TIME))
        failure_set(profile->failure, FAILURE_USAGE,
                    "--time cannot be applied: the profile has no times, only an order of its samples");
}

/* Collapsed stacks without threads have become a thread of this name. */
static void recognise_made_up(struct profile *profile) {
    struct thread *thread = profile->threads.count == 1 ? profile_thread_at(profile, (thread_id){0}) : NULL;
    if (thread && !profile->meta.has_times) thread->is_made_up = text_equal(thread->name, TEXT("all stacks"));
}

/* What another program wrote, or what filters left, is written in another way: what is lost is told, processes without
 * a name get one, and rows have another order. */
static void recognise_own(const struct saved_reader *reader) {
    struct profile *profile = reader->profile;
    bool is_own = !reader->is_gecko && reader->version == PROCESSED_VERSION && !profile->ledger.entries.count;
    for (uint32_t i = 0; i < profile->processes.count && is_own; i++)
        is_own = profile_process_at(profile, (process_id){i})->name.bytes_count > 0;
    profile->meta.is_as_written = is_own;
}

static void count_kept(struct saved_reader *reader) {
    struct profile *profile = reader->profile;
    struct ledger *ledger = &profile->ledger;
    uint64_t sample_count = 0, marker_count = 0, allocation_count = 0;
    for (uint32_t i = 0; i < profile->threads.count; i++) {
        const struct thread *thread = profile_thread_at(profile, (thread_id){i});
        sample_count += samples_count(&thread->samples);
        marker_count += thread->markers.count;
        allocation_count += thread->allocations.count;
    }
    const struct {
        struct text cause;
        enum gecko_convert_unit unit;
        uint64_t count;
    } kept[] = {
        {TEXT("sample"), LEDGER_SAMPLES, sample_count},
        {TEXT("sample"), LEDGER_RECORDS, sample_count},
        {TEXT("marker"), LEDGER_RECORDS, marker_count},
        {TEXT("allocation"), LEDGER_RECORDS, allocation_count},
    };
    for (size_t i = 0; i < sizeof kept / sizeof *kept; i++) {
        ledger_account(ledger, kept[i].unit, LEDGER_KEPT, kept[i].cause, kept[i].count, NULL);
    }
}

static void init(struct saved_reader *reader, struct profile *profile, struct json_stream *json) {
    struct failure *failure = profile->failure;
    *reader = (struct saved_reader){.json = json, .profile = profile, .cpu_unit_ns = 1, .shutdown_ns = TIME_NONE};
    column_init(&reader->caller_stacks.ids, sizeof(uint32_t), failure);
    column_init(&reader->backtrace, sizeof(struct sample), failure);
    for (size_t i = 0; i < TABLE_COUNT; i++) column_init(&reader->maps[i].ids, sizeof(uint32_t), failure);
    column_init(&reader->categories, sizeof(struct saved_category), failure);
    column_init(&reader->pairs, sizeof(struct category_pair), failure);
    strings_init(&reader->texts, failure);
    column_init(&reader->processes, sizeof(uint32_t), failure);
    column_init(&reader->types, sizeof(struct saved_type), failure);
    value_table_init(&reader->tids, sizeof(struct saved_tid_key), sizeof(struct saved_tid), failure);
    column_init(&reader->thread_tids, sizeof(string_id), failure);
    column_init(&reader->origins, sizeof(struct saved_origin), failure);
    column_init(&reader->threads, sizeof(thread_id), failure);
    column_init(&reader->visible_threads, sizeof(uint32_t), failure);
}

static void fini(struct saved_reader *reader) {
    for (size_t i = 0; i < TABLE_COUNT; i++) column_fini(&reader->maps[i].ids);
    COLUMNS_FINI(&reader->caller_stacks.ids, &reader->backtrace, &reader->categories, &reader->pairs,
                 &reader->processes, &reader->types, &reader->thread_tids, &reader->origins, &reader->threads,
                 &reader->visible_threads);
    strings_fini(&reader->texts);
    value_table_fini(&reader->tids);
    memory_free(reader->values);
}

static void run(struct input *input, struct profile *profile, const struct reader_options *options) {
    enum { META_BYTES = 1 << 20 };
    struct saved_reader reader;
    struct json_stream json;
    struct text start = input_peek(input, META_BYTES);
    bool is_gecko = begins_as_gecko(start) && !begins_as_processed(start);
    json_stream_init(&json, input, profile->failure);
    init(&reader, profile, &json);
    reader.is_gecko = is_gecko;
    read_document(&reader);
    if (saved_is_good(&reader)) {
        ledger_account(&profile->ledger, LEDGER_VALUES, LEDGER_LOST, TEXT("infinite number or NaN in JsonSlabs"),
                       input_nan_count(input), NULL);
        saved_threads_link(&reader);
        saved_types_count_lost(&reader);
        profile->meta.has_times = profile->meta.has_times || has_fractions(profile);
        check_times(profile, options->filter);
        if (options->filter && saved_is_good(&reader)) filter_profile(options->filter, profile);
        settle_weights(&reader);
        saved_threads_settle_cycles(&reader);
        settle_unit(&reader);
        settle_times(&reader);
        recognise_made_up(profile);
        recognise_own(&reader);
        count_kept(&reader);
    }
    fini(&reader);
    json_stream_fini(&json);
}

static enum probe_score probe(struct text start, bool is_whole) {
    (void)is_whole;
    start = text_content(start);
    if (!text_starts_with(start, TEXT("{"))) return PROBE_NO;
    return begins_as_processed(start) || begins_as_gecko(start) ? PROBE_SURE : PROBE_NO;
}

const struct reader reader_profile = {.name = "profile",
                                      .title = "Firefox profile",
                                      .filter_kinds = FILTER_KINDS_OF_TASKS | 1U << GECKO_CONVERT_FILTER_TIME,
                                      .probe = probe,
                                      .run = run};
