/* Handles of threads: struct grec_thread, by which markers are aimed at other threads. A handle tells its recording, so
 * that one which is kept beyond it is known to be stale. */
#ifndef GREC_THREAD_HANDLE_H
#define GREC_THREAD_HANDLE_H

#include <stdbool.h>
#include <stdint.h>

#include "gecko_recorder.h"

enum thread_handle_fate {
    THREAD_HANDLE_WANTED,
    THREAD_HANDLE_LEFT_OUT, /* by the options */
    THREAD_HANDLE_STALE,    /* of another recording, or of the process that this one was forked from */
};

/* Makes a handle. tagged_uid: of thread_record_tagged_uid. [signal-safe] */
struct grec_thread thread_handle_make(uint64_t tagged_uid, uint32_t tid, bool is_left_out);

/* What becomes of a marker that is aimed by the handle. A thread that has ended counts as it did when the handle was
 * made. Call this in a recording call. [signal-safe] */
enum thread_handle_fate thread_handle_fate(const struct grec_thread *handle);

/* Returns the thread's number in the trace. */
uint64_t thread_handle_uid(const struct grec_thread *handle);

#endif
