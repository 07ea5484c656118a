/* Reads perf.data: files, streams ("perf record -o -"), and folders ("perf record --threads"). The header of a file
 * gives the location of the events and of the records. Sections after the records describe the recording. A stream
 * contains all of this as records. Layout: Linux tools/perf/Documentation/perf.data-file-format.txt. */
#include <stdio.h>

#include "data_folder.h"
#include "data_stream.h"
#include "libconvert/base/memory.h"
#include "perf_data_internal.h"
#include "readers/perf/perf_script_frames.h"

static const struct text magic = TEXT("PERFILE2");

enum {
    FILE_HEADER_BYTES = 104,
    STREAM_HEADER_BYTES = 16,
    FEATURE_BITS_AT = 72,
    FEATURE_WORDS = 4,
    SECTION_BYTES = 16, /* offset, size */
};

/* Size limit of the events and their ids, which come before the records. */
static const uint64_t PREAMBLE_BYTES_MAX = UINT64_C(256) << 20;

struct section {
    uint64_t offset;
    uint64_t size_bytes;
};

static struct section section_at(const char *bytes) {
    return (struct section){data_load_u64(bytes), data_load_u64(bytes + 8)};
}

/* Returns the section's bytes. `bytes` are the start of the file. Returns an empty text if they do not contain the
 * whole section. */
static struct text section_in(struct text bytes, struct section section) {
    if (section.offset > bytes.bytes_count) return (struct text){0};
    struct text rest = text_from(bytes, (size_t)section.offset);
    return section.size_bytes > rest.bytes_count ? (struct text){0} : text_slice(rest, 0, (size_t)section.size_bytes);
}

static void read_records(struct perf_data *data, struct input *input, uint64_t end) {
    struct data_stream stream;
    data_stream_init(&stream, data, input, 0, end);
    data_stream_read(&stream, UINT64_MAX);
    data_stream_fini(&stream);
}

/* ---- Files. ---- */

static void add_file_attr(struct perf_data *data, struct text entry, struct text preamble, uint64_t offset) {
    struct text attr = text_slice(entry, 0, entry.bytes_count - SECTION_BYTES);
    struct section ids = section_at(entry.bytes + attr.bytes_count);
    uint32_t row = data_records_add_attr(data, attr, offset);
    if (row == ID_NONE) return;
    struct text words = section_in(preamble, ids);
    if (ids.size_bytes && !words.bytes_count) data_tally(data, DATA_BAD_ATTR, 1, offset);
    for (size_t i = 0; i < words.bytes_count / 8; i++) data_attrs_add_id(&data->attrs, data_word_at(words, i), row);
}

/* Reads the events. `preamble` is the part of the file before the records. */
static void read_attrs(struct perf_data *data, struct text preamble) {
    uint64_t entry_bytes = data_load_u64(preamble.bytes + 16);
    struct section attrs = section_at(preamble.bytes + 24);
    struct text entries = section_in(preamble, attrs);
    if (entry_bytes <= SECTION_BYTES || !entries.bytes_count) {
        data_tally(data, DATA_BAD_ATTR, 1, attrs.offset);
        return;
    }
    for (uint64_t offset = attrs.offset; entries.bytes_count >= entry_bytes; offset += entry_bytes) {
        add_file_attr(data, text_slice(entries, 0, (size_t)entry_bytes), preamble, offset);
        entries = text_from(entries, (size_t)entry_bytes);
    }
}

static bool has_feature(const char *bits, unsigned bit) { return data_load_u64(bits + bit / 64 * 8) >> bit % 64 & 1; }

enum { FEATURES_MAX = 64 * FEATURE_WORDS };

struct feature_section {
    unsigned bit;
    struct section section;
};

static int compare_sections(const void *left, const void *right) {
    const struct feature_section *a = left, *b = right;
    return (a->section.offset > b->section.offset) - (a->section.offset < b->section.offset);
}

/* Reads the sections before the records if the whole file is in memory, so names and build ids are known when the
 * records need them. Returns false if the sections must be read after the records. */
