/* Reads perf.data: files, streams ("perf record -o -"), and folders ("perf record --threads"). The header of a file
 * gives the location of the events and of the records. Sections after the records describe the recording. A stream
 * contains all of this as records. Layout: Linux tools/perf/Documentation/perf.data-file-format.txt. */
#include "data_stream.h"
#include "libconvert/base/memory.h"
#include "readers/input/foreign.h"

enum {
    FILE_HEADER_BYTES = 104,
    STREAM_HEADER_BYTES = 16,
    FEATURE_BITS_AT = 72,
    FEATURE_WORDS = 4,
    SECTION_BYTES = 16, /* offset, size */
};

/* Size limit of the events and their ids, which precede the records, and of each section after the records. */
static const uint64_t PREAMBLE_BYTES_MAX = UINT64_C(256) << 20;

struct section {
    uint64_t offset;
    uint64_t size_bytes;
};

static struct section section_at(const char *bytes) {
    return (struct section){perf_load_u64(bytes), perf_load_u64(bytes + 8)};
}

/* Returns the section's bytes. `bytes` are the start of the file. Returns an empty text if they do not contain the
 * whole section. */
static struct text section_in(struct text bytes, struct section section) {
    if (section.offset > bytes.bytes_count) return (struct text){0};
    struct text rest = text_from(bytes, (size_t)section.offset);
    return section.size_bytes > rest.bytes_count ? (struct text){0} : text_slice(rest, 0, (size_t)section.size_bytes);
}

static void read_records(struct data_parser *parser, struct input *input, uint64_t end) {
    struct data_stream stream;
    data_stream_init(&stream, parser, input, 0, end);
    data_stream_read(&stream, UINT64_MAX);
    data_stream_fini(&stream);
}

/* ---- Files. ---- */

/* Lists of ids do not overlap, so all of them together fit the preamble: *left_bytes of it are not yet in a list. */
static void add_file_attr(struct data_parser *parser, struct text entry, struct text preamble, size_t *left_bytes,
                          uint64_t offset) {
    struct text attr = text_slice(entry, 0, entry.bytes_count - SECTION_BYTES);
    struct section ids = section_at(entry.bytes + attr.bytes_count);
    uint32_t row = data_records_add_attr(parser, attr, offset);
    if (row == ID_NONE) return;
    struct text words = section_in(preamble, ids);
    if (words.bytes_count > *left_bytes) words.bytes_count = 0;
    *left_bytes -= words.bytes_count;
    if (ids.size_bytes && !words.bytes_count) data_tally(parser, TALLY_BAD_ATTR, 1, offset);
    for (size_t i = 0; i < words.bytes_count / 8; i++) data_attrs_add_id(&parser->attrs, perf_word_at(words, i), row);
}

/* Reads the events. `preamble` is the part of the file before the records. */
static void read_attrs(struct data_parser *parser, struct text preamble) {
    uint64_t entry_bytes = perf_load_u64(preamble.bytes + 16);
    struct section attrs = section_at(preamble.bytes + 24);
    struct text entries = section_in(preamble, attrs);
    size_t left_bytes = preamble.bytes_count;
    if (entry_bytes <= SECTION_BYTES || !entries.bytes_count) {
        data_tally(parser, TALLY_BAD_ATTR, 1, attrs.offset);
        return;
    }
    for (uint64_t offset = attrs.offset; entries.bytes_count >= entry_bytes; offset += entry_bytes) {
        add_file_attr(parser, text_slice(entries, 0, (size_t)entry_bytes), preamble, &left_bytes, offset);
        entries = text_from(entries, (size_t)entry_bytes);
    }
}

static bool has_feature(const char *bits, unsigned bit) { return perf_load_u64(bits + bit / 64 * 8) >> bit % 64 & 1; }

enum { FEATURES_MAX = 64 * FEATURE_WORDS };

struct feature_section {
    unsigned bit;
    struct section section;
};

static int compare_sections(const void *a, const void *b) {
    return ORDER_BY(struct feature_section, section.offset, a, b);
}

/* Lists the sections by offset, and returns how many there are. Their table follows the records directly, and the
 * sections follow the table in any order. What is damaged is counted and left out. */
