/* Thins a profile until its output is no larger than wanted. */
#pragma once

#include "libconvert/profile/profile.h"
#include "writer/emitter.h"

struct fit_size {
    const struct emitter *emitter;
    const struct emit_options *options;
    unsigned thread_count; /* the most threads that compress */
    const char *path;      /* path of the output, which is compressed if it ends in .gz; NULL: it is not in a file */
    uint64_t max_bytes;
};

/* Takes the steps of thin.h one after the other until the output is small enough. Enters in the ledger, and in the
 * profile's facts, what they did. Latches a FAILURE_USAGE if it is too large after all of them. Call it when nothing
 * else will be added to the profile. */
void profile_fit_size(struct profile *profile, const struct fit_size *fit);
