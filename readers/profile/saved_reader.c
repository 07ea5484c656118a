/* Reads profiles that the front-end opens: those written here, and those of other programs. */
#include "saved_reader.h"

#include <inttypes.h>

#include "libconvert/base/memory.h"
#include "libconvert/format/processed_format.h"

/* ---- The parts of the document. ---- */

static void read_profiling_log(struct saved_reader *reader) { saved_log_read(reader, &reader->profile->profiling_log); }
static void read_gathering_log(struct saved_reader *reader) { saved_log_read(reader, &reader->profile->gathering_log); }

/* In the order in which they must be read, since each refers only to those before it. Those before FIRST_OPTIONAL are
 * in every profile. */
enum part { PART_META, PART_LIBS, PART_SHARED, PART_THREADS, PART_FIRST_OPTIONAL, PART_COUNTERS = PART_FIRST_OPTIONAL };

static const struct {
    struct text key;
    void (*read)(struct saved_reader *reader);
} PARTS[] = {
    [PART_META] = {TEXT("meta"), saved_meta_read},
    [PART_LIBS] = {TEXT("libs"), saved_libs_read},
    [PART_SHARED] = {TEXT("shared"), saved_shared_read},
    [PART_THREADS] = {TEXT("threads"), saved_threads_read},
    [PART_COUNTERS] = {TEXT("counters"), saved_counters_read},
    {TEXT("profilerOverhead"), saved_overheads_read},
    {TEXT("profilingLog"), read_profiling_log},
    {TEXT("profileGatheringLog"), read_gathering_log},
};
enum { DOCUMENT_PARTS = sizeof PARTS / sizeof *PARTS };

/* A part that came too early. */
struct early_part {
    struct text text;
    struct position position;
};

struct document_parts {
    unsigned seen; /* bits */
    unsigned done;
    struct arena memory;
    struct early_part early[DOCUMENT_PARTS];
};

static void read_part(struct saved_reader *reader, struct document_parts *parts, unsigned part) {
    json_push_name(reader->json, PARTS[part].key.bytes, -1);
    PARTS[part].read(reader);
    json_pop_name(reader->json);
    parts->done |= 1u << part;
}

/* Returns whether all parts that this one may refer to have been read. */
static bool can_read(const struct document_parts *parts, unsigned part) {
    unsigned needed = part < PART_FIRST_OPTIONAL ? (1u << part) - 1 : (1u << PART_FIRST_OPTIONAL) - 1;
    return (parts->done & needed) == needed;
}

static void keep_part(struct saved_reader *reader, struct document_parts *parts, unsigned part) {
    json_peek_kind(reader->json);
    struct position position = json_stream_position(reader->json);
    struct text text = json_skip_recording(reader->json);
    parts->early[part] = (struct early_part){arena_copy(&parts->memory, text), position};
}

static void read_early_parts(struct saved_reader *reader, struct document_parts *parts) {
    struct json_stream *whole = reader->json;
    for (unsigned part = 0; part < DOCUMENT_PARTS && saved_is_good(reader); part++) {
        struct json_stream json;
        if (!parts->early[part].text.bytes) continue;
        json_stream_init_text(&json, parts->early[part].text, parts->early[part].position, reader->profile->failure);
        reader->json = &json;
        read_part(reader, parts, part);
        json_stream_fini(&json);
    }
    reader->json = whole;
}

static void check_parts(struct saved_reader *reader, const struct document_parts *parts) {
    for (unsigned part = 0; part < PART_FIRST_OPTIONAL; part++)
        if (!(parts->seen >> part & 1) && saved_is_good(reader))
            json_stream_fail(reader->json, "the profile has no \"%s\"", PARTS[part].key.bytes);
}

static bool read_document_part(struct saved_reader *reader, struct text key, void *context) {
    struct document_parts *parts = context;
    for (unsigned part = 0; part < DOCUMENT_PARTS; part++) {
        if (!text_equal(key, PARTS[part].key)) continue;
        if (parts->seen >> part & 1)
            json_stream_fail(reader->json, "the key \"%s\" is there twice", PARTS[part].key.bytes);
        parts->seen |= 1u << part;
        if (can_read(parts, part))
            read_part(reader, parts, part);
        else
            keep_part(reader, parts, part);
        return true;
    }
    return false;
}

static void read_document(struct saved_reader *reader) {
    static const struct shape no_shape;
    struct document_parts parts = {0};
    arena_init(&parts.memory, reader->profile->failure);
    saved_read_members(reader, &no_shape, NULL, read_document_part, &parts);
    json_stream_finish(reader->json);
    check_parts(reader, &parts);
    read_early_parts(reader, &parts);
    arena_fini(&parts.memory);
}

/* ---- The end. ---- */