static size_t list_sections(struct data_parser *parser, struct text table, const char *bits, uint64_t table_at,
                            struct feature_section sections[FEATURES_MAX]) {
    size_t count = 0, good_count = 0;
    for (unsigned bit = 0; bit < FEATURES_MAX; bit++)
        if (has_feature(bits, bit)) sections[count++].bit = bit;
    if (table.bytes_count < count * SECTION_BYTES) {
        data_tally(parser, TALLY_BAD_FEATURE, count, table_at);
        return 0;
    }
    for (size_t i = 0; i < count; i++) {
        struct section section = section_at(table.bytes + i * SECTION_BYTES);
        /* perf writes an empty section about the processor if it does not know that, as on ARM. */
        if (!section.size_bytes) continue;
        if (section.offset >= table_at && section.size_bytes <= PREAMBLE_BYTES_MAX)
            sections[good_count++] = (struct feature_section){sections[i].bit, section};
        else
            data_tally(parser, TALLY_BAD_FEATURE, 1, section.offset);
    }
    memory_sort(parser->failure, sections, good_count, sizeof *sections, compare_sections);
    struct section last = good_count ? sections[good_count - 1].section : (struct section){table_at, 0};
    parser->file_end = last.offset + last.size_bytes;
    return good_count;
}

static void read_section(struct data_parser *parser, const struct feature_section *section, struct text bytes) {
    if (bytes.bytes_count == section->section.size_bytes)
        data_features_read(parser, section->bit, bytes, section->section.offset);
    else
        data_tally(parser, TALLY_BAD_FEATURE, 1, section->section.offset);
}

/* Reads the sections before the records if the whole file is in memory, so names and build ids are known when the
 * records need them. Returns false if the sections must be read after the records. */
static bool read_features_ahead(struct data_parser *parser, struct input *input, const char *bits, uint64_t end) {
    struct feature_section sections[FEATURES_MAX];
    struct text file = input_at_hand(input);
    if (end >= file.bytes_count) return false;
    size_t count = list_sections(parser, text_from(file, (size_t)end), bits, end, sections);
    for (size_t i = 0; i < count; i++) read_section(parser, &sections[i], section_in(file, sections[i].section));
    return true;
}

static void read_features(struct data_parser *parser, struct input *input, const char *bits) {
    struct feature_section sections[FEATURES_MAX];
    struct text table = input_peek(input, (size_t)FEATURES_MAX * SECTION_BYTES);
    size_t count = list_sections(parser, table, bits, input_offset(input), sections);
    for (size_t i = 0; i < count && !failure_is_set(parser->failure); i++) {
        struct section section = sections[i].section;
        input_skip(input, section.offset - input_offset(input));
        struct text bytes = input_peek(input, (size_t)section.size_bytes);
        read_section(parser, &sections[i], text_slice(bytes, 0, (size_t)section.size_bytes));
    }
}

static void read_file(struct data_parser *parser, struct input *input) {
    char header[FILE_HEADER_BYTES];
    struct text start = input_peek(input, FILE_HEADER_BYTES);
    memcpy(header, start.bytes, sizeof header);
    struct section records = section_at(header + 40);
    if (records.offset < FILE_HEADER_BYTES || records.offset > PREAMBLE_BYTES_MAX) {
        failure_set(parser->failure, FAILURE_INPUT, "%s: the header of this perf.data is damaged", input_name(input));
        return;
    }
    /* perf writes the size of the records when the recording ends. If perf was killed, the size is 0 and there are no
     * sections. */
    bool is_finished = records.size_bytes > 0;
    if (is_finished && has_feature(header + FEATURE_BITS_AT, FEATURE_FOLDER) && !input_part_count(input)) {
        failure_set(parser->failure, FAILURE_INPUT,
                    "%s: this is the header of a folder that perf record --threads wrote; the samples are in its other "
                    "files, data.0 and so on; name the folder itself, outside of any archive, as the input",
                    input_name(input));
        return;
    }
    struct text preamble = text_slice(input_peek(input, (size_t)records.offset), 0, (size_t)records.offset);
    if (preamble.bytes_count < records.offset) {
        data_tally(parser, TALLY_CUT_OFF, 1, preamble.bytes_count);
        return;
    }
    read_attrs(parser, preamble);
    uint64_t end = is_finished ? records.offset + records.size_bytes : UINT64_MAX;
    if (end < records.offset) end = UINT64_MAX;
    bool has_features = is_finished && read_features_ahead(parser, input, header + FEATURE_BITS_AT, end);
    input_consume(input, (size_t)records.offset);
    read_records(parser, input, end);
    if (is_finished) input_skip(input, end - input_offset(input)); /* records after damage */
    if (is_finished && input_offset(input) < end) data_tally(parser, TALLY_CUT_OFF, 1, input_offset(input));
    if (is_finished && !has_features && input_offset(input) == end)
        read_features(parser, input, header + FEATURE_BITS_AT);
    if (parser->file_end > input_offset(input)) input_skip(input, parser->file_end - input_offset(input));
    if (parser->file_end && text_starts_with(input_peek(input, STREAM_HEADER_BYTES), TEXT("PERFILE2")))
        data_tally(parser, TALLY_NEXT_RECORDING, 1, input_offset(input));
}

