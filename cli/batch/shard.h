/* Shards: the parts into which several processes divide a batch.
 *
 * Each process finds all inputs, assigns them to the shards in the same way, and converts its own shard. Shards have
 * about the same size. */
#pragma once

#include "libconvert/base/failure.h"
#include "libconvert/base/text.h"

enum { SHARD_COUNT_MAX = 1000000 };

struct shard {
    unsigned number; /* from 1 */
    unsigned count;  /* 0: the batch is not divided */
};

/* Parses "K/N", "auto" or "auto/N". With "auto", the missing numbers come from the variables of schedulers and CI
 * systems. NULL: the batch is not divided. Latches FAILURE_USAGE. */
struct shard shard_parse(const char *text, struct failure *failure);

struct shard_name {
    char bytes[64];
};

/* Returns the stem, ".K-of-N" if the batch is divided, and the suffix. Shards may share a folder, so their files have
 * different names. */
struct shard_name shard_name(const char *stem, struct shard shard, const char *suffix);