static bool read_features_ahead(struct perf_data *data, struct input *input, const char *bits, uint64_t end) {
    struct text file = input_at_hand(input);
    if (end >= file.bytes_count) return false;
    struct text table = text_from(file, (size_t)end);
    for (unsigned bit = 0; bit < FEATURES_MAX; bit++) {
        if (!has_feature(bits, bit)) continue;
        if (table.bytes_count < SECTION_BYTES) {
            data_tally(data, DATA_BAD_FEATURE, 1, end);
            break;
        }
        struct section section = section_at(table.bytes);
        struct text bytes = section_in(file, section);
        table = text_from(table, SECTION_BYTES);
        if (bytes.bytes_count == section.size_bytes)
            data_features_read(data, bit, bytes, section.offset);
        else
            data_tally(data, DATA_BAD_FEATURE, 1, section.offset);
    }
    return true;
}

/* Reads the sections. Their table directly follows the records, and the sections follow the table in any order. */
static void read_features(struct perf_data *data, struct input *input, const char *bits) {
    struct feature_section sections[FEATURES_MAX];
    size_t count = 0;
    for (unsigned bit = 0; bit < FEATURES_MAX; bit++)
        if (has_feature(bits, bit)) sections[count++].bit = bit;
    uint64_t table_at = input_offset(input);
    struct text table = input_peek(input, count * SECTION_BYTES);
    if (table.bytes_count < count * SECTION_BYTES) {
        data_tally(data, DATA_BAD_FEATURE, count, table_at);
        return;
    }
    for (size_t i = 0; i < count; i++) sections[i].section = section_at(table.bytes + i * SECTION_BYTES);
    memory_sort(data->profile->failure, sections, count, sizeof *sections, compare_sections);
    for (size_t i = 0; i < count && !failure_is_set(data->profile->failure); i++) {
        struct section section = sections[i].section;
        uint64_t offset = input_offset(input);
        if (section.offset > offset) data_skip(input, section.offset - offset);
        bool is_sane = input_offset(input) == section.offset && section.size_bytes <= PREAMBLE_BYTES_MAX;
        struct text bytes = is_sane ? input_peek(input, (size_t)section.size_bytes) : (struct text){0};
        if (is_sane && bytes.bytes_count >= section.size_bytes)
            data_features_read(data, sections[i].bit, text_slice(bytes, 0, (size_t)section.size_bytes), section.offset);
        else
            data_tally(data, DATA_BAD_FEATURE, 1, section.offset);
    }
}

static void read_file(struct perf_data *data, struct input *input) {
    char header[FILE_HEADER_BYTES];
    struct text start = input_peek(input, FILE_HEADER_BYTES);
    memcpy(header, start.bytes, sizeof header);
    struct section records = section_at(header + 40);
    if (records.offset < FILE_HEADER_BYTES || records.offset > PREAMBLE_BYTES_MAX) {
        failure_set(data->profile->failure, FAILURE_INPUT, "%s: the header of this perf.data is damaged",
                    input_name(input));
        return;
    }
    /* perf writes the size of the records when the recording ends. If perf was killed, the size is 0 and there are no
     * sections. */
    bool is_finished = records.size_bytes > 0;
    if (is_finished && has_feature(header + FEATURE_BITS_AT, FEATURE_FOLDER) && !input_part_count(input)) {
        failure_set(data->profile->failure, FAILURE_INPUT,
                    "%s: this is the header of a folder that perf record --threads wrote; the samples are in its other "
                    "files, data.0 and so on; name the folder itself, outside of any archive, as the input",
                    input_name(input));
        return;
    }
    struct text preamble = text_slice(input_peek(input, (size_t)records.offset), 0, (size_t)records.offset);
    if (preamble.bytes_count < records.offset) {
        data_tally(data, DATA_CUT_OFF, 1, preamble.bytes_count);
        return;
    }
    read_attrs(data, preamble);
    uint64_t end = is_finished ? records.offset + records.size_bytes : UINT64_MAX;
    if (end < records.offset) end = UINT64_MAX;
    bool has_features = is_finished && read_features_ahead(data, input, header + FEATURE_BITS_AT, end);
    input_consume(input, (size_t)records.offset);
    read_records(data, input, end);
    if (is_finished && input_offset(input) < end) data_tally(data, DATA_CUT_OFF, 1, input_offset(input));
    if (is_finished && !has_features && input_offset(input) == end)
        read_features(data, input, header + FEATURE_BITS_AT);
}

/* ---- The ledger. ---- */

