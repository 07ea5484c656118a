#include "data_order.h"

#include <stdlib.h>

#include "libconvert/base/memory.h"

struct waiting_record {
    uint64_t time_ns;
    uint64_t offset; /* the record's data_record.offset */
    uint64_t arrival;
    const char *lasting; /* the record's bytes; NULL: they were copied */
    size_t at;           /* place of the copy in data_order.bytes */
};

/* Limit for the bytes of waiting records. One round on a busy machine with copied stacks takes some megabytes. */
static const size_t WAITING_BYTES_MAX = (size_t)32 << 20;

void data_order_init(struct data_order *order, data_order_deliver *deliver, void *context, struct failure *failure) {
    *order = (struct data_order){.failure = failure, .deliver = deliver, .context = context};
}

void data_order_fini(struct data_order *order) {
    memory_free(order->bytes);
    memory_free(order->rows);
    *order = (struct data_order){0};
}

/* ---- Delivering. ---- */

static int compare(const void *left, const void *right) {
    const struct waiting_record *a = left, *b = right;
    if (a->time_ns != b->time_ns) return a->time_ns < b->time_ns ? -1 : 1;
    return (a->arrival > b->arrival) - (a->arrival < b->arrival);
}

static int compare_arrivals(const void *left, const void *right) {
    const struct waiting_record *a = left, *b = right;
    return (a->arrival > b->arrival) - (a->arrival < b->arrival);
}

static struct data_record record_at(const struct data_order *order, const struct waiting_record *row) {
    const char *bytes = row->lasting ? row->lasting : order->bytes + row->at;
    uint16_t misc, size;
    memcpy(&misc, bytes + 4, sizeof misc);
    memcpy(&size, bytes + 6, sizeof size);
    struct text text = {bytes, le16toh(size)};
    return (struct data_record){.type = data_load_u32(bytes),
                                .misc = le16toh(misc),
                                .bytes = text,
                                .payload = text_from(text, RECORD_HEAD_BYTES),
                                .offset = row->offset};
}

/* Moves the records that still wait to the front, in the order of arrival. */
static void compact(struct data_order *order, size_t delivered_count) {
    size_t left_count = order->row_count - delivered_count;
    struct waiting_record *rows = order->rows;
    memmove(rows, rows + delivered_count, left_count * sizeof *rows);
    memory_sort(order->failure, rows, left_count, sizeof *rows, compare_arrivals);
    order->row_count = left_count;
    order->bytes_count = order->waiting_bytes_count = 0;
    for (size_t i = 0; i < left_count; i++) {
        size_t size_bytes = record_at(order, &rows[i]).bytes.bytes_count;
        order->waiting_bytes_count += size_bytes;
        if (rows[i].lasting) continue;
        memmove(order->bytes + order->bytes_count, order->bytes + rows[i].at, size_bytes);
        rows[i].at = order->bytes_count;
        order->bytes_count += size_bytes;
    }
}

static void deliver_row(struct data_order *order, const struct waiting_record *row) {
    struct data_record record = record_at(order, row);
    if (row->time_ns < order->delivered_ns)
        order->late_count++;
    else
        order->delivered_ns = row->time_ns;
    order->deliver(order->context, &record, row->time_ns);
}

/* Delivers sorted records up to the time limit_ns, at most count_max of them. */
static size_t deliver_until(struct data_order *order, uint64_t limit_ns, size_t count_max) {
    size_t count = 0;
    for (; count < count_max && order->rows[count].time_ns <= limit_ns; count++) {
        if (failure_is_set(order->failure)) break;
        deliver_row(order, &order->rows[count]);
    }
    return count;
}

static void flush(struct data_order *order, uint64_t limit_ns, bool is_half) {
    if (!order->row_count) return;
    memory_sort(order->failure, order->rows, order->row_count, sizeof *order->rows, compare);
    if (failure_is_set(order->failure)) return;
    compact(order, deliver_until(order, limit_ns, is_half ? order->row_count / 2 : order->row_count));
}

void data_order_end_round(struct data_order *order) {
    flush(order, order->round_ns, false);
    order->round_ns = order->latest_ns;
}

void data_order_finish(struct data_order *order) { flush(order, UINT64_MAX, false); }

/* ---- Waiting. ---- */

uint64_t data_order_oldest(const struct data_order *order) {
    return order->row_count ? order->rows[0].offset : UINT64_MAX;
}

static bool reserve_bytes(struct data_order *order, size_t more_bytes) {
    if (order->bytes_capacity - order->bytes_count >= more_bytes) return true;
    size_t capacity = order->bytes_capacity ? order->bytes_capacity * 2 : 256 * 1024;
    while (capacity - order->bytes_count < more_bytes) capacity *= 2;
    char *bytes = memory_resize(order->failure, order->bytes, capacity);
    if (!bytes) return false;
    order->bytes = bytes;
    order->bytes_capacity = capacity;
    return true;
}

static bool reserve_row(struct data_order *order) {
    if (order->row_count < order->row_capacity) return true;
    size_t capacity = order->row_capacity ? order->row_capacity * 2 : 1024;
    struct waiting_record *rows = memory_resize(order->failure, order->rows, capacity * sizeof *rows);
    if (!rows) return false;
    order->rows = rows;
    order->row_capacity = capacity;
    return true;
}

void data_order_add(struct data_order *order, const struct data_record *record, uint64_t time_ns) {
    size_t size_bytes = record->bytes.bytes_count;
    if (order->waiting_bytes_count + size_bytes > WAITING_BYTES_MAX) flush(order, UINT64_MAX, true);
    if (!reserve_row(order) || (!record->is_lasting && !reserve_bytes(order, size_bytes))) return;
    struct waiting_record row = {.time_ns = time_ns, .offset = record->offset, .arrival = order->arrival_count++};
    if (record->is_lasting) {
        row.lasting = record->bytes.bytes;
    } else {
        row.at = order->bytes_count;
        memcpy(order->bytes + row.at, record->bytes.bytes, size_bytes);
        order->bytes_count += size_bytes;
    }
    order->rows[order->row_count++] = row;
    order->waiting_bytes_count += size_bytes;
    if (time_ns > order->latest_ns) order->latest_ns = time_ns;
}
