/* Sorts records by time. perf drains the processors' buffers in turn and marks the end of each round. At the end of a
 * round, all records up to the greatest time seen by the end of the previous round have arrived.
 *
 * Memory is bounded: if no rounds end and too many records wait, the earlier half of them is delivered. */
#pragma once

#include "data_sample.h"
#include "libconvert/base/failure.h"

/* Receives the records in order. A record is valid only during the call. */
typedef void data_order_deliver(void *context, const struct data_record *record, uint64_t time_ns);

struct data_order {
    struct failure *failure; /* borrowed */
    data_order_deliver *deliver;
    void *context;
    char *bytes; /* copies of waiting records */
    size_t bytes_count;
    size_t bytes_capacity;
    size_t waiting_bytes_count;  /* size of all waiting records, copied or not, with the rows for them */
    struct waiting_record *rows; /* in the order of arrival */
    size_t row_count;
    size_t row_capacity;
    uint32_t *due; /* space for the numbers of those that are being delivered, twice */
    size_t due_capacity;
    uint64_t latest_ns;    /* greatest time seen */
    uint64_t round_ns;     /* latest_ns at the end of the previous round */
    uint64_t delivered_ns; /* greatest time delivered */
    uint64_t late_count;   /* records that arrived after a later one was delivered */
};

void data_order_init(struct data_order *order, data_order_deliver *deliver, void *context, struct failure *failure);
void data_order_fini(struct data_order *order);

/* Adds a record, and copies its bytes unless they are lasting: copied stacks have most of the bytes of a recording, and
 * walks read little of them. */
void data_order_add(struct data_order *order, const struct data_record *record, uint64_t time_ns);

/* Delivers the records that no later round can precede. Call this at the end of each round. */
void data_order_end_round(struct data_order *order);

/* Returns the offset of the waiting record that arrived first; UINT64_MAX if none waits. */
uint64_t data_order_oldest(const struct data_order *order);

/* Delivers all waiting records. */
void data_order_finish(struct data_order *order);
