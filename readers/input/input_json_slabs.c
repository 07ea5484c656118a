#include <endian.h>
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>

#include "input.h"
#include "input_wrapper.h"
#include "libconvert/base/byte_buffer.h"
#include "libconvert/base/json_put.h"
#include "libconvert/base/json_slabs.h"

enum { OUTPUT_BYTES = 64 * 1024, NO_SLAB = -1 };

struct slab {
    enum slab_type type;
    uint32_t offset;
    uint32_t bytes_count;
    uint32_t done_bytes; /* have been read */
    int64_t outer;       /* the slab that refers to this one, for JSON; NO_SLAB: the document */
    bool is_used;
};

struct json_slabs {
    struct input *below;     /* borrowed */
    struct failure *failure; /* borrowed */
    struct text file;
    struct byte_buffer bytes; /* bytes of the file; empty: the input below has them */
    struct slab *slabs;
    uint32_t slab_count;
    int64_t current; /* the slab that is being read; NO_SLAB: the document has ended */
    bool is_loaded;
    uint64_t nan_count; /* number of elements that are infinite or NaN */
    char output[OUTPUT_BYTES];
};

#define FAIL(reader, format, ...)                                                                      \
    failure_set((reader)->failure, FAILURE_INPUT, "%s: the JsonSlabs are damaged or cut off: " format, \
                input_name((reader)->below), __VA_ARGS__)

/* ---- The file. ---- */

static void load_bytes(struct json_slabs *reader) {
    reader->file = input_at_hand(reader->below);
    bool is_at_hand = reader->file.bytes_count > 0;
    input_hold(reader->below, 0);
    for (struct text run; (run = input_take_run(reader->below)).bytes_count;)
        if (!is_at_hand && !byte_buffer_append(&reader->bytes, run)) return;
    if (!is_at_hand) reader->file = byte_buffer_text(&reader->bytes);
}

static uint32_t u32_at(const struct json_slabs *reader, uint64_t offset) {
    uint32_t value;
    memcpy(&value, reader->file.bytes + offset, sizeof value);
    return le32toh(value);
}

static uint64_t table_end(const struct json_slabs *reader) {
    return JSON_SLABS_HEADER_BYTES + (uint64_t)reader->slab_count * JSON_SLABS_ENTRY_BYTES;
}

static bool check_header(struct json_slabs *reader) {
    size_t file_bytes = reader->file.bytes_count;
    if (file_bytes < JSON_SLABS_HEADER_BYTES) {
        FAIL(reader, "the file has %zu bytes, fewer than its header", file_bytes);
        return false;
    }
    uint32_t version = u32_at(reader, JSON_SLABS_VERSION_AT);
    reader->slab_count = u32_at(reader, JSON_SLABS_COUNT_AT);
    reader->current = u32_at(reader, JSON_SLABS_ROOT_AT);
    if (!text_starts_with(reader->file, JSON_SLABS_MAGIC) || version != JSON_SLABS_VERSION)
        FAIL(reader, "they have version %" PRIu32 " or another byte order; known is version %d", version,
             JSON_SLABS_VERSION);
    else if (table_end(reader) > file_bytes)
        FAIL(reader, "the table of %" PRIu32 " slabs ends at byte %" PRIu64 ", and the file at %zu", reader->slab_count,
             table_end(reader), file_bytes);
    else if (reader->current >= reader->slab_count)
        FAIL(reader, "the document is slab %" PRId64 ", and there are %" PRIu32, reader->current, reader->slab_count);
    return !failure_is_set(reader->failure);
}

static bool read_entry(struct json_slabs *reader, uint32_t number) {
    struct slab *slab = &reader->slabs[number];
    uint64_t at = JSON_SLABS_HEADER_BYTES + (uint64_t)number * JSON_SLABS_ENTRY_BYTES;
    uint32_t type = u32_at(reader, at + JSON_SLABS_TYPE_AT);
    if (type >= SLAB_TYPE_COUNT - 1) {
        FAIL(reader, "slab %" PRIu32 " has the type %" PRIu32 ", which is not known", number, type);
        return false;
    }
    *slab = (struct slab){.type = (enum slab_type)(type + 1),
                          .offset = u32_at(reader, at + JSON_SLABS_OFFSET_AT),
                          .bytes_count = u32_at(reader, at + JSON_SLABS_BYTES_AT),
                          .outer = NO_SLAB};
    uint32_t element_bytes = slab_element_bytes(slab->type);
    if ((uint64_t)slab->offset + slab->bytes_count > reader->file.bytes_count)
        FAIL(reader, "slab %" PRIu32 " has %" PRIu32 " bytes from byte %" PRIu32 " on, and the file ends at %zu",
             number, slab->bytes_count, slab->offset, reader->file.bytes_count);
    else if (slab->offset % element_bytes || slab->bytes_count % element_bytes)
        FAIL(reader, "slab %" PRIu32 " has %" PRIu32 " bytes from byte %" PRIu32 " on, and its elements have %" PRIu32,
             number, slab->bytes_count, slab->offset, element_bytes);
    return !failure_is_set(reader->failure);
}

