/* Where output goes: a file that appears whole or not at all, or standard output.
 *
 * A file is written under a temporary name beside its target and renamed when it is complete. Until then an old file of
 * that name is untouched. The new file keeps the old one's permissions. If the target is a symbolic link, the link
 * stays and the file that it points to is replaced. A link that another user planted in a sticky folder such as /tmp is
 * a failure (EACCES). Devices, FIFOs and other special files are written directly. If the name ends in ".gz", the file
 * is one gzip member without a time stamp, since browsers refuse several members. */
#pragma once

#include <pthread.h>

#include "chunk_list.h"
#include "libconvert/base/progress.h"

/* Writes the chunks to `path` ("-" for standard output, uncompressed). Returns true if every byte was written and
 * flushed and the file was renamed. Otherwise latches the failure (FAILURE_IO, FAILURE_MEMORY) and leaves no file
 * behind. Writes nothing if a failure is latched already. The list is empty afterwards in any case. SIGPIPE should be
 * ignored so that a closed pipe is a failure like others. */
bool sink_write(struct chunk_list *chunks, const char *path, struct failure *failure);

/* Latches the failure (FAILURE_IO, FAILURE_MEMORY) that sink_write would latch, as far as it is known in advance.
 * Writes nothing. */
void sink_check(const char *path, struct failure *failure);

/* The files of a batch appear only while its gate is open. Once the gate is closed, a report can list all files that
 * have appeared. */
struct sink_gate {
    pthread_mutex_t mutex;
    pthread_cond_t has_left;
    unsigned inside_count; /* writers whose file has appeared, or may appear, and is not recorded yet */
    bool is_closed;
};

#define SINK_GATE \
    { .mutex = PTHREAD_MUTEX_INITIALIZER, .has_left = PTHREAD_COND_INITIALIZER }

/* Leaves the gate. Call it once the file that has appeared is recorded. */
void sink_gate_leave(struct sink_gate *gate);

/* Closes the gate and waits until all files that have appeared are recorded. No file appears afterwards. */
void sink_gate_close(struct sink_gate *gate);

struct sink;

/* Options for a file that is one of many. Missing parent folders are created. Other programs never see part of the
 * file. It is not flushed to the disk, which would dominate the run time: after a power failure, the hash shows whether
 * it is complete. */
struct sink_batch {
    const char *temp_folder; /* folder of the temporary file, on the target's file system; borrowed */
    struct sink_gate *gate;  /* borrowed; may be NULL */
    bool *is_inside;         /* set once the gate was entered, so that it must be left; borrowed */
};

struct sink_written {
    uint64_t bytes_count;
    uint64_t xxh3;  /* hash of the written bytes, for a file of a batch; 0 for other files */
    uint64_t stamp; /* file_stamp, for a file of a batch; 0 for other files, or if another file has taken its place */
};

/* Opens a sink for output that comes in parts. Write them with sink_put. `path`, `batch` (may be NULL) and
 * `failure` are borrowed until the sink is closed. At most thread_count threads compress, including the calling one;
 * the bytes do not depend on their number. Returns NULL if memory ran out (latched). Other failures are latched too;
 * sink_close reports them. */
struct sink *sink_open(const char *path, const struct sink_batch *batch, unsigned thread_count,
                       struct failure *failure);

/* Opens a sink that writes nothing and only counts the bytes of a file with that path or, if `path` is NULL, of the
 * uncompressed document. */
struct sink *sink_open_measuring(const char *path, unsigned thread_count, struct failure *failure);

/* Returns whether output for that path appears only when the sink is closed without a failure, unlike on standard
 * output and in special files. */
bool sink_hides_output(const char *path);

/* Writes the chunks and frees each one once it is written. Writes nothing if a failure is latched. The list is empty
 * afterwards. NULL is allowed. */
void sink_put(struct sink *sink, struct chunk_list *chunks, struct progress progress);

/* Completes the file and frees the sink. Returns true on success, like sink_write. written->bytes_count is the
 * size of the file or stream, compressed. NULL is allowed. */
bool sink_close(struct sink *sink, struct sink_written *written);

/* Creates the missing parent folders of the file. Returns false after a failure (FAILURE_IO, FAILURE_MEMORY;
 * latched). */
bool sink_make_folders(const char *path, struct failure *failure);

/* Removes the temporary files that any thread is writing. Async-signal-safe. Call it from signal handlers that are
 * about to end the program. */
void sink_abandon(void);
