/* Shards: one of the parts into which several calls divide a batch.
 *
 * Each call finds all inputs, deals them out in the same way, and converts its part. Parts have about the same size. */
#ifndef GECKO_SHARD_H
#define GECKO_SHARD_H

#include "libconvert/base/failure.h"
#include "libconvert/base/text.h"

struct batch_plan;

enum { SHARD_COUNT_MAX = 1000000 };

struct shard {
    unsigned number; /* from 1 */
    unsigned count;  /* 0: the batch is not divided */
};

/* Parses "K/N", or "auto" or "auto/N", which take what is missing from the variables of schedulers and CI systems.
 * NULL: the batch is not divided. Latches FAILURE_USAGE. */
struct shard shard_parse(const char *text, struct failure *failure);

/* Leaves the sources of other shards out of the plan. Call it when all sources are found. */
void shard_take(struct batch_plan *plan);

/* Returns the path "FOLDER/STEM.K-of-N" with the suffix, or without the shard if the batch is not divided. Shards may
 * share a folder, but no file in it. The caller frees the path. NULL: memory ran out. */
char *shard_path(struct text folder, const char *stem, struct shard shard, const char *suffix);

#endif