static int compare_offsets(const void *left, const void *right) {
    const struct slab *a = *(struct slab *const *)left, *b = *(struct slab *const *)right;
    return ORDER(a->offset, b->offset) ?: ORDER(a, b);
}

/* Slabs that share bytes could make a document of any size out of a small file. */
static void check_overlaps(struct json_slabs *reader) {
    struct slab **order = memory_allocate(reader->failure, reader->slab_count * sizeof(struct slab *));
    if (!order) return;
    size_t count = 0;
    for (uint32_t i = 0; i < reader->slab_count; i++)
        if (reader->slabs[i].bytes_count) order[count++] = &reader->slabs[i];
    memory_sort(reader->failure, order, count, sizeof(struct slab *), compare_offsets);
    uint64_t end = table_end(reader);
    for (size_t i = 0; i < count && !failure_is_set(reader->failure); i++) {
        if (order[i]->offset < end)
            FAIL(reader, "slab %td begins at byte %" PRIu32 ", and what comes before it ends at %" PRIu64,
                 order[i] - reader->slabs, order[i]->offset, end);
        end = order[i]->offset + (uint64_t)order[i]->bytes_count;
    }
    memory_free(order);
}

/* Begins to read the slab that `outer` refers to. A document that needs one twice is not read: no program writes that,
 * and a slab could contain itself. */
static void enter_slab(struct json_slabs *reader, uint64_t number, int64_t outer) {
    struct slab *slab = number < reader->slab_count ? &reader->slabs[number] : NULL;
    if (!slab) {
        FAIL(reader, "slab %" PRId64 " refers to slab %" PRIu64 ", and there are %" PRIu32, outer, number,
             reader->slab_count);
    } else if (slab->is_used) {
        FAIL(reader, "slab %" PRId64 " refers to slab %" PRIu64 ", which is already in use", outer, number);
    } else {
        slab->is_used = true;
        slab->outer = outer;
        reader->current = (int64_t)number;
    }
}

static void load(struct json_slabs *reader) {
    reader->is_loaded = true;
    load_bytes(reader);
    if (failure_is_set(reader->failure) || !check_header(reader)) return;
    reader->slabs = memory_allocate(reader->failure, reader->slab_count * sizeof(struct slab));
    if (!reader->slabs) return;
    for (uint32_t i = 0; i < reader->slab_count; i++)
        if (!read_entry(reader, i)) return;
    check_overlaps(reader);
    uint64_t root = (uint64_t)reader->current;
    if (failure_is_set(reader->failure)) return;
    if (reader->slabs[root].type == SLAB_JSON)
        enter_slab(reader, root, NO_SLAB);
    else
        FAIL(reader, "the document is slab %" PRIu64 ", which is not JSON", root);
}

/* ---- Numbers. ---- */

/* Times in milliseconds that are whole nanoseconds, as nearly all are, need no search for their shortest text. */
static char *put_double(struct json_slabs *reader, char *out, double value) {
    enum { NS_PER_MS = 1000000 };
    static const double exact_limit = 1LL << 33;
    if (!isfinite(value)) reader->nan_count++;
    if (fabs(value) < exact_limit) {
        int64_t ns = (int64_t)(value * NS_PER_MS + (value < 0 ? -0.5 : 0.5));
        if ((double)ns / NS_PER_MS == value) return json_put_ms(out, ns);
    }
    return json_put_double(out, value);
}

static char *put_unsigned(char *out, uint64_t value) {
    return value > INT64_MAX ? json_put_digits(out, value) : json_put_int(out, (int64_t)value);
}

static char *put_element(struct json_slabs *reader, char *out, enum slab_type type, uint64_t bits) {
    double number;
    float single;
    uint32_t low = (uint32_t)bits;
    switch (type) {
        case SLAB_INT8: return json_put_int(out, (int8_t)bits);
        case SLAB_INT16: return json_put_int(out, (int16_t)bits);
        case SLAB_INT32: return json_put_int(out, (int32_t)bits);
        case SLAB_INT64: return json_put_int(out, (int64_t)bits);
        case SLAB_FLOAT32: memcpy(&single, &low, sizeof single); return put_double(reader, out, (double)single);
        case SLAB_FLOAT64: memcpy(&number, &bits, sizeof number); return put_double(reader, out, number);
        default: return put_unsigned(out, bits);
    }
}

