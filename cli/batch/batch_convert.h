/* The work of a batch: the traces of a plan become profiles.
 *
 * A worker takes a file. Of an archive it goes through the members: small ones are put into memory for whoever is free,
 * large ones are converted out of the archive. So a single archive keeps several workers busy, and memory is bounded by
 * their number, whatever the archive holds. */
#ifndef GECKO_BATCH_CONVERT_H
#define GECKO_BATCH_CONVERT_H

#include "batch_plan.h"
#include "writer/sink.h"

struct batch_work;

/* For at most `worker_count` workers. `sink` is for the profiles. All but the failure is borrowed until the end. NULL
 * when memory ran out (latched). */
struct batch_work *batch_work_create(struct batch_plan *plan, const struct sink_batch *sink, unsigned worker_count,
                                     struct failure *failure);
void batch_work_destroy(struct batch_work *work); /* NULL is fine */

/* Nothing is to be done. */
bool batch_work_is_empty(const struct batch_work *work);

/* What worker `number` does, until nothing is left or the plan is stopping. */
void batch_work_run(struct batch_work *work, unsigned number);

/* After all workers have ended: what failed because memory ran out may have room when it is alone. True when something
 * is to be done again, by one worker. */
bool batch_work_again(struct batch_work *work);

/* After that: traces that their archive did not give a second time have failed. */
void batch_work_settle(struct batch_work *work);

/* Bytes of the files that are done, and of all that are to be; at any time. */
void batch_work_progress(struct batch_work *work, uint64_t *done_bytes, uint64_t *total_bytes);

#endif
