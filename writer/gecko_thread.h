/* One thread of a Gecko profile, with tables of its own: strings, frames and stacks that its samples and markers
 * refer to, cut out of the shared ones. */
#ifndef GECKO_THREAD_H
#define GECKO_THREAD_H

#include "gecko_tables.h"
#include "gecko_weights.h"
#include "json.h"
#include "numbering.h"

/* Writes threads, one after the other; what it holds is used again for each. */
struct gecko_thread_writer {
    const struct profile *profile;
    const struct gecko_weights *weights;
    struct gecko_tables *tables;
    bool has_cpu_deltas; /* the samples' weights are also CPU time since the sample before */
    struct numbering strings;
    struct numbering frames;
    struct numbering stacks;
    struct numbering sources; /* of the process: they belong to all its threads */
    struct column path;       /* uint32_t: rows of stacks, innermost first, that have no number yet */
    uint32_t *frame_order;    /* number of the frame at each place in the thread's table */
    uint32_t *frame_places;   /* the other way round */
};

/* Failures are latched in the profile's; gecko_thread_writer_fini is due in any case. */
void gecko_thread_writer_init(struct gecko_thread_writer *writer, struct gecko_tables *tables,
                              const struct gecko_weights *weights);
void gecko_thread_writer_fini(struct gecko_thread_writer *writer);

/* Whether the CPU time that samples tell besides is written: it cannot be split among a sample's repetitions. */
static inline bool gecko_tells_cpu(const struct gecko_weights *weights, const struct samples *samples) {
    return samples_have_cpu(samples) && !weights->are_repeated;
}

/* The name by which the client knows main threads, and by nothing else. */
#define GECKO_MAIN_THREAD_NAME "GeckoMain"

void gecko_thread_write(struct gecko_thread_writer *writer, const struct thread *thread, struct json *json);

/* The table of the sources that the threads since the last call refer to. */
void gecko_sources_write(struct gecko_thread_writer *writer, struct json *json);

#endif