/* Returns the next part of an array of numbers. */
static struct text read_numbers(struct json_slabs *reader, struct slab *slab) {
    uint32_t element_bytes = slab_element_bytes(slab->type);
    char *out = reader->output, *limit = out + OUTPUT_BYTES - JSON_DOUBLE_BYTES_MAX - 2;
    if (!slab->done_bytes) *out++ = '[';
    while (slab->done_bytes < slab->bytes_count && out < limit) {
        uint64_t bits = 0;
        if (slab->done_bytes) out = json_put_comma(out);
        memcpy(&bits, reader->file.bytes + slab->offset + slab->done_bytes, element_bytes);
        out = put_element(reader, out, slab->type, le64toh(bits));
        slab->done_bytes += element_bytes;
    }
    if (slab->done_bytes == slab->bytes_count) {
        *out++ = ']';
        reader->current = slab->outer;
    }
    return (struct text){reader->output, (size_t)(out - reader->output)};
}

/* ---- JSON. ---- */

static size_t skip_blanks(struct text json, size_t at) {
    while (at < json.bytes_count && memchr(" \t\n\r", json.bytes[at], 4)) at++;
    return at;
}

static bool byte_is(struct text json, size_t at, char byte) { return at < json.bytes_count && json.bytes[at] == byte; }

/* What stands for a slab. */
struct reference {
    size_t begin; /* in the JSON */
    size_t end;
    uint64_t number;
};

/* Parses what follows the key at `at` in the rest of the slab. Returns false if the object has more members. */
static bool parse_reference(struct json_slabs *reader, struct text json, size_t at, struct reference *reference) {
    size_t from = skip_blanks(json, at);
    if (!byte_is(json, from, ':')) return false;
    size_t digits = from = skip_blanks(json, from + 1);
    reference->number = 0;
    for (; from < json.bytes_count && json.bytes[from] >= '0' && json.bytes[from] <= '9'; from++)
        if (reference->number <= UINT32_MAX)
            reference->number = reference->number * 10 + (uint64_t)(json.bytes[from] - '0');
    bool is_number = from > digits;
    from = skip_blanks(json, from);
    reference->end = from + 1;
    if (is_number && byte_is(json, from, '}')) return true;
    if (!is_number || !byte_is(json, from, ','))
        FAIL(reader, "slab %" PRId64 " refers at its byte %zu to a slab that has no number", reader->current,
             reader->slabs[reader->current].done_bytes + at);
    return false;
}

/* Finds the first object with the key "$s" alone. Within a text of JSON, a quotation mark follows a backslash, so the
 * key between two of them, after a bracket, is none of a text. */
static bool find_reference(struct json_slabs *reader, struct text json, struct reference *reference) {
    static const struct text key = TEXT("\"" JSON_SLABS_KEY "\"");
    for (size_t from = 0; !failure_is_set(reader->failure);) {
        const char *found = memmem(json.bytes + from, json.bytes_count - from, key.bytes, key.bytes_count);
        if (!found) return false;
        size_t begin = (size_t)(found - json.bytes);
        from = begin + key.bytes_count;
        while (begin && memchr(" \t\n\r", json.bytes[begin - 1], 4)) begin--;
        if (!begin || json.bytes[begin - 1] != '{') continue;
        reference->begin = begin - 1;
        if (parse_reference(reader, json, from, reference)) return true;
    }
    return false;
}

/* Returns the JSON up to the next reference, and enters what that refers to. */
static struct text read_json(struct json_slabs *reader, struct slab *slab) {
    struct text json = {reader->file.bytes + slab->offset + slab->done_bytes, slab->bytes_count - slab->done_bytes};
    struct reference reference;
    if (!find_reference(reader, json, &reference)) {
        reader->current = slab->outer;
        return json;
    }
    slab->done_bytes += (uint32_t)reference.end;
    enter_slab(reader, reference.number, reader->current);
    return text_slice(json, 0, reference.begin);
}

static struct text read_json_slabs(void *context) {
    struct json_slabs *reader = context;
    if (!reader->is_loaded) load(reader);
    while (!failure_is_set(reader->failure) && reader->current != NO_SLAB) {
        struct slab *slab = &reader->slabs[reader->current];
        struct text part = slab->type == SLAB_JSON ? read_json(reader, slab) : read_numbers(reader, slab);
        if (part.bytes_count && !failure_is_set(reader->failure)) return part;
    }
    return (struct text){0};
}

/* ---- The source. ---- */

static void close_json_slabs(void *context) {
    struct json_slabs *reader = context;
    memory_free(reader->slabs);
    byte_buffer_fini(&reader->bytes);
    free(reader);
}

bool input_json_slabs_open(struct input_source *source, const struct input_wrapper *wrapper, struct input *below) {
    struct json_slabs *reader = failure_check_memory(input_failure(below), calloc(1, sizeof *reader));
    if (!reader) return false;
    reader->below = below;
    reader->failure = reader->bytes.failure = input_failure(below);
    *source = (struct input_source){.context = reader,
                                    .read = read_json_slabs,
                                    .close = close_json_slabs,
                                    .wrapping = wrapper->name,
                                    .nan_count = &reader->nan_count};
    return true;
}