/* ---- Folders. ---- */

/* The files data.0, data.1… of a folder that perf record --threads wrote have the records of some processors each, from
 * their first byte on, and compressed records of their own zstd stream. No rounds end in them, so the files are read
 * side by side, and data_order sorts what has been read.
 *
 * Offsets in the recording count the bytes of the file `data` and of the files before, as though all were one file. */

/* How far a file may be read ahead of the others at a time. */
static const uint64_t STEP_NS = 10000000;

/* Returns the file that has been read the least far in time; NULL if all have ended. *limit_ns becomes the time up to
 * which it may be read. */
static struct data_stream *earliest(struct data_stream *streams, size_t count, uint64_t *limit_ns) {
    struct data_stream *first = NULL;
    uint64_t second_ns = UINT64_MAX;
    for (size_t i = 0; i < count; i++) {
        struct data_stream *stream = &streams[i];
        if (stream->has_ended) continue;
        if (!first || stream->now_ns < first->now_ns) {
            if (first) second_ns = first->now_ns;
            first = stream;
        } else if (stream->now_ns < second_ns) {
            second_ns = stream->now_ns;
        }
    }
    *limit_ns = second_ns <= UINT64_MAX - STEP_NS ? second_ns + STEP_NS : UINT64_MAX;
    return first;
}

static void close_part(struct data_stream *stream) {
    input_close(stream->input);
    data_stream_fini(stream);
}

/* Reads the files, if the input has any, after the header and the records of `data` have been read. */
static void read_parts(struct data_parser *parser, struct input *input) {
    size_t count = input_part_count(input);
    if (!count) return;
    struct failure *failure = parser->failure;
    struct data_stream *streams = memory_allocate_zeroed(failure, count, sizeof *streams);
    uint64_t start = input_offset(input), done_bytes, part_bytes;
    size_t open_count = 0;
    while (streams && open_count < count) {
        struct input *part = input_open_part(input, open_count);
        if (!part) break;
        data_stream_init(&streams[open_count++], parser, part, start, UINT64_MAX);
        input_source_progress(part, &done_bytes, &part_bytes);
        start += part_bytes;
    }
    uint64_t limit_ns;
    for (struct data_stream *stream; open_count == count && (stream = earliest(streams, count, &limit_ns));)
        data_stream_read(stream, limit_ns);
    for (size_t i = 0; i < open_count; i++) close_part(&streams[i]);
    memory_free(streams);
}

/* ---- All containers. ---- */

static void read_container(struct data_parser *parser, struct input *input) {
    struct text start = input_peek(input, FILE_HEADER_BYTES);
    uint64_t header_bytes = start.bytes_count >= STREAM_HEADER_BYTES ? perf_load_u64(start.bytes + 8) : 0;
    if (text_starts_with(start, TEXT("2ELIFREP"))) {
        foreign_explain(input, start, false, parser->failure);
    } else if (!text_starts_with(start, TEXT("PERFILE2"))) {
        failure_set(parser->failure, FAILURE_INPUT, "%s: is not a perf.data file", input_name(input));
    } else if (header_bytes == STREAM_HEADER_BYTES) {
        input_consume(input, STREAM_HEADER_BYTES);
        read_records(parser, input, UINT64_MAX);
    } else if (header_bytes >= FILE_HEADER_BYTES && start.bytes_count >= FILE_HEADER_BYTES) {
        read_file(parser, input);
    } else {
        failure_set(parser->failure, FAILURE_INPUT, "%s: the header of this perf.data is damaged or cut off",
                    input_name(input));
    }
    if (failure_is_set(parser->failure)) return;
    input_skip(input, UINT64_MAX); /* skip bytes after damage, and sections that were read ahead */
    read_parts(parser, input);
    data_order_finish(&parser->order);
}

void data_parse(struct input *input, struct perf_sink sink, struct perf_tallies *tallies, struct failure *failure) {
    struct data_parser parser = {.sink = sink, .tallies = tallies, .failure = failure};
    data_attrs_init(&parser.attrs, failure);
    data_order_init(&parser.order, data_records_use, &parser, failure);
    read_container(&parser, input);
    data_tally(&parser, TALLY_LATE, parser.order.late_count, 0);
    if (parser.parts_bytes) data_tally(&parser, TALLY_DAMAGED_RECORD, 1, parser.parts_offset);
    if (!failure_is_set(failure)) data_records_count(&parser);
    data_order_fini(&parser.order);
    data_attrs_fini(&parser.attrs);
    MEMORY_FREE_ALL(parser.places, parser.parts);
}