static const struct ledger_cause causes[DATA_TALLY_COUNT] = {
    [DATA_DAMAGED_RECORD] = {LEDGER_RECORDS, LEDGER_LOST, TEXT("damaged record")},
    [DATA_CUT_OFF] = {LEDGER_RECORDS, LEDGER_LOST, TEXT("record after which the recording is cut off")},
    [DATA_BAD_SAMPLE] = {LEDGER_SAMPLES, LEDGER_LOST, TEXT("damaged sample")},
    [DATA_UNKNOWN_EVENT] = {LEDGER_SAMPLES, LEDGER_LOST,
                            TEXT("sample of an event that the recording does not describe")},
    [DATA_NO_STACK] = {LEDGER_SAMPLES, LEDGER_LOST, TEXT("sample without a stack")},
    [DATA_BAD_ATTR] = {LEDGER_RECORDS, LEDGER_LOST, TEXT("damaged description of an event")},
    [DATA_BAD_FEATURE] = {LEDGER_RECORDS, LEDGER_LOST, TEXT("damaged section of the header")},
    [DATA_BAD_COMPRESSION] = {LEDGER_RECORDS, LEDGER_LOST, TEXT("damaged compressed records")},
    [DATA_JUMP] = {LEDGER_SAMPLES, LEDGER_NOTED, TEXT("sample earlier than the one before it in its thread: sorted")},
    [DATA_NO_TIME] = {LEDGER_SAMPLES, LEDGER_NOTED, TEXT("sample without a time: made up from the order")},
    [DATA_LOST_BY_PERF] = {LEDGER_SAMPLES, LEDGER_NOTED, TEXT("sample that perf itself lost while recording")},
    [DATA_LATE] = {LEDGER_RECORDS, LEDGER_NOTED, TEXT("record that came long after later ones: used late")},
    [DATA_CPU] = {LEDGER_VALUES, LEDGER_NOTED, TEXT("processor number: profiles have no place for it")},
    [DATA_BAD_CHAIN] = {LEDGER_SAMPLES, LEDGER_NOTED, TEXT("sample whose outer frames are garbage: left out")},
    [DATA_BRANCHES] = {LEDGER_VALUES, LEDGER_LOST, TEXT("branch stack")},
    [DATA_ADDRESS] = {LEDGER_VALUES, LEDGER_NOTED, TEXT("address or weight of data: profiles have no place for it")},
    [DATA_CUT_STACK] = {LEDGER_SAMPLES, LEDGER_NOTED,
                        TEXT("sample whose copied stack could not be followed to its outermost frame")},
    [DATA_NO_USER_STACK] = {LEDGER_SAMPLES, LEDGER_NOTED, TEXT("sample whose deferred user stack never came")},
    [DATA_UNUSED_USER_STACK] = {LEDGER_RECORDS, LEDGER_NOTED, TEXT("deferred user stack that no sample waits for")},
    [DATA_NO_PERIOD] = {LEDGER_SAMPLES, LEDGER_NOTED, TEXT("sample that weighs one: the trace tells no periods")},
    [DATA_JIT_REFUSED] = {LEDGER_VALUES, LEDGER_NOTED,
                          TEXT("perf map or jitdump that was not read, as others own it or it is not a regular file")},
    [DATA_JIT_DAMAGED] = {LEDGER_VALUES, LEDGER_NOTED, TEXT("damaged part of a perf map or jitdump")},
    [DATA_UNKNOWN_FORMAT] = {LEDGER_VALUES, LEDGER_LOST, TEXT("payload of a tracepoint of an unknown format")},
    [DATA_TRACEPOINT_FIELDS] = {LEDGER_VALUES, LEDGER_LOST, TEXT("fields of a tracepoint with a stack")},
};

/* ---- The end. ---- */

static void add_tracepoints(struct perf_data *data) {
    for (size_t i = 0; i < data->tracepoints.count; i++) {
        const struct data_tracepoint *tracepoint = column_at(&data->tracepoints, i);
        const struct perf_occurrence *occurrence = &tracepoint->occurrence;
        const union marker_value *values;
        uint16_t schema = data_tracing_decode(&data->tracing, tracepoint->id, tracepoint->raw, &values);
        if (schema != MARKER_SCHEMA_NONE) {
            perf_recording_add_tracepoint(&data->recording, occurrence, schema, values);
            continue;
        }
        perf_recording_add_tracepoint_text(&data->recording, occurrence, TEXT(""));
        data_tally(data, DATA_UNKNOWN_FORMAT, tracepoint->raw.bytes_count > 0, occurrence->position.offset);
    }
}

