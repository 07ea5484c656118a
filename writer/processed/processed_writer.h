/* The state shared by the parts of the processed format's emitter. */
#pragma once

#include "libconvert/base/progress.h"
#include "libconvert/format/format.h"
#include "libconvert/profile/profile.h"
#include "processed_slabs.h"
#include "writer/marker_json.h"

struct processed_writer {
    const struct profile *profile;
    /* Without weights, the client adds up the times between samples as "traced running time". That is right only where
     * samples are as far apart as the interval says. */
    bool has_weights;
    const bool *idle_stacks; /* see profile_idle_stacks */
    const struct marker_json *markers;
    struct json json;    /* the document */
    struct slabs *slabs; /* for JsonSlabs; NULL: all columns are in the document */
    struct progress progress;
    uint64_t done_rows; /* rows of samples, stacks, frames, strings, markers and allocations written so far */
    uint64_t total_rows;
};

static inline void processed_report_rows(struct processed_writer *writer, uint64_t rows) {
    writer->done_rows += rows;
    progress_report(writer->progress, writer->done_rows, writer->total_rows);
}

/* Writes that many rows of a column as values. */
typedef void rows_writer(struct json *json, const void *context, size_t count);

/* What to write for a member of a table for which the table's rows have no cell. At most one of these is set. If none
 * is, a column that may be null as a whole is null, and others are left out. */
struct processed_part {
    rows_writer *write;        /* writes the column */
    const struct column *rows; /* other rows, which have the cells */
    const char *text;          /* the value of a member that is not a column */
};

struct processed_table {
    const char *name;
    const struct shape *shape;
    const struct column *rows;
    size_t first; /* the rows to write */
    size_t count;
    const struct processed_part *parts; /* by enum part_number; NULL: the shape has none */
    const void *context;                /* context of the parts' writers */
};

/* Writes the columns of the shape for which rows have cells, the parts, and the number of rows. */
void processed_table_write(struct processed_writer *writer, const struct processed_table *table);

/* Writes "shared", the tables of all threads. */
void processed_shared_write(struct processed_writer *writer);

extern const struct marker_json_format processed_marker_format;

/* Writes the thread as a value. */
void processed_thread_write(struct processed_writer *writer, const struct thread *thread);

/* Writes "initialVisibleThreads" if the front-end would hide threads with markers. */
void processed_visible_threads_write(struct processed_writer *writer);

/* Writes "counters" if there are any. */
void processed_counters_write(struct processed_writer *writer);

/* Writes "profilerOverhead" if there is any. */
void processed_overheads_write(struct processed_writer *writer);