/* A profile without weights is one whose times between samples say how long something ran. */
static void settle_weights(struct saved_reader *reader) {
    struct profile_meta *meta = &reader->profile->meta;
    bool has_times = !reader->has_weights || (reader->has_null_weights && !reader->has_other_weights);
    if (has_times) meta->weight_type = WEIGHT_ONE;
    meta->has_every_state = has_times;
}

/* Zero is the profile's zero again, whatever its first event is. */
static void settle_times(struct saved_reader *reader) {
    struct profile *profile = reader->profile;
    profile->recording.program_start_ns = 0;
    if (profile->meta.epoch_offset_ns) profile->meta.epoch_offset_ns -= reader->origin_ns;
    profile_shift_times(profile, reader->origin_ns);
}

/* Collapsed stacks without threads have become a thread of this name. */
static void recognise_made_up(struct profile *profile) {
    struct thread *thread = profile->threads.count == 1 ? profile_thread_at(profile, (thread_id){0}) : NULL;
    if (thread && !profile->meta.has_times) thread->is_made_up = text_equal(thread->name, TEXT("all stacks"));
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
        ledger_read(ledger, kept[i].unit, kept[i].count);
        ledger_enter(ledger, kept[i].unit, LEDGER_KEPT, kept[i].cause, kept[i].count, NULL);
    }
}

static void init(struct saved_reader *reader, struct profile *profile, struct json_stream *json) {
    struct failure *failure = profile->failure;
    *reader = (struct saved_reader){.json = json, .profile = profile, .cpu_unit = CPU_DELTA_NS, .cpu_unit_ns = 1};
    for (size_t i = 0; i < TABLE_COUNT; i++) column_init(&reader->maps[i].ids, sizeof(uint32_t), failure);
    column_init(&reader->categories, sizeof(struct saved_category), failure);
    column_init(&reader->pairs, sizeof(struct category_pair), failure);
    strings_init(&reader->texts, failure);
    column_init(&reader->processes, sizeof(uint32_t), failure);
    column_init(&reader->types, sizeof(struct saved_type), failure);
    column_init(&reader->tids, sizeof(uint32_t), failure);
    column_init(&reader->thread_tids, sizeof(string_id), failure);
    column_init(&reader->origins, sizeof(struct saved_origin), failure);
    column_init(&reader->visible_threads, sizeof(uint32_t), failure);
}

static void fini(struct saved_reader *reader) {
    for (size_t i = 0; i < TABLE_COUNT; i++) column_fini(&reader->maps[i].ids);
    column_fini(&reader->categories);
    column_fini(&reader->pairs);
    strings_fini(&reader->texts);
    column_fini(&reader->processes);
    column_fini(&reader->types);
    column_fini(&reader->tids);
    column_fini(&reader->thread_tids);
    column_fini(&reader->origins);
    column_fini(&reader->visible_threads);
    memory_free(reader->values);
}

static void run(struct input *input, struct profile *profile, const struct reader_options *options) {
    struct saved_reader reader;
    struct json_stream json;
    json_stream_init(&json, input, profile->failure);
    init(&reader, profile, &json);
    read_document(&reader);
    if (saved_is_good(&reader)) {
        saved_threads_link(&reader);
        saved_types_count_lost(&reader);
        if (options->filter) saved_filter(&reader, options->filter);
        settle_weights(&reader);
        saved_threads_settle_cycles(&reader);
        settle_times(&reader);
        recognise_made_up(profile);
        count_kept(&reader);
    }
    fini(&reader);
    json_stream_fini(&json);
}

/* ---- Recognising profiles. ---- */

static bool has(struct text text, struct text part) {
    return text.bytes_count && memmem(text.bytes, text.bytes_count, part.bytes, part.bytes_count);
}

static enum probe_score probe(struct text start, bool is_whole) {
    (void)is_whole;
    if (text_starts_with(start, TEXT("\xef\xbb\xbf"))) start = text_from(start, 3);
    while (start.bytes_count && strchr(" \t\r\n", start.bytes[0]) && start.bytes[0]) start = text_from(start, 1);
    if (!text_starts_with(start, TEXT("{"))) return PROBE_NO;
    bool is_profile = has(start, TEXT("\"meta\"")) && has(start, TEXT("\"preprocessedProfileVersion\""));
    return is_profile ? PROBE_SURE : PROBE_NO;
}

const struct reader reader_profile = {.name = "profile",
                                      .title = "Firefox profile",
                                      .filter_kinds = 1U << GECKO_CONVERT_FILTER_TIME | 1U << GECKO_CONVERT_FILTER_PID |
                                                      1U << GECKO_CONVERT_FILTER_TID | 1U << GECKO_CONVERT_FILTER_COMM |
                                                      1U << GECKO_CONVERT_FILTER_EXCLUDE_COMM,
                                      .probe = probe,
                                      .run = run};