/* Replaces the stack rows of data_code, which samples have so far, by the profile's stack ids. */
static void renumber_stacks(struct perf_data *data, const stack_id *stacks) {
    for (size_t i = 0; i < data->recording.tasks.series.count; i++) {
        struct perf_series *series = column_at(&data->recording.tasks.series, i);
        for (uint32_t row = 0; row < samples_count(&series->samples); row++) {
            stack_id *stack = &samples_at(&series->samples, row)->stack;
            if (!stack_is_none(*stack)) *stack = stacks[stack->index];
        }
    }
}

/* Sources of function names. Symbols are read at the first look-up that needs them. */
struct naming {
    struct perf_data *data;
    struct data_kernel *kernel; /* NULL: not loaded */
};

struct data_kernel_identity data_kernel_identify(struct perf_data *data) {
    struct data_kernel_identity identity = data_code_kernel(&data->code);
    identity.release = data->os_release;
    identity.recording = data->input;
    return identity;
}

/* Returns NULL if no files may be opened. */
static struct data_kernel *load_kernel(struct naming *naming) {
    struct perf_data *data = naming->data;
    if (naming->kernel || !data->folders) return naming->kernel;
    struct data_kernel_identity identity = data_kernel_identify(data);
    naming->kernel = data_kernel_ahead_use(&data->kernel, &identity, data->folders, data->profile->failure);
    return naming->kernel;
}

static bool find_kernel(void *context, uint64_t address, struct data_name *name) {
    const struct data_kernel *kernel = load_kernel(context);
    return kernel && data_kernel_find(kernel, address, name);
}

static bool find_in_module(void *context, const struct data_kernel_module *module, uint64_t address,
                           struct data_name *name) {
    struct data_kernel *kernel = load_kernel(context);
    return kernel && data_kernel_find_in_module(kernel, module, address, name);
}

static bool find_vdso(void *context, struct text build_id, uint64_t offset, struct data_name *name) {
    struct naming *naming = context;
    struct data_vdso *vdso = &naming->data->vdso;
    const struct debug_folders *folders = naming->data->folders;
    return folders && data_vdso_load(vdso, folders, build_id, naming->data->os_release) &&
           data_vdso_find(vdso, offset, name);
}

static bool find_generated(void *context, int64_t pid, uint64_t address, uint64_t code_number, struct data_name *name) {
    struct naming *naming = context;
    return data_jit_find(&naming->data->jit, pid, address, code_number, name);
}

static void make_stacks(struct perf_data *data) {
    struct naming naming = {.data = data};
    struct data_names names = {&naming, find_kernel, find_in_module, find_vdso, find_generated};
    stack_id *stacks = data_code_finish(&data->code, &names);
    uint64_t unread_count = naming.kernel ? naming.kernel->unread_count : 0;
    ledger_read(&data->profile->ledger, LEDGER_VALUES, unread_count);
    ledger_enter(&data->profile->ledger, LEDGER_VALUES, LEDGER_LOST,
                 TEXT("symbols of the kernel or a module: the process that reads them could not be started, or ended"),
                 unread_count, NULL);
    data_kernel_ahead_fini(&data->kernel);
    if (stacks && !failure_is_set(data->profile->failure)) renumber_stacks(data, stacks);
    memory_free(stacks);
}

static void finish(struct perf_data *data, const struct reader_options *options) {
    data_samples_finish(data);
    uint32_t chosen = perf_events_choose(&data->recording.events);
    data_tally(data, DATA_LATE, data->order.late_count, 0);
    /* All records have been used. What is left needs other memory. */
    data_order_fini(&data->order);
    data_unwind_enter_losses(&data->unwind, &data->profile->ledger);
    data_unwind_fini(&data->unwind);
    /* LOST and LOST_SAMPLES records count the same losses. */
    uint64_t lost_count = data->lost_samples_count ? data->lost_samples_count : data->lost_count;
    data_tally(data, DATA_LOST_BY_PERF, lost_count, data->first_lost.offset);
    if (options->weight == GECKO_CONVERT_WEIGHT_PERIOD && chosen != ID_NONE) {
        const struct perf_event *event = perf_events_at(&data->recording.events, chosen);
        if (!event->has_period) data_tally(data, DATA_NO_PERIOD, event->sample_count, event->first.offset);
    }
    make_stacks(data);
    data_tally(data, DATA_JIT_REFUSED, data->jit.refused_count, 0);
    data_tally(data, DATA_JIT_DAMAGED, data->jit.damaged_count, 0);
    if (failure_is_set(data->profile->failure)) return;
    add_tracepoints(data);
    perf_activity_finish(&data->recording.activity, &data->recording.tasks, data->last_time_ns);
    data_records_enter(data);
    ledger_enter_tallies(&data->profile->ledger, causes, data->tallies, DATA_TALLY_COUNT);
    data->recording.has_libraries = true;
    perf_recording_finish(&data->recording, chosen, options->weight);
    if (data->has_named_clock) data->profile->meta.tick_relation = (struct tick_relation){.is_known = false};
}

