#include "data_order.h"

#include "libconvert/base/memory.h"

struct waiting_record {
    uint64_t time_ns;
    uint64_t offset; /* the record's data_record.offset */
    uint64_t
        place; /* LASTING and the address of the record's bytes, or where the copy of them is in data_order.bytes */
};

static const uint64_t LASTING = UINT64_C(1) << 63; /* no address of a program has this bit */
static const uint64_t DELIVERED = UINT64_MAX;      /* a place */

/* What a waiting record takes besides its bytes: its row, and its places in `due`. */
static const size_t ROW_BYTES = sizeof(struct waiting_record) + 2 * sizeof(uint32_t);

/* Limit for what waiting records take. One round on a busy machine with copied stacks takes some megabytes. */
static const size_t WAITING_BYTES_MAX = (size_t)32 << 20;

/* Room for copies that is made at first: more than a record has. */
enum { FIRST_BYTES = 256 * 1024 };

void data_order_init(struct data_order *order, data_order_deliver *deliver, void *context, struct failure *failure) {
    *order = (struct data_order){.failure = failure, .deliver = deliver, .context = context};
}

void data_order_fini(struct data_order *order) {
    MEMORY_FREE_ALL(order->bytes, order->rows, order->due);
    *order = (struct data_order){0};
}

/* ---- Delivering. ---- */

static bool is_lasting(const struct waiting_record *row) { return row->place & LASTING; }

static const char *bytes_of(const struct data_order *order, const struct waiting_record *row) {
    return is_lasting(row) ? (const char *)(uintptr_t)(row->place & ~LASTING) : order->bytes + row->place;
}

