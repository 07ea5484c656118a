/* Shards: one of the parts into which several calls divide a batch.
 *
 * Each call finds all inputs, deals them out in the same way, and converts its part. Parts have about the same size. */
#pragma once

#include "libconvert/base/failure.h"
#include "libconvert/base/text.h"

enum { SHARD_COUNT_MAX = 1000000 };

struct shard {
    unsigned number; /* from 1 */
    unsigned count;  /* 0: the batch is not divided */
};

/* Parses "K/N", or "auto" or "auto/N", which take what is missing from the variables of schedulers and CI systems.
 * NULL: the batch is not divided. Latches FAILURE_USAGE. */
struct shard shard_parse(const char *text, struct failure *failure);

struct shard_name {
    char bytes[64];
};

/* Returns "STEM.K-of-N" with the suffix, or without the shard if the batch is not divided. Shards may share a folder,
 * but no file in it. */
struct shard_name shard_name(const char *stem, struct shard shard, const char *suffix);
