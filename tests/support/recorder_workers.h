/* Threads that record numbered markers until they are told to stop, and publish how many they have recorded. */
#pragma once

#include <pthread.h>
#include <stdatomic.h>
#include <unistd.h>

#include "recorder/gecko_recorder.h"
#include "tests/support/recorder_trace.h"

enum { WORKER_COUNT = 3, WORKER_BURST_COUNT = 40 };

static const struct grec_field number_fields[] = {GREC_FIELD("number", NULL, GREC_FORMAT_INTEGER)};
static struct grec_marker_type number_type = GREC_MARKER_TYPE("Number", number_fields);
static struct grec_marker number_marker = GREC_MARKER("number", NULL, &number_type);

static inline void record_number(uint64_t number) {
    const struct grec_value value = GREC_INT(number);
    grec_instant(&number_marker, &value, 1);
}

struct worker {
    pthread_t thread;
    char name[16];
    atomic_bool *is_told_to_end;
    atomic_uint_fast64_t done_count; /* events whose recording call has returned */
};

struct workers {
    struct worker workers[WORKER_COUNT];
    atomic_bool is_told_to_end;
};

static inline void *worker_run(void *argument) {
    struct worker *worker = argument;
    grec_thread_register(worker->name);
    for (uint64_t number = 0; !atomic_load(worker->is_told_to_end); usleep(100))
        for (int i = 0; i < WORKER_BURST_COUNT; i++) {
            record_number(number++);
            atomic_store(&worker->done_count, number);
        }
    return NULL;
}

static inline void workers_start(struct workers *workers) {
    memset(workers, 0, sizeof *workers);
    for (int i = 0; i < WORKER_COUNT; i++) {
        struct worker *worker = &workers->workers[i];
        snprintf(worker->name, sizeof worker->name, "worker %d", i);
        worker->is_told_to_end = &workers->is_told_to_end;
        assert_int_equal(pthread_create(&worker->thread, NULL, worker_run, worker), 0);
    }
}

/* The progress of all workers at one moment. */
struct workers_mark {
    uint64_t done_counts[WORKER_COUNT];
};

static inline struct workers_mark workers_mark(struct workers *workers) {
    struct workers_mark mark;
    for (int i = 0; i < WORKER_COUNT; i++) mark.done_counts[i] = atomic_load(&workers->workers[i].done_count);
    return mark;
}

/* Waits until each worker has recorded `event_count` more events. */
static inline struct workers_mark workers_wait(struct workers *workers, uint64_t event_count) {
    struct workers_mark from = workers_mark(workers);
    for (int i = 0; i < WORKER_COUNT; i++)
        while (atomic_load(&workers->workers[i].done_count) < from.done_counts[i] + event_count) usleep(100);
    return workers_mark(workers);
}

static inline struct workers_mark workers_end(struct workers *workers) {
    atomic_store(&workers->is_told_to_end, true);
    for (int i = 0; i < WORKER_COUNT; i++) pthread_join(workers->workers[i].thread, NULL);
    return workers_mark(workers);
}

static inline struct numbers numbers_of_worker(const struct recorded *recorded, int worker, uint64_t limit) {
    char name[16];
    snprintf(name, sizeof name, "worker %d", worker);
    const struct thread *thread = find_thread(&recorded->profile, name);
    if (!thread) fail_msg("there is no thread \"%s\"", name);
    return collect_numbers(&recorded->profile, thread, "number", limit);
}

/* Checks that all events are in the trace, except those whose recording calls began or were running between `before`
 * and `after`. */
static inline void assert_workers_but(const struct recorded *recorded, struct workers_mark before,
                                      struct workers_mark after, struct workers_mark end) {
    for (int i = 0; i < WORKER_COUNT; i++) {
        struct numbers numbers = numbers_of_worker(recorded, i, end.done_counts[i]);
        assert_numbers(&numbers, 0, before.done_counts[i]);
        assert_numbers(&numbers, after.done_counts[i] + 1, end.done_counts[i]);
        free(numbers.counts);
    }
}
