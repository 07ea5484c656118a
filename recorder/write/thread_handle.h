/* Handles of threads (struct grec_thread), by which markers are aimed at other threads. A handle has the number of its
 * recording, so a handle of an earlier recording is known to be stale. */
#pragma once

#include <stdbool.h>
#include <stdint.h>

#include "recorder/gecko_recorder.h"
#include "recorder/state/shared.h"

enum thread_handle_fate {
    THREAD_HANDLE_WANTED,
    THREAD_HANDLE_LEFT_OUT, /* by the options */
    THREAD_HANDLE_STALE,    /* from another recording, or from a process that this one was forked from */
};

/* Returns a handle of the main thread, for markers aimed at it; uid 0 if it has no record. Call this in a recording
 * call. [signal-safe] */
struct grec_thread thread_handle_main(void) GREC_SHARED(thread_handle_main);

/* Returns what happens to a marker that is aimed by the handle. For a thread that has ended, the answer is that of when
 * the handle was made. Call this in a recording call. [signal-safe] */
enum thread_handle_fate thread_handle_fate(const struct grec_thread *handle);

/* Returns the thread's record; NULL: it has ended. Call this in a recording call. [signal-safe] */
struct thread_record *thread_handle_record(const struct grec_thread *handle) GREC_SHARED(thread_handle_record);

/* Whether the thread is recorded now, and has not ended. Call this in a recording call. [signal-safe] */
bool thread_handle_is_recorded(const struct grec_thread *handle) GREC_SHARED(thread_handle_is_recorded);

/* Returns the thread's number in the trace. */
uint64_t thread_handle_uid(const struct grec_thread *handle);