static struct data_record record_at(const struct data_order *order, const struct waiting_record *row) {
    const char *bytes = bytes_of(order, row);
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
static size_t run_end(const struct waiting_record *rows, const uint32_t *due, size_t count, size_t first) {
    size_t end = first + 1;
    while (end < count && rows[due[end]].time_ns >= rows[due[end - 1]].time_ns) end++;
    return end;
}

/* Rows of the same time keep their order: those on the left have arrived earlier. */
static void merge(const struct waiting_record *rows, uint32_t *to, const uint32_t *left, size_t left_count,
                  const uint32_t *right, size_t right_count) {
    while (left_count && right_count) {
        bool is_left = rows[*left].time_ns <= rows[*right].time_ns;
        *to++ = is_left ? *left++ : *right++;
        left_count -= is_left;
        right_count -= !is_left;
    }
    memcpy(to, left, left_count * sizeof *to);
    memcpy(to + left_count, right, right_count * sizeof *to);
}

/* Sorts numbers of rows by merging the ascending runs in them: perf has written one for each processor. Returns the
 * sorted ones, which are in one of the two arrays. */
static const uint32_t *sort(const struct waiting_record *rows, uint32_t *due, size_t count, uint32_t *other) {
    while (run_end(rows, due, count, 0) < count) {
        for (size_t first = 0; first < count;) {
            size_t middle = run_end(rows, due, count, first);
            size_t end = middle < count ? run_end(rows, due, count, middle) : middle;
            merge(rows, other + first, due + first, middle - first, due + middle, end - middle);
            first = end;
        }
        uint32_t *sorted = other;
        other = due;
        due = sorted;
    }
    return due;
}

/* Removes the rows that were delivered, and moves the copies of the others to the front. */
static void compact(struct data_order *order) {
    size_t left_count = 0;
    order->bytes_count = order->waiting_bytes_count = 0;
    for (size_t i = 0; i < order->row_count; i++) {
        struct waiting_record row = order->rows[i];
        if (row.place == DELIVERED) continue;
        size_t size_bytes = record_at(order, &row).bytes.bytes_count;
        order->waiting_bytes_count += size_bytes + ROW_BYTES;
        if (!is_lasting(&row)) {
            memmove(order->bytes + order->bytes_count, order->bytes + row.place, size_bytes);
            row.place = order->bytes_count;
            order->bytes_count += size_bytes;
        }
        order->rows[left_count++] = row;
    }
    order->row_count = left_count;
}

static void deliver_row(struct data_order *order, struct waiting_record *row) {
    struct data_record record = record_at(order, row);
    if (row->time_ns < order->delivered_ns)
        order->late_count++;
    else
        order->delivered_ns = row->time_ns;
    order->deliver(order->context, &record, row->time_ns);
    row->place = DELIVERED;
}

/* Returns space for the numbers of all waiting rows, twice. NULL if memory ran out (latched). */
static uint32_t *reserve_due(struct data_order *order) {
    if (order->due_capacity >= order->row_count) return order->due;
    memory_free(order->due);
    order->due_capacity = order->row_capacity;
    order->due = memory_allocate(order->failure, 2 * order->due_capacity * sizeof *order->due);
    if (!order->due) order->due_capacity = 0;
    return order->due;
}

/* Returns the numbers of the rows up to that time, in order of time. None if memory ran out (latched). */
static const uint32_t *sort_until(struct data_order *order, uint64_t limit_ns, size_t *count) {
    uint32_t *due = reserve_due(order);
    *count = 0;
    for (size_t i = 0; due && i < order->row_count; i++)
        if (order->rows[i].time_ns <= limit_ns) due[(*count)++] = (uint32_t)i;
    return *count ? sort(order->rows, due, *count, due + order->due_capacity) : NULL;
}

static void deliver(struct data_order *order, const uint32_t *due, size_t count) {
    for (size_t i = 0; i < count && !failure_is_set(order->failure); i++) deliver_row(order, &order->rows[due[i]]);
    if (count) compact(order);
}

static void deliver_until(struct data_order *order, uint64_t limit_ns) {
    size_t count;
    const uint32_t *due = sort_until(order, limit_ns, &count);
    deliver(order, due, count);
}

/* Delivers the earlier half of the rows. */
static void deliver_half(struct data_order *order) {
    size_t count;
    const uint32_t *due = sort_until(order, UINT64_MAX, &count);
    deliver(order, due, count / 2);
}

void data_order_end_round(struct data_order *order) {
    deliver_until(order, order->round_ns);
    order->round_ns = order->latest_ns;
}

void data_order_finish(struct data_order *order) { deliver_until(order, UINT64_MAX); }

/* ---- Waiting. ---- */

uint64_t data_order_oldest(const struct data_order *order) {
    return order->row_count ? order->rows[0].offset : UINT64_MAX;
}

void data_order_add(struct data_order *order, const struct data_record *record, uint64_t time_ns) {
    size_t size_bytes = record->bytes.bytes_count;
    if (order->waiting_bytes_count + size_bytes + ROW_BYTES > WAITING_BYTES_MAX) deliver_half(order);
    size_t copied_bytes = record->is_lasting ? 0 : size_bytes;
    if (copied_bytes && !order->bytes) copied_bytes = FIRST_BYTES;
    if (!memory_reserve(order->failure, &order->rows, &order->row_capacity, order->row_count + 1,
                        sizeof *order->rows) ||
        !memory_reserve(order->failure, &order->bytes, &order->bytes_capacity, order->bytes_count + copied_bytes, 1))
        return;
    struct waiting_record row = {.time_ns = time_ns, .offset = record->offset};
    if (record->is_lasting) {
        row.place = LASTING | (uintptr_t)record->bytes.bytes;
    } else {
        row.place = order->bytes_count;
        memcpy(order->bytes + row.place, record->bytes.bytes, size_bytes);
        order->bytes_count += size_bytes;
    }
    order->rows[order->row_count++] = row;
    order->waiting_bytes_count += size_bytes + ROW_BYTES;
    if (time_ns > order->latest_ns) order->latest_ns = time_ns;
}
