#include "processed_slabs.h"

#include <endian.h>
#include <inttypes.h>

#include "writer/cells.h"

/* The longest string in V8. The front-end turns each slab of JSON into a string. */
enum { JSON_SLAB_BYTES_MAX = 512 * 1024 * 1024 - 24 };

struct slab {
    enum slab_type type;
    uint64_t bytes_count;
    struct chunk_list json; /* the text of SLAB_JSON; all other members are for columns */
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
    for (size_t i = 0; i < slabs->list.count; i++) chunk_list_fini(&slab_at(slabs, i)->json);
    column_fini(&slabs->list);
}

static uint32_t add(struct slabs *slabs, struct slab slab) {
    if (!column_add(&slabs->list, &slab)) chunk_list_fini(&slab.json);
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

uint32_t slabs_add_json(struct slabs *slabs, struct chunk_list *json) {
    struct slab slab = {.type = SLAB_JSON, .bytes_count = json->total_bytes, .json = *json};
    chunk_list_init(json, json->failure);
    return add(slabs, slab);
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
        if (slab->type == SLAB_JSON)
            chunk_list_splice(out, &slab->json);
        else
            cells_append_slab(out, slab->column, slab->rows, slab->first, slab->end);
        end = begin + slab->bytes_count;
    }
}