static void read_container(struct perf_data *data, struct input *input) {
    struct text start = input_peek(input, FILE_HEADER_BYTES);
    uint64_t header_bytes = start.bytes_count >= STREAM_HEADER_BYTES ? data_load_u64(start.bytes + 8) : 0;
    if (text_starts_with(start, TEXT("2ELIFREP"))) {
        failure_set(data->profile->failure, FAILURE_INPUT,
                    "%s: this perf.data was recorded on a big-endian machine, and only those of little-endian machines "
                    "are read; convert its text: perf script -F +pid -i FILE | gecko-convert -",
                    input_name(input));
    } else if (!text_starts_with(start, magic)) {
        failure_set(data->profile->failure, FAILURE_INPUT, "%s: is not a perf.data file", input_name(input));
    } else if (header_bytes == STREAM_HEADER_BYTES) {
        input_consume(input, STREAM_HEADER_BYTES);
        read_records(data, input, UINT64_MAX);
    } else if (header_bytes >= FILE_HEADER_BYTES && start.bytes_count >= FILE_HEADER_BYTES) {
        read_file(data, input);
    } else {
        failure_set(data->profile->failure, FAILURE_INPUT, "%s: the header of this perf.data is damaged or cut off",
                    input_name(input));
    }
    if (failure_is_set(data->profile->failure)) return;
    data_skip(input, UINT64_MAX); /* skip bytes after damage, and sections that were read ahead */
    data_folder_read(data, input);
    data_order_finish(&data->order);
}

static void run(struct input *input, struct profile *profile, const struct reader_options *options) {
    struct perf_data data = {.input = input,
                             .profile = profile,
                             .folders = options->ignores_code_files ? NULL : options->debug_folders,
                             .has_threads = options->job_count > 1};
    perf_recording_init(&data.recording, profile);
    data_attrs_init(&data.attrs, profile->failure);
    data_order_init(&data.order, data_records_use, &data, profile->failure);
    data_code_init(&data.code, profile);
    data_stacks_init(&data.stacks, &data.code);
    data_tracing_init(&data.tracing, profile);
    data_jit_init(&data.jit, options->perf_map_folder, !options->ignores_code_files && options->debug_folders,
                  profile->failure);
    data.code.jit = &data.jit;
    if (options->debug_folders) data.jit.sysroot = options->debug_folders->sysroot;
    data.jit.has_owner = input_owner(input, &data.jit.owner);
    data_vdso_init(&data.vdso, profile->failure);
    const struct data_unwind_sources sources = {
        .code = &data.code,
        .vdso = &data.vdso,
        .os_release = &data.os_release,
        .folders = data.folders,
    };
    data_unwind_init(&data.unwind, &sources, profile->failure);
    arena_init(&data.texts, profile->failure);
    column_init(&data.tracepoints, sizeof(struct data_tracepoint), profile->failure);
    read_container(&data, input);
    if (!failure_is_set(profile->failure)) finish(&data, options);
    data_stacks_fini(&data.stacks);
    column_fini(&data.tracepoints);
    arena_fini(&data.texts);
    data_unwind_fini(&data.unwind);
    data_vdso_fini(&data.vdso);
    data_kernel_ahead_fini(&data.kernel);
    data_jit_fini(&data.jit);
    data_tracing_fini(&data.tracing);
    data_code_fini(&data.code);
    data_order_fini(&data.order);
    data_attrs_fini(&data.attrs);
    perf_recording_fini(&data.recording);
}

static enum probe_score probe(struct text start, bool is_whole) {
    (void)is_whole;
    return text_starts_with(start, magic) ? PROBE_SURE : PROBE_NO;
}

const struct reader reader_perf_data = {
    .name = "perf-data",
    .title = "perf.data",
    .probe = probe,
    .run = run,
    .name_func = perf_script_frames_name,
};
