/* The steps of merge_run, each in a file of its own. */
#pragma once

#include "libconvert/profile/row_references.h"
#include "libconvert/profile/time_range.h"
#include "merge.h"

/* Times of damaged inputs can be anything, so sums and differences may wrap around. */
static inline int64_t merge_sum(int64_t a, int64_t b) { return (int64_t)((uint64_t)a + (uint64_t)b); }
static inline int64_t merge_difference(int64_t a, int64_t b) { return (int64_t)((uint64_t)a - (uint64_t)b); }

/* ---- merge_timeline.c. ---- */

/* Decides where each input belongs on the timeline and on which machine it was recorded, and shifts its times. */
void merge_align(struct merge *merge);

/* Sets the remark of the input, unless it has one. */
__attribute__((format(printf, 2, 3))) void merge_remark(struct merge_input *input, const char *format, ...);

/* Returns the input whose clock is that of the timeline. */
struct merge_input *merge_reference(const struct merge *merge);

/* ---- merge_runs.c. ---- */

/* Latches FAILURE_USAGE if two traces of the recorder are of two runs of one program, at different times with a pause
 * between them in which no input has an event: the user is hardly aware that they would share a timeline. Traces that
 * one process made, and those that the caller aligns, are allowed. Call it after merge_align. */
void merge_refuse_runs(const struct merge *merge);

/* ---- merge_layout.c. ---- */

/* Shifts the times of runs after or over each other. */
void merge_lay_out(struct merge *merge);

/* ---- merge_tasks.c. ---- */

/* Maps the processes and threads of all inputs to those of the whole profile. The rows of an input begin at its number
 * in the arrays of first rows. */
struct merge_tasks {
    uint32_t *first_processes; /* owned; one number for each input */
    uint32_t *first_threads;   /* owned; one number for each input */
    process_id *processes;     /* owned; processes of the whole profile */
    thread_id *threads;        /* owned; threads of the whole profile */
};

/* Adds the processes and threads to the whole profile. Running out of memory is latched. */
void merge_tasks_init(struct merge_tasks *tasks, const struct merge *merge, struct profile *whole);
void merge_tasks_fini(struct merge_tasks *tasks);

/* ---- merge_samples.c. ---- */

/* Drops samples of threads that perf and the recorder both sampled, so that at any time those of one of them are left.
 */
void merge_choose_samples(struct merge *merge, const struct merge_tasks *tasks);

/* ---- merge_tables.c. ---- */

/* Adds the input's tables to those of the whole profile, and frees all of them but those with texts and types of
 * markers. Samples, markers and allocations get the new numbers, except for those of types and threads. The input's
 * payloads must have their first numbers. Running out of memory is latched. */
void merge_tables(struct merge_input *input, struct profile *whole);

/* ---- merge_rows.c. ---- */

/* Moves the rows of all threads, counters and logs into the whole profile. */
void merge_rows(struct merge *merge, const struct merge_tasks *tasks, struct profile *whole);

/* ---- merge_meta.c. ---- */

/* Makes the weights of all inputs comparable. Call it when samples were chosen, and before tables are merged. */
void merge_weights(struct merge *merge, struct profile *whole);

/* Merges the facts about the recordings: product, machine, arguments and the like. */
void merge_meta(struct merge *merge, struct profile *whole);
