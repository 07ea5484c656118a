/* Writes one gzip member, with several threads if it is large.
 *
 * The bytes are cut into blocks of a fixed size. Each block is deflated on its own, so the member depends on the bytes
 * and the level alone, and not on the number of threads. The thread that appends also deflates blocks whenever it would
 * have to wait. A member of less than 1 MiB, uncompressed, starts no thread.
 *
 * All functions of a writer, and its output function, run in one thread: the one that created it. */
#pragma once

#include "libconvert/base/failure.h"
#include "libconvert/base/text.h"

struct gzip_writer;

/* Takes the next bytes of the member. Latches a failure in the writer's latch if it cannot. */
typedef void gzip_output(void *context, struct text bytes);

/* Begins a member. `level` is a compression level of zlib; at most thread_count threads deflate, including the calling
 * one. Later allocations only make it faster, so running out of memory afterwards is not a failure. The
 * header holds neither a name nor a time. Returns NULL if memory ran out (latched). `context` and `failure` are
 * borrowed until gzip_writer_destroy. */
struct gzip_writer *gzip_writer_create(int level, unsigned thread_count, gzip_output *output, void *context,
                                       struct failure *failure);

/* Frees the writer after its threads have ended. Call it in any state; without gzip_writer_finish, the member is
 * incomplete. NULL is allowed. */
void gzip_writer_destroy(struct gzip_writer *writer);

/* Appends the bytes, which are copied. Does nothing after a failure. */
void gzip_writer_append(struct gzip_writer *writer, struct text bytes);

/* Completes the member, unless a failure is latched. Nothing can be appended afterwards. */
void gzip_writer_finish(struct gzip_writer *writer);
