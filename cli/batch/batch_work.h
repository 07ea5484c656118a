/* Converts the traces of a plan into profiles.
 *
 * Workers take files from a queue. A worker that takes an archive reads its members in order: it puts small ones into
 * memory for any idle worker and converts large ones itself, while it reads them. So one archive can keep several
 * workers busy, and the memory in use depends on the number of workers, not on the archive. */
#pragma once

#include "batch_plan.h"
#include "writer/sink.h"

struct batch_work;

/* Returns NULL if memory ran out (latched). `sink` is used for the profiles. All pointers except `failure` are
 * borrowed until batch_work_destroy. */
struct batch_work *batch_work_create(struct batch_plan *plan, const struct sink_batch *sink, unsigned worker_count,
                                     struct failure *failure);
void batch_work_destroy(struct batch_work *work); /* NULL is allowed */

/* Returns true if there is nothing to convert. */
bool batch_work_is_empty(const struct batch_work *work);

/* Does the work of worker `number`, which is less than worker_count, until nothing is left or the plan is stopping. */
void batch_work_run(struct batch_work *work, unsigned number);

/* Resets the entries that failed because memory ran out, so that they can be tried again with all memory to themselves.
 * Returns true if there are any: one worker must then call batch_work_run again. Call it after all workers have
 * returned. */
bool batch_work_requeue_out_of_memory(struct batch_work *work);

/* Marks traces as failed if their archive did not contain them when it was read again. Call it when all work is done.
 */
void batch_work_fail_missing(struct batch_work *work);

/* Returns the bytes of the files that are done and of all files to convert. Any thread may call it at any time. */
void batch_work_progress(struct batch_work *work, uint64_t *done_bytes, uint64_t *total_bytes);
