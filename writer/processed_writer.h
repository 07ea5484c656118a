/* What the parts of a processed profile's emission share. */
#ifndef GECKO_PROCESSED_WRITER_H
#define GECKO_PROCESSED_WRITER_H

#include "json.h"
#include "libconvert/profile.h"
#include "libconvert/progress.h"

struct processed_writer {
    const struct profile *profile;
    struct json json; /* the document */
    struct progress progress;
    uint64_t done_rows; /* samples, stacks, frames, strings, markers, allocations */
    uint64_t total_rows;
};

static inline void processed_report_rows(struct processed_writer *writer, uint64_t rows) {
    writer->done_rows += rows;
    progress_report(writer->progress, writer->done_rows, writer->total_rows);
}

/* "shared": the tables of all threads. */
void processed_shared_write(struct processed_writer *writer);

/* The thread, as a value. */
void processed_thread_write(struct processed_writer *writer, const struct thread *thread);

/* "counters", where there are any. */
void processed_counters_write(struct processed_writer *writer);

/* "profilerOverhead", where there is any. */
void processed_overheads_write(struct processed_writer *writer);

#endif
