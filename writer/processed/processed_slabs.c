#include "processed_slabs.h"

#include <endian.h>
#include <inttypes.h>
#include <math.h>
#include <string.h>

#include "writer/cells.h"

/* V8 makes no longer string, and the front-end makes one of each slab of JSON. */
enum { JSON_SLAB_BYTES_MAX = 512 * 1024 * 1024 - 24 };

struct slab {
    enum slab_type type;
    uint64_t bytes_count;
    struct chunk_list data; /* text or numbers, unless it has cells of a column's rows */
    const struct member *column;
    const struct column *rows;
    size_t first;
    size_t end;
};

static struct slab *slab_at(const struct slabs *slabs, size_t number) { return column_at(&slabs->list, number); }

void slabs_init(struct slabs *slabs, struct failure *failure) {
    column_init(&slabs->list, sizeof(struct slab), failure);
}

void slabs_fini(struct slabs *slabs) {
    for (size_t i = 0; i < slabs->list.count; i++) chunk_list_fini(&slab_at(slabs, i)->data);
    column_fini(&slabs->list);
}

static uint32_t add(struct slabs *slabs, struct slab slab) {
    if (!column_add(&slabs->list, &slab)) chunk_list_fini(&slab.data);
    return slabs->list.count - 1;
}

uint32_t slabs_add_column(struct slabs *slabs, const struct member *column, const struct column *rows, size_t first,
                          size_t end) {
    struct slab slab = {.type = column->slab,
                        .bytes_count = (uint64_t)(end - first) * slab_element_bytes(column->slab),
                        .column = column,
                        .rows = rows,
                        .first = first,
                        .end = end};
    return add(slabs, slab);
}

static uint32_t add_data(struct slabs *slabs, enum slab_type type, struct chunk_list *data) {
    struct slab slab = {.type = type, .bytes_count = data->total_bytes, .data = *data};
    chunk_list_init(data, data->failure);
    return add(slabs, slab);
}

uint32_t slabs_add_json(struct slabs *slabs, struct chunk_list *json) { return add_data(slabs, SLAB_JSON, json); }

/* ---- Numbers. ---- */

enum { FRACTION_DIGITS_MAX = 6 };

/* The quotient of two exact numbers is the double that the text of the number is read as. */
static double double_of(struct decimal number) {
    static const double powers[FRACTION_DIGITS_MAX + 1] = {1, 10, 100, 1e3, 1e4, 1e5, 1e6};
    return (double)number.mantissa / powers[number.scale];
}

/* Returns the smallest type that has the number; SLAB_NONE if there is none. */
static enum slab_type type_of(struct decimal number) {
    static const double exact_limit = 1LL << 33; /* from here on, neighbours differ by more than a millionth */
    if (number.exponent || number.scale > FRACTION_DIGITS_MAX) return SLAB_NONE;
    if (!number.scale && number.mantissa == (int32_t)number.mantissa) return SLAB_INT32;
    return fabs(double_of(number)) < exact_limit ? SLAB_FLOAT64 : SLAB_NONE;
}

static void append_number(struct chunk_list *out, struct decimal number, enum slab_type type) {
    double as_double = double_of(number);
    uint64_t bits = (uint64_t)number.mantissa;
    if (type == SLAB_FLOAT64) memcpy(&bits, &as_double, sizeof bits);
    bits = htole64(bits);
    chunk_list_append(out, &bits, slab_element_bytes(type));
}

uint32_t slabs_add_numbers(struct slabs *slabs, number_source *number_of, const void *context, size_t count) {
    enum slab_type type = SLAB_INT32;
    struct chunk_list data;
    chunk_list_init(&data, slabs->list.failure);
    for (size_t i = 0; i < count && type; i++) {
        enum slab_type needed = type_of(number_of(context, i));
        if (needed != SLAB_INT32) type = needed;
    }
    if (!type) return SLABS_NONE;
    for (size_t i = 0; i < count; i++) append_number(&data, number_of(context, i), type);
    return add_data(slabs, type, &data);
}

void slabs_write_reference(struct json *json, uint32_t number) {
    json_object_begin(json);
    json_key_int(json, JSON_SLABS_KEY, number);
    json_object_end(json);
}

/* ---- The file. ---- */

static void append_u32(struct chunk_list *out, uint64_t value) {
    uint32_t bytes = htole32((uint32_t)value);
    chunk_list_append(out, &bytes, sizeof bytes);
}

/* Returns where the slab begins if the one before it ends at `offset`. */
static uint64_t align(uint64_t offset, const struct slab *slab) {
    uint64_t element_bytes = slab_element_bytes(slab->type);
    return (offset + element_bytes - 1) / element_bytes * element_bytes;
}

static uint64_t table_end(const struct slabs *slabs) {
    return JSON_SLABS_HEADER_BYTES + (uint64_t)slabs->list.count * JSON_SLABS_ENTRY_BYTES;
}

static bool check_sizes(const struct slabs *slabs) {
    struct failure *failure = slabs->list.failure;
    uint64_t end = table_end(slabs);
    for (size_t i = 0; i < slabs->list.count && !failure_is_set(failure); i++) {
        const struct slab *slab = slab_at(slabs, i);
        end = align(end, slab) + slab->bytes_count;
        if (slab->type == SLAB_JSON && slab->bytes_count > JSON_SLAB_BYTES_MAX)
            failure_set(failure, FAILURE_INPUT,
                        "the profile is too large for JsonSlabs: one part of it has %" PRIu64
                        " bytes of text, and the viewer reads at most %d; write it as JSON: --format processed",
                        slab->bytes_count, JSON_SLAB_BYTES_MAX);
    }
    if (end > UINT32_MAX)
        failure_set(failure, FAILURE_INPUT,
                    "the profile is too large for JsonSlabs: %" PRIu64
                    " bytes, and offsets reach 4 GiB; write it as JSON: --format processed",
                    end);
    return !failure_is_set(failure);
}

static void append_head(const struct slabs *slabs, struct chunk_list *out) {
    uint64_t end = table_end(slabs);
    chunk_list_append(out, JSON_SLABS_MAGIC.bytes, JSON_SLABS_MAGIC.bytes_count);
    append_u32(out, JSON_SLABS_VERSION);
    append_u32(out, slabs->list.count);
    append_u32(out, slabs->list.count - 1);
    COLUMN_EACH(const struct slab, slab, &slabs->list) {
        uint64_t begin = align(end, slab);
        append_u32(out, slab->type - 1);
        append_u32(out, begin);
        append_u32(out, slab->bytes_count);
        end = begin + slab->bytes_count;
    }
}

void slabs_write(struct slabs *slabs, struct chunk_list *out) {
    static const char zeros[8];
    uint64_t end = table_end(slabs);
    if (failure_is_set(slabs->list.failure) || !check_sizes(slabs)) return;
    append_head(slabs, out);
    COLUMN_EACH(struct slab, slab, &slabs->list) {
        uint64_t begin = align(end, slab);
        chunk_list_append(out, zeros, begin - end);
        if (slab->column)
            cells_append_slab(out, slab->column, slab->rows, slab->first, slab->end);
        else
            chunk_list_splice(out, &slab->data);
        end = begin + slab->bytes_count;
    }
}
