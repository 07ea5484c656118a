#include "data_order.h"

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

/* Room for copies that is made at first: more than a record has. */
enum { FIRST_BYTES = 256 * 1024 };

void data_order_init(struct data_order *order, data_order_deliver *deliver, void *context, struct failure *failure) {
    *order = (struct data_order){.failure = failure, .deliver = deliver, .context = context};
}

void data_order_fini(struct data_order *order) {
    MEMORY_FREE_ALL(order->bytes, order->rows, order->due_rows);
    *order = (struct data_order){0};
}

/* ---- Delivering. ---- */

static bool is_later(const struct waiting_record *a, const struct waiting_record *b) {
    return a->time_ns != b->time_ns ? a->time_ns > b->time_ns : a->arrival > b->arrival;
}

static struct data_record record_at(const struct data_order *order, const struct waiting_record *row) {
    const char *bytes = row->lasting ? row->lasting : order->bytes + row->at;
    uint16_t misc, size;
    memcpy(&misc, bytes + 4, sizeof misc);
    memcpy(&size, bytes + 6, sizeof size);
    struct text text = {bytes, le16toh(size)};
    return (struct data_record){.type = perf_load_u32(bytes),
                                .misc = le16toh(misc),
                                .bytes = text,
                                .payload = text_from(text, RECORD_HEAD_BYTES),
                                .offset = row->offset};
}

/* Returns the end of the ascending rows from `first` on. */
static size_t run_end(const struct waiting_record *rows, size_t count, size_t first) {
    size_t end = first + 1;
    while (end < count && is_later(&rows[end], &rows[end - 1])) end++;
    return end;
}

static void merge(struct waiting_record *to, const struct waiting_record *left, size_t left_count,
                  const struct waiting_record *right, size_t right_count) {
    while (left_count && right_count) {
        bool is_left = is_later(right, left);
        *to++ = is_left ? *left++ : *right++;
        left_count -= is_left;
        right_count -= !is_left;
    }
    memcpy(to, left, left_count * sizeof *to);
    memcpy(to + left_count, right, right_count * sizeof *to);
}

/* Sorts rows by merging the ascending runs in them: perf has written one for each processor. Returns the sorted rows,
 * which are in one of the two arrays. */
static struct waiting_record *sort(struct waiting_record *rows, size_t count, struct waiting_record *other) {
    while (run_end(rows, count, 0) < count) {
        for (size_t first = 0; first < count;) {
            size_t middle = run_end(rows, count, first), end = middle < count ? run_end(rows, count, middle) : middle;
            merge(other + first, rows + first, middle - first, rows + middle, end - middle);
            first = end;
        }
        struct waiting_record *sorted = other;
        other = rows;
        rows = sorted;
    }
    return rows;
}

/* Moves the bytes of the records that wait to the front. */
static void compact(struct data_order *order) {
    order->bytes_count = order->waiting_bytes_count = 0;
    for (size_t i = 0; i < order->row_count; i++) {
        struct waiting_record *row = &order->rows[i];
        size_t size_bytes = record_at(order, row).bytes.bytes_count;
        order->waiting_bytes_count += size_bytes;
        if (row->lasting) continue;
        memmove(order->bytes + order->bytes_count, order->bytes + row->at, size_bytes);
        row->at = order->bytes_count;
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

/* Fetches the fields of a sample and the part of its copied stack that has most callers. The bytes of a sample are used
 * once, so that all of them come from memory. */
static void prefetch(const struct waiting_record *row) {
    enum { LINE_BYTES = 64, PREFETCH_BYTES = 1024 };
    if (!row->lasting) return;
    for (uintptr_t at = 0; at < PREFETCH_BYTES; at += LINE_BYTES)
        __builtin_prefetch((const void *)((uintptr_t)row->lasting + at));
}

/* Returns arrays for all waiting rows, twice. NULL if memory ran out (latched). */
static struct waiting_record *reserve_due_rows(struct data_order *order) {
    if (order->due_capacity >= order->row_count) return order->due_rows;
    memory_free(order->due_rows);
    order->due_capacity = order->row_capacity;
    order->due_rows = memory_allocate(order->failure, 2 * order->due_capacity * sizeof *order->due_rows);
    if (!order->due_rows) order->due_capacity = 0;
    return order->due_rows;
}

/* Delivers the rows that are not later than the last one, in order. The others keep the order of arrival. */
static void deliver_until(struct data_order *order, const struct waiting_record *last) {
    struct waiting_record *rows = order->rows, *due = reserve_due_rows(order);
    size_t due_count = 0, left_count = 0;
    for (size_t i = 0; due && i < order->row_count; i++) {
        if (is_later(&rows[i], last))
            rows[left_count++] = rows[i];
        else
            due[due_count++] = rows[i];
    }
    if (!due_count) return;
    order->row_count = left_count;
    due = sort(due, due_count, due + order->due_capacity);
    for (size_t i = 0; i < due_count && !failure_is_set(order->failure); i++) {
        if (i + 1 < due_count) prefetch(&due[i + 1]);
        deliver_row(order, &due[i]);
    }
    compact(order);
}

/* Delivers the earlier half of the rows. */
static void deliver_half(struct data_order *order) {
    struct waiting_record *due = reserve_due_rows(order);
    if (!due || order->row_count < 2) return;
    memcpy(due, order->rows, order->row_count * sizeof *due);
    const struct waiting_record last = sort(due, order->row_count, due + order->due_capacity)[order->row_count / 2 - 1];
    deliver_until(order, &last);
}

static void deliver_until_time(struct data_order *order, uint64_t limit_ns) {
    deliver_until(order, &(struct waiting_record){.time_ns = limit_ns, .arrival = UINT64_MAX});
}

void data_order_end_round(struct data_order *order) {
    deliver_until_time(order, order->round_ns);
    order->round_ns = order->latest_ns;
}

void data_order_finish(struct data_order *order) { deliver_until_time(order, UINT64_MAX); }

/* ---- Waiting. ---- */

uint64_t data_order_oldest(const struct data_order *order) {
    return order->row_count ? order->rows[0].offset : UINT64_MAX;
}

void data_order_add(struct data_order *order, const struct data_record *record, uint64_t time_ns) {
    size_t size_bytes = record->bytes.bytes_count;
    if (order->waiting_bytes_count + size_bytes > WAITING_BYTES_MAX) deliver_half(order);
    size_t copied_bytes = record->is_lasting ? 0 : size_bytes;
    if (copied_bytes && !order->bytes) copied_bytes = FIRST_BYTES;
    if (!memory_reserve(order->failure, &order->rows, &order->row_capacity, order->row_count + 1,
                        sizeof *order->rows) ||
        !memory_reserve(order->failure, &order->bytes, &order->bytes_capacity, order->bytes_count + copied_bytes, 1))
        return;
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
