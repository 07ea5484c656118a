/* One thread of a Gecko profile with its own tables: the strings, frames and stacks that its samples and markers refer
 * to, taken from the shared tables. */
#pragma once

#include "gecko_tables.h"
#include "gecko_weights.h"
#include "writer/marker_json.h"
#include "writer/numbering.h"

/* Writes one thread after another. Memory is reused from thread to thread. */
struct gecko_thread_writer {
    const struct profile *profile;
    const struct gecko_weights *weights;
    struct gecko_tables *tables;
    bool has_cpu_deltas; /* weights of samples are also their CPU time since the previous sample */
    bool *idle_stacks;   /* owned; see profile_idle_stacks */
    struct numbering strings;
    struct numbering frames;
    struct numbering stacks;
    struct numbering sources; /* shared by all threads of the process */
    struct marker_json markers;
    struct column path;        /* uint32_t: rows of stacks without a number, innermost first */
    uint32_t *frame_order;     /* number of the frame at each position of the thread's table */
    uint32_t *frame_positions; /* position of each frame number in the thread's table */
};

/* Latches failures in the profile's failure. Call gecko_thread_writer_fini in any case. */
void gecko_thread_writer_init(struct gecko_thread_writer *writer, struct gecko_tables *tables,
                              const struct gecko_weights *weights);
void gecko_thread_writer_fini(struct gecko_thread_writer *writer);

void gecko_thread_write(struct gecko_thread_writer *writer, const struct thread *thread, struct json *json);

/* Writes the table of sources that threads have used since the previous call. */
void gecko_sources_write(struct gecko_thread_writer *writer, struct json *json);
