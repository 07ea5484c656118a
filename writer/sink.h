/* Where output goes: a file that appears whole or not at all, or standard output.
 *
 * A file is written beside its target under a temporary name and renamed when it is complete; until then an old
 * file of that name is untouched. The new file keeps the old one's permissions. A symbolic link stays, what it
 * points to is replaced; but a link that another user planted in a sticky folder such as /tmp is a failure (EACCES).
 * What is no regular file (a device, a fifo) is written directly. A name that ends in ".gz" gets one gzip member
 * without a time stamp (browsers refuse more than one). */
#ifndef GECKO_SINK_H
#define GECKO_SINK_H

#include <pthread.h>

#include "chunk_list.h"
#include "libconvert/progress.h"

/* Writes the chunks to `path` ("-": standard output, uncompressed) and frees them as it goes; true when every
 * byte was written, flushed and the file renamed. Otherwise the failure is latched (FAILURE_IO, FAILURE_MEMORY) and
 * nothing is left behind. With a failure latched before, nothing is written. The list is empty after, in any case.
 * *written_bytes is what the file or stream got, compressed. SIGPIPE should be ignored, so that a closed pipe is a
 * failure like others. */
bool sink_write(struct chunk_list *chunks, const char *path, struct failure *failure, struct progress progress,
                uint64_t *written_bytes);

/* Where files of a batch come through, until it is closed: so that a report can tell of all that have appeared. */
struct sink_gate {
    pthread_mutex_t mutex;
    pthread_cond_t has_left;
    unsigned inside_count; /* writers whose file has appeared, or is about to, and is not noted yet */
    bool is_closed;
};

#define SINK_GATE \
    { .mutex = PTHREAD_MUTEX_INITIALIZER, .has_left = PTHREAD_COND_INITIALIZER }

/* What has appeared is noted. */
void sink_gate_leave(struct sink_gate *gate);

/* No file appears from here on, and all that have appeared are noted. */
void sink_gate_close(struct sink_gate *gate);

struct sink;

/* How a file of many is written. Folders on the way to it that do not exist are made. It is whole for all programs at
 * all times, but not flushed to the disk, which would take longer than all else: whoever wants to know after a power
 * cut keeps the hash. */
struct sink_batch {
    const char *temp_folder; /* where its temporary file goes, on the file system of the target; borrowed */
    struct sink_gate *gate;  /* borrowed; NULL: none */
    bool *is_inside;         /* set when the gate was gone through, which is to be left then; borrowed */
};

struct sink_written {
    uint64_t bytes_count;
    uint64_t xxh3;  /* of these bytes */
    uint64_t stamp; /* file_stamp of the file, one of many; 0: none, or another one is there already */
};

/* The same in parts, for what is too large to be held in memory as a whole. `path`, `batch` (NULL: none) and the failure
 * are borrowed until the sink is closed. NULL when memory ran out (latched); all other failures are latched too, and are
 * told in the end. */
struct sink *sink_open(const char *path, const struct sink_batch *batch, struct failure *failure);

/* Writes the chunks and frees them as it goes. With a failure latched, nothing is written. The list is empty after. */
void sink_put(struct sink *sink, struct chunk_list *chunks, struct progress progress);

/* Ends the file and frees the sink; NULL is fine. As sink_write. */
bool sink_close(struct sink *sink, struct sink_written *written);

/* sink_write for one of many files. `batch` NULL is none. */
bool sink_write_batched(struct chunk_list *chunks, const char *path, const struct sink_batch *batch,
                        struct failure *failure, struct progress progress, struct sink_written *written);

/* Makes the folders on the way to the file. False after a failure (FAILURE_IO, FAILURE_MEMORY), which is latched. */
bool sink_make_folders(const char *path, struct failure *failure);

/* Removes the temporary files that are being written, by any thread. Async-signal-safe: for signal handlers that
 * are about to end the program. */
void sink_abandon(void);

#endif
